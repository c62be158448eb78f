"""What a pass leaves behind for others, whether it went well or not: a summary, a row in a table, lines, metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from lakelogic.driver.outcome import DatasetOutcome
from lakelogic.driver.outputs.files import RunLines, write_json, write_text
from lakelogic.driver.outputs.metrics import MetricsTo, Monitor, as_dict, metrics_of
from lakelogic.driver.outputs.summary_table import SummaryTable
from lakelogic.driver.passes import Pass
from lakelogic.errors import LakeLogicError, TableError
from lakelogic.run.events.hub import log
from lakelogic.watch.metrics import exposition


@dataclass(frozen=True, slots=True)
class OutputPaths:
    """The outputs that were asked for."""

    summary_path: str | None = None
    runs_path: str | None = None
    table: SummaryTable | None = None
    metrics_path: str | None = None
    metrics: MetricsTo = field(default_factory=MetricsTo)


class Outputs:
    """The outputs of one pass, open as long as the block lasts; what cannot be opened keeps a pass from beginning."""

    def __init__(self, wanted: OutputPaths) -> None:
        self._wanted = wanted
        self._lines: RunLines | None = None
        self._monitor: Monitor | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Outputs:
        wanted = self._wanted
        with self._opened as opened:
            self._lines = RunLines(wanted.runs_path) if wanted.runs_path else None
            if wanted.metrics.backend != "json":
                self._monitor = Monitor(wanted.metrics)
                opened.callback(self._monitor.close)
            if wanted.table is not None:
                opened.callback(wanted.table.close)
                wanted.table.open()
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def began(self, datasets: int) -> None:
        """A pass over so many datasets begins."""
        if self._monitor is not None:
            self._monitor.began(datasets)

    def settled(self, outcome: DatasetOutcome) -> None:
        """A dataset is settled; a line that cannot be written is told and stops nothing."""
        if self._monitor is not None:
            self._monitor.settled(outcome)
        if self._lines is not None:
            try:
                self._lines.settled(outcome)
            except OSError as error:
                log.error("The line about %s could not be written: %s", outcome.dataset, error)

    def ended(self, done: Pass) -> None:
        """Write everything; one output that fails does not keep the others from being written."""
        trouble: Exception | None = None
        for write in self._writers():
            try:
                write(done)
            except (LakeLogicError, OSError) as error:
                log.error("An output of the pass could not be written: %s", getattr(error, "message", error))
                trouble = trouble or error
        if trouble is not None and done.interrupted is None and done.error is None:
            if isinstance(trouble, LakeLogicError):
                raise trouble
            raise TableError(f"An output of the pass could not be written: {trouble}.") from trouble

    def linger(self) -> None:
        """Wait for the last scrape, where somebody asked for that."""
        if self._monitor is not None:
            self._monitor.linger()

    def _writers(self) -> Iterator[Callable[[Pass], None]]:
        wanted = self._wanted
        if self._monitor is not None:
            yield self._monitor.ended
        if path := wanted.summary_path:
            yield lambda done: write_json(path, done.as_dict())
        if place := wanted.metrics_path:
            if wanted.metrics.backend == "prometheus":
                yield lambda done: write_text(place, exposition(metrics_of(done, wanted.metrics)))
            else:
                yield lambda done: write_json(place, as_dict(done, wanted.metrics))
        if wanted.table is not None:
            yield wanted.table.write
