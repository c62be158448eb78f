"""Rows of one environment stay out of the tables of another: a table remembers whose rows it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakelogic.contract.environments import names_of, sharing
from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import UsageError
from lakelogic.quarantine.table import facts_of
from lakelogic.run.formats import tables_of
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.state.progress import Progress, application, applications, elsewhere
from lakelogic.tables import chain
from lakelogic.tables.base import TableFormat
from lakelogic.tables.registry import load as load_tables

# The words of commit facts: the environment of a batch, and those of all rows that the table holds.
ENVIRONMENT, ENVIRONMENTS = "environment", "environments"


@dataclass(frozen=True, slots=True)
class Makers:
    """The environments whose rows a table holds; None among them is the contract without an environment.

    Not `is_known`: commits from before the first that tells may have brought rows of any.
    """

    environments: frozenset[str | None] = frozenset()
    is_known: bool = True

    def as_fact(self) -> dict[str, Any]:
        """As a commit says it."""
        return {"of": sorted(self.environments, key=lambda one: one or ""), "known": self.is_known}


def makers_of(tables: TableFormat, location: str, *app_ids: str) -> Makers | None:
    """Whose rows a table holds, as its newest commit that tells says; None where there is no table."""
    state = tables.state(location)
    if state is None:
        return None
    newest = facts_of(state.metadata).get(ENVIRONMENTS)
    if newest is None:
        commits = tables.commits(location, *app_ids)
        newest = next((found for one in commits if (found := facts_of(one).get(ENVIRONMENTS))), None)
    if newest is None and app_ids:  # what the log holds no more may stand beside it
        beside = chain.told(location, app_ids[0], state.transactions.get(app_ids[0], 0))
        newest = facts_of(beside).get(ENVIRONMENTS)
    return Makers(frozenset(), is_known=False) if newest is None else Makers(frozenset(newest["of"]), newest["known"])


def makers_after(before: Makers | None, facts: Mapping[str, Any], *, replaces: bool) -> dict[str, Any]:
    """What a commit of a batch says of whose rows the table holds then; nothing where the batch does not tell."""
    if ENVIRONMENT not in facts:
        return {}
    kept = Makers() if before is None or replaces else before
    return {ENVIRONMENTS: Makers(kept.environments | {facts[ENVIRONMENT]}, kept.is_known).as_fact()}


def refuse_others(loaded: Loaded, where: Places, progress: Progress, done: str) -> Makers | None:
    """Refuse what would mix the rows of two environments, or act on those of another; whose rows the target holds.

    `done` says what did not happen.
    """
    tables = tables_of(loaded.contract.materialization.format, None)  # only commits are looked at, whoever can read it
    found = makers_of(tables, where.target_location, *applications(progress, "good"))
    _refuse(loaded, where.target, "materialization.target_path", found, done)
    for other in where.others:
        there = makers_of(load_tables(other.format), other.location, elsewhere(progress, other.location))
        _refuse(loaded, other.name, "materialization.secondary_targets", there, done)
    return found


def _refuse(loaded: Loaded, target: str, key: str, found: Makers | None, done: str) -> None:
    mine, shared = loaded.environment, sharing(loaded.contract, loaded.around)
    if found is None or mine in shared:
        return
    others = found.environments - {mine} - shared
    if not others:
        return
    theirs = " and ".join(called(one) for one in sorted(others, key=lambda one: one or ""))
    own = next((one for one in (mine, *sorted(filter(None, others))) if one), "…")
    raise UsageError(
        f"{target} holds rows that were made {theirs}, and this is {called(mine, itself=True)}.",
        hint=f"{done} Give environments.{own} a {key} of its own, or a warehouse of its own (LAKELOGIC_WAREHOUSE). If "
        f"both shall share the table, say so: environments.{own}.shares_target: true.",
    )


def called(name: str | None, *, itself: bool = False) -> str:
    """An environment in a sentence: `in the environment dev`, `without an environment`."""
    if name is None:
        return "a run without an environment" if itself else "without an environment"
    return f"the environment `{name}`" if itself else f"in the environment `{name}`"


def doubts(loaded: Loaded, where: Places, progress: Progress, found: Makers | None) -> list[str]:
    """What nobody can be sure of, in sentences: tables from before, and a quarantine that targets share."""
    said = []
    has_some = bool(names_of(loaded.contract, loaded.around))
    if found is not None and not found.is_known and has_some and loaded.environment not in found.environments:
        said.append(
            f"{where.target} has rows from before tables remembered environments: whether they were made in the same "
            f"one as this run ({called(loaded.environment, itself=True)}) is not known"
        )
    state = load_tables(QUARANTINE_FORMAT).state(where.quarantine_location) if has_some else None
    lead, own = f"lakelogic:{progress.dataset}@", application(progress, "bad")
    known = state.transactions if state is not None else ()
    if any(name.startswith(lead) and name.endswith(":bad") and name != own for name in known):
        said.append(
            f"{where.quarantine} also holds bad rows of `{progress.dataset}` towards another target; a replay takes "
            "only its own. To keep them apart, give the environment a quarantine.target of its own"
        )
    return said
