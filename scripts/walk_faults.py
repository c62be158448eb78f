"""Disturb runs at every named point of the protocol, run again, and compare with runs that nobody disturbed.

    python scripts/walk_faults.py                         # every engine, scene, format, point and kind
    python scripts/walk_faults.py --whole                 # and every combination of them on Spark too (hours)
    python scripts/walk_faults.py --engines duckdb --scenes merge,scd2 --kinds kill
    python scripts/walk_faults.py --keep walk.jsonl --page docs/concepts/nothing-lost.md

Starting over on Spark takes seconds: without `--whole`, as many cells are walked there as it takes for every three of
scene, format, point, kind and run to occur together. The other engines are walked whole.

With `--keep`, what held is remembered: a walk that was stopped goes on, several walks share one file, and the page is
written from all of it.

A *scene* is a contract with two rounds of landed files. In a *cell* one of the two runs is disturbed at one point by
one kind of fault. Then everything is run to its end, and good rows, quarantine, progress and counts must be those of
the undisturbed scene; one more run must find nothing to do.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml
from covering import covering

from lakelogic import clock
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.reading.load import load
from lakelogic.engines import registry
from lakelogic.errors import Blocked, LakeLogicError, SourceError
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults
from lakelogic.run.contract_run import run
from lakelogic.run.places import places
from lakelogic.run.request import ContractRequest
from lakelogic.tables.registry import load as load_tables

ENGINES = ("duckdb", "polars", "spark")
# Beside the faults themselves: the input is gone when the next run comes, and rows would be judged otherwise by then.
KINDS = (*faults.KINDS, "gone", "flip")
STAGED = faults.POINTS[faults.POINTS.index("after_staged_record") :]
NOON = datetime(2026, 1, 4, 12, tzinfo=UTC)
FORMATS = ("delta", "parquet", "iceberg")
TARGET = "shop.silver.orders"
ROUNDS = 2
# What tells one attempt from another, and may differ between them.
STAMPS = {
    "_lakelogic_processed_at", "_lakelogic_run_id", "_lakelogic_created_at", "_lakelogic_source", "_lakelogic_batch_id",
    "_lakelogic_row_id", "_lakelogic_raw", "_lakelogic_deleted_at", "_lakelogic_settled_at", "_lakelogic_settled_by",
    "_lakelogic_claim",
}  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """A contract without its format, and the files that land before each of its two runs."""

    name: str
    contract: str
    rounds: tuple[dict[str, str], dict[str, str]]


_MODEL = """
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: "decimal(10,2)", min: 0}
    - {name: day, type: date}
"""
_FIRST = "id,amount,day\n1,10.00,2026-01-01\n2,-5,2026-01-01\n3,abc,2026-01-02\n4,7.50,2026-01-02\n,1,2026-01-02\n"
_SECOND = "id,amount,day\n4,8.00,2026-01-03\n5,1.00,2026-01-03\n6,oops,2026-01-03\n1,10.00,2026-01-01\n"
_NEW_FILES = ({"a.csv": _FIRST}, {"b.csv": _SECOND})
_SAME_FILE = ({"a.csv": _FIRST}, {"a.csv": _SECOND})
_CDC = "op,id,amount,day\n"

SCENES = (
    Scene("append", "source: {path: landing/*.csv, load_mode: incremental}" + _MODEL
          + "materialization: {strategy: append}", _NEW_FILES),
    Scene("overwrite", "source: {path: landing/a.csv}" + _MODEL + "materialization: {strategy: overwrite}", _SAME_FILE),
    Scene("partitions", "source: {path: landing/a.csv}" + _MODEL
          + "materialization: {strategy: overwrite, partition_by: [day], overwrite_scope: partitions}", _SAME_FILE),
    Scene("merge", "source: {path: landing/*.csv, load_mode: incremental}" + _MODEL
          + "materialization: {strategy: merge, primary_key: [id], sequence_by: day}", _NEW_FILES),
    Scene("scd2", "source: {path: landing/*.csv, load_mode: incremental}" + _MODEL
          + "materialization: {strategy: scd2, primary_key: [id], "
          "scd2: {timestamp_field: day, track_columns: [amount]}}", _NEW_FILES),
    Scene("cdc", "source: {path: landing/*.csv, load_mode: cdc, cdc_op_field: op, cdc_delete_values: [D], "
          "cdc_timestamp_field: day}\nprimary_key: [id]" + _MODEL + "    - {name: op, type: string}\n"
          + "materialization: {target_path: x}",
          ({"a.csv": _CDC + "I,1,10.00,2026-01-01\nI,2,2.00,2026-01-01\nI,3,abc,2026-01-01\n"},
           {"b.csv": _CDC + "D,1,10.00,2026-01-02\nU,2,3.00,2026-01-02\nI,4,-1,2026-01-02\nD,9,1.00,2026-01-02\n"})),
    Scene("snapshot", "source: {path: landing/a.csv}" + _MODEL
          + "materialization: {strategy: snapshot_reconcile, primary_key: [id], "
          "deletion: {strategy: snapshot_reconcile, max_delete_ratio: 1}}", _SAME_FILE),
)  # fmt: skip
SCENE = {scene.name: scene for scene in SCENES}
# Verdicts by the clock: what is fresh at noon is not a minute later.
_FRESH = "id,amount,seen_at\n1,1.00,2026-01-04T11:59:55Z\n2,1.00,2026-01-04T09:00:00Z\n3,-1,2026-01-04T11:59:50Z\n"
FRESH = Scene(
    "fresh",
    "source: {path: landing/*.csv, load_mode: incremental}"
    + _MODEL.replace("name: day, type: date", "name: seen_at, type: timestamp")
    + "quality: {row_rules: [{freshness: {field: seen_at, max_age: 20s}}]}\nmaterialization: {strategy: append}",
    ({"a.csv": _FRESH}, {"b.csv": _FRESH.replace("\n1,", "\n11,")}),
)
SCENE["fresh"] = FRESH


@dataclass(frozen=True)
class Cell:
    """One disturbance: in which scene, on what, where, how, and in which of the two runs."""

    engine: str
    scene: str
    format: str
    point: str
    kind: str
    round: int

    def __str__(self) -> str:
        return f"{self.engine} {self.scene} {self.format}: {self.kind} {self.point} in run {self.round + 1}"


@dataclass
class World:
    """A folder in which a scene is played."""

    folder: Path
    scene: Scene
    format: str
    engine: Any = None
    engine_name: str = ""
    told: list[str] = field(default_factory=list)
    now: datetime | None = None  # a clock that stands; None for that of the machine

    def contract(self) -> dict[str, Any]:
        written: dict[str, Any] = yaml.safe_load(self.scene.contract)
        written["dataset"] = "orders"
        written["layer"] = "silver"
        written["materialization"] |= {"target_path": TARGET, "format": self.format}
        return written

    def lay_out(self) -> None:
        (self.folder / "landing").mkdir(parents=True)
        (self.folder / "contract.yaml").write_text(yaml.safe_dump(self.contract()))

    def land(self, number: int) -> None:
        for name, text in self.scene.rounds[number].items():
            (self.folder / "landing" / name).write_text(text)

    def run(self, watcher: faults.Watcher | None = None) -> str:
        """Run the contract in this process; the status of the result."""
        catalog = LocalCatalog(self.folder / "lakelogic_warehouse", self.folder)
        ledger = open_ledger(catalog.ledger_url())
        usual, stands = clock.now, self.now or (NOON if self.scene is FRESH else None)
        if stands is not None:
            clock.now = lambda: stands  # type: ignore[assignment]
        try:
            job = ContractRequest(load(self.folder / "contract.yaml"), self.engine, catalog, ledger)
            with faults.watched(watcher or (lambda _: None)):
                return str(run(job).status)
        finally:
            clock.now = usual
            ledger.close()

    def found(self) -> dict[str, Any]:
        """What there is in the end: rows of both tables without stamps, progress, and the counts of published runs."""
        catalog = LocalCatalog(self.folder / "lakelogic_warehouse", self.folder)
        loaded = load(self.folder / "contract.yaml")
        where = places(loaded.contract, catalog)
        with open_ledger(catalog.ledger_url()) as ledger:
            seen = sorted((Path(path).name, size) for path, size, _ in ledger.seen("orders"))
            done = [r for r in ledger.runs("orders", limit=100) if r.status == "succeeded"]
            watermark = ledger.watermark("orders")
            left = ledger.open_intent("orders")
        return {
            "good": _rows(self.format, where.target_location),
            "bad": _rows("delta", where.quarantine_location),
            "seen": seen,
            "runs": sorted((r.counts_source, r.counts_good, r.counts_quarantined) for r in done),
            "watermark": watermark,
            "open intent": left is not None,
        }


def _rows(table_format: str, location: str) -> list[str]:
    state = load_tables(table_format).state(location)
    rows: list[dict[str, Any]] = []
    for path in state.files if state else ():
        parts = dict(state.parts.get(path, {})) if state else {}
        rows += [{**row, **parts} for row in pq.ParquetFile(path).read().to_pylist()]
    # A column that came later is NULL in files from before, or not there.
    # Files may hold more than the table has: what a row carried on its way.
    told = [
        {k: v for k, v in row.items() if k not in STAMPS and v is not None and not k.startswith("~")} for row in rows
    ]
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in told)


def undisturbed(world: World) -> dict[str, Any]:
    """The scene from beginning to end."""
    world.lay_out()
    for number in range(ROUNDS):
        world.land(number)
        status = world.run()
        if status != "succeeded":
            raise SystemExit(f"The undisturbed scene {world.scene.name} on {world.engine_name} is {status}.")
    return world.found()


def disturbed(world: World, cell: Cell) -> str | None:
    """Play the scene with one disturbance; what went wrong, or None."""
    world.lay_out()
    for number in range(ROUNDS):
        world.land(number)
        if number == cell.round and (trouble := _disturb(world, cell)) is not None:
            return trouble
        status = world.run()
        if status not in ("succeeded", "no_new_data"):
            return f"run {number + 1} ended as {status}"
    again = world.run()
    return None if again == "no_new_data" else f"one more run ended as {again}"


def _disturb(world: World, cell: Cell) -> str | None:
    if cell.kind == "kill":
        return _killed(world, cell)
    if cell.kind == "stall":
        return _stalled(world, cell)

    def strike(point: str) -> None:
        if point == cell.point:
            faults.strike(point, "raise" if cell.kind in ("gone", "flip") else cell.kind)

    try:
        world.run(strike)
    except (faults.InjectedFault, LakeLogicError) as error:
        if cell.point not in str(error):
            return f"another error than the injected one: {error}"
        return _changed(world, cell)
    return "the point was never reached"


def _changed(world: World, cell: Cell) -> str | None:
    """The world is another one when the next run comes; then it is as it was."""
    if cell.kind == "flip":
        world.now = NOON + timedelta(minutes=1)
        world.run()
        world.now = None
    if cell.kind == "gone":
        landed, aside = world.folder / "landing", world.folder / "aside"
        landed.rename(aside)
        landed.mkdir()
        with suppress(SourceError):  # there is nothing to read; what was staged before was seen to first
            world.run()
        landed.rmdir()
        aside.rename(landed)
        where = places(load(world.folder / "contract.yaml").contract, _catalog(world))
        if cell.point in STAGED and load_tables(cell.format).state(where.target_location) is None:
            return "what was staged is not published, though it needs no input"
    return None


def _catalog(world: World) -> LocalCatalog:
    return LocalCatalog(world.folder / "lakelogic_warehouse", world.folder)


def _killed(world: World, cell: Cell) -> str | None:
    # A Spark of its own dies with the process in one scene. Starting a JVM for each kill takes hours, so in the others
    # the killed process shares that of the walk, which lives on.
    whole = cell.engine == "spark" and (cell.scene, cell.format) == ("append", "delta")
    code = _in_process(world, cell) if whole else _in_fork(world, cell)
    return None if code == -9 else f"the process was not killed, its exit code is {code}"


def _in_process(world: World, cell: Cell) -> int:
    command = [sys.executable, "-m", "lakelogic", "run", "contract.yaml", "--engine", cell.engine]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_FAULT")}
    environment = {**kept, "LAKELOGIC_FAULT": f"{cell.point}:kill"}
    return subprocess.run(
        command, cwd=world.folder, env=environment, capture_output=True, timeout=300, check=False
    ).returncode


def _in_fork(world: World, cell: Cell) -> int | None:
    """A process of its own that has everything imported already: a kill costs no start-up."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([
        "duckdb", "polars", "deltalake", "lakelogic.run.processor", "pyarrow.parquet", "pyspark.sql",
        "lakelogic.engines.spark",
    ])  # fmt: skip
    place = str(world.folder), world.scene.name, cell.format
    process = context.Process(target=run_to_death, args=(*place, cell, _gateway(world.engine)))
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        process.join()
        return None
    return process.exitcode


def _gateway(engine: Any) -> tuple[str, str] | None:
    """Port and secret of the JVM behind a Spark engine."""
    if engine.name != "spark":
        return None
    parameters = engine.session._sc._gateway.gateway_parameters
    return str(parameters.port), parameters.auth_token


def _join_jvm(port: str, secret: str) -> None:
    """Make the JVM of another process the one that this process has started."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from lakelogic.engines.spark import session

    os.environ |= {"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}
    gateway = launch_gateway()
    spark: Any = gateway.jvm.org.apache.spark
    java_context = spark.api.java.JavaSparkContext.fromSparkContext(spark.SparkContext.getOrCreate())
    context = SparkContext(gateway=gateway, jsc=java_context, conf=SparkConf(_jconf=java_context.getConf()))
    context.pythonExec = sys.executable
    session._started, session._started_local = SparkSession(context), True


def run_to_death(folder: str, scene: str, table_format: str, cell: Cell, jvm: tuple[str, str] | None) -> None:
    """In a process of its own: run until the point is reached, and no further."""
    if jvm is not None:
        _join_jvm(*jvm)
    world = World(Path(folder), SCENE[scene], table_format, registry.load(cell.engine), cell.engine)
    world.run(lambda point: faults.strike(point, "kill") if point == cell.point else None)


def _stalled(world: World, cell: Cell) -> str | None:
    """While one run stands at the point, another comes: it is turned away, and the first one finishes."""
    reached, go_on = threading.Event(), threading.Event()
    outcome: list[str] = []

    def wait(point: str) -> None:
        if point == cell.point:
            reached.set()
            go_on.wait(60)

    def first() -> None:
        try:
            outcome.append(world.run(wait))
        except Exception as error:  # noqa: BLE001 - told by the cell
            outcome.append(repr(error))
            reached.set()

    thread = threading.Thread(target=first)
    thread.start()
    reached.wait(60)
    try:
        second = world.run()
    except Blocked:
        second = "blocked"
    finally:
        go_on.set()
        thread.join(120)
    if outcome != ["succeeded"]:
        return f"the run that stood still ended as {outcome}"
    # What is published can be seen while the first run still stands there.
    is_done = cell.point in ("after_good_commit", "after_ledger")
    expected = ("blocked", "no_new_data") if is_done else ("blocked",)
    return None if second in expected else f"the other run ended as {second}"


def cells(
    engines: Iterable[str], scenes: Iterable[str], formats: Iterable[str], points: Iterable[str], kinds: Iterable[str]
) -> Iterator[Cell]:
    """Every cell of the matrix; answers get lost only where somebody answers."""
    for engine, scene, form, point, kind, number in itertools.product(
        engines, scenes, formats, points, kinds, range(ROUNDS)
    ):
        # Before the staged record nothing was decided: then rows are judged by the clock of the next run.
        if (kind == "flip") != (scene == "fresh") or (kind == "flip" and point not in STAGED):
            continue
        if kind != "lose" or point in faults.ANSWERS:
            yield Cell(engine, scene, form, point, kind, number)


class Walk:
    """Cells are played one by one; scenes that nobody disturbs are played once for all of them."""

    def __init__(self, engine_of: Callable[[str], Any]) -> None:
        self._engine_of = engine_of
        self._known: dict[tuple[str, str, str], dict[str, Any]] = {}

    @contextmanager
    def world(self, engine: str, scene: str, table_format: str) -> Iterator[World]:
        folder = Path(tempfile.mkdtemp(prefix="lakelogic-faults-"))
        try:
            yield World(folder / "w", SCENE[scene], table_format, self._engine_of(engine), engine)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def expected(self, engine: str, scene: str, table_format: str) -> dict[str, Any]:
        key = engine, scene, table_format
        if key not in self._known:
            with self.world(*key) as world:
                self._known[key] = undisturbed(world)
        return self._known[key]

    def play(self, cell: Cell) -> str | None:
        """What went wrong in a cell, or None."""
        expected = self.expected(cell.engine, cell.scene, cell.format)
        with self.world(cell.engine, cell.scene, cell.format) as world:
            try:
                trouble = disturbed(world, cell)
                found = world.found()
            except LakeLogicError as error:
                return f"the next run failed: {error}"
        if trouble is not None:
            return trouble
        return next((f"{what} differs:\n  expected {expected[what]}\n  found    {found[what]}"
                     for what in expected if expected[what] != found[what]), None)  # fmt: skip


def sample(chosen: Sequence[Cell], engine: str) -> list[Cell]:
    """Of an engine, every point with every kind at least once, the scenes and formats taking turns."""
    mine = [cell for cell in chosen if cell.engine == engine]
    wanted = sorted({(cell.point, cell.kind) for cell in mine})
    picked = []
    for number, (point, kind) in enumerate(wanted):
        fitting = [cell for cell in mine if (cell.point, cell.kind) == (point, kind)]
        picked.append(fitting[(number * 5) % len(fitting)])
    return picked


def threes(chosen: Sequence[Cell], engine: str) -> list[Cell]:
    """Of an engine, cells in which every three of scene, format, point, kind and run occur together."""
    return covering([cell for cell in chosen if cell.engine == engine], astuple)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--scenes", default=",".join(SCENE))
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--points", default=",".join(faults.POINTS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--sample", action="store_true", help="every point and kind once per engine")
    parser.add_argument("--whole", action="store_true", help="every cell on Spark too, not only every three together")
    parser.add_argument("--keep", type=Path, help="remember what held in this file, and do not walk it again")
    parser.add_argument("--page", type=Path, help="write the matrix into this page of the documentation")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # thousands of quarantined rows and lost leases, all of them on purpose
    chosen = list(
        cells(*(getattr(asked, name).split(",") for name in ("engines", "scenes", "formats", "points", "kinds")))
    )
    if asked.sample:
        chosen = [cell for engine in asked.engines.split(",") for cell in sample(chosen, engine)]
    elif not asked.whole:
        chosen = [cell for cell in chosen if cell.engine != "spark"] + threes(chosen, "spark")
    started: dict[str, Any] = {}

    def engine_of(name: str) -> Any:
        if name not in started:
            started[name] = registry.load(name)
        return started[name]

    walk, began = Walk(engine_of), time.monotonic()
    held = kept(asked.keep) if asked.keep else set()
    failed: set[Cell] = set()
    for number, cell in enumerate(chosen, 1):
        if cell in held:
            continue
        trouble = walk.play(cell)
        if trouble is None:
            held.add(cell)
            if asked.keep:
                keep(asked.keep, cell)
        else:
            failed.add(cell)
            print(f"FAILED {cell}\n  {trouble}", flush=True)
        if number % 25 == 0:
            spent = time.monotonic() - began
            print(f"{number - len(failed)} of {number} held ({len(chosen)} in all), {spent:.0f} s", flush=True)
    print(f"{len(chosen) - len(failed)} of {len(chosen)} disturbed runs held, {time.monotonic() - began:.0f} s")
    if asked.page:
        # Other walks may have kept theirs in the meantime.
        _write_page(asked.page, held | kept(asked.keep) if asked.keep else held, failed)
    for engine in started.values():
        engine.close()
    return 1 if failed else 0


def kept(file: Path) -> set[Cell]:
    """The cells that held in earlier walks."""
    return {Cell(**json.loads(line)) for line in file.read_text().splitlines()} if file.exists() else set()


def keep(file: Path, cell: Cell) -> None:
    """Remember that a cell held; one short line is one write, so that several walks can share the file."""
    with file.open("a") as lines:
        lines.write(json.dumps(asdict(cell)) + "\n")


_BEGIN, _END = "<!-- matrix: begin -->", "<!-- matrix: end -->"


def _write_page(page: Path, cells_held: set[Cell], cells_failed: set[Cell]) -> None:
    """Put the matrix between its two marks."""
    held = Counter((cell.scene, cell.format, cell.engine, cell.kind) for cell in cells_held)
    tried = held + Counter((cell.scene, cell.format, cell.engine, cell.kind) for cell in cells_failed)
    engines = sorted({key[2] for key in tried})
    kinds = [kind for kind in KINDS if any(key[3] == kind for key in tried)]
    lines = ["| strategy | format | " + " | ".join(f"{e}: {k}" for e in engines for k in kinds) + " |"]
    lines.append("|---|---" + "|---" * (len(engines) * len(kinds)) + "|")
    for scene, form in sorted({key[:2] for key in tried}):
        shown = []
        for engine, kind in itertools.product(engines, kinds):
            key = scene, form, engine, kind
            shown.append(f"{held[key]} of {tried[key]}" if tried[key] else "–")
        lines.append(f"| {scene} | {form} | " + " | ".join(shown) + " |")
    text = page.read_text()
    before, rest = text.split(_BEGIN)
    after = rest.split(_END)[1]
    count = f"**{held.total()} of {tried.total()}**"
    figure = f"{count} disturbed runs ended in the tables of undisturbed ones; – was not walked."
    page.write_text(f"{before}{_BEGIN}\n{figure}\n\n" + "\n".join(lines) + f"\n{_END}{after}")


if __name__ == "__main__":
    sys.exit(main())
