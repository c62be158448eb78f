"""The cost of a command is that of its whole tree, with children that have ended or were left behind."""

from __future__ import annotations

import sys

BURN = "import time\nwhile time.process_time() < {}: pass"


def test_children_that_ended_are_counted(tmp_path):
    from bench.tree import spend

    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN.format(0.4)!r}])"
    spent = spend([sys.executable, "-c", child], tmp_path / "log")
    assert spent.code == 0
    assert spent.cpu >= 0.4


def test_orphans_are_waited_for_and_counted(tmp_path):
    from bench.tree import spend

    child = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN.format(0.4)!r}])"
    assert spend([sys.executable, "-c", child], tmp_path / "log").cpu >= 0.4


def test_the_peak_is_the_most_that_was_held_at_one_time_in_a_span():
    from bench.tree import peak

    samples = [(1.0, {"python": 5}), (2.0, {"python": 3, "java": 9}), (3.0, {"python": 7, "java": 1})]
    assert peak(samples) == {"total": 12, "java": 9, "python": 7}
    assert peak(samples, 2.5, 4.0) == {"total": 8, "java": 1, "python": 7}


def test_a_ratio_is_taken_within_a_round():
    from bench.results import ratios

    def record(cpu: float) -> dict:
        return {"times": [{"cpu": cpu}]}

    hand = {"0": record(1.0), "1": record(4.0), "2": record(2.0)}
    ours = {"0": record(1.5), "1": record(4.0), "2": record(4.0)}
    found = ratios({"hand": hand, "lakelogic": ours}, "cold")["lakelogic"]["hand"]
    assert found == {"median": 1.5, "least": 1.0, "most": 2.0, "count": 3}


def test_a_tree_over_its_limit_of_memory_is_ended(tmp_path):
    from bench.tree import spend

    hold = "import time; kept = bytearray(200 << 20); time.sleep(60)"
    spent = spend([sys.executable, "-c", hold], tmp_path / "log", limit_mb=100)
    assert spent.code != 0
    assert "more than 100 MB" in (tmp_path / "log").read_text()
    assert spend([sys.executable, "-c", "pass"], tmp_path / "log", limit_mb=100).code == 0
