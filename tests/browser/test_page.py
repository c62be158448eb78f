"""Every page in a real browser: accessible, linkable, quick with long lists, and plain about trouble."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
PAGES = {
    "estate": "/",
    "runs": "/runs?all=1",
    "run": "/runs/{run}",
    "run rules": "/runs/{run}?tab=rules",
    "run gates": "/runs/{run}?tab=promises",
    "run facts": "/runs/{run}?tab=facts",
    "quarantine": "/quarantine",
    "queue": "/quarantine?dataset=silver_orders",
    "row": "/quarantine?dataset=silver_orders&row={row}",
    "dataset": "/datasets/silver_orders",
    "columns": "/datasets/silver_orders?tab=schema",
    "dataset runs": "/datasets/silver_orders?tab=runs",
    "sample": "/datasets/silver_orders?tab=sample",
    "graph": "/graph",
    "graph list": "/graph?as=list",
    "column": "/graph?focus=gold_region_kpis&column=gross_revenue_usd",
    "contracts": "/contracts",
    "contract": "/contracts/silver_orders",
    "diff": "/contracts/silver_orders?tab=diff",
    "kpis": "/kpis",
    "chain": '/kpis/gold_region_kpis?key=["east"]&column=gross_revenue_usd',
    "approvals": "/approvals",
    "decided": "/approvals?tab=decided",
    "levels": "/levels",
    "exports": "/exports",
    "nowhere": "/no/such/place",
}


@pytest.fixture
def known(open_page: Callable[..., Page], address: str) -> dict[str, str]:
    """Names of this estate's things that stand in addresses."""
    page = open_page("/")

    def first(path: str, key: str) -> str:
        items = json.loads(page.request.get(f"{address}/api/v1{path}").text())["items"]
        return str(items[0][key])

    return {
        "run": first("/runs?dataset=silver_orders&status=succeeded", "run_id"),
        "row": first("/quarantine/silver_orders/rows?state=all", "row_id"),
    }


def settled(page: Page) -> None:
    page.wait_for_selector("h1, h2")
    expect(page.locator("[aria-label=Loading]")).to_have_count(0)


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_axe_finds_nothing(open_page, known, address: str, theme: str, width: int):
    page = open_page("/", theme=theme, width=width)
    found = []
    for name, path in PAGES.items():
        page.goto(address + path.replace("{run}", known["run"]).replace("{row}", known["row"]))
        settled(page)
        found += [f"{name}: {one}" for one in violations(page)]
    page.goto(address + "/quarantine?dataset=silver_orders")
    page.get_by_role("button", name=re.compile("^Replay")).click()
    expect(page.locator("[data-preview]")).to_be_visible()
    found += [f"preview: {one}" for one in violations(page)]
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name="silver_orders")).to_be_visible()
    found += [f"palette: {one}" for one in violations(page)]
    assert found == []


def violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    told = page.evaluate(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        ".then((all) => all.violations.map((one) => [one.impact, one.id, one.nodes[0].html, one.nodes[0].failureSummary]))"
    )
    return [f"{impact} {rule}: {html[:200]} {why[:300]}" for impact, rule, html, why in told]


def test_every_page_has_one_heading_and_fits_its_width(open_page, known, address: str):
    page = open_page("/", width=390)
    for name, path in PAGES.items():
        page.goto(address + path.replace("{run}", known["run"]).replace("{row}", known["row"]))
        settled(page)
        expect(page.get_by_role("heading", level=1), name).to_have_count(1)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, f"{name} is {wide} wide"


def test_an_address_holds_every_choice_and_back_goes_one_choice_back(open_page, address: str):
    page = open_page("/quarantine")
    page.get_by_role("region", name="Causes").get_by_role("link", name="missing customer").click()
    page.get_by_role("button", name="missing customer").click()
    expect(page.get_by_role("region", name="Row", exact=True)).to_contain_text("LO-1003")
    chosen = page.url
    other = open_page(chosen.removeprefix(address))
    expect(other.get_by_role("region", name="Row", exact=True)).to_contain_text("LO-1003")
    page.go_back()
    expect(page.get_by_role("region", name="Row", exact=True)).to_have_count(0)
    expect(page).to_have_url(re.compile("rule=missing_customer"))
    page.go_back()
    expect(page.get_by_role("heading", name="By cause")).to_be_visible()
    page.go_forward()
    page.go_forward()
    expect(page.get_by_role("region", name="Row", exact=True)).to_contain_text("LO-1003")
    page.reload()
    expect(page.get_by_role("region", name="Row", exact=True)).to_contain_text("LO-1003")


def test_a_number_leads_to_a_list_of_that_many_rows(open_page, known, address: str):
    for path in ("/quarantine", "/datasets/silver_orders", f"/runs/{known['run']}"):
        page = open_page(path)
        settled(page)
        page.wait_for_selector("a[data-count]")
        links = page.evaluate(
            "[...document.querySelectorAll('a[data-count]')].map((one) => [one.href, Number(one.dataset.count)])"
        )
        assert links
        for href, number in dict(links).items():
            page.goto(href)
            expect(page.locator(".finding strong").first).to_have_text(f"{number} row{'' if number == 1 else 's'}")


def test_the_bands_of_the_flow_add_up_to_what_was_read(open_page, known):
    page = open_page(f"/runs/{known['run']}")
    page.get_by_text("The same in numbers").click()
    rows = {
        row.locator("td").nth(0).inner_text(): int(row.locator("td").nth(2).inner_text().replace("\u202f", ""))
        for row in page.get_by_role("table").locator("tbody tr").all()
    }
    assert rows["Read"] == 12
    assert rows["Good"] + rows["Quarantined"] == 12
    assert rows["missing region"] == 1


def test_a_keyboard_is_enough_from_the_estate_to_the_preview(open_page):
    page = open_page("/")
    page.wait_for_selector("[data-tile]")
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="By cause")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("silver_orders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("silver_orders")
    link = page.get_by_role("link", name=re.compile("rows? quarantined"))
    expect(link).to_be_visible()
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("grid", name="Quarantined rows")).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("region", name="Row", exact=True)).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_role("group", name="What to do")).to_contain_text("1 row chosen")
    page.keyboard.press("r")
    expect(page.get_by_role("dialog").locator("[data-preview]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Row", exact=True)).to_have_count(0)


def problem(status: int, title: str) -> Callable[[Route], None]:
    body = {"type": "about:blank", "title": title, "status": status, "code": "LL-E003", "request_id": "asked-0001"}
    return lambda route: route.fulfill(status=status, body=json.dumps(body), content_type="application/problem+json")


def test_trouble_of_one_question_is_named_and_the_rest_stays(open_page, known, address: str):
    page = open_page("/contracts", trouble=True)
    settled(page)
    page.route("**/api/v1/runs/*/account", problem(500, "This is a defect in LakeLogic: KeyError."))
    page.goto(f"{address}/runs/{known['run']}")
    expect(page.locator("[data-state=trouble-500]")).to_contain_text("asked-0001")
    expect(page.get_by_role("heading", level=1)).to_have_text("silver_orders")
    page.unroute("**/api/v1/runs/*/account")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("[data-flow]")).to_be_visible()
    page.route("**/api/v1/datasets/silver_orders", problem(403, "This needs the role viewer in `lab`."))
    page.goto(f"{address}/datasets/silver_orders")
    expect(page.locator("[data-state=trouble-403]")).to_contain_text("This needs the role viewer in `lab`.")
    page.route(
        "**/api/v1/service-levels*", lambda route: route.fulfill(status=200, body="<html>", content_type="text/html")
    )
    page.goto(f"{address}/levels")
    expect(page.get_by_role("alert")).to_contain_text("The answer cannot be read.")
    page.route("**/api/v1/approvals", lambda route: route.abort())
    page.goto(f"{address}/approvals")
    expect(page.get_by_role("alert")).to_contain_text("The service cannot be reached.")
    page.goto(f"{address}/runs/run-20200101T000000-000000")
    expect(page.locator("[data-state=trouble-404]")).to_be_visible()


def test_nothing_there_and_nothing_that_matches_look_different(open_page, address: str):
    page = open_page("/contracts")
    nothing = json.dumps({"items": [], "next": None})
    page.route(
        "**/api/v1/quarantine", lambda route: route.fulfill(status=200, body=nothing, content_type="application/json")
    )
    page.goto(f"{address}/quarantine")
    expect(page.locator("[data-state=empty]")).to_contain_text("Nothing is quarantined")
    page.route(
        "**/api/v1/datasets?*", lambda route: route.fulfill(status=200, body=nothing, content_type="application/json")
    )
    page.goto(f"{address}/")
    expect(page.locator("[data-state=empty]")).to_contain_text("lakelogic serve contracts")
    page.goto(f"{address}/runs?dataset=nobody")
    expect(page.locator("[data-state=no-match]")).to_be_visible()
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_role("table", name="Runs")).to_be_visible()


def test_a_service_that_asks_who_you_are_is_told_once(open_page, address: str):
    page = open_page("/contracts", trouble=True)
    seen: list[str | None] = []

    def closed(route: Route) -> None:
        given = route.request.headers.get("authorization")
        seen.append(given)
        if given == "Bearer ll_right":
            route.continue_(
                headers={name: value for name, value in route.request.headers.items() if name != "authorization"}
            )
        else:
            problem(401, "Who are you?")(route)

    page.route("**/api/v1/**", closed)
    page.goto(f"{address}/runs")
    page.get_by_label("Token").fill("ll_wrong")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    page.get_by_label("Token").fill("ll_right")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("table", name="Runs")).to_be_visible()
    page.reload()
    expect(page.get_by_role("table", name="Runs")).to_be_visible()
    assert "ll_right" not in page.url
    assert None in seen


def made_up_runs(page: Page, total: int) -> None:
    """A ledger of that many runs, told by the test."""

    def runs(route: Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        start, most = int(asked.get("after", ["0"])[0]), int(asked.get("limit", ["50"])[0])
        items = [made_up_run(total - number) for number in range(start, min(total, start + most))]
        after = str(start + most) if start + most < total else None
        route.fulfill(status=200, body=json.dumps({"items": items, "next": after}), content_type="application/json")

    page.route(re.compile(r"/api/v1/runs\?"), runs)


def made_up_run(number: int) -> dict[str, Any]:
    counts = {
        "counts_source": 100,
        "counts_good": 99,
        "counts_quarantined": 1,
        "counts_filtered": 0,
        "counts_deduplicated": 0,
    }
    return {
        "run_id": f"run-{number:06}", "dataset": f"silver_{number:06}", "layer": "silver", "domain": "lab", "status": "succeeded",
        "reason": None, "started_at": "2026-11-16T10:00:00+00:00", "duration_seconds": 1.5, **counts,
    }  # fmt: skip


def test_ten_thousand_runs_scroll_with_few_rows_in_the_document(open_page, address: str):
    page = open_page("/contracts")
    made_up_runs(page, 10_000)
    page.goto(f"{address}/runs")
    rows = page.get_by_role("table", name="Runs").locator(".vrow")
    expect(rows.first).to_contain_text("silver_010000")
    page.get_by_role("table", name="Runs").hover()
    for _ in range(400):
        page.mouse.wheel(0, 4_000)
        assert rows.count() <= 80
        if page.get_by_text("silver_000001", exact=True).count():
            break
        page.wait_for_timeout(40)
    expect(page.get_by_text("silver_000001", exact=True)).to_be_visible()


def test_new_runs_wait_behind_a_pill_and_do_not_move_what_is_read(open_page, address: str):
    page = open_page("/contracts")
    made_up_runs(page, 300)
    page.goto(f"{address}/runs")
    first = page.get_by_role("table", name="Runs").locator(".vrow").first
    expect(first).to_contain_text("silver_000300")
    page.unroute(re.compile(r"/api/v1/runs\?"))
    made_up_runs(page, 307)
    pill = page.get_by_role("button", name="7 new runs")
    expect(pill).to_be_visible(timeout=30_000)
    expect(first).to_contain_text("silver_000300")
    pill.click()
    expect(first).to_contain_text("silver_000307")


def test_a_run_that_is_asked_for_is_shown_while_it_goes_on(open_page):
    page = open_page("/datasets/bronze_orders")
    watching = open_page("/runs?dataset=bronze_orders&all=1")
    expect(watching.get_by_role("table", name="Runs").locator(".vrow").first).to_be_visible()
    before = watching.get_by_role("table", name="Runs").locator(".vrow").count()
    page.get_by_role("button", name="Run…").click()
    page.get_by_role("dialog").get_by_label(re.compile("Why")).fill("a look at it")
    page.get_by_role("dialog").get_by_role("button", name="Run bronze_orders").click()
    expect(page.locator("[data-job-state=done]")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("log")).to_be_visible()
    watching.bring_to_front()
    pill = watching.get_by_role("button", name="1 new run")
    expect(pill).to_be_visible(timeout=30_000)
    pill.click()
    expect(watching.get_by_role("table", name="Runs").locator(".vrow")).to_have_count(before + 1)


def test_the_chosen_colours_are_there_after_a_reload(open_page):
    page = open_page("/contracts")
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 23)"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    expect(page.get_by_role("button", name="Light colours")).to_be_visible()


def test_a_change_of_a_contract_is_judged_before_it_is_made(open_page):
    page = open_page("/contracts/silver_orders?tab=diff", trouble=True)
    draft = page.get_by_label(re.compile("The contract as it would be"))
    draft.fill(draft.input_value().replace("{name: source_rank, type: bigint}", "{name: rank, type: bigint}"))
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("[data-verdict=breaking]")).to_be_visible()
    expect(page.get_by_text("readers of the column find it gone")).to_be_visible()
    draft.fill("dataset: x\nmodel: {felds: 3}\n")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Did you mean `fields`?")).to_be_visible()


def test_a_proxy_may_have_it_anywhere(browser, mounted: str):
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(urlsplit(one.url).path))
    page.goto(f"{mounted}/lake/datasets/silver_orders?tab=runs")
    expect(page.get_by_role("heading", level=1)).to_have_text("silver_orders")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Quarantine").click()
    expect(page).to_have_url(f"{mounted}/lake/quarantine")
    expect(page.get_by_role("heading", name="By cause")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="By cause")).to_be_visible()
    assert [path for path in asked if not path.startswith("/lake/")] == []
    context.close()
