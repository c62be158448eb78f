"""Special forms of times: EXTRACT, INTERVAL, AT TIME ZONE, dates in sums, and functions that take a unit as a word."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from lakelogic.sql.arguments import refuse
from lakelogic.sql.catalogue import time_calls as calls
from lakelogic.sql.coerce import day
from lakelogic.sql.expressions import Call, Expression, Literal, convert
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.scope import PartBinder
from lakelogic.sql.times.units import LENGTHS, Interval, of, read_interval, read_span
from lakelogic.sql.types import INT, TIMESTAMP, TIMESTAMP_NTZ

_MAKERS = {
    "make_interval": ("year", "month", "week", "day", "hour", "minute", "second"),
    "make_ym_interval": ("year", "month"),
    "make_dt_interval": ("day", "hour", "minute", "second"),
}


def _extract(binder: PartBinder, tree: exp.Expression) -> Expression:
    return calls.field(str(tree.this.name or tree.this.this), binder.part(tree.expression))


def _at_time_zone(binder: PartBinder, tree: exp.Expression) -> Expression:
    return calls.at_time_zone([binder.part(tree.this), binder.part(tree.args["zone"])])


def _alone(_binder: PartBinder, tree: exp.Expression) -> Expression:
    interval(tree)
    raise refuse(
        BAD_ARGUMENTS,
        "An interval cannot stand alone.",
        "add it to a date or a timestamp, or subtract it from one: t + INTERVAL 1 DAY",
    )


FORMS: dict[type[exp.Expression], Callable[[PartBinder, exp.Expression], Expression]] = {
    exp.Extract: _extract,
    exp.AtTimeZone: _at_time_zone,
    exp.Interval: _alone,
}


# intervals


def interval(tree: exp.Expression) -> Interval | None:
    """The interval that a tree writes out, or None when it is not one."""
    if isinstance(tree, exp.Paren):
        return interval(tree.this)
    if isinstance(tree, exp.Neg):
        inner = interval(tree.this)
        return inner.times(-1) if inner is not None else None
    if isinstance(tree, exp.Add | exp.Sub):
        left, right = interval(tree.this), interval(tree.expression)
        if left is None or right is None:
            return None
        return left + (right if isinstance(tree, exp.Add) else right.times(-1))
    if isinstance(tree, exp.Mul):
        return _multiple(tree)
    if isinstance(tree, exp.Anonymous) and str(tree.this).lower() in _MAKERS:
        return _made(str(tree.this).lower(), tree.expressions)
    return _written(tree) if isinstance(tree, exp.Interval) else None


def _multiple(tree: exp.Expression) -> Interval | None:
    for first, second in ((tree.this, tree.expression), (tree.expression, tree.this)):
        inner = interval(first)
        if inner is not None:
            number = _number(second)
            if number is None or number != int(number):
                raise refuse(BAD_ARGUMENTS, "An interval can only be multiplied by a whole constant.", _COLUMN_HINT)
            return inner.times(int(number))
    return None


_COLUMN_HINT = "for a number from a column: timestampadd(HOUR, n, t), date_add(d, n) or add_months(d, n)"


def _written(tree: exp.Expression) -> Interval:
    value = tree.this
    while isinstance(value, exp.Paren):
        value = value.this
    if not isinstance(value, exp.Literal):
        raise refuse(BAD_ARGUMENTS, "An interval must be a constant.", _COLUMN_HINT)
    unit = tree.args.get("unit")
    try:
        if unit is None:
            return read_interval(str(value.this))
        if isinstance(unit, exp.IntervalSpan):
            return read_span(str(value.this), unit.this.name, unit.expression.name)
        return of(str(value.this), unit.name)
    except ValueError as error:
        raise refuse(BAD_ARGUMENTS, f"The interval cannot be read: {error}.", "write INTERVAL 3 DAYS") from error


def _made(name: str, arguments: list[exp.Expression]) -> Interval:
    units = _MAKERS[name]
    if len(arguments) > len(units):
        raise refuse(BAD_ARGUMENTS, f"`{name}` takes {len(units)} arguments at most, not {len(arguments)}.")
    total = Interval()
    for argument, unit in zip(arguments, units, strict=False):
        number = _number(argument)
        if number is None:
            raise refuse(BAD_ARGUMENTS, f"`{name}` takes constants only.", _COLUMN_HINT)
        try:
            total += of(f"{number:f}", unit)
        except ValueError as error:
            raise refuse(BAD_ARGUMENTS, f"`{name}`: {error}.") from error
    return total


def _number(tree: exp.Expression) -> Decimal | None:
    if isinstance(tree, exp.Paren):
        return _number(tree.this)
    if isinstance(tree, exp.Neg):
        inner = _number(tree.this)
        return -inner if inner is not None else None
    return Decimal(str(tree.this)) if isinstance(tree, exp.Literal) and not tree.is_string else None


# sums


def with_interval(binder: PartBinder, function: str, tree: exp.Expression) -> Expression | None:
    """A sum in which one side is an interval; None when neither is."""
    if function not in ("add", "subtract"):
        return None
    left, right = interval(tree.this), interval(tree.expression)
    if left is not None and right is not None:
        return _alone(binder, tree)
    if right is not None:
        moved = right.times(-1) if function == "subtract" else right
        return calls.add_interval(binder.part(tree.this), moved, "adding an interval")
    if left is None:
        return None
    if function == "subtract":
        raise refuse(BAD_ARGUMENTS, "Nothing can be subtracted from an interval.", "write t - INTERVAL …")
    return calls.add_interval(binder.part(tree.expression), left, "adding an interval")


def of_times(function: str, left: Expression, right: Expression) -> Expression | None:
    """A sum or difference in which a side is a date or a time; None when none is."""
    kinds = (left.type.kind, right.type.kind)
    if not set(kinds) & set(calls.TIMES):
        return None
    if "null" in kinds and function in ("add", "subtract"):
        return Literal(None, right.type if kinds[0] == "null" else left.type)
    if function == "subtract" and kinds[0] == "date" and (kinds[1] == "date" or right.type.is_text):
        return Call("days_between", (left, day(right, "-")), INT)
    if function == "subtract" and left.type.is_text and kinds[1] == "date":
        return Call("days_between", (day(left, "-"), right), INT)
    if function == "subtract" and all(kind in calls.TIMES for kind in kinds):
        raise refuse(
            BAD_TYPES,
            f"{kinds[0]} - {kinds[1]} has no portable meaning.",
            "say in which unit: timestampdiff(SECOND, start, end); or cast both to DATE",
        )
    if function in ("add", "subtract") and kinds[0] == "date" and right.type.is_integer:
        return calls.date_add(1 if function == "add" else -1)([left, right])
    if function == "add" and kinds[1] == "date" and left.type.is_integer:
        return calls.date_add(1)([right, left])
    hint = "t + INTERVAL 1 DAY, timestampadd(HOUR, n, t), date_add(d, n)"
    raise refuse(BAD_TYPES, f"{left.type} and {right.type} cannot be computed with one another.", hint)


# functions whose first argument is a unit, or that need the run's clock


def _word(tree: exp.Expression, name: str) -> str:
    if isinstance(tree, exp.Column | exp.Var) or (isinstance(tree, exp.Literal) and tree.is_string):
        return str(tree.name)
    raise refuse(BAD_ARGUMENTS, f"`{name}`'s first argument is a unit.", "write DAY, HOUR, MONTH, …")


def _between(binder: PartBinder, name: str, arguments: list[exp.Expression]) -> Expression:
    word = _word(arguments[0], name)
    start, end = (binder.part(argument) for argument in arguments[1:])
    return calls.units_between(word, start, end, name)


def _add(binder: PartBinder, name: str, arguments: list[exp.Expression]) -> Expression:
    word = _word(arguments[0], name)
    count, value = (binder.part(argument) for argument in arguments[1:])
    return calls.add_units(word, count, value, name)


def _now(binder: PartBinder, _name: str, _arguments: list[exp.Expression]) -> Expression:
    return binder.clock.timestamp


def _now_seconds(binder: PartBinder, _name: str, _arguments: list[exp.Expression]) -> Expression:
    return calls.unix_timestamp([binder.clock.timestamp])


def _today(binder: PartBinder, _name: str, _arguments: list[exp.Expression]) -> Expression:
    return binder.clock.date


def _local_now(binder: PartBinder, _name: str, _arguments: list[exp.Expression]) -> Expression:
    value = binder.clock.timestamp.value
    return Literal(value.replace(tzinfo=None), TIMESTAMP_NTZ)  # type: ignore[union-attr, call-arg]


def _make_interval(_binder: PartBinder, name: str, arguments: list[exp.Expression]) -> Expression:
    _made(name, arguments)
    raise refuse(BAD_ARGUMENTS, "An interval cannot stand alone.", f"add it to a date or a timestamp: t + {name}(…)")


def _interval_days(binder: PartBinder, name: str, arguments: list[exp.Expression]) -> Expression | None:
    """`date_add(d, INTERVAL 1 DAY)` is `d + INTERVAL 1 DAY`."""
    span = interval(arguments[1])
    if span is None:
        return None
    moved = span.times(-1) if name == "date_sub" else span
    value = binder.part(arguments[0])
    return calls.add_interval(value if value.type.kind in calls.TIMES else day(value, name), moved, name)


def _sequence(binder: PartBinder, _name: str, arguments: list[exp.Expression]) -> Expression | None:
    """`sequence(start, end, INTERVAL 1 MONTH)`; without an interval it is a sequence of numbers."""
    step = interval(arguments[2])
    if step is None:
        return None
    n, unit = _step(step)
    start, end = (binder.part(argument) for argument in arguments[:2])
    kinds = {start.type.kind, end.type.kind}
    if kinds == {"date"} and not step.timed:
        return calls.date_sequence(start, end, n, unit)
    shared = TIMESTAMP_NTZ if "timestamp_ntz" in kinds and "timestamp" not in kinds else TIMESTAMP
    first, last = (convert(calls.moment(value, "sequence"), shared) for value in (start, end))
    return calls.date_sequence(first, last, n, unit)


def _step(step: Interval) -> tuple[int, str]:
    for size, unit in (
        (step.months, "month"),
        (step.micros // LENGTHS["day"], "day"),
        (step.micros // LENGTHS["second"], "second"),
    ):
        whole = (size, 0) if unit == "month" else (0, size * LENGTHS[unit])
        if size > 0 and whole == (step.months, step.micros):
            return size, unit
    raise refuse(
        BAD_ARGUMENTS,
        "The step of a sequence of times must be so many months, or so many days, hours, minutes or seconds.",
        "write INTERVAL 1 DAY; a sequence that goes back is made by reverse(sequence(…))",
    )


Special = Callable[[PartBinder, str, list[exp.Expression]], Expression | None]

# (name, number of arguments) → what the binder does instead of binding every argument as a value; None: go on
SPECIAL: dict[tuple[str, int], Special] = {
    ("timestampdiff", 3): _between,
    ("datediff", 3): _between,
    ("date_diff", 3): _between,
    ("timestampadd", 3): _add,
    ("dateadd", 3): _add,
    ("date_add", 3): _add,
    ("date_add", 2): _interval_days,
    ("date_sub", 2): _interval_days,
    ("current_timestamp", 0): _now,
    ("now", 0): _now,
    ("current_date", 0): _today,
    ("curdate", 0): _today,
    ("localtimestamp", 0): _local_now,
    ("unix_timestamp", 0): _now_seconds,
    ("to_unix_timestamp", 0): _now_seconds,
    ("sequence", 3): _sequence,
    **{(name, count): _make_interval for name in _MAKERS for count in range(8)},
}

__all__ = ["FORMS", "SPECIAL", "interval", "of_times", "with_interval"]
