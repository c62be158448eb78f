"""A file that changed after others were read: where no column tells which row is newer, its rows are not the newest.

Merged once more, they would put old values back over those of later files. Files are in the order in which they were
first read, as the commits of the table tell; whatever they are called by now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakelogic.ledger.records import InputFile
from lakelogic.run.events.types import Caution
from lakelogic.run.formats import tables_of
from lakelogic.run.input.batch_order import BEHIND
from lakelogic.run.input.tracked import FORMER
from lakelogic.run.phases import ListedRun
from lakelogic.run.state.progress import good_commits
from lakelogic.storage.local import FileInfo


def settle_order(run_: ListedRun, changed: Sequence[FileInfo], known: Mapping[str, InputFile]) -> dict[str, Any]:
    """What the batch says of changed files that others were read after; people are told what becomes of their rows."""
    contract, where = run_.job.loaded.contract, run_.places
    strategy = run_.strategy
    if not changed or where is None or not strategy.is_keyed or strategy.order is not None:
        return {}
    tables = tables_of(contract.materialization.format, run_.job.engine)
    first = first_read([commit.facts.input for commit in reversed(good_commits(tables, run_.progress))])
    found = _groups([(file.path, first.get(known[file.path].stamp, 0)) for file in changed], first)
    if not found:
        return {}
    files, later = [one for group, _ in found for one in group], sum(len(names) for _, names in found)
    named = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    told = f"{named} changed since it was read, and {later} files were read after it"
    if strategy.keeps_history:
        run_.events.tell(Caution(f"{told}: its rows become the newest versions. Name scd2.timestamp_field"))
        return {}
    lineage, state = contract.lineage, tables.state(where.target_location)
    column = lineage.source_path_column_name.lower()
    is_stamped = lineage.enabled and lineage.capture_source_path and state is not None
    if not is_stamped or column not in {name.lower() for name in (state.schema.names if state else ())}:
        done = "no column tells which rows came from these, so they are overwritten too"
        run_.events.tell(Caution(f"{told}: {done}. Name materialization.sequence_by"))
        return {}
    done = "rows that came from these stay as they are, and count as stale"
    run_.events.tell(Caution(f"{told}: {done}. With materialization.sequence_by rows tell which is newer"))
    return {BEHIND: found}


def first_read(inputs: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Of each name under which a file was read, the place of the commit that read it first; `inputs` oldest first."""
    found: dict[str, int] = {}
    for place, read in enumerate(inputs, 1):
        former = read.get(FORMER, {})
        for path, *_ in read.get("files", ()):
            found.setdefault(path, found.get(former.get(path, path), place))
    return found


def _groups(changed: Sequence[tuple[str, int]], first: Mapping[str, int]) -> list[tuple[list[str], list[str]]]:
    """Changed files by when they were first read, each group with the files that came after it and not after the next.

    A file that nothing was read after is the newest, and belongs to no group.
    """
    places = sorted({place for _, place in changed})
    found = []
    for number, place in enumerate(places):
        until = places[number + 1] if number + 1 < len(places) else max(first.values(), default=0)
        later = sorted(name for name, at in first.items() if place < at <= until)
        found.append((sorted(path for path, at in changed if at == place), later))
    while found and not found[-1][1]:
        found.pop()
    return found
