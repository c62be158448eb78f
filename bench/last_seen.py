"""What `scd2.last_seen_field` costs: CPU of runs over a history with it, divided by that of runs without it.

`python -m bench.last_seen [rows]` makes two histories of so many keys (1 million by default) in a temporary folder, and
lands three batches in each: every key confirmed, 1 % of the keys confirmed, 5 % of the keys changed. DuckDB, Delta.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic import DataProcessor

DAY = 86_400_000_000
BATCHES = ((1.0, False, "every key confirmed"), (0.01, False, "1 % confirmed"), (0.05, True, "5 % changed"))


def land(folder: Path, number: int, ids: np.ndarray, amounts: np.ndarray) -> None:
    """One file of rows of one day."""
    folder.mkdir(exist_ok=True)
    seen = pa.array(np.full(len(ids), (20_000 + number) * DAY)).cast(pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"id": ids, "amount": amounts, "seen": seen}), folder / f"{number}.parquet")


def run(root: Path, **history: Any) -> tuple[float, float]:
    """CPU and wall seconds of one run."""
    document = {
        "source": {"path": str(root / "landing/*.parquet"), "load_mode": "incremental"},
        "model": {"fields": [{"name": name, "type": kind} for name, kind in FIELDS.items()]},
        "materialization": {
            "strategy": "scd2", "primary_key": ["id"], "target_path": str(root / "table"),
            "scd2": {"timestamp_field": "seen", **history},
        },
    }  # fmt: skip
    cpu, wall = time.process_time(), time.perf_counter()
    DataProcessor(document, "duckdb").run()
    return time.process_time() - cpu, time.perf_counter() - wall


FIELDS = {"id": "bigint", "amount": "bigint", "seen": "timestamp"}


def measured(root: Path, rows: int, **history: Any) -> list[tuple[float, float]]:
    """CPU and wall seconds of each batch over a history of so many keys."""
    everything = np.arange(rows)
    land(root / "landing", 0, everything, everything)
    run(root, **history)
    found = []
    for number, (share, changes, _) in enumerate(BATCHES, 1):
        ids = everything[:: round(1 / share)]
        land(root / "landing", number, ids, ids + number if changes else ids)
        found.append(run(root, **history))
    return found


def main() -> None:
    """Print seconds without and with the column, and their ratio."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    results = {}
    for name, history in (("warm", {}), ("without", {}), ("with", {"last_seen_field": "last_seen"})):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).mkdir()
            os.chdir(folder)
            results[name] = measured(Path(folder, name), 1000 if name == "warm" else rows, **history)
            os.chdir("/")
    for at, (_, _, batch) in enumerate(BATCHES):
        (cpu, wall), (other_cpu, other_wall) = results["without"][at], results["with"][at]
        print(f"{batch}: CPU {cpu:.2f} s, with {other_cpu:.2f} s = {other_cpu / cpu:.2f}x; wall {wall:.2f} s, with "
              f"{other_wall:.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
