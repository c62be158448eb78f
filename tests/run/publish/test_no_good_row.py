"""A batch without a good row closes the gate, unless the contract allows it; later files and replays go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.actions.operate import quarantine as acts
from lakelogic.actions.operate.approve import ApproveRequest, approve
from lakelogic.quarantine.queue import Chosen
from lakelogic.run.replay.unpublished import RELEASE, WHY
from lakelogic.run.surroundings import Surroundings

WAY_OUT = "`quality.max_quarantine_ratio: 1`"


def contract(least: int = 0, strategy: str = "append", **parts: Any) -> dict[str, Any]:
    return {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "primary_key": ["id"],
        "model": {
            "fields": [
                {"name": "id", "type": "int", "required": True},
                {"name": "amount", "type": "int", "min": least},
            ]
        },
        "materialization": {"strategy": strategy, "target_path": "shop.silver.orders"},
        **parts,
    }


def land(name: str, *rows: str) -> None:
    Path("landing").mkdir(exist_ok=True)
    Path("landing", f"{name}.csv").write_text("\n".join(["id,amount", *rows, ""]))


def run(engine: Any, document: dict[str, Any], rows: Any = None, **options: Any) -> Any:
    Path("orders.yaml").write_text(json.dumps(document))
    return DataProcessor("orders.yaml", engine).run(rows, **options)


def ids() -> list[int]:
    return sorted(DeltaTable("lakelogic_warehouse/shop/silver/orders").to_pyarrow_table()["id"].to_pylist())


def waiting() -> list[int]:
    rows = DeltaTable("lakelogic_warehouse/shop/quarantine/silver_orders").to_pyarrow_table().to_pylist()
    return sorted(row["id"] for row in rows if row["quarantine_state"] == "active")


def test_all_rows_bad_closes_the_gate_and_names_the_commonest_reason(engine: Any, workspace: Path) -> None:
    land("1", "1,-1", "2,-2", ",3")
    done = run(engine, contract())
    assert (done.status, done.published, done.counts.quarantined) == ("gated", False, 3)
    [why] = done.reasons
    assert why.startswith("all 3 rows are bad, 2 of them by `amount_min`: ")
    assert WAY_OUT in why
    assert not Path("lakelogic_warehouse/shop/silver/orders/_delta_log").exists()
    assert Path("lakelogic_warehouse/shop/quarantine/silver_orders").exists()


def test_one_bad_row_is_a_batch_too(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "1,-1")
    [why] = run(duckdb_engine, contract()).reasons
    assert why.startswith("the only row is bad, by `amount_min`: ")


@pytest.mark.parametrize("allowed", [{"quality": {"max_quarantine_ratio": 1}}, {"quarantine": {"max_ratio": 1}}])
def test_a_written_bound_of_one_lets_it_pass(duckdb_engine: Any, workspace: Path, allowed: dict[str, Any]) -> None:
    land("1", "1,-1")
    assert run(duckdb_engine, contract(**allowed)).status == "succeeded"
    assert run(duckdb_engine, contract(**allowed)).status == "no_new_data"


def test_a_smaller_bound_tells_the_share_alone(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "1,-1")
    done = run(duckdb_engine, contract(quality={"max_quarantine_ratio": 0.5}))
    assert done.reasons == ("100.0% of the rows are quarantined, at most 50.0% may be",)


def test_rows_that_a_step_filters_are_neither_good_nor_bad(duckdb_engine: Any, workspace: Path) -> None:
    steps = {"transformations": [{"filter": "amount < 0"}]}
    land("1", "1,5", "2,6")
    assert run(duckdb_engine, contract(**steps)).status == "succeeded"
    land("2", "3,7", "4,-1")  # the one that is left is bad
    assert run(duckdb_engine, contract(**steps)).status == "gated"


def test_an_empty_file_is_no_closed_gate(duckdb_engine: Any, workspace: Path) -> None:
    land("1")
    assert run(duckdb_engine, contract()).status == "succeeded"


def test_rows_that_are_only_judged_are_gated_too(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "1,-1")
    done = run(duckdb_engine, contract(), materialize=False)
    assert (done.status, WAY_OUT in done.reasons[0]) == ("gated", True)


def test_deletes_alone_have_no_bad_row(duckdb_engine: Any, workspace: Path) -> None:
    document = contract(strategy="merge")
    document["model"]["fields"].append({"name": "op"})
    document["source"] |= {"load_mode": "cdc", "cdc_op_field": "op"}
    Path("landing").mkdir()
    Path("landing/1.csv").write_text("id,amount,op\n1,5,I\n2,6,I\n")
    assert run(duckdb_engine, document).status == "succeeded"
    Path("landing/2.csv").write_text("id,amount,op\n1,5,D\n2,6,D\n")
    assert run(duckdb_engine, document).status == "succeeded"


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_file_of_bad_rows_does_not_stop_the_files_that_come_later(
    duckdb_engine: Any, workspace: Path, strategy: str
) -> None:
    land("1", "1,-1")
    assert run(duckdb_engine, contract(strategy=strategy)).status == "gated"
    assert run(duckdb_engine, contract(strategy=strategy)).status == "gated"  # said again, not forgotten
    land("2", "2,2")
    later = run(duckdb_engine, contract(strategy=strategy))
    assert (later.status, later.counts.good, later.counts.quarantined) == ("succeeded", 1, 1)
    assert [reason["rule"] for reason in later.report["findings"]["reasons"]] == ["amount_min"]
    assert (ids(), waiting()) == ([2], [1])
    assert run(duckdb_engine, contract(strategy=strategy)).status == "no_new_data"


def test_rows_that_somebody_has_discarded_close_nothing(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "1,-1")
    assert run(duckdb_engine, contract()).status == "gated"
    acts.discard_rows(Surroundings.here(), acts.Request("orders.yaml"), "test data", everything=True, by="anna")
    assert run(duckdb_engine, contract()).status == "succeeded"
    assert run(duckdb_engine, contract()).status == "no_new_data"


def test_a_replay_of_rows_that_all_stay_bad_is_not_gated(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "1,-1", "2,2")
    run(duckdb_engine, contract())
    with DataProcessor(contract(least=1), duckdb_engine) as processor:
        done = processor.replay(Chosen())
    assert (done.status, done.passed, done.failed) == ("succeeded", 0, 1)


def test_rows_of_a_batch_that_will_be_read_again_are_not_appended_by_a_replay(
    duckdb_engine: Any, workspace: Path
) -> None:
    land("1", "1,-1", "2,-2")
    assert run(duckdb_engine, contract()).status == "gated"
    mended = contract(least=-9)
    with DataProcessor(mended, duckdb_engine) as processor:
        done = processor.replay(Chosen())
    assert (done.passed, dict(done.left_out)) == (0, {WHY: 2})
    assert "approve" not in WHY  # it is not held: there is no row to release
    assert run(duckdb_engine, mended).status == "succeeded"
    assert (ids(), waiting()) == ([1, 2], [])  # each once


def test_a_file_that_is_gone_is_replayed_from_the_quarantine(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "1,-1")
    run(duckdb_engine, contract())
    Path("landing/1.csv").unlink()
    with DataProcessor(contract(least=-9), duckdb_engine) as processor:
        assert processor.replay(Chosen()).passed == 1
    assert ids() == [1]


def test_a_merge_replays_them_because_a_key_is_taken_once(duckdb_engine: Any, workspace: Path) -> None:
    land("1", "1,-1", "2,-2")
    run(duckdb_engine, contract(strategy="merge"))
    mended = contract(least=-9, strategy="merge")
    with DataProcessor(mended, duckdb_engine) as processor:
        assert processor.replay(Chosen()).passed == 2
    run(duckdb_engine, mended)
    assert ids() == [1, 2]


def test_a_batch_with_a_name_waits_until_its_owner_or_a_person_settles_it(duckdb_engine: Any, workspace: Path) -> None:
    rows, document = pa.table({"id": [1], "amount": [-1]}), contract()
    handed = run(duckdb_engine, document, rows, batch="monday")
    assert handed.status == "gated"
    with DataProcessor(document, duckdb_engine) as processor:
        assert processor.replay(Chosen()).left_out == {WHY + RELEASE: 1}
    approve(Surroundings.here(), ApproveRequest(handed.run_id, why="the supplier knows", by="anna"))
    assert run(duckdb_engine, document, rows, batch="monday").status == "no_new_data"
    with DataProcessor(contract(least=-9), duckdb_engine) as processor:
        assert processor.replay(Chosen()).passed == 1
    assert ids() == [1]
