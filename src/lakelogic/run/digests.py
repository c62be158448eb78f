"""What a set of rows adds up to, whatever their order and whichever engine wrote them.

A digest holds, for every column, how many values there are and what they total: numbers by their sum, days and
instants by their distance from 1970, text by its bytes, truth by its TRUEs. Two outcomes with equal digests have as
many rows, values and totals; a lost, doubled or altered row shows. It is no proof against values that trade places.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from lakelogic.plan.nodes import Measure, Published
from lakelogic.sql.expressions import Call, Column, Expression, Literal, convert
from lakelogic.sql.types import BIGINT, INT, TIMESTAMP, Type, decimal, to_arrow
from lakelogic.storage import parquet

SMALL = 5_000  # rows for which a job of the engine costs more than a look at the files
_TOTAL = decimal(38, 0)
_DAY = 86_400_000_000
_FIRST, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_EXACT = Context(prec=80)
# The total of a decimal column fits into 38 digits for as many rows as a table can have.
_LONGEST_SUMMED = 28


@dataclass(frozen=True, slots=True)
class Digest:
    """Rows, and per column how many values there are and what they total (None where only counted)."""

    rows: int
    columns: Mapping[str, tuple[int, str | None]]

    @property
    def text(self) -> str:
        """Short and comparable: equal for equal digests."""
        parts = [self.rows, sorted((name, *found) for name, found in self.columns.items())]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:32]


def wanted(columns: Sequence[Published]) -> list[Measure]:
    """What an engine is asked for about many rows."""
    measures: list[Measure] = []
    for column in columns:
        value = Column(column.name, column.type)
        measures.append(Measure(f"n:{column.name}", "count", value))
        weight = _weight(value)
        if weight is not None:
            measures.append(Measure(f"t:{column.name}", "sum", weight))
    return measures


def measured(rows: int, columns: Sequence[Published], answers: Mapping[str, Any]) -> Digest:
    """The digest that an engine's answers to `wanted` make."""
    totals = {c.name: (int(answers[f"n:{c.name}"]), _plain(answers.get(f"t:{c.name}"), c.type)) for c in columns}
    return Digest(rows, totals)


def of_ids(ids: Iterable[str]) -> str:
    """What a set of row identities, which are hexadecimal, adds up to."""
    return f"{sum(int(one, 16) for one in ids) % 2**128:032x}"


def _weight(value: Column) -> Expression | None:
    """What a value adds to the total of its column, as an exact number; None where values are only counted."""
    kind = value.type
    if kind.is_integer:
        return convert(value, _TOTAL)
    if kind.kind == "decimal":
        return value if kind.precision <= _LONGEST_SUMMED else None
    if kind.kind in ("date", "timestamp", "timestamp_ntz"):
        return convert(Call("unix_micros", (convert(value, TIMESTAMP),), BIGINT), _TOTAL)
    if kind.kind in ("string", "json", "binary"):
        return convert(Call("octet_length", (value,), INT), BIGINT)
    if kind.kind == "boolean":
        return Call("case", (value, Literal(1, BIGINT), Literal(0, BIGINT)), BIGINT)
    return None


def _plain(total: Any, kind: Type) -> str | None:
    if _weight(Column("x", kind)) is None:
        return None
    return format(_EXACT.create_decimal(total or 0).normalize(_EXACT), "f") if total else "0"


def of_rows(paths: Sequence[str], columns: Sequence[Published]) -> Digest:
    """The same digest, added up in this process."""
    schema = pa.schema([(column.name, to_arrow(column.type)) for column in columns])
    counts = {column.name: 0 for column in columns}
    totals = {column.name: Decimal(0) for column in columns}
    rows = 0
    for batch in parquet.reader(paths, schema):
        rows += batch.num_rows
        for column in columns:
            values = [value for value in batch.column(column.name).to_pylist() if value is not None]
            counts[column.name] += len(values)
            weigh = _weigher(column.type)
            if weigh is not None:
                for value in values:
                    totals[column.name] = _EXACT.add(totals[column.name], Decimal(weigh(value)))
    return Digest(rows, {c.name: (counts[c.name], _plain(totals[c.name], c.type)) for c in columns})


def _weigher(kind: Type) -> Callable[[Any], int | Decimal] | None:
    """`_weight`, for a value in hand."""
    if _weight(Column("x", kind)) is None:
        return None
    if kind.kind == "date":
        return lambda day: (day - _FIRST.date()).days * _DAY
    if kind.kind == "timestamp":
        return lambda at: (at - _FIRST) // _MICROSECOND
    if kind.kind == "timestamp_ntz":
        return lambda at: (at - _FIRST.replace(tzinfo=None)) // _MICROSECOND
    if kind.kind in ("string", "json"):
        return lambda text: len(text.encode())
    return len if kind.kind == "binary" else lambda number: number
