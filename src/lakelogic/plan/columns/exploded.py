"""What rows that failed before an explode show is kept apart, so that no row that it makes carries it along.

Columns stay to the end of a plan, because quarantine shows a row as it looked when it failed, and as it landed. Beside
the elements of an array that would be the whole array, once for each of them: memory and time would grow with the
square of their number. Only rows that are alive are exploded. So what the others show is put, just before the explode,
into columns that are NULL in every row that is alive; nothing reads the array behind it, and engines leave it out.

A row that fails after an explode is a part of a landed row, which quarantine does not keep for it: its other parts may
be published. To know it again, where it stood is enough: the landed columns beside the array, the position in it, and
the element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from lakelogic.plan.codes import REPEATED
from lakelogic.plan.columns.flows import Flows
from lakelogic.plan.columns.shape import legible
from lakelogic.plan.needs import columns_made, columns_read
from lakelogic.plan.nodes import APART, Assignment, Expand, Node, RowWise
from lakelogic.plan.state import OpenAccount, Snapshot, State, any_set
from lakelogic.sql.expressions import Call, Column, Expression, Literal, columns_of, convert, text, walk
from lakelogic.sql.types import BOOLEAN, INT, STRING, Type

_NESTED = ("array", "map", "struct", "json")


@dataclass(frozen=True, slots=True)
class Source:
    """What is known of the landed row: the text that quarantine keeps of it, and its columns beside nested ones."""

    raw: Expression | None
    landed: Sequence[tuple[str, Expression]]

    @classmethod
    def of(
        cls, raw: Expression | None, landed: Iterable[tuple[str, Expression]], declared: Mapping[str, str]
    ) -> Source:
        """`declared` are the types of fields as they are written, by their names."""
        return cls(raw, [(name, value) for name, value in landed if not _is_nested(value, declared.get(name, ""))])


def _is_nested(value: Expression, written: str) -> bool:
    return value.type.is_nested or written.strip().lower().startswith(_NESTED)


def keep_apart(
    state: State, accounts: Sequence[OpenAccount], good: Mapping[str, Expression], source: Source
) -> list[tuple[OpenAccount, Expression | None]]:
    """The accounts with what must not be repeated kept apart, each with the text that a bad row is known by."""
    flows = Flows(state.links)
    kept_accounts: list[tuple[OpenAccount, Expression | None]] = []
    path: list[Expand] = []
    parts = [part for value in good.values() for part in walk(value)]
    nested = {part.name for part in parts if isinstance(part, Column) and part.type.is_nested}
    for at, account in enumerate(accounts):
        flows.follow([*([account.opening] if account.opening is not None else []), *account.nodes])
        landed_by = source if account.is_landed else Source(None, ())
        if not path and not any(isinstance(node, Expand) for node in account.nodes):
            kept_accounts.append((account, landed_by.raw))
            continue
        later = {name for value in good.values() for name in columns_of(value)}
        for other in accounts[at + 1 :]:
            later |= _reads_of_account(other)
        kept_accounts.append(_Parting(state, account, landed_by, flows, path, later, nested).done())
    return kept_accounts


def warn_of_repeated(state: State, accounts: Sequence[OpenAccount], good: Mapping[str, Expression]) -> None:
    """Whoever publishes an array beside its elements may not have meant to: the table grows with the square."""
    exploded = {node.value for account in accounts for node in account.nodes if isinstance(node, Expand)}
    for name, value in good.items():
        if isinstance(value, Column) and value in exploded:
            message = f"`{name}` is published beside each of its elements: a row of n elements becomes n rows of n."
            hint = f"leave it out: drop: {{columns: [{name}]}}, or a SELECT without it"
            state.trouble.add(REPEATED, message, "transformations", hint, warning=True)


def _reads_of_account(account: OpenAccount) -> set[str]:
    nodes = [*([account.opening] if account.opening is not None else []), *account.nodes]
    read = {name for node in nodes for name in columns_read(node)}
    return read | _reads_at_end(account, account.snapshots, account.originals)


def _reads_at_end(
    account: OpenAccount, snapshots: Iterable[Snapshot], originals: Iterable[tuple[Expression, str, Expression]]
) -> set[str]:
    """The columns that the last projection of an account reads for rows of these snapshots."""
    values = [account.fate, account.copy, *(value for snapshot in snapshots for value in snapshot.scope.values())]
    values += [value for failed, _, shown in originals for value in (failed, shown)]
    return {name for value in values for name in columns_of(value)} | {*account.verdicts, *account.notes}


@dataclass(slots=True)
class _Parting:
    """One account: walks its nodes, and keeps apart before each explode what only rows that failed so far need."""

    state: State
    account: OpenAccount
    source: Source
    flows: Flows
    path: list[Expand]  # the explodes that rows went through, those of earlier accounts too
    later: AbstractSet[str]  # columns that good rows and later accounts read
    published: AbstractSet[str]  # nested columns that good rows have
    snapshots: list[Snapshot] = field(init=False)
    originals: list[tuple[Expression, str, Expression]] = field(init=False)
    assigned: list[Assignment] = field(default_factory=list)  # before the explode that is looked at
    parted: set[str] = field(default_factory=set)  # columns that were made here
    nested: list[tuple[str, Type]] = field(default_factory=list)  # those of them that engines would repeat at length

    def done(self) -> tuple[OpenAccount, Expression | None]:
        """The account, and the text that its bad rows are known by."""
        self.snapshots, self.originals = list(self.account.snapshots), list(self.account.originals)
        nodes = self.account.nodes
        new: list[Node] = []
        failed: list[str] = []  # verdicts since the last explode
        texts: list[Expression] = []  # conditions and what rows are known by that fulfil them
        for at, node in enumerate(nodes):
            if isinstance(node, Expand):
                self.assigned = []
                there = {name for later in nodes[at:] for name in columns_made(later)}
                read = self._read_after(at, there)
                self._part_snapshots(there, read)
                self._part_originals(there, read)
                if failed and (landed_at := self._known_by()) is not None:
                    met = any_set(failed)
                    texts += [met, self._column(met, landed_at)]
                new += [RowWise(APART, tuple(self.assigned))] if self.assigned else []
                failed = []
                self.path.append(node)
                repeated = tuple(sorted(self.published - there))
                node = replace(node, apart=tuple(self.nested), repeated=repeated)
            failed += [name for name in columns_made(node) if name in self.account.verdicts]
            new.append(node)
        account = replace(
            self.account, nodes=tuple(new), snapshots=tuple(self.snapshots), originals=tuple(self.originals)
        )
        last = self._known_by()
        if last is None or not texts:
            return account, last
        return account, Call("case", (*texts, last), STRING)

    def _read_after(self, at: int, there: AbstractSet[str]) -> set[str]:
        """The columns that rows need behind the explode at this place, whoever made them."""
        after = [snapshot for snapshot in self.snapshots if there & set(snapshot.verdicts)]
        originals = [
            original for original in self.originals if there & (columns_of(original[0]) | columns_of(original[2]))
        ]
        read = {name for node in self.account.nodes[at + 1 :] for name in columns_read(node)}
        return read | self.later | _reads_at_end(self.account, after, originals)

    def _part_snapshots(self, there: AbstractSet[str], read: AbstractSet[str]) -> None:
        """What rows show that failed before the explode."""
        for at, snapshot in enumerate(self.snapshots):
            if there & set(snapshot.verdicts):
                continue
            met = any_set(snapshot.verdicts)
            columns: dict[Expression, Column] = {}
            for value in snapshot.scope.values():
                if self._must_part(columns_of(value), read) and value not in columns:
                    columns[value] = self._column(met, value)
            scope = {name: columns.get(value, value) for name, value in snapshot.scope.items()}
            self.snapshots[at] = Snapshot(snapshot.verdicts, scope)

    def _part_originals(self, there: AbstractSet[str], read: AbstractSet[str]) -> None:
        """Texts of what could not be cast before the explode."""
        for at, (failed, name, shown) in enumerate(self.originals):
            columns = columns_of(failed) | columns_of(shown)
            if columns & there or not self._must_part(columns, read):
                continue
            mark = Column(self.state.fresh("~kept"), BOOLEAN)
            self.assigned.append(Assignment(mark.name, failed))
            self.parted.add(mark.name)
            self.originals[at] = (mark, name, self._column(failed, shown))

    def _must_part(self, columns: AbstractSet[str], read: AbstractSet[str]) -> bool:
        """Whether nothing else behind the explode reads one of the columns."""
        return not columns <= read | self.parted

    def _column(self, met: Expression, value: Expression) -> Column:
        """A column with the value where the condition is met, and NULL elsewhere."""
        column = Column(self.state.fresh("~kept"), value.type)
        self.assigned.append(Assignment(column.name, Call("case", (met, value, Literal(None, value.type)), value.type)))
        self.parted.add(column.name)
        if value.type.is_nested:
            self.nested.append((column.name, value.type))
        return column

    def _known_by(self) -> Expression | None:
        """The text by which a row is known that fails here: what landed, or where it stood in that."""
        if self.source.raw is None or not self.path:
            return self.source.raw
        origins = self.flows.origins({name for expanded in self.path for name in columns_of(expanded.value)})
        pairs: list[Expression] = []
        for name, value in self.source.landed:
            if not columns_of(value) & origins:
                pairs += [text(name), legible(value)]
        for number, expanded in enumerate(self.path):
            pairs += [text(f"~position{number}"), convert(Column(expanded.position, INT), STRING)]
        last = self.path[-1]
        assert last.value.type.element is not None
        pairs += [text("~item"), legible(Column(last.item, last.value.type.element))]
        return Call("row_json", tuple(pairs), STRING)
