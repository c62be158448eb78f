"""Where we want to be: each goal, how it is read from the figures, and why it is missed where it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cases import ENGINES, MERGES_BY_HAND
from bench.exploding import SIZES
from bench.reference import CUSTOMERS

Spread = dict[str, float]
Figures = dict[str, dict[str, Any]]  # part → group → figures

# Why goals are missed, in our own words, by the key of the goal; whoever mends one takes the line away.
REASONS = Path(__file__).with_name("reasons.json")
TIE = 0.15  # machines are noisy: within this share of a goal, reached and missed cannot be told apart


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: what, the bound, whether figures must stay below it (or reach it), and where the figure is."""

    key: str
    what: str
    bound: float
    read: Callable[[Figures], Spread | None]
    below: bool = True
    unit: str = ""

    @property
    def unmeasured(self) -> str:
        """Under which key it stands why there is no figure at all."""
        return f"{self.key}, not measured"

    def verdict(self, found: Spread | None) -> str:
        """Reached, missed, without a figure for a reason, or not measured yet."""
        reasons = json.loads(REASONS.read_text()) if REASONS.exists() else {}
        if found is None:
            return f"no figure: {reasons[self.unmeasured]}" if self.unmeasured in reasons else "not measured yet"
        value = found["median"]
        if value <= self.bound if self.below else value >= self.bound:
            return "reached"
        near = value <= self.bound * (1 + TIE) if self.below else value >= self.bound * (1 - TIE)
        why = reasons.get(self.key, "not explained yet")
        return f"missed{' by less than the noise' if near else ''}: {why}"


def _group(figures: Figures, part: str, group: str) -> dict[str, Any]:
    found: dict[str, Any] = figures.get(part, {}).get(group, {})
    return found


def ratio(part: str, group: str, case: str, base: str, when: str = "warm") -> Callable[[Figures], Spread | None]:
    """CPU of a case against a base."""
    return lambda figures: _group(figures, part, group).get("ratios", {}).get(when, {}).get(case, {}).get(base)


def figure(part: str, group: str, case: str, *path: str) -> Callable[[Figures], Spread | None]:
    """A figure of a case, such as `cold`, `cpu`."""

    def read(figures: Figures) -> Spread | None:
        found: Any = _group(figures, part, group).get("cases", {}).get(case, {})
        for word in path:
            found = found.get(word, {}) if isinstance(found, dict) else {}
        return found or None

    return read


def memory(engine: str) -> Callable[[Figures], Spread | None]:
    """Peak memory at ten million rows, in GB; of the first time, before anything is kept from it."""

    def read(figures: Figures) -> Spread | None:
        found = figure("engines", f"10000000/parquet/{engine}", "lakelogic", "cold", "peak_mb", "total")(figures)
        return None if found is None else {k: v if k == "count" else round(v / 1024, 2) for k, v in found.items()}

    return read


def explosion(engine: str, *path: str) -> Callable[[Figures], Spread | None]:
    """A figure of a row with four times as many elements, against the same of the smaller row."""

    def read(figures: Figures) -> Spread | None:
        small, large = (
            figure("explode", f"one-row/{engine}", f"elements-{size}", "cold", *path)(figures) for size in SIZES
        )
        return _against(large, small)

    return read


def _flat(figures: Figures) -> Spread | None:
    """The driver's Python at ten million rows against one million."""
    small, large = (
        figure("engines", f"{rows}/parquet/spark", "lakelogic", "cold", "peak_mb", "python")(figures)
        for rows in (1_000_000, 10_000_000)
    )
    return _against(large, small)


def _against(large: Spread | None, small: Spread | None) -> Spread | None:
    if small is None or large is None:
        return None
    return {
        "median": round(large["median"] / small["median"], 2),
        "least": round(large["least"] / small["most"], 2),
        "most": round(large["most"] / small["least"], 2),
        "count": min(small["count"], large["count"]),
    }


def _reads(figures: Figures) -> Spread | None:
    """Records that Spark read, against the rows of the source and the ids that were read back for uniqueness."""
    for rows in (10_000_000, 1_000_000):
        found = (
            _group(figures, "engines", f"{rows}/parquet/spark").get("cases", {}).get("lakelogic", {}).get("warm", {})
        )
        if "spark_records" in found:
            # The reference table is read once; good rows and their ids again, from the staged files.
            records, good = found["spark_records"] - CUSTOMERS, found["good_rows"]
            more = records - rows
            records -= more if more > 0 and more % good == 0 else 0
            reads = round(records / rows, 2)
            return {"median": reads, "least": reads, "most": reads, "count": 1}
    return None


BIG = "10000000/parquet"
MILLION = "1000000/parquet"
NAMES = {"duckdb": "DuckDB", "polars": "Polars", "spark": "Spark"}


def merges(group: str, what: str) -> tuple[Goal, ...]:
    """Changes into ten million rows, on each engine, against the merge by hand."""
    by_hand = {"delta-rs-by-hand": "delta-rs merge by hand", "delta-merge-by-hand": "Delta MERGE by hand"}
    return tuple(
        Goal(
            f"{group.replace('%', '')}-{engine}",
            f"{what} into 10M, {NAMES[engine]} / {by_hand[base]}",
            1.10,
            ratio("merge", f"10000000-{group}", f"lakelogic-{engine}", base),
            unit="×",
        )
        for engine, base in MERGES_BY_HAND.items()
    )


GOALS: tuple[Goal, ...] = (
    Goal(
        "spark-io",
        "Spark, 10M, both tables committed / reading and writing alone",
        2.5,
        ratio("engines", f"{BIG}/spark", "lakelogic", "io"),
        unit="×",
    ),
    Goal(
        "spark-io-keyed",
        "the same with a keyed mask",
        3.3,
        ratio("engines", f"{BIG}/spark", "lakelogic-keyed-mask", "io"),
        unit="×",
    ),
    Goal(
        "duckdb-hand",
        "DuckDB, 10M / job by hand",
        1.10,
        ratio("engines", f"{BIG}/duckdb", "lakelogic", "hand"),
        unit="×",
    ),
    Goal(
        "polars-hand",
        "Polars, 10M / job by hand",
        1.10,
        ratio("engines", f"{BIG}/polars", "lakelogic", "hand"),
        unit="×",
    ),
    Goal(
        "spark-hand",
        "Spark, 10M / job by hand",
        1.10,
        ratio("engines", f"{BIG}/spark", "lakelogic", "hand"),
        unit="×",
    ),
    Goal(
        "duckdb-io",
        "DuckDB, 10M / reading and writing alone",
        2.5,
        ratio("engines", f"{BIG}/duckdb", "lakelogic", "io"),
        unit="×",
    ),
    Goal(
        "polars-io",
        "Polars, 10M / reading and writing alone",
        2.8,
        ratio("engines", f"{BIG}/polars", "lakelogic", "io"),
        unit="×",
    ),
    Goal("duckdb-memory", "peak memory at 10M, DuckDB", 1.0, memory("duckdb"), unit=" GB"),
    Goal("polars-memory", "peak memory at 10M, Polars", 3.0, memory("polars"), unit=" GB"),
    Goal("spark-memory", "peak memory of Spark's driver (Python), 10M / 1M", 1.15, _flat, unit="×"),
    Goal(
        "old-polars",
        "lakelogic 1.84 / ours, 1M, Polars",
        6.0,
        ratio("peers", f"{MILLION}/polars", "lakelogic-1.84", "lakelogic"),
        below=False,
        unit="×",
    ),
    Goal(
        "old-duckdb",
        "lakelogic 1.84 / ours, 1M, DuckDB",
        1.8,
        ratio("peers", f"{MILLION}/duckdb", "lakelogic-1.84", "lakelogic"),
        below=False,
        unit="×",
    ),
    Goal(
        "old-spark",
        "lakelogic 1.84 / ours, 1M, Spark",
        3.0,
        ratio("peers", f"{MILLION}/spark", "lakelogic-1.84", "lakelogic"),
        below=False,
        unit="×",
    ),
    Goal(
        "dqx",
        "DQX / ours, 1M, Spark",
        2.2,
        ratio("peers", f"{MILLION}/spark", "dqx", "lakelogic"),
        below=False,
        unit="×",
    ),
    Goal(
        "spark-expectations",
        "spark-expectations / ours, 1M, Spark",
        3.0,
        ratio("peers", f"{MILLION}/spark", "spark-expectations", "lakelogic"),
        below=False,
        unit="×",
    ),
    Goal(
        "rules-spark",
        "200 rules / 10 rules, 1M, Spark",
        4.0,
        ratio("rules", f"{MILLION}/spark", "rules-200", "rules-10"),
        unit="×",
    ),
    Goal(
        "rules-polars",
        "200 rules / 10 rules, 1M, Polars",
        10.0,
        ratio("rules", f"{MILLION}/polars", "rules-200", "rules-10"),
        unit="×",
    ),
    Goal("reads", "reads of the source per run (Spark counts records)", 1.0, _reads),
    Goal("help", "`lakelogic --help`", 0.15, figure("start", "start", "help", "cold", "cpu"), unit=" s"),
    Goal(
        "four-duckdb", "4-row run, DuckDB", 0.6, figure("start", "start", "four-rows-duckdb", "cold", "cpu"), unit=" s"
    ),
    Goal("four-spark", "4-row run, Spark", 8.0, figure("start", "start", "four-rows-spark", "cold", "cpu"), unit=" s"),
    Goal(
        "contracts",
        "1,000 contracts: load, compile, plan",
        10.0,
        figure("start", "start", "thousand-contracts", "cold", "cpu"),
        unit=" s",
    ),
    Goal(
        "incremental",
        "100k new rows into 10M / into 100k, append, DuckDB",
        1.3,
        ratio("incremental", "append/duckdb", "into-10000000", "into-100000", "cold"),
        unit="×",
    ),
    Goal(
        "nothing-new",
        "a run with nothing new / 100k new rows, into 10M, DuckDB",
        0.5,
        ratio("incremental", "append/duckdb", "nothing-new", "into-10000000", "cold"),
        unit="×",
    ),
    *(
        goal
        for engine in ENGINES
        for goal in (
            Goal(
                f"explode-{engine}",
                f"one row of 4 times as many elements, {NAMES[engine]}, CPU",
                6.0,
                explosion(engine, "cpu"),
                unit="×",
            ),
            Goal(
                f"explode-{engine}-memory",
                f"one row of 4 times as many elements, {NAMES[engine]}, peak memory",
                6.0,
                explosion(engine, "peak_mb", "total"),
                unit="×",
            ),
        )
    ),
    *merges("merge-1%", "merge of 1 %"),
    *merges("merge-10%", "merge of 10 %"),
    *merges("scd2-5%", "history (SCD2) with 5 % changes"),
)
