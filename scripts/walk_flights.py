"""A year of flights through the example estate, on one engine after the other, compared with a computation by hand.

    walk_flights.py FLIGHTS.csv [ENGINE …]

Three landings, a column that is lost on the way, a table that is reset, and a month that comes late. After each, every
table is compared with what plain Python makes of the files that have landed.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lakelogic import DataProcessor
from lakelogic.actions.operate.reset import ResetRequest, reset
from lakelogic.engines import registry
from lakelogic.run.surroundings import Surroundings

CONTRACTS = Path(__file__).parents[1] / "examples" / "flights" / "contracts"
TABLES = ("bronze_flights", "silver_flights", "gold_carriers")
LATE = "2"  # the month that comes last of all
LOST = "6"  # the month whose file lacks a column
COLUMN = "air_time"
LANDINGS = (("1", "3", "4"), ("5", LOST, "7", "8"), ("9", "10", "11", "12"))
Rows = dict[str, list[dict[str, str]]]


def by_month(file: Iterable[str]) -> Rows:
    """The flights of each month."""
    found: Rows = defaultdict(list)
    for row in csv.DictReader(file):
        found[row["month"]].append(row)
    return found


def land(rows: Rows, month: str) -> None:
    """One month as a file."""
    columns = [name for name in rows[month][0] if month != LOST or name != COLUMN]
    with Path(f"landing/flights_2013-{int(month):02}.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows[month])


def expected(rows: Rows, months: Iterable[str]) -> dict[tuple[str, int], tuple[int | None, ...]]:
    """What each carrier flew in each month, by hand; a sum of nothing is None."""
    found: dict[tuple[str, int], list[Any]] = {}
    for month in months:
        for row in rows[month]:
            one = found.setdefault((row["carrier"], int(month)), [0, 0, None, None, None])
            one[0] += 1
            one[1] += row["dep_time"] in ("", "NA")
            for place, name in ((2, "dep_delay"), (3, COLUMN), (4, "distance")):
                if row[name] not in ("", "NA") and (name != COLUMN or month != LOST):
                    one[place] = (one[place] or 0) + int(row[name])
    return {key: tuple(value) for key, value in found.items()}


def walk(engine: Any, rows: Rows) -> None:
    """The whole year in the working folder; raises where a table is not what it should be."""
    shutil.copytree(CONTRACTS, "contracts")
    Path("landing").mkdir()
    landed: list[str] = []

    def pass_(what: str, months: Iterable[str] = ()) -> None:
        landed.extend(months)
        for month in months:
            land(rows, month)
        results = {table: DataProcessor(f"contracts/{table}.yaml", engine).run() for table in TABLES}
        broken = {name: result.status for name, result in results.items() if result.status == "failed"}
        assert not broken, (what, broken)
        compare(what)

    def compare(what: str) -> None:
        planned = sum(len(rows[month]) for month in landed)
        assert count("bronze_flights") == planned, (what, count("bronze_flights"), planned)
        assert count("silver_flights") == planned, (what, count("silver_flights"), planned)
        gold = {
            (row["carrier"], row["month"]): tuple(
                row[name] for name in ("flights", "cancelled", "minutes_late", "minutes_in_the_air", "miles")
            )
            for row in table("gold_carriers").to_pylist()
        }
        wanted = expected(rows, landed)
        differing = {key: (gold.get(key), wanted.get(key)) for key in gold | wanted if gold.get(key) != wanted.get(key)}
        assert not differing, (what, dict(list(differing.items())[:5]))

    for number, months in enumerate(LANDINGS, 1):
        pass_(f"landing {number}", months)
    pass_("nothing new")
    done = reset(Surroundings.here(), ResetRequest(("contracts/silver_flights.yaml",)), lambda _: True)
    assert done
    pass_("silver was reset")
    pass_("a late month", (LATE,))
    pass_("nothing new at the end")


def table(name: str) -> Any:
    """All rows of a table, as they are read from its files."""
    from deltalake import DeltaTable

    from lakelogic.catalogs.local import LocalCatalog

    return DeltaTable(LocalCatalog().resolve(f"flights/{name}")).to_pyarrow_table()


def count(name: str) -> int:
    """How many rows a table has."""
    return int(table(name).num_rows)


def main() -> None:
    """`walk_flights.py FLIGHTS.csv [ENGINE …]`."""
    file, *engines = sys.argv[1:]
    with Path(file).open(encoding="utf-8", newline="") as source:
        rows = by_month(source)
    total = sum(map(len, rows.values()))
    for name in engines or ("duckdb", "polars", "spark"):
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            os.environ["LAKELOGIC_WAREHOUSE"] = f"{place}/warehouse"
            began = time.monotonic()
            engine = registry.load(name)
            try:
                walk(engine, rows)
            finally:
                engine.close()
                os.chdir(before)
        print(f"{name}: {total:,} flights, every table as computed by hand ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main()
