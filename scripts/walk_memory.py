"""Run a contract over more data than the process may hold, and tell how much memory it took.

    python scripts/walk_memory.py duckdb --megabytes 2000 --limit 700

The input is Parquet that is small on disk and `--megabytes` large in memory. DuckDB is told a memory_limit, the JVM of
Spark has the heap it is started with; the whole Python process, its libraries included, must stay below `--limit`
megabytes. Ends with 1 where it does not, or where a row is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROW = 1_000  # bytes of text in a row
GROUP = 20_000
CONTRACT = {
    "dataset": "large",
    "source": {"path": "large/*.parquet"},
    "model": {"fields": [{"name": "id", "type": "bigint"}, {"name": "note"}]},
    "transformations": [{"derive": {"field": "start", "sql": "left(note, 8)"}}],
    "quality": {
        "row_rules": [{"name": "not_divided_by_50", "sql": "id % 50 <> 0"}],
        "dataset_rules": [{"unique": "id"}],
    },
    "materialization": {"strategy": "append", "target_path": "memory.silver.large"},
}


def make(folder: Path, rows: int) -> None:
    """Rows of a thousand bytes that repeat themselves, so that they are small on disk only."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    schema = pa.schema([("id", pa.int64()), ("note", pa.string())])
    with pq.ParquetWriter(folder / "part.parquet", schema, compression="zstd") as writer:
        for start in range(0, rows, GROUP):
            ids = range(start, min(start + GROUP, rows))
            notes = [f"{number:08d}" * (ROW // 8) for number in ids]
            writer.write_table(pa.table([pa.array(ids), pa.array(notes)], schema=schema))


def peak() -> int:
    """The most megabytes that this process has held."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def settings(engine: str) -> dict[str, Any]:
    """What each engine is told about memory."""
    return {"duckdb": {"memory_limit": "256MB", "threads": 2}}.get(engine, {})


def main() -> int:
    """Make the rows, run the contract, tell what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("engine", choices=("duckdb", "polars", "spark"))
    parser.add_argument("--megabytes", type=int, default=2_500)
    parser.add_argument("--limit", type=int, help="700; 1,600 on Polars, which reads ahead by itself")
    said = parser.parse_args()
    limit = said.limit or (1_600 if said.engine == "polars" else 700)
    rows = said.megabytes * 1_000_000 // ROW
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make(Path("large"), rows)
        before = peak()
        from lakelogic import DataProcessor

        with DataProcessor(CONTRACT, said.engine, settings=settings(said.engine)) as processor:
            result = processor.run()
        counts = result.report["counts"]
        os.chdir("/")
    whole = counts["source"] == rows and counts["quarantined"] == -(-rows // 50)
    megabytes = {"input": said.megabytes, "before": before, "peak": peak(), "limit": limit}
    print(json.dumps({"engine": said.engine, "rows": counts["source"], "bad": counts["quarantined"], "mb": megabytes}))
    return 0 if whole and peak() <= limit and result.status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
