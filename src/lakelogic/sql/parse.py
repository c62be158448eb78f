"""Contract SQL text → syntax tree: one read-only statement, in Spark's grammar or one that is named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, cast

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from lakelogic.sql.depth import refuse_too_deep, room
from lakelogic.sql.dialects import in_our_words
from lakelogic.sql.problems import FORBIDDEN, NOT_YET, UNREADABLE, Problem, SqlProblems


class ContractSQL(Spark):
    """Spark's grammar, with every function left as written: the catalogue decides what a name means."""

    NULL_ORDERING = "nulls_are_last"  # in both directions, unless NULLS FIRST is written

    class Tokenizer(Spark.Tokenizer):
        """Spark 4 reads `'it''s'` as one text with a quote in it."""

        STRING_ESCAPES = ["'", "\\"]  # noqa: RUF012

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]
        """No function is rewritten while parsing."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        # Otherwise `array(a, b)[0]` would be read as the array of 0.
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser
            for name, parser in Spark.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "OVERLAY", "SUBSTRING")
        }


_READ_ONLY = (exp.Select, exp.SetOperation, exp.Subquery)


def dialects() -> list[str]:
    """The grammars that contract SQL can be written in."""
    return sorted(name for name in sqlglot.Dialect.classes if name and name != "contractsql")


def _null_last(dialect: str) -> sqlglot.Dialect:
    """A grammar in which NULLs come last in both directions unless something else is written: the order is ours."""
    reader = sqlglot.Dialect.get_or_raise(dialect)
    reader.NULL_ORDERING = "nulls_are_last"
    return reader


def _read(text: str, dialect: str) -> exp.Expression:
    """The tree of one statement; a copy, because whoever binds it may change it."""
    return _parsed(text, dialect).copy()


# A rule is read twice to find its phase, and the same rules stand in many contracts; copying a tree costs a tenth.
@lru_cache(maxsize=2048)
def _parsed(text: str, dialect: str) -> exp.Expression:
    if not text.strip():
        raise SqlProblems([Problem(UNREADABLE, "The SQL is empty.", "write an expression, or remove the entry")])
    try:
        if dialect not in ("spark", "spark2", "databricks"):
            # Written in another grammar: say the same in Spark's, then read that.
            with room():
                foreign = [tree for tree in sqlglot.parse(text, read=_null_last(dialect)) if tree is not None]
                _refuse_several(foreign)
                refuse_too_deep(cast(exp.Expression, foreign[0]))
                _refuse_dropped(cast(exp.Expression, foreign[0]))
                text = in_our_words(foreign[0], dialect).sql(dialect=_null_last("spark"))
        with room():
            trees = [tree for tree in sqlglot.parse(text, dialect=ContractSQL) if tree is not None]
    except SqlglotError as error:
        raise SqlProblems([_unreadable(error)]) from error
    except ValueError as error:
        raise SqlProblems([Problem(UNREADABLE, f"The SQL cannot be read: {error}.")]) from error
    _refuse_several(trees)
    refuse_too_deep(cast(exp.Expression, trees[0]))
    _refuse_dropped(cast(exp.Expression, trees[0]))
    return cast(exp.Expression, trees[0])


def _refuse_several(trees: Sequence[object]) -> None:
    if len(trees) != 1:
        raise SqlProblems([Problem(FORBIDDEN, "There is more than one statement.", "write one; remove the `;`")])


def _unreadable(error: SqlglotError) -> Problem:
    errors = getattr(error, "errors", None)
    if not errors:
        why = str(error).splitlines()[0]
        if why.startswith("Error tokenizing"):  # what a reader of words stumbles over is a quote without an end
            return Problem(UNREADABLE, "A quote is opened and never closed.", "close it: 'text', or `name`")
        return Problem(UNREADABLE, f"The SQL cannot be read: {why}.")
    first = errors[0]
    near = (str(first.get("start_context", ""))[-20:] + str(first.get("highlight", ""))).strip().splitlines()
    place = f" near `{near[-1].strip()}`" if near else ""
    why = str(first.get("description") or "syntax error").rstrip(".").lower()
    if "<class" in why:  # sqlglot names its own classes here
        why = "something is missing"
    return Problem(
        UNREADABLE,
        f"The SQL cannot be read{place}: {why}.",
        "check brackets, quotes and commas there",
        first.get("line"),
    )


def parse_items(text: str, dialect: str = "spark") -> list[exp.Expression]:
    """A list of expressions, `expr [AS name], …`, as they would stand after SELECT."""
    tree = _read(f"SELECT {text}" if text.strip() else "", dialect)
    if not isinstance(tree, exp.Select) or set(_clauses(tree)) - {"expressions"}:
        raise SqlProblems(
            [
                Problem(
                    UNREADABLE, "Here only expressions can stand.", "write `expr AS column`, or a whole SELECT … FROM"
                )
            ]
        )
    return list(tree.expressions)


def parse_expression(text: str, dialect: str = "spark") -> exp.Expression:
    """Exactly one expression, without an alias."""
    items = parse_items(text, dialect)
    if len(items) != 1:
        raise SqlProblems([Problem(UNREADABLE, f"One expression is expected here, not {len(items)}.")])
    if isinstance(items[0], exp.Alias):
        raise SqlProblems([Problem(UNREADABLE, "A name (`AS …`) cannot stand here.", "leave out the AS part")])
    return items[0]


_LEADING = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)


def _first_word(text: str) -> str:
    """The word that a text begins with, after comments; a bracket counts as one."""
    begun = _LEADING.sub("", text, count=1)
    word = re.match(r"\(|\w+", begun)
    return word[0].lower() if word else ""


def is_select(text: str) -> bool:
    """Whether a step's SQL is a whole statement rather than a list of expressions."""
    first = _first_word(text)
    if first != "(":
        return first in _STATEMENTS
    # `(SELECT …) UNION …` is a statement, `(SELECT max(x) FROM t) AS y` and `(a + b) AS c` are expressions.
    try:
        with room():
            tree = sqlglot.parse_one(text, dialect=ContractSQL)
    except (SqlglotError, SqlProblems):
        return False
    return isinstance(tree, exp.SetOperation) or (isinstance(tree, exp.Subquery) and not tree.alias)


_STATEMENTS = {
    "select", "with", "insert", "update", "delete", "merge", "create", "drop", "alter", "truncate",
    "grant", "revoke", "set", "use", "copy", "call", "show", "describe", "explain", "refresh", "from", "values",
}  # fmt: skip


def parse_select(text: str, dialect: str = "spark") -> exp.Query:
    """A whole SELECT; anything that writes, defines or changes is refused."""
    tree = _read(text, dialect)
    if not isinstance(tree, _READ_ONLY):
        kind = _first_word(text).upper() or "This"
        raise SqlProblems([Problem(FORBIDDEN, f"{kind} is not allowed in a contract.", "only SELECT can stand here")])
    return cast(exp.Query, tree)


def _refuse_dropped(tree: exp.Expression) -> None:
    """Clauses that can be parsed and have no meaning here: they are named, never passed over."""
    problems = [
        Problem(NOT_YET, f"{name} is not portable.", hint)
        for kind, name, hint in _NOT_PORTABLE
        if tree.find(kind) is not None
    ]
    problems += [
        Problem(NOT_YET, "EXCLUDE in a window is not portable.", "leave it out")
        for spec in tree.find_all(exp.WindowSpec)
        if spec.args.get("exclude")
    ]
    problems += [
        Problem(NOT_YET, "LIMIT … PERCENT and WITH TIES are not portable.", "write a number of rows")
        for options in tree.find_all(exp.LimitOptions)
        if options.args.get("percent") or options.args.get("with_ties")
    ]
    if problems:
        raise SqlProblems(list(dict.fromkeys(problems)))


_NOT_PORTABLE = (
    (exp.Pivot, "PIVOT and UNPIVOT in a query", "use a pivot or unpivot step"),
    (exp.Version, "VERSION AS OF and TIMESTAMP AS OF", "a run pins its tables itself"),
    (exp.HistoricalData, "AT and BEFORE a version or time", "a run pins its tables itself"),
    (exp.Lock, "FOR UPDATE and FOR SHARE", "leave it out: a run reads pinned tables"),
)


def _clauses(tree: exp.Select) -> list[str]:
    return [name for name, value in tree.args.items() if value]


def clauses(tree: exp.Select) -> set[str]:
    """Which clauses a SELECT has, by sqlglot's names without the trailing underscore."""
    return {name.rstrip("_") for name in _clauses(tree)}


def column_tree(name: str) -> exp.Expression:
    """The tree of a plain column, whatever its name looks like."""
    return cast(exp.Expression, exp.column(exp.to_identifier(name, quoted=True)))
