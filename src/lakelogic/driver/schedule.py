"""The order of a pass while it goes on: what may begin, what is held back, and when nothing more begins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from lakelogic.driver.graph import Graph
from lakelogic.driver.outcome import DatasetOutcome, outcome
from lakelogic.driver.registry import Member

log = logging.getLogger("lakelogic.driver")

Work = Callable[[Member], DatasetOutcome]
Settle = Callable[[DatasetOutcome], DatasetOutcome]
_LOOK_SECONDS: Final = 0.5  # how soon it is noticed that the pass shall end


@dataclass(frozen=True, slots=True)
class Policy:
    """How many at once, whether layers wait for one another, and when to give up."""

    max_workers: int = 1
    strict_layer_order: bool = False
    fail_fast: bool = False
    max_consecutive_failures: int | None = None


class Scheduler:
    """Runs members side by side, each after everything it needs.

    Whatever needs a dataset that did not come out well is held back, and only that. Work is done in threads that
    do not outlive the process; once `stop` is set nothing more begins. `settle` hears of every outcome, in the
    thread of the pass, and may complete it.
    """

    def __init__(
        self,
        graph: Graph,
        members: Mapping[str, Member],
        work: Work,
        policy: Policy,
        stop: threading.Event,
        settle: Settle = lambda result: result,
    ) -> None:
        self._graph, self._members, self._work, self._policy = graph, members, work, policy
        self._stop, self._settled = stop, settle
        self._order = [member.dataset for member in graph.order()]
        self._waiting = list(self._order)
        self._running: dict[str, threading.Thread] = {}
        self._outcomes: dict[str, DatasetOutcome] = {}
        self._done: SimpleQueue[DatasetOutcome] = SimpleQueue()
        self._failures = 0  # one after another
        self._closed: str | None = None  # why nothing more begins

    def run(self) -> dict[str, DatasetOutcome]:
        """Everything, until nothing is left; the outcomes in the order of the graph."""
        while self._waiting or self._running:
            self._begin(by_layer=self._policy.strict_layer_order)
            if not self._running and self._waiting:
                self._begin(by_layer=False)  # layers and graph contradict one another, and the graph is right
            if self._running:
                self._hear()
        return {dataset: self._outcomes[dataset] for dataset in self._order}

    def _begin(self, *, by_layer: bool) -> None:
        """Settle what can never run, and begin what may."""
        ends = self._stop.is_set()
        if ends:
            self._closed = self._closed or "the pass was interrupted before its turn"
        for dataset in list(self._waiting):
            blocker = self._blocker(dataset)
            if blocker is not None and not ends and not (self._closed and blocker.status == "skipped"):
                self._waiting.remove(dataset)
                self._settle(self._held_back(dataset, blocker))
            elif self._closed is not None:  # nothing that failed holds it back, or what it needs was interrupted too
                self._waiting.remove(dataset)
                self._settle(outcome(self._members[dataset], "skipped", self._closed, exit_code=5))
            elif len(self._running) < self._policy.max_workers and self._is_ready(dataset, by_layer=by_layer):
                self._waiting.remove(dataset)
                self._running[dataset] = threading.Thread(target=self._do, args=(dataset,), name=dataset, daemon=True)
                self._running[dataset].start()

    def _do(self, dataset: str) -> None:
        try:
            result = self._work(self._members[dataset])
        except BaseException as error:  # a thread that died without a word would be waited for forever
            log.debug("%s: a defect in the driver itself", dataset, exc_info=error)
            reason = f"{type(error).__name__} in the driver itself; LAKELOGIC_LOG_LEVEL=debug shows where"
            result = outcome(self._members[dataset], "failed", reason, exit_code=4)
        self._done.put(result)

    def _hear(self) -> None:
        try:
            result = self._done.get(timeout=_LOOK_SECONDS)
        except Empty:
            return
        self._running.pop(result.dataset).join()  # what it held is gone with it
        self._settle(result)
        if result.status == "failed":
            self._failures += 1
        elif result.status == "succeeded":
            self._failures = 0
        limit = self._policy.max_consecutive_failures
        if self._closed is not None:
            return
        if self._policy.fail_fast and result.status in ("failed", "gated"):
            self._closed = f"--fail-fast: `{result.dataset}` {_how(result)}"
        elif limit is not None and self._failures >= limit:
            self._closed = (
                f"{self._failures} datasets failed one after another, and --max-consecutive-failures is {limit}"
            )

    def _settle(self, result: DatasetOutcome) -> None:
        self._outcomes[result.dataset] = self._settled(result)

    def _blocker(self, dataset: str) -> DatasetOutcome | None:
        needed = [self._outcomes.get(up) for up in self._graph.upstreams(dataset)]
        return next((result for result in needed if result is not None and not result.is_done), None)

    def _held_back(self, dataset: str, blocker: DatasetOutcome) -> DatasetOutcome:
        why = f": {blocker.reasons[0]}" if blocker.reasons and blocker.status != "held_back" else ""
        reason = f"needs `{blocker.dataset}`, which {_how(blocker)}{why}"
        return outcome(self._members[dataset], "held_back", reason, exit_code=5)

    def _is_ready(self, dataset: str, *, by_layer: bool) -> bool:
        if any(up not in self._outcomes for up in self._graph.upstreams(dataset)):
            return False
        if not by_layer:
            return True
        rank = self._members[dataset].rank
        return not any(self._members[other].rank < rank for other in (*self._running, *self._waiting))


def _how(result: DatasetOutcome) -> str:
    words = {"gated": "was gated", "held_back": "was held back", "skipped": "was skipped"}
    return words.get(result.status, result.status)
