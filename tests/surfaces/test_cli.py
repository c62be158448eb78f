"""The command line: text for people, one JSON object for programs, exit codes that can be trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic.cli.main import cli


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def test_a_run_prints_the_lines_of_the_home_page(home: Path) -> None:
    result = call("run", "contract.yaml", "--engine", "duckdb")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "LakeLogic Alert: 2 records quarantined in 'customers'. Total: 4"
    assert [line[21:] for line in lines[1:]] == [
        " INFO  | Wrote 2 quarantined rows to catalog.quarantine.silver_customers",
        " INFO  | Wrote 2 valid rows to catalog.silver.customers",
        " INFO  | Run complete [layer=silver] | Total: 4 | Good: 2 | Quarantine: 2 | Ratio: 50.0%",
        " INFO  | Bad: 1 row by email LIKE '%@%.%' (such as landing/customers/C102.json:1)",
        " INFO  | Bad: 1 row by email_required (such as landing/customers/C103.json:1)",
        " INFO  | Good rows: 2 inserted",
    ]
    assert all(line[0] == "[" and line[20] == "]" for line in lines[1:])


def test_a_run_as_json_is_one_object_on_stdout(home: Path) -> None:
    result = call("run", "contract.yaml", "--engine", "duckdb", "--json")
    report = told(result)
    assert (report["status"], report["exit_code"], report["counts"]["good"]) == ("succeeded", 0, 2)
    assert "Run complete" in result.stderr


def test_without_a_key_the_exit_code_is_2_and_the_way_out_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKELOGIC_PII_KEY")
    result = call("run", "contract.yaml", "--engine", "duckdb")
    assert result.exit_code == 2
    assert "LAKELOGIC_PII_KEY" in result.stderr
    assert "lakelogic keys new" in result.stderr
    assert not Path("lakelogic_warehouse/catalog").exists()


def test_a_closed_gate_is_exit_1_with_the_reason(home: Path) -> None:
    result = call("run", "contract.yaml", "--engine", "duckdb", "--set", "quality.max_quarantine_ratio=0.1", "--json")
    assert result.exit_code == 1
    assert told(result)["status"] == "gated"
    assert told(result)["reasons"] == ["50.0% of the rows are quarantined, at most 10.0% may be"]


def test_where_steps_make_rows_the_lines_tell_what_was_read_and_what_was_judged(workspace: Path) -> None:
    written(
        in_csv="id,tags\n1,x;y\n2,z;w\n",
        e_yaml="""
source: {path: in.csv}
transformations:
  - {phase: pre, split: {field: tags, delimiter: ";"}}
  - {phase: pre, explode: {field: tags}}
quality: {row_rules: [{sql: "tags = 'x'"}]}
materialization: {target_path: x.silver.rows}
""",
    )
    result = call("run", "e.yaml", "--engine", "duckdb")
    assert "3 records quarantined in 'rows'. Total: 2 read, 4 judged" in result.stdout
    assert "Total: 2 read, 4 judged | Good: 1 | Quarantine: 3" in result.stdout


@pytest.fixture
def unforeseen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise KeyError("ann@example.com")

    monkeypatch.setattr("lakelogic.actions.author.contracts.validate", fails)


def test_an_error_that_nobody_foresaw_is_told_in_words_and_is_no_closed_gate(unforeseen: None, home: Path) -> None:
    result = call("validate", "contract.yaml")
    assert result.exit_code == 4
    assert "LL-E090" in result.stderr
    assert "KeyError" in result.stderr
    assert "report it" in result.stderr
    assert "Traceback" not in result.stderr
    assert "ann@example.com" not in result.stderr


def test_an_error_that_nobody_foresaw_is_one_object_for_programs(unforeseen: None, home: Path) -> None:
    result = call("validate", "contract.yaml", "--json")
    assert (result.exit_code, told(result)["error"]["code"]) == (4, "LL-E090")


def test_all_of_an_error_that_nobody_foresaw_is_shown_on_demand(
    unforeseen: None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_DEBUG", "1")
    result = call("validate", "contract.yaml")
    assert result.exit_code == 4
    assert "Traceback" in result.stderr
    assert "ann@example.com" in result.stderr


def test_a_dry_run_shows_the_plan_and_touches_nothing(home: Path) -> None:
    result = call("run", "contract.yaml", "--engine", "duckdb", "--dry-run")
    assert result.exit_code == 0
    assert "Judge" in result.stdout
    assert "merge into catalog.silver.customers" in result.stdout
    assert not Path("lakelogic_warehouse").exists()


def test_validate_names_every_problem_with_its_line(workspace: Path) -> None:
    Path("bad.yaml").write_text(
        "source: {path: in.csv}\nmodel:\n  fields:\n    - {name: id, type: intt}\n"
        "quality:\n  row_rules:\n    - sql: lowr(id) = 'a'\nmaterialization: {strategy: merge, target_path: a.b.c}\n"
    )
    result = call("validate", "bad.yaml", "--json")
    assert result.exit_code == 2
    [contract] = told(result)["contracts"]
    found = {(d["line"], d["code"]) for d in contract["diagnostics"]}
    assert {(4, "LL-C210"), (7, "LL-C204"), (8, "LL-C127")} <= found


def test_validate_looks_at_the_columns_of_the_source(workspace: Path) -> None:
    Path("in.csv").write_text("id,email\n1,a\n")
    Path("c.yaml").write_text(
        "source: {path: in.csv}\nmaterialization: {target_path: a.b.c}\nquality: {row_rules: [{sql: emial IS NOT NULL}]}\n"
    )
    result = call("validate", "c.yaml")
    assert result.exit_code == 2
    assert "There is no column `emial`" in result.stdout
    assert "did you mean `email`?" in result.stdout


JOINS = """
source: {path: in.csv}
links: [{name: c, path: c.csv}]
model: {fields: [{name: a, type: int}, {name: s}]}
transformations:
  - rename: {mappings: {s: t}}
  - sql: SELECT a, t, c.v FROM source LEFT JOIN c ON c.k = source.a
  - join: {reference: c, on: a, key: k, fields: [v], prefix: w_}
  - rollup: {group_by: [v], aggregations: {n: count(*)}}
materialization: {target_path: x.silver.rows}
"""


def written(**files: str) -> None:
    for name, text in files.items():
        Path(name.replace("_", ".")).write_text(text, encoding="utf-8")


def test_explain_shows_every_step_with_the_columns_of_links(workspace: Path) -> None:
    written(in_csv="a,s\n1,x\n", c_csv="k,v\n1,one\n", e_yaml=JOINS)
    result = call("explain", "e.yaml")
    assert result.exit_code == 0
    for line in ("Rename", "left c on c.k = source.a", "left c on a", "by v", "n = count(*)"):
        assert line in result.stdout
    assert "not known yet" not in result.stdout
    assert "{}" not in result.stdout


def test_explain_shows_steps_whose_columns_cannot_be_seen_yet(workspace: Path) -> None:
    written(e_yaml=JOINS)
    result = call("explain", "e.yaml")
    assert result.exit_code == 0
    for line in ("LEFT JOIN c ON c.k = source.a", 'reference: "c"', 'group_by: ["v"]'):
        assert line in result.stdout
    assert result.stdout.count("its columns are not known yet") == 3


def test_explain_of_a_contract_that_cannot_run_is_exit_2_with_the_problem(workspace: Path) -> None:
    written(in_csv="a,s\n1,x\n", c_csv="k,v\n1,one\n", e_yaml=JOINS.replace("c.v FROM", "c.vv FROM"))
    result = call("explain", "e.yaml")
    assert result.exit_code == 2
    assert "`c` has no column `vv`" in result.stderr


def test_explain_looks_at_the_columns_of_a_table(workspace: Path) -> None:
    written(
        in_csv="a,s\n1,x\n",
        t_yaml="source: {path: in.csv}\nmaterialization: {target_path: x.silver.base}\n",
        e_yaml="""
source: {path: x.silver.base}
transformations:
  - rollup: {group_by: [s], aggregations: {n: count(*)}, keys: a}
materialization: {target_path: x.gold.rows}
""",
    )
    assert call("run", "t.yaml", "--engine", "duckdb").exit_code == 0
    result = call("explain", "e.yaml")
    assert "Read         delta: a string, s string" in result.stdout
    assert "by s" in result.stdout


def test_explain_tells_where_a_value_was_written(home: Path) -> None:
    result = call("explain", "contract.yaml", "--origin", "service_levels.freshness_hours")
    assert result.stdout.strip() == "service_levels.freshness_hours = 24   (contract.yaml:27)"


def test_explain_shows_the_statement_of_an_engine(home: Path) -> None:
    result = call("explain", "contract.yaml", "--sql", "--engine", "duckdb")
    assert result.exit_code == 0
    assert "WITH" in result.stdout


def test_init_writes_a_contract_that_runs(workspace: Path) -> None:
    assert call("init", "project").exit_code == 0
    done = subprocess.run(
        [sys.executable, "-m", "lakelogic", "run", "contract.yaml", "--engine", "duckdb"],
        cwd=workspace / "project", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Total: 4 | Good: 2 | Quarantine: 2" in done.stdout
    again = call("init", "project")
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_the_ledger_can_be_listed_shown_and_published(home: Path) -> None:
    call("run", "contract.yaml", "--engine", "duckdb")
    [run] = told(call("runs", "--json"))["runs"]
    assert (run["status"], run["counts_source"], run["layer"]) == ("succeeded", 4, "silver")
    assert run["service_levels"][0]["name"] == "freshness"
    assert told(call("runs", "show", run["run_id"], "--json"))["batch_id"] == run["batch_id"]
    assert told(call("ledger", "publish", "--json"))["runs"] == 1
    shown = told(call("preview", "lakelogic.ledger.runs", "--json"))
    assert shown["rows"][0]["run_id"] == run["run_id"]
    assert told(call("ledger", "publish", "--json"))["runs"] == 1


def test_preview_keeps_personal_values_masked(home: Path) -> None:
    call("run", "contract.yaml", "--engine", "duckdb")
    rows = told(call("preview", "catalog.silver.customers", "--json"))["rows"]
    assert all(row["email"].startswith("enc:") for row in rows)
    missing = call("preview", "catalog.silver.nothing")
    assert missing.exit_code == 2
    assert "There is no table `catalog.silver.nothing`" in missing.stderr


def test_an_unknown_engine_and_a_missing_contract_are_exit_2(home: Path) -> None:
    wrong = call("run", "contract.yaml", "--engine", "sparkk")
    assert (wrong.exit_code, "Choose one of" in wrong.stderr) == (2, True)
    assert call("run", "nothing.yaml").exit_code == 2


def test_keys_new_makes_a_key_that_works(workspace: Path) -> None:
    from lakelogic.privacy.keys import load_keys

    made = told(call("keys", "new", "--json"))
    assert len(load_keys({"encrypt"}, made).encryption) == 1


def test_schema_is_json_schema(workspace: Path) -> None:
    schema = told(call("schema"))
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "transformations" in json.dumps(schema)


def test_doctor_says_what_is_missing(workspace: Path) -> None:
    findings = {row["what"]: row for row in told(call("doctor", "--json"))["findings"]}
    assert findings["duckdb"]["ok"] is True
    assert findings["warehouse"]["ok"] is True
    assert findings["LAKELOGIC_PII_KEY"]["fix"] == "lakelogic keys new"


def test_help_loads_no_engine_and_nothing_heavy() -> None:
    script = (
        "import sys\nfrom click.testing import CliRunner\nfrom lakelogic.cli.main import cli\n"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0\n"
        "heavy = {'pyspark', 'polars', 'duckdb', 'deltalake', 'pyarrow', 'sqlglot', 'pydantic', 'sqlalchemy', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
