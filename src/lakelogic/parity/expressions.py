"""Made-up expressions: of a wanted type, over given columns, out of every form that the catalogue has."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakelogic.parity.canonical import plain
from lakelogic.parity.shapes import SCALARS, ExpressionShape, aggregate_shapes, by_function, by_name, nested_types
from lakelogic.parity.values import value
from lakelogic.sql.bind import Binder, bind
from lakelogic.sql.parse import parse_expression
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.scope import scope_of
from lakelogic.sql.types import BOOLEAN, Type

Scope = Mapping[str, Type]
_TRIES = 12

# Functions that the campaign leaves out, with the reason; an entry is a promise to mend or to refuse the function.
LEFT_OUT: dict[str, str] = {}


def quoted(name: str) -> str:
    """A column as it is written in contract SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(type_: Type, chance: random.Random) -> str:
    """A constant of a type, as people write it."""
    item = value(type_, chance, nulls=0.08)
    if item is None:
        return f"CAST(NULL AS {type_})"
    if type_.is_nested or type_.kind == "binary":
        return f"CAST(NULL AS {type_})" if type_.kind != "binary" else "CAST('a' AS BINARY)"
    shown = plain(item)
    if type_.kind == "boolean":
        return str(item).upper()
    if type_.kind == "string":
        return "'" + str(item).replace("\\", "\\\\").replace("'", "''") + "'"
    if type_.kind in ("int", "bigint") or (type_.kind == "decimal" and type_.scale and chance.random() < 0.5):
        return str(shown)
    return f"CAST('{shown}' AS {type_})"


@dataclass(slots=True)
class Author:
    """Writes expressions; the same chance gives the same text."""

    chance: random.Random
    used: list[str] = field(default_factory=list)

    def pick_type(self, scope: Scope, *, nested: float = 0.1) -> Type:
        """A type: mostly one that some column has."""
        draw = self.chance.random()
        if draw < 0.5 and scope:
            return self.chance.choice(list(scope.values()))
        if draw > 1 - nested:
            return self.chance.choice(nested_types())
        return self.chance.choice(SCALARS)

    def typed(self, wanted: Type, scope: Scope, depth: int) -> str:
        """An expression of (about) this type."""
        columns = [name for name, type_ in scope.items() if type_ == wanted]
        draw = self.chance.random()
        if depth <= 0 or draw < 0.25:
            return self._leaf(wanted, columns)
        forms = by_function().get(str(wanted))
        if not forms:
            return self._leaf(wanted, columns)
        name = self.chance.choice(list(forms))
        if name in LEFT_OUT:
            return self._leaf(wanted, columns)
        return self.fill(self.chance.choice(forms[name]), scope, depth - 1)

    def any_form(self, scope: Scope, depth: int) -> str:
        """A form of the catalogue, every name as likely as any other."""
        forms = by_name()
        name = self.chance.choice([name for name in forms if name not in LEFT_OUT])
        return self.fill(self.chance.choice(forms[name]), scope, depth - 1)

    def fill(self, shape: ExpressionShape, scope: Scope, depth: int) -> str:
        """A shape with expressions in its places."""
        self.used.append(shape.name)
        texts = [self.typed(place, scope, depth) for place in shape.places]
        return shape.filled([_safe(text) for text in texts])

    def _leaf(self, wanted: Type, columns: Sequence[str]) -> str:
        if columns and self.chance.random() < 0.85:
            return quoted(self.chance.choice(columns))
        return literal(wanted, self.chance)

    def bound(self, wanted: Type | None, scope: Scope, depth: int) -> tuple[str, Type] | None:
        """An expression that binds, with its type; None after too many tries."""
        for _ in range(_TRIES):
            if wanted is None and self.chance.random() < 0.6:
                text = self.any_form(scope, depth)
            else:
                text = self.typed(wanted or self.pick_type(scope), scope, depth)
            try:
                type_ = bind(text, scope).type
            except SqlProblems:
                continue
            if type_.kind == "null" or (wanted is not None and type_ != wanted and wanted.kind == "boolean"):
                continue
            return text, type_
        return None

    def condition(self, scope: Scope, depth: int) -> str:
        """A predicate."""
        bound = self.bound(BOOLEAN, scope, depth)
        return bound[0] if bound else f"{quoted(next(iter(scope)))} IS NOT NULL"

    def aggregate(self, scope: Scope, depth: int) -> tuple[str, Type] | None:
        """An aggregate that binds, with its type."""
        forms = aggregate_shapes()
        for _ in range(_TRIES):
            name = self.chance.choice(list(forms))
            if name in LEFT_OUT:
                continue
            text = self.fill(self.chance.choice(forms[name]), scope, depth)
            try:
                return text, Binder(scope_of(scope), []).bind(parse_expression(text)).type
            except SqlProblems:
                continue
        return None


def _safe(text: str) -> str:
    """Brackets around anything that is not plainly one thing."""
    plainly = text.startswith(("`", "'", "CAST(")) and " " not in text
    return text if plainly or text.isdigit() else f"({text})"
