"""Merge of 1 % changes into a large Delta table: seconds, and the files that were read and written again.

    python bench/merge.py --engine duckdb --rows 10000000 --changes 100000 --out bench/merge.json

The table is made by LakeLogic, by a run for each million rows. Two batches of changes are merged: `clustered`, whose
keys lie together (a day's orders), and `scattered`, whose keys lie anywhere. Each is half updates of keys that are
there and half rows that are there already, word for word, plus a thousandth of new keys.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FIELDS = [
    {"name": "id", "type": "bigint"},
    {"name": "customer", "type": "string"},
    {"name": "amount", "type": "decimal(12,2)"},
    {"name": "at", "type": "timestamp"},
]
SCHEMA = pa.schema(
    [("id", pa.int64()), ("customer", pa.string()), ("amount", pa.decimal128(12, 2)), ("at", pa.timestamp("us", "UTC"))]
)
DAY = 86_400_000_000
CONTRACT = {
    "source": {"path": "landing/*.parquet", "load_mode": "incremental"},
    "model": {"fields": FIELDS},
    "materialization": {
        "strategy": "merge", "primary_key": ["id"], "sequence_by": "at", "target_path": "bench.silver.orders",
    },
}  # fmt: skip


def rows(ids: list[int], day: int, changed: set[int] | None = None) -> pa.Table:
    """Orders as they are on a day; those that changed have another amount."""
    amounts = [(i % 9973) * 100 + (1 if changed is not None and i in changed else 0) for i in ids]
    days = [day if changed is not None and i in changed else 1 for i in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": pa.array([f"customer-{i % 100_003}" for i in ids]),
            "amount": pa.array(amounts, pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(12, 2)),
            "at": pa.array([d * DAY for d in days], pa.timestamp("us", "UTC")),
        },
        schema=SCHEMA,
    )


def batch(total: int, changes: int, day: int, *, scattered: bool) -> tuple[pa.Table, dict[str, int]]:
    """A batch of changes, and what must become of it."""
    step = total // changes if scattered else 1
    start = 0 if scattered else total // 2
    known = [start + at * step for at in range(changes)]
    changed = set(known[::2])
    new = [10 * total + day * total + at for at in range(changes // 1000)]
    expected = {"inserted": len(new), "updated": len(changed), "unchanged": changes - len(changed)}
    return pa.concat_tables([rows(known, day, changed), rows(new, day, set(new))]), expected


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--changes", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=None)
    wanted = parser.parse_args()
    out = wanted.out.absolute() if wanted.out else None
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-bench-"))
    os.chdir(folder)
    try:
        report = measure(wanted.engine, wanted.rows, wanted.changes)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    text = json.dumps(report, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(out.read_text()) if out.exists() else {}
        out.write_text(json.dumps({**known, wanted.engine: report}, indent=2) + "\n")
    return 0


def measure(engine_name: str, total: int, changes: int) -> dict[str, Any]:
    """Make the table, merge both batches, and check every count on the way."""
    from deltalake import DeltaTable

    from lakelogic import DataProcessor
    from lakelogic.engines import registry

    engine = registry.load(engine_name)
    landing = Path("landing")
    landing.mkdir()
    part = min(total, 1_000_000)
    load = 0.0
    for start in range(0, total, part):
        pq.write_table(rows(list(range(start, min(start + part, total))), 1), landing / f"first-{start:09d}.parquet")
        began = time.perf_counter()
        first = DataProcessor(CONTRACT, engine).run()
        load += time.perf_counter() - began
        assert first.report["applied"]["inserted"] == min(part, total - start)
    table = "lakelogic_warehouse/bench/silver/orders"
    report: dict[str, Any] = {
        "engine": f"{engine_name} {engine.version}",
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "rows": total,
        "changes": changes,
        "first_load_seconds": round(load, 1),
        "files": len(DeltaTable(table).file_uris()),
    }
    for day, scattered in ((2, False), (3, True)):
        name = "scattered" if scattered else "clustered"
        changed, expected = batch(total, changes, day, scattered=scattered)
        pq.write_table(changed, landing / f"{name}.parquet")
        began = time.perf_counter()
        result = DataProcessor(CONTRACT, engine).run()
        seconds = time.perf_counter() - began
        applied = result.report["applied"]
        found = {effect: applied.get(effect, 0) for effect in expected}
        # A key that both batches change is the same row to the second only where its amount is.
        assert found["inserted"] == expected["inserted"], (found, expected)
        assert sum(found.values()) + applied.get("stale", 0) == changed.num_rows, (applied, changed.num_rows)
        report[name] = {"seconds": round(seconds, 1), "files_rewritten": applied["rewritten_files"], "applied": applied}
    engine.close()
    return report


if __name__ == "__main__":
    raise SystemExit(main())
