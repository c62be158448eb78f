"""Filters and lists: a count is how many rows follow, a choice touches no others, and a phone has them too."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, Route, expect


def answered(body: Any) -> Any:
    return lambda route: route.fulfill(status=200, body=json.dumps(body), content_type="application/json")


def runs(page: Page) -> Any:
    return page.get_by_role("table", name="Runs").locator(".vrow")


def test_a_count_beside_a_filter_is_how_many_runs_follow(open_page, address: str):
    page = open_page("/runs?domain=lab")
    expect(runs(page).first).to_be_visible()
    found = page.get_by_role("complementary", name="Filters").locator("a")
    told = found.evaluate_all("all => all.map((one) => [one.href, Number(one.querySelector('.n').textContent)])")
    # The filter that is chosen already leads to the list without it.
    narrower = {href: number for href, number in told if "domain=" in href}
    assert len(narrower) >= 7
    for href, number in narrower.items():
        page.goto(href)
        expect(runs(page)).to_have_count(number)


def test_a_list_is_as_tall_as_what_is_in_it(open_page):
    page = open_page("/runs?dataset=gold_region_kpis&all=1")
    expect(runs(page).first).to_be_visible()
    rows = runs(page).count()
    tall = page.get_by_role("table", name="Runs").evaluate("one => one.getBoundingClientRect().height")
    assert rows < 6
    assert tall == rows * 44 + 2


def test_a_phone_has_the_filters_too(open_page):
    page = open_page("/runs?all=1", width=390)
    expect(runs(page).first).to_be_visible()
    page.get_by_text("Filters", exact=True).click()
    page.get_by_role("group").get_by_role("link", name=re.compile("^gold")).first.click()
    expect(page).to_have_url(re.compile("layer=gold"))
    expect(page.get_by_text("Filters (1)")).to_be_visible()
    expect(runs(page).first).to_contain_text("gold_region_kpis")


def test_what_is_done_under_a_source_is_done_to_its_rows_alone(open_page, address: str):
    page = open_page("/quarantine?dataset=silver_orders&source=lab.bronze.orders")
    expect(page.get_by_role("grid", name="Quarantined rows")).to_be_visible()
    items = json.loads(page.request.get(f"{address}/api/v1/quarantine/silver_orders/rows").text())["items"]
    with page.expect_request("**/discard/preview") as asked:
        page.get_by_role("button", name="Discard…").click()
    body = asked.value.post_data_json
    assert sorted(body["rows"]) == sorted(one["row_id"] for one in items)
    assert not body["everything"]
    expect(page.get_by_role("dialog").locator("[data-preview]")).to_contain_text(f"{len(items)} row")


def test_more_rows_of_a_source_than_can_be_named_are_not_acted_on(open_page, address: str):
    page = open_page("/contracts")
    row = {"row_id": "a" * 32, "state": "active", "at": "2026-11-16T10:00:00+00:00", "run_id": "run-1", "rules": ["late"],
           "categories": [], "source": "day.csv", "line": 3, "rejection_reason": None}  # fmt: skip
    page.route("**/quarantine/silver_orders/rows?*", answered({"items": [row], "next": None, "total": 1001}))
    page.goto(f"{address}/quarantine?dataset=silver_orders&source=day.csv")
    expect(page.get_by_role("group", name="What to do")).to_contain_text("choose a rule or a run too")
    expect(page.get_by_role("button", name=re.compile("^Replay"))).to_be_disabled()


def test_what_was_never_measured_is_not_called_kept(open_page, address: str):
    page = open_page("/contracts")
    level = {"name": "freshness", "promised": "at most 24 hours", "found": None, "unit": "hours", "kept": None,
             "since": None, "history": [], "attained": None, "runs": 0, "next_due": None}  # fmt: skip
    held = {**level, "kept": True, "found": 0.2}
    items = [
        {"dataset": f"silver_{name}", "layer": "silver", "domain": "lab", "levels": [one]}
        for name, one in (("a", level), ("b", level), ("c", held))
    ]
    page.route("**/api/v1/service-levels*", answered({"items": items[:2], "next": None}))
    page.goto(f"{address}/levels")
    expect(page.locator(".finding")).to_have_text("2 promises·none measured yet")
    page.unroute("**/api/v1/service-levels*")
    page.route("**/api/v1/service-levels*", answered({"items": items, "next": None}))
    page.reload()
    expect(page.locator(".finding")).to_have_text("3 promises·1 kept·2 not measured")
    expect(page.get_by_role("row", name=re.compile("silver_c"))).to_contain_text("12 min")


def test_a_job_that_has_ended_is_not_asked_for_again(open_page, address: str):
    page = open_page("/contracts")
    asked: list[str] = []
    job = {"job_id": "job-1", "kind": "discard", "dataset": "silver_orders", "domain": "lab", "person": "maja", "why": "old",
           "state": "done", "cancel_asked": False, "created_at": "2026-11-16T10:00:00+00:00", "started_at": None,
           "finished_at": None, "attempts": 1, "choices": {}, "outcome": {"discarded": 1}}  # fmt: skip

    def told(route: Route) -> None:
        asked.append(route.request.url)
        answered(job)(route)

    page.route("**/api/v1/jobs/job-1", told)
    page.route("**/api/v1/jobs/job-1/log", answered({"job_id": "job-1", "lines": [], "next": None}))
    page.goto(f"{address}/jobs/job-1")
    expect(page.locator("[data-job-state=done]")).to_have_text("1 row left the queue for good.")
    page.wait_for_timeout(7_000)
    assert len(asked) <= 2


def test_a_dead_link_offers_a_search_and_no_advice_for_scripts(open_page):
    page = open_page("/runs/run-20200101T000000-000000", trouble=True)
    state = page.locator("[data-state=trouble-404]")
    expect(state).to_be_visible()
    expect(state).not_to_contain_text("/api/")
    state.get_by_role("button", name="Search for it").click()
    expect(page.get_by_role("combobox")).to_be_focused()
    expect(page.get_by_role("option").first).to_have_text("Estatepage")


def test_a_count_beside_a_cause_is_how_many_rows_follow(open_page, address: str):
    page = open_page("/quarantine?dataset=silver_orders&rule=missing_region")
    expect(page.get_by_role("grid", name="Quarantined rows").locator(".vrow")).to_have_count(1)
    filters = page.get_by_role("complementary", name="Filters")
    expect(filters.get_by_role("link", name=re.compile("^missing customer"))).to_be_visible()
    found = filters.locator("a:not([aria-current])")
    told = found.evaluate_all("all => all.map((one) => [one.href, Number(one.querySelector('.n').textContent)])")
    assert len(told) >= 6
    for href, number in dict(told).items():
        page.goto(href)
        expect(page.locator(".finding strong").first).to_have_text(f"{number} row{'' if number == 1 else 's'}")
