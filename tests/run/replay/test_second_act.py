"""The second act of a day, with the clock standing still: no file that a version of a table names is written again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor, clock
from lakelogic.actions.look.ledger import publish_ledger
from lakelogic.actions.operate import quarantine as acts
from lakelogic.errors import TableError
from lakelogic.quarantine.queue import Chosen
from lakelogic.run import upkeep
from lakelogic.run.surroundings import Surroundings
from lakelogic.storage import fresh
from lakelogic.tables.registry import load

QUEUE = "lakelogic_warehouse/shop/quarantine/silver_orders"
CONTRACT = """
dataset: orders
source: {path: landing, format: csv, load_mode: incremental}
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, min: 0}
materialization: {target_path: shop.silver.orders}
"""


class Versions:
    """Every version of a table, and that none of their files has ever been touched again."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, str] = {}

    def look(self) -> None:
        newest = DeltaTable(self._root).version()
        for version in range(newest + 1):
            state = load("delta").state(str(Path(self._root).absolute()), version)
            assert state is not None
            for path in state.files:
                digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
                assert self._known.setdefault(path, digest) == digest, f"{path} of version {version} was written again"


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> datetime:
    at = datetime(2026, 3, 2, 12, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: at)
    return at


@pytest.fixture
def orders(workspace: Path, still: datetime, duckdb_engine: Any) -> Callable[..., Any]:
    Path("orders.yaml").write_text(CONTRACT)
    Path("landing").mkdir()

    def land(name: str, text: str) -> Any:
        (Path("landing") / name).write_text(text)
        with DataProcessor("orders.yaml", duckdb_engine) as processor:
            return processor.run()

    return land


def states() -> dict[int, str]:
    rows = DeltaTable(QUEUE).to_pyarrow_table().to_pylist()
    return {row["amount"]: row["quarantine_state"] for row in rows}


def discard(amount: int) -> None:
    [row] = [row for row in DeltaTable(QUEUE).to_pyarrow_table().to_pylist() if row["amount"] == amount]
    chosen = Chosen(rows=(row["_lakelogic_row_id"],))
    acts.discard_rows(Surroundings.here(), acts.Request("orders.yaml", chosen), "test data", by="anna")


def test_two_discards_of_a_day_leave_every_row_and_every_version(orders: Callable[..., Any]) -> None:
    for at in (1, 2, 3):
        orders(f"{at}.csv", f"id,amount\n{at}0,5\n{at},-{at}\n{at}1,-1{at}\n")
    versions = Versions(QUEUE)
    versions.look()
    for amount in (-1, -2, -3, -11):
        discard(amount)
        versions.look()
    assert states() == {
        -1: "discarded", -11: "discarded", -2: "discarded", -12: "active", -3: "discarded", -13: "active",
    }  # fmt: skip


def test_two_replays_of_a_day_leave_every_row_and_every_version(orders: Callable[..., Any], duckdb_engine: Any) -> None:
    for at in (1, 2):
        orders(f"{at}.csv", f"id,amount\n{at}0,5\n{at},-{at}\n{at}1,-1{at}\n")
    queue, target = Versions(QUEUE), Versions("lakelogic_warehouse/shop/silver/orders")
    for least in (-1, -2, -12):
        Path("orders.yaml").write_text(CONTRACT.replace("min: 0", f"min: {least}"))
        with DataProcessor("orders.yaml", duckdb_engine) as processor:
            processor.replay(Chosen())
        queue.look()
        target.look()
    assert states() == {-1: "replayed", -11: "replayed", -2: "replayed", -12: "replayed"}
    published = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table()["amount"].to_pylist()
    assert sorted(published) == [-12, -11, -2, -1, 5, 5]


def test_two_compactions_and_two_copies_of_the_ledger_a_day(orders: Callable[..., Any]) -> None:
    root = str(Path("lakelogic_warehouse/shop/silver/orders").absolute())
    target = Versions(root)
    for at in (1, 2, 3, 4):
        orders(f"{at}.csv", f"id,amount\n{at},5\n")
        upkeep.compact(load("delta"), root)
        target.look()
    assert DeltaTable(root).to_pyarrow_table().num_rows == 4
    copies = Versions("lakelogic_warehouse/ledger/runs")
    place = publish_ledger(Surroundings.here(), "ledger.runs").location
    (Path(place) / "copy-2").mkdir()
    (Path(place) / "copy-2" / "part-00000.parquet").write_text("left by a process that died")
    for _ in range(2):
        publish_ledger(Surroundings.here(), "ledger.runs")
        copies.look()
    assert (Path(place) / "copy-2" / "part-00000.parquet").read_text() == "left by a process that died"


def test_every_attempt_of_a_secondary_target_has_files_of_its_own(
    workspace: Path, still: datetime, duckdb_engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.names import new_run_id

    monkeypatch.setattr("lakelogic.names.secrets.token_hex", lambda _: "abcdef")  # two runs of one second and one name
    assert new_run_id(still) == new_run_id(still)
    second = "  secondary_targets: [{target_path: shop.copy.orders, format: delta}]\n"
    Path("orders.yaml").write_text(
        CONTRACT.replace("{target_path: shop.silver.orders}", "\n  target_path: shop.silver.orders\n" + second)
    )
    Path("landing").mkdir()
    Path("landing/1.csv").write_text("id,amount\n1,5\n")
    with DataProcessor("orders.yaml", duckdb_engine) as processor:
        processor.run()
    copies = Versions("lakelogic_warehouse/shop/copy/orders")
    copies.look()
    Path("landing/2.csv").write_text("id,amount\n2,5\n")
    with DataProcessor("orders.yaml", duckdb_engine) as processor:
        processor.run()
    copies.look()
    assert DeltaTable("lakelogic_warehouse/shop/copy/orders").to_pyarrow_table().num_rows == 2


def test_a_file_that_is_there_is_never_opened_for_writing(tmp_path: Path) -> None:
    there = tmp_path / "part-00000.parquet"
    there.write_text("committed")
    with pytest.raises(TableError, match="is there already"):
        fresh.write_table(pa.table({"a": [1]}), there)
    with pytest.raises(TableError, match="is there already"):
        fresh.folder(tmp_path)
    assert there.read_text() == "committed"
