"""A file that was moved, renamed, touched or put back is the file it was: nothing is doubled, nothing is lost."""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.reading.load import load
from lakelogic.errors import DataError, LakeLogicError, SourceError
from lakelogic.ledger.store import open_ledger
from lakelogic.plan.source.days import Days
from lakelogic.run.contract_run import run
from lakelogic.run.input.days import Asked
from lakelogic.run.publish.hold import release
from lakelogic.run.request import ContractRequest
from lakelogic.run.surroundings import Surroundings

_SECONDS = itertools.count(2_000_000)
FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]
SOURCE, TABLE = "_lakelogic_source", "lakelogic_warehouse/shop/silver/orders"


def orders(**more: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "dataset": "orders",
        "source": {"path": "landing/*.csv"},
        "model": {"fields": FIELDS},
        "materialization": {"target_path": "shop.silver.orders"},
    }
    for key, value in more.items():
        base[key] = {**base.get(key, {}), **value} if isinstance(value, dict) else value
    return base


def later(path: Path) -> Path:
    """Written at another time than everything before."""
    now = next(_SECONDS) * 1_000_000_000
    os.utime(path, ns=(now, now))
    return path


def land(name: str, *rows: str) -> Path:
    path = Path("landing", name)
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("id,amount\n" + "".join(f"{row}\n" for row in rows))
    return later(path)


class Acting:
    """Runs contracts in the working folder, and keeps what they said last."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.said: list[str] = []

    def __call__(self, document: dict[str, Any]) -> Any:
        self.said = []
        with DataProcessor(document, self.engine, sinks=(lambda event: self.said.append(event.text),)) as processor:
            return processor.run()

    def says(self, *words: str) -> bool:
        return any(all(word in line for word in words) for line in self.said)


@pytest.fixture
def act(duckdb_engine: Any, workspace: Path) -> Acting:
    return Acting(duckdb_engine)


@pytest.fixture
def act_on_each(engine: Any, workspace: Path) -> Acting:
    return Acting(engine)


def stored() -> list[tuple[int, int]]:
    rows = DeltaTable(TABLE).to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["amount"]) for row in rows)


def waiting() -> list[int]:
    rows = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    return sorted(row["amount"] for row in rows if row["quarantine_state"] == "active")


def lose_the_ledger() -> None:
    for path in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        path.unlink()


def forget_digests() -> None:
    """As if an earlier version had written ledger and commits: nobody knows what files held."""
    url = LocalCatalog().ledger_url()
    with open_ledger(url) as ledger, ledger.database.write("dataset") as connection:
        connection.run("UPDATE inputs SET content = NULL")


def moved(workspace: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = workspace / "project", workspace / "elsewhere" / "project"
    if how == "mv":
        new.parent.mkdir()
        old.rename(new)
    elif how == "copy":  # as `cp -r` and `git clone` do: other times of change
        shutil.copytree(old, new, copy_function=shutil.copyfile)
        for path in sorted(Path(new, "landing").iterdir()):
            later(path)
        shutil.rmtree(old)
    else:
        shutil.copytree(old, new)
    monkeypatch.chdir(new)


def test_a_file_that_was_read_several_times_is_counted_once_when_it_moved(
    act: Acting, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "project").mkdir()
    monkeypatch.chdir(workspace / "project")
    land("b.csv", "3,30")
    for amount in (10, 11, 12):
        land("a.csv", f"1,{amount}")
        act(orders())
    moved(workspace, "mv", monkeypatch)
    assert act(orders()).status == "no_new_data"
    assert act.says("was read before under another name", "so are 1 others")  # two files lie there


@pytest.mark.parametrize("how", ["mv", "copy", "copy that stays"])
@pytest.mark.parametrize("identity", ["mtime", "content"])
def test_a_project_that_is_moved_takes_nothing_a_second_time(
    act: Acting, workspace: Path, monkeypatch: pytest.MonkeyPatch, how: str, identity: str
) -> None:
    (workspace / "project").mkdir()
    monkeypatch.chdir(workspace / "project")
    contract = orders(source={"identity": identity})
    land("a.csv", "1,10", "2,-1")
    land("b.csv", "3,30")
    act(contract)
    moved(workspace, how, monkeypatch)
    assert act(contract).status == "no_new_data"
    assert act.says("elsewhere/project/landing/a.csv is ", "was read before under another name", "so are 1 others")
    assert act(contract).status == "no_new_data"
    land("c.csv", "4,40")
    assert act(contract).counts.source == 1
    assert not act.says("is gone")
    land("a.csv", "1,11", "5,-2")  # a change replaces the rows that carry the name of the old place
    assert act(contract).counts.source == 2
    assert stored() == [(1, 11), (3, 30), (4, 40)]
    assert waiting() == [-2]


def test_a_file_by_another_mount_is_the_same(act: Acting, workspace: Path) -> None:
    land("a.csv", "1,10")
    act(orders())
    Path("mount").symlink_to(workspace)
    mounted = orders(source={"path": "mount/landing/*.csv"})
    assert act(mounted).status == "no_new_data"
    assert act.says("mount/landing/a.csv is ", "was read before under another name")
    land("a.csv", "1,11")
    assert act(mounted).counts.good == 1
    assert act(orders()).status == "no_new_data"
    assert stored() == [(1, 11)]


def test_a_file_that_changed_on_the_way_replaces_its_rows(
    act: Acting, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "project").mkdir()
    monkeypatch.chdir(workspace / "project")
    land("a.csv", "1,10")
    act(orders())
    moved(workspace, "mv", monkeypatch)
    land("a.csv", "1,11", "2,20")
    assert act(orders()).counts.source == 2
    assert stored() == [(1, 11), (2, 20)]


def test_a_file_that_cannot_be_read_any_more_is_no_defect(act: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: str, *_: Any) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    land("a.csv", "1,10")
    act(orders())
    later(Path("landing/a.csv"))
    monkeypatch.setattr("lakelogic.run.input.file_digests.digest", gone)
    with pytest.raises(SourceError, match=r"a.csv cannot be read: No such file"):
        act(orders())


def test_a_renamed_file_is_told_and_followed_under_its_new_name(act: Acting) -> None:
    first = land("a.csv", "1,10", "2,-1")
    land("other.csv", "9,90")
    act(orders())
    first.rename("landing/b.csv")
    assert act(orders()).status == "no_new_data"
    assert act.says("b.csv is ", "a.csv that was read before under another name")
    assert act(orders()).status == "no_new_data"
    assert not act.says("another name")  # once
    Path("landing/b.csv").rename("landing/c.csv")
    assert act(orders()).status == "no_new_data"
    later(Path("landing/c.csv"))
    assert act(orders()).status == "no_new_data"
    assert stored() == [(1, 10), (9, 90)]
    land("c.csv", "1,11", "3,-3")
    result = act(orders())
    assert (result.counts.source, result.counts.good) == (2, 1)
    assert stored() == [(1, 11), (9, 90)]  # the rows that carried the name a.csv went
    assert waiting() == [-3]
    later(Path("landing/c.csv"))
    assert act(orders()).status == "no_new_data"
    land("a.csv", "1,10", "2,-1")  # once more, as it was: its rows are not in the table any more
    assert act(orders()).counts.good == 1
    assert stored() == [(1, 10), (1, 11), (9, 90)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lost_ledger_knows_a_renamed_file(act: Acting, when: str) -> None:
    first = land("a.csv", "1,10", "2,-1")
    act(orders())
    first.rename("landing/b.csv")
    if when == "after":
        act(orders())
    lose_the_ledger()
    assert act(orders()).status == "no_new_data"
    land("b.csv", "1,11")
    assert act(orders()).counts.good == 1
    lose_the_ledger()
    assert act(orders()).status == "no_new_data"
    assert not act.says("gone")
    later(Path("landing/b.csv"))
    lose_the_ledger()
    assert act(orders()).status == "no_new_data"
    assert stored() == [(1, 11)]
    assert waiting() == []


def test_two_ledgers_know_a_renamed_file(act: Acting, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (f"sqlite:///{workspace}/{name}.db" for name in ("one", "two"))
    first = land("a.csv", "1,10")
    monkeypatch.setenv("LAKELOGIC_LEDGER", one)
    act(orders())
    first.rename("landing/b.csv")
    for ledger in (two, one):
        monkeypatch.setenv("LAKELOGIC_LEDGER", ledger)
        assert act(orders()).status == "no_new_data"
    land("b.csv", "1,11")
    assert act(orders()).counts.good == 1
    monkeypatch.setenv("LAKELOGIC_LEDGER", two)
    assert act(orders()).status == "no_new_data"
    land("b.csv", "1,12")
    assert act(orders()).counts.good == 1
    monkeypatch.setenv("LAKELOGIC_LEDGER", one)
    assert act(orders()).status == "no_new_data"
    assert stored() == [(1, 12)]


def test_the_next_delivery_may_hold_the_same(act: Acting) -> None:
    land("monday.csv", "1,10").unlink()
    land("monday.csv", "1,10")
    act(orders())
    Path("landing/monday.csv").unlink()
    land("tuesday.csv", "1,10")
    assert act(orders()).counts.good == 1
    assert act.says("tuesday.csv holds exactly what", "monday.csv", "identity: content")
    assert stored() == [(1, 10), (1, 10)]


def test_equal_content_is_one_file_where_the_contract_says_so(act: Acting) -> None:
    contract = orders(source={"identity": "content"})
    land("monday.csv", "1,10")
    land("monday copy.csv", "1,10")
    assert act(contract).counts.source == 1
    assert act.says("monday.csv holds what", "monday copy.csv")
    Path("landing/monday.csv").unlink()
    Path("landing/monday copy.csv").unlink()
    land("tuesday.csv", "1,10")
    assert act(contract).status == "no_new_data"
    land("wednesday.csv", "1,10")
    assert act(contract).status == "no_new_data"
    assert stored() == [(1, 10)]


def test_names_that_are_swapped_or_used_again(act: Acting) -> None:
    first, second = land("a.csv", "1,10"), land("b.csv", "2,20")
    act(orders())
    first.rename("landing/x")
    second.rename(first)
    Path("landing/x").rename(second)
    act(orders())
    assert stored() == [(1, 10), (2, 20)]
    second.rename("landing/c.csv")  # and another file under its name, in the same pass
    land("b.csv", "3,30")
    act(orders())
    assert stored() == [(1, 10), (2, 20), (3, 30)]
    Path("landing/c.csv").rename("landing/d.csv")
    assert act(orders()).status == "no_new_data"
    land("c.csv", "4,40")  # and in a later one
    act(orders())
    assert stored() == [(1, 10), (2, 20), (3, 30), (4, 40)]
    land("d.csv", "1,11")
    act(orders())
    assert stored() == [(1, 11), (2, 20), (3, 30), (4, 40)]
    assert act(orders()).status == "no_new_data"


@pytest.mark.parametrize("source", [{}, {"identity": "content"}, {"load_mode": "incremental"}])
@pytest.mark.parametrize("loses_ledger", [False, True])
def test_a_file_moved_over_the_name_of_another_takes_the_place_of_both(
    act: Acting, source: dict[str, Any], loses_ledger: bool
) -> None:
    contract = orders(source=source)
    first, second = land("a.csv", "1,10", "7,-7"), land("b.csv", "2,20", "3,-3")
    act(contract)
    second.rename(first)
    assert act(contract).counts.source == 2
    assert act.says("a.csv", "b.csv", "rows of both are replaced")
    assert not act.says("is gone; its rows stay")
    assert (stored(), waiting()) == ([(2, 20)], [-3])
    if loses_ledger:
        lose_the_ledger()
    assert act(contract).status == "no_new_data"
    assert not act.says("gone")
    land("a.csv", "4,40")
    assert act(contract).counts.good == 1
    assert (stored(), waiting()) == ([(4, 40)], [])
    land("b.csv", "2,20", "3,-3")  # its rows are not in the table any more: it is another delivery
    assert act(contract).counts.source == 2
    assert (stored(), waiting()) == ([(2, 20), (4, 40)], [-3])


@pytest.mark.parametrize("runs_between", [False, True])
@pytest.mark.parametrize("identity", ["mtime", "content"])
def test_files_that_all_move_one_name_on(act: Acting, identity: str, runs_between: bool) -> None:
    contract = orders(source={"identity": identity})
    first, second, third = land("a.csv", "1,10"), land("b.csv", "2,20", "3,-3"), land("c.csv", "4,40", "5,-5")
    act(contract)
    second.rename(first)
    if runs_between:
        act(contract)
    third.rename(second)
    act(contract)
    assert (stored(), waiting()) == ([(2, 20), (4, 40)], [-5, -3])
    second.rename(first)
    act(contract)
    assert (stored(), waiting()) == ([(4, 40)], [-5])
    lose_the_ledger()
    assert act(contract).status == "no_new_data"
    land("a.csv", "6,60")
    act(contract)
    assert (stored(), waiting()) == ([(6, 60)], [])


def test_a_renamed_file_under_a_name_that_was_renamed_too(act: Acting) -> None:
    first, second = land("a.csv", "1,10", "7,-7"), land("b.csv", "2,20", "3,-3")
    act(orders())
    first.rename("landing/c.csv")
    second.rename("landing/d.csv")
    assert act(orders()).status == "no_new_data"
    Path("landing/d.csv").rename("landing/c.csv")  # the rows in the table carry the names a.csv and b.csv
    assert act(orders()).counts.source == 2
    assert (stored(), waiting()) == ([(2, 20)], [-3])
    lose_the_ledger()
    assert act(orders()).status == "no_new_data"
    land("c.csv", "4,40")
    act(orders())
    assert (stored(), waiting()) == ([(4, 40)], [])


def test_equal_content_under_a_known_name_is_only_a_move_with_more_evidence(act: Acting) -> None:
    land("a.csv", "1,10")
    second = land("b.csv", "2,20")
    act(orders())
    second.unlink()
    land("a.csv", "2,20")  # written at another time
    act(orders())
    assert act.says("a.csv holds exactly what", "b.csv", "identity: content")
    assert stored() == [(2, 20), (2, 20)]


def test_a_file_moved_over_another_is_merged_once(act: Acting) -> None:
    contract = orders(source={"load_mode": "incremental"}, primary_key=["id"], materialization={"strategy": "merge"})
    first, second = land("a.csv", "1,10"), land("b.csv", "2,20", "3,-3")
    act(contract)
    second.rename(first)
    act(contract)
    assert (stored(), waiting()) == ([(1, 10), (2, 20)], [-3])
    assert act(contract).status == "no_new_data"


def test_case_alone_makes_no_other_file_and_packing_does(act: Acting) -> None:
    contract = orders(source={"path": "landing", "format": "csv"})
    first = land("Orders.CSV", "1,10")
    act(contract)
    first.rename("landing/orders.csv")
    assert act(contract).status == "no_new_data"
    packed = Path("landing/orders.csv.gz")
    packed.write_bytes(gzip.compress(Path("landing/orders.csv").read_bytes()))
    assert act(contract).counts.good == 1
    assert stored() == [(1, 10), (1, 10)]


def test_a_folder_that_gives_a_column_makes_another_input(act: Acting) -> None:
    contract = orders(
        source={"path": "landing", "format": "csv"}, model={"fields": [*FIELDS, {"name": "day", "type": "date"}]}
    )
    first = land("a.csv", "1,10")
    act(contract)
    Path("landing/day=2024-01-01").mkdir()
    first.rename("landing/day=2024-01-01/a.csv")
    assert act(contract).counts.good == 1
    [row] = DeltaTable(TABLE).to_pyarrow_table().to_pylist()
    assert (row["id"], str(row["day"])) == (1, "2024-01-01")
    assert act(contract).status == "no_new_data"


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_every_format_is_known_by_what_it_holds(act_on_each: Acting, form: str) -> None:
    contract = orders(source={"path": f"landing/*.{form}"})
    Path("landing").mkdir()
    first = Path(f"landing/a.{form}")
    if form == "parquet":
        pq.write_table(pa.table({"id": [1], "amount": [10]}), first)
    else:
        first.write_text('{"id": 1, "amount": 10}\n')
    act_on_each(contract)
    first.rename(f"landing/b.{form}")
    later(Path(f"landing/b.{form}"))
    shutil.move(f"landing/b.{form}", f"landing/a.{form}")
    assert act_on_each(contract).status == "no_new_data"
    first.rename(f"landing/c.{form}")
    assert act_on_each(contract).status == "no_new_data"
    assert stored() == [(1, 10)]


def test_a_window_knows_a_renamed_file(act: Acting) -> None:
    contract = orders(source={"load_mode": "incremental"})
    first = land("orders_2024-01-01.csv", "1,10")
    act(contract)
    first.rename("landing/web_2024-01-01.csv")
    loaded, catalog = load(contract), LocalCatalog()
    day = Asked(Days(date(2024, 1, 1), date(2024, 1, 1)))
    with open_ledger(catalog.ledger_url()) as ledger:
        assert run(ContractRequest(loaded, act.engine, catalog, ledger, asked=day)).status == "no_new_data"
        again = replace(day, again=True)  # its rows carry the name of before
        assert run(ContractRequest(loaded, act.engine, catalog, ledger, asked=again)).counts.good == 1
    assert stored() == [(1, 10)]


def test_a_batch_that_waits_is_not_published_beside_its_renamed_file(act: Acting) -> None:
    contract = orders(quality={"max_quarantine_ratio": 0.4})
    first = land("a.csv", "1,10", "2,-1")
    waits = act(contract)
    assert waits.status == "gated"
    first.rename("landing/b.csv")
    land("c.csv", "2,20", "3,30")
    assert act(contract).status == "succeeded"
    loaded, catalog = load(contract), LocalCatalog()
    with open_ledger(catalog.ledger_url()) as ledger, pytest.raises(LakeLogicError, match="read the same input"):
        release(ContractRequest(loaded, act.engine, catalog, ledger), waits.run_id, person="Ann", why=None)
    assert stored() == [(1, 10), (2, 20), (3, 30)]


def test_a_file_that_is_back_after_a_reload_is_new(act: Acting, workspace: Path) -> None:
    from lakelogic.actions.operate.reset import reload
    from lakelogic.actions.operate.run import RunRequest

    Path("orders.yaml").write_text(
        "dataset: orders\nsource: {path: landing/*.csv}\n"
        "model: {fields: [{name: id, type: int}, {name: amount, type: int}]}\n"
        "materialization: {target_path: shop.silver.orders}\n"
    )
    first = land("a.csv", "1,10")
    land("b.csv", "2,20")
    reload(Surroundings.here(), RunRequest("orders.yaml", "duckdb"))
    first.rename("kept.csv")
    reload(Surroundings.here(), RunRequest("orders.yaml", "duckdb"))
    assert stored() == [(2, 20)]
    Path("kept.csv").rename(first)
    with DataProcessor("orders.yaml", act.engine) as processor:
        assert processor.run().counts.good == 1
    assert stored() == [(1, 10), (2, 20)]


class TestWithoutDigests:
    """Ledgers and commits of earlier versions do not tell what files held."""

    def test_place_size_and_time_are_enough(self, act: Acting) -> None:
        land("a.csv", "1,10")
        act(orders())
        forget_digests()
        Path("landing").rename("arrivals")
        contract = orders(source={"path": "arrivals/*.csv"})
        assert act(contract).status == "no_new_data"
        assert act.says("another name")

    def test_all_gone_and_the_same_names_elsewhere_stops(self, act: Acting) -> None:
        land("a.csv", "1,10")
        act(orders())
        forget_digests()
        Path("landing").rename("arrivals")
        later(Path("arrivals/a.csv"))
        with pytest.raises(DataError, match="twice") as caught:
            act(orders(source={"path": "arrivals/*.csv"}))
        assert "reload" in str(caught.value.hint)
        assert stored() == [(1, 10)]

    def test_one_that_is_alike_is_read_with_a_warning(self, act: Acting) -> None:
        first = land("a.csv", "1,10")
        land("b.csv", "2,20")
        act(orders())
        forget_digests()
        first.rename("landing/c.csv")
        assert act(orders()).counts.good == 1
        assert act.says("c.csv has the name or the time and the size of", "reload")
