"""Which column came from which: copied, derived, joined, aggregated, masked; over several datasets, up and down."""

from __future__ import annotations

import pytest

from lakelogic.actions.look.columns import column_graph, columns_of
from lakelogic.errors import NotFound

BRONZE = """
info: {dataset: bronze_orders, target_layer: bronze}
source: {path: data/orders.csv}
model: {fields: [{name: id}, {name: who}, {name: amount}, {name: email}]}
materialization: {strategy: overwrite, target_path: shop.bronze.orders}
"""
SILVER = """
info: {dataset: silver_orders, target_layer: silver}
source: {type: table, path: shop.bronze.orders}
links: [{name: people, path: data/people.csv, format: csv}]
primary_key: [id]
model:
  fields:
    - {name: id, type: int}
    - {name: amount, type: "decimal(10,2)"}
    - {name: email, masking: redact}
    - {name: country}
    - {name: origin}
transformations:
  - derive: {field: origin, sql: "'shop'"}
  - lookup: {field: country, reference: people, on: who, key: who, value: country}
materialization: {strategy: overwrite, target_path: shop.silver.orders}
"""
GOLD = """
info: {dataset: gold_countries, target_layer: gold}
source: {type: table, path: shop.silver.orders}
primary_key: [country]
model: {fields: [{name: country}, {name: total, type: "decimal(12,2)"}, {name: orders, type: bigint}]}
transformations:
  - sql: SELECT country, SUM(amount) AS total, COUNT(*) AS orders FROM source GROUP BY country
    phase: pre
materialization: {strategy: overwrite, target_path: shop.gold.countries}
"""


@pytest.fixture
def served(estate):
    return estate(
        {"bronze.yaml": BRONZE, "silver.yaml": SILVER, "gold.yaml": GOLD},
        {"orders.csv": "id,who,amount,email\n1,a,2.50,ada@example.com\n", "people.csv": "who,country\na,DE\n"},
    )


def made_of(served, dataset, column):
    one = columns_of(served, dataset, column)["columns"][0]
    return one["kind"], {(up["dataset"] or up["name"], up["column"], up["kind"]) for up in one["upstream"]}


def test_each_column_tells_of_which_columns_it_is_made_and_how(served):
    assert made_of(served, "silver_orders", "amount") == ("derived", {("bronze_orders", "amount", "derived")})
    assert made_of(served, "silver_orders", "email") == ("masked", {("bronze_orders", "email", "masked")})
    assert made_of(served, "silver_orders", "country") == ("joined", {("data/people.csv", "country", "joined")})
    assert made_of(served, "silver_orders", "origin") == ("constant", set())
    assert made_of(served, "gold_countries", "country") == ("copied", {("silver_orders", "country", "copied")})
    assert made_of(served, "gold_countries", "orders") == ("aggregated", {("silver_orders", "*", "aggregated")})
    total = columns_of(served, "gold_countries", "total")["columns"][0]["upstream"]
    assert total[0]["steps"][0] == {"label": "rollup", "expression": "sum(amount)"}


def test_the_way_of_one_column_goes_through_all_datasets_up_to_the_file_and_down_to_the_figure(served):
    found = columns_of(served, "silver_orders", "amount")
    assert {(edge["from"], edge["to"]) for edge in found["edges"]} == {
        ("data/orders.csv.amount", "bronze_orders.amount"),
        ("bronze_orders.amount", "silver_orders.amount"),
        ("silver_orders.amount", "gold_countries.total"),
    }
    assert found["columns"][0]["downstream"] == [{"dataset": "gold_countries", "column": "total", "kind": "aggregated"}]
    near = columns_of(served, "gold_countries", "total", depth=1)
    assert [edge["from"] for edge in near["edges"]] == ["silver_orders.amount"]


def test_columns_that_are_masked_further_down_are_known_where_they_are_in_clear(served):
    graph = column_graph(served)
    assert graph.concealed("bronze_orders") == {"email"}
    assert graph.concealed("silver_orders") == frozenset()  # what it masks itself is not in clear there


def test_a_column_that_is_not_there_is_not_found(served):
    with pytest.raises(NotFound, match="no column `nothing`"):
        columns_of(served, "gold_countries", "nothing")
