"""Where a run begins whose own table tells what was read, and which days a contract limits itself to.

The greatest value stands in the table, so it belongs to the dataset and the target, needs no ledger, and begins again
with a table that was reset. It is looked up under the lease, after runs that died were finished, and pinned with the
input in the intent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.contract.durations import duration
from lakelogic.engines.base import Engine
from lakelogic.errors import DataError, UsageError
from lakelogic.plan.fingerprint import is_of
from lakelogic.plan.nodes import Account, Aggregate, Assignment, Landed, Publish, Published, Read, Rollup
from lakelogic.plan.predicates import present
from lakelogic.plan.source.days import ONE_DAY, Days
from lakelogic.plan.source.watermarks import INPUT, STEP, Bound, as_value, plain, range_of
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.plan.strategies.unknown import is_there, member
from lakelogic.quarantine.queue import ACTIVE
from lakelogic.quarantine.rows import BadSide
from lakelogic.run.events.types import Note
from lakelogic.run.formats import tables_of
from lakelogic.run.input import days
from lakelogic.run.input.days import Asked, Cut
from lakelogic.run.input.reread import Reread, is_known
from lakelogic.run.input.tracked import DIGESTS, FORMER, HOW_TO_BEGIN_AGAIN, OVER, PART_OF
from lakelogic.run.phases import ListedRun, OpenedRun, PinnedRun
from lakelogic.run.publish.reconcile import Counts
from lakelogic.run.publish.settle import pinned
from lakelogic.sql.expressions import Column, Expression, Literal, call, convert, text
from lakelogic.sql.types import INT, Type, from_arrow, parse_type
from lakelogic.tables.base import TableState

ON = "on"  # in the identity of a batch: the newest one of the table when the bound was looked up
MEASURE = "watermark"


def decide(
    contract: Contract, writes: Strategy, asked: Asked | None, columns: Sequence[Published]
) -> tuple[Cut | None, str | None]:
    """How days cut a run: those that somebody asks for, and those that the contract limits itself to."""
    strategy = contract.source.bounded_by
    if strategy == "date_range":
        return _range(contract, writes, asked, columns)
    if asked is None:
        return None, None
    if strategy is None:
        return days.decide(contract, writes, asked, columns)
    if asked.again:
        raise UsageError(
            f"Days of `{contract.dataset_name}` cannot be processed again: `watermark_strategy: {strategy}` begins "
            "where its table ends.",
            where="source.watermark_strategy",
            hint=f"{HOW_TO_BEGIN_AGAIN}.",
        )
    return None, "whatever days are asked for: the contract begins where its table ends"


def _range(contract: Contract, writes: Strategy, asked: Asked | None, columns: Sequence[Published]) -> tuple[Cut, str]:
    """The days of the contract, or those of them that are asked for. A table that is overwritten is made of them."""
    written = range_of(contract.source)
    assert written is not None, "compiling refuses other text"
    again = asked is not None and asked.again
    span = written
    if asked is not None:
        if not written.meets(asked.days):
            cut = Cut(asked.days, "rows", contract.source.watermark_field, again=again, within=written)
            return cut, f"nothing: the contract reads {written}"
        span = Days(max(written.first, asked.days.first), min(written.last, asked.days.last))
    if writes.replaces and not again:
        cut = Cut(span, "rows", contract.source.watermark_field, within=written, whole=True)
        return cut, cut.told()
    decided, text = days.decide(contract, writes, Asked(span, again=again), columns, by_rows=True)
    if decided is None:
        decided = Cut(span, "rows", contract.source.watermark_field, again=again, whole=True)
        text = decided.told()
    return replace(decided, within=written), text


def bound_of(run_: OpenedRun) -> Bound | None:
    """Where the run begins; None for a contract whose table does not tell, and for rows that are only judged."""
    contract, where = run_.job.loaded.contract, run_.places
    source = contract.source
    strategy = source.bounded_by
    if where is None or strategy is None or source.watermark_field is None or not contract.source.follows_target:
        return None
    field = next(one for one in contract.model.fields if one.name.lower() == source.watermark_field.lower())
    bound = Bound(strategy, field.name, parse_type(field.type))
    if run_.job.again and not run_.strategy.only_adds:
        return bound
    state = tables_of(contract.materialization.format, run_.job.engine).state(where.target_location)
    if state is None or not state.files:
        return bound
    greatest = _greatest(run_.job.engine, state, bound, run_.strategy)
    if greatest is None and run_.strategy.only_adds and state.rows:
        raise DataError(
            f"No row of {where.target} has a value in `{field.name}`, so everything would be added again.",
            where="source.watermark_field",
            hint=f"Nothing was read. {HOW_TO_BEGIN_AGAIN}; or use `watermark_strategy: pipeline_log`.",
        )
    return replace(bound, greatest=greatest, least=_before(greatest, source.lookback, bound))


def look_up(run_: OpenedRun) -> tuple[Bound | None, OpenedRun]:
    """Find where the run begins, if its table tells, and say so before anything is read."""
    bound = bound_of(run_)
    if bound is not None:
        input_text = "; ".join(filter(None, [bound.told(), run_.input_text]))
        run_ = replace(run_, input_text=input_text, note="; ".join(filter(None, [input_text, run_.job.note])))
    if run_.input_text is not None and run_.job.loaded.contract.source.bounded_by is not None:
        run_.events.tell(Note(f"Watermark: {run_.input_text}"))
    return bound, run_


def _before(greatest: Any, lookback: str | None, bound: Bound) -> Any:
    """So long before the greatest value; a part of a day is a day. None where there is no such time."""
    if greatest is None or bound.strategy != "lookback" or lookback is None:
        return None
    back = duration(lookback)
    try:
        return greatest - (timedelta(days=-(-back // ONE_DAY)) if bound.type.kind == "date" else back)
    except OverflowError:
        return None


def _greatest(engine: Engine, state: TableState, bound: Bound, strategy: Strategy) -> Any:
    """The greatest value of all rows of the table, deleted ones too; not of the member that stands for unknown keys."""
    stored = {field.name: from_arrow(field.type) for field in state.schema}
    spelled = next((name for name in stored if name.lower() == bound.field.lower()), None)
    if spelled is None:
        return None
    value = convert(Column(spelled, stored[spelled]), bound.type)
    where, others = present(value), dict[str, Type]()
    if strategy.unknown is not None:
        where, others = _known(where, strategy, stored)
    columns = {spelled: stored[spelled], **others}
    landed = tuple(Landed(name, type_) for name, type_ in columns.items())
    read = Read("current", "parquet", landed, {"constants": state.parts} if state.parts else {})
    found = Rollup("greatest", where, (), (Aggregate("greatest", "max", value, bound.type),))
    shown = (Assignment("greatest", Column("greatest", bound.type)),)
    account = Account(None, (found,), Publish(shown, Literal(0, INT), text("good")))
    collected = engine.collect(engine.lower(engine.scan(read, pinned(state)), (account,), {}))
    return as_value(collected.column("greatest")[0].as_py(), bound.type)


def _known(where: Expression, strategy: Strategy, stored: Mapping[str, Type]) -> tuple[Expression, dict[str, Type]]:
    """Rows but for the unknown member, and the columns that tell it."""
    keys = [name for key in strategy.keys for name in stored if name.lower() == key.lower()]
    if strategy.surrogate is not None and strategy.surrogate.column in stored:
        keys = [*keys, strategy.surrogate.column]
    else:
        strategy = replace(strategy, surrogate=None)
    row = member(strategy, [key for key in keys if key in stored], dict(stored), {})
    is_member = is_there(strategy, keys, row, stored)
    return call("and", where, call("not", is_member)), {key: stored[key] for key in keys}


def identity(run_: ListedRun) -> dict[str, Any]:
    """What makes a batch that begins somewhere another one: where, and after which batch of the table."""
    if run_.bound is None:
        return {}
    ledger = run_.job.ledger
    newest = ledger.head(run_.progress.key) if ledger is not None else None
    return {INPUT: {**run_.bound.as_dict(), ON: newest}}


def nothing_came(run_: PinnedRun) -> bool:
    """Whether the newest batch of the table read this very input by this contract, and the table ends where it did."""
    ledger, bound = run_.job.ledger, run_.bound
    if ledger is None or bound is None or bound.is_open or run_.job.again:
        return False
    newest = ledger.head(run_.progress.key)
    intent = ledger.intent_of(run_.progress.key, newest) if newest is not None else None
    told: Any = intent.input if intent is not None else None
    if intent is None or not told or INPUT not in told or not is_of(run_.job.loaded, intent.fingerprint or ""):
        return False
    same = _read(told) == _read(run_.identity)
    return same and ledger.watermark(run_.progress.key) == bound.as_dict()["after"]


def _read(identity_: Mapping[str, Any]) -> str:
    """What was read, wherever in it a batch began."""
    kept = {key: told for key, told in identity_.items() if key not in (INPUT, PART_OF, DIGESTS, FORMER, OVER)}
    return json.dumps(kept, sort_keys=True)


def reached(run_: ListedRun, measured: Mapping[str, Any]) -> str | None:
    """Where the table ends once the run is done, as the ledger keeps it."""
    if run_.bound is None:
        return None
    newest = as_value(measured.get(MEASURE), run_.bound.type)
    found = [value for value in (run_.bound.greatest, newest) if value is not None]
    return replace(run_.bound, greatest=max(found)).as_dict()["after"] if found else None


def ends(run_: PinnedRun, measured: Mapping[str, Any]) -> str | None:
    """The last day that is read once this run is done; it never moves back. With a bound, where the table ends."""
    if run_.bound is not None:
        return reached(run_, measured)
    ledger = run_.job.ledger if run_.places is not None else None
    before = ledger.watermark(run_.progress.key) if ledger is not None else None
    return max(filter(None, (before, days.newest_day(run_.slice, run_.cut))), default=None)


def without_waiting(run_: ListedRun, counts: Counts, bad: BadSide, reread: Reread | None) -> Counts:
    """The counts that gates look at: a bad row beyond the bound is read with every run, and was judged by one before.

    Only rows of batches that were published count as judged: what waits behind a gate has passed none.
    """
    ledger = run_.job.ledger
    if run_.bound is None or reread is None or ledger is None or not counts.quarantined:
        return counts
    published = ledger.batches_done(run_.progress.key)
    known = {
        row[names.ROW_ID]
        for row in reread.queue.light(None, reread.looked_at(), reread.sources)
        if row[names.STATE] == ACTIVE and row[names.BATCH_ID] in published and is_known(row, bad.ids, reread)
    }
    return replace(counts, quarantined=counts.quarantined - len(known))


def nothing_taken(run_: PinnedRun, counts: Counts) -> str | None:
    """Why there is nothing to publish, where a window or a bound took no row; the run then has begun nothing.

    How many rows a bound left out is told in any case.
    """
    left_out, cut, ledger = _left_out(run_, counts), run_.cut, run_.job.ledger
    if left_out is not None:
        run_.events.tell(Note(left_out))
    taken = counts.source - counts.filtered.get(STEP, 0)
    has_bound = left_out is not None or cut is not None
    if ledger is None or run_.places is None or taken or not has_bound or (cut is not None and not cut.adds):
        return None
    if (begun := ledger.open_intent(run_.progress.key)) is not None:
        ledger.abandon(begun)
    return "; ".join(filter(None, [cut.nothing() if cut is not None else "nothing new to read", left_out]))


def _left_out(run_: ListedRun, counts: Counts) -> str | None:
    """How many rows the bound left out, for people; None where there is no bound."""
    if STEP not in counts.filtered:
        return None
    count = counts.filtered[STEP]
    rows = f"{count} row{'s' if count != 1 else ''}"
    if run_.bound is None:
        return f"{rows} of other days left out by the watermark"
    if run_.bound.strategy == "lookback":
        return f"{rows} before {plain(run_.bound.least)} left out by the watermark"
    return f"{rows} at or before {plain(run_.bound.greatest)} left out by the watermark"
