"""One pass on Spark: nodes, fates, masks and the files of both sides."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic import DataProcessor
from lakelogic.engines.base import Engine, Pinned, Staged
from lakelogic.engines.spark import SparkEngine
from lakelogic.engines.spark import session as sessions
from lakelogic.engines.spark.masks import masked
from lakelogic.errors import TableError
from lakelogic.plan.nodes import (
    Account,
    Aggregate,
    Assignment,
    Expand,
    Fork,
    Join,
    Landed,
    Mask,
    Measure,
    Order,
    Publish,
    Published,
    Rank,
    Read,
    Rollup,
    RowWise,
)
from lakelogic.privacy.keys import Keys, key_id
from lakelogic.privacy.masks import mask_array, reveal_text
from lakelogic.sql.expressions import FALSE, TRUE, Call, Column, Literal, call, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, decimal, to_arrow

pytestmark = pytest.mark.spark

KEY = bytes(range(32))
KEYS = Keys(encryption=((key_id(KEY), KEY),), salt=b"pepper")


def side_by(fate: Any, bad: Any) -> Call:
    lost = call("not", call("eq", fate, Literal(0, INT)))
    return Call("case", (lost, Literal(None, STRING), bad, text("bad"), text("good")), STRING)


def simple_plan(*, columns: tuple[str, ...] = ("id", "v")) -> tuple[list[Account], list[Published]]:
    """`v` = 'drop' is filtered as fate 1, `v` NULL is bad."""
    v, fate, bad = Column("v", STRING), Column("~fate", INT), Column("~bad0", BIGINT)
    nodes = (
        RowWise(
            "keep",
            (Assignment("~fate", Call("case", (call("eq", v, text("drop")), Literal(1, INT), Literal(0, INT)), INT)),),
        ),
        RowWise("judge", (Assignment("~bad0", Call("bits", (call("is_null", v),), BIGINT)),)),
    )
    failed = Call("bit_is_set", (bad, Literal(0, INT)), BOOLEAN)
    publish = Publish(tuple(Assignment(c, Column(c, STRING)) for c in columns), fate, side_by(fate, failed))
    return [Account(None, nodes, publish)], [Published(c, STRING, True, True) for c in columns]


def stage_rows(engine: SparkEngine, rows: list[dict[str, Any]], place: Path, masks: tuple[Mask, ...] = ()) -> Staged:
    frame, _ = engine.adopt(
        pa.Table.from_pylist(rows, schema=pa.schema([("id", pa.string()), ("v", pa.string())])),
        Read("source", "parquet", ()),
    )
    accounts, columns = simple_plan()
    return engine.stage(engine.lower(frame, accounts, {}), columns, masks, KEYS, str(place))


def content(files: Any) -> list[dict[str, Any]]:
    return [row for file in files for row in pq.ParquetFile(file.path).read().to_pylist()]


ROWS = [
    {"id": "1", "v": "a"},
    {"id": "2", "v": None},
    {"id": "3", "v": "drop"},
    {"id": "4", "v": "b"},
    {"id": "5", "v": "drop"},
]


def test_it_is_an_engine(spark_engine: SparkEngine) -> None:
    assert isinstance(spark_engine, Engine)


def test_both_sides_are_written_once_and_counted(spark_engine: SparkEngine, tmp_path: Path) -> None:
    staged = stage_rows(spark_engine, ROWS, tmp_path / "b 1")
    assert sorted(row["id"] for row in content(staged.good)) == ["1", "4"]
    assert [row["id"] for row in content(staged.bad)] == ["2"]
    assert (sum(f.rows for f in staged.good), sum(f.rows for f in staged.bad)) == (2, 1)
    assert staged.scanned == 5
    assert dict(staged.fates) == {1: 2}
    assert all(Path(f.path).stat().st_size == f.size for f in staged.good)
    left = [path.relative_to(tmp_path / "b 1").parts for path in (tmp_path / "b 1").rglob("*")]
    assert all(not part.startswith(("_", ".")) for parts in left for part in parts)
    assert {parts[0] for parts in left} == {"good", "bad"}


def test_good_rows_do_not_write_what_only_bad_rows_have(spark_engine: SparkEngine, tmp_path: Path) -> None:
    accounts, columns = simple_plan()
    layout = [replace(column, on_good=column.name != "id") for column in columns]
    frame, _ = spark_engine.adopt(pa.table({"id": ["1", "2"], "v": ["a", None]}), Read("source", "parquet", ()))
    staged = spark_engine.stage(spark_engine.lower(frame, accounts, {}), layout, (), KEYS, str(tmp_path / "stage"))
    assert content(staged.good) == [{"id": None, "v": "a"}]
    assert content(staged.bad) == [{"id": "2", "v": None}]


def test_the_next_run_of_a_contract_finds_its_code_compiled(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the moment and the name of the run differ; Java code that held them would be compiled, and warm up, again."""
    monkeypatch.setattr(sessions, "SMALL_BYTES", 0)  # few rows are not worth any code
    pq.write_table(pa.table({"id": [1, 2], "v": ["a", None]}), tmp_path / "rows.parquet")
    contract = {
        "dataset": "orders",
        "source": {"path": str(tmp_path / "rows.parquet")},
        "quality": {"row_rules": [{"not_null": "v"}]},
        "materialization": {"strategy": "append", "target_path": "lake.silver.orders"},
    }
    compiled = spark_engine.session._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    seen = []
    for turn in ("first", "second", "third"):
        (tmp_path / turn).mkdir()
        monkeypatch.chdir(tmp_path / turn)
        before = compiled.getCount()
        assert DataProcessor(contract, spark_engine).run().counts.quarantined == 1
        seen.append(compiled.getCount() - before)
    assert seen[0] > 0
    assert seen[1:] == [0, 0]


def test_rows_are_counted_again_where_the_counter_answers_with_nothing(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakelogic.engines.spark.counting.read", lambda *_: {})
    staged = stage_rows(spark_engine, ROWS, tmp_path / "b")
    assert dict(staged.fates) == {1: 2}
    assert staged.scanned is None


def test_a_folder_that_is_there_is_refused_and_stays_as_it_is(spark_engine: SparkEngine, tmp_path: Path) -> None:
    there = stage_rows(spark_engine, ROWS, tmp_path / "b")
    with pytest.raises(TableError, match="is there already"):
        stage_rows(spark_engine, ROWS[:1], tmp_path / "b")
    assert len(content(there.good)) == sum(file.rows for file in there.good)


def test_no_rows_are_no_files(spark_engine: SparkEngine, tmp_path: Path) -> None:
    accounts, columns = simple_plan()
    read = Read("source", "csv", (Landed("id", STRING), Landed("v", STRING)))
    frame = spark_engine.lower(spark_engine.scan(read, Pinned()), accounts, {})
    staged = spark_engine.stage(frame, columns, (), Keys(), str(tmp_path / "b"))
    assert staged == Staged((), (), 0, {})


def test_instants_of_all_years_are_written_as_microseconds(spark_engine: SparkEngine, tmp_path: Path) -> None:
    instants = [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1500, 2, 3, 4, 5, 6, 7, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ]
    table = pa.table(
        {
            "t": pa.array(instants, pa.timestamp("us", tz="UTC")),
            "w": pa.array([i.replace(tzinfo=None) for i in instants], pa.timestamp("us")),
        }
    )
    frame, landed = spark_engine.adopt(table, Read("source", "parquet", ()))
    assert [c.type.kind for c in landed] == ["timestamp", "timestamp_ntz"]
    publish = Publish(tuple(Assignment(c.name, Column(c.name, c.type)) for c in landed), Literal(0, INT), text("good"))
    columns = [Published(c.name, c.type, True, True) for c in landed]
    staged = spark_engine.stage(
        spark_engine.lower(frame, [Account(None, (), publish)], {}), columns, (), Keys(), str(tmp_path / "b")
    )
    found = pa.concat_tables(pq.ParquetFile(f.path).read() for f in staged.good)
    assert [found.schema.field(c.name).type for c in columns] == [to_arrow(c.type) for c in columns]
    assert sorted(found.column("t").to_pylist()) == instants
    opened = spark_engine.open([f.path for f in staged.good], [("t", to_arrow(TIMESTAMP))])
    assert sorted(spark_engine.collect(opened).column("t").to_pylist()) == instants


MASKED = [
    None,
    "",
    "a",
    "jo@example.com",
    "jo@x",
    "4929 1234 5678 9012",
    "ÄÖÜ😀éßxyz1234",
    "two\nlines",
    "a\u00a0b@c.de",
    "x" * 500,
]


@pytest.mark.parametrize(
    ("strategy", "pattern"),
    [
        ("redact", None),
        ("nullify", None),
        ("hash", None),
        ("partial", None),
        ("partial", "{first2}…{last3}"),
        ("partial", "{first1}~{domain}"),
        ("encrypt_deterministic", None),
    ],
)
def test_masks_are_those_of_the_other_engines(spark_engine: SparkEngine, strategy: Any, pattern: str | None) -> None:
    mask = Mask("v", strategy, pattern)
    frame = spark_engine.wrap(pa.table({"v": pa.array(MASKED, pa.string())}))
    found = masked(frame, [Published("v", STRING, True, True)], [mask], KEYS).toArrow().column("v").to_pylist()
    assert found == mask_array(pa.array(MASKED, pa.string()), mask, KEYS).to_pylist()


def test_encrypted_values_open_with_the_key_and_never_look_the_same(spark_engine: SparkEngine) -> None:
    frame = spark_engine.wrap(pa.table({"v": pa.array([*MASKED, "a"], pa.string())}))
    found = (
        masked(frame, [Published("v", STRING, True, True)], [Mask("v", "encrypt")], KEYS)
        .toArrow()
        .column("v")
        .to_pylist()
    )
    assert [None if value is None else reveal_text(value, KEYS) for value in found] == [*MASKED, "a"]
    assert found[2] != found[-1]
    assert all(
        value is None or (value.startswith("enc:") and "\n" not in value and "\r" not in value) for value in found
    )


def test_hash_is_hmac_over_the_canonical_text(spark_engine: SparkEngine) -> None:
    frame = spark_engine.wrap(pa.table({"n": pa.array([Decimal("1.50")], pa.decimal128(5, 2))}))
    found = (
        masked(frame, [Published("n", STRING, True, True)], [Mask("n", "hash")], KEYS).toArrow().column("n").to_pylist()
    )
    assert found == [hmac.new(b"pepper", b"1.50", hashlib.sha256).hexdigest()]


def test_keys_are_nowhere_in_the_plan(spark_engine: SparkEngine) -> None:
    frame = spark_engine.wrap(pa.table({"a": ["x"], "b": ["x"], "c": ["x"]}))
    masks = [Mask("a", "encrypt"), Mask("b", "hash"), Mask("c", "encrypt_deterministic")]
    hidden = masked(frame, [Published(c, STRING, True, True) for c in "abc"], masks, KEYS)
    hidden.collect()
    shown = hidden._jdf.queryExecution().toString() + hidden._jdf.queryExecution().debug().toString()
    block = KEYS.salt.ljust(64, b"\0")  # type: ignore[union-attr]
    for secret in (KEY, block, bytes(b ^ 0x36 for b in block), bytes(b ^ 0x5C for b in block)):
        for form in (
            secret.hex(),
            secret.hex().upper(),
            secret.hex(" "),
            __import__("base64").b64encode(secret).decode(),
        ):
            assert form not in shown
    assert "pepper" not in shown


def test_rank_puts_nulls_last_and_nan_on_top(spark_engine: SparkEngine) -> None:
    frame = spark_engine.wrap(pa.table({"x": pa.array([1.0, None, float("nan"), 2.0], pa.float64())}))
    x = Column("x", DOUBLE)
    from lakelogic.engines.spark.nodes import Links, apply

    both = apply(frame, [Rank("r", (), (Order(x),), "up"), Rank("r", (), (Order(x, True),), "down")], Links({}))
    found = {str(row["x"]): (row["up"], row["down"]) for row in spark_engine.collect(both).to_pylist()}
    assert found == {"1.0": (1, 3), "2.0": (2, 2), "nan": (3, 1), "None": (4, 4)}


def test_join_keeps_every_row_and_null_matches_nothing(spark_engine: SparkEngine) -> None:
    from lakelogic.engines.spark.nodes import Links, apply

    frame = spark_engine.wrap(pa.table({"k": ["a", "b", None], "name": ["own", "own", "own"]}))
    link = spark_engine.wrap(pa.table({"k": ["a", None, "c"], "name": ["A", "N", "C"]}))
    node = Join("j", "ref", ((Column("k", STRING), "k"),), (("name", "name~1"),), "~found")
    found = spark_engine.collect(apply(frame, [node], Links({"ref": link}))).to_pylist()
    assert sorted(found, key=str) == sorted(
        [
            {"k": "a", "name": "own", "name~1": "A", "~found": True},
            {"k": "b", "name": "own", "name~1": None, "~found": False},
            {"k": None, "name": "own", "name~1": None, "~found": False},
        ],
        key=str,
    )


def test_a_rollup_opens_a_new_account(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = pa.table({"g": ["a", "a", None, "b", "x"], "n": pa.array([1, 2, 3, None, 9], pa.int64())})
    frame, _ = spark_engine.adopt(table, Read("source", "parquet", ()))
    g, n, fate = Column("g", STRING), Column("n", BIGINT), Column("~fate", INT)
    gone = call("same", g, text("x"))
    first = Account(
        None,
        (RowWise("keep", (Assignment("~fate", Call("case", (gone, Literal(1, INT), Literal(2, INT)), INT)),)),),
        Publish((Assignment("g", g), Assignment("total", Literal(None, BIGINT))), fate, Literal(None, STRING)),
    )
    alive = call("eq", fate, Literal(2, INT))
    second = Account(
        Rollup("sum", alive, (Assignment("g", g),), (Aggregate("total", "sum", n, BIGINT),)),
        (),
        Publish((Assignment("g", g), Assignment("total", Column("total", BIGINT))), Literal(0, INT), text("good")),
    )
    columns = [Published("g", STRING, True, True), Published("total", BIGINT, True, True)]
    staged = spark_engine.stage(
        spark_engine.lower(frame, [first, second], {}), columns, (), Keys(), str(tmp_path / "b")
    )
    assert sorted(((r["g"], r["total"]) for r in content(staged.good)), key=str) == [("a", 3), ("b", None), (None, 3)]
    assert staged.scanned == 5
    assert dict(staged.fates) == {1: 1, 2: 4}


def test_a_rollup_without_keys_is_one_row_even_over_nothing(spark_engine: SparkEngine) -> None:
    from lakelogic.engines.spark.nodes import rollup

    frame = spark_engine.wrap(pa.table({"n": pa.array([], pa.int64())}))
    wanted = (
        Aggregate("rows", "count_all", None, BIGINT),
        Aggregate("all", "collect_list", Column("n", BIGINT), to_array(BIGINT)),
    )
    node = Rollup("r", Literal(True, BOOLEAN), (), wanted)
    assert spark_engine.collect(rollup(frame, node, {})).to_pylist() == [{"rows": 0, "all": []}]


def to_array(element: Any) -> Any:
    from lakelogic.sql.types import array

    return array(element)


def test_measures_are_answered_together(spark_engine: SparkEngine, tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    pq.write_table(
        pa.table(
            {
                "n": pa.array([1, 2, 2, None], pa.int64()),
                "d": pa.array([Decimal("0.10")] * 3 + [None]),
                "b": [True, None, False, None],
            }
        ),
        path,
    )
    n, d, b = Column("n", BIGINT), Column("d", decimal(3, 2)), Column("b", BOOLEAN)
    columns = [
        Published("n", BIGINT, True, True),
        Published("d", decimal(3, 2), True, True),
        Published("b", BOOLEAN, True, True),
    ]
    measures = [
        Measure("rows", "count_all", None),
        Measure("big", "count_all", None, call("gt", n, Literal(1, BIGINT))),
        Measure("values", "count", n),
        Measure("different", "count_distinct", n),
        Measure("sum", "sum", d),
        Measure("mean", "avg", n),
        Measure("least", "min", n),
        Measure("most", "max", n),
        Measure("any", "any_true", b),
        Measure("every", "every_true", b),
        Measure("set", "collect_set", n),
        Measure("a name; with 'odd' `signs`", "count_all", None),
    ]
    found = spark_engine.measure([path], columns, measures)
    assert list(found.values()) == [4, 2, 3, 2, Decimal("0.30"), 5 / 3, 1, 2, True, False, [1, 2], 4]
    nothing = spark_engine.measure([], columns, measures)
    assert list(nothing.values()) == [0, 0, 0, 0, None, None, None, None, None, None, [], 0]


def test_duplicates_count_values_and_pass_over_keys_that_are_all_null(spark_engine: SparkEngine) -> None:
    frame = spark_engine.wrap(pa.table({"a": ["x", "x", "x", "y", None, None], "b": ["1", "1", "2", "1", "1", "1"]}))
    assert spark_engine.duplicates(frame, ["a"]) == 1
    assert spark_engine.duplicates(frame, ["a", "b"]) == 2  # (x, 1) and (NULL, 1)
    assert spark_engine.duplicates(frame, ["b"]) == 1


def test_frames_of_others_are_adopted(spark_engine: SparkEngine) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    handed = [
        pa.table({"id": [1, 2], "s": ["a", None]}),
        polars.DataFrame({"id": [1, 2], "s": ["a", None]}),
        polars.LazyFrame({"id": [1, 2], "s": ["a", None]}),
        pandas.DataFrame({"id": [1, 2], "s": ["a", None]}),
        [{"id": 1, "s": "a"}, {"id": 2, "s": None}],
    ]
    for data in handed:
        frame, landed = spark_engine.adopt(data, Read("source", "parquet", ()))
        assert landed == (Landed("id", BIGINT), Landed("s", STRING))
        found = spark_engine.collect(frame).to_pylist()
        assert [(row["id"], row["s"], row["~file"], row["~broken"]) for row in found] == [
            (1, "a", "memory", None),
            (2, None, "memory", None),
        ]
    limited = spark_engine.collect(spark_engine.wrap(handed[0]), 1)
    assert limited.num_rows == 1


def test_rows_that_were_made_are_counted_and_a_fork_does_not_count_the_scan_twice(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    table = pa.table({"id": ["1", "2", "3"], "tags": [["a", "b", "c"], None, ["a"]]})
    frame, _ = spark_engine.adopt(table, Read("source", "parquet", ()))
    tag, at = Column("tag", STRING), Column("at", INT)
    again = call("gt", at, Literal(0, INT))
    gone = call("same", tag, text("c"))
    counted = Rollup("count", TRUE, (Assignment("t", tag),), (Aggregate("times", "count_all", None, BIGINT),))
    nodes = (
        Expand("explode", TRUE, Column("tags", to_array(STRING)), "at", "tag"),
        RowWise("mark", (Assignment("~copy", Call("case", (again, Literal(2, INT), Literal(0, INT)), INT)),)),
        RowWise("keep", (Assignment("~fate", Call("case", (gone, Literal(1, INT), Literal(0, INT)), INT)),)),
        Fork("fork", "by_tag", None, (counted,)),
        Join("join", "by_tag", ((tag, "t"),), (("times", "times"),), "~found"),
    )
    fate = Column("~fate", INT)
    publish = Publish(
        (Assignment("tag", tag), Assignment("times", Column("times", BIGINT))),
        fate,
        side_by(fate, FALSE),
        Column("~copy", INT),
    )
    columns = [Published("tag", STRING, True, True), Published("times", BIGINT, True, True)]
    lowered = spark_engine.lower(frame, [Account(None, nodes, publish)], {})
    staged = spark_engine.stage(lowered, columns, (), Keys(), str(tmp_path / "b"))
    rows = sorted((row["tag"] or "", row["times"]) for row in content(staged.good))
    assert rows == [("", None), ("a", 2), ("a", 2), ("b", 1)]
    assert set(content(staged.good)[0]) == {"tag", "times"}
    assert staged.scanned == 3
    assert dict(staged.fates) == {1: 1}
    assert dict(staged.copies) == {2: 2}
