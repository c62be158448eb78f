"""Ways by which metrics leave the process: an endpoint that is scraped, datagrams, and HTTP requests."""

from __future__ import annotations

import json
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import quote, unquote
from urllib.request import Request, urlopen

from lakelogic.errors import SourceError, UsageError
from lakelogic.version import VERSION
from lakelogic.watch.metrics import Metric, datagrams, exposition, otlp

LOOPBACK: Final = "127.0.0.1"
PORTS: Final[Mapping[str, int]] = {"prometheus": 9100, "statsd": 8125, "pushgateway": 9091, "otlp": 4318}
TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_PATIENCE: Final = 10  # seconds for somebody else's server


class Endpoint:
    """`/metrics` over HTTP, for Prometheus to scrape; `read` is asked anew for every scrape."""

    def __init__(self, host: str, port: int, read: Callable[[], Iterable[Metric]]) -> None:
        self._ended, self._seen = threading.Event(), threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = f"lakelogic/{VERSION}", ""

            def do_GET(self) -> None:
                if self.path.partition("?")[0] != "/metrics":
                    self.send_error(404, "Only /metrics is here")
                    return
                last = endpoint._ended.is_set()
                body = exposition(read()).encode()
                self.send_response(200)
                self.send_header("Content-Type", TEXT)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                if last:
                    endpoint._seen.set()

            def log_message(self, *_: Any) -> None:
                """Say nothing: a pass tells one line a dataset."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"Metrics cannot be offered at {host}:{port}: {error}.",
                hint="Choose another --metrics-host or --metrics-port.",
            ) from error
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="metrics", args=(0.1,), daemon=True).start()

    def final(self) -> None:
        """What is read from now on does not change any more."""
        self._ended.set()

    def linger(self, seconds: float) -> bool:
        """Stay until somebody has scraped what is final, or for so many seconds; whether somebody has."""
        self.final()
        return self._seen.wait(seconds)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def send_statsd(metrics: Iterable[Metric], host: str, port: int) -> None:
    """Datagrams; nobody answers, so nobody knows whether they arrived."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as sender:
            for packet in datagrams(metrics):
                sender.sendto(packet, address)
    except OSError as error:
        raise SourceError(f"Metrics cannot be sent to StatsD at {host}:{port}: {error}.") from error


def push_to_gateway(metrics: Iterable[Metric], host: str, port: int, job: str) -> None:
    """Replace what a Pushgateway has of this job."""
    _send(f"{_base(host, port)}/metrics/job/{quote(job, safe='')}", "PUT", exposition(metrics).encode(), TEXT)


def send_otlp(metrics: Iterable[Metric], host: str, port: int, at: datetime) -> None:
    """One request to a collector, by HTTP and in JSON, which every collector reads."""
    body = json.dumps(otlp(metrics, at)).encode()
    _send(f"{_base(host, port)}/v1/metrics", "POST", body, "application/json")


def _base(host: str, port: int) -> str:
    """Where to send to; a host may be written as a URL, for TLS or a path before ours."""
    if "://" in host:
        return host.rstrip("/")
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _send(url: str, method: str, body: bytes, kind: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise UsageError("Metrics are sent by http or https.", hint="Write --metrics-host https://host:port.")
    plain, headers = _parted(url)
    request = Request(plain, data=body, method=method, headers={"Content-Type": kind, **headers})
    try:
        with urlopen(request, timeout=_PATIENCE) as answer:
            answer.read()
    except (URLError, OSError, HTTPException) as error:
        raise SourceError(f"Metrics cannot be sent to {plain}: {error}.") from error


def _parted(url: str) -> tuple[str, dict[str, str]]:
    """The URL without user and password, which nobody else shall see, and the header that says them."""
    scheme, _, rest = url.partition("://")
    secret, at_sign, place = rest.rpartition("@")
    if not at_sign:
        return url, {}
    return f"{scheme}://{place}", {"Authorization": f"Basic {b64encode(unquote(secret).encode()).decode()}"}
