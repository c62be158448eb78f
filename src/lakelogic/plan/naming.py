"""How steps find the columns they name, and how they are called in counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lakelogic.plan.state import State
from lakelogic.sql.problems import NO_COLUMN, nearest_or_all


def step_name(step: Any, path: str) -> str:
    """How the step is called in counts: its name, or its kind and place."""
    return str(step.name or f"{step.kind}_{path.removeprefix('transformations[').removesuffix(']')}")


def known(state: State, names: Iterable[str], path: str) -> list[str] | None:
    """The names as they stand in scope; diagnostics and None where one does not.

    Without a look at the source a column that nobody declares may still land: then it is only a doubt.
    """
    spelled_names, missing = [], False
    for name in names:
        spelled = state.spelled(name)
        if spelled is None:
            hint = nearest_or_all(name, list(state.visible))
            unsure = not state.trouble.landed_is_known
            state.trouble.add(NO_COLUMN, f"There is no column `{name}`.", path, hint, warning=unsure)
            missing = True
        else:
            spelled_names.append(spelled)
    return None if missing else spelled_names
