"""Runs as an Arrow table, for the Delta copy of the ledger, and as one JSON object each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lakelogic.ledger.records import RUN_COLUMNS, Kind, RunRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from lakelogic.ledger.store import Ledger


def arrow_schema() -> pa.Schema:
    """The schema of published runs, the same whatever the runs hold; JSON columns are text."""
    import pyarrow as pa

    kinds = {
        "text": pa.string(),
        "json": pa.string(),
        "integer": pa.int64(),
        "double": pa.float64(),
        "instant": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in RUN_COLUMNS.items()])


def as_arrow(
    ledger: Ledger,
    dataset: str | None = None,
    status: str | None = None,
    layer: str | None = None,
    *,
    limit: int | None = None,
    before: datetime | None = None,
) -> pa.Table:
    """The chosen runs (all, without a choice), oldest first."""
    return to_arrow(ledger.runs(dataset, status, layer, limit=limit, before=before)[::-1])


def to_arrow(runs: Sequence[RunRecord]) -> pa.Table:
    """These runs as an Arrow table with the fixed schema."""
    import pyarrow as pa

    rows = [{name: _cell(kind, getattr(run, name)) for name, kind in RUN_COLUMNS.items()} for run in runs]
    return pa.Table.from_pylist(rows, schema=arrow_schema())


def as_dict(run: RunRecord) -> dict[str, Any]:
    """The run as plain data in the ledger's order: instants as ISO 8601 text in UTC, JSON unfolded."""
    return {name: _plain(kind, getattr(run, name)) for name, kind in RUN_COLUMNS.items()}


def as_json(run: RunRecord) -> str:
    """The run as one JSON object on one line."""
    return json.dumps(as_dict(run), ensure_ascii=False)


def _cell(kind: Kind, value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if kind == "json" and value is not None else value


def _plain(kind: Kind, value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if kind == "instant" and value is not None else value
