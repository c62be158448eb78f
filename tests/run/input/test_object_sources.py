"""A contract over objects gives the tables that it gives over files, and asks the store a bounded number of times."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import CredentialError, SourceError
from lakelogic.storage import objects

CONTRACT = """
version: 1.0.0
info: {{title: Orders}}
dataset: orders
source: {{path: '{path}', format: {format}{more}}}
links:
  - {{name: shops, path: '{links}', format: csv}}
model:
  fields:
    - {{name: id, type: integer, required: true}}
    - {{name: amount, type: 'decimal(10,2)', required: true}}
    - {{name: shop, type: string}}
    - {{name: town, type: string}}
transformations:
  - {{lookup: {{field: town, reference: shops, on: shop, key: shop, value: town}}}}
quality:
  row_rules:
    - sql: amount > 0
materialization: {{strategy: {strategy}{key}, target_path: lake.silver.orders}}
"""


@pytest.fixture
def store(s3_store: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, value in s3_store.environ().items():
        monkeypatch.setenv(name, value)
    objects.forget_logins()
    s3_store.put("lab", "shops.csv", SHOPS)
    yield s3_store
    objects.forget_logins()


SHOPS = "shop,town\ns1,Bern\ns2,Genf\n"
ROWS = [(1, "1.50", "s1"), (2, "-1.00", "s2"), (3, "2.25", "s2")]
LATER = [(4, "8.00", "s1"), (5, "0.00", "s1")]
TOWNS = {"s1": "Bern", "s2": "Genf"}


def csv(rows: list[tuple[int, str, str]]) -> bytes:
    return ("id,amount,shop\n" + "".join(f"{number},{amount},{shop}\n" for number, amount, shop in rows)).encode()


def json(rows: list[tuple[int, str, str]]) -> bytes:
    lines = (f'{{"id": {number}, "amount": {amount}, "shop": "{shop}"}}\n' for number, amount, shop in rows)
    return "".join(lines).encode()


def parquet(rows: list[tuple[int, str, str]]) -> bytes:
    numbers, amounts, shops = zip(*rows, strict=True)
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array(numbers, pa.int64()), "amount": amounts, "shop": shops}), sink)
    return sink.getvalue()


FORMATS: dict[str, tuple[str, str, Callable[[list[tuple[int, str, str]]], bytes]]] = {
    "csv": ("csv", "csv", csv),
    "csv.gz": ("csv", "csv.gz", lambda rows: gzip.compress(csv(rows))),
    "json": ("json", "json", json),
    "parquet": ("parquet", "parquet", parquet),
}


def contract(path: str, links: str, file_format: str, strategy: str = "append", more: str = "") -> Path:
    key = ", primary_key: [id]" if strategy == "merge" else ""
    place = Path("contract.yaml")
    place.write_text(CONTRACT.format(path=path, links=links, format=file_format, strategy=strategy, key=key, more=more))
    return place


def run(place: Path, engine: Any) -> Any:
    with DataProcessor(place, engine) as processor:
        return processor.run()


def table(name: str = "silver") -> list[tuple[Any, ...]]:
    at = "lakelogic_warehouse/lake/silver/orders"
    rows = DeltaTable(at).to_pyarrow_table(columns=["id", "amount", "town"]).to_pylist()
    return sorted((row["id"], str(row["amount"]), row["town"]) for row in rows)


def good(rows: list[tuple[int, str, str]]) -> list[tuple[Any, ...]]:
    """By hand: amounts above zero, with the town of their shop."""
    return sorted((number, amount, TOWNS[shop]) for number, amount, shop in rows if float(amount) > 0)


@pytest.mark.parametrize("kind", FORMATS)
def test_objects_are_read_once_and_changed_ones_replace_their_rows(
    workspace: Path, store: Any, engine: Any, kind: str
) -> None:
    file_format, ending, make = FORMATS[kind]
    place = contract(f"s3://lab/in/*.{ending}", "s3://lab/shops.csv", file_format)
    store.put("lab", f"in/1.{ending}", make(ROWS))
    first = run(place, engine)
    assert (first.counts.good, first.counts.quarantined) == (2, 1)
    assert table() == good(ROWS)
    assert run(place, engine).status == "no_new_data"
    store.put("lab", f"in/2.{ending}", make(LATER))
    second = run(place, engine)
    assert (second.counts.good, second.counts.quarantined) == (1, 1)
    assert table() == good(ROWS + LATER)
    changed = [(1, "7.00", "s2"), *ROWS[2:]]
    store.put("lab", f"in/1.{ending}", make(changed))
    run(place, engine)
    assert table() == good(changed + LATER)
    # Written again with what it held: no news.
    store.put("lab", f"in/1.{ending}", make(changed))
    run(place, engine)
    assert table() == good(changed + LATER)


def test_a_large_object_is_read_by_workers_too(workspace: Path, store: Any, engine: Any) -> None:
    rows = [(number, f"{number % 7}.00", "s1") for number in range(150_000)]
    store.put("lab", "in/big.csv", csv(rows))
    result = run(contract("s3://lab/in/big.csv", "s3://lab/shops.csv", "csv"), engine)
    bad = sum(number % 7 == 0 for number in range(150_000))
    assert (result.counts.good, result.counts.quarantined) == (150_000 - bad, bad)


def test_merge_and_folders_with_values(workspace: Path, store: Any, duckdb_engine: Any) -> None:
    place = contract("s3://lab/in", "s3://lab/shops.csv", "csv", "merge", ", load_mode: incremental")
    store.put("lab", "in/shop=s1/a.csv", "id,amount\n1,1.00\n")
    store.put("lab", "in/shop=s2/a.csv", "id,amount\n2,2.00\n")
    run(place, duckdb_engine)
    assert table() == [(1, "1.00", "Bern"), (2, "2.00", "Genf")]
    store.put("lab", "in/shop=s2/b.csv", "id,amount\n1,9.00\n")
    run(place, duckdb_engine)
    assert table() == [(1, "9.00", "Genf"), (2, "2.00", "Genf")]


def test_an_object_that_changes_between_listing_and_commit_publishes_nothing_and_heals(
    workspace: Path, store: Any, duckdb_engine: Any
) -> None:
    place = contract("s3://lab/in/*.csv", "s3://lab/shops.csv", "csv")
    store.put("lab", "in/1.csv", csv(ROWS))
    reads = [0]

    def change(key: str) -> None:
        if key == "in/1.csv":
            reads[0] += 1
            if reads[0] == 2:
                store.put("lab", key, csv(LATER))

    store.before_get = change
    with pytest.raises(SourceError, match=r"(anew|changed) while it was read"):
        run(place, duckdb_engine)
    assert not Path("lakelogic_warehouse/lake/silver/orders/_delta_log").exists()
    run(place, duckdb_engine)
    assert table() == good(LATER)


def test_an_object_that_is_gone_by_then_is_told(workspace: Path, store: Any, duckdb_engine: Any) -> None:
    place = contract("s3://lab/in/*.csv", "s3://lab/shops.csv", "csv")
    store.put("lab", "in/1.csv", csv(ROWS))
    store.put("lab", "in/2.csv", csv(LATER))
    store.before_get = lambda _: store.buckets["lab"].pop("in/2.csv", None)
    with pytest.raises(SourceError, match=r"in/2\.csv"):
        run(place, duckdb_engine)
    run(place, duckdb_engine)
    assert table() == good(ROWS)


def test_a_run_without_news_asks_as_little_as_it_can_however_many_objects_were_read(
    workspace: Path, store: Any, duckdb_engine: Any
) -> None:
    place = contract("s3://lab/in/*.csv", "s3://lab/shops.csv", "csv")
    for number in range(60):
        store.put("lab", f"in/{number}.csv", csv([(number, "1.00", "s1")]))
    run(place, duckdb_engine)
    store.asked.clear()
    assert run(place, duckdb_engine).status == "no_new_data"
    # one listing of the source, and a look at the link
    assert sum(line.startswith("LIST lab/in") for line in store.asked) == 1
    assert len(store.asked) <= 4, store.asked
    store.put("lab", "in/60.csv", csv([(60, "1.00", "s1")]))
    store.asked.clear()
    run(place, duckdb_engine)
    assert not any(f"in/{number}.csv" in line for number in range(60) for line in store.asked)


def test_a_refused_login_stops_before_anything_is_written(workspace: Path, store: Any, duckdb_engine: Any) -> None:
    store.put("lab", "in/1.csv", csv(ROWS))
    store.refuses = "lab"
    with pytest.raises(CredentialError, match="refuses this login") as raised:
        run(contract("s3://lab/in/*.csv", "s3://lab/shops.csv", "csv"), duckdb_engine)
    assert raised.value.exit_code == 2
    assert not Path("lakelogic_warehouse/lake").exists()


def test_no_secret_stays_anywhere(workspace: Path, store: Any, engine: Any) -> None:
    """The canary: neither tables, ledger, logs nor staged records hold the secret of the login."""
    store.put("lab", "in/1.csv", csv(ROWS))
    run(contract("s3://lab/in/*.csv", "s3://lab/shops.csv", "csv"), engine)
    secret = store.environ()["AWS_SECRET_ACCESS_KEY"].encode()
    held = [path for path in Path.cwd().rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert held == []
