"""Dataset rules → measures over the staged good rows, and the bounds they must keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakelogic.contract import rules as written
from lakelogic.contract.document import Contract
from lakelogic.plan.nodes import Measure, Published, Severity
from lakelogic.plan.state import Trouble
from lakelogic.sql.expressions import Column, Expression, call, convert
from lakelogic.sql.problems import BAD_TYPES, NO_COLUMN, nearest
from lakelogic.sql.types import DOUBLE


@dataclass(frozen=True, slots=True)
class Check:
    """One dataset rule: the measure it reads, the bounds it must keep, both ends allowed.

    `over` is a second measure to divide by (a ratio). `unique` names columns instead: their values must differ.
    """

    name: str
    severity: Severity
    expected: str
    measure: str | None = None
    over: str | None = None
    low: float | None = None
    high: float | None = None
    unique: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """All dataset rules of a contract and the measures they need."""

    checks: tuple[Check, ...]
    measures: tuple[Measure, ...]


ROWS = Measure("rows", "count_all", None)


def checks(contract: Contract, columns: tuple[Published, ...], trouble: Trouble) -> Checks:
    """The dataset rules, bound to the columns that good rows have."""
    good = {column.name.lower(): column for column in columns if column.on_good}
    found: list[Check] = []
    measures: dict[str, Measure] = {ROWS.name: ROWS}
    for index, rule in enumerate(contract.quality.dataset_rules):
        path = f"quality.dataset_rules[{index}]"
        build = BUILD.get(type(rule))
        if build is None:
            continue  # refused as not available yet
        made = build(rule, path, good, trouble)
        if made is not None:
            check, needed = made
            found.append(check)
            measures |= {measure.name: measure for measure in needed}
    strategy = contract.materialization.strategy
    if contract.key and strategy in ("append", "overwrite") and all(key.lower() in good for key in contract.key):
        keys = tuple(good[key.lower()].name for key in contract.key)
        if not any(check.unique == keys for check in found):
            found.append(Check("primary_key_unique", "error", "no duplicates", unique=keys))
    return Checks(tuple(found), tuple(measures.values()))


Good = Mapping[str, Published]
Made = tuple[Check, list[Measure]]


def _column(rule: Any, name: str, path: str, good: Good, trouble: Trouble) -> Column | None:
    found = good.get(name.lower())
    if found is None:
        hint = nearest(name, [column.name for column in good.values()])
        message, unsure = f"There is no column `{name}` in the published rows.", not trouble.landed_is_known
        trouble.add(NO_COLUMN, message, f"{path}.{rule.kind}", hint, warning=unsure)
        return None
    return Column(found.name, found.type)


def _unique(rule: written.Unique, path: str, good: Good, trouble: Trouble) -> Made | None:
    columns = [_column(rule, name, path, good, trouble) for name in rule.fields]
    if any(column is None for column in columns):
        return None
    keys = tuple(column.name for column in columns if column is not None)
    name = rule.name or f"{'_'.join(rule.fields)}_unique"
    return Check(name, rule.severity, "no duplicates", unique=keys), []


def _null_ratio(rule: written.NullRatio, path: str, good: Good, trouble: Trouble) -> Made | None:
    column = _column(rule, rule.field, path, good, trouble)
    if column is None:
        return None
    missing = Measure(f"null:{column.name}", "count_all", None, call("is_null", column))
    name = rule.name or f"{rule.field}_null_ratio"
    check = Check(name, rule.severity, f"at most {rule.max}", missing.name, ROWS.name, None, float(rule.max))
    return check, [missing, ROWS]


def _bounds(low: Any, high: Any) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}"


def _row_count(rule: written.RowCountBetween, _path: str, _good: Good, _trouble: Trouble) -> Made | None:
    expected = _bounds(rule.min, rule.max)
    return Check(rule.name or "row_count_between", rule.severity, expected, ROWS.name, None, rule.min, rule.max), [ROWS]


def _field_between(function: str, *, number: bool) -> Callable[[Any, str, Good, Trouble], Made | None]:
    def build(rule: Any, path: str, good: Good, trouble: Trouble) -> Made | None:
        column = _column(rule, rule.field, path, good, trouble)
        if column is None:
            return None
        value: Expression = column
        if number:
            if not column.type.is_number:
                message = f"`{rule.field}` is {column.type}, not a number."
                trouble.add(BAD_TYPES, message, f"{path}.{rule.kind}.field", "declare its type in the model")
                return None
            value = convert(column, DOUBLE) if function == "avg" else column
        measure = Measure(f"{function}:{column.name}", function, value)
        name = rule.name or f"{rule.field}_{rule.kind}"
        low = None if rule.min is None else float(rule.min)
        high = None if rule.max is None else float(rule.max)
        return Check(name, rule.severity, _bounds(rule.min, rule.max), measure.name, None, low, high), [measure]

    return build


BUILD: dict[type, Callable[[Any, str, Good, Trouble], Made | None]] = {
    written.Unique: _unique,
    written.NullRatio: _null_ratio,
    written.RowCountBetween: _row_count,
    written.DistinctCount: _field_between("count_distinct", number=False),
    written.MeanBetween: _field_between("avg", number=True),
    written.SumBetween: _field_between("sum", number=True),
}
