"""What is peculiar to Polars: values that go through Python, and patterns for Rust's regex."""

import math
import random
import struct
import sys
from decimal import Decimal

import polars as pl
import pytest

from lakelogic.engines.exact.patterns import like_parts, like_regex
from lakelogic.engines.polars import stage
from lakelogic.engines.polars.functions import by_value
from lakelogic.engines.polars.functions.strings import BUILDERS
from lakelogic.names import SIDE
from lakelogic.sql.expressions import Call, Column
from lakelogic.sql.types import STRING


def test_doubles_are_written_as_python_writes_them():
    generator = random.Random(7)
    values = [struct.unpack("d", generator.randbytes(8))[0] for _ in range(20_000)]
    values += [generator.uniform(-1e6, 1e6) for _ in range(5_000)] + [10.0**n for n in range(-20, 25)]
    values = [value for value in values if math.isfinite(value)]
    assert by_value.real_text(pl.Series(values)).to_list() == [repr(value) for value in values]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.00001", "1e-05"),
        ("1e16", "1e+16"),
        ("inf", "Infinity"),
        ("-0.0", "-0.0"),
        ("120", "120.0"),
        ("1.5e-7", "1.5e-07"),
    ],
)
def test_any_notation_becomes_the_canonical_one(text, expected):
    assert by_value.canonical_real(text) == expected


def test_like_patterns_fall_into_parts():
    assert like_parts(r"a%_\%b\\") == (("text", "a"), ("any", ""), ("one", ""), ("text", "%b\\"))
    assert like_regex(like_parts("a%b")) == r"(?s)\Aa.*b\z"
    assert like_regex(like_parts("%_@_%._%")) == r"(?s).@..*\.."
    assert like_regex(like_parts("%")) == r"(?s)\z"


def test_a_decimal_that_overflows_in_one_row_is_exact_in_the_others():
    most = Decimal("9" * 38)
    pairs = pl.DataFrame(
        {"l": [most, Decimal(1)], "r": [Decimal(1), Decimal(2)]},
        schema={"l": pl.Decimal(38, 0), "r": pl.Decimal(38, 0)},
    )
    add = by_value.decimal_arithmetic("add", 38, 0)
    assert add(pairs.to_struct("x")).to_list() == [None, Decimal(3)]


@pytest.mark.parametrize("name", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"])
@pytest.mark.parametrize(
    "values", [["", "é", "😀", "a" * 55, "a" * 56, "a" * 5_000, None], [b"", b"\xff\x00", None], [None]]
)
def test_digests_are_the_same_with_and_without_the_plugin(name, values, monkeypatch):
    call, frame = Call(name, (Column("v", STRING),), STRING), pl.DataFrame({"v": values})

    def digests():
        return frame.select(BUILDERS[name](call, [pl.col("v")])).to_series()

    found = digests()
    monkeypatch.setitem(sys.modules, "polars_hash", None)
    assert found.dtype == pl.String
    assert found.to_list() == digests().to_list()


def test_many_rows_are_parted_by_side_in_their_order_and_lost_ones_stay_together():
    frame = pl.DataFrame({SIDE: ["good", None, "bad"] * 1_000, "n": range(3_000)})
    parts = {part.item(0, SIDE): part for part in stage._by_side(frame)}
    assert {side: part.height for side, part in parts.items()} == {"good": 1_000, None: 1_000, "bad": 1_000}
    assert all(part["n"].is_sorted() and part[SIDE].n_unique() == 1 for part in parts.values())
