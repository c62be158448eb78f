"""Numbers of JSON that nobody declares, over several runs: one type for a column and its table, which only grows."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.errors import DataError
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load

PLACE = "lakelogic_warehouse/shop/silver/rows"


def land(name: str, *lines: str) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def contract(policy: str = "allow", **parts: Any) -> dict[str, Any]:
    return {
        "dataset": "rows",
        "source": {"path": "in/*.jsonl", "format": "ndjson", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int"}]},
        "schema_policy": {"evolution": policy, "unknown_fields": "allow"},
        "materialization": {"target_path": "shop.silver.rows"},
        "lineage": {"enabled": False},
        **parts,
    }


def run(engine: Any, policy: str = "allow", **parts: Any) -> Any:
    return DataProcessor(contract(policy, **parts), engine).run()


def kind(column: str = "n") -> str:
    state = load("delta").state(PLACE)
    assert state is not None
    return str(state.schema.field(column).type)


def rows(column: str = "n") -> dict[int, Any]:
    return {row["id"]: row[column] for row in preview(Surroundings.here(), "shop.silver.rows", 100).rows}


MERGE = {"materialization": {"target_path": "shop.silver.rows", "strategy": "merge", "primary_key": ["id"]}}


def test_a_column_grows_and_never_goes_back(engine: Any, workspace: Path) -> None:
    land("a", '{"id":1,"n":9}', '{"id":2,"n":10}')
    run(engine)
    assert kind() == "int64"
    land("b", '{"id":3,"n":1.5}')
    run(engine)
    assert kind() == "decimal128(25, 6)"
    land("c", '{"id":4,"n":7}', '{"id":5,"n":1e3}')
    run(engine)
    assert kind() == "decimal128(25, 6)"
    assert rows() == {1: Decimal(9), 2: Decimal(10), 3: Decimal("1.5"), 4: Decimal(7), 5: Decimal(1000)}


@pytest.mark.parametrize("policy", ["compatible", "append", "merge", "strict"])
def test_a_policy_lets_it_grow_or_stops_the_run(duckdb_engine: Any, workspace: Path, policy: str) -> None:
    land("a", '{"id":1,"n":9}')
    run(duckdb_engine, policy)
    land("b", '{"id":2,"n":10}')
    run(duckdb_engine, policy)
    land("c", '{"id":3,"n":1.5}')
    if policy == "compatible":
        run(duckdb_engine, policy)
        assert rows() == {1: Decimal(9), 2: Decimal(10), 3: Decimal("1.5")}
    else:
        with pytest.raises(DataError, match=r"`n` is bigint there and decimal\(25,6\) in the contract"):
            run(duckdb_engine, policy)
        assert rows() == {1: 9, 2: 10}


def test_whole_numbers_are_no_difference_to_a_decimal_under_strict(duckdb_engine: Any, workspace: Path) -> None:
    land("a", '{"id":1,"n":9.5}')
    run(duckdb_engine, "strict")
    land("b", '{"id":2,"n":10}')
    run(duckdb_engine, "strict")
    land("c", '{"id":3,"n":null}')
    run(duckdb_engine, "strict")
    assert rows() == {1: Decimal("9.5"), 2: Decimal(10), 3: None}


def test_the_order_of_files_does_not_matter(duckdb_engine: Any, workspace: Path) -> None:
    land("a", '{"id":1,"n":9,"m":0.5}')
    land("b", '{"id":2,"n":1.5,"m":3}')
    run(duckdb_engine)
    assert (kind("n"), kind("m")) == ("decimal128(25, 6)", "decimal128(25, 6)")
    assert rows("m") == {1: Decimal("0.5"), 2: Decimal(3)}


def test_what_is_no_number_is_a_bad_row_once_the_table_holds_numbers(engine: Any, workspace: Path) -> None:
    land("a", '{"id":1,"n":9}')
    run(engine)
    land("b", '{"id":2,"n":"K1A"}', '{"id":3,"n":10}', '{"id":4,"n":true}', '{"id":5,"n":"12"}')
    result = run(engine)
    assert (rows(), kind()) == ({1: 9, 3: 10, 5: 12}, "int64")
    bad = {row["id"]: (row["_lakelogic_errors"], row["_lakelogic_raw"]) for row in result._bad_table(True).to_pylist()}
    assert bad == {
        2: (["Type mismatch: n cannot be cast to bigint"], '{"id":2,"n":"K1A"}'),
        4: (["Type mismatch: n cannot be cast to bigint"], '{"id":4,"n":true}'),
    }


def test_text_stays_text(duckdb_engine: Any, workspace: Path) -> None:
    land("a", '{"id":1,"n":"x"}', '{"id":2,"n":10}')
    run(duckdb_engine)
    land("b", '{"id":3,"n":1.50}')
    run(duckdb_engine)
    assert rows() == {1: "x", 2: "10", 3: "1.50"}


def test_a_table_of_before_keeps_its_text(duckdb_engine: Any, workspace: Path) -> None:
    declared = {"model": {"fields": [{"name": "id", "type": "int"}, {"name": "n", "type": "string"}]}}
    land("a", '{"id":1,"n":9}')
    run(duckdb_engine, **declared)
    land("b", '{"id":2,"n":10}')
    run(duckdb_engine)
    assert rows() == {1: "9", 2: "10"}


@pytest.mark.parametrize("parts", [{}, MERGE], ids=["append", "merge"])
def test_a_key_that_stays_away_keeps_its_type(duckdb_engine: Any, workspace: Path, parts: dict[str, Any]) -> None:
    land("a", '{"id":1,"n":9.5,"m":1}')
    run(duckdb_engine, **parts)
    land("b", '{"id":2,"m":2}')
    run(duckdb_engine, **parts)
    land("c", '{"id":3,"n":7}')
    run(duckdb_engine, **parts)
    assert (rows("n"), kind("n")) == ({1: Decimal("9.5"), 2: None, 3: Decimal(7)}, "decimal128(25, 6)")
    assert (rows("m"), kind("m")) == ({1: 1, 2: 2, 3: None}, "int64")


def test_a_renamed_column_remembers_under_its_landed_name(duckdb_engine: Any, workspace: Path) -> None:
    parts = {"transformations": [{"rename": {"from": "n", "to": "total"}}]}
    land("a", '{"id":1,"n":9.5}')
    run(duckdb_engine, "strict", **parts)
    land("b", '{"id":2,"n":10}')
    run(duckdb_engine, "strict", **parts)
    assert rows("total") == {1: Decimal("9.5"), 2: Decimal(10)}


def test_the_newest_row_of_a_key_wins_by_number(engine: Any, workspace: Path) -> None:
    newest = {"materialization": {**MERGE["materialization"], "sequence_by": "rev"}}
    land("a", '{"id":1,"rev":9,"n":1}')
    run(engine, **newest)
    land("b", '{"id":1,"rev":10,"n":2}', '{"id":1,"rev":2,"n":3}')
    run(engine, **newest)
    assert rows() == {1: 2}


def test_a_bad_row_is_replayed_in_the_type_of_the_table(engine: Any, workspace: Path) -> None:
    small = {"quality": {"row_rules": [{"name": "small", "sql": "id < 2"}]}}
    land("a", '{"id":1,"n":9.5}', '{"id":2,"n":1e3}', '{"id":3,"n":4}')
    run(engine, **small)
    assert rows() == {1: Decimal("9.5")}
    with DataProcessor(contract(quality={"row_rules": [{"name": "small", "sql": "id < 3"}]}), engine) as processor:
        processor.replay()
    assert (rows(), kind()) == ({1: Decimal("9.5"), 2: Decimal(1000)}, "decimal128(25, 6)")
    land("b", '{"id":1,"n":"x"}', '{"id":0,"n":1}')
    run(engine, **small)
    assert rows() == {0: Decimal(1), 1: Decimal("9.5"), 2: Decimal(1000)}


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_large_files_are_looked_at_by_workers(engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakelogic.engines.spark.scan.SMALL", 0)
    land("a", '{"id":1,"n":9,"m":1}')
    land("b", '{"id":2,"n":1.5,"m":"x"}')
    run(engine)
    assert (kind("n"), kind("m")) == ("decimal128(25, 6)", "string")
    assert rows() == {1: Decimal(9), 2: Decimal("1.5")}
