"""A command's surroundings: one catalog, one ledger, opened when it is needed and by nobody twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakelogic.errors import UsageError
from lakelogic.ledger import store
from lakelogic.run.surroundings import Surroundings


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAKELOGIC_WAREHOUSE", raising=False)
    monkeypatch.delenv("LAKELOGIC_LEDGER", raising=False)
    return tmp_path


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ledgers that are opened, in order."""
    opened: list[str] = []
    original = store.open_ledger
    monkeypatch.setattr(store, "open_ledger", lambda place: opened.append(str(place)) or original(place))
    return opened


def test_a_ledger_is_opened_by_the_first_who_asks_and_shared_by_all_threads(openings: list[str]) -> None:
    with Surroundings.here() as around:
        assert openings == []
        with ThreadPoolExecutor(8) as threads:
            ledgers = list(threads.map(lambda _: around.ledger, range(32)))
        assert len({id(ledger) for ledger in ledgers}) == 1
        assert around.heard_by(print).ledger is around.ledger
    assert len(openings) == 1


def test_what_never_asks_for_the_ledger_makes_none(workspace: Path) -> None:
    with Surroundings.here() as around:
        assert around.catalog.resolve("a.b.c") == str(workspace / "lakelogic_warehouse/a/b/c")
    assert list(workspace.iterdir()) == []


def test_a_ledger_that_was_taken_away_is_made_again(workspace: Path) -> None:
    around = Surroundings.here()
    file = around.ledger.database.file
    assert file is not None
    for path in file.parent.iterdir():
        path.unlink()
    assert around.ledger.runs() == []
    assert file.exists()


def test_closed_surroundings_open_the_ledger_again(openings: list[str]) -> None:
    around = Surroundings.here()
    assert around.ledger.runs() == []
    around.close()
    assert around.ledger.runs() == []
    assert len(openings) == 2


def test_each_command_sees_the_directory_and_the_variables_of_its_own_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Surroundings.here()
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", "elsewhere")
    second = Surroundings.here()
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    third = Surroundings.here()
    places = [around.catalog.resolve("t") for around in (first, second, third)]
    assert places == [str(tmp_path / name / "t") for name in ("lakelogic_warehouse", "elsewhere", "shop/elsewhere")]


def test_a_folder_has_its_own_ledger_whatever_the_variables_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_LEDGER", "postgresql://nowhere/ledger")
    with Surroundings.in_folder(tmp_path / "demo", tmp_path, {}) as around:
        assert around.ledger.database.file == tmp_path / "demo/.lakelogic/ledger.db"


def test_a_catalog_that_nobody_registered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_CATALOG", "unity")
    with pytest.raises(UsageError, match="no catalog `unity`"):
        Surroundings.here()
