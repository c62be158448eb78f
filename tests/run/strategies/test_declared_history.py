"""A model may declare the columns that a history makes: types must fit, values come from the history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.actions.look.preview import preview
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.errors import CompileError
from lakelogic.plan.compile import load_checked
from lakelogic.run.ddl import define
from lakelogic.run.surroundings import Surroundings

LANDED = [{"name": "id", "type": "int"}, {"name": "city", "type": "string"}, {"name": "at", "type": "timestamp"}]
MADE = [
    {"name": "_sk", "type": "string", "required": True, "description": "Key of a version"},
    {"name": "effective_from", "type": "timestamp", "required": True},
    {"name": "Effective_To", "type": "timestamp"},
    {"name": "is_current", "type": "boolean"},
    {"name": "_version", "type": "int"},
    {"name": "why", "type": "string"},
]


def history(*fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "dataset": "people",
        "source": {"path": "people.csv"},
        "model": {"fields": [*(fields or MADE), *LANDED]},
        "service_levels": {"completeness": {"threshold": 0.5}},
        "materialization": {
            "target_path": "shop.gold.people",
            "strategy": "scd2",
            "primary_key": ["id"],
            "scd2": {"timestamp_field": "at", "change_reason_column": "why"},
        },
    }


def test_declared_columns_have_the_values_of_the_history(engine: Any, workspace: Path) -> None:
    Path("people.csv").write_text("id,city,at\n1,Bern,2026-01-05\n1,Chur,2026-02-01\n")
    with DataProcessor(history(), engine) as processor:
        result = processor.run()
    assert (result.counts.good, result.counts.quarantined) == (2, 0)
    found = sorted(preview(Surroundings.here(), "shop.gold.people", 10).rows, key=lambda row: row["_version"])
    assert [(row["city"], row["_version"], row["is_current"], row["why"]) for row in found] == [
        ("Bern", 1, False, "initial"),
        ("Chur", 2, True, "changed"),
    ]
    assert all(row["_sk"] for row in found)
    with DataProcessor(history(), engine) as processor:
        assert processor.run().status == "no_new_data"


def test_without_a_header_they_stand_in_no_place_of_the_file(duckdb_engine: Any, workspace: Path) -> None:
    Path("people.csv").write_text("1,Bern,2026-01-05\n")
    document = history()
    document["source"]["options"] = {"has_header": False}
    with DataProcessor(document, duckdb_engine) as processor:
        processor.run()
    assert [(row["id"], row["city"]) for row in preview(Surroundings.here(), "shop.gold.people", 10).rows] == [
        (1, "Bern")
    ]


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (
            {"name": "is_current", "type": "string"},
            "`is_current` is declared as string, and is one that the history adds, as boolean",
        ),
        (
            {"name": "_version", "type": "bigint"},
            "`_version` is declared as bigint, and is one that the history adds, as int",
        ),
        ({"name": "_sk", "masking": "hash"}, "`masking` has no effect on `_sk`: the history makes it"),
        ({"name": "why", "accepted_values": ["initial"]}, "`accepted_values` has no effect on `why`"),
    ],
)
def test_what_does_not_fit_is_told(field: dict[str, Any], told: str) -> None:
    with pytest.raises(CompileError, match=told):
        load_checked(history(field))


def test_a_column_of_that_name_that_lands_is_told(duckdb_engine: Any, workspace: Path) -> None:
    Path("people.csv").write_text("id,city,at,is_current\n1,Bern,2026-01-05,x\n")
    told = "`is_current` is a column of the rows and one that the history adds"
    with DataProcessor(history(), duckdb_engine) as processor, pytest.raises(CompileError, match=told):
        processor.run()


def test_the_definition_of_the_table_names_them_once(workspace: Path) -> None:
    defined = define(load_checked(history()), LocalCatalog())
    [statement] = defined.statements
    for name in ("_sk", "effective_from", "effective_to", "is_current", "_version", "why"):
        assert statement.lower().count(f"`{name}`") == 1
    assert "Key of a version" in statement


def test_lines_of_other_fields_are_still_found(workspace: Path) -> None:
    document = history()
    document["model"]["fields"][-2]["type"] = "strange"
    Path("people.json").write_text(json.dumps(document, indent=1))
    line = 1 + Path("people.json").read_text().splitlines().index('    "type": "strange"')
    with pytest.raises(CompileError) as caught:
        load_checked("people.json")
    assert [one.where.line for one in caught.value.diagnostics] == [line]
