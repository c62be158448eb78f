"""The guard of every change: CPU of LakeLogic against the job by hand, on a hundred thousand rows, in one process.

    python -m bench.guard            writes the ratios of now into bench/guard.json

Only CPU time counts and only the ratio: how busy or how fast a machine is changes both sides alike.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.data import Data, ensure
from bench.harness import Case, job_of
from bench.parity import Outcome, check

ROWS = 100_000
TURNS = 3
BOUND = 1.5  # times the recorded ratio
PLACE = Path(__file__).with_name("guard.json")


def ratio(engine: str, data: Data, folder: Path) -> float:
    """The least of a few ratios, each of two runs that follow one another; the first ones only warm up."""
    started: dict[str, tuple[Any, Any, dict[str, Any]]] = {}
    for name in (f"{engine}_hand", "lakelogic_job"):
        module = importlib.import_module(f"bench.subjects.{name}")
        job = job_of(Case(name, engine, name), data, "parquet", 1)
        started[name] = module, module.start(job), job
    found, here = [], Path.cwd()
    try:
        for turn in range(TURNS + 1):
            spent = {}
            for name, (module, ready, job) in started.items():
                out = folder / f"{name}-{turn}"
                out.mkdir(parents=True)
                before = time.process_time()
                told = module.run(ready, job, out)
                spent[name] = time.process_time() - before
                if turn == 0:
                    check(data, Outcome.of(told, "digest"))
            if turn:
                found.append(spent["lakelogic_job"] / spent[f"{engine}_hand"])
    finally:
        os.chdir(here)
        for module, ready, _ in started.values():
            if hasattr(module, "stop"):
                module.stop(ready)
    return round(min(found), 2)


def recorded() -> dict[str, float]:
    """The ratios that were written down."""
    found: dict[str, float] = json.loads(PLACE.read_text())["ratios"]
    return found


def main() -> None:
    """Write down the ratios of now."""
    data = ensure(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        found = {engine: ratio(engine, data, Path(folder) / engine) for engine in ("duckdb", "polars")}
    PLACE.write_text(json.dumps({"rows": ROWS, "bound": BOUND, "ratios": found}, indent=2) + "\n")
    print(PLACE.read_text())


if __name__ == "__main__":
    main()
