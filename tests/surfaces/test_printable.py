"""Text out of data or file names never moves a cursor, changes a colour or begins a line of its own."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic import DataProcessor, printable
from lakelogic.cli.console import LineFormatter, grid
from lakelogic.cli.live import LiveView
from lakelogic.cli.main import cli
from lakelogic.errors import Diagnostic, SourceError, Where
from lakelogic.run.events.hub import Event, logging_sink
from lakelogic.run.events.types import EngineStarting, Note

EVIL = "a\x1b[2Jb\r\nc\x9b31m\u202e\u2028"
RAW = ("\x1b", "\r", "\x9b", "\u202e", "\u2028")
CONTRACT = """\
dataset: things
source: {path: in/*.csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}, {name: word, type: string}]}
materialization: {target_path: shop.silver.things}
"""


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def assert_harmless(text: str) -> None:
    assert not [mark for mark in RAW if mark in text]


def test_one_function_writes_out_what_a_terminal_would_obey() -> None:
    assert printable.line(EVIL) == "a\\e[2Jb\\r\\nc\\x9b31m\\u202e\\u2028"
    assert printable.lines("a\nb\tc\x1b") == "a\nb\tc\\e"
    assert printable.line("Zoë 日本 🙂") == "Zoë 日本 🙂"
    assert json.loads(printable.in_json(json.dumps({"a": EVIL}, ensure_ascii=False))) == {"a": EVIL}


def test_a_log_line_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    record = logging.LogRecord("lakelogic", logging.INFO, "", 1, "read %s", (EVIL,), None)
    said = LineFormatter().format(record)
    assert_harmless(said)
    assert "\n" not in said
    with caplog.at_level(logging.INFO, logger="lakelogic"):
        from lakelogic import clock

        logging_sink(Event(Note(f"There is nothing at {EVIL}"), "x", clock.now()))
    assert_harmless(caplog.records[-1].getMessage())
    assert "\n" not in caplog.records[-1].getMessage()


def test_errors_diagnostics_tables_and_the_live_view_are_harmless() -> None:
    told = str(SourceError(f"no {EVIL}", hint=EVIL, where=EVIL))
    assert_harmless(told)
    assert len(told.splitlines()) == 3
    assert_harmless(str(Diagnostic("LL-C100", EVIL, Where(EVIL, 1, 1), EVIL)))
    assert_harmless(grid([EVIL], [[EVIL]]))
    view = LiveView()
    view._datasets = {"x": type("D", (), {"status": "", "told": "", "since": None})()}
    view.hear(Event(EngineStarting(EVIL), "x", None))  # type: ignore[arg-type]
    assert_harmless(view._datasets["x"].told)


def test_rows_and_files_with_escapes_are_shown_harmlessly(workspace: Path, duckdb_engine: Any) -> None:
    Path("in").mkdir()
    Path("in", "evil\x1b[31m\nname.csv").write_text('id,word\n,"x\x1b[2J\ny"\n1,"p\x1b]0;t\x07"\n', newline="")
    Path("c.yaml").write_text(CONTRACT)
    done = call("run", "c.yaml", "--engine", "duckdb")
    assert done.exit_code == 0, done.output
    assert_harmless(done.output)
    assert "such as in/evil\\e[31m\\nname.csv:2" in done.stdout
    for words in (
        ("preview", "shop.silver.things"),
        ("quarantine", "show", "c.yaml"),
        ("quarantine", "list", "c.yaml"),
        ("quarantine", "list", "c.yaml", "--by", "word"),
        ("quarantine", "show", "c.yaml", "--json"),
        ("runs",),
    ):
        shown = call(*words)
        assert shown.exit_code == 0, shown.output
        assert_harmless(shown.output)
    result = DataProcessor("c.yaml", duckdb_engine).run(materialize=False)
    assert_harmless(result.as_text())
    assert_harmless(result._repr_html_())
