"""Items that are told apart by a key: `- rename: {from: a, to: b}` is a Rename with `from` and `to`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lakelogic.contract.base import Section


class Tagged(Section):
    """One item of a list whose kind is the one key that is not common to all kinds.

    `KIND` is that key. `MAIN` names the parameter that a bare value stands for (`sql: "…"`, `trim: [a, b]`);
    `BARE` kinds are written in no other way.
    """

    KIND: ClassVar[str] = ""
    MAIN: ClassVar[str | None] = None
    BARE: ClassVar[bool] = False

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of the model's own fields: those written under the kind's key."""
        return tuple(name for name in cls.model_fields if name not in cls.common() and name != "kind")

    @classmethod
    def common(cls) -> tuple[str, ...]:
        """Names of the fields written beside the kind's key, in the order of declaration."""
        root = next(base for base in reversed(cls.__mro__) if issubclass(base, Tagged) and base.model_fields)
        names = dict.fromkeys(root.model_fields)
        for base in reversed(cls.__mro__):
            if issubclass(base, Tagged) and not base.KIND and not base.__name__.startswith("_"):
                names |= dict.fromkeys(base.model_fields)
        return tuple(names)


def flatten(value: Any, kinds: Mapping[str, type[Tagged]]) -> Any:
    """`{rename: {from, to}, phase}` as `{kind: rename, from, to, phase}`, the form the models take."""
    if not isinstance(value, Mapping) or "kind" in value:
        return value
    kind = next((key for key in value if key in kinds), None)
    if kind is None:
        return value
    parameters = value[kind]
    if not isinstance(parameters, Mapping):
        parameters = {kinds[kind].MAIN or kind: parameters}
    beside = {key: item for key, item in value.items() if key != kind}
    return beside | dict(parameters) | {"kind": kind}
