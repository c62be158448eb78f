"""Files of which every column that is asked for is known from elsewhere still give their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.engines.base import Pinned
from lakelogic.names import FILE
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.types import STRING


def test_rows_of_files_whose_columns_are_all_known_are_read(engine: Any, tmp_path: Path) -> None:
    files = []
    for land, rows in (("CH", 2), ("IT", 1)):
        path = tmp_path / f"{land}.parquet"
        pq.write_table(pa.table({"id": list(range(rows))}), path)
        files.append(str(path))
    known = {files[0]: {"land": "CH"}, files[1]: {"land": "IT"}}
    read = Read("current", "parquet", (Landed("land", STRING),), {"constants": known})
    table = engine.collect(engine.scan(read, Pinned(tuple(files))))
    got = sorted(zip(table.column("land").to_pylist(), table.column(FILE).to_pylist(), strict=True))
    assert got == [("CH", files[0]), ("CH", files[0]), ("IT", files[1])]
