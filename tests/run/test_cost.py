"""A small run asks the house for little: counts of calls, which are the same on every machine."""

from __future__ import annotations

from pathlib import Path

from bench.trace import trace_second_run


def test_a_small_merge_compiles_once_and_opens_its_tables_once_before_and_once_behind_a_commit(
    workspace: Path,
) -> None:
    trace = trace_second_run(workspace)
    assert trace.counted["compilations"] == 1
    assert trace.counted["strategies"] <= 3  # the run itself, and the plan with and without fields that it makes
    assert trace.openings["customers"] <= 3
    assert sum(trace.openings.values()) <= 5
    assert trace.depth <= 40
