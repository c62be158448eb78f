"""Look before you leap: what a replay or a discard would do, and that it is refused where that has changed."""

from __future__ import annotations

from pathlib import Path

QUEUE = "/api/v1/quarantine/silver_orders"


def files(lab: Path) -> dict[str, int]:
    return {
        str(path): path.stat().st_mtime_ns for path in lab.rglob("*") if path.is_file() and "ledger" not in path.name
    }


def loosen(lab: Path) -> None:
    """The contract now takes orders without a customer."""
    contract = lab / "contracts/silver/orders.yaml"
    text = contract.read_text()
    assert "not_null: customer_id" in text
    contract.write_text(text.replace("not_null: customer_id", "sql: order_id IS NOT NULL"))


def test_a_preview_of_a_replay_tells_which_rows_would_pass_now_and_why_others_would_not(client, lab):
    loosen(lab)
    before = files(lab)
    found = client.post(f"{QUEUE}/replay/preview", json={"everything": True}).json()
    assert (found["chosen"], found["passed"], found["failed"]) == (4, 1, 2)
    # Alone, the stale line would be the newest of its order: a replay must not publish it beside the one that won.
    assert list(found["left_out"].values()) == [1]
    outcomes = {row["values"]["order_id"]: (row["outcome"], row["was"], row["now"]) for row in found["rows"]}
    assert outcomes == {
        "LO-1003": ("passed", ["missing_customer"], []),
        "LO-1005": ("failed", ["missing_region"], ["missing_region"]),
        "LO-1007": ("failed", ["non_positive_amount"], ["non_positive_amount"]),
        "LO-1008": ("left_out", ["stale_duplicate"], []),
    }
    assert {reason["rule"]: reason["rows"] for reason in found["reasons"]} == {
        "region_present": 1, "positive_amount": 1,
    }  # fmt: skip
    assert found["downstreams"] == ["gold_region_kpis"]
    assert files(lab) == before


def test_what_a_preview_counts_is_what_the_replay_then_does(client, lab, work):
    loosen(lab)
    asked = {"rules": ["missing_customer"]}
    seen = client.post(f"{QUEUE}/replay/preview", json=asked).json()
    job = client.post(f"{QUEUE}/replay", json={**asked, "why": "mended", "token": seen["token"]}).json()
    assert work() == 1
    done = client.get(f"/api/v1/jobs/{job['job_id']}").json()["outcome"]
    assert (
        (done["chosen"], done["passed"], done["failed"])
        == (seen["chosen"], seen["passed"], seen["failed"])
        == (1, 1, 0)
    )


def test_a_preview_of_a_discard_tells_the_rows_and_changes_nothing(client, lab):
    before = files(lab)
    found = client.post(f"{QUEUE}/discard/preview", json={"rules": ["stale_duplicate"]}).json()
    assert (found["chosen"], [row["outcome"] for row in found["rows"]]) == (1, ["discarded"])
    assert found["reasons"][0]["rule"] == "stale_duplicate"
    assert files(lab) == before


def test_an_action_whose_preview_is_stale_is_refused_when_asked_for_and_when_done(client, lab, work):
    asked = {"rules": ["missing_region"]}
    seen = client.post(f"{QUEUE}/discard/preview", json=asked).json()
    first = client.post(f"{QUEUE}/discard", json={**asked, "why": "test data", "token": seen["token"]})
    second = client.post(f"{QUEUE}/discard", json={"rules": ["stale_duplicate"], "why": "overtaken"})
    assert (first.status_code, second.status_code) == (202, 202)
    assert work() == 2  # the first one changes the queue
    late = client.post(f"{QUEUE}/discard", json={**asked, "why": "test data", "token": seen["token"]})
    assert (late.status_code, late.json()["code"]) == (409, "LL-E043")
    other = client.post(f"{QUEUE}/replay/preview", json={"rules": ["missing_customer"]}).json()
    # A token is for its own choice, its own action, and its own contract.
    for body in ({"rules": ["missing_region"]}, {"everything": True}):
        refused = client.post(f"{QUEUE}/replay", json={**body, "why": "x", "token": other["token"]})
        assert refused.status_code == 409
    loosen(lab)
    fresh = client.post(f"{QUEUE}/replay/preview", json={"rules": ["missing_customer"]}).json()
    assert fresh["token"] != other["token"]


def test_work_that_waited_behind_a_change_does_nothing(client, lab, work):
    asked = {"rules": ["missing_region"]}
    seen = client.post(f"{QUEUE}/discard/preview", json=asked).json()
    client.post(f"{QUEUE}/discard", json={"rules": ["stale_duplicate"], "why": "overtaken"})
    late = client.post(f"{QUEUE}/discard", json={**asked, "why": "test data", "token": seen["token"]}).json()
    assert work() == 2
    job = client.get(f"/api/v1/jobs/{late['job_id']}").json()
    assert (job["state"], job["outcome"]["error"]["code"]) == ("failed", "LL-E043")
    assert client.get(f"{QUEUE}/facets").json()["counts"]["state"]["discarded"] == 1


def test_a_choice_of_very_many_rows_is_previewed_by_a_worker(client, lab, work, monkeypatch):
    monkeypatch.setattr("lakelogic.actions.operate.previews.MOST_AT_ONCE", 2)
    asked = client.post(f"{QUEUE}/replay/preview", json={"everything": True})
    assert (asked.status_code, asked.json()["kind"]) == (202, "preview")
    assert work() == 1
    job = client.get(f"/api/v1/jobs/{asked.json()['job_id']}").json()
    assert (job["state"], job["outcome"]["chosen"], job["outcome"]["failed"]) == ("done", 4, 3)


def test_only_a_steward_may_preview_and_something_must_be_chosen(client, serve, token):
    assert client.post(f"{QUEUE}/replay/preview", json={}).status_code == 400
    viewer = serve(token("vera", lab="viewer"))
    assert viewer.post(f"{QUEUE}/replay/preview", json={"everything": True}).status_code == 403
