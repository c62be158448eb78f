"""`python -m lakelogic.parity N [SEED] [ENGINES]`: a campaign from the command line, with progress and the figure."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from lakelogic.parity.campaign import ENGINES, FailingCase, Figure, run, start
from lakelogic.parity.canonical import canonical
from lakelogic.parity.folder import write


def main() -> int:
    """Exit 1 when anything differed."""
    parser = argparse.ArgumentParser(prog="python -m lakelogic.parity", description="Do the engines mean the same?")
    parser.add_argument("contracts", type=int, nargs="?", default=500, help="how many contracts")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; the others follow")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which engines, parted by commas")
    parser.add_argument("--folder", help="where the smallest cases of differences are written, as conformance folders")
    parser.add_argument("--shrink", type=int, default=200, help="trials per difference to make it small")
    parser.add_argument("--most", type=int, default=50, help="how many differences are made small and shown")
    wanted = parser.parse_args()
    engines = start(wanted.engines.split(","))
    began = time.monotonic()

    shown = 0

    def tell(figure: Figure) -> None:
        nonlocal shown
        for example in figure.failures[shown:]:
            _show(example)
        shown = len(figure.failures)
        if figure.contracts % 50 == 0:
            spent = time.monotonic() - began
            left = spent / figure.contracts * (wanted.contracts - figure.contracts)
            sys.stderr.write(f"{figure} | {spent:.0f} s, about {left:.0f} s to go\n")
            sys.stderr.flush()

    try:
        seeds = range(wanted.seed, wanted.seed + wanted.contracts)
        figure = run(engines, seeds, tell=tell, shrinking=wanted.shrink, most_found=wanted.most)
    finally:
        for engine in engines:
            engine.close()
    _report(figure, wanted.engines, wanted.seed, time.monotonic() - began)
    if wanted.folder:
        for example in figure.failures:
            write(example.case, Path(wanted.folder) / f"seed-{example.seed}", str(example.difference))
    return 1 if figure.differed else 0


def _show(example: FailingCase) -> None:
    out = sys.stdout.write
    out(f"\n== seed {example.seed}\n{example.difference}\n")
    for part in ("transformations", "quality", "model", "schema_policy"):
        if example.case.contract.get(part):
            out(f"  {part}: {example.case.contract[part]}\n")
    rows = [{name: canonical(column)[row] for name, column in _columns(example)} for row in range(example.rows)]
    out(f"  rows: {rows}\n")
    sys.stdout.flush()


def _columns(example: FailingCase) -> list[tuple[str, Any]]:
    return list(zip(example.case.rows.column_names, example.case.rows.columns, strict=True))


def _report(figure: Figure, engines: str, seed: int, seconds: float) -> None:
    out = sys.stdout.write
    out(f"\n{figure}\n")
    out(f"engines {engines}, seeds {seed} to {seed + figure.contracts - 1}, {seconds:.0f} s\n")
    per = ", ".join(
        f"{name} {1000 * spent / max(1, figure.contracts):.0f} ms" for name, spent in figure.seconds.items()
    )
    out(f"per contract: {per}\n")
    for reason, count in figure.reasons.most_common(8):
        out(f"  refused {count}: {reason}\n")
    out(f"{len(figure.forms)} different forms of SQL and steps were used\n")


if __name__ == "__main__":
    sys.exit(main())
