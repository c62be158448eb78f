"""What a contract took from the machine that it runs on stays there: its references are told, and paths begin at home."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic import DataProcessor

API = "/api/v1"
CONTRACT = """
info: {dataset: silver_notes, domain: people, target_layer: silver, title: "Notes of ${TEAM}", owner: "${TEAM}"}
source: {path: "${LANDING}/notes.csv"}
links: [{name: towns, path: "{landing_root}/towns.csv"}]
primary_key: [id]
model: {fields: [{name: id, type: int, max: 5}, {name: note}, {name: town}]}
transformations: [{lookup: {reference: towns, on: town, value: name, field: town_name}}]
materialization: {strategy: merge, target_path: "people.silver.${TABLE}"}
exports: [{type: files, target: "${SENT}/notes"}]
"""
SYSTEM = """
system: desk
storage: {landing_root: "${LANDING}"}
"""
HELD = {"TEAM": "otters", "LANDING": "data/zone51", "TABLE": "tbl77", "SENT": "out/sent42"}


@pytest.fixture
def notes(lab: Path, duckdb_once, monkeypatch) -> Path:
    for name, value in HELD.items():
        monkeypatch.setenv(name, value)
    (lab / "people/desk").mkdir()
    (lab / "people/desk/_system.yaml").write_text(SYSTEM)
    (lab / "people/desk/notes.yaml").write_text(CONTRACT)
    (lab / "data/zone51").mkdir()
    (lab / "data/zone51/notes.csv").write_text("id,note,town\n1,fine,b\n7,late,b\n")
    (lab / "data/zone51/towns.csv").write_text("town,name\nb,Bonn\n")
    DataProcessor("people/desk/notes.yaml", duckdb_once).run()
    return lab


def test_what_variables_hold_is_in_no_answer_about_a_contract(notes, client):
    answers = {
        way: client.get(f"{API}/{way}")
        for way in (
            "estate",
            "contracts/silver_notes",
            "contracts/silver_notes/explain",
            "lineage/columns/silver_notes",
        )
    } | {
        "datasets": client.get(f"{API}/datasets"),
        "dry-run": client.post(f"{API}/runs/dry-run", json={"dataset": "silver_notes"}),
        "diff": client.post(f"{API}/contracts/silver_notes/diff", json={"text": "dataset: silver_notes\n"}),
        "exports": client.get(f"{API}/exports"),
    }
    assert {way: one.status_code for way, one in answers.items()} == dict.fromkeys(answers, 200)
    # The newest run of a dataset tells the table it wrote; that is no part of the contract.
    told = {way: one.text for way, one in answers.items() if way != "datasets"}
    found = next(one for one in answers["datasets"].json()["items"] if one["dataset"] == "silver_notes")
    told["datasets"] = str({name: value for name, value in found.items() if name != "last_run"})
    assert {(way, value) for way, text in told.items() for value in HELD.values() if value in text} == set()
    document = answers["contracts/silver_notes"].json()["document"]
    assert document["source"]["path"] == "${LANDING}/notes.csv"
    assert document["links"][0]["path"] == "${LANDING}/towns.csv"
    assert document["materialization"]["target_path"] == "people.silver.${TABLE}"
    assert (found["title"], found["owner"], found["target"]) == (
        "Notes of ${TEAM}", "${TEAM}", "people.silver.${TABLE}"
    )  # fmt: skip
    assert "merge into people.silver.${TABLE}" in answers["dry-run"].json()["text"]
    exported = [one["target"] for one in answers["exports"].json()["items"] if one["dataset"] == "silver_notes"]
    assert exported == ["${SENT}/notes"]


def test_a_posted_contract_with_references_is_validated_explained_and_compared_by_them(notes, client):
    text = CONTRACT.replace("{landing_root}", "${LANDING}")
    valid = client.post(f"{API}/contracts/validate", json={"text": text}).json()
    assert (valid["valid"], valid["diagnostics"]) == (True, [])
    plan = client.post(f"{API}/contracts/explain", json={"text": text})
    assert "merge into people.silver.${TABLE}" in plan.json()["text"]
    changed = text.replace("people.silver.${TABLE}", "people.silver.${OTHER}")
    changes = client.post(f"{API}/contracts/silver_notes/diff", json={"text": changed}).json()["changes"]
    assert [(one["path"], one["before"], one["after"]) for one in changes if "target" in one["path"]] == [
        ("materialization.target_path", "people.silver.${TABLE}", "people.silver.${OTHER}")
    ]


def test_paths_begin_at_the_folder_of_the_service_and_lead_back_to_their_files(notes, client, work):
    client.post(f"{API}/runs", json={"dataset": "silver_notes", "why": "again"})
    work()
    queue = f"{API}/quarantine/silver_notes"
    row = client.get(f"{queue}/rows").json()["items"][0]
    run = client.get(f"{API}/runs").json()["items"][0]
    (notes / "data/zone51/notes.csv").rename(notes / "data/zone51/gone.csv")
    gone = client.get(f"{API}/lineage/rows/silver_notes/chain", params={"key": "1"})
    (notes / "data/zone51/gone.csv").rename(notes / "data/zone51/notes.csv")
    chain = client.get(f"{API}/lineage/rows/silver_notes/chain", params={"key": "1"})
    answers = [
        gone, chain, *(client.get(f"{API}/{way}") for way in (
            "runs", f"runs/{run['run_id']}", "jobs", "ledger/acts", "datasets", "quarantine/silver_notes/facets",
            "quarantine/silver_notes/rows", f"quarantine/silver_notes/rows/{row['row_id']}",
            f"quarantine/silver_notes/rows/{row['row_id']}/explain", "lineage/rows/silver_notes?key=1",
        )),
    ]  # fmt: skip
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert [str(one.url) for one in answers if str(notes) in one.text] == []
    file = chain.json()["sources"][0]["file"]
    assert file == row["source"] == "data/zone51/notes.csv"
    source = client.get(f"{API}/lineage/source/silver_notes", params={"file": file, "line": 2})
    assert (source.json()["file"], source.json()["lines"][0]["values"]["note"]) == (file, "fine")
    assert client.get(f"{queue}/facets", params={"source": file}).json()["total"] == 1
    for name in ("../../etc/passwd", "/etc/passwd", "x" * 1_500, "a\0b", "."):
        odd = client.get(f"{API}/lineage/source/silver_notes", params={"file": name, "line": 1})
        assert odd.status_code in (404, 422)
