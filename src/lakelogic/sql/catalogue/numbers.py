"""Arithmetic, rounding, bits and other functions of numbers."""

from __future__ import annotations

from decimal import Decimal
from math import e, pi

from lakelogic.sql.arguments import Args, Builder, Signatures, case, chosen, constant, refuse
from lakelogic.sql.catalogue.row import composed, scalar
from lakelogic.sql.coerce import arithmetic_type, common, number
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, Type, decimal

_BITS = "Right to about 15 digits, and the same to the last bit on every engine."
FUNCTIONS = (
    scalar("add", "numbers", "a + b; try_add(a, b)", "Whole numbers as bigint; beyond it NULL.",
       ("1 + 2", 3), ("9223372036854775807 + 1", None), ("1.5 + 1.25", Decimal("2.75")), ("NULL + 1", None), ("try_add(1, 2)", 3)),
    scalar("subtract", "numbers", "a - b; try_subtract(a, b)", "As addition.", ("1 - 2", -1), ("-9223372036854775807 - 2", None)),
    scalar("multiply", "numbers", "a * b; try_multiply(a, b)", "As addition; decimals in 38 digits, beyond them NULL.",
       ("3 * 4", 12), ("9223372036854775807 * 2", None), ("1.5 * 2", Decimal("3.0"))),
    scalar("divide", "numbers", "a / b; try_divide(a, b)", "Always double; a zero divisor gives NULL.", ("7 / 2", 3.5), ("1 / 0", None), ("1.0 / 4", 0.25)),
    scalar("int_divide", "numbers", "a div b", "The quotient of whole numbers without its fraction, as bigint; a zero divisor gives NULL.",
       ("7 div 2", 3), ("-7 div 2", -3), ("1 div 0", None), ("CAST('-9223372036854775808' AS BIGINT) div -1", None)),
    scalar("modulo", "numbers", "a % b; mod(a, b); try_mod(a, b)", "Remainder with the sign of a; a zero divisor gives NULL. Whole numbers as bigint, decimals exact.",
       ("7 % 3", 1), ("-7 % 3", -1), ("7 % 0", None), ("mod(7.5, 2)", Decimal("1.5"))),
    composed("pmod", "numbers", "pmod(a, b)", "The remainder, moved by b when it is negative.", ("pmod(-7, 3)", 2), ("pmod(7, 3)", 1), ("pmod(-7, -3)", -1), ("pmod(1, 0)", None)),
    scalar("negate", "numbers", "-a; negative(a)", "The opposite.", ("-(3)", -3), ("negative(1.5)", Decimal("-1.5"))),
    scalar("abs", "numbers", "abs(a)", "Without the sign.", ("abs(-2.5)", Decimal("2.5")), ("abs(-3)", 3)),
    scalar("sign", "numbers", "sign(a); signum(a)", "-1.0, 0.0 or 1.0, as double; NaN stays NaN.", ("sign(-3)", -1.0), ("signum(0)", 0.0), ("sign(2.5)", 1.0)),
    scalar("round", "numbers", "round(a); round(a, digits)",
       "Half away from zero, at a constant number of digits; negative ones count left of the point. Doubles stay double and are rounded as they are written, decimals keep their scale, whole numbers become bigint.",
       ("round(2.5)", Decimal("3")), ("round(-2.5)", Decimal("-3")), ("round(CAST(1.255 AS DOUBLE), 1)", 1.3), ("round(7)", 7), ("round(9.5)", Decimal("10.0")), ("round(1250, -2)", 1300), ("round(-1249.9, -2)", Decimal("-1200"))),
    scalar("bround", "numbers", "bround(a); bround(a, digits)", "As round, but half to the even neighbour.",
       ("bround(2.5)", Decimal("2.0")), ("bround(3.5)", Decimal("4.0")), ("bround(CAST(0.125 AS DOUBLE), 2)", 0.12), ("bround(250, -2)", 200)),
    scalar("truncate", "numbers", "truncate(a); truncate(a, digits)", "As round, but toward zero; at most 5 decimals of a double.",
       ("truncate(-2.79, 1)", Decimal("-2.7")), ("truncate(CAST(2.999 AS DOUBLE), 2)", 2.99), ("truncate(199, -2)", 100)),
    scalar("floor", "numbers", "floor(a)", "The bigint below or at a.", ("floor(-1.5)", -2), ("floor(CAST(2.7 AS DOUBLE))", 2)),
    scalar("ceil", "numbers", "ceil(a); ceiling(a)", "The bigint above or at a.", ("ceil(1.2)", 2), ("ceil(-1.5)", -1)),
    scalar("sqrt", "numbers", "sqrt(a)", "The square root, as double; NaN of a negative number.", ("sqrt(2.25)", 1.5), ("sqrt(2)", 1.4142135623730951), ("isnan(sqrt(-1))", True)),
    composed("hypot", "numbers", "hypot(a, b)", "The square root of a² + b², as double.", ("hypot(3, 4)", 5.0), ("hypot(0, -2)", 2.0)),
    composed("radians", "numbers", "radians(a)", "Degrees as radians: times 0.017453292519943295.", ("radians(180)", 3.141592653589793), ("radians(0)", 0.0)),
    composed("degrees", "numbers", "degrees(a)", "Radians as degrees: times 57.29577951308232.", ("degrees(pi())", 180.0), ("degrees(0)", 0.0)),
    scalar("exp", "reals", "exp(x)", f"e to the power of x. {_BITS}", ("exp(0)", 1.0), ("exp(1000)", float("inf")), ("round(exp(1), 12)", 2.718281828459)),
    scalar("expm1", "reals", "expm1(x)", f"exp(x) - 1, exact near 0 as well. {_BITS}", ("expm1(0)", 0.0), ("expm1(1e-20)", 1e-20)),
    scalar("ln", "reals", "ln(x); log(x)", f"The natural logarithm; NULL unless x is above 0. {_BITS}", ("ln(1)", 0.0), ("ln(0)", None), ("log(-1)", None), ("round(ln(10), 12)", 2.302585092994)),
    scalar("log10", "reals", "log10(x); log(10, x)", f"The logarithm to base 10, whole for powers of ten. {_BITS}", ("log10(1000)", 3.0), ("log(10, 0.001)", -3.0), ("log10(0)", None)),
    scalar("log2", "reals", "log2(x); log(2, x)", f"The logarithm to base 2, whole for powers of two. {_BITS}", ("log2(8)", 3.0), ("log2(0.25)", -2.0)),
    composed("log", "reals", "log(base, x)", "ln(x) / ln(base), as double.", ("round(log(3, 81), 12)", 4.0), ("log(1, 5)", None)),
    scalar("log1p", "reals", "log1p(x)", f"ln(1 + x), exact near 0 as well. {_BITS}", ("log1p(0)", 0.0), ("log1p(1e-20)", 1e-20), ("log1p(-1)", None)),
    scalar("power", "reals", "power(x, y); pow(x, y)", f"x to the power of y: by squaring for whole y up to 1024, NaN for a broken power of a negative number. {_BITS}",
       ("power(2, 10)", 1024.0), ("pow(10, -2)", 0.01), ("power(2, 0.5)", 1.4142135623730951), ("power(0, 0)", 1.0), ("power(0, -1)", float("inf")), ("isnan(power(-8, 0.5))", True)),
    scalar("cbrt", "reals", "cbrt(x)", f"The cube root. {_BITS}", ("cbrt(27)", 3.0), ("cbrt(-8)", -2.0)),
    scalar("sin", "reals", "sin(x)", f"The sine of radians; NULL beyond a million of them. {_BITS}", ("sin(0)", 0.0), ("sin(pi() / 2)", 1.0), ("sin(1e7)", None)),
    scalar("cos", "reals", "cos(x)", f"The cosine of radians; NULL beyond a million of them. {_BITS}", ("cos(0)", 1.0), ("cos(pi())", -1.0)),
    scalar("tan", "reals", "tan(x)", f"The tangent of radians; NULL beyond a million of them. {_BITS}", ("tan(0)", 0.0), ("round(tan(pi() / 4), 12)", 1.0)),
    scalar("asin", "reals", "asin(x)", f"The radians that have a sine; NaN beyond -1 and 1. {_BITS}", ("asin(1)", 1.5707963267948966), ("isnan(asin(2))", True)),
    scalar("acos", "reals", "acos(x)", f"The radians that have a cosine; NaN beyond -1 and 1. {_BITS}", ("acos(1)", 0.0), ("acos(-1)", 3.141592653589793)),
    scalar("atan", "reals", "atan(x)", f"The radians that have a tangent. {_BITS}", ("atan(0)", 0.0), ("round(atan(1) * 4, 12)", 3.14159265359)),
    scalar("atan2", "reals", "atan2(y, x)", f"The radians of the point (x, y); NULL for infinite ones. {_BITS}", ("atan2(1, 0)", 1.5707963267948966), ("atan2(0, -1)", 3.141592653589793), ("atan2(0, 0)", 0.0)),
    composed("pi", "numbers", "pi()", "The double next to π.", ("pi()", 3.141592653589793)),
    composed("e", "numbers", "e()", "The double next to Euler's number.", ("e()", 2.718281828459045)),
    scalar("is_nan", "numbers", "isnan(a)", "TRUE for NaN; FALSE for NULL and every other number.", ("isnan(CAST('NaN' AS DOUBLE))", True), ("isnan(1)", False), ("isnan(NULL)", False)),
    composed("nanvl", "numbers", "nanvl(a, b)", "b when a is NaN, otherwise a; as double.", ("nanvl(CAST('NaN' AS DOUBLE), 1)", 1.0), ("nanvl(2, 1)", 2.0)),
    composed("width_bucket", "numbers", "width_bucket(x, low, high, n)", "Into which of n equal parts of low to high x falls, from 1; 0 below, n + 1 at or above the end. NULL when there is no such part.",
       ("width_bucket(5.3, 0.2, 10.6, 5)", 3), ("width_bucket(-1, 0, 10, 5)", 0), ("width_bucket(10, 0, 10, 5)", 6), ("width_bucket(1, 5, 5, 3)", None)),
    scalar("factorial", "numbers", "factorial(n)", "n!, as bigint; NULL below 0 and above 20.", ("factorial(5)", 120), ("factorial(0)", 1), ("factorial(21)", None)),
    scalar("bit_and", "bits", "a & b", "Bit by bit in 64 bits, as all of these; mixed operators need brackets.", ("12 & 10", 8), ("-1 & 255", 255)),
    scalar("bit_or", "bits", "a | b", "Bits that one of them has.", ("12 | 10", 14), ("5 | -8", -3)),
    scalar("bit_xor", "bits", "a ^ b", "Bits that exactly one of them has.", ("12 ^ 10", 6), ("5 ^ -1", -6)),
    scalar("bit_not", "bits", "~a", "All bits turned.", ("~5", -6), ("~(-1)", 0)),
    scalar("bit_count", "bits", "bit_count(a)", "How many of the 64 bits are set, as int.", ("bit_count(7)", 3), ("bit_count(-1)", 64)),
    scalar("shift_left", "bits", "shiftleft(a, n); a << n", "Moved by n bits, 0 to 63; bits beyond the 64th are lost. NULL for another n.", ("shiftleft(3, 2)", 12), ("1 << 63", -9223372036854775808), ("shiftleft(1, 64)", None)),
    scalar("shift_right", "bits", "shiftright(a, n); a >> n", "Moved to the right, the sign kept.", ("shiftright(-8, 1)", -4), ("12 >> 2", 3), ("shiftright(1, -1)", None)),
    scalar("shift_right_unsigned", "bits", "shiftrightunsigned(a, n)", "Moved to the right, zeros from the left.", ("shiftrightunsigned(-1, 60)", 15), ("shiftrightunsigned(8, 1)", 4)),
    scalar("greatest", "numbers", "greatest(a, b, …)", "The largest value; NULLs are passed over.",
       ("greatest(1, NULL, 3)", 3), ("greatest('a', 'b')", "b")),
    scalar("least", "numbers", "least(a, b, …)", "The smallest value; NULLs are passed over.", ("least(2, NULL, 1)", 1), ("least('b', 'a')", "a")),
)  # fmt: skip


def arithmetic(function: str, left: Expression, right: Expression) -> Expression:
    """`add`, `subtract`, `multiply`, `divide` or `modulo` of two numbers, in the types they are computed in."""
    if function == "divide":
        return Call("divide", (convert(left, DOUBLE), convert(right, DOUBLE)), DOUBLE)
    if function == "modulo":
        type_ = remainder_type(left.type, right.type)
        return Call("modulo", (convert(left, type_), convert(right, type_)), type_)
    type_ = arithmetic_type(function, left.type, right.type)
    if type_.kind in ("bigint", "double"):
        left, right = convert(left, type_), convert(right, type_)
    return Call(function, (left, right), type_)


def remainder_type(left: Type, right: Type) -> Type:
    """What a remainder is computed in."""
    if left.is_integer and right.is_integer:
        return BIGINT
    shared = common(left, right)
    assert shared is not None
    # The shared type of wide decimals would cut digits before the point; those are computed as doubles.
    digits = max(t.precision - t.scale for t in (left, right)) if shared.kind == "decimal" else 0
    return shared if shared.kind == "decimal" and digits + shared.scale <= 38 else DOUBLE


def _operator(function: str) -> Builder:
    return lambda a: arithmetic(function, number(a[0], function), number(a[1], function))


def _pmod(a: Args) -> Expression:
    left, right = number(a[0], "pmod"), number(a[1], "pmod")
    rest = arithmetic("modulo", left, right)
    moved = Call("modulo", (convert(arithmetic("add", rest, right), rest.type), convert(right, rest.type)), rest.type)
    return case([(call("lt", rest, convert(Literal(0, INT), rest.type)), moved)], rest)


def whole_number(value: Expression, what: str) -> Expression:
    """A whole number as bigint."""
    converted = number(value, what)
    if not converted.type.is_integer and not (value.type.is_text or value.type.kind == "null"):
        raise refuse(BAD_TYPES, f"{what} needs whole numbers, not {value.type}.", "cast it: CAST(x AS BIGINT)")
    return convert(converted, BIGINT)


def int_divide(left: Expression, right: Expression) -> Expression:
    """The whole quotient."""
    return Call("int_divide", (whole_number(left, "div"), whole_number(right, "div")), BIGINT)


def bits(function: str, *values: Expression) -> Expression:
    """A function of the bits of whole numbers."""
    return Call(function, tuple(whole_number(value, function) for value in values), BIGINT)


def shift(function: str, value: Expression, by: Expression) -> Expression:
    """Bits moved to the side."""
    return Call(function, (whole_number(value, function), convert(whole_number(by, function), INT)), BIGINT)


def _rounding(function: str) -> Builder:
    def build(a: Args) -> Expression:
        value = number(a[0], function)
        digits = constant(a[1], f"{function}'s digits") if len(a) > 1 else 0
        if not isinstance(digits, int) or isinstance(digits, bool) or not -18 <= digits <= 38:
            raise refuse(BAD_ARGUMENTS, f"{function}'s digits must be a whole number from -18 to 38.")
        places = Literal(digits, INT)
        if value.type.is_integer:
            if digits >= 0:
                return convert(value, BIGINT)
            wide = convert(value, decimal(19, 0))
            return convert(Call(function, (wide, places), decimal(20, 0)), BIGINT)
        if value.type.kind == "decimal":
            if digits >= value.type.scale:
                return value
            return Call(function, (value, places), decimal(min(38, value.type.precision + 1), value.type.scale))
        if function == "truncate" and digits > 5:
            raise refuse(
                BAD_ARGUMENTS,
                "truncate keeps at most 5 decimals of a double.",
                "cast it first: CAST(x AS DECIMAL(38,12))",
            )
        return Call(function, (convert(value, DOUBLE), places), DOUBLE)

    return build


def _whole_number(name: str) -> Builder:
    def build(a: Args) -> Expression:
        value = number(a[0], name)
        return convert(value, BIGINT) if value.type.is_integer else Call(name, (value,), BIGINT)

    return build


def _abs(a: Args) -> Expression:
    value = number(a[0], "abs")
    return Call("abs", (value,), value.type)


def _negative(a: Args) -> Expression:
    value = number(a[0], "negative")
    wide = convert(value, BIGINT) if value.type.is_integer else value
    return Call("negate", (wide,), wide.type)


def real(value: Expression, what: str) -> Expression:
    """A number as double."""
    return convert(number(value, what), DOUBLE)


def of_real(name: str) -> Builder:
    """A function of one double that gives a double."""
    return lambda a: Call(name, (real(a[0], name),), DOUBLE)


def _log(a: Args) -> Expression:
    if len(a) == 1:
        return of_real("ln")(a)
    base = a[0]
    if isinstance(base, Literal) and base.value in (2, 10):
        return of_real(f"log{base.value}")(a[1:])
    sides = [Call("ln", (real(value, "log"),), DOUBLE) for value in (a[1], base)]
    return Call("divide", tuple(sides), DOUBLE)


def _two_reals(name: str) -> Builder:
    return lambda a: Call(name, tuple(real(value, name) for value in a), DOUBLE)


def _times(factor: float, what: str) -> Builder:
    return lambda a: Call("multiply", (real(a[0], what), Literal(factor, DOUBLE)), DOUBLE)


def _hypot(a: Args) -> Expression:
    squares = [Call("multiply", (side, side), DOUBLE) for side in (real(value, "hypot") for value in a)]
    return Call("sqrt", (Call("add", tuple(squares), DOUBLE),), DOUBLE)


def _is_nan(a: Args) -> Expression:
    return Call("is_nan", (real(a[0], "isnan"),), BOOLEAN)


def _nanvl(a: Args) -> Expression:
    first = real(a[0], "nanvl")
    return case([(Call("is_nan", (first,), BOOLEAN), real(a[1], "nanvl"))], first)


def _width_bucket(a: Args) -> Expression:
    value, low, high = (real(side, "width_bucket") for side in a[:3])
    parts = convert(number(a[3], "width_bucket"), BIGINT)
    beyond = Call("add", (parts, Literal(1, BIGINT)), BIGINT)
    done = Call("subtract", (value, low), DOUBLE)
    part = Call("multiply", (convert(parts, DOUBLE), done), DOUBLE)
    place = Call("floor", (Call("divide", (part, Call("subtract", (high, low), DOUBLE)), DOUBLE),), BIGINT)
    inside = Call("add", (place, Literal(1, BIGINT)), BIGINT)
    none, zero = Literal(None, BIGINT), Literal(0, BIGINT)
    limit = Literal(float("inf"), DOUBLE)
    broken = [call("ge", Call("abs", (side,), DOUBLE), limit) for side in (value, low, high)]
    rising, falling = call("lt", low, high), call("gt", low, high)
    return case(
        [
            (call("le", parts, zero), none),
            *((condition, none) for condition in broken),
            (call("and", rising, call("lt", value, low)), zero),
            (call("and", rising, call("ge", value, high)), beyond),
            (call("and", falling, call("gt", value, low)), zero),
            (call("and", falling, call("le", value, high)), beyond),
        ],
        inside,
    )


_OF_ONE_REAL = (
    "exp", "expm1", "ln", "log2", "log10", "log1p", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan",
)  # fmt: skip
SIGNATURES: Signatures = {
    "try_add": (2, 2, _operator("add")),
    "try_subtract": (2, 2, _operator("subtract")),
    "try_multiply": (2, 2, _operator("multiply")),
    "try_divide": (2, 2, _operator("divide")),
    "try_mod": (2, 2, _operator("modulo")),
    "mod": (2, 2, _operator("modulo")),
    "pmod": (2, 2, _pmod),
    "div": (2, 2, lambda a: int_divide(a[0], a[1])),
    "negative": (1, 1, _negative),
    "abs": (1, 1, _abs),
    "sign": (1, 1, of_real("sign")),
    "signum": (1, 1, of_real("sign")),
    "round": (1, 2, _rounding("round")),
    "bround": (1, 2, _rounding("bround")),
    "truncate": (1, 2, _rounding("truncate")),
    "floor": (1, 1, _whole_number("floor")),
    "ceil": (1, 1, _whole_number("ceil")),
    "ceiling": (1, 1, _whole_number("ceil")),
    "sqrt": (1, 1, of_real("sqrt")),
    "hypot": (2, 2, _hypot),
    "log": (1, 2, _log),
    "power": (2, 2, _two_reals("power")),
    "pow": (2, 2, _two_reals("power")),
    "atan2": (2, 2, _two_reals("atan2")),
    **{name: (1, 1, of_real(name)) for name in _OF_ONE_REAL},
    "radians": (1, 1, _times(0.017453292519943295, "radians")),
    "degrees": (1, 1, _times(57.29577951308232, "degrees")),
    "pi": (0, 0, lambda _: Literal(pi, DOUBLE)),
    "e": (0, 0, lambda _: Literal(e, DOUBLE)),
    "isnan": (1, 1, _is_nan),
    "nanvl": (2, 2, _nanvl),
    "width_bucket": (4, 4, _width_bucket),
    "factorial": (1, 1, lambda a: Call("factorial", (whole_number(a[0], "factorial"),), BIGINT)),
    "bit_count": (1, 1, lambda a: Call("bit_count", (whole_number(a[0], "bit_count"),), INT)),
    "shiftleft": (2, 2, lambda a: shift("shift_left", a[0], a[1])),
    "shiftright": (2, 2, lambda a: shift("shift_right", a[0], a[1])),
    "shiftrightunsigned": (2, 2, lambda a: shift("shift_right_unsigned", a[0], a[1])),
    "greatest": (2, None, chosen("greatest")),
    "least": (2, None, chosen("least")),
}
