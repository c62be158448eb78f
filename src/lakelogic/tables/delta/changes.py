"""What commits did to the rows of a Delta table, from the actions in its log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic.tables.base import TableChanges
from lakelogic.tables.delta.open import absolute
from lakelogic.tables.partitions import value_of

_WIDER = "wider types"  # how a commit of ours begins that writes all rows again in other types


@dataclass(slots=True)
class _Walk:
    added: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by path and deletion vector
    removed: set[str] = field(default_factory=set)


def changes(root: str, since: int, until: int, schema: pa.Schema) -> TableChanges | None:
    """The files that came and went after `since`; None where a commit in between is not in the log any more.

    Commits that only lay rows out anew (`dataChange: false`) are no change. A file that came and went in between is
    none either: whatever took its place came after it.
    """
    walk = _Walk()
    for version in range(since + 1, until + 1):
        commit = Path(root) / "_delta_log" / f"{version:020d}.json"
        try:
            lines = commit.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return None
        actions = [json.loads(line) for line in lines if line.strip()]
        if any(_is_wider(action) for action in actions):
            if walk.added:
                return None  # those files have other types than the table now
            continue
        for action in actions:
            _follow(walk, action)
    added = {key: add for key, add in walk.added.items() if key not in walk.removed}
    types = {name: schema.field(name).type for name in schema.names}
    parts = {
        absolute(root, add["path"]): {
            name: value_of(text, types[name]) for name, text in add.get("partitionValues", {}).items() if name in types
        }
        for add in added.values()
    }
    paths = tuple(absolute(root, add["path"]) for add in added.values())
    return TableChanges(paths, len(walk.removed - walk.added.keys()), parts if any(parts.values()) else {})


def _follow(walk: _Walk, action: Mapping[str, Any]) -> None:
    if add := action.get("add"):
        if add.get("dataChange", True):
            walk.added[_key(add)] = add
    elif (remove := action.get("remove")) and remove.get("dataChange", True):
        walk.removed.add(_key(remove))


def _key(file: Mapping[str, Any]) -> str:
    """A file with other rows deleted from it is another one."""
    vector = file.get("deletionVector") or {}
    return f"{file['path']}#{vector.get('pathOrInlineDv', '')}#{vector.get('offset', '')}" if vector else file["path"]


def _is_wider(action: Mapping[str, Any]) -> bool:
    comment = action.get("commitInfo", {}).get("lakelogic")
    return isinstance(comment, str) and comment.startswith(_WIDER)
