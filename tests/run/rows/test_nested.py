"""Arrays, maps, structs and JSON from files to tables: values, reasons, quarantine and masks, on every engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic import DataProcessor
from lakelogic.errors import SourceError, UsageError
from lakelogic.privacy.keys import load_keys
from lakelogic.privacy.masks import reveal_text

Tried = Callable[..., Any]
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
ORDERS = "\n".join(
    [
        '{"id": 1, "items": [{"sku": "A", "qty": 2, "price": 1.10}, {"sku": "B", "qty": 1, "price": 0.123456789012345678}],'
        ' "tags": ["x", "é"], "more": {"k": 1.50, "a": true}, "extra": {"any": [1, 2.50]}}',
        '{"id": 2, "items": [], "tags": null, "more": {}, "extra": [ ]}',
        '{"id": 3, "items": [{"sku": "A", "qty": "two"}], "tags": ["t"], "more": {"k": 1}, "extra": 7}',
        '{"id": 4, "items": [{"sku": "A", "qty": 0}], "tags": ["t"]}',
        '{"id": 5, "items": {"sku": "A"}, "tags": "t", "extra": "no document"}',
    ]
)
FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "items", "type": "array<struct<sku:string,qty:int,price:decimal(38,18)>>"},
    {"name": "tags", "type": "array<string>"},
    {"name": "more", "type": "map<string,string>"},
    {"name": "extra", "type": "json"},
]


def contract(**more: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "source": {"path": "in.ndjson"},
        "materialization": {"target_path": "shop.silver.orders", "strategy": "append"},
        "model": {"fields": FIELDS},
        "quality": {"row_rules": [{"name": "all_sold", "sql": "forall(items, x -> x.qty > 0)", "nulls": "pass"}]},
    }
    return document | more


def by_id(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in rows}


def test_nested_json_lands_with_its_declared_types_or_says_what_does_not_fit(tried: Tried) -> None:
    found = tried(contract(), {"in.ndjson": ORDERS})
    good, bad = by_id(found.good), by_id(found.bad)

    assert sorted(good) == [1, 2]
    assert good[1]["items"] == [
        {"sku": "A", "qty": 2, "price": Decimal("1.100000000000000000")},
        {"sku": "B", "qty": 1, "price": Decimal("0.123456789012345678")},
    ]
    assert good[1]["tags"] == ["x", "é"]
    assert sorted(good[1]["more"]) == [("a", "true"), ("k", "1.50")]
    assert json.loads(good[1]["extra"]) == {"any": [1, 2.5]}
    assert (good[2]["items"], good[2]["tags"], good[2]["more"]) == ([], None, [])

    assert bad[3]["_lakelogic_errors"] == [
        "Type mismatch: items cannot be cast to array<struct<sku:string,qty:int,price:decimal(38,18)>>"
    ]
    assert bad[3]["items"] is None
    assert bad[3]["tags"] == ["t"]
    assert dict(bad[3]["_lakelogic_original"]) == {"items": '[{"sku":"A","qty":"two"}]'}
    assert bad[4]["_lakelogic_errors"] == ["Rule failed: all_sold (forall(items, x -> x.qty > 0))"]
    assert bad[4]["items"] == [{"sku": "A", "qty": 0, "price": None}]
    assert [reason.split(" cannot")[0] for reason in bad[5]["_lakelogic_errors"]] == [
        "Type mismatch: items",
        "Type mismatch: tags",
        "Type mismatch: extra",
    ]
    assert dict(bad[5]["_lakelogic_original"]) == {"items": '{"sku":"A"}', "tags": "t", "extra": "no document"}


def test_tables_hold_nested_values_on_both_sides(engine: Any, workspace: Path) -> None:
    Path("in.ndjson").write_text(ORDERS, encoding="utf-8")
    with DataProcessor(contract(), engine) as processor:
        assert processor.run().status == "succeeded"
    good = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table().to_pylist()
    bad = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    assert by_id(good)[1]["items"][1]["price"] == Decimal("0.123456789012345678")
    assert by_id(good)[2]["items"] == []
    assert by_id(bad)[4]["items"] == [{"sku": "A", "qty": 0, "price": None}]
    assert dict(by_id(bad)[3]["more"]) == {"k": "1"}


def test_steps_and_rollups_read_and_make_nested_columns(tried: Tried) -> None:
    steps = [
        {"sql": "aggregate(items, 0, (t, x) -> t + x.qty) AS pieces, items.sku AS skus", "phase": "pre"},
        {"sql": "SELECT id, pieces, skus[0] AS first_sku, struct(id AS n, tags AS t) AS whole FROM source", "phase": "post"},
    ]  # fmt: skip
    document = contract(transformations=steps, quality={})
    document["model"] = {"fields": FIELDS[:3]}
    text = (
        '{"id": 1, "items": [{"sku": "A", "qty": 2}, {"sku": "B", "qty": 3}], "tags": ["x"]}\n{"id": 2, "items": []}\n'
    )
    document["transformations"][0]["phase"] = "post"
    found = tried(document, {"in.ndjson": text})
    assert found.values("id", "pieces", "first_sku") == [(1, 5, "A"), (2, 0, None)]
    assert by_id(found.good)[1]["whole"] == {"n": 1, "t": ["x"]}


def test_csv_text_becomes_nested_too(tried: Tried) -> None:
    fields = [
        {"name": "id", "type": "int"},
        {"name": "a", "type": "array<date>"},
        {"name": "p", "type": "struct<x:double>"},
    ]
    found = tried(
        {"model": {"fields": fields}},
        'id,a,p\n1,"[""2024-01-05"", null]","{""x"": ""1e3""}"\n2,[2024],{}\n3,"[]","{""x"": [1]}"\n',
    )
    assert [(row["id"], row["a"], row["p"]) for row in found.good] == [(1, [date(2024, 1, 5), None], {"x": 1000.0})]
    assert found.reasons("id") == {
        2: ["Type mismatch: a cannot be cast to array<date>"],
        3: ["Type mismatch: p cannot be cast to struct<x:double>"],
    }
    assert {row["id"]: dict(row["_lakelogic_original"]) for row in found.bad} == {
        2: {"a": "[2024]"},
        3: {"p": '{"x": [1]}'},
    }


def test_nested_parquet_is_converted_field_by_field(tried: Tried, workspace: Path) -> None:
    rows = [
        {"id": 1, "s": {"b": "7", "a": 1, "z": None}, "l": [1.0, None], "m": [("k", 1)]},
        {"id": 2, "s": {"b": "x", "a": 1, "z": "q"}, "l": [1.5], "m": []},
        {"id": 3, "s": None, "l": None, "m": None},
    ]
    schema = pa.schema(
        [
            ("id", pa.int32()),
            ("s", pa.struct([("b", pa.string()), ("a", pa.int64()), ("z", pa.string())])),
            ("l", pa.list_(pa.float64())),
            ("m", pa.map_(pa.string(), pa.int32())),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), "in.parquet")
    fields = [
        {"name": "id", "type": "int"},
        {"name": "s", "type": "struct<a:int,b:int,c:string>"},
        {"name": "l", "type": "array<int>"},
        {"name": "m", "type": "map<string,string>"},
    ]
    document = {"source": {"path": "in.parquet"}, "model": {"fields": fields}}
    found = tried(document, {"note.txt": ""})
    good, bad = by_id(found.good), by_id(found.bad)
    assert good[1]["s"] == {"a": 1, "b": 7, "c": None}
    assert (good[1]["l"], dict(good[1]["m"])) == ([1, None], {"k": "1"})
    assert (good[3]["s"], good[3]["l"], good[3]["m"]) == (None, None, None)
    assert len(bad[2]["_lakelogic_errors"]) == 2
    assert dict(bad[2]["_lakelogic_original"]) == {"s": '{"b":"x","a":1,"z":"q"}', "l": "[1.5]"}


def test_a_mask_covers_the_json_text_of_a_nested_value(
    engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    monkeypatch.setenv("LAKELOGIC_PII_SALT", "a text of many words for tests")
    fields = [
        {"name": "id", "type": "int"},
        {"name": "home", "type": "struct<city:string,zip:string>", "pii": True, "masking": "encrypt"},
        {"name": "phones", "type": "array<string>", "pii": True, "masking": "hash"},
    ]
    Path("in.ndjson").write_text(
        '{"id": 1, "home": {"zip": "01234", "city": "Köln"}, "phones": ["12", null]}\n'
        '{"id": -1, "home": {"city": "Rom"}, "phones": ["34"]}\n{"id": 2}\n',
        encoding="utf-8",
    )
    document = contract(quality={"row_rules": [{"sql": "id > 0"}, {"sql": "size(phones) < 9", "nulls": "pass"}]})
    document["model"] = {"fields": fields}
    with DataProcessor(document, engine) as processor:
        processor.run()
    good = by_id(DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table().to_pylist())
    bad = by_id(DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist())
    keys = load_keys({"encrypt"}, {"LAKELOGIC_PII_KEY": KEY})
    assert reveal_text(good[1]["home"], keys) == '{"city":"Köln","zip":"01234"}'
    assert reveal_text(bad[-1]["home"], keys) == '{"city":"Rom","zip":null}'
    import hashlib
    import hmac

    assert good[1]["phones"] == hmac.new(b"a text of many words for tests", b'["12",null]', hashlib.sha256).hexdigest()
    assert (good[2]["home"], good[2]["phones"]) == (None, None)


def test_rows_that_differ_only_inside_a_nested_value_are_different_rows(tried: Tried) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "s", "type": "struct<a:int>"}]
    text = '{"id": 1, "s": {"a": 1}}\n{"id": 1, "s": {"a": 2}}\n{"id": 1, "s": {"a": 1}}\n'
    base = {"source": {"path": "in.ndjson"}, "model": {"fields": fields}}
    distinct = {"transformations": [{"sql": "SELECT DISTINCT id, s FROM source"}]}
    once = tried(base | distinct, {"in.ndjson": text})
    assert sorted(row["s"]["a"] for row in once.good) == [1, 2]
    fields[1]["type"] = "map<string,int>"
    first = tried(base | {"transformations": [{"deduplicate": {"on": ["id"]}}]}, {"in.ndjson": text})
    assert [dict(row["s"]) for row in first.good] == [{"a": 1}]


def test_nested_columns_of_an_upstream_table_are_read_and_converted(engine: Any, workspace: Path) -> None:
    upstream = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "s": pa.array([{"x": 1, "Y z": "q"}, None], pa.struct([("x", pa.int32()), ("Y z", pa.string())])),
            "m": pa.array([[("b", 1), ("a", None)], []], pa.map_(pa.string(), pa.int64())),
            "l": pa.array([[{"k": [1.5]}], None], pa.list_(pa.struct([("k", pa.list_(pa.float64()))]))),
        }
    )
    write_deltalake(str(workspace / "up"), upstream)
    fields = [
        {"name": "id", "type": "int"},
        {"name": "s", "type": "struct<x:bigint,`y Z`:string>"},
        {"name": "m", "type": "map<string,decimal(10,1)>"},
        {"name": "l", "type": "array<struct<k:array<string>>>"},
    ]
    document = {
        "source": {"path": str(workspace / "up"), "format": "delta"},
        "materialization": {"target_path": "shop.silver.copy"},
        "model": {"fields": fields},
    }
    with DataProcessor(document, engine) as processor:
        assert processor.run().status == "succeeded"
    found = by_id(DeltaTable("lakelogic_warehouse/shop/silver/copy").to_pyarrow_table().to_pylist())
    assert found[1]["s"] == {"x": 1, "y Z": "q"}
    assert sorted(found[1]["m"]) == [("a", None), ("b", Decimal("1.0"))]
    assert found[1]["l"] == [{"k": ["1.5"]}]
    assert (found[2]["s"], found[2]["m"], found[2]["l"]) == (None, [], None)


@pytest.mark.parametrize("model", [{}, {"model": {"fields": [{"name": "id", "type": "int"}]}}])
def test_nested_columns_that_nobody_declares_land_as_they_are(
    engine: Any, workspace: Path, model: dict[str, Any]
) -> None:
    kind = pa.struct([("at", pa.time64("us")), ("n", pa.uint16()), ("l", pa.list_(pa.int64()))])
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "s": pa.array([{"at": 3_723_000_000, "n": 7, "l": [1]}, None], kind)})  # fmt: skip
    pq.write_table(rows, "in.parquet")
    document = {"source": {"path": "in.parquet"}, "materialization": {"target_path": "shop.silver.tried"}, **model}
    expected = [{"id": 1, "s": {"at": "01:02:03", "n": 7, "l": [1]}}, {"id": 2, "s": None}]
    for data in (None, rows):
        good = engine.collect(DataProcessor(document, engine).run(data).good).select(["id", "s"])
        assert sorted(good.to_pylist(), key=lambda row: row["id"]) == expected


def test_structs_that_not_every_engine_can_hold_are_refused_before_anything_is_read(
    duckdb_engine: Any, workspace: Path
) -> None:
    kind = pa.struct([("a", pa.int32()), ("A", pa.int32())])
    rows = pa.table({"s": pa.array([{"a": 1, "A": 2}], kind)})
    pq.write_table(rows, "in.parquet")
    document = {"source": {"path": "in.parquet"}, "materialization": {"target_path": "shop.silver.tried"}}
    with pytest.raises(SourceError, match=r"Column `s` of .*in\.parquet has a struct with the fields `a` and `A`"):
        DataProcessor(document, duckdb_engine).run(materialize=False)
    with pytest.raises(UsageError, match="a struct with the fields `a` and `A`, alike but for case"):
        DataProcessor(document, duckdb_engine).run(rows)
