"""Nodes that make rows, or bring in others: join, expand, pairs and stacks, on PySpark frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakelogic.engines.base import Frame
from lakelogic.engines.spark.counting import notes_of
from lakelogic.engines.spark.expressions import sql
from lakelogic.engines.spark.literals import identifier
from lakelogic.engines.spark.session import functions_of
from lakelogic.plan.nodes import Expand, Join, Pairs, Stack
from lakelogic.sql.expressions import Expression

_LEFT, _RIGHT = "~left", "~right"
FEW_BYTES = 32 * 2**20  # of Parquet, which may be ten times as much where it is looked up


def join(frame: Frame, node: Join, links: Mapping[str, Frame]) -> Frame:
    """Columns of a link beside the row that refers to it; equality never matches NULL."""
    keyed, link, matched = _sides(frame, links[node.link], node.on, node.take)
    link = link.selectExpr("*", f"TRUE AS {identifier(_RIGHT)}")
    return keyed.join(link, matched, "left").selectExpr(
        *(identifier(column) for column in frame.columns),
        *(identifier(new) for _, new in node.take),
        f"({identifier(_RIGHT)} IS NOT NULL) AS {identifier(node.found)}",
    )


def _sides(
    frame: Frame, link: Frame, on: Sequence[tuple[Expression, str]], take: Sequence[tuple[str, str]], more: str = ""
) -> tuple[Frame, Frame, Any]:
    """Both sides with their keys as columns of their own, and the condition over plain names."""
    own = [f"~own{i}" for i in range(len(on))]
    theirs = [f"~key{i}" for i in range(len(on))]
    keyed = frame.selectExpr(
        "*", *(f"{sql(value)} AS {identifier(key)}" for key, (value, _) in zip(own, on, strict=True))
    )
    taken = link.selectExpr(
        *(f"{identifier(column)} AS {identifier(key)}" for key, (_, column) in zip(theirs, on, strict=True)),
        *(f"{identifier(column)} AS {identifier(new)}" for column, new in take),
    )
    parts = [f"{identifier(mine)} = {identifier(other)}" for mine, other in zip(own, theirs, strict=True)]
    condition = " AND ".join([*parts, more] if more else parts) or "TRUE"
    return keyed, taken, functions_of(frame).expr(condition)


def expand(frame: Frame, node: Expand, _links: Mapping[str, Frame]) -> Frame:
    """A row per element, or per entry by key; a row without any stays once."""
    items = sql(node.value)
    if node.key is not None:
        by_key = "(a, b) -> CASE WHEN a.key < b.key THEN -1 WHEN a.key > b.key THEN 1 ELSE 0 END"
        items = f"array_sort(map_entries({items}), {by_key})"
    # The outer form keeps a row whose array is NULL or empty.
    listed = f"posexplode_outer(CASE WHEN {sql(node.where)} THEN {items} END)"
    exploded = frame.selectExpr("*", f"{listed} AS ({identifier(node.position)}, {identifier(node.item)})")
    if node.key is None:
        return exploded
    return exploded.selectExpr(
        *(identifier(column) for column in (*frame.columns, node.position)),
        f"{identifier(node.item)}.value AS {identifier(node.item)}",
        f"{identifier(node.item)}.key AS {identifier(node.key)}",
    )


def pairs(frame: Frame, node: Pairs, links: Mapping[str, Frame]) -> Frame:
    """Rows beside the rows that match them."""
    more = f"({sql(node.condition)})" if node.condition is not None else ""
    keyed, link, matched = _sides(frame.where(sql(node.where)), links[node.link], node.on, node.take, more)
    keyed = keyed.selectExpr("*", f"TRUE AS {identifier(_LEFT)}")
    link = link.selectExpr("*", f"TRUE AS {identifier(_RIGHT)}")
    few = node.condition is None and _is_few_beside_many(links[node.link], frame)
    if few and node.kind == "full":
        joined = _few_beside_many(keyed, link, matched, len(node.on))
    elif few and node.kind == "left":
        joined = keyed.join(functions_of(frame).broadcast(link), matched, "left")
    else:
        joined = keyed.join(link, matched, node.kind)
    return joined.selectExpr(
        *(identifier(column) for column in frame.columns),
        *(identifier(new) for _, new in node.take),
        f"({identifier(_LEFT)} IS NOT NULL) AS {identifier(node.has_left)}",
        f"({identifier(_RIGHT)} IS NOT NULL) AS {identifier(node.has_right)}",
    )


def _is_few_beside_many(link: Frame, frame: Frame) -> bool:
    """Whether the rows of a link fit beside every task, and the frame is files that may be read twice."""
    few, many = notes_of(link), notes_of(frame)
    if few.size is None or many.size is None or many.small:
        return False
    return few.size <= FEW_BYTES and few.size * 4 <= many.size


def _few_beside_many(keyed: Frame, link: Frame, matched: Any, keys: int) -> Frame:
    """A full join that moves none of the many rows: they look up the few, and the few without a match come after.

    Spark itself moves and sorts both sides of a full join. The keys alone are read once more for those without one.
    """
    functions = functions_of(keyed)
    theirs, seen = ([f"~{word}{i}" for i in range(keys)] for word in ("key", "seen"))
    own = keyed.selectExpr(*(identifier(f"~own{i}") for i in range(keys)))
    few = functions.broadcast(link.selectExpr(*map(identifier, theirs)))
    matches = own.join(few, matched, "inner").selectExpr(
        *(f"{identifier(key)} AS {identifier(new)}" for key, new in zip(theirs, seen, strict=True))
    )
    same = " AND ".join(f"{identifier(key)} = {identifier(new)}" for key, new in zip(theirs, seen, strict=True))
    rest = link.join(functions.broadcast(matches.distinct()), functions.expr(same), "left_anti")
    beside = keyed.join(functions.broadcast(link), matched, "left")
    return beside.unionByName(rest, allowMissingColumns=True)


def stack(frame: Frame, node: Stack, links: Mapping[str, Frame]) -> Frame:
    """Rows one below the other."""
    whole = _part(frame.where(sql(node.where)), node.own, node.columns)
    for link, values in node.below:
        whole = whole.union(_part(links[link], values, node.columns))
    return whole


def _part(frame: Frame, values: Sequence[Expression], columns: Sequence[str]) -> Frame:
    return frame.selectExpr(
        *(f"{sql(value)} AS {identifier(column)}" for value, column in zip(values, columns, strict=True))
    )
