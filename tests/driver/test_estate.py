"""Registries and folders of contracts: what belongs to an estate, and everything that is wrong with it at once."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.driver.estate import Estate, load_all_contracts, load_estate
from lakelogic.errors import LoadError, UsageError

REGISTRY = """\
entries:
  - entity: customers
    contracts:
      bronze: bronze/customers.yaml
      silver: silver/customers.yaml
  - entity: orders
    enabled: false
    contracts: {bronze: bronze/orders.yaml}
    depends_on: [customers]
"""


def contract(layer: str, entity: str) -> str:
    return f"info: {{target_layer: {layer}, entity: {entity}, owner: ops}}\nsource: {{path: {entity}.csv}}\n"


FILES = {
    "_registry.yaml": REGISTRY,
    "bronze/customers.yaml": contract("bronze", "customers"),
    "silver/customers.yaml": contract("silver", "customers"),
    "bronze/orders.yaml": contract("bronze", "orders"),
}


def told(estate: Estate) -> list[tuple[str, str, int | None]]:
    return [(p.code, Path(str(p.where.file)).name, p.where.line) for p in estate.problems]


def test_a_registry_tells_entity_layer_and_what_runs(lay: Any) -> None:
    estate = load_estate(LocalCatalog(), lay(FILES) / "_registry.yaml")
    assert [(m.dataset, m.entity, m.layer, m.enabled) for m in estate] == [
        ("bronze_customers", "customers", "bronze", True),
        ("silver_customers", "customers", "silver", True),
        ("bronze_orders", "orders", "bronze", False),
    ]
    assert estate["bronze_orders"].where.line == 8
    assert told(estate) == []


def test_depends_on_means_the_same_layer_or_the_last_before_it(lay: Any) -> None:
    graph = load_estate(LocalCatalog(), lay(FILES)).graph
    assert [(e.upstream, e.downstream, e.kinds) for e in graph.edges] == [
        ("bronze_customers", "bronze_orders", ("depends_on",))
    ]
    gold = REGISTRY.replace("bronze: bronze/orders.yaml", "gold: gold/orders.yaml")
    other = lay(FILES | {"_registry.yaml": gold, "gold/orders.yaml": contract("gold", "orders")})
    (other / "bronze/orders.yaml").unlink()
    assert [e.upstream for e in load_estate(LocalCatalog(), other).graph.edges] == ["silver_customers"]


def test_a_folder_is_all_its_registries_and_contracts(lay: Any) -> None:
    root = lay(FILES | {"other/loose.yaml": contract("gold", "loose"), "policy_packs/p.yaml": "name: p\n"})
    estate = load_estate(LocalCatalog(), root)
    assert [m.dataset for m in estate] == ["bronze_customers", "silver_customers", "bronze_orders", "gold_loose"]
    assert told(estate) == [("LL-C175", "loose.yaml", None)]
    assert estate.is_valid


def test_members_are_selected_by_layer_entity_and_contract_in_the_order_of_the_graph(lay: Any) -> None:
    root = lay(FILES)
    estate = load_estate(LocalCatalog(), root)
    names = lambda members: [str(member) for member in members]  # noqa: E731 — one line says it
    assert names(estate.select()) == ["bronze_customers", "silver_customers"]
    assert names(estate.select(disabled=True)) == ["bronze_customers", "bronze_orders", "silver_customers"]
    assert names(estate.select(layers=["staging"])) == ["silver_customers"]
    assert names(estate.select(entities=["customers"], exclude=["silver_customers"])) == ["bronze_customers"]
    assert names(estate.select(contracts=[str(root / "silver/customers.yaml")])) == ["silver_customers"]
    with pytest.raises(UsageError, match="no entity `custmers`") as caught:
        estate.select(entities=["custmers"])
    assert caught.value.hint == "Did you mean `customers`?"
    with pytest.raises(UsageError, match="no layer"):
        estate.select(layers=["iron"])


def test_everything_that_is_wrong_is_told_at_once(lay: Any) -> None:
    root = lay(
        {
            "_domain.yaml": "domain: a\nteam: x\n",
            "_registry.yaml": "entries:\n"
            "  - entity: customers\n    contracts: {bronze: customer.yaml, silver: silver.yaml}\n    depends_on: [ordrs]\n"
            "  - entity: orders\n    contracts: {brnze: orders.yaml}\n",
            "customers.yaml": contract("bronze", "customers"),
            "silver.yaml": contract("gold", "customers").replace("source", "sorce"),
            "orders.yaml": "info: {entity: orders\n",
        }
    )
    estate = load_estate(LocalCatalog(), root / "_registry.yaml")
    assert told(estate) == [
        ("LL-C111", "_domain.yaml", 2),
        ("LL-C101", "_registry.yaml", 3),
        ("LL-C170", "_registry.yaml", 4),
        ("LL-C114", "_registry.yaml", 6),
        ("LL-C110", "silver.yaml", 2),
    ]
    hints = [str(p.hint) for p in estate.problems]
    assert "Did you mean `customers.yaml`?" in hints
    assert "Did you mean `bronze`?" in hints
    with pytest.raises(LoadError) as caught:
        load_all_contracts(root)
    assert len(caught.value.diagnostics) >= 6


def test_a_contract_under_another_layer_than_its_own_is_told_so(lay: Any) -> None:
    root = lay(FILES | {"silver/customers.yaml": contract("gold", "customers")})
    estate = load_estate(LocalCatalog(), root / "_registry.yaml")
    assert told(estate) == [("LL-C174", "_registry.yaml", 5)]


def test_a_registry_that_is_not_there_is_told_with_what_was_meant(lay: Any) -> None:
    estate = load_estate(LocalCatalog(), lay(FILES) / "_registri.yaml")
    assert [(p.code, p.hint and p.hint.endswith("_registry.yaml`?")) for p in estate.errors] == [("LL-C101", True)]


def test_a_folder_without_contracts_is_told_so(tmp_path: Path) -> None:
    assert [p.code for p in load_estate(LocalCatalog(), tmp_path).errors] == ["LL-C179"]


def test_two_contracts_of_one_dataset_are_an_error(lay: Any) -> None:
    estate = load_estate(LocalCatalog(), lay({"a.yaml": contract("bronze", "x"), "b.yaml": contract("bronze", "x")}))
    assert [(p.code, Path(str(p.where.file)).name) for p in estate.errors] == [("LL-C173", "b.yaml")]
    assert len(estate) == 1


def test_a_system_may_list_its_contracts_in_place_of_a_registry(lay: Any) -> None:
    estate = load_estate(
        LocalCatalog(),
        lay({"_system.yaml": "system: crm\ncontracts: [a.yaml]\n", "a.yaml": contract("bronze", "a")}) / "_system.yaml",
    )
    assert [(m.dataset, m.system, m.entity) for m in estate] == [("bronze_crm_a", "crm", "a")]


def test_owners_come_from_the_contract_or_the_domain(lay: Any) -> None:
    estate = load_estate(
        LocalCatalog(),
        lay(
            {
                "_domain.yaml": "domain: sales\nownership: {domain_owner: Ada, team: sellers}\n",
                "a.yaml": contract("bronze", "a"),
                "b.yaml": contract("bronze", "b").replace(", owner: ops", ""),
            }
        ),
    )
    assert [(m.dataset, m.owner, m.domain) for m in estate] == [
        ("bronze_a", "ops", "sales"),
        ("bronze_b", "sellers", "sales"),
    ]


def test_an_environment_is_chosen_where_it_is_and_unknown_only_where_nobody_has_it(lay: Any) -> None:
    root = lay(
        {
            "with/_system.yaml": "system: a\nenvironments: {prod: {quality: {max_quarantine_ratio: 0.1}}}\n",
            "with/a.yaml": contract("bronze", "a"),
            "without/b.yaml": contract("bronze", "b").replace("b.csv", "'{env}/b.csv'"),
        }
    )
    estate = load_estate(LocalCatalog(), root, env="prod", environ={})
    assert told(estate) == []
    assert estate["bronze_a_a"].loaded.contract.quality.max_quarantine_ratio == 0.1
    assert estate["bronze_b"].loaded.contract.source.path == "prod/b.csv"
    assert {member.loaded.env for member in estate} == {"prod"}
    wrong = load_estate(LocalCatalog(), root, env="prd", environ={})
    assert [(p.code, p.hint) for p in wrong.errors] == [("LL-C130", "Did you mean `prod`?")]


def test_environment_overrides_and_packs_go_to_every_contract(lay: Any) -> None:
    from lakelogic.contract.reading.packs import PackChoice

    root = lay(FILES | {"policy_packs/strict.yaml": "name: strict\nrequire: {quality: {max_quarantine_ratio: 0.1}}\n"})
    estate = load_estate(LocalCatalog(), root, overrides=["source.format=csv"], packs=PackChoice(("strict",)))
    assert {m.loaded.contract.source.format for m in estate} == {"csv"}
    assert {m.loaded.contract.quality.max_quarantine_ratio for m in estate} == {0.1}


def test_the_estate_that_is_measured_has_no_fault(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("bench_estate", Path(__file__).parents[2] / "bench/estate.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    bench.write_estate(tmp_path, contracts=13, systems=2)
    estate = load_estate(LocalCatalog(), tmp_path)
    assert told(estate) == []
    assert len(estate) == 13
    assert len({member.system for member in estate}) == 2
