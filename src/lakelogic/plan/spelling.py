"""Published columns in the spelling of the table they go to: a name that comes in another case is the same column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lakelogic.plan.nodes import Assignment
from lakelogic.plan.publish import BAD_PREFIX, Columns


def as_stored(made: Columns, stored: Iterable[str]) -> Columns:
    """The staged columns, masks and projections, called as the table calls them."""
    known = {name.lower(): name for name in stored}

    def spelled(name: str) -> str:
        prefix = BAD_PREFIX if name.startswith(BAD_PREFIX) else ""
        own = name.removeprefix(prefix)
        return prefix + known.get(own.lower(), own)

    if all(spelled(column.name) == column.name for column in made.columns):
        return made
    return Columns(
        tuple(replace(column, name=spelled(column.name)) for column in made.columns),
        tuple(replace(mask, column=spelled(mask.column)) for mask in made.masks),
        tuple(
            replace(
                account,
                publish=replace(
                    account.publish,
                    values=tuple(Assignment(spelled(one.name), one.value) for one in account.publish.values),
                ),
            )
            for account in made.accounts
        ),
    )
