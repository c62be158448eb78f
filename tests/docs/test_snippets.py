"""What the documentation shows is what happens: its contracts load, its commands and its Python run."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

# Pages that are run from top to bottom. A page with commands belongs here, or below with what it waits for.
EXECUTED: tuple[str, ...] = (
    "README.md",
    "docs/start/first-contract.md",
    "docs/concepts/contract.md",
    "docs/concepts/engines.md",
    "docs/concepts/estate.md",
    "docs/concepts/files.md",
    "docs/concepts/sql.md",
    "docs/concepts/strategies.md",
    "docs/concepts/tables.md",
    "docs/how-to/approve.md",
    "docs/how-to/bootstrap.md",
    "docs/how-to/drive.md",
    "docs/how-to/deploy.md",
    "docs/how-to/export.md",
    "docs/how-to/find-bad-rows.md",
    "docs/concepts/nothing-lost.md",
    "docs/how-to/maintain.md",
    "docs/how-to/mask-personal-data.md",
    "docs/how-to/profile.md",
    "docs/how-to/quarantine.md",
    "docs/how-to/use-from-python.md",
    "docs/how-to/serve.md",
    "docs/how-to/share-rules.md",
    "docs/how-to/verify.md",
    "docs/how-to/watermarks.md",
    "docs/how-to/windows.md",
)
WAITING: dict[str, str] = {}


@pytest.mark.parametrize("name", EXECUTED)
def test_a_page_does_what_it_shows(page, name: str) -> None:
    page(name).run()


def test_every_page_with_something_to_run_is_run(blocks_of) -> None:
    unlisted = [
        name
        for name in PAGES
        if name not in EXECUTED and name not in WAITING
        if any(
            b.language in ("console", "python", "yaml") and not b.not_run
            for b in blocks_of((ROOT / name).read_text("utf-8"))
        )
    ]
    assert unlisted == []


def test_lists_name_pages_that_exist() -> None:
    assert sorted({*EXECUTED, *WAITING} - set(PAGES)) == []
    assert sorted(set(EXECUTED) & set(WAITING)) == []
