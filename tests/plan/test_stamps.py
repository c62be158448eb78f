"""Stamps: every one that `lineage` can switch has one row, under the name that people see."""

from __future__ import annotations

from lakelogic import names
from lakelogic.contract.governance import Lineage
from lakelogic.plan.columns.stamps import STAMPS


def test_every_stamp_of_the_contract_has_a_row():
    keys = {stamp.key for stamp in STAMPS}
    assert keys == {key.removeprefix("capture_") for key in Lineage.model_fields if key.startswith("capture_")}
    columns = {key for key in Lineage.model_fields if key.endswith("_column_name")}
    assert columns == {f"{key}_column_name" for key in keys}


def test_a_row_has_the_name_that_the_contract_gives_by_default():
    assert [stamp.column(Lineage()) for stamp in STAMPS] == [stamp.name for stamp in STAMPS]
    assert {stamp.name for stamp in STAMPS} == names.STAMPS


def test_no_stamp_is_wanted_where_rows_are_not_stamped():
    assert all(stamp.is_wanted(Lineage()) for stamp in STAMPS)
    assert not any(stamp.is_wanted(Lineage(enabled=False)) for stamp in STAMPS)
