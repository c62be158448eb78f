"""A real browser on a real service: only where it is asked for (`make test-browser`)."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = Path(os.environ.get("LAKELOGIC_CHROMIUM", "/usr/bin/chromium"))
AXE = ROOT / "ui/node_modules/axe-core/axe.min.js"
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--no-first-run"]  # fmt: skip

# `make test` needs neither Node nor a browser.
collect_ignore_glob = [] if os.environ.get("LAKELOGIC_BROWSER") == "1" else ["test_*.py"]


def _estate_module() -> Any:
    spec = importlib.util.spec_from_file_location("page_estate", ROOT / "scripts/page_estate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["page_estate"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    missing = []
    if importlib.util.find_spec("playwright") is None:
        missing.append("Playwright: .venv/bin/python -m pip install playwright")
    if not CHROMIUM.exists():
        missing.append(f"a browser at {CHROMIUM} (or LAKELOGIC_CHROMIUM): apt-get install chromium")
    if not (ROOT / "src/lakelogic/ui/dist/index.html").exists() or not AXE.exists():
        missing.append("the built page: make page")
    if missing:
        pytest.fail("These tests need " + "; ".join(missing))
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The lab with a closed gate beside it, and the address of a service over it; each file of tests has its own."""
    module = _estate_module()
    folder = tmp_path_factory.mktemp("page") / "estate"
    places = module.build(folder, whole=False)
    with module.served(folder, places) as address:
        yield folder, address


@pytest.fixture(scope="module")
def mounted(estate: tuple[Path, str]) -> Iterator[str]:
    """A second service over the same estate, behind a proxy that has it under /lake."""
    module = _estate_module()
    with module.served(estate[0], ("contracts",), "--root-path", "/lake", "--workers", "0") as address:
        yield address


@pytest.fixture
def address(estate: tuple[Path, str]) -> str:
    return estate[1]


@pytest.fixture
def open_page(browser: Any, estate: tuple[Path, str]) -> Iterator[Callable[..., Any]]:
    """`open_page(path, theme="dark", width=390)`; at the end nothing was said, refused or asked elsewhere."""
    contexts = []
    said: list[str] = []
    elsewhere: list[str] = []

    def start(path: str = "/", *, theme: str = "light", width: int = 1280, trouble: bool = False) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        context.set_default_timeout(15_000)
        contexts.append(context)
        context.add_init_script(
            "document.addEventListener('securitypolicyviolation', "
            "(event) => console.error('refused by policy: ' + event.violatedDirective + ' ' + event.blockedURI))"
        )
        page = context.new_page()
        page.on("console", lambda one: said.append(one.text) if one.type == "error" and not trouble else None)
        page.on("pageerror", lambda one: said.append(str(one)))
        page.on("request", lambda one: elsewhere.append(one.url) if not _own(one.url, estate[1]) else None)
        page.goto(estate[1] + path)
        return page

    yield start
    for context in contexts:
        context.close()
    assert said == []
    assert elsewhere == []


def _own(url: str, address: str) -> bool:
    return url.startswith((address + "/", "blob:" + address, "data:"))
