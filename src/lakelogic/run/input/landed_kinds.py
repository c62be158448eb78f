"""What a run says of the types in which columns landed."""

from __future__ import annotations

from lakelogic.plan.compile import SourceColumns
from lakelogic.run.events.types import Caution
from lakelogic.run.phases import BegunRun


def tell_numbers(run_: BegunRun, source: SourceColumns) -> None:
    """Say where something else than numbers lands in a column that nobody declared and that holds numbers so far."""
    for column in source.columns:
        kind = source.kinds.get(column.name.lower())
        if kind is None or not kind.is_number or column.shape is None or not column.shape.has_others:
            continue
        run_.events.tell(
            Caution(
                f"`{column.name}` is not declared and the table holds numbers in it ({kind}): rows with anything else "
                "are bad. Declare it with the type that it should have.",
                field=column.name,
            )
        )


def tell_finer(run_: BegunRun, source: SourceColumns) -> None:
    """Say where instants lose something: contracts and tables know microseconds."""
    for name in source.finer:
        message = f"`{name}` landed with instants finer than microseconds: what is finer is cut off."
        run_.events.tell(Caution(message, field=name))
