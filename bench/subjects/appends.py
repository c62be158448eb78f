"""The reference job as an incremental contract: a large table is there, and little or nothing is new."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from bench.reference import contract
from bench.subjects.lakelogic_job import stop, versions
from bench.subjects.merges import prepare as put_back

__all__ = ["prepare", "run", "start", "stop", "versions"]


def _contract(job: dict[str, Any]) -> dict[str, Any]:
    found = contract(Path("landing/*.parquet"), Path(job["customers"]))
    return {**found, "source": {"path": "landing/*.parquet", "load_mode": "incremental"}}


def start(job: dict[str, Any]) -> Any:
    """The engine, and the table with everything that landed before, made where it is missing."""
    from lakelogic import DataProcessor
    from lakelogic.engines import registry

    engine = registry.load(job["engine"])
    kept, work = Path(job["kept"]), Path(job["work"])
    if not (kept / "done").exists():
        shutil.rmtree(kept, ignore_errors=True)
        shutil.rmtree(work, ignore_errors=True)
        (work / "landing").mkdir(parents=True)
        for file in job["base"]:
            shutil.copy2(file, work / "landing")
        os.chdir(work)
        DataProcessor(_contract(job), engine).run().raise_for_status()
        os.chdir("/")
        work.rename(kept)
        (kept / "done").touch()
    return engine


def prepare(engine: Any, job: dict[str, Any]) -> None:
    """The table as it was; what is new has landed."""
    put_back(engine, {**job, "changes": job["changes"] or os.devnull})
    if not job["changes"]:
        (Path(job["work"]) / "landing" / "changes.parquet").unlink()


def run(engine: Any, job: dict[str, Any], _: Path) -> dict[str, Any]:
    """One run."""
    from lakelogic import DataProcessor

    os.chdir(job["work"])
    result = DataProcessor(_contract(job), engine).run()
    result.raise_for_status()
    return {"good": [], "bad": [], "source": int(result.counts.source)}
