"""Full snapshots: what they lack is deleted, within bounds; and facts, each kind in its own way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import ContractError

Land = Callable[..., Any]
TARGET = "lakelogic_warehouse/shop/gold/things"
DELETED = "_lakelogic_is_deleted"


@pytest.fixture
def landed(engine: Any, workspace: Path) -> Land:
    """Land one file in place of the last and run the contract over it."""

    def land(
        header: str, *lines: str, fields: list[dict[str, Any]] | None = None, at: str = "in.csv", **settings: Any
    ) -> Any:
        Path(at).write_text("\n".join([header, *lines, ""]))
        document: dict[str, Any] = {
            "source": {"path": at},
            "model": {"fields": fields or [{"name": "id", "type": "int"}, {"name": "city", "required": True}]},
            "materialization": {"primary_key": ["id"], "target_path": "shop.gold.things", **settings},
        }
        if "soft_deletes" in settings:
            document["soft_deletes"] = document["materialization"].pop("soft_deletes")
        return DataProcessor(document, engine).run()

    return land


def rows(*names: str) -> list[tuple[Any, ...]]:
    table = DeltaTable(TARGET).to_pyarrow_table()
    found = [tuple(row[name] for name in names) for row in table.to_pylist()]
    return sorted((tuple(f"{v:%Y-%m-%d}" if hasattr(v, "year") else v for v in row) for row in found), key=repr)


def effects(result: Any) -> dict[str, int]:
    about_table = ("rows", "added_rows", "removed_rows", "rewritten_files")
    return {name: count for name, count in result.report["applied"].items() if name not in about_table}


FIVE = ("1,Bern", "2,Rome", "3,Oslo", "4,Kyiv", "5,Riga")


def test_rows_that_the_snapshot_lacks_are_marked_and_others_merged(landed: Land) -> None:
    landed("id,city", *FIVE, strategy="snapshot_reconcile")
    result = landed("id,city", "1,Bern", "2,Lund", "3,Oslo", "5,Riga", "6,Wien", strategy="snapshot_reconcile")
    assert effects(result) == {"inserted": 1, "updated": 1, "unchanged": 3, "missing": 1}
    assert rows("id", "city", DELETED) == [
        (1, "Bern", False), (2, "Lund", False), (3, "Oslo", False), (4, "Kyiv", True), (5, "Riga", False),
        (6, "Wien", False),
    ]  # fmt: skip


def test_a_row_that_is_marked_does_not_count_again_and_can_come_back(landed: Land) -> None:
    landed("id,city", *FIVE, strategy="snapshot_reconcile")
    landed("id,city", *FIVE[:4], strategy="snapshot_reconcile")
    assert effects(landed("id,city", "6,Wien", *FIVE[:4], strategy="snapshot_reconcile")) == {
        "inserted": 1, "unchanged": 4,
    }  # fmt: skip
    result = landed("id,city", "6,Wien", *FIVE, strategy="snapshot_reconcile")
    assert effects(result) == {"updated": 1, "unchanged": 5}
    assert {mark for _, mark in rows("id", DELETED)} == {False}


def test_more_deletions_than_the_bound_close_the_gate_and_nothing_good_is_published(landed: Land) -> None:
    deletion = {"deletion": {"strategy": "snapshot_reconcile", "max_delete_ratio": 0.4}}
    landed("id,city", *FIVE, strategy="merge", **deletion)
    result = landed("id,city", "1,Lund", "9,Wien", strategy="merge", **deletion)
    assert (result.status, result.published) == ("gated", False)
    assert result.reasons == ("4 of 5 rows of the table are not in the snapshot (80.0%), at most 40.0% may be deleted",)
    assert rows("id", "city") == [(1, "Bern"), (2, "Rome"), (3, "Oslo"), (4, "Kyiv"), (5, "Riga")]
    result = landed("id,city", "1,Lund", "2,Rome", "3,Oslo", strategy="merge", **deletion)
    assert (result.status, effects(result)) == ("succeeded", {"updated": 1, "unchanged": 2, "missing": 2})


def test_rows_are_removed_where_marks_are_not_wanted(landed: Land) -> None:
    hard = {"strategy": "snapshot_reconcile", "soft_deletes": {"enabled": False}}
    landed("id,city", *FIVE, **hard)
    result = landed("id,city", *FIVE[:4], **hard)
    assert result.report["applied"]["removed_rows"] == 1
    assert rows("id") == [(1,), (2,), (3,), (4,)]


def test_only_what_is_in_the_scope_of_the_snapshot_is_compared(landed: Land) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "land"}]
    deletion = {"scope": ["land"], "max_delete_ratio": 1}
    landed("id,land", "1,CH", "2,CH", "3,IT", "4,NO", fields=fields, strategy="merge", deletion=deletion)
    result = landed("id,land", "1,CH", "5,IT", fields=fields, strategy="merge", deletion=deletion)
    assert effects(result) == {"inserted": 1, "unchanged": 1, "missing": 2}
    assert rows("id", DELETED) == [(1, False), (2, True), (3, True), (4, False), (5, False)]


def test_a_row_in_quarantine_is_not_a_row_that_is_gone(landed: Land) -> None:
    landed("id,city", *FIVE, strategy="snapshot_reconcile")
    result = landed("id,city", "1,Bern", "2,", "3,Oslo", "4,Kyiv", strategy="snapshot_reconcile")
    assert (result.counts.quarantined, effects(result)) == (1, {"unchanged": 3, "missing": 1})
    assert rows("id", "city", DELETED)[1] == (2, "Rome", False)


def test_a_snapshot_is_read_in_full(landed: Land) -> None:
    with pytest.raises(ContractError, match="reads only what is new"):
        DataProcessor(
            {
                "source": {"path": "in.csv", "load_mode": "incremental"},
                "materialization": {"strategy": "snapshot_reconcile", "primary_key": ["id"], "target_path": "a.b.c"},
            },
            "duckdb",
        )


def test_a_periodic_snapshot_replaces_the_days_it_brings(landed: Land) -> None:
    fields = [{"name": "day", "type": "date"}, {"name": "id", "type": "int"}, {"name": "stock", "type": "int"}]
    fact = {"fact": {"type": "periodic_snapshot"}, "partition_by": ["day"], "primary_key": ["day", "id"]}
    landed("day,id,stock", "2026-01-01,1,10", "2026-01-01,2,20", "2026-01-02,1,11", fields=fields, **fact)
    result = landed("day,id,stock", "2026-01-02,1,12", "2026-01-02,3,30", "2026-01-03,1,13", fields=fields, **fact)
    assert result.report["applied"] == {
        "inserted": 3, "rows": 3, "added_rows": 3, "removed_rows": 1, "rewritten_files": 1,
    }  # fmt: skip
    assert rows("day", "id", "stock") == [
        ("2026-01-01", 1, 10), ("2026-01-01", 2, 20), ("2026-01-02", 1, 12), ("2026-01-02", 3, 30),
        ("2026-01-03", 1, 13),
    ]  # fmt: skip


MILESTONES = [
    {"name": "id", "type": "int"},
    {"name": "ordered", "type": "date"},
    {"name": "shipped", "type": "date"},
    {"name": "paid", "type": "date"},
]
ACCUMULATING = {"fact": {"type": "accumulating_snapshot", "milestone_dates": ["ordered", "shipped", "paid"]}}


def test_milestones_accumulate_and_an_empty_one_takes_nothing_back(landed: Land) -> None:
    landed("id,ordered,shipped,paid", "1,2026-01-01,,", "2,2026-01-02,,", fields=MILESTONES, **ACCUMULATING)
    result = landed("id,ordered,shipped,paid", "1,,2026-01-05,", "2,2026-01-02,,", fields=MILESTONES, **ACCUMULATING)
    assert effects(result) == {"updated": 1, "unchanged": 1}
    assert rows("id", "ordered", "shipped", "paid") == [
        (1, "2026-01-01", "2026-01-05", None), (2, "2026-01-02", None, None),
    ]  # fmt: skip


def test_milestones_out_of_order_are_bad(landed: Land) -> None:
    result = landed(
        "id,ordered,shipped,paid", "1,2026-01-01,2026-01-05,2026-01-04", "2,2026-01-02,,2026-01-02",
        fields=MILESTONES, **ACCUMULATING,
    )  # fmt: skip
    assert (result.counts.good, result.counts.quarantined) == (1, 1)
    assert rows("id") == [(2,)]
    assert [rule for rule in result.report["row_rules"] if rule["failed"]] == [
        {"name": "milestone_order", "failed": 1, "severity": "error"}
    ]


def test_transactions_and_factless_rows_are_appended(landed: Land) -> None:
    for kind, count in (("transaction", 1), ("factless", 2)):
        landed("id,city", "1,Bern", at=f"{kind}.csv", fact={"type": kind})
        assert len(rows("id")) == count


def test_an_aggregate_is_merged_by_its_grain(landed: Land) -> None:
    fields = [{"name": "month"}, {"name": "land"}, {"name": "total", "type": "int"}]
    grain = {"fact": {"type": "aggregate"}, "primary_key": ["month", "land"]}
    landed("month,land,total", "2026-01,CH,5", "2026-01,IT,7", fields=fields, **grain)
    result = landed("month,land,total", "2026-01,CH,6", "2026-02,CH,1", fields=fields, **grain)
    assert effects(result) == {"inserted": 1, "updated": 1}
    assert rows("month", "land", "total") == [("2026-01", "CH", 6), ("2026-01", "IT", 7), ("2026-02", "CH", 1)]


def test_a_fact_that_contradicts_its_strategy_or_lacks_what_it_needs_is_refused(landed: Land) -> None:
    with pytest.raises(ContractError, match="is not written by `append`"):
        landed("id,city", "1,Bern", strategy="append", fact={"type": "aggregate"})
    with pytest.raises(ContractError, match="tells one snapshot from the others"):
        landed("id,city", "1,Bern", fact={"type": "periodic_snapshot"})


def test_the_unknown_member_is_there_once(landed: Land) -> None:
    dimension = {
        "strategy": "merge",
        "scd1": {"surrogate_key": "sk", "unknown_member": {"city": "nowhere"}},
    }
    result = landed("id,city", "1,Bern", **dimension)
    assert effects(result) == {"inserted": 1, "unknown_member": 1}
    assert effects(landed("id,city", "2,Rome", **dimension)) == {"inserted": 1}
    assert rows("id", "city") == [(-1, "nowhere"), (1, "Bern"), (2, "Rome")]
    assert dict(rows("id", "sk"))[-1] == "-1"
    wider = [{"name": "id", "type": "int"}, {"name": "city", "required": True}, {"name": "zip"}]
    assert effects(landed("id,city,zip", "3,Oslo,9", fields=wider, **dimension)) == {"inserted": 1}
    assert [key for (key,) in rows("id")] == [-1, 1, 2, 3]


def test_the_unknown_member_of_a_history_holds_always(landed: Land) -> None:
    fields = [{"name": "id"}, {"name": "city"}, {"name": "at", "type": "timestamp"}]
    history = {"strategy": "scd2", "scd2": {"timestamp_field": "at", "unknown_member": True}}
    landed("id,city,at", "a,Bern,2026-01-01", fields=fields, **history)
    landed("id,city,at", "a,Rome,2026-02-01", fields=fields, **history)
    assert rows("id", "_version", "effective_from", "effective_to", "is_current") == [
        ("a", 1, "1900-01-01", "2026-02-01", False),
        ("a", 2, "2026-02-01", "9999-12-31", True),
        ("unknown", 1, "1900-01-01", "9999-12-31", True),
    ]
    wider = [*fields, {"name": "zip"}]
    landed("id,city,at,zip", "b,Oslo,2026-03-01,9", fields=wider, **history)
    assert [key for (key,) in rows("id")] == ["a", "a", "b", "unknown"]
