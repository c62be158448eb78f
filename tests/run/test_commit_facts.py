"""What earlier versions wrote into their commits is read as values, and finished where they stopped; see golden/make.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import FeatureRefused
from lakelogic.ledger.records import Intent
from lakelogic.ledger.store import open_ledger
from lakelogic.plan.source.deleted import Deleted
from lakelogic.run.publish import staged
from lakelogic.run.state import entries
from lakelogic.run.state.environments import makers_of
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables import chain
from lakelogic.tables.base import CommitInfo
from lakelogic.tables.facts import CURRENT, FIRST, BatchEnvironment, CommitFacts, CommitRecord, Makers, SecondaryRows
from lakelogic.tables.registry import load

GOLDEN = Path(__file__).parent / "golden"
OLDEST = GOLDEN / "1.0"
SHOP = "/tmp/lake/lakelogic_warehouse/shop"
ROWS = {"filtered": {}, "deduplicated": {}, "grouped": {}, "expanded": {}}
CSV = {"format": "csv", "columns": [["id", "string"], ["amount", "string"], ["phone", "string"]]}
STAMPS = (
    ("_lakelogic_source", "string"),
    ("_lakelogic_processed_at", "timestamp"),
    ("_lakelogic_run_id", "string"),
    ("_lakelogic_contract_name", "string"),
    ("_lakelogic_domain", "string"),
    ("_lakelogic_system", "string"),
    ("_lakelogic_created_at", "timestamp"),
    ("_lakelogic_created_by", "string"),
)
ORDERS = (("id", "int"), ("amount", "int"), ("phone", "string"), *STAMPS)
PLAIN = CommitFacts(
    version=FIRST, contract_version="1.0.0", engine="duckdb", landed=CSV, masks={}, masked=(), read_masks={},
    read_masks_all={}, environment=BatchEnvironment(None), environments=Makers(frozenset({None})),
)  # fmt: skip


def told(version: Path, form: str, table: str, side: str) -> list[CommitRecord]:
    """What the commits of one side say, newest first."""
    commits = json.loads((version / f"{form}.json").read_text())[f"shop/{table}"]["commits"]
    [found] = [said for app, said in commits.items() if app.endswith(f":{side}")]
    return [CommitRecord(said) for said in found]


def all_texts(kept: Any) -> Iterator[Any]:
    """Every record of a fixture: of the log as text, of the entries beside it as JSON."""
    for table in kept.values():
        yield from (json.loads(said.get("facts", "{}")) for app in table["commits"].values() for said in app)
        for chained in table["entries"].values():
            for entry in chained:
                yield from (said["facts"] for said in (entry["commit"], *entry.get("earlier", ())))


def test_an_append_of_a_file() -> None:
    [*_, first] = told(OLDEST, "delta", "bronze/orders", "good")
    place = f"{SHOP}/bronze/orders/batch-bcdc8f920f4d5355-run-20261118T201948-8471cc"
    entry = "00000000000000000001-dce9d10d59dbf0926305cc6a0e583acbc738dd874f9c7df49ced1bd65b1df0bb"
    assert (first.batch_id, first.n, first.fingerprint) == ("bcdc8f920f4d53559a750ba43b11c63c", 1, "ef9d45994d6d807b")
    assert first.entry == entry
    assert first.facts == replace(
        PLAIN,
        run_id="run-20261118T201948-8471cc",
        at=datetime(2026, 11, 18, 20, 19, 48, 748786, UTC),
        counts={**ROWS, "source": 3, "good": 2, "quarantined": 1},
        digests={"good": "2fefc3030e7840f4e60e08c67899e86f", "quarantined": "e425ed6abff3bd7880055087bc476433"},
        made_by="3d21928e4f0e970a",
        read_by="44136fa355b3678a",
        target=f"{SHOP}/bronze/orders",
        input={
            "files": [["/tmp/lake/landing/a.csv", 42, 1795033187551530837]],
            "digests": {"/tmp/lake/landing/a.csv": "1a3e91579aaf8f4af8ef46d4e079789cce88c614b207440987e2b330673fbcd6"},
        },
        secondary=SecondaryRows(place, ORDERS),
        rows_before=0,
        applied={"inserted": 2, "rows": 2},
    )


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_what_the_commits_of_good_rows_told(form: str) -> None:
    changed, approved, replayed, of_dev, first = (one.facts for one in told(OLDEST, form, "bronze/orders", "good"))
    assert [one.rows_before for one in (first, of_dev, replayed, approved, changed)] == [0, 2, 3, 4, 5]
    assert (first.environment, first.environments) == (BatchEnvironment(None), Makers(frozenset({None})))
    assert (of_dev.environment, of_dev.environments) == (BatchEnvironment("dev"), Makers(frozenset({None, "dev"})))
    assert (replayed.replay, replayed.at, replayed.digests, replayed.made_by) == (True, None, {}, None)
    assert replayed.input["replay"]["rows"] == 3
    assert (replayed.counts["good"], replayed.counts["quarantined"]) == (1, 2)
    assert approved.approved == {
        "person": "ada",
        "why": "looked at it",
        "gate": ["50.0% of the rows are quarantined, at most 10.0% may be"],
        "at": None,
    }
    assert (approved.replaces, changed.replaces) == (False, True)
    assert (changed.applied["added_rows"], changed.applied["removed_rows"]) == (2, 3)
    assert changed.input["instead"]["sources"] == ["/tmp/lake/landing/a.csv"]
    assert (changed.secondary, approved.secondary is not None) == (None, True)


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_what_the_commits_of_tables_over_tables_told(form: str) -> None:
    newest, *_, first = (one.facts for one in told(OLDEST, form, "silver/orders", "good"))
    assert (first.source, first.input["table"]) == ("shop.bronze.orders", f"{SHOP}/bronze/orders")
    assert (first.read_masks, first.masked, first.read_masks_all) == ({"source": ()}, (), {"source": ()})
    assert newest.replaces
    assert newest.input["instead"]["whole"] is True
    assert (newest.read_masks, newest.masked) == ({"source": ("phone",)}, ("phone",))
    assert newest.read_masks_all == {"source": ()}
    assert newest.landed is not None
    assert newest.landed["format"] == "delta"  # of a table as source, whatever its format


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_what_other_commits_told(form: str) -> None:
    hashed = {"phone": {"mask": "hash", "format": None, "check": "ef92ace1fccd44ca"}}
    for table in ("bronze/orders", "quarantine/bronze_orders"):
        [remasked] = told(OLDEST, form, table, "remask")
        assert remasked.facts == CommitFacts(run_id=remasked.batch_id, masks=hashed, version=FIRST)
        assert str(remasked.batch_id).startswith("remask-run-")
    bad = [one.facts for one in told(OLDEST, form, "quarantine/bronze_orders", "bad")]
    assert [one.counts["quarantined"] for one in bad] == [1, 2, 2, 1]
    assert [one.replay for one in bad] == [False, True, False, False]
    assert [one.rows_before for one in bad] == [None] * 4
    assert [one.environment for one in bad] == [*map(BatchEnvironment, (None, None, "dev", None))]
    [left] = told(OLDEST, form, "quarantine/bronze_orders", "queue")
    assert left.facts == CommitFacts(run_id=left.facts.run_id, version=FIRST)
    [discarded] = told(OLDEST, form, "quarantine/bronze_orders", "discard")
    assert (discarded.batch_id, discarded.facts) == (None, CommitFacts(version=FIRST))
    copies = [one.facts for one in told(OLDEST, form, "copy/orders", "secondary")]
    both = Makers(frozenset({None, "dev"}))
    assert copies == [
        CommitFacts(environments=makers, version=FIRST) for makers in (both, both, both, Makers(frozenset({None})))
    ]
    assert [one.facts.deletes for one in told(OLDEST, form, "silver/changes", "good")] == [
        Deleted("_lakelogic_is_deleted", True)
    ] * 2
    days = [one.facts for one in told(OLDEST, form, "gold/days", "good")]
    assert [(one.in_parts, one.watermark) for one in days] == [(True, "2026-02-02"), (True, "2026-02-01")]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_record_is_written_again_as_it_was(path: Path) -> None:
    for kept in all_texts(json.loads(path.read_text())):
        without_nulls = {key: value for key, value in kept.items() if value is not None or key == "environment"}
        assert CommitFacts.from_json(kept).to_json() == without_nulls


def test_keys_of_a_newer_version_are_kept_and_written_again() -> None:
    kept = {"version": "1.9", "run_id": "r", "weather": {"rain": None}, "moon": None}
    facts = CommitFacts.from_json(kept)
    assert (facts.version, facts.more) == ((1, 9), {"weather": {"rain": None}, "moon": None})
    assert replace(facts, replay=True).to_json() == {**kept, "replay": True}


def test_a_record_tells_its_version_and_one_of_a_newer_kind_is_refused() -> None:
    assert CommitFacts(run_id="r").to_json() == {"version": "1.1", "run_id": "r"}
    assert CommitFacts.from_json({"run_id": "r"}).version == FIRST
    assert CommitFacts.from_json({"version": "1.1"}).version == CURRENT
    with pytest.raises(FeatureRefused) as refused:
        CommitFacts.from_json({"version": "2.0", "run_id": "r"})
    assert "its record has version 2.0, and this version knows 1.1" in refused.value.message
    assert refused.value.hint is not None


def test_what_is_told_to_be_nothing_differs_from_what_is_not_told() -> None:
    silent, empty = CommitFacts(), CommitFacts(masks={}, masked=(), read_masks={}, environment=BatchEnvironment(None))
    assert silent.to_json() == {"version": "1.1"}
    assert empty.to_json() == {"version": "1.1", "masks": {}, "masked": [], "read_masks": {}, "environment": None}
    assert CommitFacts.from_json(empty.to_json()) == empty


def test_a_staged_record_is_written_again_as_it_was_with_what_a_newer_version_says() -> None:
    kept = json.loads((OLDEST / "crashed/staged.json").read_text())
    batch = staged.from_json({**kept, "weather": "rain"})
    assert (batch.run_id, batch.n, batch.seen, batch.had_queue, batch.env) == (kept["run_id"], 1, 0, False, None)
    assert batch.started == datetime.fromisoformat(kept["started"])
    assert (batch.good_rows, batch.quarantined, batch.was_handed_in) == (2, 1, False)
    assert (batch.facts.run_id, batch.facts.version) == (kept["run_id"], FIRST)
    assert [(column.name, str(column.type)) for column in batch.columns if column.on_good] == [*ORDERS]
    assert [file.path for file in batch.inputs] == ["/tmp/lake/landing/a.csv"]
    assert batch.places.target_location == f"{SHOP}/bronze/orders"
    commit = {key: value for key, value in kept["commit"].items() if value is not None or key == "environment"}
    assert json.loads(json.dumps(batch.to_json())) == {**kept, "commit": commit, "weather": "rain"}


def test_a_staged_record_of_a_newer_kind_is_refused() -> None:
    kept = json.loads((OLDEST / "crashed/staged.json").read_text())
    with pytest.raises(FeatureRefused, match="its record has format 3, and this version knows 2"):
        staged.from_json({**kept, "format": 3})


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_a_table_that_a_newer_kind_has_committed_to_is_left_alone(
    duckdb_engine: Any, workspace: Path, form: str
) -> None:
    (workspace / "landing").mkdir()
    Path("landing/a.csv").write_text("id\n1\n")
    contract = {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int"}]},
        "materialization": {"strategy": "append", "target_path": "shop.bronze.orders", "format": form},
    }
    with DataProcessor(contract, duckdb_engine) as processor:
        processor.run()
    tables, place, app_id = load(form), LocalCatalog().resolve("shop.bronze.orders"), "lakelogic:orders:good"
    before = tables.state(place)
    assert before is not None
    said = {"batch_id": "b", "n": "2", "facts": json.dumps({"version": "2.0", "run_id": "of tomorrow"})}
    tables.append(place, (), before.schema, CommitInfo(app_id, 2, said))
    Path("landing/b.csv").write_text("id\n2\n")
    with DataProcessor(contract, duckdb_engine) as processor, pytest.raises(FeatureRefused, match=r"has version 2\.0"):
        processor.run()
    after = tables.state(place)
    assert after is not None
    assert (after.transactions[app_id], after.files) == (2, before.files)


def test_an_entry_beside_the_log_carries_on_what_a_newer_version_said() -> None:
    facts = {"version": "1.9", "run_id": "r", "weather": "rain", "masks": {}, "input": {"files": [["a.csv", 1, 2]]}}
    [kept] = entries._kept([CommitRecord({"batch_id": "b", "n": "1", "progress": "e", "facts": json.dumps(facts)})])
    del facts["masks"]  # only of the newest commit anybody asks for them
    assert (kept.keys(), json.loads(kept["facts"])) == ({"batch_id", "n", "facts"}, facts)


def test_a_table_of_that_version_is_read_and_followed(duckdb_engine: Any, workspace: Path) -> None:
    place = Path(LocalCatalog().resolve("shop.silver.orders"))
    shutil.copytree(OLDEST / "silver_orders", place)
    app_id = "lakelogic:silver_orders:good"
    tables = load("delta")
    state = tables.state(str(place))
    assert state is not None
    assert makers_of(tables, str(place), app_id) == Makers(frozenset({None}))
    past = chain.walk(str(place), app_id, str(CommitRecord(state.metadata).entry))
    assert [CommitRecord(said).n for said in past.commits] == [4, 3, 2, 1]
    assert sorted(row["id"] for row in preview(Surroundings.here(), "shop.silver.orders", 10).rows) == [1, 3, 6]


def test_a_run_that_stopped_with_its_staged_record_is_finished(
    duckdb_engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_SALT", "a long salt of one's own, number 1")
    for path in (OLDEST / "crashed/shop").rglob("*.parquet"):
        target = workspace / "lakelogic_warehouse/shop" / path.relative_to(OLDEST / "crashed/shop")
        target.parent.mkdir(parents=True)
        shutil.copy(path, target)
    record = json.loads((OLDEST / "crashed/staged.json").read_text().replace("/tmp/lake", str(workspace)))
    place = LocalCatalog().resolve("shop.bronze.orders")
    key = f"bronze_orders@{place}"
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        assert ledger.next_n(key, record["n"]) == record["n"]
        ledger.begin(
            Intent(
                record["batch_id"], key, place, record["n"], record["commit"]["input"], record["fingerprint"], "duckdb",
                run_id=record["run_id"], staged=record,
            )
        )  # fmt: skip
    (workspace / "landing").mkdir()
    fields = [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]
    contract = {
        "dataset": "bronze_orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [*fields, {"name": "phone", "type": "string"}]},
        "materialization": {"strategy": "append", "target_path": "shop.bronze.orders"},
    }
    Path("orders.yaml").write_text(yaml.safe_dump(contract))
    with DataProcessor("orders.yaml", duckdb_engine) as processor:
        assert processor.run().status == "no_new_data"
    state = load("delta").state(place)
    assert state is not None
    rows = [row["id"] for path in state.files for row in pq.ParquetFile(path).read(["id"]).to_pylist()]
    assert sorted(rows) == [1, 3]
    newest = CommitRecord(state.metadata)
    assert (newest.facts.run_id, newest.facts.version) == (record["run_id"], FIRST)
    [bad] = preview(Surroundings.here(), "shop.quarantine.bronze_orders", 10).rows
    assert bad["id"] == 2
