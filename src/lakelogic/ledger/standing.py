"""Where readers of tables stand, as the ledger knows it: who follows a table, and batches that a table has lost."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.ledger.records import InputFile
from lakelogic.ledger.store import Ledger


def take_back(ledger: Ledger, progress: str, batches: Sequence[str], head: str | None) -> None:
    """Batches are not in the table any more, nor is what only they have read; `head` is the newest that is there."""
    with ledger.database.write(f"dataset:{progress}") as connection:
        keys = [{"dataset": progress, "batch_id": batch} for batch in batches]
        connection.many("DELETE FROM inputs WHERE dataset = :dataset AND batch_id = :batch_id", keys)
        connection.many("DELETE FROM batches WHERE dataset = :dataset AND batch_id = :batch_id", keys)
        connection.run("UPDATE sequences SET head = :head WHERE dataset = :dataset", head=head, dataset=progress)


def followers(ledger: Ledger, location: str) -> dict[str, int]:
    """The datasets that have read a table, with the version up to which they did."""
    with ledger.database.read() as connection:
        rows = connection.rows(
            "SELECT dataset, size, content FROM inputs WHERE path = :path ORDER BY recorded_at", path=location
        )
    tables = (row for row in rows if str(row["content"] or "").startswith(InputFile.TABLE) and row["size"] >= 0)
    return {str(row["dataset"]).partition("@")[0]: int(row["size"]) for row in tables}
