"""What a plan asks of an engine, and what of that an engine lacks."""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic.plan.nodes import Join, Plan, Rank, RowWise
from lakelogic.sql.expressions import Expression, functions_of


def expressions(plan: Plan) -> Iterator[Expression]:
    """Every expression of a plan."""
    for link in plan.links.values():
        if link.keep is not None:
            yield link.keep
        for node in link.nodes:
            yield from _of_node(node)
    for account in plan.accounts:
        if account.rollup is not None:
            yield account.rollup.where
            yield from (key.value for key in account.rollup.keys)
            yield from (a.value for a in account.rollup.aggregates if a.value is not None)
        for node in account.nodes:
            yield from _of_node(node)
        yield from (assignment.value for assignment in account.publish.values)
        yield account.publish.fate
        yield account.publish.side


def _of_node(node: RowWise | Rank | Join) -> Iterator[Expression]:
    match node:
        case RowWise():
            yield from (assignment.value for assignment in node.columns)
        case Rank():
            yield from node.partition
            yield from (order.value for order in node.order)
        case Join():
            yield from (value for value, _ in node.on)


def needed_functions(plan: Plan) -> set[str]:
    """The catalogue functions that a plan uses."""
    used: set[str] = set()
    for expression in expressions(plan):
        used |= functions_of(expression)
    for account in plan.accounts:
        if account.rollup is not None:
            used |= {aggregate.function for aggregate in account.rollup.aggregates}
    return used


def needed_formats(plan: Plan) -> set[str]:
    """The formats that a plan reads."""
    return {plan.read.format, *(link.read.format for link in plan.links.values())}


def needed_masks(plan: Plan) -> set[str]:
    """The mask strategies that a plan uses."""
    return {mask.strategy for mask in plan.masks}
