"""`lakelogic-driver …` and `lakelogic drive …`: one pass over many contracts."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import click

from lakelogic.cli import process
from lakelogic.cli.console import Console, grid, guarded
from lakelogic.cli.next_steps import after_failure, after_gate
from lakelogic.cli.options import SELECT, env_option, json_flag, pack_dir_option, pack_option, set_option, words
from lakelogic.version import VERSION

F = TypeVar("F", bound=Callable[..., Any])
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_WINDOWS = ("none", "last_success", "yesterday", "range")
_SUMMARY_BACKENDS = ("duckdb", "sqlite", "delta", "spark", "postgres")
_METRICS_BACKENDS = ("json", "statsd", "prometheus", "pushgateway", "otlp")
_GRANULARITIES = ("day", "week", "month")
_MOST_WORKERS = 8
_FEW = 3  # reasons that are told of a dataset


def _names(flag: str, help_: str) -> Callable[[F], F]:
    """An option that takes names, parted by commas or given several times."""
    return click.option(flag, multiple=True, metavar="NAMES", help=help_)


_CHOICE = (
    click.option("--registry", multiple=True, metavar="FILE", help="A registry, or a folder with one."),
    click.option("--reference-registry", multiple=True, metavar="FILE", help="A registry of reference tables."),
    click.option("--gold-registry", multiple=True, metavar="FILE", help="A registry of gold tables."),
    _names("--layers", "Only these layers: reference,bronze,silver,gold."),
    _names("--entities", "Only these entities."),
    _names("--contracts", "Only these datasets, entities or paths of contracts."),
    _names("--select", SELECT),
    _names("--exclude", "Leave these out: datasets, entities, paths of contracts, or the same words as --select."),
    click.option("--engine", help="spark, duckdb or polars (or LAKELOGIC_ENGINE)."),
    env_option,
    set_option,
    pack_option,
    pack_dir_option,
)
_ORDER = (
    click.option("--max-workers", type=click.IntRange(1), help="How many run side by side; by default the cores."),
    click.option("--strict-layer-order", is_flag=True, help="A layer begins when those before it are done."),
    click.option(
        "--continue-on-error/--fail-fast", "go_on", default=True, show_default=True,
        help="Whether what does not need a failed dataset still runs.",
    ),
    click.option("--max-consecutive-failures", type=click.IntRange(1), help="Begin nothing more after so many."),
    click.option("--retries", type=click.IntRange(0), default=0, show_default=True, help="Try again so often."),
    click.option("--retry-base-seconds", type=click.FloatRange(0), default=1.0, show_default=True, help="First wait."),
    click.option("--retry-max-seconds", type=click.FloatRange(0), default=60.0, show_default=True, help="The longest."),
    click.option(
        "--entity-timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Stop a dataset after so long.",
    ),
    click.option("--window", type=click.Choice(_WINDOWS), default="none", show_default=True, help="How far back."),
    *(
        click.option(f"--{flag}", metavar="DATE", help=text)
        for flag, text in (
            ("window-start-date", "--window range: the first day."),
            ("window-end-date", "--window range: the last day, which belongs to it."),
            ("backfill-start-date", "Run windows one after another, from this day on."),
            ("backfill-end-date", "The last day of the last window."),
            ("reprocess-date", "Process this day again, and replace what it made."),
            ("reprocess-start-date", "Process these days again: the first."),
            ("reprocess-end-date", "The last day that is processed again."),
        )
    ),
    click.option("--backfill-granularity", type=click.Choice(_GRANULARITIES), help="How long a window is; a day."),
    click.option("--cache-references", is_flag=True, help="Read a link that several contracts use once."),
    click.option("--approval-required", is_flag=True, help="Rows behind a closed gate wait for approval (exit 5)."),
    click.option("--approval-file", metavar="FILE", help="Publish what this file approves of."),
    click.option(
        "--approval-quarantine-ratio", type=click.FloatRange(0, 1), metavar="SHARE",
        help="Ask above this share of bad rows, too.",
    ),
    click.option("--state-path", metavar="FILE", help="Keep the state of the pass here."),
    click.option("--resume", is_flag=True, help="Run what failed, never ran, or changed since."),
)  # fmt: skip
_OUTPUTS = (
    click.option("--summary-path", metavar="FILE", help="Write a summary as JSON."),
    click.option("--summary-table", metavar="TABLE", help="Add a row about the pass to this table."),
    click.option(
        "--summary-backend",
        type=click.Choice(_SUMMARY_BACKENDS),
        default="duckdb",
        show_default=True,
        help="Where that table is.",
    ),
    click.option("--summary-database", metavar="PLACE", help="Its database: a file, a folder or a URL."),
    click.option("--runs-path", metavar="FILE", help="Add a line of JSON for each dataset, as it is settled."),
    click.option("--metrics-path", metavar="FILE", help="Write metrics."),
    click.option(
        "--metrics-backend",
        type=click.Choice(_METRICS_BACKENDS),
        default="json",
        show_default=True,
        help="How metrics are written or sent.",
    ),
    click.option("--metrics-host", metavar="HOST", help="Where metrics are offered or sent; by default this machine."),
    click.option("--metrics-port", type=click.IntRange(0, 65535), help="And at which port; by default the usual one."),
    click.option("--metrics-prefix", metavar="NAME", help="How names of metrics begin; by default lakelogic."),
    click.option("--metrics-tags", multiple=True, metavar="NAME=VALUE", help="Labels for all metrics."),
    click.option("--metrics-linger", type=click.FloatRange(0), metavar="SECONDS", help="Wait for the last scrape."),
    click.option("--dry-run", is_flag=True, help="Show what would run, in which order and why; run nothing."),
    json_flag,
)


def _options(command: F) -> F:
    for option in reversed((*_CHOICE, *_ORDER, *_OUTPUTS)):
        command = option(command)
    return command


@click.command(context_settings=CONTEXT)
@_options
@guarded
def drive(
    registry: tuple[str, ...], reference_registry: tuple[str, ...], gold_registry: tuple[str, ...],
    layers: tuple[str, ...], entities: tuple[str, ...], contracts: tuple[str, ...], exclude: tuple[str, ...],
    select: tuple[str, ...],
    packs: tuple[str, ...], pack_dir: str | None, go_on: bool, max_workers: int | None, dry_run: bool, as_json: bool,
    **more: Any,
) -> int:  # fmt: skip
    """Run many contracts in one pass, each after everything it needs."""
    from lakelogic.actions.operate.drive import DriveRequest, plan
    from lakelogic.contract.reading.packs import PackChoice

    console = Console(as_json)
    if "LAKELOGIC_LOG_LEVEL" not in os.environ:
        # A pass tells one line a dataset; what its runs tell besides warnings would stand between them.
        logging.getLogger("lakelogic").setLevel(logging.WARNING)
    request = DriveRequest(
        registries=(*registry, *reference_registry, *gold_registry),
        layers=words("--layers", layers),
        entities=words("--entities", entities),
        contracts=words("--contracts", contracts),
        exclude=words("--exclude", exclude),
        select=words("--select", select),
        packs=PackChoice(packs, pack_dir),
        fail_fast=not go_on,
        max_workers=max_workers or min(os.cpu_count() or 1, _MOST_WORKERS),
        **more,
    )
    if dry_run:
        planned = plan(console.surroundings(), request)
        console.json(planned.as_dict()) if as_json else _show_plan(console, planned)
        return 0
    return _run(console, request)


def _show_plan(console: Console, planned: Any) -> None:
    rows = [
        (str(dataset.wave), dataset.dataset, dataset.layer or "", dataset.engine, dataset.skipped or dataset.why)
        for dataset in planned.datasets
    ]
    console.print(grid(("wave", "dataset", "layer", "engine", "why"), rows))
    for days in planned.windows:
        console.print(f"window: {days}")
    for dataset, why in planned.left_out.items():
        console.note(f"left out: {dataset} ({why})")
    for warning in planned.warnings:
        console.warn(f"warning: {warning}")


def _run(console: Console, request: Any) -> int:
    from lakelogic.actions.operate.drive import drive as run

    lines = _OutcomeLines(console)
    view = _view(console)

    def began(selection: Any, windows: Sequence[Any]) -> None:
        lines.began(selection.members, windows)
        if view is not None:
            by_layer = sorted(selection.members.values(), key=lambda member: member.rank)
            view.began((member.dataset, member.layer or "") for member in by_layer)
        if not console.as_json:
            for warning in selection.warnings:
                console.warn(f"warning: {warning}")

    def listen(outcome: Any) -> None:
        if view is not None:
            view.settled(outcome)
        if not console.as_json:
            lines.settled(outcome)

    def ended(done: Any) -> None:
        if view is not None:
            view.stop()
        if console.as_json:
            console.json(done.as_dict())
            return
        counted = ", ".join(f"{count} {status}" for status, count in done.counts.items() if count)
        console.print(f"{done.pipeline_run_id}: {counted} in {done.seconds:.1f} s")

    around = console.surroundings()
    around = around if view is None else around.heard_by(view.hear)
    try:
        return int(run(around, request, began, listen, ended).exit_code)
    finally:
        if view is not None:
            view.stop()


class _OutcomeLines:
    """Outcomes as plain lines, those of a backfill under the window they belong to."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._windows: Sequence[Any] = ()
        self._datasets, self._wide, self._told = 1, 0, 0

    def began(self, datasets: Collection[str], windows: Sequence[Any]) -> None:
        """What will be told of."""
        self._datasets, self._wide = len(datasets), max(map(len, datasets))
        self._windows = windows if len(windows) > 1 else ()

    def settled(self, outcome: Any) -> None:
        """One more: in every window each dataset comes once."""
        at, before = divmod(self._told, self._datasets)
        if self._windows and before == 0:
            self._console.print(f"window {at + 1} of {len(self._windows)}: {self._windows[at]}")
        self._told += 1
        self._console.print(f"{outcome.dataset:<{self._wide}}  {outcome.status:<11}  {_told(outcome)}".rstrip())
        from lakelogic.run.findings import problems

        for line in problems(outcome.findings, outcome.findings.get("drift") or {}, _FEW):
            self._console.print(f"{'':<{self._wide}}    {line}")
        if (act := _next(outcome)) is not None:
            self._console.print(f"{'':<{self._wide}}    {act}")


def _view(console: Console) -> Any:
    """The live view, where somebody looks at a terminal; elsewhere plain lines say the same."""
    if console.as_json or not sys.stdout.isatty():
        return None
    from lakelogic.cli.live import LiveView, is_wanted

    return LiveView() if is_wanted() else None


def _next(outcome: Any) -> str | None:
    """What to do about a dataset that did not get through."""
    if outcome.status == "gated":
        return after_gate(outcome.contract, outcome.run_id, outcome.rows_good, outcome.rows_quarantined)
    return after_failure(outcome.error) if outcome.status == "failed" else None


def _told(outcome: Any) -> str:
    rows = f"{outcome.rows_source} read, {outcome.rows_good} good, {outcome.rows_quarantined} bad"
    rows += f", {outcome.rows_warned} with warnings" if outcome.rows_warned else ""
    parts = [rows] if outcome.attempts and (outcome.status in ("succeeded", "gated") or outcome.rows_source) else []
    return "; ".join([*parts, *outcome.reasons])


def main() -> None:
    """The entry point of `lakelogic-driver`."""
    versioned = click.version_option(VERSION, prog_name="lakelogic-driver")(drive)
    process.run(lambda: versioned.main(prog_name="lakelogic-driver"))
