"""Fields that the model fills itself: a default where nothing landed, an expression that computes the field."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal, InvalidOperation

from lakelogic.contract.document import Contract
from lakelogic.contract.fields import Field
from lakelogic.plan.binding import bind_text
from lakelogic.plan.predicates import both, present
from lakelogic.plan.rules import rows as judge
from lakelogic.plan.rules.constants import constant, refuse_impossible
from lakelogic.plan.state import Flag, State, Trouble
from lakelogic.sql.arguments import cast
from lakelogic.sql.expressions import Expression, call, columns_of, convert
from lakelogic.sql.problems import BAD_TYPES, NO_COLUMN, SqlProblems
from lakelogic.sql.types import Type


def default_of(state: State, declared: Field, type_: Type, path: str) -> Expression | None:
    """The default as a value of the field's type, or a diagnostic; None where the field has none."""
    if declared.default is None:
        return None
    value = constant(declared.default)
    try:
        refuse_impossible(type_, value)
        if type_.is_integer and Decimal(str(declared.default)) != int(Decimal(str(declared.default))):
            raise InvalidOperation
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, path)
        return None
    except (InvalidOperation, ValueError):
        state.trouble.add(BAD_TYPES, f"The default `{declared.default}` is no {type_}.", path)
        return None
    return convert(value, type_)


def is_ready(state: State, declared: Field, contract: Contract, landed: Collection[str]) -> bool:
    """Whether a generated field can be computed from the columns that are there; other fields are always ready."""
    if declared.generated is None:
        return True
    before = Trouble(state.trouble.where)
    probe = State(state.dataset, state.now, before, state.subquery, state.dialect, state.strategy)
    probe.scope = {**{f.name: constant(None) for f in contract.model.fields if not f.generated}, **state.scope}
    probe.scope |= {f.name: constant(None) for f in contract.model.fields if f.generated}
    bind_text(probe, declared.generated, "")
    missing = any(diagnostic.code == NO_COLUMN for diagnostic in before.found)
    return not missing or not landed


def compute(
    state: State,
    contract: Contract,
    fields: Sequence[Field],
    types: dict[str, Type],
    silence: judge.Silence,
    *,
    landed: Collection[str],
    only_if: Collection[str] | None = None,
) -> list[Flag]:
    """Compute generated fields, in the order of the model.

    A value that landed is neither trusted nor overwritten in silence: where it differs from the computed one the
    row is bad. With `only_if`, a field is computed again only where it reads one of these columns.
    """
    flags: list[Flag] = []
    touched = {name.lower() for name in only_if or ()}
    for declared in fields:
        if declared.generated is None:
            continue
        position = next(i for i, f in enumerate(contract.model.fields) if f.name == declared.name)
        path = f"model.fields[{position}].generated"
        value = bind_text(state, declared.generated, path)
        if value is None:
            continue
        if only_if is not None and declared.name in state.scope and not _reads(state, value, touched):
            continue
        try:
            value = cast(value, types[declared.name])
        except SqlProblems as trouble:
            state.trouble.sql(trouble.problems, path)
            continue
        old = state.scope.get(declared.name) if declared.name.lower() in landed else None
        shown = " ".join(declared.generated.split())
        state.derive("derive", {declared.name: value}, (f"{declared.name} = {shown}",))
        state.cover()
        touched.add(declared.name.lower())
        if old is not None:
            computed = state.scope[declared.name]
            failed = both(present(old), call("not", call("same", old, computed)))
            name = f"{declared.name}_generated"
            text = f"Rule failed: {name} ({declared.name} = {shown})"
            flags.append(Flag(silence.quiet(failed, columns_of(old)), text, "consistency", name))
    return flags


def _reads(state: State, value: Expression, touched: Collection[str]) -> bool:
    read = columns_of(value)
    return any(columns_of(column) & read for name, column in state.scope.items() if name.lower() in touched)
