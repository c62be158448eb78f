"""What the service is asked to do is done by a worker, told by whom and why, once."""

from __future__ import annotations

from pathlib import Path

from lakelogic.actions.operate.quarantine import person


def job_of(answer):
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/v1/jobs/{answer.json()['job_id']}"
    return answer.json()["job_id"]


def test_a_row_that_a_changed_rule_lets_pass_is_replayed_and_the_ledger_knows_who_asked(client, lab: Path, work):
    file = lab / "contracts/silver/orders.yaml"
    file.write_text(file.read_text().replace("sql: amount > 0", "sql: amount > -100"))
    asked = {"why": "a credit note is an order too", "rules": ["non_positive_amount"]}
    job = job_of(client.post("/api/v1/quarantine/silver_orders/replay", json=asked))
    assert client.get(f"/api/v1/jobs/{job}").json()["state"] == "waiting"
    assert client.get("/api/v1/quarantine/silver_orders/facets").json()["total"] == 4
    assert work() == 1
    done = client.get(f"/api/v1/jobs/{job}").json()
    assert (done["state"], done["outcome"]["passed"], done["outcome"]["failed"]) == ("done", 1, 0)
    assert client.get("/api/v1/quarantine/silver_orders/facets").json()["counts"]["state"] == {
        "active": 3, "replayed": 1, "discarded": 0, "superseded": 0,
    }  # fmt: skip
    rows = client.get("/api/v1/datasets/silver_orders/sample").json()["rows"]
    assert "LO-1007" in {row["order_id"] for row in rows}
    act = client.get("/api/v1/ledger/acts", params={"act": "ask replay"}).json()["items"][0]
    assert (act["person"], act["why"], act["facts"]["job"]) == (person(), asked["why"], job)


def test_rows_are_discarded_with_a_reason_and_never_all_by_mistake(client, work):
    url = "/api/v1/quarantine/silver_orders/discard"
    assert client.post(url, json={"why": "tidy"}).json()["hint"] == 'Choose rows, or say "everything": true.'
    assert client.post(url, json={"rules": ["stale_duplicate"]}).status_code == 422
    job = job_of(client.post(url, json={"why": "overtaken", "rules": ["stale_duplicate"]}))
    assert work() == 1
    assert client.get(f"/api/v1/jobs/{job}").json()["outcome"]["discarded"] == 1
    row = client.get("/api/v1/quarantine/silver_orders/rows", params={"state": "discarded"}).json()["items"][0]
    assert (row["rejection_reason"], row["settled_by"], row["settled_why"]) == (
        "stale_duplicate",
        person(),
        "overtaken",
    )


def test_a_run_is_done_once_however_often_it_is_asked_for_with_one_key(client, work):
    body, key = {"dataset": "bronze_orders"}, {"Idempotency-Key": "click-1"}
    job = job_of(client.post("/api/v1/runs", json=body, headers=key))
    assert job_of(client.post("/api/v1/runs", json=body, headers=key)) == job
    assert work() == 1
    done = client.get(f"/api/v1/jobs/{job}").json()
    assert (done["state"], done["outcome"]["status"]) == ("done", "succeeded")
    log = client.get(f"/api/v1/runs/{done['outcome']['run_id']}/log").json()
    assert (log["job_id"], log["lines"][0]["kind"], log["lines"][-1]["kind"]) == (job, "waiting", "done")
    stream = client.get(f"/api/v1/jobs/{job}/events").text
    assert stream.startswith("retry: 2000\n\nid: 1\nevent: work\n")
    assert f"id: {log['lines'][-1]['seq']}\n" in stream
    later = client.get("/api/v1/events", headers={"Last-Event-ID": str(log["lines"][-2]["seq"])}).text
    assert later.count("\nid: ") == 1
    other = client.post("/api/v1/runs", json={"dataset": "silver_orders"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "LL-E041")


def test_a_job_that_waits_can_be_cancelled_and_an_ended_one_cannot(client, work):
    job = job_of(client.post("/api/v1/runs", json={"dataset": "bronze_orders"}))
    assert client.post(f"/api/v1/jobs/{job}/cancel", json={"why": "not now"}).json()["state"] == "cancelled"
    assert work() == 0
    assert client.post(f"/api/v1/jobs/{job}/cancel", json={"why": "again"}).status_code == 409


def test_a_run_that_cannot_be_done_fails_with_the_code_of_the_command_line(client, lab: Path, work):
    (lab / "data/source_orders.csv").unlink()
    job = job_of(client.post("/api/v1/runs", json={"dataset": "bronze_orders"}))
    work()
    done = client.get(f"/api/v1/jobs/{job}").json()
    assert (done["state"], done["outcome"]["error"]["code"], done["outcome"]["exit_code"]) == ("failed", "LL-E020", 4)


def test_a_batch_behind_a_closed_gate_is_released_by_an_operator(client, lab: Path, work):
    file = lab / "people/people.yaml"
    file.write_text(file.read_text() + "quality: {max_quarantine_ratio: 0.1}\n")
    (lab / "data/people.csv").write_text("id,email,age\n3,cleo@example.com,9\n4,dan@example.com,-1\n")
    run = job_of(client.post("/api/v1/runs", json={"dataset": "silver_people"}))
    work()
    told = client.get(f"/api/v1/jobs/{run}").json()
    assert (told["state"], told["outcome"]["status"]) == ("failed", "gated")
    waiting = client.get("/api/v1/approvals").json()["items"]
    assert [(one["dataset"], one["counts"]["good"]) for one in waiting] == [("silver_people", 1)]
    url = f"/api/v1/approvals/{waiting[0]['run_id']}"
    assert client.post(f"{url}x/release", json={"why": "?"}).status_code == 404
    job = job_of(client.post(f"{url}/release", json={"why": "dan knows"}))
    work()
    assert client.get(f"/api/v1/jobs/{job}").json()["outcome"]["rows"] == 1
    assert client.get("/api/v1/approvals").json()["items"] == []
    assert client.get("/api/v1/datasets/silver_people/sample").json()["total"] == 2
    act = client.get("/api/v1/ledger/acts", params={"act": "approve"}).json()["items"][0]
    assert (act["person"], act["why"]) == (person(), "dan knows")


def test_a_dry_run_tells_the_plan_and_leaves_no_trace(client):
    plan = client.post("/api/v1/runs/dry-run", json={"dataset": "silver_orders"}).json()
    assert "latest_order_record" in plan["text"]
    assert client.get("/api/v1/jobs").json()["items"] == []
    assert len(client.get("/api/v1/runs").json()["items"]) == 4


def test_an_export_is_a_job_that_is_done_by_a_worker_and_told_with_its_history(client, lab, work):
    contract = lab / "contracts/gold/region_kpis.yaml"
    contract.write_text(contract.read_text() + "  - {type: files, target: out, when: manual}\n")
    asked = client.post("/api/v1/exports/gold_region_kpis", json={"only": ["files"], "why": "for the auditor"})
    assert asked.status_code == 202, asked.text
    assert work() == 1
    done = client.get(f"/api/v1/jobs/{asked.json()['job_id']}").json()
    assert (done["state"], done["outcome"]["exports"][0]["state"]) == ("done", "exported")
    items = {one["export"]: one for one in client.get("/api/v1/exports").json()["items"]}
    assert (items["files"]["status"], items["files"]["rows"]) == ("up to date", 4)
    assert items["snowflake"]["status"] == "not configured"
    assert client.get("/api/v1/exports/gold_region_kpis").json()["items"][0]["state"] == "done"


def test_an_export_needs_an_operator_and_must_be_there(serve, client, token):
    assert client.post("/api/v1/exports/silver_orders", json={}).status_code == 404
    assert client.post("/api/v1/exports/gold_region_kpis", json={"only": ["tape"]}).status_code == 404
    steward = serve(token=token("ada", lab="steward"))
    assert steward.post("/api/v1/exports/gold_region_kpis", json={}).status_code == 403
