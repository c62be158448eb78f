"""The flights estate over a small made-up year; `make test-flights` walks through 336,776 real flights."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HEADER = "year,month,day,dep_time,sched_dep_time,dep_delay,carrier,flight,tailnum,origin,dest,air_time,distance"


def made_up_year() -> list[str]:
    """Twenty-one flights a month of three carriers, of which every seventh is cancelled and every fifth flies early."""
    lines = [HEADER]
    for month in range(1, 13):
        for day in range(1, 8):
            for place, carrier in enumerate(("AA", "UA", "9E")):
                number = month * 100 + day * 3 + place
                cancelled = number % 7 == 0
                late = "" if cancelled else str(number % 40 - (20 if number % 5 == 0 else 0))
                left, air = ("", "") if cancelled else ("517", str(60 + number % 90))
                lines.append(
                    f"2013,{month},{day},{left},515,{late},{carrier},{number},N{number},EWR,IAH,{air},{200 + number}"
                )
    return lines


def test_a_year_of_landings_is_what_plain_python_makes_of_it(engine: Any, workspace: Path) -> None:
    """Three landings, a lost column, a reset and a late month: no row is lost, doubled or stale."""
    spec = importlib.util.spec_from_file_location("walk_flights", ROOT / "scripts/walk_flights.py")
    assert spec is not None
    assert spec.loader is not None
    flights = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(flights)
    rows = flights.by_month(made_up_year())
    assert sum(map(len, rows.values())) == 12 * 21
    flights.walk(engine, rows)
