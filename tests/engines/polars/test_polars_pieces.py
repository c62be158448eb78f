"""Frames whose chunks Polars cannot put together are handed on chunk by chunk."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from lakelogic.engines.polars.stage import whole_pieces

ROWS = 10  # fewer are put together at once


def _in_two_chunks(rows: pl.DataFrame) -> pl.DataFrame:
    found = rows.vstack(rows)
    assert found.n_chunks() == 2
    return found


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pl.List(pl.Decimal(20, 0)), [Decimal(5)]),
        (pl.List(pl.Date), [date(2026, 1, 1)]),
        (pl.List(pl.List(pl.Int64)), [[1]]),
        (pl.Map(pl.String, pl.Decimal(5, 2)), {"a": Decimal("1.50")}),
        (pl.Struct({"tags": pl.List(pl.Decimal(5, 2))}), {"tags": [Decimal("1.50")]}),
    ],
    ids=["decimals", "dates", "lists", "decimals in a map", "decimals in a struct"],
)
def test_lists_whose_empty_chunks_polars_mistypes_stay_apart(kind: Any, value: Any) -> None:
    one = pl.DataFrame({"s": [value] * ROWS}, schema={"s": kind})
    pieces = list(whole_pieces(_in_two_chunks(one)))
    assert [piece.height for piece in pieces] == [ROWS, ROWS]
    assert [row for piece in pieces for row in piece["s"].to_list()] == [value] * 2 * ROWS


def test_other_frames_are_handed_on_whole() -> None:
    one = pl.DataFrame({"s": [["a"]] * ROWS}, schema={"s": pl.List(pl.String)})
    assert [piece.height for piece in whole_pieces(_in_two_chunks(one))] == [2 * ROWS]
