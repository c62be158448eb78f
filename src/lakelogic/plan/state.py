"""The state of a compilation: which columns stand where, which rows are still alive, what was found wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from sqlglot import exp

from lakelogic import names
from lakelogic.errors import Diagnostic, Where
from lakelogic.plan.columns.flows import conditions_of
from lakelogic.plan.columns.taints import Taint, changed, taint_of, together
from lakelogic.plan.nodes import NO_COPY, Assignment, Fate, Keep, Link, Mask, Node, Opening, Reason, RowWise
from lakelogic.plan.predicates import both, holds
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, Literal, call, columns_of
from lakelogic.sql.parse import column_tree
from lakelogic.sql.problems import NO_COLUMN, Problem, SqlProblems
from lakelogic.sql.scope import PartBinder, Scope
from lakelogic.sql.types import BIGINT, INT
from lakelogic.sql.undeclared import named
from lakelogic.sql.undeclared import problem as undeclared_problem

if TYPE_CHECKING:
    from lakelogic.plan.strategies.settings import Strategy

MASK_WIDTH = 60
Phase = OneOf["pre", "post"]
Loss = OneOf["filtered", "deduplicated", "outside"]


@dataclass(slots=True)
class Flag:
    """One way for a row to fail, before it is packed into a verdict column."""

    failed: Expression  # boolean, never NULL
    text: str
    category: str
    rule: str
    severity: OneOf["error", "warning", "info"] = "error"
    label: str | None = None
    value: str | None = None


def any_set(verdicts: Sequence[str]) -> Expression:
    """One of the verdicts (at least one) says that the row is bad."""
    clear = both(*(call("eq", Column(name, BIGINT), Literal(0, BIGINT)) for name in verdicts))
    return call("not", clear)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a row looked when these verdict columns were made."""

    verdicts: tuple[str, ...]
    scope: Mapping[str, Expression]


@dataclass(frozen=True, slots=True)
class OpenAccount:
    """A stretch of the plan whose last projection is not written yet."""

    opening: Opening | None
    nodes: tuple[Node, ...]
    verdicts: tuple[str, ...]
    notes: tuple[str, ...]
    snapshots: tuple[Snapshot, ...]
    fate: Expression
    copy: Expression = NO_COPY
    is_landed: bool = True
    originals: tuple[tuple[Expression, str, Expression], ...] = ()


@dataclass(slots=True)
class Trouble:
    """Collects diagnostics; `where` finds the line of a key path."""

    where: Callable[[str], Where]
    found: list[Diagnostic] = field(default_factory=list)
    landed_is_known: bool = True

    def add(self, code: str, message: str, path: str, hint: str | None = None, *, warning: bool = False) -> None:
        """Note one problem at a key path."""
        severity: OneOf["error", "warning"] = "warning" if warning else "error"
        self.found.append(Diagnostic(code, message, self.where(path), hint, severity))

    def sql(self, problems: list[Problem], path: str) -> None:
        """Note the problems of a piece of SQL; its own lines are added to the line of the key."""
        for problem in problems:
            where = self.where(path)
            if problem.line is not None and problem.line > 1 and where.line is not None:
                where = Where(where.file, where.line + problem.line - 1, None, where.path)
            # Without a look at the source, a column that nobody declares may still land.
            unsure = problem.code == NO_COLUMN and not self.landed_is_known
            severity: OneOf["error", "warning"] = "warning" if unsure else "error"
            self.found.append(Diagnostic(problem.code, problem.message, where, problem.hint, severity))

    @property
    def errors(self) -> list[Diagnostic]:
        """What stops the contract."""
        return [diagnostic for diagnostic in self.found if diagnostic.severity == "error"]


@dataclass(slots=True)
class State:
    """Where compilation stands. Logical names map to expressions over columns that nodes have made.

    `subquery` compiles a query that stands inside an expression over these columns.
    """

    dataset: str
    now: datetime
    trouble: Trouble
    subquery: Callable[[State, exp.Expression, PartBinder], Expression]
    dialect: str
    strategy: Strategy  # how good rows meet their table
    scope: dict[str, Expression] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    closed: list[OpenAccount] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)
    reasons: list[Reason] = field(default_factory=list)
    fates: list[Fate] = field(default_factory=list)
    fate: Expression = field(default_factory=lambda: Literal(0, INT))
    verdicts: list[str] = field(default_factory=list)  # error masks of the open account
    notes: list[str] = field(default_factory=list)  # warning and info masks of the open account
    snapshots: list[Snapshot] = field(default_factory=list)  # how rows looked at each judgement of the open account
    masked: dict[str, Mask] = field(default_factory=dict)  # fields that the model masks, in lower case
    aside: frozenset[str] = frozenset()  # landed columns that nobody named beside masked fields
    taints: dict[str, Taint] = field(default_factory=dict)  # physical column → the mask it inherits
    ties: list[Expression] = field(default_factory=list)  # what is TRUE of the rows that stay, or that meet
    met: dict[str, tuple[str, Expression]] = field(default_factory=dict)  # column of a join → frame, what it is there
    opening: Opening | None = None
    used: set[str] = field(default_factory=set)
    # What could not be cast in the open account: when, under which name, and its text.
    originals: list[tuple[Expression, str, Expression]] = field(default_factory=list)
    copy: Expression = NO_COPY  # which step made the row as one more copy of another
    is_landed: bool = True  # rows still are rows of the source: their file, line and landed columns are known
    beside: bool = False  # the rows of a fork: what is lost is dropped, nothing is counted or judged
    start: str | None = None  # the link that a fork begins with; None for the rows themselves
    known_links: dict[str, Any] = field(default_factory=dict)  # name → links.KnownLink
    unread_links: frozenset[str] = frozenset()  # declared, but their columns could not be looked at
    opened: bool = False  # the step that is being compiled has begun a new account before
    preserved: tuple[str, ...] = ()  # stamps of the run that wrote the source, under their new names
    has_header: bool = True  # the input tells which columns it has; in JSON every row has keys of its own
    absent: dict[str, Expression] = field(default_factory=dict)  # physical column → in which rows it did not land
    undeclared: set[str] = field(default_factory=set)  # physical columns of landed text that the model does not know
    model: tuple[str, ...] = ()  # the fields of the model in their order, in lower case: so ties are broken
    landed: frozenset[str] = frozenset()  # physical columns that the source itself has
    lent: tuple[str, ...] = ()  # fields that did not land and that pre steps read as NULL
    retyped: dict[str, str] = field(default_factory=dict)  # physical column → the landed one whose numbers it holds

    # names

    def fresh(self, name: str) -> str:
        """A physical name that no node has used: `email`, then `email~1`. Engines fold case, so we do."""
        candidate, count = name, 0
        while candidate.lower() in self.used:
            count += 1
            candidate = f"{name}~{count}"
        self.used.add(candidate.lower())
        return candidate

    def spelled(self, name: str) -> str | None:
        """The logical name as it stands in scope, matched without case."""
        return next((column for column in self.scope if column.lower() == name.lower()), None)

    def landed_name(self, name: str) -> str | None:
        """The landed column that a logical name still stands for; None where a step has made something else of it."""
        value = self.scope.get(name)
        return self.retyped.get(value.name, value.name) if isinstance(value, Column) else None

    def column(self, name: str, path: str) -> Expression | None:
        """The column of that logical name, or a diagnostic."""
        try:
            return Binder(self.sql_scope()).bind(column_tree(name))
        except SqlProblems as trouble:
            self.trouble.sql(trouble.problems, path)
            return None

    # expressions

    def sql_scope(self, extra: Mapping[str, Expression] | None = None) -> Scope:
        """What SQL may read here."""
        return Scope(
            {**self.visible, **(extra or {})},
            frozenset({"source", self.dataset.lower()}),
            self.now,
            subquery=lambda tree, binder: self.subquery(self, tree, binder),
            undeclared=frozenset(self.undeclared),
        )

    @property
    def visible(self) -> dict[str, Expression]:
        """The columns that people know of."""
        return {name: value for name, value in self.scope.items() if not name.startswith(names.INTERNAL)}

    def may_decide(self, values: Iterable[Expression], path: str, place: str) -> bool:
        """Whether values may decide an order; diagnostics for text that nobody declared."""
        problems = [
            problem for value in values if (problem := undeclared_problem(value, self.undeclared, place)) is not None
        ]
        self.trouble.sql(list(dict.fromkeys(problems)), path)
        return not problems

    # changes

    def derive(self, label: str, values: Mapping[str, Expression], detail: tuple[str, ...] = ()) -> None:
        """Put logical columns in place of others, or add them; what they inherit of masks goes along."""
        assignments = []
        renamed: dict[str, Expression] = {}
        for name, value in values.items():
            spelled = self.spelled(name) or name
            if isinstance(value, Column) and value.name in self.used_columns():
                renamed[spelled] = value
                continue
            physical = self.fresh(spelled)
            self.inherit(physical, value)
            assignments.append(Assignment(physical, value))
            renamed[spelled] = Column(physical, value.type)
        if assignments or detail:
            self.nodes.append(RowWise(label, tuple(assignments), detail))
        self.scope |= renamed

    def used_columns(self) -> set[str]:
        """Physical columns that exist in the open account."""
        return {value.name for value in self.scope.values() if isinstance(value, Column)}

    def internal(self, label: str, name: str, value: Expression, detail: tuple[str, ...] = ()) -> Column:
        """An internal column that no logical name points to."""
        physical = self.fresh(name)
        self.nodes.append(RowWise(label, (Assignment(physical, value),), detail))
        return Column(physical, value.type)

    def taint(self, value: Expression) -> Taint | None:
        """The mask that a value carries on."""
        return taint_of(value, self.taints)

    def inherit(self, physical: str, value: Expression, *, copied: bool = True) -> None:
        """A column made from a masked one carries the mask on; counts and verdicts do not.

        `copied` says that the column holds the value itself, and not something made of several or of its parts.
        """
        if copied and named(value, self.undeclared) is not None:
            self.undeclared.add(physical)
        taint = self.taint(value)
        if taint is not None:
            earlier = [self.taints[physical]] if physical in self.taints else []
            own = taint if copied else changed(taint)
            self.taints[physical] = together([*earlier, own]) or own

    def share(self, parts: Sequence[Expression], others: Iterable[str] = (), *, hold: bool = True) -> None:
        """Columns that a join brought along, and that a condition ties to masked ones, are masked like them.

        Columns of the rows themselves, whose names do not begin with `~`, are hidden as the model says. With `hold`
        False the rows that stay are those for which the parts are not TRUE. What conditions tie over several steps is
        found when all of them are known.
        """
        for part in (condition for whole in parts for condition in conditions_of(whole, holds=hold)):
            self.ties.append(part)
            taint = self.taint(part)
            if taint is not None:
                reads = columns_of(part)
                theirs = {name for name in reads if name.startswith("~")} | (set(others) & reads)
                self.taints |= {name: changed(taint) for name in theirs - self.taints.keys()}

    def cover(self) -> None:
        """A field that the model masks hides its value wherever it was made, so that what is made of it hides too."""
        for name, value in list(self.scope.items()):
            mask = self.masked.get(name.lower())
            if mask is None or self.taint(value) is not None:
                continue
            if not isinstance(value, Column) or sum(other == value for other in self.scope.values()) > 1:
                physical = self.fresh(name)
                self.nodes.append(RowWise("derive", (Assignment(physical, value),), (name,)))
                self.scope[name] = value = Column(physical, value.type)
            self.taints[value.name] = Taint(mask)

    @property
    def alive(self) -> Expression:
        """TRUE for rows that are neither lost nor bad so far; never NULL."""
        parts = [call("eq", Column(name, BIGINT), Literal(0, BIGINT)) for name in self.verdicts]
        if not isinstance(self.fate, Literal):
            parts.append(call("eq", self.fate, Literal(0, INT)))
        return both(*parts)

    def lose(self, kind: Loss, step: str, when: Expression, detail: tuple[str, ...], *, inner: bool = False) -> None:
        """Rows that are alive and where `when` is TRUE are lost by this step."""
        self.share([when], hold=False)
        if self.beside:
            self.nodes.append(Keep("keep", call("not", holds(when)), detail))
            return
        number = len(self.fates) + 1
        self.fates.append(Fate(number, kind, step, inner))
        lost = both(self.alive, when)
        value = Call("case", (lost, Literal(number, INT), self.fate), INT)
        self.fate = self.internal("deduplicate" if kind == "deduplicated" else "keep", names.FATE, value, detail)

    def multiply(self, step: str, is_copy: Expression) -> None:
        """Rows were repeated by this step; `is_copy` (never NULL) is TRUE for all but the first of each."""
        if self.beside:
            return
        number = len(self.fates) + 1
        self.fates.append(Fate(number, "expanded", step))
        value = Call("case", (is_copy, Literal(number, INT), self.copy), INT)
        self.copy = self.internal("copy", names.COPY, value)

    def open(self, opening: Opening, step: str, *, is_landed: bool = False) -> None:
        """New rows are made of those that are alive; in a fork that is a node like others."""
        if self.beside:
            self.nodes.append(opening)
            return
        number = len(self.fates) + 1
        # Rows that go into a step are grouped once, however many accounts lead to its result.
        self.fates.append(Fate(number, "grouped", step, self.opened))
        self.opened = True
        self.close_account(Call("case", (self.alive, Literal(number, INT), self.fate), INT))
        self.opening = opening
        self.is_landed = self.is_landed and is_landed

    def account(self, fate: Expression) -> OpenAccount:
        """The open account as it stands."""
        return OpenAccount(
            self.opening,
            tuple(self.nodes),
            tuple(self.verdicts),
            tuple(self.notes),
            tuple(self.snapshots),
            fate,
            self.copy,
            self.is_landed,
            tuple(self.originals),
        )

    def close_account(self, fate: Expression) -> None:
        """Everything so far is one account; what follows starts from new rows."""
        self.closed.append(self.account(fate))
        self.nodes, self.verdicts, self.notes, self.snapshots, self.originals = [], [], [], [], []
        self.fate, self.copy = Literal(0, INT), NO_COPY

    def judge(self, flags: list[Flag], detail: tuple[str, ...] = ()) -> None:
        """Pack flags into verdict columns; only rows that are alive are judged."""
        alive = self.alive
        self.share([flag.failed for flag in flags if flag.severity == "error"], hold=False)
        errors = [flag for flag in flags if flag.severity == "error"]
        others = [flag for flag in flags if flag.severity != "error"]
        assignments: list[Assignment] = []
        before = len(self.verdicts)
        for chosen, prefix, columns in ((errors, "~bad", self.verdicts), (others, "~note", self.notes)):
            for start in range(0, len(chosen), MASK_WIDTH):
                block = chosen[start : start + MASK_WIDTH]
                name = self.fresh(f"{prefix}{len(columns)}")
                packed: Expression = Call("bits", tuple(flag.failed for flag in block), BIGINT)
                if alive != TRUE:
                    packed = Call("case", (alive, packed, Literal(0, BIGINT)), BIGINT)
                assignments.append(Assignment(name, packed))
                columns.append(name)
                self.reasons += [
                    Reason(name, bit, flag.text, flag.category, flag.rule, flag.severity, flag.label, flag.value)
                    for bit, flag in enumerate(block)
                ]
        if len(self.verdicts) > before:
            self.snapshots.append(Snapshot(tuple(self.verdicts[before:]), dict(self.scope)))
        if assignments:
            self.nodes.append(RowWise("judge", tuple(assignments), detail or tuple(flag.text for flag in flags)))
