"""A connector of another package is found by the type of a source; no run reads through one yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakelogic import guests
from lakelogic.connectors import registry
from lakelogic.connectors.base import Connector
from lakelogic.contract.source import Source
from lakelogic.errors import ContractError, UnsupportedError
from lakelogic.run.processor import DataProcessor

GUEST = """
import pyarrow as pa
from lakelogic.connectors.base import InputPart, PinnedInput
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import BIGINT

class Harbour:
    def __init__(self, source, environ):
        self._ships = [1, 2, 3, 4, 5]

    def columns(self):
        return (Landed("ship", BIGINT),)

    def pin(self, after):
        new = [ship for ship in self._ships if after is None or ship > int(after)]
        parts = tuple(InputPart(f"{ship}", {"ship": ship}) for ship in new)
        return PinnedInput(f"ships {after} to {new[-1]}", parts, str(new[-1]))

    def read(self, pinned, part, columns):
        yield pa.record_batch({name: [part.facts[name]] for name in columns})

    def close(self):
        pass
"""
CONTRACT = """
dataset: ships
source: {type: database, options: {connection: "env:HARBOUR", table: ships}}
materialization: {target_path: lab.bronze.ships}
"""


@pytest.fixture
def harbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody else with a connector in it."""
    (tmp_path / "harbour_connector.py").write_text(GUEST)
    facts = tmp_path / "harbour-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: harbour\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[lakelogic.connectors]\ndatabase = harbour_connector:Harbour\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    guests.registered.cache_clear()
    yield
    guests.registered.cache_clear()


def test_a_connector_is_found_by_the_type_of_a_source_and_reads_what_was_pinned(harbour: None) -> None:
    assert registry.names() == ("database",)
    connector = registry.load(Source(type="database"), {})
    assert isinstance(connector, Connector)
    pinned = connector.pin("3")
    rows = [
        row for part in pinned.parts for batch in connector.read(pinned, part, ["ship"]) for row in batch.to_pylist()
    ]
    assert (rows, pinned.until) == ([{"ship": 4}, {"ship": 5}], "5")


def test_a_source_without_a_connector_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="`stream` is not available yet"):
        registry.load(Source(type="stream"), {})


def test_a_run_refuses_a_connector_before_anything_is_read(harbour: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARBOUR", "x")
    with pytest.raises(ContractError, match="not available yet"):
        DataProcessor(CONTRACT, "duckdb").run()
