"""Functions of many rows: in rollups, GROUP BY and over windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from lakelogic.sql.arguments import Args, constant, constant_text, refuse
from lakelogic.sql.catalogue.row import aggregate
from lakelogic.sql.coerce import number, text
from lakelogic.sql.expressions import Expression, Literal, call, convert
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Type, array, decimal

FUNCTIONS = (
    # NULLs are passed over, and over nothing the answer is NULL, unless something else is said
    aggregate("count_all", "count(*)", "Rows.", ("count(*)", 5)),
    aggregate("count", "count(x); count(x, y)", "Rows in which no value is NULL.", ("count(x)", 4), ("count(x, s)", 4)),
    aggregate("count_distinct", "count(DISTINCT x); count(DISTINCT x, y); approx_count_distinct(x)", "Different values (or combinations) in which nothing is NULL. Always exact.", ("count(DISTINCT x)", 3), ("count(DISTINCT x, s)", 4), ("approx_count_distinct(s)", 3)),
    aggregate("count_if", "count_if(x)", "Rows where the condition is TRUE; 0 over nothing.", ("count_if(x > 2)", 3), ("count_if(x > 99)", 0)),
    aggregate("sum", "sum(x); sum(DISTINCT x)", "Whole numbers as bigint, decimals as decimal(38, s), NULL beyond. Doubles are added exactly and rounded once: no order of the rows changes the total.", ("sum(x)", 14), ("sum(DISTINCT x)", 11), ("sum(d)", 4.0), ("sum(x) FILTER (WHERE g = 'a')", 4)),
    aggregate("avg", "avg(x); mean(x); avg(DISTINCT x)", "Always double: the exact total by the number of values.", ("avg(x)", 3.5), ("avg(d)", 1.0), ("avg(DISTINCT x)", 11 / 3)),
    aggregate("min", "min(x)", "The smallest value.", ("min(x)", 1), ("min(s)", "apple")),
    aggregate("max", "max(x)", "The largest value; NaN is above all numbers.", ("max(x)", 7), ("max(d)", 4.0)),
    aggregate("min_by", "min_by(x, y)", "The value where y is smallest; of several the smallest that is not NULL.", ("min_by(s, x)", "apple"), ("min_by(n, g)", 1)),
    aggregate("max_by", "max_by(x, y)", "The value where y is largest; of several the largest that is not NULL.", ("max_by(s, x)", "apple"), ("max_by(n, g)", 5)),
    aggregate("any_true", "bool_or(x); any(x); some(x)", "TRUE when any value is TRUE.", ("bool_or(x > 5)", True), ("any(x > 9)", False)),
    aggregate("every_true", "bool_and(x); every(x)", "FALSE when any value is FALSE.", ("bool_and(x > 0)", True), ("every(x > 1)", False)),
    aggregate("bits_and", "bit_and(x)", "The bits that all whole numbers have.", ("bit_and(x)", 1)),
    aggregate("bits_or", "bit_or(x)", "The bits that any whole number has.", ("bit_or(x)", 7)),
    aggregate("bits_xor", "bit_xor(x)", "The bits that an odd number of whole numbers have.", ("bit_xor(x)", 6)),
    aggregate("var_samp", "variance(x); var_samp(x)", "The variance of a sample, as double; NULL of fewer than two.", ("variance(x)", 19 / 3), ("var_samp(d) FILTER (WHERE n = 1)", None)),
    aggregate("var_pop", "var_pop(x)", "The variance of a whole population, as double.", ("var_pop(x)", 4.75)),
    aggregate("stddev_samp", "stddev(x); stddev_samp(x); std(x)", "The standard deviation of a sample; NULL of fewer than two.", ("stddev(d) FILTER (WHERE n > 3)", 2.4748737341529163)),
    aggregate("stddev_pop", "stddev_pop(x)", "The standard deviation of a whole population.", ("stddev_pop(d) FILTER (WHERE g = 'b')", 1.75)),
    aggregate("covar_samp", "covar_samp(x, y)", "The covariance of a sample, of the rows that have both.", ("covar_samp(n, x) FILTER (WHERE g = 'b')", 2.0)),
    aggregate("covar_pop", "covar_pop(x, y)", "The covariance of a whole population, of the rows that have both.", ("covar_pop(n, x) FILTER (WHERE g = 'b')", 1.0)),
    aggregate("corr", "corr(x, y)", "Pearson's correlation of the rows that have both; NULL where one of them does not vary.", ("corr(n, x) FILTER (WHERE g = 'b')", 1.0), ("corr(n, 1)", None)),
    aggregate("skewness", "skewness(x)", "Of a whole population; NULL where nothing varies.", ("skewness(n)", 0.0)),
    aggregate("kurtosis", "kurtosis(x)", "Excess kurtosis of a whole population; NULL where nothing varies.", ("kurtosis(n)", -1.3)),
    aggregate("percentile", "percentile(x, p); percentile_cont(p) WITHIN GROUP (ORDER BY x); median(x)", "The value at the share p of the way through the sorted values, between two neighbours in a straight line; always double.", ("median(x)", 3.0), ("percentile(x, 0.25)", 2.5), ("percentile_cont(0.5) WITHIN GROUP (ORDER BY d)", 1.0)),
    aggregate("percentile_disc", "percentile_disc(p) WITHIN GROUP (ORDER BY x); percentile_approx(x, p); approx_percentile(x, p)", "The first of the sorted values that at least the share p of them do not exceed. Always exact.", ("percentile_disc(0.5) WITHIN GROUP (ORDER BY s)", "apple"), ("percentile_approx(x, 0.9)", 7), ("approx_percentile(d, 0)", -2.0)),
    aggregate("mode", "mode(x)", "The value that occurs most often; of several the smallest.", ("mode(x)", 3), ("mode(d)", -2.0)),
    aggregate("collect_list", "collect_list(x); array_agg(x)", "All values that are not NULL, as an array in ascending order; empty over nothing.", ("collect_list(x)", [1, 3, 3, 7]), ("array_agg(s) FILTER (WHERE g = 'a')", ["apple", "pear"])),
    aggregate("collect_set", "collect_set(x); array_agg(DISTINCT x)", "The different values that are not NULL, as an array in ascending order; empty over nothing.", ("collect_set(x)", [1, 3, 7]), ("array_agg(DISTINCT s)", ["apple", "fig", "pear"])),
    aggregate("string_agg", "string_agg(x, sep); listagg(x, sep)", "All texts that are not NULL in ascending order, with a constant between them (nothing by default).", ("string_agg(s, ', ')", "apple, apple, fig, pear"), ("listagg(DISTINCT s, '|')", "apple|fig|pear"), ("string_agg(x, '+')", "1+3+3+7")),
)  # fmt: skip

# SQL name → catalogue aggregate
AGGREGATES = {
    "count": "count",
    "count_if": "count_if",
    "approx_count_distinct": "count_distinct",
    "sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "min": "min",
    "max": "max",
    "min_by": "min_by",
    "max_by": "max_by",
    "bool_or": "any_true",
    "any": "any_true",
    "some": "any_true",
    "bool_and": "every_true",
    "every": "every_true",
    "bit_and": "bits_and",
    "bit_or": "bits_or",
    "bit_xor": "bits_xor",
    "variance": "var_samp",
    "var_samp": "var_samp",
    "var_pop": "var_pop",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "stddev_samp": "stddev_samp",
    "stddev_pop": "stddev_pop",
    "covar_samp": "covar_samp",
    "covar_pop": "covar_pop",
    "corr": "corr",
    "skewness": "skewness",
    "kurtosis": "kurtosis",
    "median": "percentile",
    "percentile": "percentile",
    "percentile_cont": "percentile",
    "percentile_disc": "percentile_disc",
    "percentile_approx": "percentile_disc",
    "approx_percentile": "percentile_disc",
    "mode": "mode",
    "collect_list": "collect_list",
    "array_agg": "collect_list",
    "collect_set": "collect_set",
    "string_agg": "string_agg",
    "listagg": "string_agg",
}

# Aggregates that have no portable meaning: name → what to write instead.
REFUSED_AGGREGATES = {
    **dict.fromkeys(
        ("first", "last", "any_value", "arbitrary"),
        "rows have no order here: min_by(x, y) or max_by(x, y) say which one, min(x) takes the smallest",
    ),
    **dict.fromkeys(
        ("first_value", "last_value", "nth_value"), "it needs a window: first_value(x) OVER (PARTITION BY … ORDER BY …)"
    ),
    **dict.fromkeys(("histogram", "histogram_numeric"), "count rows by width_bucket or by floor(x / size) instead"),
    "count_min_sketch": "count(DISTINCT x) is exact",
    "product": "exp(sum(ln(x))) for positive numbers",
    "try_sum": "sum(x): a total beyond the type is NULL already",
    "try_avg": "avg(x)",
    "regr_slope": "covar_pop(x, y) / var_pop(x)",
}


@dataclass(frozen=True, slots=True)
class Settled:
    """An aggregate with its arguments in their types."""

    function: str
    value: Expression
    type: Type
    more: tuple[Expression, ...] = ()
    distinct: bool = False


_DOUBLES = frozenset(
    {
        "var_samp",
        "var_pop",
        "stddev_samp",
        "stddev_pop",
        "covar_samp",
        "covar_pop",
        "corr",
        "skewness",
        "kurtosis",
        "percentile",
    }
)
_PAIRS = frozenset({"covar_samp", "covar_pop", "corr", "min_by", "max_by"})
# Equal values that count once change these; the others are the same with DISTINCT, or have no such form.
_DISTINCT = frozenset(
    {"sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "skewness", "kurtosis", "string_agg"}
)
_DISTINCT_IS_NOTHING = frozenset({"min", "max", "any_true", "every_true", "bits_and", "bits_or", "collect_set"})


def settle(name: str, args: Args, *, distinct: bool) -> Settled:
    """The aggregate that a SQL name with these arguments means."""
    function = AGGREGATES[name]
    if distinct:
        function = {"count": "count_distinct", "collect_list": "collect_set"}.get(function, function)
        if function not in _DISTINCT | _DISTINCT_IS_NOTHING | {"count_distinct"}:
            raise refuse(BAD_ARGUMENTS, f"`{name}` takes no DISTINCT.")
    least, most = _size(name, function)
    if len(args) < least or (most is not None and len(args) > most):
        takes = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
        raise refuse(BAD_ARGUMENTS, f"`{name}` takes {takes} argument{'s' if most != 1 else ''}, not {len(args)}.")
    value, more = _arguments(name, function, list(args))
    return Settled(function, value, result_type(function, value), more, distinct and function in _DISTINCT)


def _size(name: str, function: str) -> tuple[int, int | None]:
    if name == "approx_count_distinct":
        return 1, 2
    if function in ("count", "count_distinct"):
        return 1, None
    if name in ("percentile_approx", "approx_percentile"):
        return 2, 3
    if function in _PAIRS or (function in ("percentile", "percentile_disc") and name != "median"):
        return 2, 2
    return (1, 2) if function == "string_agg" else (1, 1)


def _arguments(name: str, function: str, args: list[Expression]) -> tuple[Expression, tuple[Expression, ...]]:
    build: Callable[[str, list[Expression]], tuple[Expression, tuple[Expression, ...]]] | None = _BUILDERS.get(function)
    if build is not None:
        return build(name, args)
    if function in _DOUBLES:
        values = [convert(number(value, name), DOUBLE) for value in args]
        return values[0], tuple(values[1:])
    return _sortable(args[0], name), tuple(_sortable(value, name) for value in args[1:])


def _sortable(value: Expression, name: str) -> Expression:
    if not _is_sortable(value.type, name in ("collect_list", "collect_set", "array_agg")):
        raise refuse(
            BAD_TYPES, f"`{name}` cannot compare values of type {value.type}.", "use to_json(x), or a field of it"
        )
    return convert(value, STRING) if value.type.kind == "null" else value


def _is_sortable(type_: Type, structs: bool) -> bool:
    if type_.kind == "struct":
        return structs and all(_is_sortable(field, structs) for _, field in type_.fields)
    return not type_.is_nested


def _counted(name: str, args: list[Expression]) -> tuple[Expression, tuple[Expression, ...]]:
    if name == "approx_count_distinct":
        return args[0], ()
    if len(args) == 1:
        return args[0], ()
    there = call("not", call("is_null", args[0]))
    for value in args[1:]:
        there = call("and", there, call("not", call("is_null", value)))
    return call("case", there, Literal(1, INT), Literal(None, INT), type=INT), ()


def _condition(name: str, args: list[Expression]) -> tuple[Expression, tuple[Expression, ...]]:
    (value,) = args
    if value.type.kind == "null":
        return Literal(None, BOOLEAN), ()
    if value.type.kind != "boolean":
        raise refuse(
            BAD_TYPES, f"{name} must be given a condition, not {value.type}.", "compare it: x = …, x IS NOT NULL"
        )
    return value, ()


def _whole(name: str, args: list[Expression]) -> tuple[Expression, tuple[Expression, ...]]:
    (value,) = args
    if value.type.kind == "null":
        return Literal(None, BIGINT), ()
    if not value.type.is_integer:
        raise refuse(BAD_TYPES, f"`{name}` needs whole numbers, not {value.type}.", "cast it: CAST(x AS BIGINT)")
    return value, ()


def _percentile(name: str, args: list[Expression]) -> tuple[Expression, tuple[Expression, ...]]:
    value = args[0]
    if AGGREGATES[name] == "percentile":
        value = convert(number(value, name), DOUBLE)
    if name == "median":
        return value, (Literal(0.5, DOUBLE),)
    share = constant(args[1], f"the share of `{name}`")
    if not isinstance(share, int | float | Decimal) or isinstance(share, bool) or not 0 <= share <= 1:
        raise refuse(BAD_ARGUMENTS, f"The share of `{name}` must be a number from 0 to 1.", "write percentile(x, 0.5)")
    return _sortable(value, name), (Literal(float(share), DOUBLE),)


def _joined(name: str, args: list[Expression]) -> tuple[Expression, tuple[Expression, ...]]:
    if args[0].type.is_nested:
        raise refuse(BAD_TYPES, f"`{name}` needs texts, not {args[0].type}.")
    separator = constant_text(args[1], f"the separator of `{name}`") if len(args) > 1 else Literal("", STRING)
    return text(args[0]), (separator,)


_BUILDERS: dict[str, Callable[[str, list[Expression]], tuple[Expression, tuple[Expression, ...]]]] = {
    "count": _counted,
    "count_distinct": lambda name, args: (args[0], () if name == "approx_count_distinct" else tuple(args[1:])),
    "count_if": _condition,
    "any_true": _condition,
    "every_true": _condition,
    "sum": lambda name, args: (number(args[0], name), ()),
    "avg": lambda name, args: (number(args[0], name), ()),
    "bits_and": _whole,
    "bits_or": _whole,
    "bits_xor": _whole,
    "percentile": _percentile,
    "percentile_disc": _percentile,
    "string_agg": _joined,
}


def result_type(function: str, value: Expression | None) -> Type:
    """The type an aggregate yields over a value."""
    if function in ("count_all", "count", "count_distinct", "count_if"):
        return BIGINT
    assert value is not None
    if function in _DOUBLES or function == "avg":
        return DOUBLE
    if function in ("any_true", "every_true"):
        return BOOLEAN
    if function == "string_agg":
        return STRING
    if function in ("collect_list", "collect_set"):
        return array(value.type)
    if function == "sum":
        if value.type.is_integer:
            return BIGINT
        return decimal(38, value.type.scale) if value.type.kind == "decimal" else DOUBLE
    return value.type
