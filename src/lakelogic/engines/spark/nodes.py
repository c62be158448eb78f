"""The nodes of a plan on PySpark frames: one select per node, nothing evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lakelogic import names
from lakelogic.engines.base import Frame
from lakelogic.engines.spark.counting import counted, noted, notes_of
from lakelogic.engines.spark.expressions import aggregate, sql
from lakelogic.engines.spark.text import name, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.plan.nodes import Account, Join, Node, Opening, Order, Publish, Rank, Rollup, RowWise
from lakelogic.sql.expressions import Column, Expression, Literal, walk


def lower(frame: Frame, accounts: Sequence[Account], links: Mapping[str, Frame]) -> Frame:
    """What all accounts publish, one below the other."""
    start = frame
    source, scan = counted(frame)
    published = []
    for number, account in enumerate(accounts):
        if account.opening is not None:
            # Counted rows must pass the counter once: the rollup reads the rows beside it.
            frame = opened(frame, account.opening)
            source = frame
        lowered = apply(source, account.nodes, links)
        published.append(publish(lowered, account.publish))
        if number + 1 < len(accounts):
            frame = apply(frame, account.nodes, links) if source is not frame else lowered
    whole = published[0]
    for part in published[1:]:
        whole = whole.unionByName(part)
    return noted(
        whole,
        replace(
            notes_of(start), scan=scan, fates=_numbers(accounts, names.FATE), copies=_numbers(accounts, names.COPY)
        ),
    )


def opened(frame: Frame, opening: Opening) -> Frame:
    """How a new account begins."""
    if isinstance(opening, Rollup):
        return rollup(frame, opening)
    raise UnsupportedError(f"Spark has no {type(opening).__name__} yet.")


def apply(frame: Frame, nodes: Sequence[Node], links: Mapping[str, Frame]) -> Frame:
    """The frame after the nodes, in order."""
    for node in nodes:
        frame = LOWER[type(node)](frame, node, links)
    return frame


def row_wise(frame: Frame, node: RowWise, _links: Mapping[str, Frame]) -> Frame:
    """New columns beside the old ones."""
    if not node.columns:
        return frame
    return frame.selectExpr("*", *(f"{sql(column.value)} AS {name(column.name)}" for column in node.columns))


def rank(frame: Frame, node: Rank, _links: Mapping[str, Frame]) -> Frame:
    """Row numbers within groups."""
    parts = []
    if node.partition:
        parts.append("PARTITION BY " + ", ".join(sql(value) for value in node.partition))
    parts.append("ORDER BY " + (", ".join(_order(order) for order in node.order) or "NULL"))
    return frame.selectExpr("*", f"CAST(row_number() OVER ({' '.join(parts)}) AS BIGINT) AS {name(node.output)}")


def _order(order: Order) -> str:
    return f"{sql(order.value)} {'DESC' if order.descending else 'ASC'} NULLS LAST"


def join(frame: Frame, node: Join, links: Mapping[str, Frame]) -> Frame:
    """Columns of a link beside the row that refers to it; equality never matches NULL."""
    keys = [f"{node.found}~key{i}" for i in range(len(node.on))]
    link = links[node.link].selectExpr(
        *(f"{name(column)} AS {name(key)}" for key, (_, column) in zip(keys, node.on, strict=True)),
        *(f"{name(column)} AS {name(new)}" for column, new in node.take),
        f"TRUE AS {name(node.found)}",
    )
    # The keys of the frame become columns first, so that the condition can be written over plain names.
    own = [f"{node.found}~own{i}" for i in range(len(node.on))]
    keyed = frame.selectExpr(
        "*", *(f"{sql(value)} AS {name(key)}" for key, (value, _) in zip(own, node.on, strict=True))
    )
    condition = None
    for mine, theirs in zip(own, keys, strict=True):
        equal = keyed[name(mine)] == link[name(theirs)]
        condition = equal if condition is None else condition & equal
    joined = keyed.join(link, condition, "left") if condition is not None else keyed.crossJoin(link)
    return joined.selectExpr(
        *(name(column) for column in frame.columns),
        *(name(new) for _, new in node.take),
        f"coalesce({name(node.found)}, FALSE) AS {name(node.found)}",
    )


def rollup(frame: Frame, node: Rollup) -> Frame:
    """Groups of the rows that count."""
    kept = frame.where(sql(node.where))
    keys = [f"{sql(key.value)} AS {name(key.name)}" for key in node.keys]
    # Values are computed under names of their own, so that grouping reads plain columns.
    values = [f"{sql(a.value)} AS {name(f'~value{i}')}" for i, a in enumerate(node.aggregates) if a.value is not None]
    kept = kept.selectExpr(*keys, *values) if keys or values else kept
    columns = []
    for i, wanted in enumerate(node.aggregates):
        value = None if wanted.value is None else _column(f"~value{i}", wanted.value)
        written = aggregate(wanted.function, value, wanted.type)
        columns.append(f"CAST({written} AS {type_name(wanted.type)}) AS {name(wanted.name)}")
    if not node.keys:
        return kept.selectExpr(*columns)
    grouped = kept.groupBy(*(kept[name(key.name)] for key in node.keys))
    if not columns:
        return kept.selectExpr(*(name(key.name) for key in node.keys)).distinct()
    return grouped.agg(*(_expr(kept, column) for column in columns))


def _column(column: str, like: Expression) -> Expression:

    return Column(column, like.type)


def _expr(frame: Frame, text: str) -> Any:
    from lakelogic.engines.spark.session import functions_of

    return functions_of(frame).expr(text)


def publish(frame: Frame, node: Publish) -> Frame:
    """The columns of the staged files, the fate, the copy and the side."""
    return frame.selectExpr(
        *(f"{sql(value.value)} AS {name(value.name)}" for value in node.values),
        f"CAST({sql(node.fate)} AS INT) AS {name(names.FATE)}",
        f"CAST({sql(node.copy)} AS INT) AS {name(names.COPY)}",
        f"CAST({sql(node.side)} AS STRING) AS {name(names.SIDE)}",
    )


def _numbers(accounts: Sequence[Account], kind: str) -> tuple[int, ...]:
    """Every number that a row can have in `~fate` or `~copy`: the whole-number constants of what makes it."""
    found: set[int] = set()
    for account in accounts:
        made = [account.publish.fate if kind == names.FATE else account.publish.copy]
        for node in account.nodes:
            if isinstance(node, RowWise):
                made += [column.value for column in node.columns if column.name.startswith(kind)]
        for expression in made:
            found |= {number for number in _results(expression) if number > 0}
    return tuple(sorted(found))


def _results(expression: Expression) -> set[int]:
    return {
        part.value
        for part in walk(expression)
        if isinstance(part, Literal) and isinstance(part.value, int) and not isinstance(part.value, bool)
    }


LOWER: dict[type, Callable[[Frame, Any, Mapping[str, Frame]], Frame]] = {RowWise: row_wise, Rank: rank, Join: join}
