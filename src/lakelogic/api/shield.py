"""What every request passes first and every answer wears: ids, headers, and limits on size, rate and time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import secrets
import time
from collections import Counter, OrderedDict
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lakelogic import printable
from lakelogic.api.settings import Settings, host_names
from lakelogic.errors import Defect, Refused, UsageError, trace
from lakelogic.storage.room import world_error

log = logging.getLogger("lakelogic.api")

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'self'; frame-ancestors 'none'; form-action 'self'"
)
HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_STREAM = re.compile(r"/api/v1/(?:jobs/[^/]+/)?events/?$")
_MOST_CALLERS = 10_000


class _Asking(NamedTuple):
    """A person whom a token has let in before, or the strangers of an address; and whether they ask for a stream."""

    who: str
    is_known: bool
    is_stream: bool


class _TooLarge(Exception):
    """The body goes on after it should have ended."""


class _Body:
    """A body that says nothing of its length, counted while it comes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most
        self.is_too_large = False

    async def __call__(self) -> Message:
        """The next part of it."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                self.is_too_large = True
                raise _TooLarge
        return message


class Shield:
    """Around the whole app: refuses before anything is read, and lets no answer out without its headers."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = host_names(settings)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._known: OrderedDict[str, str] = OrderedDict()  # whom a token has let in before
        self._busy: Counter[_Asking] = Counter()  # how many requests are being answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._settings.root_path:
            scope["root_path"] = self._settings.root_path  # whether the proxy in front takes it off or not
        # The first of several, as the routes read it.
        headers = {n.decode("latin-1").lower(): value.decode("latin-1") for n, value in reversed(scope["headers"])}
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        started = is_over = False
        body = _Body(receive, self._settings.most_body_bytes)

        async def dressed(message: Message) -> None:
            if not (body.is_too_large or is_over):  # nobody hears what the app makes of that
                await plainly(message)

        async def plainly(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = [(b"x-request-id", request_id.encode()), *HEADERS]
                there = {name.lower() for name, _ in message["headers"]}
                if b"cache-control" not in there:
                    own.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message["headers"], *(h for h in own if h[0] not in there)]}
            await send(message)

        asking = self._asking(scope, headers)
        refusal = self._refusal(scope, headers, asking)
        if refusal is not None:
            await self._say(dressed, request_id, *refusal)
            return
        # Not wait_for: it would wait for a thread that goes on, and so would whoever asked.
        task = asyncio.ensure_future(self._app(scope, body, dressed))
        self._busy[asking] += 1
        task.add_done_callback(lambda _: self._ended(asking))
        try:
            done, _ = await asyncio.wait({task}, timeout=self._seconds(scope))
        except asyncio.CancelledError:
            task.cancel()
            raise
        if (person := scope["state"].get("person")) is not None:
            self._remember(_sent(scope, headers), person)
        refused: tuple[int, str, str, int | None] | None = None
        if not done:
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            refused = (504, "It took too long.", UsageError.code, None)
            is_over = True
            task.cancel()
        elif body.is_too_large:
            task.exception()
            refused = (413, "The body is too large.", UsageError.code, None)
        elif (error := task.exception()) is not None:
            asked = printable.line(scope["path"])
            log.error(
                "%s %s (%s) failed\n%s", scope["method"], asked, request_id, trace(error), extra={"has_lines": True}
            )
            # Its own text may hold values of rows.
            refused = (500, f"This is a defect in LakeLogic: {type(error).__name__}.", Defect.code, None)
            if (world := world_error(error)) is not None:
                refused = (503, "The service's machine refused something; its log says what.", world.code, None)
        if refused is not None and not started:
            await self._say(plainly, request_id, *refused)

    def _seconds(self, scope: Scope) -> float:
        settings = self._settings
        return settings.seconds_per_request + (settings.stream_seconds if _is_stream(scope) else 0)

    def _asking(self, scope: Scope, headers: dict[str, str]) -> _Asking:
        """Whose rate a request takes from.

        A token that never let anybody in takes from what its address has, and every token of a person from what the
        person has: neither made-up ones nor many are a way around.
        """
        person = self._known.get(_sent(scope, headers))
        who = _address(scope) if person is None else f"person {person}"
        return _Asking(who, person is not None, _is_stream(scope))

    def _ended(self, asking: _Asking) -> None:
        self._busy[asking] -= 1
        if self._busy[asking] <= 0:
            del self._busy[asking]

    def _refusal(
        self, scope: Scope, headers: dict[str, str], asking: _Asking
    ) -> tuple[int, str, str, int | None] | None:
        """Status, words, code and seconds to wait; None for a request that may go on."""
        settings = self._settings
        if _bare(headers.get("host", "")) not in self._hosts:
            return 421, "This service does not answer to that name.", Refused.code, None
        if self._is_foreign(scope, headers):
            return 403, "Another site's page cannot ask here.", Refused.code, None
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > settings.most_body_bytes:
            return 413, f"A body has at most {settings.most_body_bytes:,} bytes.", UsageError.code, None
        if (wait := self._wait(asking.who)) is not None:
            return 429, "Too many requests.", UsageError.code, wait
        # Strangers are answered quickly, and behind a proxy all of them have one address.
        most = settings.streams_at_once if asking.is_stream else settings.at_once
        if self._busy[asking] >= (most if asking.is_known else settings.burst):
            what = "streams" if asking.is_stream else "requests"
            return 429, f"Too many {what} at once: end one before another begins.", UsageError.code, 1
        return None

    def _is_foreign(self, scope: Scope, headers: dict[str, str]) -> bool:
        """A browser says whose page asks. Reading is kept from others by the lack of CORS; changing is refused here."""
        origin = headers.get("origin")
        if origin is not None and origin in self._settings.cors_origins:
            return False
        if headers.get("sec-fetch-site", "none") in ("cross-site", "same-site"):
            return scope["method"] != "GET" or headers.get("sec-fetch-mode") != "navigate"
        if origin is None or scope["method"] not in _CHANGES:
            return False
        return _bare(origin.partition("://")[2]) != _bare(headers.get("host", ""))

    def _wait(self, who: str) -> int | None:
        """Seconds until they may ask again; None for now."""
        rate, burst, now = self._settings.requests_per_second, float(self._settings.burst), time.monotonic()
        left, at = self._buckets.get(who, (burst, now))
        left = min(burst, left + (now - at) * rate)
        allowed = left >= 1
        self._buckets[who] = (left - 1 if allowed else left, now)
        self._buckets.move_to_end(who)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)
        return None if allowed else max(1, round((1 - left) / rate))

    def _remember(self, sent: str, person: str) -> None:
        self._known[sent] = person
        self._known.move_to_end(sent)
        if len(self._known) > _MOST_CALLERS:
            self._known.popitem(last=False)

    @staticmethod
    async def _say(send: Any, request_id: str, status: int, title: str, code: str, wait: int | None) -> None:
        problem = {"type": "about:blank", "title": title, "status": status, "code": code, "request_id": request_id}
        body = json.dumps(problem).encode()
        headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
        if wait is not None:
            headers.append((b"retry-after", str(wait).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _is_stream(scope: Scope) -> bool:
    return scope["method"] == "GET" and _STREAM.search(scope["path"]) is not None


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("?",))[0])


def _sent(scope: Scope, headers: dict[str, str]) -> str:
    """An address with the hash of the token that it sent; the token itself is not kept."""
    given = headers.get("authorization", "").encode("latin-1", "replace")
    return f"{_address(scope)} {hashlib.sha256(given).hexdigest()[:16]}"


def _bare(host: str) -> str:
    """A host without its port, in small letters."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.rpartition(":")[0] if host.count(":") == 1 else host
