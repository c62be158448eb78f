"""Statements: names are quoted whatever is in them, values never stand in the text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lakelogic.errors import ExportError
from lakelogic.exports import databricks, snowflake, warehouse


def test_a_merge_by_key_leaves_the_key_alone_and_names_every_column_twice():
    assert warehouse.merge(databricks.DIALECT, "`t`", "`s`", ["id", "total"], ["id"]) == (
        "MERGE INTO `t` AS t USING `s` AS s ON t.`id` = s.`id` WHEN MATCHED THEN UPDATE SET `total` = s.`total` "
        "WHEN NOT MATCHED THEN INSERT (`id`, `total`) VALUES (s.`id`, s.`total`)"
    )
    only_keys = warehouse.merge(databricks.DIALECT, "`t`", "`s`", ["a", "b"], ["a", "b"])
    assert "UPDATE" not in only_keys
    assert "ON t.`a` = s.`a` AND t.`b` = s.`b`" in only_keys


@pytest.mark.parametrize(
    ("written", "there"),
    [
        ("region", '"REGION"'),
        ("Region_1", '"REGION_1"'),
        ("amount (usd)", '"amount (usd)"'),
        ('a"; DROP TABLE x; --', '"a""; DROP TABLE x; --"'),
        ("größe", '"größe"'),
    ],
)
def test_snowflake_folds_plain_names_as_it_would_itself_and_keeps_all_others(written, there):
    assert snowflake.DIALECT.quoted(written) == there


def test_databricks_keeps_names_and_doubles_their_quotes():
    assert databricks.DIALECT.path("lab", "go`ld", "K pis") == "`lab`.`go``ld`.`K pis`"


@pytest.mark.parametrize("name", ["", "a\nb", "a\0b", "x" * 256])
def test_what_cannot_be_a_name_is_refused(name):
    with pytest.raises(ExportError, match="cannot be a name"):
        snowflake.DIALECT.quoted(name)


@pytest.mark.parametrize(
    ("kind", "in_snowflake", "in_databricks"),
    [
        (pa.string(), "VARCHAR", "string"),
        (pa.bool_(), "BOOLEAN", "boolean"),
        (pa.int32(), "NUMBER(19,0)", "int"),
        (pa.int64(), "NUMBER(19,0)", "bigint"),
        (pa.float64(), "FLOAT", "double"),
        (pa.decimal128(14, 2), "NUMBER(14,2)", "decimal(14,2)"),
        (pa.date32(), "DATE", "date"),
        (pa.timestamp("us", "UTC"), "TIMESTAMP_TZ(6)", "timestamp"),
        (pa.timestamp("us"), "TIMESTAMP_NTZ(6)", "timestamp_ntz"),
        (pa.binary(), "BINARY", "binary"),
        (pa.list_(pa.int64()), "VARIANT", "array<bigint>"),
        (pa.struct([("a", pa.string())]), "VARIANT", "struct<a:string>"),
    ],
)
def test_every_type_of_a_contract_has_one_there(kind, in_snowflake, in_databricks):
    assert (snowflake.type_of(kind), databricks.type_of(kind)) == (in_snowflake, in_databricks)


def test_columns_that_are_new_are_found_in_the_spelling_of_the_other_side():
    schema = pa.schema([("region", pa.string()), ("margin", pa.float64())])
    assert warehouse.new_columns(snowflake.DIALECT, schema, ["REGION"]).names == ["margin"]
    assert warehouse.new_columns(databricks.DIALECT, schema, ["Region", "MARGIN"]).names == []
