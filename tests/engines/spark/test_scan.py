"""Files on Spark: every value as it landed, every line accounted for."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.base import Pinned
from lakelogic.engines.spark import SparkEngine
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.types import BIGINT, STRING, decimal

pytestmark = pytest.mark.spark


@pytest.fixture
def rows(spark_engine: SparkEngine) -> Any:
    def read(file_format: str, files: list[Path], columns: list[str], **options: object) -> list[dict[str, Any]]:
        landed = tuple(Landed(column, STRING) for column in columns)
        node = Read("source", file_format, landed, options)  # type: ignore[arg-type]
        frame = spark_engine.scan(node, Pinned(tuple(str(file) for file in files)))
        return spark_engine.collect(frame).to_pylist()

    return read


def put(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def values(found: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in found]


def test_csv_keeps_text_and_tells_empty_from_missing(rows: Any, tmp_path: Path) -> None:
    file = put(tmp_path / "a.csv", 'id,note\n1, x \n2,""\n3,\n4,"two\nlines, ""quoted"""\n')
    found = rows("csv", [file], ["id", "note"], headers={str(file): ["id", "note"]})
    assert values(found, "id", "note") == [("1", " x "), ("2", ""), ("3", None), ("4", 'two\nlines, "quoted"')]
    assert {row["~file"] for row in found} == {str(file)}
    assert {row["~broken"] for row in found} == {None}


def test_csv_files_with_other_headers_meet_in_one_frame(rows: Any, tmp_path: Path) -> None:
    one = put(tmp_path / "one.csv", "id,name\n1,a\n")
    two = put(tmp_path / "two.csv", "NAME,extra,ID\nb,x,2\n")
    headers = {str(one): ["id", "name"], str(two): ["NAME", "extra", "ID"]}
    found = rows("csv", [one, two], ["id", "name", "extra"], headers=headers)
    assert sorted(values(found, "id", "name", "extra", "~file")) == [
        ("1", "a", None, str(one)),
        ("2", "b", "x", str(two)),
    ]


def test_ragged_csv_lines_are_rows_that_say_so(rows: Any, tmp_path: Path) -> None:
    file = put(tmp_path / "a.csv", 'a,b,c\n1,2,3\n1,2\n"x,y",2,3,4\n')
    found = rows("csv", [file], ["a", "c"], headers={str(file): ["a", "b", "c"]})
    assert sorted(values(found, "a", "c", "~broken", "~text"), key=str) == [
        ("1", "3", None, None),
        (None, None, "expected 3 values, found 2", "1,2"),
        (None, None, "expected 3 values, found 4", '"x,y",2,3,4'),
    ]


def test_csv_bytes_that_are_not_utf8_make_a_broken_row(rows: Any, tmp_path: Path) -> None:
    file = put(tmp_path / "a.csv", b"a,b\n1,caf\xe9\n2,caf\xc3\xa9\n")
    found = rows("csv", [file], ["a", "b"], headers={str(file): ["a", "b"]})
    assert values(found, "a", "b", "~broken") == [(None, None, "not valid UTF-8"), ("2", "café", None)]


def test_csv_without_header_other_delimiter_and_words_for_null(rows: Any, tmp_path: Path) -> None:
    file = put(tmp_path / "a.txt", "1;NA\n2;'x;y'\n")
    found = rows("csv", [file], ["a", "b"], has_header=False, delimiter=";", quote_char="'", null_values=["NA", "-"])
    assert values(found, "a", "b") == [("1", None), ("2", "x;y")]


def test_json_values_keep_their_text(rows: Any, tmp_path: Path) -> None:
    file = put(
        tmp_path / "a.json",
        '\ufeff{"a": 1.50, "b": 123456789012345678901234567890, "c": null}\r\n'
        "\n  \n"
        '{"a": 1e3, "b": {"k": [1, 2 ], "t": "x y"}, "c": true}\n'
        '{"a": "1.50", "b": -0.10, "c": "null"}\n'
        '{"b": "[1, 2]", "a": 0.12345678901234567890123}',
    )
    found = rows("json", [file], ["a", "b", "c"])
    assert values(found, "a", "b", "c") == [
        ("1.50", "123456789012345678901234567890", None),
        ("1e3", '{"k":[1,2],"t":"x y"}', "true"),
        ("1.50", "-0.10", "null"),
        ("0.12345678901234567890123", "[1, 2]", None),
    ]
    assert found[2]["~text"] == '{"a": "1.50", "b": -0.10, "c": "null"}'


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        (b'{"a": 1', "invalid JSON"),
        (b'{"a": 1} trailing', "invalid JSON"),
        (b'{"a": 1}{"a": 2}', "invalid JSON"),
        (b'{"a": 1},{"a": 2}', "invalid JSON"),
        (b'{"a": 1}]', "invalid JSON"),
        (b'{"a": 1}] {}', "invalid JSON"),
        (b'{"a": NaN}', "invalid JSON"),
        (b"{'a': 1}", "invalid JSON"),
        (b'{"a": 01}', "invalid JSON"),
        (b'{"a": "tab\there"}', "invalid JSON"),
        (b'[{"a": 1}]', "not a JSON object"),
        (b"3", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"nonsense", "invalid JSON"),
        (b'{"a": "caf\xe9"}', "not valid UTF-8"),
    ],
)
def test_json_lines_that_are_no_objects_are_rows_that_say_so(
    rows: Any, tmp_path: Path, line: bytes, broken: str
) -> None:
    file = put(tmp_path / "a.json", b'{"a": "fine"}\n' + line + b'\n{"a": "too"}\n')
    found = rows("ndjson", [file], ["a"])
    assert values(found, "a", "~broken") == [("fine", None), (None, broken), ("too", None)]
    assert found[1]["~text"] == line.decode("utf-8", "replace")


def test_json_keys_that_differ_in_case_are_one_column(spark_engine: SparkEngine, rows: Any, tmp_path: Path) -> None:
    file = put(tmp_path / "a.json", '{"Id": 1, "b": 2}\n{"id": 3}\n[]\nnonsense\n')
    read = Read("source", "json", ())
    assert spark_engine.discover(read, Pinned((str(file),))) == (Landed("Id", STRING), Landed("b", STRING))
    assert values(rows("json", [file], ["Id", "b"]), "Id", "b")[:2] == [("1", "2"), ("3", None)]


def test_json_keys_are_found_by_a_job_when_there_is_much_to_look_at(
    spark_engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakelogic.engines.spark.scan.SMALL", 0)
    file = put(tmp_path / "a.json", '{"b": {"inner": 1}}\n{"a": 3, "B": 1}\n[1]\nnonsense\n')
    found = spark_engine.discover(Read("source", "json", ()), Pinned((str(file),)))
    assert found == (Landed("B", STRING), Landed("a", STRING))


@pytest.mark.parametrize("odd", ["plain", "with blank", "a+b", "100%", "[x]", "{a,b}", "é", "q?*", "a#b;c&d=e"])
def test_paths_are_told_as_they_were_pinned(spark_engine: SparkEngine, tmp_path: Path, odd: str) -> None:
    folder = tmp_path / odd
    folder.mkdir()
    files = [str(folder / f"{odd} one.parquet"), str(folder / f"{odd} two.parquet")]
    for number, file in enumerate(files):
        pq.write_table(pa.table({"a": [number]}), file)
    read = Read("source", "parquet", (Landed("a", BIGINT),))
    found = spark_engine.collect(spark_engine.scan(read, Pinned(tuple(files)))).to_pylist()
    assert sorted(values(found, "a", "~file")) == [(0, files[0]), (1, files[1])]


def test_files_whose_names_spark_passes_over_are_read(rows: Any, spark_engine: SparkEngine, tmp_path: Path) -> None:
    file = put(tmp_path / "_a.json", '{"a": 1}\n')
    assert values(rows("json", [file], ["a"]), "a") == [("1",)]
    hidden, usual = str(tmp_path / "_a.parquet"), str(tmp_path / "b.parquet")
    pq.write_table(pa.table({"a": [1]}), hidden)
    pq.write_table(pa.table({"a": [2]}), usual)
    read = Read("source", "parquet", (Landed("a", BIGINT),))
    found = spark_engine.collect(spark_engine.scan(read, Pinned((hidden, usual)))).to_pylist()
    assert sorted(values(found, "a", "~file")) == [(1, hidden), (2, usual)]


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_workers_read_large_files_in_parts_and_small_ones_together(
    rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.setattr("lakelogic.engines.spark.scan.SMALL", 0)
    monkeypatch.setattr("lakelogic.engines.readers.text_reader.PART", 3000)
    monkeypatch.setattr("lakelogic.engines.readers.text_reader._PIECE", 1000)
    lines = [f"{n},{n % 7}" if format_ == "csv" else f'{{"a": {n}, "b": {n % 7}}}' for n in range(2000)]
    lines[1500] = "broken"
    large = put(tmp_path / f"large.{format_}", "\r\n".join(["a,b", *lines] if format_ == "csv" else lines))
    small = [put(tmp_path / f"{n}.{format_}", "a,b\n9,9\n" if format_ == "csv" else '{"a": 9}\n') for n in range(50)]
    files = [large, *small]
    found = rows(format_, files, ["a", "b"], headers={str(file): ["a", "b"] for file in files})
    assert len(found) == 2050
    mine = sorted((row for row in found if row["~file"] == str(large)), key=lambda row: row["~number"])
    first = 2 if format_ == "csv" else 1
    assert [row["~number"] for row in mine] == list(range(first, first + 2000))
    assert [(row["a"], row["b"]) for row in mine if row["~broken"] is None] == [
        (str(n), str(n % 7)) for n in range(2000) if n != 1500
    ]
    assert [(row["~number"], row["~text"]) for row in mine if row["~broken"]] == [(first + 1500, "broken")]


def test_parquet_columns_come_with_or_without_case_and_may_be_missing(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    folder = tmp_path / "ll_side=good"
    folder.mkdir()
    one, two = str(folder / "1.parquet"), str(tmp_path / "2.parquet")
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "price": pa.array([Decimal("1.50"), None])}), one)
    pq.write_table(pa.table({"ID": pa.array([3]), "other": ["x"]}), two)
    read = Read("source", "parquet", (Landed("id", BIGINT), Landed("price", decimal(10, 2))))
    found = spark_engine.collect(spark_engine.scan(read, Pinned((one, two)))).to_pylist()
    assert sorted(values(found, "id", "price", "~file", "~number")) == [
        (1, Decimal("1.50"), one, 1),
        (2, None, one, 2),
        (3, None, two, 1),
    ]


def test_no_files_are_no_rows_with_the_right_columns(spark_engine: SparkEngine) -> None:
    read = Read("source", "parquet", (Landed("id", BIGINT),))
    found = spark_engine.collect(spark_engine.scan(read, Pinned()))
    assert found.num_rows == 0
    assert found.column_names == ["id", "~file", "~number", "~text", "~broken"]
    assert found.schema.field("id").type == pa.int64()
