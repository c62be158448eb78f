"""Write what was inferred as contracts and a registry, with the reason of every guess beside it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Final

from lakelogic.infer.columns import ColumnDraft
from lakelogic.infer.entities import Entity
from lakelogic.printable import in_json, line

LAYER: Final = "bronze"
_MARK: Final = "# Drafted by `lakelogic bootstrap`"
_SEAL: Final = re.compile(rf"^{re.escape(_MARK)} \(as it was written: ([0-9a-f]{{12}})\)\n")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./ -]*")  # nothing that YAML takes for more than a text
_WORDS_OF_YAML: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def contract(entity: Entity, system: str, owner: str) -> str:
    """The contract of an entity, sealed."""
    landing = entity.landing
    lines = [
        "# Guesses by a look at some rows: read it, correct it, and it is yours. Rules only warn until you say",
        "# `severity: error`. `lakelogic-driver --registry …` runs it as it is.",
        "version: 1.0.0",
        "info:",
        f"  title: {text(_title(entity.name))}",
        f"  target_layer: {LAYER}",
        f"  dataset: {text(f'{LAYER}_{entity.name}')}",
        f"  owner: {text(owner)}",
        "source:",
        "  type: landing",
        f"  path: {text(landing.folder)}",
        f"  pattern: {text(landing.pattern)}  # {comment(landing.why)}",
        f"  format: {landing.format}",
        *_options(entity),
        *_loading(entity),
        "model:",
        "  fields:",
        *(line for column in entity.columns if column.name != entity.operation for line in _field(column, entity)),
        *_rules(entity),
        "materialization:",
        *_strategy(entity),
        f"  target_path: {text(f'{system}.{LAYER}.{entity.name}')}",
    ]
    return sealed("\n".join(lines) + "\n")


def registry(entries: Iterable[tuple[str, str]]) -> str:
    """A registry of entities and the paths of their contracts, sealed."""
    body = "# What a pass runs. Paths are relative to this file.\nentries:\n" + "".join(
        registry_entry(entity, path) for entity, path in entries
    )
    return sealed(body)


def registry_entry(entity: str, path: str, indent: str = "  ") -> str:
    """The lines of one entity."""
    return (
        f"{indent}- entity: {text(entity)}\n{indent}  enabled: true\n{indent}  contracts:\n"
        f"{indent}    {LAYER}: {text(path)}\n"
    )


def sealed(body: str) -> str:
    """A text whose first line tells later whether somebody has changed the rest."""
    return f"{_MARK} (as it was written: {_digest(body)})\n{body}"


def is_untouched(written: str) -> bool:
    """Whether a text is still as it was drafted."""
    seal = _SEAL.match(written)
    return seal is not None and _digest(written[seal.end() :]) == seal[1]


def text(value: str) -> str:
    """A text in YAML, quoted where it has to be."""
    if _PLAIN.fullmatch(value) and not value.endswith(" ") and value.lower() not in _WORDS_OF_YAML:
        return value
    return in_json(json.dumps(value, ensure_ascii=False))


def comment(why: str) -> str:
    """A reason behind a `#`: names of files and columns stand in it, and none of them may begin a line of its own."""
    return line(why)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _title(name: str) -> str:
    return f"{LAYER.capitalize()} {name.replace('_', ' ')}"


def _options(entity: Entity) -> list[str]:
    how = entity.how
    lines: list[str] = []
    if how.encoding.name is not None:
        lines.append(f"    encoding: {text(how.encoding.name)}  # {comment(how.encoding.why)}")
    if how.options.get("multiline"):
        note = how.note or "each file is one document, and one row"
        lines.append(f"    multiline: true  # {comment(note)}")
    if entity.nulls:
        listed = ", ".join(map(text, entity.nulls))
        lines.append(f"    null_values: [{listed}]  # seen beside numbers; they mean NULL in every column")
    return ["  options:", *lines] if lines else []


def _loading(entity: Entity) -> list[str]:
    if entity.operation is None:
        return ["  load_mode: incremental  # a file is read once"]
    deletes = ", ".join(text(value) for value in entity.deletes)
    return [
        f"  load_mode: cdc  # {comment(entity.strategy_why)}",
        f"  cdc_op_field: {text(entity.operation)}",
        f"  cdc_delete_values: [{deletes}]",
        f"  cdc_timestamp_field: {text(str(entity.sequence))}",
    ]


def _field(column: ColumnDraft, entity: Entity) -> list[str]:
    why = column.why + ("" if column.filled == entity.rows else f"; {entity.rows - column.filled} rows have none")
    needed = column.name in entity.key or (entity.operation is not None and column.name == entity.sequence)
    return [
        f"    - name: {text(column.name)}",
        f"      type: {_type(column.type)}  # {comment(why)}",
        *(["      required: true"] if needed else []),
        *([f"      pii: true  # {comment(column.personal)}; `masking:` hides it"] if column.personal else []),
    ]


def _type(kind: str) -> str:
    """A type in YAML: names of keys stand in nested ones."""
    return in_json(json.dumps(kind, ensure_ascii=False)) if "<" in kind else kind


def _rules(entity: Entity) -> list[str]:
    if not entity.rules:
        return []
    lines = ["quality:", "  row_rules:"]
    for name, predicate, why in entity.rules:
        lines += [
            f"    - name: {text(name)}  # {comment(why)}",
            f"      sql: {json.dumps(predicate, ensure_ascii=False)}",
            "      nulls: pass",
            "      severity: warning",
        ]
    return lines


def _strategy(entity: Entity) -> list[str]:
    if not entity.merges:
        lines = [f"  strategy: append  # {comment(entity.strategy_why)}"]
        if entity.partition:
            lines.append(f"  partition_by: [{text(entity.partition)}]  # {comment(str(entity.partition_why))}")
        return lines
    keys = ", ".join(text(name) for name in entity.key)
    lines = [
        f"  strategy: merge  # {comment(entity.strategy_why)}",
        f"  primary_key: [{keys}]  # {comment(entity.key_why)}",
    ]
    if entity.operation is None:
        lines.append(f"  sequence_by: {text(str(entity.sequence))}")
    else:
        lines.append("  soft_delete_column: is_deleted")
    return lines
