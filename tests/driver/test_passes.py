"""Passes over small estates of CSV files, on DuckDB: tables, ledger, summary, and not only exit codes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from lakelogic import Driver, build_dag_from_upstream, load_all_contracts, run_contract, topo_sort
from lakelogic.actions.operate.drive import DriveRequest, drive, plan
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.drive import drive as drive_command
from lakelogic.cli.main import cli
from lakelogic.driver.attempts import Retries
from lakelogic.driver.outcome import DatasetOutcome
from lakelogic.driver.passes import Pass
from lakelogic.engines import registry
from lakelogic.errors import LakeLogicError, LoadError, UsageError
from lakelogic.ledger.store import open_ledger
from lakelogic.run.surroundings import Surroundings

REGISTRY = """
entries:
  - entity: orders
    contracts: {bronze: bronze/orders.yaml, silver: silver/orders.yaml, gold: gold/totals.yaml}
  - entity: items
    contracts: {bronze: bronze/items.yaml, silver: silver/items.yaml}
  - entity: returns
    enabled: false
    contracts: {bronze: bronze/returns.yaml}
"""


def bronze(name: str) -> str:
    return (
        f"info: {{target_layer: bronze, dataset: bronze_{name}, owner: team}}\n"
        f"source: {{path: landing, pattern: '{name}_*.csv', format: csv, load_mode: incremental}}\n"
        f"materialization: {{target_path: shop.bronze.{name}}}\n"
    )


def silver(name: str) -> str:
    return (
        f"info: {{target_layer: silver, dataset: silver_{name}, owner: team}}\n"
        f"source: {{path: shop.bronze.{name}}}\n"
        "model: {fields: [{name: id, type: int, required: true}, {name: amount, type: int}]}\n"
        "quality:\n  max_quarantine_ratio: 0.5\n  row_rules: [{name: amount_is_positive, sql: 'amount > 0'}]\n"
        f"materialization: {{target_path: shop.silver.{name}, strategy: overwrite}}\n"
    )


@pytest.fixture
def estate(lay, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = lay(
        {
            "contracts/_registry.yaml": REGISTRY,
            "contracts/bronze/orders.yaml": bronze("orders"),
            "contracts/bronze/items.yaml": bronze("items"),
            "contracts/bronze/returns.yaml": bronze("returns"),
            "contracts/silver/orders.yaml": silver("orders"),
            "contracts/silver/items.yaml": silver("items"),
            "contracts/gold/totals.yaml": silver("orders")
            .replace("silver", "gold")
            .replace("bronze", "silver")
            .replace("gold_orders", "gold_totals")
            .replace("gold.orders", "gold.totals"),
            "landing/orders_1.csv": "id,amount\n1,10\n2,20\n3,-5\n",
            "landing/items_1.csv": "id,amount\n7,1\n",
            "none/_registry.yaml": "entries: []\n",
        }
    )
    monkeypatch.chdir(folder)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    return folder


def go(listen: Callable[[DatasetOutcome], None] = lambda _: None, **more: Any) -> Pass:
    asked = {"registries": ("contracts/_registry.yaml",), "engine": "duckdb", **more}
    return drive(Surroundings.here(), DriveRequest(**asked), listen=listen)


def statuses(done: Pass) -> dict[str, str]:
    return {one.dataset: one.status for one in done.outcomes}


def of(done: Pass, dataset: str) -> DatasetOutcome:
    return next(one for one in done.outcomes if one.dataset == dataset)


def ids(table: str) -> list[int]:
    rows = DeltaTable(Path("lakelogic_warehouse").joinpath(*table.split("."))).to_pyarrow_table().to_pylist()
    return sorted(int(row["id"]) for row in rows)


def recorded(pipeline_run_id: str) -> dict[str, tuple[str, str | None]]:
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        found = ledger.runs(limit=None)
    return {one.dataset: (one.status, one.reason) for one in found if one.pipeline_run_id == pipeline_run_id}


def test_a_pass_makes_every_table_and_the_next_finds_nothing_new(estate: Path) -> None:
    heard: list[str] = []
    done = go(lambda one: heard.append(one.dataset), max_workers=2)
    assert (done.status, done.exit_code) == ("succeeded", 0)
    assert sorted(heard) == ["bronze_items", "bronze_orders", "gold_totals", "silver_items", "silver_orders"]
    assert ids("shop.bronze.orders") == [1, 2, 3]
    assert ids("shop.silver.orders") == ids("shop.gold.totals") == [1, 2]
    silver_ = of(done, "silver_orders")
    assert (silver_.rows_source, silver_.rows_good, silver_.rows_quarantined) == (3, 2, 1)
    assert recorded(done.pipeline_run_id)["gold_totals"] == ("succeeded", None)
    again = go()
    assert set(statuses(again).values()) == {"no_new_data"}
    assert (again.status, again.exit_code) == ("no_new_data", 0)
    (estate / "landing/orders_2.csv").write_text("id,amount\n4,40\n")
    third = go()
    assert statuses(third) == {
        "bronze_orders": "succeeded",
        "bronze_items": "no_new_data",
        "silver_orders": "succeeded",
        "silver_items": "no_new_data",
        "gold_totals": "succeeded",
    }
    assert ids("shop.gold.totals") == [1, 2, 4]


def test_a_closed_gate_holds_back_what_depends_on_it_and_only_that(estate: Path) -> None:
    (estate / "landing/orders_1.csv").write_text("id,amount\n1,-1\n2,-2\n3,3\n")  # two of three are bad
    done = go(summary_path="out/summary.json")
    assert statuses(done) == {
        "bronze_orders": "succeeded",
        "bronze_items": "succeeded",
        "silver_orders": "gated",
        "silver_items": "succeeded",
        "gold_totals": "held_back",
    }
    assert done.exit_code == 3
    assert not (estate / "lakelogic_warehouse/shop/gold").exists()
    told = recorded(done.pipeline_run_id)
    assert told["gold_totals"][0] == "held_back"
    assert str(told["gold_totals"][1]).startswith("needs `silver_orders`, which was gated: 66.7% of the rows")
    summary = json.loads((estate / "out/summary.json").read_text())
    assert (summary["status"], summary["exit_code"]) == ("partial", 3)
    assert summary["counts"] == {
        "succeeded": 3, "no_new_data": 0, "gated": 1, "failed": 0, "held_back": 1, "skipped": 0,
    }  # fmt: skip


def test_a_few_quarantined_rows_hold_nothing_back(estate: Path) -> None:
    assert go(entities=("orders",)).exit_code == 0


def test_a_failed_dataset_has_its_error_and_outputs_are_written_all_the_same(estate: Path) -> None:
    (estate / "contracts/bronze/items.yaml").write_text(bronze("items").replace("path: landing", "path: nowhere"))
    for _ in range(2):
        done = go(
            metrics_path="out/metrics.json",
            summary_table="lakelogic.pipeline_runs",
            summary_database="out/runs.duckdb",
        )
    failed = of(done, "bronze_items")
    assert (failed.status, failed.exit_code) == ("failed", 4)
    assert failed.error is not None
    assert failed.error["code"] == "LL-E020"
    assert of(done, "silver_items").status == "held_back"
    assert done.exit_code == 3
    with duckdb.connect("out/runs.duckdb") as connection:
        rows = connection.execute(
            "SELECT pipeline_run_id, exit_code, succeeded, no_new_data, failed, held_back, rows_source, reasons"
            " FROM lakelogic.pipeline_runs ORDER BY started_at"
        ).fetchall()
    # orders: 3 landed, 3 of them read by silver, 2 by gold
    assert [row[1:7] for row in rows] == [(3, 3, 0, 1, 1, 8), (3, 0, 3, 1, 1, 0)]
    assert rows[1][0] == done.pipeline_run_id
    assert set(json.loads(rows[0][7])) == {"bronze_items", "silver_items"}
    metrics = json.loads((estate / "out/metrics.json").read_text())["metrics"]
    by_status = {m["labels"]["status"]: m["value"] for m in metrics if m["name"] == "lakelogic_pass_datasets"}
    assert by_status["failed"] == by_status["held_back"] == 1


def test_the_summary_table_can_be_one_of_sqlite(estate: Path) -> None:
    done = go(
        entities=("items",),
        summary_table="lakelogic.pipeline_runs",
        summary_backend="sqlite",
        summary_database="out/runs.db",
    )
    rows = sqlite3.connect("out/runs.db").execute(
        "SELECT pipeline_run_id, status, rows_good FROM lakelogic_pipeline_runs"
    )
    assert rows.fetchall() == [(done.pipeline_run_id, "succeeded", 2)]


def test_what_may_go_better_later_is_tried_again(estate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (estate / "landing").rename(estate / "away")
    waits: list[float] = []

    def comes_back(self: Retries, attempt: int) -> float:
        waits.append(attempt)
        if attempt == 2:
            (estate / "away").rename(estate / "landing")
        return 0.0

    monkeypatch.setattr(Retries, "seconds", comes_back)
    done = go(contracts=("bronze_items",), retries=3)
    assert (of(done, "bronze_items").status, of(done, "bronze_items").attempts) == ("succeeded", 3)
    assert waits == [1, 2]
    assert ids("shop.bronze.items") == [7]


def test_what_no_retry_can_mend_is_not_tried_again(estate: Path) -> None:
    (estate / "contracts/bronze/items.yaml").write_text(bronze("items") + "quarantine: {enabled: false}\n")
    (estate / "landing/items_1.csv").write_text("id,amount\n7,1,9,9\n")  # a line that cannot be read
    done = go(contracts=("bronze_items",), retries=5)
    assert (of(done, "bronze_items").attempts, done.exit_code) == (1, 1)


def test_waits_double_up_to_a_bound_with_jitter() -> None:
    retries = Retries(9, base_seconds=2, max_seconds=10)
    for attempt, longest in ((1, 2), (2, 4), (3, 8), (4, 10), (8, 10)):
        assert longest / 2 <= retries.seconds(attempt) <= longest


def test_a_failed_pass_goes_on_where_it_stopped(estate: Path) -> None:
    contract = estate / "contracts/silver/orders.yaml"
    good = contract.read_text()
    contract.write_text(good.replace("path: shop.bronze.orders", "path: shop.bronze.ordres"))
    first = go(state_path="logs/state.json")
    assert statuses(first)["silver_orders"] == "failed"
    assert json.loads((estate / "logs/state.json").read_text())["datasets"]["gold_totals"]["status"] == "held_back"
    contract.write_text(good)
    second = go(state_path="logs/state.json", resume=True)
    assert statuses(second) == {
        "bronze_orders": "skipped",
        "bronze_items": "skipped",
        "silver_orders": "succeeded",
        "silver_items": "skipped",
        "gold_totals": "succeeded",
    }
    assert second.exit_code == 0
    assert of(second, "silver_orders").reasons == (f"runs again: it was failed in {first.pipeline_run_id}",)
    assert "neither its contract nor its input has changed" in of(second, "bronze_items").reasons[0]
    assert ids("shop.gold.totals") == [1, 2]


def test_a_resumed_pass_runs_again_what_changed_since_and_says_why(estate: Path) -> None:
    go(state_path="state.json")
    (estate / "landing/orders_2.csv").write_text("id,amount\n4,40\n")
    contract = estate / "contracts/silver/items.yaml"
    contract.write_text(contract.read_text().replace("amount > 0", "amount > 100"))
    done = go(state_path="state.json", resume=True)
    assert of(done, "bronze_orders").reasons == ("runs again: orders_2.csv is new or has changed",)
    assert of(done, "silver_orders").reasons == ("runs again: its source is at version 1 and was at 0",)
    assert of(done, "bronze_items").status == "skipped"
    assert of(done, "silver_items").status == "gated"
    assert any("its contract has changed" in reason for reason in of(done, "silver_items").reasons)
    assert ids("shop.silver.orders") == [1, 2, 4]


def test_what_was_done_in_another_warehouse_is_not_done_in_this_one(
    estate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = go(state_path="state.json", entities=("items",))
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", "other")
    done = go(state_path="state.json", resume=True, entities=("items",))
    assert statuses(done) == {"bronze_items": "succeeded", "silver_items": "succeeded"}
    run = of(first, "bronze_items").run_id
    assert of(done, "bronze_items").reasons == (f"runs again: the ledger has no {run}, which the state file names",)


@pytest.mark.parametrize(
    "text",
    ['{"format": 1}', '{"format": 1, "datasets": []}', '{"format": 1, "datasets": {"bronze_items": {"done": true}}}'],
)
def test_a_state_file_that_is_not_whole_is_refused(estate: Path, text: str) -> None:
    Path("state.json").write_text(text)
    with pytest.raises(UsageError, match=r"state\.json is no whole state file"):
        go(state_path="state.json", resume=True)


def test_without_a_state_there_is_nothing_to_resume(estate: Path) -> None:
    done = go(state_path="state.json", resume=True, entities=("items",))
    assert done.exit_code == 0
    assert done.warnings == ("There is nothing to resume in state.json: everything runs.",)
    (estate / "state.json").write_text("[1")
    with pytest.raises(UsageError, match=r"state\.json cannot be read"):
        go(state_path="state.json", resume=True)
    with pytest.raises(UsageError, match="--resume needs to know"):
        go(resume=True)


def test_the_window_since_the_last_success(estate: Path) -> None:
    first = go(window="last_success")
    assert first.warnings == ("The ledger has no run yet: everything is read in full.",)
    assert of(first, "bronze_orders").window == "full: the ledger has no run yet"
    assert recorded(first.pipeline_run_id)["bronze_orders"] == ("succeeded", "full: the ledger has no run yet")
    (estate / "landing/orders_2.csv").write_text("id,amount\n4,40\n")
    second = go(window="last_success")
    assert second.warnings == ()
    assert of(second, "bronze_orders").rows_source == 1
    assert str(of(second, "bronze_orders").window).startswith("incremental: what is new since 20")
    assert ids("shop.bronze.orders") == [1, 2, 3, 4]


def test_over_an_upstream_that_was_never_made_the_window_skips_and_says_so(estate: Path) -> None:
    done = go(window="last_success", layers=("silver", "gold"))
    assert statuses(done) == {"silver_orders": "skipped", "silver_items": "skipped", "gold_totals": "held_back"}
    reason = "the ledger has no successful run of `bronze_items`, which it needs"
    assert of(done, "silver_items").reasons == (reason,)
    assert recorded(done.pipeline_run_id)["silver_items"] == ("skipped", reason)
    assert done.exit_code == 5


def test_a_pattern_for_all_leaves_contracts_of_other_files_alone(estate: Path) -> None:
    done = go(layers=("bronze",), overrides=("source.pattern=items_1.csv",))
    assert statuses(done) == {"bronze_orders": "skipped", "bronze_items": "succeeded"}
    assert of(done, "bronze_orders").reasons == (
        "its files are `orders_*.csv`, and --set source.pattern names items_1.csv",
    )
    assert done.exit_code == 0
    assert not (estate / "lakelogic_warehouse/shop/bronze/orders").exists()
    assert recorded(done.pipeline_run_id) == {"bronze_items": ("succeeded", "with --set source.pattern=items_1.csv")}


def test_a_pattern_that_mixes_the_files_of_contracts_is_refused(estate: Path) -> None:
    with pytest.raises(UsageError, match=r"`bronze_orders` would read files that .* leaves to others: items_1\.csv"):
        go(layers=("bronze",), overrides=("source.pattern=*.csv",))
    assert not (estate / "lakelogic_warehouse").exists()
    (estate / "landing/orders-again_2.csv").write_text("id,amount\n4,40\n")
    done = go(layers=("bronze",), entities=("orders",), overrides=("source.pattern=orders*.csv",))
    assert (statuses(done), ids("shop.bronze.orders")) == ({"bronze_orders": "succeeded"}, [1, 2, 3, 4])


def test_the_plan_tells_order_and_reasons_and_runs_nothing(estate: Path) -> None:
    request = DriveRequest(("contracts/_registry.yaml",), layers=("bronze", "silver"), engine="duckdb")
    found = plan(Surroundings.here(), request)
    assert [(one.wave, one.dataset, one.after) for one in found.datasets] == [
        (1, "bronze_orders", ()),
        (1, "bronze_items", ()),
        (2, "silver_orders", ("bronze_orders",)),
        (2, "silver_items", ("bronze_items",)),
    ]
    assert found.datasets[0].why == "layer bronze; listed in contracts/_registry.yaml, line 4"
    assert found.left_out == {
        "gold_totals": "the layer gold was not asked for",
        "bronze_returns": "its registry says enabled: false",
    }
    assert not (estate / "lakelogic_warehouse").exists()


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({"summary_database": "runs.duckdb"}, "--summary-database needs the name of a table", "Add --summary-table"),
        ({"entities": ("ordrs",)}, "There is no entity `ordrs`", "Did you mean `orders`?"),
        ({"contracts": ("silver_itmes",)}, "There is no contract `silver_itmes`", "Did you mean `silver_items`?"),
        ({"exclude": ("nobody",)}, "There is no contract `nobody`", "Known: "),
        ({"layers": ("slver",)}, "There is no layer `slver`", "Did you mean `silver`?"),
        ({"layers": ("reference",)}, "no contract of the layer `reference`", "Add --reference-registry"),
        ({"layers": ("gold",), "entities": ("items",)}, "`items` has nothing in the layers gold", "Add its layer"),
        ({"entities": ("returns",)}, "Nothing is left to run", "its registry says enabled: false"),
        ({"registries": ()}, "needs a registry", "--registry"),
        ({"registries": ("none/_registry.yaml",)}, "no contract is listed", "Add entries to none/_registry.yaml"),
        ({"engine": "duckbd"}, "There is no engine `duckbd`", "duckdb"),
        ({"window": "range"}, "--window-start-date is missing", "Add --window-start-date 2026-02-01"),
        ({"summary_table": "a.b.c", "summary_database": "x"}, "`a.b.c` is not the name", "schema.table"),
        ({"summary_table": "runs"}, "needs a database", "--summary-database"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_runs(
    estate: Path, asked: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        go(**asked)
    assert message in refused.value.message
    assert hint in str(refused.value.hint)
    assert not (estate / "lakelogic_warehouse").exists()


def test_everything_that_is_wrong_with_what_would_run_is_told_at_once(estate: Path) -> None:
    for name in ("orders", "items"):
        (estate / f"contracts/silver/{name}.yaml").write_text(silver(name).replace("amount > 0", "amount >"))
    assert go(layers=("bronze",)).exit_code == 0  # silver is not what runs
    with pytest.raises(LoadError) as refused:
        go()
    assert len(refused.value.diagnostics) == 2
    assert [path.name for path in Path("lakelogic_warehouse/shop").iterdir()] == ["bronze"]


def test_a_pass_that_cannot_begin_tells_its_outputs_so(estate: Path) -> None:
    (estate / "contracts/silver/items.yaml").write_text("info: {target_layer: silver}\nsorce: {path: x}\n")
    with pytest.raises(LoadError):
        go(summary_path="out/summary.json", summary_table="runs", summary_database="out/runs.duckdb")
    summary = json.loads((estate / "out/summary.json").read_text())
    assert (summary["status"], summary["exit_code"], summary["datasets"]) == ("failed", 2, [])
    assert "sorce" in summary["error"]["diagnostics"][0]["message"]
    with duckdb.connect("out/runs.duckdb") as connection:
        assert connection.execute("SELECT status, exit_code, datasets FROM runs").fetchall() == [("failed", 2, 0)]


def test_what_is_only_seen_with_the_source_at_hand_fails_with_its_line(estate: Path) -> None:
    contract = estate / "contracts/bronze/items.yaml"
    contract.write_text(bronze("items") + "quality: {row_rules: [{name: has_price, sql: 'price > 0'}]}\n")
    done = go(contracts=("bronze_items",))
    assert done.exit_code == 2
    assert of(done, "bronze_items").reasons[0].startswith("contracts/bronze/items.yaml:4:")
    assert "price" in of(done, "bronze_items").reasons[0]


def test_a_loop_of_ones_own_stops_what_is_downstream_of_a_broken_dataset_rule(estate: Path) -> None:
    contract = estate / "contracts/silver/orders.yaml"
    contract.write_text(
        silver("orders").replace("  row_rules", "  dataset_rules: [{name: many, sql: 'COUNT(*) > 9'}]\n  row_rules")
    )
    registry_ = load_all_contracts("contracts/")
    dag = build_dag_from_upstream(registry_)
    found: dict[str, tuple[str, ...]] = {}
    stopped: set[str] = set()
    for node in topo_sort(dag):
        if node.dataset in stopped or not node.enabled:
            continue
        report = run_contract(node, "duckdb")
        found[node.dataset] = report.dataset_rules_failed
        if report.dataset_rules_failed:
            stopped |= dag.descendants(node.dataset)
    assert found == {"bronze_orders": (), "bronze_items": (), "silver_orders": ("many",), "silver_items": ()}
    with pytest.raises(UsageError, match="runs a node of a graph"):
        run_contract("contracts/silver/orders.yaml", "duckdb")  # type: ignore[arg-type]


def test_a_pass_from_python(estate: Path) -> None:
    driver = Driver("contracts/_registry.yaml", entities=("items",), engine="duckdb")
    assert [one.dataset for one in driver.plan().datasets] == ["bronze_items", "silver_items"]
    assert statuses(driver.run()) == {"bronze_items": "succeeded", "silver_items": "succeeded"}
    assert ids("shop.silver.items") == [7]


def test_contracts_can_be_named_by_path_without_a_registry(estate: Path) -> None:
    done = go(registries=(), contracts=("contracts/bronze/items.yaml",))
    assert statuses(done) == {"bronze_items": "succeeded"}


@pytest.mark.spark
def test_runs_side_by_side_share_one_spark(estate: Path, request: pytest.FixtureRequest) -> None:
    started = request.getfixturevalue("_started")
    if "spark" not in started:
        started["spark"] = registry.load("spark")
    assert started["spark"].session is not None  # so that Spark outlives the pass, for all tests
    done = go(engine="spark", max_workers=3)
    assert set(statuses(done).values()) == {"succeeded"}
    assert ids("shop.gold.totals") == [1, 2]
    assert ids("shop.silver.items") == [7]
    assert done.as_dict()["engines"] == ["spark"]


def test_an_output_that_cannot_be_written_does_not_hide_how_the_pass_came_out(estate: Path) -> None:
    (estate / "landing/orders_2.csv").write_text("id,amount\n4,-1\n5,-2\n6,-3\n")
    (estate / "taken").write_text("a file, so no folder")
    assert go(entities=("orders",), layers=("bronze", "silver"), summary_path="taken/summary.json").exit_code == 3
    with pytest.raises(LakeLogicError, match="could not be written"):
        go(entities=("items",), summary_path="taken/summary.json")


def test_a_registry_may_have_any_name(estate: Path) -> None:
    (estate / "contracts/_registry.yaml").rename(estate / "contracts/nightly.yaml")
    request = DriveRequest(("contracts/nightly.yaml",), layers=("gold",), engine="duckdb")
    assert [one.dataset for one in plan(Surroundings.here(), request).datasets] == ["gold_totals"]


@pytest.mark.parametrize("flag", ["--layers", "--entities", "--contracts", "--exclude"])
def test_an_option_that_names_nothing_does_not_mean_everything(estate: Path, flag: str) -> None:
    done = CliRunner().invoke(drive_command, ["--registry", "contracts", "--engine", "duckdb", flag, " , "])
    assert (done.exit_code, f"{flag} names nothing" in done.output) == (2, True)
    assert not (estate / "lakelogic_warehouse").exists()


@pytest.mark.parametrize("more", [["--discard"], ["--why", "they know"], ["--approval-file", "a.ok"]])
def test_a_decision_without_its_run_decides_nothing_and_says_so(estate: Path, more: list[str]) -> None:
    done = CliRunner().invoke(cli, ["approve", *more])
    assert (done.exit_code, "needs the RUN" in done.output) == (2, True)
