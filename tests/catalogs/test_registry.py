"""Catalogs are found by name: ours, and those of other packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic import guests
from lakelogic.catalogs import registry
from lakelogic.catalogs.base import Catalog
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import UsageError

GUEST = """
from pathlib import Path

class HarbourCatalog:
    base = warehouse = Path("/harbour")

    def resolve(self, target):
        return f"/harbour/{target}"

    def quarantine_name(self, target, layer, entity):
        return f"{target}_quarantine"

    def ledger_url(self):
        return "sqlite:////harbour/ledger.db"
"""


@pytest.fixture
def harbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of somebody else with a catalog in it."""
    (tmp_path / "harbour_catalog.py").write_text(GUEST)
    facts = tmp_path / "harbour-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: harbour\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[lakelogic.catalogs]\nharbour = harbour_catalog:HarbourCatalog\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    guests.registered.cache_clear()
    yield
    guests.registered.cache_clear()


def test_ours_is_there_without_a_choice() -> None:
    assert isinstance(registry.load(), LocalCatalog)
    assert isinstance(registry.load(), Catalog)


def test_a_catalog_of_another_package_is_found_by_its_name(harbour: None) -> None:
    assert registry.names() == ("local", "harbour")
    catalog = registry.load("harbour")
    assert isinstance(catalog, Catalog)
    assert catalog.resolve("a.b") == "/harbour/a.b"


def test_a_name_that_nobody_registered_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(UsageError, match="no catalog `unity`") as caught:
        registry.load("unity")
    assert "local" in str(caught.value)
