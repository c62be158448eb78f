"""Tables with features that only Spark's own Delta writes: runs leave the rows they would leave in a plain table."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.operate.state import DoctorRequest, examine
from lakelogic.engines.spark import SparkEngine
from lakelogic.engines.spark import session as sessions
from lakelogic.engines.spark.native_delta import SparkDelta
from lakelogic.errors import FeatureRefused, TableError, UnsupportedError
from lakelogic.quarantine.queue import Chosen
from lakelogic.run import faults
from lakelogic.run.surroundings import Surroundings

pytestmark = pytest.mark.spark

FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "v", "type": "string"}]
MERGE = {"strategy": "merge", "primary_key": ["id"]}
DELETION_VECTORS = "'delta.enableDeletionVectors' = 'true'"
MAPPED = "'delta.columnMapping.mode' = 'name'"


@pytest.fixture(scope="module")
def own() -> Iterator[SparkEngine]:
    """Started without Delta, as runs do: what a table needs is found out when it is looked at."""
    engine = SparkEngine(master="local[2]")
    assert engine.session is not None
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def sql(own: SparkEngine) -> Callable[..., list[tuple[Any, ...]]]:
    """Somebody else's session with Delta."""
    own.own_delta()
    catalog = "spark.sql.catalog.spark_catalog"
    theirs = sessions.beside(own.session, {catalog: sessions.DELTA[catalog], **sessions.SMALL})

    def run(statement: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in theirs.sql(statement).collect()), key=repr)

    return run


@pytest.fixture
def shop(own: SparkEngine, sql: Any, workspace: Path) -> Shop:
    return Shop(own, sql, workspace)


class Shop:
    """Tables that somebody made with Spark, and contracts that write to them."""

    def __init__(self, engine: SparkEngine, sql: Any, folder: Path) -> None:
        self.engine, self.sql, self.folder = engine, sql, folder
        self.numbers = itertools.count(1)

    def place(self, name: str) -> str:
        return f"{self.folder}/lakelogic_warehouse/shop/silver/{name}"

    def make(self, name: str, columns: str, properties: str, *, parts: str = "") -> str:
        table = f"delta.`{self.place(name)}`"
        self.sql(f"CREATE TABLE {table} ({columns}) USING DELTA {parts} TBLPROPERTIES ({properties})")
        return table

    def rows(self, name: str, columns: str = "id, v") -> list[tuple[Any, ...]]:
        return self.sql(f"SELECT {columns} FROM delta.`{self.place(name)}`")

    def contract(self, name: str, fields: Any = FIELDS, source: Any = None, **settings: Any) -> dict[str, Any]:
        return {
            "dataset": name,
            "source": {"path": f"landing/{name}-*.csv", "load_mode": "incremental", **(source or {})},
            "model": {"fields": fields},
            "materialization": {"target_path": f"shop.silver.{name}", **settings},
        }

    def land(self, name: str, *lines: str) -> None:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{name}-{next(self.numbers):02d}.csv").write_text("\n".join([*lines, ""]))

    def run(self, document: dict[str, Any], *lines: str) -> Any:
        if lines:
            self.land(document["dataset"], *lines)
        return DataProcessor(document, self.engine).run()


def test_a_merge_that_dies_after_its_commit_is_there_once_and_ledgers_learn_of_it(shop: Shop) -> None:
    table = shop.make("marked", "id INT, v STRING", DELETION_VECTORS)
    shop.sql(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    shop.sql(f"DELETE FROM {table} WHERE id = 3")
    document = shop.contract("marked", **MERGE)
    shop.land("marked", "id,v", "1,one", "2,TWO", "4,four", ",nobody")

    def die(point: str) -> None:
        if point == "after_good_commit":
            raise faults.InjectedFault(point)

    with faults.watched(die), pytest.raises(faults.InjectedFault):
        shop.run(document)
    assert shop.rows("marked") == [(1, "one"), (2, "TWO"), (4, "four")]
    newest = shop.sql(f"DESCRIBE HISTORY {table}")[-1][0]
    assert shop.run(document).status == "no_new_data"
    assert shop.sql(f"DESCRIBE HISTORY {table}")[-1][0] == newest
    for ledger in Path("lakelogic_warehouse").rglob("*.db"):
        ledger.unlink()
    Path("contract.yaml").write_text(json.dumps(document))
    found = {one.what: one.found for one in examine(Surroundings.here(), DoctorRequest(("contract.yaml",)))[0].findings}
    assert found["ledger"] == "1 commits and 1 files were read back from the table"
    assert found["memory"] == "1 entries tell of all 1 commits"
    shop.sql(f"VACUUM {table}")
    assert len(list(Path(shop.place("marked")).glob("_lakelogic_progress/*/*.json"))) == 1
    # The row is deleted by Delta as it deletes, and comes back when a batch brings it.
    assert shop.run({**document, **shop.contract("marked")}, "id,v", "3,drei").counts.good == 1
    assert shop.rows("marked") == [(1, "one"), (2, "TWO"), (3, "drei"), (4, "four")]


def test_changes_and_overwrites_go_to_columns_under_their_present_names(shop: Shop) -> None:
    table = shop.make("renamed", "id INT, old STRING", MAPPED)
    shop.sql(f"INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")
    shop.sql(f"ALTER TABLE {table} RENAME COLUMN old TO v")
    changes = shop.contract("renamed", source={"load_mode": "cdc", "cdc_op_field": "op"}, primary_key=["id"])
    done = shop.run({**changes, "soft_deletes": {"enabled": False}}, "op,id,v", "D,1,", "U,2,zwei", "I,3,drei")
    assert {key: done.report["applied"][key] for key in ("inserted", "updated", "deleted")} == {
        "inserted": 1, "updated": 1, "deleted": 1,
    }  # fmt: skip
    assert shop.rows("renamed") == [(2, "zwei"), (3, "drei")]
    shop.run(shop.contract("renamed", strategy="overwrite"), "id,v", "9,nine")
    assert shop.rows("renamed") == [(9, "nine")]


def test_constraints_hold_computed_columns_are_computed_and_followers_see_single_rows(shop: Shop) -> None:
    columns = "id INT, v STRING, twice INT GENERATED ALWAYS AS (id * 2)"
    table = shop.make("strict", columns, "'delta.enableChangeDataFeed' = 'true'")
    shop.sql(f"INSERT INTO {table} (id, v) VALUES (1, 'one'), (2, 'two')")
    shop.sql(f"ALTER TABLE {table} ADD CONSTRAINT small CHECK (id < 100)")
    before = shop.sql(f"DESCRIBE HISTORY {table}")[-1][0]
    long = [FIELDS[0], {"name": "v", "type": "string", "max_length": 5}]
    document = {**shop.contract("strict", long, **MERGE), "lineage": {"enabled": False}}
    shop.run(document, "id,v", "1,one", "2,TWO", "4,fourteen")
    assert shop.rows("strict", "id, v, twice") == [(1, "one", 2), (2, "TWO", 4)]
    feed = f"SELECT _change_type, id, v FROM table_changes_by_path('{shop.place('strict')}', {before + 1})"
    assert shop.sql(feed) == [("update_postimage", 2, "TWO"), ("update_preimage", 2, "two")]
    wider = {**document, "model": {"fields": FIELDS}}
    assert DataProcessor(wider, shop.engine).replay(Chosen()).passed == 1
    assert shop.rows("strict", "id, v, twice") == [(1, "one", 2), (2, "TWO", 4), (4, "fourteen", 8)]
    with pytest.raises(TableError, match=r"breaks a promise of the table: CHECK constraint small \(id < 100\)\n"):
        shop.run(wider, "id,v", "500,big")
    assert len(shop.rows("strict")) == 3


@pytest.mark.skipif("LAKELOGIC_ALL_FAULTS" not in os.environ, reason="tried by make test-faults")
def test_a_history_keeps_its_versions_where_the_contract_asks_for_deletion_vectors(shop: Shop) -> None:
    fields = [*FIELDS, {"name": "at", "type": "timestamp"}]
    document = shop.contract(
        "history",
        fields,
        strategy="scd2",
        primary_key=["id"],
        scd2={"timestamp_field": "at", "track_columns": ["v"]},
        table_properties={"delta.enableDeletionVectors": True},
    )
    shop.run(document, "id,v,at", "1,Bern,2026-01-05", "2,Rome,2026-01-05")
    # A change, and a row that comes late and takes its place before what is there.
    shop.run(document, "id,v,at", "1,Genf,2026-02-01", "2,Pisa,2026-01-01")
    told = "id, _version, v, date_format(effective_from, 'yyyy-MM-dd'), date_format(effective_to, 'yyyy-MM-dd')"
    assert shop.rows("history", told) == [
        (1, 1, "Bern", "1900-01-01", "2026-02-01"),
        (1, 2, "Genf", "2026-02-01", "9999-12-31"),
        (2, 1, "Pisa", "1900-01-01", "2026-01-05"),
        (2, 2, "Rome", "2026-01-05", "9999-12-31"),
    ]
    wide = [{"name": "id", "type": "bigint", "required": True}, *fields[1:]]
    with pytest.raises(UnsupportedError, match="cannot replace its columns or give them other types"):
        shop.run({**document, "model": {"fields": wide}}, "id,v,at", "1,Chur,2026-03-01")


@pytest.mark.skipif("LAKELOGIC_ALL_FAULTS" not in os.environ, reason="tried by make test-faults")
def test_what_somebody_changes_meanwhile_is_looked_at_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    table = shop.make("raced", "id INT, v STRING, note STRING", DELETION_VECTORS)
    shop.sql(f"INSERT INTO {table} VALUES (1, 'one', 'a'), (2, 'two', 'b')")
    change, changes = SparkDelta.change, itertools.count()

    def slow(self: SparkDelta, *given: Any) -> None:
        if next(changes) == 0:
            shop.sql(f"UPDATE {table} SET id = 20 WHERE id = 2")
        change(self, *given)

    monkeypatch.setattr(SparkDelta, "change", slow)
    settings = {**MERGE, "unknown_member": {"v": "nobody"}}
    document = {**shop.contract("raced", **settings), "lineage": {"enabled": False}}
    done = shop.run(document, "id,v", "1,ONE", "2,TWO")
    assert next(changes) == 2
    assert shop.rows("raced", "*") == [(-1, "nobody", None), (1, "ONE", "a"), (2, "TWO", None), (20, "two", "b")]
    assert (done.report["applied"]["updated"], done.report["applied"]["inserted"]) == (1, 1)


@pytest.mark.skipif("LAKELOGIC_ALL_FAULTS" not in os.environ, reason="tried by make test-faults")
def test_partitions_are_replaced_and_such_tables_are_sources_and_links(shop: Shop) -> None:
    table = shop.make("days", "id INT, v STRING, day STRING", DELETION_VECTORS, parts="PARTITIONED BY (day)")
    shop.sql(f"INSERT INTO {table} VALUES (1, 'one', 'mon'), (2, 'two', 'tue'), (3, 'three', 'mon')")
    shop.sql(f"DELETE FROM {table} WHERE id = 3")
    fields = [*FIELDS, {"name": "day", "type": "string"}]
    document = shop.contract("days", fields, strategy="overwrite", overwrite_scope="partitions")
    shop.run(document, "id,v,day", "5,five,tue")
    assert shop.rows("days", "id, v, day") == [(1, "one", "mon"), (5, "five", "tue")]
    names = shop.make("names", "day STRING, long STRING", MAPPED)
    shop.sql(f"INSERT INTO {names} VALUES ('mon', 'Monday'), ('tue', 'Tuesday')")
    reader = {
        "dataset": "copy",
        "source": {"type": "table", "path": "shop.silver.days"},
        "links": [{"name": "names", "table": "shop.silver.names"}],
        "transformations": [
            {"lookup": {"field": "long", "reference": "names", "on": "day", "key": "day", "value": "long"}}
        ],
        "model": {"fields": [*FIELDS, {"name": "long", "type": "string"}]},
        "materialization": {"target_path": "shop.silver.copy"},
    }
    assert shop.run(reader).counts.source == 2
    assert shop.rows("copy", "id, v, long") == [(1, "one", "Monday"), (5, "five", "Tuesday")]


def test_rows_of_an_append_only_table_are_never_replaced(shop: Shop) -> None:
    shop.make("forever", "id INT, v STRING", f"{DELETION_VECTORS}, 'delta.appendOnly' = 'true'")
    with pytest.raises(FeatureRefused, match="appendOnly"):
        shop.run(shop.contract("forever", **MERGE), "id,v", "1,one")
    assert not list(Path(shop.place("forever")).glob("batch-*"))
