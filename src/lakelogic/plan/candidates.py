"""Conditions over two sides that are no equality: the other side's rows are collected per key, and asked one by one."""

from __future__ import annotations

from lakelogic.plan.joining import Conditions, Meeting
from lakelogic.plan.nodes import Node
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.expressions import Expression
from lakelogic.sql.problems import NOT_YET


def any_candidate(_state: State, _meeting: Meeting, _found: Conditions, _nodes: list[Node]) -> Expression:
    """Is there a row of equal keys for which the condition is TRUE."""
    raise refuse(NOT_YET, "EXISTS with a condition that is no equality is not available yet.", "use equalities")
