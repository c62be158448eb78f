"""The types of contracts, and how they are written in a contract and in Arrow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

Kind = Literal[
    "null",
    "string",
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
    "json",
    "array",
    "map",
    "struct",
]

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


@dataclass(frozen=True, slots=True)
class Type:
    """One type. `element` is an array's or a map's value type; `fields` are a struct's."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    key: Type | None = None
    element: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        if self.kind == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.kind == "array":
            return f"array<{self.element}>"
        if self.kind == "map":
            return f"map<{self.key},{self.element}>"
        if self.kind == "struct":
            return "struct<" + ",".join(f"{_field_name(name)}:{type_}" for name, type_ in self.fields) + ">"
        return self.kind

    @property
    def is_integer(self) -> bool:
        """Whole numbers of any width."""
        return self.kind in INTEGERS

    @property
    def is_number(self) -> bool:
        """Whole, floating or decimal."""
        return self.kind in INTEGERS or self.kind in FLOATS or self.kind == "decimal"

    @property
    def is_text(self) -> bool:
        """Text; `json` is text that must parse."""
        return self.kind in ("string", "json")

    @property
    def is_nested(self) -> bool:
        """Array, map or struct."""
        return self.kind in ("array", "map", "struct")

    @property
    def is_comparable(self) -> bool:
        """Whether two values can be equal: everything but maps, and what holds a map."""
        if self.kind == "map":
            return False
        parts = [type_ for _, type_ in self.fields] + ([self.element] if self.element is not None else [])
        return all(part.is_comparable for part in parts)

    def field(self, name: str) -> tuple[str, Type] | None:
        """A struct's field by its name in any case: how it is spelled, and its type."""
        return next((field for field in self.fields if field[0].lower() == name.lower()), None)


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _field_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


NULL = Type("null")
STRING = Type("string")
BOOLEAN = Type("boolean")
TINYINT = Type("tinyint")
SMALLINT = Type("smallint")
INT = Type("int")
BIGINT = Type("bigint")
FLOAT = Type("float")
DOUBLE = Type("double")
DATE = Type("date")
TIMESTAMP = Type("timestamp")
TIMESTAMP_NTZ = Type("timestamp_ntz")
BINARY = Type("binary")
JSON = Type("json")


def decimal(precision: int = 38, scale: int = 18) -> Type:
    """A decimal; a bare `decimal` in a contract is decimal(38,18)."""
    return Type("decimal", precision=precision, scale=scale)


def array(element: Type) -> Type:
    """An array of one type."""
    return Type("array", element=element)


def struct(*fields: tuple[str, Type]) -> Type:
    """A struct; raises ValueError for names that differ only in case, which not every engine tells apart."""
    seen: set[str] = set()
    for name, _ in fields:
        if not name:
            raise ValueError("a field of a struct has no name")
        if name.lower() in seen:
            raise ValueError(f"the struct has two fields called `{name}`")
        seen.add(name.lower())
    return Type("struct", fields=tuple(fields))


def unusable(type_: Type) -> str | None:
    """What keeps a type that landed from being one of ours, in words: structs that not every engine can hold."""
    names = [name for name, _ in type_.fields]
    if type_.kind == "struct" and not names:
        return "a struct without fields"
    first: dict[str, str] = {}
    for name in names:
        if (other := first.setdefault(name.lower(), name)) is not name:
            return f"a struct with the fields `{other}` and `{name}`, alike but for case"
    inner = [part for part in (type_.key, type_.element, *(field for _, field in type_.fields)) if part is not None]
    return next((reason for part in inner if (reason := unusable(part))), None)


def map_of(key: Type, element: Type) -> Type:
    """A map; raises ValueError for keys that are nested themselves."""
    if key.is_nested:
        raise ValueError(f"the key of a map cannot be a {key.kind}")
    return Type("map", key=key, element=element)


_NAMES: dict[str, Type] = {
    "string": STRING, "str": STRING, "text": STRING, "varchar": STRING, "char": STRING,
    "boolean": BOOLEAN, "bool": BOOLEAN,
    "tinyint": TINYINT, "byte": TINYINT, "smallint": SMALLINT, "short": SMALLINT,
    "int": INT, "integer": INT, "bigint": BIGINT, "long": BIGINT,
    "float": FLOAT, "real": FLOAT, "double": DOUBLE,
    "decimal": decimal(), "numeric": decimal(), "date": DATE,
    "timestamp": TIMESTAMP, "datetime": TIMESTAMP, "timestamp_ntz": TIMESTAMP_NTZ,
    "timestamp_ltz": TIMESTAMP, "binary": BINARY, "bytes": BINARY, "json": JSON,
}  # fmt: skip

TYPE_NAMES: tuple[str, ...] = tuple(_NAMES)

MOST_DEEP = 50

_DECIMAL = re.compile(r"(?:decimal|numeric)\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)$")
_SIZED = re.compile(r"(?:varchar|char|string)\(\s*\d+\s*\)$")


def _deepest(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character == "<") - (character == ">")
        deepest = max(deepest, depth)
    return deepest


def parse_type(text: str) -> Type:
    """Read a type as a contract writes it; raises ValueError with what is wrong."""
    written = text.strip()
    if written.count("<") > MOST_DEEP and _deepest(written) > MOST_DEEP:
        raise ValueError(f"types stand inside types more than {MOST_DEEP} levels deep")
    lowered = written.lower()
    if lowered in _NAMES:
        return _NAMES[lowered]
    if match := _DECIMAL.match(lowered):
        precision, scale = int(match[1]), int(match[2] or 0)
        if not (1 <= precision <= 38 and scale <= precision):
            raise ValueError(f"decimal({precision},{scale}) is outside 1 to 38 digits")
        return decimal(precision, scale)
    if _SIZED.match(lowered):
        return STRING
    if lowered.endswith(">"):
        head, _, inner = written.partition("<")
        parts = _split(inner[:-1])
        match head.strip().lower():
            case "array" if len(parts) == 1:
                return array(_inner(parts[0]))
            case "map" if len(parts) == 2:
                return map_of(_inner(parts[0]), _inner(parts[1]))
            case "struct" if parts:
                return struct(*(_field(part) for part in parts))
    raise ValueError(f"`{text}` is not a type")


def parse_fields(text: str) -> Type:
    """A type, or the fields of a struct as `a INT, b ARRAY<STRING>`; raises ValueError with what is wrong."""
    try:
        return parse_type(text)
    except ValueError:
        parts = _split(text)
        if not parts or not all(_NAMED.match(part) for part in parts):
            raise
        return struct(*(_field(part) for part in parts))


_NAMED = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s:`<>(),]+))\s*(?::|\s)\s*(\S.*)", re.DOTALL)


def _field(text: str) -> tuple[str, Type]:
    match = _NAMED.match(text)
    if match is None:
        raise ValueError(f"`{text.strip()}` is not a field with its type")
    return (match[1].replace("``", "`") if match[1] else match[2]), _inner(match[3])


def _inner(text: str) -> Type:
    """A type inside another; documents that stay text stand alone."""
    type_ = parse_type(text)
    if type_.kind == "json":
        raise ValueError("`json` cannot stand inside another type; write string, or the type of what is in it")
    return type_


def _split(text: str) -> list[str]:
    """Split at commas that are not inside brackets or quoted names."""
    parts, depth, start, in_name = [], 0, 0, False
    for position, character in enumerate(text):
        if character == "`":
            in_name = not in_name
        elif in_name:
            continue
        elif character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]] if text.strip() else []


_TO_ARROW: dict[str, pa.DataType] = {
    "null": pa.string(), "string": pa.string(), "json": pa.string(), "boolean": pa.bool_(),
    "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"), "timestamp_ntz": pa.timestamp("us"), "binary": pa.binary(),
}  # fmt: skip


def to_arrow(type_: Type) -> pa.DataType:
    """The Arrow type that stands for a contract type, on every engine and in every file."""
    match type_.kind:
        case "decimal":
            return pa.decimal128(type_.precision, type_.scale)
        case "array":
            assert type_.element is not None
            return pa.list_(to_arrow(type_.element))
        case "map":
            assert type_.key is not None
            assert type_.element is not None
            return pa.map_(to_arrow(type_.key), to_arrow(type_.element))
        case "struct":
            return pa.struct([(name, to_arrow(field)) for name, field in type_.fields])
    return _TO_ARROW[type_.kind]


def from_arrow(type_: pa.DataType) -> Type:
    """The contract type for a landed Arrow type; unsigned and narrow kinds widen to the next that holds them."""
    if pa.types.is_boolean(type_):
        return BOOLEAN
    if pa.types.is_integer(type_):
        return _INTEGER_FROM_ARROW[str(type_)]
    if pa.types.is_floating(type_):
        return DOUBLE if type_ == pa.float64() else FLOAT
    if pa.types.is_decimal(type_):
        return decimal(type_.precision, type_.scale)
    if pa.types.is_date(type_):
        return DATE
    if pa.types.is_timestamp(type_):
        return TIMESTAMP if type_.tz else TIMESTAMP_NTZ
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return BINARY
    if pa.types.is_map(type_):
        return Type("map", key=from_arrow(type_.key_type), element=from_arrow(type_.item_type))
    if _is_list(type_):
        return array(from_arrow(type_.value_type))
    if pa.types.is_struct(type_):
        return Type("struct", fields=tuple((field.name, from_arrow(field.type)) for field in type_))
    if pa.types.is_dictionary(type_):
        return from_arrow(type_.value_type)
    return STRING


def _is_list(type_: pa.DataType) -> bool:
    kinds = (
        pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view, pa.types.is_large_list_view,
        pa.types.is_fixed_size_list,
    )  # fmt: skip
    return any(is_kind(type_) for is_kind in kinds)


_INTEGER_FROM_ARROW = {
    "int8": TINYINT, "int16": SMALLINT, "int32": INT, "int64": BIGINT,
    "uint8": SMALLINT, "uint16": INT, "uint32": BIGINT, "uint64": decimal(20, 0),
}  # fmt: skip
