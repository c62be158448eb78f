"""Decision records have one form, so that the index can be made from them and a reader knows where to look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("0*.md"))

TITLE = re.compile(r"# (?P<number>\d{4}) · \S.*[^.]")
LABEL = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE)
# Other words for the same sections, which records had before they had one form.
OTHER_WORDS = {"Decided.", "The trouble.", "What follows.", "What it costs.", "What was weighed.", "What was tried."}
LONGEST_SENTENCE = 170


def faults(name: str, text: str) -> list[str]:
    """What a record lacks of the form of all records."""
    title, blank, sentence, after, *_ = [*text.splitlines(), "", "", "", ""]
    match = TITLE.fullmatch(title)
    found = [] if match and match["number"] == name[:4] else [f"the title is not `# {name[:4]} · Title`"]
    if blank or after or not re.fullmatch(rf"> .{{20,{LONGEST_SENTENCE}}}\.", sentence):
        found.append("the third line is not `> One sentence that says what was decided.`")
    labels = LABEL.findall(text)
    if labels[:1] != ["Question."] or "Decision." not in labels:
        found.append("it begins with **Question.**, and then comes **Decision.**")
    return found + [f"**{label}** has another name in all records" for label in labels if label in OTHER_WORDS]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name)
def test_a_record_has_the_form_of_all_records(path: Path) -> None:
    assert faults(path.name, path.read_text("utf-8")) == []


def test_the_form_is_looked_at() -> None:
    good = "# 0099 · Rows count\n\n> Rows are counted where they are lost.\n\n**Question.** How?\n\n**Decision.** So.\n"
    assert faults("0099-rows.md", good) == []
    assert len(faults("0098-rows.md", good)) == 1
    assert len(faults("0099-rows.md", good.replace("> Rows are counted where they are lost.\n\n", ""))) == 1
    assert len(faults("0099-rows.md", "# 99. Rows count\n\n**Decided.** So.\n")) == 4


def test_a_number_belongs_to_one_record() -> None:
    numbers = [path.name[:4] for path in RECORDS]
    assert len(numbers) == len(set(numbers))


def test_the_index_names_every_record() -> None:
    index = (FOLDER / "index.md").read_text("utf-8")
    assert [path.name for path in RECORDS if f"({path.name})" not in index] == []
