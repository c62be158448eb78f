"""Which part of its input a run takes when it is asked for days, and which part of the table that replaces.

Files that are read once are placed by the date in their names, rows by `source.watermark_field`. Whatever has neither
is read in full. Where rows that are read again would otherwise stand in the table twice, or where the window is
processed again, they take the place of the table's rows of the same days.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lakelogic.contract.document import Contract
from lakelogic.contract.durations import duration
from lakelogic.engines.base import Engine, Staged
from lakelogic.errors import DataError, UnsupportedError, UsageError
from lakelogic.plan.nodes import Measure, Plan, Published
from lakelogic.plan.source.days import Days, plain_day
from lakelogic.plan.strategies.replaced import Everything, Replaced
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.run.input.pin import Slice, pin_files
from lakelogic.sql.expressions import Column, call
from lakelogic.sql.types import DATE, TIMESTAMP
from lakelogic.storage.dates import days_of_file
from lakelogic.storage.local import FileInfo


@dataclass(frozen=True, slots=True)
class Asked:
    """The days that somebody asks for; `again`: what was processed of them before is replaced.

    `late`: rows that came late may be among them, so the window reaches back by the contract's `lookback`.
    """

    days: Days
    again: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """How the days cut a contract: whole files, or rows by a landed `field`; the table by a `column`, or not at all."""

    days: Days
    by: Literal["files", "rows"]
    field: str | None = None
    column: str | None = None
    again: bool = False
    within: Days | None = None  # the days that the contract limits itself to
    whole: bool = False  # the batch takes the place of the whole table

    @property
    def adds(self) -> bool:
        """Whether a batch without rows leaves the table as it is."""
        return self.column is None and not self.whole

    def told(self) -> str:
        """What is read, for people."""
        what = "files dated" if self.by == "files" else f"rows whose {self.field} is on"
        done = f"; they replace those days by {self.column}" if self.column else ""
        return f"{'reprocess: ' if self.again else ''}{what} {self.days}{done}"

    @property
    def rows(self) -> tuple[str, Days] | None:
        """The landed column that places rows, where rows are cut."""
        return (self.field, self.days) if self.field is not None else None

    def nothing(self) -> str:
        """Why there is nothing to do."""
        return f"nothing of {self.days} is new" if not self.again else f"there is nothing of {self.days}"

    def identity(self, run_id: str) -> dict[str, Any]:
        """What makes a batch of these days another one than of all; processed again, it is one of its own."""
        told: dict[str, Any] = {**self.days.as_dict(), "field": self.field, "column": self.column}
        return {"days": {**told, **({"again": run_id} if self.again else {})}}


def decide(
    contract: Contract, strategy: Strategy, asked: Asked, columns: Sequence[Published], *, by_rows: bool = False
) -> tuple[Cut | None, str]:
    """How the days cut this contract; or None, and why everything is read.

    `columns` are those of the good rows as far as they are known before the source is looked at. `by_rows`: rows are
    taken by their days whatever `load_mode` says.
    """
    source = contract.source
    policy = contract.materialization.reprocess_policy or "overwrite_partition"
    if asked.again and policy == "fail":
        raise UsageError(
            f"`{contract.dataset_name}` may not be processed again: reprocess_policy is fail.",
            where="materialization.reprocess_policy",
        )
    once = source.load_mode != "full" and not by_rows
    if not once and not source.watermark_field:
        return None, "full: the contract has no source.watermark_field that would place its rows in time"
    days = asked.days.reaching_back(duration(source.lookback)) if asked.late and source.lookback else asked.days
    cut = Cut(days, "files" if once else "rows", None if once else source.watermark_field, again=asked.again)
    if not _replaces(strategy, asked, policy, once=once):
        return cut, cut.told()
    column = _column(contract, columns)
    if column is None and strategy.replaces:
        return None, "full: the table has no column that places its rows in time, so all of it is replaced"
    if column is None and not once:
        raise UnsupportedError(
            f"Rows of `{contract.dataset_name}` that were made of these days cannot be told: no column of the table "
            "tells their days.",
            hint="Name it: materialization: {reprocess_date_column: …}.",
        )
    cut = replace(cut, column=column)
    return cut, cut.told()


def _replaces(strategy: Strategy, asked: Asked, policy: str, *, once: bool) -> bool:
    """Whether rows of the table go. Changes (CDC) and histories are told again and put in their place instead."""
    if strategy.kind == "merge":
        return asked.again and strategy.operation is None and policy != "append"
    if strategy.replaces:
        return True
    return strategy.only_adds and (asked.again or not once) and policy != "append"


def takes_back(contract: Contract, strategy: Strategy) -> bool:
    """Whether days that are processed again replace what they made: changes and histories are told again instead."""
    policy = contract.materialization.reprocess_policy or "overwrite_partition"
    return strategy.kind in ("append", "merge") and strategy.operation is None and policy != "append"


def _column(contract: Contract, columns: Sequence[Published]) -> str | None:
    """The column of the table that places its rows: as written, the watermark's field, or a dated partition."""
    settings = contract.materialization
    if settings.reprocess_date_column:
        return settings.reprocess_date_column
    known = {column.name.lower(): column for column in columns if column.on_good}
    field = contract.source.watermark_field
    if field and field.lower() in known:
        return known[field.lower()].name
    if len(settings.partition_by) == 1:
        parted = known.get(settings.partition_by[0].lower())
        if parted is not None and parted.type in (DATE, TIMESTAMP):
            return parted.name
    return None


def narrowed(slice_: Slice, cut: Cut) -> Slice:
    """The pinned input without what lies in other days: files by their names, parts of a table by their values."""
    if cut.by == "files":
        return replace_files(slice_, [file for file in slice_.files if cut.days.meets(_days(file))])
    assert cut.field is not None
    if cut.within is not None and not cut.within.meets(cut.days):
        return replace(slice_, pinned=replace(slice_.pinned, files=()), files=())
    if slice_.pinned.own or not slice_.parts:
        return slice_
    field = cut.field.lower()
    spelled = next((name for name in next(iter(slice_.parts.values())) if name.lower() == field), None)
    if spelled is None:
        return slice_
    days = {path: plain_day(part[spelled]) for path, part in slice_.parts.items()}
    kept = tuple(path for path in slice_.pinned.files if (day := days.get(path)) is not None and day in cut.days)
    parts = {path: slice_.parts[path] for path in kept}
    return replace(slice_, pinned=replace(slice_.pinned, files=kept), parts=parts)


def replace_files(slice_: Slice, files: Sequence[FileInfo]) -> Slice:
    """The same source with other files."""
    return pin_files(tuple(files), slice_.format, slice_.described)


def reaching_over(cut: Cut, slice_: Slice) -> Cut:
    """The cut over all days of its files: those of a month are read, and replaced, as a whole."""
    if cut.by != "files" or not slice_.files:
        return cut
    spans = [_days(file) for file in slice_.files]
    days = Days(min(cut.days.first, *(s.first for s in spans)), max(cut.days.last, *(s.last for s in spans)))
    return replace(cut, days=days)


def _days(file: FileInfo) -> Days:
    found = days_of_file(file.path)
    if found is None:
        raise UsageError(
            f"{file.path} has no date in its name, so it belongs to no window.",
            hint="Name files by their day (orders_2026-02-03.csv), week (2026-W06) or month (2026-02), or read them "
            "without a window.",
        )
    return Days(*found)


def refuse_gone(cut: Cut, slice_: Slice, before: Collection[str]) -> None:
    """Days are replaced by all of their files: rows of one that was read `before` and is gone would be lost."""
    if cut.by != "files" or (cut.column is None and not cut.again) or not slice_.files:
        return  # without any file nothing is replaced
    there = {file.path for file in slice_.files}
    told = {path: days_of_file(path) for path in before if path not in there}
    gone = sorted(path for path, days in told.items() if days is not None and cut.days.meets(Days(*days)))
    if gone:
        named = ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "")
        raise DataError(
            f"Files of {cut.days} that were read before are gone, and their rows would go with them: {named}.",
            hint="Nothing was published. Bring them back or leave their days out; where the rows shall go, put a file "
            "without rows in its place.",
        )


def refuse_strangers(cut: Cut, strategy: Strategy, engine: Engine, plan: Plan, staged: Staged) -> None:
    """Rows that take the place of days must fall on them: otherwise the next time they would stand there twice."""
    if cut.column is None or not staged.good:
        return
    columns = [column for column in plan.columns if column.on_good]
    named = next((column for column in columns if column.name.lower() == cut.column.lower()), None)
    if named is None:
        raise UsageError(
            f"There is no column `{cut.column}` to publish that would place rows in a window.",
            where="materialization.reprocess_date_column",
            hint=f"Choose among: {', '.join(column.name for column in columns)}.",
        )
    if strategy.is_keyed:
        return  # a key finds its row, whatever its day
    outside = call("not", cut.days.hold(Column(named.name, named.type)))
    counted = engine.measure(
        [file.path for file in staged.good], columns, [Measure("outside", "count_all", None, outside)]
    )["outside"]
    if counted:
        raise DataError(
            f"{counted} good rows of {cut.days} have another day in `{cut.column}`: replaced by it, they would stand "
            "in the table twice the next time.",
            hint="Nothing was published. Name the column that places rows as their source does.",
        )


def newest_day(slice_: Slice | None, cut: Cut | None) -> str | None:
    """The last day that a run has read, where that is known: of its window, or of its files."""
    if cut is not None:
        return cut.days.last.isoformat()
    found = [days for file in (slice_.files if slice_ else ()) if (days := days_of_file(file.path)) is not None]
    return max(last for _, last in found).isoformat() if found else None


def within(strategy: Strategy, replaced: Replaced | None) -> Strategy:
    """The strategy, where a batch takes the place of a part of its table."""
    if replaced is None:
        return strategy
    is_plain = not strategy.looks_at_the_table
    anew = strategy.kind == "periodic" and isinstance(replaced[1], Everything)
    kind = "part" if is_plain or anew else strategy.kind
    return replace(strategy, kind=kind, part=replaced)
