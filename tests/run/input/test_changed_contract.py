"""A contract that changed while nothing is new to read: the run says what that means for the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.actions.operate.reset import reload
from lakelogic.actions.operate.run import RunRequest
from lakelogic.quarantine.queue import Chosen
from lakelogic.run.surroundings import Surroundings

CONTRACT = """
dataset: orders
source: {{path: landing/*.csv{source}}}
model:
  fields:
    - {{name: id, type: int{id}}}
    - {{name: amount, type: int, min: {least}}}
materialization: {{target_path: shop.silver.orders{settings}}}
{more}
"""
MERGED = {"source": ", load_mode: incremental", "settings": ", strategy: merge, primary_key: [id]"}


def write(**parts: Any) -> None:
    told = {"source": "", "id": "", "least": 0, "settings": "", "more": "", **parts}
    Path("orders.yaml").write_text(CONTRACT.format(**told))


def act(engine: Any) -> tuple[Any, list[str]]:
    said: list[str] = []
    with DataProcessor("orders.yaml", engine, sinks=(lambda event: said.append(event.text),)) as processor:
        return processor.run(), said


def is_told(said: list[str]) -> bool:
    return any("made by an earlier" in line and "lakelogic reload" in line and "replay" in line for line in said)


@pytest.mark.parametrize("how", [{}, MERGED])
def test_a_changed_rule_is_told_until_it_is_applied(duckdb_engine: Any, workspace: Path, how: dict[str, str]) -> None:
    Path("landing").mkdir()
    Path("landing/a.csv").write_text("id,amount\n1,10\n2,20\n")
    write(**how)
    act(duckdb_engine)
    result, said = act(duckdb_engine)
    assert result.status == "no_new_data"
    assert not is_told(said)
    assert result.report["reason"] == "nothing new to read"
    write(**how, id=", description: The number")
    assert not is_told(act(duckdb_engine)[1])
    write(**how, more="quality: {max_quarantine_ratio: 0.5}")  # a bound for batches makes no other rows
    assert not is_told(act(duckdb_engine)[1])
    write(**how, least=15)
    result, said = act(duckdb_engine)
    assert result.status == "no_new_data"
    assert is_told(said)
    assert "made by an earlier version of the contract" in result.report["reason"]
    reload(Surroundings.here(), RunRequest("orders.yaml", "duckdb"))
    result, said = act(duckdb_engine)
    assert result.status == "no_new_data"
    assert not is_told(said)


def test_a_new_batch_by_the_changed_contract_is_not_told(duckdb_engine: Any, workspace: Path) -> None:
    Path("landing").mkdir()
    Path("landing/a.csv").write_text("id,amount\n1,10\n")
    write()
    act(duckdb_engine)
    write(least=15)
    Path("landing/b.csv").write_text("id,amount\n2,20\n")
    result, said = act(duckdb_engine)
    assert result.counts.good == 1
    assert not is_told(said)
    assert not is_told(act(duckdb_engine)[1])


def test_other_reading_options_reach_bad_rows_by_reload_alone(duckdb_engine: Any, workspace: Path) -> None:
    """A replay judges rows as they were read, so it is not named."""
    Path("landing").mkdir()
    Path("landing/a.csv").write_text("id,amount\n1,10\n2,NA\n")
    write(**MERGED)
    assert act(duckdb_engine)[0].counts.quarantined == 1
    options = {**MERGED, "source": MERGED["source"] + ", options: {null_values: [NA]}"}
    write(**options)
    result, said = act(duckdb_engine)
    assert result.status == "no_new_data"
    [advice] = [line for line in said if "made by an earlier" in line]
    assert "lakelogic reload" in advice
    assert "replay" not in advice
    with DataProcessor("orders.yaml", duckdb_engine) as processor:
        assert processor.replay(Chosen()).passed == 0
    reload(Surroundings.here(), RunRequest("orders.yaml", "duckdb"))
    rows = DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["amount"]) for row in rows) == [(1, 10), (2, None)]
    with DataProcessor("orders.yaml", duckdb_engine) as processor:
        assert processor.replay(Chosen()).chosen == 0
