"""Run many contracts in one pass: choose, plan, run in the order of the graph, leave a summary behind."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic import clock
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.driver.approvals import read_approvals
from lakelogic.driver.attempts import Engines, Retries
from lakelogic.driver.calendar import Wish, windows
from lakelogic.driver.halting import require_stop
from lakelogic.driver.outcome import DatasetOutcome
from lakelogic.driver.outputs.metrics import metrics_to
from lakelogic.driver.outputs.summary_table import SummaryTable
from lakelogic.driver.outputs.write import OutputPaths, Outputs
from lakelogic.driver.passes import Approving, Pass, PassSettings, not_begun, run_pass
from lakelogic.driver.schedule import Policy
from lakelogic.driver.selection import Selection, Selectors, choose
from lakelogic.driver.windows import Kind
from lakelogic.engines.registry import names as engines
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.plan.source.days import Days
from lakelogic.run.input.days import Asked
from lakelogic.run.publish.gates import Approval
from lakelogic.run.surroundings import Surroundings

WINDOWS = ("none", "last_success", "yesterday", "range")
SUMMARY_BACKENDS = ("duckdb", "sqlite", "delta", "spark", "postgres")
METRICS_BACKENDS = ("json", "statsd", "prometheus", "pushgateway", "otlp")


@dataclass(frozen=True, slots=True)
class DriveRequest:
    """What to run and how; dates are `YYYY-MM-DD`."""

    registries: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    engine: str | None = None
    env: str | None = None
    overrides: tuple[str, ...] = ()
    packs: PackChoice = field(default_factory=PackChoice)
    max_workers: int = 2
    strict_layer_order: bool = False
    fail_fast: bool = False
    max_consecutive_failures: int | None = None
    retries: int = 0
    retry_base_seconds: float = 1.0
    retry_max_seconds: float = 60.0
    entity_timeout: float | None = None  # seconds
    window: str = "none"
    window_start_date: str | None = None
    window_end_date: str | None = None
    backfill_start_date: str | None = None
    backfill_end_date: str | None = None
    backfill_granularity: str | None = None
    reprocess_date: str | None = None
    reprocess_start_date: str | None = None
    reprocess_end_date: str | None = None
    cache_references: bool = False
    approval_required: bool = False
    approval_file: str | None = None
    approval_quarantine_ratio: float | None = None
    state_path: str | None = None
    resume: bool = False
    summary_path: str | None = None
    summary_table: str | None = None
    summary_backend: str = "duckdb"
    summary_database: str | None = None
    metrics_path: str | None = None
    metrics_backend: str = "json"
    metrics_host: str | None = None
    metrics_port: int | None = None
    metrics_prefix: str | None = None
    metrics_tags: tuple[str, ...] = ()
    metrics_linger: float | None = None
    runs_path: str | None = None
    engine_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Planned:
    """One dataset of a planned pass: its place, why it is in, and after which others it runs."""

    wave: int
    dataset: str
    layer: str | None
    engine: str
    after: tuple[str, ...]
    why: str
    skipped: str | None = None


@dataclass(frozen=True)
class DrivePlan:
    """What a pass would do; nothing was read or written."""

    datasets: tuple[Planned, ...]
    left_out: Mapping[str, str]
    warnings: tuple[str, ...]
    windows: tuple[Days, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        listed = [
            {
                "wave": dataset.wave, "dataset": dataset.dataset, "layer": dataset.layer, "engine": dataset.engine,
                "after": list(dataset.after), "why": dataset.why, "skipped": dataset.skipped,
            }
            for dataset in self.datasets
        ]  # fmt: skip
        windows = [days.as_dict() for days in self.windows]
        facts = {"left_out": dict(self.left_out), "warnings": list(self.warnings), "windows": windows}
        return {"dry_run": True, "datasets": listed, **facts}


def plan(around: Surroundings, request: DriveRequest) -> DrivePlan:
    """What a pass would run, in which order and why; what is wrong is raised as for the pass itself."""
    _check(around, request)
    chosen = _choose(around, request)
    chooser = Engines(request.engine)
    waves = {member.dataset: n for n, wave in enumerate(chosen.graph.waves(), 1) for member in wave}
    planned = [
        Planned(
            waves[dataset], dataset, member.layer, chooser.name_for(member), chosen.graph.upstreams(dataset),
            chosen.why[dataset], chosen.passed_by.get(dataset),
        )
        for dataset, member in chosen.members.items()
    ]  # fmt: skip
    warnings = tuple(str(warning) for warning in chosen.warnings)
    days = tuple(asked.days for asked in _windows(request))
    return DrivePlan(tuple(planned), chosen.left_out, warnings, days)


def drive(
    around: Surroundings,
    request: DriveRequest,
    began: Callable[[Selection, tuple[Days, ...]], None] = lambda *_: None,
    listen: Callable[[DatasetOutcome], None] = lambda _: None,
    ended: Callable[[Pass], None] = lambda _: None,
) -> Pass:
    """Run a pass and write its outputs, also where it failed or was interrupted (the signal is then passed on).

    What keeps a pass from beginning is raised, after the outputs have told of it. `ended` hears of the pass when
    its outputs are written; metrics may still wait to be scraped then.
    """
    _check(around, request)
    settings = _settings(request)
    with Outputs(_wanted(around, request)) as outputs:

        def settled(outcome: DatasetOutcome) -> None:
            outputs.settled(outcome)
            listen(outcome)

        try:
            chosen = _choose(around, request)
            outputs.began(len(chosen.members) * max(1, len(settings.windows)))
            began(chosen, tuple(asked.days for asked in settings.windows))
            done = run_pass(around, chosen, settings, settled)
        except LakeLogicError as error:
            outputs.ended(not_begun(settings, error))
            raise
        try:
            outputs.ended(done)
        except LakeLogicError:
            if done.exit_code == 0:
                raise
            # It was logged; raised, it would tell "try again" of a pass that a person must look at.
        ended(done)
        if done.interrupted is None:
            outputs.linger()
    if done.interrupted is not None:
        signal.raise_signal(done.interrupted)  # for whoever handles it around us
    return done


def _wanted(around: Surroundings, request: DriveRequest) -> OutputPaths:
    """The outputs that are asked for, checked; nothing is opened yet."""
    table: SummaryTable | None = None
    if request.summary_database and not request.summary_table:
        raise UsageError(
            "--summary-database needs the name of a table.", hint="Add --summary-table lakelogic.pipeline_runs."
        )
    if request.summary_table:
        backend: Any = request.summary_backend
        settings = dict(request.engine_settings)
        table = SummaryTable(request.summary_table, around.catalog, backend, request.summary_database, settings)
        table.check()
    to = metrics_to(
        request.metrics_backend, request.metrics_host, request.metrics_port, request.metrics_prefix,
        request.metrics_tags, request.metrics_linger,
    )  # fmt: skip
    return OutputPaths(request.summary_path, request.runs_path, table, request.metrics_path, to)


def _settings(request: DriveRequest) -> PassSettings:
    return PassSettings(
        request.engine,
        Policy(request.max_workers, request.strict_layer_order, request.fail_fast, request.max_consecutive_failures),
        Retries(request.retries, request.retry_base_seconds, request.retry_max_seconds, request.entity_timeout),
        _kind(request),
        _windows(request),
        _approving(request),
        request.cache_references,
        request.state_path,
        request.resume,
        request.engine_settings,
        {
            "registries": list(request.registries), "layers": list(request.layers), "env": request.env,
            "entities": list(request.entities), "contracts": list(request.contracts),
            "exclude": list(request.exclude), "set": list(request.overrides),
            "policy_packs": list(request.packs.names),
        },
    )  # fmt: skip


class Driver:
    """Passes from Python: `Driver(registries=("contracts/_registry.yaml",), layers=("bronze",)).run()`.

    Takes what `DriveRequest` takes. Trouble of a dataset is an outcome of the pass; a wrong choice raises.
    """

    def __init__(self, registries: str | Sequence[str] = (), **asked: Any) -> None:
        given = (registries,) if isinstance(registries, str) else tuple(registries)
        self.request = DriveRequest(given, **asked)

    def plan(self) -> DrivePlan:
        """What a pass would do."""
        with Surroundings.here() as around:
            return plan(around, self.request)

    def run(self, listen: Callable[[DatasetOutcome], None] = lambda _: None) -> Pass:
        """Run a pass; `listen` hears of every dataset when it is settled."""
        with Surroundings.here() as around:
            return drive(around, self.request, listen=listen)


def _choose(around: Surroundings, request: DriveRequest) -> Selection:
    chosen = choose(
        around,
        Selectors(
            request.registries, request.layers, request.entities, request.contracts, request.exclude, request.select,
            request.env, request.overrides, request.packs,
        )
    )  # fmt: skip
    if request.entity_timeout is not None:
        chooser = Engines(request.engine)
        require_stop({chooser.name_for(member) for member in chosen.members.values()})
    return chosen


def _windows(request: DriveRequest) -> tuple[Asked, ...]:
    """The days that are asked for, in the order in which they run."""
    wish = Wish(
        request.window, request.window_start_date, request.window_end_date, request.backfill_start_date,
        request.backfill_end_date, request.backfill_granularity, request.reprocess_date,
        request.reprocess_start_date, request.reprocess_end_date,
    )  # fmt: skip
    return windows(wish, clock.now().date())


def _approving(request: DriveRequest) -> Approving | None:
    """What a person must approve of; a file that is none is refused before anything runs."""
    if request.approval_file:
        read_approvals(request.approval_file)
    if request.approval_required:
        return Approving(Approval(request.approval_quarantine_ratio), request.approval_file)
    if request.approval_file or request.approval_quarantine_ratio is not None:
        raise UsageError("Approvals are only asked for with --approval-required.", hint="Add --approval-required.")
    return None


def _kind(request: DriveRequest) -> Kind:
    if request.backfill_start_date:
        return "backfill"
    if request.reprocess_date or request.reprocess_start_date:
        return "reprocess"
    return request.window  # type: ignore[return-value]


def _check(around: Surroundings, request: DriveRequest) -> None:
    """Refuse what cannot be done, before anything is read."""
    if request.window not in WINDOWS:
        raise UsageError(f"There is no window `{request.window}`.", hint=f"Choose among: {', '.join(WINDOWS)}.")
    _windows(request)
    _approving(request)
    if request.engine is not None and request.engine not in engines():
        raise UsageError(f"There is no engine `{request.engine}`.", hint=f"Choose one of {', '.join(engines())}.")
    if request.resume and not request.state_path:
        raise UsageError("--resume needs to know where the state is.", hint="Add --state-path logs/state.json.")
    _wanted(around, request)
