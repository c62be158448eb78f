"""Random sequences of landings, runs, crashes, contract edits and replays, against a model of a few lines.

    python scripts/walk_states.py 200 --seed 1 --engine duckdb

The model knows nothing of batches, commits or recovery. It holds landed rows, judges them by the limit of the contract
at the time, and says which are good and which wait. After every sequence the tables must hold just that.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.reading.load import load
from lakelogic.engines import registry
from lakelogic.errors import LakeLogicError
from lakelogic.ledger.store import open_ledger
from lakelogic.quarantine.queue import Chosen
from lakelogic.run import faults
from lakelogic.run.contract_run import run
from lakelogic.run.places import QUARANTINE_FORMAT, places
from lakelogic.run.replay.replay import replay
from lakelogic.run.request import ContractRequest
from lakelogic.tables.registry import load as load_tables

KEYS = range(1, 7)
LIMITS = (5, 50, 500)
# From here on a crash comes too late to undo anything; a run is finished as soon as its staged record is written.
_PUBLISHED = ("after_good_commit", "after_settling", "after_ledger")
_STAGED = ("after_staged_record", "after_quarantine_commit")


@dataclass(frozen=True)
class Row:
    """A landed row. `at` is unlike that of any other row, so that no two rows of a key are equally new."""

    id: int
    amount: str
    at: int

    def is_good(self, limit: int) -> bool:
        return self.amount.isdigit() and int(self.amount) <= limit


@dataclass
class Model:
    """What must be true, without a word about how."""

    strategy: str
    limit: int = 50
    waiting_files: list[list[Row]] = field(default_factory=list)
    bad: list[Row] = field(default_factory=list)
    appended: list[Row] = field(default_factory=list)
    newest: dict[int, Row] = field(default_factory=dict)
    staged: list[list[Row]] | None = None  # the files of a run that died with its record written
    judged_at: int = 0  # the limit by which it judged them

    def land(self, rows: list[Row]) -> None:
        self.waiting_files.append(rows)

    def die_staged(self) -> None:
        """A run wrote its record and died: its verdicts stand, and whoever comes next publishes them."""
        if self.waiting_files:
            self.staged, self.judged_at, self.waiting_files = self.waiting_files, self.limit, []

    def crash(self, verb: str, point: str) -> None:
        """What a run or a replay has changed for good when it dies at a point."""
        if self.staged is not None and point in ("after_lease", "after_quarantine_commit"):
            return  # the batch that was staged before is not published yet, and nothing comes before it
        if self.staged is not None and point in _PUBLISHED:
            self.recover()
            return
        if point != "after_lease":
            self.recover()
        if verb == "replay":
            self.replay() if point in _PUBLISHED else None
        elif point in _STAGED:
            self.die_staged()
        elif point in _PUBLISHED and self.waiting_files:  # a run that finds nothing new comes to no point
            self.run()

    def lose_the_ledger(self) -> None:
        """With it goes the record: the files are read again."""
        if self.staged is not None:
            self.waiting_files, self.staged = self.staged + self.waiting_files, None

    def recover(self) -> None:
        if self.staged is None:
            return
        rows = [row for file in self.staged for row in file]
        self.staged = None
        self._publish([row for row in rows if row.is_good(self.judged_at)])
        self.bad += [row for row in rows if not row.is_good(self.judged_at)]

    def run(self) -> None:
        self.recover()
        rows = [row for file in self.waiting_files for row in file]
        self.waiting_files = []
        self._publish([row for row in rows if row.is_good(self.limit)])
        self.bad += [row for row in rows if not row.is_good(self.limit)]

    def replay(self) -> None:
        self.recover()
        self._publish([row for row in self.bad if row.is_good(self.limit)])
        self.bad = [row for row in self.bad if not row.is_good(self.limit)]

    def _publish(self, rows: list[Row]) -> None:
        self.appended += rows
        for row in rows:
            known = self.newest.get(row.id)
            if known is None or row.at >= known.at:
                self.newest[row.id] = row

    @property
    def good(self) -> Counter[tuple[int, int, int]]:
        rows = self.appended if self.strategy == "append" else self.newest.values()
        return Counter((row.id, int(row.amount), row.at) for row in rows)

    @property
    def held(self) -> Counter[tuple[str, str, str]]:
        return Counter((str(row.id), row.amount, str(row.at)) for row in self.bad)


class Machine:
    """The real thing, in a folder of its own."""

    def __init__(self, folder: Path, strategy: str, table_format: str, engine: Any) -> None:
        self.folder, self.strategy, self.format, self.engine = folder, strategy, table_format, engine
        self.files = 0
        (folder / "landing").mkdir(parents=True)
        self.edit(50)

    def edit(self, limit: int) -> None:
        contract = {
            "dataset": "orders",
            "layer": "silver",
            "source": {"path": "landing/*.csv", "load_mode": "incremental"},
            "model": {
                "fields": [
                    {"name": "id", "type": "int", "required": True},
                    {"name": "amount", "type": "int", "max": limit},
                    {"name": "at", "type": "int"},
                ]
            },
            "materialization": {"target_path": "shop.silver.orders", "strategy": self.strategy, "format": self.format},
        }
        if self.strategy == "merge":
            contract["materialization"] |= {"primary_key": ["id"], "sequence_by": "at"}  # type: ignore[operator]
        (self.folder / "contract.yaml").write_text(yaml.safe_dump(contract))

    def land(self, rows: list[Row]) -> None:
        self.files += 1
        lines = "".join(f"{row.id},{row.amount},{row.at}\n" for row in rows)
        (self.folder / "landing" / f"{self.files:03}.csv").write_text("id,amount,at\n" + lines)

    def act(self, what: str, crash: str | None = None) -> None:
        """A run or a replay, which a crash may end early."""

        def strike(point: str) -> None:
            if point == crash:
                raise faults.InjectedFault(point)

        catalog = LocalCatalog(self.folder / "lakelogic_warehouse", self.folder)
        with open_ledger(catalog.ledger_url()) as ledger, faults.watched(strike):
            job = ContractRequest(load(self.folder / "contract.yaml"), self.engine, catalog, ledger)
            try:
                run(job) if what == "run" else replay(job, Chosen())
            except faults.InjectedFault:
                return

    def lose_the_ledger(self) -> None:
        for file in (self.folder / "lakelogic_warehouse" / ".lakelogic").glob("ledger.db*"):
            file.unlink()

    def good(self) -> Counter[tuple[int, int, int]]:
        rows = self._rows("target_location", self.format)
        return Counter((row["id"], row["amount"], row["at"]) for row in rows)

    def held(self) -> Counter[tuple[str, str, str]]:
        rows = [r for r in self._rows("quarantine_location", QUARANTINE_FORMAT) if r["quarantine_state"] == "active"]
        raws = [json.loads(row["_lakelogic_raw"]) for row in rows]
        return Counter((raw["id"], raw["amount"], raw["at"]) for raw in raws)

    def _rows(self, side: str, table_format: str) -> list[dict[str, Any]]:
        catalog = LocalCatalog(self.folder / "lakelogic_warehouse", self.folder)
        where = places(load(self.folder / "contract.yaml").contract, catalog)
        state = load_tables(table_format).state(getattr(where, side))
        return [row for path in (state.files if state else ()) for row in pq.ParquetFile(path).read().to_pylist()]


def play(seed: int, engine: Any, strategy: str, table_format: str) -> str | None:
    """One sequence; what went wrong, with everything that was done, or None."""
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-states-"))
    done: list[str] = []
    try:
        machine, model = Machine(folder / "w", strategy, table_format, engine), Model(strategy)
        clock = 100
        for _ in range(chance.randint(4, 9)):
            what = chance.choices(
                ("land", "run", "crash", "edit", "replay", "crash in replay", "lose the ledger"), (6, 4, 4, 2, 3, 1, 1)
            )[0]
            if what == "land":
                rows = []
                for _ in range(chance.randint(1, 5)):
                    clock += 1
                    # A late row is older than what is there; its number is still its own.
                    at = clock if chance.random() < 0.7 else clock - 100_000
                    rows.append(Row(chance.choice(KEYS), chance.choice(("1", "7", "70", "700", "x", "-")), at))
                machine.land(rows)
                model.land(rows)
                done.append(f"land {rows}")
                continue
            if what == "edit":
                model.limit = chance.choice(LIMITS)
                machine.edit(model.limit)
            elif what == "lose the ledger":
                machine.lose_the_ledger()
                model.lose_the_ledger()
            elif what.startswith("crash"):
                verb = "replay" if "replay" in what else "run"
                point = chance.choice([p for p in faults.POINTS if verb == "run" or p != "after_staged_record"])
                what = f"{what} {point}"
                machine.act(verb, point)
                model.crash(verb, point)
            else:
                machine.act(what)
                getattr(model, what)()
            done.append(what)
        machine.act("run")
        model.run()
        for name in ("good", "held"):
            expected, found = getattr(model, name), getattr(machine, name)()
            if expected != found:
                return f"{name}: missing {expected - found}, too many {found - expected}\n  " + "\n  ".join(done)
    except LakeLogicError as error:
        return f"{error}\n  " + "\n  ".join(done)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sequences", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--strategies", default="append,merge")
    parser.add_argument("--formats", default="delta,parquet,iceberg")
    asked = parser.parse_args()
    engine = registry.load(asked.engine)
    kinds = [(s, f) for s in asked.strategies.split(",") for f in asked.formats.split(",")]
    failed, began = 0, time.monotonic()
    for number in range(asked.sequences):
        strategy, table_format = kinds[number % len(kinds)]
        trouble = play(asked.seed + number, engine, strategy, table_format)
        if trouble is not None:
            failed += 1
            print(f"FAILED seed {asked.seed + number}, {strategy} into {table_format}\n  {trouble}", flush=True)
        if (number + 1) % 20 == 0:
            print(f"{number + 1 - failed} of {number + 1} held, {time.monotonic() - began:.0f} s", flush=True)
    held, took = asked.sequences - failed, time.monotonic() - began
    print(f"{held} of {asked.sequences} sequences ended as the model says, {took:.0f} s")
    engine.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
