"""Several processes at one ledger: no number twice, no lease twice, no half-told run."""

import subprocess
import sys
import time

import pytest

from lakelogic.ledger.store import open_ledger

COMMON = """
import sys, time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from lakelogic.errors import Blocked
from lakelogic.ledger.records import InputFile, Intent, RunRecord
from lakelogic.ledger.store import Ledger, open_ledger
place, folder, me = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
(folder / f"ready-{me}").touch()
while not (folder / "go").exists():
    time.sleep(0.001)
"""


@pytest.fixture
def race(place, tmp_path):
    """Run the same lines in several processes that start together; what each printed."""
    started = []

    def run(lines, processes=3):
        for number in range(processes):
            command = [sys.executable, "-c", COMMON + lines, place, str(tmp_path), str(number)]
            started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        while not all((tmp_path / f"ready-{number}").exists() for number in range(processes)):
            assert all(process.poll() is None for process in started), started[0].communicate()
            time.sleep(0.005)
        (tmp_path / "go").touch()
        outputs = [process.communicate(timeout=120) for process in started]
        assert [error for _, error in outputs] == [""] * processes
        return [output.split() for output, _ in outputs]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_no_number_is_given_out_twice_even_while_the_ledger_is_being_made(race):
    taken = race("with open_ledger(place) as ledger:\n    print(*[ledger.next_n('d') for _ in range(20)])")
    assert sorted(int(n) for part in taken for n in part) == list(range(1, 61))


def test_exactly_one_process_gets_a_lease(race, place):
    open_ledger(place).close()
    taken = race("""
ledger = open_ledger(place)
for number in range(10):
    try:
        ledger.acquire(f"target-{number}", me, timedelta(minutes=5))
        print(number)
    except Blocked as blocked:
        assert "is being written by" in str(blocked)
""")
    assert sorted(int(number) for part in taken for number in part) == list(range(10))


def test_exactly_one_process_takes_over_an_expired_lease(race, place):
    with open_ledger(place) as ledger:
        from datetime import timedelta

        for number in range(10):
            ledger.acquire(f"target-{number}", "the dead", timedelta(seconds=-1))
    taken = race("""
ledger = open_ledger(place)
for number in range(10):
    try:
        ledger.acquire(f"target-{number}", me, timedelta(minutes=5))
        print(number)
    except Blocked:
        pass
""")
    assert sorted(int(number) for part in taken for number in part) == list(range(10))


def test_a_process_that_dies_while_it_finishes_a_run_has_told_nothing(race, place, tmp_path):
    (told,) = race(
        """
import os
ledger = open_ledger(place)
ledger.begin(Intent("batch-1", "d", "t", 1, {}, "f", "duckdb"))
print("begun", flush=True)
Ledger._close_intents = staticmethod(lambda *_: os._exit(0))
ledger.finish(RunRecord("run-1", "d", "succeeded", datetime.now(UTC)), [InputFile("a", 1, 1)], "batch-1")
""",
        processes=1,
    )
    assert told == ["begun"]
    with open_ledger(place) as ledger:
        assert ledger.runs() == []
        assert ledger.seen("d") == set()
        assert ledger.open_intent("d").batch_id == "batch-1"
        assert ledger.next_n("d") == 1
