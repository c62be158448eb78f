"""Bounds that a contract sets on the rows of its source: those after what its table holds, or those of given days.

`max_target` takes rows strictly after the greatest value that the table has, `lookback` rows from some time before it
on, `date_range` rows of days. Rows that are left out are filtered by name, so that every row that was read is in the
account. A row without a value cannot be placed: taken each time it would be doubled, left out it would be lost. It is
a bad row and waits in quarantine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.contract.source import Bounds, Source
from lakelogic.plan.codes import BAD_STEP
from lakelogic.plan.columns import written
from lakelogic.plan.nodes import RowWise
from lakelogic.plan.predicates import both, holds
from lakelogic.plan.source.days import Days, day_of
from lakelogic.plan.state import Flag, State
from lakelogic.sql.arguments import read
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call
from lakelogic.sql.problems import NO_COLUMN, SqlProblems, nearest_or_all
from lakelogic.sql.types import TIMESTAMP, Type, parse_type

STEP = "watermark"  # what the account calls rows that were read and left out
TIMES = ("date", "timestamp", "timestamp_ntz")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
INPUT = "watermark"  # in what a commit tells of its input


def range_of(source: Source) -> Days | None:
    """The days of a `date_range`; None where they are not written as dates."""
    first, last = day_written(source.from_date), day_written(source.to_date)
    return None if first is None or last is None else Days(first, last)


def day_written(written: str | None) -> date | None:
    """A day as contracts write it, 2026-01-31; None for any other text."""
    try:
        return date.fromisoformat(written) if written and _DAY.fullmatch(written) else None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a run begins: the greatest value of the table, and the least that is taken. None: the table has none."""

    strategy: Bounds
    field: str
    type: Type
    greatest: Any = None
    least: Any = None  # lookback: from here on, inclusive

    @property
    def is_open(self) -> bool:
        """Whether everything is taken."""
        return self.greatest is None

    @property
    def start(self) -> datetime | None:
        """The instant at which rows begin; None where that is a number, or everything is taken."""
        least = self.least if self.strategy == "lookback" else self.greatest
        return None if self.type.kind not in TIMES else as_value(least, TIMESTAMP)

    def told(self) -> str:
        """What is read, for people."""
        if self.is_open:
            return f"all rows: the table has no {self.field} yet"
        if self.strategy == "lookback":
            since = f"from {plain(self.least)} on" if self.least is not None else "of any time"
            return f"rows whose {self.field} is {since} (the table reaches {plain(self.greatest)})"
        return f"rows whose {self.field} is after {plain(self.greatest)}, the greatest in the table"

    def leaves_out(self, value: Expression) -> Expression:
        """TRUE for rows that are not taken, never NULL; a row without a value is not left out."""
        if self.strategy == "lookback":
            return holds(call("lt", value, Literal(self.least, self.type)))
        return holds(call("le", value, Literal(self.greatest, self.type)))

    def takes(self, value: Any) -> bool:
        """Whether a row with this plain value is read; what cannot be compared is not known to be."""
        typed = as_value(value, self.type)
        if typed is None:
            return False
        if self.is_open:
            return True
        if self.strategy == "lookback":
            return self.least is None or bool(typed >= self.least)
        return bool(typed > self.greatest)

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for the intent and the commit."""
        document = {"strategy": self.strategy, "field": self.field, "type": str(self.type)}
        least = {"from": _text(self.least)} if self.strategy == "lookback" else {}
        return {**document, "after": _text(self.greatest), **least}


def bound_told(document: Mapping[str, Any]) -> Bound | None:
    """The bound of a batch, from what its commit tells of its input."""
    entry = document.get(INPUT)
    if not entry:
        return None
    type_ = parse_type(entry["type"])
    greatest, least = as_value(entry.get("after"), type_), as_value(entry.get("from"), type_)
    return Bound(entry["strategy"], entry["field"], type_, greatest, least)


def plain(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat(sep=" ").removesuffix("+00:00") + "Z"
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value.isoformat()) if isinstance(value, date) else str(value)


def as_value(value: Any, type_: Type) -> Any:
    """A plain value, or its text, as one of a type that can be compared; None where it is none."""
    if value is None:
        return None
    try:
        if type_.kind == "date":
            return _instant(value).date()
        if type_.kind == "timestamp":
            instant = _instant(value)
            return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
        if type_.kind == "timestamp_ntz":
            return _instant(value).replace(tzinfo=None)
        return Decimal(str(value)) if type_.kind == "decimal" else int(str(value))
    except (ValueError, InvalidOperation):
        return None


def _instant(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    return datetime.fromisoformat(value.isoformat() if isinstance(value, date) else str(value).strip())


def leave_out(
    state: State, contract: Contract, types: Mapping[str, Type], bound: Bound | None, days: Days | None
) -> None:
    """Rows that the contract's own bound does not take are lost, by name. Where it is not known yet, it is told."""
    source = contract.source
    strategy = source.bounded_by
    field = source.watermark_field
    if strategy is None or field is None:
        return
    value = _placed(state, contract, types, field)
    if strategy == "date_range":
        span = range_of(source)
        if days is None or value is None:
            state.nodes.append(RowWise(STEP, (), (f"rows whose {field} is on {span}",)))
            return
        outside = both(call("not", days.hold(value)), call("not", call("is_null", day_of(value))))
        state.lose("filtered", STEP, outside, (f"rows whose {field} is on {days}",))
        return
    if bound is None or value is None:
        before = f"from {source.lookback} before" if strategy == "lookback" else "after"
        state.nodes.append(RowWise(STEP, (), (f"rows whose {field} is {before} the greatest one in the table",)))
    elif bound.is_open or (strategy == "lookback" and bound.least is None):
        state.nodes.append(RowWise(STEP, (), (bound.told(),)))
    else:
        state.lose("filtered", STEP, bound.leaves_out(value), (bound.told(),))


def _placed(state: State, contract: Contract, types: Mapping[str, Type], field: str) -> Expression | None:
    """The value of the field in its declared type, read as the model reads it; None where it cannot be."""
    name = state.spelled(field)
    if name is None:
        if state.trouble.landed_is_known:
            message = f"There is no column `{field}` that would place rows in time."
            state.trouble.add(NO_COLUMN, message, "source.watermark_field", nearest_or_all(field, list(state.visible)))
        return None
    value, type_ = state.scope[name], types.get(name)
    if type_ is None or value.type == type_:
        return value
    try:
        shown = written.value_of(value, name, type_, contract.source.options)
        return read(shown, type_, json=not state.has_header)
    except SqlProblems:
        return None  # the model says so itself


def judge_unplaced(state: State, contract: Contract, types: Mapping[str, Type]) -> None:
    """Rows without a value in the field that places rows are bad; one that cannot be read is so by its type."""
    field = contract.source.watermark_field
    if contract.source.bounded_by is None or field is None or (name := state.spelled(field)) is None:
        return
    landed, type_ = state.scope[name], types.get(name)
    unplaced = call("is_null", landed)
    if contract.source.bounded_by == "date_range" and (type_ is None or type_.is_text):
        unplaced = call("is_null", day_of(landed))
    state.judge([Flag(unplaced, f"Watermark missing: {name} tells no place", "schema", f"{name}_watermark")])


def _bare(value: Expression | None) -> Expression | None:
    while isinstance(value, Call) and value.function == "convert":
        value = value.args[0]
    return value


@dataclass(frozen=True, slots=True)
class Untouched:
    """Sees to it that the table has the values of the source: otherwise its greatest says nothing about the source."""

    state: State
    name: str
    value: Expression | None

    @classmethod
    def of(cls, state: State, contract: Contract) -> Untouched | None:
        """The field as it stands now; None where the table does not tell where to begin."""
        field = contract.source.watermark_field
        name = state.spelled(field) if field is not None and contract.source.follows_target else None
        return None if name is None else cls(state, name, _bare(state.scope[name]))

    def check(self, now: Mapping[str, Expression]) -> None:
        """A diagnostic where a step has changed it since."""
        column = _bare(now.get(self.name))
        if column == self.value and isinstance(column, Column):
            return
        message = f"A step changes or removes `{self.name}`, so that the table does not tell what was read."
        hint = "Name a field that goes from the source to the table as it is, or give the new value another name."
        if not any(diagnostic.message == message for diagnostic in self.state.trouble.found):
            self.state.trouble.add(BAD_STEP, message, "source.watermark_field", hint)
