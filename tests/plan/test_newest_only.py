"""A table that every run replaces by the newest files alone is told before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.plan.compile import compile_contract


def warnings(source: dict[str, Any], **settings: Any) -> list[str]:
    document = {
        "source": {"path": "in/*.csv", **source},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "day", "type": "date"}]},
        "materialization": {"target_path": "a.b.c", **settings},
    }
    found = compile_contract(load(document)).warnings
    return [one.message for one in found if one.code == "LL-C129"]


def test_new_files_that_replace_the_table_are_told() -> None:
    assert warnings({"load_mode": "incremental"}, strategy="overwrite") == [
        "The table is replaced by every run, and a run reads only new files: rows of older files are erased."
    ]


@pytest.mark.parametrize(
    ("source", "settings"),
    [
        ({}, {"strategy": "overwrite"}),
        ({"load_mode": "incremental"}, {"strategy": "append"}),
        ({"load_mode": "incremental"}, {"strategy": "overwrite", "overwrite_scope": "table"}),
        (
            {"load_mode": "incremental"},
            {"strategy": "overwrite", "overwrite_scope": "partitions", "partition_by": ["day"]},
        ),
        ({"load_mode": "incremental"}, {"fact": {"type": "periodic_snapshot"}, "partition_by": ["day"]}),
    ],
)
def test_what_keeps_older_rows_or_means_it_is_not_told(source: dict[str, Any], settings: dict[str, Any]) -> None:
    assert warnings(source, **settings) == []
