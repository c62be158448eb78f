"""Secondary targets get the same good rows: each batch once, also when a run dies in between."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.errors import UnsupportedError, UsageError
from lakelogic.run.publish import commit, secondary
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.kinds import kind_of

OTHERS = [
    {"target_path": "shop.copy.history", "format": "parquet", "strategy": "append"},
    {"target_path": "exports/newest", "format": "iceberg", "strategy": "overwrite"},
]


@pytest.fixture
def landing(workspace: Path) -> Path:
    (workspace / "landing").mkdir()
    return workspace / "landing"


def orders(others: list[dict[str, str]] = OTHERS, **settings: Any) -> dict[str, Any]:
    return {
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "name", "type": "string"}]},
        "primary_key": ["id"],
        "materialization": {"target_path": "shop.silver.orders", **settings, "secondary_targets": others},
    }


def run(engine: Any, document: dict[str, Any], **settings: Any) -> Any:
    with DataProcessor(document, engine) as processor:
        return processor.run(**settings)


def rows(table: str) -> list[tuple[Any, ...]]:
    return sorted((row["id"], row["name"]) for row in preview(Surroundings.here(), table, 100).rows)


def test_other_places_get_the_good_rows_of_every_batch(engine: Any, landing: Path) -> None:
    document = orders(strategy="merge", partition_by=["name"])
    (landing / "a.csv").write_text("id,name\n1,a\n,bad\n")
    run(engine, document)
    (landing / "b.csv").write_text("id,name\n1,b\n2,c\n")
    run(engine, document)
    assert rows("shop.silver.orders") == [(1, "b"), (2, "c")]
    assert rows("shop.copy.history") == [(1, "a"), (1, "b"), (2, "c")]
    assert rows("./exports/newest") == [(1, "b"), (2, "c")]
    assert kind_of("exports/newest") == "iceberg"


def test_a_run_that_died_after_its_first_target_is_completed_by_the_next(
    duckdb_engine: Any, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (landing / "a.csv").write_text("id,name\n1,a\n")

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(commit.secondary, "publish", die)
        with pytest.raises(KeyboardInterrupt):
            run(duckdb_engine, orders())
    assert rows("shop.silver.orders") == [(1, "a")]
    assert kind_of("lakelogic_warehouse/shop/copy/history") is None
    (landing / "b.csv").write_text("id,name\n2,b\n")
    run(duckdb_engine, orders())
    assert rows("shop.silver.orders") == rows("shop.copy.history") == [(1, "a"), (2, "b")]
    assert rows("./exports/newest") == [(2, "b")]


def test_rows_that_an_earlier_version_had_staged_reach_the_other_places(
    duckdb_engine: Any, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It named the folders of both sides `ll_side=…`."""
    document = orders(strategy="append")
    (landing / "a.csv").write_text("id,name\n1,a\n2,b\n")
    with monkeypatch.context() as patched:
        patched.setattr(commit.secondary, "publish", _die)
        with pytest.raises(RuntimeError, match="out of power"):
            run(duckdb_engine, document)
    [file] = Path("lakelogic_warehouse/shop/silver/orders").rglob("good/*.parquet")
    file.parent.rename(file.parent.with_name("ll_side=good"))
    for log in Path("lakelogic_warehouse/shop/silver/orders/_delta_log").glob("*.json"):
        log.write_text(log.read_text().replace("/good/", "/ll_side=good/"))
    run(duckdb_engine, document)
    for table in ("shop.silver.orders", "shop.copy.history", "./exports/newest"):
        assert rows(table) == [(1, "a"), (2, "b")]


def test_a_run_that_died_between_two_places_gives_each_its_rows_once(
    duckdb_engine: Any, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (landing / "a.csv").write_text("id,name\n1,a\n")
    brought, seen = secondary._brought, []

    def die_at_the_second(staging: str, other: Any) -> Any:
        seen.append(other.name)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return brought(staging, other)

    with monkeypatch.context() as patched:
        patched.setattr(secondary, "_brought", die_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            run(duckdb_engine, orders())
    assert run(duckdb_engine, orders()).status == "no_new_data"
    assert rows("shop.copy.history") == rows("./exports/newest") == [(1, "a")]


def test_places_that_outlive_the_first_target_and_the_ledger_still_get_new_rows(
    duckdb_engine: Any, landing: Path
) -> None:
    for number in (1, 2):
        (landing / f"{number}.csv").write_text(f"id,name\n{number},a\n")
        run(duckdb_engine, orders())
    shutil.rmtree("lakelogic_warehouse/.lakelogic")
    shutil.rmtree("lakelogic_warehouse/shop/silver")
    run(duckdb_engine, orders())
    assert rows("./exports/newest") == [(1, "a"), (2, "a")]


def test_a_result_that_is_sent_elsewhere_goes_there_only(duckdb_engine: Any, landing: Path) -> None:
    (landing / "a.csv").write_text("id,name\n1,a\n")
    run(duckdb_engine, orders(), materialize_target="shop.trial.orders")
    assert rows("shop.trial.orders") == [(1, "a")]
    assert kind_of("lakelogic_warehouse/shop/copy/history") is None


def test_a_secondary_target_that_would_have_to_merge_is_refused(duckdb_engine: Any, landing: Path) -> None:
    (landing / "a.csv").write_text("id,name\n1,a\n")
    with pytest.raises(UnsupportedError, match="by append or overwrite"):
        run(duckdb_engine, orders([{"target_path": "shop.copy.orders"}], strategy="merge"))
    with pytest.raises(UsageError, match="the same place"):
        run(duckdb_engine, orders([{"target_path": "shop.silver.orders"}]))
    assert not Path("lakelogic_warehouse/shop").exists()


def test_small_files_are_put_together_after_a_run_where_the_contract_says_so(duckdb_engine: Any, landing: Path) -> None:
    from lakelogic.tables.registry import load

    document = orders([], compaction={"auto": True, "vacuum_retention_hours": 0})
    for number in (1, 2, 3):
        (landing / f"{number}.csv").write_text(f"id,name\n{number},a\n")
        run(duckdb_engine, document)
    state = load("delta").state("lakelogic_warehouse/shop/silver/orders")
    assert state is not None
    assert len(state.files) == 1
    left = {path.parent.name[:6] for path in Path("lakelogic_warehouse/shop/silver/orders").rglob("*.parquet")}
    assert left == {"compac"}  # what was put together a moment ago is spared: other upkeep may be writing it
    assert rows("shop.silver.orders") == [(1, "a"), (2, "a"), (3, "a")]


def _die(*_: Any) -> None:
    raise RuntimeError("out of power")
