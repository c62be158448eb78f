"""What builders of calls share: constants, text and whole-number arguments, patterns, CASE and CAST."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakelogic.sql.coerce import in_one_column, text, unify
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert
from lakelogic.sql.patterns import NotPortable, parse
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES, Problem, SqlProblems
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Type

Args = Sequence[Expression]
Builder = Callable[[Args], Expression]
# SQL name → (least arguments, most arguments or None, builder)
Signatures = dict[str, tuple[int, int | None, Builder]]


def refuse(code: str, message: str, hint: str | None = None) -> SqlProblems:
    """A problem to raise."""
    return SqlProblems([Problem(code, message, hint)])


def constant(value: Expression, what: str) -> object:
    """The value of an argument that must be written out."""
    if isinstance(value, Call) and value.function == "negate" and isinstance(value.args[0], Literal):
        inner = value.args[0].value
        return -inner if isinstance(inner, int) else inner
    if not isinstance(value, Literal) or value.value is None:
        raise refuse(BAD_ARGUMENTS, f"{what} must be a constant.", "write the value itself, not a column")
    return value.value


def whole(value: Expression, what: str, least: int) -> Literal:
    """A constant whole number from `least` up."""
    number = constant(value, what)
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise refuse(BAD_ARGUMENTS, f"{what} must be a whole number from {least} up.")
    return Literal(number, INT)


def constant_text(value: Expression, what: str) -> Literal:
    """A constant text."""
    content = constant(value, what)
    if not isinstance(content, str):
        raise refuse(BAD_ARGUMENTS, f"{what} must be a text in quotes.")
    return Literal(content, STRING)


MOST = 1_000_000  # characters that padding and repeating make, elements of an array that is counted up


def bounded(size: Expression, what: str) -> Expression:
    """A size that no row can make a machine stop: NULL beyond the most there can be, refused when it is a constant."""
    if isinstance(size, Literal):
        if isinstance(size.value, int) and size.value > MOST:
            raise refuse(BAD_ARGUMENTS, f"{what} is {size.value:,}; {MOST:,} is the most.")
        return size
    most = Literal(MOST, INT)
    fits = Call("le", (convert(size, BIGINT), convert(most, BIGINT)), BOOLEAN)
    return Call("case", (fits, size, Literal(None, size.type)), size.type)


def text_function(name: str, returns: Type = STRING) -> Builder:
    """A function whose arguments are all text."""
    return lambda a: Call(name, tuple(text(value) for value in a), returns)


def chosen(name: str) -> Builder:
    """A function that yields one of its arguments, in the type they share."""

    def build(a: Args) -> Expression:
        values, type_ = in_one_column(a, f"{name}:")
        return Call(name, values, type_)

    return build


def portable_pattern(value: Expression) -> Literal:
    """A regular expression that all engines read the same way."""
    pattern = constant_text(value, "the pattern")
    written = str(pattern.value)
    try:
        parse(written)
    except NotPortable as reason:
        raise refuse(
            BAD_ARGUMENTS,
            f"The pattern `{written}` cannot be used: {reason}.",
            "the portable syntax is that of RE2: no look-around, no back-references",
        ) from None
    return pattern


def case(branches: Sequence[tuple[Expression, Expression]], default: Expression | None) -> Expression:
    """CASE with its values in one type."""
    values = [value for _, value in branches]
    ends, type_ = in_one_column([*values, default if default is not None else Literal(None, values[0].type)], "CASE:")
    args: list[Expression] = []
    for (condition, _), value in zip(branches, ends, strict=False):
        args += [condition, value]
    return Call("case", (*args, ends[-1]), type_)


def one_of(value: Expression, items: Sequence[Expression], what: str) -> Expression:
    """value IN (items): each item is compared with the value by itself, so a number in the list costs no text."""
    texts = [item for item in items if item.type.is_text]
    others = [item for item in items if not item.type.is_text]
    if not (value.type.is_text and texts and any(item.type.kind != "null" for item in others)):
        values, _ = unify([value, *items], what)
        return Call("in", values, BOOLEAN)
    sides = (Call("in", unify([value, *part], what)[0], BOOLEAN) for part in (texts, others))
    return Call("or", tuple(sides), BOOLEAN)


def cast(value: Expression, to: Type) -> Expression:
    """CAST and TRY_CAST: the same, because a value that cannot be converted becomes NULL."""
    source = value.type
    if not castable(source, to):
        raise refuse(BAD_TYPES, f"{source} cannot be cast to {to}.")
    return convert(value, to)


def read(value: Expression, to: Type, *, json: bool = False) -> Expression:
    """Landed text as a value of a declared type: exactly. Zeros beyond the scale of a decimal lose nothing.

    In JSON a number such as 1.0 or 1e3 is a whole number.
    """
    plain = cast(value, to)
    if not value.type.is_text:
        return plain
    ways = [plain]
    if (json and to.is_integer) or (to.kind == "decimal" and to.scale < _WIDE.scale):
        ways.append(convert(convert(value, _WIDE), to))
    if json and (to.is_integer or to.kind == "decimal"):
        ways.append(_by_exponent(value, to))
    return Call("coalesce", tuple(ways), to) if len(ways) > 1 else plain


def _by_exponent(value: Expression, to: Type) -> Expression:
    """A whole number that is written with an exponent; a fraction is none.

    So few characters hold at most 15 digits, and so far a double tells every two numbers apart.
    """
    real = convert(value, DOUBLE)
    written = call("or", *(Call("contains", (value, Literal(sign, STRING)), BOOLEAN) for sign in "eE"))
    short = call("le", Call("length", (value,), INT), Literal(LONGEST_EXPONENT, INT))
    safe = call("lt", Call("abs", (real,), DOUBLE), Literal(float(2**53), DOUBLE))
    whole = convert(convert(real, BIGINT), to)
    return Call("case", (call("and", written, call("and", short, safe)), whole, Literal(None, to)), to)


LONGEST_EXPONENT = 17  # characters of a number that is read by its exponent


_WIDE = Type("decimal", precision=38, scale=18)


def castable(source: Type, to: Type) -> bool:
    """Whether some value of one type can become one of the other. Structs go by field name, other nested types by
    what they hold; every nested value has a text, and a text can hold any nested value."""
    if source == to or source.kind == "null":
        return True
    if source.is_nested or to.is_nested:
        if source.is_text or to.is_text:
            return True
        if source.kind != to.kind:
            return False
        if source.kind == "struct":
            types = {name.lower(): type_ for name, type_ in source.fields}
            shared = [(types[name.lower()], type_) for name, type_ in to.fields if name.lower() in types]
            return bool(shared) and all(castable(first, second) for first, second in shared)
        pairs = ((source.key, to.key), (source.element, to.element))
        return all(first is None or second is None or castable(first, second) for first, second in pairs)
    return not (
        (source.kind == "boolean" and to.kind in ("date", "timestamp", "timestamp_ntz", "binary"))
        or (source.is_number and to.kind in ("date", "timestamp", "timestamp_ntz", "binary"))
        or (
            source.kind in ("date", "timestamp", "timestamp_ntz") and (to.is_number or to.kind in ("boolean", "binary"))
        )
        or (source.kind == "binary" and not (to.is_text or to.kind == "binary"))
    )
