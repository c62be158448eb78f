"""Find a connector by the type of a source: all register through the entry point group `lakelogic.connectors`."""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic import guests
from lakelogic.connectors.base import Connect, Connector
from lakelogic.contract.source import Source
from lakelogic.errors import UnsupportedError

GROUP = "lakelogic.connectors"


def names() -> tuple[str, ...]:
    """The types of sources that have a connector here."""
    return tuple(sorted({point.name for point in guests.registered(GROUP)}))


def load(source: Source, environ: Mapping[str, str]) -> Connector:
    """The connector for a source, by its type."""
    kind = str(source.resolved_type)
    point = guests.find(GROUP, kind)
    if point is None:
        raise UnsupportedError(
            f"A source of the type `{kind}` is not available yet.",
            where="source.type",
            hint=f"Connectors are here for {', '.join(names())}." if names() else "No connector is installed.",
        )
    connect: Connect = point.load()
    return connect(source, environ)
