"""What other grammars mean by the same words: said in our words, or refused by name; never half of it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lakelogic.sql.problems import NOT_YET, Problem, SqlProblems

# Grammars in which Sunday is day 0 and Saturday day 6; elsewhere it is 1 to 7, as in Spark, or a setting says so.
_SUNDAY_IS_0 = frozenset({"duckdb", "postgres", "redshift", "materialize", "risingwave"})
_SUNDAY_IS_1 = frozenset({"mysql", "bigquery", "doris", "starrocks", "singlestore"})
_DAY_WORDS = frozenset({"dow", "dayofweek", "weekday", "dw"})
_EXACT = (exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE, exp.DataType.Type.DECIMAL)


def in_our_words(tree: exp.Expr, dialect: str) -> exp.Expr:
    """A tree of another grammar, whose functions mean the same once they are written in Spark's; or all refusals."""
    problems: list[Problem] = []

    def changed(node: exp.Expr) -> exp.Expr:
        act = _ACTS.get(type(node))
        result = act(node, dialect) if act is not None else node
        if isinstance(result, Problem):
            problems.append(result)
            return node
        return result

    rewritten = tree.transform(changed)
    if problems:
        raise SqlProblems(list(dict.fromkeys(problems)))
    return rewritten


def _differs(what: str, dialect: str, there: str, hint: str) -> Problem:
    return Problem(NOT_YET, f"{what} means something else in {dialect}: {there}.", hint)


def _log(node: exp.Expr, _dialect: str) -> exp.Expr | Problem:
    """`log(x)` that is not the natural logarithm is the one to base 10."""
    if node.args.get("expression") is not None:
        return node
    return exp.Anonymous(this="LOG10", expressions=[node.this])


def _div(node: exp.Expr, dialect: str) -> exp.Expr | Problem:
    if not node.args.get("typed") or any(_is_fraction(part) for part in (node.this, node.expression)):
        return node
    hint = "write a DIV b for whole numbers, or CAST(a AS DOUBLE) / b"
    return _differs("`/`", dialect, "of two whole numbers it makes a whole number", hint)


def _is_fraction(part: exp.Expr) -> bool:
    """Whether an operand is decidedly no whole number."""
    part = part.unnest()
    if isinstance(part, exp.Cast):
        return part.to.this in _EXACT
    return isinstance(part, exp.Literal) and not part.is_string and not str(part.this).isdigit()


def _day_of_week(node: exp.Expr, dialect: str) -> exp.Expr | Problem:
    plain = exp.Anonymous(this="DAYOFWEEK", expressions=[node.this.copy()])
    return _day(plain, "`dayofweek`", dialect)


def _extract(node: exp.Expr, dialect: str) -> exp.Expr | Problem:
    if node.this.name.lower() not in _DAY_WORDS:
        return node
    plain = exp.Anonymous(this="DAYOFWEEK", expressions=[node.expression.copy()])
    return _day(plain, f"`extract({node.this.name.lower()} …)`", dialect)


def _day(plain: exp.Expr, what: str, dialect: str) -> exp.Expr | Problem:
    if dialect in _SUNDAY_IS_1:
        return plain
    if dialect in _SUNDAY_IS_0:
        return exp.Paren(this=exp.Sub(this=plain, expression=exp.Literal.number(1)))
    return _differs(what, dialect, "the first day of a week is another one, or a setting", _WEEK)


_WEEK = "leave the dialect out and write dayofweek(x), 1 for Sunday, or weekday(x), 0 for Monday"


def _anonymous(node: exp.Expr, dialect: str) -> exp.Expr | Problem:
    if str(node.this).lower() != "weekday" or dialect in _SUNDAY_IS_1:
        return node
    return _differs("`weekday`", dialect, "Monday is another number", _WEEK)


def _length(node: exp.Expr, dialect: str) -> exp.Expr | Problem:
    if not node.args.get("binary"):
        return node
    return _differs("`length`", dialect, "it counts bytes", "write char_length(s), or octet_length(s) for bytes")


def _extreme(node: exp.Expr, dialect: str) -> exp.Expr | Problem:
    if node.args.get("ignore_nulls") is not False:
        return node
    hint = "leave the dialect out: here NULLs are passed over"
    return _differs(f"`{node.key}`", dialect, "it is NULL where one of the values is", hint)


def _joined(node: exp.Expr, dialect: str) -> exp.Expr | Problem:
    if dialect != "oracle":
        return node
    return _differs("`||`", dialect, "NULL is an empty text", "leave the dialect out and write concat_ws('', a, b)")


_ACTS: dict[type, Callable[[exp.Expr, str], exp.Expr | Problem]] = {
    exp.Log: _log,
    exp.Div: _div,
    exp.DayOfWeek: _day_of_week,
    exp.Extract: _extract,
    exp.Anonymous: _anonymous,
    exp.Length: _length,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.DPipe: _joined,
}
