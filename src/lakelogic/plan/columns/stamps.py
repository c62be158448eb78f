"""Stamps: the columns by which a row of either side says where it came from and which run wrote it, one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.contract.governance import Lineage
from lakelogic.sql.expressions import Expression, Literal, text
from lakelogic.sql.types import STRING, TIMESTAMP


@dataclass(frozen=True, slots=True)
class Stamps:
    """What a run writes on every row."""

    run_id: str
    pipeline_run_id: str | None
    at: datetime
    source: str
    by: str = "lakelogic"


@dataclass(frozen=True, slots=True)
class StampKind:
    """One stamp. Its type is that of its value; good and bad rows carry it alike."""

    key: str  # of `lineage`: `capture_<key>`, `<key>_column_name`
    name: str  # of the column, where the contract gives it no other
    value: Callable[[Contract, Stamps, Expression], Expression]  # of the contract, of the run, or the row's own file
    of_first: bool = False  # a table that is met by key keeps the one that its row came with first

    def column(self, lineage: Lineage) -> str:
        """The name of the column."""
        return str(getattr(lineage, f"{self.key}_column_name"))

    def is_wanted(self, lineage: Lineage) -> bool:
        """Whether rows carry it."""
        return bool(lineage.enabled and getattr(lineage, f"capture_{self.key}"))


def _run_id(contract: Contract, stamps: Stamps, _file: Expression) -> Expression:
    from_pipeline = contract.lineage.run_id_source == "pipeline_run_id"
    return text((stamps.pipeline_run_id if from_pipeline else None) or stamps.run_id)


STAMPS: tuple[StampKind, ...] = (
    StampKind("source_path", names.SOURCE, lambda _contract, _stamps, file: file),
    StampKind("timestamp", names.PROCESSED_AT, lambda _contract, stamps, _file: Literal(stamps.at, TIMESTAMP)),
    StampKind("run_id", names.RUN_ID, _run_id),
    StampKind("contract_name", names.CONTRACT_NAME, lambda contract, _stamps, _file: text(contract.title)),
    StampKind("domain", names.DOMAIN, lambda contract, _stamps, _file: Literal(contract.domain, STRING)),
    StampKind("system", names.SYSTEM, lambda contract, _stamps, _file: Literal(contract.system, STRING)),
    StampKind(
        "created_at", names.CREATED_AT, lambda _contract, stamps, _file: Literal(stamps.at, TIMESTAMP), of_first=True
    ),
    StampKind("created_by", names.CREATED_BY, lambda _contract, stamps, _file: text(stamps.by), of_first=True),
)


def stamp_values(contract: Contract, stamps: Stamps, file: Expression) -> dict[str, Expression]:
    """The lineage columns of a contract and their values; `file` is where a row came from."""
    lineage = contract.lineage
    return {stamp.column(lineage): stamp.value(contract, stamps, file) for stamp in STAMPS if stamp.is_wanted(lineage)}


def stamp_names(contract: Contract) -> tuple[str, ...]:
    """The columns that a run of this contract stamps on rows."""
    return tuple(stamp.column(contract.lineage) for stamp in STAMPS if stamp.is_wanted(contract.lineage))


def attempt_columns(contract: Contract) -> set[str]:
    """The columns that say which run wrote a row, wanted or not; they do not make it another row."""
    return {stamp.column(contract.lineage) for stamp in STAMPS}


def first_columns(contract: Contract) -> set[str]:
    """Of these, the columns that a table which is met by key keeps from the first run that brought the row."""
    return {stamp.column(contract.lineage) for stamp in STAMPS if stamp.of_first}
