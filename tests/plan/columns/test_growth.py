"""Which types hold all values of others, and which type holds those of two."""

from __future__ import annotations

import pytest

from lakelogic.plan.columns.growth import added_fields, fitted, only_adds_fields, union, widens
from lakelogic.sql.types import parse_type


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "bigint"),
        ("tinyint", "smallint"),
        ("int", "double"),  # 53 bits hold 32
        ("float", "double"),
        ("int", "decimal(10,0)"),  # ten digits
        ("bigint", "decimal(19,0)"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("decimal(10,2)", "decimal(12,4)"),  # eight digits before the point in both
        ("struct<a:int>", "struct<a:int,b:string>"),
        ("array<struct<a:int>>", "array<struct<a:bigint,b:string>>"),
        ("map<string,int>", "map<string,bigint>"),
    ],
)
def test_a_type_that_holds_every_value_is_wider_and_never_the_other_way_round(old: str, new: str) -> None:
    assert widens(parse_type(old), parse_type(new))
    assert not widens(parse_type(new), parse_type(old))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "int"),
        ("bigint", "double"),  # 2**53 + 1 is no double
        ("int", "decimal(9,0)"),
        ("decimal(10,2)", "decimal(11,4)"),  # one digit less before the point
        ("decimal(10,2)", "double"),
        ("int", "string"),
        ("date", "timestamp"),
        ("struct<a:int,b:string>", "struct<a:int>"),
        ("struct<a:int,b:int>", "struct<b:int,a:int>"),  # other places
        ("array<int>", "map<string,int>"),
    ],
)
def test_a_type_that_would_lose_a_value_is_not_wider(old: str, new: str) -> None:
    assert not widens(parse_type(old), parse_type(new))


@pytest.mark.parametrize(
    ("stored", "new", "both"),
    [
        ("int", "int", "int"),
        ("bigint", "int", "bigint"),
        ("int", "bigint", "bigint"),
        ("date", "timestamp", "timestamp"),
        ("timestamp_ntz", "date", "timestamp_ntz"),
        ("float", "int", "double"),
        ("int", "decimal(4,2)", "decimal(12,2)"),  # ten digits and two decimals
        ("decimal(38,0)", "decimal(38,18)", None),  # 56 digits
        ("timestamp", "timestamp_ntz", None),
        ("int", "string", None),
        ("struct<a:int>", "struct<a:int,b:string>", "struct<a:int,b:string>"),
        ("struct<a:int,b:string>", "struct<b:string,c:date>", "struct<a:int,b:string,c:date>"),
        ("boolean", "int", None),
    ],
)
def test_a_type_for_the_values_of_both(stored: str, new: str, both: str | None) -> None:
    found = union(parse_type(stored), parse_type(new))
    assert (None if found is None else str(found)) == both


def test_values_go_into_the_type_of_the_table_where_it_holds_them() -> None:
    assert str(fitted(parse_type("int"), parse_type("bigint"))) == "bigint"
    assert str(fitted(parse_type("bigint"), parse_type("int"))) == "bigint"  # for the policy to judge
    stored = parse_type("struct<Sku:string,price:bigint>")
    assert str(fitted(parse_type("struct<size:int,price:int,sku:string>"), stored)) == (
        "struct<Sku:string,price:bigint,size:int>"
    )


def test_new_fields_are_called_by_their_paths() -> None:
    old = parse_type("array<struct<sku:string>>")
    new = parse_type("array<struct<sku:string,price:struct<net:int>>>")
    assert [(path, str(kind)) for path, kind in added_fields(old, new, "items")] == [
        ("items[].price", "struct<net:int>")
    ]
    assert only_adds_fields(old, new)
    assert not only_adds_fields(parse_type("struct<a:int>"), parse_type("struct<a:bigint,b:int>"))
