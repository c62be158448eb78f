"""What was sent elsewhere: one record for every attempt to bring a version of a table to a destination."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Literal, TypeAlias

from lakelogic import clock
from lakelogic.ledger.database import Database
from lakelogic.ledger.records import Json

ExportState: TypeAlias = Literal["done", "failed"]


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """One version of a table, sent once. `batch_id` is the same for the same files and the same export.

    `known_there` is 1 where the destination had the batch already and nothing was sent.
    """

    dataset: str
    export: str
    kind: str
    destination: str
    batch_id: str
    table_version: int
    state: ExportState
    started_at: datetime
    finished_at: datetime
    rows_sent: int | None = None
    bytes_sent: int | None = None
    attempts: int = 1
    known_there: int = 0
    error_code: str | None = None
    error_message: str | None = None
    run_id: str | None = None
    facts: Json = None
    export_id: str = ""  # set by the ledger


class ExportLog:
    """The exports of one ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tell(self, record: ExportRecord) -> ExportRecord:
        """Remember an export that ended."""
        entry = replace(record, export_id=f"exp-{clock.now():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}")
        names = [field.name for field in fields(ExportRecord)]
        with self._database.write(f"dataset:{record.dataset}") as connection:
            connection.run(
                f"INSERT INTO exports ({', '.join(names)}) VALUES (:{', :'.join(names)})",
                **{name: getattr(entry, name) for name in names},
            )
        return entry

    def last(self, dataset: str, export: str, state: ExportState | None = None) -> ExportRecord | None:
        """The newest record of one export; the newest in a state, where one is named."""
        chosen = "" if state is None else "AND state = :state "
        values = {"dataset": dataset, "export": export} | ({} if state is None else {"state": state})
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT * FROM exports WHERE dataset = :dataset AND export = :export {chosen}"
                "ORDER BY finished_at DESC, export_id DESC LIMIT 1",
                **values,
            )
        return ExportRecord(**rows[0]) if rows else None

    def newest(self, dataset: str, limit: int = 20) -> Sequence[ExportRecord]:
        """What was sent of a dataset, newest first."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT * FROM exports WHERE dataset = :dataset ORDER BY finished_at DESC, export_id DESC LIMIT :limit",
                dataset=dataset,
                limit=limit,
            )
        return [ExportRecord(**row) for row in rows]
