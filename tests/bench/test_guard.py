"""Every change is compared with the job written by hand: CPU against CPU in one process, never wall time."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_the_reference_job_stays_near_the_job_by_hand(engine: str, orders: Any, workspace: Any) -> None:
    from bench import guard

    found = guard.ratio(engine, orders(guard.ROWS), workspace)
    known = guard.recorded()[engine]
    assert found <= guard.BOUND * known, (
        f"On {engine} the reference job takes {found} × the CPU of the job by hand; {known} × was written down. "
        "If this is meant, `python -m bench.guard` writes the new ratio down."
    )
