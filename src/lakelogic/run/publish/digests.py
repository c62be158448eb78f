"""What a set of rows adds up to, whatever their order and whichever engine wrote them.

A digest holds, for every column, how many values there are and what they total: numbers by their sum, days and
instants by their distance from 1970, text by its bytes, truth by its TRUEs. Two outcomes with equal digests have as
many rows, values and totals; a lost, doubled or altered row shows. It is no proof against values that trade places.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from lakelogic.plan.nodes import Measure, Published
from lakelogic.plan.totals import is_weighed, weigher, weight
from lakelogic.sql.expressions import Column
from lakelogic.sql.types import Type, to_arrow
from lakelogic.storage import parquet

SMALL = 5_000  # rows for which a job of the engine costs more than a look at the files
_EXACT = Context(prec=80)


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
        added = weight(value)
        if added is not None:
            measures.append(Measure(f"t:{column.name}", "sum", added))
    return measures


def measured(rows: int, columns: Sequence[Published], answers: Mapping[str, Any]) -> Digest:
    """The digest that an engine's answers to `wanted` make."""
    totals = {c.name: (int(answers[f"n:{c.name}"]), _plain(answers.get(f"t:{c.name}"), c.type)) for c in columns}
    return Digest(rows, totals)


def of_totals(rows: int, columns: Sequence[Published], totals: Mapping[str, tuple[int, Any]]) -> Digest:
    """The digest of what an engine added up while it staged the rows."""
    return Digest(rows, {c.name: (totals[c.name][0], _plain(totals[c.name][1], c.type)) for c in columns})


def of_ids(ids: Iterable[str]) -> str:
    """What a set of row identities, which are hexadecimal, adds up to."""
    return of_total(sum(int(one, 16) for one in ids))


def of_total(total: int) -> str:
    """The same for what was added up already."""
    return f"{total % 2**128:032x}"


def _plain(total: Any, kind: Type) -> str | None:
    if not is_weighed(kind):
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
            weigh = weigher(column.type)
            if weigh is not None:
                for value in values:
                    totals[column.name] = _EXACT.add(totals[column.name], Decimal(weigh(value)))
    return Digest(rows, {c.name: (counts[c.name], _plain(totals[c.name], c.type)) for c in columns})
