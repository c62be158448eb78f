"""Landed columns without an engine."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.readers.columns import Look, csv_headers, landed_columns, parquet_columns, parquet_schemas
from lakelogic.engines.readers.formats import columns_of
from lakelogic.errors import SourceError, UnsupportedError, UsageError
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import BIGINT, DOUBLE, STRING, TIMESTAMP, array


@pytest.fixture
def file(tmp_path: Path):
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def discover(file_format, files, options=None, names=()):
    return columns_of(Look(file_format, tuple(files), options or {}, tuple(names)))


def columns(landed: tuple[Landed, ...]) -> list[str]:
    assert all(column.type == STRING for column in landed)
    return [column.name for column in landed]


def test_the_first_spelling_of_a_column_wins_over_all_files(file):
    first = file("a.csv", "id,Email\n1,x\n")
    second = file("b.csv", "ID,email,Phone\n1,x,y\n")
    assert columns(discover("csv", [first, second])) == ["id", "Email", "Phone"]
    assert csv_headers([first, second]) == {first: ["id", "Email"], second: ["ID", "email", "Phone"]}


def test_files_without_content_have_no_columns(file):
    empty, full = file("a.csv", ""), file("b.csv", "\n\nid\n")
    assert csv_headers([empty, full]) == {empty: [], full: ["id"]}
    assert discover("csv", [empty]) == ()
    assert discover("csv", []) == ()


@pytest.mark.parametrize("header", ["id,Name,id", "id,Name,ID", "a,a"])
def test_a_column_that_stands_twice_in_a_header_is_refused(file, header):
    path = file("twice.csv", header + "\n")
    with pytest.raises(SourceError, match=r"twice\.csv has column"):
        discover("csv", [path])


def test_quotes_blanks_and_nameless_columns(file):
    path = file("a.csv", '" id ","two\nlines","say ""hi""",,last\r\n1,2,3,4,5\r\n')
    assert csv_headers([path])[path] == ["id", "two\nlines", 'say "hi"', "c4", "last"]


def test_marks_encodings_and_compression(file):
    mark = file("a.csv", "\ufeffid,größe\n".encode())
    latin = file("b.csv", "id,größe\n".encode("latin-1"))
    wide = file("c.csv", "id,größe\n".encode("utf-16"))
    packed = file("d.csv.gz", gzip.compress("id,größe\n".encode()))
    named = file("e.csv", gzip.compress("id,größe\n".encode()))
    for path, options in [
        (mark, {}),
        (latin, {"encoding": "latin-1"}),
        (wide, {"encoding": "utf-16"}),
        (packed, {}),
        (named, {"compression": "gzip"}),
    ]:
        assert csv_headers([path], options)[path] == ["id", "größe"]


def test_a_header_that_is_not_in_the_encoding_is_refused_and_a_later_line_is_not_looked_at(file):
    with pytest.raises(SourceError, match="not valid UTF-8"):
        discover("csv", [file("a.csv", "id,größe\n".encode("latin-1"))])
    assert columns(discover("csv", [file("b.csv", b"id,name\n1,\xff\n")])) == ["id", "name"]
    with pytest.raises(UsageError, match="no encoding `klingon`"):
        discover("csv", [file("c.csv", "id\n")], {"encoding": "klingon"})


def test_broken_and_missing_files_are_source_errors(file, tmp_path):
    with pytest.raises(SourceError, match="cannot be read"):
        discover("csv", [file("a.csv.gz", b"not gzip")])
    with pytest.raises(SourceError, match="cannot be read"):
        discover("csv", [file("b.csv.gz", gzip.compress(b"id,name\n")[:12])])
    with pytest.raises(SourceError, match="cannot be read"):
        discover("csv", [str(tmp_path / "gone.csv")])
    with pytest.raises(SourceError, match="not a readable Parquet file"):
        discover("parquet", [file("c.parquet", b"PAR1")])


def test_options_say_how_a_line_is_cut(file):
    path = file("a.csv", "# made by hand\n#\nfirst line to skip\nid;'a;b'\n")
    options = {"delimiter": ";", "quote_char": "'", "skip_rows": 3, "comment_prefix": "#"}
    assert csv_headers([path], options)[path] == ["id", "a;b"]
    assert csv_headers([path], {"comment_prefix": "#", "quote_char": "'", "delimiter": ";"})[path] == [
        "first line to skip"
    ]
    tabs = file("b.tsv", "id\tname, full\n")
    assert columns(discover("tsv", [tabs])) == ["id", "name, full"]
    plain = file("c.csv", 'id,5" pipe\n')
    assert csv_headers([plain], {"quote_char": None})[plain] == ["id", '5" pipe']


def test_without_a_header_the_model_names_the_columns_by_place(file):
    path = file("a.csv", "1,x,true,9\n")
    options = {"has_header": False}
    assert columns(discover("csv", [path], options)) == ["c1", "c2", "c3", "c4"]
    assert columns(discover("csv", [path], options, names=["id", "name"])) == ["id", "name", "c3", "c4"]
    assert columns(discover("csv", [path], options, names=["a", "b", "c", "d", "e"])) == ["a", "b", "c", "d"]


def test_parquet_columns_are_the_union_over_the_footers(tmp_path):
    pq.write_table(pa.table({"id": [1], "Tags": [["a"]]}), tmp_path / "a.parquet")
    at = pa.array([0], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"ID": [1], "at": at, "x": [1.5]}), tmp_path / "b.parquet")
    found = discover("parquet", [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")])
    assert found == (
        Landed("id", BIGINT),
        Landed("Tags", array(STRING)),
        Landed("at", TIMESTAMP),
        Landed("x", DOUBLE),
    )


def test_a_column_of_two_types_is_refused_with_both_files(tmp_path):
    a, b = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    pq.write_table(pa.table({"id": [1]}), a)
    pq.write_table(pa.table({"ID": ["1"]}), b)
    with pytest.raises(SourceError, match=r"`id` is bigint in .*a\.parquet and string in .*b\.parquet"):
        parquet_columns(parquet_schemas([a, b]))


def test_a_tables_schema_is_its_columns():
    schema = pa.schema([("id", pa.int64()), ("name", pa.large_string())])
    assert landed_columns(schema) == (Landed("id", BIGINT), Landed("name", STRING))


def test_keys_of_json_are_left_to_an_engine(file):
    with pytest.raises(UnsupportedError, match="without an engine"):
        discover("ndjson", [file("a.json", "{}")])
