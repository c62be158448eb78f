"""How functions are written in contract SQL: name and arguments → a call of the catalogue, with its type."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from lakelogic.sql.coerce import day, number, text, unify
from lakelogic.sql.expressions import Call, Expression, Literal, call, convert
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES, Problem, SqlProblems
from lakelogic.sql.types import BIGINT, BOOLEAN, DATE, INT, STRING, TIMESTAMP, Type, parse_type

Args = Sequence[Expression]
Builder = Callable[[Args], Expression]


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


def _whole(value: Expression, what: str, least: int) -> Literal:
    found = constant(value, what)
    if not isinstance(found, int) or isinstance(found, bool) or found < least:
        raise refuse(BAD_ARGUMENTS, f"{what} must be a whole number from {least} up.")
    return Literal(found, INT)


def _constant_text(value: Expression, what: str) -> Literal:
    found = constant(value, what)
    if not isinstance(found, str):
        raise refuse(BAD_ARGUMENTS, f"{what} must be a text in quotes.")
    return Literal(found, STRING)


def _text_function(name: str, returns: Type = STRING) -> Builder:
    return lambda a: Call(name, tuple(text(value) for value in a), returns)


def _chosen(name: str) -> Builder:
    def build(a: Args) -> Expression:
        values, type_ = unify(a, f"{name}:")
        return Call(name, values, type_)

    return build


def _coalesce(a: Args) -> Expression:
    values, type_ = unify(a, "coalesce:")
    return Call("coalesce", values, type_)


def _nullif(a: Args) -> Expression:
    (left, right), _ = unify(a, "nullif:")
    return case([(call("eq", left, right), Literal(None, a[0].type))], a[0])


def case(branches: Sequence[tuple[Expression, Expression]], default: Expression | None) -> Expression:
    """CASE with its values in one type."""
    values = [value for _, value in branches]
    ends, type_ = unify([*values, default if default is not None else Literal(None, values[0].type)], "CASE:")
    args: list[Expression] = []
    for (condition, _), value in zip(branches, ends, strict=False):
        args += [condition, value]
    return Call("case", (*args, ends[-1]), type_)


def _round(a: Args) -> Expression:
    value = number(a[0], "round")
    digits = _whole(a[1], "round's digits", 0) if len(a) > 1 else Literal(0, INT)
    return value if value.type.is_integer else Call("round", (value, digits), value.type)


def _whole_number(name: str) -> Builder:
    def build(a: Args) -> Expression:
        value = number(a[0], name)
        return convert(value, BIGINT) if value.type.is_integer else Call(name, (value,), BIGINT)

    return build


def _abs(a: Args) -> Expression:
    value = number(a[0], "abs")
    return Call("abs", (value,), value.type)


def _substring(a: Args) -> Expression:
    start = _whole(a[1], "substring's start", 1)
    size = (_whole(a[2], "substring's length", 0),) if len(a) > 2 else ()
    return Call("substring", (text(a[0]), start, *size), STRING)


def _ends(name: str) -> Builder:
    return lambda a: Call(name, (text(a[0]), _whole(a[1], f"{name}'s length", 0)), STRING)


def _concat_ws(a: Args) -> Expression:
    return Call("concat_ws", (_constant_text(a[0], "concat_ws's separator"), *(text(v) for v in a[1:])), STRING)


def _replace(a: Args) -> Expression:
    to = _constant_text(a[2], "replace's new text") if len(a) > 2 else Literal("", STRING)
    return Call("replace", (text(a[0]), _constant_text(a[1], "replace's old text"), to), STRING)


def matches(subject: Expression, pattern: Expression) -> Expression:
    """A regular expression that is found somewhere in the text."""
    return Call("matches", (text(subject), _pattern(pattern)), BOOLEAN)


def _pattern(value: Expression) -> Literal:
    """A regular expression that all engines read the same way."""
    found = _constant_text(value, "the pattern")
    written = str(found.value)
    try:
        re.compile(written)
    except re.error as error:
        raise refuse(BAD_ARGUMENTS, f"The pattern `{written}` is no regular expression: {error}.") from None
    if unportable := re.search(r"\(\?(?:=|!|<=|<!|>|\()|(?<!\\)(?:\\\\)*\\[1-9]", written):
        raise refuse(
            BAD_ARGUMENTS,
            f"`{unportable[0]}` in the pattern `{written}` is not portable.",
            "the portable syntax is that of RE2: no look-around, no back-references",
        )
    return found


def like(name: str, subject: Expression, pattern: Expression, escape: str | None = None) -> Expression:
    """LIKE or ILIKE, with the escape character written as a backslash."""
    written = str(_constant_text(pattern, f"the pattern of {name.upper()}").value)
    if escape is not None and escape != "\\":
        if len(escape) != 1:
            raise refuse(BAD_ARGUMENTS, "ESCAPE takes one character.")
        written = written.replace("\\", "\\\\").replace(escape * 2, "\0").replace(escape, "\\").replace("\0", escape)
    return Call(name, (text(subject), Literal(written, STRING)), BOOLEAN)


def _regexp_replace(a: Args) -> Expression:
    return Call(
        "regexp_replace",
        (text(a[0]), _pattern(a[1]), _constant_text(a[2], "the new text")),
        STRING,
    )


def _pad(name: str) -> Builder:
    def build(a: Args) -> Expression:
        fill = _constant_text(a[2], f"{name}'s fill") if len(a) > 2 else Literal(" ", STRING)
        if fill.value == "":
            raise refuse(BAD_ARGUMENTS, f"{name}'s fill must not be empty.")
        return Call(name, (text(a[0]), _whole(a[1], f"{name}'s length", 0), fill), STRING)

    return build


def _date_part(name: str) -> Builder:
    def build(a: Args) -> Expression:
        value = a[0]
        if value.type.is_text or value.type.kind == "null":
            value = convert(value, TIMESTAMP if name == "hour" else DATE)
        elif value.type.kind not in ("date", "timestamp", "timestamp_ntz"):
            raise refuse(BAD_TYPES, f"{name} needs a date or a timestamp, not {value.type}.")
        if name == "hour" and value.type.kind == "date":
            value = convert(value, TIMESTAMP)
        return Call(name, (value,), INT)

    return build


def _days_between(a: Args) -> Expression:
    return Call("days_between", (day(a[0], "datediff"), day(a[1], "datediff")), INT)


def _date_add(sign: int) -> Builder:
    def build(a: Args) -> Expression:
        days = convert(number(a[1], "date_add"), INT)
        if sign < 0:
            days = convert(Call("negate", (days,), INT), INT)
        return Call("date_add", (day(a[0], "date_add"), days), DATE)

    return build


def _sha2(a: Args) -> Expression:
    if constant(a[1], "sha2's length") not in (256, 0):
        raise refuse(BAD_ARGUMENTS, "Only sha2(x, 256) is portable.", "write sha2(x, 256)")
    return Call("sha256", (text(a[0]),), STRING)


def _to(type_: Type) -> Builder:
    return lambda a: cast(a[0], type_)


def cast(value: Expression, to: Type) -> Expression:
    """CAST and TRY_CAST: the same, because a value that cannot be converted becomes NULL."""
    source = value.type
    if to.is_nested or source.is_nested:
        if source == to:
            return value
        raise refuse(BAD_TYPES, f"A cast from {source} to {to} is not available yet.")
    impossible = (
        (source.kind == "boolean" and to.kind in ("date", "timestamp", "timestamp_ntz", "binary"))
        or (source.is_number and to.kind in ("date", "timestamp", "timestamp_ntz", "binary"))
        or (
            source.kind in ("date", "timestamp", "timestamp_ntz") and (to.is_number or to.kind in ("boolean", "binary"))
        )
        or (source.kind == "binary" and not (to.is_text or to.kind == "binary"))
    )
    if impossible:
        raise refuse(BAD_TYPES, f"{source} cannot be cast to {to}.")
    return convert(value, to)


class Clock:
    """`now` for one plan: the same instant in every expression of a run."""

    def __init__(self, at: datetime) -> None:
        self.timestamp = Literal(at, TIMESTAMP)
        self.date = Literal(at.date(), DATE)


# SQL name → (least arguments, most arguments or None, builder)
SIGNATURES: dict[str, tuple[int, int | None, Builder]] = {
    "isnull": (1, 1, lambda a: call("is_null", a[0])),
    "isnotnull": (1, 1, lambda a: call("not", call("is_null", a[0]))),
    "coalesce": (1, None, _coalesce),
    "nvl": (2, 2, _coalesce),
    "ifnull": (2, 2, _coalesce),
    "nullif": (2, 2, _nullif),
    "nvl2": (3, 3, lambda a: case([(call("not", call("is_null", a[0])), a[1])], a[2])),
    "abs": (1, 1, _abs),
    "round": (1, 2, _round),
    "floor": (1, 1, _whole_number("floor")),
    "ceil": (1, 1, _whole_number("ceil")),
    "ceiling": (1, 1, _whole_number("ceil")),
    "greatest": (2, None, _chosen("greatest")),
    "least": (2, None, _chosen("least")),
    "lower": (1, 1, _text_function("lower")),
    "lcase": (1, 1, _text_function("lower")),
    "upper": (1, 1, _text_function("upper")),
    "ucase": (1, 1, _text_function("upper")),
    "trim": (1, 1, _text_function("trim")),
    "ltrim": (1, 1, _text_function("ltrim")),
    "rtrim": (1, 1, _text_function("rtrim")),
    "length": (1, 1, _text_function("length", INT)),
    "len": (1, 1, _text_function("length", INT)),
    "char_length": (1, 1, _text_function("length", INT)),
    "character_length": (1, 1, _text_function("length", INT)),
    "substring": (2, 3, _substring),
    "substr": (2, 3, _substring),
    "left": (2, 2, _ends("left")),
    "right": (2, 2, _ends("right")),
    "concat": (1, None, _text_function("concat")),
    "concat_ws": (2, None, _concat_ws),
    "replace": (2, 3, _replace),
    "reverse": (1, 1, _text_function("reverse")),
    "startswith": (2, 2, _text_function("starts_with", BOOLEAN)),
    "starts_with": (2, 2, _text_function("starts_with", BOOLEAN)),
    "endswith": (2, 2, _text_function("ends_with", BOOLEAN)),
    "ends_with": (2, 2, _text_function("ends_with", BOOLEAN)),
    "contains": (2, 2, _text_function("contains", BOOLEAN)),
    "regexp_like": (2, 2, lambda a: matches(a[0], a[1])),
    "rlike": (2, 2, lambda a: matches(a[0], a[1])),
    "regexp": (2, 2, lambda a: matches(a[0], a[1])),
    "regexp_replace": (3, 3, _regexp_replace),
    "lpad": (2, 3, _pad("lpad")),
    "rpad": (2, 3, _pad("rpad")),
    "year": (1, 1, _date_part("year")),
    "month": (1, 1, _date_part("month")),
    "day": (1, 1, _date_part("day")),
    "dayofmonth": (1, 1, _date_part("day")),
    "hour": (1, 1, _date_part("hour")),
    "datediff": (2, 2, _days_between),
    "date_diff": (2, 2, _days_between),
    "date_add": (2, 2, _date_add(1)),
    "date_sub": (2, 2, _date_add(-1)),
    "md5": (1, 1, lambda a: Call("md5", (text(a[0]),), STRING)),
    "sha2": (2, 2, _sha2),
    "to_date": (1, 1, _to(DATE)),
    "to_timestamp": (1, 1, _to(TIMESTAMP)),
}
SIGNATURES |= {
    name: (1, 1, _to(parse_type(name)))
    for name in ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp")
}

# SQL name → catalogue aggregate
AGGREGATES = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "min": "min",
    "max": "max",
    "bool_or": "any_true",
    "any": "any_true",
    "some": "any_true",
    "bool_and": "every_true",
    "every": "every_true",
    "collect_list": "collect_list",
    "array_agg": "collect_list",
    "collect_set": "collect_set",
}

# Functions that read files, reflect or run code: refused by name, on every engine.
FORBIDDEN_FUNCTIONS = frozenset(
    {
        "read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_parquet", "read_text", "read_blob",
        "parquet_scan", "glob", "java_method", "reflect", "try_reflect", "input_file_name", "input_file_block_start",
        "input_file_block_length", "read_files", "query", "query_table", "system", "getenv", "version", "user",
        "current_user", "session_user", "shell", "load_extension",
    }
)  # fmt: skip

# Functions whose value differs from run to run: a re-run could not give the same tables.
UNSTABLE_FUNCTIONS = frozenset(
    {
        "rand", "random", "randn", "uuid", "gen_random_uuid", "shuffle",
        "monotonically_increasing_id", "spark_partition_id",
    }
)  # fmt: skip
