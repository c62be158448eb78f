"""How well a pass over many small contracts uses two cores of one engine, and what a pass with nothing new costs.

python bench/passes.py                                   200 contracts on Spark
python bench/passes.py --contracts 60 --engine duckdb    fewer, elsewhere

A first pass warms the session up. A second runs one dataset after another: the seconds of each are its work, and the
longest chain of them is the critical path. A third runs `--workers` of them side by side, with as much new data.

    efficiency = (critical path + work / cores) / wall

No schedule is faster than the greater of the two terms, and a greedy one is no slower than their sum: 1.0 or more is
as good as it gets. Two more passes with nothing new, over all and over half of the contracts, tell what looking costs.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from lakelogic.run.surroundings import Surroundings

LAYERS = ("bronze", "silver", "gold")


def write_estate(root: Path, contracts: int) -> None:
    """Entities that go from a landed file to bronze, to silver and to gold."""
    for layer in LAYERS:
        (root / layer).mkdir(parents=True)
    (root / "landing").mkdir()
    entries = ["entries:\n"]
    for index in range(contracts):
        layer, entity = LAYERS[index % 3], f"entity{index // 3:03}"
        (root / layer / f"{entity}.yaml").write_text(contract(layer, entity))
        if layer == "bronze":
            entries.append(f"  - entity: {entity}\n    contracts:\n")
        entries.append(f"      {layer}: {layer}/{entity}.yaml\n")
    (root / "_registry.yaml").write_text("".join(entries))


def contract(layer: str, entity: str) -> str:
    """A small contract: a few fields, a step, two rules."""
    head = f"info: {{target_layer: {layer}, dataset: {layer}_{entity}, owner: bench}}\n"
    target = f"materialization: {{target_path: bench.{layer}.{entity}"
    if layer == "bronze":
        source = f"source: {{path: landing, pattern: '{entity}_*.csv', format: csv, load_mode: incremental}}\n"
        return f"{head}{source}{target}}}\n"
    below = LAYERS[LAYERS.index(layer) - 1]
    return (
        f"{head}source: {{path: bench.{below}.{entity}}}\n"
        "model: {fields: [{name: id, type: int, required: true}, {name: amount, type: double}, {name: city}]}\n"
        "transformations: [{sql: 'UPPER(TRIM(city)) AS city'}]\n"
        "quality: {row_rules: [{name: positive, sql: 'amount > 0'}, {name: named, sql: 'city IS NOT NULL'}]}\n"
        f"{target}, strategy: overwrite}}\n"
    )


def land(root: Path, contracts: int, number: int, rows: int) -> None:
    """A new file for every entity."""
    for index in range(0, contracts, 3):
        lines = [f"{number * rows + row},{row + 1}.50, town{row % 7} \n" for row in range(rows)]
        (root / "landing" / f"entity{index // 3:03}_{number}.csv").write_text("id,amount,city\n" + "".join(lines))


def jobs_of(engine: Any) -> int:
    """How many jobs a Spark session has started so far; elsewhere there are none."""
    if engine.name != "spark":
        return 0
    return len(engine.session._sc.statusTracker().getJobIdsForGroup(None))


def measure(contracts: int, rows: int, engine_name: str, workers: int, cores: int) -> dict[str, Any]:
    """All passes in this process, on one session."""
    from lakelogic.actions.operate.drive import DriveRequest, drive
    from lakelogic.driver.selection import Selectors, choose
    from lakelogic.engines import registry

    root = Path.cwd()
    write_estate(root, contracts)
    engine = registry.load(engine_name)
    if engine_name == "spark":
        assert engine.session is not None  # type: ignore[attr-defined]  # so that Spark outlives the passes

    def one(number: int | None, side_by_side: int, **more: Any) -> tuple[Any, float, int]:
        if number is not None:
            land(root, contracts, number, rows)
        before, started = jobs_of(engine), time.perf_counter()
        done = drive(
            Surroundings.here(), DriveRequest(("_registry.yaml",), engine=engine_name, max_workers=side_by_side, **more)
        )
        wall = time.perf_counter() - started
        wanted = {"succeeded"} if number is not None else {"no_new_data"}
        assert {outcome.status for outcome in done.outcomes} == wanted, done.counts
        return done, round(wall, 2), jobs_of(engine) - before

    one(0, workers)
    alone, alone_wall, _ = one(1, 1)
    together, wall, jobs = one(2, workers)
    nothing, nothing_wall, nothing_jobs = one(None, workers)
    half = tuple(f"entity{index:03}" for index in range((contracts + 2) // 6))
    fewer, fewer_wall, _ = one(None, workers, entities=half)
    engine.close()
    graph = choose(Selectors(("_registry.yaml",))).graph
    seconds = {outcome.dataset: outcome.seconds for outcome in alone.outcomes}
    longest: dict[str, float] = {}
    for member in graph.order():
        ups = [longest[up] for up in graph.upstreams(member.dataset) if up in longest]
        longest[member.dataset] = seconds[member.dataset] + max(ups, default=0.0)
    work, critical = sum(seconds.values()), max(longest.values())
    return {
        "engine": engine_name,
        "contracts": len(seconds),
        "rows_a_file": rows,
        "workers": workers,
        "cores": cores,
        "load_before": LOAD,
        "work_seconds": round(work, 2),
        "critical_path_seconds": round(critical, 2),
        "one_after_another_seconds": alone_wall,
        "wall_seconds": wall,
        "jobs": jobs,
        "efficiency": round((critical + work / cores) / wall, 2),
        "nothing_new": {
            "seconds": nothing_wall, "jobs": nothing_jobs, "contracts": len(nothing.outcomes),
            "half": {"seconds": fewer_wall, "contracts": len(fewer.outcomes)},
        },
        "succeeded": together.counts["succeeded"],
    }  # fmt: skip


LOAD = round(os.getloadavg()[0], 1)


def main() -> None:
    """Measure in a folder that is thrown away, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contracts", type=int, default=200)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--engine", default="spark")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
            os.environ.pop(name, None)
        found = measure(asked.contracts, asked.rows, asked.engine, asked.workers, asked.cores)
        os.chdir("/")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
