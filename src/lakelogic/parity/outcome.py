"""One contract over given rows on one engine, judged and not published: values, types, verdicts and reasons."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.contract.reading.load import Loaded
from lakelogic.engines.base import DataFile, Engine, Pinned, Staged
from lakelogic.errors import LakeLogicError, ReconcileError
from lakelogic.parity.canonical import canonical
from lakelogic.plan.columns.stamps import Stamps
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.nodes import Plan, Read
from lakelogic.quarantine.rows import Decoder
from lakelogic.run.publish.reconcile import reconcile
from lakelogic.run.steps.prepare import require
from lakelogic.sql.types import from_arrow

# One instant for all engines: what depends on the time of the run is part of the comparison.
NOW = datetime(2024, 3, 31, 1, 30, tzinfo=UTC)
STAMPS = Stamps("run-parity", None, NOW, "memory")
_NOT_COMPARED = (names.FILE, names.NUMBER)  # where a row came from: engines may not know

Row = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EngineResult:
    """What one engine made of a contract: rows of both sides, lost rows and copies by step, or why it refused.

    A row is a tuple of (column, value) texts, so that two outcomes are equal exactly when they mean the same.
    """

    engine: str
    types: tuple[tuple[str, str], ...] = ()
    good: tuple[Row, ...] = ()
    bad: tuple[Row, ...] = ()
    lost: Mapping[int, int] = field(default_factory=dict)
    copies: Mapping[int, int] = field(default_factory=dict)
    refused: str | None = None
    failed: str | None = None

    @property
    def digest(self) -> str:
        """The same for the same result, whatever the order of rows and whichever the engine."""
        parts = [repr(self.types), *map(repr, self.good), "bad", *map(repr, self.bad), repr(sorted(self.lost.items()))]
        parts.append(repr(sorted(self.copies.items())))
        return hashlib.sha256("\n".join([*parts, self.refused or ""]).encode()).hexdigest()[:16]

    @property
    def result(self) -> tuple[object, ...]:
        """Everything that must be the same on every engine."""
        return (self.refused, self.failed, self.types, self.good, self.bad, dict(self.lost), dict(self.copies))


def landed(table: pa.Table) -> SourceColumns:
    """The columns of rows in memory, as a look at a source would find them."""
    from lakelogic.plan.nodes import Landed

    return SourceColumns("parquet", tuple(Landed(f.name, from_arrow(f.type)) for f in table.schema))


def compiled(loaded: Loaded, table: pa.Table, links: Mapping[str, SourceColumns] | None = None) -> Compiled:
    """The plan for these rows; raises ContractError with everything that is wrong."""
    return compile_contract(loaded, landed(table), links, stamps=STAMPS)


def refusal(error: LakeLogicError) -> str:
    """Why a contract is refused, in a form that is the same on every engine."""
    diagnostics = getattr(error, "diagnostics", None)
    if diagnostics:
        return "; ".join(f"{d.code} {d.message}" for d in diagnostics if d.severity == "error")
    return f"{error.code} {error.message}"


def evaluate(engine: Engine, plan: Plan, table: pa.Table, links: Mapping[str, Pinned] | None = None) -> EngineResult:
    """Lower the plan over the rows and collect what it publishes; nothing is written anywhere."""
    try:
        require(plan, engine)
        frames = {name: engine.link(link, (links or {})[link.reference]) for name, link in plan.links.items()}
        frame, _ = engine.adopt(table, Read("source", "parquet", ()))
        answer = engine.collect(engine.lower(frame, plan.accounts, frames))
    except LakeLogicError as error:
        return EngineResult(engine.name, refused=refusal(error).replace(f"`{engine.name}`", "`engine`"))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - any failure of an engine, a panic too, is a difference to report
        return EngineResult(engine.name, failed=f"{type(error).__name__}: {_first_line(error)}")
    try:
        return _outcome(engine.name, plan, answer, table.num_rows)
    except ReconcileError as error:
        return EngineResult(engine.name, failed=error.message)


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:400] if text else ""


def _outcome(engine: str, plan: Plan, table: pa.Table, read: int) -> EngineResult:
    own = (names.FATE, names.COPY, names.SIDE)
    types = tuple((f.name, str(from_arrow(f.type))) for f in table.schema if f.name not in own)
    texts = {name: canonical(table.column(name)) for name in table.column_names if name not in (names.FATE, names.SIDE)}
    sides = table.column(names.SIDE).to_pylist()
    fates = table.column(names.FATE).to_pylist()
    reasons = _reasons(plan, table)
    good_columns = [c.name for c in plan.columns if c.on_good and c.name not in _NOT_COMPARED]
    bad_columns = [c.name for c in plan.columns if c.on_bad and c.name not in _NOT_COMPARED]
    good: list[Row] = []
    bad: list[Row] = []
    lost: Counter[int] = Counter()
    for row, side in enumerate(sides):
        if side == names.GOOD_SIDE:
            good.append(tuple((name, texts[name][row]) for name in good_columns))
        elif side == names.BAD_SIDE:
            values = tuple((name, texts[name][row]) for name in bad_columns)
            bad.append((*values, (names.ERRORS, repr(reasons[row]))))
        else:
            lost[int(fates[row] or 0)] += 1
    copies = Counter(int(number) for number in table.column(names.COPY).to_pylist() if number)
    staged = Staged(_rows(len(good)), _rows(len(bad)), read, lost, copies)
    reconcile(plan, staged, _by_verdict(plan, table, sides), lambda: read)
    return EngineResult(engine, types, tuple(sorted(good)), tuple(sorted(bad)), dict(lost), dict(copies))


def _rows(count: int) -> tuple[DataFile, ...]:
    return (DataFile("memory", count, 0),)


def _by_verdict(plan: Plan, table: pa.Table, sides: Sequence[str | None]) -> Counter[str]:
    """Bad rows by the verdict that made them bad."""
    verdicts = {reason.column for reason in plan.reasons if reason.severity == "error"}
    columns = {name: table.column(name).to_pylist() for name in verdicts}
    return Counter(
        name for row, side in enumerate(sides) if side == names.BAD_SIDE for name, bits in columns.items() if bits[row]
    )


def _reasons(plan: Plan, table: pa.Table) -> list[list[str]]:
    decoder = Decoder(plan.reasons)
    columns = [[value or 0 for value in table.column(name).to_pylist()] for name in decoder.columns]
    rows: Sequence[tuple[Any, ...]] = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    return [[reason.text for reason in decoder.of(bits).reasons] for bits in rows]
