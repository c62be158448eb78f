"""What was done before: the ledger says so, and where it is lost or behind, the tables do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakelogic import clock, names
from lakelogic.errors import ReconcileError
from lakelogic.ledger import adoption
from lakelogic.ledger.records import InputFile, Intent, RunRecord
from lakelogic.ledger.store import Ledger
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.quarantine.queue import Queue, Stamped
from lakelogic.run.events.hub import Events
from lakelogic.run.events.types import Caution, Note
from lakelogic.run.formats import tables_of
from lakelogic.run.input.recognised import moved_along, moved_inputs
from lakelogic.run.input.reread import let_go
from lakelogic.run.input.tracked import PART_OF, inputs_told, replaced_inputs
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.publish import roll_forward, staged, withhold
from lakelogic.run.publish.secondary import publish
from lakelogic.run.request import ContractRequest
from lakelogic.run.state import entries as memory
from lakelogic.run.state import restored_table
from lakelogic.run.state.known import Known
from lakelogic.run.state.progress import History, Progress, application, good_commits, history
from lakelogic.tables.base import TableFormat
from lakelogic.tables.facts import CommitRecord, record_of
from lakelogic.tables.kinds import refuse_other_kinds
from lakelogic.tables.registry import load as load_tables
from lakelogic.version import VERSION


def recover(job: ContractRequest, where: Places, progress: Progress, events: Events) -> Known:
    """Find out what the target holds, and bring the ledger up to it.

    - No table: nothing was read, whatever the ledger says; a table that was removed is made again.
    - A run that died is finished: from its staged record, or in the ledger where it had published
      (`publish/roll_forward.py`).
    - A ledger that was lost, or does not know what others committed, is filled again from the commits of the table.
    """
    tables = tables_of(job.loaded.contract.materialization.format, job.engine)
    adopt(job.memory, progress, tables)
    _finish_intents(job, where, progress, events, tables)
    if tables.state(where.target_location) is not None:
        _fill_ledger(job, where, progress, events, tables)
    _roll_forward(job, where, progress, events)
    if tables.state(where.target_location) is None:
        refuse_other_kinds(where.target_location, job.loaded.contract.materialization.format)
        if job.memory.seen(progress.key):
            events.tell(Note(f"The table {where.target} is gone; everything is read again"))
        return Known(newest=0)
    newest = _fill_ledger(job, where, progress, events, tables)
    return Known(_inputs(job, progress), table_exists=True, newest=newest)


def _inputs(job: ContractRequest, progress: Progress) -> dict[str, InputFile]:
    """What was read. Earlier, a file of which a window took some rows was remembered as if it had been read whole."""
    found = job.memory.inputs(progress.key)
    if job.loaded.contract.source.watermark_field and found:
        told = job.memory.batch_inputs(progress.key, *progress.before)
        for path, file in found.items():
            batch = told.get(file.batch_id or "") or {}
            if (batch.get("days") or {}).get("field") and PART_OF not in batch:
                found[path] = replace(file, size=-1, mtime_ns=-1)
    return found


def adopt(ledger: Ledger, progress: Progress, tables: TableFormat | None = None) -> None:
    """Take over what the ledger knows from the time when all targets of a dataset shared one progress."""
    if ledger.last_n(progress.key) == 0 and any(ledger.last_n(name) for name in progress.before):
        commits = good_commits(tables, progress) if tables is not None else ()
        held = {commit.batch_id: inputs_told(commit.facts.input) for commit in commits if commit.batch_id is not None}
        adoption.adopt(
            ledger,
            progress.key,
            progress.before,
            target=progress.target,
            written=progress.written,
            held=held,
            files_of_input=inputs_told,
        )


def _finish_intents(
    job: ContractRequest, where: Places, progress: Progress, events: Events, tables: TableFormat
) -> None:
    for intent in job.memory.open_intents(progress.key, where.target_location):
        found = record_of(tables, where.target_location, application(progress, "good"), intent.n)
        if found is not None and found.batch_id == intent.batch_id:
            _let_go(job, where, progress, found, intent.n)
            _give(where, progress, found, intent.n, events)
            _tell(job, where, progress, found, intent)
            events.tell(Note(f"An earlier run of {progress} had published before it stopped; the ledger now says so"))
        elif intent.staged is None:
            roll_forward.drop(job, where, progress, intent, events)


def _roll_forward(job: ContractRequest, where: Places, progress: Progress, events: Events) -> None:
    """Batches that were staged to the end; behind what the table holds by now."""
    if job.engine is None:
        return  # whoever only looks, or gives rows up, leaves them to the next run
    for intent in job.memory.open_intents(progress.key, where.target_location):
        roll_forward.roll(job, intent, staged.from_json(intent.staged), events)


def _tell(job: ContractRequest, where: Places, progress: Progress, commit: CommitRecord, intent: Intent) -> None:
    """The ledger hears of a run that had published; by its own record where it left one."""
    if intent.staged is None:
        _record(job, where, progress, commit)
        return
    roll_forward.found(job, staged.from_json(intent.staged), commit)


def _fill_ledger(job: ContractRequest, where: Places, progress: Progress, events: Events, tables: TableFormat) -> int:
    """Compare the table with the ledger, commit by commit, and read back what the ledger does not know.

    Numbers tell nothing: another run may have been given a larger one, another ledger the same. The ledger remembers
    up to which commit it was compared, and a batch is only committed right after the commits that were compared: so
    nothing older than that commit has to be looked at again. The number of the newest commit.
    """
    state = tables.state(where.target_location)
    assert state is not None
    newest = state.transactions.get(application(progress, "good"), 0)
    head = job.memory.head(progress.key)
    past = history(tables, progress, head)
    commits = [commit for commit in past.commits if commit.batch_id is not None]
    if restored_table.is_put_back(head, job.memory, progress, past, newest):
        # Before the ledger hears of anything: what it believes is wrong.
        contract = job.loaded.contract
        missing = restored_table.look(job.memory, contract, where, progress, past)
        restored_table.refuse(missing, where)
        for line in restored_table.bring_back(job.memory, contract, where, progress, past, missing):
            events.tell(Caution(line))
    if not commits and not newest:
        return newest  # somebody else's table
    if commits and commits[0].batch_id == head:
        memory.ensure(job.memory, tables, progress, newest, complete=True)
        return newest
    known = job.memory.batches_done(progress.key)
    complete = past.is_whole or _knows_the_rest(job.memory, progress, commits, known, newest)
    if not complete:
        _tell_of_a_hole(job, where, past, events)
    # Before the ledger hears of anything: it would believe that nothing is missing.
    memory.ensure(job.memory, tables, progress, newest, complete=complete)
    if not commits:
        return newest
    unknown = [commit for commit in commits if commit.batch_id not in known]
    if unknown and unknown[0] is commits[0]:
        n = commits[0].n or newest
        _let_go(job, where, progress, commits[0], n)
        _give(where, progress, commits[0], n, events)
    moved = [file for commit in reversed(unknown) for file in _record(job, where, progress, commit)]
    for line in moved_along(moved):
        events.tell(Note(line))
    if job.memory.last_n(progress.key) < newest:
        job.memory.next_n(progress.key, newest)
    job.memory.compared(progress.key, commits[0].batch_id)
    if unknown:
        events.tell(Note(f"The ledger knew nothing of {len(unknown)} commits to {where.target}; they were read back"))
    return newest


def _knows_the_rest(
    ledger: Ledger, progress: Progress, commits: Sequence[CommitRecord], known: set[str], newest: int
) -> bool:
    """Whether the ledger knows what was committed before the commits that the table tells of.

    It knew the oldest of these when it was committed, so it knows the ones before; an older copy that was put back
    does not.
    """
    if commits:
        return commits[-1].batch_id in known
    return bool(known) and ledger.last_n(progress.key) >= newest


def _tell_of_a_hole(job: ContractRequest, where: Places, past: History, events: Events) -> None:
    """Where nothing tells what was read, adding rows would add some a second time; others are met by their keys."""
    missing = f" {past.trouble}." if past.trouble else ""
    told = (
        f"Nothing tells any more what {where.target} was made of: the ledger {job.memory.name} does not know all "
        f"of its batches, and the older commits of its log are gone.{missing}"
    )
    if not strategy_of(job.loaded.contract).only_adds:
        events.tell(Caution(f"{told} Files that were read before may be read again; {where.target} takes them once."))
        return
    raise ReconcileError(
        told,
        where=where.target_location,
        hint="Nothing was read. Put back what is missing, or the ledger, from a copy, or name the ledger that knows "
        "the table in LAKELOGIC_LEDGER; `lakelogic reload` replaces the rows by everything that lies in the source.",
    )


def _let_go(job: ContractRequest, where: Places, progress: Progress, commit: CommitRecord, n: int) -> None:
    """What a good commit published leaves the queue, where its run did not live to see to it."""
    contract = job.loaded.contract
    queue = Queue(load_tables(QUARANTINE_FORMAT), where.quarantine_location, Stamped.by(contract))
    attempt = names.new_run_id(clock.now())
    foreign = adoption.batches_elsewhere(job.memory, progress.before, progress.target)
    let_go(queue, progress, commit, n, where.quarantine_staging(str(commit.batch_id), attempt), foreign)


def _give(where: Places, progress: Progress, commit: CommitRecord, n: int, events: Events) -> None:
    """Other places get what a good commit published, where its run did not live to see to it."""
    metadata = {key: value for key, value in commit.texts.items() if key != "facts"}
    others = where.adding().others if commit.facts.replay else where.others
    for name in publish(others, progress, n, metadata, commit.facts.secondary):
        events.tell(Note(f"{name} was given the rows of an earlier run"))


def _record(job: ContractRequest, where: Places, progress: Progress, commit: CommitRecord) -> list[InputFile]:
    """The ledger hears of a commit; the files of a table that was moved, by where they came along to."""
    contract = job.loaded.contract
    facts, counts, batch_id = commit.facts, commit.facts.counts, str(commit.batch_id)
    inputs, replaced = inputs_told(facts.input), replaced_inputs(facts.input, whole=facts.replaces)
    now = clock.now()
    began = facts.at or now
    record = RunRecord(
        run_id=facts.run_id or names.new_run_id(now),
        dataset=progress.label,
        status="succeeded",
        started_at=began,
        finished_at=max(began, now),
        reason="read back from the table's own log",
        batch_id=batch_id,
        contract=job.loaded.file or contract.title,
        contract_version=facts.contract_version,
        contract_fingerprint=commit.fingerprint,
        layer=contract.layer,
        domain=contract.domain,
        system=contract.system,
        engine=facts.engine,
        account={"read": counts.get("source"), **{k: v for k, v in counts.items() if k != "source"}}
        | {"applied": facts.applied, "digests": facts.digests},
        counts_source=counts.get("source"),
        counts_good=counts.get("good"),
        counts_quarantined=counts.get("quarantined"),
        counts_filtered=sum(counts.get("filtered", {}).values()),
        counts_deduplicated=sum(counts.get("deduplicated", {}).values()),
        watermark=facts.watermark,
        target=where.target,
        quarantine_target=where.quarantine,
        lakelogic_version=VERSION,
    )
    job.memory.finish(record, inputs, batch_id, progress.key, replaced=replaced)
    withhold.overtake(job.memory, progress.label, where, facts)
    if moved := moved_inputs(inputs, batch_id, facts.target, where.target_location):
        job.memory.learn(progress.key, moved)
    return moved
