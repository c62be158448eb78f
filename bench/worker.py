"""One process of a measurement: do a job several times and tell what each time cost.

    python -m bench.worker job.json told.json

Runs in the environment of whoever is measured, so that only the standard library is imported here.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from bench.tree import snapshot


def main(job_file: str, told_file: str) -> None:
    """Do the job as often as it says; the first time is cold, the others are warm."""
    job: dict[str, Any] = json.loads(Path(job_file).read_text())
    times: list[dict[str, Any]] = []
    module = importlib.import_module(f"bench.subjects.{job['module']}")
    started = module.start(job)
    try:
        for at in range(int(job["times"])):
            out = Path(job["out"]) / str(at)
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            if hasattr(module, "prepare"):
                module.prepare(started, job)
            before = snapshot()
            if at == 0 and not job.get("alone"):
                # What it took to get here belongs to the first time.
                before = type(before)(0.0, 0, 0, before.at - (time.time() - float(job["began"])))
            start = time.time() if at or job.get("alone") else 0.0
            told = module.run(started, job, out)
            spent = snapshot().since(before)
            times.append({**spent, "span": (start, time.time()), "load": os.getloadavg()[0], "told": told})
    finally:
        if hasattr(module, "stop"):
            module.stop(started)
    Path(told_file).write_text(json.dumps({"times": times, "versions": getattr(module, "versions", dict)()}))


if __name__ == "__main__":
    main(*sys.argv[1:3])
