"""A connection that says nothing, or says it letter by letter, is ended; one that asks is answered."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn

from lakelogic.api import listening


async def app(_scope: Any, receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def talk(with_it: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]) -> Any:
    """Serve on a port of this machine and talk to it."""

    async def whole() -> Any:
        config = uvicorn.Config(app, http=listening.Hasty, log_level="error", lifespan="off", timeout_keep_alive=5)
        server = uvicorn.Server(config)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            serving = asyncio.create_task(server.serve([listener]))
            while not server.started:
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            try:
                return await asyncio.wait_for(with_it(reader, writer), 10)
            finally:
                writer.close()
                server.should_exit = True
                await serving

    return asyncio.run(whole())


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "SECONDS", 0.3)


@pytest.mark.parametrize("first", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-A"])
def test_a_request_that_does_not_come_is_given_up(first: bytes) -> None:
    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(first)
        for _ in range(4):
            await asyncio.sleep(0.05)
            if first:
                writer.write(b"a")
        return await reader.read()

    assert talk(slowly).startswith(b"HTTP/1.1 408 ")


def test_a_second_request_on_a_connection_has_the_same_bound() -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"ok")
        writer.write(b"GET / HTTP/1.1\r\nHos")
        return await reader.read()

    assert talk(twice).startswith(b"HTTP/1.1 408 ")


def test_a_body_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "SECONDS", 0.8)

    async def patiently(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
        for _ in range(4):
            await asyncio.sleep(0.25)
            writer.write(b"a")
        return await reader.readuntil(b"ok")

    assert talk(patiently).startswith(b"HTTP/1.1 200 ")
