"""Canonical expressions as Spark SQL text: functions of dates and times; the session's time zone is UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakelogic.engines.spark import literals
from lakelogic.engines.spark.literals import text, type_name
from lakelogic.engines.sql.operators import Builder, function
from lakelogic.engines.sql.times import TimeSql
from lakelogic.sql.expressions import Call
from lakelogic.sql.times import zones as time_zones
from lakelogic.sql.times.patterns import WEEKDAYS, Part, Pattern, read_pattern
from lakelogic.sql.times.units import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, LENGTHS, MONTHS, SECOND
from lakelogic.sql.types import Type

_MONTHS_AT_MOST = 120_000  # ten thousand years
_BLANKS = text(" \t\r\n")
_APART = "\x01"


def _within(value: str, low: int, high: int, result: Callable[[str], str]) -> str:
    return _TIMES.let(value, lambda v: f"CASE WHEN {v} BETWEEN {low}L AND {high}L THEN {result(v)} END")


def _micros(value: str, source: Type) -> str:
    """Microseconds from 1970."""
    return f"unix_micros({value})" if source.kind == "timestamp" else f"unix_micros(CAST({value} AS TIMESTAMP_LTZ))"


def _made(micros: str, to: Type) -> str:
    instant = f"timestamp_micros({micros})"
    return instant if to.kind == "timestamp" else f"CAST({instant} AS {type_name(to)})"


def _moment(micros: str, to: Type) -> str:
    """Microseconds as a timestamp (or a date) of the years 1 to 9999."""
    return _within(micros, FIRST_MOMENT, LAST_MOMENT, lambda v: _made(v, to))


def _date(days: str) -> str:
    return _within(days, FIRST_DAY, LAST_DAY, lambda v: f"date_from_unix_date(CAST({v} AS INT))")


# moving


def _date_add(_call: Call, args: Sequence[str]) -> str:
    return _date(f"(CAST(unix_date({args[0]}) AS BIGINT) + CAST({args[1]} AS BIGINT))")


def _add_months(call: Call, args: Sequence[str]) -> str:
    value, months = args
    bounds = f"{months} BETWEEN {-_MONTHS_AT_MOST} AND {_MONTHS_AT_MOST}"
    if call.type.kind == "date":
        return _date(f"CAST(CASE WHEN {bounds} THEN unix_date(add_months({value}, {months})) END AS BIGINT)")
    moved = f"timestampadd(MONTH, {months}, {value})"
    return _moment(f"CASE WHEN {bounds} THEN {_micros(moved, call.type)} END", call.type)


def _add_micros(call: Call, args: Sequence[str]) -> str:
    return _moment(f"try_add({_micros(args[0], call.type)}, {args[1]})", call.type)


def _next_day(call: Call, args: Sequence[str]) -> str:
    name = WEEKDAYS[int(str(call.constant(1)))][:3].upper()
    return _date(f"CAST(unix_date(next_day({args[0]}, '{name}')) AS BIGINT)")


def _date_trunc(call: Call, args: Sequence[str]) -> str:
    truncated = f"date_trunc('{str(call.constant(0)).upper()}', {args[1]})"
    return truncated if call.type.kind == "timestamp" else f"CAST({truncated} AS {type_name(call.type)})"


# differences


def _units_between(call: Call, args: Sequence[str]) -> str:
    return f"timestampdiff({str(call.constant(0)).upper()}, {args[1]}, {args[2]})"


def _date_sequence(call: Call, args: Sequence[str]) -> str:
    start, end, n, unit = args[0], args[1], int(str(call.constant(2))), str(call.constant(3))
    if unit in MONTHS:
        step = f"INTERVAL '{min(n * MONTHS[unit], _MONTHS_AT_MOST)}' MONTH"
    elif unit in ("day", "week"):
        step = f"INTERVAL '{min(n * LENGTHS[unit] // DAY, LAST_DAY * 2)}' DAY"
    else:
        step = f"INTERVAL '{n}' {unit.upper()}"
    return f"CASE WHEN {start} <= {end} THEN sequence({start}, {end}, {step}) END"


# making


def _made_date(year: str, month: str, day: str) -> str:
    date_sql = f"CAST(try_make_timestamp_ntz({year}, {month}, {day}, 0, 0, 0) AS DATE)"
    return f"CASE WHEN {year} BETWEEN 1 AND 9999 THEN {date_sql} END"


def _make_timestamp(call: Call, args: Sequence[str]) -> str:
    year, month, day, hour, minute, micros = args
    fits = f"{hour} BETWEEN 0 AND 23 AND {minute} BETWEEN 0 AND 59 AND {micros} BETWEEN 0L AND {60 * SECOND - 1}L"
    clock = f"(CAST({hour} AS BIGINT) * 60L + {minute}) * {60 * SECOND}L + {micros}"
    start = f"CAST(unix_date({_made_date(year, month, day)}) AS BIGINT) * {DAY}L"
    return f"CASE WHEN {fits} THEN {_made(f'{start} + {clock}', call.type)} END"


# text


def _parse(call: Call, args: Sequence[str]) -> str:
    pattern = read_pattern(str(call.constant(1)), "parse", zoned=call.type.kind != "timestamp_ntz")
    plain = f"btrim({args[0]}, {_BLANKS})"
    body = _TIMES.let(plain, lambda s: _parsed(s, pattern, call.type), always=True)
    return body if call.type.kind == "date" and not pattern.has("offset") else _moment(body, call.type)


def _parsed(value: str, pattern: Pattern, to: Type) -> str:
    """The date that a text says, or the microseconds."""
    regex, spans, fields = rf"^(?:{pattern.regex})\z", pattern.spans, pattern.fields
    if spans is not None:
        pieces: dict[str, tuple[Part, str]] = {
            part.field: (part, f"substr({value}, {start + 1}, {size})")
            for part, (start, size) in zip(fields, spans, strict=True)
        }
        parsed = _TIMES.moment(pattern, pieces, to)
    else:
        # All groups in one look at the text: written one after another, then parted again.
        groups = _APART.join(f"${index}" for index in range(1, len(fields) + 1))
        listed = f"split(regexp_replace({value}, {text(regex)}, {text(groups)}), {text(_APART)})"
        pieces = {part.field: (part, f"ll_p[{index}]") for index, part in enumerate(fields)}
        parsed = f"element_at(transform(array({listed}), ll_p -> {_TIMES.moment(pattern, pieces, to)}), 1)"
    return f"CASE WHEN {value} RLIKE {text(regex)} THEN {parsed} END"


def _format(call: Call, args: Sequence[str]) -> str:
    pattern = read_pattern(str(call.constant(1)), "format", zoned=call.args[0].type.kind == "timestamp")
    return f"date_format({args[0]}, {text(pattern.java)})"


# zones


def _folded(moment: str, steps: time_zones.Steps) -> str:
    """A moment beyond the table, moved into a year of the same kind inside it."""
    if steps.settled is None:
        return moment
    instant = f"timestamp_micros({moment})"
    start = f"unix_date(trunc({instant}, 'YEAR'))"
    year = f"year({instant})"
    leap = f"CASE WHEN {year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0) THEN 7 ELSE 0 END"
    kinds = ", ".join(str(first) for first in steps.years)
    same = f"element_at(array({kinds}), {leap} + {start} % 7 + 1)"
    moved = f"{moment} + CAST({same} - {start} AS BIGINT) * {DAY}L"
    return f"CASE WHEN {moment} >= {steps.settled}L THEN {moved} ELSE {moment} END"


def _zone(sign: str, table: Callable[[str], time_zones.Steps]) -> Builder:
    def build(call: Call, args: Sequence[str]) -> str:
        steps, source = table(str(call.constant(1))), call.args[0].type

        def moved(moment: str) -> str:
            return _moment(f"({moment} {sign} {_TIMES.offset(_folded(moment, steps), steps)})", call.type)

        return _TIMES.let(_micros(args[0], source), moved)

    return build


def _unix(name: str) -> Builder:
    def build(call: Call, args: Sequence[str]) -> str:
        source = call.args[0].type
        instant = args[0] if source.kind == "timestamp" else f"CAST({args[0]} AS TIMESTAMP_LTZ)"
        return f"{name}({instant})"

    return build


_TIMES = TimeSql(
    literals,
    number="INT",
    once=lambda value, name, body: f"element_at(transform(array({value}), {name} -> {body}), 1)",
    date=_made_date,
    weekday=lambda day: f"weekday({day}) + 1",
    position=lambda texts, value: f"CAST(array_position(array({', '.join(texts)}), {value}) AS INT)",
    days_after=lambda day, days: f"date_add({day}, {days})",
    day_micros=lambda day: f"CAST(unix_date({day}) AS BIGINT) * {DAY}L",
)


BUILDERS: dict[str, Builder] = {
    "year": function("year"),
    "quarter": function("quarter"),
    "month": function("month"),
    "week": function("weekofyear"),
    "year_of_week": lambda _call, args: f"extract(YEAROFWEEK FROM {args[0]})",
    "day_of_week": function("dayofweek"),
    "weekday": function("weekday"),
    "day_of_year": function("dayofyear"),
    "day": function("day"),
    "hour": function("hour"),
    "minute": function("minute"),
    "second": function("second"),
    "second_fraction": lambda _call, args: f"extract(SECOND FROM {args[0]})",
    "day_name": lambda _call, args: f"date_format({args[0]}, 'EEE')",
    "month_name": lambda _call, args: f"date_format({args[0]}, 'MMM')",
    "date_add": _date_add,
    "add_months": _add_months,
    "add_micros": _add_micros,
    "last_day": function("last_day"),
    "next_day": _next_day,
    "date_trunc": _date_trunc,
    "trunc_date": lambda call, args: f"trunc({args[1]}, '{str(call.constant(0)).upper()}')",
    "days_between": function("datediff"),
    "units_between": _units_between,
    "months_between": lambda _call, args: f"months_between({args[0]}, {args[1]}, FALSE)",
    "make_date": lambda _call, args: _made_date(*args),
    "make_timestamp": _make_timestamp,
    "make_timestamp_ntz": _make_timestamp,
    "parse_date": _parse,
    "parse_timestamp": _parse,
    "parse_timestamp_ntz": _parse,
    "format_time": _format,
    "unix_date": function("unix_date"),
    "date_from_unix_date": lambda _call, args: _date(f"CAST({args[0]} AS BIGINT)"),
    "unix_seconds": _unix("unix_seconds"),
    "unix_millis": _unix("unix_millis"),
    "unix_micros": _unix("unix_micros"),
    "timestamp_micros": lambda call, args: _moment(args[0], call.type),
    "to_zone": _zone("+", time_zones.by_instant),
    "from_zone": _zone("-", time_zones.by_clock),
    "date_sequence": _date_sequence,
}
