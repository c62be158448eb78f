"""Back from a row of a table to the rows that it was made of: what must hold of a row of the source.

Up to the first step that makes one row of several, rows keep who they are: there the plan itself is run, and only what
it ends with is compared. Behind that step nobody runs anything: what must hold of a group is rewritten, step by step,
into what must hold of its rows. What cannot be rewritten is left out, so that more rows are found, never fewer, and
it is told why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakelogic import names
from lakelogic.plan.lineage import column_origins, good_values, readable
from lakelogic.plan.nodes import (
    Account,
    Expand,
    Fork,
    Join,
    Keep,
    Node,
    Pairs,
    Plan,
    Rank,
    Rollup,
    RowWise,
    Stack,
    Window,
)
from lakelogic.sql.expressions import TRUE, Call, Column, Expression, Literal, call, columns_of, replace_columns, text

# Types whose values can be compared as they are stored.
COMPARABLE = frozenset({
    "string", "boolean", "tinyint", "smallint", "int", "bigint", "decimal", "date", "timestamp", "timestamp_ntz",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trace:
    """The accounts that keep rows apart, what must hold at their end, and why that may hold of other rows too."""

    accounts: tuple[Account, ...]
    condition: Expression
    why: tuple[str, ...]
    gathers: bool  # one row may be made of several


@dataclass(frozen=True, slots=True)
class Equation:
    """A column of the table, the expression that must have its value, and that value."""

    column: str
    value: Expression
    wanted: Any


def equations(plan: Plan, row: Mapping[str, Any], columns: Sequence[str]) -> tuple[list[Equation], list[str]]:
    """What a row of the table says about the frame that it was published from; and which columns say nothing."""
    values = {name.lower(): (name, value) for name, value in good_values(plan).items()}
    masked = {mask.column.lower() for mask in plan.masks}
    constant = {name for name, origins in column_origins(plan).items() if not origins}
    equations: list[Equation] = []
    silent: list[str] = []
    for column in columns:
        name, value = values.get(column.lower(), (column, None))
        usable = value is not None and value.type.kind in COMPARABLE and name not in constant
        if not usable or name.lower() in masked or name not in row:
            silent.append(name)
        else:
            assert value is not None
            equations.append(Equation(name, value, row[name]))
    return equations, silent


def trace(plan: Plan, wanted: Sequence[Sequence[Equation]]) -> Trace:
    """What must hold of rows that one of several rows of the table was made of."""
    cut = next(
        (at for at, account in enumerate(plan.accounts) if isinstance(account.opening, Rollup | Stack)),
        len(plan.accounts),
    )
    why: dict[str, None] = {}
    results: dict[Expression, tuple[Expression | None, str | None]] = {}
    alternatives: list[Expression] = []
    for row in wanted:
        parts: list[Expression] = []
        silent: list[str] = []
        for equation in row:
            if equation.value not in results:
                results[equation.value] = _back(plan, equation.value, cut, equation.column)
            value, because = results[equation.value]
            if because is not None:
                silent.append(because)
            if value is not None and not (equation.wanted is None and _may_be_left_out(plan, cut)):
                parts.append(call("same", value, Literal(equation.wanted, value.type)))
        # Who knows all that rows were grouped by knows the group, and needs nothing of what was made of it.
        if not _is_whole_group(plan, cut, parts):
            why.update(dict.fromkeys(silent))
        alternatives.append(_all(parts))
    condition = _any(alternatives)
    if cut < len(plan.accounts):
        opening = plan.accounts[cut].opening
        assert isinstance(opening, Rollup | Stack)
        condition = _all([opening.where, condition])
        if isinstance(opening, Stack):
            why["rows of several places stand one below the other; only those of the source are followed"] = None
        if _may_be_left_out(plan, cut):
            why["the same rows are grouped in several ways"] = None
        _tell_of_groups(plan, cut, why)
    else:
        condition = _all([call("same", plan.accounts[-1].publish.side, text(names.GOOD_SIDE)), condition])
    if any(part == TRUE for part in alternatives) and wanted:
        why.setdefault("nothing about the row can be compared with the rows before it", None)
    return Trace(plan.accounts[:cut], condition, tuple(why), cut < len(plan.accounts))


def _may_be_left_out(plan: Plan, cut: int) -> bool:
    """Whether a key of a group can be NULL because it was not grouped by."""
    return any(isinstance(a.opening, Rollup) and a.opening.sets is not None for a in plan.accounts[cut:])


def _tell_of_groups(plan: Plan, cut: int, why: dict[str, None]) -> None:
    """Groups of groups, and groups that are filtered or paired afterwards, are still made of the same rows."""
    for account in plan.accounts[cut + 1 :]:
        if isinstance(account.opening, Stack):
            why["rows of several places stand one below the other; only those of the source are followed"] = None


def _is_whole_group(plan: Plan, cut: int, parts: Sequence[Expression]) -> bool:
    """Whether conditions say of each key by which rows are grouped what it is."""
    openings = [account.opening for account in plan.accounts[cut:]]
    first = openings[0] if openings else None
    if not isinstance(first, Rollup) or first.sets is not None or any(opening is not None for opening in openings[1:]):
        return False
    pinned = {part.args[0] for part in parts if isinstance(part, Call) and part.function == "same"}
    return all(key.value in pinned for key in first.keys)


def _back(plan: Plan, value: Expression, cut: int, column: str) -> tuple[Expression | None, str | None]:
    """The expression over the frame before the account `cut`; or None, and why there is none."""
    for account in reversed(plan.accounts[cut:]):
        for node in reversed(account.nodes):
            value_ = _before(node, value)
            if isinstance(value_, str):
                return None, f"`{column}` {value_}"
            value = value_
        opening = account.opening
        if isinstance(opening, Rollup):
            keys: dict[str, Expression] = {key.name: key.value for key in opening.keys}
            if not columns_of(value) <= keys.keys():
                return None, f"`{column}` is worked out from all rows of its group"
            value = replace_columns(value, keys)
        elif isinstance(opening, Stack):
            value = replace_columns(value, dict(zip(opening.columns, opening.own, strict=True)))
        elif isinstance(opening, Pairs):
            theirs = {new for _, new in opening.take} | {opening.has_left, opening.has_right}
            if columns_of(value) & theirs:
                return None, f"`{column}` comes from `{opening.link}`, which is joined after rows were grouped"
    return (value if columns_of(value) else None), None


def _before(node: Node, value: Expression) -> Expression | str:
    """The expression over the frame before a node, or why there is none."""
    used = columns_of(value)
    match node:
        case RowWise():
            values: dict[str, Expression] = {column.name: column.value for column in node.columns}
            return replace_columns(value, values) if used & values.keys() else value
        case Rank() if node.output in used:
            return "is a rank among rows"
        case Window() if used & {function.name for function in node.functions}:
            return "is worked out from other rows (a window)"
        case Expand() if used & {node.item, node.position, node.key}:
            return "comes from an element of a list"
        case Join() if used & {node.found, *(new for _, new in node.take)}:
            return f"comes from `{node.link}`, which is joined after rows were grouped"
        case _:
            return value


def told(plan: Plan) -> list[tuple[str, str]]:
    """The steps between the source and the table for people, in the order of a run."""
    lines: list[tuple[str, str]] = []
    for account in plan.accounts:
        nodes: list[Node] = [*([account.opening] if account.opening is not None else []), *account.nodes]
        for node in nodes:
            if isinstance(node, Fork | Rank) or node.label in ("judge", "stamp"):
                continue  # of a number among rows, what it decides is told next
            if detail := readable(
                "; ".join(part for part in node.detail if part and not part.startswith(names.INTERNAL))
            ):
                lines.append((node.label, detail))
    return lines


def _all(parts: Sequence[Expression]) -> Expression:
    kept = [part for part in parts if part != TRUE]
    result: Expression = kept[0] if kept else TRUE
    for part in kept[1:]:
        result = call("and", result, part)
    return result


def _any(parts: Sequence[Expression]) -> Expression:
    if not parts or TRUE in parts:
        return TRUE
    distinct = list(dict.fromkeys(parts))
    # A balanced tree: engines and this process do not like thousands of levels.
    while len(distinct) > 1:
        distinct = [
            call("or", *distinct[at : at + 2]) if at + 1 < len(distinct) else distinct[at]
            for at in range(0, len(distinct), 2)
        ]
    return distinct[0]


def any_of(parts: Sequence[Expression], values: Sequence[Sequence[Any]]) -> Expression:
    """TRUE where several expressions have one of several combinations of values."""
    return _any([
        _all([call("same", part, Literal(value, part.type)) for part, value in zip(parts, row, strict=True)])
        for row in values
    ])  # fmt: skip


@dataclass(frozen=True, slots=True)
class LinkTrace:
    """A link that rows met: expressions over the rows, and over the link's own frame, that were equal.

    Without any, every row of the link may have had a part in it.
    """

    link: str
    ours: tuple[Expression, ...] = ()
    theirs: tuple[Expression, ...] = ()


def link_traces(plan: Plan, accounts: Sequence[Account]) -> list[LinkTrace]:
    """The links that rows met in these accounts; each once, by its first join."""
    forks: dict[str, Fork] = {}
    joins_by_link: dict[str, LinkTrace] = {}
    for account in accounts:
        for node in (account.opening, *account.nodes):
            if isinstance(node, Fork):
                forks[node.name] = node
            elif isinstance(node, Join | Pairs):
                link, values, is_whole = _start(node.link, forks)
                if link is None or link not in plan.links:
                    continue  # rows of the source themselves
                by = [replace_columns(Column(name, value.type), values) for value, name in node.on]
                if is_whole:
                    sides = LinkTrace(link, tuple(value for value, _ in node.on), tuple(by))
                else:
                    sides = LinkTrace(link)
                joins_by_link.setdefault(plan.links[link].reference, sides)
    return list(joins_by_link.values())


def _start(name: str, forks: Mapping[str, Fork]) -> tuple[str | None, dict[str, Expression], bool]:
    """The link that a fork begins with, what its row-wise columns are made of, and whether its rows stay apart."""
    values: dict[str, Expression] = {}
    is_whole = True
    start: str | None = name
    while start is not None and start in forks:
        fork = forks[start]
        for node in reversed(fork.nodes):
            if isinstance(node, RowWise):
                own: dict[str, Expression] = {column.name: column.value for column in node.columns}
                values = {**own, **{key: replace_columns(value, own) for key, value in values.items()}}
            elif not isinstance(node, Rank | Window | Keep | Fork):
                is_whole = False
        start = fork.start
    return start, values, is_whole
