"""The sign in the corner says whether the service is heard, and a service with pages open ends when it is told to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

SILENT_S = 45  # as ui/src/contact.ts has it; the page looks every five seconds


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A service of its own over one contract: it is stopped, and ended."""
    (tmp_path / "c.yaml").write_text("source: {path: in.csv}\nmaterialization: {target_path: shop.silver.things}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "lakelogic", "serve", ".", "--port", str(port), "--workers", "1"]
    environ = {**os.environ, "LAKELOGIC_WAREHOUSE": str(tmp_path / "warehouse")}
    with (tmp_path / "serve.log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(150):
            try:
                urllib.request.urlopen(f"{address}/health", timeout=2).close()
                break
            except OSError:
                assert process.poll() is None, (tmp_path / "serve.log").read_text()
                time.sleep(0.2)
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait(20)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[[str], Any]]:
    """A page of a browser session of its own; what it says of refused connections is meant here."""
    contexts = []

    def start(address: str) -> Any:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(address)
        return page

    yield start
    for context in contexts:
        context.close()


def test_the_sign_turns_stale_when_nothing_is_heard_and_live_again(
    service: tuple[subprocess.Popen[bytes], str], visit: Callable[[str], Any]
) -> None:
    process, address = service
    page = visit(address)
    sign = page.locator(".live")
    expect(sign).to_contain_text("Live")
    heard = page.locator(".live .when").inner_text()
    began = time.monotonic()
    process.send_signal(signal.SIGSTOP)  # the connection stays, and nobody speaks
    expect(sign).to_contain_text("Stale", timeout=(SILENT_S + 25) * 1000)
    waited = time.monotonic() - began
    assert waited > SILENT_S - 25  # the last heartbeat was at most twenty seconds old
    expect(page.locator(".live .dot")).to_have_class("dot off")
    assert page.locator(".live .when").inner_text() >= heard  # the time of the last contact, not of now
    process.send_signal(signal.SIGCONT)
    expect(sign).to_contain_text("Live", timeout=45_000)
    expect(page.locator(".live .dot")).to_have_class("dot on")


def test_a_service_ends_within_five_seconds_while_browsers_have_pages_open(
    service: tuple[subprocess.Popen[bytes], str], visit: Callable[[str], Any]
) -> None:
    process, address = service
    pages = [visit(address), visit(f"{address}/runs"), visit(f"{address}/graph")]
    for page in pages:
        expect(page.locator(".live")).to_contain_text("Live")
    asked = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(15)
    assert time.monotonic() - asked < 5
    for page in pages:
        expect(page.locator(".live")).to_contain_text("Reconnecting")


def test_a_part_of_the_page_that_does_not_come_is_said_to_be_offline(
    service: tuple[subprocess.Popen[bytes], str], visit: Callable[[str], Any]
) -> None:
    process, address = service
    page = visit(address)
    expect(page.locator(".live")).to_contain_text("Live")
    process.send_signal(signal.SIGTERM)
    process.wait(15)
    page.get_by_role("link", name="Graph").first.click()  # a part that was not loaded yet
    expect(page.locator('[data-state="offline"]')).to_be_visible()
    expect(page.get_by_text("defect")).to_have_count(0)
