"""Names say what a thing is: no bare participles, no figures of speech, one class per class name, `window` for SQL's alone.

`names.json` holds what is still left of an earlier wording, and may only shrink; a module that is not in it has none.
`python tests/architecture/test_names.py` writes it again: lower counts, and those of modules that were moved.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lakelogic"
ALLOWED = Path(__file__).with_name("names.json")

PARTICIPLES = {"told", "found", "made", "said", "one", "known"}
FIGURES = {
    "bench", "cuts", "foresight", "meeting", "meetings", "reals", "rehearsal", "rehearse", "rehearsed", "stranger",
    "strangers", "veil",
}  # fmt: skip
WINDOWS = {"window", "windows"}
SPEAK_OF_SQL_WINDOWS = ("contract", "sql", "plan", "engines", "parity")  # and of the contract's own keys
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

Counts = dict[str, int]


@cache
def modules() -> dict[str, ast.Module]:
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Every name that a module binds or reads, those inside f-strings too."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.rpartition(".")[2]
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names


def words(name: str) -> set[str]:
    return {word.lower() for word in WORD.findall(name)}


def participles() -> Counts:
    return _per_module(lambda name: name.strip("_") in PARTICIPLES)


def figures() -> Counts:
    return _per_module(lambda name: bool(words(name) & FIGURES))


def windows() -> Counts:
    counts = _per_module(lambda name: bool(words(name) & WINDOWS))
    return {module: count for module, count in counts.items() if module.split("/")[0] not in SPEAK_OF_SQL_WINDOWS}


def classes() -> Counts:
    names = [
        node.name.lstrip("_")
        for tree in modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    return {name: count - 1 for name, count in Counter(names).items() if count > 1}


def _per_module(is_counted: Callable[[str], bool]) -> Counts:
    counts = {}
    for module, tree in modules().items():
        file_name = Path(module).stem
        counts[module] = sum(map(is_counted, identifiers(tree))) + is_counted(file_name)
    return {module: count for module, count in counts.items() if count}


SECTIONS = {"participles": participles, "figures of speech": figures, "window": windows, "class names": classes}


def test_a_name_is_split_into_its_words() -> None:
    assert words("_MeetingPoint") == {"meeting", "point"}
    assert words("is_rehearsal") == {"is", "rehearsal"}
    assert words("has_meetings2") == {"has", "meetings"}


def test_names_inside_of_f_strings_and_patterns_are_seen() -> None:
    code = "match x:\n    case [*found]: print(f'{one!r:>{made}}')\n"
    assert {"found", "one", "made"} <= set(identifiers(ast.parse(code)))


@pytest.mark.parametrize("section", SECTIONS)
def test_no_module_goes_back_to_an_earlier_wording(section: str) -> None:
    allowed = json.loads(ALLOWED.read_text("utf-8")).get(section, {})
    more = {name: count for name, count in SECTIONS[section]().items() if count > allowed.get(name, 0)}
    assert not more, f"{section}: choose a noun that says what it is (docs/decisions/0074-names.md)"


def write() -> None:
    """Write the counts of today, if no section has more than it had."""
    before = json.loads(ALLOWED.read_text("utf-8")) if ALLOWED.exists() else {}
    now = {section: dict(sorted(count().items())) for section, count in SECTIONS.items()}
    grown = [
        section for section in now if section in before and sum(now[section].values()) > sum(before[section].values())
    ]
    if grown:
        sys.exit(f"There are more than before: {', '.join(grown)}.")
    ALLOWED.write_text(json.dumps(now, indent=2) + "\n", "utf-8")
    for section, counts in now.items():
        print(f"{section}: {sum(counts.values())} in {len(counts)}")


if __name__ == "__main__":
    write()
