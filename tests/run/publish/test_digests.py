"""The digest of an outcome: the same on every engine and in any order; a lost, doubled or altered row shows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.arrow.totals import Totals
from lakelogic.engines.base import DataFile
from lakelogic.plan.nodes import Published
from lakelogic.run.publish import digests
from lakelogic.sql.types import parse_type, to_arrow

TYPES = {
    "i": "bigint", "t": "tinyint", "d": "decimal(10,2)", "long": "decimal(38,4)", "day": "date", "at": "timestamp",
    "wall": "timestamp_ntz", "s": "string", "b": "boolean", "raw": "binary", "x": "double", "tags": "array<string>",
}  # fmt: skip
COLUMNS = [Published(name, parse_type(kind), True, False) for name, kind in TYPES.items()]
ROWS: list[dict[str, Any]] = [
    {
        "i": 9223372036854775807, "t": -3, "d": Decimal("10.25"), "long": Decimal("1.0001"), "day": date(1970, 1, 3),
        "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "wall": datetime.fromisoformat("1970-01-01T00:00:02"), "s": "aé😀", "b": True,
        "raw": b"\x00\xff", "x": 1.5, "tags": ["p"],
    },
    {
        "i": 9223372036854775807, "t": None, "d": Decimal("-0.25"), "long": None, "day": date(1969, 12, 31),
        "at": datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "wall": None, "s": "", "b": False, "raw": None,
        "x": float("nan"), "tags": None,
    },
]  # fmt: skip
# By hand: counts of values, and totals; 2 days forward and 1 back are one day; 7 bytes of text and none.
EXPECTED = {
    "i": (2, "18446744073709551614"), "t": (1, "-3"), "d": (2, "10"), "long": (1, None), "day": (2, "86400000000"),
    "at": (2, "999999"), "wall": (1, "2000000"), "s": (2, "7"), "b": (2, "1"), "raw": (1, "2"), "x": (2, None),
    "tags": (1, None),
}  # fmt: skip


def stage(folder: Path, rows: list[dict[str, Any]], name: str = "a") -> DataFile:
    schema = pa.schema([(column.name, to_arrow(column.type)) for column in COLUMNS])
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return DataFile(str(path), len(rows), path.stat().st_size)


def test_counts_and_totals_are_worked_out_in_this_process(tmp_path: Path) -> None:
    found = digests.of_rows([stage(tmp_path, ROWS).path], COLUMNS)
    assert found.rows == 2
    assert dict(found.columns) == EXPECTED


@pytest.mark.parametrize("times", [1, 1_100])  # few rows, and so many that Arrow adds them up
def test_batches_are_added_up_while_they_are_written(times: int) -> None:
    schema = pa.schema([(column.name, to_arrow(column.type)) for column in COLUMNS])
    totals = Totals(COLUMNS)
    totals.add(pa.RecordBatch.from_pylist(ROWS[:1] * times, schema=schema))
    totals.add(pa.RecordBatch.from_pylist(ROWS[1:] * times, schema=schema))
    totals.add(pa.RecordBatch.from_pylist(ROWS[1:] * 2 * times, schema=schema).slice(0, 0))
    found = digests.of_totals(2 * times, COLUMNS, totals.by_column).columns
    for name, (count, total) in EXPECTED.items():
        assert found[name] == (count * times, None if total is None else str(int(total) * times)), name


def test_an_engine_adds_up_the_same(engine: Any, tmp_path: Path) -> None:
    answers = engine.measure([stage(tmp_path, ROWS).path], COLUMNS, digests.wanted(COLUMNS))
    assert dict(digests.measured(2, COLUMNS, answers).columns) == EXPECTED


def test_neither_order_nor_files_change_it(tmp_path: Path) -> None:
    one = digests.of_rows([stage(tmp_path, ROWS, "all").path], COLUMNS)
    parts = [stage(tmp_path, [row], f"part{at}").path for at, row in enumerate(reversed(ROWS))]
    assert digests.of_rows(parts, COLUMNS).text == one.text


@pytest.mark.parametrize(
    "rows",
    [ROWS[:1], [*ROWS, ROWS[0]], [ROWS[0], {**ROWS[1], "s": "z"}], [ROWS[0], {**ROWS[1], "d": Decimal("0.25")}]],
    ids=["lost", "doubled", "other text", "other number"],
)
def test_a_lost_doubled_or_altered_row_shows(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    before = digests.of_rows([stage(tmp_path, ROWS, "before").path], COLUMNS)
    after = digests.of_rows([stage(tmp_path, rows, "after").path], COLUMNS)
    assert before.text != after.text


def test_no_rows_have_a_digest_too(tmp_path: Path) -> None:
    assert digests.of_rows([], COLUMNS).text == digests.of_rows([stage(tmp_path, []).path], COLUMNS).text


def test_row_identities_add_up_in_any_order() -> None:
    assert digests.of_ids(["ff", "01"]) == digests.of_ids(["01", "ff"]) == f"{256:032x}"
    assert digests.of_ids(["ff"]) != digests.of_ids(["ff", "01"])
