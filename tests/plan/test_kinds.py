"""Steps and rules: every kind that the contract knows has one row that gives it its effect, and every row is whole."""

from __future__ import annotations

from typing import get_args

import pytest

from lakelogic.contract import rules as written
from lakelogic.contract.describe.availability import status
from lakelogic.contract.document import Contract
from lakelogic.contract.fields import Field
from lakelogic.contract.rules import AnyDatasetRule, RowRule
from lakelogic.contract.steps import STEPS, AnyStep
from lakelogic.contract.tagged import whole
from lakelogic.errors import Defect
from lakelogic.plan.rules import datasets, rows
from lakelogic.plan.steps import kinds as steps

TABLES = {
    "transformations[]": (STEPS, steps.KINDS, AnyStep),
    "quality.row_rules[]": (written.ROW_RULES, rows.KINDS, RowRule),
    "quality.dataset_rules[]": (written.DATASET_RULES, datasets.KINDS, AnyDatasetRule),
}


@pytest.mark.parametrize("place", TABLES)
def test_every_kind_of_the_contract_has_one_row(place):
    models, table, annotation = TABLES[place]
    assert set(models.values()) == table.keys()
    assert set(get_args(get_args(annotation)[0])) == table.keys()
    for word in models:
        assert status(f"{place}.{word}") == "available"


def test_a_row_rule_is_judged_by_one_way_and_has_a_category():
    for kind in rows.KINDS.values():
        assert [kind.predicate, kind.flags, kind.among].count(None) == 2
        assert kind.category


def test_a_dataset_rule_measures_or_asks():
    for kind in datasets.KINDS.values():
        assert (kind.measure is None) != (kind.ask is None)


def test_constraints_are_keys_of_a_field():
    assert rows.CONSTRAINTS.keys() <= Field.model_fields.keys()
    for key in rows.CONSTRAINTS:
        assert status(f"model.fields[].{key}") == "available"


@pytest.mark.parametrize("place", TABLES)
def test_a_kind_without_a_row_does_not_start(place):
    models, table, _ = TABLES[place]
    word, model = next(iter(models.items()))
    lacking = {known: row for known, row in table.items() if known is not model}
    with pytest.raises(Defect, match=f"no row for \\['{word}'\\]"):
        whole("kinds", models, lacking)
    with pytest.raises(Defect, match="a row too many for \\['Contract'\\]"):
        whole("kinds", models, {**table, Contract: None})
