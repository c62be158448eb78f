"""Contract SQL becomes typed expressions, or a problem that says what to do."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Call, Column, Literal, columns_of
from lakelogic.sql.functions import CATALOGUE
from lakelogic.sql.parse import parse_select
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.scope import Scope
from lakelogic.sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal

COLUMNS = {
    "id": INT,
    "name": STRING,
    "amount": decimal(10, 2),
    "day": DATE,
    "at": TIMESTAMP,
    "ok": BOOLEAN,
    "Order": STRING,
}


def problem(text: str) -> tuple[str, str, str | None]:
    with pytest.raises(SqlProblems) as caught:
        bind(text, COLUMNS)
    [first, *_] = caught.value.problems
    return first.code, first.message, first.hint


@pytest.mark.parametrize(
    "text", [text for f in CATALOGUE.values() if f.kind in ("scalar", "composed") for text, _ in f.examples]
)
def test_every_example_of_the_catalogue_can_be_bound(text: str) -> None:
    bind(text, {})


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("id + 1", BIGINT), ("amount + 1", decimal(13, 2)), ("amount * amount", decimal(20, 4)), ("id / 2", DOUBLE),
        ("name || 'x'", STRING), ("name = 'x'", BOOLEAN), ("length(name)", INT), ("coalesce(day, at)", TIMESTAMP),
        ("CASE WHEN ok THEN 1 ELSE 2.5 END", decimal(11, 1)), ("1.50", decimal(3, 2)), ("9999999999", BIGINT), ("1e3", DOUBLE),
    ],
)  # fmt: skip
def test_the_type_of_an_expression_is_settled(text: str, type_: object) -> None:
    assert bind(text, COLUMNS).type == type_


def test_text_compared_with_a_number_is_read_as_an_exact_number() -> None:
    bound = bind("name >= 30", COLUMNS)
    assert isinstance(bound, Call)
    assert bound.args[0] == Call("convert", (Column("name", STRING),), decimal(38, 18))


def test_names_are_found_without_case_and_reserved_words_can_be_columns() -> None:
    assert columns_of(bind("NAME = `order`", COLUMNS)) == {"name", "Order"}


def test_the_rows_are_called_source_or_by_their_dataset() -> None:
    scope = Scope({"id": Column("id", INT)}, frozenset({"source", "orders"}))
    assert bind("source.id = orders.id", scope).type == BOOLEAN
    with pytest.raises(SqlProblems, match="There is no table `other` here"):
        bind("other.id", scope)


def test_now_is_one_instant_for_the_whole_plan() -> None:
    at = datetime(2026, 3, 28, 12, tzinfo=UTC)
    scope = Scope({}, now=at)
    assert bind("current_timestamp()", scope) == Literal(at, TIMESTAMP)
    assert bind("current_date", scope) == Literal(date(2026, 3, 28), DATE)


def test_a_quote_in_a_text_is_doubled_as_in_spark_4() -> None:
    assert bind("'it''s'", {}) == Literal("it's", STRING)


def test_numbers_keep_every_digit() -> None:
    assert bind("12345678901234567890.12", {}) == Literal(Decimal("12345678901234567890.12"), decimal(22, 2))


@pytest.mark.parametrize(
    ("text", "code", "says", "hint"),
    [
        ("emial", "LL-C203", "There is no column `emial`.", "the columns here are"),
        ("nam = 'x'", "LL-C203", "There is no column `nam`.", "did you mean `name`?"),
        ("lowr(name)", "LL-C204", "`lowr` is not in the portable catalogue", "did you mean `lower`?"),
        ("substring(name)", "LL-C205", "`substring` takes 2 to 3 arguments, not 1.", ""),
        ("name LIKE name", "LL-C205", "must be a constant", "write the value itself"),
        ("name AND ok", "LL-C206", "AND must be a condition", "compare it"),
        ("day = 1", "LL-C206", "cannot be used together", "cast one of them"),
        ("sum(id)", "LL-C205", "The aggregate `sum` cannot stand here.", "rollup"),
        ("rand() > 0.5", "LL-C202", "`rand`", "re-run"),
        ("java_method('x', 'y')", "LL-C202", "`java_method`", "outside the rows"),
        ("id; drop table x", "LL-C202", "more than one statement", "remove the `;`"),
        ("id +", "LL-C201", "cannot be read", "check brackets"),
        ("row_number() over (order by id)", "LL-C205", "cannot stand here", "a step before"),
        ("", "LL-C201", "The SQL is empty.", "write an expression"),
    ],
)  # fmt: skip
def test_trouble_is_told_with_a_way_out(text: str, code: str, says: str, hint: str) -> None:
    found_code, message, found_hint = problem(text)
    assert found_code == code
    assert says in message
    assert hint in (found_hint or "")
    assert "sqlglot" not in message


def test_all_problems_of_an_expression_are_told_at_once() -> None:
    with pytest.raises(SqlProblems) as caught:
        bind("nope = 1 AND lowr(name) = 'x' AND also = 2", COLUMNS)
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize("text", ["DROP TABLE x", "INSERT INTO x SELECT 1", "CREATE TABLE x (a int)", "DELETE FROM x"])
def test_statements_that_change_something_are_refused(text: str) -> None:
    with pytest.raises(SqlProblems) as caught:
        parse_select(text)
    assert caught.value.problems[0].code == "LL-C202"


def test_sql_written_for_another_engine_means_the_same() -> None:
    assert bind("name ILIKE 'a%' AND id::bigint > 1", COLUMNS, dialect="duckdb") == bind(
        "name ILIKE 'a%' AND CAST(id AS BIGINT) > 1", COLUMNS
    )
