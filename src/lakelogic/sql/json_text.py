"""JSON text and nested values: what a document must look like to become a value, and how a value is written.

A value that stands where a scalar is declared is taken as its text: text without its quotes, a number as it was
written, an object or array as compact JSON. So big numbers and decimals stay exact; what the text becomes is for the
rules of scalar types to say. Where an array, map or struct is declared, nothing else fits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

from lakelogic.sql.types import STRING, Type, parse_type

_ESCAPED = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord('"'): '\\"', ord("\\"): "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r",
}  # fmt: skip
_HALF = re.compile("[\ud800-\udfff]")


class Number(str):
    """A number as it was written, told apart from text of the same characters."""

    __slots__ = ()


class Object(dict[str, Any]):
    """An object: of equal keys the last wins, but its text keeps all of them."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class Misfit(ValueError):
    """A document does not have the shape of the type."""


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decode: Callable[[str], Any] = json.JSONDecoder(
    parse_float=Number, parse_int=Number, parse_constant=_no_constant, object_pairs_hook=Object
).decode


def parse(text: str) -> Any:
    """The document that a text is, with numbers as they were written; of equal keys the last wins. Raises Misfit."""
    try:
        value = _decode(text)
    except (ValueError, RecursionError) as error:
        raise Misfit(str(error)) from None
    if "\\u" in text and _HALF.search(compact(value)):
        raise Misfit("half a character")
    return value


def quoted(text: str) -> str:
    """A JSON string: non-ASCII characters as they are, control characters escaped in one way."""
    return '"' + text.translate(_ESCAPED) + '"'


def compact(value: Any) -> str:
    """A document as text without blanks, keys in their order, numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, Object) else value.items()
        return "{" + ",".join(f"{quoted(key)}:{compact(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(compact(item) for item in value) + "]"
    return "null" if value is None else "true" if value else "false"


def scalar_text(value: Any) -> str | None:
    """A value of a document as the text that a scalar type is made of."""
    if value is None:
        return None
    return str(value) if isinstance(value, str) else compact(value)


def texts_of(type_: Type) -> Type:
    """The type with text in place of every scalar: what a document is read as before anything is converted."""
    if not type_.is_nested:
        return STRING
    return Type(
        type_.kind,
        key=STRING if type_.key is not None else None,
        element=None if type_.element is None else texts_of(type_.element),
        fields=tuple((name, texts_of(field)) for name, field in type_.fields),
    )


def shaped(value: Any, type_: Type, *, lenient: bool = False) -> Any:
    """A document as a value of `texts_of(type_)`; raises Misfit.

    A struct finds its fields by the keys without case; of keys that are alike the last wins. When lenient, a value
    that does not fit is NULL in the struct's field where it stands; in an array or a map it means that the whole array
    or map does not fit.
    """
    if value is None:
        return None
    if not type_.is_nested:
        return scalar_text(value)
    if type_.kind == "array":
        assert type_.element is not None
        if not isinstance(value, list):
            raise Misfit("not an array")
        return [shaped(item, type_.element, lenient=lenient) for item in value]
    if not isinstance(value, dict):
        raise Misfit("not an object")
    pairs = value.pairs if isinstance(value, Object) else value.items()
    if type_.kind == "map":
        assert type_.element is not None
        last: dict[str, Any] = {}
        for key, item in pairs:  # an entry stands where it stood last: later keys may yet become equal to it
            last.pop(key, None)
            last[key] = item
        return {key: shaped(item, type_.element, lenient=lenient) for key, item in last.items()}
    items = {key.lower(): item for key, item in pairs}
    return {name: _field(items.get(name.lower()), field, lenient) for name, field in type_.fields}


def _field(value: Any, type_: Type, lenient: bool) -> Any:
    try:
        return shaped(value, type_, lenient=lenient)
    except Misfit:
        if lenient:
            return None
        raise


def read(text: str, type_: Type, *, lenient: bool = False) -> Any:
    """The value of `texts_of(type_)` that a text holds; None when it holds none."""
    try:
        return shaped(parse(text), type_, lenient=lenient)
    except Misfit:
        return None


@lru_cache(maxsize=256)
def _type(text: str) -> Type:
    return parse_type(text)


def reshaped(text: str | None, type_: str, lenient: bool = False) -> str | None:
    """The text of a document in which every scalar is a JSON string; None when it does not fit the type."""
    if text is None:
        return None
    value = read(text, _type(type_), lenient=lenient)
    return None if value is None else _encode(value)


_encode: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


# documents that stay text


def at_path(text: str | None, path: str) -> str | None:
    """The text of the value at a path, which is a JSON array of keys and positions; None when there is none."""
    try:
        value = None if text is None else parse(text)
    except Misfit:
        return None
    for step in json.loads(path):
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return scalar_text(value)


def object_keys(text: str | None) -> list[str] | None:
    """The keys of an object, in order."""
    try:
        value = None if text is None else parse(text)
    except Misfit:
        return None
    return list(value) if isinstance(value, dict) else None


def array_length(text: str | None) -> int | None:
    """How many values an array has."""
    try:
        value = None if text is None else parse(text)
    except Misfit:
        return None
    return len(value) if isinstance(value, list) else None
