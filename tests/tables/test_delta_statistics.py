"""What a Delta log tells of files that are gone: no lowest and highest value, everything else as before."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic.tables.registry import load

NOW = datetime.now(UTC)


def commit_file(root: Path, version: int) -> Path:
    return root / "_delta_log" / f"{version:020d}.json"


def adds(root: Path, version: int) -> list[dict[str, object]]:
    said = [json.loads(line) for line in commit_file(root, version).read_text().splitlines()]
    return [json.loads(one["add"]["stats"]) for one in said if "add" in one]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four versions, one a day: `a`, `b` and `a`, `c` alone, `d` and `c`; a checkpoint of the second."""
    root = tmp_path / "table"
    for version, (value, mode) in enumerate([("a", "append"), ("b", "append"), ("c", "overwrite"), ("d", "append")]):
        write_deltalake(str(root), pa.table({"x": [value]}), mode=mode)  # type: ignore[call-overload]
        if version == 1:
            DeltaTable(str(root)).create_checkpoint()
        at = (NOW - timedelta(days=4 - version)).timestamp()
        os.utime(commit_file(root, version), (at, at))
    return root


def remove_old(root: Path) -> None:
    for path in {*DeltaTable(str(root), version=1).file_uris()}:
        Path(path.removeprefix("file://")).unlink()


def test_values_of_files_that_are_gone_leave_the_log_and_the_rest_stays(table: Path) -> None:
    remove_old(table)
    log = table / "_delta_log"
    (log / "00000000000000000001.crc").write_text('{"allFiles": []}')
    (log / ".00000000000000000000.json.crc").write_bytes(b"of Hadoop")
    times = [commit_file(table, version).stat().st_mtime_ns for version in range(4)]
    load("delta").forget_statistics(str(table), NOW)
    assert adds(table, 0) == [{"numRecords": 1, "nullCount": {"x": 0}}]
    assert adds(table, 1) == [{"numRecords": 1, "nullCount": {"x": 0}}]
    assert adds(table, 2)[0]["minValues"] == {"x": "c"}
    assert adds(table, 3)[0]["minValues"] == {"x": "d"}
    assert [commit_file(table, version).stat().st_mtime_ns for version in range(4)] == times
    checkpoints = sorted(path.name for path in log.glob("*.checkpoint.parquet"))
    assert checkpoints == ["00000000000000000003.checkpoint.parquet"]
    told = [one["add"]["stats"] for one in pq.read_table(log / checkpoints[0]).to_pylist() if one["add"]]
    assert sorted(json.loads(one)["minValues"]["x"] for one in told) == ["c", "d"]
    assert json.loads((log / "_last_checkpoint").read_text())["version"] == 3
    assert not list(log.glob("*.crc"))
    assert not list(log.glob(".*"))
    assert sorted(DeltaTable(str(table)).to_pyarrow_table().column("x").to_pylist()) == ["c", "d"]
    assert load("delta").is_whole(str(table))


def test_what_the_retention_keeps_is_not_touched(table: Path) -> None:
    before = {path.name: path.read_bytes() for path in (table / "_delta_log").iterdir()}
    load("delta").forget_statistics(str(table), NOW - timedelta(days=10))
    load("delta").forget_statistics(str(table), NOW)  # every file is there
    assert {path.name: path.read_bytes() for path in (table / "_delta_log").iterdir()} == before
    remove_old(table)
    load("delta").forget_statistics(str(table), NOW - timedelta(days=1, hours=12))  # version 2 was current
    assert sorted(path.name[:20] for path in (table / "_delta_log").glob("*.checkpoint.parquet")) == [f"{2:020d}"]
    assert DeltaTable(str(table), version=2).to_pyarrow_table().column("x").to_pylist() == ["c"]
    assert sorted(DeltaTable(str(table)).to_pyarrow_table().column("x").to_pylist()) == ["c", "d"]
