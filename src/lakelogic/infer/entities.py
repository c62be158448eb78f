"""What an entity is as a whole: its key, which of two rows is newer, how it changes, how it could be parted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lakelogic.infer.columns import Column, look, quote
from lakelogic.infer.landings import Landing
from lakelogic.infer.samples import Sample, sample

_SEQUENCES: Final = (
    "updated_at",
    "modified_at",
    "last_modified",
    "changed_at",
    "updated",
    "event_time",
    "ts",
    "timestamp",
)
_OPERATIONS: Final = frozenset({"op", "operation", "_op", "cdc_op", "change_type", "__op", "dml_type"})
_DELETES: Final = ("D", "d", "DELETE", "delete", "Delete")
_ARRIVALS: Final = ("extract_date", "load_date", "ingest_date", "file_date", "snapshot_date", "business_date", "dt")
_PAIRS: Final = (("start", "end"), ("from", "to"), ("valid_from", "valid_to"), ("opened", "closed"))


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity, drafted: what was seen of it, and why it is taken for that."""

    landing: Landing
    columns: tuple[Column, ...]
    rows: int
    broken: int
    key: tuple[str, ...] = ()
    key_why: str = "no column is filled and different in every row of a file"
    sequence: str | None = None
    operation: str | None = None
    deletes: tuple[str, ...] = ()
    partition: str | None = None
    partition_why: str | None = None
    rules: tuple[tuple[str, str, str], ...] = ()
    nulls: tuple[str, ...] = ()  # texts that mean no value

    @property
    def name(self) -> str:
        """How it is called."""
        return self.landing.entity

    @property
    def merges(self) -> bool:
        """Whether later rows replace earlier ones of the same key."""
        return bool(self.key) and self.sequence is not None

    @property
    def strategy_why(self) -> str:
        """Why rows meet the table as they do."""
        if self.operation:
            return f"`{self.operation}` says what became of a row, so changes are merged by the key"
        if self.merges:
            return f"a key and `{self.sequence}`: of two rows of a key the newer one counts"
        return "without a key and a time of change nothing says which row is newer, so all are kept"


def infer(landing: Landing, rows: int) -> Entity:
    """Look at an entity's files."""
    seen = sample(landing, rows)
    columns = tuple(look(name, values, seen.declared.get(name)) for name, values in seen.columns.items())
    operation, deletes = _operation(columns)
    key, why = _key(landing.entity, columns, seen, changes=operation is not None)
    sequence = _sequence(columns)
    if operation is not None and (not key or sequence is None):
        operation, deletes = None, ()
    partition, partition_why = (None, None) if key and sequence else _partition(columns, seen)
    return Entity(
        landing, columns, seen.rows, seen.broken, key, why, sequence if key else None, operation, deletes, partition,
        partition_why, (*(rule for column in columns for rule in column.rules), *_orders(columns, seen)),
        seen.nulls,
    )  # fmt: skip


def _key(entity: str, columns: Sequence[Column], seen: Sample, *, changes: bool) -> tuple[tuple[str, ...], str]:
    """A column that no row lacks and that no two rows of one file share; its name decides between several."""
    found: list[tuple[int, str]] = []
    for place, column in enumerate(columns):
        values = seen.columns[column.name]
        pairs = list(zip(seen.files, values, strict=True))
        is_one = column.filled == seen.rows > 0 and (changes or len(set(pairs)) == len(pairs))
        if not is_one or column.type in ("double", "boolean", "timestamp", "date") or column.type.startswith("dec"):
            continue
        worth = _likely(entity, column, place)
        if worth:
            found.append((-worth, column.name))
    if not found:
        return (), "no column is filled and different in every row of a file"
    name = min(found)[1]
    again = len(set(seen.columns[name])) < seen.rows
    told = "filled in every row" + ("" if changes else ", different in every row of a file")
    return (name,), told + (", and found again in later files" if again else "") + "; its name is a key's"


def _likely(entity: str, column: Column, place: int) -> int:
    """How much a name is a key's: its entity's own, any id, or the first column with a word for it."""
    last = column.words[-1] if column.words else ""
    if last not in ("id", "key", "code", "number", "no", "nr", "uuid", "guid"):
        return 0
    own = entity.rstrip("s").replace("_", "")
    named = "".join(column.words[:-1])
    if last in ("id", "key", "uuid", "guid") and (not named or named in (own, entity.replace("_", ""))):
        return 4
    if place == 0:
        return 3
    return 2 if named == own else 0


def _sequence(columns: Sequence[Column]) -> str | None:
    fitting = {column.name.lower(): column.name for column in columns if column.type in ("timestamp", "date")}
    return next((fitting[name] for name in _SEQUENCES if name in fitting), None)


def _operation(columns: Sequence[Column]) -> tuple[str | None, tuple[str, ...]]:
    for column in columns:
        if column.name.lower() in _OPERATIONS and column.values:
            deletes = tuple(value for value in column.values if value in _DELETES)
            if deletes:
                return column.name, deletes
    return None, ()


def _partition(columns: Sequence[Column], seen: Sample) -> tuple[str | None, str | None]:
    """A day of arrival that is the same for all rows of a file: reading and replacing a day touches only its files."""
    for column in columns:
        if column.type != "date" or column.name.lower() not in _ARRIVALS or column.filled != seen.rows:
            continue
        if len(set(zip(seen.files, seen.columns[column.name], strict=True))) == len(set(seen.files)):
            return column.name, "the day of arrival, the same in all rows of a file"
    return None, None


def _orders(columns: Sequence[Column], seen: Sample) -> list[tuple[str, str, str]]:
    """Days that come one after the other in every row."""
    by_name = {column.name.lower(): column for column in columns if column.type in ("date", "timestamp")}
    found: list[tuple[str, str, str]] = []
    for first, last in _PAIRS:
        for name, one in by_name.items():
            other = by_name.get(name.replace(first, last)) if first in name else None
            if other is None or other is one or one.type != other.type:
                continue
            both = zip(seen.columns[one.name], seen.columns[other.name], strict=True)
            filled = [(a, b) for a, b in both if a is not None and b is not None]
            if filled and all(a <= b for a, b in filled):
                told = f"in all {len(filled)} rows that have both"
                predicate = f"{quote(one.name)} <= {quote(other.name)}"
                found.append((f"{one.name.lower()}_is_not_after_{other.name.lower()}", predicate, told))
    return found
