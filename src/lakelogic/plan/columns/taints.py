"""Which mask a value carries on from the masked columns it was made of, field by field where it is a struct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lakelogic.plan.nodes import Mask
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, columns_of, walk
from lakelogic.sql.types import Type

# What hides most comes first.
_STRICTEST = ("nullify", "redact", "hash", "encrypt", "encrypt_deterministic", "partial")


@dataclass(frozen=True, slots=True)
class Taint:
    """The mask of a value. `fields` tell a struct's own fields apart, and those of the structs in an array."""

    mask: Mask
    fields: tuple[tuple[str, Taint | None], ...] | None = None


def strictest(masks: Iterable[Mask]) -> Mask:
    """The mask that hides most."""
    return min(masks, key=lambda mask: _STRICTEST.index(mask.strategy))


def changed(taint: Taint) -> Taint:
    """What is made of a value, other than a copy: parts of it could be shown that `partial` hides, so all is hidden."""
    if taint.mask.strategy != "partial":
        return replace(taint, fields=None)
    return Taint(Mask(taint.mask.column, "redact"))


def together(taints: Sequence[Taint]) -> Taint | None:
    """The taint of something that may be any of these values; fields stay apart where all have the same ones."""
    if not taints:
        return None
    mask = strictest(taint.mask for taint in taints)
    shapes = {None if taint.fields is None else tuple(name for name, _ in taint.fields) for taint in taints}
    names = next(iter(shapes))
    if len(shapes) > 1 or names is None:
        return Taint(mask)
    by_name = [dict(taint.fields or ()) for taint in taints]
    fields = tuple((name, together([taint for own in by_name if (taint := own[name])])) for name in names)
    return Taint(mask, fields)


def taint_of(value: Expression, taints: Mapping[str, Taint]) -> Taint | None:
    """The taint of an expression over columns with these taints."""
    if not taints or not columns_of(value) & taints.keys():
        return None
    return _taint(value, taints)


def _taint(value: Expression, taints: Mapping[str, Taint]) -> Taint | None:
    if isinstance(value, Column):
        return taints.get(value.name)
    if isinstance(value, Lambda):
        own = {parameter.name for parameter in value.parameters}
        return _taint(value.body, {name: taint for name, taint in taints.items() if name not in own})
    if not isinstance(value, Call):
        return None
    if value.function == "is_null":
        return _of_absence(value, taints)
    if value.function == "struct":
        return _of_struct(value, taints)
    inherited = [taint for argument in value.args if (taint := _taint(argument, taints)) is not None]
    if not inherited:
        return None
    if value.function == "field":
        fields = inherited[0].fields
        return changed(inherited[0]) if fields is None else dict(fields).get(str(value.constant(1)))
    whole = together([changed(taint) for taint in inherited])
    if whole is not None and _keeps_elements(value, inherited):
        kept = together(inherited)
        return replace(whole, fields=kept.fields if kept else None)
    return whole


def _keeps_elements(value: Call, taints: Sequence[Taint]) -> bool:
    """Whether the elements (or the fields) of the result are those of the argument, untouched."""
    if value.function in ("array", "filter"):
        return value.function == "array" or (len(taints) == 1 and not columns_of(value.args[1]))
    return value.function == "convert" and _names(value.type) == _names(value.args[0].type) != ()


def _names(type_: Type) -> tuple[str, ...]:
    while type_.kind == "array" and type_.element is not None:
        type_ = type_.element
    return tuple(name for name, _ in type_.fields) if type_.kind == "struct" else ()


def _of_absence(value: Call, taints: Mapping[str, Taint]) -> Taint | None:
    """Whether a value is there is no secret, except where the mask hides just that."""
    inner = value.args[0]
    taint = _taint(inner, taints)
    is_plain = all(isinstance(part, Column) or getattr(part, "function", "field") == "field" for part in walk(inner))
    if taint is None or (is_plain and taint.mask.strategy != "nullify"):
        return None
    return changed(taint)


def _of_struct(value: Call, taints: Mapping[str, Taint]) -> Taint | None:
    fields = tuple(
        (str(value.constant(index)), _taint(value.args[index + 1], taints)) for index in range(0, len(value.args), 2)
    )
    inherited = [changed(taint) for _, taint in fields if taint is not None]
    return Taint(strictest(taint.mask for taint in inherited), fields) if inherited else None
