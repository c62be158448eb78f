"""What datasets need of one another, in which order they run, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lakelogic import build_dag_from_upstream, load_all_contracts, topo_sort
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.driver.estate import load_estate
from lakelogic.driver.graph import Graph
from lakelogic.errors import LoadError


def edges(graph: Graph) -> set[tuple[str, str]]:
    return {(edge.upstream, edge.downstream) for edge in graph.edges}


def test_the_loop_of_the_pipelines_page_sees_every_contract_after_what_it_needs(lay: Any, shop: dict[str, str]) -> None:
    registry = load_all_contracts(lay(shop))
    dag = build_dag_from_upstream(registry)
    assert [str(node) for node in topo_sort(dag)] == [
        "bronze_crm_customers",
        "bronze_erp_products",
        "bronze_pos_orders",
        "silver_crm_customers",
        "silver_erp_products",
        "silver_pos_orders",
        "gold_dim_customers",
        "gold_dim_products",
        "gold_fact_sales",
    ]


def test_edges_come_from_upstream_sources_links_and_foreign_keys(lay: Any, shop: dict[str, str]) -> None:
    graph = load_estate(LocalCatalog(), lay(shop)).graph
    assert {
        (e.upstream, e.downstream): e.kinds for e in graph.edges if e.downstream.startswith(("gold", "silver_pos"))
    } == {
        ("bronze_pos_orders", "silver_pos_orders"): ("upstream", "source"),
        ("silver_crm_customers", "gold_dim_customers"): ("source",),
        ("silver_erp_products", "gold_dim_products"): ("source",),
        ("silver_pos_orders", "gold_fact_sales"): ("source",),
        ("gold_dim_customers", "gold_fact_sales"): ("link",),
        ("gold_dim_products", "gold_fact_sales"): ("link", "foreign_key"),
    }
    assert graph.upstreams("gold_fact_sales") == ("gold_dim_customers", "gold_dim_products", "silver_pos_orders")
    assert graph.descendants("bronze_erp_products") == {"silver_erp_products", "gold_dim_products", "gold_fact_sales"}
    assert graph.ancestors("gold_dim_customers") == {"silver_crm_customers", "bronze_crm_customers"}


def test_waves_may_run_at_once(lay: Any, shop: dict[str, str]) -> None:
    waves = load_estate(LocalCatalog(), lay(shop)).graph.waves()
    assert [sorted(str(member) for member in wave) for wave in waves] == [
        ["bronze_crm_customers", "bronze_erp_products", "bronze_pos_orders"],
        ["silver_crm_customers", "silver_erp_products", "silver_pos_orders"],
        ["gold_dim_customers", "gold_dim_products"],
        ["gold_fact_sales"],
    ]


def test_a_part_of_the_graph_keeps_the_order_through_what_is_left_out(lay: Any, shop: dict[str, str]) -> None:
    graph = load_estate(LocalCatalog(), lay(shop)).graph.only(
        ["bronze_erp_products", "gold_fact_sales", "bronze_pos_orders"]
    )
    assert edges(graph) == {("bronze_erp_products", "gold_fact_sales"), ("bronze_pos_orders", "gold_fact_sales")}
    assert [str(member) for member in graph.order()][-1] == "gold_fact_sales"


def test_paths_meet_however_they_are_spelt(lay: Any, tmp_path: Path) -> None:
    root = lay(
        {
            "a.yaml": f"dataset: a\nsource: {{path: a.csv}}\nmaterialization: {{target_path: '{tmp_path}/lake/a/'}}\n",
            "b.yaml": f"dataset: b\nsource: {{path: '{tmp_path}/lake/../lake/a', format: delta}}\n",
        }
    )
    assert edges(load_estate(LocalCatalog(), root).graph) == {("a", "b")}


def test_a_circle_is_told_with_its_way_and_line(lay: Any) -> None:
    estate = load_estate(
        LocalCatalog(),
        lay(
            {
                "a.yaml": "dataset: a\nsource: {path: a.csv}\nupstream: [c]\n",
                "b.yaml": "dataset: b\nsource: {path: a.csv}\nupstream: [a]\n",
                "c.yaml": "dataset: c\nsource: {path: a.csv}\nupstream: [b]\n",
            }
        ),
    )
    found = list(estate.errors)
    assert [(p.code, p.message) for p in found] == [("LL-C172", "`a` needs `c` needs `b` needs `a`.")]
    assert (Path(str(found[0].where.file)).name, found[0].where.line) == ("a.yaml", 3)
    assert {str(member) for member in estate.graph.order()} == {"a", "b", "c"}
    with pytest.raises(LoadError):
        build_dag_from_upstream(estate)


def test_a_dataset_that_names_itself_is_a_circle_and_a_table_that_reads_itself_is_none(lay: Any) -> None:
    estate = load_estate(
        LocalCatalog(),
        lay(
            {
                "a.yaml": "dataset: a\nsource: {path: a.csv}\nupstream: [a]\n",
                "b.yaml": "dataset: b\nsource: {path: x.y.b}\nmaterialization: {target_path: x.y.b}\n",
            }
        ),
    )
    assert [p.code for p in estate.errors] == ["LL-C172"]
    assert edges(estate.graph) == {("a", "a")}


def test_an_unknown_upstream_is_an_error_of_the_whole_estate_and_a_warning_of_a_part(lay: Any) -> None:
    root = lay(
        {
            "bronze.yaml": "dataset: bronze_crm_customers\nsource: {path: a.csv}\n",
            "silver.yaml": "dataset: silver_crm_customers\nsource: {path: a.csv}\nupstream:\n  - bronze_crm_custmers\n",
        }
    )
    whole, part = load_estate(LocalCatalog(), root), load_estate(LocalCatalog(), [root / "silver.yaml"])
    assert [(p.code, p.where.line, p.hint) for p in whole.errors] == [
        ("LL-C171", 4, "Did you mean `bronze_crm_customers`?")
    ]
    assert part.is_valid
    assert [p.code for p in part.problems if p.severity == "warning"] == ["LL-C178", "LL-C171"]
    assert [(one.downstream, one.upstream) for one in part.graph.unknown] == [
        ("silver_crm_customers", "bronze_crm_custmers")
    ]


@pytest.mark.parametrize(
    ("first", "second", "at"),
    [
        ("{target_path: ./out}", "{target_path: out/inner}", "materialization.target_path"),
        ("{target_path: shop.silver}", "{target_path: shop.silver.b}", "materialization.target_path"),
        (
            "{target_path: shop.silver.a}",
            "{target_path: shop.gold.b, secondary_targets: [{target_path: lakelogic_warehouse/shop/silver/a/copy}]}",
            "materialization.secondary_targets",
        ),
        ("{target_path: shop/quarantine}", "{target_path: shop/b}", "quarantine.target"),
    ],
)
def test_a_table_inside_another_is_an_error(
    lay: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: str, second: str, at: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "dataset: {name}\nsource: {{path: a.csv}}\nmaterialization: {place}\n"
    estate = load_estate(
        LocalCatalog(),
        lay({"a.yaml": text.format(name="a", place=first), "b.yaml": text.format(name="b", place=second)}),
    )
    found = [problem for problem in estate.problems if problem.code == "LL-C180"]
    assert not estate.is_valid
    assert at in {problem.where.path for problem in found} or at.startswith("quarantine")
    assert all("would lie inside the one of `a`" in problem.message for problem in found)


def test_a_need_of_a_later_layer_and_a_shared_table_are_doubtful(lay: Any) -> None:
    estate = load_estate(
        LocalCatalog(),
        lay(
            {
                "g.yaml": "dataset: gold_a\nsource: {path: a.csv}\nmaterialization: {target_path: x.gold.a}\n",
                "s.yaml": "dataset: silver_a\nsource: {path: a.csv}\nupstream: [gold_a]\n"
                "materialization: {target_path: X.gold.A}\ntarget_layer: silver\n",
            }
        ),
    )
    assert estate.is_valid
    assert {p.code for p in estate.problems} >= {"LL-C176", "LL-C177"}
    assert [str(member) for member in estate.graph.order()] == ["gold_a", "silver_a"]
