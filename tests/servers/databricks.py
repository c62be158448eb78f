"""A workspace of our own over HTTP: who asks, what is said, when a statement ends and how; nothing is run.

It speaks the documented paths of the Statement Execution API, of Unity Catalog, of files and of OAuth, and is asked
through the real SDK.
"""

from __future__ import annotations

import base64
import json
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN, CLIENT, SECRET = "dapi-test-token", "app-1", "app-secret-text"
GRANTED = "granted-by-oauth"


@dataclass
class Workspace:
    """What a workspace has, what it was told, and how it behaves."""

    url: str = ""
    tokens: set[str] = field(default_factory=lambda: {TOKEN, GRANTED})
    warehouses: list[dict[str, Any]] = field(default_factory=lambda: [{"id": "w-1", "name": "one", "state": "RUNNING"}])
    there: dict[str, list[str]] = field(default_factory=dict)  # full name of what exists → columns
    statements: list[dict[str, Any]] = field(default_factory=list)  # bodies as they were sent
    uploaded: dict[str, bytes] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    seen_by: set[str] = field(default_factory=set)  # bearer tokens
    polls: int = 0  # how many times a statement is said to be running before it ends
    asked_after: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    batch: str | None = None  # what the control table answers
    fails: Callable[[str], dict[str, Any] | None] = lambda _: None  # statement → status error
    refused: tuple[str, ...] = ()  # words of statements that are answered with 400
    busy: int = 0  # so many requests are answered with 503 first
    _left: dict[str, int] = field(default_factory=dict)

    def settings(self, **more: str) -> dict[str, str]:
        """What an export is given to reach it with a token."""
        return {"DATABRICKS_HOST": self.url, "DATABRICKS_TOKEN": TOKEN, **more}


class _Handler(BaseHTTPRequestHandler):
    workspace: Workspace
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def _answer(self, status: int, body: Any = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = b""
            while size := int(self.rfile.readline().strip(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _handle(self) -> None:
        w, path = self.workspace, urllib.parse.unquote(self.path.partition("?")[0])
        content = self._body()
        if path == "/.well-known/databricks-config":
            return self._answer(200, {"oidc_endpoint": f"{w.url}/oidc", "account_id": "a-1", "workspace_id": "1"})
        if path == "/oidc/.well-known/oauth-authorization-server":
            ends = {"authorization_endpoint": f"{w.url}/oidc/v1/authorize", "token_endpoint": f"{w.url}/oidc/v1/token"}
            return self._answer(200, ends)
        if path == "/oidc/v1/token":
            known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
            if self.headers.get("Authorization") != f"Basic {known}" or b"grant_type=client_credentials" not in content:
                return self._answer(401, {"error": "invalid_client", "error_description": "who is this?"})
            return self._answer(200, {"access_token": GRANTED, "token_type": "Bearer", "expires_in": 3600})
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token not in w.tokens:
            return self._answer(401, {"error_code": "UNAUTHENTICATED", "message": f"{token} is not valid"})
        w.seen_by.add(token)
        if w.busy:
            w.busy -= 1
            return self._answer(503, {"error_code": "TEMPORARILY_UNAVAILABLE", "message": "come back later"})
        if path.startswith("/api/2.0/fs/files/"):
            return self._file(path.removeprefix("/api/2.0/fs/files"), content)
        if path.startswith("/api/2.1/unity-catalog/"):
            return self._thing(path.rsplit("/", 1)[1])
        if path == "/api/2.0/sql/warehouses":
            return self._answer(200, {"warehouses": w.warehouses})
        if path.startswith("/api/2.0/sql/statements"):
            return self._statement(path.removeprefix("/api/2.0/sql/statements").strip("/"), content)
        return self._answer(404, {"error_code": "ENDPOINT_NOT_FOUND", "message": path})

    def _file(self, path: str, content: bytes) -> None:
        if self.command == "PUT":
            self.workspace.uploaded[path] = content
        elif self.command == "DELETE":
            self.workspace.deleted.append(path)
        self._answer(204)

    def _thing(self, name: str) -> None:
        columns = self.workspace.there.get(name)
        if columns is None:
            return self._answer(404, {"error_code": "DOES_NOT_EXIST", "message": f"{name} does not exist."})
        return self._answer(200, {"name": name, "full_name": name, "columns": [{"name": one} for one in columns]})

    def _statement(self, rest: str, content: bytes) -> None:
        w = self.workspace
        if not rest:
            said = json.loads(content)
            if any(word in said["statement"] for word in w.refused):
                return self._answer(400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "not like this"})
            w.statements.append(said)
            name = f"statement-{len(w.statements)}"
            w._left[name] = w.polls
            return self._answer(200, self._state(name, said["statement"]))
        name, _, action = rest.partition("/")
        if action == "cancel":
            w.cancelled.append(name)
            return self._answer(200, {})
        w.asked_after.append(name)
        w._left[name] -= 1
        return self._answer(200, self._state(name, w.statements[int(name.rsplit("-", 1)[1]) - 1]["statement"]))

    def _state(self, name: str, statement: str) -> dict[str, Any]:
        w = self.workspace
        if w._left[name] > 0:
            return {"statement_id": name, "status": {"state": "PENDING" if w._left[name] == w.polls else "RUNNING"}}
        if error := w.fails(statement):
            return {"statement_id": name, "status": {"state": "FAILED", "error": error}}
        found = {"data_array": [[w.batch]]} if statement.startswith("SELECT") and w.batch else {}
        return {"statement_id": name, "status": {"state": "SUCCEEDED"}, "result": found}

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _handle  # noqa: N815


@contextmanager
def workspace() -> Iterator[Workspace]:
    """A workspace on a free port of this machine."""
    made = Workspace()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"workspace": made}))
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
