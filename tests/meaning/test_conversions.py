"""Every value as another type: what can be converted exactly is, the rest is NULL and never an error."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from lakelogic.sql.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    JSON,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    decimal,
)

NAN, INF = float("nan"), float("inf")


def clock(*parts: int) -> datetime:
    """What a clock on the wall shows."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


def test_text_becomes_a_whole_number_only_when_it_is_entirely_one(meaning):
    meaning.converts(
        STRING,
        INT,
        {
            "12": 12, " 12 ": 12, "\t-7\r\n": -7, "+7": 7, "0": 0, "-0": 0, "007": 7, "0" * 50 + "7": 7,
            "2147483647": 2147483647, "2147483648": None, "-2147483648": -2147483648, "-2147483649": None,
            "3.7": None, "3.0": None, "1e3": None, "": None, " ": None, "+": None, "--1": None, "+-1": None,
            "1 2": None, "1_000": None, "0x1F": None, "１２": None, "\u00a012": None, "12a": None, "true": None, None: None,
        },
    )  # fmt: skip


def test_text_beyond_a_narrow_type_is_null(meaning):
    meaning.converts(STRING, TINYINT, {"127": 127, "128": None, "-128": -128, "-129": None})
    meaning.converts(STRING, SMALLINT, {"32767": 32767, "32768": None})
    meaning.converts(
        STRING, BIGINT, {"9223372036854775807": 9223372036854775807, "9223372036854775808": None, "9" * 60: None}
    )


def test_text_becomes_a_double_by_the_grammar_of_numbers(meaning):
    meaning.converts(
        STRING,
        DOUBLE,
        {
            "1.5": 1.5, " 1e3 ": 1000.0, "1E3": 1000.0, ".5": 0.5, "5.": 5.0, "+2": 2.0, "-2.5e-2": -0.025,
            "NaN": NAN, "nan": NAN, "Infinity": INF, "-INFINITY": -INF, "+infinity": INF,
            "inf": None, "1e400": None, "-1e400": None, "1e-400": 0.0, "0.1": 0.1, "1d": None, "1.5f": None,
            "1,5": None, "": None, ".": None, "e5": None, "1e": None, "0x1p3": None, "１": None, None: None,
        },
    )  # fmt: skip
    meaning.converts(STRING, FLOAT, {"1.5": 1.5, "1e39": None, "x": None})


def test_text_becomes_a_decimal_without_ever_being_rounded(meaning):
    meaning.converts(
        STRING,
        decimal(5, 2),
        {
            "1.5": Decimal("1.50"), " 2.0 ": Decimal("2.00"), "-0.05": Decimal("-0.05"), ".5": Decimal("0.50"),
            "5.": Decimal("5.00"), "+7": Decimal("7.00"), "000001.5": Decimal("1.50"), "999.99": Decimal("999.99"),
            "1000": None, "1.005": None, "1.500": None, "1e2": None, "NaN": None, "": None, "1.2.3": None, None: None,
        },
    )  # fmt: skip
    meaning.converts(
        STRING,
        decimal(38, 18),
        {
            "99999999999999999999.999999999999999999": Decimal("99999999999999999999.999999999999999999"),
            "100000000000000000000": None,
            "0.0000000000000000001": None,
        },
    )
    meaning.converts(STRING, decimal(38, 0), {"9" * 38: Decimal("9" * 38), "1" + "0" * 38: None, "1.0": None})


def test_words_become_booleans_in_any_case(meaning):
    meaning.converts(
        STRING,
        BOOLEAN,
        {
            "true": True, "T": True, "Yes": True, "y": True, " 1 ": True, "FALSE": False, "f": False, "no": False,
            "N": False, "0": False, "2": None, "on": None, "": None, "tru": None, "1.0": None, None: None,
        },
    )  # fmt: skip


def test_text_becomes_a_date_with_two_digit_parts_and_no_time(meaning):
    meaning.converts(
        STRING,
        DATE,
        {
            "2024-02-29": date(2024, 2, 29), " 2024-01-05 ": date(2024, 1, 5), "20240105": date(2024, 1, 5),
            "0001-01-01": date(1, 1, 1), "9999-12-31": date(9999, 12, 31),
            "2024-02-30": None, "2023-02-29": None, "20240230": None, "2024-1-5": None, "2024-13-01": None,
            "0000-01-01": None, "10000-01-01": None, "2024-01-05T00:00:00": None, "2024-01-05 10:00": None,
            "05/01/2024": None, "2024/01/05": None, "2024-01": None, "2024": None, "today": None, "": None, None: None,
        },
    )  # fmt: skip


def test_text_becomes_an_instant_in_utc(meaning):
    ten = utc(2024, 1, 5, 10)
    meaning.converts(
        STRING,
        TIMESTAMP,
        {
            "2024-01-05T10:00:00Z": ten, "2024-01-05 10:00:00": ten, "2024-01-05 10:00": ten, "2024-01-05T10:00Z": ten,
            " 2024-01-05T12:00:00+02:00 ": ten, "2024-01-05T12:00:00+0200": ten, "2024-01-05T12:00:00+02": ten,
            "2024-01-05T04:30:00-05:30": ten, "2024-01-05": utc(2024, 1, 5), "20240105": utc(2024, 1, 5),
            "2024-01-05T10:00:00.5": utc(2024, 1, 5, 10, 0, 0, 500000),
            "2024-01-05 10:00:00.123456Z": utc(2024, 1, 5, 10, 0, 0, 123456),
            "2024-01-05T10:00:00.1234567": utc(2024, 1, 5, 10, 0, 0, 123456),
            " 2024-01-05T12:00:00.123456999+02:00": utc(2024, 1, 5, 10, 0, 0, 123456),
            "2024-01-05T10:00:00.1234567890": None, "2024-01-05T10:61:00.1234567Z": None,
            "20240105T100000Z": ten, "20240105T1000": ten, " 20240105T120000+0200 ": ten, "20240105T043000-05:30": ten,
            "20240105T100000.5Z": utc(2024, 1, 5, 10, 0, 0, 500000),
            "20240105T100000.123456789Z": utc(2024, 1, 5, 10, 0, 0, 123456),
            "20240105T10Z": None, "20240105 100000": None, "20240105T10:00:00Z": None, "20240105T1000.5": None,
            "20240230T100000Z": None, "20240105T250000Z": None, "2024-01-05T100000Z": None, "00000105T100000Z": None,
            "00010101T000000+0100": None, "9999-12-31T23:59:59.999999999Z": utc(9999, 12, 31, 23, 59, 59, 999999),
            "2024-01-05T10:00:00.": None, "2024-01-05T24:00:00": None,
            "2024-01-05T10:60:00": None, "2024-01-05T10:00:60": None, "2024-02-30T10:00:00": None,
            "2024-01-05T1:00:00": None, "2024-01-05 10": None, "2024-01-05T10:00:00 Z": None,
            "2024-01-05T10:00:00 Europe/Paris": None, "2024-01-05T10:00:00+2": None, "2024-01-05T10:00:00+18:01": None, "noon": None, "": None,
            "0001-01-01T00:00:00Z": utc(1, 1, 1), "9999-12-31T23:59:59.999999Z": utc(9999, 12, 31, 23, 59, 59, 999999),
            "0001-01-01T00:00:00+01:00": None, "9999-12-31T23:59:59-01:00": None, "0000-12-31T00:00:00Z": None,
            "1969-12-31T23:59:59.999999Z": utc(1969, 12, 31, 23, 59, 59, 999999), None: None,
        },
    )  # fmt: skip


def test_text_becomes_a_wall_clock_only_without_an_offset(meaning):
    meaning.converts(
        STRING,
        TIMESTAMP_NTZ,
        {
            "2024-01-05T10:00:00": clock(2024, 1, 5, 10), "2024-01-05 10:00": clock(2024, 1, 5, 10),
            "2024-01-05T10:00:00.123456789": clock(2024, 1, 5, 10, 0, 0, 123456),
            "20240105T100000": clock(2024, 1, 5, 10), "20240105T100000Z": None, "2024-01-05T10:00:00.1234567Z": None,
            "2024-01-05": clock(2024, 1, 5), "2024-01-05T10:00:00Z": None, "2024-01-05T10:00:00+02:00": None,
        },
    )  # fmt: skip


def test_text_becomes_bytes_and_json_only_when_it_parses(meaning):
    meaning.converts(STRING, BINARY, {"é": b"\xc3\xa9", "": b"", None: None})
    meaning.converts(
        STRING, JSON, {'{"a": 1}': '{"a": 1}', "[]": "[]", "1": "1", "{a:1}": None, "": None, "NaN": None, None: None}
    )


def test_whole_numbers_become_other_types(meaning):
    big = 9223372036854775807
    meaning.converts(BIGINT, INT, {1: 1, 2147483648: None, None: None})
    meaning.converts(BIGINT, DOUBLE, {1: 1.0, -3: -3.0})
    meaning.converts(BIGINT, decimal(5, 2), {999: Decimal("999.00"), 1000: None, -7: Decimal("-7.00")})
    meaning.converts(BIGINT, STRING, {big: str(big), -5: "-5", 0: "0", None: None})
    meaning.converts(INT, BOOLEAN, {0: False, 1: True, -2: True, None: None})


def test_doubles_become_whole_only_when_they_are(meaning):
    cases = [(3.0, 3), (3.5, None), (-3.0, -3), (-0.0, 0), (NAN, None), (INF, None), (1e30, None), (None, None)]
    meaning.converts(DOUBLE, INT, cases)
    meaning.converts(DOUBLE, BIGINT, [(9.2e18, 9200000000000000000), (9.3e18, None), (0.1, None)])


def test_doubles_become_decimals_only_when_nothing_is_lost(meaning):
    meaning.converts(
        DOUBLE,
        decimal(10, 2),
        [(1.1, Decimal("1.10")), (1.005, None), (2.5, Decimal("2.50")), (1e30, None), (NAN, None), (INF, None),
         (0.1 + 0.2, None), (-0.25, Decimal("-0.25")), (1e7, Decimal("10000000.00")), (None, None)],
    )  # fmt: skip


def test_doubles_become_canonical_text(meaning):
    meaning.converts(
        DOUBLE,
        STRING,
        [(3.0, "3.0"), (0.1, "0.1"), (-2.5, "-2.5"), (1e15, "1000000000000000.0"), (1e16, "1e+16"), (1.5e20, "1.5e+20"),
         (0.0001, "0.0001"), (0.00001, "1e-05"), (1.25e-7, "1.25e-07"), (1e100, "1e+100"), (5e-324, "5e-324"),
         (123456789.125, "123456789.125"), (0.1 + 0.2, "0.30000000000000004"), (2.0e-3, "0.002"),
         (1.7976931348623157e308, "1.7976931348623157e+308"), (NAN, "NaN"), (INF, "Infinity"), (-INF, "-Infinity"),
         (-0.0, "-0.0"), (None, None)],
    )  # fmt: skip
    # 7205.65625 lies exactly between two texts of eight digits: the even one is taken.
    meaning.converts(
        FLOAT,
        STRING,
        [(0.5, "0.5"), (1e20, "1e+20"), (3.0, "3.0"), (7205.65625, "7205.6562")],
    )
    meaning.converts(FLOAT, STRING, [(7205.66015625, "7205.66"), (-7205.65625, "-7205.6562"), (1048576.5, "1048576.5")])


def test_floats_widen_and_doubles_narrow_when_they_fit(meaning):
    meaning.converts(FLOAT, DOUBLE, [(0.5, 0.5), (None, None)])
    meaning.converts(DOUBLE, FLOAT, [(0.5, 0.5), (1e39, None), (INF, INF), (NAN, NAN)])
    meaning.converts(DOUBLE, BOOLEAN, [(0.0, False), (-0.0, False), (0.1, True)])


def test_decimals_become_other_types_only_exactly(meaning):
    money = decimal(10, 2)
    d = Decimal
    meaning.converts(money, INT, [(d("3.00"), 3), (d("3.50"), None), (d("-3.00"), -3), (None, None)])
    meaning.converts(money, DOUBLE, [(d("0.10"), 0.1), (d("-2.50"), -2.5)])
    meaning.converts(money, STRING, [(d("1.50"), "1.50"), (d("-0.05"), "-0.05"), (d("3.00"), "3.00")])
    meaning.converts(money, decimal(10, 1), [(d("1.50"), d("1.5")), (d("1.55"), None), (d("-0.10"), d("-0.1"))])
    meaning.converts(money, decimal(4, 3), [(d("1.50"), d("1.500")), (d("10.00"), None)])
    meaning.converts(money, BOOLEAN, [(d("0.00"), False), (d("0.01"), True)])
    meaning.converts(decimal(38, 0), BIGINT, [(d("9223372036854775807"), 9223372036854775807), (d("9" * 38), None)])


@pytest.mark.parametrize("to", [TINYINT, BIGINT, DOUBLE, decimal(3, 1)], ids=str)
def test_booleans_become_one_and_zero(meaning, to):
    one, zero = {"double": (1.0, 0.0), "decimal": (Decimal("1.0"), Decimal("0.0"))}.get(to.kind, (1, 0))
    meaning.converts(BOOLEAN, to, {True: one, False: zero, None: None})


def test_booleans_become_words(meaning):
    meaning.converts(BOOLEAN, STRING, {True: "true", False: "false", None: None})


def test_dates_and_times_become_text_and_one_another(meaning):
    noon = utc(2024, 1, 5, 12)
    meaning.converts(DATE, STRING, {date(2024, 1, 5): "2024-01-05", date(1, 1, 1): "0001-01-01", None: None})
    meaning.converts(DATE, TIMESTAMP, {date(2024, 1, 5): utc(2024, 1, 5), date(1969, 12, 31): utc(1969, 12, 31)})
    meaning.converts(DATE, TIMESTAMP_NTZ, {date(2024, 1, 5): clock(2024, 1, 5)})
    meaning.converts(
        TIMESTAMP,
        STRING,
        {noon: "2024-01-05T12:00:00Z", utc(2024, 1, 5, 12, 0, 0, 120000): "2024-01-05T12:00:00.120000Z",
         utc(1, 1, 1): "0001-01-01T00:00:00Z", utc(1969, 12, 31, 23, 59, 59, 1): "1969-12-31T23:59:59.000001Z"},
    )  # fmt: skip
    meaning.converts(TIMESTAMP, DATE, {noon: date(2024, 1, 5), utc(1969, 12, 31, 23): date(1969, 12, 31), None: None})
    meaning.converts(TIMESTAMP, TIMESTAMP_NTZ, {noon: clock(2024, 1, 5, 12)})
    meaning.converts(TIMESTAMP_NTZ, TIMESTAMP, {clock(2024, 1, 5, 12): noon})
    meaning.converts(TIMESTAMP_NTZ, STRING, {clock(2024, 1, 5, 12): "2024-01-05T12:00:00"})


def test_bytes_become_text_when_they_are_utf8(meaning):
    meaning.converts(BINARY, STRING, {b"\xc3\xa9": "é", b"\xff": None, b"": "", None: None})
