"""What is masked further down is hidden wherever rows are shown, so that no table before it gives the text away.

A raw table holds in clear what the table after it masks. Whoever looks at it through the service sees it as the way
down from there shows it: hidden.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from lakelogic.actions.look.columns import column_graph
from lakelogic.actions.look.served import Served
from lakelogic.actions.visibility.late_masks import late
from lakelogic.errors import UsageError
from lakelogic.lineage.story import HIDDEN
from lakelogic.privacy.already_masked import is_masked

KEY_RULE = "primary_key_unique"
# What these tell of a column is how many values there are, not one of them.
_COUNTING = frozenset({"unique", "distinct_count", "null_ratio", "row_count_between"})
_SAID = "dataset rule `"
_FAILED = re.compile(r"(?P<before>dataset rule `(?P<name>.*?)` failed: )(?:(?!, expected ).)*")


def veiled(served: Served, dataset: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row of a dataset, or of its quarantine.

    What the contract masks is shown as it is kept, where it is kept masked: rows from before the mask are not.
    """
    hidden, masks = concealed(served, dataset, values), column_graph(served).shapes.get(dataset, {})

    def shown(name: str, value: Any) -> Any:
        mask = masks.get(name.lower())
        is_hidden = name.lower() in hidden or (mask is not None and not is_masked(value, mask))
        return HIDDEN if value is not None and is_hidden else value

    return {name: shown(name, value) for name, value in values.items()}


def concealed(served: Served, dataset: str, columns: Iterable[str] = ()) -> frozenset[str]:
    """The columns of a dataset, in small letters, that are in clear there and masked further down, or above by now.

    `columns` are those that are about to be shown: where nobody knows what is masked, that is all of them.
    """
    shown = tuple(columns)
    further_down = frozenset(name.lower() for name in column_graph(served).concealed(dataset, shown))
    return further_down | late(served, dataset, shown)


def refuse_hidden_key(served: Served, dataset: str) -> None:
    """Rows are not looked for by what is hidden in them: whoever guesses would learn who is there."""
    key = served.member(dataset).loaded.contract.key
    hidden = [name for name in key if name.lower() in concealed(served, dataset, key)]
    if hidden:
        raise UsageError(
            f"`{hidden[0]}` is hidden in `{dataset}`, so no row is looked for by it.",
            hint="Name the row by its place: `at` of a row that was told.",
        )


def veiled_run(served: Served, run: Mapping[str, Any]) -> dict[str, Any]:
    """A run as it is told: figures that dataset rules took from hidden columns are hidden, in sentences too."""
    shown: dict[str, Any] = veiled_facts(served, str(run.get("dataset")), dict(run))
    return shown


def veiled_facts(served: Served, dataset: str, facts: Any) -> Any:
    """The same for anything that tells of runs: reports, receipts, lines of a log."""
    if isinstance(facts, str):
        return veiled_text(served, dataset, facts)
    if isinstance(facts, Mapping):
        shown = {name: veiled_facts(served, dataset, value) for name, value in facts.items()}
        is_figure = facts.keys() >= {"name", "passed", "value", "expected"} and facts["value"] is not None
        return {**shown, "value": HIDDEN} if is_figure and _reads_hidden(served, dataset, facts["name"]) else shown
    if isinstance(facts, list | tuple):
        return [veiled_facts(served, dataset, fact) for fact in facts]
    return facts


def veiled_text(served: Served, dataset: str, text: str) -> str:
    """A sentence about a dataset rule without the figure, where that is hidden."""

    def without(match: re.Match[str]) -> str:
        secret = _reads_hidden(served, dataset, match["name"])
        return f"{match['before']}{HIDDEN}" if secret else match[0]

    return _FAILED.sub(without, text) if _SAID in text else text


def _reads_hidden(served: Served, dataset: str, rule_name: str) -> bool:
    """Whether a dataset rule tells of a column that is hidden; one that the contract no longer has might."""
    member = served.report().estate.graph.members.get(dataset)
    graph = column_graph(served)
    if member is None or dataset in graph.unsure:
        return True
    hidden = {name.lower() for name in graph.concealed(dataset) | graph.masks.get(dataset, {}).keys()}
    rules = member.loaded.contract.quality.dataset_rules
    # A rule without a name of its own is called after what it asks; which of them it is does not matter here.
    rules_read = [rule for rule in rules if rule.name == rule_name] or [rule for rule in rules if rule.name is None]
    if not rules_read and rule_name != KEY_RULE:
        return bool(hidden)
    asked = [rule for rule in rules_read if rule.kind not in _COUNTING]
    text = json.dumps([rule.model_dump(mode="json") for rule in asked], ensure_ascii=False).lower()
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in hidden)


def veiled_story(served: Served, dataset: str, story: Mapping[str, Any]) -> dict[str, Any]:
    """One row with its values, as they landed and as steps made them."""
    shown = {**story, "values": veiled(served, dataset, story["values"])}
    if story.get("original"):
        shown["original"] = veiled(served, dataset, story["original"])
    if story.get("story"):
        shown["story"] = [
            {**chapter, "values": veiled(served, dataset, chapter["values"])} for chapter in story["story"]
        ]
    return shown


def veiled_preview(served: Served, dataset: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """What an action would do, row by row."""
    return {**report, "rows": [veiled_story(served, dataset, row) for row in report["rows"]]}
