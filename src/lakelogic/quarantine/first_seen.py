"""A landed row waits once: what several readings of it left in a quarantine is one entry, first and last seen.

A run that finds a row bad again takes the place of the entry that is there and carries on since when it waits and in
how many runs it was seen. Tables from before hold an entry for each reading; whoever reads them sees one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.sql.arrays import flags

_INSTANT = pa.timestamp("us", tz="UTC")
SEEN = pa.schema([(names.FIRST_SEEN, _INSTANT), (names.SEEN_RUNS, pa.int64())])
TOLD = ("first_seen", "last_seen", "runs")
_EVER = datetime(1, 1, 1, tzinfo=UTC)
_WAITS = "active"


def key_of(row: Mapping[str, Any]) -> tuple[Any, Any]:
    """What makes entries one row: its identity, and whose it is where datasets share a quarantine."""
    return row[names.ROW_ID], row.get(names.CONTRACT_NAME)


def folded(rows: Iterable[Mapping[str, Any]], at: str) -> list[dict[str, Any]]:
    """One entry for each row, with `first_seen`, `last_seen` and `runs`: the one that waits, or else the newest."""
    best: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in rows:
        first = row.get(names.FIRST_SEEN) or row.get(at)
        entry = {**row, "first_seen": first, "last_seen": row.get(at), "runs": row.get(names.SEEN_RUNS) or 1}
        key = key_of(row)
        best_entry = best.get(key)
        if best_entry is None:
            best[key] = entry
            continue
        kept = entry if _rank(entry, at) > _rank(best_entry, at) else best_entry
        runs = best_entry["runs"] + entry["runs"]
        moments = [each["first_seen"] for each in (best_entry, entry) if each["first_seen"] is not None]
        later = [each["last_seen"] for each in (best_entry, entry) if each["last_seen"] is not None]
        span = {"first_seen": min(moments, default=None), "last_seen": max(later, default=None), "runs": runs}
        best[key] = {**kept, **span}
    return list(best.values())


def _rank(row: Mapping[str, Any], at: str) -> tuple[bool, datetime, str]:
    return row.get(names.STATE) == _WAITS, row.get(at) or _EVER, str(row.get(names.BATCH_ID) or "")


def winners(rows: Iterable[Mapping[str, Any]], at: str) -> frozenset[int]:
    """The places of the entries that stand for their rows, in the order in which they are given."""
    best: dict[tuple[Any, Any], tuple[tuple[bool, datetime, str], int]] = {}
    for place, row in enumerate(rows):
        rank = (_rank(row, at), place)
        key = key_of(row)
        if key not in best or rank > best[key]:
            best[key] = rank
    return frozenset(place for _, place in best.values())


@dataclass(slots=True)
class Seen:
    """What entries that are about to be replaced know of their rows, for those that come in their place."""

    at: str  # the column that tells when
    batch: str | None = None  # an earlier attempt at this very batch is no other run
    _known: dict[str, dict[Any, tuple[datetime | None, int]]] = field(default_factory=dict)

    def drop(self, table: pa.Table, chosen: list[bool]) -> pa.Table:
        """Without the rows that are meant: their new version comes beside them."""
        self.note(table, chosen)
        return table.filter(flags([not is_chosen for is_chosen in chosen]))

    def note(self, table: pa.Table, chosen: list[bool]) -> None:
        """Remember since when the rows that are meant wait."""
        columns = (names.ROW_ID, names.BATCH_ID, names.FIRST_SEEN, self.at, names.SEEN_RUNS)
        lists = [
            table.column(name).to_pylist() if name in table.column_names else [None] * len(chosen) for name in columns
        ]
        for is_meant, row_id, batch, first, at, runs in zip(chosen, *lists, strict=True):
            if is_meant:
                self._known.setdefault(row_id, {})[batch] = (first or at, (runs or 1) - (batch == self.batch))

    def put(self, table: pa.Table) -> pa.Table:
        """Rows that come beside, with what was known of them."""
        ids = table.column(names.ROW_ID).to_pylist()
        now = table.column(self.at).to_pylist() if self.at in table.column_names else [None] * len(ids)
        firsts: list[datetime | None] = []
        runs: list[int | None] = []
        for row_id, at in zip(ids, now, strict=True):
            spans = self._known.get(row_id, {}).values()
            moments = [first for first, _ in spans if first is not None]
            firsts.append(min([*moments, *([at] if at is not None else [])], default=None) if spans else None)
            runs.append(sum(count for _, count in spans) + 1 if spans else None)
        for name, values in (
            (names.FIRST_SEEN, pa.array(firsts, _INSTANT)),
            (names.SEEN_RUNS, pa.array(runs, pa.int64())),
        ):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(place), values)
        return table

    def __len__(self) -> int:
        """How many rows were there before."""
        return len(self._known)
