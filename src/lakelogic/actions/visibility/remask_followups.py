"""Tables made of one that was masked anew: which of them still hold in clear what it masks now, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import LakeLogicError
from lakelogic.plan.compile import load_checked
from lakelogic.run.masks.read_before import Upstream, late_columns, way_out
from lakelogic.run.places import QUARANTINE_FORMAT, Places, places
from lakelogic.run.state.progress import progress_of
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load as load_tables


@dataclass(frozen=True, slots=True)
class InClear:
    """A dataset whose tables hold in clear, in these columns, what is masked above; `todo` says what to do."""

    dataset: str
    contract: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    todo: str

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "dataset": self.dataset, "contract": self.contract, "tables": list(self.tables),
            "columns": list(self.columns), "todo": self.todo,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Downstream:
    file: str
    loaded: Loaded | None  # None where its contract cannot be read
    where: Places | None
    dataset: str


def in_clear_below(around: Surroundings) -> list[InClear]:
    """The datasets of this ledger that hold in clear what a table above masks by now, directly or over others."""
    datasets = list(_datasets(around))
    upstream = Upstream(around.catalog, around.ledger, lenient=True)
    entries = [
        _entry(dataset, dataset.where, columns)
        for dataset in datasets
        if dataset.where and (columns := _in_clear(dataset, dataset.where, upstream))
    ]
    unread = [
        InClear(
            dataset.dataset,
            dataset.file,
            (),
            (),
            "Its contract cannot be read, so nobody can tell: look at it yourself.",
        )
        for dataset in datasets
        if dataset.loaded is None
    ]
    return sorted([*entries, *unread], key=lambda entry: entry.dataset)


def _datasets(around: Surroundings) -> Iterable[_Downstream]:
    """What ran here, each contract and environment once; contracts that are taken away are nobody's."""
    seen: set[tuple[str, str | None]] = set()
    for run in around.ledger.runs(limit=None):
        if not run.contract or (run.contract, run.environment) in seen or not Path(run.contract).is_file():
            continue
        seen.add((run.contract, run.environment))
        try:
            loaded = load_checked(run.contract, env=run.environment)
            where = places(loaded.contract, around.catalog) if loaded.contract.materialization.target_path else None
        except LakeLogicError:
            yield _Downstream(run.contract, None, None, run.dataset)
            continue
        yield _Downstream(run.contract, loaded, where, run.dataset)


def _in_clear(dataset: _Downstream, where: Places, upstream: Upstream) -> set[str]:
    """Columns of a dataset that were read before they were masked above, or are made of such columns."""
    assert dataset.loaded is not None
    progress = progress_of(dataset.loaded.contract.dataset_name, where)
    return {
        name
        for side in ("good", "bad")
        for name in late_columns(dataset.loaded, where, progress, side, upstream.catalog, upstream)
    }


def _entry(dataset: _Downstream, where: Places, columns: Iterable[str]) -> InClear:
    assert dataset.loaded is not None
    contract = dataset.loaded.contract
    there: list[tuple[str, str, str]] = [
        (where.target, where.target_location, contract.materialization.format),
        (where.quarantine, where.quarantine_location, QUARANTINE_FORMAT),
    ]
    tables = tuple(name for name, location, form in there if load_tables(form).state(location) is not None)
    named = tuple(sorted(name for name in columns if not name.startswith("_lakelogic_")))
    return InClear(contract.dataset_name, dataset.file, tables, named, way_out(contract, named))
