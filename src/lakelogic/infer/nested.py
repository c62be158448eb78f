"""Types of JSON values that are arrays and objects: structs by their keys, maps where there are many."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, Type, array, map_of, parse_type, struct

MOST_KEYS = 60  # of an object, beyond which they are values rather than names
MOST_DEEP = 8
_MOST_INT, _MOST_BIGINT = 2**31 - 1, 2**63 - 1
_NUMBERS = (INT, BIGINT, DOUBLE)


class _Unlike(Exception):
    """Values that no type holds together."""


def type_of(values: Sequence[str]) -> tuple[str, str] | None:
    """The type of texts that are all JSON arrays, or all JSON objects, and why; None where they are neither."""
    if not values or not all(value.startswith(("[", "{")) for value in values):
        return None
    try:
        parsed = [json.loads(value) for value in values]
    except (ValueError, RecursionError):
        return None
    try:
        combined = _settled(_together(_of(value, 0) for value in parsed))
    except (_Unlike, ValueError):
        return "json", "arrays or objects whose values have no type in common"
    optional = _optional(parsed) if combined.kind == "struct" else 0
    what = {"array": "arrays", "map": "objects with many keys", "struct": "objects"}[combined.kind]
    reason = f"all {len(values)} values are {what}"
    return str(combined), reason + (f"; {optional} keys are there in only some" if optional else "")


def holds(kind: str, value: str) -> bool:
    """Whether a nested type that was found by other values holds this text too."""
    type_ = parse_type(kind)
    try:
        return _settled(_both(type_, _of(json.loads(value), 0))) == type_
    except (_Unlike, ValueError, RecursionError):
        return False


def _optional(objects: Sequence[dict[str, Any]]) -> int:
    keys: dict[str, int] = {}
    for item in objects:
        for key in item:
            keys[key] = keys.get(key, 0) + 1
    return sum(count < len(objects) for count in keys.values())


def _of(value: Any, depth: int) -> Type:
    if depth > MOST_DEEP:
        raise _Unlike
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return INT if abs(value) <= _MOST_INT else BIGINT if abs(value) <= _MOST_BIGINT else STRING
        case float():
            return DOUBLE
        case list():
            return array(_together(_of(item, depth + 1) for item in value))
        case dict():
            if not value:
                return struct()
            types = {key: _of(item, depth + 1) for key, item in value.items()}
            return struct(*types.items())
    return STRING


def _together(types: Iterable[Type]) -> Type:
    """The narrowest type that holds the values of all; NULL where there is none."""
    combined = NULL
    for type_ in dict.fromkeys(types):
        combined = _both(combined, type_)
    return combined


def _both(first: Type, other: Type) -> Type:
    if other in (first, NULL):
        return first
    if first == NULL:
        return other
    if first in _NUMBERS and other in _NUMBERS:
        return _NUMBERS[max(_NUMBERS.index(first), _NUMBERS.index(other))]
    if first.kind == other.kind == "array":
        assert first.element is not None
        assert other.element is not None
        return array(_both(first.element, other.element))
    if first.kind == other.kind == "struct":
        fields = dict(first.fields)
        for name, type_ in other.fields:
            fields[name] = _both(fields.get(name, NULL), type_)
        return struct(*fields.items())
    if first.is_nested or other.is_nested:
        raise _Unlike
    return STRING


def _settled(type_: Type) -> Type:
    """Without what was never seen: an element or field that is always NULL is text."""
    if type_ == NULL:
        return STRING
    if type_.kind == "array":
        assert type_.element is not None
        return array(_settled(type_.element))
    if type_.kind != "struct":
        return type_
    folded = {name.lower() for name, _ in type_.fields}
    if not folded or len(folded) > MOST_KEYS:
        return map_of(STRING, _settled(_together(field_type for _, field_type in type_.fields)))
    if len(folded) < len(type_.fields) or not all(name.strip() for name, _ in type_.fields):
        raise _Unlike  # fields of a struct differ in more than their case
    return struct(*((name, _settled(field_type)) for name, field_type in type_.fields))
