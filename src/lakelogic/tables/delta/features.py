"""Refuse Delta tables that plain Parquet reading would misread, or that a commit of ours would damage."""

from __future__ import annotations

import re
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
# Features that Spark's own Delta looks after when it writes; what is on neither list, nobody here writes to.
_OWN = _WRITTEN | {
    "rowTracking",
    "domainMetadata",
    "clustering",
    "inCommitTimestamp",
    "typeWidening",
    "typeWidening-preview",
    "variantType",  # delta-rs lists it for every table with reader features; columns of that type are looked for below
}
_VARIANT = re.compile(r'"(type|elementType|keyType|valueType)"\s*:\s*"variant"')
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


# Properties that oblige every writer to something that Spark's own Delta does.
_OWN_PROPERTIES = frozenset(
    {
        "delta.columnMapping.mode",
        "delta.enableChangeDataFeed",
        "delta.enableDeletionVectors",
        "delta.enableInCommitTimestamps",
        "delta.enableRowTracking",
    }
)


def own_properties(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Those among the properties that make a table one which only Spark's own Delta writes to."""
    return tuple(sorted(set(properties) & _OWN_PROPERTIES))


def refuse_properties(properties: Mapping[str, str], location: str, *, own: bool = False) -> None:
    """Raise for properties that the table could not keep, or that would make it one that we do not write to.

    `own`: Spark's own Delta writes to it.
    """
    fine = _PROPERTIES | _OWN_PROPERTIES if own else _PROPERTIES
    foreign = sorted(set(properties) - fine)
    if foreign:
        more = " On Spark with Delta of its own more can be." if set(foreign) <= _OWN_PROPERTIES else ""
        raise UnsupportedError(
            f"table_properties cannot set {', '.join(foreign)} on a Delta table.",
            where=location,
            hint=f"These can be set: {', '.join(sorted(fine))}.{more}",
        )


def unread(table: Any) -> list[str]:
    """What the table uses because of which its data files alone do not tell its rows."""
    protocol, settings = table.protocol(), table.metadata().configuration
    foreign = sorted(set(protocol.reader_features or ()) - _READ)
    if settings.get("delta.columnMapping.mode", "none") != "none":
        foreign.append("columnMapping")
    if _is_on(settings, "delta.enableDeletionVectors") or _has_deleted_rows(table, protocol):
        foreign.append("deletionVectors")
    return foreign


def unwritten(table: Any) -> list[str]:
    """What the table uses because of which a commit of staged files could break a promise of it."""
    protocol, settings = table.protocol(), table.metadata().configuration
    foreign = [*unread(table), *sorted(set(protocol.writer_features or ()) - _WRITTEN)]
    foreign += sorted(f"check constraint {key.split('.', 2)[2]}" for key in settings if key.startswith(_CONSTRAINT))
    if _is_on(settings, "delta.enableChangeDataFeed"):
        foreign.append("changeDataFeed")
    if _is_on(settings, "delta.enableRowTracking"):
        foreign.append("rowTracking")
    foreign += sorted(
        {name for field in table.schema().fields for key, name in _DUTIES.items() if key in field.metadata}
    )
    return list(dict.fromkeys(foreign))


def refuse_reading(table: Any, location: str) -> None:
    """Raise when the data files alone do not tell the table's rows."""
    _refuse(table, location, unread(table), "read", "misread")


def refuse_writing(table: Any, location: str, *, removes: bool = False) -> None:
    """Raise when a commit of staged files could break a promise of the table; `removes`: it also takes rows away."""
    refuse_reading(table, location)
    _refuse(table, location, unwritten(table), "write to", "damage")
    _refuse_removal(table, location, removes=removes)


def refuse_own(table: Any, location: str, *, removes: bool = False) -> None:
    """Raise when Spark's own Delta should not write to the table either."""
    _refuse(None, location, _known_by_nobody(table), "write to", "damage")
    _refuse_removal(table, location, removes=removes)


def _known_by_nobody(table: Any) -> list[str]:
    protocol = table.protocol()
    foreign = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())} - _OWN)
    return [*foreign, "columns of type variant"] if _VARIANT.search(table.schema().to_json()) else foreign


def _refuse_removal(table: Any, location: str, *, removes: bool) -> None:
    if removes and _is_on(table.metadata().configuration, "delta.appendOnly"):
        feature = "appendOnly (this write would replace rows)"
        _refuse(None, location, [feature], "write to", "damage")


def _refuse(table: Any, location: str, features: Iterable[str], verb: str, harm: str) -> None:
    names = list(dict.fromkeys(features))
    if not names:
        return
    hint = "Choose another target, or drop the feature with the engine that set it."
    if table is not None and not _known_by_nobody(table):
        hint = (
            "Spark's own Delta can: run with --engine spark, once `lakelogic setup spark` has fetched it. "
            "Or drop the feature with the engine that set it."
        )
    raise FeatureRefused(
        f"Cannot {verb} this Delta table without the risk to {harm} it. It uses: {', '.join(names)}.",
        where=location,
        hint=hint,
    )


def _is_on(settings: dict[str, str], key: str) -> bool:
    return str(settings.get(key, "false")).lower() == "true"


def _has_deleted_rows(table: Any, protocol: Any) -> bool:
    if "deletionVectors" not in (protocol.reader_features or ()):
        return False
    return any(batch.num_rows > 0 for batch in table.deletion_vectors())
