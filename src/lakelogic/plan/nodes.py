"""What will happen to rows: the nodes of a plan, decided once and lowered by every engine.

Every column that a node makes gets a name of its own (`email`, then `email~1`), so a later node never
hides an earlier value: the quarantine can show the row as it looked when it failed, and the table
the row as it looked at the end, out of one pass. A row that a filter or a deduplication loses is not
dropped but marked in `~fate`; the staging pass counts the marks and leaves the rows out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from lakelogic.plan.columns.numbers import Shape
from lakelogic.sql import expressions
from lakelogic.sql.expressions import Expression
from lakelogic.sql.types import INT, Type

Severity = Literal["error", "warning", "info"]
NO_COPY = expressions.Literal(0, INT)
APART = "apart"  # the label of nodes that only move what rows show which failed before an explode


@dataclass(frozen=True, slots=True)
class Landed:
    """A column as it landed: text formats land everything as string. `shape` is how values of JSON are written."""

    name: str
    type: Type
    shape: Shape | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Read:
    """Read the pinned input: the landed columns, plus `~file`, `~number`, `~text` and `~broken`.

    `~file` is the path as pinned; `~number` the 1-based line of a text file (NULL where the engine cannot
    tell); `~text` the landed line of an ndjson file or of a line that could not be parsed, else NULL;
    `~broken` says in words why a line could not be parsed (its landed columns are then NULL).
    Formats other than csv, tsv, json and ndjson have NULL in `~text` and `~broken`.
    """

    name: str  # `source`, or the name of a link
    format: str  # a row of `contract/formats.py`; `delta` for the files of any table
    columns: tuple[Landed, ...]
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A new column and the expression over the frame before the node that makes it."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class RowWise:
    """Adds columns computed from the same row and keeps all others; all assignments see the frame before.

    `label` and `detail` are for people: `explain` shows them.
    """

    label: str  # shape, cast, derive, keep, judge, stamp, …
    columns: tuple[Assignment, ...]
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """One sort key. NULLs are last in both directions, unless told first; text by code point; NaN above all numbers."""

    value: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Rank:
    """Adds `output` (bigint): 1, 2, 3… within rows of equal `partition` values (NULL equals NULL), by `order`."""

    label: str
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    output: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """The rows of a window that an aggregate sees, counted from the row itself; None is without end.

    `rows` counts rows (-2 is two before, 0 the row itself, 1 the next). Otherwise peers (rows of equal order)
    belong together, and the bounds can only be (None, 0), the rows up to the last peer, or (None, None), all.
    """

    rows: bool
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """One new column of a window: a function of `sql/catalogue/windows.py`, or an aggregate within `bounds`.

    The first of `args` is the value; the others are constants (how far `lag` looks, into how many `ntile` parts).
    """

    name: str
    function: str
    args: tuple[Expression, ...]
    type: Type
    bounds: Bounds | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Adds columns that look at the rows of equal `partition` values (NULL equals NULL), in `order`.

    Where the answer depends on the order of peers, the plan has added sort keys until there are none.
    """

    label: str
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    functions: tuple[WindowFunction, ...]
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expand:
    """Repeats each row for every element of an array, or every entry of a map, where `where` is TRUE.

    A row without elements (NULL, empty, or `where` not TRUE) stays once, with NULL in all new columns. `item` is the
    element (a map's value), `key` a map's key, `position` (int) counts from 0. Entries of a map come by key.
    `apart` are nested columns that are NULL wherever `where` is TRUE: no engine need repeat them. `repeated` are nested
    columns that good rows have beside each element.
    """

    label: str
    where: Expression
    value: Expression
    position: str
    item: str
    key: str | None = None
    detail: tuple[str, ...] = ()
    apart: tuple[tuple[str, Type], ...] = ()
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep:
    """Drops the rows where `where` is not TRUE. Only beside the main rows: these are never dropped, but marked."""

    label: str
    where: Expression
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fork:
    """Makes another frame beside the rows, known by `name` from here on like a link; the rows stay as they are.

    It begins with the rows of the link `start`, or, where that is None, with the rows themselves at this point, and
    its nodes (of any kind) follow. Its columns are all those that its nodes leave.
    """

    label: str
    name: str
    start: str | None
    nodes: tuple[Node, ...]
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """Adds columns of a link (or a fork) to each row by equality of keys; a NULL key matches nothing.

    Keeps every row of the frame (left join). `take` pairs a column of the link with the new name it gets;
    `found` is a new boolean column (never NULL): did a row of the link match. Without `on` every row of the
    link matches. Several matches repeat the row.
    """

    label: str
    link: str
    on: tuple[tuple[Expression, str], ...]  # (expression over the frame, column of the link), same types
    take: tuple[tuple[str, str], ...]
    found: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregated column: a catalogue aggregate over an expression (None for `count_all`).

    `more` are further arguments: a constant (the share of a percentile) or a second value (what `max_by` orders by).
    With `distinct` equal values count once.
    """

    name: str
    function: str
    value: Expression | None
    type: Type
    more: tuple[Expression, ...] = ()
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Rollup:
    """Groups the rows where `where` is TRUE: the new frame has the key columns and the aggregates, nothing else.

    NULL keys form a group. Without keys there is exactly one row, even over nothing. With `sets` the rows are
    grouped once for each of them (positions in `keys`); keys that are not in the set are NULL in its groups, and
    `grouping` (bigint) tells which: the first key is the highest bit, 1 where it is not in the set. The empty set
    has exactly one row, even over nothing.
    """

    label: str
    where: Expression
    keys: tuple[Assignment, ...]
    aggregates: tuple[Aggregate, ...]
    detail: tuple[str, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None
    grouping: str | None = None


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows: those of the frame where `where` is TRUE, and those of a link (or fork) that match.

    A pair matches when all of `on` are equal (NULL equals nothing) and `condition` is TRUE; it reads the
    frame's columns, and the link's under the names of `take`. `left` keeps rows of the frame without a match
    once, `right` those of the link, `full` both. The new frame has all columns of the frame, those of `take`, and two
    booleans (never NULL): `has_left`, `has_right`.
    """

    label: str
    where: Expression
    link: str
    kind: Literal["inner", "left", "right", "full"]
    on: tuple[tuple[Expression, str], ...]
    condition: Expression | None
    take: tuple[tuple[str, str], ...]
    has_left: str
    has_right: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stack:
    """Rows one below the other: of the frame where `where` is TRUE, then of each link (or fork) in `below`.

    Each part is a list of expressions over its own frame, one for each of `columns`, of the same types.
    """

    label: str
    where: Expression
    columns: tuple[str, ...]
    own: tuple[Expression, ...]
    below: tuple[tuple[str, tuple[Expression, ...]], ...]
    detail: tuple[str, ...] = ()


# How a new account begins: rows merge, meet others, or are stacked. Within a fork these are nodes like others.
Opening: TypeAlias = Rollup | Pairs | Stack
Node: TypeAlias = RowWise | Rank | Window | Expand | Join | Fork | Keep | Rollup | Pairs | Stack


@dataclass(frozen=True, slots=True)
class Link:
    """Reference data: what to read, and how its rows are shaped before anything joins them."""

    read: Read
    nodes: tuple[Node, ...]
    keep: Expression | None  # rows of the link that count; None for all
    reference: str = ""  # the name in the contract; `read.name` is unique in the plan
    key: tuple[str, ...] = ()  # the columns a Join matches by
    is_checked: bool = True  # the key must be unique, and the run measures that; otherwise the nodes see to it


@dataclass(frozen=True, slots=True)
class Fate:
    """A way to lose a row by name: its number in `~fate`; or, `expanded`, to be made: its number in `~copy`.

    Rows `outside` the window of a run were not asked for: they are in nobody's account.
    """

    number: int
    kind: Literal["filtered", "deduplicated", "grouped", "expanded", "outside"]
    step: str
    inner: bool = False  # of rows that the step made itself on the way to its result: they are in nobody's account


@dataclass(frozen=True, slots=True)
class Reason:
    """What one bit of one verdict column means. Order of reasons is the order of this list."""

    column: str  # a bigint made by `bits`, such as `~bad1`
    bit: int
    text: str
    category: str
    rule: str
    severity: Severity = "error"
    label: str | None = None
    value: str | None = None  # a column whose text is put in place of `{}` in `text` (why a line is broken)


@dataclass(frozen=True, slots=True)
class Mask:
    """How the values of one published column are hidden before anything is written."""

    column: str
    strategy: Literal["nullify", "hash", "redact", "partial", "encrypt", "encrypt_deterministic"]
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """One column of the staged files and the sides it stands on."""

    name: str
    type: Type
    on_good: bool
    on_bad: bool


@dataclass(frozen=True, slots=True)
class Publish:
    """The last projection of an account: exactly `columns`, plus `~fate`, `~copy` and `ll_side`.

    `side` is 'good', 'bad' or NULL (lost: counted by its fate, never written). On a row of one side the
    columns that only the other side has are NULL. Masks are applied after the projection, on both sides.
    """

    values: tuple[Assignment, ...]  # one per Published column, in order
    fate: Expression
    side: Expression
    copy: Expression = NO_COPY  # the number of the step that made this row as one more copy of another; 0 for none


@dataclass(frozen=True, slots=True)
class Account:
    """A stretch of the plan in which rows are neither made nor merged, so that they can be counted.

    It begins with the source (`opening` None) or with what happens to the rows of the account before.
    """

    opening: Opening | None
    nodes: tuple[Node, ...]
    publish: Publish


@dataclass(frozen=True, slots=True)
class Measure:
    """One number over staged good rows: an aggregate, by the rows where `where` is TRUE."""

    name: str
    function: str
    value: Expression | None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run does to rows, in order."""

    SOURCE: ClassVar[str] = "source"

    dataset: str
    read: Read
    links: Mapping[str, Link]
    accounts: tuple[Account, ...]
    columns: tuple[Published, ...]  # the staged columns, the same for all accounts
    masks: tuple[Mask, ...]
    fates: tuple[Fate, ...]
    reasons: tuple[Reason, ...]
