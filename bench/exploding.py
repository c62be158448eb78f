"""Rows that explode: one landed row with many elements, of which a hundredth are bad; four times as many beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import results
from bench.cases import FULL_COMPILER
from bench.environments import home
from bench.harness import Case, describe, measure, say
from bench.parity import ParityError
from bench.parts import Wanted

VERSION = 1
SIZES = (100_000, 400_000)
BAD = 100  # one element of so many


def _landed(size: int) -> Path:
    """One row; the elements are numbers, and bad ones are negative."""
    file = home() / f"explode-v{VERSION}" / f"{size}.ndjson"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        items = ",".join(str(-at - 1 if at % BAD == 0 else at) for at in range(size))
        file.write_text(f'{{"id": 1, "items": [{items}]}}\n')
    return file


def _counted(size: int) -> Callable[[dict[str, Any]], None]:
    def judge(told: dict[str, Any]) -> None:
        wanted = (size - size // BAD, size // BAD)
        if (told["good_rows"], told["bad_rows"]) != wanted:
            raise ParityError(f"{told['good_rows']} good and {told['bad_rows']} bad elements; {wanted} are right.")

    return judge


def explode(wanted: Wanted) -> None:
    """The same row with more and more elements, on each engine."""
    for turn in range(wanted.rounds):
        for engine in wanted.engines:
            for size in SIZES:
                key = f"explode/one-row/{engine}/elements-{size}/{turn}"
                if wanted.store.has(key):
                    continue
                case = Case(f"elements-{size}", engine, "explodes", variables=FULL_COMPILER)
                job = {"module": "explodes", "engine": engine, "times": 1, "alone": True, "source": str(_landed(size))}
                record = measure(case, job, _counted(size))
                wanted.store.put(key, record)
                say(f"{key}: {describe(record)}")
    results.save("explode", results.summarise(wanted.store, "explode"))
