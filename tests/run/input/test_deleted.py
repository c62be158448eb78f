"""Rows that are marked as deleted stay deleted downstream: sources, links and exports leave them out, and say so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.run import upkeep
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load

SILVER: dict[str, Any] = {
    "dataset": "silver_orders",
    "source": {
        "path": "landing/*.csv", "load_mode": "cdc", "cdc_op_field": "op", "cdc_timestamp_field": "at",
    },
    "model": {
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "amount", "type": "int"},
            {"name": "at", "type": "timestamp"},
        ]
    },
    "primary_key": ["id"],
    "materialization": {"target_path": "shop.silver.orders"},
}  # fmt: skip
GOLD: dict[str, Any] = {
    "dataset": "gold_orders",
    "source": {"path": "shop.silver.orders"},
    "transformations": [{"sql": "SELECT SUM(amount) AS total, COUNT(*) AS orders FROM source"}],
    "materialization": {"target_path": "shop.gold.orders", "strategy": "overwrite"},
}
Run = Callable[..., Any]


@pytest.fixture
def run(engine: Any, workspace: Path) -> Run:
    def act(document: dict[str, Any], **changed: Any) -> Any:
        with DataProcessor({**document, **changed}, engine) as processor:
            return processor.run()

    return act


def land(number: int, *lines: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path(f"landing/{number}.csv").write_text("\n".join(["op,id,amount,at", *lines, ""]))


def silver(run: Run, **settings: Any) -> None:
    """Rows 1 and 2 live, 3 is deleted."""
    document = {**SILVER, "materialization": {**SILVER["materialization"], **settings}}
    land(1, "I,1,10,2026-01-01", "I,2,20,2026-01-01", "I,3,400,2026-01-01")
    run(document)
    land(2, "D,3,,2026-01-02")
    run(document)


def rows(place: str) -> list[dict[str, Any]]:
    from lakelogic.tables import rows as stored
    from lakelogic.tables.kinds import kind_of

    location = str(Path("lakelogic_warehouse") / place)
    state = load(kind_of(str(Path(location).absolute())) or "delta").state(str(Path(location).absolute()))
    assert state is not None
    return [row for batch in stored.batches(state) for row in batch.to_pylist()]


def test_a_sum_over_a_table_leaves_out_what_was_deleted_and_accounts_for_it(run: Run) -> None:
    silver(run)
    result = run(GOLD)
    assert [(row["total"], row["orders"]) for row in rows("shop/gold/orders")] == [(30, 2)]
    assert result.counts.source == 3
    assert result.counts.as_dict()["filtered"] == {"soft-deleted": 1}


def test_deleted_rows_and_their_column_come_where_the_contract_asks_for_them(run: Run) -> None:
    silver(run)
    source = {"path": "shop.silver.orders", "include_deleted": True}
    run(GOLD, source=source)
    assert [(row["total"], row["orders"]) for row in rows("shop/gold/orders")] == [(430, 3)]
    steps = [{"filter": "_lakelogic_is_deleted", "phase": "pre"}, {"sql": "SELECT SUM(amount) AS total FROM source"}]
    run(
        GOLD,
        dataset="gold_gone",
        source=source,
        transformations=steps,
        materialization={"target_path": "shop.gold.gone"},
    )
    assert [row["total"] for row in rows("shop/gold/gone")] == [400]


@pytest.mark.parametrize("include", [False, True])
def test_a_link_finds_no_deleted_row_unless_it_is_asked_to(run: Run, include: bool) -> None:
    silver(run)
    Path("in.csv").write_text("id\n1\n3\n")
    link = {"name": "orders", "table": "shop.silver.orders", **({"include_deleted": True} if include else {})}
    run(
        {
            "dataset": "gold_found",
            "source": {"path": "in.csv"},
            "links": [link],
            "model": {"fields": [{"name": "id", "type": "int"}]},
            "transformations": [
                {"sql": "SELECT s.id, o.amount FROM source s LEFT JOIN orders o ON s.id = o.id"},
            ],
            "materialization": {"target_path": "shop.gold.found"},
        }
    )
    found = {row["id"]: row["amount"] for row in rows("shop/gold/found")}
    assert found == {1: 10, 3: 400 if include else None}


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_a_table_says_by_itself_which_column_marks_deletion(duckdb_engine: Any, workspace: Path, form: str) -> None:
    def run(document: dict[str, Any], **changed: Any) -> Any:
        with DataProcessor({**document, **changed}, duckdb_engine) as processor:
            return processor.run()

    silver(run, soft_delete_column="gone", soft_delete_value="yes", format=form)
    run(GOLD)
    assert [(row["total"], row["orders"]) for row in rows("shop/gold/orders")] == [(30, 2)]
    upkeep.compact(load(form), str(Path("lakelogic_warehouse/shop/silver/orders").absolute()), small=1 << 40)
    land(3, "I,4,5,2026-01-03")
    changed = {
        "target_path": "shop.silver.orders",
        "format": form,
        "soft_delete_column": "gone",
        "soft_delete_value": "yes",
    }
    run(SILVER, materialization=changed)
    upkeep.compact(load(form), str(Path("lakelogic_warehouse/shop/silver/orders").absolute()), small=1 << 40)
    run(GOLD)
    assert [(row["total"], row["orders"]) for row in rows("shop/gold/orders")] == [(35, 3)]


def test_an_export_sends_no_deleted_row_unless_it_is_asked_to(duckdb_engine: Any, workspace: Path) -> None:
    def run(document: dict[str, Any], **changed: Any) -> Any:
        with DataProcessor({**document, **changed}, duckdb_engine) as processor:
            return processor.run()

    exports = [
        {"name": "live", "type": "files", "target": "out/live", "format": "ndjson"},
        {"name": "all", "type": "files", "target": "out/all", "format": "ndjson", "include_deleted": True},
    ]
    land(1, "I,1,10,2026-01-01", "I,3,400,2026-01-01")
    run(SILVER, exports=exports)
    land(2, "D,3,,2026-01-02")
    run(SILVER, exports=exports)

    def sent(name: str) -> list[dict[str, Any]]:
        newest = max(Path("out", name).rglob("*.ndjson"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for line in newest.read_text().splitlines()]

    assert [row["id"] for row in sent("live")] == [1]
    assert sorted((row["id"], row["_lakelogic_is_deleted"]) for row in sent("all")) == [(1, False), (3, True)]


def test_a_preview_says_which_rows_are_deleted(duckdb_engine: Any, workspace: Path) -> None:
    def run(document: dict[str, Any]) -> Any:
        with DataProcessor(document, duckdb_engine) as processor:
            return processor.run()

    silver(run)
    shown = preview(Surroundings.here(), "shop.silver.orders")
    assert (shown.deleted_column, shown.deleted) == ("_lakelogic_is_deleted", 1)
    run(GOLD)
    shown = preview(Surroundings.here(), "shop.gold.orders")
    assert (shown.deleted_column, shown.deleted) == (None, 0)
