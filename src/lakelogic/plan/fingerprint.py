"""The stable identity of what a contract means: two documents that make the same rows have the same fingerprint.

It is taken from the resolved model, not from the text: comments, formatting, the order of keys, defaults that are
written out and everything that is there for readers leave it as it is. A key that is not listed here has a meaning.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded
from lakelogic.contract.reading.tree import plain
from lakelogic.plan.columns.unseen import masks_something, policy

# For readers, for the driver and for whoever looks after the table: no row is another one for them.
_FOR_READERS = frozenset(
    {
        "version",
        "info",
        "metadata",
        "extensions",
        "engine",
        "environments",
        "service_levels",
        "upstream",
        "upstream_sources",
        "upstream_policy",
        "upstream_grace_hours",
        "downstream",
        "schedule",
        "compliance",
        "notifications",
        "exports",
        "cost",
        "ownership",
        "tags",
        "source.empty_behavior",
        "source.identity",
        "model.grain",
        "model.fields[].description",
        "model.fields[].classification",
        "links[].broadcast",
        "transformations[].name",
        "transformations[].engine",
        "quality.row_rules[].description",
        "quality.dataset_rules[].description",
        "model.fields[].rules[].description",
        "quarantine.retention",
        "quarantine.notifications",
        "materialization.compaction",
    }
)
# Said in several ways; what they come to is told below.
_RESOLVED = frozenset(
    {"dataset", "tier", "layer", "target_layer", "primary_key", "materialization.primary_key", "dialect"}
)
# What rows are made by; and, of the source, what only says where they are and which of them are read.
_MAKES_ROWS = ("model", "transformations", "schema_policy", "lineage")
_OF_BATCHES = frozenset({"dataset_rules", "max_quarantine_ratio", "fail_pipeline_on_dataset_error"})
_WHICH_ROWS = frozenset(
    [
        "type",
        "path",
        "pattern",
        "load_mode",
        "partition",
        "partition_filters",
        "watermark_strategy",
        "watermark_field",
        "lookback",
        "from_date",
        "to_date",
        "post_ingestion",
    ]
)
# Keys that hold SQL, wherever they stand.
_SQL = frozenset({"sql", "generated", "aggregations", "key_expr", "filter", "reference_sql"})
# Here a default that is written says more than one that is not.
_WRITTEN = frozenset({"model.fields[].pii", "materialization.strategy", "transformations[].default"})


def fingerprint(loaded: Loaded) -> str:
    """A short hash over everything in a contract that can change its rows."""
    # Beside masks, silence about unknown columns meant `allow` once: either is told from what was written then.
    meant = policy(loaded.contract) if masks_something(loaded.contract) else None
    return _hash(_meaning(loaded) | ({"unknown": meant} if meant in ("allow", "aside") else {}))


def _meaning(loaded: Loaded) -> dict[str, Any]:
    contract = loaded.contract
    kept = _section(contract, "", contract.dialect)
    kept["~"] = {"dataset": contract.dataset_name, "layer": contract.layer, "key": contract.key, "in": contract.dialect}
    return kept


def making(loaded: Loaded) -> str:
    """A short hash over how rows are made, wherever they are read from and however they meet their table."""
    kept = _meaning(loaded)
    source = _reading(kept)
    links = [
        {name: value for name, value in link.items() if name not in ("path", "table")} for link in kept.get("links", ())
    ]
    rules = {name: value for name, value in kept.get("quality", {}).items() if name not in _OF_BATCHES}
    return _hash({name: kept.get(name) for name in _MAKES_ROWS} | {"source": source, "links": links, "quality": rules})


def reading(loaded: Loaded) -> str:
    """A short hash over how rows are read, wherever they are: what a replay cannot do again."""
    return _hash(_reading(_meaning(loaded)))


def _reading(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kept.get("source", {}).items() if name not in _WHICH_ROWS}


def earlier(loaded: Loaded) -> tuple[str, ...]:
    """The fingerprints that earlier versions gave this contract."""
    return (_hash(_meaning(loaded)), _first(loaded))


def is_of(loaded: Loaded, mark: str) -> bool:
    """Whether a fingerprint that was written down is that of this contract, by today's count or an earlier one.

    Not where unknown columns are kept aside by now, and were published when it was written down.
    """
    if mark == fingerprint(loaded):
        return True
    return policy(loaded.contract) != "aside" and mark in earlier(loaded)


def _section(section: BaseModel, at: str, dialect: str) -> dict[str, Any]:
    dialect = getattr(section, "dialect", None) or dialect
    document: dict[str, Any] = {}
    for name, key in type(section).model_fields.items():
        called = key.alias or name
        path = f"{at}.{called}" if at else called
        value = getattr(section, name)
        if path in _RESOLVED or (path in _FOR_READERS and not _is_reason(section, path)):
            continue
        default = key.get_default(call_default_factory=True)
        if value == default and name != "kind" and not (path in _WRITTEN and name in section.model_fields_set):
            continue
        plain_ = _value(value, path, dialect, is_sql=called in _SQL)
        if plain_ != {} or default is None:  # `scd2: {}` says something, `quarantine: {}` does not
            document[called] = plain_
    return document


def _is_reason(section: BaseModel, path: str) -> bool:
    """A step that sends rows to quarantine gives its name as their reason."""
    sends = (getattr(section, "losers", None), getattr(section, "blank_keys", None))
    return path == "transformations[].name" and "quarantine" in sends


def _value(value: Any, at: str, dialect: str, *, is_sql: bool = False) -> Any:
    if isinstance(value, BaseModel):
        return _section(value, at, dialect)
    if isinstance(value, Mapping):
        return {str(key): _value(item, f"{at}.{key}", dialect, is_sql=is_sql) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_value(item, f"{at}[]", dialect, is_sql=is_sql) for item in value]
    if is_sql and isinstance(value, str):
        return _sql(value, dialect, shown="rules[]" in at or at.endswith("generated"))
    return value


def _sql(text: str, dialect: str, *, shown: bool) -> Any:
    """SQL without its blanks and comments; rules show their text in reasons, so there it counts as it is shown."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = [[str(token.token_type), token.text] for token in sqlglot.tokenize(text, read=dialect)]
    except SqlglotError:
        return text
    return [" ".join(text.split()), tokens] if shown else tokens


def _hash(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# What the first way of counting left out: ledgers and held batches may still hold its fingerprints.
_LEFT_OUT_FIRST = frozenset(
    [
        "info",
        "metadata",
        "ownership",
        "tags",
        "compliance",
        "downstream",
        "extensions",
        "engine",
        "environments",
        "exports",
        "upstream_policy",
        "upstream_grace_hours",
    ]
)


def _first(loaded: Loaded) -> str:
    contract: Contract = loaded.contract
    content: dict[str, Any] = (
        plain(loaded.tree)
        if loaded.tree.entries
        else contract.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    )
    kept = {key: value for key, value in content.items() if key not in _LEFT_OUT_FIRST and not key.startswith("x-")}
    return _hash({**kept, "dataset": contract.dataset_name})
