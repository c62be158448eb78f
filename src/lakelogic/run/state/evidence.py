"""What the commits of a table say, added up: which rows it should hold, what was read, and what was read twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakelogic.ledger.records import InputFile
from lakelogic.plan.source.watermarks import INPUT
from lakelogic.plan.strategies.replaced import replaced_by
from lakelogic.run.input.tracked import inputs_told, replaced_inputs
from lakelogic.tables.facts import CommitRecord

Commits = Sequence[CommitRecord]  # newest first


@dataclass(frozen=True, slots=True)
class Twice:
    """An input that two commits have added, as people call it, and their runs."""

    what: str
    runs: tuple[str, str]


def rows_told(commits: Commits) -> int | None:
    """How many rows the commits leave in the table; None where one of them does not say what it did.

    `commits` are all there were. The first one says what the table held: somebody else may have made and filled it.
    One that replaces everything makes earlier ones unimportant.
    """
    total: int | None = commits[-1].facts.rows_before if commits else None
    for commit in reversed(commits):
        facts, applied = commit.facts, commit.facts.applied
        if "added_rows" in applied:
            change = applied["added_rows"] - applied["removed_rows"] + applied.get("unknown_member", 0)
            total = None if total is None else total + change
        elif facts.from_ledger or facts.in_parts or "inserted" not in applied:
            total = None
        elif facts.replaces and replaced_by(facts.input) is None:
            total = int(applied["rows"])
        else:
            total = None if total is None else total + int(applied["inserted"])
    return total


def inputs_read(commits: Commits) -> dict[str, tuple[str, InputFile]]:
    """What was read, by path: the batch that read it last, and as what."""
    found: dict[str, tuple[str, InputFile]] = {}
    for commit in reversed(commits):
        facts, batch, read = commit.facts, str(commit.batch_id), commit.facts.input
        replaced = replaced_inputs(read, whole=facts.replaces)
        found = {} if replaced is None else {path: told for path, told in found.items() if path not in replaced}
        found |= {file.path: (batch, file) for file in inputs_told(read)}
    return found


def read_twice(commits: Commits) -> list[Twice]:
    """Inputs that two commits have added: whatever the ledger believes, their rows are in the table twice."""
    first: dict[str, str] = {}
    ranges: dict[str, list[tuple[int, int, str]]] = {}
    twice: dict[str, Twice] = {}
    for commit in reversed(commits):
        facts = commit.facts
        read, run_id = facts.input, str(facts.run_id)
        if facts.replaces:
            if replaced_by(read) is None:
                first, twice, ranges = {}, {}, {}  # all that was there before is gone
            continue
        if facts.replay or facts.from_ledger:
            continue
        for path, exact in _files(read):
            if exact in first:
                twice[exact] = Twice(path, (first[exact], run_id))
            first.setdefault(exact, run_id)
        for table, since, version in _versions(read):
            for begin, end, other in ranges.get(table, ()):
                if since < end and begin < version:
                    told = f"{read['table']} up to version {min(end, version)}"
                    twice[f"{table}:{since}:{version}"] = Twice(told, (other, run_id))
            ranges.setdefault(table, []).append((since, version, run_id))
    return list(twice.values())


def _files(read: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every file of an input, and exactly what was read of it."""
    days, bound = read.get("days"), read.get(INPUT)
    for path, size, changed, *_ in read.get("files", ()):
        yield str(path), json.dumps([path, size, changed, days, bound], sort_keys=True, default=str)


def _versions(read: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """The versions of a table that an input took all rows of: after which, up to which."""
    if (
        "table" in read
        and "days" not in read
        and not (read.get(INPUT) or {}).get("after")
        and read.get("version") is not None
    ):
        since = read.get("since")
        yield f"{read['table']} {read.get('id')}", -1 if since is None else int(since), int(read["version"])


def batches_since(commits: Commits, known: Iterable[tuple[str, Any]]) -> list[str]:
    """Batches of the ledger (with when they began) that came after the table's first commit, and that it lacks."""
    there = {commit.batch_id for commit in commits}
    began = commits[-1].facts.at if commits else None
    if began is None:
        return []
    return [batch for batch, at in known if batch not in there and at >= began]
