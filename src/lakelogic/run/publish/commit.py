"""The commit protocol: intent, quarantine, good rows; each commit happens once, however often it is tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.engines.base import AS_IT_COMES, Engine, Order, Staged
from lakelogic.errors import DataError, UnsupportedError
from lakelogic.ledger.adoption import batches_elsewhere
from lakelogic.ledger.records import Intent
from lakelogic.ledger.store import Ledger
from lakelogic.plan.columns import evolve
from lakelogic.plan.nodes import Plan, Published
from lakelogic.plan.source.days import Days
from lakelogic.plan.strategies.meet import own_columns
from lakelogic.plan.strategies.replaced import Replaced, Sources
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.quarantine.first_seen import Seen
from lakelogic.quarantine.queue import ACTIVE, Queue, Stamped
from lakelogic.quarantine.rows import BadSide
from lakelogic.run.formats import tables_of
from lakelogic.run.input.batch_order import behind_of
from lakelogic.run.input.days import within
from lakelogic.run.input.deleted import marks_after
from lakelogic.run.input.reread import Reread, is_known, let_go
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.publish import secondary
from lakelogic.run.publish.good import settle_good
from lakelogic.run.publish.layout import (
    keeps,
    known_columns,
    layout_of,
    order_of,
    refuse_other_kind,
    replace_partitions,
    staged_files,
)
from lakelogic.run.state import in_use, leases
from lakelogic.run.state.entries import remember, rows_before, settle
from lakelogic.run.state.environments import makers_after, makers_of
from lakelogic.run.state.progress import Progress, application, applications
from lakelogic.sql.types import Type, from_arrow, to_arrow
from lakelogic.tables.base import PLAIN, CommitInfo, Committed, Layout, TableFormat, TableState
from lakelogic.tables.facts import CommitFacts, CommitRecord
from lakelogic.tables.registry import load as load_tables


@dataclass(slots=True)
class Commit:
    """One batch on its way into its two tables."""

    tables: TableFormat
    ledger: Ledger | None
    contract: Contract
    strategy: Strategy  # how good rows meet their table
    places: Places
    progress: Progress  # whose commits these are, for ledger and tables
    batch_id: str
    fingerprint: str
    attempt: str  # the run's own id, as part of a folder name
    n: int = 0
    good_version: int | None = None
    quarantine_version: int | None = None
    seen: int = 0  # the last batch that the target held when this one was worked out
    compared: int | None = None  # the last batch of the target that the ledger was compared with, where it was
    had_queue: bool = True  # whether rows were bad before this batch
    is_behind: bool = False  # whether bad rows were put away for which no good rows came: maybe those of this batch
    changes: evolve.Changes = field(default_factory=evolve.Changes)
    decision: evolve.Decision = field(default_factory=evolve.Decision)
    applied: Mapping[str, int] = field(default_factory=dict)  # what became of the good rows, by effect
    named: Mapping[str, str] = field(default_factory=dict)  # what the good commit said, with the entry that it names
    layout: Layout = PLAIN
    order: Order = AS_IT_COMES  # how the engine stages good rows
    replaced: Replaced | None = None  # the part of the table that the batch takes the place of

    @property
    def queue(self) -> TableFormat:
        """The format of the quarantine table."""
        return load_tables(QUARANTINE_FORMAT)

    @property
    def foreign(self) -> frozenset[str]:
        """Batches of other targets that an earlier version put into the quarantine under the dataset's name alone."""
        return batches_elsewhere(self.ledger, self.progress.before, self.progress.target)

    @property
    def staging(self) -> str:
        """Where the engine stages this batch."""
        return self.places.staging(self.batch_id, self.attempt)

    @property
    def quarantine_staging(self) -> str:
        """Where the bad side is staged for its own table."""
        return self.places.quarantine_staging(self.batch_id, self.attempt)

    def begin(
        self, identity: Mapping[str, Any], engine: str, staged: Callable[[], Mapping[str, Any]] | None = None
    ) -> None:
        """Take a number and write the intent, under which nothing was ever committed.

        `staged` is the staged record, where the rows are staged already; it is asked for when the number is known.
        """
        progress = self.progress
        waiting = self.queue.state(self.places.quarantine_location)
        self.had_queue = waiting is not None
        good = self.tables.state(self.places.target_location)
        self.seen = good.transactions.get(application(progress, "good"), 0) if good is not None else 0
        if self.compared is not None:
            # What was committed since the input was pinned may hold the same rows: it was not left out of the input.
            place = self.places.target_location
            CommitInfo(application(progress, "good"), 0, after=self.compared).refuse_overtaken(self.seen, place)
        published, bad = last_n(good, progress, "good"), last_n(waiting, progress, "bad")
        self.is_behind = bad > published
        least = max(published, bad, secondary.last_n(self.places.others, progress)) + 1
        if self.ledger is None:
            self.n = least
            return
        self.n = self.ledger.next_n(progress.key, least)
        self.ledger.begin(
            Intent(
                self.batch_id,
                progress.key,
                self.places.target_location,
                self.n,
                dict(identity),
                self.fingerprint,
                engine,
                run_id=self.attempt,
                staged=staged() if staged is not None else None,
            )
        )
        self.tell_in_use()

    def give_up(self) -> None:
        """Nothing of this batch comes to the target: nobody has to finish it."""
        if self.ledger is not None:
            for intent in self.ledger.open_intents(self.progress.key, self.places.target_location):
                if intent.n == self.n:
                    self.ledger.abandon(intent)
        self.tell_in_use()

    def tell_in_use(self) -> None:
        """Tell beside the tables what is staged there: whoever sweeps them may know another ledger."""
        if self.ledger is not None:
            others = (other.location for other in self.places.others)
            roots = (self.places.target_location, self.places.quarantine_location, *others)
            in_use.tell(self.ledger, self.places.target_location, roots, leases.owner(self.attempt))

    def reread(self, facts: CommitFacts) -> Reread:
        """Which rows of the quarantine this batch reads again."""
        queue = Queue(self.queue, self.places.quarantine_location, Stamped.by(self.contract))
        return Reread(queue, applications(self.progress, "bad"), self.batch_id, facts, self.foreign)

    def quarantine_columns(self) -> pa.Schema | None:
        """The columns that the quarantine table has, or None before it exists."""
        state = self.queue.state(self.places.quarantine_location)
        return state.schema if state else None

    def quarantine(self, bad: BadSide, facts: CommitFacts) -> Committed:
        """Bad rows first: they are safe before anything good is visible."""
        if (state := self.tables.state(self.places.target_location)) is not None:
            info = self._info("good", CommitFacts())
            if (last := state.transactions.get(info.app_id, 0)) < self.n:
                info.refuse_overtaken(last, self.places.target_location)
        reread = self.reread(facts)
        seen = Seen(reread.queue.stamped.at, batch=self.batch_id)
        done, _ = reread.queue.change(
            self.info("bad", facts),
            f"{self.quarantine_staging}/edited",
            lambda row: is_known(row, bad.ids, reread) or (self.is_behind and self._is_superseded(row)),
            seen.drop,
            bad.files,
            bad.schema,
            looks_at=reread.looked_at(),
            only=None if self.is_behind else reread.sources,
            finish=seen.put,
        )
        bad.already_there = len(seen)
        if done is None:  # all of them were taken out by somebody who knew them
            state = self.queue.state(self.places.quarantine_location)
            done = Committed(state.version if state else 0, skipped=True)
        self.quarantine_version = done.version
        return done

    def _is_superseded(self, row: Mapping[str, Any]) -> bool:
        """Whether an earlier attempt at this very batch left the row: what this one finds bad comes beside it."""
        return bool(row[names.BATCH_ID] == self.batch_id and row[names.STATE] == ACTIVE)

    def let_go(self, facts: CommitFacts) -> int:
        """Rows that were bad before and are published now leave the queue, after the good commit."""
        if not self.had_queue:
            return 0
        queue = Queue(self.queue, self.places.quarantine_location, Stamped.by(self.contract))
        commit = CommitRecord(self._info("good", facts).metadata)
        return let_go(queue, self.progress, commit, self.n, f"{self.quarantine_staging}/left", self.foreign)

    def good(
        self,
        plan: Plan,
        staged: Staged,
        facts: CommitFacts,
        *,
        engine: Engine,
        now: datetime,
        newer: frozenset[str] = frozenset(),
    ) -> Committed:
        """Good rows, by the contract's strategy; `newer` are runs whose rows came later than these."""
        self._refuse_overtaken()
        files = staged_files(staged.good)
        strategy = replace(self.strategy, of_table="table" in facts.input)
        place = self.places.target_location
        before = self.tables.state(place)
        schema = good_schema(plan)
        keeps_columns = not sum(file.rows for file in files) and keeps(before, strategy)
        if keeps_columns and before is not None:
            schema, files = known_columns(schema, before), []
        if self.places.others:
            facts = replace(facts, secondary=secondary.as_facts(self.staging, schema))
        deletes = marks_after(strategy, self.tables, before)
        facts = replace(self._makers(facts), deletes=deletes, rows_before=rows_before(before))
        if self.decision.action == "widen" and not keeps_columns:
            types = {change.name: to_arrow(change.new) for change in self.changes.changed}
            self.tables.widen(place, types, {"lakelogic": f"wider types for batch {self.batch_id}"})
        if strategy.looks_at_the_table and not keeps_columns:
            done, self.applied = settle_good(
                engine,
                self.tables,
                place,
                self.contract,
                strategy,
                plan,
                staged,
                self.staging,
                now,
                lambda applied: self._good_info(facts, applied),
                self.layout,
                newer,
                behind_of(facts.input),
            )
        else:
            rows = sum(file.rows for file in files)
            self.applied = {"inserted": rows, "rows": rows}
            in_parts = strategy.replaces and self.strategy.in_partitions
            info = self._good_info(replace(facts, in_parts=in_parts), self.applied)
            if in_parts:
                done = replace_partitions(self.tables, place, files, schema, info, self.layout)
            elif strategy.replaces:
                replaced = self.decision.action == "replace" and not keeps_columns
                done = self.tables.overwrite(place, files, schema, info, replace_schema=replaced, layout=self.layout)
            else:
                done = self.tables.append(place, files, schema, info, layout=self.layout)
        if not done.skipped:
            settle(self.progress, self.named)
        self.good_version = done.version
        metadata = self._info("good", CommitFacts(environments=facts.environments)).metadata
        secondary.publish(self.places.others, self.progress, self.n, metadata, facts.secondary)
        return done

    def _makers(self, facts: CommitFacts) -> CommitFacts:
        """The facts, with whose rows the table holds with these, and how all of them were read."""
        before = makers_of(self.tables, self.places.target_location, *applications(self.progress, "good"))
        whole = self.strategy.replaces and not self.strategy.in_partitions and self.replaced is None
        facts = replace(facts, environments=makers_after(before, facts, replaces=whole))
        return self._read_masks("good", facts, begins=whole)

    def _read_masks(self, side: str, facts: CommitFacts, *, begins: bool = False) -> CommitFacts:
        """The facts, with what was masked where all rows of the table, or of the quarantine, were read."""
        tables = self.tables if side == "good" else self.queue
        location = self.places.target_location if side == "good" else self.places.quarantine_location
        begins = begins or tables.state(location) is None
        before = None if begins else read_masks.read_before(tables, location, applications(self.progress, side))
        return replace(facts, read_masks_all=read_masks.read_after(before, facts.read_masks, begins=begins))

    def _refuse_overtaken(self) -> None:
        """Another run that has put bad rows of a later batch away counts on these good rows for itself."""
        state = self.queue.state(self.places.quarantine_location)
        last = state.transactions.get(application(self.progress, "bad"), 0) if state is not None else 0
        if last > self.n:
            place = self.places.target_location
            CommitInfo(application(self.progress, "bad"), self.n, after=self.n).refuse_overtaken(last, place)

    def compare(self, plan: Plan) -> evolve.Changes:
        """How the table's columns differ from the plan's, and what the policy makes of it."""
        state = self.tables.state(self.places.target_location)
        declared = {column.name: from_arrow(to_arrow(column.type)) for column in _good_columns(plan)}
        self._lay_out(declared, state)
        if state is None:
            return self.changes
        refuse_other_kind(self.contract, self.strategy, state.schema.names, self.places.target)
        declared |= own_columns(self.strategy, declared)
        self.changes = evolve.changes(declared, {field.name: from_arrow(field.type) for field in state.schema})
        required = [f.name for f in self.contract.model.fields if f.required]
        # Rows that stay bind the types.
        rewrites = self.strategy.replaces and not self.strategy.in_partitions and self.replaced is None
        policy = self.contract.schema_policy.evolution
        self.decision = evolve.decide(policy, self.changes, rewrites=rewrites, required=required)
        if state.own and self.decision.action != "keep":
            raise UnsupportedError(
                f"{self.places.target} is written by Spark's own Delta: a run cannot replace its columns or give them "
                "other types.",
                hint="Use ALTER TABLE in Spark, keep the types of the table, or write to a new target_path.",
            )
        return self.changes

    def _lay_out(self, columns: Mapping[str, Type], state: TableState | None) -> None:
        strategy = self.strategy
        made = own_columns(strategy, columns)
        self.layout = layout_of(self.contract, (*columns, *made), state)
        if self.layout != PLAIN:
            self.tables.check(self.places.target_location, layout=self.layout)
        # A strategy that looks at the table stages again what goes into it.
        if state is None or not strategy.looks_at_the_table:
            self.order = order_of(self.layout, tuple(columns))

    def refuse_changes(self) -> None:
        """What the policy forbids stops the run before anything is staged."""
        if self.decision.refused:
            hint = "Keep the old columns and types in the contract, or write to a new target_path."
            if self.contract.schema_policy.evolution == "strict":
                hint = "schema_policy.evolution is strict: choose another, or make the contract as the table is."
            raise DataError(
                f"The table {self.places.target} differs: {'; '.join(self.decision.refused)}.",
                hint=f"Nothing was read. {hint}",
            )

    def info(self, side: str, facts: CommitFacts) -> CommitInfo:
        """Who commits what to a side of this batch."""
        return self._info(side, self._read_masks(side, facts) if side == "bad" else facts)

    def _good_info(self, facts: CommitFacts, applied: Mapping[str, int]) -> CommitInfo:
        """Who commits the good rows, and what was done with them: kept beside the table before it is said there."""
        info = self._info("good", replace(facts, applied=dict(applied)))
        if not applied:
            return info
        info = remember(self.tables, self.progress, info)
        self.named = info.metadata
        return info

    def _info(self, side: str, facts: CommitFacts) -> CommitInfo:
        metadata = {
            "batch_id": self.batch_id,
            "n": str(self.n),
            "fingerprint": self.fingerprint,
            "facts": facts.to_text(),
        }
        after = self.seen if side == "good" else None
        return CommitInfo(application(self.progress, side), self.n, metadata, after)


def last_n(state: TableState | None, progress: Progress, side: str) -> int:
    """The newest number that a table has seen of a side, under whichever name; 0 where it has seen none."""
    if state is None:
        return 0
    return max(state.transactions.get(name, 0) for name in applications(progress, side))


def committer(
    ledger: Ledger | None,
    contract: Contract,
    strategy: Strategy,
    where: Places,
    progress: Progress,
    batch_id: str,
    fingerprint: str,
    attempt: str,
    engine: Engine | None,
    replaced: Replaced | None = None,
    compared: int | None = None,
) -> Commit:
    """A commit for one batch; tables that would be damaged by writing are refused here, before anything is staged."""
    tables = tables_of(contract.materialization.format, engine)
    tables.check(where.target_location, removes=replaced is not None or not strategy.only_adds)
    is_whole = replaced is not None and (not isinstance(replaced[1], Sources) or replaced[1].whole)
    is_part = replaced is not None and (isinstance(replaced[1], Days) or not is_whole)
    if is_part and any(other.strategy == "overwrite" for other in where.others):
        raise UnsupportedError(
            "A window cannot be given to a secondary target that is overwritten: it would keep nothing else.",
            where="materialization.secondary_targets",
            hint="Run the contract without a window.",
        )
    load_tables(QUARANTINE_FORMAT).check(where.quarantine_location)
    secondary.refuse(where.others)
    meets = within(strategy, replaced)
    return Commit(
        tables, ledger, contract, meets, where, progress, batch_id, fingerprint, attempt,
        replaced=replaced, compared=compared,
    )  # fmt: skip


def stored_names(
    contract: Contract, where: Places, engine: Engine | None, *, replaced: Replaced | None = None
) -> dict[str, Type | None]:
    """The columns of the target as they are spelled there; none where there is no table, or all are replaced.

    With their types, unless a difference of types is the policy's business or the rows replace all others.
    """
    settings = contract.materialization
    replaces = settings.strategy == "overwrite" and replaced is None
    if replaces and contract.schema_policy.evolution == "overwrite":
        return {}
    state = tables_of(settings.format, engine).state(where.target_location)
    if state is None:
        return {}
    policy = contract.schema_policy.evolution
    stored = {field.name: from_arrow(field.type) for field in state.schema}
    if policy == "strict":
        return dict.fromkeys(stored)
    if not replaces:
        return {**stored}
    # Fields of structs that are gone stay there like columns that are gone.
    keeps = policy in ("append", "merge", "compatible")
    return {name: kind if keeps and kind.is_nested else None for name, kind in stored.items()}


def good_schema(plan: Plan) -> pa.Schema:
    """The columns of the table that good rows go to."""
    return pa.schema([(column.name, to_arrow(column.type)) for column in _good_columns(plan)])


def _good_columns(plan: Plan) -> list[Published]:
    return [column for column in plan.columns if column.on_good and not column.name.startswith("~")]
