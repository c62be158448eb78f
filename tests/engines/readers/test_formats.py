"""File formats: one row in the contract, one row among the readers, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from lakelogic.contract import formats
from lakelogic.contract.source import Format, LinkType, Options
from lakelogic.engines.readers import formats as readers
from lakelogic.errors import Defect
from lakelogic.storage.csv_records import dialect_of
from lakelogic.storage.local import SUFFIXES


def test_every_word_of_the_contract_has_a_row():
    assert get_args(Format) == tuple(formats.FORMATS)
    links = set(get_args(LinkType)) - {"landing", "table", "database"}
    assert links == {row.name for row in formats.FORMATS.values() if not row.is_document}


def test_options_of_a_row_are_keys_of_the_contract():
    for row in formats.FORMATS.values():
        assert set(row.options) <= Options.model_fields.keys(), row.name


def test_a_suffix_belongs_to_one_format():
    suffixes = [suffix for row in formats.FORMATS.values() for suffix in row.suffixes]
    assert len(suffixes) == len(set(suffixes))


def test_every_format_of_files_that_is_available_is_listed_and_read():
    for name in formats.readable():
        assert SUFFIXES[name], name
        assert readers.reader_of(name).columns or readers.keys_of(name)
        if "delimiter" in formats.FORMATS[name].options:
            assert dialect_of(name, {}).delimiter == formats.FORMATS[name].delimiter


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda: formats.FORMATS.update(avro=replace(formats.FORMATS["avro"], is_available=True)),
            "`avro` is available",
        ),
        (lambda: readers.READERS.update(orc=readers.READERS["parquet"]), "`orc` has a reader and is not"),
        (lambda: readers.READERS.update(csv=replace(readers.READERS["csv"], columns=None)), "one of the two"),
        (lambda: readers.READERS.update(csv=readers.READERS["json"]), "do not agree"),
        (lambda: readers.READERS.pop("tsv"), "`tsv` is available and has no reader"),
    ],
)
def test_a_format_that_lacks_a_part_does_not_start(monkeypatch, change, message):
    monkeypatch.setattr(formats, "FORMATS", dict(formats.FORMATS))
    monkeypatch.setattr(readers, "READERS", dict(readers.READERS))
    readers.check_rows()
    change()
    with pytest.raises(Defect, match=message):
        readers.check_rows()


CONTRACT = """
import sys
from pathlib import Path

from lakelogic.contract import formats

formats.FORMATS["bars"] = formats.FileFormat("bars", ("bars",), is_text=True, is_available=True)
"""
READER = """
from lakelogic.engines.readers.columns import Sight
from lakelogic.engines.readers.formats import READERS, Reader
from lakelogic.engines.readers.parts import Builder, positions
from lakelogic.plan.nodes import Landed
from lakelogic.sql.arrays import integers, strings
from lakelogic.sql.types import STRING


def pairs(line):
    return dict(pair.split("=") for pair in line.split("|"))


def columns(look):
    by_file = {path: list(pairs(Path(path).read_text().splitlines()[0])) for path in look.files}
    names = dict.fromkeys(name for names in by_file.values() for name in names)
    return Sight(tuple(Landed(name, STRING) for name in names), by_file)


def batches(read, part, whole):
    lines = Path(part.uri).read_text().splitlines()
    rows = [None if line.startswith("!") else pairs(line) for line in lines]
    values = [strings([row and row.get(column.name) for row in rows]) for column in read.columns]
    numbers = integers(range(1, len(rows) + 1))
    broken = strings(["not a row" if row is None else None for row in rows])
    yield Builder(read, part.uri, whole).build(values, numbers, strings(lines), broken)


READERS["bars"] = Reader(batches, columns=columns)
"""
RUN = """
from lakelogic import DataProcessor

contract = {
    "dataset": "orders",
    "source": {"path": sys.argv[1], "format": "bars"},
    "model": {"fields": [{"name": "id", "type": "int"}, {"name": "town", "type": "string"}]},
    "quality": {"row_rules": [{"sql": "id < 5"}]},
}
result = DataProcessor(contract, engine=sys.argv[2]).run(materialize=False)
good, bad = result.tables(10, reveal=True)
print(sorted(good.select(["id", "town"]).to_pylist(), key=str))
print(sorted(map(str, bad["_lakelogic_errors"].to_pylist())))
"""


def run(tmp_path: Path, engine: str, script: str) -> subprocess.CompletedProcess[str]:
    # In a process of its own: the words of the contract are fixed when its models are made.
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, tmp_path / "script.py", tmp_path / "landing", engine]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    """`name=value` pairs between bars, one row a line; `!` begins a line that is no row."""
    folder = tmp_path / "landing"
    folder.mkdir()
    (folder / "a.bars").write_text("id=1|town=Bonn\n! broken\nid=7|town=Ulm\n")
    (folder / "b.bars").write_text("id=2|town=Kiel\n")
    (folder / "c.csv").write_text("id\n9\n")
    return folder


@pytest.mark.usefixtures("landing")
def test_a_row_without_its_reader_does_not_start(tmp_path):
    done = run(tmp_path, "duckdb", CONTRACT + RUN)
    assert "Defect" in done.stderr
    assert "`bars` is available and has no reader" in done.stderr


@pytest.mark.usefixtures("landing")
@pytest.mark.parametrize("engine", ["duckdb", "polars", "spark"])
def test_a_format_is_added_by_one_row_and_its_reader(tmp_path, engine):
    done = run(tmp_path, engine, CONTRACT + READER + RUN)
    assert done.stdout.splitlines() == [
        "[{'id': 1, 'town': 'Bonn'}, {'id': 2, 'town': 'Kiel'}]",
        """["['Rule failed: id < 5']", "['Unreadable line: not a row']"]""",
    ], done.stderr
