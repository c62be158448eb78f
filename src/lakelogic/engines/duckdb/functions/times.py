"""Canonical expressions → DuckDB SQL text: functions of dates and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakelogic.engines.duckdb import literals
from lakelogic.engines.duckdb.convert import wall_clock
from lakelogic.engines.duckdb.literals import cast, text
from lakelogic.engines.sql.operators import Builder
from lakelogic.engines.sql.times import TimeSql
from lakelogic.sql.expressions import Call
from lakelogic.sql.times import zones as time_zones
from lakelogic.sql.times.patterns import Part, Pattern, read_pattern, strftime_pieces
from lakelogic.sql.times.units import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, LENGTHS, MONTHS, SECOND
from lakelogic.sql.types import Type

_EPOCH = "CAST('1970-01-01' AS DATE)"
_MONTHS_AT_MOST = 120_000  # ten thousand years
_BLANKS = "E' \\t\\r\\n'"


def _within(value: str, low: int, high: int, result: Callable[[str], str]) -> str:
    return _TIMES.let(value, lambda v: f"CASE WHEN {v} BETWEEN {low} AND {high} THEN {result(v)} END")


def _moment(micros: str, to: Type) -> str:
    """Microseconds from 1970 as a timestamp of the years 1 to 9999."""
    make = "make_timestamptz" if to.kind == "timestamp" else "make_timestamp"
    return _within(micros, FIRST_MOMENT, LAST_MOMENT, lambda v: f"{make}({v})")


def _date(days: str) -> str:
    return _within(days, FIRST_DAY, LAST_DAY, lambda v: f"({_EPOCH} + {cast(v, 'INTEGER')})")


def _days(date: str) -> str:
    return f"({date} - {_EPOCH})"


def _day_of(sql: str, source: Type) -> str:
    return sql if source.kind == "date" else cast(wall_clock(sql, source), "DATE")


def _as(sql: str, to: Type) -> str:
    """A wall clock of UTC as a type of time."""
    if to.kind == "timestamp":
        return f"make_timestamptz(epoch_us({sql}))"
    return cast(sql, "DATE" if to.kind == "date" else "TIMESTAMP")


def _part(body: str) -> Builder:
    return lambda call, args: cast(body.format(wall_clock(args[0], call.args[0].type)), call.type)


# moving


def _date_add(_call: Call, args: Sequence[str]) -> str:
    return _date(f"({_days(args[0])} + {cast(args[1], 'BIGINT')})")


def _add_months(call: Call, args: Sequence[str]) -> str:
    value, months = wall_clock(args[0], call.args[0].type), args[1]
    bounds = f"{months} BETWEEN {-_MONTHS_AT_MOST} AND {_MONTHS_AT_MOST}"
    moved = f"CASE WHEN {bounds} THEN epoch_us({value} + to_months({cast(months, 'INTEGER')})) END"
    if call.type.kind == "date":
        return _within(moved, FIRST_MOMENT, LAST_MOMENT, lambda v: cast(f"make_timestamp({v})", "DATE"))
    return _moment(moved, call.type)


def _add_micros(call: Call, args: Sequence[str]) -> str:
    return _moment(f"TRY(epoch_us({args[0]}) + {args[1]})", call.type)


def _next_day(call: Call, args: Sequence[str]) -> str:
    # 1 to 7 days on, by the distance between the weekdays
    wanted = int(str(call.constant(1)))
    return _TIMES.let(args[0], lambda d: _date(f"({_days(d)} + ({wanted + 7} - isodow({d})) % 7 + 1)"))


def _date_trunc(call: Call, args: Sequence[str]) -> str:
    unit, source = str(call.constant(0)), call.args[1].type
    return _as(f"date_trunc('{unit}', {wall_clock(args[1], source)})", call.type)


# differences


def _whole_days(start: str, end: str) -> str:
    return f"(epoch_us({end}) - epoch_us({start})) // {DAY}"


def _months_since(start: str, end: str) -> str:
    """Whole months from one date to another, toward zero."""

    def packed(day: str) -> str:
        return _TIMES.let(day, lambda d: f"((year({d}) * 12 + month({d})) * 32 + day({d}))")

    return f"(({packed(end)} - {packed(start)}) // 32)"


def _units_between(call: Call, args: Sequence[str]) -> str:
    unit, start, end, source = str(call.constant(0)), args[1], args[2], call.args[1].type
    if unit in LENGTHS:
        return f"((epoch_us({end}) - epoch_us({start})) // {LENGTHS[unit]})"
    # A month is whole when its day and its time of day are reached: the end is where the whole days lead to.
    last = end if source.kind == "date" else f"({_day_of(start, source)} + {cast(_whole_days(start, end), 'INTEGER')})"
    months = _months_since(_day_of(start, source), last)
    return cast(f"({months} // {MONTHS[unit]})", "BIGINT")


def _months_between(call: Call, args: Sequence[str]) -> str:
    end, start = (wall_clock(sql, argument.type) for sql, argument in zip(args, call.args, strict=True))
    months = f"((year({end}) - year({start})) * 12 + month({end}) - month({start}))"
    same = f"day({end}) = day({start})"
    last = " AND ".join(f"{cast(sql, 'DATE')} = last_day({sql})" for sql in (end, start))

    def seconds(sql: str) -> str:
        return f"(day({sql}) * 86400 + hour({sql}) * 3600 + minute({sql}) * 60 + second({sql}))"

    fraction = f"CAST({seconds(end)} - {seconds(start)} AS DOUBLE) / CAST(2678400 AS DOUBLE)"
    whole = cast(months, "DOUBLE")
    return f"CASE WHEN {same} OR ({last}) THEN {whole} ELSE {whole} + {fraction} END"


def _date_sequence(call: Call, args: Sequence[str]) -> str:
    start, end, n, unit = args[0], args[1], int(str(call.constant(2))), str(call.constant(3))
    kind = call.args[0].type
    if unit in MONTHS:
        return _month_sequence(start, end, n * MONTHS[unit], kind)
    step = min(n * LENGTHS[unit], 2 * LAST_MOMENT)  # beyond the calendar, one step is as good as another
    first, last = f"epoch_us({start})", f"epoch_us({end})"
    make = {"date": "CAST(make_timestamp({}) AS DATE)", "timestamp": "make_timestamptz({})"}.get(
        kind.kind, "make_timestamp({})"
    )
    steps = f"range(0, ({last} - {first}) // {step} + 1)"
    listed = f"list_transform({steps}, lambda ll_i: {make.format(f'{first} + ll_i * {step}')})"
    return f"CASE WHEN {start} <= {end} THEN {listed} END"


def _month_sequence(start: str, end: str, months: int, kind: Type) -> str:
    first, last = wall_clock(start, kind), wall_clock(end, kind)
    span = f"((year({last}) - year({first})) * 12 + month({last}) - month({first}))"
    step = min(months, _MONTHS_AT_MOST)
    moved = _as(f"({first} + to_months(CAST(ll_i * {step} AS INTEGER)))", kind)
    listed = f"list_transform(range(0, {span} // {step} + 1), lambda ll_i: {moved})"
    return f"CASE WHEN {start} <= {end} THEN list_filter({listed}, lambda ll_m: ll_m <= {end}) END"


# making


def _make_date(_call: Call, args: Sequence[str]) -> str:
    return _made_date(*args)


def _made_date(year: str, month: str, day: str) -> str:
    date_sql = f"TRY(make_date({cast(year, 'BIGINT')}, {cast(month, 'BIGINT')}, {cast(day, 'BIGINT')}))"
    return f"CASE WHEN {year} BETWEEN 1 AND 9999 THEN {date_sql} END"


def _make_timestamp(call: Call, args: Sequence[str]) -> str:
    year, month, day, hour, minute, micros = args
    fits = f"{hour} BETWEEN 0 AND 23 AND {minute} BETWEEN 0 AND 59 AND {micros} BETWEEN 0 AND {60 * SECOND - 1}"
    clock = f"({cast(hour, 'BIGINT')} * 60 + {minute}) * {60 * SECOND} + {micros}"
    make = "make_timestamptz" if call.type.kind == "timestamp" else "make_timestamp"
    return f"CASE WHEN {fits} THEN {make}(epoch_us({_made_date(year, month, day)}) + {clock}) END"


# text


def _parse(call: Call, args: Sequence[str]) -> str:
    zoned = call.type.kind != "timestamp_ntz"
    pattern = read_pattern(str(call.constant(1)), "parse", zoned=zoned)
    plain = f"trim({args[0]}, {_BLANKS})"
    body = _TIMES.let(plain, lambda s: _parsed(s, pattern, call.type), always=True)
    return body if call.type.kind == "date" and not pattern.has("offset") else _moment_or_date(body, call.type)


def _moment_or_date(micros: str, to: Type) -> str:
    if to.kind == "date":
        return _within(micros, FIRST_MOMENT, LAST_MOMENT, lambda v: cast(f"make_timestamp({v})", "DATE"))
    return _moment(micros, to)


def _parsed(value: str, pattern: Pattern, to: Type) -> str:
    """The date that a text says, or the microseconds."""
    regex, spans, fields = pattern.regex, pattern.spans, pattern.fields
    if spans is not None:
        pieces: dict[str, tuple[Part, str]] = {
            part.field: (part, f"substr({value}, {start + 1}, {size})")
            for part, (start, size) in zip(fields, spans, strict=True)
        }
        return f"CASE WHEN regexp_full_match({value}, {text(regex)}) THEN {_TIMES.moment(pattern, pieces, to)} END"
    # All groups in one look at the text; they are empty where it does not match.
    names = ", ".join(f"'f{index}'" for index in range(len(fields)))
    groups = f"regexp_extract({value}, {text(f'^(?:{regex})$')}, [{names}])"
    pieces = {part.field: (part, f"ll_p.f{index}") for index, part in enumerate(fields)}
    parsed = f"CASE WHEN ll_p.f0 <> '' THEN {_TIMES.moment(pattern, pieces, to)} END"
    return f"list_transform([{groups}], lambda ll_p: {parsed})[1]"


def _format(call: Call, args: Sequence[str]) -> str:
    pattern = read_pattern(str(call.constant(1)), "format", zoned=call.args[0].type.kind == "timestamp")
    value = wall_clock(args[0], call.args[0].type)
    written = [
        f"left(strftime({value}, '%f'), {piece})" if isinstance(piece, int) else f"strftime({value}, {text(piece)})"
        for piece in strftime_pieces(pattern)
    ]
    return "(" + " || ".join(written) + ")"


# numbers from 1970


def _floor_part(size: int) -> Builder:
    def build(_call: Call, args: Sequence[str]) -> str:
        return _TIMES.let(f"epoch_us({args[0]})", lambda m: f"(({m} - (({m} % {size}) + {size}) % {size}) // {size})")

    return build


# zones


def _folded(moment: str, steps: time_zones.Steps) -> str:
    """A moment beyond the table, moved into a year of the same kind inside it."""
    if steps.settled is None:
        return moment
    year = f"year(make_timestamp({moment}))"
    start = f"(make_date({year}, 1, 1) - {_EPOCH})"
    leap = f"CASE WHEN {year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0) THEN 7 ELSE 0 END"
    kinds = ", ".join(str(first) for first in steps.years)
    same = f"[{kinds}][{leap} + {start} % 7 + 1]"
    return f"CASE WHEN {moment} >= {steps.settled} THEN {moment} + ({same} - {start}) * {DAY} ELSE {moment} END"


def _zone(sign: str, table: Callable[[str], time_zones.Steps]) -> Builder:
    def build(call: Call, args: Sequence[str]) -> str:
        steps = table(str(call.constant(1)))

        def moved(moment: str) -> str:
            return _moment(f"({moment} {sign} {_TIMES.offset(_folded(moment, steps), steps)})", call.type)

        return _TIMES.let(f"epoch_us({args[0]})", moved)

    return build


_TIMES = TimeSql(
    literals,
    number="BIGINT",
    once=lambda value, name, body: f"list_transform([{value}], lambda {name}: {body})[1]",
    date=_made_date,
    weekday=lambda day: f"isodow({day})",
    position=lambda texts, value: f"list_position([{', '.join(texts)}], {value})",
    days_after=lambda day, days: f"{day} + {cast(days, 'INTEGER')}",
    day_micros=lambda day: f"epoch_us({day})",
)


BUILDERS: dict[str, Builder] = {
    "year": _part("year({})"),
    "quarter": _part("quarter({})"),
    "month": _part("month({})"),
    "week": _part("week({})"),
    "year_of_week": _part("isoyear({})"),
    "day_of_week": _part("dayofweek({}) + 1"),
    "weekday": _part("isodow({}) - 1"),
    "day_of_year": _part("dayofyear({})"),
    "day": _part("day({})"),
    "hour": _part("hour({})"),
    "minute": _part("minute({})"),
    "second": _part("second({})"),
    "second_fraction": _part("CAST(microsecond({}) AS DECIMAL(8,0)) * CAST(0.000001 AS DECIMAL(7,6))"),
    "day_name": _part("left(dayname({}), 3)"),
    "month_name": _part("left(monthname({}), 3)"),
    "date_add": _date_add,
    "add_months": _add_months,
    "add_micros": _add_micros,
    "last_day": lambda _call, args: f"last_day({args[0]})",
    "next_day": _next_day,
    "date_trunc": _date_trunc,
    "trunc_date": lambda call, args: cast(f"date_trunc('{call.constant(0)!s}', {args[1]})", "DATE"),
    "days_between": lambda call, args: cast(f"date_diff('day', {args[1]}, {args[0]})", call.type),
    "units_between": _units_between,
    "months_between": _months_between,
    "make_date": _make_date,
    "make_timestamp": _make_timestamp,
    "make_timestamp_ntz": _make_timestamp,
    "parse_date": _parse,
    "parse_timestamp": _parse,
    "parse_timestamp_ntz": _parse,
    "format_time": _format,
    "unix_date": lambda call, args: cast(_days(args[0]), call.type),
    "date_from_unix_date": lambda _call, args: _date(args[0]),
    "unix_seconds": _floor_part(SECOND),
    "unix_millis": _floor_part(1000),
    "unix_micros": lambda _call, args: f"epoch_us({args[0]})",
    "timestamp_micros": lambda call, args: _moment(args[0], call.type),
    "to_zone": _zone("+", time_zones.by_instant),
    "from_zone": _zone("-", time_zones.by_clock),
    "date_sequence": _date_sequence,
}
