"""Promises about runs that a careful user tries to break."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import CompileError, ContractError, DataError, UsageError

TARGET = "lakelogic_warehouse/shop/silver/orders"


def contract(**parts: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "dataset": "orders",
        "source": {"path": "in/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "ts"}, {"name": "v"}]},
        "materialization": {"strategy": "append", "target_path": "shop.silver.orders"},
    }
    return {**base, **parts}


def land(name: str, text: str) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", name).write_text(text)


def table(place: str = TARGET) -> list[tuple[Any, ...]]:
    rows = DeltaTable(place).to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["ts"], row["v"]) for row in rows)


def test_a_row_that_is_older_than_the_table_s_is_not_applied(engine: Any, workspace: Path) -> None:
    merge = {"strategy": "merge", "primary_key": ["id"], "sequence_by": "ts", "target_path": "shop.silver.orders"}
    land("a.csv", "id,ts,v\n1,2020-01-02,new\n2,2020-01-01,x\n")
    DataProcessor(contract(materialization=merge), engine).run()
    land("b.csv", "id,ts,v\n1,2019-01-01,OLD\n2,2020-01-05,y\n")
    DataProcessor(contract(materialization=merge), engine).run()
    assert table() == [(1, "2020-01-02", "new"), (2, "2020-01-05", "y")]


def test_a_lost_ledger_is_read_back_from_the_table(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,a\nx,t,b\n")
    DataProcessor(contract(), duckdb_engine).run()
    shutil.rmtree("lakelogic_warehouse/.lakelogic")
    again = DataProcessor(contract(), duckdb_engine).run()
    assert again.status == "no_new_data"
    land("b.csv", "id,ts,v\n2,t,c\n")
    DataProcessor(contract(), duckdb_engine).run()
    assert table() == [(1, "t", "a"), (2, "t", "c")]
    assert DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().num_rows == 1


def test_a_table_that_was_removed_is_made_again(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,a\n")
    DataProcessor(contract(), duckdb_engine).run()
    shutil.rmtree(TARGET)
    assert DataProcessor(contract(), duckdb_engine).run().status == "succeeded"
    assert table() == [(1, "t", "a")]


def test_a_redirected_run_takes_nothing_from_the_real_target(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,a\n")
    DataProcessor(contract(), duckdb_engine).run()
    land("b.csv", "id,ts,v\n2,t,b\n")
    DataProcessor(contract(), duckdb_engine).run(materialize_target="trial.x.orders")
    assert len(table("lakelogic_warehouse/trial/x/orders")) == 2
    DataProcessor(contract(), duckdb_engine).run()
    assert table() == [(1, "t", "a"), (2, "t", "b")]


def test_a_run_with_nothing_new_still_gives_frames(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,a\n")
    DataProcessor(contract(), engine).run()
    good, bad = DataProcessor(contract(), engine).run()
    assert engine.collect(good).num_rows == 0
    assert "id" in engine.collect(good).column_names
    assert engine.collect(bad).num_rows == 0


def test_a_changed_type_stops_before_anything_is_written(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,a\n")
    DataProcessor(contract(), duckdb_engine).run()
    land("b.csv", "id,ts,v\n2,t,b\nx,t,b\n")
    other = {"fields": [{"name": "id", "type": "string"}, {"name": "ts"}, {"name": "v"}]}
    with pytest.raises(DataError, match="`id` is int there and string in the contract"):
        DataProcessor(contract(model=other), duckdb_engine).run()
    assert not Path("lakelogic_warehouse/shop/quarantine").exists()


def test_a_quarantine_whose_column_changed_its_type_takes_the_row_all_the_same(
    duckdb_engine: Any, workspace: Path
) -> None:
    rule = {"row_rules": [{"sql": "v <> 'bad'"}]}
    land("a.csv", "id,ts,v\n1,5,bad\n")
    DataProcessor(contract(quality=rule), duckdb_engine).run()
    land("b.csv", "id,ts,v\n2,6,bad\n")
    typed = {"fields": [{"name": "id", "type": "int"}, {"name": "ts", "type": "int"}, {"name": "v"}]}
    redirected = {"strategy": "append", "target_path": "shop.silver.orders2"}
    quarantine = {"target": "shop.quarantine.silver_orders"}
    parts = contract(quality=rule, model=typed, materialization=redirected, quarantine=quarantine, dataset="orders2")
    DataProcessor(parts, duckdb_engine).run()
    rows = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    kept = {(row["id"], row["ts"], row["ts__text"]) for row in rows}
    assert {(1, "5", None), (1, None, "5"), (2, None, "6")} == kept


def test_the_lease_of_a_process_that_is_gone_is_taken_over(duckdb_engine: Any, workspace: Path) -> None:
    import socket
    import subprocess
    import sys
    from datetime import timedelta

    from lakelogic.catalogs.local import LocalCatalog
    from lakelogic.ledger.store import open_ledger

    land("a.csv", "id,ts,v\n1,t,a\n")
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        target = str(workspace / TARGET)
        ledger.acquire(target, f"run-x@{socket.gethostname()}:{gone.pid}", timedelta(minutes=10))
    assert DataProcessor(contract(), duckdb_engine).run().status == "succeeded"


def test_freshness_by_a_field_looks_at_the_newest_value(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,2020-01-01,a\n")
    fields = [{"name": "id", "type": "int"}, {"name": "ts", "type": "date"}, {"name": "v"}]
    level = {"freshness": {"threshold": "24h", "field": "ts"}}
    result = DataProcessor(contract(model={"fields": fields}, service_levels=level), engine).run()
    [freshness] = result.report["service_levels"]
    assert freshness["kept"] is False
    assert freshness["value"] > 24 * 365


def test_division_by_a_constant_is_exact_on_every_engine(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,5.0\n2,t,7\n")
    parts = contract(transformations=[{"derive": {"field": "q", "sql": "CAST(v AS DOUBLE) / 3"}}])
    result = DataProcessor(parts, engine).run(materialize=False)
    found = {row["id"]: row["q"] for row in engine.collect(result.good).to_pylist()}
    assert found == {1: 5.0 / 3, 2: 7 / 3}


@pytest.mark.parametrize("mask", ["encrypt", "redact", "partial", "nullify"])
def test_a_key_that_its_mask_cannot_keep_apart_is_refused(workspace: Path, mask: str) -> None:
    model = {"fields": [{"name": "id", "pii": True, "masking": mask}]}
    merge = {"strategy": "merge", "primary_key": ["id"], "target_path": "a.b.c"}
    with pytest.raises(ContractError, match="does not keep keys apart"):
        DataProcessor(contract(model=model, materialization=merge), "duckdb")


def test_dataset_rules_are_not_judged_over_masks(workspace: Path) -> None:
    model = {"fields": [{"name": "id", "pii": True, "masking": "redact"}]}
    with pytest.raises(ContractError, match="would judge the mask"):
        DataProcessor(contract(model=model, quality={"dataset_rules": [{"unique": "id"}]}), "duckdb")


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ({"type": "int", "min": "x"}, "can never be compared with int"),
        ({"type": "date", "max": "2020-13-01"}, "can never be compared with date"),
        ({"type": "int", "accepted_values": ["a", 1]}, "can never be compared with int"),
        ({"pattern": "["}, "cannot be used"),
        ({"pattern": "(?=a)a"}, "is not portable"),
    ],
)
def test_a_constraint_that_no_row_could_keep_is_refused(workspace: Path, field: dict[str, Any], says: str) -> None:
    with pytest.raises(ContractError) as caught:
        DataProcessor(contract(model={"fields": [{"name": "id", **field}]}), "duckdb")
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["~x", "quarantine_state"])
def test_a_column_of_a_typed_file_with_a_reserved_name_is_told(duckdb_engine: Any, workspace: Path, name: str) -> None:
    pq.write_table(pa.table({"id": [1], name: [2]}), workspace / "a.parquet")
    with pytest.raises(CompileError, match="needs for itself"):
        DataProcessor(contract(source={"path": "./a.parquet"}), duckdb_engine).run()


def test_freshness_needs_a_field_that_has_an_age(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,a\n")
    with pytest.raises(UsageError, match="is no date or timestamp"):
        DataProcessor(contract(service_levels={"freshness": {"threshold": "1h", "field": "v"}}), duckdb_engine).run()


def test_a_column_without_a_name_is_called_after_its_place(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,,v\n1,2,3\n")
    result = DataProcessor(contract(), engine).run(materialize=False)
    [row] = engine.collect(result.good).to_pylist()
    assert (row["id"], row["c2"], row["v"]) == (1, "2", "3")


def test_a_map_that_overrides_deepens_what_is_there(workspace: Path) -> None:
    rules = contract(quality={"row_rules": [{"sql": "id > 0"}]})
    processor = DataProcessor(rules, "duckdb", overrides={"quality": {"max_quarantine_ratio": 0.1}})
    assert len(processor.contract.quality.row_rules) == 1
    assert processor.contract.quality.max_quarantine_ratio == 0.1


def test_a_cast_step_keeps_the_text_that_it_could_not_cast(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,ts,v\n1,t,abc\n2,t,7\n")
    result = DataProcessor(contract(transformations=[{"cast": {"columns": {"v": "int"}}}]), engine).run(
        materialize=False
    )
    [row] = engine.collect(result.bad).to_pylist()
    assert row["_lakelogic_errors"] == ["Type mismatch: v cannot be cast to int"]
    assert dict(row["_lakelogic_original"]) == {"v": "abc"}


def test_personal_data_without_a_mask_is_a_warning(workspace: Path) -> None:
    model = {"fields": [{"name": "id", "pii": True}]}
    [warning] = DataProcessor(contract(model=model), "duckdb").validate()
    assert "is personal data and is published in clear" in warning.message


def test_an_unclosed_quote_costs_a_line_and_not_the_file(engine: Any, workspace: Path) -> None:
    land("a.csv", 'id,ts,v\n1,t,"5 inch\n2,t,b\n3,t,c')
    result = DataProcessor(contract(), engine).run(materialize=False)
    good = sorted(row["id"] for row in engine.collect(result.good).to_pylist())
    assert json.dumps(good) == "[2, 3]"
    assert result.counts.quarantined == 1
