"""What real files are like: other encodings, documents, nested keys, and rows behind the first ten thousand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakelogic import DataProcessor
from lakelogic.actions.author.bootstrap import BootstrapRequest, bootstrap
from lakelogic.infer.entities import Entity, infer
from lakelogic.infer.landings import landings


@pytest.fixture(autouse=True)
def _here(workspace: Path) -> None:
    Path("in").mkdir()


def drafted(engine: Any, rows: int = 10_000) -> tuple[Entity, dict[str, Any], list[dict[str, Any]]]:
    """The only entity of the folder, its contract, and the rows that a run of it publishes; none of them is bad."""
    (made,) = bootstrap(BootstrapRequest("in", "contracts", rows=rows)).drafts
    with DataProcessor(made.contract, engine) as processor:
        result = processor.run()
        good = engine.collect(result.good).to_pylist()
    assert result.counts.quarantined == 0
    return made.entity, yaml.safe_load(Path(made.contract).read_text("utf-8")), good


@pytest.mark.parametrize(
    ("written", "name", "found"),
    [
        ("latin-1", "Müller", "latin-1"),
        ("cp1252", "Müller – 5 €", "cp1252"),
        ("utf-16", "Müller", "utf-16"),
        ("utf-16-le", "Müller", "utf-16-le"),
        ("utf-16-be", "Müller", "utf-16-be"),
        ("utf-8", "Müller", None),
        ("utf-8-sig", "Müller", None),
        ("ascii", "Mueller", None),
    ],
)
def test_the_encoding_is_found_and_no_character_is_lost(
    written: str, name: str, found: str | None, duckdb_engine: Any
) -> None:
    Path("in/people.csv").write_bytes(f"id,town\n1,{name}\n2,Ulm\n".encode(written))
    entity, contract, good = drafted(duckdb_engine)
    assert contract["source"].get("options", {}).get("encoding") == found
    assert [row["town"] for row in sorted(good, key=lambda row: row["id"])] == [name, "Ulm"]
    assert [column.name for column in entity.columns] == ["id", "town"]


def test_bytes_that_windows_does_not_have_are_kept_by_latin_1(duckdb_engine: Any) -> None:
    Path("in/odd.csv").write_bytes(b"id,town\n1,\x81\x99\xfc\n")
    entity, _, good = drafted(duckdb_engine)
    assert entity.how.encoding.name == "latin-1"
    assert "a guess that loses no byte" in entity.how.encoding.why
    assert good[0]["town"].encode("latin-1") == b"\x81\x99\xfc"


def test_a_zero_among_other_characters_does_not_make_it_utf_16() -> None:
    Path("in/odd.csv").write_bytes(b"id,town\n1,U\0lm\n2,Bonn\n")
    assert infer(landings("in")[0], 100).how.encoding.name is None


def test_files_in_two_encodings_are_left_out_and_named() -> None:
    Path("in/towns_1.csv").write_bytes("id,town\n1,Köln\n".encode())
    Path("in/towns_2.csv").write_bytes("id,town\n1,Köln\n".encode("latin-1"))
    Path("in/plain.csv").write_text("id\n1\n")
    done = bootstrap(BootstrapRequest("in", "contracts"))
    assert [one.entity.name for one in done.drafts] == ["plain"]
    assert done.left_out == {
        "towns": "The files are written in different encodings: in/towns_1.csv in UTF-8, in/towns_2.csv in latin-1."
    }


def test_ascii_files_go_with_any_encoding_of_bytes(duckdb_engine: Any) -> None:
    Path("in/towns_1.csv").write_bytes(b"id,town\n1,Ulm\n")
    Path("in/towns_2.csv").write_bytes("id,town\n2,Köln\n".encode("cp1252"))
    assert sorted(row["town"] for row in drafted(duckdb_engine)[2]) == ["Köln", "Ulm"]


def test_an_array_of_records_is_read_as_rows(duckdb_engine: Any) -> None:
    records = [{"id": 1, "tags": ["a"], "at": {"x": 1}}, {"id": 2, "tags": [], "at": {"x": 2.5, "y": None}}, {"id": 3}]
    Path("in/taps.json").write_text(json.dumps(records, indent=1))
    entity, contract, good = drafted(duckdb_engine)
    assert {column.name: column.type for column in entity.columns} == {
        "at": "struct<x:double,y:string>",
        "id": "int",
        "tags": "array<string>",
    }
    assert "options" not in contract["source"]
    assert [(row["tags"], row["at"]) for row in sorted(good, key=lambda row: row["id"])] == [
        (["a"], {"x": 1.0, "y": None}),
        ([], {"x": 2.5, "y": None}),
        (None, None),
    ]
    why = {column.name: column.why for column in entity.columns}
    assert why["at"] == "all 2 values are objects; 1 keys are there in only some"


def test_a_document_that_holds_its_records_is_one_row_and_says_how_to_get_at_them(duckdb_engine: Any) -> None:
    places = [{"type": "Feature", "properties": {"name": n}} for n in ("Ulm", "Bonn")]
    Path("in/map.json").write_text(json.dumps({"type": "FeatureCollection", "features": places}, indent=2))
    entity, contract, good = drafted(duckdb_engine)
    assert contract["source"]["options"] == {"multiline": True}
    assert entity.how.note is not None
    assert "Records inside a document are not read as rows" in entity.how.note
    (row,) = good
    assert [one["properties"]["name"] for one in row["features"]] == ["Ulm", "Bonn"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1], [3_000_000_000]], "array<bigint>"),
        ([[{"a": [1]}], [{"a": [None, 2.5]}]], "array<struct<a:array<double>>>"),
        ([{"a": 1}, {"A": 2}], "json"),
        ([{"a": 1}, {"a": {"b": 1}}], "json"),
        ([{"a b": "x"}, {"c": True}], "struct<`a b`:string,c:boolean>"),
        ([{str(n): n for n in range(100)}], "map<string,int>"),
        ([{}, {}], "map<string,string>"),
    ],
)
def test_nested_values_have_the_narrowest_type_that_holds_them(
    values: list[Any], expected: str, duckdb_engine: Any
) -> None:
    Path("in/rows.jsonl").write_text("".join(json.dumps({"n": at, "v": v}) + "\n" for at, v in enumerate(values)))
    entity, _, good = drafted(duckdb_engine)
    assert {column.name: column.type for column in entity.columns}["v"] == expected
    assert len(good) == len(values)


def test_rows_behind_the_sample_widen_types_and_close_lists(duckdb_engine: Any) -> None:
    """The guesses are made of a hundred rows of each file; what comes later speaks against some of them."""
    lines = [f"{n},{n},{n % 3},{'ab'[n % 2]},1" for n in range(150)]
    lines[140] = "140,140.25,NA,c,2"
    Path("in/facts.csv").write_text("nr,amount,level,kind,code\n" + "\n".join(lines) + "\n")
    entity, contract, good = drafted(duckdb_engine, rows=100)
    assert (entity.rows, entity.proof.rows, entity.proof.is_whole) == (100, 150, True)
    assert {column.name: column.type for column in entity.columns} == {
        "nr": "int", "amount": "decimal(18,2)", "level": "int", "kind": "string", "code": "int",
    }  # fmt: skip
    assert contract["source"]["options"] == {"null_values": ["NA"]}
    assert "kind IN ('a', 'b', 'c')" in [rule["sql"] for rule in contract["quality"]["row_rules"]]
    assert len(good) == 150


def test_a_list_that_grows_without_end_is_not_proposed() -> None:
    words = ["ab"[n % 2] if n < 100 else f"word {n}" for n in range(150)]
    Path("in/facts.csv").write_text("kind\n" + "\n".join(words) + "\n")
    assert infer(landings("in")[0], 100).rules == ()


def test_a_key_that_comes_twice_behind_the_sample_is_none() -> None:
    ids = [*range(140), *range(10)]
    Path("in/facts.csv").write_text("fact_id\n" + "\n".join(map(str, ids)) + "\n")
    assert infer(landings("in")[0], 100).key == ()
    Path("in/facts.csv").write_text("fact_id\n" + "\n".join(map(str, range(150))) + "\n")
    assert infer(landings("in")[0], 100).key == ("fact_id",)
    Path("in/facts.csv").write_text("fact_id,n\n" + "\n".join(f"{n if n < 120 else ''},1" for n in range(150)) + "\n")
    assert infer(landings("in")[0], 100).key == ()


def test_two_columns_are_a_key_where_neither_is_one_alone() -> None:
    rows = [f"{order},{line},{order + line / 10}" for order in range(20) for line in range(3)]
    Path("in/lines.csv").write_text("order_id,line_no,price_code\n" + "\n".join(rows) + "\n")
    found = infer(landings("in")[0], 1000)
    assert found.key == ("order_id", "line_no")
    assert found.key_why == (
        "filled in every row, different in every row of a file; no column alone is, and their names are parts of keys"
    )


@pytest.mark.parametrize("values", [["1.5", "2.5"], ["1e3", "2e3"], ["2026-01-01", "2026-01-02"], ["true", "false"]])
def test_measures_and_times_are_never_keys(values: list[str]) -> None:
    Path("in/facts.csv").write_text("fact_id\n" + "\n".join(values) + "\n")
    assert infer(landings("in")[0], 100).key == ()


def test_codes_in_the_first_column_are_a_key_whatever_it_is_called() -> None:
    codes = [f"{a}{b}" for a in "ABCD" for b in "XYZ"]
    Path("in/airports.csv").write_text("faa,name\n" + "\n".join(f"{code},Town {code}" for code in codes) + "\n")
    found = infer(landings("in")[0], 100)
    assert (found.key, found.key_why.partition("; ")[2]) == (("faa",), "it is the first column, and holds codes")
    names = "name,faa\n" + "\n".join(f"Town {code},{code}" for code in codes) + "\n"
    Path("in/airports.csv").write_text(names)
    assert infer(landings("in")[0], 100).key == ()
    Path("in/airports.csv").write_text("faa\n" + "\n".join(codes[:9]) + "\n")
    assert infer(landings("in")[0], 100).key == ()  # so few differ by chance
