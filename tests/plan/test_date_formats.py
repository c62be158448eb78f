"""`source.options.date_formats` is checked when a contract is compiled: fields, types and patterns."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.errors import CompileError
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.needs import expressions
from lakelogic.plan.nodes import Landed
from lakelogic.sql.expressions import functions_of
from lakelogic.sql.types import DATE, STRING, Type

FIELDS = [{"name": "Born", "type": "date"}, {"name": "seen", "type": "timestamp"}, {"name": "local", "type": "timestamp_ntz"},
          {"name": "name", "type": "string"}]  # fmt: skip


def contract(formats: dict[str, str]) -> dict[str, Any]:
    return {
        "source": {"path": "in.csv", "options": {"date_formats": formats}},
        "materialization": {"target_path": "a.b.c"},
        "model": {"fields": FIELDS},
    }


@pytest.mark.parametrize(
    ("field", "pattern", "says", "hint"),
    [
        ("bron", "dd/MM/yyyy", "The model has no field `bron`.", "did you mean `Born`?"),
        ("name", "dd/MM/yyyy", "`name` is string, which has no pattern.", "date, timestamp and timestamp_ntz"),
        ("Born", "DD/MM/YYYY", "`DD` in the pattern `DD/MM/YYYY` is not portable.", None),
        ("seen", "YYYY-MM-dd", "`YYYY` in the pattern", "the calendar year is `yyyy`"),
        ("seen", "%d/%m", "has no year", "%Y"),
        ("local", "%Y-%m-%d %z", "which a wall clock does not have", None),
        ("Born", "", "The pattern is empty.", "yyyy-MM-dd"),
    ],
)
def test_a_pattern_that_cannot_work_is_told_at_its_key(field: str, pattern: str, says: str, hint: str | None) -> None:
    with pytest.raises(CompileError) as caught:
        compile_contract(load(contract({field: pattern})), None)
    [found] = caught.value.diagnostics
    assert (found.code, found.where.path) == ("LL-C218", f"source.options.date_formats.{field}")
    assert says in found.message
    assert hint is None or hint in (found.hint or "")


def used(formats: dict[str, str], landed: dict[str, Type]) -> frozenset[str]:
    source = SourceColumns("csv", tuple(Landed(name, type_) for name, type_ in landed.items()))
    plan = compile_contract(load(contract(formats)), source).plan
    return frozenset().union(*(functions_of(value) for value in expressions(plan)))


def test_fields_are_matched_without_case_and_only_text_is_parsed() -> None:
    texts = {"BORN": STRING, "seen": STRING, "local": STRING, "name": STRING}
    formats = {"born": "dd/MM/yyyy", "seen": "%d/%m/%Y %H:%M", "LOCAL": "yyyyMMddHHmm"}
    assert {"parse_date", "parse_timestamp", "parse_timestamp_ntz"} <= used(formats, texts)
    assert "parse_date" not in used({"born": "dd/MM/yyyy"}, {**texts, "BORN": DATE})
