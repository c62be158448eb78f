"""Tables that a run wrote are ordinary Delta tables: Spark's own Delta, delta-rs and DuckDB read the same rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

GOOD = "lakelogic_warehouse/catalog/silver/customers"
BAD = "lakelogic_warehouse/catalog/quarantine/silver_customers"

READ_WITH_SPARK = """
import json, sys
from lakelogic.engines.spark import SparkEngine

engine = SparkEngine(delta=True)
for place in sys.argv[1:]:
    rows = engine.session.read.format("delta").load(place).select("cus_id", "_lakelogic_processed_at").toArrow()
    print(json.dumps(sorted(row["cus_id"] for row in rows.to_pylist())))
engine.close()
"""


def test_delta_rs_and_duckdb_read_both_tables(engine: Any, home: Path) -> None:
    import duckdb

    DataProcessor("contract.yaml", engine).run()
    for place, expected in ((GOOD, ["C100", "C101"]), (BAD, ["C102", "C103"])):
        table = DeltaTable(place)
        assert sorted(table.to_pyarrow_table().column("cus_id").to_pylist()) == expected
        dataset = table.to_pyarrow_dataset()
        found = duckdb.from_arrow(dataset.scanner()).project("cus_id").order("cus_id").fetchall()
        assert [row[0] for row in found] == expected


@pytest.mark.spark
@pytest.mark.slow
def test_sparks_own_delta_reads_both_tables(duckdb_engine: Any, home: Path) -> None:
    DataProcessor("contract.yaml", duckdb_engine).run()
    script = home / "read.py"
    script.write_text(READ_WITH_SPARK)
    done = subprocess.run(
        [sys.executable, str(script), str(home / GOOD), str(home / BAD)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ['["C100", "C101"]', '["C102", "C103"]']
