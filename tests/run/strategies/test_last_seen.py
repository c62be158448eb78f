"""scd2 with `last_seen_field`: a late row between two confirmations. Expected rows are worked out by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import ContractError
from lakelogic.tables.registry import load

Land = Callable[..., Any]
TARGET = "lakelogic_warehouse/shop/gold/customers"
FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "city", "type": "string"},
    {"name": "phone", "type": "string"},
    {"name": "at", "type": "timestamp"},
]
START, END = "1900-01-01", "9999-12-31"
SEEN = {"last_seen_field": "seen"}


def document(time: str = "timestamp", **scd2: Any) -> dict[str, Any]:
    history = {"timestamp_field": "at", "track_columns": ["city"], **scd2}
    return {
        "source": {"path": "landing/*.csv", "load_mode": "incremental"},
        "model": {"fields": [*FIELDS[:3], {"name": "at", "type": time}]},
        "materialization": {
            "strategy": "scd2", "primary_key": ["id"], "target_path": "shop.gold.customers",
            "scd2": {name: value for name, value in history.items() if value is not None},
        },
    }  # fmt: skip


@pytest.fixture
def landed(engine: Any, workspace: Path) -> Land:
    """Land rows and run the contract over what is new; phone is not tracked."""
    number = itertools.count()

    def land(*lines: str, header: str = "id,city,phone,at", table_format: str = "delta", **settings: Any) -> Any:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{next(number):02d}.csv").write_text("\n".join([header, *lines, ""]))
        contract = document(**{**SEEN, **settings})
        contract["materialization"]["format"] = table_format
        if header.startswith("op,"):
            contract["source"] = {"path": "landing/*.csv", "load_mode": "cdc", "cdc_op_field": "op"}
        return DataProcessor(contract, engine).run()

    return land


def table(*names: str) -> list[tuple[Any, ...]]:
    rows = DeltaTable(TARGET).to_pyarrow_table().to_pylist()
    return sorted((tuple(row.get(name) for name in names) for row in rows), key=repr)


def day(value: Any) -> str | None:
    return None if value is None else f"{value:%Y-%m-%d}"


def versions(key: int | None = None) -> list[tuple[Any, ...]]:
    """(id, number, city, from, to, last seen), by key and number."""
    rows = table("id", "_version", "city", "effective_from", "effective_to", "seen", "is_current")
    assert all(current == (day(end) == END) for *_, end, _, current in rows)
    return [(i, n, c, day(a), day(b), day(s)) for i, n, c, a, b, s, _ in sorted(rows) if key in (None, i)]


def effects(result: Any) -> dict[str, int]:
    about_table = ("rows", "added_rows", "removed_rows", "rewritten_files")
    return {name: count for name, count in result.report["applied"].items() if name not in about_table}


def test_a_late_row_between_two_confirmations_holds_up_to_the_second(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01")
    assert effects(landed("1,Bern,a,2026-05-01")) == {"unchanged": 1}
    assert versions() == [(1, 1, "Bern", START, END, "2026-05-01")]
    keys = table("_sk")
    result = landed("1,Genf,a,2026-03-01")
    assert effects(result) == {"inserted": 1, "closed": 1}
    assert result.report["applied"]["added_rows"] == 2
    assert versions() == [
        (1, 1, "Bern", START, "2026-03-01", "2026-01-01"),
        (1, 2, "Genf", "2026-03-01", "2026-05-01", "2026-03-01"),
        (1, 3, "Bern", "2026-05-01", END, "2026-05-01"),
    ]
    assert keys[0] in table("_sk")
    assert len(set(table("_sk"))) == 3
    # The row that returns has its own time, in the type of the column.
    assert [(n, day(at)) for n, at in table("_version", "at")] == [
        (1, "2026-01-01"),
        (2, "2026-03-01"),
        (3, "2026-05-01"),
    ]


@pytest.mark.parametrize("time", ["date", "string"])
def test_the_time_of_a_version_that_returns_has_the_type_of_its_column(landed: Land, time: str) -> None:
    for line in ("1,Bern,a,2026-01-01", "1,Bern,a,2026-05-01", "1,Genf,a,2026-03-01", "1,Genf,a,2026-06-01"):
        landed(line, time=time)
    expected = [
        (1, 1, "Bern", START, "2026-03-01", "2026-01-01"),
        (1, 2, "Genf", "2026-03-01", "2026-05-01", "2026-03-01"),
        (1, 3, "Bern", "2026-05-01", "2026-06-01", "2026-05-01"),
        (1, 4, "Genf", "2026-06-01", END, "2026-06-01"),
    ]
    assert versions() == expected
    assert [str(at)[:10] for _, at in table("_version", "at")] == [
        "2026-01-01",
        "2026-03-01",
        "2026-05-01",
        "2026-06-01",
    ]


def test_several_late_rows_come_with_new_ones(landed: Land) -> None:
    landed("1,Bern,a,2026-02-01", "2,Rome,a,2026-02-01")
    landed("1,Bern,a,2026-08-01", "2,Rome,a,2026-08-01")
    landed("1,Genf,a,2026-03-01", "1,Chur,a,2026-04-01", "1,Oslo,a,2026-09-01", "2,Bari,a,2026-01-01")
    assert versions() == [
        (1, 1, "Bern", START, "2026-03-01", "2026-02-01"),
        (1, 2, "Genf", "2026-03-01", "2026-04-01", "2026-03-01"),
        (1, 3, "Chur", "2026-04-01", "2026-08-01", "2026-04-01"),
        (1, 4, "Bern", "2026-08-01", "2026-09-01", "2026-08-01"),
        (1, 5, "Oslo", "2026-09-01", END, "2026-09-01"),
        (2, 1, "Bari", START, "2026-02-01", "2026-01-01"),
        (2, 2, "Rome", "2026-02-01", END, "2026-08-01"),
    ]


def test_a_row_of_the_instant_of_a_confirmation_takes_its_place(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "2,Rome,a,2026-01-01", "3,Oslo,a,2026-01-01")
    landed("1,Bern,a,2026-05-01", "2,Rome,a,2026-05-01", "3,Oslo,a,2026-05-01")
    # Of two rows of one instant the last to arrive counts: that of May is no Bern any more.
    landed("1,Genf,a,2026-03-01", "1,Genf,a,2026-05-01", "2,Bari,a,2026-05-01", "3,Riga,a,2026-01-01")
    assert versions() == [
        (1, 1, "Bern", START, "2026-03-01", "2026-01-01"),
        (1, 2, "Genf", "2026-03-01", END, "2026-05-01"),
        (2, 1, "Rome", START, "2026-05-01", "2026-01-01"),
        (2, 2, "Bari", "2026-05-01", END, "2026-05-01"),
        (3, 1, "Riga", START, "2026-05-01", "2026-01-01"),
        (3, 2, "Oslo", "2026-05-01", END, "2026-05-01"),
    ]


def test_a_late_deletion_ends_a_version_up_to_its_confirmation(landed: Land) -> None:
    header = "op,id,city,phone,at"
    landed("I,1,Bern,a,2026-01-01", "I,2,Rome,a,2026-01-01", header=header)
    landed("U,1,Bern,a,2026-05-01", "U,2,Rome,a,2026-05-01", "D,2,,,2026-07-01", header=header)
    assert versions(2) == [(2, 1, "Rome", START, "2026-07-01", "2026-05-01")]
    landed("D,1,,,2026-03-01", "U,2,Bari,a,2026-03-01", header=header)
    assert versions() == [
        (1, 1, "Bern", START, "2026-03-01", "2026-01-01"),
        (1, 2, "Bern", "2026-05-01", END, "2026-05-01"),
        (2, 1, "Rome", START, "2026-03-01", "2026-01-01"),
        (2, 2, "Bari", "2026-03-01", "2026-05-01", "2026-03-01"),
        (2, 3, "Rome", "2026-05-01", "2026-07-01", "2026-05-01"),
    ]
    # A row after the deletion begins again; the confirmation before it stays where it was.
    landed("U,2,Rome,a,2026-09-01", header=header)
    landed("U,2,Oslo,a,2026-06-01", header=header)
    assert versions(2)[2:] == [
        (2, 3, "Rome", "2026-05-01", "2026-06-01", "2026-05-01"),
        (2, 4, "Oslo", "2026-06-01", "2026-07-01", "2026-06-01"),
        (2, 5, "Rome", "2026-09-01", END, "2026-09-01"),
    ]


def test_a_version_that_began_earlier_keeps_when_it_was_last_seen(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "1,Genf,a,2026-03-01", "1,Genf,a,2026-05-01")
    landed("1,Genf,a,2026-02-01")
    assert versions() == [
        (1, 1, "Bern", START, "2026-02-01", "2026-01-01"),
        (1, 2, "Genf", "2026-02-01", END, "2026-05-01"),
    ]


def test_only_a_later_confirmation_writes_again(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "1,Bern,a,2026-05-01")
    files = set(DeltaTable(TARGET).file_uris())
    landed("1,Bern,a,2026-03-01")
    landed("1,Bern,a,2026-05-01")
    assert set(DeltaTable(TARGET).file_uris()) == files
    landed("1,Bern,a,2026-06-01")
    assert set(DeltaTable(TARGET).file_uris()) != files


def test_an_option_that_is_added_later_knows_only_what_comes_after_it(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "2,Rome,a,2026-01-01", last_seen_field=None)
    landed("1,Bern,a,2026-05-01", "2,Rome,a,2026-05-01", last_seen_field=None)
    landed("1,Genf,a,2026-03-01", "2,Rome,a,2026-06-01")
    assert versions() == [
        (1, 1, "Bern", START, "2026-03-01", None),
        (1, 2, "Genf", "2026-03-01", END, "2026-03-01"),
        (2, 1, "Rome", START, END, "2026-06-01"),
    ]
    landed("2,Bari,a,2026-04-01")
    assert versions(2) == [
        (2, 1, "Rome", START, "2026-04-01", "2026-01-01"),
        (2, 2, "Bari", "2026-04-01", "2026-06-01", "2026-04-01"),
        (2, 3, "Rome", "2026-06-01", END, "2026-06-01"),
    ]


def test_an_option_that_is_taken_out_leaves_its_column_and_does_nothing(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", "1,Bern,a,2026-05-01")
    landed("1,Genf,a,2026-03-01", "2,Rome,a,2026-01-01", last_seen_field=None)
    expected = [
        (1, 1, "Bern", START, "2026-03-01", "2026-05-01"),
        (1, 2, "Genf", "2026-03-01", END, None),
        (2, 1, "Rome", START, END, None),
    ]
    assert versions() == expected
    # Back again: a confirmation after the end of its version says nothing any more.
    landed("1,Genf,a,2026-07-01")
    assert versions(1) == [
        (1, 1, "Bern", START, "2026-03-01", "2026-01-01"),
        (1, 2, "Genf", "2026-03-01", END, "2026-07-01"),
    ]


def test_the_unknown_member_was_never_seen(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", unknown_member=True)
    landed("1,Bern,a,2026-05-01", unknown_member=True)
    assert versions() == [(-1, 1, None, START, END, None), (1, 1, "Bern", START, END, "2026-05-01")]


@pytest.mark.parametrize("table_format", ["iceberg", "parquet"])
def test_other_formats_keep_it_too(landed: Land, table_format: str) -> None:
    for line in ("1,Bern,a,2026-01-01", "1,Bern,a,2026-05-01", "1,Genf,a,2026-03-01"):
        landed(line, table_format=table_format)
    rows = load(table_format).preview(str(Path(TARGET).absolute()), 10).to_pylist()
    assert sorted((row["_version"], row["city"], day(row["effective_to"]), day(row["seen"])) for row in rows) == [
        (1, "Bern", "2026-03-01", "2026-01-01"),
        (2, "Genf", "2026-05-01", "2026-03-01"),
        (3, "Bern", END, "2026-05-01"),
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [("city", "one that the history adds"), ("_version", "have one name"), ("AT", "is made by the history itself")],
)
def test_its_name_is_its_own(workspace: Path, name: str, told: str) -> None:
    with pytest.raises(ContractError, match=told):
        DataProcessor(document(last_seen_field=name), "duckdb")


def test_without_a_time_it_is_the_run_that_saw_the_row(landed: Land) -> None:
    landed("1,Bern,a,2026-01-01", timestamp_field=None)
    first = table("seen")[0][0]
    landed("1,Bern,a,2026-01-02", timestamp_field=None)
    assert table("seen")[0][0] > first
