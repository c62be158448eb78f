"""A full join of few rows with many, which Spark is kept from sorting: the same pairs as any other way."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.base import Pinned
from lakelogic.engines.spark import SparkEngine, relations
from lakelogic.plan.nodes import Account, Assignment, Landed, Link, Pairs, Publish, Read
from lakelogic.sql.expressions import TRUE, Column, Literal, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING

pytestmark = pytest.mark.spark

MANY = 400_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Many rows, with a key twice and one without; a few rows, with a key twice, new ones and one without."""
    folder = tmp_path_factory.mktemp("rows")
    noise = np.random.default_rng(1).random(MANY)
    ids = [None, 7, *range(2, MANY)]
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "was": pa.array(noise)}), folder / "many.parquet")
    few = {"id": pa.array([3, 7, 7, 5, MANY + 1, None], pa.int64()), "now": ["a", "b", "c", "d", "e", "f"]}
    pq.write_table(pa.table(few), folder / "few.parquet")
    return str(folder / "many.parquet"), str(folder / "few.parquet")


def pairs_of(engine: SparkEngine, files: tuple[str, str]) -> tuple[Counter[Any], str]:
    many, few = files
    frame = engine.scan(Read("many", "parquet", (Landed("id", BIGINT), Landed("was", DOUBLE))), Pinned((many,)))
    read = Read("few", "parquet", (Landed("id", BIGINT), Landed("now", STRING)))
    link = engine.link(Link(read, (), None), Pinned((few,)))
    on = ((Column("id", BIGINT), "id"),)
    pairs = Pairs("pairs", TRUE, "few", "full", on, None, (("id", "key"), ("now", "now")), "there", "come")
    kinds = {"id": BIGINT, "was": DOUBLE, "key": BIGINT, "now": STRING, "there": BOOLEAN, "come": BOOLEAN}
    shown = tuple(Assignment(name, Column(name, kind)) for name, kind in kinds.items())
    lowered = engine.lower(frame, (Account(pairs, (), Publish(shown, Literal(0, INT), text("good"))),), {"few": link})
    found = engine.collect(lowered).select(list(kinds))
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True)), engine.sql(lowered)


def test_the_many_rows_stay_where_they_are(spark_engine: SparkEngine, files: tuple[str, str]) -> None:
    found, plan = pairs_of(spark_engine, files)
    assert "SortMergeJoin" not in plan
    come: Counter[Any] = Counter()
    for (_, _, key, now, there, came), count in found.items():
        if came:
            come[key, now, there] += count
    assert come == {
        (3, "a", True): 1, (5, "d", True): 1, (7, "b", True): 2, (7, "c", True): 2,
        (MANY + 1, "e", False): 1, (None, "f", False): 1,
    }  # fmt: skip
    # Five lines meet four rows of the table: 3, 5 and twice 7; the others are alone.
    assert sum(count for row, count in found.items() if row[4] and not row[5]) == MANY - 4


def test_it_is_the_join_that_spark_makes_by_itself(
    spark_engine: SparkEngine, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = pairs_of(spark_engine, files)
    monkeypatch.setattr(relations, "FEW_BYTES", 0)
    theirs, plan = pairs_of(spark_engine, files)
    assert "SortMergeJoin" in plan or "ShuffledHashJoin" in plan
    assert ours == theirs
