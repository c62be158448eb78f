"""Nobody makes a catalog or opens a ledger of his own: both come with the surroundings of a command or a service."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lakelogic"
CATALOG = re.compile(r"\bLocalCatalog\(")
LEDGER = re.compile(r"(?<!def )\bopen_ledger\(")
HERE = re.compile(r"\bSurroundings\.here\(")

# What is made, and the only modules that make it.
MADE_IN = {
    CATALOG: {"catalogs/registry.py", "run/surroundings.py"},
    LEDGER: {
        "run/surroundings.py",
        "run/state/owners.py",  # a run that only judges has no ledger, and must know what is masked above it
    },
    HERE: {
        "cli/console.py",  # once for each command
        "cli/serve.py",  # once for each service, and the app that is made without one
        "api/app.py",
        "actions/operate/jobs.py",  # a child process inherits the directory and the variables, and no ledger
        "run/processor.py",  # Python users
        "actions/operate/drive.py",
        "driver/estate.py",
        "driver/graph.py",
    },
}


def makers(pattern: re.Pattern[str]) -> set[str]:
    """The modules in whose code (strings and comments included) the pattern stands."""
    return {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if pattern.search(path.read_text("utf-8"))}


@pytest.mark.parametrize("pattern", MADE_IN, ids=lambda pattern: pattern.pattern)
def test_surroundings_are_made_in_few_places(pattern: re.Pattern[str]) -> None:
    assert makers(pattern) == MADE_IN[pattern]
