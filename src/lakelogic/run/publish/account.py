"""The account of a run, as people and the ledger read it: what was read, what became of it, and what proves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakelogic.run.phases import GatedRun
from lakelogic.run.publish import digests


def account(run: GatedRun, applied: Mapping[str, int]) -> dict[str, Any]:
    """Every row that was read, by what became of it, with the counts that were taken apart from one another.

    `evidence` is where counts came from: what the scan itself saw, what the footers of staged files hold, what the
    strategy did to the table. `digests` add up what both sides hold, in any order.
    """
    counts, staged = run.counts, run.staged
    return {
        "read": counts.source,
        **{name: value for name, value in counts.as_dict().items() if name != "source"},
        "applied": dict(applied),
        "evidence": {
            "scanned": staged.scanned,
            "good_in_footers": sum(file.rows for file in staged.good),
            "bad_in_footers": sum(file.rows for file in staged.bad),
        },
        "digests": digests_of(run),
    }


def digests_of(run: GatedRun) -> dict[str, str]:
    """What both sides add up to: the same for the same batch, however often it is tried, and on every engine."""
    return {"good": str(run.measured.get("digest", "")), "quarantined": digests.of_total(run.bad.ids.total)}


def as_lines(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The account as rows of a table for people: a sum, its parts by step, and what proves it."""
    lines = [("read", str(told.get("read", "")))]
    lines += [(f"  {name}", str(told[name])) for name in ("good", "quarantined") if name in told]
    for kind in ("filtered", "deduplicated", "grouped", "expanded"):
        sign = "-" if kind == "expanded" else ""
        lines += [(f"  {kind} by {step}", f"{sign}{count}") for step, count in (told.get(kind) or {}).items() if count]
    lines += [(f"table: {name.replace('_', ' ')}", str(count)) for name, count in (told.get("applied") or {}).items()]
    lines += [
        (f"counted: {name.replace('_', ' ')}", str(count))
        for name, count in (told.get("evidence") or {}).items()
        if count is not None
    ]
    lines += [(f"digest of {name}", text) for name, text in (told.get("digests") or {}).items() if text]
    return lines
