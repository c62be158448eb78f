"""Columns that a history makes itself, where the model declares them: their types are checked, their values are not."""

from __future__ import annotations

import re
from collections.abc import Callable

from lakelogic.contract import codes
from lakelogic.contract.document import Contract
from lakelogic.contract.fields import Field
from lakelogic.errors import Where
from lakelogic.plan.state import Trouble
from lakelogic.plan.strategies.scd2 import own_columns
from lakelogic.plan.strategies.settings import Strategy, strategy_of
from lakelogic.sql.types import Type, parse_type

_FIELD = re.compile(r"^model\.fields\[(\d+)\]")
# What says something about rows that land; of a column that the history makes, it would say nothing.
_OF_ROWS = (
    "masking", "masking_format", "accepted_values", "min", "max", "min_length", "max_length", "pattern", "default",
    "generated", "milestone", "unique", "foreign_key", "rules",
)  # fmt: skip


def made_fields(strategy: Strategy) -> dict[str, Type]:
    """The columns that the history adds, by their names in small letters; nothing for other strategies."""
    return {name.lower(): type_ for name, type_ in own_columns(strategy).items()} if strategy.keeps_history else {}


def landing_fields(contract: Contract, strategy: Strategy | None = None) -> tuple[Field, ...]:
    """The fields of the model that rows bring: all but those that the history makes."""
    own_fields = made_fields(strategy or strategy_of(contract))
    return tuple(field for field in contract.model.fields if field.name.lower() not in own_fields)


def without_made(contract: Contract, strategy: Strategy) -> Contract:
    """The contract over the rows that land."""
    fields = landing_fields(contract, strategy)
    if len(fields) == len(contract.model.fields):
        return contract
    return contract.model_copy(update={"model": contract.model.model_copy(update={"fields": fields})})


def check_made(contract: Contract, strategy: Strategy, trouble: Trouble) -> None:
    """What is declared of a column that the history makes must be what it makes."""
    own_fields = made_fields(strategy)
    for index, field in enumerate(contract.model.fields):
        wanted, path = own_fields.get(field.name.lower()), f"model.fields[{index}]"
        if wanted is None:
            continue
        try:
            fits = parse_type(field.type) == wanted
        except ValueError:
            fits = False
        if not fits:
            message = f"`{field.name}` is declared as {field.type}, and is one that the history adds, as {wanted}."
            hint = f"Write `type: {wanted}`, or give the history's column another name under `scd2`."
            trouble.add(codes.CONTRADICTION, message, f"{path}.type", hint)
        for key in _OF_ROWS:
            if key in field.model_fields_set and getattr(field, key, None):
                message = f"`{key}` has no effect on `{field.name}`: the history makes it."
                trouble.add(codes.NO_EFFECT, message, f"{path}.{key}", "Remove it.")


def as_written(contract: Contract, strategy: Strategy, where: Callable[[str], Where]) -> Callable[[str], Where]:
    """Finds the line of a field by its place among those that land."""
    own_fields = made_fields(strategy)
    kept = [index for index, field in enumerate(contract.model.fields) if field.name.lower() not in own_fields]

    def find(path: str) -> Where:
        match = _FIELD.match(path)
        if match is None or int(match[1]) >= len(kept):
            return where(path)
        return where(f"model.fields[{kept[int(match[1])]}]{path[match.end() :]}")

    return find
