"""A text file without its header, under a contract that masks: its first row is not taken for names of columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.errors import DataError

CANARY = "Quetzal.Canary@example.org"


def contract(**parts: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "dataset": "people",
        "source": {"path": "in/*.csv", "load_mode": "incremental"},
        "model": {"fields": [{"name": "id"}, {"name": "email", "pii": True, "masking": "redact"}]},
        "materialization": {"strategy": "append", "target_path": "shop.silver.people"},
    }
    return {**base, **parts}


def land(name: str, text: str) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", name).write_text(text)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.csv", f"1,{CANARY}\n2,other@example.org\n"),
        ("a.tsv", f"1\t{CANARY}\n2\tother@example.org\n"),
        ("a.csv", f"{CANARY},{CANARY}\n"),  # the same value twice is no pair of columns of one name
    ],
)
def test_a_first_row_does_not_become_names_of_columns(
    duckdb_engine: Any,
    workspace: Path,
    leaks: Callable[..., list[str]],
    caplog: pytest.LogCaptureFixture,
    file: str,
    text: str,
) -> None:
    land(file, text)
    with pytest.raises(DataError) as refused:
        DataProcessor(contract(source={"path": f"in/*.{file[-3:]}"}), duckdb_engine).run()
    assert refused.value.message.startswith("None of the 2 declared fields stands in the header of ")
    assert refused.value.message.endswith(f"{file}.")
    assert "has_header: false" in str(refused.value.hint)
    assert refused.value.exit_code == 1
    assert leaks("quetzal", besides=f"{refused.value} {refused.value.hint} {caplog.text}") == []
    assert not Path("lakelogic_warehouse/shop/silver/people").exists()


def test_one_file_without_its_header_among_others_stops_the_run_once_it_lands(
    duckdb_engine: Any, workspace: Path, leaks: Callable[..., list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    land("a.csv", "id,email\n1,ada@example.org\n")
    DataProcessor(contract(), duckdb_engine).run()
    land("b.csv", "ID,EMAIL\n2,bob@example.org\n")
    land("c.csv", f"3,{CANARY}\n")
    with pytest.raises(DataError, match=r"the header of .*c\.csv"):
        DataProcessor(contract(), duckdb_engine).run()
    assert leaks("quetzal", besides=caplog.text) == []
    source = {"path": "in/c.csv", "options": {"has_header": False}}
    result = DataProcessor(contract(source=source), duckdb_engine).run()
    assert result.counts.good == 1
    assert leaks("quetzal") == []


def test_the_plan_that_is_shown_does_not_have_the_first_row_either(workspace: Path) -> None:
    land("a.csv", f"1,{CANARY}\n")
    shown = DataProcessor(contract()).explain()
    assert "email" in shown
    assert "quetzal" not in shown.lower()


@pytest.mark.parametrize(
    ("step", "header"),
    [
        ({"rename": {"from": "key", "to": "id"}, "phase": "pre"}, "key,x"),
        ({"sql": "SELECT nr AS id, lower(`raw mail`) AS email FROM source"}, "Raw Mail,nr"),
        ({"derive": {"field": "id", "sql": "concat(nr, 'x')"}, "phase": "pre"}, "NR,x"),
    ],
)
def test_a_header_that_steps_read_is_a_header(duckdb_engine: Any, workspace: Path, step: Any, header: str) -> None:
    land("a.csv", f"{header}\n1,2\n")
    assert DataProcessor(contract(transformations=[step]), duckdb_engine).run().counts.source == 1


def test_a_word_in_a_literal_of_a_step_is_not_a_column_that_it_reads(duckdb_engine: Any, workspace: Path) -> None:
    land("a.csv", f"active,1,{CANARY}\n")
    step = {"derive": {"field": "n", "sql": "CASE WHEN id = 'active' THEN 1 END"}}
    with pytest.raises(DataError, match="None of the 2 declared fields"):
        DataProcessor(contract(transformations=[step]), duckdb_engine).run()


def test_files_without_content_and_contracts_without_masks_are_as_they_were(
    duckdb_engine: Any, workspace: Path
) -> None:
    land("a.csv", "")
    land("b.csv", "id,email\n1,ada@example.org\n")
    assert DataProcessor(contract(), duckdb_engine).run().counts.good == 1
    land("c.csv", "x,y\n1,2\n")
    plain = contract(model={"fields": [{"name": "id"}]}, source={"path": "in/c.csv"}, dataset="plain")
    plain["materialization"] = {"strategy": "append", "target_path": "shop.silver.plain"}
    assert DataProcessor(plain, duckdb_engine).run().counts.source == 1
