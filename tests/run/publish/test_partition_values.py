"""Values of partition columns that are awkward in names of folders, on every engine and format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load

PLACE = "lakelogic_warehouse/shop/silver/places"
LONG = "x" * 3000
ODD = {
    1: None, 2: " ", 3: "/", 4: "%", 5: "=", 6: "a/b=c%2F", 7: LONG, 8: "São Tomé 🏝", 9: "__HIVE_DEFAULT_PARTITION__",
    10: "..", 11: "null", 12: "NULL", 13: 'a"b\\c', 14: "a\nb", 15: "ß" * 400, 16: "a", 17: "A", 18: "~tilde", 19: "a:b",
    20: " a ", 21: ".", 22: "?*[x]", 23: "a+b", 24: "2026-01-01", 25: "1", 26: "true", 27: "a\0b", 28: "\u2028", 29: "e\u0301",
}  # fmt: skip


# Formats do not know engines: all of them on one engine, and each engine once.
PAIRS = pytest.mark.parametrize(
    ("engine", "form"),
    [
        ("duckdb", "delta"),
        ("duckdb", "parquet"),
        ("duckdb", "iceberg"),
        ("polars", "parquet"),
        pytest.param("spark", "delta", marks=pytest.mark.spark),
    ],
    indirect=["engine"],
)


def contract(form: str, **settings: Any) -> dict[str, Any]:
    return {
        "source": {"path": "landing/*.jsonl", "format": "json", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "place"}, {"name": "note"}]},
        "materialization": {
            "target_path": "shop.silver.places", "format": form, "partition_by": ["place"], "primary_key": ["id"],
            **settings,
        },
    }  # fmt: skip


def land(name: str, values: dict[int, str | None], note: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    lines = [json.dumps({"id": key, "place": value, "note": note}) for key, value in values.items()]
    Path(f"landing/{name}.jsonl").write_text("\n".join(lines) + "\n")


def run(engine: Any, document: dict[str, Any]) -> Any:
    with DataProcessor(document, engine) as processor:
        return processor.run()


def rows(table: str = "shop.silver.places") -> dict[int, tuple[Any, Any]]:
    return {row["id"]: (row["place"], row["note"]) for row in preview(Surroundings.here(), table, 1000).rows}


@PAIRS
def test_odd_values_are_kept_as_they_are(engine: Any, workspace: Path, form: str) -> None:
    land("a", ODD, "first")
    assert run(engine, contract(form)).counts.good == len(ODD)
    assert rows() == {key: (value, "first") for key, value in ODD.items()}
    state = load(form).state(PLACE)
    assert state is not None
    assert sorted(map(repr, (part["place"] for part in state.parts.values()))) == sorted(map(repr, ODD.values()))


@PAIRS
def test_rows_find_theirs_behind_odd_values(engine: Any, workspace: Path, form: str) -> None:
    land("a", ODD, "first")
    run(engine, contract(form, strategy="merge"))
    land("b", ODD, "second")
    run(engine, contract(form, strategy="merge"))
    assert rows() == {key: (value, "second") for key, value in ODD.items()}


@PAIRS
def test_partitions_with_odd_values_are_replaced(engine: Any, workspace: Path, form: str) -> None:
    settings = {"strategy": "overwrite", "overwrite_scope": "partitions"}
    land("a", ODD, "first")
    run(engine, contract(form, **settings))
    land("b", {100: None, 200: " ", 900: "__HIVE_DEFAULT_PARTITION__", 700: LONG}, "second")
    run(engine, contract(form, **settings))
    kept = {key: (value, "first") for key, value in ODD.items() if key not in (1, 2, 9, 7)}
    assert rows() == kept | {
        100: (None, "second"),
        200: (" ", "second"),
        900: ("__HIVE_DEFAULT_PARTITION__", "second"),
        700: (LONG, "second"),
    }


@PAIRS
def test_odd_values_are_read_from_the_table(engine: Any, workspace: Path, form: str) -> None:
    land("a", ODD, "first")
    run(engine, contract(form))
    gold = {
        "source": {"path": "shop.silver.places"},
        "transformations": [{"sql": "SELECT id, place, note FROM source"}],
        "materialization": {"target_path": "shop.gold.places", "format": form, "strategy": "overwrite"},
    }
    run(engine, gold)
    assert rows("shop.gold.places") == {key: (value, "first") for key, value in ODD.items()}


@PAIRS
def test_an_empty_text_is_the_trouble_of_its_row(engine: Any, workspace: Path, form: str) -> None:
    land("a", {1: "Bern", 2: "", 3: None, 4: " "}, "first")
    result = run(engine, contract(form))
    assert result.counts.good == 3
    assert rows() == {1: ("Bern", "first"), 3: (None, "first"), 4: (" ", "first")}
    (bad,) = result._bad_table(True).to_pylist()
    assert bad["id"] == 2
    assert bad["_lakelogic_errors"] == [
        "Rule failed: place_partition (an empty text cannot name a partition: readers take it for NULL)"
    ]
