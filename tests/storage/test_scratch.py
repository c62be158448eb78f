"""Private folders: nobody else may look into them, and none is left, however a process ends."""

from __future__ import annotations

import gc
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.storage import scratch

HELD = """
import os, sys, time
from lakelogic.storage.scratch import scratch
held = scratch()
open(held.path + "/rows.parquet", "w").close()
print(held.path, flush=True)
{then}
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of one's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def judged(engine: Any, workspace: Path) -> Any:
    (workspace / "orders.csv").write_text("id,paid\n1,5\n2,x\n")
    contract = {
        "source": {"path": "orders.csv"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "paid", "type": "int"}]},
    }
    return DataProcessor(contract, engine).run(materialize=False)


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.parquet")]


def test_only_its_user_may_look_into_it(temporary: Path) -> None:
    held = scratch.scratch()
    for path in (Path(held.path), Path(held.path).parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert Path(held.path).is_relative_to(temporary)


def test_rows_that_are_only_judged_go_with_their_result(engine: Any, workspace: Path, temporary: Path) -> None:
    result = judged(engine, workspace)
    assert result.counts.good == 1
    assert files(temporary)
    assert "result.bad" in result.as_text()
    del result
    gc.collect()
    assert files(temporary) == []


def test_frames_that_were_handed_out_can_be_read_after_their_result(
    engine: Any, workspace: Path, temporary: Path
) -> None:
    good, bad = judged(engine, workspace)
    gc.collect()
    assert engine.collect(good).column("id").to_pylist() == [1]
    assert engine.collect(bad).num_rows == 1


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_process_leaves_is_removed_by_the_next(temporary: Path, kill: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HELD.format(then="time.sleep(60)")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    assert scratch.sweep() == []  # it lives
    assert left.is_dir()
    process.send_signal(kill)
    process.communicate()
    assert left.is_dir()
    scratch.scratch()
    assert not left.parent.exists()


def test_nothing_is_left_by_a_process_that_ends(temporary: Path) -> None:
    for then in ("pass", "raise SystemExit(3)"):
        done = subprocess.run(
            [sys.executable, "-c", HELD.format(then=then)], capture_output=True, text=True, check=False
        )
        assert not Path(done.stdout.strip()).exists()
    assert list(temporary.iterdir()) == []


def test_a_forked_process_leaves_its_parents_folders_alone(temporary: Path) -> None:
    then = """
child = os.fork()
if child == 0:
    own = scratch()
    assert os.path.dirname(own.path) != os.path.dirname(held.path)
    sys.exit(0)
os.waitpid(child, 0)
assert os.path.isfile(held.path + "/rows.parquet")
"""
    done = subprocess.run([sys.executable, "-c", HELD.format(then=then)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(temporary.iterdir()) == []


def test_what_is_not_surely_ours_stays(temporary: Path, tmp_path: Path) -> None:
    """A folder without a lock, a file, and a link to somewhere else."""
    (temporary / "lakelogic-notes").mkdir()
    (temporary / "lakelogic-file").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / scratch.ALIVE).touch()
    (temporary / "lakelogic-link").symlink_to(elsewhere)
    assert scratch.sweep() == []
    assert sorted(path.name for path in temporary.iterdir()) == ["lakelogic-file", "lakelogic-link", "lakelogic-notes"]
    assert elsewhere.is_dir()
