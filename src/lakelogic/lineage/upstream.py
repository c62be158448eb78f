"""The rows that a row was made of: the input of the run that wrote it, read again, through the same plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakelogic import names
from lakelogic.catalogs.base import Catalog
from lakelogic.contract.reading.load import Loaded
from lakelogic.engines.base import Engine, Frame
from lakelogic.errors import LakeLogicError, NotFound, SourceError, UsageError
from lakelogic.lineage.stored import MOST_ROWS, look, whole
from lakelogic.plan.columns.stamps import Stamps
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.explain import written
from lakelogic.plan.lineage import readable
from lakelogic.plan.nodes import Account, Assignment, Keep, Link, Plan, Publish, Read, RowWise
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.plan.tracing import COMPARABLE, LinkTrace, Trace, any_of, equations, link_traces, told, trace
from lakelogic.quarantine.landed import PLACE
from lakelogic.run.input import pin as window
from lakelogic.run.places import Places
from lakelogic.run.state.progress import good_commits, progress_of
from lakelogic.sql.expressions import Column, Expression, Literal, columns_of, replace_columns, text
from lakelogic.sql.types import BIGINT, INT, STRING
from lakelogic.storage.local import FileInfo, look_if_there
from lakelogic.tables.kinds import kind_of
from lakelogic.tables.registry import load as load_tables

_MOST_BYTES = 256 * 1024 * 1024  # of files that are read again while somebody waits
_MOST_KEYS = 200  # values by which rows of a link are looked for
_NO_FATE = Literal(0, INT)
_NOBODY = Literal(None, STRING)
_SILENT = Publish((), _NO_FATE, _NOBODY)


@dataclass(slots=True)
class Found:
    """The rows of one place: all their numbers, and the columns in which their values stand."""

    role: str  # source, or link
    place: str  # the name of the table, or of the files, as the contract says
    link: str | None
    location: str | None  # of a table
    version: int | None
    rows: pa.Table  # those that were found, in order: landed columns, and `~file`, `~number`, `ll place`
    columns: tuple[str, ...]
    why: list[str] = field(default_factory=list)
    compared: tuple[tuple[str, str, Any], ...] = ()  # of the row: a column, what had to be equal to it, and its value
    by: str | None = None  # of a link: what rows met it by

    @property
    def exact(self) -> bool:
        """Whether these rows, and no others, are meant."""
        return not self.why


@dataclass(frozen=True, slots=True)
class Traced:
    """What was found, and the plan by which."""

    plan: Plan
    places: tuple[Found, ...]
    steps: tuple[tuple[str, str], ...]


def rows_before(
    loaded: Loaded, where: Places, rows: Sequence[Mapping[str, Any]], catalog: Catalog, engine: Engine
) -> Traced:
    """The rows of the source and of the links that these rows of one table were made of, all by one run."""
    contract = loaded.contract
    run_id = rows[0].get(contract.lineage.run_id_column_name)
    facts, notes = _input_of(loaded, where, run_id)
    slice_, more = _pin(loaded, facts, rows, catalog)
    notes += more
    links, more = _pin_links(loaded, facts, catalog, engine)
    source = window.look(contract, slice_, engine)
    # The clock of that run: what it called now is in its rows.
    at = rows[0].get(contract.lineage.timestamp_column_name)
    stamps = Stamps(str(run_id), None, at.astimezone(UTC), "source") if isinstance(at, datetime) else None
    plan = compile_contract(loaded, source, window.look_at_links(links, engine), stamps=stamps).plan
    landed = _landed(plan.read, source, slice_, engine)
    traced, compared = _trace(loaded, plan, rows)
    frames: dict[str, Frame] = {
        name: engine.link(link, links[link.reference].pinned) for name, link in plan.links.items()
    }
    met = link_traces(plan, traced.accounts)
    seen = _evaluate(engine, landed, traced, frames, [value for link_trace in met for value in link_trace.ours])
    numbers = sorted(set(seen.column("c0").to_pylist()))
    kept = landed.take(pa.array([number - 1 for number in numbers], pa.int64()))
    why = [*notes, *traced.why]
    if not traced.gathers and len(numbers) > len(rows):
        alike = "rows of the source look the same" if not contract.key else "rows of the source have its key"
        why.append(f"{len(numbers)} {alike}")
    own = Found(
        "source", slice_.described or window.source_path(contract), None, slice_.pinned.table, slice_.pinned.version,
        kept, tuple(column.name for column in source.columns), why, compared,
    )  # fmt: skip
    if not numbers:
        own.why.append("its source does not hold such a row any more")
    others = _linked(plan, met, seen, links, engine, [*notes, *more])
    return Traced(plan, (own, *others), tuple(told(plan)))


def _input_of(loaded: Loaded, where: Places, run_id: str | None) -> tuple[dict[str, Any], list[str]]:
    """What the run that wrote a row has read, as its commit says."""
    contract = loaded.contract
    tables = load_tables(contract.materialization.format)
    for commit in good_commits(tables, progress_of(contract.dataset_name, where)):
        facts = commit.facts
        if facts.run_id == run_id and run_id is not None:
            notes = []
            if facts.contract_version not in (None, contract.contract_version):
                notes.append(
                    f"version {facts.contract_version} of the contract wrote it; it is followed by version "
                    f"{contract.contract_version}"
                )
            if facts.replay:
                notes.append("it came by a replay, so what else was read with it is not known")
            return dict(facts.input), notes
    return {}, ["the table does not tell any more what the run that wrote it has read"]


def _pin(
    loaded: Loaded, facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], catalog: Catalog
) -> tuple[window.Slice, list[str]]:
    contract = loaded.contract
    if facts.get("table") is not None:
        # By its name: a warehouse that was moved has other locations than its commits remember.
        name, version = window.source_path(contract), facts.get("version")
        table = window.pin_table(name, catalog)
        location = str(table.pinned.table)
        if look(load_tables(kind_of(location) or "delta"), location, version) is not None:
            return window.pin_table(name, catalog, version), []
        return table, [f"version {version} of {name} is not there any more; this is version {table.pinned.version}"]
    if "files" in facts:
        return _pin_files(loaded, [FileInfo(*file) for file in facts["files"]])
    # A replay, or rows that were handed in: what is left is where the row says it came from.
    sources = {str(row.get(contract.lineage.source_path_column_name) or "") for row in rows}
    looked = (look_if_there(path) for path in sorted(sources) if path)
    infos = tuple(info for info in looked if info is not None)
    if infos and window.source_format(contract) not in ("delta", "iceberg"):
        return _sized(window.pin_files(infos, window.source_format(contract), window.source_path(contract))), []
    return _sized(window.pin_source(contract, catalog)), ["this is the source as it is now"]


def _pin_files(loaded: Loaded, read: Sequence[FileInfo]) -> tuple[window.Slice, list[str]]:
    contract = loaded.contract
    there, notes = [], []
    for file in read:
        name, info = file.path.rpartition("/")[2], look_if_there(file.path)
        if info is None:
            notes.append(f"{name} is not there any more")
            continue
        if (info.size, info.mtime_ns) != (file.size, file.mtime_ns):
            notes.append(f"{name} has changed since it was read")
        there.append(info)
    if not there:
        raise SourceError(
            f"None of the {len(read)} files that it was read from is there any more.",
            where=read[0].path if read else None,
            hint="The table and the ledger still tell the file and the run.",
        )
    pinned = window.pin_files(tuple(there), window.source_format(contract), window.source_path(contract))
    return _sized(pinned), notes


def _sized(slice_: window.Slice) -> window.Slice:
    if slice_.bytes > _MOST_BYTES:
        raise UsageError(
            f"{slice_.described} has {slice_.bytes // 1024**2} MiB: too much to look through while somebody waits.",
            hint="The row tells its file; look there.",
        )
    return slice_


def _pin_links(
    loaded: Loaded, facts: Mapping[str, Any], catalog: Catalog, engine: Engine
) -> tuple[dict[str, window.Slice], list[str]]:
    notes = []
    links = window.pin_links(loaded.contract, catalog, engine) if loaded.contract.links else {}
    for name, was in (facts.get("links") or {}).items():
        if name not in links or links[name].identity() == was:
            continue
        try:
            links[name] = window.pin_table(links[name].described, catalog, was["version"], engine)
        except (KeyError, LakeLogicError):
            notes.append(f"the link `{name}` has changed since")
    return links, notes


def _landed(read: Read, source: SourceColumns, slice_: window.Slice, engine: Engine) -> pa.Table:
    """The rows of the input with where each stands; lines that are no rows are left out."""
    if slice_.pinned.table is not None:
        kind = kind_of(slice_.pinned.table) or "delta"
        state = look(load_tables(kind), slice_.pinned.table, slice_.pinned.version)
        assert state is not None
        table = whole(state)
        for name, kind_ in ((names.FILE, pa.string()), (names.NUMBER, pa.int64())):
            table = table.append_column(name, pa.nulls(table.num_rows, kind_))
    else:
        values = [
            *(Assignment(f"c{at}", Column(column.name, column.type)) for at, column in enumerate(source.columns)),
            Assignment("c_file", Column(names.FILE, STRING)), Assignment("c_line", Column(names.NUMBER, BIGINT)),
            Assignment("c_broken", Column(names.BROKEN, STRING)),
        ]  # fmt: skip
        account = Account(None, (), Publish(tuple(values), _NO_FATE, text(names.GOOD_SIDE)))
        table = engine.collect(engine.lower(engine.scan(read, slice_.pinned), (account,), {}), MOST_ROWS + 1)
        if table.num_rows > MOST_ROWS:
            raise UsageError(
                f"{slice_.described} has more than {MOST_ROWS:,} rows: too many to look through while somebody waits.",
                hint="The row tells its file; look there.",
            )
        table = table.filter(pc.is_null(table.column("c_broken")))
        table = table.sort_by([("c_file", "ascending"), ("c_line", "ascending")])
        arrays = [table.column(f"c{at}") for at in range(len(source.columns))]
        arrays += [table.column("c_file"), table.column("c_line")]
        table = pa.table(arrays, [*(column.name for column in source.columns), names.FILE, names.NUMBER])
    return table.append_column(PLACE, pa.array(range(1, table.num_rows + 1), pa.int64()))


def _trace(
    loaded: Loaded, plan: Plan, rows: Sequence[Mapping[str, Any]]
) -> tuple[Trace, tuple[tuple[str, str, Any], ...]]:
    """What must hold of the rows before, and the same for people where it is about the key of one row."""
    contract = loaded.contract
    every = [c.name for c in plan.columns if c.on_good and not c.name.startswith(("_lakelogic_", names.INTERNAL))]
    history = strategy_of(contract).keeps_history
    columns = list(contract.key) if contract.key and not history else every
    wanted, why = [], list[str]()
    for row in rows:
        pairs, silent = equations(plan, _typed(row), columns)
        if contract.key and not history and silent:
            more, _ = equations(plan, _typed(row), every)
            pairs = more
            why = [f"`{', '.join(silent)}` of its key cannot be compared with the rows before it (masked or made up)"]
        wanted.append(pairs)
    traced = trace(plan, wanted)
    if why:
        traced = replace(traced, why=(*why, *traced.why))
    if len(rows) > 1 or not contract.key:
        return traced, ()
    return traced, tuple(
        (equation.column, readable(written(equation.value)), equation.wanted) for equation in wanted[0]
    )


def _typed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Values as literals of a plan hold them: instants in UTC."""
    return {
        name: value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
        for name, value in row.items()
    }


def _evaluate(
    engine: Engine, landed: pa.Table, traced: Trace, links: Mapping[str, Frame], beside: Sequence[Expression]
) -> pa.Table:
    """The numbers of rows for which the condition holds (`c0`), and expressions over their last frame (`c1`, …)."""
    values = tuple(
        Assignment(f"c{at}", value) for at, value in enumerate([Column(PLACE, BIGINT), *beside])
    )  # fmt: skip
    silent = Publish(
        tuple(Assignment(value.name, Literal(None, value.value.type)) for value in values), _NO_FATE, _NOBODY
    )  # fmt: skip
    accounts = []
    for at, account in enumerate(traced.accounts):
        if at < len(traced.accounts) - 1:
            accounts.append(replace(account, publish=silent))
        else:
            nodes = (*account.nodes, Keep("keep", traced.condition))
            accounts.append(replace(account, nodes=nodes, publish=Publish(values, _NO_FATE, text(names.GOOD_SIDE))))
    shown = landed.drop_columns([names.FILE, names.NUMBER])
    frame, _ = engine.adopt(shown, Read("source", "parquet", ()))
    answers = engine.collect(engine.lower(frame, accounts, links))
    return answers.filter(pc.fill_null(pc.equal(answers.column(names.SIDE), names.GOOD_SIDE), False))


def _linked(
    plan: Plan, met: Sequence[LinkTrace], seen: pa.Table, slices: Mapping[str, window.Slice], engine: Engine,
    notes: Sequence[str],
) -> list[Found]:  # fmt: skip
    """The rows of links that the rows of the source met."""
    looked = window.look_at_links(slices, engine)
    origins: dict[str, Found] = {}
    at = 1
    for link_trace in met:
        keys = [seen.column(f"c{at + place}").to_pylist() for place in range(len(link_trace.ours))]
        at += len(link_trace.ours)
        link = plan.links[link_trace.link]
        source, slice_ = looked[link.reference], slices[link.reference]
        values = [key for key in dict.fromkeys(zip(*keys, strict=True)) if None not in key]
        parts = [_over_landed(part, link, source) for part in link_trace.theirs]
        usable = bool(keys) and all(part is not None and part.type.kind in COMPARABLE for part in parts)
        if link.reference in origins or (usable and not values):
            continue  # told already, or no row of it had a part in this
        why = [*notes, *([] if usable else ["every row of it may have had a part"])]
        if len(values) > _MOST_KEYS:
            why.append(f"only rows of the first {_MOST_KEYS} of {len(values)} keys are looked for")
        shown = tuple(column.name for column in source.columns)
        try:
            read = Read("source", source.format, source.columns, dict(source.options))
            landed = _landed(read, source, slice_, engine)
        except UsageError as error:  # it is too large
            landed, why = pa.table({name: pa.array([], pa.string()) for name in shown}), [*why, error.message]
        if usable and PLACE in landed.column_names:
            conditions = [part for part in parts if part is not None]
            keep = Trace((Account(None, (), _SILENT),), any_of(conditions, values[:_MOST_KEYS]), (), gathers=False)
            numbers = sorted(set(_evaluate(engine, landed, keep, {}, ()).column("c0").to_pylist()))
            landed = landed.take(pa.array([number - 1 for number in numbers], pa.int64()))
        condition = readable(", ".join(written(part) for part in parts if part is not None)) if usable else None
        origins[link.reference] = Found(
            "link", slice_.described, link.reference, slice_.pinned.table, slice_.pinned.version, landed, shown, why,
            by=condition,
        )  # fmt: skip
    return list(origins.values())


def _over_landed(part: Expression, link: Link, source: SourceColumns) -> Expression | None:
    """An expression over a link's frame as one over what landed of it; None where there is none."""
    for node in reversed(link.nodes):
        if isinstance(node, RowWise):
            part = replace_columns(part, {assignment.name: assignment.value for assignment in node.columns})
    return part if columns_of(part) <= {column.name for column in source.columns} else None


def lines_of(loaded: Loaded, where: Places, file: str, catalog: Catalog, engine: Engine) -> tuple[Plan, Found, bool]:
    """The rows of one file that runs of a dataset have read; and whether it has changed since."""
    contract = loaded.contract
    tables = load_tables(contract.materialization.format)
    info: FileInfo | None = None
    for commit in good_commits(tables, progress_of(contract.dataset_name, where)):
        read = commit.facts.input.get("files", [])
        info = next((FileInfo(*pinned_file) for pinned_file in read if pinned_file[0] == file), None)
        if info is not None:
            break
    if info is None:
        raise NotFound(f"No run of `{contract.dataset_name}` has read `{file}`.", hint="Take `file` of a row.")
    slice_, notes = _pin_files(loaded, [info])
    links = window.pin_links(contract, catalog, engine) if contract.links else {}
    source = window.look(contract, slice_, engine)
    plan = compile_contract(loaded, source, window.look_at_links(links, engine)).plan
    landed = _landed(plan.read, source, slice_, engine)
    columns = tuple(column.name for column in source.columns)
    return plan, Found("source", slice_.described, None, None, None, landed, columns), bool(notes)
