"""JSON files that are one document each rather than a line for each record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lakelogic.storage.text_files import MOST_RECORD_BYTES, open_text

_FEWEST = 2  # records in an array, to be taken for records


def document_of(path: str, options: Mapping[str, object]) -> dict[str, Any] | None:
    """The object that a whole file is, where it does not stand on one line; None for anything else."""
    with open_text(path, options) as stream:
        text = stream.read(MOST_RECORD_BYTES + 1)
    if len(text) > MOST_RECORD_BYTES or not text.lstrip().startswith(b"{") or b"\n" not in text.strip():
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def are_documents(files: Sequence[str], options: Mapping[str, object]) -> tuple[bool, str | None]:
    """Whether every file is one object, and what to say of records inside: these do not become rows by themselves."""
    note: str | None = None
    for path in files:
        document = document_of(path, options)
        if document is None:
            return False, None
        note = note or _note(document)
    return bool(files), note


def _note(document: Mapping[str, Any]) -> str | None:
    held = [
        key
        for key, value in document.items()
        if isinstance(value, list) and len(value) >= _FEWEST and all(isinstance(item, dict) for item in value)
    ]
    if len(held) != 1:
        return None
    return (
        f"each file is one document, and one row; its records are in `{held[0]}`. Records inside a document are not "
        f"read as rows: a step `explode: {{field: {held[0]}}}` makes rows of them"
    )
