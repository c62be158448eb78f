"""Where a run reads and writes: the catalog, the ledger's database, and where staged files lie."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lakelogic.catalogs.base import Catalog
from lakelogic.catalogs.table_names import is_path
from lakelogic.contract.document import Contract
from lakelogic.errors import UnsupportedError, UsageError

# Bad rows are a work queue of ours: a Delta table, whatever the format of the target.
QUARANTINE_FORMAT = "delta"


@dataclass(frozen=True, slots=True)
class Other:
    """A secondary target."""

    name: str
    location: str
    format: str
    strategy: str


@dataclass(frozen=True, slots=True)
class Places:
    """The target of a run and its quarantine: the names that people wrote, and the locations behind them."""

    target: str
    target_location: str
    quarantine: str
    quarantine_location: str
    others: tuple[Other, ...] = ()  # that receive the same good rows

    def adding(self) -> Places:
        """The same places for a part of a batch, which never takes the place of what is there."""
        return replace(self, others=tuple(replace(other, strategy="append") for other in self.others))

    def staging(self, batch_id: str, attempt: str) -> str:
        """Where this batch is staged. Data files must lie under the root of their table, in plain folders.

        Every attempt has a folder of its own: the files of an earlier one may be part of a table by now.
        """
        return f"{self.target_location}/batch-{batch_id[:16]}-{attempt}"

    def quarantine_staging(self, batch_id: str, attempt: str) -> str:
        """Where the bad side is staged for its own table."""
        return f"{self.quarantine_location}/batch-{batch_id[:16]}-{attempt}"

    def act_staging(self, act_id: str) -> str:
        """Where what somebody does to rows of the quarantine is staged."""
        return f"{self.quarantine_location}/batch-{act_id}"


def places(contract: Contract, catalog: Catalog, target: str | None = None) -> Places:
    """Resolve target and quarantine; a redirected target takes its quarantine along."""
    written = target or contract.materialization.target_path
    if not written:
        raise UsageError(
            f"The contract `{contract.dataset_name}` has no materialization.target_path.",
            hint="Add target_path: catalog.schema.table (or a folder), or run with materialize=False.",
        )
    chosen = None if target else contract.quarantine.place
    # Named after the table rather than the entity alone, so that two systems never share a quarantine.
    entity = contract.entity if is_path(written) else written.rpartition(".")[2]
    quarantine = chosen or catalog.quarantine_name(written, contract.layer, entity)
    others = () if target else _others(contract, catalog, catalog.resolve(written))
    return Places(written, catalog.resolve(written), quarantine, catalog.resolve(quarantine), others)


def _others(contract: Contract, catalog: Catalog, first: str) -> tuple[Other, ...]:
    settings = contract.materialization
    found = [
        Other(one.target_path, catalog.resolve(one.target_path), one.format, one.strategy or settings.strategy)
        for one in settings.secondary_targets
    ]
    for at, other in enumerate(found):
        if other.strategy not in ("append", "overwrite") or contract.source.load_mode == "cdc":
            raise UnsupportedError(
                "A secondary target receives rows by append or overwrite, and none of a source of changes.",
                where=f"materialization.secondary_targets[{at}]",
                hint="Say strategy: append (every batch as it is) or overwrite (only the newest batch).",
            )
    places = [first, *(other.location for other in found)]
    if len(set(places)) < len(places):
        raise UsageError("Two targets are the same place.", where="materialization.secondary_targets")
    return tuple(found)
