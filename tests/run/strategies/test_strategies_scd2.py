"""scd2: every version of a key with the time it held. Expected rows are worked out by hand."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic import DataProcessor
from lakelogic.errors import ContractError, ReconcileError, UsageError

Land = Callable[..., Any]
TARGET = "lakelogic_warehouse/shop/gold/customers"
FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "city", "type": "string"},
    {"name": "phone", "type": "string"},
    {"name": "at", "type": "timestamp"},
]
START, END = "1900-01-01", "9999-12-31"


@pytest.fixture
def landed(engine: Any, workspace: Path) -> Land:
    """Land rows and run the contract over what is new; phone is not tracked."""
    number = itertools.count()

    def land(*lines: str, header: str = "id,city,phone,at", **scd2: Any) -> Any:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{next(number):02d}.csv").write_text("\n".join([header, *lines, ""]))
        history = {"timestamp_field": "at", "track_columns": ["city"], **scd2}
        document = {
            "source": {"path": "landing/*.csv", "load_mode": "incremental"},
            "model": {"fields": FIELDS},
            "materialization": {
                "strategy": "scd2", "primary_key": ["id"], "target_path": "shop.gold.customers", "scd2": history,
            },
        }  # fmt: skip
        if header.startswith("op,"):
            document["source"] = {"path": "landing/*.csv", "load_mode": "cdc", "cdc_op_field": "op"}
        return DataProcessor(document, engine).run()

    return land


def table(*names: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable(TARGET).to_pyarrow_table().to_pylist()
    found = [tuple(row[name] for name in names) for row in rows]
    return sorted(found, key=repr)


def versions(key: int | None = None) -> list[tuple[Any, ...]]:
    """(id, number, city, from, to, current), by key and number."""
    wanted = ("id", "_version", "city", "effective_from", "effective_to", "is_current")
    rows = [row for row in table(*wanted) if key is None or row[0] == key]
    return [(i, n, c, f"{start:%Y-%m-%d}", f"{end:%Y-%m-%d}", now) for i, n, c, start, end, now in sorted(rows)]


def effects(result: Any) -> dict[str, int]:
    about_table = ("rows", "added_rows", "removed_rows", "rewritten_files")
    return {name: count for name, count in result.report["applied"].items() if name not in about_table}


def test_a_first_version_begins_at_the_default_and_a_change_closes_it(landed: Land) -> None:
    assert effects(landed("1,Bern,a,2026-01-05", "2,Rome,b,2026-01-05")) == {"inserted": 2}
    result = landed("1,Genf,a,2026-02-01", "2,Rome,b,2026-02-01")
    assert effects(result) == {"inserted": 1, "unchanged": 1, "closed": 1}
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Genf", "2026-02-01", END, True),
        (2, 1, "Rome", START, END, True),
    ]


def test_several_changes_of_a_key_in_one_batch_become_versions_in_order(landed: Land) -> None:
    result = landed("1,Chur,a,2026-03-01", "1,Bern,a,2026-01-01", "1,Genf,a,2026-02-01", "1,Genf,a,2026-02-15")
    assert effects(result) == {"inserted": 3, "unchanged": 1}
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Genf", "2026-02-01", "2026-03-01", False),
        (1, 3, "Chur", "2026-03-01", END, True),
    ]


def test_a_late_row_takes_its_place_and_the_numbers_follow(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "1,Chur,a,2026-03-01")
    result = landed("1,Genf,a,2026-02-01")
    assert effects(result) == {"inserted": 1}
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Genf", "2026-02-01", "2026-03-01", False),
        (1, 3, "Chur", "2026-03-01", END, True),
    ]


def test_a_row_older_than_the_first_version_becomes_the_first(landed: Land) -> None:
    landed("1,Bern,a,2026-02-01")
    keys = dict(table("city", "_sk"))
    landed("1,Riga,a,2026-01-01")
    assert versions() == [
        (1, 1, "Riga", START, "2026-02-01", False),
        (1, 2, "Bern", "2026-02-01", END, True),
    ]
    assert dict(table("city", "_sk"))["Bern"] == keys["Bern"]
    assert len({key for _, key in table("city", "_sk")}) == 2


def test_in_which_order_rows_arrive_makes_no_difference(landed: Land, workspace: Path) -> None:
    lines = ["1,Bern,a,2026-01-01", "1,Genf,a,2026-02-01", "1,Chur,a,2026-03-01"]
    landed(*lines)
    whole = (versions(), table("city", "_sk"))
    for order in ((2, 1, 0), (1, 2, 0), (1, 0, 2)):
        shutil.rmtree("lakelogic_warehouse")
        shutil.rmtree("landing")
        for at in order:
            landed(lines[at])
        assert (versions(), table("city", "_sk")) == whole


def test_a_row_of_the_same_instant_corrects_the_version(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "1,Genf,a,2026-02-01")
    keys = table("_version", "_sk")
    result = landed("1,Chur,a,2026-02-01")
    assert effects(result) == {"updated": 1}
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Chur", "2026-02-01", END, True),
    ]
    assert table("_version", "_sk") == keys


def test_a_change_in_a_column_that_is_not_tracked_updates_the_current_version(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "1,Genf,b,2026-02-01", "2,Rome,x,2026-01-01")
    result = landed("1,Genf,c,2026-02-10", "1,Genf,d,2026-02-20", "2,Rome,x,2026-03-01")
    assert effects(result) == {"updated": 1, "unchanged": 2}
    assert table("id", "_version", "phone") == [(1, 1, "a"), (1, 2, "d"), (2, 1, "x")]
    assert versions(1)[1] == (1, 2, "Genf", "2026-02-01", END, True)


def test_a_new_version_takes_the_newest_of_what_is_not_tracked(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01")
    landed("1,Genf,b,2026-02-01", "1,Genf,c,2026-02-05")
    assert table("_version", "city", "phone") == [(1, "Bern", "a"), (2, "Genf", "c")]


def test_a_batch_that_says_nothing_new_touches_no_file(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "2,Rome,b,2026-01-01")
    files = set(DeltaTable(TARGET).file_uris())
    result = landed("1,Bern,a,2026-01-01", "2,Rome,b,2026-02-01")
    assert effects(result) == {"unchanged": 2}
    assert set(DeltaTable(TARGET).file_uris()) == files


def test_a_deletion_closes_and_a_row_after_it_begins_again(landed: Land) -> None:
    header = "op,id,city,phone,at"
    landed("I,1,Bern,a,2026-01-01", "I,2,Rome,b,2026-01-01", header=header)
    result = landed("D,1,,,2026-02-01", "D,9,,,2026-02-01", header=header)
    assert effects(result) == {"deleted": 1, "ignored": 1, "closed": 1}
    assert versions(1) == [(1, 1, "Bern", START, "2026-02-01", False)]
    result = landed("I,1,Bern,a,2026-03-01", header=header, change_reason_column="why")
    assert effects(result) == {"inserted": 1}
    assert versions(1) == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Bern", "2026-03-01", END, True),
    ]
    assert [row for row in table("_version", "why") if row[0] == 2] == [(2, "reinserted")]


def test_rows_that_come_late_find_the_deletion_where_it_was(landed: Land) -> None:
    header = "op,id,city,phone,at"
    landed("I,1,Bern,a,2026-01-01", "D,1,,,2026-03-01", header=header)
    landed("U,1,Genf,a,2026-02-01", header=header)
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Genf", "2026-02-01", "2026-03-01", False),
    ]
    landed("I,1,Chur,a,2026-05-01", header=header)
    landed("D,1,,,2026-02-15", header=header)
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Genf", "2026-02-01", "2026-02-15", False),
        (1, 3, "Chur", "2026-05-01", END, True),
    ]


def test_why_a_version_began_is_told(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", change_reason_column="why")
    landed("1,Genf,a,2026-02-01", change_reason_column="why")
    assert table("_version", "why") == [(1, "initial"), (2, "changed")]


def test_all_columns_are_tracked_unless_said_otherwise(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", track_columns=[])
    landed("1,Bern,b,2026-02-01", track_columns=[])
    assert table("_version", "phone", "is_current") == [(1, "a", False), (2, "b", True)]


def test_names_and_types_are_as_the_contract_says(landed: Land) -> None:
    named = {
        "surrogate_key": "sk", "surrogate_key_strategy": "uuid", "effective_from_field": "valid_from",
        "effective_to_field": "valid_to", "current_flag_field": "now", "version_column": "n",
        "effective_from_default": "2000-01-01", "effective_to_default": "2999-12-31",
    }  # fmt: skip
    landed("1,Bern,a,2026-01-01", **named)
    rows = DeltaTable(TARGET).to_pyarrow_table()
    kinds = {name: str(rows.schema.field(name).type) for name in ("sk", "valid_from", "valid_to", "now", "n")}
    assert kinds == {
        "sk": "string", "valid_from": "timestamp[us, tz=UTC]", "valid_to": "timestamp[us, tz=UTC]", "now": "bool",
        "n": "int32",
    }  # fmt: skip
    row = rows.to_pylist()[0]
    assert (f"{row['valid_from']:%Y-%m-%d}", f"{row['valid_to']:%Y-%m-%d}") == ("2000-01-01", "2999-12-31")
    assert len(row["sk"]) == 36
    assert row["sk"][14] == "5"


def test_rows_without_a_key_or_a_time_are_bad(landed: Land) -> None:
    result = landed("1,Bern,a,2026-01-01", ",Rome,b,2026-01-01", "3,Oslo,c,", "4,Kyiv,d,soon")
    assert (result.counts.good, result.counts.quarantined) == (1, 3)
    assert versions() == [(1, 1, "Bern", START, END, True)]


def test_two_rows_of_one_key_and_instant_are_settled_by_the_whole_row_and_counted(landed: Land) -> None:
    result = landed("1,Genf,a,2026-01-01", "1,Bern,a,2026-01-01")
    assert result.counts.deduplicated == {"scd2": 1}
    assert versions() == [(1, 1, "Bern", START, END, True)]


def test_one_instant_written_in_two_ways_is_one_instant(duckdb_engine: Any, workspace: Path) -> None:
    Path("in.csv").write_text("id,city,at\n1,Genf,2026-01-01\n1,Bern,2026-01-01T01:00:00+01:00\n2,Oslo,soon\n")
    history = {"strategy": "scd2", "primary_key": ["id"], "scd2": {"timestamp_field": "at"}}
    document = {"source": {"path": "in.csv"}, "materialization": {"target_path": "shop.gold.customers", **history}}
    result = DataProcessor(document, duckdb_engine).run()
    assert (result.counts.deduplicated, result.counts.quarantined) == ({"scd2": 1}, 1)
    assert table("id", "city", "_version") == [("1", "Bern", 1)]


def test_a_history_is_not_ordered_by_a_number(workspace: Path) -> None:
    model = {"fields": [{"name": "id", "type": "int"}, {"name": "n", "type": "int"}]}
    settings = {"strategy": "scd2", "primary_key": ["id"], "target_path": "a.b.c", "scd2": {"timestamp_field": "n"}}
    with pytest.raises(ContractError, match="ordered by a date or an instant"):
        DataProcessor({"source": {"path": "in.csv"}, "model": model, "materialization": settings}, "duckdb")


def test_a_table_whose_versions_overlap_is_not_written_to(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "1,Genf,a,2026-02-01")
    rows = DeltaTable(TARGET).to_pyarrow_table()
    twice = [row for row in rows.to_pylist() if row["city"] == "Genf"]
    write_deltalake(TARGET, type(rows).from_pylist(twice, schema=rows.schema), mode="append")
    with pytest.raises(ReconcileError, match="overlap"):
        landed("1,Chur,a,2026-03-01")
    assert len(table("id")) == 3


def test_a_column_of_the_rows_cannot_be_one_of_the_history_too(landed: Land) -> None:
    with pytest.raises(ContractError, match="one that the history adds"):
        landed("1,Bern,a,2026-01-01", version_column="city")


@pytest.mark.parametrize("together", [True, False])
def test_news_of_other_columns_reach_a_version_that_the_same_batch_ends(landed: Land, together: bool) -> None:
    rows = ["1,Bern,11,2026-01-05", "1,Bern,12,2026-02-05", "1,Chur,13,2026-03-05"]
    for lines in [rows] if together else [[row] for row in rows]:
        landed(*lines)
    assert table("_version", "city", "phone") == [(1, "Bern", "12"), (2, "Chur", "13")]


def test_a_table_without_versions_is_no_history_and_a_history_no_plain_table(
    duckdb_engine: Any, workspace: Path
) -> None:
    Path("in.csv").write_text("id,city\n1,Bern\n")
    document = {"source": {"path": "in.csv"}, "model": {"fields": FIELDS[:2]}}
    settings = {"primary_key": ["id"], "target_path": "shop.gold.customers"}

    def run(strategy: str, **other: Any) -> Any:
        return DataProcessor(
            {**document, "materialization": {**settings, "strategy": strategy, **other}}, duckdb_engine
        ).run()

    run("merge")
    with pytest.raises(UsageError, match=r"holds no versions: it has no column `effective_from`"):
        run("scd2")
    run("scd2", target_path="shop.gold.history")
    with pytest.raises(UsageError, match="is a history"):
        run("merge", target_path="shop.gold.history")


def test_a_late_row_that_is_like_the_version_after_it_only_moves_its_start(landed: Land) -> None:
    landed("1,Bern,a,2026-01-05", "1,Genf,b,2026-03-01", "2,Rome,a,2026-01-05")
    keys = table("id", "city", "_sk")
    result = landed("1,Genf,c,2026-02-01", "1,Genf,c,2026-02-10", "2,Rome,c,2025-12-01")
    assert effects(result) == {"updated": 2, "unchanged": 1}
    after = [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Genf", "2026-02-01", END, True),
        (2, 1, "Rome", START, END, True),
    ]
    assert versions() == after
    assert table("id", "city", "_sk") == keys
    # The start holds when the key is touched again, and a row before it takes its own place.
    landed("1,Chur,d,2026-01-20", "2,Oslo,d,2025-12-20")
    assert versions() == [
        (1, 1, "Bern", START, "2026-01-20", False),
        (1, 2, "Chur", "2026-01-20", "2026-02-01", False),
        (1, 3, "Genf", "2026-02-01", END, True),
        (2, 1, "Rome", START, "2025-12-20", False),
        (2, 2, "Oslo", "2025-12-20", END, True),
    ]


def test_a_late_row_in_a_gap_is_not_carried_over_a_deletion(landed: Land) -> None:
    header = "op,id,city,phone,at"
    landed("I,1,Bern,a,2026-01-05", "D,1,,,2026-02-01", "I,1,Bern,a,2026-04-01", header=header)
    landed("I,1,Bern,a,2026-03-01", header=header)
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", False),
        (1, 2, "Bern", "2026-03-01", END, True),
    ]
    landed("I,1,Genf,a,2026-01-20", header=header)
    landed("I,1,Bern,a,2026-01-25", header=header)
    assert versions() == [
        (1, 1, "Bern", START, "2026-01-20", False),
        (1, 2, "Genf", "2026-01-20", "2026-01-25", False),
        (1, 3, "Bern", "2026-01-25", "2026-02-01", False),
        (1, 4, "Bern", "2026-03-01", END, True),
    ]
