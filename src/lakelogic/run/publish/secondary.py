"""Other places that receive the same good rows: each its own commit after the first, once, and caught up on later.

The first target is the truth. A run that dies between its commit and those of the others leaves the staged files; the
next run finds in the first table's log which batch it was, and gives the others their rows before it does anything
else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.errors import TableError
from lakelogic.plan.columns import growth
from lakelogic.run.places import Other
from lakelogic.run.state.progress import Progress, elsewhere
from lakelogic.sql.types import from_arrow, parse_type, to_arrow
from lakelogic.storage import fresh
from lakelogic.tables.base import CommitInfo, StagedFile, TableFormat, TableState
from lakelogic.tables.facts import SecondaryRows, records
from lakelogic.tables.registry import load as load_tables


def refuse(others: Sequence[Other]) -> None:
    """Refuse places that writing would damage, before anything is staged."""
    for other in others:
        load_tables(other.format).check(other.location, removes=other.strategy == "overwrite")


def last_n(others: Sequence[Other], progress: Progress) -> int:
    """The newest batch that any of the places has seen: a number that is given out must be above it."""
    return max((_seen(load_tables(other.format).state(other.location), progress, other) for other in others), default=0)


def _seen(state: TableState | None, progress: Progress, other: Other) -> int:
    """The newest batch that a place has seen, under the name of today or one of an earlier version."""
    if state is None:
        return 0
    names = (elsewhere(progress, other.location), *(f"lakelogic:{name}:secondary" for name in progress.before))
    return max(state.transactions.get(name, 0) for name in names)


def batches(other: Other, progress: Progress) -> set[str]:
    """The batches of ours that a place holds, as far back as its log reaches."""
    apps = (elsewhere(progress, other.location), *(f"lakelogic:{name}:secondary" for name in progress.before))
    return {str(commit.batch_id) for commit in records(load_tables(other.format), other.location, *apps)}


def writers(state: TableState, progress: Progress, other: Other) -> list[str] | None:
    """Which other datasets have written to a place; None where this one never has."""
    own = {elsewhere(progress, other.location), *(f"lakelogic:{name}:secondary" for name in progress.before)}
    if not own & set(state.transactions):
        return None
    strangers = sorted(app for app in state.transactions if app not in own and app.endswith((":good", ":secondary")))
    return [app.removeprefix("lakelogic:").rpartition(":")[0] for app in strangers]


def as_facts(staging: str, schema: pa.Schema) -> SecondaryRows:
    """What the commit of the first target says, so that others can be caught up on."""
    return SecondaryRows(staging, tuple((field.name, str(from_arrow(field.type))) for field in schema))


def publish(
    others: Sequence[Other], progress: Progress, n: int, metadata: Mapping[str, str], rows: SecondaryRows | None
) -> list[str]:
    """Give every other place the rows of a batch; the names of those that had not seen it."""
    if rows is None:
        return []
    schema = pa.schema([(name, to_arrow(parse_type(kind))) for name, kind in rows.columns])
    given = []
    for other in others:
        tables = load_tables(other.format)
        state = tables.state(other.location)
        if _seen(state, progress, other) >= n:
            continue
        files = _brought(rows.staged, other)
        _grow(tables, other, state, schema)
        info = CommitInfo(elsewhere(progress, other.location), n, metadata)
        if other.strategy == "overwrite":
            tables.overwrite(other.location, files, schema, info)
        else:
            tables.append(other.location, files, schema, info)
        given.append(other.name)
    return given


def _grow(tables: TableFormat, other: Other, state: TableState | None, schema: pa.Schema) -> None:
    """Types that have grown in the first target grow here too."""
    there = {one.name: from_arrow(one.type) for one in state.schema} if state is not None else {}
    wider = {
        one.name: one.type
        for one in schema
        if one.name in there and growth.widens(there[one.name], from_arrow(one.type))
    }
    if wider:
        tables.widen(other.location, wider, {"lakelogic": f"wider types for {other.name}"})


def _brought(staging: str, other: Other) -> list[StagedFile]:
    """The staged good files under the other table's root: linked, or copied to another disk."""
    source = Path(staging) / names.GOOD_SIDE
    if not source.is_dir():
        source = Path(staging) / f"{names.SIDE}={names.GOOD_SIDE}"  # staged by an earlier version
    if not Path(staging).is_dir():
        raise TableError(
            f"The staged rows that {other.name} has not received are gone.",
            where=staging,
            hint="Load the place anew from the first target.",
        )
    # Of its own for every attempt: the files of an earlier one may be part of the table by now.
    folder = Path(other.location) / f"{Path(staging).name}-{fresh.name()}"
    files = []
    for at, path in enumerate(sorted(source.rglob("*.parquet"))):
        target = folder / f"part-{at:05d}.parquet"
        fresh.link(path, target)
        files.append(StagedFile(str(target), int(pq.read_metadata(target).num_rows), target.stat().st_size))
    return files
