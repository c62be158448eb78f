"""The page over HTTP: files as they were built, `index.html` for every address of the page, nothing written."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from lakelogic import ui

# A name that vite makes has a hash in it: what is behind it never changes.
_HASHED = re.compile(r"[A-Za-z0-9_.-]+-[A-Za-z0-9_-]{8}\.[a-z0-9]+")
_MEDIA = {
    ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".woff2": "font/woff2",
    ".svg": "image/svg+xml", ".png": "image/png", ".txt": "text/plain; charset=utf-8", ".json": "application/json",
}  # fmt: skip
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_THEMES = ("light", "dark")
_NOT_OURS = ("api", "docs", "openapi.json", "health")
_NEVER_BUILT = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>LakeLogic</title><h1>The page was never built</h1>"
    "<p>Run <code>make page</code> in the checkout and load this address again. "
    "The service works without it: <a href=docs>all routes</a>.</p></html>"
)


def page_router(folder: Path | None = None) -> APIRouter:
    """Routes of the page; included last, because it answers for everything that nobody else does."""
    router = APIRouter(include_in_schema=False)

    @router.get("/assets/{name}")
    def asset(request: Request, name: str) -> Response:
        """One file of the page, in the best encoding that whoever asks can read."""
        there = ui.built(folder)
        if there is None or not _HASHED.fullmatch(name) or not (there / "assets" / name).is_file():
            raise HTTPException(404)
        return _file(request, there / "assets" / name, "public, max-age=31536000, immutable")

    @router.get("/{path:path}")
    def index(request: Request, path: str) -> Response:
        """The page itself; it reads the rest of its address."""
        there = ui.built(folder)
        if path in ("favicon.svg", "licenses.txt") and there is not None and (there / path).is_file():
            return _file(request, there / path, "public, max-age=3600")
        wants_page = "text/html" in request.headers.get("accept", "")
        if path.partition("/")[0] in _NOT_OURS or (path and not wants_page):
            raise HTTPException(404)
        if there is None:
            return HTMLResponse(_NEVER_BUILT, 404)
        return HTMLResponse(_dressed(request, (there / "index.html").read_text("utf-8")))

    return router


def _dressed(request: Request, text: str) -> str:
    """The page with where it is mounted, and in the colours that were chosen last."""
    base = escape(request.scope.get("root_path", "").rstrip("/") + "/", quote=True)
    text = re.sub(r'<base href="[^"]*"', f'<base href="{base}"', text, count=1)
    theme = request.cookies.get("lakelogic_theme")
    return text.replace("<html ", f'<html data-theme="{theme}" ', 1) if theme in _THEMES else text


def _file(request: Request, path: Path, cache: str) -> Response:
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
    accepted = {part.partition(";")[0].strip() for part in request.headers.get("accept-encoding", "").split(",")}
    for encoding, ending in _ENCODINGS:
        packed = path.with_name(path.name + ending)
        if encoding in accepted and packed.is_file():
            path_read, headers["Content-Encoding"] = packed, encoding
            break
    else:
        path_read = path
    return Response(
        path_read.read_bytes(), headers=headers, media_type=_MEDIA.get(path.suffix, "application/octet-stream")
    )
