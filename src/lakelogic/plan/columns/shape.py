"""From landed columns to the model: names, missing and unknown columns, declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.contract.fields import Field
from lakelogic.contract.source import Options
from lakelogic.plan.codes import BAD_TYPE, RESERVED
from lakelogic.plan.columns import written
from lakelogic.plan.columns.stamps import stamp_names
from lakelogic.plan.columns.taints import Taint
from lakelogic.plan.nodes import Landed, Mask
from lakelogic.plan.predicates import either, present
from lakelogic.plan.state import Flag, State, Trouble
from lakelogic.sql.arguments import castable, read
from lakelogic.sql.casts import cast_computed
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, Literal, call, convert, text
from lakelogic.sql.problems import BAD_TYPES, NO_COLUMN, SqlProblems
from lakelogic.sql.types import STRING, TYPE_NAMES, Type, parse_type

_RESERVED = names.RESERVED


def declared_types(contract: Contract, trouble: Trouble) -> dict[str, Type]:
    """The type of every field, or diagnostics."""
    types: dict[str, Type] = {}
    # Bronze as landed: whatever the model says, every column is text.
    as_text = contract.server is not None and contract.server.cast_to_string
    for index, field in enumerate(contract.model.fields if contract.model else ()):
        path = f"model.fields[{index}]"
        try:
            type_ = parse_type(field.type)
        except ValueError as error:
            from lakelogic.sql.problems import nearest

            hint = (
                nearest(field.type, list(TYPE_NAMES)) or "string, int, bigint, double, decimal(p,s), date, timestamp, …"
            )
            trouble.add(BAD_TYPE, f"{error}.", f"{path}.type", hint)
            type_ = STRING
        types[field.name] = type_
    written.check(contract, types, trouble)
    return dict.fromkeys(types, STRING) if as_text else types


def land(state: State, contract: Contract, landed: Sequence[Landed], *, mark: str | None = None) -> tuple[str, ...]:
    """Put the landed columns in scope under the model's spelling; returns the unknown ones, as landed.

    Stamps of the run that wrote an upstream table are not columns of this dataset: they stay out, unless
    `lineage.preserve_upstream` names them; then they are kept under a prefix. `mark` is the column that marks deleted
    rows, where the contract wants them.
    """
    model = {field.name.lower(): field for field in (contract.model.fields if contract.model else ())}
    lineage = contract.lineage
    preserved = {name.lower(): name for name in lineage.preserve_upstream}
    stamped = {name.lower() for name in stamp_names(contract)}
    as_text = contract.server is not None and contract.server.cast_to_string
    unknown: list[str] = []
    state.masked = {
        key: Mask(field.name, field.masking, field.masking_format) for key, field in model.items() if field.masking
    }
    state.used |= {name.lower() for name in (names.FILE, names.NUMBER, names.TEXT, names.BROKEN, names.SIDE)}
    state.used |= {column.name.lower() for column in landed}
    state.landed = frozenset(column.name for column in landed)
    # What a source says of its changes is known, whether the model has it or not.
    named = {n.lower() for n in (contract.source.cdc_op_field, contract.source.cdc_timestamp_field) if n}
    for column in landed:
        if column.name.startswith(names.INTERNAL) or column.name.lower() in _RESERVED or not column.name.strip():
            reason = "has a name that LakeLogic needs for itself" if column.name.strip() else "has no name"
            message = f"The landed column `{column.name}` {reason}."
            state.trouble.add(RESERVED, message, "source", "rename it where it is written")
            continue
        field = model.get(column.name.lower())
        value: Expression = Column(column.name, column.type)
        if column.name.lower() in preserved:
            _preserve(state, contract, column, stamped)
        if field is None and (column.name.lower() in preserved or column.name.lower() in stamped):
            continue
        if field is None and column.name.startswith("_lakelogic_") and column.name != mark:
            continue
        if field is None:
            if model and column.name != mark and column.name.lower() not in named:
                unknown.append(column.name)
        elif field.masking:
            state.taints[column.name] = Taint(state.masked[field.name.lower()])
        name = field.name if field else column.name
        if as_text and not column.type.is_text:
            state.derive("cast", {name: convert(value, STRING)}, (f"{name}: string",))
        else:
            state.scope[name] = value
    there = {column.name.lower() for column in landed}
    for index, name in enumerate(lineage.preserve_upstream):
        if name.lower() not in there and state.trouble.landed_is_known:
            message = f"`{name}` did not land, so there is nothing to preserve."
            state.trouble.add(NO_COLUMN, message, f"lineage.preserve_upstream[{index}]", warning=True)
    return tuple(unknown)


def _preserve(state: State, contract: Contract, column: Landed, stamped: set[str]) -> None:
    between = "" if column.name.startswith("_") else "_"
    kept = f"{contract.lineage.upstream_prefix}{between}{column.name}"
    if kept.lower() in stamped or state.spelled(kept) is not None:
        message = f"`{column.name}` would be preserved as `{kept}`, which is taken."
        state.trouble.add(RESERVED, message, "lineage.upstream_prefix", "choose another prefix")
        return
    state.scope[kept] = Column(column.name, column.type)
    state.preserved = (*state.preserved, kept)


def reserved_names(contract: Contract, trouble: Trouble) -> frozenset[str]:
    """The names (in lower case) that no field and no step may use, for a run makes these columns itself."""
    reserved = names.JUDGEMENTS | {name.lower() for name in stamp_names(contract)}
    for index, field in enumerate(contract.model.fields):
        if field.name.lower() in reserved or field.name.startswith(names.INTERNAL):
            message = f"The field `{field.name}` has a name that LakeLogic needs for itself."
            hint = "choose another name; an upstream stamp is kept by lineage.preserve_upstream"
            trouble.add(RESERVED, message, f"model.fields[{index}].name", hint)
    return reserved


def conform(
    state: State,
    fields: Sequence[Field],
    types: dict[str, Type],
    *,
    missing: frozenset[str],
    defaults: Mapping[str, Expression] | None = None,
    options: Options | None = None,
    places: Mapping[str, int] | None = None,
) -> tuple[dict[str, Expression], list[Flag], list[tuple[Expression, str, Expression]]]:
    """Give each field its declared type, and its default where it has no value.

    `options` say how the source writes values, where these are still as they landed; `places` where each field stands
    in the model.

    Returns for each field the condition under which its cast failed, the flags for that, and the original
    texts as (condition, field, text).
    """
    failed: dict[str, Expression] = {}
    flags: list[Flag] = []
    originals: list[tuple[Expression, str, Expression]] = []
    changed: dict[str, Expression] = {}
    filled: dict[str, Expression] = {}
    for field in fields:
        type_ = types[field.name]
        value = state.scope.get(field.name)
        if value is None:
            if field.name in missing:
                changed[field.name] = (defaults or {}).get(field.name, Literal(None, type_))
            continue
        default = (defaults or {}).get(field.name)
        if value.type == type_:
            if default is not None:
                filled[field.name] = Call("coalesce", (value, convert(default, value.type)), value.type)
            continue
        try:
            if options is not None and _as_it_landed(state, value):
                shown = written.value_of(value, field.name, type_, options)
                converted = read(shown, type_, json=not state.has_header)
            else:
                shown = value if options is None else written.value_of(value, field.name, type_, options)
                converted = cast_computed(shown, type_)
        except SqlProblems as trouble:
            if castable(value.type, type_):
                state.trouble.sql(trouble.problems, "model.fields")
                continue
            message = f"`{field.name}` is {value.type} here, and {value.type} cannot be cast to {type_}."
            hint = f"declare it as {value.type}, and make a {type_} of it by a step"
            path = f"model.fields[{places[field.name]}].type" if places else "model.fields"
            state.trouble.add(BAD_TYPES, message, path, hint)
            continue
        if default is not None:
            converted = Call("case", (call("is_null", value), default, converted), type_)
        changed[field.name] = converted
    before = dict(state.scope)
    details = tuple(f"{name}: {types[name]}" for name in changed if name not in missing)
    state.derive("cast", changed | filled, details)
    for name in changed | filled:
        # The field itself in its own type, not something made of it.
        column = state.scope[name]
        if name.lower() in state.masked and isinstance(column, Column) and column != before.get(name):
            state.taints[column.name] = Taint(state.masked[name.lower()])
    for name in changed | filled:
        column, old = state.scope[name], before.get(name)
        if not isinstance(column, Column):
            continue
        if isinstance(old, Column) and old.name in state.absent:
            state.absent[column.name] = state.absent[old.name]
        elif name in missing and state.has_header and not any(f.generated for f in fields if f.name == name):
            state.absent[column.name] = TRUE
    for name in changed:
        if name in missing:
            continue
        condition = call("and", present(before[name]), call("is_null", state.scope[name]))
        failed[name] = condition
        declared = next(field.type for field in fields if field.name == name)
        flags.append(Flag(condition, f"Type mismatch: {name} cannot be cast to {declared}", "schema", f"{name}_type"))
        old = before[name]
        hidden = state.taint(old) is not None
        shown = text("***") if hidden else legible(old)
        originals.append((condition, name, shown))
    return failed, flags, originals


def _as_it_landed(state: State, value: Expression) -> bool:
    """Whether a value still is what the source has: then it is read exactly, and nothing is rounded."""
    return isinstance(value, Column) and value.name in state.landed


def legible(value: Expression) -> Expression:
    """A value as the text that people find in quarantine; bytes that are no text as `0x` and hex digits."""
    shown = convert(value, STRING)
    if value.type.kind != "binary":
        return shown
    digits = Call("concat", (text("0x"), Call("hex", (value,), STRING)), STRING)
    return Call("coalesce", (shown, digits), STRING)


def unknown_flag(landed: Sequence[str], state: State) -> Flag:
    """The row carries values in columns that the model does not know."""
    columns = [state.scope[name] for name in landed if name in state.scope]
    has_values = either([present(column) for column in columns])
    return Flag(has_values, f"Unknown fields present: {', '.join(sorted(landed))}", "schema", "unknown_fields")


def missing_flag(missing: Sequence[str]) -> Flag:
    """Declared fields did not land at all: every row is bad."""
    return Flag(TRUE, f"Missing fields: {', '.join(missing)}", "schema", "missing_fields")
