"""From a row back to the rows it was made of, and on to lines of files; and why, where that cannot be told."""

from __future__ import annotations

import json

import pytest

from lakelogic.actions.look.drilldown import Start, chain, source_lines, upstream
from lakelogic.errors import NotFound, UsageError

ORDERS = "id,customer,amount,email\n1,a,10.00,ada@example.com\n2,b,5.00,bob@example.com\n3,a,7.50,ada@example.com\n"
CUSTOMERS = "customer,country\na,DE\nb,FR\nc,DE\n"
SILVER = """
info: {dataset: silver_orders, target_layer: silver}
source: {path: data/orders*.csv, format: csv, load_mode: incremental}
primary_key: [id]
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: customer}
    - {name: amount, type: "decimal(10,2)", min: 0}
    - {name: email, pii: true, masking: redact}
materialization: {strategy: merge, target_path: shop.silver.orders}
"""
GOLD = """
info: {dataset: gold_countries, target_layer: gold}
upstream: [silver_orders]
source: {type: table, path: shop.silver.orders}
links: [{name: customers, path: data/customers.csv, format: csv}]
primary_key: [country]
model:
  fields: [{name: country, required: true}, {name: total, type: "decimal(12,2)"}]
transformations:
  - sql: >-
      SELECT c.country AS country, SUM(source.amount) AS total FROM source
      JOIN customers c ON source.customer = c.customer GROUP BY c.country
    phase: pre
materialization: {strategy: overwrite, target_path: shop.gold.countries}
"""


def told(found: dict, role: str = "source") -> dict:
    return next(one for one in found["upstreams"] if one["role"] == role)


def test_a_sum_over_a_join_leads_to_exactly_its_orders_and_to_the_customers_they_met(estate):
    served = estate(
        {"silver.yaml": SILVER, "gold.yaml": GOLD}, {"orders1.csv": ORDERS, "customers.csv": CUSTOMERS}
    )  # fmt: skip
    found = upstream(served, Start("gold_countries", ("DE",)))
    orders, customers = told(found), told(found, "link")
    assert str(found["row"]["values"]["total"]) == "17.50"
    assert (orders["dataset"], orders["exact"], orders["total"]) == ("silver_orders", True, 2)
    assert [row["key"] for row in orders["rows"]] in ([["1"], ["3"]], [["3"], ["1"]])
    # c is in the same country, but no order of theirs is in the sum.
    assert [row["values"] for row in customers["rows"]] == [{"customer": "a", "country": "DE"}]


def test_a_row_that_came_with_a_later_file_leads_to_the_line_of_that_file(estate, run_again, workspace):
    served = estate({"silver.yaml": SILVER}, {"orders1.csv": ORDERS})
    (workspace / "data/orders2.csv").write_text("id,customer,amount,email\n2,b,6.00,bob@example.com\n")
    run_again("silver.yaml")
    newer = told(upstream(served, Start("silver_orders", ("2",))))
    older = told(upstream(served, Start("silver_orders", ("3",))))
    assert (newer["kind"], newer["exact"]) == ("file", True)
    assert [(row["file"].rpartition("/")[2], row["line"]) for row in newer["rows"]] == [("orders2.csv", 2)]
    assert [(row["file"].rpartition("/")[2], row["line"]) for row in older["rows"]] == [("orders1.csv", 4)]


def test_what_a_contract_masks_is_hidden_in_its_source_file_too(estate, workspace):
    served = estate(
        {"silver.yaml": SILVER, "gold.yaml": GOLD}, {"orders1.csv": ORDERS, "customers.csv": CUSTOMERS}
    )  # fmt: skip
    found = chain(served, Start("gold_countries", ("DE",)))
    orders = next(one for one in found["sources"] if one["file"].endswith("orders1.csv"))
    lines = source_lines(served, "silver_orders", orders["file"], 2, 5)
    text = json.dumps([found, lines], default=str)
    assert "example.com" not in text
    assert lines["hidden"] == ["email"]
    assert [one["values"]["email"] for one in lines["lines"]] == ["••••"] * 3
    assert [one["is_asked"] for one in lines["lines"]] == [True, False, False]
    assert orders["lines"] == [2, 4]


def test_what_is_masked_further_down_is_hidden_further_up(estate):
    bronze = """
info: {dataset: bronze_people, target_layer: bronze}
source: {path: data/people.csv}
model: {fields: [{name: id}, {name: email}]}
materialization: {strategy: overwrite, target_path: shop.bronze.people}
"""
    silver = """
info: {dataset: silver_people, target_layer: silver}
source: {type: table, path: shop.bronze.people}
primary_key: [id]
model: {fields: [{name: id}, {name: email, masking: redact}]}
materialization: {strategy: overwrite, target_path: shop.silver.people}
"""
    served = estate({"bronze.yaml": bronze, "silver.yaml": silver}, {"people.csv": "id,email\n1,ada@example.com\n"})
    step = told(upstream(served, Start("silver_people", ("1",))))
    assert (step["hidden"], step["rows"][0]["values"]) == (["email"], {"id": "1", "email": "••••"})
    # Asked for on its own, the bronze row and its line hide it just so.
    on = upstream(served, Start("bronze_people", at=step["rows"][0]["at"]))
    assert on["row"]["values"]["email"] == "••••"
    assert told(on)["rows"][0]["values"] == {"id": "1", "email": "••••"}


def test_the_version_that_a_run_has_read_is_shown_although_the_table_has_moved_on(estate, run_again, workspace):
    served = estate(
        {"silver.yaml": SILVER, "gold.yaml": GOLD}, {"orders1.csv": ORDERS, "customers.csv": CUSTOMERS}
    )  # fmt: skip
    before = told(upstream(served, Start("gold_countries", ("FR",))))
    (workspace / "data/orders2.csv").write_text("id,customer,amount,email\n2,b,6.00,bob@example.com\n")
    run_again("silver.yaml")
    after = told(upstream(served, Start("gold_countries", ("FR",))))
    assert (after["version"], after["exact"]) == (before["version"], True)
    assert [str(row["values"]["amount"]) for row in after["rows"]] == ["5.00"]


def test_a_rank_among_groups_leads_to_all_rows_and_says_why(estate):
    gold = """
info: {dataset: gold_places, target_layer: gold}
source: {type: table, path: shop.silver.orders}
primary_key: [place]
model: {fields: [{name: place, type: bigint}, {name: customer}, {name: total, type: "decimal(12,2)"}]}
transformations:
  - sql: SELECT customer, SUM(amount) AS total FROM source GROUP BY customer
    phase: pre
  - sql: "SELECT *, row_number() OVER (ORDER BY total DESC) AS place FROM source"
    phase: pre
materialization: {strategy: overwrite, target_path: shop.gold.places}
"""
    served = estate({"silver.yaml": SILVER, "gold.yaml": gold}, {"orders1.csv": ORDERS})
    found = told(upstream(served, Start("gold_places", ("1",))))
    assert (found["exact"], found["total"]) == (False, 3)
    assert any("`place`" in why for why in found["why"])


def test_a_group_is_known_by_what_it_was_grouped_by_whatever_was_worked_out_from_it(estate):
    gold = GOLD.replace("primary_key: [country]\n", "")
    served = estate(
        {"silver.yaml": SILVER, "gold.yaml": gold}, {"orders1.csv": ORDERS, "customers.csv": CUSTOMERS}
    )  # fmt: skip
    rows = [upstream(served, Start("gold_countries", at=f"0-{number}")) for number in range(2)]
    found = {row["row"]["values"]["country"]: told(row) for row in rows}
    assert {name: (one["exact"], one["total"]) for name, one in found.items()} == {"DE": (True, 2), "FR": (True, 1)}


def test_lines_that_are_alike_are_all_shown_and_it_is_said(estate):
    bronze = """
info: {dataset: bronze_clicks, target_layer: bronze}
source: {path: data/clicks.csv}
model: {fields: [{name: page}]}
materialization: {strategy: append, target_path: shop.bronze.clicks}
"""
    served = estate({"bronze.yaml": bronze}, {"clicks.csv": "page\nhome\nshop\nhome\n"})
    pages = {
        (row := upstream(served, Start("bronze_clicks", at=f"0-{number}")))["row"]["values"]["page"]: told(row)
        for number in range(3)
    }
    assert (pages["shop"]["exact"], [row["line"] for row in pages["shop"]["rows"]]) == (True, [3])
    assert (pages["home"]["exact"], [row["line"] for row in pages["home"]["rows"]]) == (False, [2, 4])
    assert pages["home"]["why"] == ["2 rows of the source look the same"]


def test_a_file_that_changed_or_went_is_told(estate, workspace):
    served = estate({"silver.yaml": SILVER}, {"orders1.csv": ORDERS})
    (workspace / "data/orders1.csv").write_text(ORDERS.replace("10.00", "11.00"))
    changed = told(upstream(served, Start("silver_orders", ("2",))))
    assert (changed["exact"], changed["why"]) == (False, ["orders1.csv has changed since it was read"])
    (workspace / "data/orders1.csv").unlink()
    one = told(upstream(served, Start("silver_orders", ("2",))))
    assert (one["exact"], one["total"], one["rows"]) == (False, 0, [])
    gone = chain(served, Start("silver_orders", ("2",)))
    assert (gone["exact"], gone["levels"]) == (False, [])
    assert "is there any more" in gone["why"][0]


def test_pages_of_many_rows_go_on_where_the_last_one_ended(estate):
    many = "id,customer,amount,email\n" + "".join(f"{number},a,1.00,x\n" for number in range(120))
    served = estate({"silver.yaml": SILVER, "gold.yaml": GOLD}, {"orders1.csv": many, "customers.csv": CUSTOMERS})
    seen: list[str] = []
    skip: int | None = 0
    while skip is not None:
        page = told(upstream(served, Start("gold_countries", ("DE",)), only="shop.silver.orders", skip=skip, limit=50))
        assert page["total"] == 120
        seen += [row["key"][0] for row in page["rows"]]
        skip = page["next"]
    assert sorted(map(int, seen)) == list(range(120))
    cut = chain(served, Start("gold_countries", ("DE",)), limit=5)
    assert "shop.silver.orders: the first 5 of 120 rows are followed" in cut["why"]


def test_a_row_that_cannot_be_meant_is_refused_with_what_to_do(estate):
    served = estate({"silver.yaml": SILVER}, {"orders1.csv": ORDERS})
    with pytest.raises(UsageError, match="by its key, or by its place"):
        upstream(served, Start("silver_orders"))
    with pytest.raises(UsageError, match="2 values were given"):
        upstream(served, Start("silver_orders", ("1", "2")))
    for start in (Start("silver_orders", ("9",)), Start("silver_orders", ("x",)), Start("silver_orders", at="0-99")):
        with pytest.raises(NotFound):
            upstream(served, start)
    with pytest.raises(UsageError, match="not the place of a row"):
        upstream(served, Start("silver_orders", at="../etc"))
    with pytest.raises(NotFound, match="has read"):
        source_lines(served, "silver_orders", "/etc/passwd", 1)
