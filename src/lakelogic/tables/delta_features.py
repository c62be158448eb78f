"""Refuse Delta tables that plain Parquet reading would misread, or that a commit of ours would damage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


# Properties that change nothing about what a writer must do. What obliges writers, or makes the log forget the
# application transactions by which a commit happens once, is not set.
_PROPERTIES = frozenset(
    {
        "delta.appendOnly",
        "delta.checkpointInterval",
        "delta.dataSkippingNumIndexedCols",
        "delta.deletedFileRetentionDuration",
        "delta.logRetentionDuration",
        "delta.targetFileSize",
    }
)


def refuse_properties(properties: Mapping[str, str], location: str) -> None:
    """Raise for properties that the table could not keep, or that would make it one that we do not write to."""
    foreign = sorted(set(properties) - _PROPERTIES)
    if foreign:
        raise UnsupportedError(
            f"table_properties cannot set {', '.join(foreign)} on a Delta table.",
            where=location,
            hint=f"These can be set: {', '.join(sorted(_PROPERTIES))}.",
        )


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
