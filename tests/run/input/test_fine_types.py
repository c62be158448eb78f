"""Types of Parquet files that contracts have no word for: kept exactly, or told."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic import DataProcessor

NANO = pa.timestamp("ns", tz="UTC")
SAID = "`at` landed with instants finer than microseconds: what is finer is cut off."


def warnings(engine: Any, caplog: pytest.LogCaptureFixture, values: list[int | None], kind: pa.DataType) -> list[str]:
    table = pa.table({"id": pa.array(range(len(values))), "at": pa.array(values, pa.int64()).cast(kind)})
    pq.write_table(table, "in.parquet")
    caplog.clear()
    document = {"source": {"path": "in.parquet"}, "materialization": {"target_path": "a.b.c"}}
    with caplog.at_level("WARNING"):
        DataProcessor(document, engine).run(materialize=False)
    return [one.getMessage() for one in caplog.records if "finer" in one.getMessage()]


def test_nanoseconds_that_are_lost_are_told(
    duckdb_engine: Any, workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings(duckdb_engine, caplog, [1_000, 2_001, None], NANO) == [SAID]
    assert warnings(duckdb_engine, caplog, [1_000, 2_000, None], NANO) == []
    assert warnings(duckdb_engine, caplog, [None], NANO) == []
    assert warnings(duckdb_engine, caplog, [1_001, 2_001], pa.timestamp("us", tz="UTC")) == []


def test_wide_numbers_are_kept_exactly(engine: Any, workspace: Path) -> None:
    wide = Decimal("12345678901234567890123456789012345678901234.5")
    table = pa.table(
        {
            "id": pa.array([1], pa.int64()),
            "u8": pa.array([255], pa.uint8()),
            "u32": pa.array([4294967295], pa.uint32()),
            "u64": pa.array([18446744073709551615], pa.uint64()),
            "wide": pa.array([wide], pa.decimal256(50, 1)),
        }
    )
    pq.write_table(table, "in.parquet")
    document = {"source": {"path": "in.parquet"}, "materialization": {"target_path": "a.b.c"}}
    good, _ = DataProcessor(document, engine).run(materialize=False)
    (row,) = engine.collect(good).to_pylist()
    assert [row[name] for name in ("u8", "u32", "u64", "wide")] == [
        255,
        4294967295,
        Decimal(18446744073709551615),
        str(wide),
    ]
