"""Delta tables: state, append, overwrite, and each commit once."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Schema

from lakelogic.errors import CommitConflict, FeatureRefused, TableError, UnsupportedError
from lakelogic.tables.base import CommitInfo, Layout, StagedFile, TableFormat
from lakelogic.tables.delta import tables as delta
from lakelogic.tables.delta.tables import DeltaTables

SCHEMA = pa.schema([("id", pa.int64()), ("email", pa.string())])
tables = DeltaTables()


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    return pa.Table.from_pylist([{"id": i, "email": e} for i, e in pairs], schema=SCHEMA)


def commit(n: int, app_id: str = "lakelogic:silver_customers:good", **metadata: str) -> CommitInfo:
    return CommitInfo(app_id, n, metadata)


def read(root: Path, order: str = "id") -> list[dict[str, object]]:
    return DeltaTable(str(root)).to_pyarrow_table().sort_by(order).to_pylist()


def log(root: Path, version: int) -> list[dict[str, dict[str, object]]]:
    text = (root / "_delta_log" / f"{version:020d}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_it_is_a_table_format() -> None:
    assert isinstance(tables, TableFormat)


def test_no_table_has_no_state(tmp_path):
    assert tables.state(str(tmp_path / "nothing")) is None
    tables.check(str(tmp_path / "nothing"))


def test_append_creates_the_table_out_of_the_staged_files_as_they_are(tmp_path, stage):
    root = tmp_path / "silver" / "customers"
    file = stage(root, rows((1, "a@x.com"), (2, None)))
    done = tables.append(str(root), [file], SCHEMA, commit(1, batch_id="b-1"))
    assert (done.version, done.inserted, done.skipped) == (0, 2, False)
    state = tables.state(str(root))
    assert state is not None
    assert state.files == (file.path,)
    assert (state.version, state.rows, state.schema) == (0, 2, SCHEMA)
    assert dict(state.transactions) == {"lakelogic:silver_customers:good": 1}
    assert state.metadata == {"batch_id": "b-1"}
    assert read(root) == [{"id": 1, "email": "a@x.com"}, {"id": 2, "email": None}]


def test_paths_in_the_log_are_relative_and_come_back_as_they_are_on_disk(tmp_path, stage):
    root = tmp_path / "my tables" / "cust#mers"
    file = stage(root, rows((1, "a")), folder="batch 1/ll_side=good")
    odd = Path(file.path).with_name("a b%20c+ü.parquet")
    Path(file.path).rename(odd)
    tables.append(str(root), [StagedFile(str(odd), 1, file.size)], SCHEMA, commit(1))
    [add] = [line["add"] for line in log(root, 0) if "add" in line]
    assert str(add["path"]).startswith("batch%201/ll_side=good/a%20b%2520c")
    state = tables.state(str(root))
    assert state is not None
    assert state.files == (str(odd),)
    assert tables.preview(str(root)).to_pylist() == [{"id": 1, "email": "a"}]
    assert read(root) == [{"id": 1, "email": "a"}]


def test_a_commit_that_the_table_has_seen_is_skipped(tmp_path, stage):
    root = str(tmp_path / "t")
    file = stage(root, rows((1, "a")))
    tables.append(root, [file], SCHEMA, commit(1))
    tables.append(root, [stage(root, rows((2, "b")))], SCHEMA, commit(2))
    for again in (1, 2):
        done = tables.append(root, [file], SCHEMA, commit(again))
        assert done.skipped
        assert done.version == again - 1
        assert done.inserted == 0
    assert tables.overwrite(root, [file], SCHEMA, commit(2)).skipped
    assert tables.replace(root, [], [file], SCHEMA, commit(2), based_on=None).skipped
    assert tables.count(root) == 2


def test_a_commit_that_is_there_is_skipped_even_when_its_staged_files_are_gone(tmp_path, stage):
    root = str(tmp_path / "t")
    tables.append(root, [], SCHEMA, commit(1))
    gone = StagedFile(str(tmp_path / "t" / "batch-0" / "gone.parquet"), 1, 1)
    assert tables.append(root, [gone], SCHEMA, commit(1)).skipped
    assert tables.overwrite(root, [gone], SCHEMA, commit(1)).skipped
    assert tables.replace(root, [], [gone], SCHEMA, commit(1), based_on=None).skipped


def test_another_side_has_transactions_of_its_own(tmp_path, stage):
    root = str(tmp_path / "t")
    tables.append(root, [stage(root, rows((1, "a")))], SCHEMA, commit(5, "one"))
    assert not tables.append(root, [stage(root, rows((2, "b")))], SCHEMA, commit(1, "two")).skipped
    state = tables.state(root)
    assert state is not None
    assert dict(state.transactions) == {"one": 5, "two": 1}
    assert "three" not in state.transactions


def test_columns_that_only_the_files_have_stay_unseen(tmp_path, stage):
    root = tmp_path / "t"
    wide = rows((1, "a")).append_column("_lakelogic_errors", pa.array([["x"]]))
    tables.append(str(root), [stage(root, wide)], SCHEMA, commit(1))
    assert read(root) == [{"id": 1, "email": "a"}]
    assert tables.preview(str(root)).column_names == ["id", "email"]


def test_a_new_column_is_added_and_old_rows_read_null(tmp_path, stage):
    root = tmp_path / "t"
    tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(1))
    wider = SCHEMA.append(pa.field("seen", pa.timestamp("us"))).append(pa.field("tags", pa.list_(pa.string())))
    new = pa.Table.from_pylist([{"id": 2, "email": "b", "seen": datetime(2026, 1, 2), "tags": ["x"]}], schema=wider)  # noqa: DTZ001
    done = tables.append(str(root), [stage(root, new)], wider, commit(2))
    state = tables.state(str(root))
    assert state is not None
    assert state.version == done.version
    assert state.schema == wider
    assert [row["seen"] for row in read(root)] == [None, datetime(2026, 1, 2)]  # noqa: DTZ001
    assert [row["tags"] for row in tables.preview(str(root)).sort_by("id").to_pylist()] == [None, ["x"]]


def test_a_column_that_the_new_rows_lack_stays_and_reads_null(tmp_path, stage):
    root = tmp_path / "t"
    tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(1))
    narrow = pa.schema([("id", pa.int64())])
    tables.append(str(root), [stage(root, rows((2, "b")).select(["id"]))], narrow, commit(2))
    assert read(root) == [{"id": 1, "email": "a"}, {"id": 2, "email": None}]


@pytest.mark.parametrize("verb", ["append", "overwrite"])
def test_a_changed_type_is_refused_with_both_types(tmp_path, stage, verb):
    root = tmp_path / "t"
    tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(1))
    other = pa.schema([("id", pa.string()), ("email", pa.string())])
    file = stage(root, pa.table({"id": ["1"], "email": ["a"]}))
    with pytest.raises(TableError, match="`id` is stored as bigint, the new rows have string"):
        getattr(tables, verb)(str(root), [file], other, commit(2))
    assert len(log(root, 0)) > 0
    assert tables.state(str(root)).version == 0


def test_two_spellings_of_a_column_are_refused(tmp_path, stage):
    root = tmp_path / "t"
    tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(1))
    other = pa.schema([("id", pa.int64()), ("Email", pa.string())])
    file = stage(root, pa.table({"id": [1], "Email": ["a"]}))
    with pytest.raises(TableError, match="`email` and `Email` differ only in case"):
        tables.append(str(root), [file], other, commit(2))


def test_overwrite_replaces_all_rows_in_one_commit(tmp_path, stage):
    root = tmp_path / "t"
    tables.append(str(root), [stage(root, rows((1, "a"), (2, "b")))], SCHEMA, commit(1))
    done = tables.overwrite(str(root), [stage(root, rows((3, "c")))], SCHEMA, commit(2, batch_id="b-2"))
    assert (done.version, done.inserted, done.deleted) == (1, 1, 2)
    assert read(root) == [{"id": 3, "email": "c"}]
    old = tables.state(str(root), version=0)
    assert old is not None
    assert (old.rows, old.metadata, dict(old.transactions)) == (2, {}, {"lakelogic:silver_customers:good": 1})


def test_overwrite_by_nothing_empties_the_table_and_keeps_its_columns(tmp_path, stage):
    root = tmp_path / "t"
    tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(1))
    assert tables.overwrite(str(root), [], SCHEMA, commit(2)).deleted == 1
    state = tables.state(str(root))
    assert state is not None
    assert (state.files, state.rows, state.schema) == ((), 0, SCHEMA)
    assert tables.preview(str(root)) == SCHEMA.empty_table()
    assert tables.count(str(root)) == 0


def test_overwrite_creates_the_table(tmp_path):
    root = str(tmp_path / "t")
    assert tables.overwrite(root, [], SCHEMA, commit(1)).version == 0
    assert tables.state(root).schema == SCHEMA


def test_append_of_nothing_creates_the_table_and_records_the_transaction(tmp_path):
    root = tmp_path / "t"
    assert tables.append(str(root), [], SCHEMA, commit(1)).version == 0
    assert tables.append(str(root), [], SCHEMA, commit(2, batch_id="empty")).version == 1
    assert read(root) == []
    assert tables.find_commit(str(root), commit(2).app_id, 2) == {"batch_id": "empty"}
    assert tables.append(str(root), [], SCHEMA, commit(2)).skipped


def test_a_commit_is_found_again_by_its_transaction(tmp_path, stage):
    root = str(tmp_path / "t")
    assert tables.find_commit(root, "a", 1) is None
    tables.append(root, [stage(root, rows((1, "a")))], SCHEMA, commit(1, "a", batch_id="b-1", watermark="2026-01-01"))
    tables.append(root, [stage(root, rows((2, "b")))], SCHEMA, commit(2, "a", batch_id="b-2"))
    DeltaTable(root).alter.set_table_description("somebody else's commit")
    assert tables.find_commit(root, "a", 1) == {"batch_id": "b-1", "watermark": "2026-01-01"}
    assert tables.find_commit(root, "a", 3) is None
    assert tables.find_commit(root, "b", 1) is None
    assert tables.state(root).metadata == {"batch_id": "b-2"}


def test_transactions_survive_a_checkpoint_and_cleaned_commits(tmp_path, stage):
    root = tmp_path / "t"
    tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(7, "old"))
    DeltaTable(str(root)).create_checkpoint()
    tables.append(str(root), [stage(root, rows((2, "b")))], SCHEMA, commit(1, "new"))
    (root / "_delta_log" / f"{0:020d}.json").unlink()
    state = tables.state(str(root))
    assert state is not None
    assert dict(state.transactions) == {"new": 1, "old": 7}
    assert state.rows == 2
    assert tables.append(str(root), [], SCHEMA, commit(7, "old")).skipped


def test_statistics_come_from_the_footers(tmp_path, stage):
    root = tmp_path / "t"
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", tz="UTC")),
            ("wall", pa.timestamp("us")),
            ("ratio", pa.float64()),
            ("price", pa.decimal128(10, 2)),
            ("tags", pa.list_(pa.string())),
            ("none", pa.string()),
        ]
    )
    long = "x" * 40
    data = [
        {"id": 3, "name": "b", "day": date(2026, 1, 2), "at": datetime(2026, 1, 1, 0, 0, 0, 1500, tzinfo=UTC)},
        {"id": -1, "name": long, "day": None, "wall": datetime(1, 1, 1), "ratio": float("nan"), "tags": ["q"]},  # noqa: DTZ001
    ]
    file = stage(root, pa.Table.from_pylist(data, schema=schema), row_group_size=1)
    tables.append(str(root), [file], schema, commit(1))
    [stats] = [json.loads(line["add"]["stats"]) for line in log(root, 0) if "add" in line]
    assert stats["numRecords"] == 2
    assert stats["minValues"] == {
        "id": -1,
        "name": "b",
        "day": "2026-01-02",
        "at": "2026-01-01T00:00:00.001Z",
        "wall": "0001-01-01T00:00:00.000",
    }
    assert stats["maxValues"] == {
        "id": 3,
        "name": "x" * 32 + "\U0010ffff",
        "day": "2026-01-02",
        "at": "2026-01-01T00:00:00.002Z",
        "wall": "0001-01-01T00:00:00.000",
    }
    assert stats["nullCount"] == {"id": 0, "name": 0, "day": 1, "at": 1, "wall": 1, "ratio": 1, "price": 2, "none": 2}
    state = tables.state(str(root))
    assert state is not None
    assert state.schema == schema
    found = DeltaTable(str(root)).to_pyarrow_table(
        filters=[("at", "=", datetime(2026, 1, 1, 0, 0, 0, 1500, tzinfo=UTC))]
    )
    assert found.column("id").to_pylist() == [3]
    assert [row["name"] for row in read(root)] == [long, "b"]


def test_the_last_instant_of_the_calendar_is_kept_and_has_no_upper_bound_in_the_log(tmp_path, stage):
    root = tmp_path / "t"
    schema = pa.schema([("at", pa.timestamp("us", tz="UTC"))])
    last = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    tables.append(str(root), [stage(root, pa.table({"at": [last]}, schema=schema))], schema, commit(1))
    assert read(root, "at") == [{"at": last}]


def test_int96_is_refused_before_anything_is_committed(tmp_path, stage):
    root = tmp_path / "t"
    schema = pa.schema([("at", pa.timestamp("us"))])
    table = pa.table({"at": [datetime(2026, 1, 1)]}, schema=schema)  # noqa: DTZ001
    file = stage(root, table, use_deprecated_int96_timestamps=True)
    with pytest.raises(TableError, match=r"`at` of .* INT96") as refusal:
        tables.append(str(root), [file], schema, commit(1))
    assert "TIMESTAMP_MICROS" in str(refusal.value)
    assert tables.state(str(root)) is None


def test_staged_files_that_do_not_fit_are_refused(tmp_path, stage):
    root = tmp_path / "t"
    good = rows((1, "a"))
    elsewhere = stage(tmp_path / "other", good)
    hidden = stage(root, good, folder="_staging")
    fewer = stage(root, good.select(["id"]))
    typed = stage(root, pa.table({"id": ["1"], "email": ["a"]}))
    nanos = stage(root, pa.table({"id": pa.array([1], pa.timestamp("ns"))}))
    counted = StagedFile(stage(root, good).path, 2, 1)
    gone = StagedFile(str(root / "gone.parquet"), 1, 1)
    ntz = pa.schema([("id", pa.timestamp("us"))])
    for file, schema, words in [
        (elsewhere, SCHEMA, "does not lie under the table"),
        (hidden, SCHEMA, "lies in `_staging`"),
        (fewer, SCHEMA, "has no column `email`"),
        (typed, SCHEMA, "is string, the table gets bigint"),
        (nanos, ntz, "timestamp in ns"),
        (counted, SCHEMA, "holds 1 rows, 2 were reported"),
        (gone, SCHEMA, "cannot be read"),
    ]:
        with pytest.raises(TableError, match=words):
            tables.append(str(root), [file], schema, commit(1))
    assert tables.state(str(root)) is None


def test_wall_clock_timestamps_work_from_the_first_commit(tmp_path, stage):
    root = tmp_path / "t"
    schema = pa.schema([("id", pa.int64()), ("wall", pa.timestamp("us")), ("at", pa.timestamp("us", tz="UTC"))])
    moment = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001
    table = pa.Table.from_pylist([{"id": 1, "wall": moment, "at": moment.replace(tzinfo=UTC)}], schema=schema)
    tables.append(str(root), [stage(root, table)], schema, commit(1))
    assert DeltaTable(str(root)).protocol().reader_features == ["timestampNtz"]
    assert read(root) == [{"id": 1, "wall": moment, "at": moment.replace(tzinfo=UTC)}]


def test_of_two_writers_with_one_transaction_one_commits_and_the_other_says_skipped(tmp_path, stage, monkeypatch):
    root = str(tmp_path / "t")
    tables.append(root, [stage(root, rows((0, "z")))], SCHEMA, commit(1))
    both_looked = threading.Barrier(2)
    look = delta.seen_before

    def look_together(*arguments):
        seen = look(*arguments)
        if seen is None:
            both_looked.wait(timeout=30)
        return seen

    monkeypatch.setattr(delta, "seen_before", look_together)
    files = [stage(root, rows((1, "a"))), stage(root, rows((1, "a")))]
    done = []
    writers = [
        threading.Thread(target=lambda f=file: done.append(tables.append(root, [f], SCHEMA, commit(2))))
        for file in files
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(d.skipped for d in done) == [False, True]
    assert tables.count(root) == 2


def test_of_two_writers_that_create_a_table_both_get_their_rows_in(tmp_path, stage, monkeypatch):
    root = str(tmp_path / "t")
    create = delta._create
    first = {"done": False}

    def create_late(*arguments):
        if not first["done"]:
            first["done"] = True
            tables.append(root, [stage(root, rows((1, "a")))], SCHEMA, commit(1, "other"))
        create(*arguments)

    monkeypatch.setattr(delta, "_create", create_late)
    done = tables.append(root, [stage(root, rows((2, "b")))], SCHEMA, commit(1))
    assert (done.version, done.skipped) == (1, False)
    assert tables.count(root) == 2


def test_an_append_goes_in_beside_somebody_elses_append(tmp_path, stage, monkeypatch):
    root = str(tmp_path / "t")
    tables.append(root, [], SCHEMA, commit(1))
    look = delta.seen_before
    other = {"n": 0}

    def interrupted(*arguments):
        seen = look(*arguments)
        other["n"] += 1
        if other["n"] == 1:
            tables.append(root, [stage(root, rows((1, "a")))], SCHEMA, commit(1, "other"))
        return seen

    monkeypatch.setattr(delta, "seen_before", interrupted)
    assert tables.append(root, [stage(root, rows((2, "b")))], SCHEMA, commit(2)).version == 2
    assert tables.count(root) == 2


def test_a_conflict_that_does_not_go_away_is_a_commit_conflict(tmp_path, stage, monkeypatch):
    root = str(tmp_path / "t")
    tables.append(root, [stage(root, rows((0, "z")))], SCHEMA, commit(1))
    evolve = delta._evolve
    numbers = iter(range(1, 100))

    def always_interrupted(*arguments):
        table = evolve(*arguments)
        DeltaTable(root).alter.set_table_description(f"somebody was here {next(numbers)}")
        return table

    monkeypatch.setattr(delta, "_evolve", always_interrupted)
    with pytest.raises(CommitConflict) as conflict:
        tables.overwrite(root, [stage(root, rows((1, "a")))], SCHEMA, commit(2))
    assert conflict.value.retry == "later"
    monkeypatch.undo()
    assert read(Path(root)) == [{"id": 0, "email": "z"}]


def test_an_overwrite_that_lost_a_race_replaces_the_winners_rows_too(tmp_path, stage, monkeypatch):
    root = str(tmp_path / "t")
    tables.append(root, [], SCHEMA, commit(1))
    evolve = delta._evolve
    calls = {"n": 0}

    def interrupted_once(*arguments):
        table = evolve(*arguments)
        calls["n"] += 1
        if calls["n"] == 1:
            tables.overwrite(root, [stage(root, rows((1, "winner")))], SCHEMA, commit(1, "other"))
        return table

    monkeypatch.setattr(delta, "_evolve", interrupted_once)
    done = tables.overwrite(root, [stage(root, rows((2, "later")))], SCHEMA, commit(2))
    assert (done.inserted, done.deleted) == (1, 1)
    assert read(Path(root)) == [{"id": 2, "email": "later"}]


def test_a_missing_version_and_a_missing_table_say_so(tmp_path, stage):
    root = str(tmp_path / "t")
    with pytest.raises(TableError, match="no Delta table"):
        tables.count(root)
    tables.append(root, [], SCHEMA, commit(1))
    with pytest.raises(TableError, match="no version 7"):
        tables.state(root, version=7)


def test_rows_are_counted_by_footers_where_the_log_has_no_statistics(tmp_path):
    from deltalake.transaction import AddAction, create_table_with_add_actions

    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(rows((1, "a"), (2, "b")), root / "x.parquet")
    action = AddAction("x.parquet", (root / "x.parquet").stat().st_size, {}, 0, True, "{}")
    create_table_with_add_actions(str(root), Schema.from_arrow(SCHEMA), [action])
    assert tables.state(str(root)).rows is None
    assert tables.count(str(root)) == 2
    assert tables.preview(str(root), 1).num_rows == 1


def test_places_that_are_not_available_are_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="not available yet"):
        tables.state("s3://bucket/t")
    with pytest.raises(TableError, match="cannot contain `%`"):
        tables.append(str(tmp_path / "a%20b"), [], SCHEMA, commit(1))
    (tmp_path / "a b").mkdir()
    tables.append((tmp_path / "a b").as_uri(), [], SCHEMA, commit(1))
    assert tables.state(str(tmp_path / "a b")).version == 0


def create(root: Path, configuration: dict[str, str], schema: pa.Schema = SCHEMA, **options: object) -> None:
    DeltaTable.create(str(root), Schema.from_arrow(schema), configuration=configuration, **options)


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"delta.enableDeletionVectors": "true"}, "deletionVectors"),
        ({"delta.enableChangeDataFeed": "true"}, "changeDataFeed"),
    ],
)
def test_tables_that_a_commit_would_damage_are_refused_before_it(tmp_path, stage, configuration, words):
    root = tmp_path / "t"
    create(root, configuration)
    with pytest.raises(FeatureRefused, match=words):
        tables.check(str(root))
    with pytest.raises(FeatureRefused, match=words):
        tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(1))
    assert not (root / "_delta_log" / f"{1:020d}.json").exists()


def test_check_constraints_are_refused_because_nobody_would_check_them(tmp_path):
    root = tmp_path / "t"
    create(root, {})
    DeltaTable(str(root)).alter.add_constraint({"positive": "id > 0"})
    with pytest.raises(FeatureRefused, match="check constraint positive"):
        tables.check(str(root))
    assert tables.state(str(root)).rows == 0


def test_an_append_only_table_takes_appends_and_refuses_what_removes_rows(tmp_path, stage):
    root = tmp_path / "t"
    create(root, {"delta.appendOnly": "true"})
    tables.append(str(root), [stage(root, rows((1, "a")))], SCHEMA, commit(1))
    with pytest.raises(FeatureRefused, match="appendOnly"):
        tables.overwrite(str(root), [], SCHEMA, commit(2))
    with pytest.raises(FeatureRefused, match="appendOnly"):
        tables.replace(str(root), list(tables.state(str(root)).files), [], SCHEMA, commit(2), based_on=1)


def test_a_not_null_column_refuses_files_with_nulls(tmp_path, stage):
    root = tmp_path / "t"
    create(root, {}, pa.schema([pa.field("id", pa.int64(), nullable=False), ("email", pa.string())]))
    tables.append(str(root), [stage(root, rows((1, None)))], SCHEMA, commit(1))
    with_null = pa.table({"id": pa.array([None], pa.int64()), "email": ["a"]})
    with pytest.raises(TableError, match="`id` is NOT NULL"):
        tables.append(str(root), [stage(root, with_null)], SCHEMA, commit(2))


def test_a_partition_of_empty_text_is_refused_because_readers_would_find_null(tmp_path, stage):
    root = tmp_path / "t"
    create(root, {}, partition_by=["email"])
    staged = stage(root, rows((1, "")))
    with pytest.raises(TableError, match="cannot keep an empty text"):
        tables.append(str(root), [replace(staged, partition={"email": ""})], SCHEMA, commit(2))
    assert tables.state(str(root)).rows == 0


def test_properties_are_set_where_they_oblige_nobody(tmp_path, stage):
    root = str(tmp_path / "t")
    layout = Layout(properties={"delta.logRetentionDuration": "interval 10 days"})
    tables.check(root, layout=layout)
    tables.append(root, [stage(root, rows((1, "a")))], SCHEMA, commit(1), layout=layout)
    assert DeltaTable(root).metadata().configuration == {"delta.logRetentionDuration": "interval 10 days"}
    with pytest.raises(UnsupportedError, match=r"cannot set delta\.enableChangeDataFeed"):
        tables.check(root, layout=Layout(properties={"delta.enableChangeDataFeed": "true"}))


def edit(root: Path, kind: str, change: dict[str, object]) -> None:
    """Change an action of the first commit, as another engine would have written it."""
    first = root / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if kind in line:
            line[kind] |= change
    first.write_text("\n".join(json.dumps(line) for line in lines))


def test_a_column_mapped_table_is_refused(tmp_path):
    root = tmp_path / "t"
    create(root, {})
    fields = [
        {
            "name": name,
            "type": kind,
            "nullable": True,
            "metadata": {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"},
        }
        for number, (name, kind) in enumerate([("id", "long"), ("email", "string")], 1)
    ]
    edit(root, "protocol", {"minReaderVersion": 2, "minWriterVersion": 5})
    edit(root, "metaData", {"schemaString": json.dumps({"type": "struct", "fields": fields})})
    edit(
        root,
        "metaData",
        {"configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}},
    )
    with pytest.raises(FeatureRefused, match="columnMapping"):
        tables.state(str(root))


@pytest.mark.parametrize("feature", ["rowTracking", "icebergCompatV2", "clustering", "somethingOfTomorrow"])
def test_a_writer_feature_that_we_do_not_know_is_refused(tmp_path, feature):
    root = tmp_path / "t"
    create(root, {})
    features = [feature, "domainMetadata"]
    edit(root, "protocol", {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features})
    with pytest.raises(FeatureRefused, match=feature):
        tables.check(str(root))


def test_a_reader_feature_that_we_do_not_know_is_refused(tmp_path):
    root = tmp_path / "t"
    create(root, {})
    features = ["somethingOfTomorrow"]
    edit(
        root,
        "protocol",
        {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features},
    )
    with pytest.raises(FeatureRefused, match="somethingOfTomorrow"):
        tables.state(str(root))
