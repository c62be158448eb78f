"""From a row of a table to the rows it was made of, and on, down to the lines of source files.

Values are as they are kept. What is masked somewhere on the way down from here is hidden here too, and what lies in a
source file is hidden where its contract masks it: there is no way to clear text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.actions.look.columns import column_graph
from lakelogic.actions.look.served import Served
from lakelogic.actions.look.stories import local_engine
from lakelogic.actions.visibility.hidden import veiled
from lakelogic.catalogs.base import Catalog
from lakelogic.contract.document import Contract
from lakelogic.driver.registry import Member
from lakelogic.engines import registry
from lakelogic.errors import Blocked, LakeLogicError, NotFound, SourceError, UsageError
from lakelogic.lineage.stored import Place, look, row_at, rows_with
from lakelogic.lineage.story import HIDDEN
from lakelogic.lineage.upstream import Found, Traced, lines_of, rows_before
from lakelogic.plan.lineage import column_origins
from lakelogic.plan.nodes import Plan
from lakelogic.quarantine.landed import PLACE
from lakelogic.run.places import places
from lakelogic.tables.base import TableState
from lakelogic.tables.registry import load as load_tables

Domains = frozenset[str | None] | None
_DEEPEST = 20
_FEW = threading.BoundedSemaphore(4)
_PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Start:
    """A row: of which dataset, and by its key or by its place. Exactly one of them."""

    dataset: str
    key: tuple[str, ...] = ()
    at: str | None = None


@dataclass(frozen=True, slots=True)
class _StartRow:
    member: Member
    state: TableState
    number: int
    values: Mapping[str, Any]


def upstream(
    served: Served, start: Start, domains: Domains = None, *, only: str | None = None, skip: int = 0, limit: int = 50
) -> dict[str, Any]:
    """The rows that one row was made of, place by place; `only` names one of the places, to go on in it."""
    row = _find(served, start)
    try:
        traced = _traced(served.around.catalog, row.member, [row.values])
    except SourceError as error:
        return {"row": _described(served, row), "upstreams": [_gone(row, error)], "not_shown": 0}
    as_written = row.member.loaded.as_written
    shown = [place for place in traced.places if only is None or as_written(place.place) == only]
    if not shown:
        raise NotFound(f"The row was not made of anything called `{only}`.", hint="Take a `name` that was told.")
    answers = [_told(served, row.member, traced, place, domains, skip, limit) for place in shown]
    seen = [answer for answer in answers if answer is not None]
    return {"row": _described(served, row), "upstreams": seen, "not_shown": len(answers) - len(seen)}


def _gone(row: _StartRow, error: SourceError) -> dict[str, Any]:
    """A source that is not there any more: its name, what the row itself knows of it, and why there are no rows."""
    source = row.member.loaded.contract.source
    return {
        "kind": "table" if source.resolved_type in ("table", "delta", "iceberg") else "file", "role": "source",
        "name": row.member.loaded.as_written(str(source.path or "")), "dataset": None, "layer": None,
        "version": None, "exact": False,
        "why": [error.message], "through": [], "where": None, "total": 0, "columns": [], "hidden": [], "rows": [],
        "next": None,
    }  # fmt: skip


def chain(served: Served, start: Start, domains: Domains = None, *, limit: int = 20) -> dict[str, Any]:
    """The whole way from one row down to source files, level by level; of each place the first rows are followed."""
    first = _find(served, start)
    levels: list[dict[str, Any]] = []
    why: dict[str, None] = {}
    lines: dict[str, list[int | None]] = {}
    waiting: list[tuple[Member, list[Mapping[str, Any]]]] = [(first.member, [first.values])]
    for depth in range(1, _DEEPEST + 1):
        entries: list[dict[str, Any]] = []
        after: list[tuple[Member, list[Mapping[str, Any]]]] = []
        for member, rows in waiting:
            try:
                parts = list(_by_run(served.around.catalog, member, rows))
            except SourceError as error:
                why[f"{member.dataset}: {error.message}"] = None
                continue
            for traced in parts:
                for place in traced.places:
                    entry = _told(served, member, traced, place, domains, 0, limit)
                    if entry is None:
                        continue
                    entries.append(entry)
                    why.update(dict.fromkeys(f"{entry['name']}: {reason}" for reason in place.why))
                    if entry["total"] > limit:
                        why[f"{entry['name']}: the first {limit} of {entry['total']} rows are followed"] = None
                    if entry["kind"] == "file":
                        for row_ in entry["rows"]:
                            lines.setdefault(row_["file"] or entry["name"], []).append(row_["line"])
                    elif entry["dataset"] is not None:
                        after.append((served.member(entry["dataset"]), place.rows.slice(0, limit).to_pylist()))
        if not entries:
            break
        levels.append({"depth": depth, "upstreams": entries})
        waiting = after
    sources = [
        {"file": file, "rows": len(numbers), "lines": sorted({number for number in numbers if number is not None})}
        for file, numbers in sorted(lines.items())
    ]
    return {"row": _described(served, first), "exact": not why, "why": list(why), "levels": levels, "sources": sources}


def _by_run(catalog: Catalog, member: Member, rows: Sequence[Mapping[str, Any]]) -> Iterator[Traced]:
    """Rows that one run wrote have one input; those of several runs are followed apart."""
    column = member.loaded.contract.lineage.run_id_column_name

    def run_of(row: Mapping[str, Any]) -> str:
        return str(row.get(column))

    for _, some in groupby(sorted(rows, key=run_of), run_of):
        yield _traced(catalog, member, list(some))


def _traced(catalog: Catalog, member: Member, rows: Sequence[Mapping[str, Any]]) -> Traced:
    with _one_of_few():
        engine = registry.load(local_engine())
        try:
            return rows_before(member.loaded, places(member.loaded.contract, catalog), rows, catalog, engine)
        finally:
            engine.close()


@contextmanager
def _one_of_few() -> Iterator[None]:
    """Tables are read again for this: only a few at a time, or many who ask at once would fill the memory."""
    if not _FEW.acquire(timeout=_PATIENCE_SECONDS):
        raise Blocked("Too many rows are being followed at this moment.", hint="Ask again in a minute.")
    try:
        yield
    finally:
        _FEW.release()


def _find(served: Served, start: Start) -> _StartRow:
    """The row that is meant, in the version in which it was told or in the newest."""
    member = served.member(start.dataset)
    contract = member.loaded.contract
    if bool(start.key) == (start.at is not None):
        raise UsageError("Name a row by its key, or by its place.", hint="Give key=… for each column of it, or at=….")
    where = places(contract, served.around.catalog)
    tables = load_tables(contract.materialization.format)
    if start.at is not None:
        place = Place.parse(start.at)
        state = look(tables, where.target_location, place.version)
        if state is None:
            raise NotFound(f"There is no version {place.version} of {where.target}.", hint="Begin again at the top.")
        return _StartRow(member, state, place.number, row_at(state, place.number))
    if not contract.key:
        raise UsageError(
            f"`{member.dataset}` has no primary_key to find a row by.", hint="Give at=…, as a row was told."
        )
    if len(start.key) != len(contract.key):
        raise UsageError(
            f"The primary key is ({', '.join(contract.key)}), and {len(start.key)} values were given.",
            hint="Give one value for each of its columns, in their order.",
        )
    state = look(tables, where.target_location)
    if state is None:
        raise NotFound(f"There is no table {where.target} yet.", hint="Run the contract first.")
    rows = rows_with(state, dict(zip(contract.key, start.key, strict=True)), limit=1_000)
    if not rows:
        raise NotFound(
            f"{where.target} has no row with the key ({', '.join(start.key)}).",
            hint="It may be in quarantine; masked keys are compared as they are stored.",
        )
    number, values = rows[-1]
    return _StartRow(member, state, number, values)


def _described(served: Served, row: _StartRow) -> dict[str, Any]:
    contract = row.member.loaded.contract
    hidden = column_graph(served).concealed(row.member.dataset, row.values)
    lineage = contract.lineage
    values = veiled(served, row.member.dataset, row.values)
    return {
        "dataset": row.member.dataset, "layer": row.member.layer, "domain": row.member.domain,
        "table": contract.materialization.target_path, "version": row.state.version,
        "at": str(Place(row.state.version, row.number)), "key": _key(contract, row.values, hidden),
        "key_columns": list(contract.key), "values": _values(values, hidden),
        "hidden": sorted(hidden & set(row.values)), "run_id": row.values.get(lineage.run_id_column_name),
        "processed_at": row.values.get(lineage.timestamp_column_name),
        "source": row.values.get(lineage.source_path_column_name),
    }  # fmt: skip


def _told(
    served: Served, below: Member, traced: Traced, place: Found, domains: Domains, skip: int, limit: int
) -> dict[str, Any] | None:
    """One place and a page of its rows; None where whoever asks may not see it."""
    maker = _maker(served, place)
    if maker is not None and domains is not None and maker.domain not in domains:
        return None
    lost = column_graph(served).lost.get(place.location or "")
    if maker is None and lost is not None and domains is not None and lost.domain not in domains:
        return None
    hidden = _hidden(served, below, traced.plan, place, maker)
    is_file = place.location is None
    rows = []
    for row in place.rows.slice(skip, limit).to_pylist():
        contract = maker.loaded.contract if maker else None
        rows.append({
            "at": str(Place(place.version or 0, row[PLACE] - 1)) if not is_file and PLACE in row else None,
            "key": _key(contract, row, hidden) if contract else None,
            "values": _values(_as_kept(served, maker, {name: row[name] for name in place.columns}), hidden),
            "file": row.get(names.FILE), "line": row.get(names.NUMBER),
            "run_id": row.get(contract.lineage.run_id_column_name) if contract else None,
        })  # fmt: skip
    shown = [name for name in place.columns if not name.startswith("_lakelogic_")]
    total = place.rows.num_rows
    return {
        "kind": "file" if is_file else "dataset" if maker else "table", "role": place.role,
        "name": below.loaded.as_written(place.place),
        "dataset": maker.dataset if maker else None, "layer": maker.layer if maker else None,
        "version": place.version, "exact": place.exact, "why": list(place.why),
        "through": [{"label": label, "detail": detail} for label, detail in traced.steps],
        "where": _where(served, below, place, hidden), "total": total, "columns": shown,
        "hidden": sorted(hidden & set(shown)), "rows": rows,
        "next": skip + len(rows) if skip + len(rows) < total else None,
    }  # fmt: skip


def _where(served: Served, below: Member, place: Found, hidden: frozenset[str]) -> str | None:
    """What rows were found by, in words; never with a value that is hidden."""
    if place.by is not None:
        return f"by {place.by}"
    secret = hidden | column_graph(served).concealed(below.dataset, [column for column, _, _ in place.compared])
    return " and ".join(
        f"{what} is {HIDDEN if column in secret else _said(value)}" for column, what, value in place.compared[:6]
    ) or None  # fmt: skip


def _said(value: Any) -> str:
    return "nothing" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _maker(served: Served, place: Found) -> Member | None:
    """The dataset of the estate that makes a table."""
    if place.location is None:
        return None
    catalog = served.around.catalog
    for member in served.members():
        try:
            if places(member.loaded.contract, catalog).target_location == place.location:
                return member
        except LakeLogicError:
            continue
    return None


def _hidden(served: Served, below: Member, plan: Plan, place: Found, maker: Member | None) -> frozenset[str]:
    """The columns of a place whose values are masked in the table below it, or anywhere further down."""
    from_here = place.link or Plan.SOURCE
    graph = column_graph(served)
    masked = {mask.column for mask in plan.masks} | graph.concealed(below.dataset)
    hidden = {
        origin.column
        for column, origins in column_origins(plan).items()
        for origin in origins
        if origin.place == from_here and column in masked
    }
    if maker is not None:
        # What the table itself masks is shown as it is kept.
        own = {field.name for field in maker.loaded.contract.model.fields if field.masking}
        return frozenset(hidden - own) | graph.concealed(maker.dataset, place.columns)
    if below.dataset in graph.unsure:
        return frozenset(place.columns)
    if (lost := graph.lost.get(place.location or "")) is not None:
        hidden |= graph.concealed(lost.dataset, place.columns)
    marked = {
        field.name.lower()
        for field in below.loaded.contract.model.fields
        if field.masking or field.pii or field.phi or field.sensitive
    }
    return frozenset(hidden | {name for name in place.columns if name.lower() in marked})


def _as_kept(served: Served, maker: Member | None, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values of a table that a contract makes: what it masks is shown only where it is kept masked."""
    return values if maker is None else veiled(served, maker.dataset, values)


def _values(row: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    return {
        name: HIDDEN if name in hidden and value is not None else value
        for name, value in row.items()
        if not name.startswith(("_lakelogic_", names.INTERNAL)) and name != PLACE
    }


def _key(contract: Contract, row: Mapping[str, Any], hidden: frozenset[str]) -> list[str] | None:
    """The values of a row's key as text that finds it again; None where a part of it is lacking or hidden."""
    values_by_name = {name.lower(): value for name, value in row.items()}
    secret = {name.lower() for name in hidden}
    values = [None if part.lower() in secret else values_by_name.get(part.lower()) for part in contract.key]
    if not values or None in values:
        return None
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime | date) else str(value)


def source_lines(served: Served, dataset: str, file: str, line: int, around: int = 5) -> dict[str, Any]:
    """The lines around one line of a file that runs of a dataset have read, masked as its contract says."""
    member, catalog = served.member(dataset), served.around.catalog
    with _one_of_few():
        engine = registry.load(local_engine())
        try:
            lines_found = lines_of(member.loaded, places(member.loaded.contract, catalog), file, catalog, engine)
        finally:
            engine.close()
    plan, place, changed = lines_found
    hidden = _hidden(served, member, plan, place, None)
    wanted = range(line - around, line + around + 1)
    near: pa.Table = place.rows
    lines = [
        {"line": row[names.NUMBER], "values": _values({name: row[name] for name in place.columns}, hidden),
         "is_asked": row[names.NUMBER] == line}
        for row in near.to_pylist()
        if row[names.NUMBER] in wanted
    ]  # fmt: skip
    if not any(line_["is_asked"] for line_ in lines):
        raise NotFound(f"There is no row on line {line} of {file}.", hint="A header, a blank or a broken line is none.")
    return {
        "dataset": dataset, "file": file, "line": line, "changed": changed, "columns": list(place.columns),
        "hidden": sorted(hidden), "lines": lines,
    }  # fmt: skip
