"""Canonical expressions as Spark SQL text: functions of dates and times; the session's time zone is UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lakelogic.engines.spark.literals import quoted, type_name
from lakelogic.sql.expressions import Call
from lakelogic.sql.times import zones as time_zones
from lakelogic.sql.times.patterns import MONTHS as MONTH_NAMES
from lakelogic.sql.times.patterns import WEEKDAYS, Part, Pattern, read_pattern
from lakelogic.sql.times.units import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, LENGTHS, MONTHS, SECOND
from lakelogic.sql.types import Type

Builder: TypeAlias = Callable[[Call, Sequence[str]], str]

_MONTHS_AT_MOST = 120_000  # ten thousand years
_SHORT = 60  # text that may stand twice
_BLANKS = quoted(" \t\r\n")
_APART = "\x01"


def let(value: str, body: Callable[[str], str], *, always: bool = False, name: str = "ll_v") -> str:
    """A body that mentions a value several times, which is computed once.

    Inside a body that reads a value of this kind from around it, another name is needed.
    """
    if len(value) <= _SHORT and not always:
        return body(value)
    return f"element_at(transform(array({value}), {name} -> {body(name)}), 1)"


def _within(value: str, low: int, high: int, result: Callable[[str], str]) -> str:
    return let(value, lambda v: f"CASE WHEN {v} BETWEEN {low}L AND {high}L THEN {result(v)} END")


def _micros(value: str, source: Type) -> str:
    """Microseconds from 1970."""
    return f"unix_micros({value})" if source.kind == "timestamp" else f"unix_micros(CAST({value} AS TIMESTAMP_LTZ))"


def _made(micros: str, to: Type) -> str:
    found = f"timestamp_micros({micros})"
    return found if to.kind == "timestamp" else f"CAST({found} AS {type_name(to)})"


def _moment(micros: str, to: Type) -> str:
    """Microseconds as a timestamp (or a date) of the years 1 to 9999."""
    return _within(micros, FIRST_MOMENT, LAST_MOMENT, lambda v: _made(v, to))


def _date(days: str) -> str:
    return _within(days, FIRST_DAY, LAST_DAY, lambda v: f"date_from_unix_date(CAST({v} AS INT))")


def _plain(name: str) -> Builder:
    return lambda _call, args: f"{name}({', '.join(args)})"


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
    found = f"date_trunc('{str(call.constant(0)).upper()}', {args[1]})"
    return found if call.type.kind == "timestamp" else f"CAST({found} AS {type_name(call.type)})"


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
    made = f"CAST(try_make_timestamp_ntz({year}, {month}, {day}, 0, 0, 0) AS DATE)"
    return f"CASE WHEN {year} BETWEEN 1 AND 9999 THEN {made} END"


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
    body = let(plain, lambda s: _parsed(s, pattern, call.type), always=True)
    return body if call.type.kind == "date" and not pattern.has("offset") else _moment(body, call.type)


def _parsed(value: str, pattern: Pattern, to: Type) -> str:
    """The date that a text says, or the microseconds."""
    regex, spans, fields = rf"^(?:{pattern.regex})\z", pattern.spans, pattern.fields
    if spans is not None:
        pieces: dict[str, tuple[Part, str]] = {
            part.field: (part, f"substr({value}, {start + 1}, {size})")
            for part, (start, size) in zip(fields, spans, strict=True)
        }
        found = _put_together(pattern, pieces, to)
    else:
        # All groups in one look at the text: written one after another, then parted again.
        groups = _APART.join(f"${index}" for index in range(1, len(fields) + 1))
        listed = f"split(regexp_replace({value}, {quoted(regex)}, {quoted(groups)}), {quoted(_APART)})"
        pieces = {part.field: (part, f"ll_p[{index}]") for index, part in enumerate(fields)}
        found = f"element_at(transform(array({listed}), ll_p -> {_put_together(pattern, pieces, to)}), 1)"
    return f"CASE WHEN {value} RLIKE {quoted(regex)} THEN {found} END"


def _put_together(pattern: Pattern, pieces: dict[str, tuple[Part, str]], to: Type) -> str:
    day = _parsed_day(pattern, pieces)
    if "weekday_name" in pieces:
        wanted = _named(pieces["weekday_name"], WEEKDAYS)
        day = let(day, lambda d: f"CASE WHEN weekday({d}) + 1 = {wanted} THEN {d} END", name="ll_d")
    if to.kind == "date" and "offset" not in pieces:
        return day
    return f"(CAST(unix_date({day}) AS BIGINT) * {DAY}L + {_clock_micros(pieces)})"


def _number(pieces: dict[str, tuple[Part, str]], field: str, default: str) -> str:
    return f"try_cast({pieces[field][1]} AS INT)" if field in pieces else default


def _named(piece: tuple[Part, str], names: Sequence[str]) -> str:
    short = ", ".join(quoted(name[: piece[0].size or None].lower()) for name in names)
    return f"CAST(array_position(array({short}), lower({piece[1]})) AS INT)"


def _parsed_day(pattern: Pattern, pieces: dict[str, tuple[Part, str]]) -> str:
    year = _number(pieces, "year", "")
    if "short_year" in pieces:
        two = _number(pieces, "short_year", "")
        year = f"(CASE WHEN {two} < {pattern.century_from} THEN 2000 ELSE 1900 END + {two})"
    if "day_of_year" in pieces:
        first, ordinal = _made_date(year, "1", "1"), _number(pieces, "day_of_year", "")
        longest = f"CASE WHEN day(last_day({_made_date(year, '2', '1')})) = 29 THEN 366 ELSE 365 END"
        return f"CASE WHEN {ordinal} BETWEEN 1 AND {longest} THEN date_add({first}, {ordinal} - 1) END"
    month = _number(pieces, "month", "1")
    if "month_name" in pieces:
        month = _named(pieces["month_name"], MONTH_NAMES)
    return _made_date(year, month, _number(pieces, "day", "1"))


def _clock_micros(pieces: dict[str, tuple[Part, str]]) -> str:
    """Microseconds of the day, less the offset."""
    hour = _number(pieces, "hour", "0")
    if "hour12" in pieces:
        late = f"CASE WHEN lower({pieces['half'][1]}) = 'pm' THEN 12 ELSE 0 END"
        hour = f"({_number(pieces, 'hour12', '')} % 12 + {late})"
    seconds = f"(({hour} * 60 + {_number(pieces, 'minute', '0')}) * 60 + {_number(pieces, 'second', '0')})"
    total = f"CAST({seconds} AS BIGINT) * {SECOND}L"
    if "fraction" in pieces:
        total += f" + try_cast(rpad({pieces['fraction'][1]}, 6, '0') AS BIGINT)"
    if "offset" in pieces:
        zone = pieces["offset"][1]
        minutes = f"(try_cast(substr({zone}, 2, 2) AS BIGINT) * 60 + try_cast(right({zone}, 2) AS BIGINT))"
        sign = f"CASE WHEN left({zone}, 1) = '-' THEN -1 ELSE 1 END"
        total += f" - CASE WHEN {zone} = 'Z' THEN 0L ELSE {minutes} * {sign} * {60 * SECOND}L END"
    return total


def _format(call: Call, args: Sequence[str]) -> str:
    pattern = read_pattern(str(call.constant(1)), "format", zoned=call.args[0].type.kind == "timestamp")
    return f"date_format({args[0]}, {quoted(pattern.java)})"


# zones


def _offset(moment: str, steps: time_zones.Steps) -> str:
    """The offset that holds at a moment, found by halving."""

    def tree(low: int, high: int) -> str:
        if low == high:
            return f"{steps.offsets[low]}L"
        middle = (low + high) // 2
        later = tree(middle + 1, high)
        return f"CASE WHEN {{0}} < {steps.thresholds[middle]}L THEN {tree(low, middle)} ELSE {later} END"

    body = tree(0, len(steps.thresholds))
    if not steps.thresholds:
        return body
    return let(_folded(moment, steps), lambda m: body.replace("{0}", m), always=True)


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
        return let(_micros(args[0], source), lambda m: _moment(f"({m} {sign} {_offset(m, steps)})", call.type))

    return build


def _unix(name: str) -> Builder:
    def build(call: Call, args: Sequence[str]) -> str:
        source = call.args[0].type
        instant = args[0] if source.kind == "timestamp" else f"CAST({args[0]} AS TIMESTAMP_LTZ)"
        return f"{name}({instant})"

    return build


BUILDERS: dict[str, Builder] = {
    "year": _plain("year"),
    "quarter": _plain("quarter"),
    "month": _plain("month"),
    "week": _plain("weekofyear"),
    "year_of_week": lambda _call, args: f"extract(YEAROFWEEK FROM {args[0]})",
    "day_of_week": _plain("dayofweek"),
    "weekday": _plain("weekday"),
    "day_of_year": _plain("dayofyear"),
    "day": _plain("day"),
    "hour": _plain("hour"),
    "minute": _plain("minute"),
    "second": _plain("second"),
    "second_fraction": lambda _call, args: f"extract(SECOND FROM {args[0]})",
    "day_name": lambda _call, args: f"date_format({args[0]}, 'EEE')",
    "month_name": lambda _call, args: f"date_format({args[0]}, 'MMM')",
    "date_add": _date_add,
    "add_months": _add_months,
    "add_micros": _add_micros,
    "last_day": _plain("last_day"),
    "next_day": _next_day,
    "date_trunc": _date_trunc,
    "trunc_date": lambda call, args: f"trunc({args[1]}, '{str(call.constant(0)).upper()}')",
    "days_between": _plain("datediff"),
    "units_between": _units_between,
    "months_between": lambda _call, args: f"months_between({args[0]}, {args[1]}, FALSE)",
    "make_date": lambda _call, args: _made_date(*args),
    "make_timestamp": _make_timestamp,
    "make_timestamp_ntz": _make_timestamp,
    "parse_date": _parse,
    "parse_timestamp": _parse,
    "parse_timestamp_ntz": _parse,
    "format_time": _format,
    "unix_date": _plain("unix_date"),
    "date_from_unix_date": lambda _call, args: _date(f"CAST({args[0]} AS BIGINT)"),
    "unix_seconds": _unix("unix_seconds"),
    "unix_millis": _unix("unix_millis"),
    "unix_micros": _unix("unix_micros"),
    "timestamp_micros": lambda call, args: _moment(args[0], call.type),
    "to_zone": _zone("+", time_zones.by_instant),
    "from_zone": _zone("-", time_zones.by_clock),
    "date_sequence": _date_sequence,
}
