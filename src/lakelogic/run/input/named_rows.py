"""Rows that are handed in under a name that was published before: they are not taken again, and that is said."""

from __future__ import annotations

from typing import Any

from lakelogic.ledger.store import Ledger
from lakelogic.run.events.types import Caution
from lakelogic.run.phases import PinnedRun


def warn_of_used_name(run_: PinnedRun, ledger: Ledger) -> None:
    """Say that nothing of the rows was taken; where both counts are known and differ, that they are other rows.

    The rows themselves are not compared: that would cost a pass over them, and a repeated call is to cost nothing.
    """
    name = run_.job.batch
    published = (record for _, record in ledger.published_batches(run_.progress.key))
    held = next((record.counts_source for record in published if record.batch_id == run_.batch_id), None)
    handed = row_count(run_.job.data)
    before = f"The batch `{name}` was published before" + (f" with {held} rows" if held is not None else "")
    if held is None or handed is None or held == handed:
        told = f"{before}; the rows that were handed in now are not looked at again"
    else:
        told = f"{before}, and {handed} rows were handed in under that name now: other rows, and none is taken"
    run_.events.tell(Caution(f"{told}. Give other rows a name of their own"))


def row_count(data: Any) -> int | None:
    """How many rows a frame holds, where it knows that without working them out."""
    for name in ("num_rows", "height"):  # of Arrow, of Polars
        if isinstance(found := getattr(data, name, None), int):
            return found
    shape = getattr(data, "shape", None)  # of pandas; what DuckDB calls so would run its query
    is_pandas = type(data).__module__.partition(".")[0] == "pandas"
    return int(shape[0]) if is_pandas and isinstance(shape, tuple) else None
