"""What both engines in this process must do around a plan: read files, adopt frames, stage, measure, hand out."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.base import Engine, Pinned
from lakelogic.engines.registry import load
from lakelogic.errors import EngineError, SourceError, UsageError
from lakelogic.names import BROKEN, FILE, NUMBER, TEXT
from lakelogic.plan.nodes import (
    Account,
    Aggregate,
    Assignment,
    Landed,
    Link,
    Mask,
    Measure,
    Publish,
    Published,
    Read,
    Rollup,
    RowWise,
)
from lakelogic.privacy.keys import Keys
from lakelogic.sql.expressions import Column, Literal, call, convert, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal, to_arrow

X, N = Column("x", STRING), Column("n", STRING)
COLUMNS = (Published("x", STRING, True, True), Published("n", INT, True, True), Published("why", STRING, False, True))


@pytest.fixture(scope="module", params=["duckdb", "polars"])
def engine(request):
    started = load(request.param)
    yield started
    started.close()


@pytest.fixture
def csv(tmp_path):
    """A file with two good rows, one that cannot be cast, one filtered and one ragged."""
    path = tmp_path / "in.csv"
    path.write_text("X,n\na,1\nb,x\nc,3\nskip,4\nragged\n")
    return Pinned((str(path),))


READ = Read("source", "csv", (Landed("x", STRING), Landed("n", STRING)))


def plan(*, side=None, fate=None):
    """Cast n; what cannot be cast is bad; `skip` is filtered by step 1."""
    number = Column("n~1", INT)
    nodes = (
        RowWise("cast", (Assignment("n~1", convert(N, INT)),)),
        RowWise("keep", (Assignment("~lost", call("coalesce", call("eq", X, text("skip")), Literal(False, BOOLEAN))),)),
    )
    lost = Column("~lost", BOOLEAN)
    publish = Publish(
        (
            Assignment("x", X),
            Assignment("n", number),
            Assignment("why", call("case", call("is_null", number), call("coalesce", Column(BROKEN, STRING), text("n"), type=STRING), Literal(None, STRING), type=STRING)),
        ),
        fate or call("case", lost, Literal(1, BIGINT), Literal(0, BIGINT), type=BIGINT),
        side or call("case", lost, Literal(None, STRING), call("is_null", number), text("bad"), text("good"), type=STRING),
    )  # fmt: skip
    return Account(None, nodes, publish)


def rows_of(files):
    return [row for file in files for row in pq.ParquetFile(file.path).read().to_pylist()]


def test_an_engine_is_one(engine):
    assert isinstance(engine, Engine)
    assert engine.version[0].isdigit()
    assert {"csv", "json", "parquet", "delta"} <= engine.capabilities.formats


def test_one_pass_stages_both_sides_and_counts_what_it_saw(engine, csv, tmp_path):
    frame = engine.lower(engine.scan(READ, csv), [plan()], {})
    staged = engine.stage(frame, COLUMNS, (), Keys(), str(tmp_path / "staged"))
    assert (staged.scanned, staged.fates) == (5, {1: 1})
    assert rows_of(staged.good) == [{"x": "a", "n": 1}, {"x": "c", "n": 3}]
    assert sorted(rows_of(staged.bad), key=lambda row: row["why"]) == [
        {"x": None, "n": None, "why": "expected 2 values, found 1"},
        {"x": "b", "n": None, "why": "n"},
    ]
    assert sum(file.rows for file in (*staged.good, *staged.bad)) + sum(staged.fates.values()) == staged.scanned


def test_masks_are_applied_on_both_sides(engine, csv, tmp_path):
    frame = engine.lower(engine.scan(READ, csv), [plan()], {})
    staged = engine.stage(frame, COLUMNS, (Mask("x", "hash"),), Keys(salt=b"salt"), str(tmp_path / "staged"))
    hashed = [row["x"] for row in (*rows_of(staged.good), *rows_of(staged.bad)) if row["x"] is not None]
    assert len(hashed) == 3
    assert all(len(value) == 64 for value in hashed)


def test_a_frame_can_be_looked_at_and_then_staged_without_counting_twice(engine, csv, tmp_path):
    frame = engine.lower(engine.scan(READ, csv), [plan()], {})
    assert engine.collect(frame).num_rows == 5
    assert engine.collect(frame, 2).num_rows == 2
    assert engine.stage(frame, COLUMNS, (), Keys(), str(tmp_path / "staged")).scanned == 5


def test_a_rollup_opens_a_second_account_over_one_read(engine, csv, tmp_path):
    first = plan(side=Literal(None, STRING), fate=Literal(9, BIGINT))
    rollup = Rollup(
        "per parity",
        call("not", call("is_null", Column("n~1", INT))),
        (Assignment("k", call("modulo", Column("n~1", INT), Literal(2, INT), type=INT)),),
        (Aggregate("total", "sum", Column("n~1", INT), BIGINT),),
    )
    values = (
        Assignment("x", convert(Column("k", INT), STRING)),
        Assignment("n", convert(Column("total", BIGINT), INT)),
        Assignment("why", Literal(None, STRING)),
    )
    second = Account(rollup, (), Publish(values, Literal(0, BIGINT), text("good")))
    frame = engine.lower(engine.scan(READ, csv), [first, second], {})
    staged = engine.stage(frame, COLUMNS, (), Keys(), str(tmp_path / "staged"))
    assert (staged.scanned, staged.fates) == (5, {9: 5})
    assert sorted((row["x"], row["n"]) for row in rows_of(staged.good)) == [("0", 4), ("1", 4)]


def test_landed_columns_that_differ_in_case_from_what_the_plan_makes(engine, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("ID,Email\n7,A@B\n")
    read = Read("source", "csv", (Landed("ID", STRING), Landed("Email", STRING)))
    made = RowWise(
        "shape",
        (
            Assignment("id", convert(Column("ID", STRING), INT)),
            Assignment("email", call("lower", Column("Email", STRING), type=STRING)),
        ),
    )
    values = (
        Assignment("id", Column("id", INT)),
        Assignment("email", Column("email", STRING)),
        Assignment("Email", Column("Email", STRING)),
    )
    frame = engine.lower(
        engine.scan(read, Pinned((str(path),))),
        [Account(None, (made,), Publish(values, Literal(0, BIGINT), text("good")))],
        {},
    )
    (row,) = engine.collect(frame).to_pylist()
    assert (row["id"], row["email"], row["Email"]) == (7, "a@b", "A@B")


def test_column_names_that_are_keywords_or_hold_quotes(engine):
    table = pa.table({"select": ["1"], 'say "hi"': ["2"], "group by": ["3"], "it's": ["4"], "a;b--": ["5"]})
    frame, landed = engine.adopt(table)
    values = tuple(Assignment(column.name, Column(column.name, STRING)) for column in landed)
    found = engine.collect(
        engine.lower(frame, [Account(None, (), Publish(values, Literal(0, BIGINT), text("good")))], {})
    )
    assert found.select(table.schema.names).to_pylist() == table.to_pylist()


def test_parquet_files_of_different_ages_are_read_together(engine, tmp_path):
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    pq.write_table(pa.table({"ID": pa.array([1, 2], pa.int32())}), old)
    pq.write_table(pa.table({"extra": ["x"], "name": ["n"], "id": pa.array([3], pa.int64())}), new)
    read = Read("source", "parquet", (Landed("id", BIGINT), Landed("name", STRING)))
    frame = engine.scan(read, Pinned((str(old), str(new))))
    found = engine.collect(frame)
    assert found.schema.names == ["id", "name", FILE, NUMBER, TEXT, BROKEN]
    assert sorted((row["id"], row["name"], row[FILE]) for row in found.to_pylist()) == [
        (1, None, str(old)),
        (2, None, str(old)),
        (3, "n", str(new)),
    ]


def test_parquet_rows_are_counted_from_footers(engine, tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"x": ["a", "b"], "n": ["1", "2"]}), path)
    read = Read("source", "parquet", READ.columns)
    frame = engine.lower(engine.scan(read, Pinned((str(path),))), [plan()], {})
    assert engine.stage(frame, COLUMNS, (), Keys(), str(tmp_path / "staged")).scanned == 2


def test_a_file_that_is_not_parquet_is_a_source_error(engine, tmp_path):
    path = tmp_path / "in.parquet"
    path.write_bytes(b"no")
    with pytest.raises(SourceError, match=r"in\.parquet cannot be read"):
        engine.scan(Read("source", "parquet", READ.columns), Pinned((str(path),)))


def test_a_file_that_vanishes_before_the_pass_is_an_error_not_an_empty_table(engine, tmp_path):
    frame = engine.lower(engine.scan(READ, Pinned((str(tmp_path / "gone.csv"),))), [plan()], {})
    with pytest.raises((SourceError, EngineError), match=r"gone\.csv"):
        engine.stage(frame, COLUMNS, (), Keys(), str(tmp_path / "staged"))


def test_a_link_is_shaped_and_filtered(engine, tmp_path):
    path = tmp_path / "countries.csv"
    path.write_text("code,name\nde,Germany\nfr,France\nxx,\n")
    columns = (Landed("code", STRING), Landed("name", STRING))
    upper = RowWise("shape", (Assignment("CODE2", call("upper", Column("code", STRING), type=STRING)),))
    keep = call("not", call("is_null", Column("name", STRING)))
    link = Link(Read("countries", "csv", columns), (upper,), keep)
    frame = engine.link(link, Pinned((str(path),)))
    found = engine.collect(frame)
    assert sorted(found.column("CODE2").to_pylist()) == ["DE", "FR"]
    assert engine.duplicates(frame, ["CODE2"]) == 0


def test_duplicates_count_keys_not_rows_and_pass_over_keys_that_are_all_null(engine):
    table = pa.table({"a": [1, 1, 1, 2, 2, None, None, 3], "b": ["x", "x", "x", "y", None, "n", "n", "z"]})
    frame, _ = engine.adopt(table)
    assert engine.duplicates(frame, ["a"]) == 2
    assert engine.duplicates(frame, ["a", "b"]) == 2  # (1, x) and (NULL, n)
    assert engine.duplicates(frame, ["b"]) == 2


def test_measures_are_answered_together(engine, tmp_path):
    columns = (
        Published("id", INT, True, True),
        Published("amount", decimal(10, 2), True, True),
        Published("why", STRING, False, True),
    )
    amounts = [Decimal("1.50"), None, Decimal("2.50")]
    table = pa.table({"id": pa.array([1, 2, 2], pa.int32()), "amount": pa.array(amounts, pa.decimal128(10, 2))})
    path = tmp_path / "good.parquet"
    pq.write_table(table, path)
    amount, id_ = Column("amount", decimal(10, 2)), Column("id", INT)
    measures = [
        Measure("rows", "count_all", None),
        Measure("twos", "count_all", None, call("eq", id_, Literal(2, INT))),
        Measure("nulls", "count_all", None, call("is_null", amount)),
        Measure("different", "count_distinct", id_),
        Measure("total", "sum", amount),
        Measure("total of twos", "sum", amount, call("eq", id_, Literal(2, INT))),
        Measure("mean", "avg", amount),
        Measure("highest", "max", id_),
        Measure("nothing", "max", id_, call("gt", id_, Literal(9, INT))),
    ]
    expected = {
        "rows": 3, "twos": 2, "nulls": 1, "different": 2, "total": Decimal("4.00"), "total of twos": Decimal("2.50"),
        "mean": 2.0, "highest": 2, "nothing": None,
    }  # fmt: skip
    assert engine.measure([str(path)], columns, measures) == expected
    empty = engine.measure([], columns, measures)
    assert (empty["rows"], empty["total"], empty["different"]) == (0, None, 0)
    assert engine.measure([], columns, []) == {}


def test_frames_of_others_are_adopted_with_their_types(engine):
    import duckdb
    import polars as pl

    at = datetime(2024, 1, 5, tzinfo=UTC)
    table = pa.table(
        {
            "i": pa.array([1, None], pa.int16()),
            "u": pa.array([2**63, 1], pa.uint64()),
            "s": pa.array(["é", None], pa.large_string()),
            "d": pa.array([date(2024, 1, 5), None], pa.date32()),
            "t": pa.array([at, None], pa.timestamp("ns", tz="Europe/Paris")),
            "m": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
            "c": pa.array(["a", "b"]).dictionary_encode(),
            "l": pa.array([["x"], None], pa.list_(pa.string())),
        }
    )
    read = Read("source", "parquet", ())
    connection = duckdb.connect()
    handed = [
        table,
        table.to_batches()[0],
        pl.from_arrow(table),
        pl.from_arrow(table).lazy(),
        connection.from_arrow(table),
    ]
    for data in handed:
        frame, landed = engine.adopt(data, read)
        assert {column.name for column in landed} == set(table.schema.names)
        found = engine.collect(frame)
        rows = found.to_pylist()
        assert [row["i"] for row in rows] == [1, None]
        assert [int(row["u"]) for row in rows] == [2**63, 1]
        assert [row["s"] for row in rows] == ["é", None]
        assert [row["t"] for row in rows] == [at, None]
        assert [row["m"] for row in rows] == [Decimal("1.50"), None]
        assert [row["c"] for row in rows] == ["a", "b"]
        assert [row["l"] for row in rows] == [["x"], None]
        assert [(row[FILE], row[NUMBER], row[TEXT], row[BROKEN]) for row in rows] == [
            ("memory", 1, None, None),
            ("memory", 2, None, None),
        ]
        assert found.schema.field("t").type == to_arrow(TIMESTAMP)


def test_pandas_frames_and_lists_of_dicts_are_adopted(engine):
    pandas = pytest.importorskip("pandas")
    frame, landed = engine.adopt(pandas.DataFrame({"a": [1, 2], "b": ["x", None]}))
    assert [(column.name, column.type) for column in landed] == [("a", BIGINT), ("b", STRING)]
    assert engine.collect(frame).to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    frame, _ = engine.adopt([{"a": 1}, {"a": None}])
    assert engine.collect(frame).to_pylist() == [{"a": 1}, {"a": None}]


def test_what_is_not_rows_is_refused(engine):
    with pytest.raises(UsageError, match="is not rows"):
        engine.adopt(42)
    with pytest.raises(UsageError, match="~mine"):
        engine.adopt(pa.table({"~mine": [1]}))


def test_handed_out_frames_are_native_have_a_length_and_outlive_the_engine(tmp_path):
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "at": pa.array([datetime(2024, 1, 5, tzinfo=UTC)] * 2, to_arrow(TIMESTAMP)),
        }
    )
    folder = tmp_path / "ll_side=good"
    folder.mkdir()
    pq.write_table(table, folder / "x.parquet")
    for name, native in (("duckdb", "DuckDBPyRelation"), ("polars", "DataFrame")):
        started = load(name)
        columns = [("at", to_arrow(TIMESTAMP)), ("id", pa.int32()), ("new", pa.string())]
        opened, empty = started.open([str(folder / "x.parquet")], columns), started.open([], columns)
        wrapped = started.wrap(table)
        started.close()
        assert type(opened).__name__ == type(wrapped).__name__ == native
        assert (len(opened), len(empty), len(wrapped)) == (2, 0, 2)
        assert list(opened.columns) == ["at", "id", "new"]


def test_collected_tables_have_contract_types(engine):
    types = {
        "a": INT,
        "b": decimal(10, 2),
        "c": TIMESTAMP,
        "d": DATE,
        "e": DOUBLE,
        "f": Type("map", key=STRING, element=STRING),
    }
    frame, _ = engine.adopt(pa.table({"x": ["1"]}))
    values = tuple(Assignment(name, Literal(None, type_)) for name, type_ in types.items())
    table = engine.collect(
        engine.lower(frame, [Account(None, (), Publish(values, Literal(0, BIGINT), text("good")))], {})
    )
    assert {name: table.schema.field(name).type for name in types} == {name: to_arrow(t) for name, t in types.items()}
