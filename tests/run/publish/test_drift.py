"""Schema drift: what lands beside the model, what the table keeps differently, and what is told about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import DataError, UsageError
from lakelogic.ledger.store import open_ledger

Tried = Callable[..., Any]
TABLE = "lakelogic_warehouse/shop/silver/orders"


def contract(fields: dict[str, str], policy: Any = None, strategy: str = "append", **parts: Any) -> dict[str, Any]:
    keyed = {"primary_key": ["id"]} if strategy == "merge" else {}
    return {
        "dataset": "orders",
        "source": {"path": "in/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": name, "type": type_} for name, type_ in fields.items()]},
        "materialization": {"strategy": strategy, "target_path": "shop.silver.orders", **keyed},
        "lineage": {"enabled": False},
        **({"schema_policy": policy} if policy is not None else {}),
        **parts,
    }


def land(name: str, text: str) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", name).write_text(text)


def run(engine: Any, document: dict[str, Any]) -> Any:
    return DataProcessor(document, engine).run()


def table() -> list[dict[str, Any]]:
    return sorted(DeltaTable(TABLE).to_pyarrow_table().to_pylist(), key=lambda row: row["id"])


def recorded() -> Any:
    from lakelogic.catalogs.local import LocalCatalog

    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        return ledger.runs("orders", limit=1)[0].schema_drift


@pytest.mark.parametrize(
    ("policy", "good", "reasons"),
    [
        ("allow", [("1", "x"), ("2", None)], {}),
        ("drop", [("1", None), ("2", None)], {}),
        ("quarantine", [("2", None)], {"1": ["Unknown fields present: extra"]}),
    ],
)
def test_unknown_fields_stay_go_or_make_the_row_bad(
    tried: Tried, policy: str, good: list[Any], reasons: dict[str, Any]
) -> None:
    document = {"model": {"fields": [{"name": "id"}]}, "schema_policy": {"unknown_fields": policy}}
    found = tried(document, "id,extra\n1,x\n2,\n")
    assert sorted((row["id"], row.get("extra")) for row in found.good) == good
    assert found.reasons("id") == reasons
    assert found.result.report["schema_drift"] == {"source": {"added": {"extra": "string"}}}


def test_unknown_fields_can_stop_the_run(tried: Tried) -> None:
    document = {"model": {"fields": [{"name": "id"}]}, "schema_policy": {"unknown_fields": "fail"}}
    with pytest.raises(DataError, match=r"Unknown fields landed: a, z\.") as caught:
        tried(document, "id,z,a\n1,x,y\n")
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("policy", ["drop", "quarantine", "fail"])
def test_a_column_that_a_pre_step_renames_drops_or_makes_is_not_unknown(tried: Tried, policy: str) -> None:
    document = {
        "model": {"fields": [{"name": "id"}]},
        "schema_policy": {"unknown_fields": policy},
        "transformations": [
            {"rename": {"from": "key", "to": "id"}, "phase": "pre"},
            {"drop": ["noise"], "phase": "pre"},
            {"derive": {"field": "made", "sql": "concat(id, '!')"}, "phase": "pre"},
        ],
    }
    found = tried(document, "key,noise\n1,x\n")
    assert found.values("id", "made") == [("1", "1!")]
    assert found.result.report["schema_drift"] == {}


def test_missing_fields_are_a_reason_only_under_strict_or_quarantine(tried: Tried) -> None:
    model = {"fields": [{"name": "id"}, {"name": "a"}, {"name": "b", "default": "x"}]}
    assert tried({"model": model}, "id\n1\n").values("id", "a", "b") == [("1", None, "x")]
    for policy in ("strict", "quarantine"):
        found = tried({"model": model, "schema_policy": policy}, "id\n1\n")
        assert found.reasons("id") == {"1": ["Missing fields: a"]}
        assert found.result.report["schema_drift"] == {"source": {"missing": ["a"]}}


def test_strict_stops_at_any_difference_with_the_table_and_says_which(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,n,t\n1,1,x\n")
    run(engine, contract({"id": "int", "n": "int", "t": "string"}, "strict"))
    land("b.csv", "id,n,u\n2,2,y\n")
    with pytest.raises(DataError) as caught:
        run(engine, contract({"id": "int", "n": "bigint", "u": "string"}, "strict"))
    assert caught.value.message == (
        "The table shop.silver.orders differs: `u` (string) is new; `t` (string) is gone; "
        "`n` is int there and bigint in the contract."
    )
    assert caught.value.exit_code == 1
    assert len(table()) == 1
    assert recorded() == {
        "table": {
            "added": {"u": "string"},
            "missing": {"t": "string"},
            "changed": {"n": {"old": "int", "new": "bigint"}},
        }
    }


def test_strict_runs_on_while_nothing_differs(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,n\n1,1\n")
    run(engine, contract({"id": "int", "n": "int"}, "strict"))
    land("b.csv", "id,n\n2,2\n")
    assert run(engine, contract({"id": "int", "n": "int"}, "strict")).status == "succeeded"
    assert [row["id"] for row in table()] == [1, 2]
    assert recorded() is None


@pytest.mark.parametrize("strategy", ["append", "merge"])
@pytest.mark.parametrize("policy", ["compatible", "allow"])
def test_types_grow_and_columns_come_under_compatible(engine: Any, workspace: Path, policy: str, strategy: str) -> None:
    land("a.csv", "id,n,d\n1,1,1.5\n2,2,2.5\n")
    run(engine, contract({"id": "int", "n": "int", "d": "decimal(4,1)"}, {"evolution": policy}, strategy))
    land("b.csv", "id,n,d,new\n3,3000000000,123456.75,x\n")
    wider = {"id": "int", "n": "bigint", "d": "decimal(10,2)", "new": "string"}
    result = run(engine, contract(wider, {"evolution": policy}, strategy))
    from decimal import Decimal

    assert table() == [
        {"id": 1, "n": 1, "d": Decimal("1.50"), "new": None},
        {"id": 2, "n": 2, "d": Decimal("2.50"), "new": None},
        {"id": 3, "n": 3000000000, "d": Decimal("123456.75"), "new": "x"},
    ]
    assert result.report["schema_drift"] == {
        "table": {
            "added": {"new": "string"},
            "changed": {
                "n": {"old": "int", "new": "bigint"},
                "d": {"old": "decimal(4,1)", "new": "decimal(10,2)"},
            },
        }
    }


@pytest.mark.parametrize(
    ("policy", "fields", "says"),
    [
        ("compatible", {"id": "int", "n": "string"}, "`n` is int there and string in the contract"),
        ("append", {"id": "int", "n": "bigint"}, "`n` is int there and bigint in the contract"),
        ("merge", {"id": "int", "n": "double"}, "`n` is int there and double in the contract"),
        ("allow", {"id": "int", "n": "date"}, "`n` is int there and date in the contract"),
        ("overwrite", {"id": "int", "n": "date"}, "`n` is int there and date in the contract"),
    ],
)
def test_what_a_policy_forbids_stops_the_run_before_anything_is_read(
    duckdb_engine: Any, workspace: Path, policy: str, fields: dict[str, str], says: str
) -> None:
    land("a.csv", "id,n\n1,1\n")
    run(duckdb_engine, contract({"id": "int", "n": "int"}))
    land("b.csv", "id,n\n2,2\n")
    with pytest.raises(DataError) as caught:
        run(duckdb_engine, contract(fields, {"evolution": policy, "unknown_fields": "drop"}))
    assert says in caught.value.message


def test_a_new_required_field_is_not_compatible_with_rows_that_are_there(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", "id\n1\n")
    run(duckdb_engine, contract({"id": "int"}))
    document = contract({"id": "int", "n": "int"}, {"evolution": "compatible"})
    document["model"]["fields"][1]["required"] = True
    land("b.csv", "id,n\n2,2\n")
    with pytest.raises(DataError, match="`n` is new and required"):
        run(duckdb_engine, document)


@pytest.mark.parametrize("policy", ["compatible", "append", "merge", "allow"])
def test_a_column_that_is_gone_stays_as_null(duckdb_engine: Any, workspace: Path, policy: str) -> None:
    land("a.csv", "id,n\n1,1\n")
    run(duckdb_engine, contract({"id": "int", "n": "int"}))
    land("b.csv", "id\n2\n")
    result = run(duckdb_engine, contract({"id": "int"}, {"evolution": policy}))
    assert table() == [{"id": 1, "n": 1}, {"id": 2, "n": None}]
    assert result.report["schema_drift"] == {"table": {"missing": {"n": "int"}}}


@pytest.mark.parametrize(("policy", "strategy"), [("allow", "append"), ("compatible", "merge")])
def test_a_narrower_type_goes_into_the_wider_column(engine: Any, workspace: Path, policy: str, strategy: str) -> None:
    wide = {"id": "int", "n": "bigint", "d": "decimal(10,2)", "f": "double"}
    narrow = {"id": "int", "n": "smallint", "d": "decimal(4,1)", "f": "int"}
    land("a.csv", "id,n,d,f\n1,5000000000,1.25,0.5\n")
    run(engine, contract(wide, {"evolution": policy}, strategy))
    land("b.csv", "id,n,d,f\n2,7,1.5,3\nx,8,2.5,4\n")
    result = run(engine, contract(narrow, {"evolution": policy}, strategy))
    from decimal import Decimal

    assert table() == [
        {"id": 1, "n": 5000000000, "d": Decimal("1.25"), "f": 0.5},
        {"id": 2, "n": 7, "d": Decimal("1.50"), "f": 3.0},
    ]
    assert result.counts.quarantined == 1
    assert recorded() is None


@pytest.mark.parametrize("policy", ["append", "merge", "overwrite"])
def test_a_narrower_type_changes_no_table(duckdb_engine: Any, workspace: Path, policy: str) -> None:
    land("a.csv", "id,n\n1,5000000000\n")
    run(duckdb_engine, contract({"id": "int", "n": "bigint"}))
    land("b.csv", "id,n\n2,7\n")
    run(duckdb_engine, contract({"id": "int", "n": "int"}, {"evolution": policy}))
    assert table() == [{"id": 1, "n": 5000000000}, {"id": 2, "n": 7}]


def test_a_narrower_type_stops_under_strict(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", "id,n\n1,1\n")
    run(duckdb_engine, contract({"id": "int", "n": "bigint"}))
    land("b.csv", "id,n\n2,2\n")
    with pytest.raises(DataError, match="`n` is bigint there and int in the contract"):
        run(duckdb_engine, contract({"id": "int", "n": "int"}, "strict"))


def test_overwrite_replaces_the_columns_with_the_rows(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,n,t\n1,1,x\n")
    run(engine, contract({"id": "int", "n": "int", "t": "string"}, strategy="overwrite"))
    land("b.csv", "id,n\n2,2024-01-31\n")
    run(engine, contract({"id": "string", "n": "date"}, {"evolution": "overwrite"}, "overwrite"))
    from datetime import date

    assert table() == [{"id": "2", "n": date(2024, 1, 31)}]


def test_a_typed_source_that_lands_another_type_is_told(engine: Any, workspace: Path) -> None:
    import pyarrow as pa

    rows = pa.table({"id": pa.array([1], pa.int64()), "n": ["5"]})
    document = {**contract({"id": "int", "n": "int"}), "source": {"path": "in.parquet"}}
    result = DataProcessor(document, engine).run(rows, materialize=False)
    assert result.report["schema_drift"] == {"source": {"changed": {"id": {"old": "int", "new": "bigint"}}}}


@pytest.mark.parametrize(
    "step",
    [
        {"sql": "lower(trim(mail)) AS mail"},
        {"sql": "SELECT *, lower(mail) AS mail FROM source"},
        {"derive": {"field": "mail", "sql": "upper(mail)"}},
        {"lower": ["mail"]},
        {"map_values": {"field": "mail", "mapping": {"a": "b"}}},
    ],
    ids=["items", "select", "derive", "lower", "map_values"],
)
def test_a_field_that_did_not_land_is_absent_even_where_a_step_reads_it(tried: Tried, step: dict[str, Any]) -> None:
    fields = [{"name": "id"}, {"name": "mail"}]
    found = tried({"model": {"fields": fields}, "transformations": [step]}, "id\n1\n")
    assert found.values("id", "mail") == [("1", None)]
    fields[1]["required"] = True
    found = tried({"model": {"fields": fields}, "transformations": [step]}, "id\n1\n")
    assert found.reasons("id") == {"1": ["Rule failed: mail is required"]}


def test_a_field_that_only_a_post_step_makes_is_judged_after_it(tried: Tried) -> None:
    fields = [{"name": "id"}, {"name": "name", "required": True}, {"name": "both", "required": True}]
    files = {"in.csv": "id,a,b\n1,x,y\n2,,z\n3,,\n", "r.csv": "id,name\n1,one\n2,\n3,three\n"}
    steps = [
        {"coalesce": {"field": "both", "sources": ["a", "b"]}},
        {"sql": "SELECT source.id, r.name, source.both FROM source JOIN r ON r.id = source.id"},
        {"sql": "upper(name) AS name"},
    ]
    document = {"model": {"fields": fields}, "links": [{"name": "r", "path": "r.csv"}], "transformations": steps}
    found = tried(document, files)
    assert found.values("id", "name", "both") == [("1", "ONE", "x")]
    assert found.reasons("id") == {"2": ["Rule failed: name is required"], "3": ["Rule failed: both is required"]}


def quarantined() -> list[dict[str, Any]]:
    (place,) = Path("lakelogic_warehouse/shop/quarantine").iterdir()
    return sorted(DeltaTable(str(place)).to_pyarrow_table().to_pylist(), key=lambda row: row["id"])


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_landed_column_whose_case_changes_goes_into_the_column_of_the_table(
    engine: Any, workspace: Path, strategy: str
) -> None:
    document = contract({"id": "int"}, "allow", strategy)
    land("1.csv", "id,zz\n1,a\n")
    run(engine, document)
    land("2.csv", "id,ZZ\n2,b\n")
    result = run(engine, document)
    assert table() == [{"id": 1, "zz": "a"}, {"id": 2, "zz": "b"}]
    assert engine.collect(result.good).column_names == ["id", "zz"]


def test_a_field_that_is_spelt_anew_goes_into_the_column_of_the_table(engine: Any, workspace: Path) -> None:
    rules = {"quality": {"dataset_rules": [{"sql": "max(A) = 'y'", "name": "newest"}, {"unique": ["A"]}]}}
    masked = {"model": {"fields": [{"name": "ID", "type": "int"}, {"name": "A", "masking": "redact"}]}}
    land("1.csv", "id,a\n1,x\n")
    run(engine, contract({"id": "int", "a": "string"}))
    land("2.csv", "id,a\n2,y\n")
    result = run(engine, contract({"ID": "int", "A": "string"}, **rules))
    assert result.published
    assert recorded() is None
    land("3.csv", "id,a\n3,z\n")
    with pytest.raises(UsageError, match="`a` was written in clear and is masked with `redact` now"):
        run(engine, contract({}, **masked))
    assert table() == [{"id": 1, "a": "x"}, {"id": 2, "a": "y"}]


def test_the_quarantine_table_takes_a_column_whose_case_changed(engine: Any, workspace: Path) -> None:
    document = contract({"id": "int"}, "quarantine") | {"quality": {"max_quarantine_ratio": 1}}
    for name, header in (("1.csv", "id,zz"), ("2.csv", "ID,ZZ")):
        land(name, f"{header}\n{name[0]},x\n")
        run(engine, document)
    found = quarantined()
    assert [(row["id"], row["zz"]) for row in found] == [(1, "x"), (2, "x")]
    assert [row["_lakelogic_errors"] for row in found] == [
        ["Unknown fields present: zz"],
        ["Unknown fields present: ZZ"],
    ]


@pytest.mark.parametrize("policy", ["quarantine", {"evolution": "strict", "unknown_fields": "quarantine"}])
def test_unknown_fields_that_make_rows_bad_are_no_columns_of_the_table(
    engine: Any, workspace: Path, policy: Any
) -> None:
    document = contract({"id": "int"}, policy)
    land("1.csv", "id\n1\n")
    run(engine, document)
    land("2.csv", "id,zz\n2,x\n3,\n")
    result = run(engine, document)
    assert table() == [{"id": 1}, {"id": 3}]
    assert [(row["id"], row["zz"]) for row in quarantined()] == [(2, "x")]
    assert recorded()["source"] == {"added": {"zz": "string"}}
    assert result.counts.quarantined == 1


def test_a_file_without_content_says_nothing_about_its_columns(tried: Tried) -> None:
    found = tried({"model": {"fields": [{"name": "id", "type": "int"}]}, "lineage": {"enabled": False}}, "")
    assert found.result.report["schema_drift"] == {}
    assert found.result.sides.engine.collect(found.result.good).column_names == ["id"]


def test_a_run_that_found_no_files_has_the_columns_of_the_contract(engine: Any, workspace: Path) -> None:
    Path("in").mkdir()
    result = run(engine, contract({"id": "int", "a": "string"}))
    assert result.status == "no_new_data"
    assert engine.collect(result.good).column_names == ["id", "a"]
    assert engine.collect(result.good).num_rows == 0
