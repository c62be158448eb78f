"""The runner of documentation snippets.

A page is one story told in a folder of its own that holds a copy of `examples/`:

- a block with `title="name"` in its info string, or with `# file: name` as its first line, is written to that file;
- a `yaml` block must be YAML, and a contract in a file must be a contract;
- a `console` block is a list of `$ command` lines, each followed by what it prints; `…` stands for any text within a
  line, a line that is only `…` for any lines; a command that must fail ends with `# exit N`;
- a `python` block is run; with `>>>` it is a doctest.

A block right after `<!-- not run: why -->` is left alone. Environment variables and the working folder last to the end
of the page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: (?P<why>\S[^\n]*?) -->\s*\Z")
_TITLE = re.compile(r'title="(?P<name>[^"]+)"')
_FILE = re.compile(r"\A# file: (?P<name>\S+)\n")
_EXIT = re.compile(r"#\s*exit (?P<code>\d+)\s*$")

RUN = ("console", "python", "yaml")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it begins at, the file it is written to, why it is not run."""

    language: str
    text: str
    line: int
    file: str | None = None
    not_run: str | None = None


@dataclass(frozen=True)
class Command:
    """A command of a console block, what it must print and how it must end."""

    text: str
    output: str
    exit: int = 0


def blocks(markdown: str) -> list[Block]:
    found = []
    for match in _FENCE.finditer(markdown):
        info, body = match["info"].strip(), match["body"]
        title = _TITLE.search(info)
        named = _FILE.match(body)
        exempt = _NOT_RUN.search(markdown[: match.start()])
        found.append(
            Block(
                info.split()[0] if info else "",
                body,
                markdown.count("\n", 0, match.start()) + 1,
                title["name"] if title else named["name"] if named else None,
                exempt["why"] if exempt else None,
            )
        )
    return found


def commands(console: str) -> Iterator[Command]:
    parts = re.split(r"^\$ ", console, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block begins with `$ command`"
    for part in parts[1:]:
        lines = part.splitlines()
        text = [lines.pop(0)]
        while text[-1].endswith("\\"):
            text.append(lines.pop(0))
        ends = _EXIT.search(text[-1])
        yield Command("\n".join(text), "\n".join(lines).strip("\n"), int(ends["code"]) if ends else 0)


def agrees(expected: str, actual: str) -> bool:
    """Whether what was printed is what the page shows; `…` stands for anything."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += r"[^\n]*".join(re.escape(piece) for piece in line.rstrip().split("…")) + r"[ ]*\n"
    shown = "".join(line.rstrip() + "\n" for line in actual.strip("\n").splitlines())
    return re.fullmatch(pattern, shown) is not None


@dataclass
class Page:
    """A page being run in its folder."""

    path: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    cwd: Path | None = None

    def run(self) -> None:
        self.cwd = self.folder
        for block in blocks(self.path.read_text("utf-8")):
            if block.not_run:
                continue
            where = f"{self.path.name}:{block.line}"
            if block.file:
                target = self.cwd / block.file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, "utf-8")
            if block.language == "yaml":
                self.read_yaml(block, where)
            elif block.language == "console":
                for command in commands(block.text):
                    self.run_command(command, where)
            elif block.language == "python":
                self.run_python(block, where)

    def read_yaml(self, block: Block, where: str) -> None:
        document = yaml.safe_load(block.text)
        assert document is not None, f"{where}: an empty document"
        is_around = Path(block.file or "").name.startswith("_")  # a domain, a system or a registry
        if block.file and not is_around and isinstance(document, dict) and "materialization" in document:
            from lakelogic.contract.reading.load import load

            assert self.cwd is not None
            load(self.cwd / block.file)

    def run_command(self, command: Command, where: str) -> None:
        state = self.folder / ".state"
        script = f"{command.text}\nexit_code=$?\nenv -0 > '{state}'\nprintf 'PWD_NOW=%s\\0' \"$PWD\" >> '{state}'\nexit $exit_code"
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=self.cwd,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        told = f"{where}\n$ {command.text}\n{done.stdout}"
        assert done.returncode == command.exit, f"{told}\n(exit {done.returncode}, the page says {command.exit})"
        assert agrees(command.output, done.stdout), f"{told}\n(the page shows)\n{command.output}"
        after = dict(entry.split("=", 1) for entry in state.read_text("utf-8").split("\0") if "=" in entry)
        state.unlink()
        self.cwd = Path(after.pop("PWD_NOW"))
        self.environment = after

    def run_python(self, block: Block, where: str) -> None:
        script = self.folder / ".snippet.py"
        if ">>>" in block.text:
            script.write_text(
                f'r"""\n{block.text}"""\nimport doctest, sys\nsys.exit(bool(doctest.testmod().failed))\n', "utf-8"
            )
        else:
            script.write_text(block.text, "utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=self.cwd,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        script.unlink()
        assert done.returncode == 0, f"{where}\n{block.text}\n{done.stdout}"


@pytest.fixture
def page(tmp_path: Path):
    """Makes a page ready to run: `page("docs/start/install.md").run()`, or with text of one's own."""

    def ready(name: str, text: str | None = None) -> Page:
        folder = tmp_path / "checkout"
        shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "LAKELOGIC_ENGINE": "duckdb",
            "NO_COLOR": "1",
            "COLUMNS": "120",
        }
        path = ROOT / name
        if text is not None:
            path = tmp_path / name
            path.write_text(text, "utf-8")
        return Page(path, folder, environment)

    return ready


@pytest.fixture
def blocks_of():
    """The fenced blocks of a Markdown text."""
    return blocks


@pytest.fixture
def output_agrees():
    """The comparison of shown and printed output."""
    return agrees
