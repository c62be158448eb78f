"""The input of an append is what is new: the table is as after one run over what lies there, or the run stops."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.reading.load import load as load_contract
from lakelogic.errors import CompileError, DataError, LakeLogicError
from lakelogic.plan.compile import compile_contract
from lakelogic.tables.registry import load as load_tables

Act = Callable[..., Any]
_SECONDS = itertools.count(1_000_000)
FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]


def orders(**more: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "dataset": "orders",
        "source": {"path": "landing/*.csv"},
        "model": {"fields": FIELDS},
        "materialization": {"target_path": "shop.silver.orders"},
    }
    for key, value in more.items():
        base[key] = {**base.get(key, {}), **value} if isinstance(value, dict) else value
    return base


def land(name: str, *rows: str) -> Path:
    path = Path("landing", name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("id,amount\n" + "".join(f"{row}\n" for row in rows))
    now = next(_SECONDS) * 1_000_000_000  # written at another time than everything before
    os.utime(path, ns=(now, now))
    return path


def amounts(form: str = "delta") -> list[tuple[int, int]]:
    state = load_tables(form).state(LocalCatalog().resolve("shop.silver.orders"))
    assert state is not None
    rows = [row for path in state.files for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted((row["id"], row["amount"]) for row in rows)


def waiting() -> list[int]:
    rows = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    return sorted(row["amount"] for row in rows if row["quarantine_state"] == "active")


@pytest.fixture
def act(engine: Any, workspace: Path) -> Act:
    def run(document: dict[str, Any]) -> Any:
        with DataProcessor(document, engine) as processor:
            return processor.run()

    return run


@pytest.mark.parametrize("form", ["delta", "parquet", "iceberg"])
@pytest.mark.parametrize("load_mode", [None, "incremental"])
def test_a_changed_file_replaces_the_rows_of_its_earlier_version(act: Act, form: str, load_mode: str | None) -> None:
    how = {"load_mode": load_mode} if load_mode else {}
    contract = orders(source=how, materialization={"format": form})
    land("a.csv", "1,10", "2,20", "3,-1")
    land("b.csv", "4,40")
    assert act(contract).counts.good == 3
    land("a.csv", "1,10", "3,30", "5,-2")
    result = act(contract)
    assert (result.counts.source, result.counts.good) == (3, 2)  # b.csv is not read again
    assert amounts(form) == [(1, 10), (3, 30), (4, 40)]
    assert waiting() == [-2]  # what the earlier version had left there went with it
    assert act(contract).status == "no_new_data"


def test_a_new_word_in_the_contract_appends_nothing(act: Act) -> None:
    land("a.csv", "1,10", "2,20")
    act(orders())
    worded = orders(model={"fields": [{**FIELDS[0], "description": "The number"}, FIELDS[1]]})
    assert act(worded).status == "no_new_data"
    stricter = orders(model={"fields": [FIELDS[0], {**FIELDS[1], "min": 15}]})  # another meaning, the same input
    assert act(stricter).status == "no_new_data"
    land("b.csv", "3,30")
    assert act(stricter).counts.source == 1
    assert amounts() == [(1, 10), (2, 20), (3, 30)]


def test_a_file_that_is_put_back_as_it_was_is_taken_back_too(act: Act) -> None:
    first = land("a.csv", "1,10")
    stamp = first.stat().st_mtime_ns
    act(orders())
    for _ in range(2):
        land("a.csv", "2,20")
        os.utime(first, ns=(stamp + 5, stamp + 5))
        assert act(orders()).counts.good == 1
        assert amounts() == [(2, 20)]
        land("a.csv", "1,10")
        os.utime(first, ns=(stamp, stamp))
        assert act(orders()).counts.good == 1
        assert amounts() == [(1, 10)]


def test_rows_of_a_file_that_is_gone_stay_and_that_is_said(engine: Any, workspace: Path) -> None:
    said: list[str] = []
    gone = land("a.csv", "1,10")
    with DataProcessor(orders(), engine) as processor:
        processor.run()
    gone.unlink()
    land("b.csv", "2,20")
    with DataProcessor(orders(), engine, sinks=(lambda event: said.append(event.text),)) as processor:
        processor.run()
    assert amounts() == [(1, 10), (2, 20)]
    assert any("a.csv was read before and is gone; its rows stay" in line for line in said)


@pytest.mark.parametrize("lineage", [{"enabled": False}, {"capture_source_path": False}])
def test_without_stamps_a_changed_file_stops_the_run(act: Act, lineage: dict[str, Any]) -> None:
    land("a.csv", "1,10")
    act(orders(lineage=lineage))
    land("a.csv", "1,11")
    with pytest.raises(DataError, match=r"no column of shop.silver.orders tells") as caught:
        act(orders(lineage=lineage))
    assert "lakelogic reload" in str(caught.value.hint)
    assert amounts() == [(1, 10)]
    # Switched on afterwards: the rows that stand there do not tell either.
    with pytest.raises(DataError, match=r"tells which|do not tell"):
        act(orders())
    land("b.csv", "2,20")
    Path("landing/a.csv").unlink()
    act(orders())
    land("a.csv", "1,12")
    with pytest.raises(DataError, match=r"1 rows of shop.silver.orders do not tell"):
        act(orders())
    assert amounts() == [(1, 10), (2, 20)]


SUMMED = {"transformations": [{"rollup": {"group_by": ["id"], "aggregations": {"amount": "SUM(amount)"}}}]}
LATEST = {"transformations": [{"deduplicate": {"on": ["id"], "sort_by": ["amount"], "order": "desc"}}]}


@pytest.mark.parametrize(("steps", "wanted"), [(SUMMED, [(1, 35), (2, 20)]), (LATEST, [(1, 20), (2, 20)])])
def test_rows_that_are_made_of_several_files_are_made_anew(
    act: Act, steps: dict[str, Any], wanted: list[tuple[int, int]]
) -> None:
    land("a.csv", "1,10", "2,20")
    act(orders(**steps))
    land("b.csv", "1,20")
    act(orders(**steps))
    land("a.csv", "1,15", "2,20")
    result = act(orders(**steps))
    assert result.counts.source == 3
    assert amounts() == wanted
    assert act(orders(**steps)).status == "no_new_data"
    Path("landing/a.csv").unlink()
    land("c.csv", "9,9")
    with pytest.raises(DataError, match=r"a.csv that was read before is gone"):
        act(orders(**steps))
    assert amounts() == wanted


def test_batches_that_are_made_by_themselves_stop_at_a_changed_file(act: Act) -> None:
    contract = orders(source={"load_mode": "incremental"}, **SUMMED)
    land("a.csv", "1,10", "1,20")
    act(contract)
    land("b.csv", "1,5")
    act(contract)
    assert amounts() == [(1, 5), (1, 30)]
    land("a.csv", "1,10")
    with pytest.raises(DataError, match="makes rows of several files"):
        act(contract)
    assert amounts() == [(1, 5), (1, 30)]


def test_a_second_place_is_not_given_a_changed_file_beside_its_earlier_rows(act: Act) -> None:
    second = {"secondary_targets": [{"target_path": "shop.silver.copy"}]}
    land("a.csv", "1,10")
    act(orders(materialization=second))
    land("a.csv", "1,11")
    with pytest.raises(LakeLogicError, match="secondary targets only receive rows"):
        act(orders(materialization=second))


def test_a_touched_file_is_the_same_where_content_is_compared(act: Act) -> None:
    contract = orders(source={"identity": "content"})
    land("a.csv", "1,10")
    act(contract)
    land("a.csv", "1,10")
    assert act(contract).status == "no_new_data"
    land("a.csv", "1,11")
    assert act(contract).counts.good == 1
    assert amounts() == [(1, 11)]


@pytest.mark.parametrize("how", [{}, {"fact": {"type": "transaction"}}, {"strategy": "append"}])
def test_reading_everything_and_appending_it_is_refused_with_three_ways_out(how: dict[str, Any]) -> None:
    document = orders(source={"load_mode": "full"}, materialization=how)
    with pytest.raises(CompileError) as caught:
        compile_contract(load_contract(document))
    [found] = caught.value.diagnostics
    assert found.where.path == "source.load_mode"
    for way in ("incremental", "overwrite", "merge"):
        assert way in str(found.hint)
    compile_contract(load_contract(orders(source={"load_mode": "full"}, materialization={"strategy": "overwrite"})))


def test_a_file_under_several_names_is_one_file(act: Act) -> None:
    contract = orders(source={"path": "landing/**/*.csv"})
    real = land("b.csv", "1,10")
    Path("landing/soft.csv").symlink_to("b.csv")
    os.link(real, "landing/c.csv")
    Path("landing/round").symlink_to(".")
    assert act(contract).counts.source == 1
    assert act(contract).status == "no_new_data"
    os.link(real, "landing/a.csv")  # listed before the name it was read by
    assert act(contract).status == "no_new_data"
    real.write_text("id,amount\n1,11\n2,20\n")
    assert act(contract).counts.source == 2
    assert amounts() == [(1, 11), (2, 20)]
