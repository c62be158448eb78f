"""Landed columns that a contract with masks does not name: nobody has looked at them, so nothing shows them unasked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from lakelogic.contract.document import Contract
from lakelogic.contract.materialization import UnknownFields

_LITERAL = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"`([^`]+)`|\"([^\"]+)\"|(\w+)")
# Keys of steps whose values are no names of columns.
_VALUES = frozenset({"mapping", "value", "values", "default", "phase", "kind", "name", "dialect"})


def masks_something(contract: Contract) -> bool:
    """Whether a field of the model is masked: what lands beside it may be as personal as that."""
    return any(field.masking for field in contract.model.fields)


def policy(contract: Contract) -> UnknownFields | Literal["aside"]:
    """What unknown columns do: as it is written, else they are published, or kept aside where a field is masked."""
    written = contract.schema_policy
    if "unknown_fields" in written.model_fields_set or not masks_something(contract):
        return written.unknown_fields
    return "aside"


def aside(contract: Contract, unknown: Iterable[str], given: Iterable[str]) -> frozenset[str]:
    """Of the landed columns that the model does not know, those that nobody named; `given` are names that steps give.

    Naming a column as a key, a partition or the like publishes it, for somebody has looked at it.
    """
    if policy(contract) != "aside":
        return frozenset()
    parts = (contract.materialization, contract.source, contract.service_levels, *contract.quality.dataset_rules)
    written = [part.model_dump(mode="json", exclude_unset=True) for part in parts if part is not None]
    named = {text.lower() for text in (*contract.key, *_texts(written))} | set(given)
    return frozenset(name for name in unknown if name.lower() not in named)


def header_names(contract: Contract) -> frozenset[str] | None:
    """The names, in lower case, of which a header must have one; None where any header will do.

    They are the fields of the model and what steps speak of, for a step may make every field of other columns. A
    header without any of them is a row of values, which must not be told as names of columns.
    """
    if not masks_something(contract):
        return None
    declared = {field.name.lower() for field in contract.model.fields}
    steps = [step.model_dump(mode="json", exclude_unset=True) for step in contract.transformations]
    return frozenset(declared | {word for text in _texts(steps) for word in _words(text)})


def _texts(written: Any) -> Iterator[str]:
    if isinstance(written, str):
        yield written
    elif isinstance(written, dict):
        for key, value in written.items():
            if key not in _VALUES:
                yield str(key)
                yield from _texts(value)
    elif isinstance(written, list):
        for value in written:
            yield from _texts(value)


def _words(text: str) -> Iterator[str]:
    """The names in a name or a piece of SQL, without its literals and numbers."""
    yield from ([] if text.isdecimal() else [text.strip().lower()])
    for match in _WORD.finditer(_LITERAL.sub(" ", text)):
        word = next(part for part in match.groups() if part is not None).strip().lower()
        if not word[:1].isdecimal():
            yield word
