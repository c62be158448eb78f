"""What was guessed by some rows, held against the rest: values that do not fit, keys that come twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic.contract import formats
from lakelogic.infer.columns import ColumnDraft, fits
from lakelogic.infer.landings import Landing
from lakelogic.infer.samples import Reading, Sample, batches, text_of
from lakelogic.names import BROKEN

MOST_ROWS = 1_000_000  # of an entity, in all its files together
_MOST_NEWS = 40  # values of a column that are kept, beyond which more of them say nothing new

Key = tuple[str, ...]


@dataclass(slots=True)
class Proof:
    """What the rows say: how many there were, whether those were all, what does not fit, which keys are none."""

    rows: int = 0
    is_whole: bool = True
    news: dict[str, list[str]] = field(default_factory=dict)
    refuted: set[Key] = field(default_factory=set)
    again: set[Key] = field(default_factory=set)  # keys of which some rows stand in several files, or several times


def prove(
    landing: Landing,
    how: Reading,
    seen: Sample,
    columns: Sequence[ColumnDraft],
    keys: Collection[Key],
    *,
    repeats: bool,
) -> Proof:
    """Read on, over all files; `repeats` says that rows of one key may stand in one file."""
    proof = Proof()
    values_by_column = {column.name: set(seen.columns[column.name]) for column in columns}
    share = max(MOST_ROWS // len(landing.files), 1)
    before: dict[Key, set[Any]] = {key: set() for key in keys}
    for path in landing.files:
        met: dict[Key, set[Any]] = {key: set() for key in keys}
        left = share
        for batch in batches(landing, how, path):
            rows = {name: list(map(text_of, batch.column(name).to_pylist())) for name in batch.schema.names}
            sound = [why is None for why in rows[BROKEN]] if BROKEN in rows else [True] * batch.num_rows
            proof.rows += sum(sound)
            for column in columns:
                values = rows.get(column.name, [])
                # A file that tells its types tells them of all rows.
                if formats.is_text(landing.format) or column.values:
                    _note(column, values, values_by_column[column.name], seen, proof)
            for key in keys:
                if key not in proof.refuted:
                    _test(key, rows, sound, met[key], proof, seen.nulls, repeats=repeats)
            left -= batch.num_rows
            if left <= 0:
                proof.is_whole = False
                break
        for key, key_values in met.items():
            if not before[key].isdisjoint(key_values):
                proof.again.add(key)
            before[key] |= key_values
    return proof


def _note(
    column: ColumnDraft, values: Sequence[str | None], values_before: set[str | None], seen: Sample, proof: Proof
) -> None:
    """Values of a column that were not seen yet and that change what it is."""
    for value in set(values) - values_before:
        values_before.add(value)
        if value is None or value in seen.nulls:
            continue
        news = proof.news.setdefault(column.name, [])
        if len(news) < _MOST_NEWS and (column.values or not fits(column.type, value)):
            news.append(value)


def _test(
    key: Key,
    rows: Mapping[str, Sequence[str | None]],
    sound: Sequence[bool],
    met: set[Any],
    proof: Proof,
    nulls: Collection[str],
    *,
    repeats: bool,
) -> None:
    if not all(name in rows for name in key):
        proof.refuted.add(key)
        return
    for is_row, key_values in zip(sound, zip(*(rows[name] for name in key), strict=True), strict=True):
        if not is_row:
            continue
        if any(value is None or value in nulls for value in key_values) or (not repeats and key_values in met):
            proof.refuted.add(key)
            met.clear()
            return
        if key_values in met:
            proof.again.add(key)
        met.add(key_values)
