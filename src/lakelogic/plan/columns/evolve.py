"""Declared vs stored columns → what changed, and whether the policy of the contract lets it: decided once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from lakelogic.contract.materialization import Evolution
from lakelogic.plan.columns.growth import added_fields, only_adds_fields, widens
from lakelogic.sql.types import Type

OURS = "_lakelogic_"  # stamps come and go with settings of the contract; no policy is about them


@dataclass(frozen=True, slots=True)
class Changed:
    """A column whose type differs: as it is stored, and as the contract has it now."""

    name: str
    old: Type
    new: Type

    @property
    def is_wider(self) -> bool:
        """Whether every stored value is a value of the new type too."""
        return widens(self.old, self.new)

    @property
    def only_adds_fields(self) -> bool:
        """Whether structs have gained fields, and nothing else is different."""
        return only_adds_fields(self.old, self.new)

    @property
    def difference(self) -> tuple[str, ...]:
        """What is different, in words; fields inside structs are called by their paths."""
        if self.only_adds_fields:
            return tuple(f"`{path}` ({kind}) is new" for path, kind in added_fields(self.old, self.new, self.name))
        if only_adds_fields(self.new, self.old):
            return tuple(f"`{path}` ({kind}) is gone" for path, kind in added_fields(self.new, self.old, self.name))
        return (f"`{self.name}` is {self.old} there and {self.new} in the contract",)


@dataclass(frozen=True, slots=True)
class Changes:
    """How the columns of good rows differ from those of the table."""

    added: Mapping[str, Type] = field(default_factory=dict)
    missing: Mapping[str, Type] = field(default_factory=dict)
    changed: tuple[Changed, ...] = ()

    @property
    def widened(self) -> tuple[Changed, ...]:
        """Types that only grew."""
        return tuple(change for change in self.changed if change.is_wider)

    def as_dict(self) -> dict[str, Any]:
        """As reports and the ledger keep it; nothing where nothing changed."""
        document: dict[str, Any] = {}
        if self.added:
            document["added"] = {name: str(type_) for name, type_ in self.added.items()}
        if self.missing:
            document["missing"] = {name: str(type_) for name, type_ in self.missing.items()}
        if self.changed:
            document["changed"] = {c.name: {"old": str(c.old), "new": str(c.new)} for c in self.changed}
        return document


@dataclass(frozen=True, slots=True)
class LandedDrift:
    """How what landed differs from the model: columns it does not know, fields that did not come, other types."""

    unknown: Mapping[str, Type] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    changed: tuple[Changed, ...] = ()  # old: as declared; new: as it landed
    aside: tuple[str, ...] = ()  # unknown columns that are not published, because fields are masked

    @property
    def suggestions(self) -> dict[str, str]:
        """For fields that did not come, the column that nobody declared and that is called almost alike."""
        unknown = {name.lower(): name for name in self.unknown}
        suggestions: dict[str, str] = {}
        for name in self.missing:
            if near := get_close_matches(name.lower(), list(unknown), n=1, cutoff=0.6):
                suggestions[name] = unknown[near[0]]
        return suggestions

    def as_dict(self) -> dict[str, Any]:
        """As reports and the ledger keep it; nothing where the model was met."""
        document: dict[str, Any] = {}
        if self.unknown:
            document["added"] = {name: str(type_) for name, type_ in self.unknown.items()}
        if self.aside:
            document["aside"] = list(self.aside)
        if self.missing:
            document["missing"] = list(self.missing)
        if suggestions := self.suggestions:
            document["suggestions"] = suggestions
        if self.changed:
            document["changed"] = {c.name: {"old": str(c.old), "new": str(c.new)} for c in self.changed}
        return document


def changes(declared: Mapping[str, Type], stored: Mapping[str, Type]) -> Changes:
    """Compare the columns of good rows with those of the table, by exact name."""
    return Changes(
        {name: type_ for name, type_ in declared.items() if name not in stored},
        {name: type_ for name, type_ in stored.items() if name not in declared},
        tuple(
            Changed(name, stored[name], type_)
            for name, type_ in declared.items()
            if name in stored and stored[name] != type_
        ),
    )


Action = Literal["keep", "widen", "replace"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done to the table, or why nothing is done at all."""

    action: Action = "keep"  # columns are added either way; `widen` rewrites types, `replace` the whole schema
    refused: tuple[str, ...] = ()


def decide(policy: Evolution, changes: Changes, *, rewrites: bool, required: Sequence[str] = ()) -> Decision:
    """May the table change like this? `required` are fields that must have a value: rows that are there have none.

    `rewrites`: the batch takes the place of all of them.
    """
    added = [name for name in changes.added if not name.startswith(OURS)]
    missing = [name for name in changes.missing if not name.startswith(OURS)]
    refused: list[str] = []
    if policy == "strict":
        refused += [f"`{name}` ({changes.added[name]}) is new" for name in added]
        refused += [f"`{name}` ({changes.missing[name]}) is gone" for name in missing]
    if policy == "compatible":
        refused += [
            f"`{name}` is new and required, and rows that are there have none" for name in added if name in required
        ]
    for change in changes.changed:
        if not _may_change(policy, change, rewrites=rewrites):
            refused += change.difference
    if refused:
        return Decision(refused=tuple(refused))
    if policy == "overwrite" and rewrites:
        return Decision("replace")
    if not changes.changed:
        return Decision()
    # To replace the columns would take away those that a policy keeps.
    keeps = policy in ("append", "merge", "compatible") and bool(missing)
    return Decision("replace" if rewrites and not keeps else "widen")


def _may_change(policy: Evolution, change: Changed, *, rewrites: bool) -> bool:
    """Whether a policy lets the type of a column change like this; a new field of a struct is like a new column."""
    if policy == "strict":
        return False
    if change.only_adds_fields:
        return True
    if policy in ("append", "merge"):
        return False
    return change.is_wider or (rewrites and policy != "compatible")
