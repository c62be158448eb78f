"""Many made-up contracts through several engines, and the figure: agreed, refused, differed."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.contract.reading.load import load
from lakelogic.engines import registry
from lakelogic.engines.base import Engine, Pinned
from lakelogic.errors import ContractError
from lakelogic.parity.compare import Disagreement, difference
from lakelogic.parity.contracts import KEY, Case, make
from lakelogic.parity.outcome import EngineResult, compiled, evaluate, landed, refusal
from lakelogic.parity.shrink import shrink

_LONGEST_SHRINK = 20.0  # seconds spent on one difference
ENGINES = ("duckdb", "polars", "spark")
# A few rows are smaller than the code that Spark would generate for them; small runs are made like this too.
_SPARK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
}


@dataclass(slots=True)
class FailingCase:
    """A difference, with the seed that shows it again and the smallest case that does."""

    seed: int
    difference: Disagreement
    case: Case

    @property
    def rows(self) -> int:
        """How many rows are worth showing."""
        return min(4, int(self.case.rows.num_rows))


@dataclass(slots=True)
class Figure:
    """How a campaign came out."""

    contracts: int = 0
    agreed: int = 0
    refused: int = 0
    differed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    failures: list[FailingCase] = field(default_factory=list)

    def __str__(self) -> str:
        share = f"{100 * self.refused / self.contracts:.1f} %" if self.contracts else "-"
        return (
            f"{self.contracts} contracts: agreed {self.agreed}, refused for the same reason {self.refused} ({share}), "
            f"differed {self.differed}"
        )


def start(names: Sequence[str] = ENGINES) -> list[Engine]:
    """The engines of a campaign; the caller closes them."""
    # A campaign is long: a JVM that compiles what it runs often is worth its slower start.
    spark = {"settings": _SPARK, "fast_start": False}
    return [registry.load(name, **(spark if name == "spark" else {})) for name in names]


def judge(case: Case, engines: Sequence[Engine], seconds: Counter[str] | None = None) -> list[EngineResult] | str:
    """What the engines make of a case; or why the contract is refused before any of them hears of it."""
    try:
        link_schemas = {name: landed(table) for name, table in case.links.items()}
        plan = compiled(load(case.contract), case.rows, link_schemas).plan
    except ContractError as error:
        return refusal(error)
    pinned = {name: Pinned((_kept(name, table),)) for name, table in case.links.items()}
    outcomes = []
    for engine in engines:
        began = time.perf_counter()
        outcomes.append(evaluate(engine, plan, case.rows, pinned))
        if seconds is not None:
            seconds[engine.name] += time.perf_counter() - began  # type: ignore[assignment]
    return outcomes


_files: dict[str, str] = {}


def _kept(name: str, table: pa.Table) -> str:
    """The file of a link, written once for the whole process."""
    if name not in _files:
        folder = tempfile.mkdtemp(prefix="lakelogic-parity-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _files[name] = f"{folder}/{name}.parquet"
        pq.write_table(table, _files[name])
    return _files[name]


def run(
    engines: Sequence[Engine],
    seeds: Iterator[int] | range,
    *,
    tell: Callable[[Figure], None] | None = None,
    shrinking: int = 200,
    most_found: int = 50,
) -> Figure:
    """Judge the contract of every seed on every engine."""
    figure = Figure()
    for seed in seeds:
        case = make(seed)
        figure.contracts += 1
        figure.forms.update(set(case.forms))
        outcomes = judge(case, engines, figure.seconds)
        if isinstance(outcomes, str):
            figure.refused += 1
            figure.reasons[outcomes.split(";")[0]] += 1
        elif (gap := difference(outcomes, KEY)) is None:
            if outcomes[0].refused:
                figure.refused += 1
                figure.reasons[outcomes[0].refused] += 1
            else:
                figure.agreed += 1
        else:
            figure.differed += 1
            if len(figure.failures) < most_found:
                figure.failures.append(_shrunk(seed, case, outcomes, gap, engines, shrinking))
        if tell is not None:
            tell(figure)
    return figure


def _shrunk(
    seed: int, case: Case, outcomes: Sequence[EngineResult], gap: Disagreement, engines: Sequence[Engine], most: int
) -> FailingCase:
    """The difference made small, by the two engines that show it."""
    if not most:
        return FailingCase(seed, gap, case)
    pair = _pair(outcomes, engines)
    until = time.monotonic() + _LONGEST_SHRINK

    def differs(smaller: Case) -> bool:
        if time.monotonic() > until:
            return False
        again = judge(smaller, pair)
        if isinstance(again, str):
            return False
        shown = difference(again, KEY)
        return shown is not None and (shown.what == gap.what or gap.what != "failed")

    small = shrink(case, differs, most)
    again = judge(small, engines)
    shown = difference(again, KEY) if not isinstance(again, str) else None
    return FailingCase(seed, shown or gap, small)


def _pair(outcomes: Sequence[EngineResult], engines: Sequence[Engine]) -> list[Engine]:
    for index, outcome in enumerate(outcomes[1:], 1):
        if outcome.result != outcomes[0].result:
            return [engines[0], engines[index]]
    return [engines[0], engines[-1]]
