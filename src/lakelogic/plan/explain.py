"""A plan for people and programs: as text, and as plain data."""

from __future__ import annotations

from typing import Any

from lakelogic.plan.nodes import APART, Account, Fork, Join, Node, Plan, RowWise
from lakelogic.plan.rules.datasets import Checks
from lakelogic.sql.expressions import Call, Column, Expression, Lambda, Literal

_INFIX = {
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "same": "<=>", "and": "AND", "or": "OR",
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%", "like": "LIKE", "ilike": "ILIKE",
    "matches": "RLIKE",
}  # fmt: skip


def written(expression: Expression) -> str:
    """An expression as a person would write it."""
    match expression:
        case Column():
            return expression.name
        case Literal():
            if expression.value is None:
                return "NULL"
            if isinstance(expression.value, bool):
                return "TRUE" if expression.value else "FALSE"
            if isinstance(expression.value, int | float):
                return str(expression.value)
            quoted = str(expression.value).replace("'", "''")
            return f"'{quoted}'"
        case Call():
            return _call(expression)
        case Lambda():
            parameters = ", ".join(parameter.name.lstrip("~") for parameter in expression.parameters)
            return f"({parameters}) -> {written(expression.body)}"


def _call(expression: Call) -> str:
    args = [written(argument) for argument in expression.args]
    name = expression.function
    if name in _INFIX and len(args) == 2:
        left, right = (f"({a})" if _is_infix(e) else a for a, e in zip(args, expression.args, strict=True))
        return f"{left} {_INFIX[name]} {right}"
    if name == "not":
        return f"NOT ({args[0]})"
    if name == "is_null":
        return f"{args[0]} IS NULL"
    if name == "convert":
        return f"CAST({args[0]} AS {expression.type})"
    if name == "in":
        return f"{args[0]} IN ({', '.join(args[1:])})"
    if name == "case":
        branches = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(args[:-1:2], args[1:-1:2], strict=True))
        return f"CASE {branches} ELSE {args[-1]} END"
    return f"{name}({', '.join(args)})"


def _is_infix(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function in _INFIX


def as_text(plan: Plan, checks: Checks, target: str | None = None, strategy: str | None = None) -> str:
    """The plan as lines: one node per line, its details under it."""
    lines = [f"Plan of {plan.dataset}"]
    shown = ", ".join(f"{column.name} {column.type}" for column in plan.read.columns)
    lines += _node("Read", f"{plan.read.format}: {shown or 'columns are not known yet'}", ())
    for name, link in plan.links.items():
        lines += _node("Link", f"{link.reference} as {name}", (f"by {', '.join(link.key)}",) if link.key else ())
    for account in plan.accounts:
        lines += _account(account)
    if plan.masks:
        lines += _node("Mask", ", ".join(f"{m.column} ({m.strategy})" for m in plan.masks), ())
    lines += _node("Stamp", ", ".join(c.name for c in plan.columns if c.name.startswith("_lakelogic_")), ())
    if checks.checks:
        lines += _node("Gate", "dataset rules", tuple(f"{c.name}: {c.expected} [{c.severity}]" for c in checks.checks))
    if target:
        lines += _node("Write", f"{strategy} into {target}", ())
    return "\n".join(lines)


def _node(kind: str, what: str, details: tuple[str, ...]) -> list[str]:
    return [f"  {kind:<12} {what}".rstrip(), *(f"  {'':<12}   {detail}" for detail in details if detail)]


def _account(account: Account) -> list[str]:
    lines: list[str] = []
    if account.opening is not None:
        lines += _node(type(account.opening).__name__, "", account.opening.detail)
    for node in account.nodes:
        match node:
            case RowWise() if node.label == "judge":
                lines += _node(
                    "Judge",
                    f"{len(node.detail)} rule{'s' if len(node.detail) != 1 else ''}",
                    tuple(_reason(text) for text in node.detail),
                )
            case RowWise() if node.label == APART:
                pass  # what bad rows show is moved, not made
            case RowWise():
                details = node.detail or tuple(f"{a.name} = {written(a.value)}" for a in node.columns)
                lines += _node(node.label.capitalize(), "", details)
            case Join():
                lines += _node("Join", node.link, node.detail)
            case Fork():
                lines += _node("Fork", f"{node.name} of {node.start or 'the rows'}", node.detail)
            case _:
                lines += _node(type(node).__name__, "", node.detail)
    return lines


def _reason(text: str) -> str:
    """A reason before there is a row that it is about."""
    return text.replace(": {}", "")


def as_data(plan: Plan, checks: Checks) -> dict[str, Any]:
    """The plan as plain data, for `--json`."""
    return {
        "dataset": plan.dataset,
        "read": {
            "format": plan.read.format,
            "columns": [{"name": c.name, "type": str(c.type)} for c in plan.read.columns],
        },
        "links": {name: {"reads": link.reference, "key": list(link.key)} for name, link in plan.links.items()},
        "accounts": [
            {
                "rollup": list(account.opening.detail) if account.opening else None,
                "nodes": [_node_data(node) for node in account.nodes],
            }
            for account in plan.accounts
        ],
        "columns": [{"name": c.name, "type": str(c.type), "good": c.on_good, "bad": c.on_bad} for c in plan.columns],
        "masks": [{"column": mask.column, "strategy": mask.strategy} for mask in plan.masks],
        "losses": [{"number": fate.number, "kind": fate.kind, "step": fate.step} for fate in plan.fates],
        "reasons": [
            {"rule": r.rule, "text": _reason(r.text), "category": r.category, "severity": r.severity}
            for r in plan.reasons
        ],
        "dataset_rules": [{"name": c.name, "expected": c.expected, "severity": c.severity} for c in checks.checks],
    }


def _node_data(node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {"node": type(node).__name__, "label": node.label, "detail": list(node.detail)}
    if isinstance(node, RowWise):
        data["columns"] = {assignment.name: written(assignment.value) for assignment in node.columns}
    return data
