"""How deep SQL may be nested, and long chains (`a OR b OR c …`) without any depth."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from lakelogic.sql.expressions import Expression, call
from lakelogic.sql.problems import NOT_YET, Problem, SqlProblems

# Every engine and every walk over expressions can go this deep, and some levels more that functions add.
MOST = 150
_FRAMES = 20_000  # of the parser, which needs about twenty for a bracket
_CHAINS = (exp.And, exp.Or, exp.DPipe)
_FREE = (exp.Paren, exp.Alias)


def too_deep() -> SqlProblems:
    """The problem to raise."""
    hint = "compute a part of it in a step before, or write a list: x IN (…), coalesce(a, b, …), CASE WHEN … WHEN …"
    return SqlProblems([Problem(NOT_YET, f"The SQL is nested deeper than {MOST} levels.", hint)])


@contextmanager
def room() -> Iterator[None]:
    """Let the parser go deeper than Python's usual bound; what is too deep even so is a problem with words."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    except RecursionError:
        raise too_deep() from None
    finally:
        sys.setrecursionlimit(before)


def refuse_too_deep(tree: exp.Expression) -> None:
    """A chain of AND, OR or || is one level however long it is; brackets are none."""
    level: list[tuple[exp.Expression, int]] = [(tree, 0)]
    while level:
        node, depth = level.pop()
        if depth > MOST:
            raise too_deep()
        for child in node.iter_expressions():
            is_free = isinstance(child, _FREE) or (isinstance(child, _CHAINS) and type(child) is type(node))
            level.append((child, depth if is_free else depth + 1))


def chain(tree: exp.Expression) -> list[exp.Expression]:
    """The parts of a chain of one operator, in order."""
    kind, parts, left = type(tree), [], [tree]
    while left:
        node = left.pop()
        if type(node) is kind:
            left += [node.expression, node.this]
        else:
            parts.append(node)
    return parts


def balanced(function: str, parts: Sequence[Expression]) -> Expression:
    """`and` or `or` over parts, halved again and again: a thousand parts are ten levels deep."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return call(function, balanced(function, parts[:half]), balanced(function, parts[half:]))
