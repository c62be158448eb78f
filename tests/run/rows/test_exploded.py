"""Rows that explode: what quarantine shows of those that failed before and after, and by what elements are known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

ORDERS = {
    "dataset": "silver_orders",
    "model": {
        "fields": [
            {"name": "id", "type": "int", "required": True},
            {"name": "items", "type": "array<struct<sku:string,taxes:array<int>>>"},
        ]
    },
    "transformations": [
        {
            "sql": "SELECT id, t.i.sku AS sku, u.tax AS tax FROM source "
            "LATERAL VIEW explode(items) t AS i LATERAL VIEW explode(t.i.taxes) u AS tax"
        }
    ],
    "quality": {"max_quarantine_ratio": 1, "row_rules": [{"name": "owed", "sql": "tax > 0", "phase": "post"}]},
    "lineage": {"enabled": False},
    "materialization": {"target_path": "shop.silver.orders"},
}
BAD_ID = '{"id": "x", "items": [{"sku": "c", "taxes": [5]}]}'
NO_ID = '{"items": [{"sku": "d", "taxes": [6, 7]}]}'
ROWS = f"""{{"id": 1, "items": [{{"sku": "a", "taxes": [1, -2]}}, {{"sku": "b", "taxes": [3, -4]}}]}}
{BAD_ID}
{NO_ID}
{{"id": 4, "items": []}}
"""


def test_rows_show_what_they_were_when_they_failed(tried: Callable[..., Any]) -> None:
    outcome = tried(ORDERS, {"in.ndjson": ROWS}, materialize=True)
    assert outcome.values("id", "sku", "tax") == [(1, "a", 1), (1, "b", 3)]
    shown = {
        str(row["_lakelogic_errors"]): (
            row["id"], row["sku"], row["tax"], row["items"], row["_lakelogic_raw"], dict(row["_lakelogic_original"] or ()),
        )
        for row in outcome.bad
        if row["tax"] is None
    }  # fmt: skip
    assert shown == {
        "['Type mismatch: id cannot be cast to int']": (
            None, None, None, [{"sku": "c", "taxes": [5]}], BAD_ID, {"id": "x"},
        ),
        "['Rule failed: id is required']": (None, None, None, [{"sku": "d", "taxes": [6, 7]}], NO_ID, {}),
    }  # fmt: skip
    elements = [row for row in outcome.bad if row["tax"] is not None]
    assert sorted((row["id"], row["sku"], row["tax"], row["items"], row["_lakelogic_raw"]) for row in elements) == [
        (1, "a", -2, None, None),
        (1, "b", -4, None, None),
    ]
    counts = outcome.result.counts
    assert (counts.source, counts.good, counts.quarantined) == (4, 2, 4)


def _ids(file: str, text: str, engine: Any, stamp: int) -> dict[int, str]:
    Path(file).write_text(text)
    os.utime(file, (stamp, stamp))
    with DataProcessor({**ORDERS, "source": {"path": file}, "lineage": {}}, engine) as processor:
        processor.run()
    rows = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    return {row["tax"]: row["_lakelogic_row_id"] for row in rows if row["quarantine_state"] == "active"}


def test_an_element_is_known_again_by_its_place_whatever_became_of_the_others(
    duckdb_engine: Any, workspace: Path
) -> None:
    line = '{{"id": 1, "items": [{{"sku": "a", "taxes": [{0}, {1}, -3]}}]}}\n'
    first = _ids("in.ndjson", line.format(-1, -2), duckdb_engine, 1_000)
    later = _ids("in.ndjson", line.format(1, -2), duckdb_engine, 2_000)
    assert len(set(first.values())) == 3
    assert {tax: first[tax] for tax in (-2, -3)} == {tax: later[tax] for tax in (-2, -3)}


@pytest.mark.parametrize("step", ["explode", "unpivot", "date_range_explode"])
def test_every_step_that_makes_rows_tells_bad_ones_apart(step: str, duckdb_engine: Any, workspace: Path) -> None:
    """Three bad rows out of one landed row have three identities, and no landed row of their own."""
    Path("in.csv").write_text('id,a,b,list\n1,2026-01-01,2026-01-03,"[1,2,3]"\n')
    said: dict[str, Any] = {
        "explode": {"field": "list"},
        "unpivot": {"id_vars": ["id"], "value_vars": ["a", "b", "list"], "key_field": "key", "value_field": "value"},
        "date_range_explode": {"start_col": "a", "end_col": "b", "output": "day"},
    }
    contract = {
        "source": {"path": "in.csv"},
        "transformations": [{step: said[step]}],
        "quality": {"max_quarantine_ratio": 1, "row_rules": [{"name": "never", "sql": "id = '2'", "phase": "post"}]},
    }
    with DataProcessor(contract, duckdb_engine) as processor:
        bad = duckdb_engine.collect(processor.run(materialize=False).bad).to_pylist()
    assert len({row["_lakelogic_row_id"] for row in bad}) == len(bad) == 3
    assert {row["_lakelogic_raw"] for row in bad} == {None}
