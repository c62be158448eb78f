"""Made-up values of every type, hostile ones among them: what breaks engines apart."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from lakelogic.parity.canonical import plain
from lakelogic.sql.types import INTEGER_BITS, Type, to_arrow

_EDGE_DATES = (
    date(1, 1, 1), date(1, 12, 31), date(1582, 10, 4), date(1582, 10, 15), date(1899, 12, 31), date(1900, 2, 28),
    date(1969, 12, 31), date(1970, 1, 1), date(1999, 12, 31), date(2000, 2, 29), date(2023, 2, 28), date(2024, 1, 31),
    date(2024, 2, 29), date(2024, 3, 31), date(2024, 10, 27), date(2024, 12, 30), date(2038, 1, 19), date(9999, 12, 31),
)  # fmt: skip
# Around the hours that clocks in Europe and America skip or repeat, the ends of days, years and of time.
_EDGE_TIMES = tuple(
    datetime.fromisoformat(text)
    for text in (
        "0001-01-01T00:00:00", "0001-01-01T00:00:00.000001", "1582-10-15T00:00:00", "1883-11-18T17:00:00",
        "1969-12-31T23:59:59.999999", "1970-01-01T00:00:00", "2024-02-29T12:00:00", "2024-03-10T07:30:00",
        "2024-03-31T00:59:59.999999", "2024-03-31T01:00:00", "2024-03-31T01:30:00", "2024-10-27T00:30:00",
        "2024-10-27T01:30:00", "2024-11-03T05:30:00", "2024-12-31T23:59:59", "2038-01-19T03:14:08",
        "9999-12-31T00:00:00", "9999-12-31T23:59:59.999999",
    )
)  # fmt: skip
_EDGE_DOUBLES = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e-7, 0.1, 0.30000000000000004, 1.005, 2.675, 1e15, 1e16, 1e21, 1e22,
    123456789.125, -1e300, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, float(2**53), float(2**53 + 2),
    9.223372036854775e18, 9.3e18, -9.223372036854775808e18, 3.4028235e38, 1e39, float("nan"), float("inf"),
    float("-inf"),
)  # fmt: skip
_ALPHABET = "aAbBzZ09 _-.,;:@%$^'\"\\/éÉßıİşΣσςŉﬁ€中日😀𝒜\u0301\u00a0\u200b\t\n\r"
_EDGE_TEXTS = (
    "", " ", "  a  ", "\t", "a", "A", "ab", "abc", "ABC", "aBc", "b", "null", "NULL", "O'Brien", "a,b,,c", "a\n", "\na",
    "a\r\n", "x@y.zz", "not_an_email", "100%", "a_b", "a\\b", "$1", "$0 \\1", "ß", "SS", "straße", "İstanbul", "ΑΣ",
    "ΌΣΟΣ", "ﬁn", "e\u0301", "é", "😀", "a😀b", "𝒜b", "\u00a0a\u00a0", "中文", "\u200b", "a" * 300, "ab" * 400,
    "{\"a\": 1, \"b\": [1, 2, {\"c\": null}]}", "{\"a\": \"x\"}", "[1, 2, 3]", "{bad", "true", "zz top", "Ünïcödé",
    "\U0010ffff", "\uffff", "a\x00b", "\x7f",
)  # fmt: skip
_ALMOST_NUMBERS = (
    "0", "-0", "+7", " 12 ", "\t12\n", "12.0", "3.7", "1e3", "1E-3", ".5", "5.", "-.5", "--1", "1_000", "1,5", "0x10",
    "007", "127", "128", "-129", "32768", "2147483647", "2147483648", "-2147483648", "9223372036854775807",
    "9223372036854775808", "99999999999999999999999999999999999999", "123456789012345678.123456789",
    "0.000000000000000001", "NaN", "nan", "Infinity", "-inf", "INF", "1e400", "1e-400", "१२", "１２", "1 2", "\u00a05",
    "12345678901234567890123456789012345678.5", "2.50", "-7.125", "1.005", "true", "t", "YES", "n", "1",
)  # fmt: skip
_ALMOST_TIMES = (
    "2024-02-29", "2023-02-29", "2024-2-9", "20240229", "20240230", "0001-01-01", "9999-12-31", "0000-01-01",
    "10000-01-01", "2024-01-05 10:00", "2024-01-05T10:00", "2024-01-05 10:00:00+02:00", "2024-01-05T10:00:00.123456Z",
    "2024-01-05T10:00:00.1234567Z", "2024-01-05 10:00:00 Z", "2024-01-05 24:00:00", "2024-01-05 23:59:60",
    "2024-13-01", "2024-00-10", "2024-01-05 10", "2024-01-05T10:00:00-0530", "2024-01-05T10:00:00+14:00",
    " 2024-01-05 ", "2024-01-05\n", "9999-12-31T23:59:59.999999-01:00", "0001-01-01T00:00:00+01:00", "5/1/2024",
    "10:30:00", "2024-03-31T02:30:00", "2024-01-05 10:00:00 Europe/Berlin", "2024-W01-1", "2024-060",
)  # fmt: skip

_ODD_DOCUMENTS = (
    "", "nan", "[1,]", "[NaN]", '{"a":01}', '{"a":1,}', '{"a":.5}', '{"a":"\\ud800"}', '{"a":"\\ud83d\\ude00"}',
    '{"a":"\t"}', "{'a': 1}", "/* a */ {}", '{"a":1e400}', '{"a":-0}', '{"A":1}', '{"a":1,"a":2}', "[[[]]]", '{"":1}',
    "\ufeff{}", '{"a":"\\u0000"}', '{"a":{"b":[]}}', '{"a":"7"}', '{"a":7.0}', '{"a":true}',
)  # fmt: skip


def value(type_: Type, chance: random.Random, *, nulls: float = 0.12) -> Any:
    """One value, often from the edges of its type."""
    if chance.random() < nulls:
        return None
    return _OF_KIND[type_.kind](type_, chance)


def column(type_: Type, count: int, chance: random.Random, *, mixed_in: Sequence[Any] = ()) -> list[Any]:
    """So many values; some of `mixed_in`, and some that occur more than once."""
    nulls = chance.choice((0.0, 0.1, 0.1, 0.3))
    values: list[Any] = []
    few = chance.random() < 0.35
    for _ in range(count):
        draw = chance.random()
        if mixed_in and draw < 0.3:
            values.append(chance.choice(mixed_in))
        elif values and draw < (0.75 if few else 0.4):
            values.append(chance.choice(values))
        else:
            values.append(value(type_, chance, nulls=nulls))
    return values


def _integer(type_: Type, chance: random.Random) -> int:
    bits = INTEGER_BITS[type_.kind]
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    draw = chance.random()
    if draw < 0.45:
        return chance.randint(-12, 12)
    if draw < 0.75:
        return chance.choice((least, least + 1, most, most - 1, 0, 1, -1, 100, -100))
    return chance.randint(least, most)


def _double(_: Type, chance: random.Random) -> float:
    draw = chance.random()
    if draw < 0.45:
        return chance.choice(_EDGE_DOUBLES)
    if draw < 0.85:
        return round(chance.uniform(-1e4, 1e4), chance.randint(0, 5))
    return float(struct.unpack("d", chance.randbytes(8))[0])


def _float(type_: Type, chance: random.Random) -> float:
    number = _double(type_, chance)
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return 3.4028234663852886e38 if number > 0 else -3.4028234663852886e38


def _decimal(type_: Type, chance: random.Random) -> Decimal:
    most = 10**type_.precision - 1
    draw = chance.random()
    if draw < 0.4:
        unscaled = chance.randint(-5000, 5000)
    elif draw < 0.6:
        unscaled = chance.choice((most, -most, 0, 1, -1, 5 * 10 ** max(type_.scale - 1, 0)))
    else:
        unscaled = chance.randint(-most, most)
    unscaled = max(-most, min(most, unscaled))
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -type_.scale))


def _text(_: Type, chance: random.Random) -> str:
    draw = chance.random()
    if draw < 0.4:
        return chance.choice(_EDGE_TEXTS)
    if draw < 0.55:
        return chance.choice(_ALMOST_NUMBERS)
    if draw < 0.65:
        return chance.choice(_ALMOST_TIMES)
    return "".join(chance.choice(_ALPHABET) for _ in range(chance.randint(0, 10)))


def almost(type_: Type, chance: random.Random) -> str | None:
    """Text that converts to the type, or nearly does."""
    if chance.random() < 0.08:
        return None
    draw = chance.random()
    if draw < 0.35 and not type_.is_nested:
        sample = value(type_, chance, nulls=0.0)
        shown = plain(sample)
        text = shown if isinstance(shown, str) else str(shown).lower() if isinstance(sample, bool) else str(shown)
        return chance.choice(("", "", " ", "\t")) + text + chance.choice(("", "", " ", "\n"))
    if type_.is_nested or type_.kind == "json":
        return document(type_, chance) if draw < 0.8 else _almost_document(type_, chance)
    if type_.is_number or type_.kind == "boolean":
        return chance.choice(_ALMOST_NUMBERS) if draw < 0.9 else _text(type_, chance)
    if type_.kind in ("date", "timestamp", "timestamp_ntz"):
        return chance.choice(_ALMOST_TIMES) if draw < 0.9 else _text(type_, chance)
    return _text(type_, chance)


def document(type_: Type, chance: random.Random) -> str:
    """JSON text that converts to an array, map, struct or document, in one of the ways that JSON is written."""
    if type_.kind == "json":
        return _json(type_, chance)
    data = plain(value(type_, chance, nulls=0.0), to_arrow(type_))
    if type_.kind == "struct" and chance.random() < 0.4:
        data = {name: item for name, item in data.items() if item is not None} | {"~unknown": [1, None]}
    between = chance.choice(((",", ":"), (", ", ": "), (" ,", " :\n")))
    shown = json.dumps(data, ensure_ascii=chance.random() < 0.5, separators=between)
    return chance.choice(("", "", " ", "\n")) + shown + chance.choice(("", "", " ", "\t"))


def _almost_document(type_: Type, chance: random.Random) -> str:
    sound = document(type_, chance)
    broken = (sound[:-1], sound + ",", sound + sound, sound.replace('"', "'"), f"[{sound}]", f'"{sound}"')
    return chance.choice((*broken, *_ODD_DOCUMENTS))


def _date(_: Type, chance: random.Random) -> date:
    if chance.random() < 0.5:
        return chance.choice(_EDGE_DATES)
    return date(1970, 1, 1) + timedelta(days=chance.randint(-30000, 40000))


def _wall_clock(_: Type, chance: random.Random) -> datetime:
    draw = chance.random()
    if draw < 0.5:
        return chance.choice(_EDGE_TIMES)
    instant = datetime(1970, 1, 1) + timedelta(days=chance.randint(-30000, 40000), seconds=chance.randint(0, 86399))  # noqa: DTZ001
    return instant.replace(microsecond=chance.choice((0, 0, 1, 500000, 999999, chance.randint(0, 999999))))


def _instant(type_: Type, chance: random.Random) -> datetime:
    return _wall_clock(type_, chance).replace(tzinfo=UTC)


def _binary(_: Type, chance: random.Random) -> bytes:
    return chance.choice((b"", b"a", b"\x00", b"\xff\xfe", "é".encode(), chance.randbytes(chance.randint(1, 9))))


def _array(type_: Type, chance: random.Random) -> list[Any]:
    assert type_.element is not None
    return [value(type_.element, chance) for _ in range(chance.choice((0, 1, 2, 2, 3, 5)))]


def _map(type_: Type, chance: random.Random) -> list[tuple[Any, Any]]:
    assert type_.key is not None
    assert type_.element is not None
    keys = {value(type_.key, chance, nulls=0.0): None for _ in range(chance.choice((0, 1, 2, 3)))}
    return [(key, value(type_.element, chance)) for key in keys]


def _struct(type_: Type, chance: random.Random) -> dict[str, Any]:
    return {name: value(field, chance) for name, field in type_.fields}


def _json(_: Type, chance: random.Random) -> str:
    return chance.choice(
        ('{"a": 1}', '{"a": "x", "b": {"c": [1, 2.5, null, true]}}', "[]", "[1, 2]", '"text"', "null", "1.50", "true",
         '{"a": 12345678901234567890}', '{"a": 1, "a": 2}', '{"é": "\\u00e9\\n"}', "{}", '{"a":null}')
    )  # fmt: skip


_OF_KIND: dict[str, Any] = {
    "string": _text,
    "boolean": lambda _, chance: chance.random() < 0.5,
    "tinyint": _integer,
    "smallint": _integer,
    "int": _integer,
    "bigint": _integer,
    "float": _float,
    "double": _double,
    "decimal": _decimal,
    "date": _date,
    "timestamp": _instant,
    "timestamp_ntz": _wall_clock,
    "binary": _binary,
    "json": _json,
    "array": _array,
    "map": _map,
    "struct": _struct,
}
