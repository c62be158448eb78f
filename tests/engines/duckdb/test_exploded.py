"""Rows that explode are handed on in batches that are bounded by their size, not only by their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakelogic import DataProcessor
from lakelogic.engines.duckdb import stage


def test_batches_are_gathered_up_to_a_size() -> None:
    rows = pa.RecordBatch.from_pydict({"a": ["x" * 1000] * 1000})
    found = list(stage._gathered([rows] * 100))
    assert sum(batch.num_rows for batch in found) == 100_000
    assert all(batch.nbytes <= stage.BYTES_OF_EXPLODED for batch in found)
    assert len(found) == 4  # of 33 batches of a megabyte each


def test_exploded_rows_that_keep_their_array_come_in_small_batches(
    duckdb_engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three thousand rows, each with an array of three thousand: 90 MB, of which no batch holds more than its share."""
    from lakelogic.engines.arrow import stage as arrow_stage

    items = ",".join(str(n) for n in range(3000))
    (workspace / "in.ndjson").write_text(f'{{"id": 1, "items": [{items}]}}\n')
    contract = {
        "source": {"path": "in.ndjson"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "items", "type": "array<bigint>"}]},
        "transformations": [{"sql": "SELECT id, items, t.n AS n FROM source LATERAL VIEW explode(items) t AS n"}],
    }
    sizes: list[int] = []
    usual = arrow_stage.stage

    def watched(batches: Any, *args: Any, **more: Any) -> Any:
        def passing() -> Any:
            for batch in batches:
                sizes.append(batch.nbytes)
                yield batch

        return usual(passing(), *args, **more)

    monkeypatch.setattr(arrow_stage, "stage", watched)
    assert DataProcessor(contract, duckdb_engine).run(materialize=False).counts.good == 3000
    assert sum(sizes) > 60 << 20
    assert max(sizes) <= stage.BYTES_OF_EXPLODED
