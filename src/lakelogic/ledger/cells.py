"""How values of records become cells of a table and come back: by the name of the column, the same on every database.

A parameter of a statement has the name of the column it is compared with or put into.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from lakelogic.ledger.records import RUN_COLUMNS

Dialect: TypeAlias = Literal["sqlite", "postgresql"]

_KINDS: Final[Mapping[str, str]] = dict(RUN_COLUMNS) | {
    "input": "json",
    "staged": "json",
    "created_at": "instant",
    "acquired_at": "instant",
    "expires_at": "instant",
    "recorded_at": "instant",
    "applied_at": "instant",
    "done_at": "instant",
    "held_at": "instant",
    "decided_at": "instant",
    "revoked_at": "instant",
    "at": "instant",
    "since_at": "instant",
    "until_at": "instant",
    "facts": "json",
    "roles": "json",
    "outcome": "json",
    "body": "text",
    "owner": "text",
    "person": "text",
    "why": "text",
    "path": "path",
}

# Microseconds always, so that text in SQLite sorts as time does.
_SQLITE_INSTANT = "%Y-%m-%d %H:%M:%S.%f"
_BYTES = "bytes:"


def to_cells(values: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Values as the driver takes them."""
    return {name: _to_cell(_KINDS.get(name), value, dialect) for name, value in values.items()}


def from_cells(cells: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """Values as records hold them: instants are aware and in UTC, JSON is unfolded."""
    return {name: _from_cell(_KINDS.get(name), cell, dialect) for name, cell in cells.items()}


def _to_cell(kind: str | None, value: Any, dialect: Dialect) -> Any:
    if value is None:
        return None
    match kind:
        case "instant":
            instant = value.astimezone(UTC)
            # strftime writes years before 1000 without leading zeros.
            return f"{instant.year:04}{instant:{_SQLITE_INSTANT[2:]}}" if dialect == "sqlite" else instant
        case "json":
            return _to_json(value)
        case "text":
            # PostgreSQL refuses NUL, both refuse half a surrogate pair; an error message must not break the ledger.
            return value.replace("\0", "?").encode("utf-8", "replace").decode("utf-8")
        case "path":
            return _path_to_cell(value)
    return value


def _from_cell(kind: str | None, cell: Any, dialect: Dialect) -> Any:
    if cell is None:
        return None
    match kind:
        case "instant":
            return datetime.fromisoformat(cell).replace(tzinfo=UTC) if dialect == "sqlite" else cell.astimezone(UTC)
        case "json":
            return json.loads(cell) if dialect == "sqlite" else cell
        case "path" if cell.startswith(_BYTES):
            return bytes.fromhex(cell.removeprefix(_BYTES)).decode("utf-8", "surrogateescape")
    return cell


def _path_to_cell(path: str) -> str:
    """A path must come back exactly, even where its name is not UTF-8: Python reads such bytes as surrogates."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        pass
    else:
        if not path.startswith(_BYTES):
            return path
    return _BYTES + path.encode("utf-8", "surrogateescape").hex()


def _to_json(value: object) -> str:
    """JSON that every database takes: numbers that are none become NULL, dates and decimals text."""
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(f"{type(value).__name__} does not fit into the ledger")


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
