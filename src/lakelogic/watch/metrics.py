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
    found: dict[str, str] = {}
    for one in (part.strip() for text in given for part in text.split(",")):
        name, equals, value = one.partition("=")
        if one and not (equals and NAME.fullmatch(name)):
            raise UsageError(f"`{one}` is not a tag for metrics.", hint="Write --metrics-tags env=prod,team=claims.")
        if one:
            found[name] = value
    return found


def exposition(metrics: Iterable[Metric]) -> str:
    """The text format of Prometheus, version 0.0.4: each name once, with its help and its type."""
    lines: list[str] = []
    for name, group in _by_name(metrics):
        lines += [f"# HELP {name} {_escaped(group[0].help, quotes=False)}", f"# TYPE {name} gauge"]
        for one in group:
            labels = ",".join(f'{label}="{_escaped(value)}"' for label, value in one.labels.items())
            lines.append(f"{name}{{{labels}}} {_number(one.value)}" if labels else f"{name} {_number(one.value)}")
    return "".join(f"{line}\n" for line in lines)


def datagrams(metrics: Iterable[Metric]) -> Iterator[bytes]:
    """Gauges for StatsD, labels as the tags that Datadog, Telegraf and the exporter of Prometheus read."""
    packet = b""
    for one in metrics:
        labels = ",".join(f"{label}:{_plain(value)}" for label, value in one.labels.items())
        line = f"{one.name}:{_number(one.value)}|g{'|#' if labels else ''}{labels}".encode()
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
                    {"timeUnixNano": nanoseconds, "asDouble": float(one.value), "attributes": _attributes(one.labels)}
                    for one in group
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
    for name, group in groupby(sorted(metrics, key=lambda one: one.name), key=lambda one: one.name):
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
