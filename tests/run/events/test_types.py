"""Everything that a run tells has a type: a stable kind, a line, and what is kept beside the line."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import Any

import pytest

import lakelogic
from lakelogic.run.events import types as event_types
from lakelogic.run.events.types import (
    BadRowsWritten,
    Caution,
    DatasetRuleFailed,
    DatasetRuleNoted,
    EventType,
    FieldMissing,
    GoodRowsWithheld,
    GoodRowsWritten,
    NothingNew,
    PhaseBegan,
    RolledForward,
    RowsQuarantined,
    RunCompleted,
    RunFailed,
    RunStarted,
    ServiceLevelBroken,
)

SOURCE = Path(lakelogic.__file__).parent
KINDS = {"started", "phase", "alert", "wrote", "note", "warning", "complete", "finding", "failed"}


def concrete() -> list[type[EventType]]:
    types = [kind for kind in vars(event_types).values() if isinstance(kind, type) and issubclass(kind, EventType)]
    return [kind for kind in types if kind is not EventType and not kind.__name__.startswith("_")]


@pytest.mark.parametrize("kind", concrete(), ids=lambda kind: kind.__name__)
def test_every_type_is_frozen_has_a_known_kind_and_keeps_fields_that_it_has(kind: type[EventType]) -> None:
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert kind.kind in KINDS
    assert set(kind.kept) <= {field.name for field in dataclasses.fields(kind)}
    assert kind.__doc__


@pytest.mark.parametrize(
    ("what", "kind", "line", "kept"),
    [
        (RunStarted("r1", "orders", "duckdb"), "started", "Run r1 of orders on duckdb", {}),
        (RunStarted("r1", "orders", "duckdb", "replay of 2 quarantined rows"), "started",
         "Run r1: replay of 2 quarantined rows of orders on duckdb", {}),
        (PhaseBegan("check"), "phase", "counting and checking", {"phase": "check"}),
        (RowsQuarantined("customers", 2, "4"), "alert",
         "LakeLogic Alert: 2 records quarantined in 'customers'. Total: 4", {"quarantined": 2}),
        (BadRowsWritten(3, "c.quarantine.t"), "wrote", "Wrote 3 quarantined rows to c.quarantine.t", {"skipped": False}),
        (BadRowsWritten(3, "c.quarantine.t", already_there=1, skipped=True), "wrote",
         "Wrote 3 quarantined rows to c.quarantine.t (1 were there already)", {"skipped": True}),
        (GoodRowsWritten(2, "c.silver.t"), "wrote", "Wrote 2 valid rows to c.silver.t", {}),
        (GoodRowsWritten(2, "c.silver.t", approved_by="ann"), "wrote", "Wrote 2 valid rows to c.silver.t, approved by ann", {}),
        (GoodRowsWithheld("too many bad rows"), "warning", "Gate closed: too many bad rows", {}),
        (ServiceLevelBroken("freshness", 30.0, 24), "warning", "Service level freshness: 30.0, promised 24", {}),
        (DatasetRuleFailed("total", 3, 4), "warning", "Dataset rule total: 3, expected 4", {}),
        (DatasetRuleNoted("total", 3, 4), "note", "Dataset rule total: 3, expected 4", {}),
        (FieldMissing("genre", "new rows have NULL", "gendre"), "warning",
         "The declared field `genre` did not land: new rows have NULL. Did you mean `gendre`, which landed and is not "
         "declared?", {"field": "genre", "suggestion": "gendre"}),
        (Caution("look at it", field="a"), "warning", "look at it", {"field": "a"}),
        (Caution("look at it"), "warning", "look at it", {}),
        (RolledForward("r0", 2, 1), "note",
         "Run r0 stopped before it had published everything; it is finished from its staged rows (2 good, 1 quarantined)",
         {"rolled_forward": "r0"}),
        (RunCompleted("succeeded", None, "4", 3, 1, 0.25), "complete",
         "Run complete [layer=-] | Total: 4 | Good: 3 | Quarantine: 1 | Ratio: 25.0%", {"status": "succeeded"}),
        (NothingNew("no_new_data", "silver", "orders is up to date"), "complete",
         "Nothing new [layer=silver] | orders is up to date", {"status": "no_new_data"}),
        (RunFailed("orders", "LL-E010", "no such file"), "failed", "orders: no such file", {"code": "LL-E010"}),
    ],
)  # fmt: skip
def test_a_type_says_its_line_and_keeps_no_value_of_a_row(
    what: EventType, kind: str, line: str, kept: dict[str, Any]
) -> None:
    assert (what.kind, what.text, what.facts()) == (kind, line, kept)


def test_nobody_emits_a_bare_word() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tell":
                bare = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
                assert not set(bare) & KINDS, f"{path}:{node.lineno}"
