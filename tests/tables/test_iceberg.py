"""Iceberg tables: others read them, tables of others are read or refused, and the catalog is found."""

from __future__ import annotations

from pathlib import Path
from threading import Barrier, Thread

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import ManifestContent, ManifestFile

from lakelogic.errors import CommitConflict, FeatureRefused, LakeLogicError
from lakelogic.tables.base import CommitInfo, Layout
from lakelogic.tables.iceberg import catalog as iceberg_catalog
from lakelogic.tables.iceberg import tables as iceberg
from lakelogic.tables.iceberg.tables import IcebergTables

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
APP = "lakelogic:shop:good"
TABLES = IcebergTables()


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", str(tmp_path / "wh"))
    monkeypatch.delenv("LAKELOGIC_ICEBERG_CATALOG", raising=False)
    return tmp_path / "wh"


@pytest.fixture
def root(warehouse: Path) -> Path:
    return warehouse / "shop" / "silver" / "orders"


def people(*rows: tuple[int, str]) -> pa.Table:
    return pa.table({"id": [row[0] for row in rows], "name": [row[1] for row in rows]}, schema=SCHEMA)


def catalog(warehouse: Path) -> SqlCatalog:
    """What somebody else would write to reach the tables of a warehouse."""
    return SqlCatalog("lakelogic", uri=f"sqlite:///{warehouse}/.iceberg/catalog.db", warehouse=str(warehouse))


def read_by_others(warehouse: Path) -> list[dict[str, object]]:
    found = catalog(warehouse).load_table("shop.silver.orders").scan().to_arrow()
    return sorted(found.to_pylist(), key=repr)


def test_others_find_the_table_by_its_name_and_read_the_same_rows(root, warehouse, stage):
    TABLES.append(str(root), [stage(root, people((1, "a")))], SCHEMA, CommitInfo(APP, 1))
    wider = pa.schema([*SCHEMA, ("city", pa.string())])
    second = stage(root, pa.table({"id": [2], "name": ["b"], "city": ["Ghent"]}, schema=wider))
    TABLES.append(str(root), [second], wider, CommitInfo(APP, 2))
    assert read_by_others(warehouse) == [
        {"id": 1, "name": "a", "city": None},
        {"id": 2, "name": "b", "city": "Ghent"},
    ]


def test_a_promoted_type_leaves_the_files_alone_and_others_read_it(root, warehouse, stage):
    narrow = pa.schema([("id", pa.int32()), ("name", pa.string())])
    TABLES.append(str(root), [stage(root, people((1, "a")).cast(narrow))], narrow, CommitInfo(APP, 1))
    before = TABLES.state(str(root)).files
    TABLES.widen(str(root), {"id": pa.int64()}, {"why": "wider"})
    assert TABLES.state(str(root)).files == before
    assert read_by_others(warehouse) == [{"id": 1, "name": "a"}]


def test_a_type_that_iceberg_cannot_promote_is_written_again(root, warehouse, stage):
    narrow = pa.schema([("id", pa.int32()), ("name", pa.string())])
    TABLES.append(str(root), [stage(root, people((1, "a")).cast(narrow))], narrow, CommitInfo(APP, 1))
    TABLES.widen(str(root), {"id": pa.float64()}, {"why": "wider"})
    assert TABLES.state(str(root)).schema.field("id").type == pa.float64()
    assert read_by_others(warehouse) == [{"id": 1.0, "name": "a"}]
    assert TABLES.append(str(root), [], narrow, CommitInfo(APP, 1)).skipped


def test_small_integers_keep_their_declared_type(root, stage):
    schema = pa.schema([("a", pa.int8()), ("b", pa.int16()), ("c", pa.list_(pa.int8()))])
    row = pa.table({"a": [1], "b": [2], "c": [[3]]}, schema=schema)
    TABLES.append(str(root), [stage(root, row)], schema, CommitInfo(APP, 1))
    TABLES.append(str(root), [stage(root, row)], schema, CommitInfo(APP, 2))
    state = TABLES.state(str(root))
    assert [field.type for field in state.schema] == [field.type for field in schema]
    assert TABLES.preview(str(root)).to_pylist() == [{"a": 1, "b": 2, "c": [3]}] * 2


def test_of_two_writers_with_one_transaction_only_one_adds_its_rows(root, stage):
    TABLES.append(str(root), [], SCHEMA, CommitInfo("setup", 1))
    staged = [stage(root, people((at, "x"))) for at in (1, 2)]
    start, done = Barrier(2), []

    def work(at: int) -> None:
        start.wait()
        done.append(IcebergTables().append(str(root), [staged[at]], SCHEMA, CommitInfo(APP, 1)).skipped)

    workers = [Thread(target=work, args=(at,)) for at in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(done) == [False, True]
    assert TABLES.state(str(root)).rows == 1


def test_a_replacement_that_lost_the_race_changes_nothing(root, stage, monkeypatch):
    TABLES.append(str(root), [stage(root, people((1, "a")))], SCHEMA, CommitInfo(APP, 1))
    once = iceberg._once

    def beaten(transaction):
        monkeypatch.setattr(iceberg, "_once", once)
        TABLES.append(str(root), [stage(root, people((2, "b")))], SCHEMA, CommitInfo("other", 1))
        return once(transaction)

    monkeypatch.setattr(iceberg, "_once", beaten)
    with pytest.raises(CommitConflict):
        TABLES.replace(str(root), list(TABLES.state(str(root)).files), [], SCHEMA, CommitInfo(APP, 2), based_on=1)
    assert sorted(TABLES.preview(str(root))["id"].to_pylist()) == [1, 2]


def test_transactions_are_known_after_snapshots_expired(root, warehouse, stage):
    staged = stage(root, people((1, "a")))
    TABLES.append(str(root), [staged], SCHEMA, CommitInfo(APP, 1))
    TABLES.append(str(root), [stage(root, people((2, "b")))], SCHEMA, CommitInfo("other", 1))
    table = catalog(warehouse).load_table("shop.silver.orders")
    table.maintenance.expire_snapshots().by_id(table.history()[0].snapshot_id).commit()
    assert TABLES.find_commit(str(root), APP, 1) is None
    assert TABLES.append(str(root), [staged], SCHEMA, CommitInfo(APP, 1)).skipped


def test_partitions_are_known_to_others(root, warehouse, stage):
    layout, files = Layout(partition_by=("name",)), []
    for at, name in enumerate(["NL", None]):
        staged = stage(root, people((at, name)))
        files.append(type(staged)(staged.path, 1, staged.size, {"name": name}))
    TABLES.append(str(root), files, SCHEMA, CommitInfo(APP, 1), layout=layout)
    table = catalog(warehouse).load_table("shop.silver.orders")
    tasks = list(table.scan(row_filter="name = 'NL'").plan_files())
    assert [task.file.record_count for task in tasks] == [1]
    state = TABLES.state(str(root))
    assert state.partition_by == ("name",)
    assert sorted(str(part["name"]) for part in state.parts.values()) == ["NL", "None"]
    assert sorted(TABLES.preview(str(root)).to_pylist(), key=repr) == [
        {"id": 0, "name": "NL"},
        {"id": 1, "name": None},
    ]


def test_a_renamed_column_is_refused_because_files_are_read_by_name(root, warehouse, stage):
    TABLES.append(str(root), [stage(root, people((1, "a")))], SCHEMA, CommitInfo(APP, 1))
    with catalog(warehouse).load_table("shop.silver.orders").update_schema() as change:
        change.rename_column("name", "label")
    with pytest.raises(FeatureRefused, match=r"columns were renamed or made again \(label\)"):
        TABLES.state(str(root))


def test_a_column_that_was_dropped_and_made_again_is_refused(root, warehouse, stage):
    TABLES.append(str(root), [stage(root, people((1, "a")))], SCHEMA, CommitInfo(APP, 1))
    table = catalog(warehouse).load_table("shop.silver.orders")
    with table.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column("name")
    from pyiceberg.types import StringType

    with table.update_schema() as change:
        change.add_column("name", StringType())
    with pytest.raises(FeatureRefused, match=r"made again \(name\)"):
        TABLES.state(str(root))


def test_delete_files_are_refused(root, stage, monkeypatch):
    TABLES.append(str(root), [stage(root, people((1, "a")))], SCHEMA, CommitInfo(APP, 1))
    monkeypatch.setattr(ManifestFile, "content", property(lambda _: ManifestContent.DELETES))
    with pytest.raises(FeatureRefused, match="deleted by delete files"):
        TABLES.check(str(root))


def test_a_table_that_the_catalog_does_not_know_is_read_but_not_written(tmp_path, warehouse):
    elsewhere = SqlCatalog("theirs", uri=f"sqlite:///{tmp_path}/theirs.db", warehouse=str(tmp_path / "theirs"))
    elsewhere.create_namespace("a")
    table = elsewhere.create_table("a.people", SCHEMA, location=str(tmp_path / "theirs" / "people"))
    table.append(people((1, "a"), (2, "b")))
    place = str(tmp_path / "theirs" / "people")
    assert TABLES.preview(place).to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    with pytest.raises(FeatureRefused, match="that the catalog does not know"):
        TABLES.check(place)


def test_a_table_outside_every_warehouse_has_its_catalog_beside_it(tmp_path, warehouse, stage):
    place = tmp_path / "lake" / "orders"
    TABLES.append(str(place), [stage(place, people((1, "a")))], SCHEMA, CommitInfo(APP, 1))
    assert (tmp_path / "lake" / ".iceberg" / "catalog.db").is_file()
    assert TABLES.state(str(place)).rows == 1


def test_the_catalog_can_be_named(root, tmp_path, stage, monkeypatch):
    monkeypatch.setenv("LAKELOGIC_ICEBERG_CATALOG", f"sqlite:///{tmp_path}/central.db")
    TABLES.append(str(root), [stage(root, people((1, "a")))], SCHEMA, CommitInfo(APP, 1))
    found = SqlCatalog("lakelogic", uri=f"sqlite:///{tmp_path}/central.db").load_table("shop.silver.orders")
    assert found.scan().to_arrow().num_rows == 1


def test_a_catalog_that_cannot_be_reached_is_an_error_with_its_place(root, tmp_path, stage, monkeypatch):
    monkeypatch.setenv("LAKELOGIC_ICEBERG_CATALOG", f"sqlite:///{tmp_path}/no/such/folder.db")
    with pytest.raises(LakeLogicError, match="catalog cannot be used"):
        TABLES.state(str(root))


def test_an_empty_sqlite_catalog_is_not_made_by_looking(root, warehouse):
    assert TABLES.state(str(root)) is None
    assert not (warehouse / ".iceberg").exists()
    assert iceberg_catalog.open_foreign(str(root)) is None
