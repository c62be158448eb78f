"""Closed by default: who gets in, what each role may do, and what strangers are refused."""

from __future__ import annotations

import http.server
import json
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakelogic.actions.author import bounded, posted
from lakelogic.actions.operate.access import list_tokens, revoke_token
from lakelogic.api.settings import Oidc, Settings, check_bind, from_environment
from lakelogic.errors import UsageError
from lakelogic.run.surroundings import Surroundings

READ = "/api/v1/datasets"


def test_other_machines_are_served_only_where_somebody_is_asked_who_they_are():
    check_bind(Settings(), has_tokens=False)
    for host in ("0.0.0.0", "::", "10.0.0.7", "lake.example.com"):
        with pytest.raises(UsageError, match="Nobody would be asked"):
            check_bind(Settings(host=host), has_tokens=False)
        check_bind(Settings(host=host), has_tokens=True)
        check_bind(Settings(host=host, oidc=Oidc("i", "a", "k")), has_tokens=False)
    with pytest.raises(UsageError, match="no origin"):
        check_bind(Settings(cors_origins=("*",)), has_tokens=True)
    with pytest.raises(UsageError, match="LAKELOGIC_OIDC_KEYS is not set"):
        from_environment({"LAKELOGIC_OIDC_ISSUER": "i", "LAKELOGIC_OIDC_AUDIENCE": "a"})


def test_once_there_are_tokens_everybody_needs_one(serve, token):
    assert serve().get(READ).status_code == 200
    assert serve(tokens_only=True).get(READ).status_code == 401
    good = token("ada", everywhere="viewer")
    answer = serve().get(READ)
    assert (answer.status_code, answer.json()["code"]) == (401, "LL-E003")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    assert serve(good).get(READ).status_code == 200
    for wrong in ("x", good[:-2], good + "x", "ll_000000000000_abc", "a.b.c"):
        assert serve(wrong).get(READ).status_code == 401
    assert serve().get(READ, headers={"Authorization": f"Basic {good}"}).status_code == 401
    assert serve().get("/health").status_code == 200
    revoke_token(Surroundings.here(), list_tokens(Surroundings.here())[0].token_id)
    token("bob", everywhere="viewer")
    assert serve(good).get(READ).status_code == 401


def test_what_asks_nobody_tells_nothing_of_the_estate(serve, token):
    token("ada", everywhere="viewer")
    stranger = serve()
    for path in ("/health", "/docs", "/openapi.json"):
        told = stranger.get(path)
        assert told.status_code == 200
        assert "bronze_orders" not in told.text
        assert "silver_people" not in told.text
    paths = stranger.get("/openapi.json").json()["paths"]
    asked = {path for path, ways in paths.items() if "get" in ways and stranger.get(path).status_code == 401}
    assert {path for path, ways in paths.items() if "get" in ways} - asked == {"/health"}


def test_what_a_person_asked_for_never_begins_once_their_last_token_is_revoked(serve, token, lab):
    first, second = token("olga", lab="operator"), token("olga", lab="operator")
    asked = serve(first).post("/api/v1/runs", json={"dataset": "silver_orders", "why": "again"}).json()
    by_id = {text: text.split("_")[1] for text in (first, second)}
    assert revoke_token(Surroundings.here(), by_id[first]).cancelled == ()  # she only changed her token
    assert serve(second).get(f"/api/v1/jobs/{asked['job_id']}").json()["state"] == "waiting"
    assert revoke_token(Surroundings.here(), by_id[second], "she left").cancelled == (asked["job_id"],)
    assert (
        serve(token("ada", everywhere="viewer")).get(f"/api/v1/jobs/{asked['job_id']}").json()["state"] == "cancelled"
    )


def test_a_role_reaches_as_far_as_its_domain(serve, token):
    viewer = serve(token("vera", lab="viewer"))
    steward = serve(token("stan", lab="steward"))
    operator = serve(token("olga", people="operator"))
    assert {one["domain"] for one in viewer.get(READ).json()["items"]} == {"lab"}
    assert {one["domain"] for one in viewer.get("/api/v1/runs").json()["items"]} == {"lab"}
    assert [one["name"] for one in viewer.get("/api/v1/estate").json()["tree"]] == ["lab"]
    assert [one["dataset"] for one in viewer.get("/api/v1/quarantine").json()["items"]] == ["silver_orders"]
    people_run = operator.get("/api/v1/runs").json()["items"][0]["run_id"]
    for hidden in ("/api/v1/datasets/silver_people", "/api/v1/quarantine/silver_people/rows", f"/api/v1/runs/{people_run}",
                   "/api/v1/contracts/silver_people", "/api/v1/lineage?focus=silver_people"):  # fmt: skip
        assert viewer.get(hidden).status_code == 404, hidden
    discard = ("/api/v1/quarantine/silver_orders/discard", {"why": "w", "rules": ["stale_duplicate"]})
    run = ("/api/v1/runs", {"dataset": "silver_orders"})
    assert [viewer.post(url, json=body).status_code for url, body in (discard, run)] == [403, 403]
    assert [steward.post(url, json=body).status_code for url, body in (discard, run)] == [202, 403]
    assert [operator.post(url, json=body).status_code for url, body in (discard, run)] == [404, 404]
    started = operator.post("/api/v1/runs", json={"dataset": "silver_people"})
    assert (started.status_code, started.json()["person"]) == (202, "olga")
    assert steward.get(started.headers["location"]).status_code == 404
    assert steward.get("/api/v1/events").text.count("silver_people") == 0
    assert operator.get("/api/v1/events").text.count("silver_people") == 1
    assert [act["person"] for act in steward.get("/api/v1/ledger/acts").json()["items"]] == ["stan"]


def test_an_identity_provider_is_believed_only_what_it_signed(serve, lab: Path):
    jwt = pytest.importorskip("jwt")
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    private, stranger = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(private.public_key())) | {
        "kid": "k1",
        "use": "sig",
        "alg": "ES256",
    }
    (lab / "keys.json").write_text(json.dumps({"keys": [key]}))
    oidc = Oidc("https://id.example.com", "lakelogic", str(lab / "keys.json"))
    right = {
        "iss": oidc.issuer, "aud": oidc.audience, "sub": "u1", "email": "ada@example.com", "exp": time.time() + 60,
        "lakelogic_roles": {"lab": "operator", "people": "emperor"},
    }  # fmt: skip

    def status(claims, signed_by=private, algorithm="ES256"):
        text = jwt.encode(claims, signed_by, algorithm, headers={"kid": "k1"})
        return serve(text, oidc=oidc).post("/api/v1/runs", json={"dataset": "silver_orders"}).status_code

    assert status(right) == 202
    assert serve(oidc=oidc).get(READ).status_code == 401
    for wrong in ({"iss": "https://evil.example.com"}, {"aud": "other"}, {"exp": time.time() - 3600}):
        assert status(right | wrong) == 401
    assert status({name: value for name, value in right.items() if name != "exp"}) == 401
    assert status(right, stranger) == 401
    assert status(right, "secret" * 8, "HS256") == 401
    assert status(right, None, "none") == 401
    # A key of another kind than the token says, and names that are none.
    assert status(right, rsa.generate_private_key(65537, 2048), "RS256") == 401
    for name in ("", ["ada"], "a\0b", "a" * 201):
        assert status(right | {"email": name, "sub": ""}) == 401
    assert status(right | {"lakelogic_roles": {"lab": "viewer"}}) == 403
    assert status(right | {"lakelogic_roles": None}) == 404


def test_an_identity_provider_that_is_down_is_told_so_and_left_alone_for_a_while(serve, token, monkeypatch):
    jwt = pytest.importorskip("jwt")
    from cryptography.hazmat.primitives.asymmetric import ec

    ours = token("ada", everywhere="viewer")
    private = ec.generate_private_key(ec.SECP256R1())
    key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(private.public_key())) | {"kid": "k1", "use": "sig"}
    asked: list[str] = []

    class Provider(http.server.BaseHTTPRequestHandler):
        is_down = True

        def do_GET(self):
            asked.append(self.path)
            self.send_response(503 if Provider.is_down else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"keys": [key]}).encode())

        def log_message(self, *_):
            """Nothing: the test tells."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    oidc = Oidc("https://id.example.com", "lakelogic", f"http://127.0.0.1:{server.server_port}/keys")
    claims = {
        "iss": oidc.issuer, "aud": oidc.audience, "sub": "u1", "exp": time.time() + 60, "lakelogic_roles": "viewer"
    }  # fmt: skip

    def status(kid):
        text = jwt.encode(claims, private, "ES256", headers={"kid": kid})
        return serve(text, oidc=oidc).get(READ).status_code

    try:
        assert [status("k1") for _ in range(3)] == [503] * 3
        assert asked == ["/keys"]
        assert serve(ours, oidc=oidc).get(READ).status_code == 200
        Provider.is_down = False
        monkeypatch.setattr("lakelogic.api.auth.time.monotonic", lambda now=time.monotonic: now() + 60)
        assert status("k1") == 200
        # Nor do made-up keys make the service ask again and again.
        assert [status(f"made-up-{at}") for at in range(5)] == [401] * 5
        assert len(asked) <= 3
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 202),
        ({"Host": "evil.example.com"}, 421),  # a name that was pointed here
        ({"Origin": "https://evil.example.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1:8096", "Sec-Fetch-Site": "same-origin"}, 202),
        ({"Content-Type": "text/plain"}, 422),  # what a form of another page could send
        ({"Content-Type": "application/x-www-form-urlencoded"}, 422),
    ],
)
def test_the_page_of_another_site_cannot_make_a_browser_change_anything(client, headers, status):
    answer = client.post(
        "/api/v1/runs", content=b'{"dataset": "bronze_orders"}', headers={"Content-Type": "application/json"} | headers
    )
    assert answer.status_code == status


def test_no_other_origin_is_let_in_unless_it_was_named(serve):
    asked = {"Origin": "https://board.example.com"}
    assert "access-control-allow-origin" not in serve().get(READ, headers=asked).headers
    named = serve(cors_origins=("https://board.example.com",))
    assert named.get(READ, headers=asked).headers["access-control-allow-origin"] == "https://board.example.com"
    other = named.get(READ, headers={"Origin": "https://evil.example.com"})
    assert "access-control-allow-origin" not in other.headers


def test_every_answer_wears_its_headers_and_its_request_id(client):
    for path in ("/health", READ, "/docs", "/nothing", "/api/v1/runs/run-0"):
        headers = client.get(path, headers={"X-Request-ID": "abc-12345678"}).headers
        assert "unsafe" not in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
        assert headers["x-request-id"] == "abc-12345678"
    assert client.get("/nothing", headers={"X-Request-ID": "<script>"}).json()["request_id"].isalnum()


def test_sizes_and_rates_have_limits(serve):
    small = serve(most_body_bytes=200)
    body = {"text": "x" * 300}
    assert small.post("/api/v1/contracts/validate", json=body).status_code == 413
    streamed = small.post(
        "/api/v1/contracts/validate",
        content=iter([b'{"text": "', b"x" * 300, b'"}']),
        headers={"Content-Type": "application/json"},
    )
    assert streamed.status_code == 413
    slow = serve(requests_per_second=0.5, burst=2)
    statuses = [slow.get("/health") for _ in range(3)]
    assert [one.status_code for one in statuses] == [200, 200, 429]
    assert int(statuses[-1].headers["retry-after"]) >= 1


def test_one_person_keeps_only_some_threads_and_streams_from_others(serve, monkeypatch, token):
    ada, bob = token("ada", everywhere="viewer"), token("bob", everywhere="viewer")
    held, full = threading.Event(), threading.Semaphore(0)

    def slowly(*_):
        full.release()
        held.wait(30)
        return {}

    monkeypatch.setattr("lakelogic.api.routes.exports.overview.export_status", slowly)
    changed = {"at_once": 2, "streams_at_once": 1, "stream_seconds": 2.0}

    # One loop for all of them, as in a real server.
    with serve(ada, **changed) as client, ThreadPoolExecutor(4) as pool:

        def ask(path, text=ada):
            return client.get(path, headers={"Authorization": f"Bearer {text}"})

        for text in (ada, bob):
            assert ask("/api/v1/me", text).status_code == 200
        try:
            waiting = [pool.submit(ask, "/api/v1/exports") for _ in range(2)]
            for _ in waiting:
                assert full.acquire(timeout=30)
            refused = ask("/api/v1/me")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert "at once" in refused.json()["title"]
            assert ask("/api/v1/me", bob).status_code == 200
        finally:
            held.set()
        assert [one.result().status_code for one in waiting] == [200, 200]
        streams = [pool.submit(ask, "/api/v1/events") for _ in range(3)]
        assert sorted(one.result().status_code for one in streams) == [200, 429, 429]
        assert ask("/api/v1/me").status_code == 200
        assert ask("/api/v1/events").status_code == 200


def test_few_posted_contracts_are_looked_at_at_once(client, monkeypatch):
    monkeypatch.setattr("lakelogic.actions.author.posted._FEW", threading.BoundedSemaphore(1))
    monkeypatch.setattr("lakelogic.actions.author.posted._PATIENCE_SECONDS", 0.01)
    text = {"text": "dataset: x\nsource: {path: x.csv}\nmaterialization: {target_path: a.b.c}\n"}
    ways = ("contracts/validate", "contracts/explain", "contracts/silver_orders/diff")
    assert [client.post(f"/api/v1/{way}", json=text).status_code for way in ways] == [200] * 3
    posted._FEW.acquire()
    refused = [client.post(f"/api/v1/{way}", json=text) for way in ways]
    assert [(one.status_code, one.json()["retry"]) for one in refused] == [(409, "later")] * 3


ROWS = {"source": {"path": "x.csv"}, "model": {"fields": [{"name": "a", "type": "string"}]}}


def posted_with(sql):
    return {"text": json.dumps({**ROWS, "transformations": [{"sql": sql}]})}


def test_a_contract_that_takes_too_long_is_given_up_and_its_process_ended(client, monkeypatch):
    """Nobody else waits for it, and the next one is looked at."""
    assert client.post("/api/v1/contracts/validate", json=posted_with("a AS b")).json()["valid"]
    monkeypatch.setattr("lakelogic.actions.author.bounded.SECONDS", 0.3)
    processes = [one._process for one in posted._POOL._free]
    slow = client.post("/api/v1/contracts/validate", json=posted_with(" OR ".join(["a = 'x'"] * 15_000) + " AS b"))
    assert (slow.status_code, slow.json()["code"]) == (400, "LL-E001")
    assert "more time than one contract may have" in slow.json()["title"]
    assert [one for one in processes if one is not None and one.returncode == -signal.SIGKILL]
    monkeypatch.undo()
    assert client.post("/api/v1/contracts/validate", json=posted_with("a AS b")).json()["valid"]


def test_a_contract_that_takes_too_much_memory_is_refused(client, monkeypatch):
    limited = bounded.Bounded()
    monkeypatch.setattr(posted, "_POOL", limited)
    started = bounded._started

    def with_little():
        process = started()
        now = resource.prlimit(process.pid, resource.RLIMIT_DATA)[0]
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (now - bounded.BYTES + (24 << 20), now))
        return process

    monkeypatch.setattr(bounded, "_started", with_little)
    try:
        assert client.post("/api/v1/contracts/validate", json=posted_with("a AS b")).json()["valid"]
        large = client.post("/api/v1/contracts/validate", json=posted_with(" OR ".join(["a = 'x'"] * 15_000) + " AS b"))
        assert (large.status_code, large.json()["code"]) == (400, "LL-E001")
        assert client.post("/api/v1/contracts/validate", json=posted_with("a AS b")).json()["valid"]
    finally:
        limited.end()


def test_the_process_that_looks_at_contracts_knows_no_secret(client, monkeypatch):
    monkeypatch.setenv("LAKELOGIC_PII_KEY", "c0rrect-h0rse")
    fresh = bounded.Bounded()
    monkeypatch.setattr(posted, "_POOL", fresh)
    try:
        assert client.post("/api/v1/contracts/validate", json=posted_with("a AS b")).json()["valid"]
        assert b"c0rrect-h0rse" not in Path(f"/proc/{fresh._process.pid}/environ").read_bytes()
    finally:
        fresh.end()


@pytest.mark.parametrize(
    "body",
    ["[" * 200_000, '{"a":' * 100_000, '{"text": ' + "[" * 100_000, '{"text": "' + "[" * 100_000 + '"}'],
    ids=["lists", "objects", "inside", "yaml"],
)
def test_what_is_nested_without_end_is_the_callers_trouble(client, body):
    answer = client.post("/api/v1/contracts/validate", content=body, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text


@pytest.mark.parametrize(
    "text",
    [
        "a RLIKE '" + "(" * 5_000 + "a" + ")" * 5_000 + "' AS b",
        "(" * 20_000 + "a" + ")" * 20_000 + " AS b",
        "SELECT count(*) AS n FROM source GROUP BY a, " + ", ".join(f"a || {i}" for i in range(24)) + " WITH CUBE",
    ],
)
def test_a_step_that_would_grow_without_end_is_told_as_a_problem_of_the_contract(client, text):
    answer = client.post("/api/v1/contracts/validate", json=posted_with(text))
    assert answer.status_code == 200
    assert not answer.json()["valid"]


def test_an_answer_that_takes_too_long_is_given_up(serve, monkeypatch):
    monkeypatch.setattr("lakelogic.api.routes.exports.overview.export_status", lambda *_: time.sleep(0.6) or {})
    slow = serve(seconds_per_request=0.05).get("/api/v1/exports")
    assert (slow.status_code, slow.json()["title"]) == (504, "It took too long.")
    assert serve(seconds_per_request=20.0).get("/api/v1/exports").json() == {}


def test_a_defect_is_told_without_what_it_was_about(client, monkeypatch, caplog):
    monkeypatch.setattr("lakelogic.api.routes.exports.overview.export_status", lambda *_: {}["ada@example.com"])
    answer = client.get("/api/v1/exports")
    assert (answer.status_code, answer.json()["code"]) == (500, "LL-E090")
    assert "ada@example.com" not in answer.text
    # Whoever reads the log finds the place, and no value of a row.
    told = next(one.getMessage() for one in caplog.records if one.name == "lakelogic.api")
    assert "KeyError" in told
    assert "exports.py" in told
    assert "ada@example.com" not in told
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "deeply nested"),
        ("- " * 100_000, "deeply nested"),
        ("a: &a [" + "x," * 30_000 + "]", "too large"),
        ("x: &x 1\ny: [" + "*x, " * 30 + "]", "too large"),
        ("metadata: {policy_pack: ../../secrets}", "policy packs"),
        ('metadata: {"policy\\x5fpack": [/etc/passwd]}', "policy packs"),
        ("x" * 300_000, "not understood"),
    ],
)
def test_a_posted_contract_that_is_an_attack_is_refused_before_it_is_built(client, text, said):
    answer = client.post("/api/v1/contracts/validate", json={"text": text})
    assert answer.status_code in (400, 422)
    assert said in answer.json()["title"]


def test_a_posted_contract_reads_nothing_of_this_machine(client, lab: Path, monkeypatch):
    monkeypatch.setenv("A_SECRET", "swordfish")
    (lab / "other.yaml").write_text("dataset: hidden\nowner: swordfish\n")
    target = "materialization: {target_path: a.b.c}"
    for text in (
        f"source: {{path: '${{A_SECRET}}.csv'}}\n{target}",
        f"source: {{path: 'env:A_SECRET'}}\n{target}",
        "other.yaml",
        str(lab / "other.yaml"),
        f"source: {{path: {lab}/data/people.csv}}\n{target}",
        "!!python/object/apply:os.system ['touch pwned']",
    ):
        for route in ("validate", "explain"):
            answer = client.post(f"/api/v1/contracts/{route}", json={"text": text})
            assert answer.status_code in (200, 422)
            assert "swordfish" not in answer.text
            assert "email" not in answer.text
    assert not (lab / "pwned").exists()


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/datasets/..%2f..%2fetc%2fpasswd", "/api/v1/quarantine/..%2f..%2f/rows", "/api/v1/runs/%00",
        "/api/v1/contracts/%2e%2e%2fsecrets", "/api/runtime/table-preview/..%2f..", "/api/v1/jobs/'; DROP TABLE runs; --",
        "/api/v1/runs?dataset=' OR 1=1 --", "/api/v1/runs?since=0001-01-01T00:00:00%2B14:00",
        "/api/v1/quarantine/silver_orders/rows?after=WyJOYU4iLCAiXHVkODAwIl0",
    ],
)  # fmt: skip
def test_paths_and_parameters_of_an_attacker_find_nothing(client, path):
    answer = client.get(path)
    assert answer.status_code in (200, 400, 404, 422), answer.text
    assert answer.status_code != 200 or answer.json()["items"] == []
