"""Rows that a table as source does not have any more go from what was merged from it, in both load modes alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load as load_tables

FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]
MODES = [None, "incremental"]
Act = Callable[..., Any]


def bronze(form: str = "delta", **settings: Any) -> dict[str, Any]:
    return {
        "dataset": "bronze",
        "source": {"path": "landing/*.csv"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "amount", "type": "int"}]},
        "materialization": {"target_path": "shop.bronze.orders", "format": form, "strategy": "append", **settings},
    }


def silver(load_mode: str | None = None, form: str = "delta", **settings: Any) -> dict[str, Any]:
    more = settings.pop("more", {})
    target = {"target_path": "shop.silver.orders", "format": form, "strategy": "merge", "primary_key": ["id"]}
    return {
        "dataset": "silver",
        "source": {"path": "shop.bronze.orders", **({"load_mode": load_mode} if load_mode else {})},
        "model": {"fields": FIELDS},
        "materialization": {**target, **settings},
        **more,
    }


def land(*rows: str, name: str = "a.csv") -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", name).write_text("id,amount\n" + "".join(f"{row}\n" for row in rows))


def upto(last: int, *but: int) -> list[str]:
    return [f"{one},{one * 10}" for one in range(1, last + 1) if one not in but]


def rows(table: str = "shop.silver.orders", *columns: str) -> list[Any]:
    wanted = columns or ("id", "amount")
    return sorted(tuple(row[name] for name in wanted) for row in preview(Surroundings.here(), table, 1000).rows)


def ids(table: str = "shop.silver.orders") -> list[int]:
    return [one for (one,) in rows(table, "id")]


class Told:
    """What a run says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, event: Any) -> None:
        self.lines.append(event.text)

    def __contains__(self, part: str) -> bool:
        return any(part in line for line in self.lines)


@pytest.fixture
def act(duckdb_engine: Any, workspace: Path) -> Act:
    def run(document: dict[str, Any], *given: Any, told: Told | None = None, **how: Any) -> Any:
        with DataProcessor(document, duckdb_engine, sinks=(told,) if told else ()) as processor:
            return processor.run(*given, **how)

    return run


@pytest.mark.parametrize("form", ["delta", "parquet", "iceberg"])
@pytest.mark.parametrize("load_mode", MODES)
def test_a_row_that_was_deleted_upstream_goes(act: Act, load_mode: str | None, form: str) -> None:
    land(*upto(3))
    act(bronze(form))
    act(silver(load_mode, form))
    land("1,11", "3,30", "4,40")
    act(bronze(form))
    told = Told()
    result = act(silver(load_mode, form), told=told)
    assert rows() == [(1, 11), (3, 30), (4, 40)]
    assert result.report["applied"]["gone"] == 1
    assert "1 rows of shop.silver.orders that shop.bronze.orders does not have any more were removed" in told
    assert act(silver(load_mode, form)).status == "no_new_data"


def test_every_engine_removes_them(engine: Any, workspace: Path) -> None:
    def run(document: dict[str, Any]) -> Any:
        with DataProcessor(document, engine) as processor:
            return processor.run()

    land(*upto(3))
    run(bronze())
    run(silver())
    land(*upto(4, 2))
    run(bronze())
    run(silver())
    assert ids() == [1, 3, 4]


@pytest.mark.parametrize("load_mode", MODES)
def test_rows_of_another_origin_stay(act: Act, load_mode: str | None) -> None:
    land(*upto(3))
    act(bronze())
    act(silver(load_mode))
    act(silver(load_mode), pa.table({"id": [9], "amount": [90]}))
    land(*upto(2))
    act(bronze())
    act(silver(load_mode))
    assert ids() == [1, 2, 9]


@pytest.mark.parametrize("load_mode", MODES)
def test_a_table_that_was_never_fed_by_it_loses_nothing(act: Act, load_mode: str | None) -> None:
    Path("old.csv").write_text("id,amount\n7,70\n8,80\n")
    act({**silver(), "source": {"path": "old.csv"}})
    land(*upto(2))
    act(bronze())
    act(silver(load_mode))
    assert ids() == [1, 2, 7, 8]
    land(*upto(3, 2))
    act(bronze())
    act(silver(load_mode))
    assert ids() == [1, 3, 7, 8]


@pytest.mark.parametrize("load_mode", MODES)
def test_a_row_whose_newer_form_waits_in_quarantine_stays(act: Act, load_mode: str | None) -> None:
    land(*upto(4))
    act(bronze())
    act(silver(load_mode))
    land("1,10", "2,-2", "4,40")
    act(bronze())
    act(silver(load_mode))
    assert rows() == [(1, 10), (2, 20), (4, 40)]


@pytest.mark.parametrize("load_mode", MODES)
def test_without_stamps_rows_stay_and_the_run_says_so(act: Act, load_mode: str | None) -> None:
    plain = {"lineage": {"enabled": False}}
    land(*upto(3))
    act(bronze())
    act(silver(load_mode, more=plain))
    land(*upto(2))
    act(bronze())
    told = Told()
    act(silver(load_mode, more=plain), told=told)
    assert ids() == [1, 2, 3]
    assert "rows of shop.silver.orders that shop.bronze.orders does not have any more stay: no column tells" in told


@pytest.mark.parametrize("load_mode", MODES)
def test_an_upstream_that_is_suddenly_empty_closes_the_gate(act: Act, load_mode: str | None) -> None:
    land(*upto(3))
    act(bronze())
    act(silver(load_mode))
    land()
    act(bronze())
    result = act(silver(load_mode))
    assert (result.status, ids()) == ("gated", [1, 2, 3])
    assert "3 of 3 rows that shop.bronze.orders gave before are not there any more (100.0%)" in result.reasons[0]
    assert act(silver(load_mode)).status == "gated"
    land(*upto(4))
    act(bronze())
    assert act(silver(load_mode)).status == "succeeded"
    assert ids() == [1, 2, 3, 4]


@pytest.mark.parametrize("load_mode", MODES)
def test_more_than_the_share_that_may_go_waits_for_a_person(
    act: Act, load_mode: str | None, duckdb_engine: Any
) -> None:
    from lakelogic.ledger.store import open_ledger
    from lakelogic.plan.compile import load_checked
    from lakelogic.run.publish import hold
    from lakelogic.run.request import ContractRequest

    land(*upto(30))
    act(bronze())
    act(silver(load_mode))
    land(*upto(23))
    act(bronze())
    result = act(silver(load_mode))
    assert result.status == "gated"
    assert "7 of 30 rows" in result.reasons[0]
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        job = ContractRequest(load_checked(silver(load_mode)), duckdb_engine, LocalCatalog(), ledger)
        hold.release(job, result.run_id, person="me", why="they closed")
    assert ids() == list(range(1, 24))
    assert act(silver(load_mode)).status == "no_new_data"


@pytest.mark.parametrize(("settings", "left"), [({"strategy": "keep"}, 30), ({"max_delete_ratio": 1}, 3)])
@pytest.mark.parametrize("load_mode", MODES)
def test_the_contract_says_how_much_may_go(act: Act, load_mode: str | None, settings: Any, left: int) -> None:
    deletion = {"strategy": "follow_source", **settings}
    land(*upto(30))
    act(bronze())
    act(silver(load_mode, deletion=deletion))
    land(*upto(3))
    act(bronze())
    assert act(silver(load_mode, deletion=deletion)).status == "succeeded"
    assert len(ids()) == left


@pytest.mark.parametrize("load_mode", MODES)
def test_of_a_table_made_anew_unchanged_keys_stay_as_they_were(act: Act, load_mode: str | None) -> None:
    stamp = "_lakelogic_created_at"
    land(*upto(3))
    act(bronze())
    act(silver(load_mode))
    before = dict(rows("shop.silver.orders", "id", stamp))
    load_tables("delta").drop(LocalCatalog().resolve("shop.bronze.orders"))
    land("1,10", "3,33", "4,40")
    act(bronze())
    act(silver(load_mode))
    after = dict(rows("shop.silver.orders", "id", stamp))
    assert rows() == [(1, 10), (3, 33), (4, 40)]
    assert (after[1], after[3]) == (before[1], before[3])


@pytest.mark.parametrize("load_mode", MODES)
def test_groups_that_the_upstream_does_not_give_any_more_go(act: Act, load_mode: str | None) -> None:
    summed = {
        "model": {"fields": [FIELDS[0], {"name": "amount", "type": "bigint"}]},
        "transformations": [{"rollup": {"group_by": ["id"], "aggregations": {"amount": "SUM(amount)"}}}],
    }
    land("1,10", "1,5", "2,20", "3,30")
    act(bronze())
    act(silver(more=summed))
    land("1,10", "3,30")
    act(bronze())
    act(silver(more=summed))
    assert rows() == [(1, 10), (3, 30)]


def test_rows_that_another_dataset_took_from_the_same_table_stay(act: Act) -> None:
    def half(name: str, condition: str, load_mode: str | None = None) -> dict[str, Any]:
        chosen = {"dataset": name, "transformations": [{"filter": {"sql": condition}}]}
        return silver(load_mode, more=chosen)

    land(*upto(6))
    act(bronze())
    act(half("odd", "id % 2 = 1"))
    act(half("even", "id % 2 = 0"))
    assert ids() == [1, 2, 3, 4, 5, 6]
    land(*upto(5))
    act(bronze())
    told = Told()
    act(half("odd", "id % 2 = 1"), told=told)
    assert ids() == [1, 2, 3, 4, 5, 6]
    assert "stay: `even` writes rows that came from there to the same table" in told


def test_softly_deleted_rows_of_the_upstream_go(act: Act) -> None:
    snapshot = bronze(strategy="snapshot_reconcile", primary_key=["id"], deletion={"max_delete_ratio": 1})
    land(*upto(3))
    act(snapshot)
    act(silver())
    land(*upto(2))
    act(snapshot)
    act(silver())
    assert ids() == [1, 2]


@pytest.mark.parametrize("load_mode", MODES)
@pytest.mark.parametrize("point", ["after_staged_record", "after_quarantine_commit", "after_good_commit"])
def test_a_run_that_died_removes_the_same_rows(
    act: Act, load_mode: str | None, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.run import faults

    land(*upto(4))
    act(bronze())
    act(silver(load_mode))
    land("1,10", "2,-2", "4,40")
    act(bronze())
    reach = faults.reach

    def die(name: str) -> None:
        reach(name)
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(faults, "reach", die)
        with pytest.raises(KeyboardInterrupt):
            act(silver(load_mode))
    act(silver(load_mode))
    assert rows() == [(1, 10), (2, 20), (4, 40)]


@pytest.mark.parametrize(
    ("load_mode", "settings", "left"),
    [
        (None, {}, [1, 2, 3, 4]),
        (None, {"deletion": {"strategy": "follow_source"}}, [3, 4]),
        (None, {"deletion": {"strategy": "keep"}}, [1, 2, 3, 4]),
        ("incremental", {}, [3, 4]),
    ],
    ids=["unsaid", "follow_source", "keep", "incremental"],
)
def test_a_source_that_is_written_anew_as_a_whole_takes_rows_along_only_where_that_is_said(
    act: Act, load_mode: str | None, settings: dict[str, Any], left: list[int]
) -> None:
    document = silver(load_mode, **settings)
    land(*upto(3))
    act(bronze(strategy="overwrite"))
    act(document)
    land(*upto(4, 1, 2))  # a new extract: were 1 and 2 deleted, or are they only not among what is new?
    act(bronze(strategy="overwrite"))
    told = Told()
    act(document, told=told)
    assert ids() == left
    assert ("does not have any more stay: it is written anew as a whole" in told) is (not load_mode and not settings)
