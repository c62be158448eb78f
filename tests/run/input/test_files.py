"""Files are read the same by every engine: bytes in, good rows and quarantined lines out.

Each case is one table row: a name, the files (name → bytes), the source of a contract, the good rows that must come
out (in any order) and the quarantined ones as (line, reason). Expected values are worked out by hand.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lakelogic import DataProcessor
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.reading.load import load
from lakelogic.engines.readers.text_reader import TextScan
from lakelogic.errors import SourceError
from lakelogic.plan.nodes import Read
from lakelogic.run.input.pin import look, pin_source

LONG = "x" * 5_000_000


@dataclass(frozen=True)
class Case:
    """`rows` are tuples of the columns named; `bad` are (line, reason) of unreadable lines."""

    name: str
    files: dict[str, bytes] | bytes
    rows: list[tuple[Any, ...]]
    bad: list[tuple[int | None, str]] = field(default_factory=list)
    columns: str = "a b c"
    format: str = "csv"
    source: dict[str, Any] = field(default_factory=dict)
    model: dict[str, str] = field(default_factory=dict)


def csv(name: str, content: bytes | dict[str, bytes], rows: list[tuple[Any, ...]], *bad: Any, **more: Any) -> Case:
    columns = more.pop("columns", "a b c")
    model = more.pop("model", {})
    source = more.pop("source", {})
    return Case(name, content, rows, list(bad), columns, "csv", {"options": more, **source} if more else source, model)


def json(name: str, content: bytes | dict[str, bytes], rows: list[tuple[Any, ...]], *bad: Any, **more: Any) -> Case:
    format_, columns, model = more.pop("format", "json"), more.pop("columns", "a b c"), more.pop("model", {})
    return Case(name, content, rows, list(bad), columns, format_, {"options": more} if more else {}, model)


def zipped(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


def squeezed(content: bytes, codec: str) -> bytes:
    held = pa.BufferOutputStream()
    with pa.CompressedOutputStream(held, codec) as stream:
        stream.write(content)
    return held.getvalue().to_pybytes()


ABC = b"a,b,c\n1,2,3\n"
FOUND = "expected 3 values, found {}".format
OPEN = "a quote is not closed"
NO_JSON, NO_OBJECT = "invalid JSON", "not a JSON object"

CSV = [
    csv("an unquoted empty value is NULL, a quoted one is text", b'a,b,c\n1,,""\n', [("1", None, "")]),
    csv("quotes, doubled quotes, delimiters", b'a,b,c\n"x, y","say ""hi""","\'"\n', [("x, y", 'say "hi"', "'")]),
    csv("line ends in quotes are kept", b'a,b,c\n"1\r\n2","3\n4","5\r6"\n', [("1\r\n2", "3\n4", "5\r6")]),
    csv("blanks belong to values", b"a,b,c\n 1 ,\t2, \n", [(" 1 ", "\t2", " ")]),
    csv("a quote inside a value is a character", b'a,b,c\n5" pipe,a"b"c, "x"\n', [('5" pipe', 'a"b"c', ' "x"')]),
    csv("text after a closing quote belongs to the value", b'a,b,c\n"x"y,"p"" "q,"1"2"3"\n', [("xy", 'p" q', '12"3"')]),
    csv("backslashes are characters", b'a,b,c\n"\\",\\n,"a\\"""\n', [("\\", "\\n", 'a\\"')]),
    csv("too few and too many values", b"a,b,c\n1,2\n1,2,3,4\n1,2,3\nx\n", [("1", "2", "3")],
        (2, FOUND(2)), (3, FOUND(4)), (5, FOUND(1))),
    csv("an open quote costs one line", b'a,b,c\n1,2,3\n4,"5,6\n7,8,9\n', [("1", "2", "3"), ("7", "8", "9")], (3, OPEN)),
    csv("an open quote at the end", b'a,b,c\n1,2,3\n4,5,"6', [("1", "2", "3")], (3, OPEN)),
    csv("an open quote beside a closed one", b'a,b,c\n1,"2",3\n"4,5,6\n7,8,9\n', [("1", "2", "3"), ("7", "8", "9")],
        (3, OPEN)),
    csv("lines are counted through values and blank lines", b'\n\na,b,c\n"1\n\n2",x,y\n\n3\n4,5,6\n',
        [("1\n\n2", "x", "y"), ("4", "5", "6")], (8, FOUND(1))),
    csv("bytes that are not UTF-8", b"a,b,c\n1,\xe9,3\n4,5,6\n", [("4", "5", "6")], (2, "not valid UTF-8")),
    csv("the replacement character is a character", "a,b,c\n1,\ufffd,3\n".encode(), [("1", "\ufffd", "3")]),
    csv("a byte order mark", b"\xef\xbb\xbf" + ABC, [("1", "2", "3")]),
    csv("a byte order mark before a quote", b'\xef\xbb\xbf"a",b,c\n1,2,3\n', [("1", "2", "3")]),
    csv("no content", {"1.csv": b"", "2.csv": ABC}, [("1", "2", "3")]),
    csv("only blank lines", {"1.csv": b"\n\r\n\n", "2.csv": ABC}, [("1", "2", "3")]),
    csv("only a header", {"1.csv": b"a,b,c", "2.csv": ABC}, [("1", "2", "3")]),
    csv("only a header in every file", b"a,b,c\n", []),
    csv("carriage return and line feed", b"a,b,c\r\n1,2,3\r\n\r\n4,5,\r\n", [("1", "2", "3"), ("4", "5", None)]),
    csv("carriage returns alone", b"a,b,c\r1,2,3\r\r4,5\r6,7,8", [("1", "2", "3"), ("6", "7", "8")], (4, FOUND(2))),
    csv("mixed line ends", b"a,b,c\r\n1,2,3\n4,5,6\r7,8,9\r\n", [("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9")]),
    csv("no end of the last line", b"a,b,c\n1,2,3", [("1", "2", "3")]),
    csv("NUL is a character", b"a,b,c\n1,x\0y,3\n", [("1", "x\0y", "3")]),
    csv("a very long line", b"a,b,c\n1," + LONG.encode() + b",3\n4,5\n", [("1", LONG, "3")], (3, FOUND(2))),
    csv("a very long quoted value", b'a,b,c\n1,"' + LONG.encode() + b'\n",3\n4,5\n', [("1", LONG + "\n", "3")],
        (4, FOUND(2))),
    csv("characters beyond the basic plane", "a,b,c\n😀,e\u0301,\u2028x\n".encode(), [("😀", "e\u0301", "\u2028x")]),
    csv("blanks around names", b' a ,"b ",\tc\n1,2,3\n', [("1", "2", "3")]),
    csv("a nameless column is called after its place", b"a,,c\n1,2,3\n", [("1", "2", "3")], columns="a c2 c"),
    csv("one column, and a blank line in it", b"a\nx\n\n \n", [("x",), (" ",)], columns="a"),
    csv("differing order, case and columns between files",
        {"1.csv": b"a,b\n1,2\n", "2.csv": b"C,A\n3,4\n", "3.csv": b"B,c,d\n5,6,7\n"},
        [("1", "2", None, None), ("4", None, "3", None), (None, "5", "6", "7")], columns="a b C d"),
    csv("a file that does not belong to the format is not read", {"1.csv": ABC, "README.txt": b"hello", "x.csv.bak": b"?"},
        [("1", "2", "3")]),
    csv("a pattern chooses files", {"in-1.csv": ABC, "out-1.csv": b"a,b,c\n7,8,9\n"}, [("1", "2", "3")],
        source={"pattern": "in-*.csv"}),
]  # fmt: skip

OPTIONS = [
    csv("semicolons", b"a;b;c\n1;2,5;3\n", [("1", "2,5", "3")], delimiter=";"),
    csv("pipes", b"a|b|c\n1|2|\n", [("1", "2", None)], delimiter="|"),
    csv("tabs", b"a\tb\tc\n1\t\t3\n", [("1", None, "3")], delimiter="\t"),
    csv("a delimiter of two bytes", "a¦b¦c\n1¦\"2¦\"¦3\n".encode(), [("1", "2¦", "3")], delimiter="¦"),
    csv("another quote", b"a,b,c\n'1,1',\"2\",'it''s'\n", [("1,1", '"2"', "it's")], quote_char="'"),
    csv("no quote", b'a,b,c\n"1,2",3\n"x,y",z\n', [('"1', '2"', "3"), ('"x', 'y"', "z")], quote_char=""),
    csv("words for NULL", b'a,b,c\nNA,"NA",-\nna, NA,--\n', [(None, "NA", None), ("na", " NA", "--")],
        null_values=["NA", "-"]),
    csv("a name that is a word for NULL", b"NA,b,c\nNA,2,3\n", [(None, "2", "3")], null_values=["NA"], columns="NA b c"),
    csv("lines before the header", b'made "by\n\na,b,c\n1,2,3\nx\n', [("1", "2", "3")], (5, FOUND(1)), skip_rows=2),
    csv("comments", b'# one\na,b,c\n#2,2,2\n1,"x\n#y",3\n #,2,3\n', [("1", "x\n#y", "3"), (" #", "2", "3")],
        comment_prefix="#"),
    csv("a long comment prefix", b"a,b,c\n//x\n/,2,3\n//", [("/", "2", "3")], comment_prefix="//"),
    csv("no header: the model names the columns", b"1,2,3,4\n5,6,7,8\n9\n", [("1", "2", "3", "4"), ("5", "6", "7", "8")],
        (3, "expected 4 values, found 1"), has_header=False, columns="a b c3 c4", model={"a": "string", "b": "string"}),
    csv("no header and no model", b"1,2\n3,4\n", [("1", "2"), ("3", "4")], has_header=False, columns="c1 c2"),
    csv("no header, files of other widths", {"1.csv": b"1,2\n", "2.csv": b"3\n4\n"}, [("1", "2"), ("3", None), ("4", None)],
        has_header=False, columns="c1 c2"),
    csv("latin-1", "a,b,c\n1,é,\u0080\n".encode("latin-1"), [("1", "é", "\u0080")], encoding="latin-1"),
    csv("iso-8859-1", "a,b,c\n1,é,3\n".encode("latin-1"), [("1", "é", "3")], encoding="iso-8859-1"),
    csv("cp1252", "a,ü,c\n1,€,3\n".encode("cp1252") + b"4,\x81,6\n7,8\n", [("1", "€", "3")], (3, "not valid cp1252"),
        (4, FOUND(2)), encoding="cp1252", columns="a ü c"),
    csv("utf-16", 'a,b,c\r\n1,"é\n",😀\r\n4,5\r\n'.encode("utf-16"), [("1", "é\n", "😀")], (4, FOUND(2)), encoding="utf-16"),
    csv("utf-16 cut in half", "a,b,c\n1,2,3\n4,5,6".encode("utf-16")[:-1], [("1", "2", "3")], (3, "not valid utf-16"),
        encoding="utf-16"),
    csv("utf-8-sig", b"\xef\xbb\xbf" + ABC, [("1", "2", "3")], encoding="utf-8-sig"),
    csv("shift_jis", "a,b,c\n1,日本,3\n".encode("shift_jis"), [("1", "日本", "3")], encoding="shift_jis"),
    csv("gzip", {"1.csv.gz": gzip.compress(ABC)}, [("1", "2", "3")]),
    csv("gzip of utf-16", {"1.csv.gz": gzip.compress("a,b,c\n1,ß,3\n".encode("utf-16"))}, [("1", "ß", "3")],
        encoding="utf-16"),
    csv("zip", {"1.csv.zip": zipped(**{"x.csv": ABC, "__MACOSX/x.csv": b"?"})}, [("1", "2", "3")]),
    csv("bz2", {"1.csv.bz2": bz2.compress(ABC)}, [("1", "2", "3")]),
    csv("zstd", {"1.csv.zst": squeezed(ABC, "zstd")}, [("1", "2", "3")]),
    csv("compression without a suffix", {"1.csv": gzip.compress(ABC)}, [("1", "2", "3")], compression="gzip"),
    csv("compression that is none", {"1.csv.gz": ABC}, [("1", "2", "3")], compression="none"),
    csv("decimal comma", b'a,b,c\n"1,50",x,2\n1.5,x,1\n"-0,25",x,3\n',
        [("1.50", "x", 2), ("-0.25", "x", 3)], (None, "Type mismatch: a cannot be cast to decimal(6,2)"), decimal_comma=True,
        model={"a": "decimal(6,2)", "b": "string", "c": "int"}),
    csv("implied decimals", b"a,b,c\n12345,250,x\n-5,0,y\n1.5,1,z\n", [("123.45", 2.5, "x"), ("-0.05", 0.0, "y")],
        (None, "Type mismatch: a cannot be cast to decimal(10,2)"), implied_decimals={"A": 2, "b": 2},
        model={"a": "decimal(10,2)", "b": "double", "c": "string"}),
]  # fmt: skip

JSON = [
    json("values keep their text", b'{"a":1.50,"b":12345678901234567890123,"c":-0.0}\n{"a":1e400,"b":true,"c":""}\n',
         [("1.50", "12345678901234567890123", "-0.0"), ("1e400", "true", "")]),
    json("nested values are compact text", b'{"a":{ "x" : [1.0, "1", null, 1.50] },"b":[ ],"c":"{\\"y\\": 2}"}\n',
         [('{"x":[1.0,"1",null,1.50]}', "[]", '{"y": 2}')]),
    json("null is absent", b'{"a":null,"b":1}\n{"b":null}\n{}\n', [(None, "1"), (None, None), (None, None)], columns="a b"),
    json("the last of two equal keys wins", b'{"a":1,"b":2,"a":3}\n', [("3", "2")], columns="a b"),
    json("keys in differing case are one column", b'{"Id":1}\n{"ID":2}\n{"id":3}\n', [("1",), ("2",), ("3",)], columns="ID"),
    json("lines that are no objects", b'{"a":1}\n  {"a":\n[1]\n"x"\n\n{"a":1} x\n{"a":NaN}\n{"a":2}', [("1",), ("2",)],
         (2, NO_JSON), (3, NO_OBJECT), (4, NO_OBJECT), (6, NO_JSON), (7, NO_JSON), columns="a"),
    json("blanks, line ends and marks", b'\xef\xbb\xbf\r\n  {"a":"x"}\t\r\n\n{"a":"\\r\\n\\u00e9"}', [("x",), ("\r\né",)],
         columns="a"),
    json("bytes that are not UTF-8, half characters", b'{"a":"\xff"}\n{"a":"\\ud800"}\n{"a":"\\ud83d\\ude00"}\n', [("😀",)],
         (1, "not valid UTF-8"), (2, NO_JSON), columns="a"),
    json("NUL", b'{"a":"x\\u0000y"}\n', [("x\0y",)], columns="a"),
    json("too deep", b'{"a":' + b"[" * 300 + b"]" * 300 + b'}\n{"a":1}\n', [("1",)], (1, "nested too deeply"), columns="a"),
    json("an array", b'[{"a":1},\n {"a":1.50, "b":[1]}\n]\n', [("1", None), ("1.50", "[1]")], columns="a b"),
    json("an array on one line", b'[{"a":1}, {"a":2}]', [("1",), ("2",)], columns="a"),
    json("an array among lines", b'[{"a":1}]\n{"a":2}\n', [("2",)], (1, NO_OBJECT), columns="a"),
    json("an empty array", {"1.json": b"[ ]", "2.json": b'{"a":1}'}, [("1",)], columns="a"),
    json("no content", {"1.json": b"", "2.json": b'{"a":1}'}, [("1",)], columns="a"),
    json("one object over several lines", b'{\n "a": 1,\n "b": {"x": 2.0}\n}\n', [("1", '{"x":2.0}')], columns="a b",
         multiline=True),
    json("several objects over several lines", b'{\n "a": 1}\n{"a":\n 2}', [("1",), ("2",)], columns="a", multiline=True),
    json("an array that breaks off", b'[{"a":1},\n3,\n{"a":2},\n{"a":', [("1",), ("2",)], (2, NO_OBJECT), (4, NO_JSON),
         columns="a", multiline=True),
    json("text after an array", b'[{"a":1}]\nx', [("1",)], (2, NO_JSON), columns="a", multiline=True),
    json("an array in utf-16", '[{"a":"é"}]'.encode("utf-16"), [("é",)], columns="a", encoding="utf-16"),
    json("lines in cp1252", b'{"a":"\x80"}\n{"a":"\x81"}\n', [("€",)], (2, "not valid cp1252"), columns="a", encoding="cp1252"),
    json("packed lines", {"1.json.gz": gzip.compress(b'{"a":1}'), "2.jsonl.zip": zipped(x=b'{"a":2}')}, [("1",), ("2",)],
         columns="a"),
    json("ndjson knows no arrays", b'[{"a":1}]', [], (1, NO_OBJECT), columns="a", format="ndjson", model={"a": "string"}),
]  # fmt: skip

FOLDERS = [
    Case("folders are columns where the model declares them",
         {"day=2024-01-05/City=S%C3%A3o%20Paulo/1.csv": b"a\n1\n", "day=2024-01-06/City=__HIVE_DEFAULT_PARTITION__/2.csv": b"A\n2\n"},
         [("1", "2024-01-05", "São Paulo"), ("2", "2024-01-06", None)], columns="a day city",
         source={"pattern": "**/*.csv"}, model={"a": "string", "day": "date", "city": "string"}),
    Case("folders that nobody declares are only folders", {"day=2024-01-05/1.csv": b"a\n1\n"}, [("1",)], columns="a",
         source={"pattern": "**/*.csv"}, model={"a": "string"}),
    Case("files without a header in folders", {"day=2024-01-05/1.csv": b"1,x\n", "n=2/day=2024-01-06/2.csv": b"2,y\n"},
         [("1", "x", "2024-01-05"), ("2", "y", "2024-01-06")], columns="a b day",
         source={"options": {"has_header": False}}, model={"day": "date", "a": "string", "b": "string"}),
    Case("folders of json", {"n=7/1.json": b'{"a":1}', "n=x/2.json": b'{"a":2}'}, [("1", 7)],
         [(None, "Type mismatch: n cannot be cast to int")], columns="a n", format="json",
         source={"pattern": "**/*.json"}, model={"a": "string", "n": "int"}),
]  # fmt: skip

CASES = [*CSV, *OPTIONS, *JSON, *FOLDERS]


def contract(case: Case, root: Path) -> dict[str, Any]:
    files = case.files if isinstance(case.files, dict) else {f"1.{case.format}": case.files}
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    model = {"fields": [{"name": name, "type": type_} for name, type_ in case.model.items()]}
    return {
        "version": "1.0.0",
        "dataset": "files",
        "source": {"path": str(root), "format": case.format, **case.source},
        **({"model": model} if case.model else {}),
        # What is shown is how files are read; without this, numbers that nobody declares would be numbers.
        **({"server": {"cast_to_string": True}} if case.format != "csv" and not case.model else {}),
        "lineage": {"enabled": False},
    }


def plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


# Spark reads text with the same reader, so a few cases show the whole way, and one job below shows its workers.
ON_SPARK = {
    "line ends in quotes are kept", "text after a closing quote belongs to the value", "too few and too many values",
    "NUL is a character", "a very long quoted value", "differing order, case and columns between files", "words for NULL",
    "only a header in every file", "decimal comma", "implied decimals", "lines that are no objects", "an array",
    "nested values are compact text", "folders are columns where the model declares them", "folders of json",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("engine", ["duckdb", "polars"], indirect=True)
def test_a_file_gives_the_same_rows_and_reasons(engine: Any, workspace: Path, case: Case) -> None:
    judge(engine, workspace, case)


@pytest.mark.spark
@pytest.mark.parametrize("case", [case for case in CASES if case.name in ON_SPARK], ids=lambda case: case.name)
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_a_file_gives_the_same_rows_and_reasons_on_spark(engine: Any, workspace: Path, case: Case) -> None:
    judge(engine, workspace, case)


def judge(engine: Any, workspace: Path, case: Case) -> None:
    result = DataProcessor(contract(case, workspace / "landing"), engine).run(materialize=False)
    good, bad = engine.collect(result.good).to_pylist(), engine.collect(result.bad).to_pylist()
    names = case.columns.split(" ")
    found_rows = [[plain(row[name]) for name in names] for row in good]
    assert sorted(found_rows, key=str) == sorted(map(list, case.rows), key=str)
    prefix = "Unreadable line: "
    found = [(row["_lakelogic_line"], row["_lakelogic_errors"][0].removeprefix(prefix)) for row in bad]
    assert sorted(found, key=str) == sorted(case.bad, key=str)
    assert all(len(row["_lakelogic_errors"]) == 1 for row in bad)
    assert result.counts.source == len(case.rows) + len(case.bad)


def test_the_cases_shown_on_spark_exist() -> None:
    assert {case.name for case in CASES} >= ON_SPARK


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_sparks_workers_read_what_the_driver_reads(
    engine: Any, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many cases in one job: every file goes through a worker, and comes back as it was."""
    expected, frames = [], []
    for number, case in enumerate(CASES[::4]):
        loaded = load(contract(case, workspace / str(number))).contract
        slice_ = pin_source(loaded, LocalCatalog())
        source = look(loaded, slice_, engine)
        read = Read("source", source.format, source.columns, source.options)
        columns = [column.name for column in source.columns]
        for row in TextScan(read, slice_.pinned).reader().read_all().to_pylist():
            expected.append((number, [row[name] for name in columns], row["~file"], *_about(row)))
        listed = ", ".join(f"`{name.replace('`', '``')}`" for name in columns)
        with monkeypatch.context() as patch:
            patch.setattr("lakelogic.engines.spark.scan.SMALL", 0)
            frame = engine.scan(read, slice_.pinned)
        values = f"CAST(array({listed}) AS ARRAY<STRING>) AS v"
        frames.append(frame.selectExpr(f"{number} AS c", values, "`~file`", "`~number`", "`~text`", "`~broken`"))
    whole = reduce(lambda one, other: one.union(other), frames)
    found = [(row["c"], row["v"], row["~file"], *_about(row)) for row in engine.collect(whole).to_pylist()]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def _about(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["~number"], row["~text"], row["~broken"]


BROKEN_GZIP = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * 7919 % 10007) for n in range(400_000)))[:-2000]
UNREADABLE = [
    ("packed and cut off", {"1.csv": ABC, "2.csv.gz": BROKEN_GZIP}, {}, "2.csv.gz cannot be read to its end: Compressed file"),
    ("packed, but not so", {"1.csv.gz": b"a,b,c"}, {}, "1.csv.gz cannot be read to its end: Not a gzipped file"),
    ("no archive", {"1.csv.zip": b"a,b,c"}, {}, "1.csv.zip cannot be read: File is not a zip file"),
    ("an archive of two files", {"1.csv.zip": zipped(a=ABC, b=ABC)}, {}, "1.csv.zip cannot be read: the archive holds 2 files"),
    ("zstd that is none", {"1.csv.zst": ABC}, {}, "1.csv.zst cannot be read"),
    ("a column twice", {"1.csv": b"id,x,id\n1,2,3\n"}, {}, "1.csv has column `id` twice"),
    ("columns alike but for case", {"1.csv": b"id,x,ID\n1,2,3\n"}, {}, "1.csv has columns `id` and `ID`"),
    ("a header that is no text", {"1.csv": b"id,\xff\n1,2\n"}, {}, "The header of {root}/1.csv cannot be read: not valid UTF-8"),
    ("a header with an open quote", {"1.csv": b'id,"x\n1,2\n'}, {}, "The header of {root}/1.csv cannot be read: a quote"),
    ("no rows", {"1.csv": b"id,x\n", "2.csv": b""}, {"empty_behavior": "fail"}, "There are no rows in what was read at"),
    ("no files", {"1.txt": b"id,x\n"}, {"empty_behavior": "fail"}, "There is nothing to read at"),
]  # fmt: skip


@pytest.mark.parametrize(("_name", "files", "source", "said"), UNREADABLE, ids=[name for name, *_ in UNREADABLE])
def test_only_an_unreadable_file_stops_a_run_and_is_named(
    engine: Any, workspace: Path, _name: str, files: dict[str, bytes], source: dict[str, Any], said: str
) -> None:
    root = workspace / "landing"
    case = Case("", files, [], source=source)
    with pytest.raises(SourceError) as raised:
        DataProcessor(contract(case, root), engine).run(materialize=False)
    assert said.replace("{root}", str(root)) in str(raised.value)


def test_thousands_of_small_files_are_one_input(engine: Any, workspace: Path) -> None:
    files = {f"{n % 10}/{n}.csv": b"a,b\n%d,x\n" % n if n % 2 else b"B,A\ny,%d\n" % n for n in range(2000)}
    case = Case("", files, [], source={"pattern": "**/*.csv"}, model={"a": "int", "b": "string"})
    result = DataProcessor(contract(case, workspace / "landing"), engine).run(materialize=False)
    rows = engine.collect(result.good).to_pylist()
    assert sorted((row["a"], row["b"]) for row in rows) == [(n, "x" if n % 2 else "y") for n in range(2000)]


def test_quarantine_keeps_the_landed_row_of_csv(engine: Any, workspace: Path) -> None:
    content = b'a,b,c\n"x ""1"" \xc3\xa9\\\n",,""\n'
    case = Case("", content, [], model={"a": "int", "b": "string", "c": "string"})
    result = DataProcessor(contract(case, workspace / "landing"), engine).run(materialize=False)
    (bad,) = engine.collect(result.bad).to_pylist()
    assert bad["_lakelogic_raw"] == '{"a":"x \\"1\\" é\\\\\\n","b":null,"c":""}'


def test_quarantine_keeps_the_landed_line_exactly(engine: Any, workspace: Path) -> None:
    lines = ['{"a": 1.50,  "b": "x"} ', ' {"a": "n", "c": 12345678901234567890}', '  {"a": 1 ']
    case = Case("", "\n".join(lines).encode(), [], format="json", model={"a": "decimal(4,2)"})
    result = DataProcessor(contract(case, workspace / "landing"), engine).run(materialize=False)
    bad = {row["_lakelogic_raw"]: row["_lakelogic_line"] for row in engine.collect(result.bad).to_pylist()}
    assert bad == {lines[1]: None, lines[2]: 3}
    assert result.counts.good == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("in.csv.gz", {}),
        ("in.new.csv", {}),
        ("in.csv.zip", {}),
        ("in.zip", {"format": "csv"}),
        ("in.txt", {"format": "csv"}),
        ("in.silver.rows", {"format": "csv"}),
    ],
)
def test_a_name_that_ends_like_a_file_or_has_a_format_of_files_is_a_file(
    duckdb_engine: Any, workspace: Path, name: str, said: dict[str, str]
) -> None:
    data = b"id\n7\n"
    if name.endswith(".gz"):
        data = gzip.compress(data)
    elif name.endswith(".zip"):
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("in.csv", data)
        data = Path(name).read_bytes()
    Path(name).write_bytes(data)
    document = {
        "source": {"path": name, **said},
        "model": {"fields": [{"name": "id", "type": "int"}]},
        "materialization": {"target_path": "shop.silver.tried"},
    }
    result = DataProcessor(document, duckdb_engine).run(materialize=False)
    assert result.counts.good == 1


@pytest.mark.parametrize(
    "source", [{"path": "tab", "format": "delta"}, {"path": "./tab"}, {"path": "tab", "type": "table"}]
)
def test_the_folder_of_a_table_is_a_table(duckdb_engine: Any, workspace: Path, source: dict[str, str]) -> None:
    write_deltalake("tab", pa.table({"id": pa.array([7], pa.int32())}))
    document = {
        "source": source,
        "model": {"fields": [{"name": "id", "type": "int"}]},
        "materialization": {"target_path": "shop.silver.tried"},
    }
    assert DataProcessor(document, duckdb_engine).run(materialize=False).counts.good == 1
