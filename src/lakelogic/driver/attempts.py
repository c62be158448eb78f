"""One dataset of a pass: run by the same code as `lakelogic run`, tried again where trying can help."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lakelogic import clock, names
from lakelogic.catalogs.base import Catalog
from lakelogic.driver.admission import Admission
from lakelogic.driver.halting import Deadline, Stopped, watched
from lakelogic.driver.outcome import DatasetOutcome, PassStatus, outcome
from lakelogic.driver.registry import Member
from lakelogic.driver.resume import Resume, input_of
from lakelogic.driver.windows import Window
from lakelogic.engines import registry
from lakelogic.engines.base import Engine
from lakelogic.errors import ContractError, Defect, LakeLogicError, LedgerError, NotFound
from lakelogic.ledger.records import RunRecord
from lakelogic.ledger.store import Ledger
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.run.contract_run import run
from lakelogic.run.events.hub import Sink, log
from lakelogic.run.request import ContractRequest
from lakelogic.run.result import Result
from lakelogic.storage.room import world_error
from lakelogic.version import VERSION

_INTERRUPTED: Final = "the pass was interrupted; nothing of it was published"

_AGES: Final = 86_400.0  # longer than anybody waits before a retry


@dataclass(frozen=True, slots=True)
class Retries:
    """How often to try again what may go better later, and how long to wait: twice as long each time, with jitter.

    `entity_seconds` is how long one dataset may take, all its tries and waits together.
    """

    times: int = 0
    base_seconds: float = 1.0
    max_seconds: float = 60.0
    entity_seconds: float | None = None

    def seconds(self, attempt: int) -> float:
        """How long to wait after an attempt (the first is 1): between half and all of the doubled time."""
        longest: float = min(self.base_seconds * 2 ** (attempt - 1), self.max_seconds)
        return longest * random.uniform(0.5, 1)


class Engines:
    """Engines of a pass, each started once and shared by all its runs."""

    def __init__(self, name: str | None, settings: Mapping[str, Any] | None = None) -> None:
        self._name, self._settings = name, dict(settings or {})
        self._started: dict[str, Engine] = {}
        self._alone = threading.Lock()

    def name_for(self, member: Member) -> str:
        """The engine that was asked for, else the contract's, else the default."""
        return self._name or member.loaded.contract.engine or registry.default_name()

    def __call__(self, member: Member) -> Engine:
        """The engine of a member, started when it is first needed."""
        name = self.name_for(member)
        with self._alone:
            if name not in self._started:
                self._started[name] = registry.load(name, **self._settings)
            return self._started[name]

    def close(self) -> None:
        """Stop them all."""
        for engine in self._started.values():
            engine.close()


@dataclass(slots=True)
class Runner:
    """Runs members; called from the threads of a pass."""

    pipeline_run_id: str
    engines: Engines
    catalog: Catalog
    ledger: Ledger
    stop: threading.Event
    window: Window
    retries: Retries = field(default_factory=Retries)
    resume: Resume | None = None
    passed_by: Mapping[str, str] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    sinks: tuple[Sink, ...] = ()
    admissions: tuple[Admission, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)  # what every job is given besides
    gated_exit_code: int = 1
    run: Callable[[ContractRequest], Result] = run

    def __call__(self, member: Member) -> DatasetOutcome:
        """One member, from its turn to its outcome. Nothing is raised."""
        started = clock.now()
        try:
            result = self._left_alone(member) or self._tried(member)
        except Stopped:
            result = outcome(member, "failed", _INTERRUPTED, exit_code=4)
        except LakeLogicError as error:
            result = _failed(member, error)
        except Exception as error:  # noqa: BLE001  one dataset must not take the others with it; its text may hold rows
            if self.stop.is_set():  # what a library makes of being stopped
                result = outcome(member, "failed", _INTERRUPTED, exit_code=4)
            else:
                defect = Defect(f"This is a defect in LakeLogic {VERSION}: {type(error).__name__}.")
                log.debug("A run of the pass ended with an error that nobody foresaw", exc_info=error)
                result = _failed(member, world_error(error) or defect)
        finished = clock.now()
        seconds = round((finished - started).total_seconds(), 3)
        return replace(result, started_at=started, finished_at=finished, seconds=seconds)

    def in_ledger(self, member: Member, result: DatasetOutcome) -> DatasetOutcome:
        """Write a dataset that did not run into the ledger, so that `lakelogic runs` shows why."""
        result = replace(result, pipeline_run_id=self.pipeline_run_id)
        if result.in_order or result.run_id is not None or (result.error and result.attempts):
            return result  # its run has told the ledger itself
        now = clock.now()
        contract = member.loaded.contract
        record = RunRecord(
            names.new_run_id(now), result.dataset, result.status, result.started_at or now, self.pipeline_run_id,
            contract=member.loaded.file, contract_version=contract.contract_version, layer=contract.layer,
            domain=contract.domain, system=contract.system, environment=member.loaded.env,
            reason="; ".join(result.reasons), finished_at=result.finished_at or now, lakelogic_version=VERSION,
        )  # fmt: skip
        try:
            self.ledger.record(record)
        except LedgerError as trouble:
            log.warning(
                "The ledger could not be told that `%s` was %s: %s", result.dataset, result.status, trouble.message
            )
            return result
        return replace(result, run_id=record.run_id)

    def _left_alone(self, member: Member) -> DatasetOutcome | None:
        """Why a member is not run at all, if there is a reason."""
        if reason := self.passed_by.get(member.dataset):
            return outcome(member, "skipped", reason, in_order=True)
        if reason := self.window.missing(member.dataset, self.ledger):
            return outcome(member, "skipped", reason, exit_code=5)
        return None

    def _has_run(self, run_id: str) -> bool:
        try:
            return self.ledger.run(run_id).run_id == run_id
        except NotFound:
            return False

    def _tried(self, member: Member) -> DatasetOutcome:
        engine = self.engines(member)
        mark, read = fingerprint(member.loaded), None
        again: tuple[str, ...] = ()
        if self.resume is not None:
            read = input_of(member, self.catalog, engine)
            done, why = self.resume.verdict(member.dataset, mark, read, self._has_run)
            if done:
                kept = {"in_order": True, "fingerprint": mark, "input": read}
                return outcome(member, "skipped", why, **kept)
            again = (why,) if why else ()
        notes: list[str] = []
        for ask in self.admissions:
            admitted = ask(member, engine)
            if admitted.kept is not None:
                return replace(admitted.kept, fingerprint=mark, input=read)
            notes += admitted.notes
        window = self.window.note(member, self.ledger)
        attempts, deadline = 0, Deadline(self.retries.entity_seconds)
        while True:
            attempts += 1
            try:
                result = self._once(member, engine, window, notes, deadline)
                break
            except LakeLogicError as error:
                if error.retry != "later" or attempts > self.retries.times or deadline.is_over:
                    return replace(_failed(member, error), attempts=attempts, engine=engine.name, window=window)
                wait = min(self.retries.seconds(attempts), _AGES if deadline.left is None else deadline.left)
                log.warning("%s: %s Attempt %d of %d in %.1f s", member.dataset, error.message, attempts + 1,
                            self.retries.times + 1, wait)  # fmt: skip
                if self.stop.wait(wait):
                    raise Stopped from error
                if deadline.is_over:
                    over = deadline.error("before it was tried again")
                    return replace(_failed(member, over), attempts=attempts, engine=engine.name, window=window)
        status: PassStatus = result.status  # type: ignore[assignment]
        good = (result.report.get("targets") or {}).get("good") or {}
        return outcome(
            member, status, *result.reasons, *notes, *again, run_id=result.run_id, attempts=attempts,
            engine=engine.name, exit_code={"gated": self.gated_exit_code, "failed": 1}.get(status, 0),
            rows_source=result.counts.source, rows_good=result.counts.good,
            rows_quarantined=result.counts.quarantined, rows_warned=result.warned,
            findings={**(result.report.get("findings") or {}), "drift": result.report.get("schema_drift") or {}},
            target=good.get("name"),
            target_version=good.get("version"), window=result.report.get("window") or window, fingerprint=mark,
            input=read,
        )  # fmt: skip

    def _once(
        self, member: Member, engine: Engine, window: str | None, notes: Sequence[str], deadline: Deadline
    ) -> Result:
        asked = self.window.asked  # what that means for the contract, its run says itself
        note_parts = [
            *notes,
            None if asked is not None else window,
            f"with --set {' --set '.join(self.overrides)}" if self.overrides else None,
        ]
        job = ContractRequest(
            member.loaded,
            engine,
            self.catalog,
            self.ledger,
            pipeline_run_id=self.pipeline_run_id,
            sinks=self.sinks,
            note="; ".join(filter(None, note_parts)) or None,
            asked=asked,
            **self.more,
        )
        with watched(engine, member.dataset, self.stop, deadline) as halt:
            return self.run(replace(job, halt=halt))


def _failed(member: Member, error: LakeLogicError) -> DatasetOutcome:
    reasons = [error.message]
    if isinstance(error, ContractError):
        reasons = [f"{diagnostic.where}: {diagnostic.message}" for diagnostic in error.diagnostics]
    return outcome(member, "failed", *reasons, exit_code=error.exit_code, error=error.as_dict())
