"""What people are shown of results, tables and the quarantine, and how mistakes are told."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic import DataProcessor
from lakelogic.cli.main import cli
from lakelogic.engines.spark.runtime.death import ended
from lakelogic.errors import EngineError

LONG = "x" * 100
CONTRACT = """\
dataset: flights
source: {path: in.csv}
model:
  fields:
    - {name: id, type: int}
    - {name: dest, type: string}
    - {name: delay, type: int}
    - {name: mail, type: string, pii: true, masking: redact}
quality: {row_rules: [{name: known, sql: "dest = 'AAA'"}]}
materialization: {target_path: air.silver.flights, strategy: overwrite}
"""
ROWS = f"id,dest,delay,mail\n1,AAA,1,a@x.org\n2,BBB,1,b@x.org\n3,BBB,late,c@x.org\n4,CCC,2,d@x.org\n5,,late,{LONG}\n"


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


@pytest.fixture
def flights(workspace: Path) -> Path:
    Path("in.csv").write_text(ROWS)
    Path("c.yaml").write_text(CONTRACT)
    done = call("run", "c.yaml", "--engine", "duckdb")
    assert done.exit_code == 0, done.output
    return workspace


def test_a_result_is_one_line_and_a_notebook_shows_both_sides_masked(home: Path, duckdb_engine: Any) -> None:
    result = DataProcessor("contract.yaml", duckdb_engine).run()
    said = repr(result)
    assert said == f"<Result of silver_customers: succeeded, 4 rows, 2 good, 2 bad ({result.run_id})>"
    shown = result._repr_html_()
    assert "<th>email</th>" in shown
    assert "email_required" in shown
    # The cell of a notebook is kept with it: what `result.show()` prints in clear for who holds the key is not in it.
    assert "not_an_email" in result.as_text()
    assert "not_an_email" not in shown


def test_html_of_data_is_text(workspace: Path, duckdb_engine: Any) -> None:
    Path("in.csv").write_text("id,word\n1,<script>alert(1)</script>\n")
    contract = {"source": {"path": "in.csv"}, "model": {"fields": [{"name": "id"}, {"name": "word"}]}}
    shown = DataProcessor(contract, duckdb_engine).run(materialize=False)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_preview_shows_chosen_columns_and_whole_values_when_piped(workspace: Path) -> None:
    Path("in.csv").write_text(f"id,dest,note\n1,AAA,{LONG}\n")
    Path("c.yaml").write_text("dataset: d\nsource: {path: in.csv}\nmaterialization: {target_path: air.bronze.d}\n")
    call("run", "c.yaml", "--engine", "duckdb")
    shown = call("preview", "air.bronze.d", "--columns", "note,ID")
    assert shown.stdout.split() == ["note", "id", "─" * 100, "──", LONG, "1"]
    told = json.loads(call("preview", "air.bronze.d", "--columns", "dest", "--json").stdout)
    assert told["rows"] == [{"dest": "AAA"}]
    wrong = call("preview", "air.bronze.d", "--columns", "desd")
    assert wrong.exit_code == 2
    assert "Did you mean `dest`?" in wrong.stderr


def test_bad_rows_are_counted_by_a_field_and_never_by_a_masked_one(flights: Path) -> None:
    # Rows 2 and 4 fail the rule, 3 the rule and its delay, 5 both with a destination that is NULL.
    counted = json.loads(call("quarantine", "list", "c.yaml", "--by", "dest", "--json").stdout)
    assert counted["values"] == [{"value": "BBB", "rows": 2}, {"value": "CCC", "rows": 1}, {"value": None, "rows": 1}]
    assert (counted["total"], counted["different"]) == (4, 3)
    shown = call("quarantine", "list", "flights", "--by", "Dest", "--limit", "1")
    assert shown.stdout.splitlines()[-1].split() == ["BBB", "2"]
    # What could not be cast counts by its text.
    by_delay = json.loads(call("quarantine", "list", "c.yaml", "--by", "delay", "--json").stdout)["values"]
    assert by_delay == [{"value": "late", "rows": 2}, {"value": "1", "rows": 1}, {"value": "2", "rows": 1}]
    masked = call("quarantine", "list", "c.yaml", "--by", "mail")
    assert masked.exit_code == 2
    assert "`mail` is masked" in masked.stderr
    assert "Did you mean `dest`?" in call("quarantine", "list", "c.yaml", "--by", "des").stderr
    Path("c.yaml").unlink()
    assert "Name the contract's file" in call("quarantine", "list", "flights", "--by", "dest").stderr


def test_a_forgotten_quote_is_told_where_it_was_opened(workspace: Path) -> None:
    Path("q.yaml").write_text('dataset: x\nmodel:\n  fields:\n    - name: "id\n      type: "int"\n    - name: b\n')
    told = call("validate", "q.yaml")
    assert told.exit_code == 2
    assert "q.yaml:4:13" in told.output
    assert "A quote is opened here" in told.output
    Path("s.yaml").write_text('source: {path: in.csv}\nquality: {row_rules: [{name: a, sql: "w = \'x"}]}\n')
    assert "A quote is opened and never closed." in call("validate", "s.yaml").output


def test_an_unknown_link_in_sql_is_an_error_and_told_as_one(workspace: Path) -> None:
    Path("in.csv").write_text("id\n1\n")
    Path("l.yaml").write_text(
        "source: {path: in.csv}\nlinks: [{name: cities, path: cities.csv, format: csv}]\n"
        "model: {fields: [{name: id, type: int}]}\n"
        "transformations: [{sql: SELECT s.id FROM source s LEFT JOIN citis c ON s.id = c.id}]\n"
        "materialization: {target_path: a.b.c}\n"
    )
    told = call("validate", "l.yaml")
    assert told.exit_code == 2
    assert "There is no link `citis`." in told.output
    assert "did you mean `cities`?" in told.output


def test_a_java_process_that_has_ended_is_told_as_that() -> None:
    class Process:
        def __init__(self, code: int | None) -> None:
            self.code = code

        def wait(self, _: float) -> int:
            if self.code is None:
                import subprocess

                raise subprocess.TimeoutExpired("java", 0)
            return self.code

    def session(code: int | None) -> Any:
        return SimpleNamespace(_sc=SimpleNamespace(_gateway=SimpleNamespace(proc=Process(code))))

    lost = ConnectionRefusedError("[Errno 111] Connection refused")
    found = ended(session(-9), lost)
    assert isinstance(found, EngineError)
    assert "has ended while it was needed (killed by signal 9)" in found.message
    assert ended(session(None), ValueError("a defect of ours")) is None
    assert ended(SimpleNamespace(), lost) is None  # Spark Connect tells it itself


def test_a_salt_is_made(workspace: Path) -> None:
    first, second = (json.loads(call("keys", "new", "--salt", "--json").stdout) for _ in range(2))
    assert set(first) == {"LAKELOGIC_PII_SALT"}
    assert len(first["LAKELOGIC_PII_SALT"]) >= 40
    assert first != second
    assert call("keys", "new", "--salt").stdout.startswith("export LAKELOGIC_PII_SALT='")


def write(**more: str) -> None:
    """A contract with a merge, and keys that it is given."""
    parts = {
        "dataset": "orders", "source": "{path: 'landing/*.csv'}", "primary_key": "[id]",
        "model": "{fields: [{name: id, type: int, required: true}, {name: n, type: int, min: 0}]}",
        "materialization": "{target_path: shop.silver.orders, strategy: merge}", **more,
    }  # fmt: skip
    Path("landing").mkdir(exist_ok=True)
    Path("orders.yaml").write_text("".join(f"{name}: {value}\n" for name, value in parts.items()))


@pytest.mark.parametrize(
    ("rows", "more", "told"),
    [
        ("1,1\n2,-2\n", {"quality": "{max_quarantine_ratio: 0.1}"}, "publishes the good rows, with --discard"),
        ("1,-1\n", {}, "mend the source or the contract, and run again"),
    ],
)
def test_a_closed_gate_ends_with_what_to_do_next(workspace: Path, rows: str, more: dict[str, str], told: str) -> None:
    write(**more)
    Path("landing/a.csv").write_text(f"id,n\n{rows}")
    done = call("run", "orders.yaml", "--engine", "duckdb")
    last = done.stderr.strip().splitlines()[-1]
    assert (done.exit_code, last.startswith("Next: `lakelogic quarantine list orders.yaml` shows the bad rows; ")) == (
        1,
        True,
    )
    assert told in last
    passed = call("drive", "--registry", ".", "--engine", "duckdb")
    assert told in passed.stdout


def test_a_pass_tells_the_hint_of_what_failed(workspace: Path) -> None:
    write(source="{path: shop.bronze.nothing, type: table}")
    done = call("drive", "--registry", ".", "--engine", "duckdb")
    assert done.exit_code != 0
    assert "Hint: Run the contract that makes it first, or check the name." in done.stdout


def test_rows_that_tie_in_a_merge_are_told_with_three_ways_out(workspace: Path) -> None:
    write()
    Path("landing/a.csv").write_text("id,n\n1,1\n")
    Path("landing/b.csv").write_text("id,n\n1,2\n")
    told = call("run", "orders.yaml", "--engine", "duckdb").output
    for way in ("`materialization.sequence_by: <column>`", "deduplicate: {on: [id]", "`source.load_mode: incremental`"):
        assert way in told


def test_a_step_is_called_as_the_contract_calls_it(workspace: Path) -> None:
    write(
        source="{path: 'landing/*.csv', load_mode: incremental}",
        materialization="{target_path: shop.silver.orders, strategy: append}",
        transformations="[{deduplicate: {on: [id], sort_by: [n]}}]",
    )
    for rows in ("1,1\n1,2\n", "1,1\n1,2\n1,3\n"):  # the file grows
        Path("landing/a.csv").write_text(f"id,n\n{rows}")
        done = call("run", "orders.yaml", "--engine", "duckdb")
    assert "`deduplicate` makes rows of several files" in done.output
    assert "`rank`" not in done.output
