"""Kill runs at random moments, for so many minutes, and compare with a model of a few lines.

    python scripts/walk_chaos.py --minutes 10 --seed 1 --engines duckdb,polars

No point of the protocol is named: a process is killed (SIGKILL) after a random time, in whatever it does just then.
Between kills files land, rows are discarded by people (several times a day), and the ledger is lost. Rows are judged by
a rule that never changes, so whatever was killed, in the end every landed row stands exactly where the model says.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from lakelogic.tables.registry import load as load_tables

FORMATS = ("delta", "parquet", "iceberg")
STRATEGIES = ("append", "merge")
_LIMIT = 50
_LONGEST = 3.0  # seconds; a run of a few rows takes less


@dataclass
class Chaos:
    """A dataset in a folder of its own, what was done to it, and what must be true of it."""

    folder: Path
    engine: str
    strategy: str
    format: str
    chance: random.Random
    done: list[str] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)  # id → amount; an id lands once
    discarded: set[int] = field(default_factory=set)
    kills: int = 0
    files: int = 0

    def lay_out(self) -> None:
        (self.folder / "landing").mkdir(parents=True)
        settings = {"target_path": "shop.silver.orders", "strategy": self.strategy, "format": self.format}
        if self.strategy == "merge":
            settings["primary_key"] = ["id"]  # type: ignore[assignment]
        contract = {
            "dataset": "orders",
            "layer": "silver",
            "source": {"path": "landing/*.csv", "load_mode": "incremental"},
            "model": {"fields": [{"name": "id", "type": "int"}, {"name": "amount", "type": "int", "max": _LIMIT}]},
            "materialization": settings,
        }
        (self.folder / "contract.yaml").write_text(yaml.safe_dump(contract))

    def land(self) -> None:
        self.files += 1
        new = {len(self.rows) + at: self.chance.choice((1, 7, 70, 700)) for at in range(self.chance.randint(1, 40))}
        lines = "".join(f"{one},{amount}\n" for one, amount in new.items())
        staged = self.folder / "landing" / f".{self.files:03}"
        staged.write_text("id,amount\n" + lines)
        staged.rename(staged.with_name(f"{self.files:03}.csv"))
        self.rows |= new
        self.done.append(f"land {len(new)} rows")

    def call(self, *words: str, kill_after: float | None = None) -> int:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "lakelogic", *words], cwd=self.folder,
            env={**kept, "LAKELOGIC_ENGINE": self.engine}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            _, told = process.communicate(timeout=kill_after or 120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.kills += 1
            told = ""
        self.done.append(f"{' '.join(words)}: {process.returncode} {told[-300:] if process.returncode > 0 else ''}")
        return int(process.returncode)

    def run_killed(self) -> None:
        """Most moments are in the protocol: loading modules takes the first part of a run, and is left alone."""
        self.call("run", "contract.yaml", kill_after=self.chance.uniform(0.3, _LONGEST))

    def discard(self) -> str | None:
        """A person takes one waiting row out, to the end; two such acts of a day must not meet."""
        waiting = [row for row in self.quarantined() if row["quarantine_state"] == "active"]
        if not waiting:
            return None
        row = self.chance.choice(waiting)
        words = ("quarantine", "discard", "contract.yaml", "--row", str(row["_lakelogic_row_id"]), "--reason", "chaos")
        if (code := self.call(*words)) != 0:
            return f"a discard ended with {code}"
        self.discarded.add(int(row["id"]))
        return None

    def lose_the_ledger(self) -> None:
        for file in (self.folder / "lakelogic_warehouse" / ".lakelogic").glob("ledger.db*"):
            file.unlink()
        self.done.append("lose the ledger")

    def quarantined(self) -> list[dict[str, object]]:
        return self._table("quarantine/silver_orders", "delta")

    def _table(self, name: str, table_format: str) -> list[dict[str, object]]:
        state = load_tables(table_format).state(str(self.folder / "lakelogic_warehouse" / "shop" / name))
        return [row for path in (state.files if state else ()) for row in pq.ParquetFile(path).read().to_pylist()]

    def trouble(self) -> str | None:
        """How the tables differ from what must be true."""
        good = Counter(row["id"] for row in self._table("silver/orders", self.format))
        bad = Counter(row["id"] for row in self.quarantined() if row["quarantine_state"] == "active")
        out = {row["id"] for row in self.quarantined() if row["quarantine_state"] == "discarded"}
        expected = Counter(one for one, amount in self.rows.items() if amount <= _LIMIT)
        waiting = Counter(one for one, amount in self.rows.items() if amount > _LIMIT and one not in self.discarded)
        for name, wanted, found in (("good", expected, good), ("bad", waiting, bad)):
            if wanted != found:
                return f"{name}: missing {dict(wanted - found)}, too many {dict(found - wanted)}"
        return None if out == self.discarded else f"discarded: {out}, expected {self.discarded}"


def play(
    folder: Path, engine: str, strategy: str, table_format: str, seed: int, acts: int = 8
) -> tuple[str | None, int]:
    """One sequence: what went wrong, with all that was done, or None; and how many processes were killed."""
    chaos = Chaos(folder, engine, strategy, table_format, random.Random(seed))
    chaos.lay_out()
    chaos.land()
    for _ in range(acts):
        what = chaos.chance.choices(("land", "kill", "run", "discard", "lose"), (4, 8, 2, 2, 1))[0]
        trouble = None
        if what == "land":
            chaos.land()
        elif what == "kill":
            chaos.run_killed()
        elif what == "discard":
            trouble = chaos.discard()
        elif what == "lose":
            chaos.lose_the_ledger()
        elif (code := chaos.call("run", "contract.yaml")) not in (0, 4):
            trouble = f"a run ended with {code}"
        if trouble is not None:
            return f"{trouble}\n  " + "\n  ".join(chaos.done), chaos.kills
    last = [chaos.call("run", "contract.yaml"), chaos.call("run", "contract.yaml")]
    found = chaos.trouble() if last == [0, 0] else f"the last runs ended with {last}"
    return (None if found is None else f"{found}\n  " + "\n  ".join(chaos.done)), chaos.kills


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=None, help="the first sequence; another one each time without it")
    parser.add_argument("--engines", default="duckdb,polars")
    asked = parser.parse_args()
    first = asked.seed if asked.seed is not None else int(time.time())
    engines, ends = asked.engines.split(","), time.monotonic() + 60 * asked.minutes
    played = failed = kills = 0
    while time.monotonic() < ends:
        seed = first + played
        engine, strategy = engines[seed % len(engines)], STRATEGIES[seed // 2 % 2]
        form = FORMATS[seed % 3]
        folder = Path(tempfile.mkdtemp(prefix="lakelogic-chaos-"))
        try:
            trouble, killed = play(folder / "w", engine, strategy, form, seed)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        played, kills = played + 1, kills + killed
        if trouble is not None:
            failed += 1
            print(f"FAILED seed {seed}: {engine} {strategy} {form}\n  {trouble}", flush=True)
    print(f"{played - failed} of {played} sequences ended as the model says, after {kills} kills (first seed {first})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
