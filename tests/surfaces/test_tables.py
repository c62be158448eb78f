"""`lakelogic ddl`, `maintain`, `reset` and `reload`: what is shown, what is done, and what is left alone."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic import clock
from lakelogic.actions.look.preview import preview
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.kinds import kind_of
from lakelogic.tables.registry import load

CONTRACT = """
info: {{title: Orders, target_layer: silver}}
dataset: orders
source: {{path: landing/*.csv, load_mode: incremental}}
model:
  fields:
    - {{name: id, type: int, required: true}}
    - {{name: day, type: date, description: "The day of the order"}}
materialization: {{strategy: {strategy}, primary_key: [id], target_path: shop.silver.orders, format: {form}{more}}}
lineage: {{enabled: false}}
{rest}
"""


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shop(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")
    (workspace / "landing").mkdir()
    return workspace


def write(form: str = "delta", strategy: str = "append", more: str = "", rest: str = "") -> None:
    Path("orders.yaml").write_text(CONTRACT.format(form=form, strategy=strategy, more=more, rest=rest))


def land(name: str, *lines: str) -> None:
    Path("landing", name).write_text("\n".join(["id,day", *lines, ""]))


def call(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(words), input=answer, catch_exceptions=False)


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def ids(table: str = "shop.silver.orders") -> list[Any]:
    return sorted(row["id"] for row in preview(Surroundings.here(), table, 100).rows)


def test_ddl_shows_the_table_that_a_run_would_make_and_makes_nothing(shop: Path) -> None:
    write(more=', partition_by: [day], table_properties: {delta.checkpointInterval: "5"}')
    result = call("ddl", "orders.yaml")
    assert result.exit_code == 0
    place = shop / "lakelogic_warehouse/shop/silver/orders"
    assert result.stdout == (
        "CREATE TABLE `shop`.`silver`.`orders` (\n"
        "  `id` INT,\n"
        "  `day` DATE COMMENT 'The day of the order'\n"
        ")\n"
        "USING delta\n"
        "PARTITIONED BY (`day`)\n"
        "TBLPROPERTIES ('delta.checkpointInterval' = '5')\n"
        f"LOCATION '{place}';\n"
    )
    assert not place.exists()


def test_ddl_makes_an_empty_table_and_the_first_run_fills_it(shop: Path, form: str) -> None:
    write(form)
    assert call("ddl", "orders.yaml", "--apply").exit_code == 0
    assert preview(Surroundings.here(), "shop.silver.orders").total == 0
    assert kind_of("lakelogic_warehouse/shop/silver/orders") == form
    assert "is as the contract says" in call("ddl", "orders.yaml").stdout
    land("a.csv", "1,2026-01-01")
    assert call("run", "orders.yaml").exit_code == 0
    assert ids() == [1]


def test_ddl_adds_columns_and_leaves_rows_and_other_differences(shop: Path, form: str) -> None:
    write(form)
    land("a.csv", "1,2026-01-01")
    call("run", "orders.yaml")
    before = load(form).state("lakelogic_warehouse/shop/silver/orders")
    text = Path("orders.yaml").read_text().replace("type: int", "type: bigint")
    Path("orders.yaml").write_text(text.replace("- {name: day", "- {name: note, type: string}\n    - {name: day"))
    result = call("ddl", "orders.yaml", "--apply")
    assert result.stdout.splitlines() == [
        "ALTER TABLE `shop`.`silver`.`orders` ADD COLUMNS (`note` STRING);",
        "-- `id` is stored as int, the contract says bigint: a run decides by schema_policy",
    ]
    after = load(form).state("lakelogic_warehouse/shop/silver/orders")
    assert before is not None
    assert after is not None
    assert (after.files, after.schema.names) == (before.files, ["id", "day", "note"])


def test_ddl_under_a_strict_policy_changes_nothing(shop: Path) -> None:
    write(rest="schema_policy: {evolution: strict}")
    call("ddl", "orders.yaml", "--apply")
    text = Path("orders.yaml").read_text()
    Path("orders.yaml").write_text(text.replace("- {name: day", "- {name: note, type: string}\n    - {name: day"))
    result = call("ddl", "orders.yaml", "--apply")
    assert result.exit_code == 1
    assert "evolution is strict" in result.stderr


def test_maintain_tells_what_it_would_do_and_then_does_it(shop: Path, form: str) -> None:
    write(form)
    for number in (1, 2, 3):
        land(f"{number}.csv", f"{number},2026-01-01", ",2026-01-01")
        call("run", "orders.yaml")
    planned = told(call("maintain", "orders.yaml", "--dry-run", "--json"))
    assert [(one["table"], one["files_before"], one["files_after"]) for one in planned["tables"]] == [
        ("shop.silver.orders", 3, 1),
        ("shop.quarantine.silver_orders", 3, 1),
    ]
    done = told(call("maintain", "orders.yaml", "--json"))
    assert done["tables"][0]["files_after"] == 1
    state = load(form).state("lakelogic_warehouse/shop/silver/orders")
    assert state is not None
    assert len(state.files) == 1
    assert ids() == [1, 2, 3]
    assert call("maintain", "shop.silver.orders").exit_code == 0
    assert call("run", "orders.yaml").exit_code == 0
    assert ids() == [1, 2, 3]


def test_maintain_sweeps_what_a_killed_run_left(shop: Path, form: str) -> None:
    write(form)
    land("a.csv", "1,2026-01-01")
    call("run", "orders.yaml")
    left = Path("lakelogic_warehouse/shop/silver/orders/batch-dead/ll_side=good/part-0.parquet")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half a file")
    then = (datetime.now(UTC) - timedelta(hours=30)).timestamp()
    os.utime(left, (then, then))
    assert told(call("maintain", "orders.yaml", "--json"))["tables"][0]["files_deleted"] == 0
    assert told(call("maintain", "orders.yaml", "--retention", "24h", "--json"))["tables"][0]["files_deleted"] == 1
    assert not left.exists()
    assert ids() == [1]


def test_a_table_that_is_being_written_is_left_alone(shop: Path) -> None:
    write()
    land("a.csv", "1,2026-01-01")
    call("run", "orders.yaml")
    place = str(shop / "lakelogic_warehouse/shop/silver/orders")
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        ledger.acquire(place, "somebody@elsewhere:1", timedelta(minutes=5))
    for command in (["maintain", "orders.yaml"], ["reset", "orders.yaml", "--yes"]):
        assert call(*command).exit_code == 5
    assert ids() == [1]


def test_bad_rows_are_kept_as_long_as_the_contract_says(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(rest="quarantine: {retention: 30 days}")
    text = Path("orders.yaml").read_text().replace("lineage: {enabled: false}\n", "")
    Path("orders.yaml").write_text(text)
    land("a.csv", ",2026-01-01", "1,2026-01-01")
    call("run", "orders.yaml")
    now = datetime.now(UTC)
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=20))
    land("b.csv", ",2026-01-02", "2,2026-01-02")
    call("run", "orders.yaml")
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=31))
    done = told(call("maintain", "orders.yaml", "--no-vacuum", "--json"))
    assert [one["bad_rows_deleted"] for one in done["tables"]] == [0, 1]
    assert preview(Surroundings.here(), "shop.quarantine.silver_orders").total == 1


def test_reset_shows_a_plan_and_asks(shop: Path) -> None:
    write()
    land("a.csv", "1,2026-01-01", ",2026-01-01")
    call("run", "orders.yaml")
    result = call("reset", "orders.yaml", answer="n\n")
    assert "shop.silver.orders" in result.stdout
    assert "Nothing was changed" in result.stderr
    assert ids() == [1]
    refused = call("reset", "orders.yaml", "--json")
    assert refused.exit_code == 2
    assert ids() == [1]


def test_after_a_reset_everything_is_read_again_and_the_ledger_knows_why(shop: Path, form: str) -> None:
    write(form)
    land("a.csv", "1,2026-01-01", ",2026-01-01")
    call("run", "orders.yaml")
    done = told(call("reset", "orders.yaml", "--yes", "--why", "wrong file", "--json"))
    assert [(one["dataset"], one["rows"], one["quarantined"], one["files_read"]) for one in done["removed"]] == [
        ("orders", 1, 1, 1)
    ]
    assert not Path("lakelogic_warehouse/shop/silver/orders").exists()
    assert not Path("lakelogic_warehouse/shop/quarantine/silver_orders").exists()
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        (act,) = ledger.acts()
        assert (act.act, act.dataset, act.why) == ("reset", "orders", "wrong file")
        assert ledger.files_of("orders") == set()
    land("b.csv", "2,2026-01-02")
    call("run", "orders.yaml")
    assert ids() == [1, 2]
    assert preview(Surroundings.here(), "shop.quarantine.silver_orders").total == 1


def test_a_layer_is_reset_and_others_stay(shop: Path) -> None:
    write()
    text = Path("orders.yaml").read_text()
    Path("gold.yaml").write_text(text.replace("silver", "gold").replace("dataset: orders", "dataset: totals"))
    land("a.csv", "1,2026-01-01")
    for name in ("orders.yaml", "gold.yaml"):
        call("run", name)
    call("reset", ".", "--layer", "gold", "--yes")
    assert ids() == [1]
    assert not Path("lakelogic_warehouse/shop/gold/orders").exists()
    assert call("reset", ".", "--layer", "bronze", "--yes").exit_code == 2


def test_a_quarantine_that_others_share_loses_only_the_rows_of_the_dataset(shop: Path) -> None:
    write(rest="quarantine: {target: shop.quarantine.all}")
    text = Path("orders.yaml").read_text()
    Path("other.yaml").write_text(text.replace("dataset: orders", "dataset: other").replace(".orders", ".other"))
    land("a.csv", "1,2026-01-01", ",2026-01-01")
    for name in ("orders.yaml", "other.yaml"):
        call("run", name)
    assert told(call("reset", "orders.yaml", "--yes", "--json"))["removed"][0]["shared"] is True
    assert preview(Surroundings.here(), "shop.quarantine.all").total == 1
    listed = told(call("quarantine", "list", "other.yaml", "--json"))
    assert listed["total"] == 1, listed


def test_reload_replaces_appended_rows_in_one_commit(shop: Path, form: str) -> None:
    write(form)
    land("a.csv", "1,2026-01-01")
    call("run", "orders.yaml")
    land("b.csv", "2,2026-01-02")
    call("run", "orders.yaml")
    land("a.csv", "10,2026-01-01")
    assert call("reload", "orders.yaml", "--why", "corrected file").exit_code == 0
    assert ids() == [2, 10]
    assert told(call("run", "orders.yaml", "--json"))["status"] == "no_new_data"
    land("c.csv", "3,2026-01-03")
    call("run", "orders.yaml")
    assert ids() == [2, 3, 10]


def test_reload_merges_where_the_contract_merges(shop: Path, form: str) -> None:
    write(form, strategy="merge")
    land("a.csv", "1,2026-01-01")
    call("run", "orders.yaml")
    land("b.csv", "2,2026-01-02")
    call("run", "orders.yaml")
    assert call("reload", "orders.yaml").exit_code == 0
    assert ids() == [1, 2]
