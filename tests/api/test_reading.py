"""What the service shows: the five routes of the lab, the estate, runs, the quarantine, contracts."""

from __future__ import annotations

import json
from pathlib import Path

REASONS = {"missing_customer": 1, "missing_region": 1, "non_positive_amount": 1, "stale_duplicate": 1}


def test_the_five_routes_of_the_lab_tell_what_was_rejected_and_what_the_figures_are(client):
    health = client.get("/health")
    assert (health.status_code, health.json()["status"]) == (200, "ok")
    assert all(client.get(link).status_code == 200 for link in health.json()["links"].values())
    report = client.get("/api/runtime/quality-report").json()
    orders = next(one for one in report["datasets"] if one["dataset"] == "silver_orders")
    assert (report["rejected"], orders["by_reason"]) == (5, REASONS)
    assert {row["order_id"]: row["rejection_reason"] for row in orders["rejected_rows"]} == {
        "LO-1003": "missing_customer", "LO-1005": "missing_region", "LO-1007": "non_positive_amount",
        "LO-1008": "stale_duplicate",
    }  # fmt: skip
    gold = client.get("/api/runtime/table-preview/gold").json()["tables"][0]
    east = next(row for row in gold["rows"] if row["region"] == "east")
    assert east == {
        "region": "east", "gross_revenue_usd": "305.09", "accepted_orders": 2, "completed_orders": 2,
        "pipeline_orders": 0, "distinct_customers": 2,
    }  # fmt: skip
    layers = client.get("/api/runtime/pipeline-summary").json()["layers"]
    assert [(layers[name]["source"], layers[name]["good"], layers[name]["quarantined"]) for name in layers] == [
        (12, 12, 0), (14, 9, 5), (8, 4, 0),
    ]  # fmt: skip
    exports = client.get("/api/runtime/export-status").json()["exports"]
    assert {one["status"] for one in exports.values()} == {"not configured"}
    assert client.get("/api/runtime/table-preview/tin").status_code == 404


def test_an_export_says_which_variables_it_lacks_and_never_what_is_in_them(client, monkeypatch):
    monkeypatch.setenv("SNOWFLAKE_ACCOUNT", "acc-1")
    told = client.get("/api/v1/exports").json()["exports"]["snowflake"]
    assert told == {
        "configured": False,
        "status": "not configured",
        "missing": ["SNOWFLAKE_USER", "SNOWFLAKE_PASSWORD"],
    }
    monkeypatch.setenv("SNOWFLAKE_USER", "u")
    monkeypatch.setenv("SNOWFLAKE_PASSWORD", "very-secret")
    answer = client.get("/api/v1/exports")
    assert answer.json()["exports"]["snowflake"]["configured"]
    assert "very-secret" not in answer.text


def test_the_estate_lists_datasets_with_their_newest_run_and_the_graph_shows_neighbours(client):
    estate = client.get("/api/v1/estate").json()
    assert [one["name"] for one in estate["tree"]] == ["lab", "people"]
    assert estate["valid"]
    found = {one["dataset"]: one for one in client.get("/api/v1/datasets").json()["items"]}
    assert found["silver_orders"]["last_run"]["counts_quarantined"] == 4
    one = client.get("/api/v1/datasets/silver_orders").json()
    assert (one["upstreams"], one["downstreams"]) == (["bronze_orders"], ["gold_region_kpis"])
    near = client.get("/api/v1/lineage", params={"focus": "silver_orders", "up": 0, "down": 1}).json()
    assert [(d["dataset"], d["hidden"]["upstream"]) for d in near["datasets"]] == [
        ("silver_orders", 1), ("gold_region_kpis", 0),
    ]  # fmt: skip
    assert client.get("/api/v1/datasets/nothing").json()["code"] == "LL-E002"


def test_documents_have_an_etag_and_are_not_sent_twice(client):
    first = client.get("/api/v1/contracts/silver_orders")
    again = client.get("/api/v1/contracts/silver_orders", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/api/v1/estate", headers={"If-None-Match": first.headers["etag"]}).status_code == 200
    origins = {one["path"]: one for one in first.json()["origins"]}
    assert origins["ownership.domain_owner"]["file"].endswith("_domain.yaml")


def test_a_changed_contract_is_shown_as_it_is_now(client, lab: Path, monkeypatch):
    monkeypatch.setattr("lakelogic.actions.look.served._LOOK_AGAIN_SECONDS", -1.0)
    assert client.get("/api/v1/datasets/silver_orders").json()["owner"] == "order-desk"
    file = lab / "contracts/silver/orders.yaml"
    file.write_text(file.read_text().replace("owner: order-desk", "owner: night-desk"))
    assert client.get("/api/v1/datasets/silver_orders").json()["owner"] == "night-desk"


def test_runs_come_in_pages_and_one_of_them_with_its_account(client):
    seen, after = [], None
    while True:
        page = client.get(
            "/api/v1/runs", params={"limit": 2, "domain": "lab"} | ({"after": after} if after else {})
        ).json()
        seen += [run["dataset"] for run in page["items"]]
        if (after := page["next"]) is None:
            break
    assert seen == ["gold_region_kpis", "silver_orders", "bronze_orders"]
    run = client.get("/api/v1/runs", params={"dataset": "silver_orders"}).json()["items"][0]
    account = client.get(f"/api/v1/runs/{run['run_id']}/account").json()
    assert (account["account"]["read"], account["account"]["good"], account["unaccounted"]) == (12, 8, 0)
    assert client.get("/api/v1/runs/facets").json()["counts"]["domain"] == {"lab": 3, "people": 1}
    chosen = client.get("/api/v1/runs/facets", params={"domain": "lab", "layer": "silver"}).json()["counts"]
    assert chosen["dataset"] == {"silver_orders": 1}
    assert chosen["layer"] == {"bronze": 1, "silver": 1, "gold": 1}  # of the domain, whatever the layer
    assert chosen["domain"] == {"lab": 1, "people": 1}  # of the layer, whatever the domain
    assert client.get("/api/v1/runs", params={"after": "nonsense"}).json()["code"] == "LL-E001"
    assert client.get("/api/v1/runs/run-0").status_code == 404


def test_the_quarantine_is_counted_paged_and_explained(client):
    assert client.get("/api/v1/quarantine/silver_orders/facets").json()["counts"]["rule"] == REASONS
    first = client.get("/api/v1/quarantine/silver_orders/rows", params={"limit": 3}).json()
    second = client.get("/api/v1/quarantine/silver_orders/rows", params={"limit": 3, "after": first["next"]}).json()
    assert (first["total"], len(first["items"]), len(second["items"]), second["next"]) == (4, 3, 1, None)
    assert len({row["row_id"] for row in first["items"] + second["items"]}) == 4
    chosen = client.get("/api/v1/quarantine/silver_orders/rows", params={"rule": "missing_region"}).json()
    row = client.get(f"/api/v1/quarantine/silver_orders/rows/{chosen['items'][0]['row_id']}").json()
    assert (row["values"]["order_id"], row["rejection_reason"]) == ("LO-1005", "missing_region")
    story = client.get(f"/api/v1/quarantine/silver_orders/rows/{row['row_id']}/explain").json()
    assert story["errors"] == ["Rule failed: region_present (region IS NOT NULL)"]
    assert any(chapter["what"] == "region_present" and chapter["outcome"] == "failed" for chapter in story["story"])
    assert client.get("/api/v1/quarantine/silver_orders/rows/nobody").status_code == 404
    assert client.get("/api/v1/quarantine/bronze_orders/rows").json()["total"] == 0


def test_masked_values_stay_masked_in_every_answer(client):
    row = client.get("/api/v1/quarantine/silver_people/rows").json()["items"][0]["row_id"]
    places = (
        "/api/v1/quarantine/silver_people/rows", f"/api/v1/quarantine/silver_people/rows/{row}",
        f"/api/v1/quarantine/silver_people/rows/{row}/explain", "/api/v1/datasets/silver_people/sample",
        "/api/runtime/quality-report", "/api/runtime/table-preview/silver", "/api/v1/lineage/rows/silver_people?key=1",
        "/api/v1/runs",
    )  # fmt: skip
    for place in places:
        answer = client.get(place)
        assert answer.status_code == 200, place
        assert "@example.com" not in answer.text, place
    assert "_lakelogic_raw" not in client.get(f"/api/v1/quarantine/silver_people/rows/{row}").text


def test_a_contract_is_validated_explained_and_compared(client, lab: Path):
    text = (lab / "contracts/silver/orders.yaml").read_text()
    assert client.post("/api/v1/contracts/validate", json={"text": text}).json() == {"valid": True, "diagnostics": []}
    wrong = client.post(
        "/api/v1/contracts/validate", json={"text": text.replace("decimal(12,2)", "decimal(99)")}
    ).json()
    assert (wrong["valid"], wrong["diagnostics"][0]["path"]) == (False, "model.fields[3].type")
    assert "positive_amount" in client.post("/api/v1/contracts/explain", json={"text": text}).json()["text"]
    assert client.get("/api/v1/contracts/silver_orders/explain").json()["plan"]

    def verdict(*changes: tuple[str, str]) -> tuple[str, list[str]]:
        other = text
        for old, new in changes:
            assert old in other
            other = other.replace(old, new)
        told = client.post("/api/v1/contracts/silver_orders/diff", json={"text": other}).json()
        return told["verdict"], [change["path"] for change in told["changes"]]

    assert verdict() == ("same", [])
    assert verdict(("owner: order-desk", "owner: x")) == ("safe", ["info.owner"])
    assert verdict(("sql: amount > 0", "sql: amount > 5")) == ("needs care", ["quality.row_rules[positive_amount].sql"])
    assert verdict(("decimal(12,2)", "double")) == ("breaking", ["model.fields[amount].type"])
    assert verdict(("    - {name: region, type: string}\n", "")) == ("breaking", ["model.fields[region]"])
    assert verdict(("lab.silver.orders", "lab.silver.sales"))[0] == "breaking"


def test_the_document_names_every_route_with_its_problems_and_examples(client):
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, methods in document["paths"].items():
        for told in methods.values():
            assert told["description"], path
            assert path == "/health" or "application/problem+json" in told["responses"]["422"]["content"]
    for name in ("StartRun", "ChooseRows", "PostedContract", "Reason"):
        assert document["components"]["schemas"][name]["examples"]
    page = client.get("/docs")
    assert "<script" not in page.text
    assert all(path in page.text for path in document["paths"])
    assert json.loads(client.get("/api/v1/approvals").text) == {"items": [], "next": None}


def test_the_log_of_any_run_is_read_by_its_id(client):
    found = next(run for run in client.get("/api/v1/runs").json()["items"] if run["status"] == "succeeded")
    told = client.get(f"/api/v1/runs/{found['run_id']}/log").json()
    assert told["lines"][0]["text"].startswith(f"Run {found['run_id']} of {found['dataset']} on ")
    assert any(line["text"].startswith("Run complete") for line in told["lines"])
