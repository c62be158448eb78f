"""Changes: rows that say insert, update or delete, in whatever order they come."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import ContractError

Land = Callable[..., Any]
TARGET = "lakelogic_warehouse/shop/silver/customers"
DELETED = "_lakelogic_is_deleted"


@pytest.fixture
def landed(engine: Any, workspace: Path) -> Land:
    """Land changes and run the contract over the new file; the model asks for a city."""
    number = itertools.count()

    def land(
        *lines: str, source: dict[str, Any] | None = None, root: dict[str, Any] | None = None, **settings: Any
    ) -> Any:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{next(number):02d}.csv").write_text("\n".join(["op,id,city,at", *lines, ""]))
        document = {
            "source": {
                "path": "landing/*.csv", "load_mode": "cdc", "cdc_op_field": "op", "cdc_timestamp_field": "at",
                **(source or {}),
            },
            "model": {
                "fields": [
                    {"name": "id", "type": "int"},
                    {"name": "city", "type": "string", "required": True},
                    {"name": "at", "type": "timestamp"},
                ]
            },
            "materialization": {"primary_key": ["id"], "target_path": "shop.silver.customers", **settings},
            **(root or {}),
        }  # fmt: skip
        return DataProcessor(document, engine).run()

    return land


def rows(*names: str) -> list[tuple[Any, ...]]:
    table = DeltaTable(TARGET).to_pyarrow_table()
    found = [tuple(row[name] for name in names) for row in table.to_pylist()]
    return sorted((tuple(f"{v:%Y-%m-%d}" if hasattr(v, "year") else v for v in row) for row in found), key=repr)


def effects(result: Any) -> dict[str, int]:
    about_table = ("rows", "added_rows", "removed_rows", "rewritten_files")
    return {name: count for name, count in result.report["applied"].items() if name not in about_table}


def test_changes_are_merged_and_a_deletion_marks_the_row(landed: Land) -> None:
    assert effects(landed("I,1,Bern,2026-01-01", "I,2,Rome,2026-01-01")) == {"inserted": 2}
    assert rows("id", "city", DELETED) == [(1, "Bern", False), (2, "Rome", False)]
    result = landed("U,1,Genf,2026-02-01", "D,2,,2026-02-01", "I,3,Oslo,2026-02-01")
    assert effects(result) == {"inserted": 1, "updated": 1, "deleted": 1}
    assert rows("id", "city", DELETED, "at") == [
        (1, "Genf", False, "2026-02-01"),
        (2, "Rome", True, "2026-02-01"),
        (3, "Oslo", False, "2026-02-01"),
    ]


def test_the_operation_is_no_column_of_the_table(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01")
    assert "op" not in DeltaTable(TARGET).to_pyarrow_table().column_names


def test_only_the_files_that_are_new_are_read(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01")
    result = landed("I,2,Rome,2026-01-02")
    assert result.counts.source == 1


def test_a_deletion_is_judged_by_its_key_alone_and_other_rows_by_the_rules(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01")
    result = landed("D,1,,2026-02-01", "U,2,,2026-02-01", "D,,,2026-02-01")
    assert (result.counts.good, result.counts.quarantined) == (1, 2)
    assert effects(result) == {"deleted": 1}


def test_a_deletion_of_a_key_that_nobody_knows_is_remembered_so_that_nobody_late_brings_it_back(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01")
    assert effects(landed("D,9,,2026-02-01")) == {"deleted": 1}
    assert effects(landed("I,8,Lund,2026-02-01", "U,8,Bonn,2026-02-02", "D,8,,2026-02-03")) == {"deleted": 1}
    assert rows("id", DELETED, "at") == [(1, False, "2026-01-01"), (8, True, "2026-02-03"), (9, True, "2026-02-01")]
    assert effects(landed("U,8,Late,2026-02-02", "I,9,Late,2026-01-31")) == {"stale": 2}
    assert rows("id", "city", DELETED) == [(1, "Bern", False), (8, None, True), (9, None, True)]
    assert effects(landed("I,8,Back,2026-03-01")) == {"updated": 1}
    assert rows("id", "city", DELETED) == [(1, "Bern", False), (8, "Back", False), (9, None, True)]


def test_within_a_batch_the_newest_change_of_a_key_counts(landed: Land) -> None:
    result = landed("U,1,Genf,2026-01-03", "I,1,Bern,2026-01-01", "U,1,Chur,2026-01-02")
    assert result.counts.deduplicated == {"merge": 2}
    assert rows("id", "city") == [(1, "Genf")]


def test_changes_that_come_too_late_do_not_undo_newer_ones(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01", "I,2,Rome,2026-01-01")
    landed("U,1,Genf,2026-03-01", "D,2,,2026-03-01")
    result = landed("D,1,,2026-02-01", "U,2,Riga,2026-02-01")
    assert effects(result) == {"stale": 2}
    assert rows("id", "city", DELETED) == [(1, "Genf", False), (2, "Rome", True)]


def test_a_row_that_comes_after_its_deletion_lives_again(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01")
    landed("D,1,,2026-02-01", soft_delete_time_column="gone_at", soft_delete_reason_column="gone_why")
    assert rows("id", DELETED, "gone_at", "gone_why") == [(1, True, "2026-02-01", "cdc")]
    marks = {"soft_delete_time_column": "gone_at", "soft_delete_reason_column": "gone_why"}
    assert effects(landed("I,1,Bern,2026-03-01", **marks)) == {"updated": 1}
    assert rows("id", "city", DELETED, "gone_at", "gone_why", "at") == [(1, "Bern", False, None, None, "2026-03-01")]


def test_deleted_twice_the_later_time_counts(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01")
    landed("D,1,,2026-02-01")
    assert effects(landed("D,1,,2026-04-01")) == {"updated": 1}
    assert effects(landed("U,1,Genf,2026-03-01")) == {"stale": 1}
    assert effects(landed("D,1,,2026-04-01")) == {"unchanged": 1}
    assert rows("id", "city", DELETED, "at") == [(1, "Bern", True, "2026-04-01")]


def test_rows_are_removed_where_marks_are_not_wanted(landed: Land) -> None:
    hard = {"soft_deletes": {"enabled": False}}
    landed("I,1,Bern,2026-01-01", "I,2,Rome,2026-01-01", root=hard)
    result = landed("D,1,,2026-02-01", "D,9,,2026-02-01", root=hard)
    assert result.report["applied"] == {
        "deleted": 1, "ignored": 1, "rows": 2, "added_rows": 0, "removed_rows": 1, "rewritten_files": 1,
    }  # fmt: skip
    assert rows("id", "city") == [(2, "Rome")]
    assert DELETED not in DeltaTable(TARGET).to_pyarrow_table().column_names


def test_the_mark_may_have_a_name_and_a_value_of_its_own(landed: Land) -> None:
    marked = {"soft_delete_column": "state", "soft_delete_value": "gone"}
    landed("I,1,Bern,2026-01-01", "I,2,Rome,2026-01-01", **marked)
    landed("D,1,,2026-02-01", **marked)
    assert rows("id", "state") == [(1, "gone"), (2, None)]


def test_the_values_that_delete_are_as_the_contract_says(landed: Land) -> None:
    source = {"cdc_delete_values": ["X", "gone"]}
    landed("c,1,Bern,2026-01-01", "c,2,Rome,2026-01-01", "c,3,Oslo,2026-01-01", source=source)
    landed("X,1,,2026-02-01", "gone,2,,2026-02-01", "D,3,Lund,2026-02-01", source=source)
    assert rows("id", "city", DELETED) == [(1, "Bern", True), (2, "Rome", True), (3, "Lund", False)]


def test_an_explicit_strategy_beats_what_changes_imply(landed: Land) -> None:
    landed("I,1,Bern,2026-01-01", strategy="append")
    landed("U,1,Genf,2026-02-01", strategy="append")
    assert rows("op", "id", "city") == [("I", 1, "Bern"), ("U", 1, "Genf")]


def test_changes_without_an_operation_or_marks_without_deletions_are_refused(landed: Land) -> None:
    with pytest.raises(ContractError, match="needs `cdc_op_field`"):
        landed("I,1,Bern,2026-01-01", source={"cdc_op_field": None})
    with pytest.raises(ContractError, match="nothing deletes rows here"):
        landed("I,1,Bern,2026-01-01", source={"load_mode": "incremental", "cdc_op_field": None, "cdc_timestamp_field": None},
               strategy="merge", soft_delete_column="gone")  # fmt: skip
