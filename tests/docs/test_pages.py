"""The documentation site: generated pages are fresh, links hold, nothing comes from outside, and what is said twice is the same."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

OUTSIDE_ASSET = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["'](?:https?:)?//([^"'/]+)""")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_what_their_sources_say_now() -> None:
    pages = load(ROOT / "scripts" / "generate_reference.py").PAGES
    assert len(pages) == 5
    assert [name for name, page in pages.items() if (DOCS / name).read_text("utf-8") != page()] == [], (
        "run `make reference`"
    )


def test_the_site_builds_and_needs_nothing_from_outside(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(list(DOCS.rglob("*.md")))
    hosts = {host for page in pages for host in OUTSIDE_ASSET.findall(page.read_text("utf-8"))}
    assert hosts == set()


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_links_of_the_front_pages_lead_somewhere(path: Path) -> None:
    assert [link for link in LINK.findall(path.read_text("utf-8")) if not (path.parent / link).exists()] == []


def test_every_page_stands_in_the_navigation() -> None:
    navigation = (ROOT / "zensical.toml").read_text("utf-8")
    pages = [p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")]
    assert [page for page in pages if f'"{page}"' not in navigation] == []


def test_the_readme_shows_the_contract_of_the_home_example(blocks_of) -> None:
    shown = next(b for b in blocks_of((ROOT / "README.md").read_text("utf-8")) if b.file == "contract.yaml")
    assert shown.text == (ROOT / "examples" / "home" / "contract.yaml").read_text("utf-8")


def test_the_figures_of_the_retail_example_are_those_of_the_reference() -> None:
    figures = load(ROOT / "tests" / "conformance" / "retail_reference.py").figures()
    page = (DOCS / "concepts" / "accounting.md").read_text("utf-8")
    for name, f in figures.items():
        losses = [f["quarantined"], sum(f["filtered"].values()), sum(f["deduplicated"].values())]
        cells = " | ".join([name, str(f["read"]), str(f["good"]), *(str(n) if n else "" for n in losses)])
        assert f"| {cells} |".replace("|  |", "| |").replace("|  |", "| |") in page, name


def test_the_registry_of_the_retail_example_lists_every_contract() -> None:
    contracts = ROOT / "examples" / "retail" / "contracts"
    registry = yaml.safe_load((contracts / "_registry.yaml").read_text("utf-8"))
    listed = sorted(path for entry in registry["entries"] for path in entry["contracts"].values())
    assert listed == sorted(p.relative_to(contracts).as_posix() for p in contracts.glob("*/*.yaml"))
