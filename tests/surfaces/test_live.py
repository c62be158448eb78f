"""The live view of a pass: what it draws, and that a terminal gets it and a pipe does not."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console as Screen

from lakelogic import clock
from lakelogic.cli.live import LiveView
from lakelogic.run.events.hub import Event
from lakelogic.run.events.types import PhaseBegan, RunStarted


def lines(view: LiveView, height: int = 40) -> list[str]:
    """What is drawn, without what comes after the words of a line."""
    screen = Screen(file=io.StringIO(), width=80, height=height, color_system=None)
    screen.print(view.drawn())
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def settled(dataset: str, status: str, rows: int = 0, *reasons: str) -> Any:
    return SimpleNamespace(dataset=dataset, status=status, rows_source=rows, seconds=2.0, reasons=reasons)


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> LiveView:
    at = [clock.now()]
    monkeypatch.setattr(clock, "now", lambda: at[0])
    made = LiveView(Screen(file=io.StringIO(), width=80, height=40, force_terminal=False))
    made.began([("bronze_orders", "bronze"), ("bronze_items", "bronze"), ("silver_orders", "silver")])
    made.stop()
    made.hear(Event(RunStarted("r", "bronze_items", "duckdb"), "bronze_items", at[0]))
    made.hear(Event(PhaseBegan("commit"), "bronze_items", at[0]))
    at[0] += timedelta(seconds=75)
    return made


def test_layers_have_progress_and_datasets_rows_and_time(view: LiveView) -> None:
    view.settled(settled("bronze_orders", "gated", 1234, "too many bad rows"))
    assert lines(view) == [
        "1 of 3 datasets, 1,234 rows read, 1:15",
        "├── bronze █████░░░░░ 1/2",
        "│   ├── ▮ bronze_orders  1,234 rows  2.0 s  too many bad rows",
        "│   └── ▸ bronze_items  1:15  committing",
        "└── silver ░░░░░░░░░░ 0/1",
        "    └──   silver_orders",
    ]


def test_what_does_not_fit_is_counted_and_what_matters_stays() -> None:
    view = LiveView(Screen(file=io.StringIO(), width=80, height=14, force_terminal=False))
    view.began([(f"bronze_{n:03d}", "bronze") for n in range(200)])
    view.stop()
    view.settled(settled("bronze_150", "failed", 0, "x" * 200))
    drawn = lines(view)
    assert len(drawn) <= 14
    assert drawn[-1] == "    └── … and 190 more"
    assert any("✗ bronze_150" in line and len(line) <= 80 for line in drawn)


def test_a_terminal_gets_the_tree_and_the_plain_lines_stay(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("id\n1\n")
    (tmp_path / "_registry.yaml").write_text("entries: [{entity: orders, contracts: {bronze: orders.yaml}}]\n")
    (tmp_path / "orders.yaml").write_text(
        "info: {target_layer: bronze, dataset: bronze_orders, owner: team}\nsource: {path: orders.csv}\n"
        "materialization: {target_path: shop.bronze.orders}\n"
    )
    ours, theirs = pty.openpty()
    driver = [sys.executable, "-c", "from lakelogic.cli.drive import main; main()"]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    passing = subprocess.Popen(
        [*driver, "--registry", "_registry.yaml", "--engine", "duckdb"],
        cwd=tmp_path, env=environ, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        shown += read
    os.close(ours)
    assert passing.wait() == 0
    text = shown.decode()
    assert "0 of 1 datasets" in text
    assert "bronze_orders  succeeded    1 read, 1 good, 0 bad" in text
    assert text.rstrip().splitlines()[-1].endswith("s")
