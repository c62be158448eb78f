"""The nodes of a plan → one SQL statement: a CTE per node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lakelogic.engines.duckdb.expressions import LONG, expression_sql, size
from lakelogic.engines.duckdb.frame import Query, fresh, indented, listed, select
from lakelogic.engines.duckdb.functions.aggregates import summary
from lakelogic.engines.duckdb.functions.windows import window
from lakelogic.engines.duckdb.literals import cast, identifier, try_cast
from lakelogic.engines.duckdb.relations import expand, join, pairs, stack
from lakelogic.engines.exact.parts import PIECE, Links
from lakelogic.engines.sql.windows import direction
from lakelogic.names import COPY, FATE, SIDE
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


def named_frames(links: Mapping[str, Query]) -> Links[Query]:
    """The links that nodes begin with."""
    return Links(links, size, LONG)


def lower(frame: Query, accounts: Sequence[Account], links: Mapping[str, Query]) -> Query:
    """The union of what the accounts publish."""
    published: list[Query] = []
    frames = named_frames(links)
    current = frame
    for index, account in enumerate(accounts):
        if account.opening is not None:
            current = apply(current, [account.opening], frames)
        current = apply(current, account.nodes, frames)
        if index + 1 < len(accounts):
            current = current.read_twice()
        published.append(publish(current, account.publish))
    if len(published) == 1:
        return published[0]
    parts = [f"SELECT * FROM {identifier(query.name)}" for query in published]
    # The CTEs of the last account hold those of all before it, but for what the earlier ones published.
    return published[-1].then("union", "\nUNION ALL\n".join(parts), published[0].columns, *published[:-1])


def apply(frame: Query, nodes: Sequence[Node], links: Links[Query]) -> Query:
    """The frame after the nodes, in order; forks are added to `links`."""
    for node in nodes:
        parts, short = links.pieces.of_node(node)
        for part in parts:
            frame = row_wise(frame, part, links)
        frame = LOWER[type(short)](frame, short, links)
        # Pieces are read by the node and by nothing after it.
        kept = {name: identifier for name, identifier in frame.columns.items() if not name.startswith(PIECE)}
        frame = replace(frame, columns=kept)
    return frame


def row_wise(frame: Query, node: RowWise, _links: Links[Query]) -> Query:
    """Columns computed from the same row."""
    identifiers = fresh((column.name for column in node.columns), frame.columns)
    added = {identifiers[column.name]: expression_sql(column.value, frame.columns) for column in node.columns}
    hidden = [frame.columns[name] for name in identifiers if name in frame.columns]
    sql = select(added, identifier(frame.name), hidden)
    return frame.then(node.label, sql, {**frame.columns, **identifiers})


def keep(frame: Query, node: Keep, _links: Links[Query]) -> Query:
    """The rows where the condition is TRUE."""
    # A bare comparison would be answered from the statistics of Parquet files, which leave NaN out.
    sql = f"SELECT * FROM {identifier(frame.name)}\nWHERE coalesce({expression_sql(node.where, frame.columns)}, FALSE)"
    return frame.then(node.label, sql, frame.columns)


def fork(frame: Query, node: Fork, links: Links[Query]) -> Query:
    """Another frame beside the rows."""
    if node.start is None:
        frame = frame.read_twice()
    start = frame if node.start is None else links[node.start]
    # The CTEs of a fork have a prefix of their own: the rows go on from the same place, with the same numbers.
    links[node.name] = apply(replace(start, prefix=f"{start.prefix}{node.name}_"), node.nodes, links)
    return frame


def rank(frame: Query, node: Rank, _links: Links[Query]) -> Query:
    """Row numbers within partitions."""
    identifiers = fresh([node.output], frame.columns)
    partition = ", ".join(expression_sql(value, frame.columns) for value in node.partition)
    order = ", ".join(expression_sql(key.value, frame.columns) + direction(key) for key in node.order)
    over = " ".join(
        part
        for part in (f"PARTITION BY {partition}" if partition else "", f"ORDER BY {order}" if order else "")
        if part
    )
    sql = select({identifiers[node.output]: f"row_number() OVER ({over})"}, identifier(frame.name))
    return frame.then(node.label, sql, {**frame.columns, **identifiers})


def rollup(frame: Query, node: Rollup, _links: Links[Query]) -> Query:
    """Groups; without keys exactly one row."""
    names = [*(key.name for key in node.keys), *(aggregate.name for aggregate in node.aggregates)]
    identifiers = fresh([*names, *([node.grouping] if node.grouping is not None else [])], {})
    # Keys and values are computed first, under names of their own, so that all that follows reads plain columns.
    keys = {f"~group{index}": expression_sql(key.value, frame.columns) for index, key in enumerate(node.keys)}
    values: dict[str, str] = {}
    inner = [
        f"{identifier(name)} AS {identifier(identifiers[key.name])}" for name, key in zip(keys, node.keys, strict=True)
    ]
    outer = [identifier(identifiers[key.name]) for key in node.keys]
    for index, aggregate in enumerate(node.aggregates):
        args = [] if aggregate.value is None else [aggregate.value, *aggregate.more]
        own = {f"~value{index}.{place}": expression_sql(value, frame.columns) for place, value in enumerate(args)}
        values |= own
        written = [identifier(name) for name in own]
        name = identifiers[aggregate.name]
        calls = summary(aggregate.function, f"~made{index}", written, args, aggregate.type, distinct=aggregate.distinct)
        inner += [f"{sql} AS {identifier(part)}" for part, sql in calls.inner.items()]
        outer.append(f"{try_cast(calls.outer, aggregate.type)} AS {identifier(name)}")
    if node.grouping is not None:
        level = identifier(identifiers[node.grouping])
        level_sql = f"grouping({', '.join(identifier(name) for name in keys)})" if keys else "0"
        inner.append(f"{cast(level_sql, 'BIGINT')} AS {level}")
        outer.append(level)
    computed = [f"{sql} AS {identifier(name)}" for name, sql in {**keys, **values}.items()]
    kept = f"{identifier(frame.name)}\nWHERE {expression_sql(node.where, frame.columns)}"
    source = f"(\n{indented(listed(computed or ['1'], kept))}\n)"
    grouped = listed(inner or ["count(*)"], source) + _grouped([identifier(name) for name in keys], node.sets)
    return frame.then(node.label, listed(outer or ["1"], f"(\n{indented(grouped)}\n)"), identifiers)


def _grouped(keys: Sequence[str], sets: Sequence[Sequence[int]] | None) -> str:
    if sets is None:
        return f"\nGROUP BY {', '.join(keys)}" if keys else ""
    written = ", ".join(f"({', '.join(keys[index] for index in chosen)})" for chosen in sets)
    return f"\nGROUP BY GROUPING SETS ({written})"


def publish(frame: Query, node: Publish) -> Query:
    """Exactly the published columns, then the fate, the copy and the side."""
    names = [value.name for value in node.values]
    identifiers = fresh([*names, FATE, COPY, SIDE], {})
    values = [*(value.value for value in node.values), node.fate, node.copy, node.side]
    items = [
        f"{expression_sql(value, frame.columns)} AS {identifier(column)}"
        for value, column in zip(values, identifiers.values(), strict=True)
    ]
    return frame.then("publish", listed(items, identifier(frame.name)), identifiers)


LOWER: dict[type[Node], Callable[[Query, Any, Links[Query]], Query]] = {
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
