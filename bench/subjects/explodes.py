"""A contract that explodes one row: elements that break a rule go to quarantine, the others into a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bench.subjects.lakelogic_job import stop, versions

__all__ = ["run", "start", "stop", "versions"]


def _contract(source: str) -> dict[str, Any]:
    return {
        "source": {"path": source},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "items", "type": "array<bigint>"}]},
        "transformations": [{"sql": "SELECT id, t.n AS n FROM source LATERAL VIEW explode(items) t AS n"}],
        "quality": {"row_rules": [{"name": "positive", "sql": "n >= 0", "phase": "post"}]},
        "materialization": {"strategy": "append", "target_path": "shop.silver.elements"},
    }


def start(job: dict[str, Any]) -> Any:
    """The engine."""
    from lakelogic.engines import registry

    return registry.load(job["engine"])


def run(engine: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """One run, both tables committed."""
    from lakelogic import DataProcessor

    os.chdir(out)
    result = DataProcessor(_contract(job["source"]), engine).run()
    result.raise_for_status()
    counts = result.counts
    return {"good": [], "bad": [], "good_rows": int(counts.good), "bad_rows": int(counts.quarantined)}
