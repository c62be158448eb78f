"""What Spark adds up for the account of a run, and what it no longer counts on the way."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.base import Pinned
from lakelogic.engines.spark import SparkEngine
from lakelogic.plan.nodes import Account, Assignment, Landed, Measure, Publish, Published, Read
from lakelogic.plan.totals import weight
from lakelogic.privacy.keys import Keys
from lakelogic.sql.expressions import Column, Literal, text
from lakelogic.sql.types import INT, STRING, from_arrow

pytestmark = pytest.mark.spark


def test_totals_of_whole_numbers_and_days_are_exact_at_both_ends(spark_engine: SparkEngine, tmp_path: Path) -> None:
    days = [date(1, 1, 1), date(9999, 12, 31), None, date(1970, 1, 2)]
    rows = pa.table(
        {
            "long": pa.array([2**63 - 1, 2**63 - 1, -(2**63), None]),
            "short": pa.array([-3, None, 7, 1], pa.int16()),
            "day": pa.array(days),
            "none": pa.array([None] * 4, pa.int64()),
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    columns = [Published(field.name, from_arrow(field.type), True, True) for field in rows.schema]
    wanted = [Measure(one.name, "sum", weight(Column(one.name, one.type))) for one in columns]
    day = 86_400_000_000
    assert spark_engine.measure([str(tmp_path / "rows.parquet")], columns, wanted) == {
        "long": Decimal(2**63 - 2),
        "short": Decimal(5),
        "day": Decimal(sum((one - date(1970, 1, 1)).days * day for one in days if one)),
        "none": None,
    }


def test_rows_of_parquet_are_told_by_its_footers_and_not_counted_on_the_way(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    file = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"id": ["1", "2", "3"]}), file)
    frame = spark_engine.scan(Read("source", "parquet", (Landed("id", STRING),)), Pinned((file,)))
    publish = Publish((Assignment("id", Column("id", STRING)),), Literal(0, INT), text("good"))
    lowered = spark_engine.lower(frame, [Account(None, (), publish)], {})
    assert "CollectMetrics" not in spark_engine.sql(lowered)
    staged = spark_engine.stage(lowered, [Published("id", STRING, True, True)], (), Keys(), str(tmp_path / "b"))
    assert (staged.scanned, sum(one.rows for one in staged.good), dict(staged.fates)) == (3, 3, {})
