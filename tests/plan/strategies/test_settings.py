"""Which strategy a contract has: what is written beats what other keys imply."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.document import Contract
from lakelogic.plan.strategies.settings import may_go_at_once, strategy_of

FIELDS = [{"name": "id", "type": "int"}, {"name": "at", "type": "timestamp"}, {"name": "n", "type": "int"}]


def contract(how: dict[str, Any], **source: Any) -> Contract:
    return Contract.model_validate(
        {
            "source": {"path": "landing/*.csv", **source},
            "model": {"fields": FIELDS},
            "primary_key": ["id"],
            "materialization": {"target_path": "shop.silver.orders", **how},
        }
    )


@pytest.mark.parametrize(
    ("how", "source", "kind"),
    [
        ({"strategy": "append"}, {}, "append"),
        ({"strategy": "overwrite"}, {}, "overwrite"),
        ({"strategy": "merge"}, {}, "merge"),
        ({"strategy": "snapshot_reconcile"}, {}, "merge"),
        ({"scd1": {}}, {}, "merge"),
        ({"scd2": {"timestamp_field": "at"}}, {}, "scd2"),
        ({"strategy": "append", "scd1": {}}, {}, "append"),
        ({"deletion": {"strategy": "snapshot_reconcile"}}, {}, "merge"),
        ({}, {"load_mode": "cdc", "cdc_op_field": "op", "cdc_timestamp_field": "at"}, "merge"),
        ({"fact": {"type": "transaction"}}, {}, "append"),
        ({"fact": {"type": "periodic_snapshot"}}, {}, "periodic"),
        ({"fact": {"type": "accumulating_snapshot"}}, {}, "merge"),
    ],
)
def test_what_is_written_beats_what_other_keys_imply(how: dict[str, Any], source: dict[str, Any], kind: str) -> None:
    assert strategy_of(contract(how, **source)).kind == kind


@pytest.mark.parametrize(
    ("how", "source", "order"),
    [
        ({"strategy": "merge"}, {}, None),
        ({"strategy": "merge", "sequence_by": "n"}, {}, "n"),
        ({"strategy": "merge"}, {"load_mode": "cdc", "cdc_op_field": "op", "cdc_timestamp_field": "at"}, "at"),
        ({"strategy": "merge"}, {"watermark_strategy": "max_target", "watermark_field": "n"}, "n"),
        ({"scd2": {}}, {"watermark_strategy": "max_target", "watermark_field": "at"}, "at"),
        ({"scd2": {"timestamp_field": "at"}, "sequence_by": "n"}, {}, "at"),
    ],
)
def test_what_tells_the_newer_of_two_rows(how: dict[str, Any], source: dict[str, Any], order: str | None) -> None:
    source = {"load_mode": "incremental", **source} if source else source
    assert strategy_of(contract(how, **source)).order == order


def test_only_strategies_that_find_rows_look_at_the_table() -> None:
    looks = {how: strategy_of(contract({"strategy": how})).looks_at_the_table for how in ("append", "merge")}
    assert looks == {"append": False, "merge": True}


def test_rows_of_a_source_go_unless_the_contract_keeps_them() -> None:
    assert may_go_at_once(contract({"strategy": "merge", "deletion": {"strategy": "keep"}})) is None
    bound = {"strategy": "follow_source", "max_delete_ratio": 0.25}
    assert may_go_at_once(contract({"strategy": "merge", "deletion": bound})) == 0.25
