"""`lakelogic estate …`, and what single contracts inherit as every command sees it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic.cli.main import cli

ROOT = Path(__file__).parents[2]
RETAIL = "examples/retail/contracts"
INSURANCE = "examples/insurance_elt/contracts"

# The picture of the pipelines page, with names padded to a column.
PICTURE = """\
BRONZE                   SILVER                   GOLD
──────                   ──────                   ────
bronze_crm_customers ──→ silver_crm_customers ──→ gold_dim_customers ─┐
bronze_erp_products  ──→ silver_erp_products  ──→ gold_dim_products  ─┼─→ gold_fact_sales
bronze_pos_orders    ──→ silver_pos_orders    ────────────────────────┘
"""


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def told(*words: str) -> Any:
    result = call(*words, "--json")
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_the_graph_is_the_picture_of_the_pipelines_page() -> None:
    result = call("estate", "graph", RETAIL)
    assert (result.exit_code, result.stdout) == (0, PICTURE)


def test_a_part_of_the_graph_can_be_drawn() -> None:
    result = call("estate", "graph", RETAIL, "--layers", "bronze,gold", "--entities", "pos_orders,fact_sales")
    assert result.stdout.splitlines()[2] == "bronze_pos_orders ──→ gold_fact_sales"


def test_the_graph_as_data_knows_how_each_edge_is_known() -> None:
    found = told("estate", "graph", RETAIL)
    assert [row["dataset"] for row in found["datasets"]][-1] == "gold_fact_sales"
    edge = next(
        e for e in found["edges"] if e["upstream"] == "gold_dim_products" and e["downstream"] == "gold_fact_sales"
    )
    assert edge["kinds"] == ["upstream", "link", "depends_on"]
    assert edge["file"].endswith("fact_sales.yaml")
    assert found["diagnostics"] == []


def test_the_graph_for_mermaid_and_graphviz() -> None:
    mermaid = call("estate", "graph", RETAIL, "--format", "mermaid").stdout
    assert mermaid.startswith("flowchart LR\n")
    assert mermaid.count("subgraph") == 3
    assert mermaid.count(" --> ") == 8
    dot = call("estate", "graph", RETAIL, "--format", "dot").stdout
    assert dot.startswith("digraph estate {")
    assert '  "silver_pos_orders" -> "gold_fact_sales";' in dot
    assert dot.count("{") == dot.count("}")


def test_the_drawing_has_a_box_for_every_dataset_and_a_line_for_every_edge(tmp_path: Path) -> None:
    file = tmp_path / "estate.svg"
    assert call("estate", "graph", INSURANCE, "--format", "svg", "--output", str(file)).exit_code == 0
    root = ET.fromstring(file.read_text())
    space = "{http://www.w3.org/2000/svg}"
    edges = told("estate", "graph", INSURANCE)["edges"]
    assert len(root.findall(f"{space}g")) == 17
    assert len(root.findall(f"{space}path")) == len(edges)
    boxes = {(r.get("x"), r.get("y")) for r in root.iter(f"{space}rect")}
    assert len(boxes) == 17  # no two in one place


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = call("estate", "graph", INSURANCE, "--format", "html").stdout
    assert re.findall(r"(?:src|href)=", page) == []
    assert page.count("<tr>") == 18
    assert "gold_fact_claims" in page


def test_the_tree_shows_domains_systems_and_datasets_with_layer_and_owner() -> None:
    lines = call("estate", "tree", INSURANCE).stdout.splitlines()
    assert lines[0] == "insurance   owner Ines Albrecht · _domain.yaml"
    assert lines[1].split()[:2] == ["├──", "core"]
    claims = next(line for line in lines if "silver_core_claims" in line)
    assert claims.split("   ")[-1].strip() == "silver · owner insurance-data · overwrite → insurance.silver.claims"
    assert "shared   owner Piet de Wit · _domain.yaml" in lines
    tree = told("estate", "tree", INSURANCE)["tree"]
    assert [(domain["name"], [s["name"] for s in domain["below"]]) for domain in tree] == [
        ("insurance", ["core", "warehouse"]),
        ("shared", ["masterdata"]),
    ]


def test_owners_are_told_with_whom_to_ask() -> None:
    found = told("estate", "owners", INSURANCE)["owners"]
    assert [(row["owner"], row["domain"], len(row["datasets"])) for row in found] == [
        ("insurance-analytics", "insurance", 6),
        ("insurance-data", "insurance", 8),
        ("reference-data", "shared", 3),
    ]
    assert found[1]["contacts"][0] == "Ines Albrecht <ines.albrecht@example.com> (owner)"


def test_an_estate_without_fault_is_valid() -> None:
    result = call("estate", "validate", INSURANCE)
    assert (result.exit_code, result.stdout) == (
        0,
        "17 datasets (3 reference, 4 bronze, 4 silver, 6 gold): nothing is wrong\n",
    )


def test_everything_that_is_wrong_is_told_with_file_and_line_and_exit_2(workspace: Path) -> None:
    (workspace / "_registry.yaml").write_text(
        "entries:\n  - entity: a\n    contracts: {bronze: a.yaml, silver: b.yaml}\n    depends_on: [z]\n"
    )
    (workspace / "a.yaml").write_text("target_layer: bronze\nsource: {path: a.csv}\nupstream: [nobody]\n")
    (workspace / "b.yaml").write_text(
        "target_layer: silver\nsource: {path: a.csv}\nquality: {row_rules: [{sql: 'a >'}]}\n"
    )
    result = call("estate", "validate", ".", "--json")
    found = [
        (d["code"], d["file"], d["line"]) for d in json.loads(result.stdout)["diagnostics"] if d["severity"] == "error"
    ]
    assert result.exit_code == 2
    assert found == [("LL-C170", "_registry.yaml", 4), ("LL-C171", "a.yaml", 3), ("LL-C201", "b.yaml", 3)]
    assert call("estate", "tree", ".").exit_code == 2


def test_a_place_without_an_estate_is_told_so(workspace: Path) -> None:
    result = call("estate", "tree", "contracts")
    assert result.exit_code == 2
    assert "There is no file `contracts`." in result.stderr


def test_the_origin_of_an_inherited_value_is_told_with_what_it_lies_over(workspace: Path) -> None:
    (workspace / "_domain.yaml").write_text("domain: shop\nservice_levels:\n  freshness_hours: 24\n")
    (workspace / "_system.yaml").write_text("system: crm\nservice_levels: {freshness_hours: 12}\n")
    (workspace / "contract.yaml").write_text("source: {path: a.csv}\n")
    result = call("explain", "contract.yaml", "--origin", "service_levels.freshness_hours")
    assert result.stdout == ("service_levels.freshness_hours = 12   (_system.yaml:2)\n  over 24   (_domain.yaml:3)\n")
    overridden = told(
        "explain",
        "contract.yaml",
        "--origin",
        "service_levels.freshness_hours",
        "--set",
        "service_levels.freshness_hours=1",
    )
    assert (overridden["value"], overridden["origin"]) == (1, "--set service_levels.freshness_hours")
    assert [row["origin"] for row in overridden["over"]] == ["_system.yaml:2", "_domain.yaml:3"]


def test_run_validate_and_quarantine_see_the_same_inherited_document(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")
    (workspace / "_system.yaml").write_text(
        "system: crm\nmaterialization: {_all: {target_path: 'shop.{layer}.{entity}'}}\n"
    )
    (workspace / "policy_packs").mkdir()
    (workspace / "policy_packs/strict.yaml").write_text(
        "name: strict\nquality: {row_rules: [{name: small, sql: 'id < 9'}]}\n"
    )
    (workspace / "a.csv").write_text("id\n1\n10\n")
    (workspace / "orders_v1.0.yaml").write_text(
        "target_layer: silver\nsource: {path: a.csv}\nmodel: {fields: [{name: id, type: int}]}\n"
        "metadata: {policy_pack: strict}\n"
    )
    assert call("validate", "orders_v1.0.yaml").exit_code == 0
    report = told("run", "orders_v1.0.yaml")
    assert (report["dataset"], report["counts"]["good"], report["counts"]["quarantined"]) == ("silver_crm_orders", 1, 1)
    assert (workspace / "lakelogic_warehouse/shop/silver/orders/_delta_log").is_dir()
    listed = told("quarantine", "list", "orders_v1.0.yaml")
    assert json.dumps(listed).count("small") >= 1


def test_a_replay_judges_by_the_packs_it_is_given(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_ENGINE", "duckdb")
    (workspace / "policy_packs").mkdir()
    pack = workspace / "policy_packs/strict.yaml"
    pack.write_text("name: strict\nquality: {row_rules: [{name: small, sql: 'id < 9'}]}\n")
    (workspace / "a.csv").write_text("id\n1\n10\n20\n")
    (workspace / "orders.yaml").write_text(
        "dataset: orders\nsource: {path: a.csv}\nmodel: {fields: [{name: id, type: int}]}\n"
        "materialization: {target_path: shop.silver.orders}\n"
    )
    assert told("run", "orders.yaml", "--policy-pack", "strict")["counts"]["quarantined"] == 2
    pack.write_text("name: strict\nquality: {row_rules: [{name: small, sql: 'id < 15'}]}\n")
    done = told("quarantine", "replay", "orders.yaml", "--policy-pack", "strict")
    assert (done["passed"], done["failed"]) == (1, 1)


def test_a_pack_named_on_the_command_line_is_applied_or_told_missing(workspace: Path) -> None:
    (workspace / "packs").mkdir()
    (workspace / "packs/base.yaml").write_text("name: base\nrequire: {quality: {max_quarantine_ratio: 0.1}}\n")
    (workspace / "contract.yaml").write_text("source: {path: a.csv}\nquality: {max_quarantine_ratio: 0.5}\n")
    packs = ("--policy-pack", "base", "--policy-pack-dir", "packs")
    found = told("explain", "contract.yaml", "--origin", "quality.max_quarantine_ratio", *packs)
    assert (found["value"], found["origin"]) == (0.1, "packs/base.yaml:2")
    missing = call("validate", "contract.yaml", "--policy-pack", "bse", "--policy-pack-dir", "packs")
    assert missing.exit_code == 2
    assert "Did you mean `base`?" in missing.stdout
