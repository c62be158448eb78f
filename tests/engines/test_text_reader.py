"""Text files land with every value as its exact text and every line accounted for."""

import gzip
import random

import pytest

from lakelogic.engines.base import Pinned
from lakelogic.engines.readers.text_reader import TextScan, discover
from lakelogic.errors import SourceError, UnsupportedError, UsageError
from lakelogic.names import BROKEN, FILE, NUMBER, TEXT
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.types import STRING

RAGGED = "expected 3 values, found {}"


def read(format_="csv", columns="abc", **options):
    return Read("source", format_, tuple(Landed(name, STRING) for name in columns), options)


@pytest.fixture
def landed(tmp_path):
    """The rows of files with the given bytes: (landed values, line, text, why broken), in the order of lines."""

    def rows(*contents, format_="csv", columns="abc", **options):
        files = []
        for index, content in enumerate(contents):
            path = tmp_path / f"file{index}.{format_}"
            path.write_bytes(content)
            files.append(str(path))
        scan = TextScan(read(format_, columns, **options), Pinned(tuple(files)))
        found = scan.reader().read_all().to_pylist()
        assert scan.scanned == (len(found) if found or contents else None)
        found.sort(key=lambda row: (row[FILE], row[NUMBER]))
        return [(tuple(row[name] for name in columns), row[NUMBER], row[TEXT], row[BROKEN]) for row in found]

    return rows


def good(line, *values):
    return (values, line, None, None)


def bad(line, text, why, width=3):
    return ((None,) * width, line, text, why)


def test_an_unquoted_empty_value_is_null_and_a_quoted_one_is_empty(landed):
    assert landed(b'a,b,c\n1,,""\n,"x, y","say ""hi"""\n') == [
        good(2, "1", None, ""),
        good(3, None, "x, y", 'say "hi"'),
    ]


def test_values_keep_their_text(landed):
    assert landed(b"a,b,c\n 1 ,1.50,TRUE\nNA,null,NaN\n") == [
        good(2, " 1 ", "1.50", "TRUE"),
        good(3, "NA", "null", "NaN"),
    ]


def test_texts_that_mean_null_are_null_unless_quoted(landed):
    assert landed(b'a,b,c\nNA,"NA",-\n', null_values=["NA", "-"]) == [good(2, None, "NA", None)]


def test_columns_are_found_without_case_in_any_order_and_may_be_missing(landed):
    found = landed(b"C,extra,A\n3,x,1\n", b"a,b,c\n1,2,3\n")
    assert found == [good(2, "1", None, "3"), good(2, "1", "2", "3")]


def test_ragged_lines_are_rows_that_say_so(landed):
    found = landed(b"a,b,c\n1,2\n1,2,3\n1,2,3,4\nx\n")
    assert found == [
        bad(2, "1,2", RAGGED.format(2)),
        good(3, "1", "2", "3"),
        bad(4, "1,2,3,4", RAGGED.format(4)),
        bad(5, "x", RAGGED.format(1)),
    ]


def test_lines_are_counted_through_blank_lines_and_line_ends_in_values(landed):
    content = b'\r\na,b,c\r\n1,"x\ny\n",3\r\n\r\n\r\n4,5,6\r\n1,2\r\n7,"",9\r\n'
    assert landed(content) == [
        good(3, "1", "x\ny\n", "3"),
        good(8, "4", "5", "6"),
        bad(9, "1,2", RAGGED.format(2)),
        good(10, "7", "", "9"),
    ]


def test_bytes_that_are_not_utf8_make_one_bad_row(landed):
    assert landed(b"a,b,c\n1,2,3\n4,\xff,6\n7,8,9\n1,2\n") == [
        good(2, "1", "2", "3"),
        bad(3, "4,\ufffd,6", "not valid UTF-8"),
        good(4, "7", "8", "9"),
        bad(5, "1,2", RAGGED.format(2)),
    ]


def test_a_quote_that_is_never_closed_costs_one_line(landed):
    assert landed(b'a,b,c\n1,2,3\n4,"5,6\n7,8,9\n') == [
        good(2, "1", "2", "3"),
        bad(3, '4,"5,6', "a quote is not closed"),
        good(4, "7", "8", "9"),
    ]


def test_trouble_late_in_a_large_file_loses_and_repeats_nothing(landed):
    rows = [b"%d,%s,x" % (number, b"y" * 60) for number in range(90_000)]  # more than one block
    rows[5] = b"5"
    rows[85_000] = b"85000,\xff,x"
    rows[85_001] = b'85001,"' + b"z" * (5 << 20) + b'",x'
    found = landed(b"a,b,c\n" + b"\n".join(rows) + b"\n")
    assert [line for _, line, _, _ in found] == list(range(2, 90_002))
    assert [(line, why) for _, line, _, why in found if why] == [(7, RAGGED.format(1)), (85_002, "not valid UTF-8")]
    assert [values[0] for values, _, _, why in found if not why] == [
        str(number) for number in range(90_000) if number not in (5, 85_000)
    ]
    assert len(found[85_001][0][1]) == 5 << 20


def test_files_without_rows(landed):
    assert landed(b"", b"a,b,c\n", b"\n\n", b"a,b,c\n\n\n") == []


def test_a_byte_order_mark_a_missing_last_line_end_and_other_delimiters(landed):
    assert landed(b"\xef\xbb\xbfa;b;c\n1;'x;y';3", delimiter=";", quote_char="'") == [good(2, "1", "x;y", "3")]
    assert landed(b"a\tb\tc\n1\t2\t3\n", format_="tsv") == [good(2, "1", "2", "3")]


@pytest.mark.parametrize("other", ["y", "\xff"])
def test_a_mark_behind_the_header_belongs_to_the_value_whatever_else_the_file_holds(landed, other):
    content = b"a,b\n\xef\xbb\xbf1,x\n2," + other.encode("latin-1") + b"\n"
    assert landed(content, columns="ab")[0] == good(2, "\ufeff1", "x")


def test_marks_before_the_header_are_passed_over_however_many(landed):
    assert landed(b"\xef\xbb\xbf\xef\xbb\xbfa\n1\n", columns="a") == [good(2, "1")]


def test_line_ends_in_a_value_survive_the_end_of_a_block(landed, monkeypatch):
    monkeypatch.setattr("lakelogic.engines.readers.csv_lines.BLOCK", 16)
    # Behind the header the 16th byte is the carriage return, the 17th its line feed.
    content = b'a,b\n1,"xxxxxxxxxxxx\r\nEND"\n2,tail\n3\n'
    assert landed(content, columns="ab") == [
        good(2, "1", "xxxxxxxxxxxx\r\nEND"),
        good(4, "2", "tail"),
        bad(5, "3", "expected 2 values, found 1", 2),
    ]


def test_a_quote_that_stays_open_is_told_even_where_another_one_stands_alone(landed):
    assert landed(b'a\n\\",\nb,c\n,\0,"#""', columns="a") == [
        bad(2, '\\",', "expected 1 values, found 2", 1),
        bad(3, "b,c", "expected 1 values, found 2", 1),
        bad(4, ',\0,"#""', "a quote is not closed", 1),
    ]


def test_lines_before_the_header_and_no_header(landed):
    assert landed(b"made by hand\n\na,b,c\n1,2,3\n", skip_rows=2) == [good(4, "1", "2", "3")]
    assert landed(b"1,2,3\n4,5,6\n", has_header=False) == [good(1, "1", "2", "3"), good(2, "4", "5", "6")]


def test_header_names_may_repeat_and_hold_blanks(landed):
    assert landed(b' a ,"b",c,a\n1,2,3,4\n') == [good(2, "1", "2", "3")]


def test_packed_files_are_unpacked(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,c\n1,2,3\n"))
    table = TextScan(read(), Pinned((str(path),))).reader().read_all()
    assert table.column("a").to_pylist() == ["1"]
    assert table.column(FILE).to_pylist() == [str(path)]


def test_json_scalars_keep_their_text_and_nested_values_become_compact_json(landed):
    line = '{"a":1.50,"B":12345678901234567890123,"c":{ "x":[1.0, "1", null, true], "y":"é" }}'
    assert landed(line.encode() + b"\n", format_="json") == [
        (("1.50", "12345678901234567890123", '{"x":[1.0,"1",null,true],"y":"é"}'), 1, line, None)
    ]


def test_json_null_true_and_empty_text_and_absent_keys(landed):
    lines = ['{"a":null,"b":true,"c":""}', '{"c":"false"}', "{}"]
    found = landed("\n\n".join(lines).encode(), format_="ndjson")
    assert [values for values, *_ in found] == [(None, "true", ""), (None, None, "false"), (None, None, None)]
    assert [line for _, line, _, _ in found] == [1, 3, 5]


def test_json_lines_that_cannot_be_parsed_say_why(landed):
    found = landed(
        b'{"a":1}\nnope\n[1]\n"x"\n{"a":1,}\n{"a":NaN}\n{"a":"\\ud800"}\n{"a":"\xff"}\n{"a":2}', format_="json"
    )
    assert [why for *_, why in found] == [
        None, "invalid JSON", "not a JSON object", "not a JSON object", "invalid JSON", "invalid JSON", "invalid JSON",
        "not valid UTF-8", None,
    ]  # fmt: skip
    assert found[1] == bad(2, "nope", "invalid JSON")
    assert found[7] == bad(8, '{"a":"\ufffd"}', "not valid UTF-8")


def test_json_escapes_and_emoji_are_text(landed):
    found = landed(b'{"a":"\\u00e9\\n\\"","b":"\\ud83d\\ude00"}', format_="json")
    assert found[0][0] == ('é\n"', "😀", None)


def test_keys_are_discovered_over_all_files_in_sorted_order(tmp_path):
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    one.write_bytes(b'{"b":1,"a":{"x":1}}\nbroken\n[1]\n')
    two.write_bytes(b'{"c":null,"A":2}\n')
    found = discover(read("json", ""), Pinned((str(one), str(two))))
    assert [column.name for column in found] == ["A", "b", "c"]  # `a` and `A` are one column


def test_each_pass_reads_everything_again_and_counts_itself(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b,c\n1,2,3\n1,2\n")
    scan = TextScan(read(), Pinned((str(path),)))
    assert scan.scanned is None
    assert scan.reader().read_all() == scan.reader().read_all()
    assert scan.scanned == 2


def test_a_file_that_is_gone_and_options_that_cannot_be_are_errors(tmp_path):
    with pytest.raises(SourceError, match=r"gone\.csv cannot be read"):
        list(TextScan(read(), Pinned((str(tmp_path / "gone.csv"),))).batches())
    with pytest.raises(UnsupportedError, match="not on this machine"):
        list(TextScan(read(), Pinned(("gs://bucket/x.csv",))).batches())
    for options, said in (
        ({"encoding": "klingon"}, "no encoding `klingon`"),
        ({"encoding": "base64"}, "not an encoding of text"),
        ({"encoding": "idna"}, "not an encoding of text"),
        ({"encoding": "punycode"}, "not an encoding of text"),
        ({"quote_char": "<>"}, "one character"),
        ({"delimiter": '"'}, "cannot be"),
    ):
        with pytest.raises(UsageError, match=said):
            TextScan(read(**options), Pinned(()))


def _generated(chance):
    """A csv file out of the pieces that readers stumble over."""
    pieces = chance.choice(
        [
            ["a", "1", ",", ",", ",", "\n", "\n", '"'],
            ["a", ",", ",", ",", "\n", "\n", '"', '"', '""', "\r\n", "é"],
            ["x", ",", "\n", '"', "\r", "\r\n", "#", "\0", "ÿ", " ", "NA"],
            ["x", ",", "\n", '"', '""', "\r\n", "\ufeff", "\\"],
            ["a", ",", ",", "\n", "\r\n", '""', '"b"', ',"', '",', '"\n', '\n"', "1,2,3\n", '1,"2\n\n",3\n'],
        ]
    )
    body = "".join(chance.choice(pieces) for _ in range(chance.randrange(60)))
    return ("a,b,c" + chance.choice(["\n", "\r\n"]) + body).encode(
        "latin-1" if chance.random() < 0.1 else "utf-8", "replace"
    )


def test_the_fast_reader_reads_what_the_careful_one_reads(landed, monkeypatch):
    for seed in range(1500):
        chance = random.Random(seed)
        content = _generated(chance)
        options = chance.choice([{}, {"null_values": ["NA", "x"]}, {"comment_prefix": "#"}, {"quote_char": ""}])
        monkeypatch.setattr("lakelogic.engines.readers.csv_lines.BLOCK", chance.choice([8, 16, 1 << 22]))
        fast = landed(content, **options)
        with monkeypatch.context() as patch:
            patch.setattr("lakelogic.engines.readers.csv_lines._is_simple", lambda _: False)
            assert landed(content, **options) == fast, (seed, content, options)
