"""Every folder of `cases/` gives the rows, reasons and counts written in it, on every engine.

A folder holds `contract.yaml`, its input, and what must come out, worked out by hand:
`expected/good.jsonl` and `bad.jsonl` (the columns that the case is about), `counts.json` and `report.json` (the
entries that the case is about), `columns.json` (the published columns in order), `table.jsonl` (the table after the
contract was run and published), `refused.txt` (what the refusal says, line by line). Rows have no order.
`input.typed.jsonl` (types in the first line) becomes `input.parquet`; `files.json` makes files that a checkout could
not keep readable: compressed ones, other encodings.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import shutil
import zipfile
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.errors import LakeLogicError
from lakelogic.parity.canonical import plain
from lakelogic.run.processor import DataProcessor
from lakelogic.sql.types import Type, parse_type, to_arrow
from lakelogic.storage import parquet

CASES = Path(__file__).parent / "cases"
FOLDERS = sorted(path for path in CASES.iterdir() if (path / "contract.yaml").is_file())
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def as_typed(value: Any, type_: Type) -> Any:
    """A value of `input.typed.jsonl` as Python holds it."""
    if value is None:
        return None
    match type_.kind:
        case "float" | "double":
            return float(value)
        case "decimal":
            return Decimal(value)
        case "date":
            return date.fromisoformat(value)
        case "timestamp" | "timestamp_ntz":
            return datetime.fromisoformat(value)
        case "binary":
            return base64.b64decode(value)
        case "array":
            return [as_typed(item, type_.element) for item in value]
        case "map":
            return [(key, as_typed(item, type_.element)) for key, item in value.items()]
        case "struct":
            return {name: as_typed(value.get(name), kind) for name, kind in type_.fields}
    return value


def write_parquet(lines: list[str], place: Path) -> None:
    types = {name: parse_type(text) for name, text in json.loads(lines[0]).items()}
    rows = [json.loads(line) for line in lines[1:]]
    arrays = {
        name: pa.array([as_typed(row.get(name), type_) for row in rows], to_arrow(type_))
        for name, type_ in types.items()
    }
    pq.write_table(pa.table(arrays), place)


def write_made_files(folder: Path) -> None:
    for name, made in json.loads((folder / "files.json").read_text("utf-8")).items():
        data = made["text"].encode(made.get("encoding", "utf-8")) if "text" in made else bytes.fromhex(made["hex"])
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        elif name.endswith(".zip"):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr(made.get("member", "inside.csv"), data)
            data = packed.getvalue()
        place.write_bytes(data)


def prepared(case: Path, workspace: Path) -> None:
    shutil.copytree(case, workspace, dirs_exist_ok=True, ignore=shutil.ignore_patterns("expected"))
    for typed in workspace.rglob("*.typed.jsonl"):
        lines = typed.read_text("utf-8").splitlines()
        write_parquet(lines, typed.with_name(typed.name.replace(".typed.jsonl", ".parquet")))
        typed.unlink()
    if (workspace / "files.json").is_file():
        write_made_files(workspace)
        (workspace / "files.json").unlink()


def expected_rows(place: Path) -> list[dict[str, Any]] | None:
    if not place.is_file():
        return None
    return [json.loads(line) for line in place.read_text("utf-8").splitlines() if line.strip()]


def same_rows(found: pa.Table, expected: list[dict[str, Any]], side: str) -> None:
    wanted = list(dict.fromkeys(name for row in expected for name in row))
    missing = [name for name in wanted if name not in found.column_names]
    assert not missing, f"{side}: no column {missing} in {found.column_names}"
    kinds = {name: found.schema.field(name).type for name in wanted}
    rows = [
        json.dumps({name: plain(row[name], kinds[name]) for name in wanted}, ensure_ascii=False, sort_keys=True)
        for row in found.select(wanted).to_pylist()
    ] if wanted else ["{}"] * found.num_rows  # fmt: skip
    meant = [
        json.dumps({name: row.get(name) for name in wanted}, ensure_ascii=False, sort_keys=True) for row in expected
    ]
    assert sorted(rows) == sorted(meant), side
    assert Counter(rows) == Counter(meant), side


def holds(found: Any, meant: Any, where: str) -> None:
    """What is meant stands in what was found; lists of named entries are matched by name."""
    if isinstance(meant, dict):
        for key, value in meant.items():
            assert key in found, f"{where}.{key} is missing"
            holds(found[key], value, f"{where}.{key}")
    elif isinstance(meant, list) and meant and isinstance(meant[0], dict) and "name" in meant[0]:
        by_name = {entry["name"]: entry for entry in found}
        for entry in meant:
            assert entry["name"] in by_name, f"{where}: no {entry['name']} in {sorted(by_name)}"
            holds(by_name[entry["name"]], entry, f"{where}.{entry['name']}")
    else:
        assert found == meant, where


def good_rows(result: Any) -> pa.Table:
    """The staged good rows, read without another job of the engine."""
    return parquet.reader(result.sides.good_files, pa.schema(result.sides.good_columns)).read_all()


def refusal(error: LakeLogicError) -> str:
    diagnostics = getattr(error, "diagnostics", None)
    return "\n".join(map(str, diagnostics)) if diagnostics else str(error)


@pytest.fixture
def place(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    monkeypatch.setenv("LAKELOGIC_PII_SALT", "a text of many words for tests")
    return workspace


@pytest.mark.parametrize("case", FOLDERS, ids=lambda folder: folder.name)
def test_case(case: Path, engine: Any, place: Path) -> None:
    prepared(case, place)
    expected = case / "expected"
    refused = expected / "refused.txt"
    table = expected_rows(expected / "table.jsonl")
    if refused.is_file():
        with pytest.raises(LakeLogicError) as caught:
            DataProcessor("contract.yaml", engine).run(materialize=False)
        for line in refused.read_text("utf-8").splitlines():
            assert line in refusal(caught.value)
        return
    result = DataProcessor("contract.yaml", engine).run(materialize=table is not None)
    good, bad = expected_rows(expected / "good.jsonl"), expected_rows(expected / "bad.jsonl")
    if bad is not None:
        same_rows(result._bad_table(True), bad, "bad")
    if good is not None:
        same_rows(good_rows(result), good, "good")
    if (expected / "columns.json").is_file():
        names = [name for name, _ in result.sides.good_columns if not name.startswith("_lakelogic_")]
        assert names == json.loads((expected / "columns.json").read_text("utf-8"))
    if (expected / "counts.json").is_file():
        holds(result.counts.as_dict(), json.loads((expected / "counts.json").read_text("utf-8")), "counts")
    if (expected / "report.json").is_file():
        holds(result.report, json.loads((expected / "report.json").read_text("utf-8")), "report")
    if table is not None:
        from deltalake import DeltaTable

        written = DeltaTable(result.report["targets"]["good"]["location"]).to_pyarrow_table()
        same_rows(written, table, "table")


def test_every_folder_says_what_must_come_out() -> None:
    silent = [folder.name for folder in FOLDERS if not any((folder / "expected").iterdir())]
    assert silent == []


def test_there_are_many_cases() -> None:
    assert len(FOLDERS) >= 150
