"""Staged files to commit, as an engine would leave them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.tables.base import StagedFile

Stage = Callable[..., StagedFile]


@pytest.fixture
def stage() -> Stage:
    """Write a table under a root in the folders that a stage uses: `stage(root, table)`."""
    numbers = count(1)

    def write(root: Path | str, table: pa.Table, folder: str = "batch-1/ll_side=good", **options: object) -> StagedFile:
        path = Path(root) / folder / f"part-{next(numbers)}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, **options)
        return StagedFile(str(path), table.num_rows, path.stat().st_size)

    return write
