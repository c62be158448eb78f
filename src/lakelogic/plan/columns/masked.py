"""What may be asked of masked columns: a mask that keeps equal values equal still tells nothing else about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lakelogic.contract.document import Contract
from lakelogic.plan.codes import MASKED
from lakelogic.plan.nodes import Expand, Fork, Join, Keep, Node, Order, Pairs, Rank, Rollup, RowWise, Stack, Window
from lakelogic.plan.query.questions import Question
from lakelogic.plan.rules.datasets import Checks
from lakelogic.plan.state import Trouble
from lakelogic.plan.strategies.batch import order_path
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.expressions import Call, Column, Expression, Lambda

# Equal values stay equal, and different ones different, under these.
STABLE = ("hash", "encrypt_deterministic")
_COUNTS = ("count", "count_distinct")
_KINDS = ("unique", "distinct_count", "null_ratio")
_HINT = "judge it by a row rule, or mask it with hash or encrypt_deterministic"
_STABLE_HINT = "judge it by a row rule; of a mask only equality can be asked: unique, distinct_count, null_ratio, count"


def check_masks(
    contract: Contract, strategy: Strategy, masks: Mapping[str, str], rules: Checks, trouble: Trouble
) -> None:
    """What is compared after masking must still tell equal from different; `masks` by column in lower case."""
    settings = contract.materialization
    keyed = "materialization.primary_key" if settings.primary_key else "primary_key"
    for key in contract.key:
        mask = masks.get(key.lower())
        if mask is not None and mask not in STABLE:
            message = f"The key `{key}` is masked with `{mask}`, which does not keep keys apart."
            trouble.add(MASKED, message, keyed, "use masking: hash or encrypt_deterministic for a key")
    if strategy.order and strategy.order.lower() in masks:
        trouble.add(MASKED, f"`{strategy.order}` is masked and has no order.", order_path(contract, strategy))
    for index, rule in enumerate(contract.quality.dataset_rules):
        asked = next((question for question in rules.questions if question.name == f"sql:{index}"), None)
        for name in sorted(_misjudged(rule, asked, masks)):
            mask = masks[name.lower()]
            message = f"`{name}` is masked with `{mask}`; the rule would judge the mask, not the value."
            hint = _STABLE_HINT if mask in STABLE else _HINT
            trouble.add(MASKED, message, f"quality.dataset_rules[{index}].{rule.kind}", hint)


def _misjudged(rule: Any, asked: Question | None, masks: Mapping[str, str]) -> set[str]:
    """The masked columns of which the rule asks what their masks no longer tell."""
    if asked is not None:
        read = {name for name in asked.reads if name.lower() in masks}
        stable = {name for name in read if masks[name.lower()] in STABLE}
        return (read - stable) | set(_Unsafe(asked, stable).found)
    fields = [str(name) for name in (getattr(rule, "fields", None) or [getattr(rule, "field", "")])]
    names = set()
    for name in fields:
        mask = masks.get(name.lower())
        keeps = mask in STABLE and rule.kind in _KINDS
        # Every mask but one leaves NULL and nothing else NULL.
        if mask is not None and not keeps and not (rule.kind == "null_ratio" and mask != "nullify"):
            names.add(name)
    return names


class _Unsafe:
    """Walks a question and finds masked columns that are used for anything but telling equal from different."""

    def __init__(self, question: Question, masked: set[str]) -> None:
        self.of = {name: name for name in masked}  # column → the masked column that it is a copy of
        self.found: set[str] = set()
        for account in question.accounts:
            self._walk([*([account.opening] if account.opening is not None else []), *account.nodes])
            for value in (*(value.value for value in account.publish.values), account.publish.fate):
                self._read(value)

    def _walk(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if isinstance(node, Fork):
                self._walk(node.nodes)
            else:
                for value in self._judged(node):
                    self._read(value)

    def _judged(self, node: Node) -> Iterator[Expression]:
        """The expressions of a node that are more than copies, keys and counts; copies are remembered."""
        match node:
            case RowWise():
                yield from self._made((column.name, column.value) for column in node.columns)
            case Rollup():
                yield node.where
                yield from self._made((key.name, key.value) for key in node.keys)
                for aggregate in node.aggregates:
                    if aggregate.value is not None and not (
                        isinstance(aggregate.value, Column) and aggregate.function in _COUNTS
                    ):
                        yield aggregate.value
                    yield from aggregate.more
            case Rank():
                yield from _in_order(node.partition, node.order)
            case Window():
                yield from _in_order(node.partition, node.order)
                for function in node.functions:
                    yield from () if function.function in _COUNTS else function.args
            case Stack():
                yield node.where
                for values in (node.own, *(values for _, values in node.below)):
                    yield from self._made(zip(node.columns, values, strict=True))
            case Join() | Pairs():
                yield from (value for value, _ in node.on)
                self.of |= {new: self.of[own] for own, new in node.take if own in self.of}
                if isinstance(node, Pairs):
                    yield from (node.where, *([node.condition] if node.condition is not None else []))
            case Expand():
                yield from (node.where, node.value)
            case Keep():
                yield node.where

    def _made(self, values: Iterable[tuple[str, Expression]]) -> Iterator[Expression]:
        for name, value in values:
            if not isinstance(value, Column):
                yield value
            elif value.name in self.of:
                self.of[name] = self.of[value.name]

    def _read(self, value: Expression) -> None:
        if isinstance(value, Column) and value.name in self.of:
            self.found.add(self.of[value.name])
        elif isinstance(value, Call):
            is_absence = value.function == "is_null" and isinstance(value.args[0], Column)
            for argument in () if is_absence else value.args:
                self._read(argument)
        elif isinstance(value, Lambda):
            self._read(value.body)


def _in_order(partition: tuple[Expression, ...], order: tuple[Order, ...]) -> Iterator[Expression]:
    """What rows are put in order by. The whole row breaks ties, masks and all: that does not count."""
    yield from (value for value in partition if not isinstance(value, Column))
    values = [key.value for key in order]
    for place, value in enumerate(values):
        if value not in partition and (place == 0 or values.count(value) > 1):
            yield value
