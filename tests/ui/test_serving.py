"""The page over HTTP: a tiny made-up build is served as it is, and a checkout without one says what to do."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lakelogic import ui
from lakelogic.api.app import create_app
from lakelogic.api.settings import Settings

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
INDEX = (
    '<!doctype html><html lang="en"><head><base href="/"><title>LakeLogic</title>'
    '<script type="module" src="./assets/index-AbCd1234.js"></script></head><body></body></html>'
)
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'self'; frame-ancestors 'none'; form-action 'self'"
)


@pytest.fixture
def dist(tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "assets/index-AbCd1234.js").write_text("export {}")
    (folder / "assets/index-AbCd1234.js.gz").write_bytes(gzip.compress(b"export {}"))
    (folder / "secret.txt").write_text("not for you")
    monkeypatch.setattr(ui, "DIST", folder)
    return folder


def client(**settings: object) -> TestClient:
    return TestClient(create_app(Settings(**settings)), "http://127.0.0.1:8096")  # type: ignore[arg-type]


def test_every_address_of_the_page_is_answered_with_the_page(dist: Path):
    for path in (
        "/",
        "/runs",
        "/runs/run-20261116T101500-ab12cd",
        "/quarantine?dataset=silver_orders",
        "/no/such/thing",
    ):
        told = client().get(path, headers=BROWSER)
        assert (told.status_code, told.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        assert told.headers["cache-control"] == "no-store"
        assert told.headers["content-security-policy"] == CSP
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["referrer-policy"] == "no-referrer"
        assert '<base href="/">' in told.text


@pytest.mark.filterwarnings("error")
def test_the_page_knows_where_a_proxy_has_mounted_it(dist: Path):
    mounted = client(root_path="/lake/x")
    # Some proxies take their part of the path off, others hand it on.
    for path in ("/runs", "/lake/x/runs"):
        assert '<base href="/lake/x/">' in mounted.get(path, headers=BROWSER).text
    for path in ("/health", "/lake/x/health"):
        assert mounted.get(path).json()["status"] == "ok"
    assert mounted.get("/openapi.json").json()["servers"] == [{"url": "/lake/x"}]
    assert 'base href="/&quot;&gt;/"' in client(root_path='/">').get("/", headers=BROWSER).text


def test_the_colours_that_were_chosen_are_there_before_the_first_paint(dist: Path):
    page = client()
    assert (
        '<html data-theme="dark" lang="en">'
        in page.get("/", headers={**BROWSER, "Cookie": "lakelogic_theme=dark"}).text
    )
    for cookie in ("", "lakelogic_theme=pink", 'lakelogic_theme=""><script>'):
        assert '<html lang="en">' in page.get("/", headers={**BROWSER, "Cookie": cookie}).text


def test_files_with_a_hash_in_their_name_are_kept_for_ever_and_packed_where_it_is_understood(dist: Path):
    plain = client().get("/assets/index-AbCd1234.js", headers={"Accept-Encoding": "identity"})
    assert (plain.text, plain.headers["content-type"]) == ("export {}", "text/javascript; charset=utf-8")
    assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    packed = client().get("/assets/index-AbCd1234.js", headers={"Accept-Encoding": "gzip, br"})
    assert (packed.headers["content-encoding"], packed.text) == ("gzip", "export {}")
    assert packed.headers["vary"] == "Accept-Encoding"


def test_nothing_but_the_page_is_served(dist: Path):
    page = client()
    for path in ("/assets/index-Zzzz9999.js", "/assets/..%2Fsecret.txt", "/assets/../secret.txt", "/assets/secret.txt",
                 "/secret.txt", "/api/v1/nothing", "/api", "/%2e%2e/%2e%2e/etc/passwd"):  # fmt: skip
        told = page.get(path, headers={"Accept": "*/*"})
        assert told.status_code == 404, path
        assert "not for you" not in told.text
    assert page.get("/api/v1/nothing", headers=BROWSER).headers["content-type"] == "application/problem+json"
    assert page.post("/", headers=BROWSER).status_code == 405


def test_a_checkout_without_a_build_says_what_to_do(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ui, "DIST", tmp_path / "nothing")
    told = client().get("/", headers=BROWSER)
    assert told.status_code == 404
    assert "make page" in told.text
    assert client().get("/health").status_code == 200


def test_a_build_on_a_disk_that_nobody_may_write_is_served(dist: Path):
    before = {path: path.stat().st_mtime_ns for path in dist.rglob("*")}
    for path in (dist, dist / "assets"):
        path.chmod(0o555)
    try:
        assert client().get("/", headers=BROWSER).status_code == 200
    finally:
        for path in (dist, dist / "assets"):
            path.chmod(0o755)
    assert {path: path.stat().st_mtime_ns for path in dist.rglob("*")} == before


def test_without_a_page_only_the_routes_are_there(dist: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "lakelogic.api.page", raising=False)
    told = client(has_page=False)
    assert told.get("/", headers=BROWSER).status_code == 404
    assert told.get("/health").status_code == 200
    assert "lakelogic.api.page" not in sys.modules
