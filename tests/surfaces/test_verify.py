"""`lakelogic verify`: a certificate when engines agree, the first difference when they do not, and no trace left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic.cli.main import cli

CONTRACT = """
dataset: silver_orders
source: {path: landing/*.csv}
links:
  - {name: customers, path: customers.csv}
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: customer}
    - {name: total, type: "decimal(10,2)", min: 0}
    - {name: day, type: date}
    - {name: state, accepted_values: [open, paid]}
transformations:
  - derive: {field: month, sql: "year(day) * 100 + month(day)"}
  - lookup: {field: country, reference: customers, on: customer, key: id, value: country, default_value: none}
  - deduplicate: {on: [id], sort_by: [day]}
quality:
  row_rules:
    - sql: total < 100
materialization: {target_path: shop.silver.orders}
"""


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


@pytest.fixture
def orders(workspace: Path) -> Path:
    (workspace / "contract.yaml").write_text(CONTRACT)
    (workspace / "customers.csv").write_text("id,country\n1,NL\n2,DE\n")
    (workspace / "landing").mkdir()
    (workspace / "landing" / "a.csv").write_text("id,customer,total,day,state\n1,1,5.00,2024-01-05,open\n")
    return workspace


def test_engines_that_agree_earn_a_certificate(orders: Path) -> None:
    result = call("verify", "contract.yaml", "--engines", "duckdb,polars", "--rows", "60")
    assert result.exit_code == 0, result.output
    assert "silver_orders means the same on duckdb " in result.stdout
    assert "judging 60 rows on polars" in result.stderr


def test_the_same_seed_gives_the_same_certificate(orders: Path) -> None:
    words = ("verify", "contract.yaml", "--engines", "duckdb,polars", "--rows", "40", "--json")
    one, two, other = (json.loads(call(*words, *more).stdout) for more in ((), (), ("--seed", "2")))
    assert one == two
    assert one["status"] == "verified"
    assert one["certificate"]["contract_fingerprint"] == other["certificate"]["contract_fingerprint"]
    assert one["certificate"]["digest"] != other["certificate"]["digest"]
    counted = one["certificate"]
    assert counted["good"] + counted["bad"] + counted["lost"] == counted["rows"] == 40
    assert set(counted["engines"]) == {"duckdb", "polars"}


def test_nothing_is_written_and_no_ledger_is_made(orders: Path) -> None:
    before = sorted(path.name for path in orders.iterdir())
    assert call("verify", "contract.yaml", "--engines", "duckdb,polars", "--rows", "20").exit_code == 0
    assert sorted(path.name for path in orders.iterdir()) == before


def test_a_source_that_has_not_landed_is_made_up_from_the_model(orders: Path) -> None:
    (orders / "landing" / "a.csv").unlink()
    assert call("verify", "contract.yaml", "--engines", "duckdb,polars", "--rows", "20").exit_code == 0


def test_a_difference_is_shown_with_its_row_and_column(orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakelogic.engines.polars.engine import PolarsEngine

    collect = PolarsEngine.collect

    def wrong(self: Any, frame: Any, limit: int | None = None) -> Any:
        import pyarrow.compute as pc

        table = collect(self, frame, limit)
        place = table.column_names.index("month") if "month" in table.column_names else None
        return table if place is None else table.set_column(place, "month", pc.add(table.column("month"), 1))

    monkeypatch.setattr(PolarsEngine, "collect", wrong)
    result = call("verify", "contract.yaml", "--engines", "duckdb,polars", "--rows", "60", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 1
    assert told["status"] == "differs"
    assert told["difference"]["column"] == "month"
    assert int(told["difference"]["values"]["polars"]) == int(told["difference"]["values"]["duckdb"]) + 1


def test_engines_that_lose_a_row_alike_earn_no_certificate(orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakelogic.engines.duckdb.engine import DuckDBEngine
    from lakelogic.engines.polars.engine import PolarsEngine

    def short_of_one(engine: Any) -> None:
        collect = engine.collect

        def wrong(self: Any, frame: Any, limit: int | None = None) -> Any:
            table = collect(self, frame, limit)
            return table.slice(1) if "ll_side" in table.column_names else table

        monkeypatch.setattr(engine, "collect", wrong)

    short_of_one(DuckDBEngine)
    short_of_one(PolarsEngine)
    result = call("verify", "contract.yaml", "--engines", "duckdb,polars", "--rows", "60", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["status"], told["difference"]["what"]) == (1, "differs", "failed")
    assert "60 were read, 59 are accounted for" in told["difference"]["values"]["polars"]


def test_half_of_the_made_up_rows_have_sound_documents(workspace: Path) -> None:
    Path("nested.yaml").write_text(
        """
source: {path: in.csv}
model:
  fields:
    - {name: id, type: int}
    - {name: v, type: json}
    - {name: s, type: "struct<a:int,b:array<string>>"}
    - {name: m, type: "map<string,decimal(10,2)>"}
materialization: {target_path: a.b.rows}
"""
    )
    result = call("verify", "nested.yaml", "--engines", "duckdb,polars", "--rows", "200", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["certificate"]["good"] >= 90


def test_a_broken_contract_is_exit_2(workspace: Path) -> None:
    (workspace / "bad.yaml").write_text("source: {path: a.csv}\nmodel: {fields: [{name: id, tpye: int}]}\n")
    result = call("verify", "bad.yaml", "--engines", "duckdb,polars")
    assert result.exit_code == 2
    assert "tpye" in result.output


def test_one_engine_alone_cannot_be_compared(orders: Path) -> None:
    result = call("verify", "contract.yaml", "--engines", "duckdb")
    assert result.exit_code == 2
    assert "Only one engine" in result.output


def test_nothing_is_certified_where_hardly_a_row_was_good(orders: Path) -> None:
    Path("contract.yaml").write_text(CONTRACT.replace("total < 100", "customer = 'nobody at all'"))
    result = call("verify", "contract.yaml", "--engines", "duckdb,polars", "--rows", "60")
    assert result.exit_code == 2
    assert "60 of 60 made-up rows were bad" in result.output
