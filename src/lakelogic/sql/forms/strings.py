"""Special forms of text and numbers: LIKE ANY, TRIM, POSITION, OVERLAY, bits, and their kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sqlglot import exp

from lakelogic.sql.arguments import refuse
from lakelogic.sql.catalogue.matching import like, matches
from lakelogic.sql.catalogue.numbers import bits, int_divide, shift
from lakelogic.sql.catalogue.strings import overlay, position, substring, trim
from lakelogic.sql.expressions import Expression, Literal, call
from lakelogic.sql.problems import BAD_ARGUMENTS, UNREADABLE
from lakelogic.sql.scope import PartBinder
from lakelogic.sql.types import BINARY

Handler = Callable[[PartBinder, exp.Expression], Expression]


def _negated(tree: exp.Expression, value: Expression) -> Expression:
    return call("not", value) if tree.args.get("negate") else value


def _options(tree: exp.Expression) -> list[exp.Expression]:
    inside = tree.this
    if isinstance(inside, exp.Tuple):
        return list(inside.expressions)
    return [inside.this if isinstance(inside, exp.Paren) else inside]


def _matched(
    binder: PartBinder, tree: exp.Expression, compare: Callable[[Expression, exp.Expression], Expression]
) -> Expression:
    """One pattern, or ANY or ALL of several."""
    subject, against = binder.part(tree.this), tree.expression
    if not isinstance(against, exp.Any | exp.All):
        return _negated(tree, compare(subject, against))
    # `x NOT LIKE ALL (a, b)` says that x is like neither: NOT belongs to each pattern, not to all of them together.
    tests = [_negated(tree, compare(subject, option)) for option in _options(against)]
    connect = "or" if isinstance(against, exp.Any) else "and"
    return reduce(lambda left, right: call(connect, left, right), tests)


def _like(binder: PartBinder, tree: exp.Expression, escape: str | None = None) -> Expression:
    name = "ilike" if isinstance(tree, exp.ILike) else "like"
    return _matched(binder, tree, lambda subject, pattern: like(name, subject, binder.part(pattern), escape))


def _escape(binder: PartBinder, tree: exp.Expression) -> Expression:
    return _like(binder, tree.this, tree.expression.name)


def _regexp(binder: PartBinder, tree: exp.Expression) -> Expression:
    return _matched(binder, tree, lambda subject, pattern: matches(subject, binder.part(pattern)))


def _trim(binder: PartBinder, tree: exp.Expression) -> Expression:
    characters = tree.args.get("expression")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(tree.args.get("position") or "").upper(), "trim")
    return trim(name, binder.part(tree.this), binder.part(characters) if characters is not None else None)


def _parts(binder: PartBinder, tree: exp.Expression, *names: str) -> list[Expression]:
    parts = [tree.args.get(name) for name in names]
    return [binder.part(part) for part in parts if part is not None]


def _position(binder: PartBinder, tree: exp.Expression) -> Expression:
    part, subject, *start = _parts(binder, tree, "substr", "this", "position")
    return position(part, subject, *start)


def _substring(binder: PartBinder, tree: exp.Expression) -> Expression:
    if tree.args.get("start") is None:
        raise refuse(BAD_ARGUMENTS, "`substring` takes 2 to 3 arguments, not 1.")
    return substring(_parts(binder, tree, "this", "start", "length"))


def _binary(function: str) -> Handler:
    def build(binder: PartBinder, tree: exp.Expression) -> Expression:
        for side in (tree.this, tree.expression):
            if isinstance(side, exp.BitwiseAnd | exp.BitwiseOr | exp.BitwiseXor) and type(side) is not type(tree):
                # Grammars disagree in which of these binds closer.
                raise refuse(BAD_ARGUMENTS, "Different bit operators stand side by side.", "put brackets: (a & b) | c")
        return bits(function, binder.part(tree.this), binder.part(tree.expression))

    return build


def _shift(function: str) -> Handler:
    return lambda binder, tree: shift(function, binder.part(tree.this), binder.part(tree.expression))


def _bytes(_binder: PartBinder, tree: exp.Expression) -> Expression:
    written = str(tree.this)
    try:
        return Literal(bytes.fromhex(written.zfill(len(written) + len(written) % 2)), BINARY)
    except ValueError:
        raise refuse(UNREADABLE, f"X'{written}' holds something else than hex digits.") from None


FORMS: dict[type[exp.Expression], Handler] = {
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: _regexp,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Overlay: lambda binder, tree: overlay(_parts(binder, tree, "this", "expression", "from_", "for_")),
    exp.Substring: _substring,
    exp.IntDiv: lambda binder, tree: int_divide(binder.part(tree.this), binder.part(tree.expression)),
    exp.BitwiseAnd: _binary("bit_and"),
    exp.BitwiseOr: _binary("bit_or"),
    exp.BitwiseXor: _binary("bit_xor"),
    exp.BitwiseNot: lambda binder, tree: bits("bit_not", binder.part(tree.this)),
    exp.BitwiseLeftShift: _shift("shift_left"),
    exp.BitwiseRightShift: _shift("shift_right"),
    exp.HexString: _bytes,
}
