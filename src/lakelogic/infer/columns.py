"""What a column holds, by a look at its values: its type, whether it may be personal, and what its values keep to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from lakelogic.infer import nested

_INT: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+\.[0-9]+")
_REAL: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_BOOLEANS: Final = frozenset({"true", "false"})
# Numbers by their looks that nobody calculates with.
_NO_NUMBERS: Final = frozenset(
    {"phone", "zip", "postcode", "postal", "iban", "ssn", "account", "barcode", "ean", "fax"}
)
TIMES: Final = frozenset({"date", "day", "at", "on", "time", "timestamp"})
# Measures of the world, of which nobody wants the last digit: a decimal would refuse a value with one more.
_MEASURED: Final = frozenset({"lat", "latitude", "lon", "lng", "long", "longitude", "altitude", "elevation"})
_MOST_SCALE: Final = 6  # digits after the point that amounts have
_ENOUGH, _NEARLY_ALL = 10, 0.9
_MOST_INT, _MOST_BIGINT = 2**31 - 1, 2**63 - 1

# Kind: words of a name, and what values look like. Either is a guess; both together are a good one.
_PERSONAL: Final[tuple[tuple[str, frozenset[str], re.Pattern[str] | None], ...]] = (
    ("an e-mail address", frozenset({"email", "mail"}), re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")),
    ("a telephone number", frozenset({"phone", "mobile", "tel", "telephone", "fax"}), re.compile(r"\+[0-9 ()/-]{7,}")),
    ("an IBAN", frozenset({"iban"}), re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")),
    ("an address of a computer", frozenset({"ip"}), re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")),
    ("a social security number", frozenset({"ssn", "nino"}), re.compile(r"[0-9]{3}-[0-9]{2}-[0-9]{4}")),
    ("a name of a person", frozenset({"firstname", "lastname", "surname", "fullname", "givenname"}), None),
    ("a date of birth", frozenset({"dob", "birthdate", "birthday", "birth"}), None),
    ("a place where somebody lives", frozenset({"street", "address", "postcode", "zip"}), None),
)
_NAMES: Final = re.compile(r"(?:^|_)(?:first|last|full|given|family|middle|maiden|sur)_?name(?:_|$)")


@dataclass(frozen=True, slots=True)
class ColumnDraft:
    """What is told of a column, and why."""

    name: str
    type: str
    why: str
    filled: int
    distinct: int
    personal: str | None = None
    rules: tuple[tuple[str, str, str], ...] = ()  # name, predicate, why
    values: tuple[str, ...] = field(default=(), repr=False)  # where there are few

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        return words(self.name)


def words(name: str) -> list[str]:
    """The words of a name: `customerId` and `customer_id` are the same two."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[^a-z0-9]+", parted.lower()) if word]


def look(
    name: str, values: Sequence[str | None], declared: tuple[str, str] | None = None, more: Sequence[str] = ()
) -> ColumnDraft:
    """What a column holds by some of its values; `declared` is a type that its file tells, and how.

    `more` are values of further rows that are unlike these.
    """
    filled = [value for value in values if value is not None]
    samples = [*filled, *more]
    distinct = set(samples)
    kind, why = declared if declared is not None else type_of(name, samples)
    few = tuple(sorted(distinct)) if len(distinct) <= 12 else ()
    column = ColumnDraft(name, kind, why, len(filled), len(distinct), _personal(name, filled), (), few)
    return replace(column, rules=tuple(_rules(column, samples, len(values))))


def type_of(name: str, values: Sequence[str]) -> tuple[str, str]:
    """The narrowest type that all values have, and why."""
    if not values:
        return "string", "no value was seen"
    if all(value.lower() in _BOOLEANS for value in values):
        return "boolean", "all values are true or false"
    if set(words(name)) & _NO_NUMBERS:
        return "string", "its name says that nobody calculates with it"
    if all(_INT.fullmatch(value) for value in values):
        if any(len(value.lstrip("+-")) > 1 and value.lstrip("+-").startswith("0") for value in values):
            return "string", "some numbers begin with 0, which a number would lose"
        most = max(abs(int(value)) for value in values)
        if most > _MOST_BIGINT:
            return ("decimal(38,0)", "whole numbers that are very long") if most < 10**38 else ("string", "too long")
        return ("int" if most <= _MOST_INT else "bigint"), f"all {len(values)} values are whole numbers"
    if all(_INT.fullmatch(value) or _DECIMAL.fullmatch(value) for value in values):
        scale = max(len(value.partition(".")[2]) for value in values)
        whole = max(len(value.partition(".")[0].lstrip("+-")) for value in values)
        precision = max(18, whole + scale)
        reason = f"numbers with up to {scale} digits after the point"
        if scale > _MOST_SCALE or set(words(name)) & _MEASURED:
            return "double", f"{reason}, as measures have"
        return (f"decimal({precision},{scale})", reason) if precision <= 38 else ("double", reason)
    if all(_INT.fullmatch(value) or _DECIMAL.fullmatch(value) or _REAL.fullmatch(value) for value in values):
        return "double", "numbers, some with an exponent"
    if all(_DATE.fullmatch(value) and _is(date, value) for value in values):
        return "date", f"all {len(values)} values are days, as 2026-02-28"
    if all(_is_instant(value) for value in values):
        return "timestamp", f"all {len(values)} values are instants, as 2026-02-28 12:00:00"
    return _mostly(name, values)


def fits(kind: str, value: str) -> bool:
    """Whether a type that was found by other values holds this one too."""
    match kind:
        case "boolean":
            return value.lower() in _BOOLEANS
        case "int" | "bigint":
            most = _MOST_INT if kind == "int" else _MOST_BIGINT
            digits = value.lstrip("+-")
            return (
                bool(_INT.fullmatch(value))
                and (digits == "0" or not digits.startswith("0"))
                and abs(int(value)) <= most
            )
        case "double":
            return any(shape.fullmatch(value) for shape in (_INT, _DECIMAL, _REAL))
        case "date":
            return bool(_DATE.fullmatch(value)) and _is(date, value)
        case "timestamp":
            return _is_instant(value)
    if kind.startswith("decimal("):
        precision, scale = map(int, kind[len("decimal(") : -1].split(","))
        whole, _, rest = value.lstrip("+-").partition(".")
        is_number = bool(_INT.fullmatch(value) or _DECIMAL.fullmatch(value))
        return is_number and len(rest) <= scale and len(whole) <= precision - scale
    return nested.holds(kind, value) if "<" in kind else True


def _is_instant(value: str) -> bool:
    return bool(_DATE.fullmatch(value) or _INSTANT.fullmatch(value)) and _is(datetime, value)


def _mostly(name: str, values: Sequence[str]) -> tuple[str, str]:
    """A type that nearly all values have, where the name says it too: the others are what a contract is for."""
    if set(words(name)) & TIMES and len(values) >= _ENOUGH:
        for kind, fits in (("date", lambda v: bool(_DATE.fullmatch(v)) and _is(date, v)), ("timestamp", _is_instant)):
            fitting = sum(fits(value) for value in values)
            if fitting >= len(values) * _NEARLY_ALL:
                return kind, f"{fitting} of {len(values)} values are, and its name says so; the others will be bad"
    return "string", "its values have nothing narrower in common"


def _is(kind: type[date] | type[datetime], text: str) -> bool:
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True


def _personal(name: str, values: Sequence[str]) -> str | None:
    """Why a column may hold personal data, or None."""
    name_words = {*words(name), name.lower()}
    for what, named, shape in _PERSONAL:
        fits = shape is not None and bool(values) and sum(bool(shape.fullmatch(v)) for v in values) > len(values) * 0.8
        if fits:
            return f"values look like {what}"
        if name_words & named:
            return f"its name says {what}"
    return "its name says a name of a person" if _NAMES.search("_".join(words(name))) else None


# Keys of something, and notes of whoever wrote the row: their values are few only by chance.
_NO_LISTS: Final = frozenset({"id", "key", "uuid", "by", "op", "operation"})
_AMOUNTS: Final = frozenset(
    {"amount", "price", "premium", "quantity", "qty", "count", "total", "cost", "rate", "balance", "age", "weight"}
)


def _rules(column: ColumnDraft, values: Sequence[str], rows: int) -> list[tuple[str, str, str]]:
    """Rules that all values keep to and that probably are meant: name, predicate, why."""
    rules: list[tuple[str, str, str]] = []
    quoted = quote(column.name)
    safe = "_".join(column.words) or "column"
    if column.personal == "values look like an e-mail address":
        rules.append((f"{safe}_looks_right", f"{quoted} LIKE '%@%.%'", "values look like e-mail addresses"))
    numeric = column.type in ("int", "bigint", "double") or column.type.startswith("decimal")
    if numeric and values and set(column.words) & _AMOUNTS and min(Decimal(value) for value in values) >= 0:
        rules.append((f"{safe}_is_not_negative", f"{quoted} >= 0", "no value is negative, and its name is an amount's"))
    if (
        column.type == "string"
        and column.values
        and not column.personal
        and not set(column.words) & _NO_LISTS
        and rows >= _ENOUGH
        and column.distinct > 1
        and column.distinct * 3 <= column.filled
        and all(len(value) <= 40 for value in column.values)
    ):
        listed = ", ".join("'" + value.replace("'", "''") + "'" for value in column.values)
        reason = f"{column.filled} values are only {column.distinct} different ones"
        rules.append((f"{safe}_is_known", f"{quoted} IN ({listed})", reason))
    return rules


def quote(name: str) -> str:
    """A column name in contract SQL."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"
