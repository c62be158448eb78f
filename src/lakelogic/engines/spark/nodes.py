"""The nodes of a plan on PySpark frames: one select per node, nothing evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lakelogic import names
from lakelogic.engines.base import Frame
from lakelogic.engines.exact import parts
from lakelogic.engines.spark.counting import counted, noted, notes_of
from lakelogic.engines.spark.expressions import sql
from lakelogic.engines.spark.functions.aggregates import Summary, summary, with_layers
from lakelogic.engines.spark.functions.windows import window
from lakelogic.engines.spark.literals import identifier, type_name
from lakelogic.engines.spark.relations import expand, join, pairs, stack
from lakelogic.engines.sql.windows import direction
from lakelogic.plan.nodes import (
    Account,
    Expand,
    Fork,
    Join,
    Keep,
    Node,
    Pairs,
    Publish,
    Rank,
    Rollup,
    RowWise,
    Stack,
    Window,
)
from lakelogic.sql.expressions import Call, Expression, Literal, walk
from lakelogic.sql.types import TIMESTAMP

LONG = 400  # characters of SQL, from which an argument becomes a column


class Links(parts.Links[Frame]):
    """Frames by name; grows while nodes are lowered: a fork is known like a link from its place on."""

    def __init__(self, frames: Mapping[str, Frame]) -> None:
        super().__init__(frames, lambda value: len(sql(value)), LONG)


def lower(frame: Frame, accounts: Sequence[Account], links: Mapping[str, Frame]) -> Frame:
    """What all accounts publish, one below the other."""
    start = frame
    # Rows that are not landed ones are not counted at the scan; a counter that no row passes is waited for in vain.
    source, scan = counted(frame) if accounts[0].opening is None else (frame, None)
    frames = Links(links)
    published = []
    for number, account in enumerate(accounts):
        if account.opening is not None:
            frame = source = apply(frame, [account.opening], frames)
        # Counted rows must pass the counter once: forks and the next account read the rows beside it.
        beside = number + 1 < len(accounts) or any(isinstance(node, Fork) for node in account.nodes)
        if source is frame:
            frame = source = apply(source, account.nodes, frames)
        else:
            frame = apply(frame, account.nodes, frames) if beside else frame
            source = apply(source, [node for node in account.nodes if not isinstance(node, Fork)], frames)
        published.append(publish(source, account.publish))
        source = frame
    whole = published[0]
    for part in published[1:]:
        whole = whole.unionByName(part)
    fates, copies = _numbers(accounts, names.FATE), _numbers(accounts, names.COPY)
    return noted(whole, replace(notes_of(start), scan=scan, fates=fates, copies=copies))


def apply(frame: Frame, nodes: Sequence[Node], links: Links) -> Frame:
    """The frame after the nodes, in order; forks are added to `links`."""
    for node in nodes:
        pieces, short = links.pieces.of_node(node)
        for part in pieces:
            frame = row_wise(frame, part, links)
        frame = LOWER[type(short)](frame, short, links)
    return frame


def keep(frame: Frame, node: Keep, _links: Links) -> Frame:
    """The rows where the condition is TRUE."""
    return frame.where(sql(node.where))


def fork(frame: Frame, node: Fork, links: Links) -> Frame:
    """Another frame beside the rows."""
    links[node.name] = apply(frame if node.start is None else links[node.start], node.nodes, links)
    return frame


def row_wise(frame: Frame, node: RowWise, _links: Links) -> Frame:
    """New columns beside the old ones."""
    if not node.columns:
        return frame
    return frame.selectExpr("*", *(f"{sql(column.value)} AS {identifier(column.name)}" for column in node.columns))


def rank(frame: Frame, node: Rank, _links: Links) -> Frame:
    """Row numbers within groups."""
    parts = []
    if node.partition:
        parts.append("PARTITION BY " + ", ".join(sql(value) for value in node.partition))
    parts.append("ORDER BY " + (", ".join(sql(order.value) + direction(order) for order in node.order) or "NULL"))
    return frame.selectExpr("*", f"CAST(row_number() OVER ({' '.join(parts)}) AS BIGINT) AS {identifier(node.output)}")


def rollup(frame: Frame, node: Rollup, _links: Links) -> Frame:
    """Groups of the rows that count."""
    kept = frame.where(sql(node.where))
    if node.sets is None:
        return _grouped(kept, node, range(len(node.keys)))
    parts = [_grouped(kept, node, chosen) for chosen in node.sets]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def _grouped(kept: Frame, node: Rollup, chosen: Sequence[int]) -> Frame:
    """Groups by some of the keys; the others are NULL."""
    keys = [node.keys[index] for index in chosen]
    # Keys and values are computed under names of their own, so that grouping reads plain columns.
    computed = [f"{sql(key.value)} AS {identifier(key.name)}" for key in keys]
    summaries: list[Summary] = []
    columns: list[str] = []
    totals: list[str] = []
    for i, wanted in enumerate(node.aggregates):
        args = [] if wanted.value is None else [wanted.value, *wanted.more]
        own = [f"~value{i}.{place}" for place in range(len(args))]
        computed += [f"{sql(value)} AS {identifier(column)}" for value, column in zip(args, own, strict=True)]
        values = [identifier(column) for column in own]
        calls = summary(wanted.function, f"~made{i}", values, args, wanted.type, distinct=wanted.distinct)
        summaries.append(calls)
        columns += [f"{text} AS {identifier(column)}" for column, text in calls.inner.items()]
        totals.append(f"CAST({calls.outer} AS {type_name(wanted.type)}) AS {identifier(wanted.name)}")
    kept = with_layers(kept.selectExpr(*computed) if computed else kept, summaries)
    if not keys:
        grouped = kept.selectExpr(*(columns or ["count(1) AS `~rows`"]))
    elif not columns:
        grouped = kept.selectExpr(*(identifier(key.name) for key in keys)).distinct()
    else:
        by = kept.groupBy(*(kept[identifier(key.name)] for key in keys))
        grouped = by.agg(*(_expr(kept, column) for column in columns))
    width = len(node.keys)
    bits = sum(1 << (width - 1 - index) for index in range(width) if index not in chosen)
    return grouped.selectExpr(
        *(
            identifier(key.name)
            if index in chosen
            else f"CAST(NULL AS {type_name(key.value.type)}) AS {identifier(key.name)}"
            for index, key in enumerate(node.keys)
        ),
        *totals,
        *([f"{bits}L AS {identifier(node.grouping)}"] if node.grouping is not None else []),
    )


def _expr(frame: Frame, text: str) -> Any:
    from lakelogic.engines.spark.session import functions_of

    return functions_of(frame).expr(text)


def publish(frame: Frame, node: Publish) -> Frame:
    """The columns of the staged files, the fate, the copy and the side."""
    return frame.selectExpr(
        *(f"{_published(value.value, node.side)} AS {identifier(value.name)}" for value in node.values),
        f"CAST({sql(node.fate)} AS INT) AS {identifier(names.FATE)}",
        f"CAST({sql(node.copy)} AS INT) AS {identifier(names.COPY)}",
        f"CAST({sql(node.side)} AS STRING) AS {identifier(names.SIDE)}",
    )


def _published(value: Expression, side: Expression) -> str:
    """A published value. The moment of a run is looked up in an array, by the side of the row.

    Spark writes a moment itself into the Java code that it makes, so that every run would compile, and warm up, code
    of its own; an array is handed to the code, and the next run of the contract finds it compiled.
    """
    if not isinstance(value, Literal) or value.type != TIMESTAMP or value.value is None or not isinstance(side, Call):
        return sql(value)
    moment = sql(value)
    return f"array({moment}, {moment})[CASE WHEN {sql(side.args[0])} THEN 1 ELSE 0 END]"


def _numbers(accounts: Sequence[Account], kind: str) -> tuple[int, ...]:
    """Every number that a row can have in `~fate` or `~copy`: the whole-number constants of what makes it."""
    numbers: set[int] = set()
    for account in accounts:
        expressions = [account.publish.fate if kind == names.FATE else account.publish.copy]
        for node in account.nodes:
            if isinstance(node, RowWise):
                expressions += [column.value for column in node.columns if column.name.startswith(kind)]
        for expression in expressions:
            numbers |= {number for number in _results(expression) if number > 0}
    return tuple(sorted(numbers))


def _results(expression: Expression) -> set[int]:
    return {
        part.value
        for part in walk(expression)
        if isinstance(part, Literal) and isinstance(part.value, int) and not isinstance(part.value, bool)
    }


LOWER: dict[type[Node], Callable[[Frame, Any, Links], Frame]] = {
    RowWise: row_wise,
    Rank: rank,
    Join: join,
    Expand: expand,
    Keep: keep,
    Fork: fork,
    Rollup: rollup,
    Pairs: pairs,
    Stack: stack,
    Window: window,
}
