"""Where the time of a run goes: phases with their rows, rules with what they reject; never a figure of a clock."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lakelogic import DataProcessor
from lakelogic.cli.main import cli

CONTRACT = {
    "dataset": "silver_orders",
    "source": {"path": "orders.csv"},
    "links": [{"name": "customers", "path": "customers.csv"}],
    "model": {"fields": [{"name": "id", "type": "int"}, {"name": "customer"}, {"name": "total", "type": "int"}]},
    "transformations": [{"derive": {"field": "double", "sql": "total * 2"}}],
    "quality": {
        "row_rules": [
            {"name": "not_negative", "sql": "total >= 0"},
            {
                "name": "known",
                "referential_integrity": {"field": "customer", "reference": "customers", "key": "name"},
            },
            {"name": "small", "sql": "double < 100", "phase": "post"},
        ]
    },
    "materialization": {"strategy": "append", "target_path": "shop.silver.orders"},
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six orders: two negative, one of somebody unknown, one too large, one whose total is no number."""
    monkeypatch.chdir(tmp_path)
    Path("orders.csv").write_text("id,customer,total\n1,Ada,-1\n2,Ada,-2\n3,Eve,3\n4,Ada,60\n5,Ada,5\n6,Ada,many\n")
    Path("customers.csv").write_text("name\nAda\n")
    Path("contract.json").write_text(json.dumps(CONTRACT))
    return tmp_path


def test_phases_come_in_order_with_their_rows(engine, place):
    found = DataProcessor(CONTRACT, engine).profile()
    assert [phase.name for phase in found.phases] == ["begin", "look", "stage", "check", "commit"]
    assert [phase.rows for phase in found.phases] == [None, None, 6, 5, 1]
    assert all(phase.seconds >= 0 for phase in found.phases)


def test_rules_tell_what_they_reject_before_and_after_steps(engine, place):
    found = DataProcessor(CONTRACT, engine).profile(rows=50)
    rejects = {rule.rule: rule.rejected for rule in found.rules if rule.rejected}
    assert rejects == {"not_negative": 2, "known": 1, "small": 1, "total_type": 1}
    assert all(rule.seconds_per_million_rows is not None for rule in found.rules)
    assert found.sampled_rows == 6
    costs = [rule.seconds_per_million_rows for rule in found.rules]
    assert costs == sorted(costs, reverse=True)


def test_a_sample_may_be_smaller_than_the_batch(place):
    found = DataProcessor(CONTRACT, "duckdb").profile(rows=2)
    assert found.sampled_rows == 2
    assert {rule.rule: rule.rejected for rule in found.rules}["known"] == 1


def test_with_nothing_new_there_are_phases_and_no_rules(place):
    DataProcessor(CONTRACT, "duckdb").run()
    found = DataProcessor(CONTRACT, "duckdb").profile()
    assert ([phase.name for phase in found.phases], found.rules, found.sampled_rows) == (["begin"], (), 0)


def test_the_command_shows_phases_and_the_three_slowest_rules(place):
    said = CliRunner().invoke(cli, ["run", "contract.json", "--engine", "duckdb", "--profile"])
    assert said.exit_code == 0
    table = said.stdout[said.stdout.index("phase ") :].splitlines()
    assert [line.split()[0] for line in table[1:6]] == ["begin", "look", "stage", "check", "commit"]
    assert table[7] == "The slowest rules, by 6 rows of this batch; seconds are for a million rows:"
    assert len(table[8:]) == 3


def test_the_profile_is_part_of_the_json_report(place):
    said = CliRunner().invoke(cli, ["run", "contract.json", "--engine", "polars", "--profile", "--json"])
    report = json.loads(said.stdout)
    assert report["counts"]["source"] == 6
    assert [phase["name"] for phase in report["profile"]["phases"]] == ["begin", "look", "stage", "check", "commit"]
    names = [rule["rule"] for rule in report["profile"]["rules"]]
    assert report["profile"]["slowest_rules"] == names[:3]
    assert {"not_negative", "known", "small"} <= set(names)


LARGE = """
import json, resource, sys
from pathlib import Path
from lakelogic import DataProcessor
Path("large.ndjson").write_text(json.dumps({"id": 1, "items": [f"item {n:06}" for n in range(20_000)]}) + "\\n")
contract = {
    "dataset": "large",
    "source": {"path": "large.ndjson"},
    "model": {"fields": [{"name": "id", "type": "int"}, {"name": "items", "type": "array<string>"}]},
    "transformations": [{"sql": "SELECT id, t.item AS item FROM source LATERAL VIEW explode(items) t AS item"}],
    "quality": {"row_rules": [{"name": "named", "sql": "item LIKE 'item%'", "phase": "post"}]},
    "materialization": {"target_path": "large"},
}
found = DataProcessor(contract, "duckdb").profile()
assert found.sampled_rows == 1
assert [rule for rule in found.rules if rule.rule == "named"]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_a_few_large_rows_are_not_multiplied_into_all_memory(place):
    """One row of 280 kB, twenty thousand times over, would be 6 GB; and each of them has twenty thousand elements."""
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) < 2500  # MB
