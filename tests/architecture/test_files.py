"""What every file of the repository keeps to: first lines, lengths, and no trace of a machine or a registry."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lakelogic"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.read_text("utf-8").strip())  # blank __init__.py aside

LONGEST = 600

# Hosts of package registries, and folders of somebody's machine; in pieces, so that this file passes itself.
REGISTRIES = re.compile(
    "|".join(
        re.escape(host)
        for host in (
            "pypi" + ".org",
            "python" + "hosted.org",
            "pypi" + ".python.org",
            "registry.np" + "mjs.org",
            "registry.yarn" + "pkg.com",
            "repo1.ma" + "ven.org",
            "repo.ma" + "ven.apache.org",
            "maven.org/ma" + "ven2",
            "conda.ana" + "conda.org",
            "repos.spark-pack" + "ages.org",
        )
    )
)
MACHINE_PATHS = re.compile(r"(?<![\w.*}>/-])/(?:root|work|home|Users|opt)/" + r"[\w.]")


def tracked_texts() -> list[tuple[str, str]]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    texts = []
    for name in filter(None, names.split("\0")):
        path = ROOT / name
        if not path.is_file():  # deleted, not committed yet
            continue
        try:
            texts.append((name, path.read_text("utf-8")))
        except UnicodeDecodeError:
            continue  # a picture or a data file with broken bytes on purpose
    return texts


def offences(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in tracked_texts()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def in_a_checkout() -> bool:
    return (ROOT / ".git").exists()


@pytest.mark.skipif(not in_a_checkout(), reason="only a checkout knows which files are tracked")
@pytest.mark.parametrize("pattern", [REGISTRIES, MACHINE_PATHS], ids=["registry", "machine"])
def test_no_tracked_file_names_a_registry_or_a_machine(pattern: re.Pattern[str]) -> None:
    assert offences(pattern) == []


def test_the_patterns_find_what_they_look_for() -> None:
    assert REGISTRIES.search("https://files.python" + "hosted.org/packages")
    assert MACHINE_PATHS.search("see /ho" + "me/ada/lake")
    assert not MACHINE_PATHS.search("spark/homes/app-1")
    assert not MACHINE_PATHS.search("#!/usr/bin/env bash")


def test_pins_carry_hashes_and_no_address() -> None:
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        text = path.read_text()
        pinned = re.findall(r"^[a-z0-9][\w.-]*==", text, re.MULTILINE)
        assert pinned, f"{path.name} pins nothing"
        assert text.count("--hash=sha256:") >= len(pinned)
        assert "://" not in text, f"{path.name} names an address"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_says_what_it_is_for_in_its_first_line(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")), clean=False)
    assert docstring, "no docstring"
    first = docstring.splitlines()[0].strip()
    assert len(first) >= 15, f"too short to say anything: {first!r}"
    assert path.read_text("utf-8").startswith('"""')


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST


def test_no_room_is_called_utils() -> None:
    shapeless = {"utils", "util", "helpers", "common", "misc"}
    assert [str(p.relative_to(SOURCE)) for p in MODULES if {p.stem, *p.relative_to(SOURCE).parts} & shapeless] == []
