"""What a policy lets the columns of a table do: every kind of change under every policy, as record 0013 has it."""

from __future__ import annotations

import pytest

from lakelogic.plan.columns.evolve import Changes, LandedDrift, changes, decide
from lakelogic.sql.types import BIGINT, INT, STRING, Type, struct

STORED = {"id": INT, "name": STRING}
ITEM = struct(("sku", STRING))
WIDE_ITEM = struct(("sku", STRING), ("price", INT))

NEW = {**STORED, "city": STRING}
GONE = {"id": INT}
WIDER = {"id": BIGINT, "name": STRING}
OTHER = {"id": STRING, "name": STRING}


@pytest.mark.parametrize(
    ("policy", "strategy", "declared", "action"),
    [
        ("strict", "append", STORED, "keep"),
        ("strict", "append", NEW, "stops"),
        ("strict", "append", GONE, "stops"),
        ("strict", "append", WIDER, "stops"),
        ("compatible", "append", NEW, "keep"),
        ("compatible", "append", GONE, "keep"),
        ("compatible", "append", WIDER, "widen"),
        ("compatible", "append", OTHER, "stops"),
        ("append", "append", NEW, "keep"),
        ("append", "append", GONE, "keep"),
        ("append", "append", WIDER, "stops"),
        ("merge", "merge", WIDER, "stops"),
        ("allow", "merge", NEW, "keep"),
        ("allow", "merge", WIDER, "widen"),
        ("allow", "merge", OTHER, "stops"),
        ("allow", "overwrite", OTHER, "replace"),
        ("overwrite", "overwrite", STORED, "replace"),
        ("overwrite", "overwrite", GONE, "replace"),
        ("overwrite", "overwrite", OTHER, "replace"),
        ("overwrite", "append", OTHER, "stops"),
        ("overwrite", "append", WIDER, "widen"),
    ],
)
def test_a_policy_decides_what_a_difference_does(policy, strategy, declared: dict[str, Type], action: str) -> None:
    decision = decide(policy, changes(declared, STORED), rewrites=strategy == "overwrite")
    assert ("stops" if decision.refused else decision.action) == action


def test_everything_that_a_strict_table_refuses_is_told_at_once() -> None:
    found = decide("strict", changes({"id": BIGINT, "city": STRING}, STORED), rewrites=False)
    assert found.refused == (
        "`city` (string) is new",
        "`name` (string) is gone",
        "`id` is int there and bigint in the contract",
    )


def test_a_new_column_that_must_have_a_value_stops_a_compatible_change() -> None:
    found = changes(NEW, STORED)
    assert not decide("compatible", found, rewrites=False).refused
    assert decide("compatible", found, rewrites=False, required=["city"]).refused == (
        "`city` is new and required, and rows that are there have none",
    )


@pytest.mark.parametrize(
    ("policy", "told"),
    [("append", ()), ("merge", ()), ("compatible", ()), ("allow", ()), ("strict", ("`item.price` (int) is new",))],
)
def test_a_new_field_of_a_struct_is_like_a_new_column(policy, told: tuple[str, ...]) -> None:
    found = decide(policy, changes({"item": WIDE_ITEM}, {"item": ITEM}), rewrites=False)
    assert found.refused == told
    assert told or found.action == "widen"


def test_stamps_come_and_go_under_every_policy() -> None:
    found = changes({"id": INT, "_lakelogic_run_id": STRING}, {"id": INT, "_lakelogic_batch": STRING})
    assert decide("strict", found, rewrites=False).refused == ()


def test_what_changed_is_kept_as_plain_words_and_nothing_where_nothing_did() -> None:
    assert changes(STORED, STORED).as_dict() == {}
    assert changes({"id": BIGINT, "city": STRING}, STORED).as_dict() == {
        "added": {"city": "string"},
        "missing": {"name": "string"},
        "changed": {"id": {"old": "int", "new": "bigint"}},
    }
    assert [change.name for change in changes({"id": BIGINT, "name": INT}, STORED).widened] == ["id"]
    assert Changes().as_dict() == {}


def test_a_field_that_did_not_land_is_told_with_the_column_that_is_called_almost_alike() -> None:
    drift = LandedDrift({"E-Mail": STRING, "zzz": STRING}, missing=("email", "phone"))
    assert drift.suggestions == {"email": "E-Mail"}
