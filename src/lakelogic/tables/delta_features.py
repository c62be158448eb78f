"""Refuse Delta tables that plain Parquet reading would misread, or that a commit of ours would damage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lakelogic.errors import FeatureRefused, UnsupportedError

# Features that may be listed: harmless, or harmless as long as the table does not use them (looked at below).
_READ = frozenset({"timestampNtz", "columnMapping", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"})
_WRITTEN = _READ | {
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "identityColumns",
    "allowColumnDefaults",
}
_CONSTRAINT = "delta.constraints."
# Column metadata that obliges every writer to compute or check something.
_DUTIES = {
    "delta.invariants": "column invariants",
    "delta.generationExpression": "generated columns",
    "delta.identity.start": "identity columns",
    "CURRENT_DEFAULT": "column defaults",
}


def refuse_reading(table: Any, location: str) -> None:
    """Raise when the data files alone do not tell the table's rows."""
    protocol, settings = table.protocol(), table.metadata().configuration
    foreign = sorted(set(protocol.reader_features or ()) - _READ)
    if settings.get("delta.columnMapping.mode", "none") != "none":
        foreign.append("columnMapping")
    if _is_on(settings, "delta.enableDeletionVectors") or _has_deleted_rows(table, protocol):
        foreign.append("deletionVectors")
    _refuse(location, foreign, "read", "misread")


def refuse_writing(table: Any, location: str, *, removes: bool = False) -> None:
    """Raise when a commit of staged files could break a promise of the table; `removes`: it also takes rows away."""
    refuse_reading(table, location)
    if partitions := table.metadata().partition_columns:
        raise UnsupportedError(
            f"The Delta table is partitioned by {', '.join(partitions)}; writing to such a table is not available yet.",
            where=location,
        )
    protocol, settings = table.protocol(), table.metadata().configuration
    foreign = sorted(set(protocol.writer_features or ()) - _WRITTEN)
    foreign += sorted(
        f"check constraint {key.split('.', 2)[2]}" for key in settings if key.startswith("delta.constraints.")
    )
    if _is_on(settings, "delta.enableChangeDataFeed"):
        foreign.append("changeDataFeed")
    if _is_on(settings, "delta.enableRowTracking"):
        foreign.append("rowTracking")
    foreign += sorted(
        {name for field in table.schema().fields for key, name in _DUTIES.items() if key in field.metadata}
    )
    if removes and _is_on(settings, "delta.appendOnly"):
        foreign.append("appendOnly (this write would replace rows)")
    _refuse(location, foreign, "write to", "damage")


def _refuse(location: str, features: Iterable[str], verb: str, harm: str) -> None:
    names = list(dict.fromkeys(features))
    if names:
        raise FeatureRefused(
            f"Cannot {verb} this Delta table without the risk to {harm} it. It uses: {', '.join(names)}.",
            where=location,
            hint="Choose another target, or drop the feature with the engine that set it.",
        )


def _is_on(settings: dict[str, str], key: str) -> bool:
    return str(settings.get(key, "false")).lower() == "true"


def _has_deleted_rows(table: Any, protocol: Any) -> bool:
    if "deletionVectors" not in (protocol.reader_features or ()):
        return False
    return any(batch.num_rows > 0 for batch in table.deletion_vectors())
