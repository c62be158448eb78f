"""A table as a source is read from the last version on, and is known by its own id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lakelogic import DataProcessor
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import DataError
from lakelogic.ledger.store import open_ledger
from lakelogic.plan.compile import load_checked
from lakelogic.run import upkeep
from lakelogic.run.request import ContractRequest
from lakelogic.run.state.doctor import check_up
from lakelogic.tables.registry import load as load_tables

FORMATS = ["delta", "parquet", "iceberg"]
FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]


def silver(form: str, **materialization: Any) -> dict[str, Any]:
    return {
        "dataset": "silver",
        "source": {"path": "landing/*.csv"},
        "model": {"fields": [FIELDS[0], {"name": "amount", "type": "int"}]},
        "materialization": {"target_path": "shop.silver.orders", "format": form, **materialization},
    }


def gold(form: str = "delta", load_mode: str | None = None, **materialization: Any) -> dict[str, Any]:
    how = {"load_mode": load_mode} if load_mode else {}
    return {
        "dataset": "gold",
        "source": {"path": "shop.silver.orders", **how},
        "model": {"fields": FIELDS},
        "materialization": {"target_path": "shop.gold.facts", "format": form, **materialization},
    }


MERGED: dict[str, Any] = {"strategy": "merge", "primary_key": ["id"]}


def land(name: str, *rows: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", name).write_text("id,amount\n" + "".join(f"{row}\n" for row in rows))


def facts(form: str = "delta") -> list[tuple[int, int]]:
    state = load_tables(form).state(LocalCatalog().resolve("shop.gold.facts"))
    assert state is not None
    rows = [row for path in state.files for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted((row["id"], row["amount"]) for row in rows)


@pytest.fixture
def act(engine: Any, workspace: Path) -> Callable[..., Any]:
    def run(document: dict[str, Any], **how: Any) -> Any:
        with DataProcessor(document, engine) as processor:
            return processor.run(**how)

    return run


@pytest.mark.parametrize("load_mode", [None, "incremental"])
@pytest.mark.parametrize("form", FORMATS)
def test_only_rows_that_came_since_are_appended(act: Any, form: str, load_mode: str | None) -> None:
    land("1.csv", "1,10", "2,-1")
    act(silver(form))
    assert act(gold(form, load_mode)).counts.good == 1
    assert act(gold(form, load_mode)).status == "no_new_data"
    land("2.csv", "3,30")
    act(silver(form))
    land("3.csv", "4,40")
    act(silver(form))
    result = act(gold(form, load_mode))
    assert (result.counts.source, result.counts.quarantined) == (2, 0)  # the bad row of before is not read again
    assert facts(form) == [(1, 10), (3, 30), (4, 40)]
    act({**gold(form, load_mode), "info": {"title": "Facts"}, "quality": {"row_rules": [{"sql": "amount < 999"}]}})
    assert facts(form) == [(1, 10), (3, 30), (4, 40)]


@pytest.mark.parametrize("form", FORMATS)
def test_upkeep_of_the_upstream_brings_no_rows(act: Any, form: str) -> None:
    land("1.csv", "1,10")
    act(silver(form))
    act(gold(form, "incremental"))
    for name, row in (("2.csv", "2,20"), ("3.csv", "3,30")):
        land(name, row)
        act(silver(form))
    place = LocalCatalog().resolve("shop.silver.orders")
    upkeep.compact(load_tables(form), place)
    assert len(load_tables(form).state(place).files) == 1  # type: ignore[union-attr]
    assert act(gold(form, "incremental")).counts.source == 2
    assert facts(form) == [(1, 10), (2, 20), (3, 30)]
    assert act(gold(form, "incremental")).status == "no_new_data"


@pytest.mark.parametrize("form", FORMATS)
def test_rows_that_were_changed_upstream_are_read_in_place_of_what_they_gave(act: Any, form: str) -> None:
    land("1.csv", "1,10", "2,20")
    act(silver(form, **MERGED))
    act(gold(form))
    land("1.csv", "1,11", "2,20", "3,30")
    act(silver(form, **MERGED))
    act(gold(form))
    assert facts(form) == [(1, 11), (2, 20), (3, 30)]
    land("1.csv", "1,12")
    act(silver(form, **MERGED))
    with pytest.raises(DataError, match=r"changed or deleted since version .* appended to cannot take that"):
        act(gold(form, "incremental"))
    assert facts(form) == [(1, 11), (2, 20), (3, 30)]


@pytest.mark.parametrize("form", FORMATS)
def test_changes_and_deletes_upstream_flow_on_to_a_merge(act: Any, form: str) -> None:
    overwritten = silver(form, strategy="overwrite")
    land("1.csv", "1,10", "2,20", "4,40")
    act(overwritten)
    act(gold(form, "incremental", **MERGED))
    land("1.csv", "1,11", "3,30", "4,-4")
    act(overwritten)
    result = act(gold(form, "incremental", **MERGED))
    assert facts(form) == [(1, 11), (3, 30), (4, 40)]  # the newer form of 4 waits in quarantine
    assert result.counts.quarantined == 1
    assert act(gold(form, "incremental", **MERGED)).status == "no_new_data"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("strategy", [{}, MERGED, {"strategy": "overwrite"}])
def test_a_table_that_was_made_anew_is_read_again(act: Any, form: str, strategy: dict[str, Any]) -> None:
    land("1.csv", "1,10")
    act(silver(form))
    act(gold(form, **strategy))
    Path("landing/1.csv").unlink()
    load_tables(form).drop(LocalCatalog().resolve("shop.silver.orders"))
    land("2.csv", "2,20")
    act(silver(form))
    result = act(gold(form, **strategy))
    assert result.counts.good == 1
    if strategy == MERGED:  # nothing is left of what it gave: that is for a person to decide
        assert result.status == "gated"
    assert facts(form) == ([(1, 10)] if strategy == MERGED else [(2, 20)])


def test_the_doctor_sees_that_a_source_was_made_anew(act: Any, engine: Any) -> None:
    def looked() -> list[str]:
        with open_ledger(LocalCatalog().ledger_url()) as ledger:
            found = check_up(ContractRequest(load_checked(gold()), engine, LocalCatalog(), ledger), mend=False)
        return [one.found for one in found if one.what == "source"]

    land("1.csv", "1,10")
    act(silver("delta"))
    act(gold())
    assert looked() == []
    load_tables("delta").drop(LocalCatalog().resolve("shop.silver.orders"))
    act(silver("delta"))
    [told] = looked()
    assert told == "`shop.silver.orders` was made anew since it was read up to version 0; the next run reads all of it"


def test_a_link_that_was_made_anew_is_looked_at_again(act: Any) -> None:
    linked = {
        **gold(strategy="overwrite"),
        "source": {"path": "keys.csv"},
        "model": {"fields": [FIELDS[0]]},
        "links": [{"name": "orders", "table": "shop.silver.orders"}],
        "transformations": [{"join": {"reference": "orders", "on": "id", "key": "id", "fields": ["amount"]}}],
    }
    Path("keys.csv").write_text("id\n1\n")
    for amount in (10, 77):
        land("1.csv", f"1,{amount}")
        act(silver("delta"))
        assert act(linked).status == "succeeded"
        assert facts() == [(1, amount)]
        load_tables("delta").drop(LocalCatalog().resolve("shop.silver.orders"))


def test_asked_to_read_again_a_run_reads(act: Any) -> None:
    land("1.csv", "1,10")
    act(silver("delta"))
    act(gold(**MERGED))
    assert act(gold(**MERGED)).status == "no_new_data"
    assert act(gold(**MERGED), again=True).counts.source == 1
    assert act(gold(**MERGED), again=True).counts.source == 1


@pytest.mark.parametrize("load_mode", [None, "incremental"])
def test_a_history_that_was_trimmed_is_never_taken_for_nothing(act: Any, load_mode: str | None) -> None:
    land("1.csv", "1,10")
    act(silver("delta"))
    act(gold(load_mode=load_mode))
    for name, row in (("2.csv", "2,20"), ("3.csv", "3,30")):
        land(name, row)
        act(silver("delta"))
    log = Path(LocalCatalog().resolve("shop.silver.orders"), "_delta_log")
    from deltalake import DeltaTable

    DeltaTable(str(log.parent)).create_checkpoint()
    for version in (0, 1):
        (log / f"{version:020d}.json").unlink()
    if load_mode is None:
        act(gold())
        assert facts() == [(1, 10), (2, 20), (3, 30)]
    else:
        with pytest.raises(DataError, match="does not reach back"):
            act(gold(load_mode=load_mode))
        assert facts() == [(1, 10)]


def test_a_lost_ledger_knows_from_the_table_what_was_read(act: Any) -> None:
    land("1.csv", "1,10")
    act(silver("delta"))
    act(gold())
    for file in Path("lakelogic_warehouse/.lakelogic").glob("ledger.db*"):
        file.unlink()
    assert act(gold()).status == "no_new_data"
    land("2.csv", "2,20")
    act(silver("delta"))
    assert act(gold()).counts.source == 1
    assert facts() == [(1, 10), (2, 20)]


def test_the_folder_of_a_parquet_table_of_ours_is_that_table(act: Any) -> None:
    land("1.csv", "1,10", "2,20")
    act(silver("parquet"))
    folder = LocalCatalog().resolve("shop.silver.orders")
    by_folder = {**gold(), "source": {"path": folder, "format": "parquet"}}
    assert act(by_folder).counts.good == 2
    land("2.csv", "3,30")
    act(silver("parquet"))
    assert act(by_folder).counts.good == 1
    assert facts() == [(1, 10), (2, 20), (3, 30)]
