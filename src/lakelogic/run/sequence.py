"""The order of things: one contract, once. Nothing else knows it.

What few runs need (exports, withheld rows) is imported when a run needs it: modules are most of what a small run costs.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lakelogic import clock, names
from lakelogic.engines.base import AS_IT_COMES, Engine, Frame, HasOwnDelta
from lakelogic.errors import DataError, GateClosed, LakeLogicError, SourceError, UnsupportedError
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.plan.needs import needed_formats, needed_functions, needed_masks, needed_nodes
from lakelogic.plan.nodes import Plan, Read
from lakelogic.plan.publish import Stamps
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.privacy.keys import load_keys
from lakelogic.run import arrival, cuts, faults, foresight, gates, leases, quarantine, upkeep, window
from lakelogic.run.account import digests_of
from lakelogic.run.commit import Commit, committer, stored_names
from lakelogic.run.events import Events, logging_sink
from lakelogic.run.formats import tables_of
from lakelogic.run.job import Job, Prepared, Run, Settled
from lakelogic.run.landed import landed_facts
from lakelogic.run.measures import measure
from lakelogic.run.outcome import finish, nothing_new, record_failure
from lakelogic.run.places import places
from lakelogic.run.reconcile import Counts, reconcile
from lakelogic.run.recover import recover
from lakelogic.run.reread import discarded
from lakelogic.run.result import Result
from lakelogic.storage.local import changes
from lakelogic.storage.room import disk_told
from lakelogic.tables.base import RowTables


def run(job: Job) -> Result:
    """Run a contract once. Broken contracts and a broken world raise; a closed gate is a result."""
    contract = job.loaded.contract
    started = clock.now()
    only_judges = contract.server is not None and contract.server.mode == "validate"
    if only_judges:
        job = replace(job, materialize=False, target=None)
    run_ = Run(
        job,
        names.new_run_id(started),
        started,
        Events(contract.dataset_name, (logging_sink, *job.sinks)),
        fingerprint(job.loaded),
        note=job.note,
    )
    run_.events.tell("started", f"Run {run_.run_id} of {contract.dataset_name} on {job.engine.name}")
    if only_judges:
        run_.events.tell("note", "server.mode is validate: rows are judged, and nothing is written")
    try:
        with disk_told():
            result = _run(run_)
            if contract.exports:
                from lakelogic.run import export

                export.after_run(run_, result)
            return result
    except LakeLogicError as found:
        error = job.halt.reason(found)
        run_.events.tell("failed", f"{contract.dataset_name}: {error.message}", code=error.code)
        record_failure(run_, error)
        if error is not found:
            raise error from found
        raise


def _run(run_: Run) -> Result:
    job = run_.job
    contract = job.loaded.contract
    # Fail closed: what the contract itself demands is settled before anything is read.
    compiled = compile_contract(job.loaded)
    if job.asked is not None:
        run_.cut, run_.told = cuts.decide(contract, job.asked, compiled.plan.columns)
        run_.note = "; ".join(filter(None, [run_.told, job.note]))
    _refuse_pins(run_)
    strategies = {f.masking for f in contract.model.fields if f.masking}
    run_.keys = load_keys(strategies, job.environ)
    if job.materialize:
        run_.places = places(contract, job.catalog, job.target)
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
    seen: set[tuple[str, int, int]] = set()
    is_there = False
    if job.ledger is not None and run_.places is not None:
        known = recover(job, run_.places, run_.progress, run_.events)
        seen, is_there = known.seen, known.table_exists
    before = seen
    if run_.cut is not None and (run_.cut.again or run_.cut.column is not None):
        seen = set()  # days that are replaced are replaced by all of their files
    slice_ = window.pin_source(contract, job.catalog, seen, job.engine)
    if run_.cut is not None:
        slice_ = cuts.narrowed(slice_, run_.cut)
        cuts.refuse_gone(run_.cut, slice_, {path for path, _, _ in before})
    run_.slice = slice_
    run_.links = window.pin_links(contract, job.catalog, job.engine)
    run_.identity = window.identity_of(slice_, run_.links)
    if run_.cut is not None:
        run_.identity |= run_.cut.identity(run_.run_id)
    run_.batch_id = window.batch_id(contract.dataset_name, run_.fingerprint, run_.identity)
    # A table whose parts all lie in other days has nothing either, unless its days are to be emptied.
    none_of_it = run_.cut is not None and run_.cut.column is None
    empty = not slice_.pinned.files and (slice_.pinned.table is None or none_of_it)
    if empty and contract.source.empty_behavior == "fail":
        raise SourceError(
            f"There is nothing to read at `{slice_.described}`.", hint="The contract says empty_behavior: fail."
        )
    done = job.ledger is not None and is_there and job.ledger.batch_done(run_.batch_id)
    if job.materialize and job.ledger is not None and (empty or done):
        return nothing_new(run_, run_.cut.nothing() if run_.cut is not None else "nothing new to read")
    if job.references is not None:
        run_.links = job.references.kept(run_.links, job.engine)
    if empty and not job.materialize:
        run_.events.tell("note", f"There is nothing to read at {slice_.described}")
    return _evaluate_and_publish(run_, keep_lease)


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
    """Rows that were handed in: no source to pin, the batch is known by the run."""
    contract = run_.job.loaded.contract
    run_.links = window.pin_links(contract, run_.job.catalog, run_.job.engine)
    run_.identity = {"run": run_.run_id}
    run_.batch_id = window.batch_id(contract.dataset_name, run_.fingerprint, run_.identity)
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
        source = window.look(contract, run_.slice, engine)
    link_columns = window.look_at_links(run_.links, engine)
    compiled = compile_contract(
        job.loaded,
        source,
        link_columns,
        stamps=stamps,
        can_encrypt=bool(run_.keys.encryption),
        stored=stored_names(contract, run_.places, engine, replaced=run_.replaced) if run_.places else (),
        days=run_.cut.rows if run_.cut is not None else None,
    )
    for warning in compiled.warnings:
        run_.events.tell("warning", f"{warning.where}: {warning.message}")
    plan = compiled.plan
    if differing := compiled.landed.as_dict():
        run_.drift["source"] = differing
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
    run_.events.tell("phase", "looking at the source", phase="look")
    engine.expect(foresight.bytes_ahead(run_))
    prepared = _prepare(run_)
    job.judged = run_, prepared
    plan = prepared.compiled.plan
    commit: Commit | None = None
    assert run_.batch_id is not None
    if run_.places is not None:
        commit = committer(
            job.ledger, contract, run_.places, run_.progress, run_.batch_id, run_.fingerprint, run_.run_id, engine,
            run_.replaced,
        )  # fmt: skip
        if evolved := commit.compare(plan).as_dict():
            run_.drift["table"] = evolved
        commit.refuse_changes()
        commit.begin(run_.identity, engine.name)
        place, bad_place, order = commit.staging, commit.quarantine_staging, commit.order
    else:
        folder = scratch_folder()
        place, bad_place, order = f"{folder}/good", f"{folder}/bad", AS_IT_COMES
    faults.reach("after_intent")
    job.halt.safe_point()
    run_.events.tell("phase", "reading, shaping and judging rows", phase="stage")
    staged = engine.stage(prepared.frame, plan.columns, plan.masks, run_.keys, place, order)
    faults.reach("after_stage")
    job.halt.safe_point()
    if keep_lease:
        keep_lease()
    run_.events.tell("phase", "counting and checking", phase="check")
    reread = commit.reread(read_facts(run_)) if commit else None
    bad = quarantine.build(
        plan,
        staged.bad,
        bad_place,
        run_.keys,
        batch_id=run_.batch_id,
        contract_version=contract.contract_version,
        known_ids=discarded(reread.queue, reread) if reread else frozenset(),
        stored=commit.quarantine_columns() if commit else None,
    )
    faults.reach("after_quarantine_stage")
    job.halt.safe_point()
    counts = reconcile(plan, staged, bad.by_verdict, lambda: _recount(run_, prepared.read))
    _refuse_bad_rows(run_, counts)
    if commit is not None and run_.cut is not None:
        if not counts.source and run_.cut.column is None and job.ledger is not None:
            if (begun := job.ledger.open_intent(run_.progress)) is not None:
                job.ledger.abandon(begun)
            return nothing_new(run_, run_.cut.nothing())
        cuts.refuse_strangers(run_.cut, commit.strategy, engine, plan, staged)
    if run_.slice is not None and not counts.source and contract.source.empty_behavior == "fail":
        raise SourceError(
            f"There are no rows in what was read at `{run_.slice.described}`.",
            hint="The contract says empty_behavior: fail.",
        )
    measured, outcomes = measure(contract, prepared.compiled, engine, staged, run_.links, writes=commit is not None)
    closed = [*gates.closed(contract, counts, outcomes), *gates.unapproved(job.approval, counts, run_.drift)]
    faults.reach("after_gates")
    job.halt.safe_point()
    if run_.slice and (changed := changes(run_.slice.files)):
        raise SourceError(
            f"The source changed while it was read: {changed[0]}.", hint="Nothing was published; run again."
        )
    settled = Settled(prepared, staged, bad, counts, measured, outcomes, closed)
    if commit is not None:
        return _publish(run_, commit, settled)
    return finish(run_, settled, "gated" if closed else "succeeded", published=False)


def read_facts(run_: Run) -> dict[str, Any]:
    """What a commit says about its input: whoever comes later can tell whether a row was read again."""
    contract = run_.job.loaded.contract
    whole = contract.materialization.overwrite_scope != "partitions"
    replaces = (strategy_of(contract).kind == "overwrite" and whole) or run_.replaced is not None
    table = run_.slice is not None and run_.slice.pinned.table is not None
    return {
        "input": run_.identity,
        **({"source": run_.slice.described} if run_.slice and table else {}),
        **({"replaces": True} if replaces else {}),
    }


def scratch_folder() -> str:
    """A folder for rows that are only judged. Frames read it lazily, so it lives as long as the process."""
    folder = tempfile.mkdtemp(prefix="lakelogic-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _recount(run_: Run, read: Read) -> int | None:
    """Count the pinned input again, exactly, without the engine's own counters."""
    if run_.slice is None:
        return None
    import pyarrow.parquet as pq

    if run_.slice.pinned.own:
        tables = tables_of("delta", run_.job.engine, reads=True)
        assert isinstance(tables, RowTables)
        assert run_.slice.pinned.table is not None
        assert run_.slice.pinned.version is not None
        return sum(tables.rows_by_file(run_.slice.pinned.table, run_.slice.pinned.version).values())
    if run_.slice.format in ("parquet", "delta"):
        return sum(int(pq.read_metadata(path).num_rows) for path in run_.slice.pinned.files)
    from lakelogic.engines.text_reader import TextScan

    return sum(int(batch.num_rows) for batch in TextScan(read, run_.slice.pinned).batches())


def _refuse_bad_rows(run_: Run, counts: Counts) -> None:
    if not run_.job.loaded.contract.quarantine.enabled and counts.quarantined:
        raise DataError(
            f"{counts.quarantined} of {max(counts.source, counts.judged)} rows are bad, "
            "and quarantine.enabled is false.",
            hint="Nothing was written. Mend the rows, or let them be quarantined.",
        )


def _publish(run_: Run, commit: Commit, settled: Settled) -> Result:
    """Quarantine first, good rows next, ledger last."""
    run_.job.halt.committing()
    contract, counts = run_.job.loaded.contract, settled.counts
    if counts.quarantined:
        run_.events.tell(
            "alert",
            f"LakeLogic Alert: {counts.quarantined} records quarantined in '{contract.entity}'. Total: {counts.total}",
            quarantined=counts.quarantined,
        )
    run_.events.tell("phase", "committing", phase="commit")
    facts = {
        "run_id": run_.run_id,
        arrival.AT: run_.started.isoformat(),
        "counts": counts.as_dict(),
        "digests": digests_of(settled),
        "contract_version": contract.contract_version,
        **read_facts(run_),
        "engine": run_.job.engine.name,
        "watermark": run_.watermark,
        "landed": landed_facts(settled.prepared.compiled.plan),
    }
    if counts.quarantined:
        done = commit.quarantine(settled.bad, facts)
        again = f" ({settled.bad.already_there} were there already)" if settled.bad.already_there else ""
        run_.events.tell(
            "wrote",
            f"Wrote {counts.quarantined} quarantined rows to {commit.places.quarantine}{again}",
            skipped=done.skipped,
        )
        faults.reach("after_quarantine_commit")
    if settled.closed:
        for reason in settled.closed:
            run_.events.tell("warning", f"Gate closed: {reason}")
        return _withhold(run_, commit, settled, facts)
    try:
        good = settled.prepared.compiled.plan, settled.staged, facts
        done = commit.good(*good, engine=run_.job.engine, now=run_.started)
    except GateClosed as closed:
        run_.events.tell("warning", f"Gate closed: {closed.message}")
        settled = replace(settled, closed=[closed.message])
        return _withhold(run_, commit, settled, facts)
    if done.skipped:
        return nothing_new(run_, "another run has published this batch meanwhile")
    run_.events.tell("wrote", f"Wrote {counts.good} valid rows to {commit.places.target}")
    faults.reach("after_good_commit")
    if gone := commit.let_go(facts):
        run_.events.tell("note", f"{gone} rows that were bad before left {commit.places.quarantine}")
    faults.reach("after_settling")
    result = finish(run_, settled, "succeeded", published=True, commit=commit)
    upkeep.after_run(contract.materialization.compaction, commit.tables, commit.places.target_location, run_.events)
    return result


def _withhold(run_: Run, commit: Commit, settled: Settled, facts: dict[str, Any]) -> Result:
    """Good rows that a closed gate keeps back."""
    from lakelogic.run.hold import hold

    hold(run_, commit, settled, facts)
    return finish(run_, settled, "gated", published=False, commit=commit)
