"""Bring rules that were written elsewhere into a contract: a JSON list of rule, field, condition and label."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lakelogic.errors import UsageError

_NOT_NULL = re.compile(r"(?:(?:must|may) not be|is not|not) null|not[_ ]null|required", re.IGNORECASE)
_COMPARED = re.compile(r"(?:must be )?(?P<op><=|>=|<>|!=|==?|<|>)\s*(?P<value>-?\d+(?:\.\d+)?|'[^']*')", re.IGNORECASE)
_NEWEST = re.compile(r"(?:dedup\w*|deduplicate|unique),?\s*keep\s+(?:the\s+)?(?:newest|latest)", re.IGNORECASE)
_UNIQUE = re.compile(r"(?:must be )?unique", re.IGNORECASE)
_WORDS: Mapping[str, tuple[str, ...]] = {
    "name": ("name", "rule", "id"),
    "field": ("field", "column"),
    "condition": ("condition", "check", "expression"),
    "label": ("rejected_label", "label", "rejection_reason", "reason"),
}
_KNOWN = "`Must not be null`, `Must be > 0` (or another comparison), `Must be unique`, `Dedup, keep newest`"


@dataclass(frozen=True, slots=True)
class ImportedRules:
    """The rules as a contract writes them, under `quality.row_rules`."""

    file: str
    rules: tuple[dict[str, Any], ...]

    @property
    def text(self) -> str:
        """As YAML that can stand in a contract."""
        document = {"quality": {"row_rules": list(self.rules)}}
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)


def import_rules(file: str, newest_by: tuple[str, ...] = ()) -> ImportedRules:
    """Read a file of rules; `newest_by` orders the rows of which the newest is kept, where a rule does not say it."""
    path = Path(file)
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {error.strerror or error}.", hint="Name a JSON file.") from error
    except ValueError as error:
        raise UsageError(f"`{file}` is not JSON: {error}.", hint="Name a file as rules.json of the lab.") from error
    listed = document.get("rules") if isinstance(document, dict) else document
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"`{file}` holds no list of rules.", hint='Write {"rules": [ … ]}, or a list.')
    rules = [_rule(each, f"{file}: rule {number}", newest_by) for number, each in enumerate(listed, 1)]
    names = [rule["name"] for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"`{file}` has more than one rule `{twice[0]}`.", hint="Give every rule a name of its own.")
    return ImportedRules(file, tuple(rules))


def _rule(written: Any, where: str, newest_by: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(written, dict):
        raise UsageError(f"{where} is not an object.", hint="Write name, field, condition and rejected_label.")
    values: dict[str, Any] = {}
    for word, keys in _WORDS.items():
        values[word] = next((written[key] for key in keys if key in written), None)
    for word in ("name", "field", "condition"):
        if not isinstance(values[word], str) or not values[word].strip():
            raise UsageError(f"{where} has no `{word}`.", hint="Write name, field, condition and rejected_label.")
    rule: dict[str, Any] = {"name": values["name"].strip()}
    rule |= _meaning(values["field"].strip(), values["condition"].strip(), _order(written, where) or newest_by, where)
    if values["label"] is not None:
        rule["label"] = str(values["label"])
    return rule


def _meaning(field: str, condition: str, newest_by: tuple[str, ...], where: str) -> dict[str, Any]:
    """What a condition in words asks, as a rule of a contract; one that is not known is refused, never guessed."""
    if _NOT_NULL.fullmatch(condition):
        return {"not_null": field}
    if compared := _COMPARED.fullmatch(condition):
        op = {"==": "=", "!=": "<>"}.get(compared["op"], compared["op"])
        name = field if re.fullmatch(r"[A-Za-z_]\w*", field) else '"' + field.replace('"', '""') + '"'
        return {"sql": f"{name} {op} {compared['value']}"}
    if _NEWEST.fullmatch(condition):
        if not newest_by:
            raise UsageError(
                f"{where} keeps the newest row of a `{field}`, and does not say by what.",
                hint='Add "order_by": ["updated_at desc"] to the rule, or --newest-by "updated_at desc".',
            )
        return {"unique": {"fields": [field], "keep": "first", "order_by": list(newest_by)}}
    if _UNIQUE.fullmatch(condition):
        return {"unique": {"fields": [field]}}
    raise UsageError(f"{where}: the condition `{condition}` is not known.", hint=f"Known are {_KNOWN}.")


def _order(written: Mapping[str, Any], where: str) -> tuple[str, ...]:
    order = written.get("order_by", ())
    listed = [order] if isinstance(order, str) else order
    if not isinstance(listed, list | tuple) or not all(isinstance(column, str) for column in listed):
        raise UsageError(f"{where}: `order_by` is not a list of columns.", hint='Write ["updated_at desc"].')
    return tuple(listed)
