"""The layers of the house hold, and the check that says so can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(project: Path) -> subprocess.CompletedProcess[str]:
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    return subprocess.run(
        [sys.executable, "-c", command],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project / "src"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_follow_the_layers() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("sql/offender.py", "import lakelogic.plan.nodes"),  # upward
        ("engines/duckdb/offender.py", "import lakelogic.engines.polars"),  # another engine
        ("tables/offender.py", "import lakelogic.engines.registry"),  # another edge, not its protocol
        ("plan/offender.py", "import polars"),  # an engine's library in the core
    ],
)
def test_an_import_in_the_wrong_direction_is_caught(tmp_path: Path, module: str, line: str) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "lakelogic" / module).write_text(f'"""Breaks a rule."""\n{line}\n')
    done = lint_imports(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "offender" in done.stdout


def test_an_edge_may_know_the_protocol_of_another_edge(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "lakelogic" / "tables" / "guest.py").write_text(
        '"""Keeps the rule."""\nimport lakelogic.engines.base\n'
    )
    done = lint_imports(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
