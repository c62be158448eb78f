"""A table has a folder of its own: a run refuses to make one around, inside or beside something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.errors import TableError
from lakelogic.run.surroundings import Surroundings

MODEL = {"fields": [{"name": "id", "type": "int", "required": True}]}


def run(engine: Any, materialization: dict[str, Any], **more: Any) -> Any:
    document = {"dataset": "orders", "source": {"path": "in.csv"}, "model": MODEL, "materialization": materialization}
    with DataProcessor({**document, **more}, engine) as processor:
        return processor.run()


@pytest.fixture
def landed(workspace: Path) -> Path:
    Path("in.csv").write_text("id\n1\n\n2\n")
    return workspace


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (".", "around the working folder"),
        ("..", "around the working folder"),
        ("lakelogic_warehouse/", "around the warehouse"),
        ("photos/", "holds `cat.jpg`"),
        ("photos/../deep/", "holds `silver`"),
    ],
)
def test_a_folder_that_holds_something_else_gets_no_table(
    landed: Path, duckdb_engine: Any, place: str, told: str
) -> None:
    Path("photos").mkdir()
    Path("photos/cat.jpg").write_text("meow")
    run(duckdb_engine, {"target_path": "deep/silver/orders"}, dataset="inner")
    with pytest.raises(TableError, match=told):
        run(duckdb_engine, {"target_path": place})
    assert Path("photos/cat.jpg").read_text() == "meow"


@pytest.mark.parametrize(
    "settings",
    [
        {"materialization": {"target_path": "deep/orders/inside/"}},
        {"materialization": {"target_path": "x/"}, "quarantine": {"target": "deep/orders/bad"}},
        {"materialization": {"target_path": "x/", "secondary_targets": [{"target_path": "x/copy", "format": "delta"}]}},
        {"materialization": {"target_path": "x/"}, "quarantine": {"target": "x/bad"}},
        {"materialization": {"target_path": "x/"}, "quarantine": {"target": "x/"}},
    ],
)
def test_no_table_is_made_inside_another(landed: Path, duckdb_engine: Any, settings: dict[str, Any]) -> None:
    run(duckdb_engine, {"target_path": "deep/orders/"}, dataset="outer")
    with pytest.raises(TableError, match=r"inside the table|share a folder"):
        run(duckdb_engine, **settings)


def test_a_table_that_lies_in_its_folder_already_is_written_on(landed: Path, duckdb_engine: Any) -> None:
    run(duckdb_engine, {"target_path": "out/"})
    Path("out/readme.txt").write_text("mine")
    Path("in.csv").write_text("id\n1\n\n2\n3\n")
    assert run(duckdb_engine, {"target_path": "out/"}).status == "succeeded"


@pytest.mark.parametrize("place", [".", "deep/orders/inside/"])
def test_validate_says_what_a_run_would_refuse(landed: Path, duckdb_engine: Any, place: str) -> None:
    from lakelogic.actions.author.contracts import validate

    run(duckdb_engine, {"target_path": "deep/orders/"}, dataset="outer")
    Path("c.yaml").write_text(f"source: {{path: in.csv}}\nmaterialization: {{target_path: '{place}'}}\n")
    (found,) = [one for one in validate(Surroundings.here(), "c.yaml").diagnostics if one.code == "LL-C180"]
    assert (found.where.line, found.severity) == (2, "error")
