"""Measure, and write what was measured into docs/performance.md.

    python -m bench small                     what `make bench` does: engines and start-up, a quarter of an hour
    python -m bench full                      what `make bench-full` does: ten million rows, and everything else
    python -m bench engines --rows 100000 --engines duckdb,polars
    python -m bench page                      write the page again from bench/results/*.json

A session that was stopped is taken up where it stopped, as long as the source of LakeLogic is the same.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace

from bench import cases, changes, data, environments, exploding, limits, page, parts, starts
from bench.harness import Store, fingerprint, say
from bench.parts import Wanted

PARTS: dict[str, Callable[[Wanted], None]] = {
    "engines": parts.engines,
    "peers": parts.peers,
    "rules": parts.rules,
    "start": starts.start,
    "incremental": changes.incremental,
    "merge": changes.merge,
    "memory": limits.memory,
    "explode": exploding.explode,
}
SMALL = ("engines", "start")
FULL = tuple(PARTS)
# Only the reference job itself is measured at every size; these have the same answer at a million rows.
AT_A_MILLION = ("peers", "rules")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def main() -> None:
    """Read the command line, measure the parts, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="+", help=f"small, full, page, data, environments, or any of: {', '.join(PARTS)}"
    )
    parser.add_argument("--rows", default="1000000", help="sizes, with commas")
    parser.add_argument("--engines", default=",".join(cases.ENGINES), type=_words)
    parser.add_argument("--formats", default="parquet,csv", type=_words)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--only", default="", type=_words, help="only these cases, by name")
    parser.add_argument("--session", default="", help="a name for the records; default: made from the source")
    said = parser.parse_args()
    store = Store(said.session or fingerprint())
    sizes = tuple(int(size) for size in _words(said.rows))
    wanted = Wanted(sizes, said.engines, said.formats, said.rounds, store, said.only)
    say(f"session {store.folder.name}, load {os.getloadavg()[0]:.1f}")
    for word in said.parts:
        if word == "data":
            for size in sizes:
                say(f"{data.ensure(size, said.formats)}")
        elif word == "environments":
            for name in environments.PACKAGES:
                say(f"{name}: {'ready' if environments.build(name) else environments.why_not(name)}")
        elif word in ("small", "full"):
            for part in SMALL if word == "small" else FULL:
                say(f"part {part}")
                asked = replace(wanted, formats=("parquet",)) if word == "small" else wanted
                PARTS[part](replace(asked, rows=(min(sizes),)) if part in AT_A_MILLION else asked)
        elif word == "page":
            pass
        elif word in PARTS:
            PARTS[word](wanted)
        else:
            parser.error(f"there is no part `{word}`")
    page.write()
    say("wrote docs/performance.md")


if __name__ == "__main__":
    main()
