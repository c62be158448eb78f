"""What is different between two contracts, and whether readers of the dataset would notice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lakelogic.contract.reading.load import Loaded

Gravity = Literal["breaking", "needs care", "safe"]
_ORDER: tuple[Gravity, ...] = ("breaking", "needs care", "safe")

# Beginning of a path → how grave a change is and why; the longest that fits decides.
_GRAVITY: Mapping[str, tuple[Gravity, str]] = {
    "": ("needs care", "what rows come out may change"),
    "info": ("safe", "words only"),
    "info.dataset": ("breaking", "readers find the dataset under another name"),
    "dataset": ("breaking", "readers find the dataset under another name"),
    "metadata": ("safe", "words only"),
    "ownership": ("safe", "words only"),
    "tags": ("safe", "words only"),
    "version": ("safe", "the version itself"),
    "downstream": ("safe", "words only"),
    "model.grain": ("safe", "words only"),
    "materialization.target_path": ("breaking", "readers find the table in another place"),
    "materialization.format": ("breaking", "the table is kept in another format"),
    "materialization.primary_key": ("breaking", "another row is the same row"),
    "primary_key": ("breaking", "another row is the same row"),
    "quality": ("needs care", "other rows may be quarantined, or the gate may close"),
    "service_levels": ("needs care", "another promise"),
}
_WIDER = {("int", "bigint"), ("smallint", "int"), ("smallint", "bigint"), ("float", "double"), ("date", "timestamp")}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: where, what stood there and stands there now, how grave it is and why."""

    path: str
    before: Any
    after: Any
    gravity: Gravity
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "path": self.path, "before": self.before, "after": self.after, "gravity": self.gravity,
            "reason": self.reason,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """All changes, the gravest first."""

    changes: tuple[Change, ...]

    @property
    def verdict(self) -> Literal["breaking", "needs care", "safe", "same"]:
        """The gravest of them; `same` where there is none."""
        return self.changes[0].gravity if self.changes else "same"


def difference(before: Loaded, after: Loaded) -> Difference:
    """What the second contract says differently, values that are not written included; variables stay references."""
    return between(values_of(before), values_of(after))


def values_of(loaded: Loaded) -> dict[str, Any]:
    """Everything that a contract says, as plain data."""
    whole: dict[str, Any] = loaded.as_written(loaded.contract.model_dump(mode="json", by_alias=True))
    return whole


def between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """The differences of two contracts as plain data."""
    old, new = (dict(_leaves(contract, "")) for contract in (before, after))
    fields_gone = _fields(old) - _fields(new)
    fields_new = _fields(new) - _fields(old)
    changes = [
        _field_change(name, old, new, "breaking", "readers of the column find it gone") for name in sorted(fields_gone)
    ]
    for name in sorted(fields_new):
        needed = bool(new.get(f"model.fields[{name}].required"))
        gravity: Gravity = "needs care" if needed else "safe"
        changes.append(_field_change(name, old, new, gravity, "a new column" + (" that must have a value" * needed)))
    moved = tuple(f"model.fields[{name}]" for name in fields_gone | fields_new)
    for path in sorted(old.keys() | new.keys()):
        if path.startswith(moved) if moved else False:
            continue
        was, now = old.get(path), new.get(path)
        if was != now:
            changes.append(Change(path, was, now, *_weighed(path, was, now)))
    changes.sort(key=lambda change: (_ORDER.index(change.gravity), change.path))
    return Difference(tuple(changes))


def _field_change(name: str, old: dict[str, Any], new: dict[str, Any], gravity: Gravity, reason: str) -> Change:
    path = f"model.fields[{name}]"
    return Change(path, old.get(f"{path}.type"), new.get(f"{path}.type"), gravity, reason)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every value by its path; items of lists are known by their name where they have one."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            name = item.get("name") or f"{item.get('kind', '')}{number}"
            yield f"{path}[{name}]", "there"
            yield from _leaves(item, f"{path}[{name}]")
    elif value not in (None, [], {}):
        yield path, value


def _fields(leaves: Mapping[str, Any]) -> set[str]:
    lead = "model.fields["
    return {path[len(lead) : -1] for path in leaves if path.startswith(lead) and path.endswith("]")}


def _weighed(path: str, was: Any, now: Any) -> tuple[Gravity, str]:
    if path.startswith("model.fields["):
        return _weighed_field(path.rsplit("].", 1)[-1], was, now)
    fitting = [lead for lead in _GRAVITY if not lead or path == lead or path.startswith((f"{lead}.", f"{lead}["))]
    return _GRAVITY[max(fitting, key=len)]


def _weighed_field(key: str, was: Any, now: Any) -> tuple[Gravity, str]:
    if key == "type":
        if (was, now) in _WIDER:
            return "needs care", "the type is wider"
        return "breaking", "the column has another type"
    if key == "required":
        return (
            ("needs care", "rows without a value are quarantined now")
            if now
            else ("breaking", "readers may find no value where there always was one")
        )
    if key.startswith("masking"):
        return "breaking", "readers see another value"
    if key in ("description", "classification"):
        return "safe", "words only"
    return "needs care", "other rows may be quarantined, or hold other values"
