"""Two runs of one contract at once whose lease is lost, in every order of their named points.

    python scripts/walk_two_runs.py --engines duckdb --scenes append,merge
    python scripts/walk_two_runs.py --whole          # every combination: more than 19,000 orders

The first run stands still at a point; its lease is taken away, as if it had expired. The second one starts, and stands
still at a point of its own. Then one of them goes on to its end, and after it the other; or the winner, who took the
lease, dies where it stands. Both may fail with an error that says so. Whatever they did, one more run must heal it:
nothing lost, nothing doubled.

Without `--whole`, orders are chosen so that every three of scene, format, the two points, who goes on first, the round
and the other file occur together: with every scene and every format, every pair of points is among them.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
import threading
import time
from dataclasses import astuple, dataclass
from typing import Any

from covering import covering
from walk_faults import FORMATS, SCENE, Scene, Walk, World

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.reading.load import load
from lakelogic.engines import registry
from lakelogic.errors import LakeLogicError
from lakelogic.ledger.store import open_ledger
from lakelogic.run import faults
from lakelogic.run.places import places

_PATIENCE = 60.0
ANOTHER = "x.csv"
_ROWS = "id,amount,day\n7,2.00,2026-01-04\n8,nothing,2026-01-04\n"
# Scenes that read every file once; the others read one file, and another beside it changes nothing.
_READS_ALL = ("append", "merge", "scd2")


@dataclass(frozen=True)
class Order:
    """Where the two runs stand when the lease is gone, and which of them goes on first."""

    engine: str
    scene: str
    format: str
    first: str
    second: str
    leads: str  # first, second
    round: int
    lands: bool = False  # another file lands before the second run starts, so that it has another batch
    dies: bool = False  # the second run, which took the lease over, goes no further

    def __str__(self) -> str:
        return (
            f"{self.engine} {self.scene} {self.format}: first at {self.first}, second at {self.second}, "
            f"{self.leads} goes on first, in run {self.round + 1}{' with another file' if self.lands else ''}"
            f"{', the second dies' if self.dies else ''}"
        )


class Standing:
    """A run in a thread of its own, which stands still at a point until it may go on."""

    def __init__(self, world: World, point: str, *, dies: bool = False) -> None:
        self._world, self._point, self._dies = world, point, dies
        self._stands, self._may_go = threading.Event(), threading.Event()
        self.outcome = ""
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Until the point is reached, or the run has ended before it."""
        self._thread.start()
        if not self._stands.wait(_PATIENCE):
            raise TimeoutError(f"{self._point} was not reached")

    def go_on(self) -> None:
        self._may_go.set()
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            self.outcome = self._world.run(self._wait)
        except faults.InjectedFault:
            self.outcome = "died"
        except LakeLogicError as error:
            self.outcome = f"{type(error).__name__}: {error.message}"
        except Exception as error:  # noqa: BLE001 - told by the walk
            self.outcome = f"UNEXPECTED {error!r}"
        self._stands.set()

    def _wait(self, point: str) -> None:
        if point == self._point and not self._stands.is_set():
            self._stands.set()
            self._may_go.wait(_PATIENCE)
            if self._dies:
                raise faults.InjectedFault(point)


def lose_the_lease(world: World) -> None:
    """What a lease that expired looks like: anybody may take it."""
    catalog = LocalCatalog(world.folder / "lakelogic_warehouse", world.folder)
    target = places(load(world.folder / "contract.yaml").contract, catalog).target_location
    with open_ledger(catalog.ledger_url()) as ledger:
        held = ledger.lease(target)
        if held is not None:
            ledger.release(held)


def _with_another(order: Order) -> str:
    """The scene in which the other file was there from the beginning of the round."""
    name = f"{order.scene} and another file in run {order.round + 1}"
    if name not in SCENE:
        scene = SCENE[order.scene]
        rounds = [dict(files) for files in scene.rounds]
        rounds[order.round][ANOTHER] = _ROWS
        SCENE[name] = Scene(name, scene.contract, (rounds[0], rounds[1]))
    return name


def play(walk: Walk, order: Order) -> str | None:
    """What went wrong, or None."""
    expected = walk.expected(order.engine, _with_another(order) if order.lands else order.scene, order.format)
    with walk.world(order.engine, order.scene, order.format) as world:
        world.lay_out()
        for number in range(2):
            world.land(number)
            if number == order.round:
                first, second = Standing(world, order.first), Standing(world, order.second, dies=order.dies)
                first.start()
                lose_the_lease(world)
                if order.lands:
                    (world.folder / "landing" / ANOTHER).write_text(_ROWS)
                second.start()
                lose_the_lease(world)
                for run in (first, second) if order.leads == "first" else (second, first):
                    run.go_on()
                for run in (first, second):
                    if run.outcome.startswith("UNEXPECTED") or not run.outcome:
                        return f"a run ended as {run.outcome or 'never'}"
                lose_the_lease(world)
            try:
                world.run()
            except LakeLogicError as error:
                return f"the next run failed: {error}"
        if (again := world.run()) != "no_new_data":
            return f"one more run ended as {again}"
        found = world.found()
    compared = ("good", "bad", "seen", "open intent", *(() if order.lands or order.dies else ("runs",)))
    return next(
        (f"{w} differs:\n  expected {expected[w]}\n  found    {found[w]}" for w in compared if expected[w] != found[w]),
        None,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engines", default="duckdb,polars")
    parser.add_argument("--scenes", default=",".join(SCENE))
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--points", default=",".join(faults.POINTS))
    parser.add_argument("--whole", action="store_true", help="every order, not only every three together")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # thousands of quarantined rows and lost leases, all of them on purpose
    points = asked.points.split(",")
    chosen = [
        Order(*parts)
        for parts in itertools.product(
            asked.engines.split(","), asked.scenes.split(","), asked.formats.split(","), points, points,
            ("first", "second"), (0, 1), (False, True), (False, True),
        )
        if parts[1] in _READS_ALL or not parts[7]
    ]  # fmt: skip
    if not asked.whole:
        engines = dict.fromkeys(order.engine for order in chosen)
        chosen = [order for name in engines for order in covering([o for o in chosen if o.engine == name], astuple)]
    started: dict[str, Any] = {}

    def engine_of(name: str) -> Any:
        if name not in started:
            started[name] = registry.load(name)
        return started[name]

    walk, began, failed = Walk(engine_of), time.monotonic(), 0
    for number, order in enumerate(chosen, 1):
        if (trouble := play(walk, order)) is not None:
            failed += 1
            print(f"FAILED {order}\n  {trouble}", flush=True)
        if number % 25 == 0:
            print(
                f"{number - failed} of {number} held ({len(chosen)} in all), {time.monotonic() - began:.0f} s",
                flush=True,
            )
    print(f"{len(chosen) - failed} of {len(chosen)} orders of two runs held, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
