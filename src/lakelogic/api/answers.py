"""How answers are written: values without loss, documents with an ETag, pages with a cursor."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator, StringConstraints

from lakelogic.errors import UsageError

_SAFE_INTEGER = 2**53 - 1  # what a browser's number still holds exactly
_MOST_CURSOR = 1_000


def here() -> str | None:
    """The folder that the service was started in, as paths below it begin; None for the root."""
    folder = str(Path.cwd())
    return None if folder == os.sep else folder + os.sep


def near(text: str, folder: str | None) -> str:
    """A text in which paths below the folder begin there: where the machine keeps its estate is nobody's business."""
    return text.replace(folder, "") if folder is not None and folder in text else text


def far(path: str) -> str:
    """The path that `near` made shorter, whole again; addresses, names of tables and whole paths stay as they are."""
    if "://" in path:
        return path
    whole = Path.cwd() / path
    try:
        return str(whole) if "/" in path or whole.exists() else path
    except OSError:  # a name that no file can have
        return path


def plain(value: Any, folder: str | None = None) -> Any:
    """A value as JSON holds it without loss: decimals and large integers as text, times as ISO 8601.

    With a folder, paths below it begin there.
    """
    if value is None or isinstance(value, str | bool):
        return near(value.encode("utf-8", "replace").decode(), folder) if isinstance(value, str) else value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {near(str(key), folder): plain(item, folder) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item, folder) for item in value]
    return near(str(value), folder)


def document(request: Request, body: Any) -> Response:
    """A document with an ETag; nothing but that where whoever asks has it already."""
    content = json.dumps(plain(body, here()), ensure_ascii=False, separators=(",", ":")).encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    tags = [entry.strip().removeprefix("W/") for entry in request.headers.get("if-none-match", "").split(",")]
    if tag in tags or "*" in tags:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def answer(body: Any, status: int = 200, **headers: str) -> JSONResponse:
    """An answer that is not kept."""
    return JSONResponse(plain(body, here()), status, headers)


def cursor(*parts: Any) -> str:
    """Where a page ended, as a word that nobody needs to understand."""
    text = json.dumps([part.isoformat() if isinstance(part, datetime) else part for part in parts])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str | None, kind: Literal["instant", "number", "text"] = "instant") -> tuple[Any, str] | None:
    """The sort value and the identity of the last row that was seen."""
    if text is None:
        return None
    try:
        if len(text) > _MOST_CURSOR:
            raise ValueError
        value, identity = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True))
        if value is not None:
            value = _KINDS[kind](value)
        if not isinstance(identity, str):
            raise ValueError
        printable(identity)
    except (ValueError, TypeError, OverflowError, binascii.Error, RecursionError):
        raise UsageError("The cursor is not one of ours.", hint="Take `next` of the page before, or none.") from None
    return value, identity


def in_utc(moment: datetime) -> datetime:
    """An instant in UTC; one that does not fit there is refused."""
    if moment.tzinfo is None:
        raise ValueError("has no time zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies outside of all calendars") from None


def printable(text: str) -> str:
    """Refuse what no database takes: NUL, and half of a character."""
    if "\0" in text:
        raise ValueError("holds a NUL")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("holds half of a character") from None
    return text


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("is no number")
    return float(value)


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "instant": lambda text: in_utc(datetime.fromisoformat(text)),
    "number": _number,
    "text": lambda text: printable(text) if isinstance(text, str) else _number(None),
}
Word = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(printable)]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=2_000), AfterValidator(printable)]
