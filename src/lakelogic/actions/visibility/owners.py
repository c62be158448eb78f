"""Rows that are not shown: a table alone tells whose it is, and so what is masked in it and above it by now."""

from __future__ import annotations

from lakelogic.contract.reading.load import Loaded
from lakelogic.run.masks.changed import refuse_clear, refuse_clear_queue
from lakelogic.run.masks.read_before import Upstream, refuse_late
from lakelogic.run.places import places
from lakelogic.run.state.owners import Owners
from lakelogic.run.state.progress import progress_of
from lakelogic.run.surroundings import Surroundings


def refuse_rows_in_clear(around: Surroundings, location: str, loaded: Loaded | None = None) -> None:
    """Refuse to show rows of a table, good or bad, that were written before its contract masked what it masks now."""
    loaded = loaded or Owners(around.catalog, around.ledger).contract_of(location)
    if loaded is None:
        return
    contract, upstream = loaded.contract, Upstream(around.catalog, around.ledger)
    where = places(contract, around.catalog)
    progress = progress_of(contract.dataset_name, where)
    if location == where.quarantine_location:
        refuse_clear_queue(contract, where, progress)
        refuse_late(loaded, where, progress, "bad", "Nothing is shown.", upstream)
    elif location == where.target_location:
        refuse_clear(contract, where, progress, "Nothing is shown.")
        refuse_late(loaded, where, progress, "good", "Nothing is shown.", upstream)
