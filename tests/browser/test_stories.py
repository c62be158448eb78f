"""What people come for: a steward, an auditor and an operator, each from the first look to the receipt."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect


def test_a_steward_goes_from_a_red_tile_to_a_replayed_row_that_turned_good(open_page, estate: tuple[Path, str]):
    page = open_page("/")
    tile = page.locator('[data-tile="silver_orders"]')
    expect(tile).to_contain_text("4 quarantined")
    tile.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("silver_orders")
    page.get_by_role("link", name="4 rows quarantined").click()
    page.get_by_role("button", name="missing region").click()
    row = page.get_by_role("region", name="Row", exact=True)
    expect(row).to_contain_text("region_present (region IS NOT NULL)")
    expect(row.locator("tr.offends")).to_contain_text("region")

    # Before the contract is mended a replay would change nothing, and the page says so.
    row.get_by_role("button", name="Replay 1 row").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[data-preview]")).to_contain_text(re.compile(r"0\s*would pass"))
    expect(dialog.get_by_role("button", name="Replay 1 row")).to_be_disabled()
    page.keyboard.press("Escape")

    # The steward agrees with the shop on a region for orders without one, and mends the contract.
    contract = estate[0] / "contracts/lab/silver/orders.yaml"
    mended = (
        "transformations:\n  - derive: {field: region, sql: \"coalesce(region, 'north')\"}\n    phase: pre\n\nquality:"
    )
    contract.write_text(contract.read_text().replace("\nquality:", "\n" + mended, 1))
    page.reload()
    expect(row).to_contain_text("no rule fails any more")
    row.get_by_role("button", name="Replay 1 row").click()
    expect(dialog.locator("[data-preview]")).to_contain_text(re.compile(r"1\s*would pass"))
    dialog.get_by_label("Why").fill("agreed with the shop: north")
    dialog.get_by_role("button", name="Replay 1 row").click()
    expect(page.locator("[data-job-state=done]")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("“agreed with the shop: north”")).to_be_visible()

    page.get_by_role("link", name="Back to the quarantine").click()
    expect(page.locator(".finding")).to_contain_text("3 rows")
    page.get_by_role("link", name="replayed 1").click()
    expect(page.locator(".finding")).to_contain_text("1 row replayed")
    page.get_by_role("link", name="silver_orders", exact=True).first.click()
    page.get_by_role("tab", name="Rows").click()
    expect(page.get_by_role("cell", name="LO-1005", exact=True)).to_be_visible()


def test_an_auditor_goes_from_a_figure_to_the_line_of_the_file(open_page):
    page = open_page("/kpis")
    page.locator('[data-kpi="east:gross_revenue_usd"]').click()
    gold = page.get_by_role("region", name="gold_region_kpis")
    expect(gold).to_contain_text("305.09")
    expect(gold).to_contain_text("Made of 2 rows of silver_orders")
    gold.get_by_role("button", name="LO-1010").click()
    silver = page.get_by_role("region", name="silver_orders")
    expect(silver).to_contain_text("205.10")
    silver.get_by_role("button").first.click()
    bronze = page.get_by_role("region", name="bronze_orders")
    bronze.get_by_role("button", name="source_orders.csv, line 12").click()
    line = page.get_by_role("region", name="Source file", exact=True).locator("tr[aria-current=true]")
    expect(line).to_have_attribute("data-line", "12")
    expect(line).to_contain_text("205.10")

    # The address holds the whole way: somebody else sees the same line.
    other = open_page(page.url.removeprefix(page.url.split("/kpis")[0]))
    expect(
        other.get_by_role("region", name="Source file", exact=True).locator("tr[aria-current=true]")
    ).to_contain_text("LO-1010")
    with other.expect_download() as download:
        other.get_by_role("button", name="Evidence as JSON").click()
    evidence = Path(download.value.path()).read_text()
    assert "source_orders.csv" in evidence
    assert "205.10" in evidence


def test_an_operator_releases_a_batch_behind_a_closed_gate(open_page):
    page = open_page("/")
    page.get_by_role("link", name="1 decision waiting").click()
    batch = page.locator("article")
    expect(batch).to_contain_text("silver_staff")
    expect(batch).to_contain_text("33.3% of the rows are quarantined, at most 10.0% may be")
    batch.get_by_role("button", name="Release 2 rows").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Release 2 rows")).to_be_disabled()
    dialog.get_by_label("Why").fill("the desk knows about bob")
    dialog.get_by_role("button", name="Release 2 rows").click()
    expect(page.locator("[data-job-state=done]")).to_contain_text("2 rows are published", timeout=60_000)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Approvals").click()
    expect(page.locator("[data-state=empty]")).to_contain_text("Nothing waits for you")
    page.get_by_role("tab", name="What people did").click()
    expect(page.get_by_role("row", name=re.compile("the desk knows about bob")).first).to_be_visible()
    # Personal data stays masked on the way.
    page.goto(page.url.split("/approvals")[0] + "/datasets/silver_staff?tab=sample")
    expect(page.get_by_role("region", name="Rows")).to_be_visible()
    assert "ada@example.com" not in page.content()
