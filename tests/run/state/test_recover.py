"""A ledger that is lost or older than the table: the table tells what was read, and nothing is read twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.ledger.store import open_ledger
from lakelogic.run.processor import DataProcessor
from lakelogic.tables.registry import load

CONTRACT = {
    "dataset": "orders",
    "source": {"path": "landing/*.csv", "load_mode": "incremental"},
    "model": {"fields": [{"name": "id", "type": "int", "required": True}]},
}


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def run(request: pytest.FixtureRequest, workspace: Path, duckdb_engine: Any) -> Callable[[], str]:
    (workspace / "landing").mkdir()
    target = {"target_path": "a.b.orders", "format": request.param}
    return lambda: DataProcessor({**CONTRACT, "materialization": target}, engine=duckdb_engine).run().status


def land(name: str, *ids: int) -> None:
    Path("landing", name).write_text("id\n" + "".join(f"{one}\n" for one in ids))


def published(run: Any) -> list[int]:
    catalog = LocalCatalog()
    for form in ("delta", "parquet", "iceberg"):
        if (state := load(form).state(catalog.resolve("a.b.orders"))) is not None:
            break
    import pyarrow.parquet as pq

    assert state is not None
    return sorted(row["id"] for path in state.files for row in pq.ParquetFile(path).read().to_pylist())


def test_a_ledger_that_was_put_back_from_an_older_copy_reads_nothing_twice(run: Callable[[], str]) -> None:
    land("1.csv", 1)
    assert run() == "succeeded"
    kept = Path("lakelogic_warehouse/.lakelogic")
    shutil.copytree(kept, "copy", ignore=shutil.ignore_patterns("iceberg*"))
    land("2.csv", 2)
    assert run() == "succeeded"
    for file in kept.glob("ledger.db*"):
        file.unlink()
    for file in Path("copy").glob("ledger.db*"):
        shutil.copy(file, kept)
    land("3.csv", 3)
    assert run() == "succeeded"
    assert published(run) == [1, 2, 3]
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        assert [r.counts_good for r in ledger.runs("orders") if r.status == "succeeded"].count(1) == 3


def test_a_ledger_that_is_gone_is_filled_from_the_table_once(run: Callable[[], str]) -> None:
    land("1.csv", 1)
    run()
    for file in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        file.unlink()
    assert run() == "no_new_data"
    land("2.csv", 2)
    assert run() == "succeeded"
    assert run() == "no_new_data"
    assert published(run) == [1, 2]
