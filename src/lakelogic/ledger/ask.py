"""Ask the ledger page by page: runs, work and acts, filtered and sorted; a page goes on where the last one ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from lakelogic.errors import UsageError
from lakelogic.ledger.database import Database
from lakelogic.ledger.records import RUN_COLUMNS

# Columns of runs that a list shows; the JSON ones would make a page heavy.
_AT_ONCE = 100  # datasets that one query asks about
RUN_LIST: Final = tuple(name for name, kind in RUN_COLUMNS.items() if kind != "json" and name != "error_message")


@dataclass(frozen=True, slots=True)
class Subject:
    """What can be asked for: a table, its columns, what tells its rows apart, and what it can be sorted by."""

    table: str
    columns: tuple[str, ...]
    identity: str
    sorts: tuple[str, ...]
    filters: tuple[str, ...]


RUNS = Subject(
    "runs", RUN_LIST, "run_id", ("started_at", "finished_at", "dataset", "status", "duration_seconds"),
    ("dataset", "status", "layer", "domain", "system", "engine", "environment", "pipeline_run_id"),
)  # fmt: skip
WORK = Subject(
    "work",
    (
        "work_id", "kind", "dataset", "domain", "person", "why", "facts", "state", "created_at", "started_at",
        "finished_at", "attempts", "cancel_asked", "outcome",
    ),
    "work_id", ("created_at",), ("dataset", "kind", "state", "domain", "person"),
)  # fmt: skip
ACTS = Subject(
    "acts", ("act_id", "done_at", "act", "dataset", "person", "why", "facts"), "act_id", ("done_at",),
    ("dataset", "act", "person"),
)  # fmt: skip
SUBJECTS: Final[Mapping[str, Subject]] = {"runs": RUNS, "work": WORK, "acts": ACTS}


@dataclass(frozen=True, slots=True)
class LedgerQuery:
    """Which rows, in which order, and after which one. A filter names one value or several; `among` narrows further."""

    sort: str
    descending: bool = True
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    after: tuple[Any, str] | None = None  # the sort value and the identity of the last row of the page before
    limit: int = 50
    among: tuple[str, Sequence[str | None]] | None = None  # column, and the values that whoever asks may see


def page(database: Database, subject: Subject, question: LedgerQuery) -> list[dict[str, Any]]:
    """The rows of one page; one more than `limit` where there are more."""
    wanted, values = _conditions(subject, question)
    sort, way, sign = question.sort, *(("DESC", "<") if question.descending else ("ASC", ">"))
    if sort not in subject.sorts:
        raise UsageError(f"It cannot be sorted by `{sort}`.", hint=f"Choose one of {', '.join(subject.sorts)}.")
    # Rows without a value come last, whatever the direction.
    blank = f"CASE WHEN {sort} IS NULL THEN 1 ELSE 0 END"
    nullable = sort in ("finished_at", "duration_seconds")
    if question.after is not None:
        value, identity = question.after
        values[subject.identity] = identity
        tie = f"{subject.identity} {sign} :{subject.identity}"
        if value is None:
            wanted.append(f"({sort} IS NULL AND {tie})")
        else:
            values[sort] = value
            if nullable:
                wanted.append(f"({sort} {sign} :{sort} OR ({sort} = :{sort} AND {tie}) OR {sort} IS NULL)")
            else:
                # As one comparison an index finds where to go on; with OR it is read from the start.
                wanted.append(f"({sort}, {subject.identity}) {sign} (:{sort}, :{subject.identity})")
    order = f"{f'{blank}, ' if nullable else ''}{sort} {way}, {subject.identity} {way}"
    where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
    query = f"SELECT {', '.join(subject.columns)} FROM {subject.table} {where}ORDER BY {order} LIMIT :limit"
    with database.read() as connection:
        return connection.rows(query, **values, limit=question.limit + 1)


Counted = Literal["status", "dataset", "layer", "domain", "engine", "state", "kind", "act", "person"]


def counts(
    database: Database, subject: Subject, question: LedgerQuery, by: Sequence[Counted]
) -> dict[str, dict[str, int]]:
    """How many rows have which value, for each of the columns, under the same filters."""
    wanted, values = _conditions(subject, question)
    where = f"WHERE {' AND '.join(wanted)} " if wanted else ""
    # One look at all rows: which columns go together is few combinations.
    columns = ", ".join(by)
    query = f"SELECT {columns}, count(*) AS rows FROM {subject.table} {where}GROUP BY {columns}"
    with database.read() as connection:
        listed = connection.rows(query, **values)
    totals: dict[str, dict[str, int]] = {}
    for column in by:
        counted = Counter[str]()
        for row in listed:
            counted[str(row[column])] += row["rows"]
        totals[column] = dict(counted.most_common())
    return totals


def _conditions(subject: Subject, question: LedgerQuery) -> tuple[list[str], dict[str, Any]]:
    wanted: list[str] = []
    values: dict[str, Any] = {}
    for column, chosen in question.filters.items():
        if column not in subject.filters:
            raise UsageError(f"It cannot be filtered by `{column}`.", hint=f"Use {', '.join(subject.filters)}.")
        wanted.append(_one_of(column, chosen, f"is_{column}", values))
    if question.among is not None:
        column, allowed = question.among
        values_given = [value for value in allowed if value is not None]
        part = _one_of(column, values_given, f"may_{column}", values)
        wanted.append(f"({part} OR {column} IS NULL)" if None in allowed else part)
    moment = subject.sorts[0]
    # Two moments in one query: a parameter has the name of its column, so each has a kind of its own in cells.
    if question.since is not None:
        wanted.append(f"{moment} >= :since_at")
        values["since_at"] = question.since
    if question.until is not None:
        wanted.append(f"{moment} < :until_at")
        values["until_at"] = question.until
    return wanted, values


def _one_of(column: str, chosen: Sequence[str], lead: str, values: dict[str, Any]) -> str:
    if not chosen:
        return "1 = 0"
    for number, value in enumerate(chosen):
        values[f"{lead}_{number}"] = value
    return f"{column} IN ({', '.join(f':{lead}_{number}' for number in range(len(chosen)))})"


def newest_runs(
    database: Database, datasets: Sequence[str], each: int = 1, columns: Sequence[str] = RUN_LIST
) -> dict[str, list[dict[str, Any]]]:
    """The newest runs of each dataset, newest first. Each costs a look into an index, however many runs there are."""
    runs_by_dataset: dict[str, list[dict[str, Any]]] = {}
    listed = ", ".join(columns)
    with database.read() as connection:
        for start in range(0, len(datasets), _AT_ONCE):
            some = datasets[start : start + _AT_ONCE]
            values: dict[str, Any] = {f"dataset_{number}": name for number, name in enumerate(some)}
            query = " UNION ALL ".join(
                f"SELECT {listed} FROM (SELECT {listed} FROM runs WHERE dataset = :dataset_{number} "
                f"ORDER BY started_at DESC, run_id DESC LIMIT :place) AS part_{number}"
                for number in range(len(some))
            )
            for row in connection.rows(query, **values, place=each):
                runs_by_dataset.setdefault(row["dataset"], []).append(row)
    for runs in runs_by_dataset.values():
        runs.sort(key=lambda run: (run["started_at"], run["run_id"]), reverse=True)
    return runs_by_dataset
