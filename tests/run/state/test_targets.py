"""One dataset, several targets: each has read what it has read, and what happens to one leaves the others alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.ledger.store import open_ledger
from lakelogic.run.processor import DataProcessor
from lakelogic.tables.registry import load

CONTRACT = """
dataset: orders
source: {path: landing/*.csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}]}
materialization: {target_path: shop.prod.orders, format: FORMAT}
quarantine: {target: shop.quarantine.orders}
environments:
  dev: {materialization: {target_path: shop.dev.orders}}
"""


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def form(request: pytest.FixtureRequest, workspace: Path) -> str:
    (workspace / "landing").mkdir()
    (workspace / "orders.yaml").write_text(CONTRACT.replace("FORMAT", request.param))
    return str(request.param)


def call(*arguments: str) -> Result:
    done = CliRunner().invoke(cli, [*arguments, *(["--engine", "duckdb"] if arguments[0] == "run" else [])])
    assert done.exit_code == 0, done.output
    return done


def land(name: str, *ids: Any) -> None:
    Path("landing", name).write_text("id\n" + "".join(f"{one}\n" for one in ids))


def ids(target: str, form: str = "delta") -> list[int]:
    state = load(form).state(LocalCatalog().resolve(target))
    return sorted(row["id"] for path in state.files for row in pq.ParquetFile(path).read().to_pylist()) if state else []


def waiting() -> list[tuple[str, int]]:
    """Which rows wait in the quarantine that both targets share, by their line's text and how often."""
    state = load("delta").state(LocalCatalog().resolve("shop.quarantine.orders"))
    assert state is not None
    raws = [row["_lakelogic_raw"] for path in state.files for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted((raw, raws.count(raw)) for raw in set(raws))


def test_a_target_that_was_published_to_leaves_the_others_with_everything_to_read(form: str) -> None:
    land("1.csv", 1, "bad")
    call("run", "orders.yaml", "--env", "dev")
    call("run", "orders.yaml")
    assert (ids("shop.dev.orders", form), ids("shop.prod.orders", form)) == ([1], [1])
    land("2.csv", 2)
    call("run", "orders.yaml")
    call("run", "orders.yaml", "--env", "dev")
    call("run", "orders.yaml", "--set", "materialization.target_path=shop.tmp.orders")
    assert [ids(f"shop.{name}.orders", form) for name in ("dev", "prod", "tmp")] == [[1, 2]] * 3
    assert [count for _, count in waiting()] == [3]  # each target has its own bad row


def test_resetting_one_target_leaves_the_others_with_their_rows_and_what_they_have_read(form: str) -> None:
    land("1.csv", 1, "bad")
    call("run", "orders.yaml")
    call("run", "orders.yaml", "--env", "dev")
    done = json.loads(call("reset", "orders.yaml", "--env", "dev", "--yes", "--json").stdout)
    assert [(one["target"], one["rows"], one["quarantined"], one["shared"]) for one in done["removed"]] == [
        ("shop.dev.orders", 1, 1, True)
    ]
    assert [count for _, count in waiting()] == [1]
    land("2.csv", 2)
    call("run", "orders.yaml")
    assert (ids("shop.prod.orders", form), ids("shop.dev.orders", form)) == ([1, 2], [])
    call("run", "orders.yaml", "--env", "dev")
    assert ids("shop.dev.orders", form) == [1, 2]
    assert [count for _, count in waiting()] == [2]


def test_a_kill_towards_one_target_is_not_finished_by_a_run_towards_another(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.run import faults

    land("1.csv", 1)

    def strike(point: str) -> None:
        if point == "after_good_commit":
            raise faults.InjectedFault(point)

    with faults.watched(strike):
        CliRunner().invoke(cli, ["run", "orders.yaml", "--engine", "duckdb"])
    call("run", "orders.yaml", "--env", "dev")
    land("2.csv", 2)
    for options in ((), ("--env", "dev")):
        call("run", "orders.yaml", *options)
    assert (ids("shop.prod.orders", form), ids("shop.dev.orders", form)) == ([1, 2], [1, 2])


def test_a_replay_takes_the_rows_of_its_own_target(form: str) -> None:
    land("1.csv", 1, "x2")
    call("run", "orders.yaml")
    call("run", "orders.yaml", "--env", "dev")
    Path("orders.yaml").write_text(
        Path("orders.yaml").read_text()
        + "transformations: [{sql: \"SELECT replace(id, 'x', '') AS id FROM source\", phase: pre}]\n"
    )
    call("quarantine", "replay", "orders.yaml", "--env", "dev", "--engine", "duckdb")
    assert (ids("shop.prod.orders", form), ids("shop.dev.orders", form)) == ([1], [1, 2])
    call("quarantine", "replay", "orders.yaml", "--engine", "duckdb")
    assert ids("shop.prod.orders", form) == [1, 2]


def test_a_result_that_is_sent_elsewhere_keeps_its_own_progress(workspace: Path, duckdb_engine: Any) -> None:
    (workspace / "landing").mkdir()
    Path("orders.yaml").write_text(CONTRACT.replace("FORMAT", "delta"))
    land("1.csv", 1)
    processor: Callable[..., DataProcessor] = lambda: DataProcessor("orders.yaml", engine=duckdb_engine)  # noqa: E731
    processor().run(materialize_target="shop.tmp.orders")
    processor().run(materialize_target="shop.tmp.orders")
    processor().run()
    assert (ids("shop.tmp.orders"), ids("shop.prod.orders")) == ([1], [1])


def test_another_contract_with_the_same_dataset_is_told_and_its_table_stays_apart(
    workspace: Path, caplog: pytest.LogCaptureFixture, duckdb_engine: Any
) -> None:
    (workspace / "landing").mkdir()
    land("1.csv", 1)
    Path("orders.yaml").write_text(CONTRACT.replace("FORMAT", "delta"))
    Path("others.yaml").write_text(CONTRACT.replace("FORMAT", "delta").replace("shop.prod", "shop.other"))
    DataProcessor("orders.yaml", engine=duckdb_engine).run()
    assert "also what" not in caplog.text
    DataProcessor("others.yaml", engine=duckdb_engine).run()
    assert "`orders` is also what orders.yaml calls its dataset, which goes to shop.prod.orders" in caplog.text
    assert (ids("shop.prod.orders"), ids("shop.other.orders")) == ([1], [1])


def test_a_ledger_and_tables_of_an_earlier_version_go_on_where_they_are(
    workspace: Path, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it was: one progress for all targets, known by the dataset's name alone, in the ledger and in the tables."""
    from lakelogic.run.state.progress import Progress

    (workspace / "landing").mkdir()
    Path("orders.yaml").write_text(CONTRACT.replace("FORMAT", "delta"))
    run: Callable[..., Any] = lambda **more: DataProcessor("orders.yaml", engine=duckdb_engine, **more).run()  # noqa: E731
    with monkeypatch.context() as earlier:
        earlier.setattr(Progress, "key", property(lambda self: self.dataset))
        earlier.setattr(Progress, "identity", property(lambda self: self.dataset))
        earlier.setattr("lakelogic.run.publish.commit.batches_elsewhere", lambda *_: frozenset())
        earlier.setattr("lakelogic.run.state.restored_table.is_put_back", lambda *_: False)
        land("1.csv", 1, "bad")
        run()
        run(env="dev")  # there is no table yet
        land("2.csv", 2, "worse")
        run(env="dev")
        assert run().status == "no_new_data"  # what dev has read was taken for read
    assert (ids("shop.prod.orders"), ids("shop.dev.orders")) == ([1], [1, 2])
    assert run(env="dev").status == "no_new_data"
    assert run().status == "succeeded"  # 2.csv, and nothing else
    assert (ids("shop.prod.orders"), ids("shop.dev.orders")) == ([1, 2], [1, 2])
    assert (run().status, run(env="dev").status) == ("no_new_data", "no_new_data")
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        assert ledger.seen("orders") == set()
    assert len(waiting()) == 2  # no bad row is lost
    call("reset", "orders.yaml", "--env", "dev", "--yes")
    assert run().status == "no_new_data"


def test_an_environment_without_a_table_of_its_own_is_not_reset(workspace: Path) -> None:
    (workspace / "landing").mkdir()
    own = "{materialization: {target_path: shop.dev.orders}}"
    (workspace / "orders.yaml").write_text(CONTRACT.replace("FORMAT", "delta").replace(own, "{path: elsewhere/*.csv}"))
    land("1.csv", 1)
    call("run", "orders.yaml")
    refused = CliRunner().invoke(cli, ["reset", "orders.yaml", "--env", "dev", "--yes"])
    assert refused.exit_code == 2
    assert "has no table of its own" in refused.output
    assert ids("shop.prod.orders") == [1]
    call("reset", "orders.yaml", "--yes")
    assert ids("shop.prod.orders") == []
