"""Nothing that a person can type, set or be told is undocumented: commands, options, variables, codes."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import click
import pytest

from lakelogic.cli.reference import GUIDES, VARIABLES, commands, page, shared_options
from lakelogic.contract import codes as contract_codes
from lakelogic.plan import codes as plan_codes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCES = sorted((ROOT / "src" / "lakelogic").rglob("*.py"))
COMMANDS = dict(commands())

# Names in the form of a variable that are none: tables and stages that an export makes, a setting of a Spark session.
OTHER_NAMES = {"LAKELOGIC_EXPORTS", "LAKELOGIC_STAGE_", "LAKELOGIC_ROWS_", "LAKELOGIC_MOVED"}
# What is put together from a beginning and a word, or means all that begin so.
BEGINNINGS = {"LAKELOGIC_OIDC_", "LAKELOGIC_API_"}
# Set for libraries while a command starts; nobody outside sets them for LakeLogic.
SET_BY_US = {"PYDANTIC_DISABLE_PLUGINS", "OPENBLAS_NUM_THREADS"}

OURS = re.compile(r"\bLAKELOGIC_[A-Z_]+")
READ = re.compile(r"\b(?:environ|given)(?:\.get\(|\.setdefault\(|\[)\"([A-Z][A-Z0-9_]+)\"")
CODE = re.compile(r"\bLL-[A-Z]\d{3}\b")


def mentions(pattern: re.Pattern[str]) -> set[str]:
    return {name for path in SOURCES for name in pattern.findall(path.read_text("utf-8"))}


def documented_variables() -> set[str]:
    return {variable.name for variables in VARIABLES.values() for variable in variables}


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_and_each_of_its_options_say_what_they_are_for(words: str) -> None:
    command = COMMANDS[words]
    assert command.help
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.opts[0] for option in options if not option.help] == []


@pytest.mark.parametrize("words", COMMANDS)
def test_the_page_tells_of_a_command_and_each_of_its_options(words: str) -> None:
    section = re.split(r"^## ", (DOCS / "reference" / "commands.md").read_text("utf-8"), flags=re.MULTILINE)
    text = next(part for part in section if part.startswith(f"`lakelogic {words}`"))
    names = [option.opts[0] for option in COMMANDS[words].params if isinstance(option, click.Option)]
    assert [name for name in names if f"`{name}" not in text] == []


def test_options_of_many_commands_are_explained_once() -> None:
    assert set(shared_options(COMMANDS)) >= {"--json", "--env", "--set", "--policy-pack", "--engine"}
    text = page("")
    assert text.count("One JSON object on stdout instead of text.") == 1


@pytest.mark.parametrize("words", GUIDES)
def test_an_example_of_a_command_can_be_typed(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = COMMANDS[words]
    monkeypatch.chdir(tmp_path)
    Path("orders.yaml").touch()
    for example in GUIDES[words].examples:
        program, *arguments = shlex.split(example)
        assert program == "lakelogic"
        assert arguments[: len(words.split())] == words.split()
        command.make_context(words, arguments[len(words.split()) :])  # an option that is not there is an error


@pytest.mark.parametrize("words", GUIDES)
def test_the_guide_of_a_command_leads_to_a_page(words: str) -> None:
    name, _, heading = (GUIDES[words].page or "index.md").partition("#")
    text = (DOCS / name).read_text("utf-8")
    headings = {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in text.splitlines()}
    assert not heading or heading in headings


def test_every_variable_that_the_code_names_is_documented() -> None:
    assert mentions(OURS) - OTHER_NAMES - BEGINNINGS - documented_variables() == set()


def test_every_variable_that_the_code_reads_is_documented() -> None:
    exports = (DOCS / "how-to" / "export.md").read_text("utf-8")
    read = mentions(READ) - SET_BY_US - documented_variables()
    assert sorted(name for name in read if f"`{name}`" not in exports) == []


def test_no_variable_is_documented_that_nothing_reads() -> None:
    ours = {name for name in documented_variables() if name.startswith("LAKELOGIC_")}
    composed = {name for name in ours if name.startswith(tuple(BEGINNINGS))}
    sources = [path for path in SOURCES if path.name != "reference.py"]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    assert sorted(name for name in ours - composed if not re.search(rf"\b{name}\b", text)) == []
    assert all(Counter(OURS.findall(text))[beginning] for beginning in BEGINNINGS)


def test_every_code_that_can_be_told_is_documented() -> None:
    told = mentions(CODE)
    documented = set(CODE.findall((DOCS / "reference" / "errors.md").read_text("utf-8")))
    assert told - documented == set()


@pytest.mark.parametrize("module", [contract_codes, plan_codes], ids=["contract", "plan"])
def test_a_code_has_one_name_and_one_meaning(module) -> None:
    names = Counter(value for name, value in vars(module).items() if name.isupper() and CODE.fullmatch(str(value)))
    assert [code for code, count in names.items() if count > 1] == []
    assert set(names) <= set(module.MEANINGS)
