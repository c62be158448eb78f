"""What was last known about the columns of datasets: whoever shows rows hides by it while a contract is broken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from lakelogic import clock
from lakelogic.ledger.database import Database
from lakelogic.ledger.records import Json


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """A dataset as its contract last compiled: where it lies, its masks, and which columns flow into which.

    `facts` holds `masks`, `cleared` and `edges`; names of columns, never a value.
    """

    dataset: str
    file: str
    domain: str | None
    target: str | None
    facts: Json


class ColumnMemory:
    """The known columns of one ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recall(self) -> dict[str, KnownColumns]:
        """All that is known, by dataset."""
        names = [field.name for field in fields(KnownColumns)]
        with self._database.read() as connection:
            rows = connection.rows(f"SELECT {', '.join(names)} FROM known_columns ORDER BY dataset")
        return {row["dataset"]: KnownColumns(**row) for row in rows}

    def remember(self, datasets: Iterable[KnownColumns]) -> None:
        """Put these in place of what was known of the same datasets."""
        names = [field.name for field in fields(KnownColumns)]
        with self._database.write("known_columns") as connection:
            for dataset in datasets:
                connection.run("DELETE FROM known_columns WHERE dataset = :dataset", dataset=dataset.dataset)
                connection.run(
                    f"INSERT INTO known_columns ({', '.join(names)}, seen_at) VALUES (:{', :'.join(names)}, :seen_at)",
                    **{name: getattr(dataset, name) for name in names},
                    seen_at=clock.now(),
                )
