"""One task of an orchestrator: a pass of lakelogic-driver over some layers, and what its exit code means.

Copy it beside the template that you use. It needs nothing but Python and `lakelogic-driver` on the PATH.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

LAYERS = ("reference", "bronze", "silver", "gold")
# 4: infrastructure, 5: blocked by a lease, an approval or a stale upstream. Trying again later can help.
RETRY = (4, 5)
# 1: data, 2: usage or contract, 3: a part was done, 6: rows do not add up. A person has to look.
MEANING = {
    1: "data broke the contract",
    2: "a contract or an option is wrong",
    3: "a part was done and a part was not; the summary says which",
    4: "infrastructure; safe to try again",
    5: "blocked: approval needed, upstream stale, or a lease is held",
    6: "rows do not add up: a person must look",
}


class TryLater(RuntimeError):
    """The pass may go better later."""


class LookAtIt(RuntimeError):
    """No retry can mend it."""


def command(layers: Sequence[str] = LAYERS, more: Sequence[str] = ()) -> list[str]:
    """The command of a pass; places come from the environment, so that one template serves all stages."""
    root = os.environ.get("LAKELOGIC_CONTRACTS", "contracts")
    logs = os.environ.get("LAKELOGIC_LOGS", "logs")
    return [
        "lakelogic-driver",
        "--registry", f"{root}/_registry.yaml",
        "--layers", ",".join(layers),
        "--window", "last_success",
        "--retries", "2",
        "--summary-path", f"{logs}/summary_{'_'.join(layers)}.json",
        "--runs-path", f"{logs}/runs.jsonl",
        *more,
    ]  # fmt: skip


def run_pass(layers: Sequence[str] = LAYERS, more: Sequence[str] = ()) -> None:
    """Run a pass to its end; the orchestrator's signal to end reaches the driver, which then ends in order."""
    code = subprocess.run(command(layers, more), check=False).returncode
    if code == 0:
        return
    told = f"lakelogic-driver ended with {code}: {MEANING.get(code, 'it was interrupted')}"
    raise (TryLater if code in RETRY or code not in MEANING else LookAtIt)(told)
