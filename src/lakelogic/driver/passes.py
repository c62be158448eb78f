"""A pass: many contracts in the order of their graph, and what came of them."""

from __future__ import annotations

import secrets
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from lakelogic import clock
from lakelogic.catalogs.base import Catalog
from lakelogic.driver.approvals import Approvals
from lakelogic.driver.attempts import Engines, Retries, Runner
from lakelogic.driver.freshness import FreshnessCheck
from lakelogic.driver.outcome import STATUSES, DatasetOutcome, exit_code, pass_status
from lakelogic.driver.registry import Member
from lakelogic.driver.resume import Resume
from lakelogic.driver.schedule import Policy, Scheduler, Settle
from lakelogic.driver.selection import Selection
from lakelogic.driver.windows import Kind, window
from lakelogic.engines.base import Engine
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.ledger.store import Ledger
from lakelogic.plan.source.days import Days
from lakelogic.run.events.hub import Sink, log
from lakelogic.run.input.days import Asked
from lakelogic.run.input.links import References, sweep
from lakelogic.run.processor import DataProcessor
from lakelogic.run.publish.gates import Approval
from lakelogic.run.result import Result
from lakelogic.run.surroundings import Surroundings
from lakelogic.version import VERSION

Listener = Callable[[DatasetOutcome], None]


@dataclass(frozen=True, slots=True)
class Approving:
    """That a person must approve of some batches, of which, and the file that approvals stand in."""

    gate: Approval
    file: str | None = None


@dataclass(frozen=True, slots=True)
class PassSettings:
    """How a pass is run."""

    engine: str | None = None
    policy: Policy = field(default_factory=Policy)
    retries: Retries = field(default_factory=Retries)
    window: Kind = "none"
    windows: tuple[Asked, ...] = ()  # one after another; none: one pass over whatever is new
    approval: Approving | None = None
    cache_references: bool = False
    state_path: str | None = None
    resume: bool = False
    engine_settings: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)  # what was chosen by, for the summary


@dataclass(frozen=True, slots=True)
class Passed:
    """One window of a pass: `done`, `partial` or `failed`, or `waiting` where the one before it was not done."""

    days: Days
    status: str

    def as_dict(self) -> dict[str, str]:
        """As plain data."""
        return {**self.days.as_dict(), "status": self.status}


@dataclass(frozen=True)
class Pass:
    """One pass and its outcomes, in the order of the graph; `interrupted` by a signal of that number, or not.

    A pass that could not begin has no outcomes and an `error`.
    """

    pipeline_run_id: str
    started_at: datetime
    finished_at: datetime
    settings: PassSettings
    outcomes: tuple[DatasetOutcome, ...]
    warnings: tuple[str, ...] = ()
    interrupted: int | None = None
    error: LakeLogicError | None = None
    windows: tuple[Passed, ...] = ()
    references: Mapping[str, Any] | None = None  # how often links were read and used again, where that was asked for

    @property
    def status(self) -> str:
        """`succeeded`, `no_new_data`, `partial` or `failed`."""
        return "failed" if self.error is not None else pass_status(self.outcomes)

    @property
    def exit_code(self) -> int:
        """As the documentation has it; never 0 when something failed."""
        return self.error.exit_code if self.error is not None else exit_code(self.outcomes)

    @property
    def counts(self) -> dict[str, int]:
        """How many datasets came out how."""
        counter = Counter(outcome.status for outcome in self.outcomes)
        return {status: counter[status] for status in STATUSES}

    @property
    def seconds(self) -> float:
        """How long it took."""
        return round((self.finished_at - self.started_at).total_seconds(), 3)

    @property
    def rows(self) -> dict[str, int]:
        """Rows of all datasets together."""
        return {
            "source": sum(outcome.rows_source for outcome in self.outcomes),
            "good": sum(outcome.rows_good for outcome in self.outcomes),
            "quarantined": sum(outcome.rows_quarantined for outcome in self.outcomes),
            "warned": sum(outcome.rows_warned for outcome in self.outcomes),
        }

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "pipeline_run_id": self.pipeline_run_id,
            "status": self.status,
            "exit_code": self.exit_code,
            "interrupted": self.interrupted is not None,
            "error": self.error.as_dict() if self.error is not None else None,
            "started_at": self.started_at.isoformat(),
            "finished_at": self.finished_at.isoformat(),
            "seconds": self.seconds,
            "engines": sorted({outcome.engine for outcome in self.outcomes if outcome.engine}),
            "window": self.settings.window,
            "references": dict(self.references) if self.references is not None else None,
            "windows": [window.as_dict() for window in self.windows],
            "asked": dict(self.settings.asked),
            "max_workers": self.settings.policy.max_workers,
            "counts": self.counts,
            "rows": self.rows,
            "warnings": list(self.warnings),
            "datasets": [outcome.as_dict() for outcome in self.outcomes],
            "lakelogic_version": VERSION,
        }


def new_pipeline_run_id(at: datetime) -> str:
    """An id that sorts by time: `pipeline-20260328T120001-5f3a9c`."""
    return f"pipeline-{at:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def not_begun(settings: PassSettings, error: LakeLogicError) -> Pass:
    """A pass that an error kept from beginning, for those who wait for its summary."""
    now = clock.now()
    return Pass(new_pipeline_run_id(now), now, now, settings, (), error=error)


def run_pass(
    around: Surroundings, selection: Selection, settings: PassSettings, listen: Listener = lambda _: None
) -> Pass:
    """Run what was selected, each after everything it needs. Trouble of one dataset is an outcome, not an error."""
    started = clock.now()
    identity = new_pipeline_run_id(started)
    resume = Resume(settings.state_path, identity, resuming=settings.resume) if settings.state_path else None
    catalog, ledger, sinks = around.catalog, around.ledger, around.sinks
    engines, stop = Engines(settings.engine, settings.engine_settings), threading.Event()
    warnings: list[str] = []
    shown = 0
    if settings.resume and resume is not None and resume.is_new:
        warnings.append(f"There is nothing to resume in {resume.path}: everything runs.")
    references = _references(settings, selection, catalog, identity)
    passed: list[Passed] = []
    outcomes: list[DatasetOutcome] = []
    with _ends_in_order(stop) as signalled:
        try:
            for asked in settings.windows or (None,):
                if asked is not None and passed and passed[-1].status != "done":
                    passed.append(Passed(asked.days, "waiting"))  # windows build upon one another
                    continue
                chosen = window(settings.window, selection.estate, ledger, asked)
                if chosen.warning:
                    warnings.append(f"{chosen.warning[0].upper()}{chosen.warning[1:]}: everything is read in full.")
                if resume is not None and asked is not None:
                    resume.scope = f"{settings.window} {asked.days}"
                for text in warnings[shown:]:
                    log.warning(text)
                shown = len(warnings)
                runner = Runner(
                    identity, engines, catalog, ledger, stop, chosen, settings.retries, resume,
                    selection.passed_by, tuple(settings.asked.get("set", ())), sinks,
                    admissions=(
                        FreshnessCheck(selection.estate, ledger), *_approvals(settings, catalog, ledger, sinks),
                    ),
                    more={"references": references, "approval": settings.approval and settings.approval.gate},
                    gated_exit_code=1 if settings.approval is None else 5,
                )  # fmt: skip
                settle = _settling(runner, selection, resume, listen, settings.approval)
                results = Scheduler(selection.graph, selection.members, runner, settings.policy, stop, settle).run()
                outcomes += results.values()
                if asked is not None:
                    passed.append(Passed(asked.days, _how(results.values())))
        finally:
            engines.close()
            if references is not None:
                references.close()
    if waiting := [window for window in passed if window.status == "waiting"]:
        warnings.append(f"{len(waiting)} windows wait, from {waiting[0].days.first}: the one before was not done.")
        log.warning(warnings[-1])
    interrupted = signalled[0] if signalled else None
    finished = clock.now()
    return Pass(
        identity,
        started,
        finished,
        settings,
        tuple(outcomes),
        tuple(warnings),
        interrupted,
        windows=tuple(passed),
        references=references.as_dict() if references is not None else None,
    )


def _references(settings: PassSettings, selection: Selection, catalog: Catalog, identity: str) -> References | None:
    """A cache for the links that more than one of the chosen contracts names."""
    if not settings.cache_references:
        return None
    contracts = (member.loaded.contract for member in selection.members.values())
    named = Counter(place for contract in contracts for place in {link.table or link.path for link in contract.links})
    shared = frozenset(place for place, times in named.items() if place and times > 1)
    folder = f"{catalog.warehouse}/.lakelogic"
    sweep(folder)
    return References(f"{folder}/references-{identity}", shared)


def _approvals(
    settings: PassSettings, catalog: Catalog, ledger: Ledger, sinks: tuple[Sink, ...]
) -> tuple[Approvals, ...]:
    return () if settings.approval is None else (Approvals(settings.approval.file, catalog, ledger, sinks),)


def _settling(
    runner: Runner, selection: Selection, resume: Resume | None, listen: Listener, approval: Approving | None
) -> Settle:
    """Tell whoever must know of every outcome: the ledger, the state file, the listener."""

    def settle(result: DatasetOutcome) -> DatasetOutcome:
        is_held = approval is not None and result.run_id is not None and runner.ledger.held(result.run_id) is not None
        if approval is not None and result.status == "gated" and is_held:
            file = f" --approval-file {approval.file}" if approval.file else ""
            waits = f"waits for approval: lakelogic approve {result.run_id}{file}"
            result = replace(result, reasons=(*result.reasons, waits))
        reported = runner.in_ledger(selection.members[result.dataset], result)
        if resume is not None:
            resume.tell(reported)
        listen(reported)
        return reported

    return settle


def _how(outcomes: Iterable[DatasetOutcome]) -> str:
    """How a window came out: one that found nothing new is done."""
    status = pass_status(outcomes)
    return status if status in ("partial", "failed") else "done"


@contextmanager
def _ends_in_order(stop: threading.Event) -> Iterator[list[int]]:
    """Let the first signal to end only set `stop`; the second does what it did before.

    A run in a thread then comes to its next safe point: nothing of it is visible yet and it is given up, or its
    commit is in hand and it is finished.
    """
    heard: list[int] = []
    before: dict[int, Any] = {}
    signals: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)

    def hear(number: int, _: object) -> None:
        heard.append(number)
        stop.set()
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)

    if threading.current_thread() is threading.main_thread():
        for number in signals:
            before[number] = signal.signal(number, hear)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_contract(node: Member, engine: str | Engine | None = None) -> Result:
    """Run one member of an estate: for loops of one's own over `topo_sort(dag)`; trouble of the world raises."""
    if not isinstance(node, Member):
        raise UsageError(
            f"`run_contract` runs a node of a graph, and {node!r} is none.",
            hint="`for node in topo_sort(dag): run_contract(node)`; for a file, `DataProcessor(path).run()`.",
        )
    return DataProcessor(node.loaded, engine).run()
