"""A pass as it goes on, on a terminal: a tree of layers and datasets with progress, rows and elapsed time."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from rich.console import Console as Screen
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from lakelogic import clock, printable
from lakelogic.run.events.hub import Event

_SIGNS: Final = {
    "succeeded": ("✓", "green"),
    "no_new_data": ("·", "dim"),
    "gated": ("▮", "yellow"),
    "failed": ("✗", "red"),
    "held_back": ("⊘", "yellow"),
    "skipped": ("–", "dim"),
    "running": ("▸", "cyan"),
    "waiting": (" ", "dim"),
}
# What is shown first where not everything fits.
_FIRST: Final = ("running", "failed", "gated", "held_back", "succeeded", "skipped", "no_new_data", "waiting")
_FRAMES_A_SECOND: Final = 4
_FEWEST_LINES: Final = 10


def is_wanted() -> bool:
    """Whether somebody is looking at a terminal that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


@dataclass(slots=True)
class _LiveRow:
    """What is known of one dataset."""

    name: str
    layer: str
    status: str = "waiting"
    note: str = ""
    since: datetime | None = None
    seconds: float = 0.0
    rows: int = 0


class LiveView:
    """Hears of a pass and draws it; lines that are printed or logged meanwhile appear above."""

    def __init__(self, screen: Screen | None = None) -> None:
        self._screen = screen or Screen()
        self._alone = threading.Lock()
        self._datasets: dict[str, _LiveRow] = {}
        self._started = clock.now()
        self._live: Live | None = None
        self._streams: list[tuple[logging.StreamHandler[Any], Any]] = []

    def began(self, members: Iterable[tuple[str, str]]) -> None:
        """The pass begins, with these datasets and their layers, in order."""
        self._datasets = {name: _LiveRow(name, layer) for name, layer in members}
        self._started = clock.now()
        self._live = Live(
            get_renderable=self.drawn, console=self._screen, refresh_per_second=_FRAMES_A_SECOND, transient=True
        )
        self._live.start(refresh=True)  # at once: a short pass may end before the first frame is due
        # Handlers hold the stream of before: what they log would be drawn over.
        for handler in logging.getLogger("lakelogic").handlers:
            if isinstance(handler, logging.StreamHandler):
                self._streams.append((handler, handler.setStream(sys.stdout)))

    def hear(self, event: Event) -> None:
        """Something happened in a run."""
        with self._alone:
            dataset = self._datasets.get(event.dataset)
            if dataset is None:
                return
            if event.kind == "started":
                dataset.status, dataset.since, dataset.note = "running", event.at, ""
            elif event.kind == "phase":
                dataset.note = printable.line(event.text)

    def settled(self, outcome: Any) -> None:
        """A dataset is settled."""
        with self._alone:
            dataset = self._datasets[outcome.dataset]
            dataset.status, dataset.note, dataset.since = (
                outcome.status,
                printable.line("; ".join(outcome.reasons)),
                None,
            )
            dataset.seconds, dataset.rows = dataset.seconds + outcome.seconds, dataset.rows + outcome.rows_source

    def stop(self) -> None:
        """Stop drawing."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        for handler, stream in self._streams:
            handler.setStream(stream)
        self._streams.clear()

    def drawn(self) -> Tree:
        """The tree of now, in no more lines than the screen has."""
        with self._alone:
            datasets = list(self._datasets.values())
            now = clock.now()
            counted = Counter(dataset.status for dataset in datasets)
            settled = len(datasets) - counted["running"] - counted["waiting"]
            rows = sum(dataset.rows for dataset in datasets)
            spent = (now - self._started).total_seconds()
            tree = Tree(
                Text(f"{settled} of {len(datasets)} datasets, {rows:,} rows read, {_time(spent)}", style="bold")
            )
            layers = list(dict.fromkeys(dataset.layer for dataset in datasets))
            room = max(self._screen.height - len(layers) - 3, _FEWEST_LINES)
            shown = set(sorted((dataset.name for dataset in datasets), key=self._urgency)[:room])
            for layer in layers:
                inside = [dataset for dataset in datasets if dataset.layer == layer]
                branch = tree.add(Text(_head(layer, inside)))
                for dataset in inside:
                    if dataset.name in shown:
                        branch.add(_line(dataset, now, self._screen.width))
                if hidden := sum(dataset.name not in shown for dataset in inside):
                    branch.add(Text(f"… and {hidden} more", style="dim"))
            return tree

    def _urgency(self, name: str) -> int:
        return _FIRST.index(self._datasets[name].status)


def _head(layer: str, inside: list[_LiveRow]) -> str:
    done = sum(dataset.status not in ("waiting", "running") for dataset in inside)
    filled = round(10 * done / len(inside))
    return f"{layer or 'no layer'} {'█' * filled}{'░' * (10 - filled)} {done}/{len(inside)}"


def _line(dataset: _LiveRow, now: datetime, width: int) -> Text:
    sign, style = _SIGNS[dataset.status]
    spent = (now - dataset.since).total_seconds() if dataset.since is not None else dataset.seconds
    parts = [f"{sign} {dataset.name}"]
    parts += [f"{dataset.rows:,} rows"] if dataset.rows else []
    parts += [_time(spent)] if spent >= 0.1 else []
    parts += [dataset.note] if dataset.note else []
    text = Text("  ".join(parts), style=style, no_wrap=True, overflow="ellipsis")
    text.truncate(max(width - 8, 20), overflow="ellipsis")
    return text


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
