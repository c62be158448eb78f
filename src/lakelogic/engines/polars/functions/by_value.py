"""What Polars has no expression for, done on whole columns in Python, as rarely as possible.

Each function takes and gives a series; NULL stays NULL. Where a native operation is right for most values,
only the others are touched one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, InvalidOperation, Overflow
from typing import Any

import polars as pl

from lakelogic.sql.json_text import Misfit, parse

_EXACT = Context(prec=100)
_EXPONENT_FROM, _EXPONENT_TO = -4, 16


def each(function: Callable[[Any], Any], to: Any) -> Callable[[pl.Series], pl.Series]:
    """A function of one value, applied to every value that is not NULL."""

    def apply(values: pl.Series) -> pl.Series:
        results = [None if value is None else function(value) for value in values.to_list()]
        return pl.Series(values.name, results, dtype=to)

    return apply


# An escaped backslash is passed by, so that what follows it is not taken for an escape.
_ESCAPE = re.compile(r"\\\\|\\u[0-9a-f]{4}")


def capital_escapes(values: pl.Series) -> pl.Series:
    """JSON whose escapes have capital letters: Polars writes small ones."""
    if not values.str.contains("\\u00", literal=True).any():
        return values
    return each(lambda text: _ESCAPE.sub(_capital, text), pl.String)(values)


def _capital(escape: re.Match[str]) -> str:
    return escape[0] if escape[0] == "\\\\" else "\\u" + escape[0][2:].upper()


def each_of(args: Sequence[pl.Expr], function: Callable[..., Any], to: Any) -> pl.Expr:
    """A function of several values, applied to every row in which none of them is NULL."""
    if len(args) == 1:
        return args[0].map_batches(each(function, to), return_dtype=to, is_elementwise=True)

    def apply(rows: pl.Series) -> pl.Series:
        columns = [column.to_list() for column in rows.struct.unnest().get_columns()]
        results = [None if None in row else function(*row) for row in zip(*columns, strict=True)]
        return pl.Series(rows.name, results, dtype=to)

    fields = [value.alias(f"a{index}") for index, value in enumerate(args)]
    return pl.struct(fields).map_batches(apply, return_dtype=to, is_elementwise=True)


def real_text(values: pl.Series) -> pl.Series:
    """Floating point numbers as canonical text: the shortest digits, written as Python writes them."""
    if values.dtype == pl.Float32:
        values = values.cast(pl.String).cast(pl.Float64)  # the double with the float's shortest digits
    texts = values.cast(pl.String)
    size = values.abs()
    odd = (size < 1e-3) | (size >= 1e15) | ~values.is_finite()
    positions = odd.fill_null(False).arg_true()
    if not len(positions):
        return texts
    rewritten = [canonical_real(texts[index]) for index in positions.to_list()]
    return texts.scatter(positions, rewritten)


def canonical_real(text: str) -> str:
    """A number in any notation with its shortest digits → the notation of `repr`."""
    low = text.lower()
    if low in ("nan", "inf", "-inf"):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[low]
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    shown = "".join(str(digit) for digit in digits).rstrip("0") or "0"
    minus = "-" if sign else ""
    if shown.strip("0") == "":
        return f"{minus}0.0"
    shown = shown.lstrip("0")
    point = Decimal(text).adjusted()  # the power of ten of the first digit
    if _EXPONENT_FROM <= point < _EXPONENT_TO:
        if point < 0:
            return f"{minus}0.{'0' * (-point - 1)}{shown}"
        padded = shown.ljust(point + 1, "0")
        return f"{minus}{padded[: point + 1]}.{padded[point + 1 :] or '0'}"
    fraction = f".{shown[1:]}" if len(shown) > 1 else ""
    return f"{minus}{shown[0]}{fraction}e{'-' if point < 0 else '+'}{abs(point):02d}"


def real_decimal(precision: int, scale: int) -> Callable[[pl.Series], pl.Series]:
    """Floating point numbers as decimals, by their shortest text; NULL where that has too many digits."""

    def decimal_of(text: str) -> Decimal | None:
        return None if text.endswith(("NaN", "y")) else fitting(Decimal(text), precision, scale)

    return lambda values: each(decimal_of, pl.Decimal(precision, scale))(real_text(values))


def fitting(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """A decimal in so many digits, NULL when it does not fit exactly."""
    try:
        fitted = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    except (InvalidOperation, Overflow):
        return None
    return fitted if fitted == value and fitted.copy_abs() < Decimal(10) ** (precision - scale) else None


def _remainder(pair: dict[str, float | None]) -> float | None:
    left, right = pair.values()
    if left is None or right is None or right == 0:
        return None
    return math.nan if math.isinf(left) or math.isnan(left) or math.isnan(right) else math.fmod(left, right)


# The exact remainder of two doubles in a struct, with the sign of the first, NULL for a zero divisor.
# The native one is computed from a rounded quotient.
remainder = each(_remainder, pl.Float64)


def rounded_real(digits: int) -> Callable[[pl.Series], pl.Series]:
    """Doubles rounded half away from zero as they are written: 1.005 to two digits is 1.01."""

    def apply(values: pl.Series) -> pl.Series:
        exact = values.cast(pl.String).cast(pl.Decimal(38, 18), strict=False)
        rounded = exact.round(digits, mode="half_away_from_zero").cast(pl.String).cast(values.dtype)
        small = (values.abs() < 1e15).fill_null(False)
        return pl.select(pl.when(small).then(rounded).otherwise(values)).to_series().alias(values.name)

    return apply


def decimal_arithmetic(function: str, precision: int, scale: int) -> Callable[[pl.Series], pl.Series]:
    """`add`, `subtract` or `multiply` of the two fields of a struct; NULL beyond the digits.

    Polars stops on overflow, so a batch in which it happens is computed value by value.
    """
    to = pl.Decimal(precision, scale)
    wide = pl.Decimal(38, scale)

    def apply(pairs: pl.Series) -> pl.Series:
        sides = pairs.struct.unnest()
        left, right = sides.to_series(0), sides.to_series(1)
        wide_left, wide_right = left.cast(wide, strict=False), right.cast(wide, strict=False)
        if wide_left.null_count() == left.null_count() and wide_right.null_count() == right.null_count():
            try:
                return _native(function, wide_left, wide_right).cast(wide).cast(to, strict=False)
            except pl.exceptions.PolarsError:
                pass  # an overflow somewhere in the batch: the exact way below finds where
        results = [
            None if first is None or second is None else fitting(_exact(function, first, second), precision, scale)
            for first, second in zip(left.to_list(), right.to_list(), strict=True)
        ]
        return pl.Series(pairs.name, results, dtype=to)

    return apply


def _native(function: str, left: pl.Series, right: pl.Series) -> pl.Series:
    if function == "add":
        return left + right
    return left - right if function == "subtract" else left * right


def _exact(function: str, left: Any, right: Any) -> Decimal:
    first, second = Decimal(left), Decimal(right)
    if function == "add":
        return _EXACT.add(first, second)
    return _EXACT.subtract(first, second) if function == "subtract" else _EXACT.multiply(first, second)


def decimal_total(scale: int, split: int) -> Callable[[pl.Series], pl.Series]:
    """The total of a sum that was split into high and low parts; NULL beyond 38 digits."""

    def total_of(parts: dict[str, int | None]) -> Decimal | None:
        high, low = parts.values()
        if high is None or low is None:
            return None
        return fitting(Decimal(high * split + low).scaleb(-scale, _EXACT), 38, scale)

    return each(total_of, pl.Decimal(38, scale))


def reversed_text(values: pl.Series) -> pl.Series:
    """Characters back to front; the native way turns what a reader sees as one character around, not code points."""
    return each(lambda value: value[::-1], pl.String)(values)


def decoded(values: pl.Series) -> pl.Series:
    """Bytes as UTF-8 text; NULL where they are not."""

    def decoded_text(value: bytes) -> str | None:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return None

    return each(decoded_text, pl.String)(values)


def _json_or_null(value: str) -> str | None:
    try:
        parse(value)
    except Misfit:
        return None
    return value


valid_json = each(_json_or_null, pl.String)


def texts_where(flags: int) -> Callable[[pl.Series], pl.Series]:
    """Lists of the texts whose flag is TRUE, for the rows that have any: a list for every row would cost 70 times."""

    def build(rows: pl.DataFrame) -> pl.Series:
        items = [pl.when(pl.col(f"f{index}")).then(pl.col(f"t{index}")) for index in range(flags)]
        return rows.select(pl.concat_list(items).list.drop_nulls()).to_series()

    return _where_any(flags, build, pl.List(pl.String))


def entries_where(flags: int) -> Callable[[pl.Series], pl.Series]:
    """Maps of the entries whose flag is TRUE, for the rows that have any."""
    to = pl.Map(pl.String, pl.String)

    def build(rows: pl.DataFrame) -> pl.Series:
        names = rows.columns
        entries = []
        for row in rows.iter_rows():
            value = dict(zip(names, row, strict=True))
            entries.append(
                [
                    {"key": value[f"t{index}"], "value": value[f"v{index}"]}
                    for index in range(flags)
                    if value[f"f{index}"]
                ]
            )
        pair = pl.Struct({"key": pl.String, "value": pl.String})
        return pl.Series("entries", entries, dtype=pl.List(pair)).cast(to)

    return _where_any(flags, build, to)


def _where_any(flags: int, build: Callable[[pl.DataFrame], pl.Series], to: Any) -> Callable[[pl.Series], pl.Series]:
    def apply(rows: pl.Series) -> pl.Series:
        frame = rows.struct.unnest()
        raised = frame.select(pl.any_horizontal(pl.col(f"f{index}") for index in range(flags)).fill_null(False))
        mask = raised.to_series()
        if not mask.any():
            return (
                pl.Series(rows.name, [None], dtype=to).new_from_index(0, len(rows))
                if len(rows)
                else pl.Series(rows.name, [], dtype=to)
            )
        built = build(frame.filter(mask))
        place = mask.cast(pl.Int64).cum_sum() - 1
        places = pl.select(pl.when(mask).then(place)).to_series()
        return built.gather(places).alias(rows.name)

    return apply
