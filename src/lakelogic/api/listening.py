"""How long a caller may take to say what they want: who opens a connection and says nothing holds it no longer."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 15.0
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\nconnection: close\r\n"
    b"content-length: 78\r\n\r\n"
    b'{"type":"about:blank","title":"The request came too slowly.","status":408}    '
)


class Hasty(H11Protocol):
    """HTTP as uvicorn speaks it, with a bound on the time in which the head of a request must have come.

    A body has the time that the whole request has; a connection that waits between requests has its own bound.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on, and wait no longer once a request is there."""
        super().data_received(data)
        if self._is_answering():
            self._enough()
        elif self._late is None and not self.transport.is_closing():
            self._wait()  # the next request on this connection has begun

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits any more."""
        self._enough()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._late = self.loop.call_later(SECONDS, self._give_up)

    def _enough(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.write(_LATE)
            self.transport.close()
