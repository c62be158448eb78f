"""Runs that are asked for days: which files and rows they take, and which rows of the table they replace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.engines import registry
from lakelogic.errors import CompileError, DataError, UnsupportedError, UsageError
from lakelogic.ledger.store import Ledger, open_ledger
from lakelogic.plan.compile import load_checked
from lakelogic.plan.source.days import Days
from lakelogic.run.contract_run import run
from lakelogic.run.input.days import Asked
from lakelogic.run.request import ContractRequest
from lakelogic.run.result import Result
from lakelogic.storage.dates import day_of_file, days_of_file

Go = Callable[..., Result]
# Other formats and engines take the same way and much longer; `make test-faults` sets the variable.
_ALL = bool(os.environ.get("LAKELOGIC_ALL_FAULTS"))
FORMATS = ["delta", "iceberg", "parquet"] if _ALL else ["delta"]
ENGINES = ["duckdb", "polars", "spark"] if _ALL else ["duckdb"]


def february(first: int, last: int | None = None, **more: bool) -> Asked:
    return Asked(Days(date(2026, 2, first), date(2026, 2, last or first)), **more)


def bronze(**more: Any) -> dict[str, Any]:
    return {
        "info": {"target_layer": "bronze", "dataset": "bronze_orders"},
        "source": {"path": "landing", "pattern": "o_*.csv", "format": "csv", "load_mode": "incremental"},
        "materialization": {"target_path": "s.bronze.o", "reprocess_date_column": "day", "partition_by": ["day"]},
        **more,
    }


def silver(name: str, **settings: Any) -> dict[str, Any]:
    return {
        "info": {"target_layer": "silver", "dataset": f"silver_{name}"},
        "source": {"path": "s.bronze.o", "watermark_field": "day"},
        "model": {
            "fields": [{"name": "id", "type": "int"}, {"name": "day", "type": "date"}, {"name": "n", "type": "int"}]
        },
        "quality": {"row_rules": [{"name": "positive", "sql": "n > 0"}]},
        "materialization": {"target_path": f"s.silver.{name}", **settings},
    }


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    started = registry.load(request.param)
    yield started
    started.close()


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.chdir(tmp_path)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER"):
        monkeypatch.delenv(name, raising=False)
    land(1, "1,2026-02-01,1")
    land(2, "2,2026-02-02,2", "12,2026-02-02,-1")
    land(3, "3,2026-02-03,3", "13,2026-02-03,13")
    with open_ledger(LocalCatalog().ledger_url()) as opened:
        yield opened


@pytest.fixture
def go(ledger: Ledger, engine: Any) -> Go:
    def call(contract: dict[str, Any], asked: Asked | None = None) -> Result:
        return run(ContractRequest(load_checked(contract), engine, LocalCatalog(), ledger, asked=asked))

    return call


def key(dataset: str, target: str) -> str:
    return f"{dataset}@{LocalCatalog().resolve(target)}"


def land(day: int, *rows: str, more: str = "") -> None:
    Path("landing").mkdir(exist_ok=True)
    Path(f"landing/o_2026-02-{day:02}{more}.csv").write_text("\n".join(["id,day,n", *rows, ""]))


def ids(table: str) -> list[int]:
    found = DeltaTable(Path("lakelogic_warehouse").joinpath(*table.split("."))).to_pyarrow_table()
    return sorted(int(value) for value in found.column("id").to_pylist())


def test_the_end_of_a_window_belongs_to_it_and_other_files_stay_for_later(go: Go, ledger: Ledger) -> None:
    result = go(bronze(), february(1, 2))
    assert (result.status, ids("s.bronze.o")) == ("succeeded", [1, 2, 12])
    told = ledger.run(result.run_id)
    assert told.reason == "files dated 2026-02-01 to 2026-02-02"
    assert (told.window_start, told.window_end) == (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 3, tzinfo=UTC))
    assert told.watermark == "2026-02-02"
    assert go(bronze()).counts.source == 2  # only what no window has read
    assert ids("s.bronze.o") == [1, 2, 3, 12, 13]


def test_an_empty_window_reads_nothing(go: Go, ledger: Ledger) -> None:
    result = go(bronze(), february(20, 21))
    assert (result.status, result.counts.source) == ("no_new_data", 0)
    assert ledger.run(result.run_id).reason == "nothing of 2026-02-20 to 2026-02-21 is new"
    assert not Path("lakelogic_warehouse/s/bronze").exists()
    go(bronze(materialization={"target_path": "s.bronze.o"}))  # nothing tells the days of its files
    merged = silver("m", strategy="merge", primary_key=["id"])
    assert go(merged, february(20)).status == "no_new_data"
    assert ledger.open_intent(key("silver_m", "s.silver.m")) is None


def test_a_late_file_within_the_lookback_comes_with_a_later_window(go: Go) -> None:
    go(bronze(), february(1, 2))
    land(2, "22,2026-02-02,22", more="_late")
    source = {**bronze()["source"], "lookback": "1 day"}
    result = go(bronze(source=source), february(3, late=True))
    assert result.counts.source == 3  # the late one and the two of 3 February; what was read before is not read again
    assert ids("s.bronze.o") == [1, 2, 3, 12, 13, 22]
    assert go(bronze(source=source), february(3, late=False)).status == "no_new_data"


def test_days_that_are_overwritten_are_made_of_all_their_files(go: Go) -> None:
    written = bronze(
        materialization={"target_path": "s.bronze.o", "strategy": "overwrite", "reprocess_date_column": "day"}
    )
    go(written, february(2, 3))
    land(2, "22,2026-02-02,22", more="_late")
    assert go(written, february(2)).counts.source == 3
    assert ids("s.bronze.o") == [2, 3, 12, 13, 22]
    assert go(written, february(2)).status == "no_new_data"


def test_rows_of_a_table_are_appended_once_however_often_their_days_are_asked_for(go: Go) -> None:
    go(bronze())
    assert go(silver("a"), february(1, 2)).counts.source == 3
    assert go(silver("a"), february(2, 3)).counts.source == 4
    assert ids("s.silver.a") == [1, 2, 3, 13]


@pytest.mark.parametrize("format_", FORMATS)
def test_processing_days_again_replaces_exactly_their_rows_in_every_layer(go: Go, ledger: Ledger, format_: str) -> None:
    def kept(contract: dict[str, Any]) -> dict[str, Any]:
        return {**contract, "materialization": {**contract["materialization"], "format": format_}}

    parted = kept(silver("p", strategy="overwrite", partition_by=["day"]))
    merged = kept(silver("m", strategy="merge", primary_key=["id"]))
    layers = [kept(bronze()), parted, merged]
    for contract in layers:
        go(contract)
    land(2, "32,2026-02-02,32")  # 2 and 12 are gone, 32 is new
    done = [go(contract, february(2, again=True)) for contract in layers]
    assert [result.counts.source for result in done] == [1, 1, 1]
    assert [result.report["applied"]["removed_rows"] for result in done] == [2, 1, 1]  # 12 never was good
    assert [sorted(int(row[0]) for row in rows_of(result)) for result in done] == [[1, 3, 13, 32]] * 3
    assert ledger.watermark(key("bronze_orders", "s.bronze.o")) == "2026-02-03"
    assert ledger.watermark(key("silver_p", "s.silver.p")) == "2026-02-02"
    assert go(layers[0]).status == "no_new_data"


def test_days_whose_files_are_gone_are_not_emptied_by_those_that_are_there(go: Go) -> None:
    go(bronze())
    land(3, "33,2026-02-03,33")
    Path("landing/o_2026-02-02.csv").unlink()  # taken away after it was read, as landing zones are
    with pytest.raises(DataError, match=r"that were read before are gone.*o_2026-02-02\.csv"):
        go(bronze(), february(2, 3, again=True))
    assert ids("s.bronze.o") == [1, 2, 3, 12, 13]
    assert go(bronze(), february(2, again=True)).status == "no_new_data"
    go(bronze(), february(3, again=True))
    assert ids("s.bronze.o") == [1, 2, 12, 33]


def rows_of(result: Result) -> list[tuple[Any, ...]]:
    from lakelogic.tables.registry import load

    good = result.report["targets"]["good"]
    name = next(n for n in ("delta", "iceberg", "parquet") if load(n).state(good["location"]) is not None)
    state = load(name).state(good["location"])
    assert state is not None
    import pyarrow.parquet as pq

    return [(value,) for path in state.files for value in pq.ParquetFile(path).read(["id"]).column(0).to_pylist()]


def test_bad_rows_of_other_days_stay_in_quarantine(go: Go) -> None:
    go(bronze())
    overwritten = silver("o", strategy="overwrite")
    go(overwritten)

    def waiting() -> list[tuple[int, str]]:
        found = DeltaTable("lakelogic_warehouse/s/quarantine/silver_o").to_pyarrow_table().to_pylist()
        return sorted((row["id"], row["quarantine_state"]) for row in found)

    assert waiting() == [(12, "active")]
    go(overwritten, february(3, again=True))
    assert waiting() == [(12, "active")]  # it was not read
    go(overwritten, february(2, again=True))
    assert waiting() == [(12, "active")]  # it was read again, and is one row
    land(2, "2,2026-02-02,2", "12,2026-02-02,12")
    go(bronze(), february(2, again=True))
    go(overwritten, february(2, again=True))
    assert waiting() == [(12, "superseded")]  # it came back as another row, which is good
    assert ids("s.silver.o") == [1, 2, 3, 12, 13]


def test_what_has_no_date_is_read_in_full_or_refused_and_says_so(go: Go, ledger: Ledger) -> None:
    go(bronze())
    timeless = silver("t", strategy="overwrite") | {"source": {"path": "s.bronze.o"}}
    result = go(timeless, february(3))
    assert result.counts.source == 5
    assert ledger.run(result.run_id).reason.startswith("full: the contract has no source.watermark_field")
    counted = silver("c", strategy="overwrite") | {
        "model": {"fields": [{"name": "n", "type": "bigint"}]},
        "transformations": [{"sql": "SELECT COUNT(*) AS n FROM source", "phase": "pre"}],
    }
    result = go(counted, february(3))
    assert (result.counts.source, ledger.run(result.run_id).window_start) == (5, None)
    assert "all of it is replaced" in ledger.run(result.run_id).reason
    dayless = silver("x") | PLAIN | {"transformations": [{"drop": ["day"]}]}
    with pytest.raises(UnsupportedError, match="cannot be told: no column of the table tells their days"):
        go(dayless, february(3, again=True))
    with pytest.raises(UsageError, match="reprocess_policy is fail"):
        go(silver("f", strategy="overwrite", reprocess_policy="fail"), february(3, again=True))
    Path("landing/o_undated.csv").write_text("id,day,n\n")
    with pytest.raises(UsageError, match="has no date in its name"):
        go(bronze(), february(3))
    with pytest.raises(CompileError, match="watermark_field"):
        load_checked(bronze(source={**bronze()["source"], "watermark_field": "day"}))


def test_rows_that_would_fall_on_other_days_of_the_table_are_refused(go: Go) -> None:
    go(bronze())
    shifted = silver("s", strategy="overwrite")
    shifted["transformations"] = [{"derive": {"field": "day", "sql": "date_add(day, 1)"}}]
    with pytest.raises(DataError, match="2 good rows of 2026-02-03 have another day in `day`"):
        go(shifted, february(3))


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("/x/claims_cdc_2026-02-03_late.csv", "2026-02-03"),
        ("/x/orders20260203.csv", "2026-02-03"),
        ("/x/day=2026-02-03/part-0.csv", "2026-02-03"),
        ("/x/2026/02/03/part.csv", "2026-02-03"),
        ("/x/year=2026/month=2/day=3/part.csv", "2026-02-03"),
        ("/x/2026-01-01/from_2026-02-01_to_2026-02-03.csv", "2026-02-03"),
        ("/x/v20269999.csv", None),
        ("/x/part-00000-12345678901.csv", None),
    ],
)
def test_the_day_of_a_file_stands_in_its_name_or_its_folders(path: str, day: str | None) -> None:
    assert day_of_file(path) == (date.fromisoformat(day) if day else None)


KEYED = {"strategy": "merge", "primary_key": ["id"]}
PLAIN = {"model": {"fields": [{"name": "id", "type": "int"}, {"name": "n", "type": "int"}]}}


@pytest.mark.parametrize("settings", [KEYED, {}])
def test_days_replace_what_they_made_where_no_column_of_the_table_tells_them(go: Go, settings: dict[str, Any]) -> None:
    document = bronze(
        **PLAIN,
        transformations=[{"drop": ["day"]}],
        materialization={"target_path": "s.bronze.o", **settings},
    )
    go(document)
    assert ids("s.bronze.o") == [1, 2, 3, 12, 13]
    land(3, "3,2026-02-03,4")  # 13 is not in it any more
    go(document, february(3, again=True))
    assert ids("s.bronze.o") == [1, 2, 3, 12]
    go(document, february(3, again=True))
    assert ids("s.bronze.o") == [1, 2, 3, 12]


def test_files_of_a_month_or_a_week_are_days(go: Go) -> None:
    for old in Path("landing").glob("*.csv"):
        old.unlink()
    Path("landing/o_2013-01.csv").write_text("id,day,n\n1,2013-01-05,1\n2,2013-01-31,1\n")
    Path("landing/o_2013-W05.csv").write_text("id,day,n\n3,2013-02-02,1\n")  # 28 January to 3 February
    Path("landing/o_2013-03.csv").write_text("id,day,n\n4,2013-03-01,1\n")
    go(bronze(), Asked(Days(date(2013, 1, 5), date(2013, 1, 5))))
    assert ids("s.bronze.o") == [1, 2]
    go(bronze(), Asked(Days(date(2013, 2, 1), date(2013, 2, 1))))
    assert ids("s.bronze.o") == [1, 2, 3]


@pytest.mark.parametrize(
    ("path", "days"),
    [
        ("in/flights_2013-01.csv", ("2013-01-01", "2013-01-31")),
        ("in/flights_2024_02.csv.gz", ("2024-02-01", "2024-02-29")),
        ("in/2013-W05/x.csv", ("2013-01-28", "2013-02-03")),
        ("in/year=2013/month=4/x.csv", ("2013-04-01", "2013-04-30")),
        ("in/2013-02/x_2013-02-03.csv", ("2013-02-03", "2013-02-03")),
        ("in/orders_2013-13.csv", None),
        ("in/orders.csv", None),
    ],
)
def test_the_days_of_a_file_are_told_by_its_name(path: str, days: tuple[str, str] | None) -> None:
    wanted = (date.fromisoformat(days[0]), date.fromisoformat(days[1])) if days else None
    assert days_of_file(path) == wanted
