"""The grammars that a contract may name are those that SQL can be read in."""

from __future__ import annotations

from typing import get_args

import pytest

from lakelogic.contract.base import Dialect
from lakelogic.sql.parse import parse_expression


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_a_grammar_that_a_contract_may_name_can_be_read(dialect: str) -> None:
    assert parse_expression("a + 1", dialect).sql(dialect="spark") == "a + 1"
