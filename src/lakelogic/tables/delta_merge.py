"""Upsert rows by key inside delta-rs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from deltalake.transaction import CommitProperties

from lakelogic.errors import TableError
from lakelogic.storage import parquet
from lakelogic.tables.base import StagedFile

_FEW = 50_000


def source(files: Sequence[StagedFile], schema: pa.Schema) -> pa.RecordBatchReader:
    """The staged rows, read as they are asked for."""
    return parquet.reader([file.path for file in files], schema)


def refuse_keys(root: str, files: Sequence[StagedFile], schema: pa.Schema, keys: Sequence[str]) -> None:
    """A merge needs keys that are known and told apart; the plan promises that, and here it is verified."""
    if not keys:
        raise TableError("A merge needs at least one key column.", where=root)
    if not files:
        return
    found = source(files, pa.schema([schema.field(key) for key in keys])).read_all()
    for key in keys:
        if found.column(key).null_count:
            raise TableError(f"Key column `{key}` is NULL in staged rows; such a row cannot be merged.", where=root)
    if _different(found, keys) < found.num_rows:
        raise TableError(f"The staged rows hold a key ({', '.join(keys)}) more than once.", where=root)


def _different(rows: pa.Table, keys: Sequence[str]) -> int:
    """How many different keys there are; Arrow's grouping costs a small run more to load than to do."""
    if rows.num_rows <= _FEW:
        return len(set(zip(*(rows.column(key).to_pylist() for key in keys), strict=True)))
    return int(rows.group_by(list(keys)).aggregate([]).num_rows)


def merge_rows(
    table: Any,
    rows: pa.RecordBatchReader,
    commit: CommitProperties,
    *,
    keys: Sequence[str],
    compare: Sequence[str],
    keep: Sequence[str],
    sequence: str | None,
) -> dict[str, Any]:
    """Merge and tell what delta-rs counted; `commit` allows no retry, because rows were compared with one version."""
    same = " AND ".join(f"target.{_quoted(key)} = source.{_quoted(key)}" for key in keys)
    differs = " OR ".join(f"(target.{_quoted(name)} IS DISTINCT FROM source.{_quoted(name)})" for name in compare)
    if sequence is not None and differs:
        newer = f"target.{_quoted(sequence)} IS NULL OR source.{_quoted(sequence)} >= target.{_quoted(sequence)}"
        differs = f"({differs}) AND ({newer})"
    values = {_quoted(name): f"source.{_quoted(name)}" for name in rows.schema.names}
    fixed = {_quoted(name) for name in (*keys, *keep)}
    updates = {name: value for name, value in values.items() if name not in fixed}
    merger = table.merge(
        rows,  # streamed: the staged rows are never in memory all at once
        predicate=same,
        source_alias="source",
        target_alias="target",
        commit_properties=commit,
    )
    if differs and updates:
        merger = merger.when_matched_update(updates, predicate=differs)
    metrics: dict[str, Any] = merger.when_not_matched_insert(values).execute()
    return metrics


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
