"""A large estate: few tiles, few questions, a picture of its systems; and nothing that is not known looks good."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

LAYERS = ("bronze", "silver", "gold")
RUN = {"run_id": "run-1", "status": "succeeded", "started_at": "2026-11-16T10:00:00+00:00", "finished_at": None,
       "duration_seconds": 1.0, "counts_source": 10, "counts_good": 10, "counts_quarantined": 0, "quality_score": 1.0,
       "target_version": 0}  # fmt: skip


def made_up(route: Route, body: Any) -> None:
    route.fulfill(status=200, body=json.dumps(body), content_type="application/json")


@pytest.fixture
def large(open_page) -> Page:
    """Five systems of a domain with forty entities in three layers: 600 datasets, told by the test."""
    datasets, edges = [], []
    for system in range(5):
        for entity in range(40):
            for layer in LAYERS:
                name = f"{layer}_sys{system}_entity{entity:02}"
                datasets.append({
                    "dataset": name, "entity": f"entity{entity:02}", "layer": layer, "domain": "shop", "system": f"sys{system}",
                    "title": None, "owner": None, "enabled": True, "primary_key": ["id"], "upstreams": [], "last_run": RUN,
                    "recent": [RUN], "hidden": {"upstream": 0, "downstream": 0},
                })  # fmt: skip
                if layer != "bronze":
                    before = LAYERS[LAYERS.index(layer) - 1]
                    edges.append(
                        {"upstream": f"{before}_sys{system}_entity{entity:02}", "downstream": name, "kinds": []}
                    )
    page: Page = open_page("/contracts", trouble=True)
    page.route(re.compile(r"/api/v1/datasets\?"), lambda route: made_up(route, {"items": datasets, "next": None}))
    graph = {"focus": None, "datasets": datasets, "edges": edges, "unknown": []}
    page.route(re.compile(r"/api/v1/lineage$"), lambda route: made_up(route, graph))
    queue = {"dataset": "silver_sys3_entity07", "table": "t", "version": 0, "oldest": RUN["started_at"], "active": 5,
             "replayed": 0, "discarded": 0, "rules": {"late": 5}}  # fmt: skip
    page.route(re.compile(r"/api/v1/quarantine$"), lambda route: made_up(route, {"items": [queue], "next": None}))
    return page


def test_the_estate_folds_what_is_healthy_and_tells_systems_apart(large: Page, address: str):
    large.goto(f"{address}/")
    tiles = large.locator("[data-tile]")
    expect(tiles).to_have_count(24)
    expect(large.locator("[data-lane=silver] [data-tile]").first).to_contain_text("sys3 entity07")
    fold = large.locator("[data-lane=silver]").get_by_role("button", name="192 healthy")
    fold.click()
    expect(large.locator("[data-lane=silver] [data-tile]")).to_have_count(200)
    large.locator("[data-lane=silver]").get_by_role("button", name="Fewer").click()
    expect(tiles).to_have_count(24)


def test_a_large_graph_is_drawn_as_systems_that_open(large: Page, address: str):
    large.goto(f"{address}/graph")
    groups = large.locator("[data-group]")
    expect(groups).to_have_count(15)
    expect(large.locator("[data-group='shop/sys3:silver']")).to_contain_text("1 of 40 datasets")
    expect(large.locator("[data-group='shop/sys3:silver']")).to_have_class(re.compile("bad"))
    large.locator("[data-group='shop/sys3:silver']").click()
    expect(large).to_have_url(re.compile("system=shop%2Fsys3"))
    expect(large.locator("[data-node]")).to_have_count(120)
    large.go_back()
    expect(groups).to_have_count(15)
    large.get_by_role("tab", name="List").click()
    large.get_by_label("Search datasets", exact=True).fill("sys1_entity0")
    expect(large.get_by_role("button", name="Download 30 rows as CSV")).to_be_visible()


def test_figures_are_asked_for_as_they_come_into_sight(large: Page, address: str):
    asked: list[str] = []

    def sample(route: Route) -> None:
        asked.append(route.request.url)
        table = {"table": "t", "version": 0, "total": 1, "columns": ["id", "sum"], "rows": [{"id": "a", "sum": 3}]}
        made_up(route, table)

    large.route("**/sample?*", sample)
    large.goto(f"{address}/kpis")
    expect(large.locator("[data-kpi]").first).to_be_visible()
    large.wait_for_timeout(500)
    assert 0 < len(asked) < 20
    last = large.get_by_role("region", name="gold_sys4_entity39", exact=True)
    last.scroll_into_view_if_needed()
    expect(last.locator("[data-kpi]")).to_be_visible()
    large.get_by_label("Search figures").fill("sys2_entity11")
    expect(large.get_by_role("status").filter(has_text="1 dataset")).to_be_visible()


def test_what_nobody_has_counted_is_not_drawn_as_good(large: Page, address: str):
    large.unroute(re.compile(r"/api/v1/quarantine$"))
    large.route(re.compile(r"/api/v1/quarantine$"), lambda route: route.fulfill(status=500, body="{}"))
    large.goto(f"{address}/graph?system=shop/sys0")
    expect(large.locator("[data-node]")).to_have_count(120)
    expect(large.locator("[data-node].good")).to_have_count(0)
