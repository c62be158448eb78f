"""merge: rows find theirs in the table by key; what became of each is counted, and files that stay are not touched."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lakelogic import DataProcessor
from lakelogic.errors import TableError
from lakelogic.tables.delta.tables import DeltaTables

Land = Callable[..., Any]
TARGET = "lakelogic_warehouse/shop/silver/customers"
FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "city", "type": "string"},
    {"name": "at", "type": "timestamp"},
]


def rows(*names: str) -> list[tuple[Any, ...]]:
    table = DeltaTable(TARGET).to_pyarrow_table()
    return sorted((tuple(row[name] for name in names) for row in table.to_pylist()), key=repr)


def days(*names: str) -> list[tuple[Any, ...]]:
    """The rows with their instants as days."""
    return [tuple(f"{v:%Y-%m-%d}" if hasattr(v, "year") else v for v in row) for row in rows(*names)]


@pytest.fixture
def landed(engine: Any, workspace: Path) -> Land:
    """Land a file and run the contract over what is new."""
    number = iter(range(100))

    def land(text: str, **settings: Any) -> Any:
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{next(number):02d}.csv").write_text(text)
        merge = {"strategy": "merge", "primary_key": ["id"], "target_path": "shop.silver.customers", **settings}
        document = {
            "source": {"path": "landing/*.csv", "load_mode": "incremental"},
            "model": {"fields": FIELDS},
            "materialization": merge,
        }
        return DataProcessor(document, engine).run()

    return land


def effects(result: Any) -> dict[str, int]:
    """What became of the rows of the batch, without what is told about the table."""
    about_table = ("rows", "added_rows", "removed_rows", "rewritten_files")
    return {name: count for name, count in result.report["applied"].items() if name not in about_table}


def test_every_row_of_the_batch_is_inserted_updated_or_unchanged(landed: Land) -> None:
    first = landed("id,city,at\n1,Bern,2026-01-01\n2,Rome,2026-01-01\n3,Oslo,2026-01-01\n")
    assert effects(first) == {"inserted": 3}
    second = landed("id,city,at\n1,Bern,2026-01-01\n2,Riga,2026-01-02\n4,Kyiv,2026-01-02\n")
    assert effects(second) == {"inserted": 1, "updated": 1, "unchanged": 1}
    assert second.report["applied"]["rows"] == 3
    assert rows("id", "city") == [(1, "Bern"), (2, "Riga"), (3, "Oslo"), (4, "Kyiv")]


def test_a_row_older_than_the_table_s_is_stale_and_an_equal_one_wins(landed: Land) -> None:
    landed("id,city,at\n1,Bern,2026-01-05\n2,Rome,2026-01-05\n3,Oslo,2026-01-05\n", sequence_by="at")
    result = landed("id,city,at\n1,Genf,2026-01-04\n2,Riga,2026-01-05\n3,Lund,2026-01-06\n", sequence_by="at")
    assert effects(result) == {"updated": 2, "stale": 1}
    assert days("id", "city", "at") == [(1, "Bern", "2026-01-05"), (2, "Riga", "2026-01-05"), (3, "Lund", "2026-01-06")]


def test_a_row_that_does_not_say_when_is_older_than_one_that_does(landed: Land) -> None:
    landed("id,city,at\n1,Bern,2026-01-05\n2,Rome,\n", sequence_by="at")
    result = landed("id,city,at\n1,Genf,\n2,Riga,\n", sequence_by="at")
    assert effects(result) == {"updated": 1, "stale": 1}
    assert rows("id", "city") == [(1, "Bern"), (2, "Riga")]


def test_of_two_rows_of_a_key_in_a_batch_the_newer_wins_and_the_other_is_counted(landed: Land) -> None:
    result = landed("id,city,at\n1,Bern,2026-01-01\n1,Genf,2026-01-03\n1,Chur,2026-01-02\n", sequence_by="at")
    assert effects(result) == {"inserted": 1}
    assert result.counts.deduplicated == {"merge": 2}
    assert rows("id", "city") == [(1, "Genf")]


def test_the_first_stamps_survive_and_a_null_key_is_a_bad_row(landed: Land) -> None:
    landed("id,city,at\n1,Bern,2026-01-01\n2,Rome,2026-01-01\n")
    before = dict(rows("id", "_lakelogic_created_at"))
    result = landed("id,city,at\n1,Genf,2026-01-02\n,Nowhere,2026-01-02\n")
    assert (result.counts.good, result.counts.quarantined) == (1, 1)
    assert dict(rows("id", "_lakelogic_created_at")) == before
    runs = dict(rows("id", "_lakelogic_run_id"))
    assert runs[1] == result.run_id
    assert runs[2] != result.run_id


def test_files_without_a_changed_row_stay_and_an_unchanged_batch_touches_none(landed: Land) -> None:
    landed("id,city,at\n1,Bern,2026-01-01\n2,Rome,2026-01-01\n")
    landed("id,city,at\n3,Oslo,2026-01-01\n")
    landed("id,city,at\n4,Kyiv,2026-01-01\n")
    before = {Path(path).read_bytes() for path in DeltaTables().state(TARGET).files}
    same = landed("id,city,at\n1,Bern,2026-01-01\n3,Oslo,2026-01-01\n")
    assert effects(same) == {"unchanged": 2}
    assert {Path(path).read_bytes() for path in DeltaTables().state(TARGET).files} == before
    result = landed("id,city,at\n2,Rome,2026-01-01\n3,Lund,2026-01-02\n")
    assert result.report["applied"] == {
        "updated": 1, "unchanged": 1, "rows": 2, "added_rows": 0, "removed_rows": 0, "rewritten_files": 1,
    }  # fmt: skip
    assert len(before & {Path(path).read_bytes() for path in DeltaTables().state(TARGET).files}) == 2
    assert rows("id", "city") == [(1, "Bern"), (2, "Rome"), (3, "Lund"), (4, "Kyiv")]


def test_columns_that_only_the_table_has_keep_their_values(landed: Land) -> None:
    landed("id,city,at,note\n1,Bern,2026-01-01,first\n2,Rome,2026-01-01,second\n")
    landed("id,city,at\n1,Genf,2026-01-02\n3,Oslo,2026-01-02\n")
    assert rows("id", "city", "note") == [(1, "Genf", "first"), (2, "Rome", "second"), (3, "Oslo", None)]


def test_a_column_that_is_new_comes_in_with_the_rows_that_have_it(landed: Land) -> None:
    landed("id,city,at\n1,Bern,2026-01-01\n2,Rome,2026-01-01\n")
    result = landed("id,city,at,note\n1,Bern,2026-01-01,new\n")
    assert effects(result) == {"updated": 1}
    assert rows("id", "note") == [(1, "new"), (2, None)]


def test_what_was_applied_stands_in_the_commit_too(landed: Land) -> None:
    result = landed("id,city,at\n1,Bern,2026-01-01\n")
    facts = DeltaTables().state(TARGET).metadata["facts"]
    assert '"applied": {"inserted": 1' in facts
    assert result.report["applied"]["inserted"] == 1


def test_a_surrogate_key_is_the_same_for_the_same_key_whenever_it_comes(landed: Land) -> None:
    scd1 = {"surrogate_key": "customer_sk"}
    landed("id,city,at\n1,Bern,2026-01-01\n2,Rome,2026-01-01\n", scd1=scd1)
    before = dict(rows("id", "customer_sk"))
    landed("id,city,at\n1,Genf,2026-01-02\n3,Oslo,2026-01-02\n", scd1=scd1)
    after = dict(rows("id", "customer_sk"))
    assert {key: after[key] for key in before} == before
    assert len(set(after.values())) == 3
    # SHA-256 of the text {"0":"1"}
    assert before[1] == "3fe4538c3e5ec877452e5c114f1b4b932889edb249dc7b517d8ffb20d33ac92c"


def test_a_surrogate_key_may_be_a_uuid(landed: Land) -> None:
    landed("id,city,at\n1,Bern,2026-01-01\n", scd1={"surrogate_key": "sk", "surrogate_key_strategy": "uuid"})
    space = uuid.UUID(bytes=b"lakelogic-sk-uid")
    assert rows("id", "sk") == [(1, str(uuid.uuid5(space, '{"0":"1"}')))]


def test_a_table_that_holds_a_key_twice_is_refused_and_stays_as_it_is(landed: Land) -> None:
    landed("id,city,at\n1,Bern,2026-01-01\n2,Rome,2026-01-01\n")
    table = DeltaTable(TARGET).to_pyarrow_table()
    write_deltalake(TARGET, table.sort_by("id").slice(0, 1), mode="append")
    with pytest.raises(TableError, match=r"holds 1 key of \(id\) more than once"):
        landed("id,city,at\n1,Genf,2026-01-02\n2,Riga,2026-01-02\n")
    assert rows("id", "city") == [(1, "Bern"), (1, "Bern"), (2, "Rome")]


def test_somebody_else_s_commit_in_between_is_looked_at_again(
    landed: Land, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    landed("id,city,at\n1,Bern,2026-01-01\n")
    replace = DeltaTables.replace
    calls = []

    def disturbed(self: Any, *arguments: Any, **options: Any) -> Any:
        if not calls:
            table = DeltaTable(TARGET).to_pyarrow_table()
            theirs = table.set_column(0, "id", pa.array([2], pa.int32()))
            write_deltalake(TARGET, theirs, mode="append")
        calls.append(options["based_on"])
        return replace(self, *arguments, **options)

    monkeypatch.setattr(DeltaTables, "replace", disturbed)
    result = landed("id,city,at\n1,Genf,2026-01-02\n2,Riga,2026-01-02\n")
    assert len(calls) == 2
    assert effects(result) == {"updated": 2}
    assert rows("id", "city") == [(1, "Genf"), (2, "Riga")]
