"""The shape of every key, read off the models: what the checker, the JSON Schema and the reference share."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from lakelogic.contract.base import Mark, Merge, Section, Treatment
from lakelogic.contract.tagged import OneOf, Tagged

Kind = Literal["text", "whole", "number", "flag", "scalar", "free", "closed", "list", "map", "section", "tagged"]


@dataclass(frozen=True, slots=True)
class ValueShape:
    """What may stand at one place of a document."""

    kind: Kind
    treatment: Treatment = "plain"
    words: tuple[str, ...] = ()  # of a closed set
    item: ValueShape | None = None  # of a list or a map
    model: type[Section] | None = None  # of a section
    kinds: tuple[type[Tagged], ...] = ()  # of a tagged item
    by_name: bool = False  # a list whose items are merged by `name`
    one_or_many: bool = False  # a list that may be written as one item

    @property
    def noun(self) -> str:
        """How a person calls it: `a list`, `text`."""
        return {
            "text": "text", "whole": "a whole number", "number": "a number", "flag": "true or false",
            "scalar": "a single value", "free": "anything", "closed": "one of " + ", ".join(self.words),
            "list": "a list", "map": "a map", "section": "a map", "tagged": "a map",
        }[self.kind]  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyShape:
    """One key of a section: its name in YAML, its shape, and what is known about it."""

    name: str
    shape: ValueShape
    required: bool
    default: object
    description: str


def _literal_words(annotation: Any) -> tuple[str, ...]:
    return tuple(str(word) for word in get_args(annotation))


def shape_of(annotation: Any, metadata: tuple[Any, ...] = ()) -> ValueShape:
    """The shape that an annotation (with its `Annotated` extras) stands for."""
    if get_origin(annotation) is Annotated:
        inner, *extras = get_args(annotation)
        return shape_of(inner, (*extras, *metadata))
    mark = next((extra for extra in metadata if isinstance(extra, Mark)), None)
    by_name = any(isinstance(extra, Merge) for extra in metadata)
    if mark and mark.treatment in ("free", "scalar", "number"):
        return ValueShape(mark.treatment)
    if mark and mark.treatment in ("secret", "place", "verbatim", "duration"):
        return ValueShape("text", treatment=mark.treatment)
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
        if any(isinstance(extra, OneOf) for extra in metadata):
            return ValueShape("tagged", kinds=tuple(options))
        if len(options) == 1:
            return shape_of(options[0], metadata)
        raise TypeError(f"an annotation the reference cannot describe: {annotation}")
    if origin is Literal:
        return ValueShape("closed", words=_literal_words(annotation))
    if origin is tuple:
        is_one_or_many = mark is not None and mark.treatment == "one_or_many"
        return ValueShape("list", item=shape_of(get_args(annotation)[0]), by_name=by_name, one_or_many=is_one_or_many)
    if origin is dict:
        return ValueShape("map", item=shape_of(get_args(annotation)[1]))
    if isinstance(annotation, type):
        if issubclass(annotation, Section):
            return ValueShape("section", model=annotation)
        simple: Mapping[type, Kind] = {bool: "flag", int: "whole", float: "number", str: "text"}
        if annotation in simple:
            return ValueShape(simple[annotation])
    raise TypeError(f"an annotation the reference cannot describe: {annotation}")


def _key(name: str, info: FieldInfo) -> KeyShape:
    return KeyShape(
        name=info.alias or name,
        shape=shape_of(info.annotation, tuple(info.metadata)),
        required=info.is_required(),
        default=None if info.is_required() or info.default_factory else info.default,
        description=info.description or "",
    )


@cache
def keys_of(model: type[Section]) -> dict[str, KeyShape]:
    """Every key of a section by its YAML name, in written order; a tagged item's `kind` is no key."""
    keys = (_key(name, info) for name, info in model.model_fields.items() if name != "kind")
    return {key.name: key for key in keys}


@cache
def common_keys(kinds: tuple[type[Tagged], ...]) -> dict[str, KeyShape]:
    """The keys written beside a kind's key, the same for all kinds of a list."""
    names = kinds[0].common()
    return {name: key for name, key in keys_of(kinds[0]).items() if name in names}


@cache
def parameter_keys(kind: type[Tagged]) -> dict[str, KeyShape]:
    """The keys written under a kind's key."""
    common = kind.common()
    return {name: key for name, key in keys_of(kind).items() if name not in common}


@cache
def short_shape(model: type[Section]) -> ValueShape | None:
    """The shape of a section's short form, if it has one."""
    return shape_of(model.SHORT) if model.SHORT is not None else None


@cache
def places(root: type[Section]) -> dict[str, tuple[str, ...]]:
    """Key → the places where it is known (`model.fields[]`, `` for the root), nearest to the root first."""
    spots: dict[str, list[str]] = {}

    def visit_keys(keys: Mapping[str, KeyShape], at: str, seen: tuple[type[Section], ...]) -> None:
        for key in keys.values():
            spots.setdefault(key.name, []).append(at)
            visit(key.shape, f"{at}.{key.name}" if at else key.name, seen)

    def visit(shape: ValueShape, at: str, seen: tuple[type[Section], ...]) -> None:
        if shape.kind == "section" and shape.model and shape.model not in seen:
            visit_keys(keys_of(shape.model), at, (*seen, shape.model))
        elif shape.kind == "list" and shape.item:
            visit(shape.item, f"{at}[]", seen)
        elif shape.kind == "map" and shape.item:
            visit(shape.item, f"{at}.*", seen)
        elif shape.kind == "tagged":
            visit_keys(common_keys(shape.kinds), at, seen)
            for kind in shape.kinds:
                spots.setdefault(kind.KIND, []).append(at)
                if not kind.BARE:
                    visit_keys(parameter_keys(kind), f"{at}.{kind.KIND}", seen)

    visit_keys(keys_of(root), "", (root,))
    return {key: tuple(sorted(dict.fromkeys(at), key=_depth)) for key, at in spots.items()}


def _depth(place: str) -> int:
    return place.count(".") + place.count("[") if place else -1
