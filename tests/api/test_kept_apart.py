"""What must not be told: text that is masked one table later, what lies in other domains, and an open door at the end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.operate.access import check_token, list_tokens, revoke_token
from lakelogic.actions.operate.remask import remask
from lakelogic.api.auth import Caller
from lakelogic.api.routes.jobs import _stream
from lakelogic.api.settings import Settings, check_bind
from lakelogic.errors import UsageError
from lakelogic.run.surroundings import Surroundings

API = "/api/v1"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
# Everything in clear, then the same masked, in another domain: the mail is the key, and one row is too young.
RAW = """
info: {dataset: bronze_members, domain: raw, target_layer: bronze}
source: {path: data/members.csv}
primary_key: [mail]
model:
  fields: [{name: mail, required: true}, {name: age, type: int, min: 0}]
materialization: {strategy: merge, target_path: raw.bronze.members}
"""
MASKED = """
info: {dataset: silver_members, domain: clubs, target_layer: silver}
source: {type: table, path: raw.bronze.members}
upstream: [bronze_members]
primary_key: [age]
model:
  fields: [{name: mail, pii: true, masking: redact}, {name: age, type: int}]
materialization: {strategy: merge, target_path: clubs.silver.members}
"""


@pytest.fixture
def members(lab: Path, duckdb_once: Any) -> Path:
    (lab / "data/members.csv").write_text("mail,age\nada@example.com,36\nbob@example.com,-4\n")
    for name, text in (("raw", RAW), ("masked", MASKED)):
        (lab / f"people/{name}.yaml").write_text(text)
        DataProcessor(f"people/{name}.yaml", duckdb_once).run()
    return lab


def test_what_the_next_table_masks_is_hidden_in_every_answer_about_the_one_before(members, client):
    queue = f"{API}/quarantine/bronze_members"
    row = client.get(f"{queue}/rows").json()["items"][0]["row_id"]
    everything = {"everything": True}
    answers = [
        client.get(f"{API}/datasets/bronze_members/sample"),
        client.get("/api/runtime/table-preview/bronze"),
        client.get("/api/runtime/quality-report"),
        client.get(f"{queue}/rows/{row}"),
        client.get(f"{queue}/rows/{row}/explain"),
        client.post(f"{queue}/discard/preview", json=everything),
        client.post(f"{queue}/replay/preview", json=everything),
        client.get(f"{API}/lineage/rows/silver_members/upstream", params={"key": "36"}),
        client.get(f"{API}/lineage/rows/silver_members/chain", params={"key": "36"}),
        client.get(f"{API}/lineage/rows/bronze_members/upstream", params={"at": "0-0"}),
    ]
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert [at for at, one in enumerate(answers) if "example.com" in one.text] == []
    shown = answers[0].json()
    assert (shown["hidden"], [one["mail"] for one in shown["rows"]]) == (["mail"], ["••••"])
    assert answers[3].json()["values"]["mail"] == "••••"
    assert answers[7].json()["upstreams"][0]["rows"][0]["key"] is None


# The address goes into an envelope before the next table masks it; that one is copied, counted and let go of.
PACKED = """
info: {dataset: bronze_packed, domain: raw, target_layer: bronze}
source: {path: data/packed.csv}
primary_key: [id]
model: {fields: [{name: id, type: int}, {name: mail}, {name: town}]}
transformations:
  - {sql: "to_json(named_struct('mail', mail, 'town', town)) AS envelope"}
  - {sql: "mail IS NULL AS has_none"}
materialization: {strategy: merge, target_path: raw.bronze.packed}
"""
UNPACKED = """
info: {dataset: silver_packed, domain: clubs, target_layer: silver}
source: {type: table, path: raw.bronze.packed}
primary_key: [id]
model:
  fields:
    - {name: id, type: int, max: 5}
    - {name: mail, pii: true, masking: redact}
    - {name: envelope}
    - {name: kept, pii: false}
transformations: [{sql: "upper(envelope) AS kept"}]
materialization: {strategy: merge, target_path: clubs.silver.packed}
"""
COUNTED = """
info: {dataset: gold_packed, domain: clubs, target_layer: gold}
source: {type: table, path: raw.bronze.packed}
primary_key: [town]
model: {fields: [{name: town}, {name: people, type: bigint}, {name: first}]}
transformations:
  - {sql: "SELECT town, count(DISTINCT mail) AS people, min(mail) AS first FROM source GROUP BY town"}
materialization: {strategy: merge, target_path: clubs.gold.packed}
"""


def test_nobody_learns_by_guessing_who_is_in_a_table_whose_key_is_hidden(members, client):
    for guess in ("ada@example.com", "nobody@example.com"):
        for way in ("", "/upstream", "/chain"):
            answer = client.get(f"{API}/lineage/rows/bronze_members{way}", params={"key": guess})
            assert answer.status_code == 400
            assert answer.json()["title"] == "`mail` is hidden in `bronze_members`, so no row is looked for by it."


def test_what_holds_a_masked_value_under_another_name_is_hidden_with_it(lab, client, duckdb_once):
    (lab / "data/packed.csv").write_text("id,mail,town\n1,ada@example.com,Bonn\n9,eve@example.com,Kiel\n")
    for name, text in (("packed", PACKED), ("unpacked", UNPACKED), ("counted", COUNTED)):
        (lab / f"people/{name}.yaml").write_text(text)
        DataProcessor(f"people/{name}.yaml", duckdb_once).run()

    def sample(dataset):
        rows = client.get(f"{API}/datasets/{dataset}/sample").json()["rows"]
        return min(rows, key=str)

    assert sample("bronze_packed") == {
        "id": 1, "mail": "••••", "town": "Bonn", "envelope": "••••", "has_none": False
    }  # fmt: skip
    # Its author has said that `kept` holds nothing personal, and named neither `town` nor `has_none`.
    assert sample("silver_packed") == {
        "id": 1, "mail": "***", "envelope": "••••",
        "kept": '{"MAIL":"ADA@EXAMPLE.COM","TOWN":"BONN"}',
    }  # fmt: skip
    assert sample("gold_packed") == {"town": "Bonn", "people": 1, "first": "••••"}
    row = client.get(f"{API}/quarantine/silver_packed/rows").json()["items"][0]["row_id"]
    for told in (
        client.get("/api/runtime/quality-report"),
        client.get(f"{API}/quarantine/silver_packed/rows/{row}"),
        client.get(f"{API}/quarantine/silver_packed/rows/{row}/explain"),
        client.get(f"{API}/lineage/rows/silver_packed/chain", params={"key": "1"}),
        client.get(f"{API}/lineage/rows/bronze_packed", params={"key": "1"}),
    ):
        assert told.status_code == 200
        assert "example.com" not in told.text


def test_a_preview_that_a_worker_made_hides_the_same(members, client, work, monkeypatch):
    monkeypatch.setattr("lakelogic.actions.operate.previews.MOST_AT_ONCE", 0)
    job = client.post(f"{API}/quarantine/bronze_members/replay/preview", json={"everything": True}).json()
    assert work() == 1
    done = client.get(f"{API}/jobs/{job['job_id']}")
    assert (done.json()["outcome"]["chosen"], "example.com" in done.text) == (1, False)
    assert "example.com" not in client.get(f"{API}/jobs").text


def test_neighbours_counts_and_registries_of_other_domains_do_not_exist(members, serve, token, client):
    assert client.get(f"{API}/datasets/bronze_members").json()["downstreams"] == ["silver_members"]
    raw, clubs = serve(token("rae", raw="steward")), serve(token("cleo", clubs="viewer"))
    assert raw.get(f"{API}/datasets/bronze_members").json()["downstreams"] == []
    assert clubs.get(f"{API}/datasets/silver_members").json()["upstreams"] == []
    graph = raw.get(f"{API}/lineage", params={"focus": "bronze_members", "down": 0}).json()
    assert graph["datasets"][0]["hidden"] == {"upstream": 0, "downstream": 0}
    preview = raw.post(f"{API}/quarantine/bronze_members/discard/preview", json={"everything": True}).json()
    assert (preview["chosen"], preview["downstreams"]) == (1, [])
    estate = raw.get(f"{API}/estate").json()
    assert (estate["summary"].partition(":")[0], estate["registries"]) == ("1 dataset (1 bronze)", [])
    assert serve(token("lea", lab="viewer")).get(f"{API}/estate").json()["registries"] == ["contracts/_registry.yaml"]


def test_the_beginning_of_an_id_tells_nothing_of_runs_elsewhere(serve, token):
    runs = serve(token("ada", everywhere="viewer")).get(f"{API}/runs").json()["items"]
    theirs = next(one["run_id"] for one in runs if one["domain"] == "lab")
    stranger = serve(token("eve", people="viewer"))
    told = {stranger.get(f"{API}/runs/{asked}").text.replace(asked, "…")[:60] for asked in ("run-20", theirs, "run-x")}
    assert len(told) == 1
    assert "There is no run `…`." in told.pop()


def test_the_last_token_to_go_leaves_the_door_shut(serve, token):
    assert serve().get(f"{API}/me").status_code == 200
    token("ada", everywhere="viewer")
    revoke_token(Surroundings.here(), list_tokens(Surroundings.here())[0].token_id)
    assert serve().get(f"{API}/me").status_code == 401


def test_a_number_that_nobody_could_read_is_a_problem_of_the_contract(client):
    for digits in ("9" * 5_000, "0x" + "f" * 5_000):
        answer = client.post(f"{API}/contracts/validate", json={"text": f"version: {digits}\n"})
        assert (answer.status_code, answer.json()["valid"]) == (200, False)
        assert "digits" in answer.json()["diagnostics"][0]["message"]


def test_made_up_tokens_share_the_rate_of_their_address_however_often_each_is_sent(serve, token):
    let_in = token("ada", everywhere="viewer")
    few = serve(requests_per_second=0.01, burst=4)

    def statuses(tokens, path):
        return [few.get(path, headers={"Authorization": f"Bearer {one}"}).status_code for one in tokens]

    assert statuses([let_in], f"{API}/me") == [200]
    # Also where nobody looks at the token.
    assert statuses(["a", "a", "b"], "/health") == [200, 200, 200]
    assert statuses(["a", "b", "c"], "/health") == [429, 429, 429]
    # Whoever was let in before has a rate of their own; a made-up token in front of theirs does not help it.
    assert statuses([let_in], f"{API}/me") == [200]
    both = [("Authorization", "Bearer a"), ("Authorization", f"Bearer {let_in}")]
    assert few.get(f"{API}/me", headers=both).status_code == 429


def test_a_person_has_one_rate_however_many_tokens_they_have_and_however_they_write_them(serve, token):
    written = [f"{' ' * at}{token('ada', everywhere='viewer')}" for at in range(2)]
    few = serve(requests_per_second=0.01, burst=3)
    asked = [few.get(f"{API}/me", headers={"Authorization": f"Bearer {one}"}).status_code for one in written * 4]
    # The first of each takes from the address, the others from the person.
    assert asked == [200, 200, 200, 200, 200, 429, 429, 429]


def test_a_key_that_was_used_for_other_choices_is_refused(client):
    way, key = f"{API}/quarantine/silver_orders/discard", {"Idempotency-Key": "click-1"}
    body = {"why": "w", "rules": ["stale_duplicate"]}
    first, second = (client.post(way, json=body, headers=key) for _ in range(2))
    assert first.json()["job_id"] == second.json()["job_id"]
    other = client.post(way, json={**body, "rules": ["missing_region"]}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "LL-E041")


def test_the_key_of_one_person_is_never_that_of_another(serve, token):
    way, body = f"{API}/quarantine/silver_orders/discard", {"why": "w", "rules": ["stale_duplicate"]}
    jobs = [
        serve(token(person, everywhere="steward")).post(way, json=body, headers={"Idempotency-Key": key}).json()
        for person, key in (("idp", "ada:1"), ("idp:ada", "1"))
    ]
    assert [one["person"] for one in jobs] == ["idp", "idp:ada"]
    assert jobs[0]["job_id"] != jobs[1]["job_id"]


def test_a_stream_tells_nothing_more_once_its_token_is_revoked(serve, token):
    text = token("ada", everywhere="operator")
    client = serve(text)
    client.post(f"{API}/runs", json={"dataset": "bronze_orders"})
    assert "bronze_orders" in client.get(f"{API}/events").text

    async def told() -> list[str]:
        caller = Caller("ada", {"*": "operator"})
        stream = _stream(client.app.state.service, caller, f"Bearer {text}", 0, None)
        first = await anext(stream)
        revoke_token(Surroundings.here(), list_tokens(Surroundings.here())[0].token_id)
        return [first, *[one async for one in stream]]

    assert asyncio.run(told()) == ["retry: 2000\n\n"]
    assert check_token(Surroundings.here(), text) is None


def test_behind_a_proxy_nobody_is_let_in_without_a_token(serve):
    behind = serve(allowed_hosts=("lake.example.com",))
    for host in ("lake.example.com", "127.0.0.1"):
        assert behind.get("/api/v1/me", headers={"Host": host}).status_code == 401
    with pytest.raises(UsageError, match=r"Nobody would be asked who they are at lake\.example\.com"):
        check_bind(Settings(allowed_hosts=("lake.example.com",)), has_tokens=False)
    check_bind(Settings(allowed_hosts=("lake.example.com",)), has_tokens=True)


BREAKS = {
    "a typo in a key": lambda text: text.replace("masking: redact", "maskng: redact"),
    "a document that is none": lambda text: text + "\n  - [",
    "a step that does not compile": lambda text: text + 'transformations: [{sql: "no_such_column AS x"}]\n',
    "a source that nobody makes": lambda text: text.replace("path: raw.bronze.members", "path: raw.bronze.membrs"),
}


def told_of(client: Any, queue: str) -> list[Any]:
    row = client.get(f"{queue}/rows").json()["items"][0]["row_id"]
    return [
        client.get(f"{API}/datasets/bronze_members/sample"),
        client.get("/api/runtime/table-preview/bronze"),
        client.get("/api/runtime/quality-report"),
        client.get(f"{queue}/rows/{row}"),
        client.get(f"{queue}/rows/{row}/explain"),
        client.post(f"{queue}/replay/preview", json={"everything": True}),
        client.get(f"{API}/lineage/rows/bronze_members/upstream", params={"at": "0-0"}),
        client.get(f"{API}/lineage/rows/bronze_members/chain", params={"at": "0-0"}),
    ]


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("was_seen", [True, False], ids=["seen before", "never seen"])
def test_while_the_masking_contract_is_broken_what_was_hidden_stays_hidden(members, serve, broken, was_seen):
    if was_seen:
        assert "example.com" not in serve().get(f"{API}/datasets/bronze_members/sample").text
    (members / "people/masked.yaml").write_text(BREAKS[broken](MASKED))
    client = serve(most_body_bytes=9_999)  # another service, which knows only what the ledger does
    answers = told_of(client, f"{API}/quarantine/bronze_members")
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert [at for at, one in enumerate(answers) if "example.com" in one.text] == []
    answer = client.get(f"{API}/lineage/rows/bronze_members", params={"key": "ada@example.com"})
    assert answer.status_code == 400
    # What was known is hidden as before; where nothing is known, everything is.
    known = was_seen or broken == "a step that does not compile"
    assert answers[0].json()["rows"]
    assert answers[0].json()["hidden"] == (["mail"] if known else ["age", "mail"])


def test_a_contract_that_is_taken_away_hides_nothing_any_more(members, serve):
    assert "example.com" not in serve().get(f"{API}/datasets/bronze_members/sample").text
    (members / "people/masked.yaml").unlink()
    shown = serve(most_body_bytes=9_998).get(f"{API}/datasets/bronze_members/sample").json()
    assert shown["hidden"] == []


def clear_mail(client: Any) -> list[int]:
    """Which answers about the raw table tell the mail in clear."""
    answers = told_of(client, f"{API}/quarantine/bronze_members")
    assert [one.status_code for one in answers] == [200] * len(answers)
    return [at for at, one in enumerate(answers) if "example.com" in one.text]


LISTED = """
version: 1
entries:
  - {entity: members, contracts: {bronze: raw.yaml, silver: masked.yaml}}
"""


@pytest.mark.parametrize("was_seen", [True, False], ids=["seen before", "never seen"])
def test_a_file_that_is_missing_while_a_registry_names_it_hides_until_it_is_taken_out_there_too(
    members, serve, was_seen
):
    registry = members / "people/_registry.yaml"
    registry.write_text(LISTED)
    if was_seen:
        assert clear_mail(serve()) == []
    (members / "people/masked.yaml").unlink()
    for size in (9_996, 9_995):  # a second look finds the same
        client = serve(most_body_bytes=size)
        assert clear_mail(client) == []
        # What was known is hidden as before; what was never seen could mask anything.
        hidden = client.get(f"{API}/datasets/bronze_members/sample").json()["hidden"]
        assert hidden == (["mail"] if was_seen else ["age", "mail"])
    registry.write_text(LISTED.replace(", silver: masked.yaml", ""))
    assert serve(most_body_bytes=9_994).get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == []


WITHOUT_UPSTREAM = MASKED.replace("upstream: [bronze_members]\n", "")
LOOKED_UP = """
info: {dataset: silver_visits, domain: clubs, target_layer: silver}
source: {path: data/visits.csv}
primary_key: [visit]
links: [{name: who, table: raw.bronze.members}]
model: {fields: [{name: visit, type: int}, {name: age, type: int}, {name: mail, pii: true, masking: redact}]}
transformations: [{lookup: {field: mail, reference: who, "on": age, key: age, value: mail}}]
materialization: {strategy: merge, target_path: clubs.silver.visits}
"""
LOST = {
    "a typo in the source": ("masked", WITHOUT_UPSTREAM, "raw.bronze.members", "raw.bronze.membrs"),
    "files that are not there": (
        "masked", WITHOUT_UPSTREAM, "{type: table, path: raw.bronze.members}", "{path: data/none/*.csv}"
    ),
    "a source that is taken out": ("masked", WITHOUT_UPSTREAM, "source: {type: table, path: raw.bronze.members}\n", ""),
    "a typo in a link": ("masked", LOOKED_UP, "raw.bronze.members", "raw.bronze.membrs"),
    "a raw table that is made elsewhere": ("raw", RAW, "raw.bronze.members}", "raw.bronze.moved}"),
}  # fmt: skip


@pytest.mark.parametrize("lost", LOST)
def test_a_contract_that_lost_what_it_read_hides_what_it_hid(members, serve, lost):
    name, text, before, after = LOST[lost]
    (members / "data/visits.csv").write_text("visit,age\n1,36\n")
    (members / "people/masked.yaml").write_text(text if name == "masked" else WITHOUT_UPSTREAM)
    assert serve().get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == ["mail"]
    file = members / f"people/{name}.yaml"
    file.write_text(changed := text.replace(before, after))
    assert changed != text
    for size in (9_993, 9_992):  # what the first look at it remembers does not help the second
        client = serve(most_body_bytes=size)
        rows = client.get(f"{API}/quarantine/bronze_members/rows").text
        report = client.get("/api/runtime/quality-report").text
        assert "example.com" not in rows + report
        if name == "masked":
            assert clear_mail(client) == []
            assert client.get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == ["mail"]
    file.write_text(text)
    assert serve(most_body_bytes=9_991).get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == ["mail"]


def test_a_table_that_was_never_there_hides_the_one_that_has_nearly_its_name(members, serve):
    (members / "people/masked.yaml").write_text(WITHOUT_UPSTREAM.replace("raw.bronze.members", "raw.bronze.membrs"))
    for size in (9_986, 9_985):
        client = serve(most_body_bytes=size)
        assert client.get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == ["age", "mail"]
        assert client.get(f"{API}/datasets/bronze_orders/sample").json()["hidden"] == []


def test_what_a_contract_reads_instead_counts_where_it_is_there(members, serve, duckdb_once):
    (members / "people/masked.yaml").write_text(WITHOUT_UPSTREAM)
    assert serve().get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == ["mail"]
    # Both ends of the way are called otherwise: the mask counts for the new name.
    (members / "people/raw.yaml").write_text(RAW.replace("bronze.members", "bronze.renamed"))
    (members / "people/masked.yaml").write_text(WITHOUT_UPSTREAM.replace("bronze.members", "bronze.renamed"))
    DataProcessor("people/raw.yaml", duckdb_once).run()
    renamed = serve(most_body_bytes=9_990).get(f"{API}/datasets/bronze_members/sample").json()
    assert (renamed["hidden"], [one["mail"] for one in renamed["rows"]]) == (["mail"], ["••••"])
    # A file that is there: the raw table flows into nothing that masks.
    elsewhere = WITHOUT_UPSTREAM.replace("{type: table, path: raw.bronze.members}", "{path: data/guests.csv}")
    (members / "data/guests.csv").write_text("mail,age\neve@example.com,41\n")
    (members / "people/masked.yaml").write_text(elsewhere)
    assert serve(most_body_bytes=9_989).get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == []


def test_a_mask_two_tables_down_still_hides_while_the_table_between_lost_its_source(members, serve):
    between = WITHOUT_UPSTREAM.replace(", pii: true, masking: redact", "")
    last = (
        WITHOUT_UPSTREAM.replace("silver_members", "gold_members").replace("target_layer: silver", "target_layer: gold")
        .replace("clubs.silver.members", "clubs.gold.members").replace("raw.bronze.members", "clubs.silver.members")
    )  # fmt: skip
    (members / "people/masked.yaml").write_text(between)
    (members / "people/last.yaml").write_text(last)
    assert clear_mail(serve()) == []
    (members / "people/masked.yaml").write_text(between.replace("raw.bronze.members", "raw.bronze.membrs"))
    for size in (9_988, 9_987):
        assert clear_mail(serve(most_body_bytes=size)) == []


SCRATCH = RAW.replace(
    "materialization",
    "transformations:\n  - {sql: \"lower(mail) AS scratch, length(mail) AS size\", phase: pre}\n"
    "  - {drop: [scratch, size]}\nmaterialization",
)  # fmt: skip


def test_scratch_columns_that_only_bad_rows_have_are_hidden_too(members, client, duckdb_once):
    (members / "people/raw.yaml").write_text(SCRATCH)
    DataProcessor("people/raw.yaml", duckdb_once).run()
    answers = told_of(client, f"{API}/quarantine/bronze_members")
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert [at for at, one in enumerate(answers) if "example.com" in one.text] == []


def test_rows_from_before_a_mask_was_declared_are_hidden(lab, client, duckdb_once):
    clear = MASKED.replace(", pii: true, masking: redact", "").replace("silver_members", "silver_old")
    contract = clear.replace("raw.bronze.members", "raw.bronze.old").replace("clubs.silver.members", "clubs.silver.old")
    source = RAW.replace("bronze_members", "bronze_old").replace("raw.bronze.members", "raw.bronze.old")
    contract = contract.replace("bronze_members", "bronze_old").replace("type: int}]", "type: int, max: 90}]")
    (lab / "data/members.csv").write_text("mail,age\nada@example.com,36\nbob@example.com,99\n")
    for name, text in (("raw", source), ("masked", contract)):
        (lab / f"people/{name}.yaml").write_text(text)
        DataProcessor(f"people/{name}.yaml", duckdb_once).run()
    for mask in ("redact", "hash", "encrypt", "partial", "nullify"):
        masked = contract.replace("{name: mail}", f"{{name: mail, pii: true, masking: {mask}}}")
        (lab / "people/masked.yaml").write_text(masked)
        client.app.state.service.served._looked = float("-inf")
        row = client.get(f"{API}/quarantine/silver_old/rows").json()["items"][0]["row_id"]
        answers = [
            client.get(f"{API}/datasets/silver_old/sample"),
            client.get("/api/runtime/quality-report"),
            client.get(f"{API}/quarantine/silver_old/rows/{row}"),
            client.get(f"{API}/quarantine/silver_old/rows/{row}/explain"),
            client.get(f"{API}/lineage/rows/silver_old/upstream", params={"key": "36"}),
        ]
        # A row is not judged again before it is masked; who asks for that is told what to do.
        assert [one.status_code for one in answers] == [200, 200, 200, 400, 200]
        assert "lakelogic remask" in answers[3].json()["hint"]
        assert [(mask, at) for at, one in enumerate(answers) if "example.com" in one.text] == []


def test_the_figure_of_a_rule_over_a_hidden_column_is_hidden(lab, client, duckdb_once):
    rules = (
        "quality:\n  dataset_rules:\n    - {name: highest, sql: 'max(ssn)', must_be_at_most: 5}\n"
        "    - {name: eldest, sql: 'max(age)', must_be_at_most: 900}\n"
    )
    raw = (
        RAW.replace("members", "numbers").replace("primary_key: [mail]", "primary_key: [age]")
        .replace("{name: mail, required: true}", "{name: ssn, type: int}") + rules
    )  # fmt: skip
    masked = MASKED.replace("members", "numbers").replace("{name: mail,", "{name: ssn,")
    (lab / "data/numbers.csv").write_text("ssn,age\n123456789,36\n")
    for name, text in (("raw", raw), ("masked", masked)):
        (lab / f"people/{name}.yaml").write_text(text)
    run = DataProcessor("people/raw.yaml", duckdb_once).run()
    assert run.status == "gated"
    answers = [
        client.get(f"{API}/runs"),
        client.get(f"{API}/runs/{run.run_id}"),
        client.get(f"{API}/runs/{run.run_id}/account"),
        client.get(f"{API}/datasets"),
        client.get(f"{API}/datasets/bronze_numbers"),
        client.get(f"{API}/approvals"),
    ]
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert [at for at, one in enumerate(answers) if "123456789" in one.text] == []
    figures = {one["name"]: one["value"] for one in answers[1].json()["dataset_rules"]}
    assert figures == {"highest": "••••", "eldest": 36}


@pytest.mark.parametrize("broken", list(BREAKS)[:2])
def test_what_lies_in_another_domain_stays_there_while_its_contract_is_broken(members, serve, token, broken):
    everybody = serve(token("ada", everywhere="viewer"))
    assert everybody.get(f"{API}/datasets/bronze_members/sample").status_code == 200
    breaking = {"a typo in a key": lambda text: text.replace("required", "requird")}.get(broken, BREAKS[broken])
    (members / "people/raw.yaml").write_text(breaking(RAW))
    few = serve(token("guest", clubs="viewer"), most_body_bytes=9_997)
    answers = [
        few.get(f"{API}/lineage/rows/silver_members/upstream", params={"key": "36"}),
        few.get(f"{API}/lineage/rows/silver_members/chain", params={"key": "36"}),
        few.get(f"{API}/lineage/columns/silver_members"),
        few.get(f"{API}/lineage/columns/silver_members", params={"column": "age"}),
        few.get(f"{API}/estate"),
        few.get(f"{API}/lineage"),
    ]
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert answers[0].json()["upstreams"] == []
    assert [at for at, one in enumerate(answers) if "bronze_members" in one.text] == []
    assert "ada@example.com" not in "".join(one.text for one in answers)


def test_what_was_made_of_values_that_are_masked_above_by_now_is_hidden(lab, serve, duckdb_once, monkeypatch):
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    raw = RAW.replace("bronze_members", "bronze_late").replace("raw.bronze.members", "raw.bronze.late")
    silver = (
        MASKED.replace(", pii: true, masking: redact", "").replace("silver_members", "silver_late")
        .replace("raw.bronze.members", "raw.bronze.late").replace("clubs.silver.members", "clubs.silver.late")
        .replace("bronze_members", "bronze_late").replace("type: int}]", "type: int, max: 90}]")
    )  # fmt: skip
    (lab / "data/members.csv").write_text("mail,age\nada@example.com,36\nbob@example.com,99\n")
    for name, text in (("raw", raw), ("masked", silver)):
        (lab / f"people/{name}.yaml").write_text(text)
        DataProcessor(f"people/{name}.yaml", duckdb_once).run()
    told = [f"{API}/datasets/silver_late/sample", "/api/runtime/quality-report"]
    assert all("example.com" in serve().get(url).text for url in told)
    hiding = "{name: mail, required: true, pii: true, masking: encrypt_deterministic}"
    (lab / "people/raw.yaml").write_text(raw.replace("{name: mail, required: true}", hiding))
    remask(Surroundings.here(), "people/raw.yaml", why="personal")
    client = serve(most_body_bytes=9_997)
    row = client.get(f"{API}/quarantine/silver_late/rows").json()["items"][0]["row_id"]
    answers = [client.get(url) for url in (*told, f"{API}/quarantine/silver_late/rows/{row}")]
    assert [one.status_code for one in answers] == [200] * len(answers)
    assert [at for at, one in enumerate(answers) if "example.com" in one.text] == []
    assert answers[0].json()["hidden"] == ["mail"]


@pytest.mark.parametrize("moved", ["in its file", "in a new file", "in a new file, with the table gone"])
def test_a_raw_dataset_that_is_called_otherwise_in_name_and_place_is_hidden_as_before(
    members, serve, moved, duckdb_once
):
    (members / "people/masked.yaml").write_text(WITHOUT_UPSTREAM)
    assert clear_mail(serve()) == []
    other = RAW.replace("bronze_members", "bronze_people").replace("bronze.members", "bronze.people")
    file = members / "people/raw.yaml"
    if moved != "in its file":
        file.unlink()
        file = members / "people/renamed.yaml"
    if moved.endswith("gone"):
        (members / "lakelogic_warehouse/raw/bronze/members").rename(members / "gone")
    file.write_text(other)
    DataProcessor(str(file), duckdb_once).run()
    for size in (9_984, 9_983):  # what the first look at it remembers does not help the second
        shown = serve(most_body_bytes=size).get(f"{API}/datasets/bronze_people/sample").json()
        assert (shown["hidden"], {row["mail"] for row in shown["rows"]}) == (["mail"], {"••••"})
    # The masking contract reads the new place: hidden by what it says now. It reads other rows: nothing is hidden.
    (members / "people/masked.yaml").write_text(WITHOUT_UPSTREAM.replace("bronze.members", "bronze.people"))
    assert serve(most_body_bytes=9_982).get(f"{API}/datasets/bronze_people/sample").json()["hidden"] == ["mail"]
    (members / "data/guests.csv").write_text("mail,age\neve@example.com,41\n")
    elsewhere = WITHOUT_UPSTREAM.replace("{type: table, path: raw.bronze.members}", "{path: data/guests.csv}")
    (members / "people/masked.yaml").write_text(elsewhere)
    assert serve(most_body_bytes=9_981).get(f"{API}/datasets/bronze_people/sample").json()["hidden"] == []


def test_a_column_that_is_called_otherwise_along_with_its_dataset_is_hidden_too(members, serve, duckdb_once):
    (members / "people/masked.yaml").write_text(WITHOUT_UPSTREAM)
    assert clear_mail(serve()) == []
    (members / "data/members.csv").write_text("address,age\nada@example.com,36\n")
    other = RAW.replace("bronze_members", "bronze_people").replace("bronze.members", "bronze.people")
    (members / "people/raw.yaml").write_text(other.replace("mail", "address"))
    DataProcessor("people/raw.yaml", duckdb_once).run()
    for size in (9_980, 9_979):
        shown = serve(most_body_bytes=size).get(f"{API}/datasets/bronze_people/sample").json()
        assert (shown["hidden"], [row["address"] for row in shown["rows"]]) == (["address"], ["••••"])


def test_a_new_dataset_beside_one_that_was_taken_away_is_shown_where_nothing_of_it_is_masked(
    members, serve, duckdb_once
):
    (members / "people/masked.yaml").write_text(WITHOUT_UPSTREAM)
    assert clear_mail(serve()) == []
    (members / "people/raw.yaml").unlink()
    (members / "data/rooms.csv").write_text("room\n12\n")
    rooms = RAW.replace("members", "rooms").replace("mail, required", "room, required").replace("[mail]", "[room]")
    (members / "people/rooms.yaml").write_text(rooms.replace(", {name: age, type: int, min: 0}", ""))
    DataProcessor("people/rooms.yaml", duckdb_once).run()
    shown = serve(most_body_bytes=9_978).get(f"{API}/datasets/bronze_rooms/sample").json()
    assert (shown["hidden"], [row["room"] for row in shown["rows"]]) == ([], ["12"])


MASKING_PACK = """
name: privacy
require: {model: {fields: [{name: mail, pii: true, masking: redact}]}}
"""


@pytest.mark.parametrize("document", ["_system.yaml", "_domain.yaml"])
def test_a_document_around_that_brought_masks_and_vanished_hides_until_it_is_back(members, serve, document):
    folder = members / "people/clubs"
    folder.mkdir()
    (folder / "policy_packs").mkdir()
    (folder / "policy_packs/privacy.yaml").write_text(MASKING_PACK)
    kind = {"_system.yaml": "system", "_domain.yaml": "domain"}[document]
    (folder / document).write_text(f"{kind}: clubs\nmetadata: {{policy_pack: privacy}}\n")
    (members / "people/masked.yaml").unlink()
    plain = MASKED.replace(", pii: true, masking: redact", "")
    (folder / "masked.yaml").write_text(plain)
    assert serve(most_body_bytes=9_977).get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == ["mail"]
    (folder / document).rename(members / "aside.txt")
    for size in (9_976, 9_975):
        assert serve(most_body_bytes=size).get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == ["mail"]
    # The contract itself says by now that it is no secret.
    (folder / "masked.yaml").write_text(plain.replace("{name: mail}", "{name: mail, pii: false}"))
    assert serve(most_body_bytes=9_974).get(f"{API}/datasets/bronze_members/sample").json()["hidden"] == []
