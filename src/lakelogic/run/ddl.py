"""What the tables of a contract should be: statements that people read, and the changes that make it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lakelogic.catalogs.base import Catalog
from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import DataError, UsageError
from lakelogic.plan.columns import evolve
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.strategies.meet import good_types, own_columns
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run.input.inspect import columns_now
from lakelogic.run.places import Places, places
from lakelogic.run.publish.layout import layout_of
from lakelogic.sql.types import Type, from_arrow, to_arrow
from lakelogic.tables.base import CommitInfo, Layout, TableFormat, TableState
from lakelogic.tables.registry import load as load_tables

APP = "lakelogic:ddl"


@dataclass(frozen=True, slots=True)
class Definition:
    """A table as the contract wants it, and what is different from the table that is there."""

    name: str
    location: str
    format: str
    columns: Mapping[str, Type]
    layout: Layout
    state: TableState | None = None
    notes: Mapping[str, str] = field(default_factory=dict)  # column → what it is, for people
    added: Mapping[str, Type] = field(default_factory=dict)
    left: tuple[str, ...] = ()  # differences that no statement settles, in words

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements in Spark's grammar; none when the table is as the contract wants it."""
        if self.state is None:
            return (_create(self),)
        found = []
        if self.added:
            listed = ", ".join(_column(name, kind, self.notes.get(name)) for name, kind in self.added.items())
            found.append(f"ALTER TABLE {_name(self.name)} ADD COLUMNS ({listed});")
        if self.layout.properties:
            found.append(f"ALTER TABLE {_name(self.name)} SET TBLPROPERTIES ({_properties(self.layout)});")
        return tuple(found)


def define(loaded: Loaded, catalog: Catalog) -> Definition:
    """Compare a contract with its table. Columns come from the model, and from the source where it can be seen."""
    contract = loaded.contract
    where = places(contract, catalog)
    source, links = columns_now(loaded, catalog)
    if source is None and not contract.model.fields:
        raise UsageError(
            f"The columns of `{contract.dataset_name}` are not known before its source is there.",
            hint="List them under model.fields, or land the first files.",
        )
    columns = good_types(compile_contract(loaded, source, links).plan)
    columns = {name: from_arrow(to_arrow(kind)) for name, kind in columns.items()}
    columns |= own_columns(strategy_of(contract), columns)
    tables = load_tables(contract.materialization.format)
    state = tables.state(where.target_location)
    layout = layout_of(contract, tuple(columns), state)
    tables.check(where.target_location, layout=layout)
    return _compared(contract, where, columns, layout, state)


def _compared(
    contract: Contract, where: Places, columns: Mapping[str, Type], layout: Layout, state: TableState | None
) -> Definition:
    notes = {f.name: " ".join(f.description.split()) for f in contract.model.fields if f.description}
    wanted = Definition(
        where.target, where.target_location, contract.materialization.format, columns, layout, state, notes
    )
    if state is None:
        return wanted
    changes = evolve.changes(columns, {f.name: from_arrow(f.type) for f in state.schema})
    left = [
        f"`{change.name}` is stored as {change.old}, the contract says {change.new}: a run decides by schema_policy"
        for change in changes.changed
    ]
    left += [f"`{name}` is stored and not in the contract: it stays" for name in changes.missing]
    return Definition(
        wanted.name,
        wanted.location,
        wanted.format,
        columns,
        layout,
        state,
        notes,
        {name: columns[name] for name in changes.added},
        tuple(left),
    )


def apply(definition: Definition, policy: str) -> None:
    """Make the table, or add its new columns and set its properties; no row is read or written."""
    tables: TableFormat = load_tables(definition.format)
    state = definition.state
    if state is not None and definition.added and policy == "strict":
        raise DataError(
            f"{definition.name} lacks {', '.join(definition.added)}, and schema_policy.evolution is strict.",
            hint="Nothing was changed. Choose another policy to let the table grow.",
        )
    if state is None or definition.added:
        n = (state.transactions.get(APP, 0) if state is not None else 0) + 1
        names: Sequence[str] = tuple(definition.columns) if state is None else tuple(definition.added)
        schema = pa.schema([(name, to_arrow(definition.columns[name])) for name in names])
        kept = list(state.schema) if state is not None else []
        tables.append(
            definition.location,
            (),
            pa.schema([*kept, *schema]),
            CommitInfo(APP, n, {"lakelogic": "columns by ddl"}),
            layout=definition.layout,
        )
    if state is not None and definition.layout.properties:
        tables.set_properties(definition.location, definition.layout.properties)


def _create(definition: Definition) -> str:
    listed = ",\n".join(
        f"  {_column(name, kind, definition.notes.get(name))}" for name, kind in definition.columns.items()
    )
    text = f"CREATE TABLE {_name(definition.name)} (\n{listed}\n)\nUSING {definition.format}"
    layout = definition.layout
    if layout.partition_by:
        text += f"\nPARTITIONED BY ({', '.join(map(_quoted, layout.partition_by))})"
    if layout.properties:
        text += f"\nTBLPROPERTIES ({_properties(layout)})"
    return f"{text}\nLOCATION {_text(definition.location)};"


def _properties(layout: Layout) -> str:
    return ", ".join(f"{_text(key)} = {_text(value)}" for key, value in sorted(layout.properties.items()))


def _column(name: str, kind: Type, note: str | None) -> str:
    return f"{_quoted(name)} {str(kind).upper()}" + (f" COMMENT {_text(note)}" if note else "")


def _name(written: str) -> str:
    if "/" in written:
        return _quoted(written.rstrip("/").rsplit("/", 1)[-1])
    return ".".join(map(_quoted, written.split(".")))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
