"""What people and programs see: text or one JSON object, progress on a terminal, errors with exit codes."""

from __future__ import annotations

import functools
import json
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from lakelogic import clock, printable, signals
from lakelogic.errors import DEBUG, Defect, LakeLogicError, trace
from lakelogic.run.events.hub import Event, Sink
from lakelogic.version import VERSION

if TYPE_CHECKING:
    from lakelogic.run.surroundings import Surroundings

P = ParamSpec("P")
_CELL = 60  # characters of a cell on a terminal


class LineFormatter(logging.Formatter):
    """`[2026-03-28 12:00:01] INFO  | text`; an alert stands alone, and under an error stands where it came from."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and those of a trace."""
        text = record.getMessage()
        text = printable.lines(text) if getattr(record, "has_lines", False) else printable.line(text)
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}\n{trace(record.exc_info[1])}"
        if getattr(record, "plain", False):
            return text
        return f"[{clock.now():%Y-%m-%d %H:%M:%S}] {record.levelname:<5} | {text}"


class Console:
    """Where a command speaks. With `--json` only one object goes to stdout, and log lines to stderr."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self._progress = sys.stderr.isatty() and not as_json
        self._shown = 0
        self._around: Surroundings | None = None
        handler = logging.StreamHandler(sys.stderr if as_json else sys.stdout)
        handler.setFormatter(LineFormatter())
        handler.addFilter(self._make_room)
        logger = logging.getLogger("lakelogic")
        logger.handlers = [handler]
        logger.setLevel(os.environ.get("LAKELOGIC_LOG_LEVEL", "INFO").upper())
        logger.propagate = False

    def sinks(self) -> tuple[Sink, ...]:
        """Listeners for a run: progress, where somebody is looking."""
        return (self.progress,) if self._progress else ()

    def surroundings(self) -> Surroundings:
        """What the command works in, made once; its progress is heard here, and it is closed with the command."""
        if self._around is None:
            from lakelogic.run.surroundings import Surroundings

            self._around = click.get_current_context().with_resource(Surroundings.here(self.sinks()))
        return self._around

    def progress(self, event: Event) -> None:
        """Overwrite one line on the terminal with what is going on."""
        if event.kind == "phase":
            self.clear()
            width = shutil.get_terminal_size().columns - 1
            line = printable.line(f"… {event.dataset}: {event.text}")[:width]
            sys.stderr.write(line)
            sys.stderr.flush()
            self._shown = len(line)

    def clear(self) -> None:
        """Take the progress line away."""
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
            self._shown = 0

    def _make_room(self, _: logging.LogRecord) -> bool:
        self.clear()
        return True

    def print(self, text: str = "") -> None:
        """A line for people."""
        self.clear()
        click.echo(printable.lines(text))

    def note(self, text: str) -> None:
        """A line beside the result."""
        self.clear()
        click.echo(printable.lines(text), err=True)

    def warn(self, text: str) -> None:
        """A line that should be seen."""
        self.clear()
        click.echo(printable.lines(text), err=True)

    def json(self, value: Any) -> None:
        """The one object that a program reads."""
        click.echo(as_json_text(value))

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows in columns; on a terminal wide cells are cut, so that a line fits. Pipes and files get whole values."""
        self.print(grid(heads, rows, _CELL if sys.stdout.isatty() else None))


def as_json_text(value: Any) -> str:
    """One JSON object in one line, which no terminal takes for anything else."""
    return printable.in_json(json.dumps(value, ensure_ascii=False, default=str))


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]], limit: int | None = None) -> str:
    """A plain table with aligned columns; numbers to the right. Cells that are longer than `limit` are cut."""
    heads = [_cut(head, limit) for head in heads]
    cells = [[_cut(str(cell), limit) for cell in row] for row in rows]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    right = [bool(cells) and all(_is_number(row[i]) for row in cells) for i in range(len(heads))]

    def line(row: Sequence[str]) -> str:
        aligned = zip(row, widths, right, strict=True)
        return "  ".join(text.rjust(w) if to_right else text.ljust(w) for text, w, to_right in aligned).rstrip()

    ruler = "  ".join("─" * width for width in widths)
    head = [line(heads), ruler] if any(heads) else []
    return "\n".join([*head, *(line(row) for row in cells)])


def _is_number(text: str) -> bool:
    return not text or text.replace(".", "", 1).isdigit()


def _cut(text: str, limit: int | None) -> str:
    text = printable.line(text)
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def _told(error: LakeLogicError, *, as_json: bool) -> int:
    if as_json:
        report = {"status": "error", "exit_code": error.exit_code, "error": error.as_dict()}
        click.echo(as_json_text(report))
    else:
        click.echo(printable.lines(str(error)), err=True)
    return error.exit_code


def _defect(error: Exception) -> Defect:
    """What can be said of an error that nobody foresaw; its own text may hold values of rows, so it stays out."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}lakelogic{os.sep}" in frame.filename
    ]
    place = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return Defect(
        f"This is a defect in LakeLogic {VERSION}: {type(error).__name__}{place}.",
        hint=f"Please report it with the contract. {DEBUG}=1 shows all of the error; that may hold values of rows.",
    )


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """Turn errors into text for people (or JSON), and into the exit codes of the documentation."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.get("as_json"))
        context = click.get_current_context()
        try:
            code = command(*args, **kwargs)
        except KeyboardInterrupt as stopped:
            code = _interrupted(143 if isinstance(stopped, signals.Terminated) else 130)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told in words, with an exit code
            code = _failed(error, as_json=as_json)
        if code:
            context.exit(code)

    return wrapped


def _interrupted(code: int) -> int:
    click.echo("Interrupted; nothing half-done is visible. Run again to go on.", err=True)
    return code


def _failed(error: Exception, *, as_json: bool) -> int:
    """The exit code of an error, which is told; what came of a signal is no error."""
    if (code := signals.exit_code()) is not None:
        return _interrupted(code)
    if isinstance(error, LakeLogicError):
        return _told(error, as_json=as_json)
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, click.Abort):
        click.echo("Nothing was changed.", err=True)
        return 130
    if isinstance(error, click.ClickException | click.exceptions.Exit):
        raise error
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    from lakelogic.storage.room import world_error

    return _told(world_error(error) or _defect(error), as_json=as_json)
