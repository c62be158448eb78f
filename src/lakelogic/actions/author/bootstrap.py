"""Draft contracts and a registry from a landing folder; what somebody has written is never overwritten."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from lakelogic.errors import SourceError, UsageError
from lakelogic.infer import draft
from lakelogic.infer.entities import Entity, infer
from lakelogic.infer.landings import landings
from lakelogic.plan.compile import compile_contract, load_checked

SAMPLE_ROWS = 10_000
Effect = Literal["written", "renewed", "unchanged", "kept"]


@dataclass(frozen=True, slots=True)
class BootstrapRequest:
    """Where files land, and where drafts go. `sync` adds what is new to drafts that are there."""

    landing: str
    output_dir: str
    registry: str | None = None
    format: str | None = None
    pattern: str | None = None
    system: str = "landing"
    owner: str = "unassigned"
    rows: int = SAMPLE_ROWS
    sync: bool = False


@dataclass(frozen=True)
class Drafted:
    """One entity: its contract, what became of that file, and why it says what it says."""

    entity: Entity
    contract: str
    effect: Effect
    missing: tuple[str, ...] = ()  # landed columns that a kept contract does not have

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        one = self.entity
        return {
            "entity": one.name,
            "contract": self.contract,
            "effect": self.effect,
            "missing": list(self.missing),
            "files": {"count": len(one.landing.files), "pattern": one.landing.pattern, "why": one.landing.why},
            "rows_looked_at": one.rows,
            "rows_held_against": {"count": one.proof.rows, "all": one.proof.is_whole},
            "encoding": {"name": one.how.encoding.name or "utf-8", "why": one.how.encoding.why},
            "note": one.how.note,
            "broken_lines": one.broken,
            "key": {"columns": list(one.key), "why": one.key_why},
            "strategy": {
                "name": "cdc" if one.operation else "merge" if one.merges else "append", "why": one.strategy_why,
            },
            "partition": {"column": one.partition, "why": one.partition_why},
            "columns": [
                {
                    "name": column.name, "type": column.type, "why": column.why, "filled": column.filled,
                    "distinct": column.distinct, "personal": column.personal,
                }
                for column in one.columns
            ],
            "rules": [{"name": name, "sql": sql, "why": why} for name, sql, why in one.rules],
        }  # fmt: skip


@dataclass(frozen=True)
class Bootstrapped:
    """What was drafted; `to_add` are lines for a registry that cannot be added to without its writer.

    `left_out` says of entities why there is no draft of them.
    """

    registry: str
    registry_effect: Effect
    drafts: tuple[Drafted, ...] = field(default=())
    to_add: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "registry": self.registry,
            "registry_effect": self.registry_effect,
            "to_add": self.to_add,
            "left_out": dict(self.left_out),
            "entities": [one.as_dict() for one in self.drafts],
        }


def bootstrap(request: BootstrapRequest) -> Bootstrapped:
    """Look at what has landed, and draft a contract for each entity and a registry of them."""
    found = landings(request.landing, request.format, request.pattern)
    folder = Path(request.output_dir)
    registry = Path(request.registry) if request.registry else folder / "_registry.yaml"
    paths = {one.entity: folder / f"{one.entity}.yaml" for one in found}
    if not request.sync:
        there = next((path for path in [registry, *paths.values()] if path.exists()), None)
        if there is not None:
            raise UsageError(f"{there} is there already.", hint="Add what is new with --sync, or name another folder.")
    entities: list[Entity] = []
    left_out: dict[str, str] = {}
    for one in found:
        # One file that nobody can read must not stand in the way of a hundred others.
        try:
            seen = infer(one, request.rows)
        except SourceError as error:
            left_out[one.entity] = error.message
            continue
        if seen.columns:
            entities.append(seen)
        else:
            left_out[one.entity] = f"There is nothing in {one.files[0]}."
    if not entities:
        raise SourceError(next(iter(left_out.values())), hint="Nothing was written. Check --pattern and --format.")
    folder.mkdir(parents=True, exist_ok=True)
    registry.parent.mkdir(parents=True, exist_ok=True)
    drafts = tuple(_drafted(request, one, paths[one.name]) for one in entities)
    entries = {one.name: Path(os.path.relpath(paths[one.name], registry.parent)).as_posix() for one in entities}
    effect, to_add = _registered(registry, entries)
    return Bootstrapped(str(registry), effect, drafts, to_add, left_out)


def _drafted(request: BootstrapRequest, entity: Entity, path: Path) -> Drafted:
    text = draft.contract(entity, request.system, request.owner)
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        effect: Effect = "written"
    else:
        there = path.read_text(encoding="utf-8")
        if there == text:
            return Drafted(entity, str(path), "unchanged")
        if not draft.is_untouched(there):
            return Drafted(entity, str(path), "kept", _missing(path, entity))
        path.write_text(text, encoding="utf-8")
        effect = "renewed"
    compile_contract(load_checked(str(path)))  # a draft that does not hold would be a defect of ours
    return Drafted(entity, str(path), effect)


def _missing(path: Path, entity: Entity) -> tuple[str, ...]:
    """Columns that have landed and that an edited contract does not know."""
    fields = {one.name.lower() for one in load_checked(str(path)).contract.model.fields}
    return tuple(
        column.name
        for column in entity.columns
        if column.name.lower() not in fields and column.name != entity.operation
    )


def _registered(path: Path, entries: dict[str, str]) -> tuple[Effect, str]:
    """Write the registry, or add to it what it lacks; what cannot be added without harm is handed back."""
    if not path.exists():
        path.write_text(draft.registry(entries.items()), encoding="utf-8")
        return "written", ""
    there = path.read_text(encoding="utf-8")
    before = (yaml.safe_load(there) or {}).get("entries") or []
    known = {str(one.get("entity")) for one in before}
    listed = {str(file) for one in before for file in (one.get("contracts") or {}).values()}
    new = {entity: file for entity, file in entries.items() if entity not in known and file not in listed}
    if not new:
        return "unchanged", ""
    if draft.is_untouched(there):
        told = [(str(one["entity"]), str(one["contracts"][draft.LAYER])) for one in before]
        path.write_text(draft.registry([*told, *new.items()]), encoding="utf-8")
        return "renewed", ""
    for indent in ("  ", ""):
        added = "".join(draft.registry_entry(entity, file, indent) for entity, file in new.items())
        text = f"{there.rstrip()}\n{added}"
        if _adds(text, before, new):
            path.write_text(text, encoding="utf-8")
            return "renewed", ""
    return "kept", "".join(draft.registry_entry(entity, file) for entity, file in new.items())


def _adds(text: str, before: list[Any], new: dict[str, str]) -> bool:
    """Whether a text says what it said before, and the new entries."""
    try:
        after = yaml.safe_load(text)["entries"]
    except (yaml.YAMLError, KeyError, TypeError):
        return False
    tail = [(one.get("entity"), (one.get("contracts") or {}).get(draft.LAYER)) for one in after[len(before) :]]
    return bool(after[: len(before)] == before and tail == list(new.items()))
