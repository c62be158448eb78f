"""Photograph every page in both themes and two widths, over the examples, into docs/pictures/page."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import page_estate

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs/pictures/page"
CHROMIUM = Path(os.environ.get("LAKELOGIC_CHROMIUM", "/usr/bin/chromium"))
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--no-first-run"]  # fmt: skip


def main() -> int:
    missing = _missing()
    if missing:
        print("This needs " + "; ".join(missing), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "estate"
        places = page_estate.build(folder, whole=True)
        with page_estate.served(folder, places) as address:
            _shoot(address)
    total = sum(path.stat().st_size for path in OUT.iterdir())
    print(f"{len(list(OUT.iterdir()))} pictures, {total / 1_000_000:.1f} MB, in {OUT.relative_to(ROOT)}")
    return 0


def _missing() -> list[str]:
    missing = []
    try:
        import PIL  # noqa: F401
        import playwright  # noqa: F401
    except ImportError:
        missing.append(f"{sys.executable} -m pip install --require-hashes -r requirements/browser.txt")
    if not CHROMIUM.exists():
        missing.append(f"a browser at {CHROMIUM} (or LAKELOGIC_CHROMIUM): apt-get install chromium")
    if not (ROOT / "src/lakelogic/ui/dist/index.html").exists():
        missing.append("the built page: make page")
    return missing


def _pages(address: str) -> dict[str, str]:
    def ask(path: str) -> Any:
        with urllib.request.urlopen(f"{address}/api/v1{path}") as answer:
            return json.load(answer)

    run = ask("/runs?dataset=silver_pos_orders&status=succeeded&limit=1")["items"][0]["run_id"]
    row = ask("/quarantine/silver_orders/rows?rule=missing_region")["items"][0]["row_id"]
    order = ask("/lineage/rows/gold_region_kpis/upstream?key=east")["upstreams"][0]["rows"][0]
    bronze = ask(f"/lineage/rows/silver_orders/upstream?key={order['key'][0]}")["upstreams"][0]["rows"][0]
    line = ask(f"/lineage/rows/bronze_orders/upstream?at={bronze['at']}")["upstreams"][0]["rows"][0]
    way = [
        {"d": "silver_orders", "k": order["key"]},
        {"d": "bronze_orders", "a": bronze["at"]},
        {"d": "bronze_orders", "f": line["file"], "l": line["line"]},
    ]
    chain = urllib.parse.urlencode({"key": '["east"]', "column": "gross_revenue_usd", "way": json.dumps(way)})
    return {
        "estate": "/",
        "runs": "/runs",
        "run": f"/runs/{run}",
        "quarantine": "/quarantine",
        "row": f"/quarantine?dataset=silver_orders&row={row}",
        "dataset": "/datasets/silver_pos_orders",
        "columns": "/datasets/silver_crm_customers?tab=schema",
        "graph": "/graph",
        "contract": "/contracts/silver_core_policies",
        "diff": "/contracts/silver_orders?tab=diff",
        "kpi": f"/kpis/gold_region_kpis?{chain}",
        "approvals": "/approvals",
        "levels": "/levels",
        "exports": "/exports",
    }


def _shoot(address: str) -> None:
    from playwright.sync_api import expect, sync_playwright

    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("*.png"):
        old.unlink()
    pages = _pages(address)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for theme in ("light", "dark"):
            for width, height in ((1280, 860), (390, 844)):
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                page = context.new_page()
                for name, path in pages.items():
                    page.goto(address + path)
                    page.wait_for_load_state("domcontentloaded")
                    page.wait_for_timeout(900)
                    expect(page.get_by_label("Loading")).to_have_count(0, timeout=20_000)
                    page.wait_for_timeout(300)
                    if name == "diff":
                        _change(page)
                    _keep(page.screenshot(), OUT / f"{name}-{theme}-{width}.png")
                context.close()
        browser.close()


def _change(page: Any) -> None:
    """A contract that loses a column and gains a demand, compared with the one that holds."""
    draft = page.locator("#draft")
    text = draft.input_value().replace("    - {name: source_rank, type: bigint}\n", "")
    draft.fill(text.replace("{name: region, type: string}", "{name: region, type: string, required: true}"))
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("[data-verdict]")


def _keep(shot: bytes, path: Path) -> None:
    """A picture in all its colours: a palette would lose the small marks."""
    from PIL import Image

    Image.open(io.BytesIO(shot)).convert("RGB").save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
