"""What somebody can do next, told where a run ends otherwise than with a published table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def after_gate(contract: str, run_id: str | None, good: int, bad: int) -> str:
    """Behind a closed gate: look at what is wrong, then decide."""
    look = f"`lakelogic quarantine list {contract}` shows the bad rows" if bad else ""
    if good and run_id:
        decide = f"`lakelogic approve {run_id}` publishes the good rows, with --discard it gives them up"
    else:
        decide = "mend the source or the contract, and run again"
    return f"Next: {'; '.join(part for part in (look, decide) if part)}."


def after_failure(error: Mapping[str, Any] | None) -> str | None:
    """The hint of an error that ended a run; None where it has none."""
    hint = (error or {}).get("hint")
    return f"Hint: {hint}" if hint else None
