"""How functions of dates and times are called: arguments checked, units and patterns settled, types decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from lakelogic.sql.arguments import Args, Builder, constant, constant_text, refuse
from lakelogic.sql.coerce import day, number
from lakelogic.sql.expressions import Call, Expression, Literal, convert
from lakelogic.sql.expressions import text as text_literal
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES, nearest
from lakelogic.sql.times import zones as time_zones
from lakelogic.sql.times.patterns import Pattern, PatternError, Use, read_pattern
from lakelogic.sql.times.units import LENGTHS, MONTHS, SECOND, UNITS, Interval, unit
from lakelogic.sql.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type, array, decimal

TIMES = ("date", "timestamp", "timestamp_ntz")
PARTS = {
    "year": ("year", INT), "quarter": ("quarter", INT), "month": ("month", INT), "week": ("week", INT),
    "year_of_week": ("year_of_week", INT), "day_of_week": ("day_of_week", INT), "weekday": ("weekday", INT),
    "day_of_year": ("day_of_year", INT), "day": ("day", INT), "hour": ("hour", INT), "minute": ("minute", INT),
    "second": ("second", INT), "second_fraction": ("second_fraction", decimal(8, 6)),
    "day_name": ("day_name", STRING), "month_name": ("month_name", STRING),
}  # fmt: skip
_CLOCK_PARTS = ("hour", "minute", "second", "second_fraction")
_MICROS_PER_SECOND = Literal(SECOND, BIGINT)
_DAY_NAMES = ("mo", "tu", "we", "th", "fr", "sa", "su")
_FULL_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CLOCK_PATTERN = "yyyy-MM-dd HH:mm:ss"


def moment(value: Expression, what: str) -> Expression:
    """A value as a timestamp or a wall clock: dates and text as timestamps, in UTC."""
    if value.type.kind in ("timestamp", "timestamp_ntz"):
        return value
    if value.type.kind in ("date", "null") or value.type.is_text:
        return convert(value, TIMESTAMP)
    raise refuse(BAD_TYPES, f"{what} needs a timestamp or a date, not {value.type}.")


def _timely(value: Expression, what: str) -> Expression:
    """A date, timestamp or wall clock; text is read as a timestamp."""
    return value if value.type.kind == "date" else moment(value, what)


def part(name: str) -> Builder:
    """A part of a date or time."""
    function, type_ = PARTS[name]

    def build(a: Args) -> Expression:
        value = a[0]
        if value.type.kind == "null" or (value.type.is_text and name not in _CLOCK_PARTS):
            value = convert(value, DATE)
        elif name in _CLOCK_PARTS or value.type.kind not in TIMES:
            value = moment(value, name)
        if name in _CLOCK_PARTS and value.type.kind == "date":
            value = convert(value, TIMESTAMP)
        return Call(function, (value,), type_)

    return build


def iso_weekday(a: Args) -> Expression:
    """1 for Monday to 7 for Sunday."""
    return convert(Call("add", (convert(part("weekday")(a), BIGINT), Literal(1, BIGINT)), BIGINT), INT)


FIELDS: dict[str, Builder] = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), part("year")),
    "yearofweek": part("year_of_week"),
    **dict.fromkeys(("quarter", "qtr"), part("quarter")),
    **dict.fromkeys(("month", "mon", "mons", "months"), part("month")),
    **dict.fromkeys(("week", "w", "weeks"), part("week")),
    **dict.fromkeys(("day", "d", "days"), part("day")),
    **dict.fromkeys(("dayofweek", "dow"), part("day_of_week")),
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), iso_weekday),
    "doy": part("day_of_year"),
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), part("hour")),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), part("minute")),
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), part("second_fraction")),
}


def field(word: str, value: Expression) -> Expression:
    """EXTRACT and date_part: a part by its name."""
    build = FIELDS.get(word.lower())
    if build is None:
        parts = "year, quarter, month, week, day, dow, dow_iso, doy, yearofweek, hour, minute, second"
        raise refuse(BAD_ARGUMENTS, f"`{word}` is no part of a date or time.", f"the parts are {parts}")
    return build([value])


def unit_of(word: str, what: str, units: Sequence[str] = UNITS) -> str:
    """A unit by any of its names."""
    unit_name = unit(word)
    if unit_name is None or unit_name not in units:
        raise refuse(BAD_ARGUMENTS, f"{what} has no unit `{word}`.", f"the units are {', '.join(units)}")
    return unit_name


# moving


def date_add(sign: int) -> Builder:
    """The date n days later, or earlier."""

    def build(a: Args) -> Expression:
        days = convert(number(a[1], "date_add"), INT)
        if sign < 0:
            days = convert(Call("negate", (convert(days, BIGINT),), BIGINT), INT)
        return Call("date_add", (day(a[0], "date_add"), days), DATE)

    return build


def add_months(a: Args) -> Expression:
    """The date n months later; a day that the month does not have becomes its last."""
    value = day(a[0], "add_months")
    return Call("add_months", (value, convert(number(a[1], "add_months"), INT)), value.type)


def add_units(word: str, count: Expression, value: Expression, what: str) -> Expression:
    """timestampadd and dateadd: a timestamp so many units later."""
    unit_name, moved = unit_of(word, what), moment(value, what)
    size = convert(number(count, what), BIGINT)
    if unit_name in MONTHS:
        months = Call("multiply", (size, Literal(MONTHS[unit_name], BIGINT)), BIGINT)
        return Call("add_months", (moved, convert(months, INT)), moved.type)
    micros = Call("multiply", (size, Literal(LENGTHS[unit_name], BIGINT)), BIGINT)
    return Call("add_micros", (moved, micros), moved.type)


def add_interval(value: Expression, interval: Interval, what: str) -> Expression:
    """A date or time and an interval: a date stays one unless hours or less were written."""
    if abs(interval.micros) >= 2**63 or abs(interval.months) >= 2**31:
        raise refuse(BAD_ARGUMENTS, f"The interval in {what} is too long.")
    kept = value.type.kind == "date" and not interval.timed
    moved = value if kept else moment(value, what)
    if interval.months or not interval.micros:
        moved = Call("add_months", (moved, Literal(interval.months, INT)), moved.type)
    if interval.micros and kept:
        moved = Call("date_add", (moved, Literal(interval.micros // LENGTHS["day"], INT)), DATE)
    elif interval.micros:
        moved = Call("add_micros", (moved, Literal(interval.micros, BIGINT)), moved.type)
    return moved


def next_day(a: Args) -> Expression:
    """The first date after d that is that weekday."""
    written = str(constant_text(a[1], "next_day's weekday").value).strip().lower()
    if written not in _FULL_DAY_NAMES and not (2 <= len(written) <= 3 and written[:2] in _DAY_NAMES):
        raise refuse(BAD_ARGUMENTS, f"`{written}` is no weekday.", "write MON, TUE, WED, THU, FRI, SAT or SUN")
    weekday = Literal(_DAY_NAMES.index(written[:2]), INT)
    return Call("next_day", (day(a[0], "next_day"), weekday), DATE)


def date_trunc(a: Args) -> Expression:
    """The beginning of the unit that a moment is in."""
    word = unit_of(str(constant_text(a[0], "date_trunc's unit").value), "date_trunc")
    value = moment(a[1], "date_trunc")
    return Call("date_trunc", (text_literal(word), value), value.type)


def trunc(a: Args) -> Expression:
    """The first day of the unit that a date is in."""
    word = unit_of(str(constant_text(a[1], "trunc's unit").value), "trunc", ("week", "month", "quarter", "year"))
    return Call("trunc_date", (text_literal(word), day(a[0], "trunc")), DATE)


# differences


def units_between(word: str, start: Expression, end: Expression, what: str) -> Expression:
    """Whole units from start to end, toward zero."""
    unit_name = unit_of(word, what)
    first, last = _timely(start, what), _timely(end, what)
    if first.type != last.type:
        kinds = {first.type.kind, last.type.kind}
        shared = TIMESTAMP if "timestamp" in kinds else TIMESTAMP_NTZ
        first, last = convert(first, shared), convert(last, shared)
    return Call("units_between", (text_literal(unit_name), first, last), BIGINT)


def months_between(a: Args) -> Expression:
    """Months with their fraction of 31 days, rounded to 8 digits."""
    if len(a) == 3 and a[2] != Literal(True, a[2].type) and a[2] != Literal(False, a[2].type):
        raise refuse(BAD_ARGUMENTS, "months_between's third argument must be TRUE or FALSE.")
    values = [convert(moment(value, "months_between"), TIMESTAMP) for value in a[:2]]
    exact = Call("months_between", tuple(values), DOUBLE)
    if len(a) == 3 and isinstance(a[2], Literal) and a[2].value is False:
        return exact
    return Call("round", (exact, Literal(8, INT)), DOUBLE)


def date_sequence(start: Expression, end: Expression, n: int, word: str) -> Expression:
    """Dates or timestamps from start to end, both included, every n units; NULL when an end is, or start > end."""
    unit_name = unit_of(word, "date_sequence", ("second", "minute", "hour", "day", "week", "month", "year"))
    if n < 1:
        raise refuse(BAD_ARGUMENTS, "date_sequence's step must be a whole number from 1 up.")
    if start.type != end.type or start.type.kind not in TIMES:
        raise refuse(BAD_TYPES, f"date_sequence needs two dates or two timestamps, not {start.type} and {end.type}.")
    if start.type.kind == "date" and unit_name in ("second", "minute", "hour"):
        raise refuse(BAD_ARGUMENTS, f"Dates cannot be counted in {unit_name}s.", "cast them to timestamp")
    return Call("date_sequence", (start, end, Literal(n, INT), text_literal(unit_name)), array(start.type))


# making


def _whole_numbers(a: Args, what: str) -> tuple[Expression, ...]:
    return tuple(convert(number(value, what), INT) for value in a)


def make_date(a: Args) -> Expression:
    """A date from year, month and day."""
    return Call("make_date", _whole_numbers(a, "make_date"), DATE)


def micros_of(seconds: Expression, what: str) -> Expression:
    """Seconds as whole microseconds; a fraction beyond them is NULL, never rounded."""
    value = number(seconds, what)
    if value.type.is_integer:
        return Call("multiply", (convert(value, BIGINT), _MICROS_PER_SECOND), BIGINT)
    exact, factor = decimal(20, 6), decimal(7, 0)
    product = Call("multiply", (convert(value, exact), Literal(Decimal(SECOND), factor)), decimal(27, 6))
    return convert(product, BIGINT)


def make_timestamp(type_: Type) -> Builder:
    """A moment from six numbers, and for instants the zone whose clock they are."""

    def build(a: Args) -> Expression:
        name = "make_timestamp" if type_ == TIMESTAMP else "make_timestamp_ntz"
        numbers = (*_whole_numbers(a[:5], name), micros_of(a[5], name))
        if len(a) < 7:
            return Call(name, numbers, type_)
        return from_zone([Call("make_timestamp_ntz", numbers, TIMESTAMP_NTZ), a[6]])

    return build


# text


def pattern_of(value: Expression, use: Use, what: str, *, zoned: bool) -> Pattern:
    """A constant pattern that is portable."""
    written = str(constant_text(value, f"{what}'s pattern").value)
    try:
        return read_pattern(written, use, zoned=zoned)
    except PatternError as error:
        raise refuse(BAD_ARGUMENTS, str(error), error.hint) from error


def parsed(type_: Type, what: str) -> Builder:
    """Text by a pattern, or any value without one."""
    function = {"date": "parse_date", "timestamp": "parse_timestamp", "timestamp_ntz": "parse_timestamp_ntz"}

    def build(a: Args) -> Expression:
        if not (a[0].type.is_text or a[0].type.kind in (*TIMES, "null")):
            raise refuse(BAD_TYPES, f"{what} needs text, not {a[0].type}.")
        if len(a) == 1:
            return convert(a[0], type_)
        pattern = pattern_of(a[1], "parse", what, zoned=type_.kind != "timestamp_ntz")
        if not a[0].type.is_text:
            return convert(a[0], type_)
        return Call(function[type_.kind], (a[0], text_literal(pattern.written)), type_)

    return build


def formatted(what: str) -> Builder:
    """A date or time as text, by a pattern."""

    def build(a: Args) -> Expression:
        if what != "date_format" and a[0].type.kind not in TIMES:
            raise refuse(
                BAD_TYPES, f"{what} needs a date or a timestamp, not {a[0].type}.", "cast it: CAST(x AS STRING)"
            )
        value = _timely(a[0], what)
        pattern = pattern_of(a[1], "format", what, zoned=value.type.kind == "timestamp")
        return Call("format_time", (value, text_literal(pattern.written)), STRING)

    return build


# numbers from 1970


def unix_part(name: str) -> Builder:
    """Seconds, milliseconds or microseconds from 1970, rounded down."""
    return lambda a: Call(name, (moment(a[0], name),), BIGINT)


def unix_timestamp(a: Args) -> Expression:
    """Seconds from 1970 of a moment, or of text by a pattern."""
    value = parsed(TIMESTAMP, "unix_timestamp")(a) if len(a) > 1 else a[0]
    return Call("unix_seconds", (moment(value, "unix_timestamp"),), BIGINT)


def timestamp_of(size: int, name: str) -> Builder:
    """The instant so many seconds (or parts of one) from 1970."""

    def build(a: Args) -> Expression:
        value = number(a[0], name)
        if name == "timestamp_seconds":
            micros = micros_of(value, name)
        else:
            whole = convert(value, BIGINT)
            micros = whole if size == 1 else Call("multiply", (whole, Literal(size, BIGINT)), BIGINT)
        return Call("timestamp_micros", (micros,), TIMESTAMP)

    return build


def from_unixtime(a: Args) -> Expression:
    """Seconds from 1970 as text."""
    instant = timestamp_of(SECOND, "timestamp_seconds")([convert(number(a[0], "from_unixtime"), BIGINT)])
    return formatted("date_format")([instant, a[1] if len(a) > 1 else text_literal(_CLOCK_PATTERN)])


# zones


def zone_of(value: Expression) -> Literal:
    """A constant time zone that is known."""
    written = constant(value, "the time zone")
    if not isinstance(written, str) or not time_zones.is_zone(written):
        hint = nearest(str(written), time_zones.nearest_zones()) or "write a name such as Europe/Paris, or +02:00"
        raise refuse(BAD_ARGUMENTS, f"There is no time zone `{written}`.", hint)
    return text_literal(written)


def to_zone(a: Args) -> Expression:
    """The clock of a zone at an instant."""
    return Call("to_zone", (convert(moment(a[0], "AT TIME ZONE"), TIMESTAMP), zone_of(a[1])), TIMESTAMP_NTZ)


def from_zone(a: Args) -> Expression:
    """The instant at which the clock of a zone shows a time."""
    return Call("from_zone", (convert(moment(a[0], "AT TIME ZONE"), TIMESTAMP_NTZ), zone_of(a[1])), TIMESTAMP)


def at_time_zone(a: Args) -> Expression:
    """An instant as a clock, a clock as an instant."""
    return from_zone(a) if a[0].type.kind == "timestamp_ntz" else to_zone(a)


def convert_timezone(a: Args) -> Expression:
    """The clock of one zone when that of another shows a time."""
    source, target, value = (text_literal("UTC"), *a) if len(a) == 2 else a
    return to_zone([from_zone([value, source]), target])


def simple(name: str, prepare: Callable[[Expression, str], Expression], type_: Type) -> Builder:
    """A function of one date or time."""
    return lambda a: Call(name, (prepare(a[0], name),), type_)
