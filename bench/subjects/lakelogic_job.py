"""The reference job as a LakeLogic contract, on any engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bench.reference import KEY, contract
from bench.subjects.commits import told


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {"lakelogic": version("lakelogic")}


def start(job: dict[str, Any]) -> Any:
    """The engine; it serves all times, as it would for a driver."""
    from lakelogic.engines import registry

    os.environ["LAKELOGIC_PII_SALT"] = KEY
    engine = registry.load(job["engine"], **job.get("engine_options", {}))
    # The counters below start Spark before the run does, which would have said this.
    engine.expect(sum(Path(file).stat().st_size for file in job["files"]))
    return engine


def stop(engine: Any) -> None:
    """Give back the engine."""
    engine.close()


def run(engine: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """One run into a warehouse of its own."""
    from deltalake import DeltaTable

    from lakelogic import DataProcessor

    spark = job["engine"] == "spark"
    if spark:
        from bench.subjects.spark_hand import counters

        before = counters(engine.session)
    os.chdir(out)
    written = job.get("contract") or contract(Path(job["source"]), Path(job["customers"]), mask=job["mask"])
    result = DataProcessor(written, engine).run()
    result.raise_for_status()
    tables = out / "lakelogic_warehouse" / "bench"
    sides = [DeltaTable(str(tables / place)).file_uris() for place in ("silver/orders", "quarantine/orders")]
    facts: dict[str, Any] = {"asked": job["asked"], "leaves": ["unique"]} if "asked" in job else {}
    if spark:
        after = counters(engine.session)
        names = ("spark_jobs", "spark_records", "spark_bytes")
        facts["good_rows"] = int(result.counts.good)
        facts |= {name: now - then for name, now, then in zip(names, after, before, strict=True)}
    rules = [one for one in result.report["dataset_rules"] if "unique" in one["name"]]
    return told(
        *sides,
        unique=bool(rules) and all(one["passed"] for one in rules),
        rules="list_transform(_lakelogic_errors, lambda x: regexp_extract(x, '^Rule failed: (\\w+)', 1))",
        **facts,
    )
