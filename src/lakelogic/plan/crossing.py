"""Whether a row of the result depends on other rows of the input: then a part of the input makes other rows."""

from __future__ import annotations

from collections.abc import Iterable

from lakelogic.plan.nodes import Fork, Node, Pairs, Plan, Rank, Rollup, Stack, Window


def crossing(plan: Plan) -> str | None:
    """The first step that brings rows of the input together, as people call it; None where each stands for itself."""
    for account in plan.accounts:
        opening = account.opening
        if isinstance(opening, Rollup | Stack):
            return opening.label
        if isinstance(opening, Pairs) and opening.kind in ("right", "full"):
            return opening.label  # rows of the link that met nobody are rows of no file
        if (step := _among(account.nodes)) is not None:
            return step
    return None


def _among(nodes: Iterable[Node]) -> str | None:
    for node in nodes:
        if isinstance(node, Rank | Window):
            return node.label
        if isinstance(node, Fork) and node.start is None:
            return node.label
    return None
