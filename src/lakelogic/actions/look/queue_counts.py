"""How many rows of a quarantine have which value of a field: which destination, which shop, which day?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic import clock, names
from lakelogic.actions.operate.quarantine import QueuePlace, Request, find, refuse_clear
from lakelogic.errors import UsageError
from lakelogic.plan.compile import compile_contract
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """The values of a field, the commonest first; `total` rows have `different` values of it."""

    dataset: str
    table: str
    field: str
    total: int
    different: int
    values: tuple[tuple[str | None, int], ...]

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        values = [{"value": value, "rows": rows} for value, rows in self.values]
        return {
            "dataset": self.dataset, "table": self.table, "field": self.field, "total": self.total,
            "different": self.different, "values": values,
        }  # fmt: skip


def count_by(around: Surroundings, request: Request, field: str, limit: int = 20) -> ValueCounts:
    """Count the chosen rows by a field. A value that failed its cast counts by its text; a masked field is refused."""
    place = _with_contract(around, find(around, request), request)
    state = place.queue.state()
    name = _column(place, field, state.schema.names if state is not None else [])
    _refuse_masked(place, name)
    refuse_clear(around, place)
    now = clock.now()
    table = place.queue.rows(lambda row: request.chosen.keeps(row, place.queue.stamped, now))
    counter = Counter(_values(table, name))
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0] is None, item[0] or ""))
    return ValueCounts(place.dataset, place.name, name, table.num_rows, len(counter), tuple(ordered[:limit]))


def _with_contract(around: Surroundings, place: QueuePlace, request: Request) -> QueuePlace:
    """The contract of a quarantine that was named by its dataset: the one that its last run was made by."""
    if place.loaded is not None:
        return place
    run = next((run for run in around.ledger.runs(place.dataset, limit=1)), None)
    file = run.contract if run is not None else None
    if file is None or not Path(file).is_file():
        raise UsageError(
            "Only the contract says which fields are masked, and counts show values.",
            hint="Name the contract's file instead of the dataset.",
        )
    return replace(place, loaded=find(around, replace(request, what=file)).loaded)


def _column(place: QueuePlace, field: str, there: list[str]) -> str:
    spelling = {
        name.lower(): name for name in there if not name.startswith(names.RESERVED_PREFIX) and name != names.STATE
    }
    if field.lower() not in spelling:
        near = get_close_matches(field.lower(), spelling, n=1)
        hint = (
            f"Did you mean `{spelling[near[0]]}`?" if near else f"There are {', '.join(spelling.values()) or 'none'}."
        )
        raise UsageError(f"The rows of {place.name} have no field `{field}`.", hint=hint)
    return spelling[field.lower()]


def _refuse_masked(place: QueuePlace, name: str) -> None:
    assert place.loaded is not None
    masked = {mask.column.removeprefix("~bad:").lower() for mask in compile_contract(place.loaded).plan.masks}
    fields = place.loaded.contract.model.fields
    masked |= {field.name.lower() for field in fields if field.masking or field.pii or field.phi}
    if name.lower() in masked:
        raise UsageError(
            f"`{name}` is masked in `{place.dataset}`, so its values are not counted.",
            hint="Who shares a value could be read from the counts. Count by another field.",
        )


def _values(table: pa.Table, name: str) -> Iterator[str | None]:
    values = table.column(name).to_pylist()
    kept = table.column(names.ORIGINAL).to_pylist() if names.ORIGINAL in table.column_names else [None] * len(values)
    for value, original in zip(values, kept, strict=True):
        if value is None and original:
            value = dict(original).get(name)
        yield None if value is None else str(value)
