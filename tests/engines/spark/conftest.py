"""One Spark session for all tests of this folder, and short ways to ask it things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from lakelogic.engines.spark import SparkEngine
from lakelogic.engines.spark.expressions import sql
from lakelogic.engines.spark.frame import arrow_frame
from lakelogic.engines.spark.literals import identifier
from lakelogic.sql.expressions import Expression


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[SparkEngine]:
    engine = SparkEngine(master="local[2]")
    yield engine
    engine.close()


@pytest.fixture
def evaluate(spark_engine: SparkEngine) -> Any:
    """Many expressions over one small table, in one job: the value of each for each row."""

    def run(expressions: Sequence[Expression], table: pa.Table | None = None) -> list[list[Any]]:
        frame = arrow_frame(spark_engine.session, table) if table is not None else spark_engine.session.range(1)
        columns: list[list[Any]] = []
        for start in range(0, len(expressions), 60):
            block = expressions[start : start + 60]
            texts = [f"{sql(expression)} AS {identifier(f'e{i}')}" for i, expression in enumerate(block)]
            found = frame.selectExpr(*texts).toArrow()
            columns += [column.to_pylist() for column in found.columns]
        return columns

    return run
