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

from lakelogic.sql.expressions import Expression
from lakelogic.sql.types import Type

FileFormat = Literal["csv", "tsv", "json", "ndjson", "parquet", "delta"]
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Landed:
    """A column as it landed: text formats land everything as string."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Read:
    """Read the pinned input: the landed columns, plus `~file`, `~number`, `~text` and `~broken`.

    `~file` is the path as pinned; `~number` the 1-based line of a text file (NULL where the engine cannot
    tell); `~text` the landed line of an ndjson file or of a line that could not be parsed, else NULL;
    `~broken` says in words why a line could not be parsed (its landed columns are then NULL).
    Formats other than csv, tsv, json and ndjson have NULL in `~text` and `~broken`.
    """

    name: str  # `source`, or the name of a link
    format: FileFormat
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
    """One sort key. NULLs are last in both directions; text by code point; NaN above all numbers."""

    value: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Rank:
    """Adds `output` (bigint): 1, 2, 3… within rows of equal `partition` values (NULL equals NULL), by `order`."""

    label: str
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    output: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """Adds columns of a link to each row by equality of keys; a NULL key matches nothing.

    Keeps every row of the frame (left join). `take` pairs a column of the link with the new name it gets;
    `found` is a new boolean column (never NULL): did a row of the link match. The keys are unique in the
    link: the run measures that before the plan is lowered.
    """

    label: str
    link: str
    on: tuple[tuple[Expression, str], ...]  # (expression over the frame, column of the link), same types
    take: tuple[tuple[str, str], ...]
    found: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregated column: a catalogue aggregate over an expression (None for `count_all`)."""

    name: str
    function: str
    value: Expression | None
    type: Type


@dataclass(frozen=True, slots=True)
class Rollup:
    """Groups the rows where `where` is TRUE: the new frame has the key columns and the aggregates, nothing else.

    NULL keys form a group. Without keys there is exactly one row, even over nothing.
    """

    label: str
    where: Expression
    keys: tuple[Assignment, ...]
    aggregates: tuple[Aggregate, ...]
    detail: tuple[str, ...] = ()


Node: TypeAlias = RowWise | Rank | Join


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
    """A way to lose a row by name: its number in `~fate`."""

    number: int
    kind: Literal["filtered", "deduplicated", "grouped"]
    step: str


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
    """The last projection of an account: exactly `columns`, plus `~fate` and `ll_side`.

    `side` is 'good', 'bad' or NULL (lost: counted by its fate, never written). On a row of one side the
    columns that only the other side has are NULL. Masks are applied after the projection, on both sides.
    """

    values: tuple[Assignment, ...]  # one per Published column, in order
    fate: Expression
    side: Expression


@dataclass(frozen=True, slots=True)
class Account:
    """A stretch of the plan in which rows are neither made nor merged, so that they can be counted.

    It begins with the source (`rollup` None) or with a rollup of the account before.
    """

    rollup: Rollup | None
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
