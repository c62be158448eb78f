"""What an entity is as a whole: its key, which of two rows is newer, how it changes, how it could be parted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

from lakelogic.contract import formats
from lakelogic.infer.columns import TIMES, ColumnDraft, look, quote
from lakelogic.infer.landings import Landing
from lakelogic.infer.proofs import Proof, prove
from lakelogic.infer.samples import Reading, Sample, reading, sample, settled

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
NO_KEY: Final = "no column that looks like a key is filled and different in every row of a file"
_CODE: Final = re.compile(r"[^\s]{1,40}")
_ENOUGH: Final = 10  # rows in which codes that differ do not differ by chance
_PARTS: Final = frozenset({"id", "key", "code", "number", "no", "nr", "line", "position", "seq", "sequence", "item"})
_MOST_PARTS: Final = 6
_PAIRS: Final = (("start", "end"), ("from", "to"), ("valid_from", "valid_to"), ("opened", "closed"))


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity, drafted: what was seen of it, and why it is taken for that."""

    landing: Landing
    columns: tuple[ColumnDraft, ...]
    rows: int
    broken: int
    key: tuple[str, ...] = ()
    key_why: str = NO_KEY
    sequence: str | None = None
    operation: str | None = None
    deletes: tuple[str, ...] = ()
    partition: str | None = None
    partition_why: str | None = None
    rules: tuple[tuple[str, str, str], ...] = ()
    nulls: tuple[str, ...] = ()  # texts that mean no value
    how: Reading = field(default_factory=lambda: Reading(()))
    proof: Proof = field(default_factory=Proof)

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
    how = reading(landing)
    seen = sample(landing, how, rows)
    columns = _looked_at(seen)
    operation, deletes = _operation(columns)
    keys = _keys(landing, columns, seen, changes=operation is not None)
    proof = prove(landing, how, seen, columns, keys.keys(), repeats=operation is not None)
    if proof.news:
        seen = settled(replace(seen, more=proof.news), landing)
        columns = _looked_at(seen)
    key, why = _key(keys, proof, changes=operation is not None)
    sequence = _sequence(columns)
    if operation is not None and (not key or sequence is None):
        operation, deletes = None, ()
    partition, partition_why = (None, None) if key and sequence else _partition(columns, seen)
    return Entity(
        landing, columns, seen.rows, seen.broken, key, why, sequence if key else None, operation, deletes, partition,
        partition_why, (*(rule for column in columns for rule in column.rules), *_orders(columns, seen)),
        seen.nulls, how, proof,
    )  # fmt: skip


def _looked_at(seen: Sample) -> tuple[ColumnDraft, ...]:
    return tuple(
        look(name, values, seen.declared.get(name), seen.more.get(name, ())) for name, values in seen.columns.items()
    )


def _keys(
    landing: Landing, columns: Sequence[ColumnDraft], seen: Sample, *, changes: bool
) -> dict[tuple[str, ...], int]:
    """Columns, or pairs of them, that no row lacks and that no two rows of one file share; how likely a key each is.

    Names tell, or codes in the first column. A pair is thought of where no column alone will do, and both are called
    as parts of keys are.
    """
    entity, is_ordered = landing.entity, formats.has_header(landing.format)
    filled = [
        (place, column)
        for place, column in enumerate(columns)
        if column.filled == seen.rows > 0 and _is_exact(column.type)
    ]
    candidates: dict[tuple[str, ...], int] = {}
    for place, column in filled:
        worth = _likely(entity, column, place) or (1 if place == 0 and is_ordered and _has_codes(column, seen) else 0)
        if worth and (changes or _differ(seen, (column.name,))):
            candidates[(column.name,)] = worth
    if candidates or changes:
        return candidates
    parts = [column.name for _, column in filled if column.words and column.words[-1] in _PARTS][:_MOST_PARTS]
    return {pair: 1 for pair in combinations(parts, 2) if _differ(seen, pair)}


def _has_codes(column: ColumnDraft, seen: Sample) -> bool:
    """Whether a column of another name holds codes of something: texts without blanks, of which there are enough."""
    if column.type != "string" or column.personal or seen.rows < _ENOUGH or set(column.words) & TIMES:
        return False
    return all(value is not None and _CODE.fullmatch(value) for value in seen.columns[column.name])


def _is_exact(kind: str) -> bool:
    """Whether values of the type are keys: neither measures nor times, nor anything nested."""
    return kind in ("string", "int", "bigint") or kind == "decimal(38,0)"


def _differ(seen: Sample, names: tuple[str, ...]) -> bool:
    rows = list(zip(seen.files, *(seen.columns[name] for name in names), strict=True))
    return len(set(rows)) == len(rows)


def _key(keys: Mapping[tuple[str, ...], int], proof: Proof, *, changes: bool) -> tuple[tuple[str, ...], str]:
    """The likeliest key that every row keeps to."""
    left = {key: worth for key, worth in keys.items() if key not in proof.refuted}
    if not left:
        return (), NO_KEY
    key = min(left, key=lambda candidate: (-left[candidate], candidate))
    reason = "filled in every row" + ("" if changes else ", different in every row of a file")
    reason += ", and found again in later files" if key in proof.again else ""
    named = "its name is a key's" if left[key] > 1 else "it is the first column, and holds codes"
    if len(key) > 1:
        named = "no column alone is, and their names are parts of keys"
    return key, f"{reason}; {named}"


def _likely(entity: str, column: ColumnDraft, place: int) -> int:
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


def _sequence(columns: Sequence[ColumnDraft]) -> str | None:
    fitting = {column.name.lower(): column.name for column in columns if column.type in ("timestamp", "date")}
    return next((fitting[name] for name in _SEQUENCES if name in fitting), None)


def _operation(columns: Sequence[ColumnDraft]) -> tuple[str | None, tuple[str, ...]]:
    for column in columns:
        if column.name.lower() in _OPERATIONS and column.values:
            deletes = tuple(value for value in column.values if value in _DELETES)
            if deletes:
                return column.name, deletes
    return None, ()


def _partition(columns: Sequence[ColumnDraft], seen: Sample) -> tuple[str | None, str | None]:
    """A day of arrival that is the same for all rows of a file: reading and replacing a day touches only its files."""
    for column in columns:
        if column.type != "date" or column.name.lower() not in _ARRIVALS or column.filled != seen.rows:
            continue
        if len(set(zip(seen.files, seen.columns[column.name], strict=True))) == len(set(seen.files)):
            return column.name, "the day of arrival, the same in all rows of a file"
    return None, None


def _orders(columns: Sequence[ColumnDraft], seen: Sample) -> list[tuple[str, str, str]]:
    """Days that come one after the other in every row."""
    by_name = {column.name.lower(): column for column in columns if column.type in ("date", "timestamp")}
    rules: list[tuple[str, str, str]] = []
    for first, last in _PAIRS:
        for name, column in by_name.items():
            other = by_name.get(name.replace(first, last)) if first in name else None
            if other is None or other is column or column.type != other.type:
                continue
            both = zip(seen.columns[column.name], seen.columns[other.name], strict=True)
            filled = [(a, b) for a, b in both if a is not None and b is not None]
            if filled and all(a <= b for a, b in filled):
                reason = f"in all {len(filled)} rows that have both"
                predicate = f"{quote(column.name)} <= {quote(other.name)}"
                rules.append((f"{column.name.lower()}_is_not_after_{other.name.lower()}", predicate, reason))
    return rules
