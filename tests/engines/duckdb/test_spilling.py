"""Rows that do not fit into memory stay private."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any


def test_what_memory_cannot_hold_goes_where_nobody_else_can_read(duckdb_engine: Any, workspace: Path) -> None:
    (place,) = duckdb_engine._connection.cursor().execute("SELECT current_setting('temp_directory')").fetchone()
    folder = Path(place)
    assert folder.is_dir()
    assert workspace not in folder.parents
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
