"""What closes a gate, decided from counts and measures alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lakelogic.contract.document import Contract
from lakelogic.plan.rules.datasets import Check, Limit
from lakelogic.run.publish.gates import Approval, BadRows, Outcome, closed, judge, unapproved
from lakelogic.run.publish.reconcile import Counts


def contract(**keys: Any) -> Contract:
    return Contract.model_validate({"materialization": {"target_path": "shop.silver.orders"}, **keys})


def counts(good: int, bad: int) -> Counts:
    return Counts(good + bad, good, bad)


def no_duplicates(_: Any) -> int:
    return 0


RATIO = Check("few nulls", "error", "at most 0.1", measure="nulls", over="rows", limits=(Limit("<=", 0.1),))
TOTAL = Check("total", "error", "at least 100", measure="total", limits=(Limit(">=", 100),))
CLOSE = Check("as the bank", "error", "within 0.01", measure="ours", against="theirs", tolerance=0.01)
TRUE = Check("true", "error", "TRUE", measure="claim")
UNIQUE = Check("ids", "error", "0", unique=("id",), limits=(Limit("=", 0),))


@pytest.mark.parametrize(
    ("check", "measured", "passed", "value"),
    [
        (RATIO, {"nulls": 1, "rows": 10}, True, 0.1),  # exactly the bound, which no double is
        (RATIO, {"nulls": 2, "rows": 10}, False, 0.2),
        (RATIO, {"nulls": 0, "rows": 0}, True, 0.0),
        (RATIO, {"nulls": None, "rows": 10}, False, None),
        (TOTAL, {"total": Decimal("100.00")}, True, 100),
        (TOTAL, {"total": Decimal("99.99")}, False, 99.99),
        (TOTAL, {"total": None}, False, None),
        (TOTAL, {"total": float("nan")}, False, None),
        (CLOSE, {"ours": Decimal("0.30"), "theirs": Decimal("0.31")}, True, 0.3),
        (CLOSE, {"ours": Decimal("0.30"), "theirs": Decimal("0.3101")}, False, 0.3),
        (CLOSE, {"ours": 5, "theirs": None}, False, 5),
        (TRUE, {"claim": True}, True, True),
        (TRUE, {"claim": None}, False, None),
        (TRUE, {"claim": 1}, False, 1),  # a number is no claim
    ],
)
def test_a_dataset_rule_against_what_was_measured(check: Check, measured: dict[str, Any], passed, value) -> None:
    (outcome,) = judge([check], measured, no_duplicates)
    assert outcome.passed is passed
    assert outcome.value == value or (value is None and outcome.value != outcome.value)


def test_a_rule_of_uniqueness_asks_for_duplicates_of_its_columns() -> None:
    asked: list[Any] = []

    def duplicates(columns: Any) -> int:
        asked.append(tuple(columns))
        return 3

    (outcome,) = judge([UNIQUE], {}, duplicates)
    assert (outcome.passed, outcome.value, asked) == (False, 3, [("id",)])


@pytest.mark.parametrize(
    ("keys", "good", "bad", "reasons"),
    [
        ({}, 9, 1, 0),  # no bound is written
        ({}, 0, 0, 0),  # nothing came
        ({}, 0, 3, 1),  # no good row at all
        ({"quality": {"max_quarantine_ratio": 1}}, 0, 3, 0),  # a written bound is the only bound
        ({"quality": {"max_quarantine_ratio": 0.1}}, 9, 1, 0),
        ({"quality": {"max_quarantine_ratio": 0.1}}, 8, 1, 1),
        ({"quarantine": {"max_ratio": 0.1}}, 8, 1, 1),
        ({"quality": {"max_quarantine_ratio": 0.5}, "quarantine": {"max_ratio": 0.1}}, 8, 1, 0),
        ({"quarantine": {"fail_on_quarantine": True}}, 9, 1, 1),
        ({"quarantine": {"fail_on_quarantine": True}}, 9, 0, 0),
        ({"quarantine": {"fail_on_quarantine": True, "max_ratio": 0.1}}, 1, 1, 2),  # all reasons, not the first
    ],
)
def test_how_many_reasons_close_the_gate(keys: dict[str, Any], good: int, bad: int, reasons: int) -> None:
    assert len(closed(contract(**keys), counts(good, bad), [], BadRows())) == reasons


def test_a_batch_without_a_good_row_names_the_rule_that_most_rows_failed() -> None:
    bad = BadRows({"id_required": 2, "amount_min": 3, "city_known": 3})
    (reason,) = closed(contract(), counts(0, 4), [], bad)
    assert reason.startswith("all 4 rows are bad, 3 of them by `amount_min`: ")
    (reason,) = closed(contract(), counts(0, 1), [], BadRows({"id_required": 1}))
    assert reason.startswith("the only row is bad, by `id_required`: ")


def test_rows_that_a_person_has_discarded_close_nothing() -> None:
    assert closed(contract(), counts(0, 2), [], BadRows(discarded=2)) == []


@pytest.mark.parametrize(
    ("severity", "fails", "reasons"), [("error", True, 1), ("warning", True, 0), ("error", False, 0)]
)
def test_only_errors_close_the_gate_and_only_where_the_contract_lets_them(severity, fails: bool, reasons: int) -> None:
    outcome = Outcome("total", False, 99.99, "at least 100", severity)
    document = contract(quality={"fail_pipeline_on_dataset_error": fails})
    assert len(closed(document, counts(1, 0), [outcome], BadRows())) == reasons


def test_a_person_is_asked_about_bad_rows_above_the_share_and_about_columns_that_differ() -> None:
    drift = {"table": {"added": {"city": "string"}}, "source": {"missing": ["x"]}}
    assert unapproved(None, counts(0, 9), drift) == []
    assert unapproved(Approval(0.1), counts(9, 1), {}) == []
    assert [reason.partition(" ")[0] for reason in unapproved(Approval(0.1), counts(8, 2), {})] == ["20.0%"]
    (reason,) = unapproved(Approval(), counts(0, 9), drift)
    assert "added: city" in reason
