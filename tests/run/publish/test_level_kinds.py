"""Service levels: every key of the contract that promises something has one row, and every row is whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lakelogic.contract.describe.availability import status
from lakelogic.contract.service_levels import ServiceLevels
from lakelogic.run.publish.levels import LEVELS, Measured

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROMISED = ServiceLevels.model_validate(
    {"freshness_hours": 2, "row_count": {"min_rows": 1, "max_rows": 5}, "completeness": 0.5}
)


def test_every_promise_that_is_available_has_a_row():
    promises = {key for key in ServiceLevels.model_fields if status(f"service_levels.{key}") == "available"}
    assert promises - {"on_breach"} == {key for level in LEVELS.values() for key in level.keys}


def test_a_row_says_what_is_promised_and_what_keeps_it():
    assert {name: level.promise(PROMISED) for name, level in LEVELS.items()} == {
        "freshness": "at most 2 hours",
        "row_count": "at least 1 and at most 5 rows",
        "completeness": "at least 0.5",
    }
    nothing = ServiceLevels.model_validate({})
    assert not any(level.is_promised(nothing) for level in LEVELS.values())


def test_a_dataset_that_never_got_data_is_not_fresh():
    level = LEVELS["freshness"]
    never, early = Measured(None, {}, NOW, None), Measured(None, {}, NOW, NOW - timedelta(hours=2))
    assert (level.value(never), level.keeps(PROMISED, level.value(never))) == (None, False)
    assert (level.value(early), level.keeps(PROMISED, level.value(early))) == (2.0, True)
