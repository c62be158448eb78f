"""Which way a Delta table is written: through delta-rs, through a session's own Delta, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema

from lakelogic import DataProcessor
from lakelogic.errors import CommitConflict, FeatureRefused, TableError, UnsupportedError
from lakelogic.tables.base import CommitInfo, Layout, OwnDelta, RowChange
from lakelogic.tables.delta.log import commit_text
from lakelogic.tables.delta.native import DeltaBothWays
from lakelogic.tables.delta.tables import DeltaTables

SCHEMA = pa.schema([("id", pa.int32()), ("v", pa.string())])
STAGED = pa.schema([*SCHEMA, ("~was.id", pa.int32()), ("~stood", pa.bool_()), ("~stays", pa.bool_())])
CHANGE = RowChange(("id", "v"), {"id": "~was.id"}, "~stood", "~stays")
DELETION_VECTORS = {"delta.enableDeletionVectors": "true"}


def nobody() -> OwnDelta:
    raise AssertionError("no session is needed")


def none_there() -> OwnDelta:
    raise FeatureRefused("The table needs Delta in the Spark session, and it has none.")


def create(root: Path, configuration: dict[str, str]) -> str:
    DeltaTable.create(str(root), Schema.from_arrow(SCHEMA), configuration=configuration)
    return str(root)


def log(root: str, version: int, *actions: dict[str, Any]) -> None:
    """Somebody's commit, as Spark writes it."""
    path = Path(root) / "_delta_log" / f"{version:020d}.json"
    path.write_text("\n".join(json.dumps(action) for action in actions))


def info(n: int = 1) -> CommitInfo:
    return CommitInfo("lakelogic:orders:good", n, {"batch_id": f"b{n}"})


class Session:
    """A session that commits what it is told, after something else has happened."""

    def __init__(self, root: str, before: Callable[[], int]) -> None:
        self.root, self.before = root, before

    def change(self, root: str, files: Any, schema: Any, app_id: str, n: int, text: str, change: RowChange) -> None:
        read = self.before()
        told = {"readVersion": read, "userMetadata": text, "operation": "MERGE"}
        log(root, read + 1, {"commitInfo": told}, {"txn": {"appId": app_id, "version": n}})


def test_a_plain_table_never_asks_for_a_session(tmp_path: Path, stage: Any) -> None:
    root, tables = str(tmp_path / "t"), DeltaBothWays(nobody)
    tables.check(root)
    tables.append(root, [stage(root, pa.table({"id": pa.array([1], pa.int32()), "v": ["a"]}))], SCHEMA, info())
    state = tables.state(root)
    assert state is not None
    assert (state.own, state.rows) == (False, 1)


def test_a_table_that_is_only_read_takes_the_way_that_reading_needs(tmp_path: Path) -> None:
    root = create(tmp_path / "t", {"delta.enableChangeDataFeed": "true"})
    assert not DeltaBothWays(nobody, reads=True).state(root).own  # type: ignore[union-attr]
    with pytest.raises(FeatureRefused, match="it has none"):
        DeltaBothWays(none_there).state(root)


def test_without_an_engine_a_table_is_looked_at_and_nothing_is_written(tmp_path: Path, stage: Any) -> None:
    root, tables = create(tmp_path / "t", DELETION_VECTORS), DeltaBothWays(None)
    said = commit_text("lakelogic:orders:good", 3, {"batch_id": "b3"})
    log(root, 1, {"commitInfo": {"userMetadata": said}}, {"txn": {"appId": "lakelogic:orders:good", "version": 3}})
    state = tables.state(root)
    assert state is not None
    assert (state.own, state.version, state.transactions["lakelogic:orders:good"]) == (True, 1, 3)
    assert tables.find_commit(root, "lakelogic:orders:good", 3) == {"batch_id": "b3"}
    staged = stage(root, pa.table({"id": pa.array([1], pa.int32()), "v": ["a"]}))
    with pytest.raises(FeatureRefused, match="no engine is at work"):
        tables.append(root, [staged], SCHEMA, info(4))
    # delta-rs would take files of deletion vectors for leftovers.
    with pytest.raises(FeatureRefused, match="deletionVectors"):
        DeltaTables().vacuum(root, datetime.now(UTC))


@pytest.mark.parametrize("feature", ["icebergCompatV2", "somethingOfTomorrow"])
def test_what_neither_way_knows_is_refused_before_a_session_is_asked(tmp_path: Path, feature: str) -> None:
    root = create(tmp_path / "t", {})
    first = Path(root) / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature]}
    log(root, 0, *actions)
    with pytest.raises(FeatureRefused, match=feature) as refusal:
        DeltaBothWays(nobody).check(root)
    assert "--engine spark" not in str(refusal.value)


def test_properties_that_oblige_writers_are_for_new_tables(tmp_path: Path) -> None:
    layout = Layout(properties=DELETION_VECTORS)
    with pytest.raises(FeatureRefused, match="it has none"):
        DeltaBothWays(none_there).check(str(tmp_path / "new"), layout=layout)
    with pytest.raises(UnsupportedError, match=r"is there without delta\.enableDeletionVectors"):
        DeltaBothWays(nobody).check(create(tmp_path / "t", {}), layout=layout)


def test_rows_are_changed_only_on_top_of_the_version_that_was_looked_at(tmp_path: Path, stage: Any) -> None:
    root = create(tmp_path / "t", DELETION_VECTORS)
    row = {"id": [2], "v": ["b"], "~was.id": [None], "~stood": [False], "~stays": [True]}
    staged = stage(root, pa.table(row, schema=STAGED))

    def changed(before: Callable[[], int], based_on: int, n: int) -> Any:
        session: Any = Session(root, before)
        tables = DeltaBothWays(lambda: session)
        return tables.replace_rows(root, [staged], STAGED, CHANGE, info(n), based_on=based_on)

    assert changed(lambda: 0, 0, 1).version == 1
    assert changed(lambda: 0, 0, 1).skipped
    with pytest.raises(CommitConflict, match="changed since it was looked at"):
        changed(lambda: 1, 0, 2)

    def somebody_adds() -> int:
        log(root, 2, {"commitInfo": {"operation": "WRITE", "readVersion": 1, "isBlindAppend": True}})
        return 2

    assert changed(somebody_adds, 1, 2).version == 3

    def somebody_changes() -> int:
        log(root, 4, {"commitInfo": {"operation": "MERGE", "readVersion": 3, "isBlindAppend": False}})
        return 4

    with pytest.raises(TableError, match=r"Somebody changed rows \(version 4\)"):
        changed(somebody_changes, 3, 3)


@pytest.mark.parametrize("name", ["duckdb", "polars"])
def test_other_engines_refuse_such_tables_before_anything_is_staged_and_name_spark(workspace: Path, name: str) -> None:
    root = Path("lakelogic_warehouse/shop/silver/orders")
    root.mkdir(parents=True)
    create(root, DELETION_VECTORS)
    Path("in.csv").write_text("id,v\n1,a\n")
    document = {
        "dataset": "orders",
        "source": {"path": "in.csv"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "v", "type": "string"}]},
        "materialization": {"target_path": "shop.silver.orders"},
    }
    with pytest.raises(FeatureRefused, match="deletionVectors") as refusal:
        DataProcessor(document, name).run()
    assert "Spark's own Delta can: run with --engine spark" in str(refusal.value)
    assert [path.name for path in root.iterdir()] == ["_delta_log"]
