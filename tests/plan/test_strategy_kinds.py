"""Strategies: every word and every fact of the contract leads to one row, and every row has its queries."""

from __future__ import annotations

from typing import get_args

from lakelogic.contract import materialization as written
from lakelogic.plan.strategies.meet import QUERIES
from lakelogic.plan.strategies.settings import KINDS, Kind


def test_every_kind_has_a_row_and_its_queries():
    assert set(get_args(Kind)) == KINDS.keys() == QUERIES.keys()


def test_every_word_of_the_contract_leads_to_one_row():
    words = [word for row in KINDS.values() for word in row.words]
    assert sorted(words) == sorted(get_args(written.Strategy))


def test_every_fact_leads_to_one_row():
    facts = [fact for row in KINDS.values() for fact in row.facts]
    assert sorted(facts) == sorted(get_args(written.Fact.model_fields["type"].annotation))


def test_a_row_does_not_contradict_itself():
    for row in KINDS.values():
        assert row.is_keyed >= row.keeps_history
        assert row.looks_at_the_table >= row.is_keyed
        assert not (row.only_adds and (row.looks_at_the_table or row.replaces))
        assert not (row.takes_new_rows and row.needs_whole_batches)
