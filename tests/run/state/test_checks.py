"""The doctor raises no false alarm: ordinary days of every strategy, with what people do to tables, are sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lakelogic import clock
from lakelogic.actions.operate.maintain import MaintainRequest, maintain
from lakelogic.actions.operate.reset import reload
from lakelogic.actions.operate.run import RunRequest
from lakelogic.actions.operate.state import DoctorRequest, examine
from lakelogic.run.processor import DataProcessor
from lakelogic.run.state import evidence
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.facts import CommitRecord

MODEL = [
    {"name": "id", "type": "int", "required": True},
    {"name": "amount", "type": "int", "min": 0},
    {"name": "day", "type": "date"},
]
INCREMENTAL = {"path": "landing/*.csv", "load_mode": "incremental"}
KEYED = {"primary_key": ["id"], "sequence_by": "day"}
SCENES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "append": (INCREMENTAL, {"strategy": "append"}),
    "append full": ({"path": "landing/*.csv"}, {"strategy": "append"}),
    "overwrite": ({"path": "landing/*.csv"}, {"strategy": "overwrite"}),
    "partitions": (
        {"path": "landing/*.csv"},
        {"strategy": "overwrite", "partition_by": ["day"], "overwrite_scope": "partitions"},
    ),
    "merge": (INCREMENTAL, {"strategy": "merge", **KEYED}),
    "scd2": (
        INCREMENTAL,
        {
            "strategy": "scd2",
            "primary_key": ["id"],
            "scd2": {"timestamp_field": "day", "track_columns": ["amount"], "unknown_member": True},
        },
    ),
    "snapshot": (
        {"path": "landing/b.csv"},
        {
            "strategy": "snapshot_reconcile",
            "primary_key": ["id"],
            "deletion": {"strategy": "snapshot_reconcile", "max_delete_ratio": 1},
        },
    ),
}


@pytest.mark.parametrize("form", ["delta", "iceberg"])
@pytest.mark.parametrize("scene", SCENES)
def test_an_ordinary_life_is_sound(workspace: Path, duckdb_engine: Any, scene: str, form: str) -> None:
    source, settings = SCENES[scene]
    contract = {
        "dataset": "orders",
        "source": source,
        "model": {"fields": MODEL},
        "materialization": {**settings, "target_path": "a.b.orders", "format": form},
    }
    Path("orders.yaml").write_text(yaml.safe_dump(contract))
    Path("landing").mkdir()

    def run(name: str, *lines: str) -> None:
        Path("landing", name).write_text("id,amount,day\n" + "".join(f"{line}\n" for line in lines))
        with DataProcessor("orders.yaml", engine=duckdb_engine) as processor:
            assert processor.run().status == "succeeded"

    def sound() -> None:
        (found,) = examine(Surroundings.here(), DoctorRequest(("orders.yaml",)))
        assert found.exit_code == 0, found.findings
        assert {one.level for one in found.findings} == {"sound"}, found.findings

    run("b.csv", "1,10,2026-01-01", "2,20,2026-01-01", "3,-1,2026-01-02")
    sound()
    run("b.csv" if scene in ("snapshot", "overwrite", "append full") else "c.csv", "2,21,2026-01-03", "4,40,2026-01-03")
    sound()
    maintain(Surroundings.here(), MaintainRequest(("orders.yaml",), retention=clock.now() - clock.now()))
    sound()
    if scene != "scd2":
        reload(Surroundings.here(), RunRequest("orders.yaml", "duckdb"))
        sound()


def commit(n: int, applied: dict[str, int] | None, **facts: Any) -> CommitRecord:
    import json

    told = {"run_id": f"r{n}", **({"applied": applied} if applied is not None else {}), **facts}
    return CommitRecord({"batch_id": f"b{n}", "n": str(n), "facts": json.dumps(told)})


def test_rows_are_added_up_as_commits_tell() -> None:
    added = commit(1, {"inserted": 5, "rows": 5}, rows_before=0)
    among_others = commit(1, {"inserted": 5, "rows": 5}, rows_before=100)
    merged = commit(
        2, {"inserted": 1, "updated": 2, "added_rows": 1, "removed_rows": 2, "rows": 3, "unknown_member": 1}
    )
    replaced = commit(3, {"inserted": 7, "rows": 7}, replaces=True, input={"files": []})
    silent = commit(4, None)
    parts = commit(5, {"inserted": 7, "rows": 7}, in_parts=True)
    assert evidence.rows_told([]) is None
    assert evidence.rows_told([merged, among_others]) == 100 + 5 + 1 - 2 + 1
    assert evidence.rows_told([merged]) is None  # of a version that did not tell what was there
    assert evidence.rows_told([merged, added]) == 5 + 1 - 2 + 1
    assert evidence.rows_told([replaced, merged, added]) == 7
    assert evidence.rows_told([added, silent]) is None
    assert evidence.rows_told([added, replaced, silent]) == 12
    assert evidence.rows_told([parts, added]) is None


def test_versions_of_a_table_that_two_commits_took_are_found() -> None:
    def took(n: int, since: int | None, version: int, **facts: Any) -> CommitRecord:
        read = {"table": "t", "id": "x", "version": version, **({} if since is None else {"since": since})}
        return commit(n, {"inserted": 1, "rows": 1}, input=read, **facts)

    assert evidence.read_twice([took(3, 5, 9), took(2, 3, 5), took(1, None, 3)]) == []
    (twice,) = evidence.read_twice([took(2, 2, 5), took(1, None, 3)])
    assert twice == evidence.Twice("t up to version 3", ("r1", "r2"))
    assert evidence.read_twice([took(2, 2, 5, replay=True), took(1, None, 3)]) == []
