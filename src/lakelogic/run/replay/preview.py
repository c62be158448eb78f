"""What a replay would do, without doing it: the rows as they landed through the plan of now; nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lakelogic import clock, names
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.privacy.keys import load_keys
from lakelogic.quarantine.rows import Decoder, Verdict
from lakelogic.quarantine.table import Chosen
from lakelogic.run.events import Events
from lakelogic.run.input import pin as window
from lakelogic.run.job import Job, Run
from lakelogic.run.places import places
from lakelogic.run.replay.replay import Taken, parts_of, prepare, strategy_for, take
from lakelogic.run.state.environments import refuse_others


@dataclass(frozen=True, slots=True)
class Judged:
    """One row: what would become of it, and why."""

    row: Mapping[str, Any]  # as the quarantine keeps it
    outcome: str  # passed, failed, left_out
    rules: tuple[str, ...] = ()
    why: str | None = None


@dataclass(slots=True)
class Rehearsed:
    """What would become of the chosen rows."""

    chosen: int = 0
    passed: int = 0
    failed: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str | None, str]] = field(default_factory=Counter)  # rule, label, text → rows
    rows: list[Judged] = field(default_factory=list)


def rehearse(job: Job, chosen: Chosen, most_rows: int = 50) -> Rehearsed:
    """Judge the chosen rows by the contract as it is now; `most_rows` of them are told one by one."""
    contract = job.loaded.contract
    started = clock.now()
    run_ = Run(
        job,
        names.new_run_id(started),
        started,
        Events(contract.dataset_name, ()),
        fingerprint(job.loaded),
        strategy_of(contract),
    )
    compile_contract(job.loaded)
    strategy_for(run_)  # what cannot be replayed at all is refused
    run_.keys = load_keys({f.masking for f in contract.model.fields if f.masking}, job.environ)
    run_.places = places(contract, job.catalog, job.target).adding()
    refuse_others(job.loaded, run_.places, run_.progress, "Nothing is shown.")
    run_.links = window.pin_links(contract, job.catalog, job.engine)
    found = Rehearsed()
    for part in parts_of(run_, chosen):
        _judge(replace(run_, drift={}), take(run_, part), found, most_rows)
    return found


def _judge(run_: Run, taken: Taken, found: Rehearsed, most_rows: int) -> None:
    found.chosen += taken.done.chosen
    found.left_out += taken.landed.left_out
    judged: dict[tuple[str, str | None], Judged] = {}
    by_id = {(row[names.ROW_ID], row.get(names.BATCH_ID)): row for row in taken.rows}
    if taken.landed.origins:
        verdicts, good = _verdicts(run_, taken)
        for place, origin in enumerate(taken.landed.origins, 1):
            one = (origin.row_id, origin.batch_id)
            failed = verdicts.get(place)
            if failed is None:
                found.passed += 1
                why = None if place in good else "a step leaves it out"
                judged[one] = Judged(by_id[one], "passed", (), why)
            else:
                found.failed += 1
                told = tuple(dict.fromkeys(failed))
                found.reasons.update(told)
                judged[one] = Judged(by_id[one], "failed", tuple(label or rule for rule, label, _ in told))
    said = ", ".join(taken.landed.left_out) or None
    for one, row in by_id.items():
        if len(found.rows) >= most_rows:
            break
        found.rows.append(judged.get(one) or Judged(row, "left_out", (), said))


def _verdicts(run_: Run, taken: Taken) -> tuple[dict[int, list[tuple[str, str | None, str]]], set[int]]:
    """Of each row that fails, by its place, the reasons; and the places of rows of which a good one is made."""
    prepared = prepare(run_, taken.landed)
    plan = prepared.compiled.plan
    decoder = Decoder(plan.reasons)
    wanted = [names.NUMBER, names.SIDE, names.BROKEN, *decoder.columns]
    made = run_.job.engine.collect(prepared.frame)
    failed: dict[int, list[tuple[str, str | None, str]]] = {}
    good: set[int] = set()
    known: dict[tuple[int, ...], Verdict] = {}
    for row in made.select([name for name in wanted if name in made.column_names]).to_pylist():
        if row[names.SIDE] == names.GOOD_SIDE:
            good.add(row[names.NUMBER])
        elif row[names.SIDE] == names.BAD_SIDE:
            bits = tuple(row.get(column) or 0 for column in decoder.columns)
            verdict = known.setdefault(bits, decoder.of(bits))
            texts = verdict.errors(row.get(names.BROKEN))
            failed.setdefault(row[names.NUMBER], []).extend(
                (reason.rule, reason.label, text) for reason, text in zip(verdict.hard, texts, strict=True)
            )
    return failed, good
