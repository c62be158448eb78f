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
        entity = self.entity
        return {
            "entity": entity.name,
            "contract": self.contract,
            "effect": self.effect,
            "missing": list(self.missing),
            "files": {"count": len(entity.landing.files), "pattern": entity.landing.pattern, "why": entity.landing.why},
            "rows_looked_at": entity.rows,
            "rows_held_against": {"count": entity.proof.rows, "all": entity.proof.is_whole},
            "encoding": {"name": entity.how.encoding.name or "utf-8", "why": entity.how.encoding.why},
            "note": entity.how.note,
            "broken_lines": entity.broken,
            "key": {"columns": list(entity.key), "why": entity.key_why},
            "strategy": {
                "name": "cdc" if entity.operation else "merge" if entity.merges else "append",
                "why": entity.strategy_why,
            },
            "partition": {"column": entity.partition, "why": entity.partition_why},
            "columns": [
                {
                    "name": column.name, "type": column.type, "why": column.why, "filled": column.filled,
                    "distinct": column.distinct, "personal": column.personal,
                }
                for column in entity.columns
            ],
            "rules": [{"name": name, "sql": sql, "why": why} for name, sql, why in entity.rules],
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
            "entities": [draft.as_dict() for draft in self.drafts],
        }


def bootstrap(request: BootstrapRequest) -> Bootstrapped:
    """Look at what has landed, and draft a contract for each entity and a registry of them."""
    landed = landings(request.landing, request.format, request.pattern)
    folder = Path(request.output_dir)
    registry = Path(request.registry) if request.registry else folder / "_registry.yaml"
    paths = {each.entity: folder / f"{each.entity}.yaml" for each in landed}
    if not request.sync:
        there = next((path for path in [registry, *paths.values()] if path.exists()), None)
        if there is not None:
            raise UsageError(f"{there} is there already.", hint="Add what is new with --sync, or name another folder.")
    entities: list[Entity] = []
    left_out: dict[str, str] = {}
    for landing in landed:
        # One file that nobody can read must not stand in the way of a hundred others.
        try:
            seen = infer(landing, request.rows)
        except SourceError as error:
            left_out[landing.entity] = error.message
            continue
        if seen.columns:
            entities.append(seen)
        else:
            left_out[landing.entity] = f"There is nothing in {landing.files[0]}."
    if not entities:
        raise SourceError(next(iter(left_out.values())), hint="Nothing was written. Check --pattern and --format.")
    folder.mkdir(parents=True, exist_ok=True)
    registry.parent.mkdir(parents=True, exist_ok=True)
    drafts = tuple(_drafted(request, entity, paths[entity.name]) for entity in entities)
    entries = {
        entity.name: Path(os.path.relpath(paths[entity.name], registry.parent)).as_posix() for entity in entities
    }
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
    fields = {field.name.lower() for field in load_checked(str(path)).contract.model.fields}
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
    listed_entities = {str(entry.get("entity")) for entry in before}
    listed = {str(file) for entry in before for file in (entry.get("contracts") or {}).values()}
    new = {entity: file for entity, file in entries.items() if entity not in listed_entities and file not in listed}
    if not new:
        return "unchanged", ""
    if draft.is_untouched(there):
        pairs = [(str(entry["entity"]), str(entry["contracts"][draft.LAYER])) for entry in before]
        path.write_text(draft.registry([*pairs, *new.items()]), encoding="utf-8")
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
    tail = [(entry.get("entity"), (entry.get("contracts") or {}).get(draft.LAYER)) for entry in after[len(before) :]]
    return bool(after[: len(before)] == before and tail == list(new.items()))
