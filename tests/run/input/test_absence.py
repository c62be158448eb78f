"""Absence erases nothing: a declared column that an input with a header lacks keeps what the table has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor

Land = Callable[..., Any]
TABLE = "lakelogic_warehouse/shop/silver/songs"
FIELDS = [{"name": "id", "type": "int"}, {"name": "genre"}, {"name": "plays", "type": "int"}]


def rows(*names: str, table: str = TABLE) -> list[tuple[Any, ...]]:
    found = DeltaTable(table).to_pyarrow_table().to_pylist()
    return sorted((tuple(row[name] for name in names) for row in found), key=repr)


@pytest.fixture
def landed(engine: Any, workspace: Path) -> Land:
    """Land files (name → text) and run the contract over what is new; `fields`, steps and settings can be given."""
    turn = iter(range(100))

    def land(files: dict[str, str], *, fields: Any = FIELDS, parts: Any = None, **settings: Any) -> Any:
        number = next(turn)
        Path("in").mkdir(exist_ok=True)
        for name, text in files.items():
            Path("in", f"{number:02d}-{name}").write_text(text, encoding="utf-8")
        kind = next(iter(files)).rsplit(".", 1)[1]
        document = {
            "dataset": "songs",
            "source": {"path": f"in/*.{kind}", "load_mode": "incremental"},
            "model": {"fields": fields},
            "materialization": {
                "strategy": "merge", "primary_key": ["id"], "target_path": "shop.silver.songs", **settings,
            },
            **(parts or {}),
        }  # fmt: skip
        told: list[str] = []
        result = DataProcessor(
            document, engine, sinks=(lambda event: told.append(event.text) if event.kind == "warning" else None,)
        ).run()
        result.report["told"] = told
        return result

    return land


def test_a_column_that_is_missing_keeps_what_the_table_has_and_is_told(landed: Land) -> None:
    landed({"a.csv": "id,genre,plays\n1,rock,1\n2,pop,2\n"})
    result = landed({"a.csv": "id,gendre,plays\n1,jazz,5\n3,folk,3\n"})
    assert rows("id", "genre", "plays") == [(1, "rock", 5), (2, "pop", 2), (3, None, 3)]
    (told,) = [text for text in result.report["told"] if "genre" in text]
    assert "`genre` did not land" in told
    assert "did you mean `gendre`" in told.lower()
    drift = result.report["schema_drift"]["source"]
    assert drift["missing"] == ["genre"]
    assert drift["suggestions"] == {"genre": "gendre"}


def test_in_a_mixed_batch_every_file_speaks_for_its_own_rows(landed: Land) -> None:
    landed({"a.csv": "id,genre,plays\n1,rock,1\n2,pop,2\n3,ska,3\n"})
    landed({"a.csv": "id,plays\n1,5\n4,4\n", "b.csv": "id,genre,plays\n2,,6\n3,dub,7\n"})
    assert rows("id", "genre", "plays") == [(1, "rock", 5), (2, None, 6), (3, "dub", 7), (4, None, 4)]


def test_an_undeclared_column_that_one_file_lacks_is_kept_too(landed: Land) -> None:
    landed({"a.csv": "id,genre,plays,mood\n1,rock,1,sad\n2,pop,2,gay\n"})
    landed({"a.csv": "id,genre,plays\n1,rock,5\n", "b.csv": "id,genre,plays,mood\n2,pop,2,\n"})
    assert rows("id", "plays", "mood") == [(1, 5, "sad"), (2, 2, None)]


def test_a_default_is_for_new_rows_and_a_made_column_is_not_erased(landed: Land) -> None:
    fields = [
        *FIELDS,
        {"name": "state", "default": "new"},
        {"name": "price", "type": "int"},
        {"name": "worth", "type": "int"},
        {"name": "label"},
    ]
    steps = {"transformations": [{"sql": "plays * price AS worth, coalesce(genre, 'none') AS label"}]}
    landed({"a.csv": "id,genre,plays,state,price\n1,rock,2,old,10\n"}, fields=fields, parts=steps)
    landed({"a.csv": "id,plays\n1,3\n2,4\n"}, fields=fields, parts=steps)
    # What the contract computes without the column counts; what it cannot compute is kept.
    assert rows("id", "genre", "plays", "state", "price", "worth", "label") == [
        (1, "rock", 3, "old", 10, 20, "none"),
        (2, None, 4, "new", None, None, "none"),
    ]


def test_parquet_and_rows_that_are_handed_in_have_headers_too(engine: Any, workspace: Path) -> None:
    document = {
        "dataset": "songs",
        "source": {"path": "in/*.parquet", "load_mode": "incremental"},
        "model": {"fields": FIELDS},
        "materialization": {"strategy": "merge", "primary_key": ["id"], "target_path": "shop.silver.songs"},
    }
    Path("in").mkdir()
    pq.write_table(pa.table({"id": [1, 2], "genre": ["rock", "pop"], "plays": [1, 2]}), "in/a.parquet")
    DataProcessor(document, engine).run()
    pq.write_table(pa.table({"id": [1], "plays": [5]}), "in/b.parquet")
    DataProcessor(document, engine).run()
    assert rows("id", "genre", "plays") == [(1, "rock", 5), (2, "pop", 2)]
    DataProcessor(document, engine).run(pa.table({"id": [2, 3], "plays": [6, 7]}))
    assert rows("id", "genre", "plays") == [(1, "rock", 5), (2, "pop", 6), (3, None, 7)]


def test_a_history_keeps_what_a_missing_column_was(landed: Land) -> None:
    fields = [*FIELDS, {"name": "at", "type": "date"}]
    settings = {"strategy": "scd2", "scd2": {"timestamp_field": "at", "track_columns": ["genre", "plays"]}}
    landed({"a.csv": "id,genre,plays,at\n1,rock,1,2026-01-01\n2,pop,2,2026-01-01\n"}, fields=fields, **settings)
    landed(
        {"a.csv": "id,plays,at\n1,1,2026-01-02\n2,3,2026-01-02\n2,4,2026-01-03\n3,9,2026-01-02\n"},
        fields=fields,
        **settings,
    )
    assert rows("id", "genre", "plays", "is_current") == [
        (1, "rock", 1, True),
        (2, "pop", 2, False),
        (2, "pop", 3, False),
        (2, "pop", 4, True),
        (3, None, 9, True),
    ]


def test_in_json_a_missing_key_is_null_row_by_row(landed: Land) -> None:
    first = {"a.ndjson": '{"id":1,"genre":"rock","plays":1,"mood":"sad"}\n{"id":2,"genre":"pop","mood":"gay"}\n'}
    alone, beside = '{"id":1,"plays":5}\n', '{"id":2,"genre":"ska","mood":"low"}\n'
    landed(first)
    result = landed({"a.ndjson": alone})
    by_itself = rows("id", "genre", "plays", "mood")
    assert by_itself == [(1, None, 5, None), (2, "pop", None, "gay")]
    assert any("`genre` did not land" in text for text in result.report["told"])
    landed(first)
    landed({"a.ndjson": alone + beside})
    assert rows("id", "genre", "plays", "mood") == [(1, None, 5, None), (2, "ska", None, "low")]


def test_a_json_key_that_never_landed_is_not_told_and_no_reason_under_a_strict_policy(landed: Land) -> None:
    strict = {"schema_policy": {"evolution": "strict"}}
    result = landed({"a.ndjson": '{"id":1,"plays":5}\n'}, parts=strict)
    assert (result.counts.good, result.counts.quarantined) == (1, 0)
    assert not result.report["told"]


def test_a_row_that_comes_back_from_quarantine_erases_nothing_either(landed: Land, engine: Any) -> None:
    rule = {"quality": {"row_rules": [{"sql": "plays < 100", "name": "few"}]}}
    landed({"a.csv": "id,genre,plays\n1,rock,1\n2,pop,2\n"}, parts=rule)
    landed({"a.csv": "id,plays\n1,500\n", "b.csv": "id,genre,plays\n2,,600\n"}, parts=rule)
    assert rows("id", "genre", "plays") == [(1, "rock", 1), (2, "pop", 2)]
    document = {
        "dataset": "songs",
        "source": {"path": "in/*.csv", "load_mode": "incremental"},
        "model": {"fields": FIELDS},
        "materialization": {"strategy": "merge", "primary_key": ["id"], "target_path": "shop.silver.songs"},
        "quality": {"row_rules": [{"sql": "plays < 1000", "name": "few"}]},
    }
    with DataProcessor(document, engine) as processor:
        processor.replay()
    assert rows("id", "genre", "plays") == [(1, "rock", 500), (2, None, 600)]
