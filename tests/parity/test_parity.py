"""The instruments of the comparison: what is made up covers the catalogue, and what differs is found and made small."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakelogic.parity import shapes
from lakelogic.parity.canonical import canonical, plain
from lakelogic.parity.compare import difference
from lakelogic.parity.contracts import Case, make
from lakelogic.parity.outcome import EngineResult
from lakelogic.parity.shrink import shrink
from lakelogic.sql.signatures import SIGNATURES


def test_every_function_of_the_catalogue_is_tried() -> None:
    written = " ".join(shapes.TEMPLATES)
    untried = set(SIGNATURES) - shapes.names_tried()
    assert sorted(name for name in untried if f"{name}(" not in written) == []


def test_equal_values_have_equal_texts_and_others_do_not() -> None:
    doubles = pa.array([0.0, -0.0, float("nan"), None, 1.5])
    assert canonical(doubles) == ["0.0", "0.0", '"NaN"', "null", "1.5"]
    assert canonical(pa.array([Decimal("1.50")])) == ['"1.50"']
    assert canonical(pa.array([b"\x00\xff"])) == ['"AP8="']
    maps = pa.array([[("b", 1), ("a", 2)]], pa.map_(pa.string(), pa.int32()))
    assert canonical(maps) == ['{"a": 2, "b": 1}']
    assert plain([None, float("inf")]) == [None, "Infinity"]


def outcome(engine: str, *rows: tuple[tuple[str, str], ...]) -> EngineResult:
    return EngineResult(engine, (("k", "int"), ("v", "int")), tuple(rows))


def test_the_first_difference_names_row_column_and_both_values() -> None:
    one = outcome("duckdb", (("k", "1"), ("v", "5")), (("k", "2"), ("v", "6")))
    two = outcome("polars", (("k", "1"), ("v", "5")), (("k", "2"), ("v", "7")))
    found = difference([one, two], "k")
    assert found is not None
    assert (found.what, found.column, found.values) == ("good", "v", {"duckdb": "6", "polars": "7"})
    assert found.row == {"k": "2", "v": "6"}
    assert difference([one, replace(one, engine="polars")], "k") is None


def test_a_row_too_many_is_a_difference() -> None:
    one, two = outcome("duckdb", (("k", "1"), ("v", "5"))), outcome("polars")
    found = difference([one, two])
    assert found is not None
    assert found.what == "rows"


def test_shrinking_keeps_only_what_shows_the_difference() -> None:
    case = make(3)
    steps = [
        {"derive": {"field": "a1", "sql": "1 + 1"}},
        {"derive": {"field": "bad", "sql": "coalesce(upper(lower('x')), 'y')"}},
    ]
    case = replace(case, contract={**case.contract, "transformations": [*case.contract["transformations"], *steps]})

    def shows(smaller: Case) -> bool:
        return any("UPPER(" in str(step).upper() and "derive" in step for step in smaller.contract["transformations"])

    small = shrink(case, shows, 400)
    [step] = small.contract["transformations"]
    assert len(step["derive"]["sql"]) < len("coalesce(upper(lower('x')), 'y')")
    assert small.contract["quality"]["row_rules"] == []
    assert small.rows.num_rows == 1


def test_made_up_contracts_reach_all_kinds_of_steps_and_many_forms() -> None:
    used: set[Any] = set()
    for seed in range(150):
        used |= set(make(seed).forms)
    assert {f"step:{name}" for name in ("derive", "filter", "deduplicate", "rollup", "map_values", "cast")} <= used
    assert len(used) > 150
