"""The home page's contract, and a plan by hand, on a Connect server and on a cluster; both are always stopped."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.base import Pinned
from lakelogic.engines.spark import SparkEngine
from lakelogic.engines.spark.runtime import training
from lakelogic.errors import EngineError, UsageError
from lakelogic.plan.nodes import Landed, Mask, Read
from lakelogic.privacy.keys import Keys, key_id
from lakelogic.privacy.masks import reveal_text
from lakelogic.sql.types import STRING

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SERVERS = Path(__file__).parents[2] / "servers"
KEYS = Keys(encryption=((key_id(bytes(32)), bytes(32)),), salt=b"salt")
ROWS = [
    {"id": "1", "email": "jo", "n": "3", "d": "1.5", "at": "2024-01-05", "p": "2.50"},
    {"id": "1", "email": "jo", "n": "3", "d": "1.5", "at": "2024-01-04", "p": "2.50"},
    {"id": "2", "email": None, "n": "x", "d": "y", "at": "-", "p": "z"},
]


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SERVERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def connect_url() -> Iterator[str]:
    with module("spark_connect").connect_server() as url:
        yield url


@pytest.fixture(scope="module")
def remote(connect_url: str) -> Iterator[SparkEngine]:
    engine = SparkEngine(remote=connect_url)
    yield engine
    engine.close()


def stage_by_hand(engine: SparkEngine, folder: Path, strategy: Any = "encrypt") -> dict[str, Any]:
    file = folder / "rows.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    account, columns = training.plan()
    read = Read("source", "json", tuple(Landed(name, STRING) for name in ROWS[0]))
    frame = engine.lower(engine.scan(read, Pinned((str(file),))), [account], {})
    staged = engine.stage(frame, columns, [Mask("email", strategy)], KEYS, str(folder / "staged"))
    rows = [row for f in (*staged.good, *staged.bad) for row in pq.ParquetFile(f.path).read().to_pylist()]
    emails = {row["id"]: row["email"] and reveal_text(row["email"], KEYS) for row in rows}
    return {"emails": emails, "scanned": staged.scanned, "fates": dict(staged.fates)}


EXPECTED = {"emails": {"1": "jo", "2": None}, "scanned": 3, "fates": {1: 1}}


@pytest.mark.parametrize("strategy", ["encrypt", "encrypt_deterministic"])
def test_a_plan_on_connect(remote: SparkEngine, tmp_path: Path, strategy: str) -> None:
    assert stage_by_hand(remote, tmp_path, strategy) == EXPECTED


def test_the_small_verbs_on_connect(remote: SparkEngine, tmp_path: Path) -> None:
    frame = remote.wrap(pa.table({"a": [1, 1, 2], "s": ["x", None, "y"]}))
    assert remote.duplicates(frame, ["a"]) == 1
    assert remote.collect(frame, 1).num_rows == 1
    file = tmp_path / "a.json"
    file.write_text('{"k": 1}\n')
    assert remote.discover(Read("source", "json", ()), Pinned((str(file),))) == (Landed("k", STRING),)


def test_a_connect_session_that_is_handed_in_is_never_changed(connect_url: str, tmp_path: Path) -> None:
    from pyspark.sql.connect.session import SparkSession

    theirs = SparkSession(connection=connect_url)
    try:
        theirs.conf.set("spark.sql.session.timeZone", "America/New_York")
        engine = SparkEngine(spark=theirs)
        assert stage_by_hand(engine, tmp_path) == EXPECTED
        assert theirs.conf.get("spark.sql.session.timeZone") == "America/New_York"
        assert theirs.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
        with pytest.raises(UsageError, match="outputTimestampType"):
            engine.adopt(theirs.range(2))
        engine.close()
        assert theirs.range(2).count() == 2
    finally:
        theirs.stop()


def test_the_home_page_on_connect(remote: SparkEngine, home: Path) -> None:
    from lakelogic import DataProcessor

    result = DataProcessor("contract.yaml", engine=remote).run()
    assert (result.counts.source, result.counts.good, result.counts.quarantined) == (4, 2, 2)


def test_a_server_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRPC_VERBOSITY", "NONE")
    port = module("spark_connect").free_port()
    with pytest.raises(EngineError, match="cannot be reached"):
        SparkEngine(remote=f"sc://127.0.0.1:{port}/;token=secret").session  # noqa: B018


@pytest.mark.skipif("LAKELOGIC_ALL_FAULTS" not in os.environ, reason="tried by make test-faults")
def test_the_home_page_and_a_plan_on_a_cluster(home: Path) -> None:
    program = """
import importlib.util, json, sys
from pathlib import Path
from lakelogic import DataProcessor
from lakelogic.engines.spark import SparkEngine
master, tests = sys.argv[1:]
spec = importlib.util.spec_from_file_location("by_hand", tests)
by_hand = importlib.util.module_from_spec(spec)
spec.loader.exec_module(by_hand)
engine = SparkEngine(master=master, settings={"spark.executor.memory": "512m"})
staged = by_hand.stage_by_hand(engine, Path.cwd(), "encrypt_deterministic")
counts = DataProcessor("contract.yaml", engine=engine).run().counts
engine.close()
print(json.dumps([staged, [counts.source, counts.good, counts.quarantined]]))
"""
    with module("spark_cluster").cluster(module("spark_connect"), workers=2) as master:
        done = subprocess.run(
            [sys.executable, "-c", program, master, __file__], capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 0, done.stderr[-3000:]
    staged, counts = json.loads(done.stdout.splitlines()[-1])
    assert staged == {**EXPECTED, "fates": {"1": 1}}
    assert counts == [4, 2, 2]
