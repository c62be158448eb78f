"""Numbers for monitoring, and how Prometheus, StatsD and OTLP spell them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from lakelogic.errors import UsageError
from lakelogic.version import VERSION

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# More than this many bytes in one datagram may not arrive in one piece.
DATAGRAM: Final = 1400


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that can go up and down; names and labels are `NAME`s, labels take few different values."""

    name: str
    value: float
    help: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"name": self.name, "labels": dict(self.labels), "value": self.value}


def tags(given: Iterable[str]) -> dict[str, str]:
    """Labels for every metric, from texts such as `env=prod,team=claims`."""
    labels: dict[str, str] = {}
    for part in (part.strip() for text in given for part in text.split(",")):
        name, equals, value = part.partition("=")
        if part and not (equals and NAME.fullmatch(name)):
            raise UsageError(f"`{part}` is not a tag for metrics.", hint="Write --metrics-tags env=prod,team=claims.")
        if part:
            labels[name] = value
    return labels


def exposition(metrics: Iterable[Metric]) -> str:
    """The text format of Prometheus, version 0.0.4: each name once, with its help and its type."""
    lines: list[str] = []
    for name, group in _by_name(metrics):
        lines += [f"# HELP {name} {_escaped(group[0].help, quotes=False)}", f"# TYPE {name} gauge"]
        for metric in group:
            labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in metric.labels.items())
            lines.append(f"{name}{{{labels}}} {_number(metric.value)}" if labels else f"{name} {_number(metric.value)}")
    return "".join(f"{line}\n" for line in lines)


def datagrams(metrics: Iterable[Metric]) -> Iterator[bytes]:
    """Gauges for StatsD, labels as the tags that Datadog, Telegraf and the exporter of Prometheus read."""
    packet = b""
    for metric in metrics:
        labels = ",".join(f"{label}:{_plain(value)}" for label, value in metric.labels.items())
        line = f"{metric.name}:{_number(metric.value)}|g{'|#' if labels else ''}{labels}".encode()
        if packet and len(packet) + 1 + len(line) > DATAGRAM:
            yield packet
            packet = b""
        packet = packet + b"\n" + line if packet else line
    if packet:
        yield packet


def otlp(metrics: Iterable[Metric], at: datetime) -> dict[str, Any]:
    """The body of an OTLP request in its JSON encoding."""
    nanoseconds = str(int(at.timestamp() * 1_000_000) * 1_000)
    listed = [
        {
            "name": name,
            "description": group[0].help,
            "gauge": {
                "dataPoints": [
                    {
                        "timeUnixNano": nanoseconds,
                        "asDouble": float(metric.value),
                        "attributes": _attributes(metric.labels),
                    }
                    for metric in group
                ]
            },
        }
        for name, group in _by_name(metrics)
    ]
    return {
        "resourceMetrics": [
            {
                "resource": {"attributes": _attributes({"service.name": "lakelogic", "service.version": VERSION})},
                "scopeMetrics": [{"scope": {"name": "lakelogic", "version": VERSION}, "metrics": listed}],
            }
        ]
    }


def _by_name(metrics: Iterable[Metric]) -> Iterator[tuple[str, list[Metric]]]:
    # A stable sort: within a name the order stays, and a name never comes twice.
    for name, group in groupby(sorted(metrics, key=lambda metric: metric.name), key=lambda metric: metric.name):
        yield name, list(group)


def _attributes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in labels.items()]


def _number(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(float(value))]
    return str(value)


def _escaped(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _plain(text: str) -> str:
    """Without the signs that part a line of StatsD."""
    return re.sub(r"[|,:#\s]", "_", text)
