"""What used to land and does not: remembered by the table's own commits, told to whoever runs the contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from lakelogic.contract import formats
from lakelogic.contract.document import Contract
from lakelogic.plan.columns import unseen
from lakelogic.plan.columns.numbers import Memory
from lakelogic.plan.compile import Compiled, SourceColumns
from lakelogic.plan.nodes import Landed
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.run.events.types import Caution, FieldMissing
from lakelogic.run.formats import tables_of
from lakelogic.run.phases import BegunRun, OpenedRun
from lakelogic.run.state.progress import application
from lakelogic.sql.types import STRING, Type, from_arrow, parse_type
from lakelogic.tables.facts import record_kept


@dataclass(frozen=True, slots=True)
class Before:
    """The names of columns that landed before, as the newest commit of the target tells; none where it tells none."""

    names: tuple[str, ...] = ()
    kinds: Mapping[str, Type] = field(default_factory=dict)  # in lower case; of keys that nobody declares

    def has(self, name: str) -> bool:
        """Whether a column of that name landed before."""
        return name.lower() in {known.lower() for known in self.names}

    @property
    def memory(self) -> Memory:
        """What types of keys that nobody declares go by."""
        return Memory(frozenset(name.lower() for name in self.names), self.kinds)


def before(run_: OpenedRun, source: SourceColumns) -> Before:
    """What landed before. Only keys of JSON are asked for: an input with a header speaks for itself."""
    if run_.places is None or formats.has_header(source.format):
        return Before()
    tables = tables_of(run_.job.loaded.contract.materialization.format, run_.job.engine)
    state = tables.state(run_.places.target_location)
    app_id = application(run_.progress, "good")
    n = state.transactions.get(app_id) if state is not None else None
    place = run_.places.target_location
    newest = record_kept(tables, place, app_id, n) if n else None
    landed = newest.facts.landed if newest is not None else None
    stored = {one.name.lower(): from_arrow(one.type) for one in state.schema} if state is not None else {}
    settings = run_.job.loaded.contract
    if settings.materialization.strategy == "overwrite" and settings.schema_policy.evolution == "overwrite":
        stored = {}
    if not landed or formats.has_header(landed.get("format")):
        return Before((), stored)
    told = {name: parse_type(written) for name, written in landed.get("kinds", {}).items()} if stored else {}
    return Before(tuple(landed.get("seen") or (name for name, _ in landed.get("columns", ()))), {**stored, **told})


def with_keys(source: SourceColumns, known: Before, contract: Contract, strategy: Strategy) -> SourceColumns:
    """Keys that landed before and that no row has now are NULL in every row, as they are beside a row that has them.

    Declared fields are NULL anyway; a key that nobody declares is a column of the table from the first time on.
    """
    source = source.settled(contract, known.memory)
    if formats.has_header(source.format) or not strategy.is_keyed:
        return source
    if unseen.policy(contract) != "allow":
        return source
    there = {column.name.lower() for column in source.columns}
    declared = {field.name.lower() for field in contract.model.fields}
    added = [Landed(name, STRING) for name in known.names if name.lower() not in there | declared]
    return replace(source, columns=(*source.columns, *added)) if added else source


def seen(source: SourceColumns, known: Before) -> list[str]:
    """The keys of JSON that landed so far, for the next run; nothing for an input that has a header."""
    if formats.has_header(source.format):
        return []
    names = dict.fromkeys([*known.names, *(column.name for column in source.columns)])
    return sorted({name.lower(): name for name in names}.values())


def tell(run_: BegunRun, compiled: Compiled, known: Before) -> None:
    """Say which declared fields did not land: always where there is a header, in JSON where they landed before."""
    with_header = formats.has_header(compiled.plan.read.format)
    missing = [name for name in compiled.landed.missing if with_header or known.has(name)]
    if not missing:
        return
    suggestions = compiled.landed.suggestions
    for name in missing:
        run_.events.tell(
            FieldMissing(name, _what_happens(run_.strategy, with_header=with_header), suggestions.get(name))
        )


def tell_aside(run_: BegunRun, compiled: Compiled, stored: Collection[str]) -> None:
    """Say which columns were not published, and how they would be; `stored` are the columns of the table."""
    there = {name.lower() for name in stored}
    replaces = run_.strategy.replaces
    what = "its rows are replaced by rows without it" if replaces else "its values stay as they are"
    for name in compiled.landed.aside:
        kept = f" The table has a column of this name: {what}." if name.lower() in there else ""
        run_.events.tell(
            Caution(
                f"`{name}` landed, is not in the model and is kept aside, because the contract masks fields: declare "
                f"it, or say schema_policy.unknown_fields: allow.{kept}",
                field=name,
            )
        )


def _what_happens(strategy: Strategy, *, with_header: bool) -> str:
    if strategy.is_keyed and with_header:
        return "rows of the table keep what they have, new rows have none"
    return "it is NULL in every row"
