"""Rows of one environment stay out of the tables of another: a table remembers whose rows it holds."""

from __future__ import annotations

from lakelogic.contract.environments import names_of, sharing
from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import UsageError
from lakelogic.run.formats import tables_of
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.state.progress import Progress, application, applications, elsewhere
from lakelogic.tables import chain
from lakelogic.tables.base import TableFormat
from lakelogic.tables.facts import CommitFacts, Makers, records
from lakelogic.tables.registry import load as load_tables


def makers_of(tables: TableFormat, location: str, *app_ids: str) -> Makers | None:
    """Whose rows a table holds, as its newest commit that tells says; None where there is no table."""
    state = tables.state(location)
    if state is None:
        return None
    makers = CommitFacts.of(state.metadata).environments
    if makers is None:
        commits = records(tables, location, *app_ids)
        makers = next((told for commit in commits if (told := commit.facts.environments) is not None), None)
    if makers is None and app_ids:  # what the log holds no more may stand beside it
        beside = chain.told(location, app_ids[0], state.transactions.get(app_ids[0], 0))
        makers = CommitFacts.of(beside).environments
    return makers or Makers(frozenset(), is_known=False)


def makers_after(before: Makers | None, facts: CommitFacts, *, replaces: bool) -> Makers | None:
    """Whose rows the table holds with those of a batch; None where the batch does not tell."""
    if facts.environment is None:
        return None
    kept = Makers() if before is None or replaces else before
    return Makers(kept.environments | {facts.environment.name}, kept.is_known)


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
