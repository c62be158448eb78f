"""What a plan asks of an engine, and what of that an engine lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from lakelogic.plan.nodes import (
    Account,
    Expand,
    Fork,
    Join,
    Keep,
    Link,
    Node,
    Pairs,
    Plan,
    Rank,
    Rollup,
    RowWise,
    Stack,
    Window,
)
from lakelogic.sql.expressions import Expression, columns_of, functions_of


class Work(Protocol):
    """Rows that go through accounts: a plan, or a question about a batch."""

    @property
    def links(self) -> Mapping[str, Link]: ...  # noqa: D102
    @property
    def accounts(self) -> tuple[Account, ...]: ...  # noqa: D102


def nodes(plan: Work) -> Iterator[Node]:
    """Every node of a plan, those of links and forks too."""
    for link in plan.links.values():
        yield from _with_forks(link.nodes)
    for account in plan.accounts:
        if account.opening is not None:
            yield account.opening
        yield from _with_forks(account.nodes)


def _with_forks(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Fork):
            yield from _with_forks(node.nodes)


def expressions(plan: Work) -> Iterator[Expression]:
    """Every expression of a plan."""
    yield from (link.keep for link in plan.links.values() if link.keep is not None)
    for node in nodes(plan):
        yield from _of_node(node)
    for account in plan.accounts:
        yield from (assignment.value for assignment in account.publish.values)
        yield account.publish.fate
        yield account.publish.side
        yield account.publish.copy


def _of_node(node: Node) -> Iterator[Expression]:
    match node:
        case RowWise():
            yield from (assignment.value for assignment in node.columns)
        case Rank() | Window():
            yield from node.partition
            yield from (order.value for order in node.order)
            if isinstance(node, Window):
                yield from (argument for function in node.functions for argument in function.args)
        case Join():
            yield from (value for value, _ in node.on)
        case Expand():
            yield node.where
            yield node.value
        case Keep():
            yield node.where
        case Rollup():
            yield node.where
            yield from (key.value for key in node.keys)
            for aggregate in node.aggregates:
                if aggregate.value is not None:
                    yield aggregate.value
                yield from aggregate.more
        case Pairs():
            yield node.where
            yield from (value for value, _ in node.on)
            if node.condition is not None:
                yield node.condition
        case Stack():
            yield node.where
            yield from node.own
            yield from (value for _, values in node.below for value in values)
        case Fork():
            pass  # its nodes are walked on their own


def columns_read(node: Node) -> set[str]:
    """The columns that a node reads, and its forks; where it takes columns of a link, those of their names too."""
    read = {name for inner in _with_forks((node,)) for value in _of_node(inner) for name in columns_of(value)}
    taken = [inner.take for inner in _with_forks((node,)) if isinstance(inner, Join | Pairs)]
    return read | {name for pairs in taken for name, _ in pairs}


def columns_made(node: Node) -> set[str]:
    """The columns that a node adds to the rows."""
    match node:
        case RowWise():
            return {assignment.name for assignment in node.columns}
        case Rank():
            return {node.output}
        case Window():
            return {function.name for function in node.functions}
        case Expand():
            return {node.position, node.item, *([node.key] if node.key is not None else [])}
        case Join():
            return {node.found, *(name for _, name in node.take)}
        case _:
            return set()


def needed_functions(plan: Plan) -> set[str]:
    """The catalogue functions that a plan uses."""
    used: set[str] = set()
    for expression in expressions(plan):
        used |= functions_of(expression)
    for node in nodes(plan):
        if isinstance(node, Rollup):
            used |= {aggregate.function for aggregate in node.aggregates}
        if isinstance(node, Window):
            used |= {function.function for function in node.functions}
    return used


def needed_nodes(plan: Plan) -> set[str]:
    """The kinds of nodes that a plan is made of."""
    return {type(node).__name__ for node in nodes(plan)}


def needed_formats(plan: Plan) -> set[str]:
    """The formats that a plan reads."""
    return {plan.read.format, *(link.read.format for link in plan.links.values())}


def needed_masks(plan: Plan) -> set[str]:
    """The mask strategies that a plan uses."""
    return {mask.strategy for mask in plan.masks}
