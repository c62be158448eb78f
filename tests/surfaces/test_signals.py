"""A process that is asked to end says so and ends with 130 or 143, whatever its libraries make of the signal."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from lakelogic import DataProcessor, signals
from lakelogic.cli.console import guarded
from lakelogic.errors import EngineError
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    yield
    signals.forget()


def swallow(number: int) -> None:
    """A signal comes while a library is at work, which keeps it for itself."""
    with contextlib.suppress(KeyboardInterrupt):
        signals.hear(number)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    "made_of_it",
    [RuntimeError("Query interrupted"), EngineError("DuckDB could not do its work"), OSError(5, "Detail: ")],
)
def test_an_error_that_a_library_makes_of_a_signal_is_the_signal(number: int, code: int, made_of_it: Exception) -> None:
    @click.command()
    @guarded
    def command() -> int:
        swallow(number)
        raise made_of_it

    result = CliRunner().invoke(command)
    assert result.exit_code == code
    assert "defect" not in result.output
    assert "Run again to go on" in result.output


@pytest.mark.parametrize("point", ["after_intent", "after_stage", "after_gates"])
def test_a_signal_that_was_swallowed_is_heard_at_the_next_safe_point(
    workspace: Path, duckdb_engine: Any, point: str
) -> None:
    Path("in.csv").write_text("id\n1\n")
    contract = {"dataset": "a", "source": {"path": "in.csv"}, "materialization": {"target_path": "a.silver.a"}}
    watch: Callable[[str], None] = lambda at: swallow(signal.SIGTERM) if at == point else None  # noqa: E731
    with faults.watched(watch), pytest.raises(signals.Terminated):
        DataProcessor(contract, engine=duckdb_engine).run()
    signals.forget()
    assert not Path("lakelogic_warehouse/a/silver/a/_delta_log").exists()
    with open_ledger(Path("lakelogic_warehouse/.lakelogic/ledger.db")) as ledger:
        assert ledger.runs("a") == []  # nothing failed
    assert DataProcessor(contract, engine=duckdb_engine).run().status == "succeeded"


SCRIPT = """
import os, signal, click
from lakelogic.cli import process

@click.command()
def command():
    {does}

process.run(command)
"""


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGTERM)", 143),  # outside of what a command guards
        ("os.kill(os.getpid(), signal.SIGINT)", 130),
        ("import contextlib\n    with contextlib.suppress(BaseException): os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
def test_before_and_after_a_command_too(does: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(does=does)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
