"""Exponentials, logarithms, powers and angles, in steps that every machine rounds alike.

Libraries of mathematics differ in the last bit, and a table that depends on it differs between engines. Here only
additions, products, quotients, square roots and comparisons are used, in one order, which IEEE 754 fixes to the bit.
An engine brings a calculator: numbers of Python, columns, or pieces of its SQL. Results are right to about 15 digits,
powers that are not whole to 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

Number: TypeAlias = Any  # a float, or a piece of SQL that can be added and multiplied
Condition: TypeAlias = Any
Lazy: TypeAlias = Callable[[], Number]


class Calculator(Protocol):
    """What an engine must be able to do with numbers, besides + - * /."""

    none: Number

    def constant(self, value: float) -> Number:
        """A number that is written down."""

    def named(self, value: Number, body: Callable[[Number], Number]) -> Number:
        """What the body makes of a value that is computed once."""

    def choose(self, condition: Condition, yes: Lazy, no: Lazy) -> Number:
        """One of two; only that one is computed."""

    def less(self, left: Number, right: Number) -> Condition:
        """Is the left one less? Never asked of NaN."""

    def same(self, left: Number, right: Number) -> Condition:
        """Are they equal? Never asked of NaN."""

    def is_nan(self, value: Number) -> Condition:
        """Is it NaN?"""

    def floor(self, value: Number) -> Number:
        """The whole number below or at a finite one."""

    def sqrt(self, value: Number) -> Number:
        """The square root of a number that is not negative."""

    def two_to(self, value: Number) -> Number:
        """2 to a whole power from -1074 to 1023, exactly."""

    def ten_to(self, value: Number) -> Number:
        """The double next to 10 to a whole power."""

    def exponent(self, value: Number) -> Number:
        """The power of 2 that a normal number above 0 is at or above, below the next."""

    def repeated(self, value: Number, times: Number) -> Number:
        """The product of a number with itself, 0 to 1024 times, by squaring from the lowest bit of the count up."""


_INF = math.inf
_GREATEST = 1.7976931348623157e308
_LN2_HIGH, _LN2_LOW = 0.6931471804855391, 7.440617110012397e-11  # 33 bits, and the rest
_PER_LN2, _PER_LN10 = 1.4426950408889634, 0.4342944819032518
_ROOT_OF_2 = 1.4142135623730951
_QUARTER_1, _QUARTER_2, _QUARTER_3 = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21  # of a turn
_PER_QUARTER = 0.6366197723675814
_PI, _HALF_PI = 3.141592653589793, 1.5707963267948966
_FARTHEST = 1e6  # radians; beyond them the reduction to a quarter would lose digits
_EXP = [1 / math.factorial(n) for n in range(2, 15)]
_LN = [2 / (2 * n + 1) for n in range(1, 12)]
_SIN = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)]
_COS = [(-1) ** n / math.factorial(2 * n) for n in range(1, 10)]
_ATAN = [(-1) ** n / (2 * n + 1) for n in range(1, 14)]


def _series(c: Calculator, x: Number, factors: Sequence[float]) -> Number:
    """factors[0] + x·(factors[1] + x·(…))."""
    total = c.constant(factors[-1])
    for factor in reversed(factors[:-1]):
        total = c.constant(factor) + x * total
    return total


def _unless_nan(c: Calculator, x: Number, body: Lazy) -> Number:
    return c.choose(c.is_nan(x), lambda: x, body)


def exp(c: Calculator, x: Number) -> Number:
    """e to the power of x."""

    def usual() -> Number:
        return c.named(c.floor(x * c.constant(_PER_LN2) + c.constant(0.5)), powers)

    def powers(k: Number) -> Number:
        return c.named(
            c.named(
                x - k * c.constant(_LN2_HIGH),
                lambda high: c.named(
                    k * c.constant(_LN2_LOW),
                    lambda low: c.named(
                        high - low, lambda r: c.constant(1.0) + (high - (low - r * r * _series(c, r, _EXP)))
                    ),
                ),
            ),
            lambda p: c.named(c.floor(k * c.constant(0.5)), lambda half: (p * c.two_to(half)) * c.two_to(k - half)),
        )

    def finite() -> Number:
        return c.choose(c.less(x, c.constant(-745.1332191019412)), lambda: c.constant(0.0), usual)

    return _unless_nan(
        c, x, lambda: c.choose(c.less(c.constant(709.782712893384), x), lambda: c.constant(_INF), finite)
    )


def _parts(c: Calculator, x: Number, body: Callable[[Number, Number], Number]) -> Number:
    """A body of e and m, where the finite x > 0 is m · 2^e with m from √½ to √2."""
    zero, least = c.constant(0.0), c.constant(2.2250738585072014e-308)

    def centred(m: Number, e: Number) -> Number:
        def settled(over: Number) -> Number:
            moved = c.choose(c.less(x, least), lambda: e - c.constant(54.0), lambda: e)
            half = c.choose(c.same(over, zero), lambda: m, lambda: m * c.constant(0.5))
            return c.named(moved + over, lambda power_of_2: body(half, power_of_2))

        return c.named(c.choose(c.less(c.constant(_ROOT_OF_2), m), lambda: c.constant(1.0), lambda: zero), settled)

    def normal(value: Number) -> Number:
        return c.named(c.exponent(value), lambda e: c.named(value * c.two_to(-e), lambda m: centred(m, e)))

    # The smallest numbers have fewer bits; 2^54 times as large they have all.
    return c.named(c.choose(c.less(x, least), lambda: x * c.constant(18014398509481984.0), lambda: x), normal)


def _ln_near_one(c: Calculator, m: Number, body: Callable[[Number, Number], Number]) -> Number:
    """A body of f and g, where the logarithm of m is f - g, and g is small."""

    def of_rest(f: Number) -> Number:
        return c.named(
            f / (c.constant(2.0) + f),
            lambda s: c.named(s * s, lambda z: c.named(s * (f - z * _series(c, z, _LN)), lambda g: body(f, g))),
        )

    return c.named(m - c.constant(1.0), of_rest)


def _positive(c: Calculator, x: Number, body: Lazy) -> Number:
    """A logarithm: NULL unless x is above 0."""
    return _unless_nan(
        c,
        x,
        lambda: c.choose(
            c.less(c.constant(0.0), x),
            lambda: c.choose(c.same(x, c.constant(_INF)), lambda: x, body),
            lambda: c.none,
        ),
    )


def ln(c: Calculator, x: Number) -> Number:
    """The natural logarithm."""

    def together(m: Number, e: Number) -> Number:
        return _ln_near_one(c, m, lambda f, g: e * c.constant(_LN2_HIGH) + (f - (g - e * c.constant(_LN2_LOW))))

    return _positive(c, x, lambda: _parts(c, x, together))


def log2(c: Calculator, x: Number) -> Number:
    """The logarithm to base 2, whole for powers of 2."""

    def together(m: Number, e: Number) -> Number:
        return _ln_near_one(c, m, lambda f, g: e + (f - g) * c.constant(_PER_LN2))

    return _positive(c, x, lambda: _parts(c, x, together))


def log10(c: Calculator, x: Number) -> Number:
    """The logarithm to base 10, whole for powers of 10."""

    def exact(y: Number) -> Number:
        return c.named(c.floor(y + c.constant(0.5)), lambda n: c.choose(c.same(c.ten_to(n), x), lambda: n, lambda: y))

    return _positive(c, x, lambda: c.named(ln(c, x) * c.constant(_PER_LN10), exact))


def log1p(c: Calculator, x: Number) -> Number:
    """ln(1 + x), exact for small x as well."""

    def of_sum(u: Number) -> Number:
        return c.choose(c.same(u, c.constant(1.0)), lambda: x, lambda: ln(c, u) * (x / (u - c.constant(1.0))))

    def usual() -> Number:
        return c.choose(c.same(x, c.constant(_INF)), lambda: x, lambda: c.named(c.constant(1.0) + x, of_sum))

    return _unless_nan(c, x, lambda: c.choose(c.less(c.constant(-1.0), x), usual, lambda: c.none))


def expm1(c: Calculator, x: Number) -> Number:
    """e to the power of x, less 1, exact for small x as well."""

    def large(u: Number) -> Number:
        def near(less: Number) -> Number:
            return c.choose(c.same(less, c.constant(-1.0)), lambda: less, lambda: less * (x / ln(c, u)))

        return c.choose(c.same(u, c.constant(_INF)), lambda: u, lambda: c.named(u - c.constant(1.0), near))

    return _unless_nan(
        c, x, lambda: c.named(exp(c, x), lambda u: c.choose(c.same(u, c.constant(1.0)), lambda: x, lambda: large(u)))
    )


def power(c: Calculator, x: Number, y: Number) -> Number:
    """x to the power of y; NULL for an infinite y."""
    zero, unit = c.constant(0.0), c.constant(1.0)

    def counted() -> Number:
        def turned(p: Number) -> Number:
            inverse = c.choose(c.same(p, zero), lambda: c.constant(_INF), lambda: unit / p)
            return c.choose(c.less(y, zero), lambda: inverse, lambda: p)

        return c.named(_size(c, y), lambda n: c.named(c.repeated(x, n), turned))

    def by_logarithm() -> Number:
        return c.named(
            ln(c, x),
            lambda size: c.named(y * size, lambda t: exp(c, t)),
        )

    def of_zero() -> Number:
        return c.choose(c.less(zero, y), lambda: zero, lambda: c.constant(_INF))

    def broken() -> Number:
        return c.choose(
            c.less(x, zero),
            lambda: c.constant(math.nan),
            lambda: c.choose(c.same(x, zero), of_zero, by_logarithm),
        )

    def other() -> Number:
        root = c.choose(c.less(x, zero), lambda: c.constant(math.nan), lambda: c.sqrt(_size(c, x)))
        return c.choose(c.same(y, c.constant(0.5)), lambda: root, broken)

    def is_count() -> Number:
        return c.choose(c.same(c.floor(y), y), lambda: unit, lambda: zero)

    def finite() -> Number:
        count = c.choose(c.less(c.constant(1024.0), _size(c, y)), lambda: zero, is_count)
        return c.choose(c.same(count, unit), counted, other)

    def present() -> Number:
        return _unless_nan(c, x, lambda: c.choose(_within(c, y, _GREATEST), finite, lambda: c.none))

    return _unless_nan(c, y, lambda: c.choose(c.same(y, zero), lambda: unit, present))


def _size(c: Calculator, x: Number) -> Number:
    return c.choose(c.less(x, c.constant(0.0)), lambda: c.constant(0.0) - x, lambda: x)


def _within(c: Calculator, x: Number, bound: float) -> Condition:
    """Is x from -bound to bound?"""
    size = _size(c, x)
    return c.same(
        c.choose(c.less(c.constant(bound), size), lambda: c.constant(1.0), lambda: c.constant(0.0)), c.constant(0.0)
    )


def cbrt(c: Calculator, x: Number) -> Number:
    """The cube root."""
    zero, three = c.constant(0.0), c.constant(3.0)

    def closer(a: Number) -> Number:
        return c.named(
            c.named(ln(c, a) / three, lambda t: exp(c, t)), lambda y: y - (y * y * y - a) / (three * (y * y))
        )

    def signed() -> Number:
        return c.named(
            c.named(_size(c, x), closer),
            lambda root: c.choose(c.less(x, zero), lambda: zero - root, lambda: root),
        )

    def finite() -> Number:
        return c.choose(_within(c, x, _GREATEST), signed, lambda: x)

    return _unless_nan(c, x, lambda: c.choose(c.same(x, zero), lambda: zero, finite))


def _turned(c: Calculator, x: Number, shift: float) -> Number:
    """The sine of x and so many quarters of a turn."""

    def of_rest(r: Number, quarter: Number) -> Number:
        def by_square(z: Number) -> Number:
            def even() -> Number:
                return r + r * (z * _series(c, z, _SIN))

            def odd() -> Number:
                return c.constant(1.0) + z * _series(c, z, _COS)

            def signed(value: Number) -> Number:
                return c.choose(c.less(quarter, c.constant(2.0)), lambda: value, lambda: c.constant(0.0) - value)

            half = quarter * c.constant(0.5)
            return c.named(c.choose(c.same(c.floor(half), half), even, odd), signed)

        return c.named(r * r, by_square)

    def reduced(k: Number) -> Number:
        rest = ((x - k * c.constant(_QUARTER_1)) - k * c.constant(_QUARTER_2)) - k * c.constant(_QUARTER_3)
        turned = k + c.constant(shift)
        quarter = turned - c.constant(4.0) * c.floor(turned * c.constant(0.25))
        return c.named(quarter, lambda q: c.named(rest, lambda r: of_rest(r, q)))

    return c.named(c.floor(x * c.constant(_PER_QUARTER) + c.constant(0.5)), reduced)


def _angle(c: Calculator, x: Number, body: Lazy) -> Number:
    return _unless_nan(c, x, lambda: c.choose(_within(c, x, _FARTHEST), body, lambda: c.none))


def sin(c: Calculator, x: Number) -> Number:
    """The sine of an angle in radians; NULL beyond a million of them."""
    return _angle(c, x, lambda: _turned(c, x, 0.0))


def cos(c: Calculator, x: Number) -> Number:
    """The cosine of an angle in radians; NULL beyond a million of them."""
    return _angle(c, x, lambda: _turned(c, x, 1.0))


def tan(c: Calculator, x: Number) -> Number:
    """The tangent of an angle in radians; NULL beyond a million of them."""
    return _angle(c, x, lambda: _turned(c, x, 0.0) / _turned(c, x, 1.0))


def atan(c: Calculator, x: Number) -> Number:
    """The angle in radians that has a tangent."""
    zero, unit = c.constant(0.0), c.constant(1.0)

    def halved(t: Number) -> Number:
        return t / (unit + c.sqrt(unit + t * t))

    def small(t: Number) -> Number:
        return c.named(
            halved(t),
            lambda u: c.named(
                halved(u),
                lambda v: c.named(v * v, lambda z: c.constant(4.0) * (v + v * (z * _series(c, z, _ATAN)))),
            ),
        )

    def of_size(a: Number) -> Number:
        def placed(over: Number) -> Number:
            inside = c.choose(c.same(over, unit), lambda: unit / a, lambda: a)
            return c.named(
                c.named(inside, small),
                lambda t: c.choose(c.same(over, unit), lambda: c.constant(_HALF_PI) - t, lambda: t),
            )

        return c.named(c.choose(c.less(unit, a), lambda: unit, lambda: zero), placed)

    def signed(t: Number) -> Number:
        return c.choose(c.less(x, zero), lambda: zero - t, lambda: t)

    return _unless_nan(c, x, lambda: c.named(c.named(_size(c, x), of_size), signed))


def atan2(c: Calculator, y: Number, x: Number) -> Number:
    """The angle in radians of the point (x, y); NULL for infinite ones."""
    zero = c.constant(0.0)

    def upright() -> Number:
        above = c.choose(c.less(zero, y), lambda: c.constant(_HALF_PI), lambda: zero)
        return c.choose(c.less(y, zero), lambda: c.constant(-_HALF_PI), lambda: above)

    def turned(t: Number) -> Number:
        back = c.choose(c.less(y, zero), lambda: c.constant(-_PI), lambda: c.constant(_PI))
        return c.choose(c.less(x, zero), lambda: t + back, lambda: t)

    def sideways() -> Number:
        return c.named(c.named(y / x, lambda t: atan(c, t)), turned)

    def usual() -> Number:
        return c.choose(c.same(x, zero), upright, sideways)

    def finite() -> Number:
        return c.choose(
            _within(c, y, _GREATEST), lambda: c.choose(_within(c, x, _GREATEST), usual, lambda: c.none), lambda: c.none
        )

    return _unless_nan(c, y, lambda: _unless_nan(c, x, finite))


def _beside(c: Calculator, x: Number) -> Number:
    return c.sqrt((c.constant(1.0) - x) * (c.constant(1.0) + x))


def _ratio(c: Calculator, x: Number, body: Lazy) -> Number:
    return _unless_nan(c, x, lambda: c.choose(_within(c, x, 1.0), body, lambda: c.constant(math.nan)))


def asin(c: Calculator, x: Number) -> Number:
    """The angle in radians that has a sine; NaN beyond -1 and 1."""
    return _ratio(c, x, lambda: c.named(_beside(c, x), lambda b: atan2(c, x, b)))


def acos(c: Calculator, x: Number) -> Number:
    """The angle in radians that has a cosine; NaN beyond -1 and 1."""
    return _ratio(c, x, lambda: c.named(_beside(c, x), lambda b: atan2(c, b, x)))


class Floats:
    """The calculator of Python's own numbers."""

    none = None

    @staticmethod
    def constant(value: float) -> float:
        """The number itself."""
        return value

    @staticmethod
    def named(value: float, body: Callable[[float], Any]) -> Any:
        """The body of the value."""
        return body(value)

    @staticmethod
    def choose(condition: bool, yes: Lazy, no: Lazy) -> Any:
        """One of two."""
        return yes() if condition else no()

    @staticmethod
    def less(left: float, right: float) -> bool:
        """Is the left one less?"""
        return left < right

    @staticmethod
    def same(left: float, right: float) -> bool:
        """Are they equal?"""
        return left == right

    @staticmethod
    def is_nan(value: float) -> bool:
        """Is it NaN?"""
        return math.isnan(value)

    @staticmethod
    def floor(value: float) -> float:
        """The whole number below."""
        return float(math.floor(value))

    @staticmethod
    def sqrt(value: float) -> float:
        """The square root."""
        return math.sqrt(value)

    @staticmethod
    def two_to(value: float) -> float:
        """A power of 2."""
        return math.ldexp(1.0, int(value))

    @staticmethod
    def ten_to(value: float) -> float:
        """A power of 10."""
        return float(f"1e{int(value)}")

    @staticmethod
    def exponent(value: float) -> float:
        """The power of 2 in a number."""
        return float(math.frexp(value)[1] - 1)

    @staticmethod
    def repeated(value: float, times: float) -> float:
        """A whole power, by squaring."""
        result, bits = 1.0, int(times)
        for _ in range(11):
            if bits & 1:
                result *= value
            value *= value
            bits >>= 1
        return result


_FLOATS = Floats()
FUNCTIONS: dict[str, Callable[..., Number]] = {
    "exp": exp, "ln": ln, "log2": log2, "log10": log10, "log1p": log1p, "expm1": expm1, "power": power, "cbrt": cbrt,
    "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos, "atan": atan, "atan2": atan2,
}  # fmt: skip


def computed(name: str) -> Callable[..., float | None]:
    """A function of Python floats."""
    function = FUNCTIONS[name]

    def of_values(*values: float) -> float | None:
        result: float | None = function(_FLOATS, *values)
        return None if result is None else result + 0.0  # a zero without its sign

    return of_values
