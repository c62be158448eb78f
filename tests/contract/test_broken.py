"""Every broken contract of the corpus is told apart: code, line, path, cause and fix, and nothing else is said."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lakelogic.contract.describe.availability import check
from lakelogic.contract.reading.load import load
from lakelogic.errors import Diagnostic, LoadError

CORPUS = sorted((Path(__file__).parent / "broken").glob("*.yaml"))
PYDANTIC_WORDS = re.compile(
    r"Input should|Extra inputs|Field required|valid (?:string|integer|list|dictionary)|pydantic"
)


def headers(text: str, word: str) -> list[str]:
    return [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith(f"# {word}:")]


def diagnostics(file: Path, text: str) -> list[Diagnostic]:
    env = next(iter(headers(text, "env")), None)
    try:
        loaded = load(file, env=env, overrides=headers(text, "set") or None, environ={})
    except LoadError as error:
        return list(error.diagnostics)
    return check(loaded)


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_a_broken_contract_names_its_line_its_cause_and_a_fix(file: Path) -> None:
    text = file.read_text()
    expected = [shlex.split(line) for line in headers(text, "expect")]
    found = diagnostics(file, text)
    assert expected, "a broken contract must say what is wrong with it"
    assert [d.code for d in found] == [words[0] for words in expected], "\n".join(map(str, found))
    for diagnostic, (_, *rest) in zip(found, expected, strict=True):
        wanted = dict(part.split("=", 1) for part in rest)
        if "line" in wanted:
            assert diagnostic.where.file == str(file)
            assert diagnostic.where.line == int(wanted["line"])
            assert diagnostic.where.column is not None
        assert (diagnostic.where.path or "-") == wanted["path"]
        assert wanted["says"] in diagnostic.message
        assert diagnostic.hint is not None
        assert wanted["hint"] in diagnostic.hint
        assert not PYDANTIC_WORDS.search(str(diagnostic))


def test_the_corpus_is_large_enough() -> None:
    assert len(CORPUS) >= 100
