"""Upserts by key into a Delta table."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic.errors import CommitConflict, TableError
from lakelogic.tables import delta
from lakelogic.tables.base import CommitInfo, Committed, StagedFile
from lakelogic.tables.delta import DeltaTables

SCHEMA = pa.schema([("id", pa.int64()), ("email", pa.string()), ("created", pa.string())])
APP = "lakelogic:silver_customers:good"
tables = DeltaTables()


def rows(*triples: tuple[int | None, str | None, str]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, t, strict=True)) for t in triples], schema=SCHEMA)


def read(root: str | Path, order: str = "id") -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in DeltaTable(str(root)).to_pyarrow_table().sort_by(order).to_pylist()]


def merge(root: str, files: list[StagedFile], n: int, schema: pa.Schema = SCHEMA, **options: object) -> Committed:
    settings: dict[str, object] = {"compare": ["email"], "keep": ["created"]} | options
    return tables.merge(root, files, schema, ["id"], CommitInfo(APP, n, {"batch_id": f"b-{n}"}), **settings)


@pytest.fixture
def root(tmp_path: Path, stage) -> str:
    place = str(tmp_path / "t")
    done = merge(place, [stage(place, rows((1, "a", "day 1"), (2, None, "day 1"), (3, "c", "day 1")))], 1)
    assert (done.version, done.inserted) == (0, 3)  # no table yet: the staged files become it
    return place


def test_rows_are_inserted_updated_and_left_alone_by_key(root, stage):
    staged = [
        stage(root, rows((1, "a", "day 2"), (2, "b", "day 2"))),
        stage(root, rows((3, None, "day 2"), (4, "d", "day 2"))),
    ]
    done = merge(root, staged, 2)
    assert (done.version, done.inserted, done.updated, done.unchanged, done.skipped) == (1, 1, 2, 1, False)
    assert read(root) == [(1, "a", "day 1"), (2, "b", "day 1"), (3, None, "day 1"), (4, "d", "day 2")]
    assert tables.find_commit(root, APP, 2) == {"batch_id": "b-2"}
    assert tables.state(root).metadata == {"batch_id": "b-2"}


def test_the_staged_files_of_a_merge_are_not_part_of_the_table(root, stage):
    staged = stage(root, rows((1, "z", "day 2")))
    merge(root, [staged], 2)
    state = tables.state(root)
    assert staged.path not in state.files
    assert all(not Path(path).name.startswith(("_", ".")) for path in state.files)
    assert (state.rows, sum(pq.read_metadata(path).num_rows for path in state.files)) == (3, 3)


def test_a_merge_that_changes_nothing_is_known_all_the_same(root, stage):
    before = tables.state(root).files
    done = merge(root, [stage(root, rows((1, "a", "day 2"), (2, None, "day 2")))], 2)
    assert (done.version, done.inserted, done.updated, done.unchanged) == (1, 0, 0, 2)
    assert tables.state(root).files == before
    assert tables.state(root).transactions[APP] == 2
    assert tables.find_commit(root, APP, 2) == {"batch_id": "b-2"}
    assert merge(root, [stage(root, rows((1, "z", "day 3")))], 2).skipped
    assert read(root)[0] == (1, "a", "day 1")


def test_a_merge_of_no_files_is_known_too(root):
    done = merge(root, [], 2)
    assert (done.version, done.unchanged, done.skipped) == (1, 0, False)
    assert tables.state(root).transactions[APP] == 2


def test_a_merge_of_no_files_creates_the_table(tmp_path):
    assert merge(str(tmp_path / "new"), [], 1).version == 0
    assert tables.state(str(tmp_path / "new")).schema == SCHEMA


def test_new_columns_come_in_with_a_merge_and_only_for_the_rows_that_have_them(root, stage):
    wider = SCHEMA.append(pa.field("seen", pa.timestamp("us"))).append(pa.field("tags", pa.list_(pa.string())))
    new = [{"id": 1, "email": "a", "tags": ["x"]}, {"id": 9, "email": "n", "tags": None}]
    staged = stage(root, pa.Table.from_pylist(new, schema=wider))
    done = merge(root, [staged], 2, wider, compare=["email", "tags"])
    assert (done.inserted, done.updated) == (1, 1)
    assert [(row[0], row[4]) for row in read(root)] == [(1, ["x"]), (2, None), (3, None), (9, None)]
    assert tables.state(root).schema == wider


def test_columns_that_the_batch_lacks_keep_their_values(root, stage):
    narrow = pa.schema([("id", pa.int64()), ("email", pa.string())])
    staged = stage(root, rows((1, "z", "x"), (8, "n", "x")).select(["id", "email"]))
    merge(root, [staged], 2, narrow, keep=[])
    assert read(root) == [(1, "z", "day 1"), (2, None, "day 1"), (3, "c", "day 1"), (8, "n", None)]


def test_columns_that_only_the_files_have_stay_unseen(root, stage):
    staged = stage(root, rows((7, "n", "day 2")).append_column("_lakelogic_errors", pa.array([["x"]])))
    merge(root, [staged], 2)
    assert tables.state(root).schema == SCHEMA


def test_names_that_need_quotes_and_nested_values_can_be_merged(tmp_path, stage):
    root = str(tmp_path / "t")
    odd = 'na.me "x"`y'
    schema = pa.schema(
        [
            ("Order", pa.string()),
            (odd, pa.list_(pa.string())),
            ("map", pa.map_(pa.string(), pa.string())),
            ("struct", pa.struct([("a", pa.int32())])),
            ("dec", pa.decimal128(38, 18)),
            ("ratio", pa.float64()),
            ("day", pa.date32()),
            ("raw", pa.binary()),
        ]
    )

    def batch(**changes: object) -> StagedFile:
        row = {
            "Order": "k",
            odd: ["a", None],
            "map": [("a", "b")],
            "struct": {"a": 1},
            "ratio": float("nan"),
            "raw": b"x",
        }
        return stage(root, pa.Table.from_pylist([row | changes], schema=schema))

    def go(n: int, **changes: object) -> Committed:
        compare = [name for name in schema.names if name != "Order"]
        return tables.merge(root, [batch(**changes)], schema, ["Order"], CommitInfo(APP, n), compare=compare)

    assert go(1).inserted == 1
    assert go(2).unchanged == 1
    for n, change in enumerate(
        [{odd: ["a", "b"]}, {odd: None}, {"map": [("a", "c")]}, {"struct": {"a": None}}, {"raw": b"y"}, {"ratio": 1.0}],
        3,
    ):
        assert go(n, **change).updated == 1
    assert read(root, "Order")[0][5] == 1.0


def test_composite_keys_are_compared_by_every_part(tmp_path, stage):
    root = str(tmp_path / "t")
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), ("v", pa.int32())])

    def go(n: int, *triples: tuple[str, str, int]) -> Committed:
        data = pa.Table.from_pylist([dict(zip(schema.names, t, strict=True)) for t in triples], schema=schema)
        return tables.merge(root, [stage(root, data)], schema, ["a", "b"], CommitInfo(APP, n), compare=["v"])

    go(1, ("x", "yz", 1), ("xy", "z", 2))
    done = go(2, ("x", "yz", 1), ("xy", "z", 3), ("x", "y", 4))
    assert (done.inserted, done.updated, done.unchanged) == (1, 1, 1)


def test_keys_that_repeat_or_are_null_are_refused(root, stage):
    with pytest.raises(TableError, match=r"hold a key \(id\) more than once"):
        merge(root, [stage(root, rows((1, "x", ""))), stage(root, rows((1, "y", "")))], 2)
    with pytest.raises(TableError, match="Key column `id` is NULL"):
        merge(root, [stage(root, rows((None, "x", "")))], 2)
    with pytest.raises(TableError, match="at least one key"):
        tables.merge(root, [], SCHEMA, [], CommitInfo(APP, 2), compare=[])
    assert tables.state(root).version == 0


def test_the_first_merge_refuses_repeated_keys_too(tmp_path, stage):
    root = str(tmp_path / "new")
    with pytest.raises(TableError, match="more than once"):
        merge(root, [stage(root, rows((1, "x", ""), (1, "y", "")))], 1)
    assert tables.state(root) is None


def test_without_columns_to_compare_known_keys_are_left_alone(root, stage):
    done = merge(root, [stage(root, rows((1, "z", "x"), (5, "n", "x")))], 2, compare=[])
    assert (done.inserted, done.updated, done.unchanged) == (1, 0, 1)


def test_text_in_an_engines_large_layout_can_be_merged(root, stage):
    large = rows((1, "z", "x"), (5, "n", "x"))
    large = large.cast(pa.schema([("id", pa.int64()), ("email", pa.large_string()), ("created", pa.large_string())]))
    done = merge(root, [stage(root, large)], 2)
    assert (done.inserted, done.updated) == (1, 1)


def test_a_merge_that_lost_a_race_is_a_commit_conflict_and_goes_through_when_done_again(root, stage, monkeypatch):
    evolve = delta._evolve
    calls = {"n": 0}

    def interrupted_once(*arguments):
        table = evolve(*arguments)
        calls["n"] += 1
        if calls["n"] == 1:
            other = stage(root, rows((4, "theirs", "day 2")))
            tables.merge(root, [other], SCHEMA, ["id"], CommitInfo("other", 1), compare=["email"])
        return table

    monkeypatch.setattr(delta, "_evolve", interrupted_once)
    mine = stage(root, rows((4, "mine", "day 3")))
    with pytest.raises(CommitConflict):
        merge(root, [mine], 2)
    done = merge(root, [mine], 2)
    assert (done.inserted, done.updated) == (0, 1)
    assert read(root)[-1] == (4, "mine", "day 2")


def test_a_merge_that_would_change_nothing_is_judged_again_when_somebody_came_between(root, stage, monkeypatch):
    evaluate = delta.merge_rows
    calls = {"n": 0}

    def interrupted_once(*arguments, **options):
        metrics = evaluate(*arguments, **options)
        calls["n"] += 1
        if calls["n"] == 1:
            theirs = stage(root, rows((1, "theirs", "day 2")))
            tables.merge(root, [theirs], SCHEMA, ["id"], CommitInfo("other", 1), compare=["email"])
        return metrics

    monkeypatch.setattr(delta, "merge_rows", interrupted_once)
    same = stage(root, rows((1, "a", "day 3")))
    with pytest.raises(CommitConflict):
        merge(root, [same], 2)
    assert merge(root, [same], 2).updated == 1
    assert read(root)[0][1] == "a"


def test_many_rows_in_many_files_are_all_merged(tmp_path, stage):
    root = str(tmp_path / "t")
    merge(root, [stage(root, rows(*((i, "old", "x") for i in range(start, start + 500)))) for start in (0, 500)], 1)
    staged = [
        stage(root, rows(*((i, "new", "y") for i in range(start, start + 300))), row_group_size=50)
        for start in (900, 1200)
    ]
    done = merge(root, staged, 2)
    assert (done.inserted, done.updated, done.unchanged) == (500, 100, 0)
    table = DeltaTable(root).to_pyarrow_table()
    assert table.num_rows == 1500
    assert sorted(table.column("id").to_pylist()) == list(range(1500))
    log = (Path(root) / "_delta_log" / f"{1:020d}.json").read_text()
    assert sum("txn" in json.loads(line) for line in log.splitlines()) == 1
