"""The auditor's questions over HTTP: from a figure to source lines, from a column to the columns it is made of."""

from __future__ import annotations

LINEAGE = "/api/v1/lineage"


def test_a_figure_leads_through_silver_and_bronze_to_the_lines_of_the_file(client):
    gold = client.get(f"{LINEAGE}/rows/gold_region_kpis/upstream", params={"key": "west"}).json()
    silver = gold["upstreams"][0]
    assert (silver["dataset"], silver["exact"], silver["where"]) == ("silver_orders", True, "region is 'west'")
    assert sorted(row["key"][0] for row in silver["rows"]) == ["LO-1006", "LO-1008"]
    order = client.get(f"{LINEAGE}/rows/silver_orders/upstream", params={"key": "LO-1008"}).json()
    bronze = order["upstreams"][0]
    # Two lines of the file are about this order; the stale one is in quarantine and fed nothing.
    assert [(row["key"], row["values"]["amount"]) for row in bronze["rows"]] == [(None, "24.90")]
    line = client.get(f"{LINEAGE}/rows/bronze_orders/upstream", params={"at": bronze["rows"][0]["at"]}).json()
    last = line["upstreams"][0]
    assert (last["kind"], [row["line"] for row in last["rows"]]) == ("file", [11])
    near = client.get(
        f"{LINEAGE}/source/bronze_orders", params={"file": last["rows"][0]["file"], "line": 11, "around": 1}
    ).json()
    assert [(one["line"], one["values"]["order_id"]) for one in near["lines"]] == [
        (10, "LO-1009"), (11, "LO-1008"), (12, "LO-1010"),
    ]  # fmt: skip


def test_the_whole_way_of_a_figure_is_one_document(client):
    answer = client.get(f"{LINEAGE}/rows/gold_region_kpis/chain", params={"key": "west"})
    found = answer.json()
    assert [level["upstreams"][0]["kind"] for level in found["levels"]] == ["dataset", "dataset", "file"]
    assert (found["exact"], found["sources"][0]["lines"]) == (True, [7, 11])
    again = client.get(answer.url, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_pages_of_upstream_rows_are_asked_for_by_the_cursor_of_their_place(client):
    way = f"{LINEAGE}/rows/gold_region_kpis/upstream"
    first = client.get(way, params={"key": "west", "limit": 1}).json()["upstreams"][0]
    asked = {"key": "west", "limit": 1, "from": first["name"], "after": first["next"]}
    second = client.get(way, params=asked).json()["upstreams"][0]
    assert (first["total"], second["next"]) == (2, None)
    assert {first["rows"][0]["key"][0], second["rows"][0]["key"][0]} == {"LO-1006", "LO-1008"}
    assert client.get(way, params={**asked, "from": "elsewhere"}).status_code == 400


def test_questions_about_rows_that_cannot_be_answered_say_why(client):
    way = f"{LINEAGE}/rows/gold_region_kpis/upstream"
    assert client.get(way).status_code == 400
    assert client.get(way, params={"key": "west", "at": "0-1"}).status_code == 400
    assert client.get(way, params={"key": "nowhere"}).status_code == 404
    assert client.get(way, params={"at": "99-0"}).status_code == 404
    assert client.get(f"{LINEAGE}/source/bronze_orders", params={"file": "/etc/passwd", "line": 1}).status_code == 404


def test_masked_values_stay_masked_on_the_way_to_the_file(client):
    found = client.get(f"{LINEAGE}/rows/silver_people/chain", params={"key": "1"})
    row = found.json()["levels"][0]["upstreams"][0]
    assert (row["hidden"], row["rows"][0]["values"]["email"]) == (["email"], "••••")
    lines = client.get(
        f"{LINEAGE}/source/silver_people", params={"file": row["rows"][0]["file"], "line": row["rows"][0]["line"]}
    )
    assert "example.com" not in found.text + lines.text


def test_a_domain_that_somebody_may_not_see_has_no_rows_and_no_columns(serve, token):
    stranger = serve(token("eve", people="viewer"))
    for way in ("rows/gold_region_kpis/upstream", "rows/gold_region_kpis/chain", "columns/gold_region_kpis"):
        assert stranger.get(f"{LINEAGE}/{way}", params={"key": "west"}).status_code == 404


def test_a_column_tells_what_it_is_made_of_and_what_is_made_of_it(client):
    found = client.get(f"{LINEAGE}/columns/silver_orders", params={"column": "amount"}).json()
    assert {(edge["from"], edge["to"], edge["kind"]) for edge in found["edges"]} == {
        ("data/source_orders.csv.amount", "bronze_orders.amount", "copied"),
        ("bronze_orders.amount", "silver_orders.amount", "derived"),
        ("silver_orders.amount", "gold_region_kpis.gross_revenue_usd", "aggregated"),
    }
    every = client.get(f"{LINEAGE}/columns/gold_region_kpis").json()
    assert [one["column"] for one in every["columns"]][:2] == ["region", "gross_revenue_usd"]
    assert client.get(f"{LINEAGE}/columns/gold_region_kpis", params={"column": "x"}).status_code == 404
