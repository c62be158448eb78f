"""Whose table it is: the contract of the newest run that wrote there, as the ledger knows."""

from __future__ import annotations

from pathlib import Path

from lakelogic.catalogs.base import Catalog
from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.ledger.records import RunRecord
from lakelogic.ledger.store import Ledger, open_ledger
from lakelogic.plan.compile import load_checked


class Owners:
    """The contracts of tables by their location; the ledger is read once, when the first one is asked for.

    Where no ledger is given, the one of the catalog is opened for it: a run that only judges has none of its own.
    """

    def __init__(self, catalog: Catalog, ledger: Ledger | None = None) -> None:
        self._catalog, self._ledger = catalog, ledger
        self._runs: dict[str, RunRecord] | None = None

    def contract_of(self, location: str) -> Loaded | None:
        """The contract whose good or bad rows a table holds; None where no run of this ledger wrote there.

        A contract that is taken away hides nothing any more; one that is there and cannot be read could mask anything.
        """
        if self._runs is None:
            self._runs = self._newest_runs()
        run = self._runs.get(location)
        if run is None or not run.contract or not Path(run.contract).is_file():
            return None
        try:
            return load_checked(run.contract, env=run.environment)
        except LakeLogicError as error:
            raise UsageError(
                f"The contract of the table at {location}, {run.contract}, cannot be read, so nobody can tell what it "
                "masks.",
                hint="Nothing is shown. `lakelogic validate` says what is wrong with it.",
            ) from error

    def _newest_runs(self) -> dict[str, RunRecord]:
        resolved: dict[str, str] = {}
        found: dict[str, RunRecord] = {}
        for run in self._runs_of_ledger():
            for name in (run.target, run.quarantine_target) if run.contract else ():
                if name:
                    place = resolved.get(str(name)) or self._catalog.resolve(str(name))
                    resolved[str(name)] = place
                    found.setdefault(place, run)
        return found

    def _runs_of_ledger(self) -> list[RunRecord]:
        if self._ledger is not None:
            return self._ledger.runs(limit=None)
        with open_ledger(self._catalog.ledger_url()) as ledger:
            return ledger.runs(limit=None)
