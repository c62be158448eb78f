"""How aggregates are written: arguments, DISTINCT, FILTER, WITHIN GROUP, and what is refused with a hint."""

import pytest

from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Call, Column, Literal
from lakelogic.sql.parse import parse_expression
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES, NO_FUNCTION, NOT_YET, SqlProblems
from lakelogic.sql.scope import scope_of
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, array, decimal

COLUMNS = {"x": INT, "s": STRING, "d": DOUBLE, "f": BOOLEAN, "m": decimal(10, 2), "l": array(INT)}
X, S, D = Column("x", INT), Column("s", STRING), Column("d", DOUBLE)


def aggregate(text):
    found = []
    Binder(scope_of(COLUMNS), found).bind(parse_expression(text))
    (one,) = found
    return one


@pytest.mark.parametrize(
    ("text", "function", "value", "more", "type_"),
    [
        ("count(*)", "count_all", None, (), BIGINT),
        ("count(DISTINCT x, s)", "count_distinct", X, (S,), BIGINT),
        ("approx_count_distinct(x)", "count_distinct", X, (), BIGINT),
        ("max_by(s, x)", "max_by", S, (X,), STRING),
        ("median(d)", "percentile", D, (Literal(0.5, DOUBLE),), DOUBLE),
        ("percentile(d, 0.25)", "percentile", D, (Literal(0.25, DOUBLE),), DOUBLE),
        ("percentile_cont(1) WITHIN GROUP (ORDER BY d)", "percentile", D, (Literal(1.0, DOUBLE),), DOUBLE),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY s)", "percentile_disc", S, (Literal(0.5, DOUBLE),), STRING),
        ("approx_percentile(x, 0.9, 100)", "percentile_disc", X, (Literal(0.9, DOUBLE),), INT),
        ("mode() WITHIN GROUP (ORDER BY s)", "mode", S, (), STRING),
        ("string_agg(s)", "string_agg", S, (Literal("", STRING),), STRING),
        ("listagg(s, '; ') WITHIN GROUP (ORDER BY s)", "string_agg", S, (Literal("; ", STRING),), STRING),
        ("array_agg(DISTINCT s)", "collect_set", S, (), array(STRING)),
        ("min(DISTINCT x)", "min", X, (), INT),
        ("avg(m)", "avg", Column("m", decimal(10, 2)), (), DOUBLE),
        ("corr(d, d)", "corr", D, (D,), DOUBLE),
    ],
)
def test_each_form_means_one_aggregate(text, function, value, more, type_):
    found = aggregate(text)
    assert (found.function, found.value, found.more, found.type, found.distinct) == (
        function,
        value,
        more,
        type_,
        False,
    )


def test_distinct_is_kept_where_it_matters():
    assert aggregate("sum(DISTINCT x)").distinct
    assert aggregate("stddev(DISTINCT d)").distinct
    assert aggregate("string_agg(DISTINCT s, ',')").distinct


def test_a_filter_hides_the_values_and_what_they_are_ordered_by():
    found = aggregate("max_by(s, x) FILTER (WHERE f)")
    f = Column("f", BOOLEAN)
    assert found.value == Call("case", (f, S, Literal(None, STRING)), STRING)
    assert found.more == (Call("case", (f, X, Literal(None, INT)), INT),)
    counted = aggregate("count(*) FILTER (WHERE f)")
    assert (counted.function, counted.value) == ("count", Call("case", (f, Literal(1, INT), Literal(None, INT)), INT))


def test_equal_aggregates_are_computed_once():
    found = []
    Binder(scope_of(COLUMNS), found).bind(parse_expression("sum(x) + sum(x) + sum(DISTINCT x) + percentile(x, 0.5)"))
    assert [(one.function, one.distinct) for one in found] == [("sum", False), ("sum", True), ("percentile", False)]


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("first(s)", NO_FUNCTION, "min_by"),
        ("any_value(s)", NO_FUNCTION, "min_by"),
        ("histogram(d)", NO_FUNCTION, "floor"),
        ("percentile(d, x)", BAD_ARGUMENTS, "write the value itself"),
        ("percentile(d, 1.5)", BAD_ARGUMENTS, "percentile(x, 0.5)"),
        ("percentile(d)", BAD_ARGUMENTS, None),
        ("median(DISTINCT d)", BAD_ARGUMENTS, None),
        ("sum(*)", BAD_ARGUMENTS, None),
        ("sum(x, d)", BAD_ARGUMENTS, None),
        ("count_if(x)", BAD_TYPES, "compare it"),
        ("bit_or(d)", BAD_TYPES, "BIGINT"),
        ("max(l)", BAD_TYPES, "to_json"),
        ("collect_list(l)", BAD_TYPES, "to_json"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY d DESC)", NOT_YET, "ORDER BY x"),
        ("string_agg(s, ',') WITHIN GROUP (ORDER BY x)", NOT_YET, "ascending"),
    ],
)
def test_what_is_not_portable_is_refused_with_the_nearest_form(text, code, hint):
    with pytest.raises(SqlProblems) as caught:
        Binder(scope_of(COLUMNS), []).bind(parse_expression(text))
    problem = caught.value.problems[0]
    assert problem.code == code
    assert hint is None or hint in (problem.hint or "")
