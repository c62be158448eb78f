"""The metrics of a pass: what they count, while it goes on and when it is done, and whom they are told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from lakelogic import clock
from lakelogic.driver.outcome import STATUSES, DatasetOutcome
from lakelogic.driver.passes import Pass
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.run.events.hub import log
from lakelogic.watch.exporters import LOOPBACK, PORTS, Endpoint, push_to_gateway, send_otlp, send_statsd
from lakelogic.watch.metrics import NAME, Metric, tags

Backend = Literal["json", "prometheus", "statsd", "pushgateway", "otlp"]
PREFIX: Final = "lakelogic"
# Also the only labels there are, besides those somebody adds: as many values as datasets, layers and words.
_HELP: Final = {
    "pass_running": "1 while the pass goes on, 0 once it is done.",
    "pass_exit_code": "The exit code of the pass.",
    "pass_duration_seconds": "How long the pass has taken.",
    "pass_finished_timestamp_seconds": "When the pass was done, in seconds since 1970.",
    "pass_datasets": "Datasets of the pass by how they came out.",
    "pass_datasets_left": "Datasets of the pass that are not settled yet.",
    "pass_rows": "Rows of all datasets together, by side.",
    "dataset_done": "1 where the dataset is as the pass wants it, by how it came out.",
    "dataset_duration_seconds": "How long the dataset took.",
    "dataset_attempts": "How often the dataset was tried.",
    "dataset_rows": "Rows of the dataset, by side.",
}


@dataclass(frozen=True, slots=True)
class MetricsTo:
    """Where metrics go. `host` may be a URL where they are sent by HTTP."""

    backend: Backend = "json"
    host: str | None = None
    port: int | None = None
    prefix: str = PREFIX
    tags: Mapping[str, str] = field(default_factory=dict)
    linger: float = 0.0

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; without a word of others it is this machine's own and the usual one."""
        return self.host or LOOPBACK, PORTS[self.backend] if self.port is None else self.port


def metrics_to(
    backend: str, host: str | None, port: int | None, prefix: str | None, given: Iterable[str], linger: float | None
) -> MetricsTo:
    """Check what was asked for, before anything runs."""
    if backend == "json" and (host or port is not None):
        raise UsageError(
            "--metrics-host and --metrics-port need a backend that listens or sends.",
            hint=f"Add --metrics-backend {', '.join(PORTS)}.",
        )
    if linger is not None and backend != "prometheus":
        raise UsageError("--metrics-linger needs --metrics-backend prometheus.", hint="The others are sent at the end.")
    if prefix is not None and not NAME.fullmatch(prefix):
        raise UsageError(f"`{prefix}` cannot begin the names of metrics.", hint="Use letters, digits and _.")
    return MetricsTo(backend, host, port, prefix or PREFIX, tags(given), linger or 0.0)  # type: ignore[arg-type]


def metrics_of(done: Pass, to: MetricsTo | None = None) -> list[Metric]:
    """Numbers about a pass that is done, and about its datasets."""
    return _named(
        [
            ("pass_running", 0, {}),
            ("pass_exit_code", done.exit_code, {}),
            ("pass_duration_seconds", done.seconds, {}),
            ("pass_finished_timestamp_seconds", round(done.finished_at.timestamp(), 3), {}),
            ("pass_datasets_left", 0, {}),
            *_of_outcomes(done.outcomes),
        ],
        to,
    )


def as_dict(done: Pass, to: MetricsTo | None = None) -> dict[str, Any]:
    """The same as one JSON object."""
    return {
        "pipeline_run_id": done.pipeline_run_id,
        "status": done.status,
        "at": done.finished_at.isoformat(),
        "metrics": [metric.as_dict() for metric in metrics_of(done, to)],
    }


class Monitor:
    """Tells metrics of one pass: at any time to who scrapes, at the end to who listens.

    Trouble with the endpoint stops a pass before it begins; trouble with sending is told and changes nothing.
    """

    def __init__(self, to: MetricsTo) -> None:
        self._to, self._alone = to, threading.Lock()
        self._started = clock.now()
        self._left = 0
        self._outcomes: list[DatasetOutcome] = []
        self._done: Pass | None = None
        self.endpoint = Endpoint(*to.address, self._now) if to.backend == "prometheus" else None

    def began(self, datasets: int) -> None:
        """A pass over so many datasets has begun."""
        with self._alone:
            self._started, self._left = clock.now(), datasets

    def settled(self, outcome: DatasetOutcome) -> None:
        """One of them is settled."""
        with self._alone:
            self._left -= 1
            self._outcomes.append(outcome)

    def ended(self, done: Pass) -> None:
        """The pass is done, whatever came of it."""
        with self._alone:
            self._done = done
        if self.endpoint is not None:
            self.endpoint.final()
        try:
            self._send(done)
        except LakeLogicError as error:
            log.error("Metrics were not sent, and the pass is as it is: %s", error.message)

    def linger(self) -> None:
        """Wait for the scrape that sees how the pass came out, as long as was asked for."""
        if self.endpoint is not None and self._to.linger and not self.endpoint.linger(self._to.linger):
            log.warning("Nobody scraped the metrics of the finished pass within %g s", self._to.linger)

    def close(self) -> None:
        """Stop listening."""
        if self.endpoint is not None:
            self.endpoint.close()

    def _send(self, done: Pass) -> None:
        metrics = metrics_of(done, self._to)
        if self._to.backend == "statsd":
            send_statsd(metrics, *self._to.address)
        elif self._to.backend == "pushgateway":
            push_to_gateway(metrics, *self._to.address, job=self._to.prefix)
        elif self._to.backend == "otlp":
            send_otlp(metrics, *self._to.address, done.finished_at)

    def _now(self) -> list[Metric]:
        with self._alone:
            if self._done is not None:
                return metrics_of(self._done, self._to)
            return _named(_so_far(self._started, self._left, self._outcomes), self._to)


_Number = tuple[str, float, dict[str, str]]


def _so_far(started: datetime, left: int, outcomes: Iterable[DatasetOutcome]) -> list[_Number]:
    seconds = round((clock.now() - started).total_seconds(), 3)
    return [
        ("pass_running", 1, {}),
        ("pass_duration_seconds", seconds, {}),
        ("pass_datasets_left", left, {}),
        *_of_outcomes(outcomes),
    ]


def _of_outcomes(outcomes: Iterable[DatasetOutcome]) -> Iterator[_Number]:
    every = list(outcomes)
    counted = Counter(result.status for result in every)
    for status in STATUSES:
        yield "pass_datasets", counted[status], {"status": status}
    for side in ("source", "good", "quarantined", "warned"):
        yield "pass_rows", sum(getattr(result, f"rows_{side}") for result in every), {"side": side}
    by_dataset: dict[str, list[DatasetOutcome]] = {}
    for result in every:
        by_dataset.setdefault(result.dataset, []).append(result)
    for dataset, several in by_dataset.items():  # a pass over several windows settles a dataset in each
        last = several[-1]
        labels = {"dataset": dataset, "layer": last.layer or ""}
        yield "dataset_done", int(last.is_done), {**labels, "status": last.status}
        yield "dataset_duration_seconds", round(sum(result.seconds for result in several), 3), labels
        yield "dataset_attempts", sum(result.attempts for result in several), labels
        for side in ("source", "good", "quarantined", "warned"):
            yield "dataset_rows", sum(getattr(result, f"rows_{side}") for result in several), {**labels, "side": side}


def _named(numbers: Iterable[_Number], to: MetricsTo | None) -> list[Metric]:
    prefix, added = (to.prefix, to.tags) if to is not None else (PREFIX, {})
    return [Metric(f"{prefix}_{name}", value, _HELP[name], {**added, **labels}) for name, value, labels in numbers]
