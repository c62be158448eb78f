"""Metrics as others read them: by Prometheus' own parser, by the messages of OTLP, and over real sockets."""

from __future__ import annotations

import http.server
import json
import math
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from lakelogic.errors import SourceError, UsageError
from lakelogic.watch.exporters import Endpoint, push_to_gateway, send_otlp, send_statsd
from lakelogic.watch.metrics import Metric, datagrams, exposition, tags

METRICS = [
    Metric("ll_rows", 3, "Rows.", {"dataset": 'odd "name"\\\n', "side": "good"}),
    Metric("ll_seconds", 0.25, "How long\nit took \\ was."),
    Metric("ll_rows", 1, "Rows.", {"dataset": "b", "side": "bad"}),
    Metric("ll_ratio", math.inf, "A ratio."),
]


def test_prometheus_reads_what_is_told() -> None:
    families = {family.name: family for family in text_string_to_metric_families(exposition(METRICS))}
    assert {name: family.type for name, family in families.items()} == dict.fromkeys(
        ("ll_rows", "ll_seconds", "ll_ratio"), "gauge"
    )
    assert families["ll_seconds"].documentation == "How long\nit took \\ was."
    assert [(sample.labels, sample.value) for sample in families["ll_rows"].samples] == [
        ({"dataset": 'odd "name"\\\n', "side": "good"}, 3.0),
        ({"dataset": "b", "side": "bad"}, 1.0),
    ]
    assert families["ll_ratio"].samples[0].value == math.inf


def test_a_name_is_told_once_even_where_its_numbers_come_apart() -> None:
    assert exposition(METRICS).count("# TYPE ll_rows") == 1


def test_datagrams_are_small_and_their_signs_are_safe() -> None:
    many = [Metric("ll_rows", n, "Rows.", {"dataset": f"a|b:{n}"}) for n in range(100)]
    packets = list(datagrams(many))
    assert max(len(packet) for packet in packets) <= 1400
    lines = b"\n".join(packets).decode().split("\n")
    assert lines[:2] == ["ll_rows:0|g|#dataset:a_b_0", "ll_rows:1|g|#dataset:a_b_1"]
    assert len(lines) == 100


def test_tags_are_labels_for_every_number() -> None:
    assert tags(["env=prod,team=a b", "x=1=2"]) == {"env": "prod", "team": "a b", "x": "1=2"}
    for wrong in ("prod", "1x=2", "a-b=c"):
        with pytest.raises(UsageError, match="is not a tag"):
            tags([wrong])


def test_the_endpoint_answers_with_the_numbers_of_now_and_knows_the_last_scrape() -> None:
    now = [METRICS[1]]
    endpoint = Endpoint("127.0.0.1", 0, lambda: now)
    try:
        url = f"http://127.0.0.1:{endpoint.port}/metrics"
        with urlopen(url) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert "ll_seconds 0.25" in answer.read().decode()
        with pytest.raises(HTTPError, match="404"):
            urlopen(url.replace("metrics", "etc/passwd"))
        with pytest.raises(UsageError, match="cannot be offered"):
            Endpoint("127.0.0.1", endpoint.port, lambda: now)
        assert not endpoint.linger(0)  # what was scraped before the end is not the last scrape
        now[:] = [Metric("ll_seconds", 9, "…")]
        with urlopen(url) as answer:
            assert "ll_seconds 9" in answer.read().decode()
        assert endpoint.linger(10)  # it counts once the answer is written, which may be after it was read
    finally:
        endpoint.close()


@pytest.fixture
def receiver() -> Iterator[tuple[int, list[tuple[str, str, str, bytes]]]]:
    """A server that keeps requests: method, path, kind and body."""
    got: list[tuple[str, str, str, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.command, self.path, self.headers["Content-Type"], body))
            self.send_response(500 if "refused" in self.path else 200)
            self.end_headers()

        do_POST = do_PUT  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server.server_address[1], got
    server.shutdown()
    server.server_close()


def test_a_pushgateway_gets_the_text_of_prometheus_in_place_of_the_last(receiver) -> None:
    port, got = receiver
    push_to_gateway(METRICS, "127.0.0.1", port, job="my job")
    method, path, _, body = got[0]
    assert (method, path) == ("PUT", "/metrics/job/my%20job")
    assert {family.name for family in text_string_to_metric_families(body.decode())} >= {"ll_rows"}
    with pytest.raises(SourceError, match="500"):
        push_to_gateway(METRICS, f"http://user:hidden@127.0.0.1:{port}/refused", 0, job="x")


def test_a_collector_gets_a_request_that_otlp_can_read(receiver) -> None:
    port, got = receiver
    send_otlp(METRICS[:3], "127.0.0.1", port, datetime(2026, 2, 6, 1, tzinfo=UTC))
    method, path, kind, body = got[0]
    assert (method, path, kind) == ("POST", "/v1/metrics", "application/json")
    request = json_format.ParseDict(json.loads(body), ExportMetricsServiceRequest())
    (resource,) = request.resource_metrics
    assert resource.resource.attributes[0].value.string_value == "lakelogic"
    found = {metric.name: metric.gauge.data_points for metric in resource.scope_metrics[0].metrics}
    assert [point.as_double for point in found["ll_rows"]] == [3.0, 1.0]
    assert found["ll_seconds"][0].time_unix_nano == 1770339600 * 10**9
    assert {a.key: a.value.string_value for a in found["ll_rows"][1].attributes} == {"dataset": "b", "side": "bad"}


def test_nobody_there_is_told_without_the_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(SourceError) as told:
            send_otlp(METRICS, f"http://me:hidden@127.0.0.1:{taken.getsockname()[1]}", 0, datetime.now(UTC))
    assert "hidden" not in str(told.value)


def test_statsd_gets_datagrams() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(10)
        send_statsd(METRICS[:2], "127.0.0.1", listener.getsockname()[1])
        assert listener.recv(2000).decode().split("\n")[1] == "ll_seconds:0.25|g"
