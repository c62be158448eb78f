"""A run ends in the same rows whatever the format of its table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.run import faults
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.kinds import kind_of

FORMATS = ["delta", "parquet", "iceberg"]
ORDERS = {
    "source": {"path": "landing/*.csv", "load_mode": "incremental"},
    "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "country", "type": "string"}]},
    "primary_key": ["id"],
}


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def landing(workspace: Path) -> Path:
    (workspace / "landing").mkdir()
    return workspace / "landing"


def orders(form: str, **settings: Any) -> dict[str, Any]:
    return {**ORDERS, "materialization": {"target_path": "shop.silver.orders", "format": form, **settings}}


def run(engine: Any, document: dict[str, Any]) -> Any:
    with DataProcessor(document, engine) as processor:
        return processor.run()


def rows(table: str = "shop.silver.orders") -> list[tuple[Any, ...]]:
    return sorted((row["id"], row["country"]) for row in preview(Surroundings.here(), table, 100).rows)


def test_appended_files_are_read_once_and_bad_rows_go_to_the_queue(engine: Any, landing: Path, form: str) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n,BE\n")
    first = run(engine, orders(form))
    (landing / "b.csv").write_text("id,country\n2,BE\n")
    run(engine, orders(form))
    assert run(engine, orders(form)).status == "no_new_data"
    assert rows() == [(1, "NL"), (2, "BE")]
    assert (first.counts.good, first.counts.quarantined) == (1, 1)
    assert kind_of("lakelogic_warehouse/shop/silver/orders") == form
    assert kind_of("lakelogic_warehouse/shop/quarantine/silver_orders") == "delta"
    assert [row["country"] for row in preview(Surroundings.here(), "shop.quarantine.silver_orders").rows] == ["BE"]


def test_overwrite_leaves_the_rows_of_the_last_run(engine: Any, landing: Path, form: str) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n2,BE\n")
    document = {**orders(form, strategy="overwrite"), "source": {"path": "landing/*.csv"}}
    run(engine, document)
    (landing / "a.csv").write_text("id,country\n2,FR\n")
    run(engine, document)
    assert rows() == [(2, "FR")]


def test_the_table_is_read_by_the_next_contract(engine: Any, landing: Path, form: str) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n2,BE\n")
    run(engine, orders(form))
    (landing / "b.csv").write_text("id,country\n3,NL\n")
    run(engine, orders(form))
    gold = {
        "source": {"path": "shop.silver.orders"},
        "links": [{"name": "again", "table": "shop.silver.orders"}],
        "transformations": [
            {"sql": "SELECT s.id, a.country FROM source s JOIN again a ON s.id = a.id WHERE s.country = 'NL'"}
        ],
        "materialization": {"target_path": "shop.gold.dutch", "format": form, "strategy": "overwrite"},
    }
    run(engine, gold)
    assert rows("shop.gold.dutch") == [(1, "NL"), (3, "NL")]


@pytest.mark.parametrize("point", ["after_stage", "after_quarantine_commit", "after_good_commit"])
def test_a_run_that_stopped_is_completed_by_the_next(
    duckdb_engine: Any, landing: Path, form: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n,BE\n")

    def stop(reached: str) -> None:
        if reached == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(faults, "reach", stop)
        with pytest.raises(KeyboardInterrupt):
            run(duckdb_engine, orders(form))
    run(duckdb_engine, orders(form))
    assert rows() == [(1, "NL")]
    assert preview(Surroundings.here(), "shop.quarantine.silver_orders").total == 1


def test_without_its_ledger_the_next_run_neither_loses_nor_repeats_a_row(
    duckdb_engine: Any, landing: Path, form: str
) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n")
    run(duckdb_engine, orders(form))
    shutil.rmtree("lakelogic_warehouse/.lakelogic")
    (landing / "b.csv").write_text("id,country\n2,BE\n")
    run(duckdb_engine, orders(form))
    assert rows() == [(1, "NL"), (2, "BE")]


def test_a_column_that_the_model_gains_is_added(duckdb_engine: Any, landing: Path, form: str) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n")
    run(duckdb_engine, orders(form))
    (landing / "b.csv").write_text("id,country,city\n2,BE,Ghent\n")
    document = orders(form)
    document["model"] = {"fields": [*ORDERS["model"]["fields"], {"name": "city", "type": "string"}]}
    run(duckdb_engine, document)
    found = sorted((row["id"], row["city"]) for row in preview(Surroundings.here(), "shop.silver.orders").rows)
    assert found == [(1, None), (2, "Ghent")]


def test_a_type_that_grows_is_rewritten(duckdb_engine: Any, landing: Path, form: str) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n")
    run(duckdb_engine, orders(form))
    (landing / "b.csv").write_text(f"id,country\n{2**40},BE\n")
    document = {**orders(form), "schema_policy": {"evolution": "compatible"}}
    document["model"] = {"fields": [{"name": "id", "type": "bigint", "required": True}, ORDERS["model"]["fields"][1]]}
    run(duckdb_engine, document)
    assert rows() == [(1, "NL"), (2**40, "BE")]


@pytest.mark.parametrize("written", [{"type": "iceberg"}, {"format": "iceberg"}])
def test_an_iceberg_table_of_somebody_else_is_a_source_and_a_link(
    engine: Any, landing: Path, written: dict[str, str]
) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    theirs = SqlCatalog("theirs", uri=f"sqlite:///{landing}/theirs.db", warehouse=str(landing))
    theirs.create_namespace("crm")
    rows_ = pa.table({"id": pa.array([1, 2, None], pa.int32()), "country": ["NL", "BE", "FR"]})
    theirs.create_table("crm.people", rows_.schema, location=str(landing / "people")).append(rows_)
    document = {
        **orders("delta"),
        "source": {"path": "landing/people", **written},
        "links": [{"name": "all", "path": "landing/people", "format": "iceberg"}],
        "transformations": [{"sql": "SELECT s.* FROM source s JOIN all a ON s.id = a.id"}],
    }
    result = run(engine, document)
    assert rows() == [(1, "NL"), (2, "BE")]
    assert (result.counts.source, result.counts.quarantined) == (3, 1)


def test_rows_are_merged_by_key(engine: Any, landing: Path, form: str) -> None:
    (landing / "a.csv").write_text("id,country\n1,NL\n2,BE\n")
    run(engine, orders(form, strategy="merge"))
    (landing / "b.csv").write_text(f"id,country\n2,FR\n{2**40},DE\n")
    document = {**orders(form, strategy="merge"), "schema_policy": {"evolution": "compatible"}}
    document["model"] = {"fields": [{"name": "id", "type": "bigint", "required": True}, ORDERS["model"]["fields"][1]]}
    run(engine, document)
    assert rows() == [(1, "NL"), (2, "FR"), (2**40, "DE")]


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_other_readers_of_delta_find_the_rows_of_a_table_with_partitions(
    engine: Any, landing: Path, strategy: str
) -> None:
    """A folder `column=value` between a table's root and its files is a partition to them, known or not."""
    document = orders("delta", strategy=strategy, partition_by=["country"])
    (landing / "a.csv").write_text("id,country\n1,NL\n2,BE\n,BE\n")
    run(engine, document)
    (landing / "b.csv").write_text("id,country\n3,BE\n")
    run(engine, document)
    place = "lakelogic_warehouse/shop/silver/orders"
    assert not [path for path in Path(place).rglob("*") if "=" in path.name]
    expected = [(1, "NL"), (2, "BE"), (3, "BE")]
    assert sorted(pl.read_delta(place).select("id", "country").rows()) == expected
    assert pl.scan_delta(place).filter(pl.col("country") == "NL").select("id").collect().rows() == [(1,)]
    table = DeltaTable(place)
    assert sorted((row["id"], row["country"]) for row in table.to_pyarrow_table().to_pylist()) == expected
