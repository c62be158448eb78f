"""Published columns as the table that they go to has them: in its spelling, and in its type where that is wider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lakelogic import names
from lakelogic.plan.columns.growth import fitted
from lakelogic.plan.columns.publish import BAD_PREFIX, Columns
from lakelogic.plan.nodes import Assignment, Published
from lakelogic.sql.expressions import convert
from lakelogic.sql.types import Type


def as_stored(published: Columns, stored: Mapping[str, Type | None]) -> Columns:
    """The staged columns, masks and projections, called and typed as in the table.

    A name that comes in another case is the same column. A type of `stored` that holds every value of the published one
    takes its place, and a struct keeps the fields that it has there; None leaves the type as it is, for the policy to
    judge.
    """
    spellings = {name.lower(): name for name in stored}

    def spelled(name: str) -> str:
        prefix = next((start for start in (BAD_PREFIX, names.ABSENT) if name.startswith(start)), "")
        own = name.removeprefix(prefix)
        return prefix + spellings.get(own.lower(), own)

    def fitting(column: Published) -> Published:
        name = spelled(column.name)
        wide = stored.get(name) if column.on_good else None
        return replace(column, name=name, type=fitted(column.type, wide) if wide else column.type)

    columns = tuple(fitting(column) for column in published.columns)
    if columns == published.columns:
        return published
    types = {column.name: column.type for column in columns}
    return Columns(
        columns,
        tuple(replace(mask, column=spelled(mask.column)) for mask in published.masks),
        tuple(
            replace(
                account,
                publish=replace(
                    account.publish,
                    values=tuple(
                        Assignment(spelled(value.name), convert(value.value, types[spelled(value.name)]))
                        for value in account.publish.values
                    ),
                ),
            )
            for account in published.accounts
        ),
    )
