"""Runs for others to read: an Arrow table with a fixed schema, and JSON."""

import json
from datetime import UTC, datetime

import pyarrow as pa

from lakelogic.ledger.publish import arrow_schema, as_arrow, as_dict, as_json
from lakelogic.ledger.records import RUN_COLUMNS


def test_the_arrow_schema_does_not_depend_on_the_runs(ledger, a_run):
    empty = as_arrow(ledger)
    ledger.record(a_run("run-1", 1))
    ledger.record(a_run("run-2", 2, counts_source=4, rule_failures=[{"name": "ä"}], quality_score=0.5))
    table = as_arrow(ledger)
    assert table.schema == empty.schema == arrow_schema()
    assert table.schema.names == list(RUN_COLUMNS)
    assert table.schema.field("started_at").type == pa.timestamp("us", tz="UTC")
    assert table.schema.field("counts_source").type == pa.int64()
    assert table.schema.field("rule_failures").type == pa.string()
    rows = table.select(["run_id", "started_at", "counts_source", "rule_failures", "quality_score"]).to_pylist()
    assert [list(row.values()) for row in rows] == [
        ["run-1", datetime(2026, 3, 28, 12, 1, tzinfo=UTC), None, None, None],
        ["run-2", datetime(2026, 3, 28, 12, 2, tzinfo=UTC), 4, '[{"name": "ä"}]', 0.5],
    ]


def test_published_runs_can_be_chosen(ledger, a_run):
    ledger.record(a_run("run-1", 1))
    ledger.record(a_run("run-2", 2, dataset="gold_sales", status="failed"))
    assert as_arrow(ledger, "gold_sales")["run_id"].to_pylist() == ["run-2"]
    assert as_arrow(ledger, status="succeeded")["run_id"].to_pylist() == ["run-1"]


def test_a_run_is_one_json_object_on_one_line(a_run):
    run = a_run(dataset_rules=[{"name": "unique", "passed": True}], error_message="a\nb")
    text = as_json(run)
    assert "\n" not in text
    assert json.loads(text) == as_dict(run)
    assert list(as_dict(run)) == list(RUN_COLUMNS)
    assert as_dict(run)["started_at"] == "2026-03-28T12:00:00+00:00"
    assert as_dict(run)["dataset_rules"] == [{"name": "unique", "passed": True}]
