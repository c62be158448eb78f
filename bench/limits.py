"""More data than memory: the reference job with a limit below what the rows take, over which the run is ended."""

from __future__ import annotations

from typing import Any

from bench import data, results
from bench.harness import Case, interleaved, say
from bench.parts import Wanted

# Megabytes of private memory that all processes of a run may have together. Ten million orders take 2,100 MB as
# Arrow, and more in Java.
LIMITS = {"duckdb": 1_000, "polars": 1_500, "spark": 2_000}
HEAP = "1g"


def memory(wanted: Wanted) -> None:
    """Whether the job is done, and done right, within the limit."""
    rows = max(wanted.rows)
    made = data.ensure(rows)
    for engine in wanted.engines:
        job: dict[str, Any] = {"limit_mb": LIMITS[engine]}
        if engine == "spark":
            job["engine_options"] = {"settings": {"spark.driver.memory": HEAP}}
        case = Case(f"within-{LIMITS[engine]}-MB", engine, "lakelogic_job", job=job)
        interleaved([case], made, "parquet", rounds=1, times=1, store=wanted.store, part="memory")
    say("memory: done")
    results.save("memory", results.summarise(wanted.store, "memory"))
