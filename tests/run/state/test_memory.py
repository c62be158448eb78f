"""What a table was made of is known beyond its log: entries beside it tell, and a hole in them is told."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import clock
from lakelogic.actions.operate.maintain import MaintainRequest, maintain
from lakelogic.actions.operate.reset import ResetRequest, reset
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import ReconcileError
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults
from lakelogic.run.processor import DataProcessor
from lakelogic.run.state import entries as memory
from lakelogic.run.state.progress import Progress
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables import chain
from lakelogic.tables.base import CommitInfo
from lakelogic.tables.facts import CommitRecord
from lakelogic.tables.registry import load

FORMATS = ["delta", "parquet", "iceberg"]
Run = Callable[..., Any]


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(workspace: Path, duckdb_engine: Any, form: str) -> Run:
    (workspace / "landing").mkdir()

    def go(**materialization: Any) -> Any:
        contract = {
            "dataset": "orders",
            "source": {"path": "landing/*.csv", "load_mode": "incremental"},
            "model": {"fields": [{"name": "id", "type": "int", "required": True}]},
            "materialization": {"target_path": "a.b.orders", "format": form, **materialization},
        }
        Path("orders.yaml").write_text(json.dumps(contract))
        with DataProcessor(contract, engine=duckdb_engine) as processor:
            return processor.run()

    return go


def land(name: str, *ids: Any) -> None:
    Path("landing", name).write_text("id\n" + "".join(f"{one}\n" for one in ids))


def rows(form: str) -> list[int]:
    state = load(form).state(place())
    assert state is not None
    return sorted(row["id"] for path in state.files for row in pq.ParquetFile(path).read().to_pylist())


def place() -> str:
    return LocalCatalog().resolve("a.b.orders")


def entries() -> list[Path]:
    return sorted(Path(place(), chain.FOLDER).rglob("*.json"))


def lose_the_ledger() -> None:
    for file in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        file.unlink()


def trim(form: str, *, also_the_newest: bool = True) -> None:
    """What months of log retention and an expiry of snapshots leave: the newest state, and no commit of ours."""
    location, tables = place(), load(form)
    state = tables.state(location)
    assert state is not None
    if also_the_newest:  # upkeep is what was done last
        info = CommitInfo("lakelogic:upkeep", state.transactions.get("lakelogic:upkeep", 0) + 1, {"lakelogic": "x"})
        tables.append(location, [], state.schema, info)
    if form == "iceberg":
        time.sleep(0.01)
        tables.vacuum(location, clock.now())
    elif form == "delta":
        DeltaTable(location).create_checkpoint()
        for path in sorted(Path(location, "_delta_log").glob("*.json"))[:-1]:
            path.unlink()
    else:  # we never do this to plain Parquet
        for path in sorted(Path(location, "_lakelogic").glob("*.json"))[:-1]:
            path.unlink()


def three_batches(run: Run) -> None:
    for number in (1, 2, 3):
        land(f"{number}.csv", number)
        assert run().status == "succeeded"


@pytest.mark.parametrize("also_the_newest", [True, False])
def test_a_lost_ledger_over_a_trimmed_log_is_filled_from_the_entries(
    run: Run, form: str, also_the_newest: bool
) -> None:
    three_batches(run)
    trim(form, also_the_newest=also_the_newest)
    assert not load(form).is_whole(place())
    lose_the_ledger()
    land("4.csv", 4)
    assert run().status == "succeeded"
    assert run().status == "no_new_data"
    assert rows(form) == [1, 2, 3, 4]
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        told = {r.counts_good for r in ledger.runs("orders") if r.status == "succeeded"}
        assert told == {1}
        assert len(ledger.files_of("orders")) == 4


def test_an_older_copy_of_the_ledger_over_a_trimmed_log_is_filled_from_the_entries(run: Run, form: str) -> None:
    land("0.csv", 0)
    run()
    kept = Path("lakelogic_warehouse/.lakelogic")
    shutil.copytree(kept, "copy", ignore=shutil.ignore_patterns("iceberg*"))
    three_batches(run)
    trim(form)
    lose_the_ledger()
    for file in Path("copy").glob("ledger.db*"):
        shutil.copy(file, kept)
    assert run().status == "no_new_data"
    assert rows(form) == [0, 1, 2, 3]


@pytest.mark.parametrize("damage", ["missing", "damaged", "all"])
def test_a_hole_in_the_entries_stops_an_append_and_names_what_is_missing(run: Run, form: str, damage: str) -> None:
    three_batches(run)
    trim(form)
    second = entries()[1]
    if damage == "missing":
        second.unlink()
    elif damage == "damaged":
        second.write_bytes(second.read_bytes().replace(b"2.csv", b"9.csv"))
    else:
        shutil.rmtree(Path(place(), chain.FOLDER))
    assert run().status == "no_new_data"  # the ledger knows
    lose_the_ledger()
    if damage == "all":
        assert run().status == "no_new_data"  # the run before has made one entry of what the ledger knew
        shutil.rmtree(Path(place(), chain.FOLDER))
        lose_the_ledger()
    with pytest.raises(ReconcileError, match="Nothing tells any more what") as stopped:
        run()
    assert stopped.value.exit_code == 6
    if damage != "all":
        assert second.name in stopped.value.message
        assert damage in stopped.value.message
    assert rows(form) == [1, 2, 3]


def test_other_strategies_go_on_over_a_hole_and_say_so(run: Run, form: str) -> None:
    settings: dict[str, Any] = {"strategy": "merge", "primary_key": ["id"]}
    for number in (1, 2):
        land(f"{number}.csv", number)
        run(**settings)
    trim(form)
    shutil.rmtree(Path(place(), chain.FOLDER))
    lose_the_ledger()
    land("3.csv", 3)
    assert run(**settings).status == "succeeded"
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        (newest,) = [r.run_id for r in ledger.runs("orders") if r.status == "succeeded"]
        said = [str(line.body) for line in ledger.log_of(newest)]
    assert any("Nothing tells any more what" in line for line in said), said
    assert rows(form) == [1, 2, 3]
    # What is not known stays so: the new entries do not pretend to know the beginning.
    trim(form)
    lose_the_ledger()
    with pytest.raises(ReconcileError):
        run(strategy="append")


def test_a_table_from_before_gets_an_entry_from_whoever_knows_it(run: Run, form: str) -> None:
    three_batches(run)
    shutil.rmtree(Path(place(), chain.FOLDER))  # as an earlier version left it
    lose_the_ledger()
    assert run().status == "no_new_data"  # the log is whole
    assert len(entries()) == 1
    trim(form)
    lose_the_ledger()
    assert run().status == "no_new_data"
    shutil.rmtree(Path(place(), chain.FOLDER))
    assert run().status == "no_new_data"  # the ledger knows
    lose_the_ledger()
    land("4.csv", 4)
    assert run().status == "succeeded"
    assert rows(form) == [1, 2, 3, 4]


def test_an_entry_whose_commit_never_came_is_no_part_of_the_memory(
    run: Run, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    three_batches(run)
    land("4.csv", 4)

    def die(point: str) -> None:
        if point == "after_progress_entry":
            raise faults.InjectedFault("killed")

    with faults.watched(die), pytest.raises(faults.InjectedFault):
        run()
    assert len(entries()) == 4
    lose_the_ledger()  # and with it the staged record
    trim(form)
    Path("landing/4.csv").unlink()
    land("5.csv", 5)
    assert run().status == "succeeded"
    assert rows(form) == [1, 2, 3, 5]
    maintain(Surroundings.here(), MaintainRequest(("orders.yaml",), retention=clock.now() - clock.now()))
    assert len(entries()) == 4  # the one that came to nothing is gone
    lose_the_ledger()
    trim(form)
    assert run().status == "no_new_data"
    assert rows(form) == [1, 2, 3, 5]


def test_one_entry_in_a_hundred_holds_everything_and_older_ones_are_swept(
    run: Run, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "EVERY", 3)
    for number in range(1, 9):
        land(f"{number}.csv", number)
        run()
    whole = [path.name.lstrip("0").partition("-")[0] for path in entries() if b'"earlier"' in path.read_bytes()]
    assert whole == ["1", "3", "6"]
    maintain(Surroundings.here(), MaintainRequest(("orders.yaml",), retention=clock.now() - clock.now()))
    assert [int(path.name.partition("-")[0]) for path in entries()] == [3, 4, 5, 6, 7, 8]
    trim(form)
    lose_the_ledger()
    assert run().status == "no_new_data"
    assert rows(form) == list(range(1, 9))


def test_upkeep_by_others_leaves_the_entries_alone(run: Run, form: str) -> None:
    three_batches(run)
    if form != "delta":
        pytest.skip("delta-rs sweeps Delta tables")
    DeltaTable(place()).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert len(entries()) == 3


def test_a_reset_removes_the_entries_with_the_table(run: Run, form: str) -> None:
    three_batches(run)
    reset(Surroundings.here(), ResetRequest(("orders.yaml",)), lambda _: True)
    assert not Path(place()).exists()
    assert run().status == "succeeded"
    trim(form)
    lose_the_ledger()
    assert run().status == "no_new_data"
    assert rows(form) == [1, 2, 3]


def test_two_ledgers_write_one_chain(run: Run, form: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{workspace}/{number % 2}.db")
        land(f"{number}.csv", number)
        run()
    trim(form)
    monkeypatch.setenv("LAKELOGIC_LEDGER", f"sqlite:///{workspace}/third.db")
    assert run().status == "no_new_data"
    assert rows(form) == [0, 1, 2, 3]


def test_a_writer_that_lost_its_number_does_not_hide_the_one_that_won(run: Run, form: str) -> None:
    land("1.csv", 1)
    run()
    land("2.csv", 2)
    beaten: list[str] = []

    def overtake(point: str) -> None:
        if point == "after_progress_entry" and not beaten:
            won = entries()[-1]
            rival = json.loads(won.read_bytes())
            rival["commit"]["batch_id"] = "of another writer"
            content = json.dumps(rival, sort_keys=True).encode()
            beaten.append(chain.name_of(rival["n"], content))
            (won.parent / f"{beaten[0]}.json").write_bytes(content)

    with faults.watched(overtake):
        run()
    land("3.csv", 3)
    run()
    trim(form)
    lose_the_ledger()
    assert run().status == "no_new_data"
    assert rows(form) == [1, 2, 3]


def test_a_hundred_thousand_files_are_written_and_read_in_seconds(tmp_path: Path) -> None:
    files = [[f"/landing/2026/01/{at % 31:02d}/part-{at:06d}.json.gz", 1_000 + at, 1_700_000_000_000_000_000 + at]
             for at in range(100_000)]  # fmt: skip
    commits = [
        {"batch_id": f"{n:064x}", "n": str(n), "fingerprint": "f" * 64,
         "facts": json.dumps({"run_id": f"run-{n}", "counts": {"source": 100, "good": 100},
                              "input": {"files": files[n * 100 : n * 100 + 100]}})}
        for n in range(1_000)
    ]  # fmt: skip
    began = time.perf_counter()
    kept = memory._kept([CommitRecord(said) for said in reversed(commits)])
    name = chain.write(str(tmp_path), chain.ChainEntry("app", 1_000, commits[-1], None, kept))
    wrote = time.perf_counter()
    past = chain.walk(str(tmp_path), "app", name)
    done = time.perf_counter()
    assert len(past.commits) == 1_001
    assert sum(len(json.loads(one["facts"])["input"]["files"]) for one in past.commits[1:]) == 100_000
    size = chain.root_of(str(tmp_path)).joinpath(chain.FOLDER)
    told = (
        f"write {wrote - began:.2f} s, read {done - wrote:.2f} s, {sum(f.stat().st_size for f in size.rglob('*.json'))}"
    )
    assert wrote - began < 20, told
    assert done - wrote < 20, told
    print(told)


def test_a_file_that_was_read_again_is_kept_once() -> None:
    def said(n: int, mtime: int, **facts: Any) -> CommitRecord:
        told = {"run_id": f"r{n}", "input": {"files": [["a.csv", 1, mtime], [f"{n}.csv", 1, 1]]}, **facts}
        return CommitRecord({"batch_id": f"b{n}", "n": str(n), "facts": json.dumps(told)})

    changed = {"added_rows": 1, "removed_rows": 0, "rows": 1}
    commits = [said(3, 7), said(2, 7), said(1, 5)]  # newest first: the last two hold the same version
    kept = [[path for path, *_ in json.loads(one["facts"])["input"]["files"]] for one in memory._kept(commits)]
    assert kept == [["1.csv"], ["a.csv", "2.csv"], ["a.csv", "3.csv"]]
    merged = [said(2, 7, applied=changed), said(1, 7, applied=changed)]
    kept = [[path for path, *_ in json.loads(one["facts"])["input"]["files"]] for one in memory._kept(merged)]
    assert kept == [["1.csv"], ["a.csv", "2.csv"]]


def test_progress_is_apart_by_dataset(tmp_path: Path) -> None:
    one, two = (Progress(name, str(tmp_path), str(tmp_path / "bad"), "t", name) for name in ("one", "two"))
    assert one.key != two.key
    said = {"batch_id": "b", "n": "1", "facts": "{}"}
    chain.write(str(tmp_path), chain.ChainEntry("lakelogic:one:good", 1, said, None, ()))
    assert chain.named(str(tmp_path), "lakelogic:two:good", 1) is None
    assert list(chain.applications(str(tmp_path))) == ["lakelogic:one:good"]
