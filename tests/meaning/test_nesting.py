"""Calls within calls: eight deep they cost about eight times one call, and not one call to the eighth power."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from lakelogic.plan.nodes import Aggregate, Assignment, Rollup, RowWise
from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Column
from lakelogic.sql.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal

DEPTH = 8
NOON = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
COLUMNS = {
    "s": (STRING, ["aBc.dEf.ghi", None]),
    "long": (STRING, ["abcdefghijkl", None]),
    "n": (INT, [2, 2]),
    "i": (BIGINT, [1000, None]),
    "d": (DOUBLE, [1.25, None]),
    "m": (decimal(10, 2), [Decimal("12.34"), None]),
    "day": (DATE, [date(2024, 2, 29), None]),
    "at": (TIMESTAMP, [NOON, None]),
    "list": (Type("array", element=INT), [[1, 2, 2], None]),
    "texts": (Type("array", element=STRING), [["abcdefghijkl", None, "ab"], None]),
}
# What stands in the place of `{}` is the call itself, and innermost the column. The second row is NULL throughout.
CASES = {
    ("s", "lower({})"): "abc.def.ghi",
    ("s", "upper({})"): "ABC.DEF.GHI",
    ("s", "initcap({})"): "Abc.def.ghi",
    ("s", "trim({})"): "aBc.dEf.ghi",
    ("long", "substring({}, n)"): "ijkl",
    ("long", "substring({}, -11)"): "bcdefghijkl",
    ("long", "substring({}, n, 20)"): "ijkl",
    ("long", "right({}, 4)"): "ijkl",
    ("long", "lpad({}, n, 'x')"): "ab",
    ("long", "lpad({}, n + 12, 'xy')"): "xyabcdefghijkl",
    ("long", "rpad({}, n + 12, 'xy')"): "abcdefghijklxy",
    ("s", "split_part({}, '.', 1)"): "aBc",
    ("s", "substring_index({}, '.', n)"): "aBc.dEf",
    ("s", "replace({}, 'B', 'BB')"): "a" + "B" * 256 + "c.dEf.ghi",
    ("s", "overlay({}, 'Z', n)"): "aZc.dEf.ghi",
    ("s", "concat({}, '-x')"): "aBc.dEf.ghi" + "-x" * 8,
    ("s", "regexp_replace({}, '[a-z]$', '')"): "aBc.dEf.",
    ("s", "nullif({}, '')"): "aBc.dEf.ghi",
    ("i", "abs({}) - 1"): 992,
    ("i", "{} % 999"): 1,
    ("i", "{} DIV 2"): 3,
    ("i", "CAST(CAST({} AS STRING) AS BIGINT)"): 1000,
    ("i", "CAST(CAST({} AS DOUBLE) AS BIGINT)"): 1000,
    ("d", "round({}, 1)"): 1.3,
    ("d", "{} / 0.5"): 320.0,
    ("d", "sign({})"): 1.0,
    ("d", "CAST(CAST({} AS STRING) AS DOUBLE)"): 1.25,
    ("m", "CAST({} + 1 AS DECIMAL(10,2))"): Decimal("20.34"),
    ("m", "CAST(round({}, 1) AS DECIMAL(10,2))"): Decimal("12.30"),
    ("day", "date_add({}, 1)"): date(2024, 3, 8),
    ("day", "add_months({}, 12)"): date(2032, 2, 28),
    ("day", "next_day({}, 'MON')"): date(2024, 4, 22),
    ("day", "to_date(CAST({} AS STRING))"): date(2024, 2, 29),
    ("day", "to_date(date_format({}, 'dd.MM.yyyy'), 'dd.MM.yyyy')"): date(2024, 2, 29),
    ("at", "to_timestamp(CAST({} AS STRING))"): NOON,
    ("at", "date_trunc('hour', {})"): NOON.replace(minute=0),
    ("at", "from_utc_timestamp({}, 'Asia/Kolkata')"): datetime(2024, 3, 2, 8, 30, tzinfo=UTC),
    ("list", "array_distinct({})"): [1, 2],
    ("list", "concat({}, array(n))"): [1, 2, 2] + [2] * 8,
    ("list", "transform({}, x -> x + 1)"): [9, 10, 10],
}


def nested(start, template):
    """The template in itself."""
    found = start
    for _ in range(DEPTH):
        found = template.replace("{}", found)
    return found


@pytest.fixture
def check(meaning, same):
    """Each expression has its value in the first row and NULL in the second; all of them in one job."""

    def run(cases):
        types = {name: type_ for name, (type_, _) in COLUMNS.items()}
        values = {f"e{i}": bind(sql, types) for i, sql in enumerate(cases)}
        made = RowWise("derive", tuple(Assignment(name, value) for name, value in values.items()))
        outputs = {name: Column(name, value.type) for name, value in values.items()}
        first, second = meaning.rows(COLUMNS, outputs, [made])
        wrong = [
            f"{sql}: expected {expected!r}, found {first[f'e{i}']!r} and {second[f'e{i}']!r}"
            for i, (sql, expected) in enumerate(cases.items())
            if not same(first[f"e{i}"], expected) or second[f"e{i}"] is not None
        ]
        assert not wrong, f"{meaning.name}: " + "; ".join(wrong)

    return run


def test_calls_nested_eight_deep_have_their_values(check, meaning):
    # Spark needs seconds to plan long expressions of reals and times, nested or not: its part is shown by the texts.
    starts = ("long", "i", "list") if meaning.name == "spark" else tuple(COLUMNS)
    check({nested(start, template): value for (start, template), value in CASES.items() if start in starts})


def test_calls_nested_within_lambdas_have_their_values(check):
    cut, filled, last = "substring({}, n)", "lpad({}, n + 12, 'xy')", "substring({}, -20, 20)"
    check(
        {
            f"transform(texts, x -> {nested('x', cut)})": ["ijkl", None, ""],
            f"transform(texts, x -> {nested('x', filled)})": ["xyabcdefghijkl", None, "xyxyxyxyxyxyab"],
            f"filter(texts, x -> {nested('x', 'upper({})')} = 'AB')": ["ab"],
            f"transform(list, (x, k) -> {nested('x', '{} % (k + 2)')})": [1, 2, 2],
            f"aggregate(texts, '', (t, x) -> {nested('concat(t, coalesce(x, s))', last)})": "fghijklaBc.dEf.ghiab",
        }
    )


def test_a_branch_that_is_not_taken_computes_nothing_that_could_be_too_large(check):
    huge = nested("repeat(long, n * 100000000)", "substring({}, n)")
    check({f"CASE WHEN n > 99 THEN length({huge}) WHEN i IS NOT NULL THEN 0 END": 0})


def test_groups_and_conditions_take_nested_calls(meaning):
    types = {name: type_ for name, (type_, _) in COLUMNS.items()}
    key, value = bind(nested("long", "substring({}, n)"), types), bind(nested("i", "abs({} - 1)"), types)
    where = bind(f"{nested('s', 'initcap({})')} = 'Abc.def.ghi'", types)
    total = Aggregate("total", "sum", value, BIGINT)
    rows = meaning.rows(
        COLUMNS,
        {"key": Column("key", STRING), "total": Column("total", BIGINT)},
        rollup=Rollup("group", where, (Assignment("key", key),), (total,)),
    )
    assert rows == [{"key": "ijkl", "total": 992}]
