"""Sessions: ours are set up as we need them, others' are never changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakelogic.engines.spark import SparkEngine
from lakelogic.engines.spark import session as sessions
from lakelogic.engines.spark.runtime import installation, launcher
from lakelogic.errors import EngineError, UsageError
from lakelogic.plan.nodes import Account, Assignment, Publish, Published, Read
from lakelogic.privacy.keys import Keys
from lakelogic.sql.expressions import Column, Literal, text
from lakelogic.sql.types import INT, STRING, TIMESTAMP

pytestmark = pytest.mark.spark


@pytest.fixture
def theirs(spark_engine: SparkEngine) -> Any:
    """A session of somebody who has chosen other settings."""
    session = spark_engine.session.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.caseSensitive", "false")
    return session


def test_a_session_that_is_handed_in_is_never_changed(theirs: Any) -> None:
    before = {key: theirs.conf.get(key) for key in sessions.OURS}
    engine = SparkEngine(spark=theirs)
    engine.collect(engine.wrap(pa.table({"a": [1]})))
    assert engine.session is not theirs
    assert {key: engine.session.conf.get(key) for key in sessions.OURS} == sessions.OURS
    engine.close()
    assert {key: theirs.conf.get(key) for key in sessions.OURS} == before
    assert theirs.range(1).count() == 1


def test_a_frame_of_theirs_becomes_ours_without_python_workers(theirs: Any) -> None:
    frame = theirs.sql(
        "SELECT id, named_struct('a b', id) AS `s:1`, array(CAST(1.5 AS DECIMAL(4,2))) AS d FROM range(3)"
    )
    engine = SparkEngine(spark=theirs)
    adopted, landed = engine.adopt(frame)
    plan = adopted._jdf.queryExecution().executedPlan().toString()
    assert "RDD" not in plan
    assert "Union" not in plan
    assert adopted.sparkSession is engine.session
    assert [column.name for column in landed] == ["id", "s:1", "d"]
    assert [row["s:1"]["a b"] for row in engine.collect(adopted).to_pylist()] == [0, 1, 2]


def test_a_frame_of_theirs_is_written_as_we_write(theirs: Any, tmp_path: Path) -> None:
    frame = theirs.sql("SELECT TIMESTAMP'2024-07-01 12:00:00' AS t, 'x' AS `T 2`")
    engine = SparkEngine(spark=theirs)
    adopted, landed = engine.adopt(frame, Read("source", "parquet", ()))
    publish = Publish(
        (Assignment("t", Column("t", TIMESTAMP)), Assignment("hour", Column("T 2", STRING))),
        Literal(0, INT),
        text("good"),
    )
    columns = [Published("t", TIMESTAMP, True, True), Published("hour", STRING, True, True)]
    lowered = engine.lower(adopted, [Account(None, (), publish)], {})
    staged = engine.stage(lowered, columns, (), Keys(), str(tmp_path / "b"))
    found = engine.collect(engine.open([f.path for f in staged.good], [("t", pa.timestamp("us", tz="UTC"))]))
    assert [str(value) for value in found.column("t").to_pylist()] == ["2024-07-01 16:00:00+00:00"]
    assert [column.name for column in landed] == ["t", "T 2"]
    assert staged.scanned == 1


def test_a_broken_plan_is_told_as_an_engine_error(spark_engine: SparkEngine, tmp_path: Path) -> None:
    frame = spark_engine.session.sql(
        "SELECT CAST(raise_error('boom') AS STRING) AS v, 0 AS `~fate`, 0 AS `~copy`, 'good' AS ll_side"
    )
    with pytest.raises(EngineError, match="boom"):
        spark_engine.stage(frame, [Published("v", STRING, True, True)], (), Keys(), str(tmp_path / "b"))


def test_engines_of_one_process_share_one_spark(spark_engine: SparkEngine) -> None:
    other = SparkEngine(master="local[2]")
    assert other.session is not spark_engine.session
    assert other.session._sc is spark_engine.session._sc
    other.close()
    assert spark_engine.session.range(3).count() == 3


def test_a_missing_java_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EngineError) as caught:
        installation.require_java()
    assert "apt-get install" in str(caught.value)


def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="1.8.0_402"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match="is Java 8"):
        installation.require_java()


def test_looking_at_the_folder_loads_no_pyspark() -> None:
    code = "import sys, lakelogic.engines.spark; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_what_spark_submit_would_run_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_CACHE", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("SPARK_")]:
        monkeypatch.delenv(name)
    settings = {"spark.master": "local[1]", "spark.driver.memory": "1g"}
    first = launcher._command(settings)
    assert first is not None
    assert "-Xmx1g" in first
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("asked again"))
    assert launcher._command(settings) == first
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dsomething=else")
    assert launcher._command(settings) is None


def test_no_thread_of_spark_is_left_without_its_classes(spark_engine: SparkEngine) -> None:
    jvm = spark_engine.session._jvm
    none = jvm.java.lang.ClassLoader.getPlatformClassLoader()
    threads = jvm.java.lang.Thread.getAllStackTraces().keySet()
    assert [thread.getName() for thread in threads if none.equals(thread.getContextClassLoader())] == []


def test_settings_reach_the_session_and_the_process_is_left_as_it_was(spark_engine: SparkEngine) -> None:
    assert spark_engine.session.conf.get("spark.sql.shuffle.partitions") == "4"
    assert {key: spark_engine.session.conf.get(key) for key in sessions.OURS} == sessions.OURS
    assert not [name for name in os.environ if name.startswith(("PYSPARK_GATEWAY", "SPARK_LAUNCHER"))]


@pytest.mark.slow
def test_a_run_of_its_own_says_nothing_and_leaves_no_process(tmp_path: Path) -> None:
    code = """
import pyarrow as pa
from pyspark import SparkContext
from lakelogic.engines.spark import SparkEngine
engine = SparkEngine(master="local[1]")
assert engine.collect(engine.wrap(pa.table({"a": [1, 2]}))).num_rows == 2
process = SparkContext._gateway.proc
engine.close()
assert process.poll() is not None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_things_that_are_no_rows_are_refused(spark_engine: SparkEngine) -> None:
    with pytest.raises(UsageError):
        spark_engine.adopt(object())


SECRET = "c0rrect-h0rse"
WITH_SECRETS = """
import os, sys
from pathlib import Path
from pyspark import SparkContext
from lakelogic.engines.spark import SparkEngine
engine = SparkEngine(master="local[1]", fast_start={fast}, settings={{
    "spark.hadoop.fs.s3a.secret.key": {secret!r},
    "spark.driver.extraJavaOptions": "-Dof.theirs='{secret} two'",
}})
session = engine.session
java = session._jvm.java.lang
# They arrive.
assert session._jsc.hadoopConfiguration().get("fs.s3a.secret.key") == {secret!r}
assert java.System.getProperty("of.theirs") == "{secret} two"
# Nobody else sees them.
process = SparkContext._gateway.proc.pid
assert "{secret}" not in Path(f"/proc/{{process}}/cmdline").read_text()
private = [java.System.getProperty("java.io.tmpdir"), session._sc._jsc.sc().env().blockManager().diskBlockManager().localDirs()[0].getPath()]
rooms = [path for path in Path(os.environ["TMPDIR"]).iterdir()]
assert len(rooms) == 1 and rooms[0].stat().st_mode & 0o777 == 0o700, rooms
assert all(Path(path).is_relative_to(rooms[0]) for path in private), private
for file in Path(os.environ["TMPDIR"]).rglob("*.properties"):
    assert file.stat().st_mode & 0o777 == 0o600
{end}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fast", "end"), [(True, "engine.close()"), (False, "")], ids=["fast and closed", "asked and never closed"]
)
def test_secrets_stay_off_the_command_line_and_folders_are_private(
    fast: bool, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, cache = tmp_path / "tmp", tmp_path / "cache"
    temporary.mkdir()
    (cache / "spark" / "commands").mkdir(parents=True)
    (cache / "spark" / "commands" / "old.json").write_text(f'["--conf", "x={SECRET}"]')
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("LAKELOGIC_CACHE", str(cache))
    for name in [name for name in os.environ if name.startswith("SPARK_")]:
        monkeypatch.delenv(name)
    code = WITH_SECRETS.format(fast=fast, secret=SECRET, end=end)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    kept = [file.read_text() for file in cache.rglob("*.json")]
    assert len(kept) == 1 if fast else not [text for text in kept if SECRET not in text]
    assert not fast or SECRET not in kept[0]
    assert list(temporary.iterdir()) == []


def test_a_folder_for_sparks_own_files_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/not/there")
    with pytest.raises(EngineError, match="cannot put its own files under /not/there"):
        sessions._make_rooms({})
