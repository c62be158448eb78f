"""A batch without a good row leaves the columns of its table as they are: nothing came that could fill new ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.quarantine.queue import Chosen
from lakelogic.tables.registry import load

TARGET = "lakelogic_warehouse/shop/silver/orders"
OPEN = {"quality": {"max_quarantine_ratio": 1}}


def contract(strategy: str = "merge", kind: str = "int", **parts: Any) -> dict[str, Any]:
    parts = dict(parts)
    return {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "full" if strategy == "overwrite" else "incremental"},
        "primary_key": ["id"],
        "model": {
            "fields": [
                {"name": "id", "type": "int", "required": True},
                {"name": "amount", "type": kind, "min": 0},
            ]
        },
        "materialization": {"strategy": strategy, "target_path": "shop.silver.orders", **parts.pop("settings", {})},
        **parts,
    }


def land(name: str, *lines: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", f"{name}.csv").write_text("\n".join([*lines, ""]))


def run(engine: Any, document: dict[str, Any]) -> Any:
    Path("orders.yaml").write_text(json.dumps(document))
    return DataProcessor("orders.yaml", engine).run()


def replay(engine: Any, document: dict[str, Any]) -> Any:
    return DataProcessor(document, engine).replay(Chosen())


def columns(place: str = TARGET) -> list[str]:
    names = DeltaTable(place).to_pyarrow_table().schema.names
    return [name for name in names if not name.startswith("_lakelogic")]


def ids() -> list[int]:
    return sorted(DeltaTable(TARGET).to_pyarrow_table()["id"].to_pylist())


@pytest.mark.parametrize(
    ("strategy", "status", "parts"),
    # An appended batch behind a closed gate is not replayed; one that was let through is.
    [("merge", "gated", {}), ("scd2", "gated", {}), ("append", "succeeded", OPEN)],
)
def test_a_replay_in_which_no_row_passes_adds_no_column(
    duckdb_engine: Any, workspace: Path, strategy: str, status: str, parts: dict[str, Any]
) -> None:
    document = contract(strategy, **parts)
    land("1", "id,amount", "1,10", "2,20")
    run(duckdb_engine, document)
    before = columns()
    assert "idd" not in before
    land("2", "idd,amount", "3,30", "4,40")
    assert run(duckdb_engine, document).status == status
    done = replay(duckdb_engine, document)
    assert (done.passed, done.failed) == (0, 2)
    assert "table" not in done.result.report["schema_drift"]
    assert columns() == before
    assert ids() == [1, 2]


def test_a_second_replay_with_a_mended_contract_publishes_and_adds_the_column(
    duckdb_engine: Any, workspace: Path
) -> None:
    land("1", "id,amount", "1,10")
    run(duckdb_engine, contract())
    land("2", "id,amount,note", "3,-30,late")
    run(duckdb_engine, contract())
    assert replay(duckdb_engine, contract()).passed == 0
    assert columns() == ["id", "amount"]
    mended = contract()
    mended["model"]["fields"][1]["min"] = -100
    assert replay(duckdb_engine, mended).passed == 1
    assert columns() == ["id", "amount", "note"]
    assert ids() == [1, 3]


@pytest.mark.parametrize("strategy", ["merge", "append", "overwrite"])
def test_a_run_without_a_good_row_adds_no_column(duckdb_engine: Any, workspace: Path, strategy: str) -> None:
    land("1", "id,amount", "1,10", "2,20")
    run(duckdb_engine, contract(strategy, **OPEN))
    if strategy == "overwrite":
        Path("landing/1.csv").unlink()
    land("2", "idd,amount", "3,30", "4,40")
    done = run(duckdb_engine, contract(strategy, **OPEN))
    assert (done.status, done.counts.good, done.counts.quarantined) == ("succeeded", 0, 2)
    assert columns() == ["id", "amount"]
    assert ids() == ([] if strategy == "overwrite" else [1, 2])
    land("3", "id,amount", "5,50")
    if strategy == "overwrite":
        Path("landing/2.csv").unlink()
    assert run(duckdb_engine, contract(strategy, **OPEN)).counts.good == 1
    assert columns() == ["id", "amount"]
    assert ids() == ([5] if strategy == "overwrite" else [1, 2, 5])


def test_types_do_not_grow_for_no_row(duckdb_engine: Any, workspace: Path) -> None:
    wider = {"schema_policy": {"evolution": "compatible"}, **OPEN}
    land("1", "id,amount", "1,10")
    run(duckdb_engine, contract(**wider))
    land("2", "id,amount", "2,-5")
    run(duckdb_engine, contract(kind="bigint", **wider))
    assert DeltaTable(TARGET).to_pyarrow_table().schema.field("amount").type == pa.int32()
    land("3", "id,amount", "3,3000000000")
    run(duckdb_engine, contract(kind="bigint", **wider))
    table = DeltaTable(TARGET).to_pyarrow_table()
    assert table.schema.field("amount").type == pa.int64()
    assert sorted(table["amount"].to_pylist()) == [10, 3000000000]


def test_other_places_gain_no_column_either(duckdb_engine: Any, workspace: Path) -> None:
    settings = {"secondary_targets": [{"target_path": "shop.gold.copies", "strategy": "append"}]}
    land("1", "id,amount", "1,10")
    run(duckdb_engine, contract(settings=settings))
    land("2", "idd,amount", "3,30")
    run(duckdb_engine, contract(settings=settings))
    assert replay(duckdb_engine, contract(settings=settings)).failed == 1
    assert columns() == ["id", "amount"]
    assert columns("lakelogic_warehouse/shop/gold/copies") == ["id", "amount"]


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
@pytest.mark.parametrize("strategy", ["merge", "scd2"])
def test_a_replay_in_which_no_row_passes_makes_no_table(engine: Any, workspace: Path, strategy: str, form: str) -> None:
    document = contract(strategy, settings={"format": form})
    land("1", "idd,amount", "1,10", "2,20")
    assert run(engine, document).status == "gated"
    for _ in range(2):
        done = replay(engine, document)
        assert (done.status, done.passed, done.failed) == ("succeeded", 0, 2)
        assert load(form).state(LocalCatalog().resolve("shop.silver.orders")) is None
    land("2", "id,amount", "1,10", "2,20")
    assert run(engine, document).counts.good == 2
    state = load(form).state(LocalCatalog().resolve("shop.silver.orders"))
    assert state is not None
    assert (state.rows, "id" in state.schema.names) == (2, True)
    assert run(engine, document).status == "no_new_data"


def test_rows_that_a_step_leaves_out_of_a_replay_make_no_table_and_wait(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "id,amount", "1,-10")
    run(duckdb_engine, contract())
    filtered = contract(transformations=[{"sql": "SELECT * FROM source WHERE amount >= 0"}])
    filtered["model"]["fields"][1].pop("min")
    replay(duckdb_engine, filtered)
    assert not Path(TARGET, "_delta_log").exists()
    mended = contract()
    mended["model"]["fields"][1].pop("min")
    assert replay(duckdb_engine, mended).passed == 1
    assert ids() == [1]
