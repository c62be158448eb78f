from __future__ import annotations

from datetime import timedelta

import pytest

from lakelogic.contract.durations import duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24h", timedelta(hours=24)),
        ("30m", timedelta(minutes=30)),
        ("7 days", timedelta(days=7)),
        ("1 day", timedelta(days=1)),
        ("90 s", timedelta(seconds=90)),
        ("1.5h", timedelta(minutes=90)),
        ("P7D", timedelta(days=7)),
        ("PT12H30M", timedelta(hours=12, minutes=30)),
        ("P1W", timedelta(weeks=1)),
    ],
)
def test_lengths_of_time_as_people_write_them(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize("text", ["", "24", "h", "a day", "P", "PT", "24 moons", "-1h"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a length of time"):
        duration(text)
