"""Buckets over HTTP to read from: listings in pages, ranges of one version, and what a store refuses.

The same signatures are checked as for exports. It counts what it is asked, and can be told to go wrong.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
import threading
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from xml.sax.saxutils import escape

_spec = importlib.util.spec_from_file_location("lakelogic_tests_s3", Path(__file__).with_name("s3.py"))
assert _spec is not None
assert _spec.loader is not None
s3 = sys.modules.setdefault(_spec.name, importlib.util.module_from_spec(_spec))
_spec.loader.exec_module(s3)


@dataclass
class Version:
    """What an object holds, and since when."""

    content: bytes
    modified: datetime

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.content, usedforsecurity=False).hexdigest()}"'


@dataclass
class Store:
    """Buckets, what was asked of them, and what goes wrong next."""

    url: str = ""
    buckets: dict[str, dict[str, Version]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    most: int = 1_000  # keys of one page of a listing
    trouble: list[tuple[str, int, str]] = field(default_factory=list)  # "GET lab/a.csv" → status, code; each once
    refuses: str | None = None  # a bucket that this login may not read
    before_get: Callable[[str], None] = lambda _: None

    def put(self, bucket: str, key: str, content: bytes | str, modified: datetime | None = None) -> None:
        body = content.encode() if isinstance(content, str) else content
        at = (modified or datetime.now(UTC)).replace(microsecond=0)  # a store tells seconds
        self.buckets.setdefault(bucket, {})[key] = Version(body, at)

    def environ(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": s3.KEY, "AWS_SECRET_ACCESS_KEY": s3.SECRET, "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
        }  # fmt: skip

    def counts(self) -> Counter[str]:
        return Counter(one.split(" ")[0] for one in self.asked)


class _Handler(s3._Handler):  # type: ignore[misc,name-defined]
    store: Store

    def _handle(self) -> None:
        store = self.store
        path, _, query = self.path.partition("?")
        bucket, _, key = urllib.parse.unquote(path).removeprefix("/").partition("/")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        method = "LIST" if self.command == "GET" and not key else self.command
        store.asked.append(f"{method} {bucket}/{key or asked.get('prefix', '')}")
        for number, (begins, status, code) in enumerate(store.trouble):
            if store.asked[-1].startswith(begins):
                del store.trouble[number]
                return self._refuse(status, code)
        if not self._is_signed(path, query, content):
            return self._refuse(403, "SignatureDoesNotMatch")
        if bucket == store.refuses:
            return self._refuse(403, "AccessDenied")
        objects = store.buckets.get(bucket)
        if objects is None:
            return self._refuse(404, "NoSuchBucket")
        if method == "LIST":
            return self._list(bucket, objects, asked)
        if self.command == "GET":
            store.before_get(key)
        if key not in objects:
            return self._refuse(404, "NoSuchKey")
        return self._object(objects[key])

    def _object(self, version: Version) -> None:
        about = {"ETag": version.etag, "Last_Modified": format_datetime(version.modified, usegmt=True)}
        wanted = self.headers.get("If-Match")
        if wanted is not None and wanted != version.etag:
            return self._refuse(412, "PreconditionFailed")
        size = len(version.content)
        if self.command == "HEAD":
            return self._answer(200, length=str(size), **about)
        body, status = version.content, 200
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            start, end = int(match[1]), min(int(match[2] or size - 1), size - 1)
            body, status = body[start : end + 1], 206
            about["Content_Range"] = f"bytes {start}-{end}/{size}"
        self.send_response(status)
        for name, value in about.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def _list(self, bucket: str, objects: dict[str, Version], asked: dict[str, str]) -> None:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        begin = asked.get("continuation-token", "")
        entries: dict[str, Version | None] = {}
        for key in sorted(objects):
            if key.startswith(prefix):
                inside = key[len(prefix) :]
                head, cut, _ = inside.partition(delimiter) if delimiter else (inside, "", "")
                entries[prefix + head + cut if cut else key] = None if cut else objects[key]
        listed = [name for name in entries if name > begin][: self.store.most]
        more = bool(listed) and listed[-1] != list(entries)[-1]
        items = []
        for name in listed:
            version = entries[name]
            if version is None:
                items.append(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>")
                continue
            items.append(
                f"<Contents><Key>{escape(name)}</Key><LastModified>{version.modified:%Y-%m-%dT%H:%M:%S}.000Z"
                f"</LastModified><ETag>{escape(version.etag)}</ETag><Size>{len(version.content)}</Size></Contents>"
            )
        token = f"<NextContinuationToken>{escape(listed[-1])}</NextContinuationToken>" if more else ""
        self._answer(
            200,
            f"<?xml version='1.0'?><ListBucketResult><Name>{bucket}</Name><IsTruncated>{str(more).lower()}"
            f"</IsTruncated>{token}{''.join(items)}</ListBucketResult>",
        )

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815


@contextmanager
def store() -> Iterator[Store]:
    """Buckets on a free port of this machine."""
    made = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": made}))
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
