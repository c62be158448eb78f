"""Lines that never end, files that unpack to more than anybody sent, and names that no engine can hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.errors import ContractError, SourceError

FIELDS = [{"name": "id", "type": "int"}, {"name": "note", "type": "string"}]


def judged(engine: Any, file: str, **options: Any) -> Any:
    contract = {"source": {"path": file, "options": options}, "model": {"fields": FIELDS}}
    return DataProcessor(contract, engine).run(materialize=False)


def test_a_line_that_is_too_long_stops_the_run_with_its_place(engine: Any, workspace: Path) -> None:
    (workspace / "in.csv").write_text("id,note\n1,a\n2," + "x" * 2000 + "\n3,c\n")
    with pytest.raises(SourceError, match=r"in\.csv.*line 3 has more than 1,000 bytes"):
        judged(engine, "in.csv", max_record_bytes=1000)
    assert judged(engine, "in.csv", max_record_bytes=2100).counts.good == 3
    assert judged(engine, "in.csv").counts.good == 3


def test_json_lines_have_the_same_bound(engine: Any, workspace: Path) -> None:
    rows = [{"id": 1, "note": "a"}, {"id": 2, "note": "x" * 3_000_000}]
    (workspace / "in.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(SourceError, match="line 2 has more than 2,000,000 bytes"):
        judged(engine, "in.ndjson", max_record_bytes=2_000_000)
    assert judged(engine, "in.ndjson").counts.good == 2


def test_a_quoted_value_over_many_lines_is_one_record(duckdb_engine: Any, workspace: Path) -> None:
    """Where it is too long, its quote counts as never closed: a bad row, and the lines after it are read."""
    (workspace / "in.csv").write_text('id,note\n1,"' + ("x" * 50 + "\n") * 40 + '"\n2,b\n')
    assert judged(duckdb_engine, "in.csv").counts.good == 2
    result = judged(duckdb_engine, "in.csv", max_record_bytes=500)
    assert result.counts.good == 1
    errors = duckdb_engine.collect(result.bad).column("_lakelogic_errors").to_pylist()
    assert any("a quote is not closed" in text for row in errors for text in row)


def test_a_file_that_unpacks_to_far_more_is_not_read_to_its_end(duckdb_engine: Any, workspace: Path) -> None:
    with gzip.open(workspace / "in.csv.gz", "wb") as out:
        out.write(b"id,note\n")
        for _ in range(70):
            out.write(b"1,a\n" * (1 << 18))
    with pytest.raises(SourceError, match=r"in\.csv\.gz.*more than 10 times as large"):
        judged(duckdb_engine, "in.csv.gz", max_unpacked_ratio=10)


def test_a_nul_in_a_key_is_a_bad_row(engine: Any, workspace: Path) -> None:
    lines = [
        '{"id": 1, "note": "a"}',
        '{"id": 2, "no\\u0000te": "b"}',
        '{"id": 3, "note": "c", "more": {"x\\u0000": 1}}',
    ]
    (workspace / "in.ndjson").write_text("\n".join(lines) + "\n")
    result = judged(engine, "in.ndjson")
    assert (result.counts.good, result.counts.quarantined) == (1, 2)
    bad = engine.collect(result.bad)
    told = {text for errors in bad.column("_lakelogic_errors").to_pylist() for text in errors}
    assert all("a key holds the character NUL" in text for text in told)


def test_a_nul_in_a_header_stops_the_run(engine: Any, workspace: Path) -> None:
    (workspace / "in.csv").write_bytes(b"id,no\0te\n1,a\n")
    with pytest.raises(SourceError, match="a name holds the character NUL"):
        judged(engine, "in.csv")


def test_bounds_are_at_least_one(workspace: Path) -> None:
    with pytest.raises(ContractError, match="at least 1"):
        judged("duckdb", "in.csv", max_record_bytes=0)
