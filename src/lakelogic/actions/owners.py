"""Whose table it is: the contract of the newest run that wrote there, so that a table alone tells its masks."""

from __future__ import annotations

from pathlib import Path

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.load import Loaded
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.ledger.store import open_ledger
from lakelogic.plan.compile import load_checked
from lakelogic.run.masking import refuse_clear, refuse_clear_queue
from lakelogic.run.places import places
from lakelogic.run.progress import progress_of
from lakelogic.run.read_masks import refuse_late


def contract_of(location: str, catalog: LocalCatalog) -> Loaded | None:
    """The contract whose good or bad rows a table holds; None where no run of this ledger wrote there.

    A contract that is taken away hides nothing any more; one that is there and cannot be read could mask anything.
    """
    with open_ledger(catalog.ledger_url()) as ledger:
        for run in ledger.runs(limit=None):
            written = [str(name) for name in (run.target, run.quarantine_target) if name]
            if not run.contract or location not in {catalog.resolve(name) for name in written}:
                continue
            if not Path(run.contract).is_file():
                return None
            try:
                return load_checked(run.contract, env=run.environment)
            except LakeLogicError as error:
                raise UsageError(
                    f"The contract of this table, {run.contract}, cannot be read, so nobody can tell what it masks.",
                    hint="Nothing is shown. `lakelogic validate` says what is wrong with it.",
                ) from error
    return None


def refuse_rows_in_clear(location: str, catalog: LocalCatalog, loaded: Loaded | None = None) -> None:
    """Refuse to show rows of a table, good or bad, that were written before its contract masked what it masks now."""
    loaded = loaded or contract_of(location, catalog)
    if loaded is None:
        return
    contract = loaded.contract
    where = places(contract, catalog)
    progress = progress_of(contract.dataset_name, where)
    if location == where.quarantine_location:
        refuse_clear_queue(contract, where, progress)
        refuse_late(loaded, where, progress, "bad", "Nothing is shown.")
    elif location == where.target_location:
        refuse_clear(contract, where, progress, "Nothing is shown.")
        refuse_late(loaded, where, progress, "good", "Nothing is shown.")
