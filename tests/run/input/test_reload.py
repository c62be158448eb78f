"""`reload` gives the table that a first run over what lies in the source would give, in one commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic.actions.look.preview import preview
from lakelogic.actions.operate.reset import ResetRequest, reload, reset
from lakelogic.actions.operate.run import RunRequest, run_contract
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import DataError, LakeLogicError, UnsupportedError
from lakelogic.run.surroundings import Surroundings
from lakelogic.tables.registry import load as load_tables

FIELDS = [
    {"name": "id", "type": "int", "required": True},
    {"name": "amount", "type": "int", "min": 0},
    {"name": "at", "type": "date"},
]
MERGED: dict[str, Any] = {"strategy": "merge", "primary_key": ["id"], "sequence_by": "at"}
HISTORY: dict[str, Any] = {"strategy": "scd2", "primary_key": ["id"], "scd2": {"timestamp_field": "at"}}


def write(*, dataset: str = "orders", load_mode: str | None = None, **settings: Any) -> str:
    more = settings.pop("more", {})
    document = {
        "dataset": dataset,
        "info": {"title": "Orders", "target_layer": "silver"},
        "source": {"path": "landing/*.csv", **({"load_mode": load_mode} if load_mode else {})},
        "model": {"fields": FIELDS},
        "materialization": {"target_path": "shop.silver.orders", **settings},
        **more,
    }
    Path(f"{dataset}.yaml").write_text(json.dumps(document))
    return f"{dataset}.yaml"


def land(name: str, *rows: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", name).write_text("id,amount,at\n" + "".join(f"{row}\n" for row in rows))


def rows(*columns: str, table: str = "shop.silver.orders") -> list[Any]:
    return sorted(tuple(row[name] for name in columns) for row in preview(Surroundings.here(), table, 100).rows)


def run(contract: str) -> Any:
    return run_contract(Surroundings.here(), RunRequest(contract, "duckdb"))


def again(contract: str, **how: Any) -> Any:
    return reload(Surroundings.here(), RunRequest(contract, "duckdb"), **how)


@pytest.mark.parametrize(
    "settings",
    [{}, MERGED, {"strategy": "overwrite"}, {"fact": {"type": "transaction"}}],
    ids=["append", "merge", "overwrite", "fact"],
)
@pytest.mark.parametrize("load_mode", [None, "incremental"])
def test_the_table_is_what_lies_in_the_source(workspace: Path, settings: Any, load_mode: str | None) -> None:
    contract = write(load_mode=load_mode, **settings)
    land("a.csv", "1,10,2026-01-01", "2,20,2026-01-01", "3,-3,2026-01-01")
    run(contract)
    land("b.csv", "2,21,2026-02-01", "4,40,2026-02-01")
    run(contract)
    Path("landing/b.csv").unlink()
    land("a.csv", "1,11,2026-01-01", "2,20,2026-01-01", "3,30,2026-01-01")
    versions = load_tables("delta").state(LocalCatalog().resolve("shop.silver.orders"))
    assert again(contract).status == "succeeded"
    # The newer row of 2 is gone with its file, and so is 4.
    assert rows("id", "amount") == [(1, 11), (2, 20), (3, 30)]
    after = load_tables("delta").state(LocalCatalog().resolve("shop.silver.orders"))
    assert versions is not None
    assert after is not None
    assert after.version == versions.version + 1
    assert [state for (state,) in rows("quarantine_state", table="shop.quarantine.silver_orders")] != ["active"]
    if load_mode or not settings:  # otherwise everything is read every time
        assert run(contract).status == "no_new_data"
    run(contract)
    assert rows("id", "amount") == [(1, 11), (2, 20), (3, 30)]
    land("b.csv", "2,21,2026-02-01", "4,40,2026-02-01")
    run(contract)
    if settings == MERGED:
        assert rows("id", "amount") == [(1, 11), (2, 21), (3, 30), (4, 40)]


def test_rows_that_stay_keep_when_they_came(workspace: Path) -> None:
    contract = write(**MERGED, unknown_member=True)
    land("a.csv", "1,10,2026-01-01", "2,20,2026-01-01")
    run(contract)
    before = dict(rows("id", "_lakelogic_created_at"))
    land("a.csv", "1,11,2025-12-01", "3,30,2026-01-01")
    again(contract)
    after = dict(rows("id", "_lakelogic_created_at"))
    assert rows("id", "amount") == [(-1, None), (1, 11), (3, 30)]
    assert (after[1], after[-1]) == (before[1], before[-1])
    assert after[3] > before[1]


def test_over_a_table_rows_of_every_origin_are_replaced(workspace: Path) -> None:
    bronze = write(dataset="bronze", strategy="overwrite", target_path="shop.bronze.orders")
    text = json.loads(Path(bronze).read_text())
    Path("silver.yaml").write_text(
        json.dumps(
            {
                **text,
                "dataset": "silver",
                "source": {"path": "shop.bronze.orders"},
                "materialization": {**MERGED, "target_path": "shop.silver.orders"},
            }
        )
    )
    land("a.csv", "1,10,2026-01-01", "2,20,2026-01-01")
    run(bronze)
    run("silver.yaml")
    land("a.csv", "3,30,2026-01-01")
    run(bronze)
    run("silver.yaml")
    assert rows("id", "amount") == [(1, 10), (2, 20), (3, 30)]  # bronze is written anew as a whole: what it lacks stays
    assert again("silver.yaml").status == "succeeded"
    assert rows("id", "amount") == [(3, 30)]


def test_a_history_is_only_made_anew_where_that_is_asked_for(workspace: Path) -> None:
    contract = write(**HISTORY)
    land("a.csv", "1,10,2026-01-01", "2,20,2026-01-01")
    run(contract)
    land("a.csv", "1,11,2026-02-01")
    run(contract)
    before = rows("id", "amount", "_version", "is_current")
    assert before == [(1, 10, 1, False), (1, 11, 2, True), (2, 20, 1, True)]
    with pytest.raises(UnsupportedError, match="losing versions") as caught:
        again(contract)
    assert "--rebuild-history" in str(caught.value.hint)
    assert rows("id", "amount", "_version", "is_current") == before
    assert again(contract, rebuild_history=True).status == "succeeded"
    assert rows("id", "amount", "_version", "is_current") == [(1, 11, 1, True)]


@pytest.mark.parametrize("settings", [{}, MERGED])
def test_rows_of_another_dataset_are_not_lost(workspace: Path, settings: Any) -> None:
    first, second = write(dataset="first", **settings), write(dataset="second", **settings)
    land("a.csv", "1,10,2026-01-01")
    run(first)
    land("a.csv", "2,20,2026-01-01")
    run(second)
    with pytest.raises(DataError, match="`second` writes to it too"):
        again(first)
    assert rows("id") == [(1,), (2,)]


@pytest.mark.parametrize("point", ["after_staged_record", "after_good_commit"])
@pytest.mark.parametrize("settings", [MERGED, HISTORY])
def test_a_reload_that_died_is_finished(
    workspace: Path, settings: Any, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.run import faults

    contract = write(**settings)
    land("a.csv", "1,10,2026-01-01", "2,20,2026-02-01")
    run(contract)
    land("a.csv", "1,11,2026-01-01")
    reach = faults.reach

    def die(name: str) -> None:
        reach(name)
        if name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(faults, "reach", die)
        with pytest.raises(KeyboardInterrupt):
            again(contract, rebuild_history=True)
    run(contract)
    assert rows("id", "amount") == [(1, 11)]


COPIES = [{"target_path": "shop.copy.orders", "strategy": "append"}]


def test_secondary_targets_that_only_receive_rows_refuse_a_reload(workspace: Path) -> None:
    contract = write(**MERGED, secondary_targets=COPIES)
    land("a.csv", "1,10,2026-01-01")
    run(contract)
    with pytest.raises(UnsupportedError, match=r"shop\.copy\.orders only receives rows"):
        again(contract)
    contract = write(**MERGED, secondary_targets=[{**COPIES[0], "strategy": "overwrite"}])
    land("a.csv", "2,20,2026-01-01")
    again(contract)
    assert rows("id") == rows("id", table="shop.copy.orders") == [(2,)]


def wiped(contract: str) -> Callable[[], Any]:
    return lambda: reset(Surroundings.here(), ResetRequest((contract,)), lambda _: True)


def test_a_reset_takes_secondary_tables_along(workspace: Path) -> None:
    contract = write(**MERGED, secondary_targets=COPIES)
    land("a.csv", "1,10,2026-01-01")
    run(contract)
    [one] = wiped(contract)()
    assert [copy["target"] for copy in one.as_dict()["secondary"]] == ["shop.copy.orders"]
    assert not Path(LocalCatalog().resolve("shop.copy.orders")).exists()
    run(contract)
    assert rows("id", table="shop.copy.orders") == [(1,)]


def test_a_secondary_table_that_others_write_to_stops_a_reset(workspace: Path) -> None:
    land("a.csv", "1,10,2026-01-01")
    first = write(dataset="first", **MERGED, secondary_targets=COPIES)
    second = write(dataset="second", **{**MERGED, "target_path": "shop.silver.second"}, secondary_targets=COPIES)
    run(first)
    run(second)
    with pytest.raises(LakeLogicError, match=r"shop\.copy\.orders .*second"):
        wiped(first)()
    assert rows("id") == [(1,)]
