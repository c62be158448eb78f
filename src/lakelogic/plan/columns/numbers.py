"""Numbers of JSON that nobody declares: which type a column has, from how its numbers are written and what was before.

There are few types, so that a table seldom has to grow: bigint, decimal(25,6), decimal(38,18), decimal(38,0) for whole
numbers beyond bigint, and double for what only its exponent makes small or large. All of them hold every number of the
column exactly; where none does, and where a column holds anything but numbers, it stays the text that landed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from decimal import Decimal

from lakelogic.plan.columns.growth import widens
from lakelogic.sql.arguments import LONGEST_EXPONENT
from lakelogic.sql.coerce import as_decimal
from lakelogic.sql.types import BIGINT, DOUBLE, STRING, Type, decimal

LADDER = (BIGINT, decimal(38, 0), decimal(25, 6), decimal(38, 18), DOUBLE)
_READ_SCALE = 18  # decimals, zeros included, with which a number can be read as a decimal at all
_READ_WHOLE = 20  # digits before the point that such a number may have then
_SURELY_EXACT = 15  # significant digits that a double always keeps
_BIGGEST = 2**63
_BIGINT_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Shape:
    """How the values of a column are written: digits before and behind the point, and what else there is."""

    has_numbers: bool = False
    has_others: bool = False  # text, booleans, objects, arrays
    whole: int = 0  # digits before the point
    scale: int = 0  # decimals without zeros at their end
    written_scale: int = 0  # decimals as they are written
    is_bigint: bool = True
    is_double: bool = True  # every number is the shortest text of a double, or as good as that
    has_exponents: bool = False
    small_exponents: bool = True  # numbers written with an exponent are whole, and a double counts up to them

    def __or__(self, other: Shape) -> Shape:
        return Shape(
            self.has_numbers or other.has_numbers,
            self.has_others or other.has_others,
            max(self.whole, other.whole),
            max(self.scale, other.scale),
            max(self.written_scale, other.written_scale),
            self.is_bigint and other.is_bigint,
            self.is_double and other.is_double,
            self.has_exponents or other.has_exponents,
            self.small_exponents and other.small_exponents,
        )

    def as_list(self) -> list[int]:
        """As plain numbers, for the way from a worker."""
        return [int(part) for part in astuple(self)]

    @classmethod
    def of_list(cls, parts: Iterable[int]) -> Shape:
        """From plain numbers."""
        has, others, whole, scale, written, bigint, double, exponents, small = parts
        return cls(
            bool(has), bool(others), whole, scale, written, bool(bigint), bool(double), bool(exponents), bool(small)
        )


OTHERS = Shape(has_others=True)


def shape_of(texts: Iterable[str]) -> Shape:
    """The shape of numbers as JSON writes them; there is at least one. A large file has many: no object for each."""
    whole = scale = written = 0
    is_bigint = is_double = True
    others = Shape(has_numbers=True)
    for text in texts:
        digits = text.removeprefix("-")
        if digits.isdigit():
            whole = max(whole, len(digits))
            if len(digits) > _SURELY_EXACT:
                is_bigint = is_bigint and len(digits) <= _BIGINT_DIGITS and -_BIGGEST <= int(text) < _BIGGEST
                is_double = is_double and _is_double(text)
        elif "e" in text or "E" in text:
            others |= _with_exponent(text)
        else:
            before, _, behind = digits.partition(".")
            kept = len(behind.rstrip("0"))
            whole, scale, written = max(whole, len(before)), max(scale, kept), max(written, len(behind))
            if not kept and len(before) > _SURELY_EXACT:
                is_bigint = is_bigint and len(before) < _BIGINT_DIGITS
            is_double = is_double and (len(digits) <= _SURELY_EXACT or _is_double(text))
    return others | Shape(True, False, whole, scale, written, is_bigint and not scale, is_double)


def _with_exponent(text: str) -> Shape:
    parts = Decimal(text).as_tuple()
    exponent = parts.exponent
    assert isinstance(exponent, int)
    digits = "".join(map(str, parts.digits)).lstrip("0")
    kept = digits.rstrip("0")
    exponent = exponent + len(digits) - len(kept) if kept else 0
    is_whole = exponent >= 0
    small = is_whole and len(kept) + exponent <= _SURELY_EXACT and len(text) <= LONGEST_EXPONENT
    return Shape(
        has_numbers=True,
        whole=max(len(kept) + exponent, 1),
        scale=max(-exponent, 0),
        written_scale=max(-exponent, 0),
        is_bigint=small,
        is_double=small or _is_double(text),
        has_exponents=True,
        small_exponents=small,
    )


def _is_double(text: str) -> bool:
    shortest = repr(float(text))
    return shortest == text or Decimal(shortest) == Decimal(text)


def type_of(shape: Shape, before: Type | None = None) -> Type:
    """The type of a column; `before` is the one that it had: it grows, and is never taken back.

    Numbers stay numbers where something else lands: then the rows with that are bad, as if the column were declared.
    """
    if before is not None and (not before.is_number or not (shape.has_numbers or shape.has_others)):
        return before
    if before is None:
        if shape.has_others or not shape.has_numbers:
            return STRING
        return next((kind for kind in LADDER if _holds(kind, shape)), STRING)
    if shape.has_others or _holds(before, shape):
        return before
    return next((kind for kind in LADDER if widens(before, kind) and _holds(kind, shape)), before)


def _holds(kind: Type, shape: Shape) -> bool:
    """Whether a type holds all numbers of a column exactly, and can be read from how they are written."""
    if kind.kind in ("float", "double"):
        return kind.kind == "double" and shape.is_double
    if shape.has_exponents and not shape.small_exponents:
        return False
    if kind == BIGINT and not shape.is_bigint:
        return False
    room = as_decimal(kind)
    # The digits of an integer type hold more than the type: one less is sure.
    digits = room.precision - room.scale - (1 if kind.is_integer and kind != BIGINT else 0)
    if shape.whole > digits or shape.scale > room.scale:
        return False
    return shape.written_scale <= room.scale or (shape.written_scale <= _READ_SCALE and shape.whole <= _READ_WHOLE)


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known from before: keys that landed, in lower case, and the types of columns."""

    landed: frozenset[str] = frozenset()
    kinds: Mapping[str, Type] = field(default_factory=dict)


NOTHING = Memory()


def kinds_of(shapes: Mapping[str, Shape], declared: Iterable[str], before: Memory) -> dict[str, Type]:
    """For each key that nobody declares, in lower case, its type; for those that landed before and not now too."""
    declared_names = {name.lower() for name in declared}
    names = [name for name in (*shapes, *sorted(before.landed)) if name not in declared_names]
    return {name: type_of(shapes.get(name, Shape()), before.kinds.get(name)) for name in dict.fromkeys(names)}
