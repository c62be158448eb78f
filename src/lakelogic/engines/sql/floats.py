"""The calculator of `reals.py` for engines that are spoken to in SQL: numbers are pieces of text."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from lakelogic.engines.exact.floats import FUNCTIONS

_SHORT = 60  # a piece of so many characters is written again rather than named


class Piece:
    """SQL for a double; operators put larger pieces together."""

    __slots__ = ("sql",)

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def __add__(self, other: Piece) -> Piece:
        return Piece(f"({self.sql} + {other.sql})")

    def __sub__(self, other: Piece) -> Piece:
        return Piece(f"({self.sql} - {other.sql})")

    def __mul__(self, other: Piece) -> Piece:
        return Piece(f"({self.sql} * {other.sql})")

    def __truediv__(self, other: Piece) -> Piece:
        return Piece(f"({self.sql} / {other.sql})")

    def __neg__(self) -> Piece:
        return Piece(f"(- {self.sql})")


class SqlCalculator(ABC):
    """Writes SQL; a dialect says how it names a value and how it writes numbers."""

    def __init__(self) -> None:
        self._names = 0

    @property
    def none(self) -> Piece:
        """NULL."""
        return Piece("CAST(NULL AS DOUBLE)")

    @abstractmethod
    def constant(self, value: float) -> Piece:
        """A number that is written down."""

    @abstractmethod
    def bound(self, name: str, value: str, body: str) -> str:
        """SQL for a body in which a name stands for a value."""

    def named(self, value: Piece, body: Callable[[Piece], Piece]) -> Piece:
        """What the body makes of a value that is computed once."""
        if len(value.sql) <= _SHORT:
            return body(value)
        self._names += 1
        name = f"ll_r{self._names}"
        return Piece(self.bound(name, value.sql, body(Piece(name)).sql))

    def choose(self, condition: str, yes: Callable[[], Piece], no: Callable[[], Piece]) -> Piece:
        """One of two."""
        return Piece(f"CASE WHEN {condition} THEN {yes().sql} ELSE {no().sql} END")

    def less(self, left: Piece, right: Piece) -> str:
        """Is the left one less?"""
        return f"({left.sql} < {right.sql})"

    def same(self, left: Piece, right: Piece) -> str:
        """Are they equal?"""
        return f"({left.sql} = {right.sql})"

    def is_nan(self, value: Piece) -> str:
        """Is it NaN?"""
        return f"isnan({value.sql})"

    def floor(self, value: Piece) -> Piece:
        """The whole number below, as a double."""
        return Piece(f"CAST(floor({value.sql}) AS DOUBLE)")

    def sqrt(self, value: Piece) -> Piece:
        """The square root."""
        return Piece(f"sqrt({value.sql})")

    def two_to(self, value: Piece) -> Piece:
        """A power of 2; those are exact in every library."""
        return Piece(f"pow({self.constant(2.0).sql}, {value.sql})")

    @abstractmethod
    def ten_to(self, value: Piece) -> Piece:
        """The double next to a power of 10."""

    @abstractmethod
    def repeated(self, value: Piece, times: Piece) -> Piece:
        """A whole power, by squaring."""

    def exponent(self, value: Piece) -> Piece:
        """The power of 2 in a number: nearly right by its logarithm, then corrected."""

        def corrected(guess: Piece) -> Piece:
            def of_rest(m: Piece) -> Piece:
                return self.choose(
                    self.less(m, self.constant(1.0)),
                    lambda: guess - self.constant(1.0),
                    lambda: self.choose(
                        self.less(m, self.constant(2.0)), lambda: guess, lambda: guess + self.constant(1.0)
                    ),
                )

            return self.named(value * self.two_to(-guess), of_rest)

        rough = Piece(f"ln({value.sql})") * self.constant(1.4426950408889634)
        return self.named(self.floor(rough), corrected)

    def written(self, name: str, *args: str) -> str:
        """SQL for a function of `reals.py` over pieces of SQL; NULL when one of them is."""

        def collect(rest: tuple[str, ...], given: tuple[Piece, ...]) -> Piece:
            if rest:
                return self.named(Piece(rest[0]), lambda piece: collect(rest[1:], (*given, piece)))
            result: Piece = FUNCTIONS[name](self, *given)
            return result + self.constant(0.0)  # a zero without its sign

        body = collect(args, ()).sql
        absent = " OR ".join(f"{value} IS NULL" for value in args)
        return f"CASE WHEN {absent} THEN CAST(NULL AS DOUBLE) ELSE {body} END"


def number_text(value: float) -> str:
    """A double as digits between quotes."""
    if math.isnan(value):
        return "'NaN'"
    return f"'{value!r}'" if math.isfinite(value) else "'Infinity'"
