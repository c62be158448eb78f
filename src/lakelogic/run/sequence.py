"""The order of things: one contract, once. Nothing else knows it.

What few runs need (exports, withheld rows) is imported when a run needs it: modules are most of what a small run costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lakelogic import clock, names
from lakelogic.engines.base import AS_IT_COMES, Engine, Frame, HasOwnDelta
from lakelogic.engines.readers.formats import reader_of
from lakelogic.errors import DataError, Defect, LakeLogicError, SourceError, UnsupportedError
from lakelogic.ledger.records import Held
from lakelogic.plan.columns.stamps import Stamps
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.fingerprint import earlier, fingerprint, making, reading
from lakelogic.plan.needs import needed_formats, needed_functions, needed_masks, needed_nodes
from lakelogic.plan.nodes import Plan, Read
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.privacy.kept import remembered
from lakelogic.privacy.keys import load_keys
from lakelogic.quarantine import rows as quarantine
from lakelogic.quarantine.identity import digests
from lakelogic.quarantine.landed import landed_facts
from lakelogic.run import faults, upkeep
from lakelogic.run.broken import engine_told
from lakelogic.run.event_types import Caution, Note, PhaseBegan, RowsQuarantined, RunFailed, RunStarted
from lakelogic.run.events import Events, logging_sink
from lakelogic.run.formats import tables_of
from lakelogic.run.input import absent, followed, intake, landed_kinds, tracked, watermarks
from lakelogic.run.input import days as cuts
from lakelogic.run.input import pin as window
from lakelogic.run.input import size as foresight
from lakelogic.run.input.changed_contract import nothing_but_the_contract
from lakelogic.run.input.named_rows import warn_of_used_name
from lakelogic.run.input.reread import discarded, met_before
from lakelogic.run.job import Job, Prepared, Run, Settled
from lakelogic.run.masks import read_before as read_masks
from lakelogic.run.masks.changed import refuse_changed
from lakelogic.run.outcome import finish, foreseen, nothing_new, record_failure, still_waiting
from lakelogic.run.places import places
from lakelogic.run.publish import gates, withhold
from lakelogic.run.publish.account import digests_of
from lakelogic.run.publish.commit import Commit, committer, stored_names
from lakelogic.run.publish.measures import measure
from lakelogic.run.publish.order import Batch, publish
from lakelogic.run.publish.reconcile import Counts, reconcile
from lakelogic.run.publish.staged import make_durable, manifest
from lakelogic.run.result import Result
from lakelogic.run.run_log import RunLog
from lakelogic.run.state import leases
from lakelogic.run.state.environments import doubts, refuse_others
from lakelogic.run.state.namesakes import warn_of_namesakes
from lakelogic.run.state.overlap import refuse_overlap
from lakelogic.run.state.recover import Known, recover
from lakelogic.storage.local import changes
from lakelogic.storage.room import disk_told
from lakelogic.storage.scratch import Scratch, scratch
from lakelogic.tables.base import RowTables
from lakelogic.tables.facts import BatchEnvironment, CommitFacts
from lakelogic.tables.kept import kept_open
from lakelogic.version import VERSION


def run(job: Job) -> Result:
    """Run a contract once. Broken contracts and a broken world raise; a closed gate is a result."""
    contract = job.loaded.contract
    started = clock.now()
    only_judges = contract.server is not None and contract.server.mode == "validate"
    if only_judges:
        job = replace(job, materialize=False, target=None)
    said = RunLog()
    run_ = Run(
        job,
        names.new_run_id(started),
        started,
        Events(contract.dataset_name, (logging_sink, said, *job.sinks)),
        fingerprint(job.loaded),
        strategy_of(contract),
        note=job.note,
    )
    run_.events.tell(RunStarted(run_.run_id, contract.dataset_name, job.engine.name))
    if only_judges:
        run_.events.tell(Note("server.mode is validate: rows are judged, and nothing is written"))
    elif job.data is not None and not job.materialize and not contract.materialization.target_path:
        run_.events.tell(Note("The contract names no target: rows are judged, and nothing is written"))
    try:
        with disk_told(), engine_told(job.engine), kept_open():
            result = _run(run_)
            if contract.exports:
                from lakelogic.run import export

                export.after_run(run_, result)
            return result
    except LakeLogicError as found:
        error = job.halt.reason(found)
        run_.events.tell(RunFailed(contract.dataset_name, error.code, error.message))
        record_failure(run_, error)
        if error is not found:
            raise error from found
        raise
    except Exception as found:
        defect = Defect(f"This is a defect in LakeLogic {VERSION}: {type(found).__name__}.")
        run_.events.tell(RunFailed(contract.dataset_name, defect.code, defect.message))
        record_failure(run_, defect)
        raise
    finally:
        run_.digests.halt()
        said.keep(job.ledger if job.materialize else None, run_.run_id)


def _run(run_: Run) -> Result:
    job = run_.job
    contract = job.loaded.contract
    # Fail closed: what the contract itself demands is settled before anything is read.
    compiled = job.compiled or compile_contract(job.loaded)
    if job.data is None:
        run_.cut, run_.told = watermarks.decide(contract, run_.strategy, job.asked, compiled.plan.columns)
        run_.note = "; ".join(filter(None, [run_.told, job.note])) or None
    _refuse_pins(run_)
    strategies = {f.masking for f in contract.model.fields if f.masking}
    run_.keys = load_keys(strategies, job.environ)
    if job.materialize:
        run_.places = places(contract, job.catalog, job.target)
        refuse_overlap(run_.places, job.catalog)
        refuse_others(job.loaded, run_.places, run_.progress, "Nothing was read.")
        refuse_changed(contract, run_.places, run_.progress, run_.keys)
        # Before any frame is made: a table that needs the session's own Delta may need another session.
        if isinstance(job.engine, HasOwnDelta):
            tables_of(contract.materialization.format, job.engine).state(run_.places.target_location)
    if run_.places is None or job.ledger is None:
        return _read(run_, None)
    # Before the input is pinned: what another run publishes meanwhile must not be read a second time.
    lease = leases.acquire(job.ledger, run_.places.target_location, run_.run_id)
    try:
        faults.reach("after_lease")
        job.halt.safe_point()
        return _read(run_, leases.keeper(job.ledger, lease))
    finally:
        leases.release(job.ledger, lease)


def _read(run_: Run, keep_lease: Callable[[], None] | None) -> Result:
    """Pin the input; unless it was read before, judge and publish it."""
    job, contract = run_.job, run_.job.loaded.contract
    if job.data is not None:
        return _judge_rows(run_, keep_lease)
    known = Known()
    if job.ledger is not None and run_.places is not None:
        known = recover(job, run_.places, run_.progress, run_.events)
        run_.compared = known.newest
        _compare_environments(run_)
        warn_of_namesakes(run_)
    # Before the input is pinned: what is masked meanwhile was read in clear.
    run_.read_masks = read_masks.masks_above(contract, job.catalog)
    slice_ = window.pin_source(contract, job.catalog, job.engine)
    run_.links = window.pin_links(contract, job.catalog, job.engine)
    known = intake.recognise(run_, slice_, known)
    if run_.cut is not None:
        slice_ = cuts.narrowed(slice_, run_.cut)
        run_.cut = cuts.reaching_over(run_.cut, slice_)
        cuts.refuse_gone(run_.cut, slice_, set(known.files))
    watermarks.look_up(run_)
    slice_, instead = intake.choose(run_, slice_, known)
    run_.slice = slice_
    run_.identity = {**window.identity_of(slice_, run_.links), **instead, **watermarks.identity(run_)}
    if former := tracked.named_otherwise(slice_.files, known.files):
        run_.identity |= {tracked.FORMER: former}
    if over := intake.moved_over(run_, slice_, known):
        run_.identity |= {tracked.OVER: over}
    if run_.cut is not None:
        run_.identity |= run_.cut.identity(run_.run_id)
    if job.again:
        run_.identity |= {tracked.AGAIN: run_.run_id}
    run_.batch_id = window.batch_id(_batch_of(run_), run_.fingerprint, run_.identity)
    # A table whose parts all lie in other days has nothing either, unless its days are to be emptied.
    none_of_it = run_.cut is not None and run_.cut.adds
    nothing_came = slice_.since is not None
    empty = not slice_.pinned.files and (slice_.pinned.table is None or none_of_it or nothing_came)
    if empty and contract.source.empty_behavior == "fail":
        raise SourceError(
            f"There is nothing to read at `{slice_.described}`.", hint="The contract says empty_behavior: fail."
        )
    done = known.table_exists and _is_done(run_)
    if done and (newer := followed.by(run_)) is not None:
        run_.identity |= {followed.AFTER: newer}
        run_.batch_id = window.batch_id(_batch_of(run_), run_.fingerprint, run_.identity)
        done = False
    done = done or watermarks.nothing_came(run_)
    if job.materialize and job.ledger is not None and (empty or (done and not job.again)):
        reason = run_.cut.nothing() if run_.cut is not None else "nothing new to read"
        return nothing_new(run_, nothing_but_the_contract(run_, reason) if known.table_exists else reason)
    if (held := _waits(run_)) is not None:
        return still_waiting(run_, held)
    if job.references is not None:
        run_.links = job.references.kept(run_.links, job.engine)
    if empty and not job.materialize:
        run_.events.tell(Note(f"There is nothing to read at {slice_.described}"))
    return _evaluate_and_publish(run_, keep_lease)


def _compare_environments(run_: Run) -> None:
    """Once more under the lease: a run that had stopped, or was faster, may have brought rows of another one."""
    assert run_.places is not None
    loaded, where, progress = run_.job.loaded, run_.places, run_.progress
    for line in doubts(loaded, where, progress, refuse_others(loaded, where, progress, "Nothing was read.")):
        run_.events.tell(Caution(line))
    if late := read_masks.late_columns(loaded, where, progress, "good", None):
        told = ", ".join(f"`{name}` (made of {above})" for name, above in sorted(late.items()))
        out = read_masks.way_out(loaded.contract, late)
        run_.events.tell(Caution(f"{where.target} may hold in clear what is masked above by now: {told}. {out}"))


def _waits(run_: Run) -> Held | None:
    """The same batch behind a closed gate: it is taken, and judged again it would be another one to decide about."""
    ledger, where = run_.job.ledger, run_.places
    if ledger is None or where is None:
        return None
    found = withhold.waiting(ledger, run_.label, where.target_location)
    return next((held for held in found if held.batch_id == run_.batch_id), None)


def _batch_of(run_: Run) -> str:
    """Whose batch it is: the same input for another target is another batch, also where both share a quarantine."""
    return run_.progress.identity if run_.places is not None else run_.job.loaded.contract.dataset_name


def _is_done(run_: Run) -> bool:
    """Whether the target holds this batch, under the id of today or the one that earlier versions gave it."""
    ledger, dataset = run_.job.ledger, run_.job.loaded.contract.dataset_name
    if ledger is None or run_.batch_id is None:
        return False
    marks = (run_.fingerprint, *earlier(run_.job.loaded))
    plain = window.without_marks(run_.identity)
    older = [window.batch_id(dataset, mark, plain) for mark in marks]
    older.append(window.batch_id(_batch_of(run_), run_.fingerprint, plain))
    return any(ledger.batch_done(batch, run_.progress.key) for batch in (run_.batch_id, *older))


def _refuse_pins(run_: Run) -> None:
    """A step that is pinned to another engine is refused before anything is read."""
    for index, step in enumerate(run_.job.loaded.contract.transformations):
        if step.engine is not None and step.engine.lower() != run_.job.engine.name:
            raise UnsupportedError(
                f"The step `{step.name or f'{step.kind}_{index}'}` is pinned to the engine `{step.engine}`, and this "
                f"run is on `{run_.job.engine.name}`.",
                hint=f"Run with --engine {step.engine}, or take the pin away.",
                where=str(run_.job.loaded.where(f"transformations[{index}].engine")),
            )


def _judge_rows(run_: Run, keep_lease: Callable[[], None] | None) -> Result:
    """Rows that were handed in: no source to pin. The batch is known by its owner's name for it, or by the run."""
    job, contract = run_.job, run_.job.loaded.contract
    is_there = False
    if job.ledger is not None and run_.places is not None:
        known = recover(job, run_.places, run_.progress, run_.events)
        is_there, run_.compared = known.table_exists, known.newest
        _compare_environments(run_)
    run_.links = window.pin_links(contract, job.catalog, job.engine)
    run_.identity = {"run": run_.run_id} if job.batch is None else {"batch": job.batch}
    # A name of the owner's stands for the same rows whatever the contract says by now.
    made_by = run_.fingerprint if job.batch is None else ""
    run_.batch_id = window.batch_id(_batch_of(run_), made_by, run_.identity)
    if job.batch is not None:
        if is_there and _is_done(run_):
            warn_of_used_name(run_)
            return nothing_new(run_, f"the batch `{job.batch}` was published before")
        if (held := _waits(run_)) is not None:
            return still_waiting(run_, held)
    return _evaluate_and_publish(run_, keep_lease)


def _prepare(run_: Run) -> Prepared:
    job, contract, engine = run_.job, run_.job.loaded.contract, run_.job.engine
    stamps = Stamps(
        run_.run_id,
        job.pipeline_run_id,
        run_.started,
        run_.slice.described if run_.slice else "memory",
    )
    adopted: Frame = None
    if job.data is not None:
        adopted, landed = engine.adopt(job.data, Read("source", "parquet", ()))
        source = SourceColumns("parquet", landed)
    else:
        assert run_.slice is not None
        source = run_.looked or window.look(contract, run_.slice, engine)
    known = absent.before(run_, source)
    told = absent.seen(source, known)
    source = absent.with_keys(source, known, contract, run_.strategy)
    link_columns = window.look_at_links(run_.links, engine)
    stored = stored_names(contract, run_.places, engine, replaced=run_.replaced) if run_.places else {}
    compiled = compile_contract(
        job.loaded,
        source,
        link_columns,
        stamps=stamps,
        can_encrypt=bool(run_.keys.encryption),
        stored=stored,
        days=run_.cut.rows if run_.cut is not None else None,
        bound=run_.bound,
    )
    for warning in compiled.warnings:
        run_.events.tell(Caution(f"{warning.where}: {warning.message}"))
    plan = compiled.plan
    if differing := compiled.landed.as_dict():
        run_.drift["source"] = differing
    absent.tell(run_, compiled, known)
    absent.tell_aside(run_, compiled, stored)
    landed_kinds.tell_numbers(run_, source)
    landed_kinds.tell_finer(run_, source)
    run_.landed = landed_facts(plan, source, told)
    _refuse_unknown(run_, compiled)
    require(plan, engine)
    links = link_frames(run_, plan)
    if job.data is not None:
        frame = adopted
    else:
        assert run_.slice is not None
        frame = engine.scan(plan.read, run_.slice.pinned)
    return Prepared(compiled, engine.lower(frame, plan.accounts, links), plan.read)


def link_frames(run_: Run, plan: Plan) -> dict[str, Frame]:
    """The links that a plan joins; a key that must be unique and is not stops the run."""
    engine = run_.job.engine
    links = {name: engine.link(link, run_.links[link.reference].pinned) for name, link in plan.links.items()}
    for name, link in plan.links.items():
        if link.is_checked and (found := engine.duplicates(links[name], link.key)):
            raise DataError(
                f"The link `{link.reference}` has {found} "
                f"{'keys that occur' if found != 1 else 'key that occurs'} more than once.",
                hint="A lookup or join must find at most one row; deduplicate the reference first.",
            )
    return links


def _refuse_unknown(run_: Run, compiled: Compiled) -> None:
    unknown = compiled.landed.unknown
    if unknown and run_.job.loaded.contract.schema_policy.unknown_fields == "fail":
        raise DataError(
            f"Unknown fields landed: {', '.join(sorted(unknown))}.",
            hint="Add them to the model, or choose another schema_policy.unknown_fields.",
        )


def require(plan: Plan, engine: Engine) -> None:
    """Compare what the plan needs with what the engine can do, before anything is read."""
    can = engine.capabilities
    missing = [f"the function `{name}`" for name in sorted(needed_functions(plan) - can.functions)]
    missing += [f"rows through `{name}`" for name in sorted(needed_nodes(plan) - can.nodes)]
    missing += [f"the format `{name}`" for name in sorted(needed_formats(plan) - can.formats)]
    missing += [f"the mask `{name}`" for name in sorted(needed_masks(plan) - can.masks)]
    if missing:
        raise UnsupportedError(
            f"The engine `{engine.name}` cannot do what `{plan.dataset}` asks: {', '.join(missing)}.",
            hint="Choose another engine with --engine.",
        )


def _evaluate_and_publish(run_: Run, keep_lease: Callable[[], None] | None) -> Result:
    job, contract, engine = run_.job, run_.job.loaded.contract, run_.job.engine
    run_.events.tell(PhaseBegan("look"))
    engine.expect(foresight.bytes_ahead(run_))
    prepared = _prepare(run_)
    job.judged = run_, prepared
    plan = prepared.compiled.plan
    commit: Commit | None = None
    folder: Scratch | None = None
    assert run_.batch_id is not None
    if run_.places is not None:
        commit = committer(
            job.ledger, contract, run_.strategy, run_.places, run_.progress, run_.batch_id, run_.fingerprint,
            run_.run_id, engine, run_.replaced, run_.compared,
        )  # fmt: skip
        if evolved := commit.compare(plan).as_dict():
            run_.drift["table"] = evolved
        commit.refuse_changes()
        commit.begin(run_.identity, engine.name)
        place, bad_place, order = commit.staging, commit.quarantine_staging, commit.order
    else:
        folder = scratch()
        place, bad_place, order = f"{folder.path}/good", f"{folder.path}/bad", AS_IT_COMES
    faults.reach("after_intent")
    job.halt.safe_point()
    run_.events.tell(PhaseBegan("stage"))
    if commit is not None and run_.slice is not None:
        run_.digests.begin(run_.slice.files)
    staged = engine.stage(prepared.frame, plan.columns, plan.masks, run_.keys, place, order)
    faults.reach("after_stage")
    job.halt.safe_point()
    if keep_lease:
        keep_lease()
    run_.events.tell(PhaseBegan("check"))
    reread = commit.reread(read_facts(run_)) if commit else None
    bad = quarantine.build(
        plan,
        staged.bad,
        bad_place,
        run_.keys,
        batch_id=run_.batch_id,
        contract_version=contract.contract_version,
        known_ids=discarded(reread.queue, reread) if reread else frozenset(),
        earlier=met_before(reread.queue, reread) if reread and len(digests(plan, run_.keys)) > 1 else frozenset(),
        stored=commit.quarantine_columns() if commit else None,
    )
    faults.reach("after_quarantine_stage")
    job.halt.safe_point()
    if keep_lease:
        keep_lease()
    counts = reconcile(plan, staged, bad.by_verdict, lambda: _recount(run_, prepared.read))
    _refuse_bad_rows(run_, counts)
    if (nothing := watermarks.nothing_taken(run_, counts)) is not None:
        return nothing_new(run_, nothing_but_the_contract(run_, nothing))
    if commit is not None and run_.cut is not None:
        cuts.refuse_strangers(run_.cut, commit.strategy, engine, plan, staged)
    if run_.slice is not None and not counts.source and contract.source.empty_behavior == "fail":
        raise SourceError(
            f"There are no rows in what was read at `{run_.slice.described}`.",
            hint="The contract says empty_behavior: fail.",
        )
    measured, outcomes = measure(
        contract, run_.strategy, prepared.compiled, engine, staged, run_.links, writes=commit is not None
    )
    run_.reached = watermarks.reached(run_, measured)
    bad_rows = gates.BadRows(bad.reasons_of(plan), bad.already_there)
    new = watermarks.without_waiting(run_, counts, bad, reread)
    closed = [*gates.closed(contract, new, outcomes, bad_rows), *gates.unapproved(job.approval, new, run_.drift)]
    faults.reach("after_gates")
    job.halt.safe_point()
    if commit is not None and run_.slice is not None and run_.slice.files:
        run_.identity |= {tracked.DIGESTS: run_.digests.wait(run_.slice.files)}
    if run_.slice and (changed := changes(run_.slice.files)):
        raise SourceError(
            f"The source changed while it was read: {changed[0]}.", hint="Nothing was published; run again."
        )
    if keep_lease:
        keep_lease()
    settled = Settled(prepared, staged, bad, counts, measured, outcomes, closed, folder)
    if commit is not None:
        return _publish(run_, commit, settled)
    return finish(run_, settled, "gated" if closed else "succeeded", published=False)


def read_facts(run_: Run) -> CommitFacts:
    """What a commit says about its input: whoever comes later can tell whether a row was read again."""
    whole = run_.strategy.replaces and not run_.strategy.in_partitions
    replaces = whole or run_.replaced is not None
    table = run_.slice is not None and run_.slice.pinned.table is not None
    return CommitFacts(
        input=run_.identity, source=run_.slice.described if run_.slice and table else None, replaces=replaces
    )


def _recount(run_: Run, read: Read) -> int | None:
    """Count the pinned input again, exactly, without the engine's own counters."""
    if run_.slice is None:
        return None
    if run_.slice.pinned.own:
        tables = tables_of("delta", run_.job.engine, reads=True)
        assert isinstance(tables, RowTables)
        assert run_.slice.pinned.table is not None
        assert run_.slice.pinned.version is not None
        counted = tables.rows_by_file(run_.slice.pinned.table, run_.slice.pinned.version)
        return sum(counted[file] for file in run_.slice.pinned.files)
    if (count := reader_of(run_.slice.format).count) is not None:
        return sum(map(count, run_.slice.pinned.files))
    from lakelogic.engines.readers.text_reader import TextScan

    return sum(int(batch.num_rows) for batch in TextScan(read, run_.slice.pinned).batches())


def _refuse_bad_rows(run_: Run, counts: Counts) -> None:
    if not run_.job.loaded.contract.quarantine.enabled and counts.quarantined:
        raise DataError(
            f"{counts.quarantined} of {max(counts.source, counts.judged)} rows are bad, "
            "and quarantine.enabled is false.",
            hint="Nothing was written. Mend the rows, or let them be quarantined.",
        )


def _publish(run_: Run, commit: Commit, settled: Settled) -> Result:
    """The staged record, quarantine, good rows, and the ledger last."""
    run_.job.halt.committing()
    contract, counts = run_.job.loaded.contract, settled.counts
    if counts.quarantined:
        run_.events.tell(RowsQuarantined(contract.entity, counts.quarantined, counts.total))
    run_.events.tell(PhaseBegan("commit"))
    facts = replace(
        read_facts(run_),
        run_id=run_.run_id,
        at=run_.started,
        counts=counts.as_dict(),
        digests=digests_of(settled),
        contract_version=contract.contract_version,
        made_by=making(run_.job.loaded),
        read_by=reading(run_.job.loaded),
        target=commit.places.target_location,
        engine=run_.job.engine.name,
        watermark=run_.watermark,
        landed=run_.landed,
        masks=remembered(contract, run_.keys),
        environment=BatchEnvironment(run_.job.loaded.environment),
    )
    facts = read_masks.with_masks(facts, settled.prepared.compiled.plan, run_.read_masks)
    record = foreseen(run_, settled)
    batch = manifest(run_, commit, settled, facts, record)
    if run_.job.ledger is not None:
        make_durable((*batch.good, *batch.bad, *batch.quarantine))
        run_.job.ledger.stage(run_.progress.key, commit.n, batch.to_json())
        commit.tell_in_use()
    faults.reach("after_staged_record")
    plan = settled.prepared.compiled.plan
    ready = Batch(commit, plan, settled.staged, settled.bad, facts, run_.started, batch.reasons)
    done = publish(ready, run_.job.engine, run_.events)
    if done.closed:
        settled = replace(settled, closed=list(done.closed))
        if run_.job.ledger is not None:
            withhold.hold(run_.job.ledger, replace(batch, reasons=done.closed), run_.events)
        return finish(run_, settled, "gated", published=False, commit=commit)
    if done.skipped:
        return nothing_new(run_, "another run has published this batch meanwhile")
    result = finish(run_, settled, "succeeded", published=True, commit=commit)
    if run_.job.ledger is not None:
        withhold.overtake(run_.job.ledger, run_.label, commit.places, facts)
    place = commit.places.target_location
    upkeep.after_run(contract.materialization.compaction, commit.tables, place, run_.events, run_.job.ledger)
    return result
