"""What is put back as it was, a contract or a file, is made again: the table holds what came in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

CONTRACT = """
dataset: orders
source: {path: in.csv}
primary_key: [id]
model: {fields: [{name: id, type: int}, {name: n, type: int}]}
transformations: [{derive: {field: n, sql: n * 10}}]
materialization: {strategy: STRATEGY, target_path: s.silver.orders}
"""


def rows() -> list[tuple[int, int]]:
    table = DeltaTable("lakelogic_warehouse/s/silver/orders").to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["n"]) for row in table)


@pytest.fixture
def orders(workspace: Path) -> Path:
    Path("in.csv").write_text("id,n\n1,1\n2,2\n")
    return workspace


@pytest.mark.parametrize("strategy", ["overwrite", "merge"])
def test_a_contract_that_is_put_back_makes_its_rows_again(orders: Path, strategy: str) -> None:
    first = CONTRACT.replace("STRATEGY", strategy)
    second = first.replace("n * 10", "n * 100")
    for text, status, expected in [
        (first, "succeeded", [(1, 10), (2, 20)]),
        (second, "succeeded", [(1, 100), (2, 200)]),
        (first, "succeeded", [(1, 10), (2, 20)]),
        (first, "no_new_data", [(1, 10), (2, 20)]),
        (second, "succeeded", [(1, 100), (2, 200)]),
        (first, "succeeded", [(1, 10), (2, 20)]),
        (first, "no_new_data", [(1, 10), (2, 20)]),
    ]:
        Path("contract.yaml").write_text(text)
        done = DataProcessor("contract.yaml", engine="duckdb").run()
        assert (done.status, rows()) == (status, expected)


@pytest.mark.parametrize("load_mode", ["full", "incremental"])
def test_a_file_that_is_put_back_is_read_again(orders: Path, load_mode: str) -> None:
    contract = CONTRACT.replace("STRATEGY", "merge").replace("in.csv}", f"in.csv, load_mode: {load_mode}}}")
    Path("contract.yaml").write_text(contract)
    as_it_was = Path("in.csv").read_text(), Path("in.csv").stat().st_mtime_ns

    def lie(text: str, changed: int) -> None:
        Path("in.csv").write_text(text)
        os.utime("in.csv", ns=(changed, changed))

    other = "id,n\n1,7\n2,8\n"
    for text, changed, status, expected in [
        (*as_it_was, "succeeded", [(1, 10), (2, 20)]),
        (other, as_it_was[1] + 10**9, "succeeded", [(1, 70), (2, 80)]),
        (*as_it_was, "succeeded", [(1, 10), (2, 20)]),
        (*as_it_was, "no_new_data", [(1, 10), (2, 20)]),
    ]:
        lie(text, changed)
        done = DataProcessor("contract.yaml", engine="duckdb").run()
        assert (done.status, rows()) == (status, expected)
