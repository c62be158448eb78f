"""Commit files that are written already to a new Delta table, as a hand-written job would: through delta-rs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def commit(root: Path, files: Iterable[Path]) -> list[str]:
    """Make a table of Parquet files under its root; the paths of the files."""
    import pyarrow.parquet as pq
    from deltalake import Schema
    from deltalake.transaction import AddAction, create_table_with_add_actions

    found = [(file, file.stat(), pq.read_metadata(file)) for file in files]
    found = [one for one in found if one[2].num_rows]
    actions = [
        AddAction(
            path=str(file.relative_to(root)),
            size=stat.st_size,
            partition_values={},
            modification_time=int(stat.st_mtime * 1000),
            data_change=True,
            stats=json.dumps({"numRecords": footer.num_rows}),
        )
        for file, stat, footer in found
    ]
    schema = Schema.from_arrow(found[0][2].schema.to_arrow_schema())
    create_table_with_add_actions(str(root), schema, actions, mode="error", partition_by=[])
    return [str(file) for file, _, _ in found]


def told(good: list[str], bad: list[str], *, unique: bool, rules: str, **facts: Any) -> dict[str, Any]:
    """What a subject tells about one time."""
    return {"good": good, "bad": bad, "unique": unique, "rules": rules, **facts}
