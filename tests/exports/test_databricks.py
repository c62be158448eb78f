"""Databricks: the real SDK against a workspace of our own that checks who asks and what is said."""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lakelogic.errors import CredentialError, ExportError, ExportInterrupted
from lakelogic.exports import databricks
from lakelogic.exports.databricks import DatabricksExport

SPEC = importlib.util.spec_from_file_location(
    "lakelogic_tests_databricks", Path(__file__).parents[1] / "servers/databricks.py"
)
assert SPEC is not None
assert SPEC.loader is not None
DOUBLE = sys.modules[SPEC.name] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(DOUBLE)
TARGET = "lab.gold.kpis"
EVERYTHING = {
    "lab": [], "lab.gold": [], "lab.gold.lakelogic_exports": ["dataset"], TARGET: ["region", "gross_revenue_usd", "orders"],
}  # fmt: skip


@pytest.fixture
def workspace() -> Iterator[Any]:
    with DOUBLE.workspace() as found:
        yield found


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def export(workspace, pauses):
    def make(**given: str) -> DatabricksExport:
        return DatabricksExport(given or workspace.settings(), TARGET, pause=pauses.append)

    return make


def said(workspace) -> list[str]:
    return [one["statement"] for one in workspace.statements]


def bound(statement: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["name"]: (one["type"], one["value"]) for one in statement.get("parameters", [])}


def test_everything_that_is_missing_is_made_and_rows_are_merged_from_a_volume(workspace, export, shipment, kept):
    done = export().deliver(shipment(TARGET), kept)
    assert (done.rows, done.known_there, done.facts["warehouse_id"]) == (2, False, "w-1")
    columns = "`region` string, `gross_revenue_usd` decimal(14,2), `orders` bigint"
    statements = said(workspace)
    assert statements[:4] == [
        "CREATE CATALOG IF NOT EXISTS `lab`",
        "CREATE SCHEMA IF NOT EXISTS `lab`.`gold`",
        "CREATE VOLUME IF NOT EXISTS `lab`.`gold`.`lakelogic_exports`",
        f"CREATE TABLE IF NOT EXISTS `lab`.`gold`.`kpis` ({columns}) USING DELTA",
    ]
    merge = next(one for one in workspace.statements if one["statement"].startswith("MERGE INTO `lab`.`gold`.`kpis` "))
    assert merge["statement"] == (
        "MERGE INTO `lab`.`gold`.`kpis` AS t USING (SELECT `region`, `gross_revenue_usd`, `orders` FROM "
        "read_files(:files, format => 'parquet')) AS s ON t.`region` = s.`region` WHEN MATCHED THEN UPDATE SET "
        "`gross_revenue_usd` = s.`gross_revenue_usd`, `orders` = s.`orders` WHEN NOT MATCHED THEN INSERT "
        "(`region`, `gross_revenue_usd`, `orders`) VALUES (s.`region`, s.`gross_revenue_usd`, s.`orders`)"
    )
    folder = "/Volumes/lab/gold/lakelogic_exports/bbbbbbbbbbbbbbbb/"
    assert bound(merge) == {"files": ("STRING", folder)}
    assert (merge["warehouse_id"], merge["wait_timeout"], merge["on_wait_timeout"]) == ("w-1", "10s", "CONTINUE")
    assert bound(workspace.statements[-1]) == {
        "dataset": ("STRING", "gold_kpis"), "export_name": ("STRING", "kpis"), "target": ("STRING", TARGET),
        "batch_id": ("STRING", "b" * 64), "table_version": ("BIGINT", "7"), "exported_rows": ("BIGINT", "2"),
        "exported_at": ("TIMESTAMP", "2026-11-16T09:30:00+00:00"),
    }  # fmt: skip
    (path, content), *others = workspace.uploaded.items()
    assert (path, others) == (f"{folder}part-00000.parquet", [])
    assert pq.read_table(io.BytesIO(content)).column("region").to_pylist() == ["east", "we'st\"`"]
    assert workspace.deleted == [path]


def test_what_is_there_is_not_made_again_and_a_new_column_is_added(workspace, export, shipment, kept):
    workspace.there |= EVERYTHING | {TARGET: ["Region", "gross_revenue_usd"]}
    export().deliver(shipment(TARGET), kept)
    made = [one for one in said(workspace) if one.startswith(("CREATE", "ALTER"))]
    assert made == ["ALTER TABLE `lab`.`gold`.`kpis` ADD COLUMNS (`orders` bigint)"]


def test_a_batch_that_arrived_is_not_sent_twice(workspace, export, shipment, kept):
    workspace.there |= EVERYTHING
    workspace.batch = "b" * 64
    assert export().deliver(shipment(TARGET), kept).known_there
    assert workspace.uploaded == {}
    question = workspace.statements[0]
    assert question["statement"] == (
        "SELECT `batch_id` FROM `lab`.`gold`.`lakelogic_exports` WHERE `dataset` = :dataset AND "
        "`export_name` = :export_name AND `target` = :target"
    )


def test_overwriting_is_one_statement(workspace, export, shipment, kept):
    workspace.there |= EVERYTHING
    export().deliver(shipment(TARGET, mode="overwrite"), kept)
    assert said(workspace)[1] == (
        "INSERT OVERWRITE `lab`.`gold`.`kpis` (`region`, `gross_revenue_usd`, `orders`) SELECT * FROM (SELECT `region`, "
        "`gross_revenue_usd`, `orders` FROM read_files(:files, format => 'parquet'))"
    )


def test_a_statement_is_asked_after_until_it_has_ended(workspace, export, shipment, kept, pauses):
    workspace.there |= EVERYTHING
    workspace.polls = 5
    export().deliver(shipment(TARGET), kept)
    assert workspace.asked_after.count("statement-2") == 5
    assert pauses[5:10] == [0.5, 1.0, 2.0, 5.0, 5.0]
    assert kept.calls >= 5


def test_a_statement_that_never_ends_is_stopped(workspace, export, shipment, kept, monkeypatch):
    workspace.there |= EVERYTHING
    workspace.polls = 10**6
    monkeypatch.setattr(databricks, "_MOST_SECONDS", 8.0)
    with pytest.raises(ExportInterrupted, match="was stopped"):
        export().deliver(shipment(TARGET), kept)
    assert workspace.cancelled == ["statement-1"]


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        ("BAD_REQUEST", "[PARSE_SYNTAX_ERROR] near dapi-test-token", ExportError),
        ("RESOURCE_EXHAUSTED", "too much", ExportInterrupted),
        ("UNKNOWN", "[DELTA_CONCURRENT_APPEND] somebody was faster", ExportInterrupted),
    ],
)
def test_a_statement_that_fails_says_why_whether_to_try_again_and_no_secret(
    workspace, export, shipment, kept, code, text, kind
):
    workspace.there |= EVERYTHING
    workspace.fails = lambda statement: {"error_code": code, "message": text} if "MERGE" in statement else None
    with pytest.raises(ExportError) as told:
        export().deliver(shipment(TARGET), kept)
    assert type(told.value) is kind
    assert code in told.value.message
    assert "dapi-test-token" not in str(told.value)
    assert workspace.deleted  # what was brought into the volume is taken out again


def test_a_request_that_is_refused_is_not_tried_again(workspace, export, shipment, kept):
    workspace.there |= EVERYTHING
    workspace.refused = ("MERGE INTO",)
    with pytest.raises(ExportError, match="not like this") as told:
        export().deliver(shipment(TARGET), kept)
    assert told.value.retry == "never"


def test_a_token_that_is_wrong_is_not_repeated_in_the_error(workspace, export, shipment, kept):
    given = workspace.settings(DATABRICKS_TOKEN="dapi-wrong-one")
    with pytest.raises(CredentialError) as told:
        export(**given).deliver(shipment(TARGET), kept)
    assert "dapi-wrong-one" not in str(told.value)
    assert workspace.seen_by == set()


def test_a_service_principal_gets_a_token_of_its_own(workspace, export, shipment, kept):
    workspace.there |= EVERYTHING
    given = {
        "DATABRICKS_HOST": workspace.url, "DATABRICKS_CLIENT_ID": DOUBLE.CLIENT, "DATABRICKS_CLIENT_SECRET": DOUBLE.SECRET,
        "DATABRICKS_WAREHOUSE_ID": "w-named",
    }  # fmt: skip
    export(**given).deliver(shipment(TARGET), kept)
    assert workspace.seen_by == {DOUBLE.GRANTED}
    assert {one["warehouse_id"] for one in workspace.statements} == {"w-named"}
    with pytest.raises(CredentialError) as told:
        export(**given | {"DATABRICKS_CLIENT_SECRET": "another-secret"}).deliver(shipment(TARGET), kept)
    assert "another-secret" not in str(told.value)


def test_a_profile_of_the_command_line_is_enough(workspace, export, shipment, kept, tmp_path, monkeypatch):
    workspace.there |= EVERYTHING
    (tmp_path / "cfg").write_text(f"[lab]\nhost = {workspace.url}\ntoken = {DOUBLE.TOKEN}\n")
    monkeypatch.setenv("DATABRICKS_CONFIG_FILE", str(tmp_path / "cfg"))
    export(DATABRICKS_HOST=workspace.url, DATABRICKS_CONFIG_PROFILE="lab").deliver(shipment(TARGET), kept)
    assert workspace.seen_by == {DOUBLE.TOKEN}


def test_a_warehouse_that_runs_is_preferred_and_none_is_told(workspace, export, shipment, kept):
    workspace.there |= EVERYTHING
    workspace.warehouses = [{"id": "w-off", "state": "STOPPED"}, {"id": "w-on", "state": "RUNNING"}]
    assert export().deliver(shipment(TARGET), kept).facts["warehouse_id"] == "w-on"
    workspace.warehouses = []
    with pytest.raises(ExportError, match="no SQL warehouse"):
        export().deliver(shipment(TARGET), kept)


def test_a_workspace_that_does_not_answer_can_be_tried_later(workspace, shipment, kept):
    def unreachable(_: object) -> None:
        raise ConnectionError("no route to host")

    with pytest.raises(ExportInterrupted, match="no route"):
        DatabricksExport(workspace.settings(), TARGET, unreachable).deliver(shipment(TARGET), kept)
