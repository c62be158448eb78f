"""Upkeep of a table that others read from the last version on: with no retention at all, nothing is lost or doubled."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.actions.operate.maintain import MaintainRequest, maintain
from lakelogic.cli.main import cli
from lakelogic.errors import DataError
from lakelogic.run.surroundings import Surroundings

FORMATS = ["delta", "parquet", "iceberg"]
Go = Callable[..., Any]


def above(form: str, strategy: str = "append") -> dict[str, Any]:
    return {
        "dataset": "above",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "primary_key": ["id"],
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "amount", "type": "int"}]},
        "materialization": {"target_path": "a.b.above", "format": form, "strategy": strategy},
    }


def below(strategy: str, load_mode: str | None) -> dict[str, Any]:
    return {
        "dataset": "below",
        "source": {"path": "a.b.above", **({"load_mode": load_mode} if load_mode else {})},
        "primary_key": ["id"],
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "amount", "type": "int"}]},
        "materialization": {"target_path": "a.g.below", "strategy": strategy},
    }


def land(name: str, *rows: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", f"{name}.csv").write_text("id,amount\n" + "".join(f"{row}\n" for row in rows))


def pairs() -> list[tuple[int, int]]:
    found = preview(Surroundings.here(), "a.g.below", 100).rows
    return sorted((row["id"], row["amount"]) for row in found if row.get("is_current", True))


def sweep() -> None:
    maintain(Surroundings.here(), MaintainRequest(("a.b.above",), retention=timedelta(0)))


@pytest.fixture
def go(duckdb_engine: Any, workspace: Path) -> Go:
    def run(document: dict[str, Any]) -> Any:
        with DataProcessor(document, duckdb_engine) as processor:
            return processor.run()

    return run


FOLLOWERS = [("append", None), ("merge", None), ("merge", "incremental"), ("scd2", "incremental")]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("strategy", "load_mode"), FOLLOWERS)
@pytest.mark.parametrize("behind", [0, 2])
def test_a_follower_has_every_row_once_after_upkeep_that_keeps_nothing(
    go: Go, form: str, strategy: str, load_mode: str | None, behind: int
) -> None:
    land("1", "1,10")
    go(above(form))
    land("2", "2,20")
    go(above(form))
    go(below(strategy, load_mode))
    expected = [(1, 10), (2, 20)]
    for number in range(3, 3 + behind):  # commits that the follower has not seen
        land(str(number), f"{number},{number * 10}")
        go(above(form))
        expected.append((number, number * 10))
    sweep()
    go(below(strategy, load_mode))
    assert pairs() == expected
    sweep()
    land("9", "9,90")
    go(above(form))
    sweep()
    go(below(strategy, load_mode))
    assert pairs() == [*expected, (9, 90)]
    assert go(below(strategy, load_mode)).status == "no_new_data"


@pytest.mark.parametrize("form", FORMATS)
def test_batches_that_stand_for_themselves_stop_where_what_came_since_was_swept(go: Go, form: str) -> None:
    """What came since is not there any more as it came: the run stops and says so; it never guesses."""
    land("1", "1,10")
    go(above(form))
    go(below("append", "incremental"))
    land("2", "2,20")
    go(above(form))
    sweep()
    with pytest.raises(DataError, match=r"does not reach back|not there any more") as stopped:
        go(below("append", "incremental"))
    assert "lakelogic reload" in str(stopped.value.hint)
    assert pairs() == [(1, 10)]
    Path("below.yaml").write_text(json.dumps(below("append", "incremental")))
    assert CliRunner().invoke(cli, ["reload", "below.yaml", "--engine", "duckdb"]).exit_code == 0
    assert pairs() == [(1, 10), (2, 20)]
    land("3", "3,30")
    go(above(form))
    go(below("append", "incremental"))
    assert pairs() == [(1, 10), (2, 20), (3, 30)]


@pytest.mark.parametrize("form", FORMATS)
def test_batches_that_stand_for_themselves_go_on_where_nothing_came_before_the_sweep(go: Go, form: str) -> None:
    land("1", "1,10")
    go(above(form))
    go(below("append", "incremental"))
    sweep()
    assert go(below("append", "incremental")).status == "no_new_data"
    land("2", "2,20")
    go(above(form))
    go(below("append", "incremental"))
    assert pairs() == [(1, 10), (2, 20)]


@pytest.mark.parametrize("form", FORMATS)
def test_a_follower_of_a_table_that_is_merged_goes_on(go: Go, form: str) -> None:
    land("1", "1,10", "2,20")
    go(above(form, "merge"))
    go(below("merge", "incremental"))
    land("2", "2,21", "3,30")
    go(above(form, "merge"))
    sweep()
    go(below("merge", "incremental"))
    assert pairs() == [(1, 10), (2, 21), (3, 30)]


@pytest.mark.parametrize("form", FORMATS)
def test_upkeep_tells_which_followers_it_leaves_behind(go: Go, form: str) -> None:
    land("1", "1,10")
    go(above(form))
    go(below("append", "incremental"))
    (done,) = maintain(Surroundings.here(), MaintainRequest(("a.b.above",), retention=timedelta(0)))
    assert done.left_behind == ()  # it has read everything
    land("2", "2,20")
    go(above(form))
    (done,) = maintain(Surroundings.here(), MaintainRequest(("a.b.above",)))
    assert done.left_behind == ()  # within the retention
    land("3", "3,30")
    go(above(form))
    told = CliRunner().invoke(cli, ["maintain", "a.b.above", "--retention", "0h"])
    assert told.exit_code == 0
    assert "below (version" in told.output
    assert "lakelogic reload" in told.output.replace("\n", " ")
