"""What the ledger knows of the files that batches have read: parts of its transactions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from lakelogic.ledger.database import Connection
from lakelogic.ledger.records import InputFile

_COLUMNS = (*(field.name for field in fields(InputFile)), "dataset", "recorded_at")
_INSERT = f"INSERT INTO inputs ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})"
_DELETE = "DELETE FROM inputs WHERE dataset = :dataset AND path = :path"


def put(connection: Connection, dataset: str, files: Sequence[InputFile], batch_id: str, at: datetime) -> None:
    """Files that a batch has read; of one that was read before, as it is now or as it was, the newest batch counts."""
    rows = [{**_values(file, dataset, at), "batch_id": batch_id} for file in dict.fromkeys(files)]
    connection.many(_DELETE, rows)
    connection.many(_INSERT, rows)


def learn(connection: Connection, dataset: str, files: Sequence[InputFile], at: datetime) -> None:
    """Files that were read before as they are called now, or with the time at which they were written again."""
    rows = [_values(file, dataset, at) for file in files]
    connection.many(_DELETE, rows)
    _forget_names(connection, dataset, {file.same_as for file in files if file.same_as is not None})
    connection.many(_INSERT, rows)


def forget(connection: Connection, dataset: str, files: Sequence[InputFile], replaced: Collection[str] | None) -> None:
    """Names that stand for no row any more: a file that comes back under one of them is new; None for all of them."""
    if replaced is None:
        connection.run("DELETE FROM inputs WHERE dataset = :dataset", dataset=dataset)
        return
    connection.many(_DELETE, [{"dataset": dataset, "path": name} for name in sorted(replaced)])
    _forget_names(connection, dataset, {*replaced, *(file.path for file in files)})


def _forget_names(connection: Connection, dataset: str, stamps: Collection[str]) -> None:
    """Other names of files that were read under one of these."""
    rows = connection.rows(
        "SELECT path, same_as FROM inputs WHERE dataset = :dataset AND same_as IS NOT NULL", dataset=dataset
    )
    connection.many(_DELETE, [{"dataset": dataset, "path": row["path"]} for row in rows if row["same_as"] in stamps])


def _values(file: InputFile, dataset: str, at: datetime) -> dict[str, Any]:
    values = {field.name: getattr(file, field.name) for field in fields(InputFile)}
    return {**values, "dataset": dataset, "recorded_at": at}
