"""Rows that become several: each once more for every element of an array or entry of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakelogic.plan.nodes import Expand
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call
from lakelogic.sql.nested import field
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.types import INT


@dataclass(frozen=True, slots=True)
class Expanded:
    """The new columns: where an element stood (NULL when there was none), the element, a map's key."""

    position: Column
    item: Column
    key: Column | None

    def fields(self, names: Sequence[str]) -> dict[str, Expression]:
        """The fields of an element that is a struct."""
        if self.item.type.kind != "struct":
            raise refuse(BAD_TYPES, f"inline needs an array of structs, not of {self.item.type}.", "use explode")
        fields = self.item.type.fields
        if names and len(names) != len(fields):
            raise refuse(BAD_ARGUMENTS, f"The struct has {len(fields)} fields; {len(names)} are named.")
        return {
            name: field(self.item, own)
            for name, (own, _) in zip(names or [own for own, _ in fields], fields, strict=True)
        }


def expand(state: State, value: Expression, step: str, *, outer: bool) -> Expanded:
    """Repeat each row that is alive for every element; without any it stays once (`outer`) or is filtered."""
    kind = value.type.kind
    if kind not in ("array", "map") or value.type.element is None:
        raise refuse(
            BAD_TYPES, f"Only an array or a map can be exploded, not {value.type}.", "use split() or from_json()"
        )
    position = Column(state.fresh("~position"), INT)
    item = Column(state.fresh("~item"), value.type.element)
    key = Column(state.fresh("~key"), value.type.key) if value.type.key is not None else None
    taint = state.taint(value)
    state.inherit(item.name, value, copied=taint is not None and taint.fields is not None)
    if key is not None:
        state.inherit(key.name, value, copied=False)
    name = key.name if key is not None else None
    state.nodes.append(Expand("explode", state.alive, value, position.name, item.name, name, (step,)))
    further = call("gt", Call("coalesce", (position, Literal(0, INT)), INT), Literal(0, INT))
    state.multiply(step, further)
    if not outer:
        state.lose("filtered", step, call("is_null", position), ("nothing to explode",))
    return Expanded(position, item, key)
