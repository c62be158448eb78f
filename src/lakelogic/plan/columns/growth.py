"""Which types hold all values of others: wider numbers, and structs that gain fields, at any depth."""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic.sql.coerce import as_decimal
from lakelogic.sql.types import DOUBLE, INTEGER_BITS, Type, decimal

_MOST_DIGITS = 38
_SMALL = ("tinyint", "smallint", "int")  # whole numbers that a double holds exactly


def widens(old: Type, new: Type) -> bool:
    """Whether another type holds every value of this one exactly: bigger integers, double for float, longer decimals,
    and structs with more fields, which are NULL in the values that are there."""
    if old == new:
        return False
    if old.is_nested or new.is_nested:
        return old.kind == new.kind and all(left == right or widens(left, right) for left, right in _parts(old, new))
    if old.is_integer and new.is_integer:
        return INTEGER_BITS[new.kind] > INTEGER_BITS[old.kind]
    if new.kind == "double":
        return old.kind == "float" or old.kind in _SMALL
    if new.kind == "decimal" and (old.is_integer or old.kind == "decimal"):
        narrow = as_decimal(old)
        whole_digits = new.precision - new.scale >= narrow.precision - narrow.scale
        return whole_digits and new.scale >= narrow.scale
    return False


def only_adds_fields(old: Type, new: Type) -> bool:
    """Whether structs have gained fields, and nothing else is different."""
    if old == new or not old.is_nested or old.kind != new.kind:
        return False
    return all(left == right or only_adds_fields(left, right) for left, right in _parts(old, new))


_NONE = Type("null")


def _parts(old: Type, new: Type) -> Iterator[tuple[Type, Type]]:
    """The parts of a nested type, each with what it has become; a field that is gone has become nothing."""
    for name, kind in old.fields:
        field = new.field(name)
        yield kind, field[1] if field is not None and field[0] == name else _NONE
    for left, right in ((old.key, new.key), (old.element, new.element)):
        if left is not None and right is not None:
            yield left, right
    if old.kind == "struct" and [n for n, _ in old.fields] != [n for n, _ in new.fields][: len(old.fields)]:
        yield _NONE, old  # other places: files that are there hold the fields in their old order


def fitted(published: Type, stored: Type) -> Type:
    """The type in which values go into a column that is there: the stored one where it holds them all.

    A struct keeps the fields of the table, in their places and spelling; fields that are new come behind them. What
    does not fit otherwise stays as it is published, for the policy of the contract to judge.
    """
    if published == stored:
        return stored
    if published.kind != stored.kind or not stored.is_nested:
        return stored if widens(published, stored) else published
    fields = [
        (name, fitted(field[1], kind) if (field := published.field(name)) is not None else kind)
        for name, kind in stored.fields
    ]
    fields += [(name, kind) for name, kind in published.fields if stored.field(name) is None]
    return Type(
        stored.kind,
        key=_inner(published.key, stored.key),
        element=_inner(published.element, stored.element),
        fields=tuple(fields),
    )


def _inner(published: Type | None, stored: Type | None) -> Type | None:
    return None if published is None or stored is None else fitted(published, stored)


def union(stored: Type, new: Type) -> Type | None:
    """A type that holds the values of both exactly; None where there is none."""
    if stored == new or widens(new, stored):
        return stored
    if widens(stored, new):
        return new
    kinds = {stored.kind, new.kind}
    if kinds <= {"date", "timestamp"} or kinds <= {"date", "timestamp_ntz"}:
        return stored if new.kind == "date" else new
    if kinds <= {"float", "double", *_SMALL}:
        return DOUBLE
    if all(type_.is_integer or type_.kind == "decimal" for type_ in (stored, new)):
        left, right = as_decimal(stored), as_decimal(new)
        scale = max(left.scale, right.scale)
        digits = max(left.precision - left.scale, right.precision - right.scale) + scale
        return decimal(digits, scale) if digits <= _MOST_DIGITS else None
    grown = fitted(new, stored)
    return grown if widens(stored, grown) else None


def added_fields(old: Type, new: Type, path: str) -> Iterator[tuple[str, Type]]:
    """The fields that structs have gained, by their paths: `item.price`, `items[].price`."""
    for name, kind in new.fields:
        if (field := old.field(name)) is None:
            yield f"{path}.{name}", kind
        else:
            yield from added_fields(field[1], kind, f"{path}.{name}")
    if old.element is not None and new.element is not None:
        yield from added_fields(old.element, new.element, f"{path}[]")
