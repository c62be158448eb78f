"""Names of tables and their places."""

from __future__ import annotations

import pytest

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import UnsupportedError, UsageError


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("LAKELOGIC_WAREHOUSE", raising=False)
    monkeypatch.delenv("LAKELOGIC_LEDGER", raising=False)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("catalog.silver.customers", "catalog/silver/customers"),
        ("silver.customers", "silver/customers"),
        ("customers", "customers"),
        ("my-catalog.größe.t_1", "my-catalog/größe/t_1"),
    ],
)
def test_a_name_lies_in_the_warehouse(tmp_path, name, place):
    catalog = LocalCatalog(tmp_path / "wh")
    assert catalog.resolve(name) == str(tmp_path / "wh" / place)


def test_the_warehouse_is_given_or_in_the_environment_or_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert LocalCatalog().resolve("a.b.c") == str(tmp_path / "lakelogic_warehouse/a/b/c")
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", "elsewhere")
    assert LocalCatalog().resolve("a.b.c") == str(tmp_path / "elsewhere/a/b/c")
    assert LocalCatalog(tmp_path / "wh").resolve("a.b.c") == str(tmp_path / "wh/a/b/c")


@pytest.mark.parametrize(
    "name", ["", "a..b", ".a", "a.", "_x.b", "a._b", "a.b.c.d", "a b.c", "a.b;c", "`a`.b", "-a.b", "a.b\n", "a\x00"]
)
def test_names_that_are_not_safe_folders_are_refused(tmp_path, name):
    with pytest.raises(UsageError, match="is not a table name"):
        LocalCatalog(tmp_path).resolve(name)
    with pytest.raises(UsageError, match="is not a table name"):
        LocalCatalog(tmp_path).quarantine_name(name, "silver", "customers")


def test_paths_and_uris_are_taken_as_they_are(tmp_path):
    catalog = LocalCatalog(tmp_path / "wh", base=tmp_path)
    assert catalog.resolve("/data/silver/customers") == "/data/silver/customers"
    assert catalog.resolve("out/customers/") == str(tmp_path / "out/customers")
    assert catalog.resolve("./out") == str(tmp_path / "out")
    assert catalog.resolve("../out") == str(tmp_path.parent / "out")
    assert catalog.resolve("file:///data/a%20b") == "/data/a b"


@pytest.mark.parametrize("uri", ["s3://bucket/t", "abfss://c@a/t", "gs://bucket/t"])
def test_object_stores_are_not_available_yet(tmp_path, uri):
    with pytest.raises(UnsupportedError, match="not available yet"):
        LocalCatalog(tmp_path).resolve(uri)


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("catalog.silver.customers", "catalog.quarantine.silver_customers"),
        ("silver.customers", "quarantine.silver_customers"),
        ("customers", "quarantine.silver_customers"),
        ("/x/y/customers", "/x/y/quarantine/silver_customers"),
        ("/x/y/customers/", "/x/y/quarantine/silver_customers"),
        ("file:///x/y/customers", "/x/y/quarantine/silver_customers"),
    ],
)
def test_bad_rows_go_beside_the_target(tmp_path, target, place):
    assert LocalCatalog(tmp_path).quarantine_name(target, "silver", "customers") == place


def test_a_quarantine_name_is_always_a_name_that_resolves(tmp_path):
    catalog = LocalCatalog(tmp_path)
    name = catalog.quarantine_name("catalog.silver.t", None, "Customers of Today!")
    assert name == "catalog.quarantine.customers_of_today"
    assert catalog.resolve(name) == str(tmp_path / "catalog/quarantine/customers_of_today")


def test_the_ledger_lies_in_the_warehouse_unless_said_otherwise(tmp_path, monkeypatch):
    catalog = LocalCatalog(tmp_path / "wh")
    assert catalog.ledger_url() == f"sqlite:///{tmp_path}/wh/.lakelogic/ledger.db"
    monkeypatch.setenv("LAKELOGIC_LEDGER", "postgresql+psycopg://db/ledger")
    assert catalog.ledger_url() == "postgresql+psycopg://db/ledger"
