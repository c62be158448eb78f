"""Steps that make one value of others in the same row: case and blanks, choices, buckets, parts, distances."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lakelogic.plan.codes import BAD_STEP, BAD_TYPE, NOT_YET
from lakelogic.plan.naming import known
from lakelogic.plan.predicates import both, present
from lakelogic.plan.rules.constants import compare, constant, refuse_impossible
from lakelogic.plan.state import Flag, State
from lakelogic.sql.casts import cast_computed
from lakelogic.sql.catalogue.time_calls import units_between
from lakelogic.sql.coerce import in_one_column, unify
from lakelogic.sql.expressions import Call, Expression, call, columns_of, convert, text
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.signatures import SIGNATURES
from lakelogic.sql.types import STRING, parse_type


def text_step(function: Callable[[Any], str]) -> Callable[[State, Any, str], None]:
    """trim, lower, upper: only text has blanks or case, other columns stay as they are."""

    def compiled(state: State, step: Any, path: str) -> None:
        fields = known(state, step.fields, f"{path}.{step.kind}.fields")
        if fields is None:
            return
        name = function(step)
        values: dict[str, Expression] = {
            field: Call(name, (state.scope[field],), STRING) for field in fields if state.scope[field].type.is_text
        }
        state.derive(step.kind, values, tuple(f"{name}({field})" for field in values))

    return compiled


def cast_columns(state: State, types: Mapping[str, str], path: str) -> None:
    """Give columns other types; a value that cannot be cast makes its row bad, and its text is kept."""
    flags: list[Flag] = []
    changed: dict[str, Expression] = {}
    for name, type_text in types.items():
        found = known(state, [name], path)
        if found is None:
            continue
        try:
            changed[found[0]] = cast_computed(state.scope[found[0]], parse_type(type_text))
        except ValueError as error:
            state.trouble.add(BAD_TYPE, f"{error}.", f"{path}.{name}")
        except SqlProblems as trouble:
            state.trouble.sql(trouble.problems, f"{path}.{name}")
    before = dict(state.scope)
    state.derive("cast", changed, tuple(f"{name}: {value.type}" for name, value in changed.items()))
    for name in changed:
        lost = call("and", present(before[name]), call("is_null", state.scope[name]))
        written_type = next(kind for column, kind in types.items() if column.lower() == name.lower())
        flags.append(Flag(lost, f"Type mismatch: {name} cannot be cast to {written_type}", "schema", f"{name}_type"))
        hidden = bool(columns_of(before[name]) & set(state.taints))
        state.originals.append((lost, name, text("***") if hidden else convert(before[name], STRING)))
    if flags:
        state.judge(flags)


def coalesce(state: State, step: Any, path: str) -> None:
    """The first value that is present, then the default."""
    names = [step.field, *step.sources] if state.spelled(step.field) else list(step.sources)
    found = known(state, names, f"{path}.coalesce")
    if not found:
        if found is not None:
            known(state, [step.field], f"{path}.coalesce.field")
        return
    values = [state.scope[name] for name in found]
    if step.default is not None:
        values.append(constant(step.default))
    try:
        unified, type_ = in_one_column(values, "coalesce:")
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.coalesce")
        return
    state.derive("coalesce", {step.output or step.field: Call("coalesce", unified, type_)}, (", ".join(found),))


def map_values(state: State, step: Any, path: str) -> None:
    """Values by others; what is not listed stays, or becomes the default, and so does what is absent."""
    found = known(state, [step.field], f"{path}.map_values.field")
    if found is None:
        return
    value = state.scope[found[0]]
    default = value if "default" not in step.model_fields_set else constant(step.default)
    args: list[Expression] = []
    try:
        results, type_ = in_one_column([*(constant(new) for new in step.mapping.values()), default], "map_values:")
        for old, new in zip(step.mapping, results, strict=False):
            refuse_impossible(value.type, constant(old))
            (left, right), _ = unify((value, constant(old)), "map_values:")
            args += [call("eq", left, right), new]
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.map_values")
        return
    mapped = Call("case", (*args, results[-1]), type_) if args else results[-1]
    detail = tuple(f"{old} → {new}" for old, new in step.mapping.items())
    state.derive("map_values", {step.output or found[0]: mapped}, detail)


_BIN_OPERATORS = (("lt", "<"), ("lte", "<="), ("gt", ">"), ("gte", ">="), ("eq", "="))


def bucket(state: State, step: Any, path: str) -> None:
    """The label of the first bin that fits; the default, or NULL, where none does."""
    found = known(state, [step.source], f"{path}.bucket.source")
    if found is None:
        return
    value = state.scope[found[0]]
    args: list[Expression] = []
    try:
        wanted = [*(constant(bin_.label) for bin_ in step.bins), constant(step.default)]
        labels, type_ = in_one_column(wanted, "bucket:")
        for bin_, label in zip(step.bins, labels, strict=False):
            bounds = [(operator, getattr(bin_, name)) for name, operator in _BIN_OPERATORS]
            fits = [compare(operator, value, constant(bound)) for operator, bound in bounds if bound is not None]
            args += [both(*fits), label]
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.bucket")
        return
    detail = (f"{step.field} by {found[0]}: {', '.join(str(bin_.label) for bin_ in step.bins)}",)
    state.derive("bucket", {step.field: Call("case", (*args, labels[-1]), type_)}, detail)


def _call(state: State, name: str, args: Sequence[Expression], path: str) -> Expression | None:
    """A function of the catalogue by its SQL name, or a diagnostic."""
    signature = SIGNATURES.get(name)
    if signature is None:
        state.trouble.add(NOT_YET, f"The function `{name}`, which this step needs, is not available yet.", path)
        return None
    try:
        return signature[2](list(args))
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, path)
        return None


_META = re.compile(r"([\\^$.|?*+()\[\]{}-])")


def split(state: State, step: Any, path: str) -> None:
    """Text in parts, as an array; the delimiter is taken as it is written."""
    found = known(state, [step.field], f"{path}.split.field")
    if found is None:
        return
    if not step.delimiter:
        state.trouble.add(
            BAD_STEP, "The delimiter is empty.", f"{path}.split.delimiter", "write what separates the parts"
        )
        return
    pattern = _META.sub(r"\\\1", step.delimiter)
    parts = _call(state, "split", (state.scope[found[0]], text(pattern)), f"{path}.split")
    if parts is not None:
        state.derive("split", {step.output or found[0]: parts}, (f"{found[0]} at {step.delimiter!r}",))


def json_extract(state: State, step: Any, path: str) -> None:
    """A value out of JSON text; with `cast`, a value that is not of that type makes the row bad."""
    found = known(state, [step.source], f"{path}.json_extract.source")
    if found is None:
        return
    value = _call(state, "get_json_object", (state.scope[found[0]], text(step.path)), f"{path}.json_extract")
    if value is None:
        return
    state.derive("json_extract", {step.field: value}, (f"{step.field} = {found[0]} at {step.path}",))
    if step.cast is not None:
        cast_columns(state, {step.field: step.cast}, f"{path}.json_extract.cast")


def date_diff(state: State, step: Any, path: str) -> None:
    """Whole units from one time to another, toward zero."""
    found = known(state, [step.from_col, step.to_col], f"{path}.date_diff")
    if found is None:
        return
    start, end = (state.scope[name] for name in found)
    detail = (f"{step.field} = {step.unit} from {found[0]} to {found[1]}",)
    try:
        value = units_between(step.unit, start, end, "date_diff")
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.date_diff")
        return
    state.derive("date_diff", {step.field: value}, detail)
