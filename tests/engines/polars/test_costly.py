"""What only some rows are computed for costs the others nothing, when the rows are handed on too."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from lakelogic import DataProcessor
from lakelogic.engines.polars import relations
from lakelogic.engines.polars.expressions import expression
from lakelogic.engines.polars.nodes import named_frames
from lakelogic.engines.polars.relations import expand
from lakelogic.errors import EngineError
from lakelogic.plan.nodes import Expand
from lakelogic.sql.expressions import Call, Column, Literal, text
from lakelogic.sql.types import BIGINT, BOOLEAN, STRING, array


@pytest.mark.parametrize("place", [0, 500])
def test_a_long_text_of_one_row_is_not_repeated_behind_the_others(place: int) -> None:
    long = "x" * 100_000
    frame = pl.DataFrame({"bad": [at == place for at in range(1_000)], "a": [long] * 1_000})
    raw = Call("row_json", (text("a"), Column("a", STRING)), STRING)
    kept = Call("case", (Column("bad", BOOLEAN), raw, Literal(None, STRING)), STRING)
    found = frame.select(expression(kept).alias("raw")).to_series()
    assert found.null_count() == 999
    assert found[place] == f'{{"a":"{long}"}}'
    assert found.estimated_size() < 1_000_000


def test_lists_that_are_kept_apart_are_not_repeated() -> None:
    """In one row of 300,000 elements and one that is not exploded: repeating the second takes 700 GB of room."""
    many = list(range(300_000))
    frame = pl.LazyFrame({"id": [1, None, 3], "items": [many, many, []], "kept": [None, many, None]})
    kind = array(BIGINT)
    alive = Call("not", (Call("is_null", (Column("id", BIGINT),), BOOLEAN),), BOOLEAN)
    node = Expand("explode", alive, Column("items", kind), "at", "item", apart=(("kept", kind),))
    found = expand(frame, node, named_frames({})).select("id", "at", "item", "kept").collect()
    assert found.height == 300_002
    assert found.tail(2).rows() == [(None, None, None, many), (3, None, None, None)]
    assert found.head(2).rows() == [(1, 0, 0, None), (1, 1, 1, None)]
    assert found["kept"].list.len().sum() == 300_000


def test_an_array_beside_each_of_its_elements_is_refused_before_memory_is_gone(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand numbers beside each of a thousand: eight megabytes, where four are the most."""
    monkeypatch.setattr(relations, "MOST_REPEATED", 4 << 20)
    items = ",".join(map(str, range(1_000)))
    Path("in.ndjson").write_text(f'{{"id": 1, "items": [{items}]}}\n')
    contract = {
        "source": {"path": "in.ndjson"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "items", "type": "array<bigint>"}]},
        "transformations": [{"explode": {"field": "items", "output": "item"}}],
    }
    with pytest.raises(EngineError, match="has all of `items` beside it"):
        DataProcessor(contract, "polars").run(materialize=False)
    contract["transformations"].append({"drop": {"columns": ["items"]}})  # type: ignore[attr-defined]
    assert DataProcessor(contract, "polars").run(materialize=False).counts.good == 1_000
    monkeypatch.setattr(relations, "MOST_REPEATED", 16 << 20)
    contract["transformations"].pop()  # type: ignore[attr-defined]
    assert DataProcessor(contract, "polars").run(materialize=False).counts.good == 1_000
