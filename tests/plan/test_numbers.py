"""Which type a column of JSON numbers has: by how they are written, and by what the column was before."""

from __future__ import annotations

import pytest

from lakelogic.plan.columns.numbers import OTHERS, Shape, shape_of, type_of
from lakelogic.sql.types import STRING, parse_type


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ("0 -0 0.0 -0.0", "bigint"),
        ("1 1.0 1e3 -2.5E2", "bigint"),
        ("9223372036854775807 -9223372036854775808", "bigint"),
        ("9223372036854775808", "decimal(38,0)"),
        ("99999999999999999999999999999999999999", "decimal(38,0)"),
        ("1.5 1e3", "decimal(25,6)"),
        ("9223372036854775807 0.000001", "decimal(25,6)"),
        ("1.50000000000", "decimal(25,6)"),
        ("0.0000001", "decimal(38,18)"),
        ("18446744073709551615 0.5", "decimal(38,18)"),
        ("1e17", "double"),  # an exponent is read where a double counts, and there it stops
        ("1e-30 0.1", "double"),
        ("0.30000000000000004", "decimal(38,18)"),
        ("1.7976931348623157e308 5e-324", "double"),
        ("1e400", "string"),
        ("1.23456789012345678901", "string"),
        ("1e-30 9007199254740993", "string"),  # no double is that whole number
        ("1000000000000000000000000000000000000001", "string"),
    ],
)
def test_the_first_type_that_holds_all_numbers_exactly(texts: str, kind: str) -> None:
    assert str(type_of(shape_of(texts.split()))) == kind
    one_by_one = Shape()
    for text in reversed(texts.split()):
        one_by_one |= shape_of([text])
    assert str(type_of(one_by_one)) == kind


@pytest.mark.parametrize(
    ("before", "texts", "kind"),
    [
        ("bigint", "1", "bigint"),
        ("bigint", "1.5", "decimal(25,6)"),
        ("bigint", "9223372036854775808", "decimal(38,0)"),
        ("bigint", "1e-30", "bigint"),  # nothing holds both: the row with it is bad
        ("decimal(25,6)", "1", "decimal(25,6)"),
        ("decimal(25,6)", "0.0000001", "decimal(38,18)"),
        ("decimal(10,2)", "1.25", "decimal(10,2)"),
        ("decimal(10,2)", "1.255", "decimal(25,6)"),
        ("int", "123456789", "int"),
        ("int", "2147483648", "bigint"),
        ("double", "7", "double"),
        ("double", "9007199254740993", "double"),
        ("string", "1", "string"),
    ],
)
def test_a_type_grows_and_is_never_taken_back(before: str, texts: str, kind: str) -> None:
    assert str(type_of(shape_of(texts.split()), parse_type(before))) == kind


def test_what_is_no_number_makes_text_and_leaves_numbers_that_are_there() -> None:
    assert type_of(OTHERS | shape_of(["1"])) == STRING
    assert type_of(Shape()) == STRING
    assert str(type_of(OTHERS, parse_type("bigint"))) == "bigint"
    assert str(type_of(Shape(), parse_type("decimal(25,6)"))) == "decimal(25,6)"


def test_a_shape_comes_back_from_a_worker() -> None:
    shape = shape_of(["1.5", "1e-30", "12345678901234567890"])
    assert Shape.of_list(shape.as_list()) == shape
