"""What is masked further down is hidden wherever rows are shown, so that no table before it gives the text away.

A raw table holds in clear what the table after it masks. Whoever looks at it through the service sees it as the way
down from there shows it: hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakelogic.actions.columns import column_graph
from lakelogic.actions.served import Served
from lakelogic.errors import UsageError
from lakelogic.run.story import HIDDEN


def veiled(served: Served, dataset: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row of a dataset, or of its quarantine."""
    hidden = concealed(served, dataset)
    return {
        name: HIDDEN if value is not None and name.lower() in hidden else value for name, value in values.items()
    }  # fmt: skip


def concealed(served: Served, dataset: str) -> frozenset[str]:
    """The columns of a dataset, in small letters, that are in clear there and masked further down."""
    return frozenset(name.lower() for name in column_graph(served).concealed(dataset))


def refuse_hidden_key(served: Served, dataset: str) -> None:
    """Rows are not looked for by what is hidden in them: whoever guesses would learn who is there."""
    key = served.member(dataset).loaded.contract.key
    hidden = [name for name in key if name.lower() in concealed(served, dataset)]
    if hidden:
        raise UsageError(
            f"`{hidden[0]}` is hidden in `{dataset}`, so no row is looked for by it.",
            hint="Name the row by its place: `at` of a row that was told.",
        )


def veiled_story(served: Served, dataset: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """One row with its values, as they landed and as steps made them."""
    found = {**told, "values": veiled(served, dataset, told["values"])}
    if told.get("original"):
        found["original"] = veiled(served, dataset, told["original"])
    if told.get("story"):
        found["story"] = [{**one, "values": veiled(served, dataset, one["values"])} for one in told["story"]]
    return found


def veiled_preview(served: Served, dataset: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """What an action would do, row by row."""
    return {**told, "rows": [veiled_story(served, dataset, row) for row in told["rows"]]}
