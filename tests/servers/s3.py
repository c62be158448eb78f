"""A bucket of our own over HTTP that checks signatures (version 4), digests of bodies and checksums of pieces.

It is asked through the real client library; it keeps objects in memory and tells whether they came in pieces.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY, SECRET = "AKTESTKEY", "test/secret+text"


@dataclass
class Bucket:
    """What lies in it, what was asked, and what goes wrong next."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    pieces: dict[str, int] = field(default_factory=dict)  # key → of how many pieces
    asked: list[str] = field(default_factory=list)
    trouble: dict[str, tuple[int, str]] = field(default_factory=dict)  # "PUT part-" → status and code
    aborted: int = 0
    _uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def settings(self, **more: str) -> dict[str, str]:
        """What an export is given to reach it."""
        return {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "S3_ARTIFACT_BUCKET": "lab",
            "AWS_ENDPOINT_URL_S3": self.url, "AWS_REGION": "eu-central-1", **more,
        }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    bucket: Bucket
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def _answer(self, status: int, body: str = "", **headers: str) -> None:
        content = body.encode()
        self.send_response(status)
        length = headers.pop("length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _refuse(self, status: int, code: str) -> None:
        self._answer(
            status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code} {SECRET}</Message></Error>"
        )

    def _handle(self) -> None:
        b = self.bucket
        path, _, query = self.path.partition("?")
        key = urllib.parse.unquote(path).removeprefix("/lab/")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        b.asked.append(f"{self.command} {key}{'?' + ','.join(sorted(asked)) if asked else ''}")
        for begins, (status, code) in b.trouble.items():
            if f"{self.command} {key.rsplit('/', 1)[-1]}".startswith(begins):
                return self._refuse(status, code)
        if not self._is_signed(path, query, content):
            return self._refuse(403, "SignatureDoesNotMatch")
        if (told := self.headers.get("x-amz-checksum-sha256")) and told != _sum(content):
            return self._refuse(400, "BadDigest")
        if self.command == "POST" and "uploads" in asked:
            b._uploads["u1"] = {}
            b.headers[key] = dict(self.headers)
            return self._answer(
                200, "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>"
            )
        if self.command == "PUT" and "partNumber" in asked:
            assert told, "a piece without a checksum"
            b._uploads[asked["uploadId"]][int(asked["partNumber"])] = content
            return self._answer(200, ETag=f'"{asked["partNumber"]}"', x_amz_checksum_sha256=told)
        if self.command == "POST" and "uploadId" in asked:
            found = b._uploads.pop(asked["uploadId"])
            listed = [int(one) for one in re.findall(rb"<PartNumber>(\d+)</PartNumber>", content)]
            assert listed == sorted(found), "pieces are missing"
            b.objects[key] = b"".join(found[number] for number in listed)
            b.pieces[key] = len(listed)
            return self._answer(200, "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")
        if self.command == "DELETE" and "uploadId" in asked:
            b.aborted += 1
            return self._answer(204)
        if self.command == "PUT":
            b.objects[key], b.pieces[key], b.headers[key] = content, 1, dict(self.headers)
            return self._answer(200, ETag='"e"', x_amz_checksum_sha256=_sum(content))
        if key not in b.objects:
            return self._refuse(404, "NoSuchKey")
        found_ = b.objects[key]
        if self.command == "HEAD":
            return self._answer(200, ETag='"e"', length=str(len(found_)), x_amz_checksum_sha256=_sum(found_))
        return self._answer(200, found_.decode(), ETag='"e"')

    def _is_signed(self, path: str, query: str, content: bytes) -> bool:
        pattern = (
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)"
        )
        match = re.fullmatch(pattern, self.headers.get("Authorization") or "")
        if match is None or match[1] != KEY:
            return False
        _, day, region, names, signature = match.groups()
        digest = self.headers["x-amz-content-sha256"]
        if digest != "UNSIGNED-PAYLOAD" and digest != hashlib.sha256(content).hexdigest():
            return False
        listed = "".join(f"{name}:{(self.headers.get(name) or '').strip()}\n" for name in names.split(";"))
        sorted_query = "&".join(sorted(one if "=" in one else f"{one}=" for one in query.split("&") if one))
        canonical = "\n".join([self.command, path, sorted_query, listed, names, digest])
        scope = f"{day}/{region}/s3/aws4_request"
        said = "\n".join(
            ["AWS4-HMAC-SHA256", self.headers["X-Amz-Date"], scope, hashlib.sha256(canonical.encode()).hexdigest()]
        )
        key = f"AWS4{SECRET}".encode()
        for part in (day, region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return hmac.compare_digest(hmac.new(key, said.encode(), hashlib.sha256).hexdigest(), signature)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _handle  # noqa: N815


def _sum(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


@contextmanager
def bucket() -> Iterator[Any]:
    """A bucket `lab` on a free port of this machine."""
    made = Bucket()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"bucket": made}))
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
