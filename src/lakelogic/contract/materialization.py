"""How good rows meet their table: strategy, keys, format, partitions, and how a changed schema is treated."""

from typing import Any, ClassVar, Literal

from lakelogic.contract.base import Flag, Free, Key, Number, Place, Scalar, Section, Text

Strategy = Literal["append", "overwrite", "merge", "scd2", "snapshot_reconcile"]
TableFormat = Literal["delta", "iceberg", "parquet", "csv", "json"]
Evolution = Literal["strict", "compatible", "append", "merge", "overwrite", "allow"]
UnknownFields = Literal["allow", "drop", "quarantine", "fail"]

_WORDS: dict[str, dict[str, object]] = {
    "strict": {"evolution": "strict", "unknown_fields": "fail"},
    "quarantine": {"unknown_fields": "quarantine"},
    "allow": {"unknown_fields": "allow"},
}


class SchemaPolicy(Section):
    """What happens when columns land or are stored that the model does not know."""

    PURPOSE: ClassVar[str] = "What a changed schema does."
    SHORT: ClassVar[Any] = Literal["strict", "quarantine", "allow"]

    evolution: Evolution = Key("allow", description="How the stored table may change.")
    unknown_fields: UnknownFields = Key(
        "allow",
        description="What landed columns outside the model do. Where a field is masked and this is not written, they "
        "are kept aside: not published, and told.",
    )

    @classmethod
    def expand(cls, value: Any) -> dict[str, object]:
        """A plain word: `strict`, `quarantine` or `allow`."""
        if not isinstance(value, str) or value not in _WORDS:
            raise ValueError(f"{value!r} is not a schema policy")
        return _WORDS[value]


class Compaction(Section):
    """Upkeep of the table's files."""

    PURPOSE: ClassVar[str] = "Upkeep of the table's files."

    auto: Flag = Key(False, description="Compact after writing.")
    vacuum_retention_hours: Number | None = Key(None, description="Delete unused files older than this.")


class Deletion(Section):
    """Rows that are gone from the source."""

    PURPOSE: ClassVar[str] = "Rows that are gone from the source."

    strategy: Literal["snapshot_reconcile", "follow_source", "keep"] = Key(
        "snapshot_reconcile",
        description="Compare the whole table with a full snapshot; or only what a table as source gave before (the "
        "default without `deletion`); or let rows stay.",
    )
    max_delete_ratio: Number = Key(0.2, description="The largest share of rows that may go, 0 to 1.")
    scope: tuple[Text, ...] = Key((), description="Columns that bound the comparison.")


class Fact(Section):
    """The kind of fact table."""

    PURPOSE: ClassVar[str] = "The kind of fact table."

    type: Literal["transaction", "periodic_snapshot", "accumulating_snapshot", "factless", "aggregate"] = Key(
        description="How facts accumulate."
    )
    milestone_dates: tuple[Text, ...] = Key((), description="Dates of an accumulating snapshot, in order.")


class Scd1(Section):
    """A dimension that keeps only the present."""

    PURPOSE: ClassVar[str] = "A dimension that keeps only the present."

    surrogate_key: Text | None = Key(None, description="The surrogate key's column.")
    surrogate_key_strategy: Literal["hash", "uuid"] = Key("hash", description="How it is made.")
    unknown_member: Free = Key(None, description="A row for keys that are not known.")


class Scd2(Section):
    """A dimension that keeps its history."""

    PURPOSE: ClassVar[str] = "A dimension that keeps its history."

    surrogate_key: Text = Key("_sk", description="The surrogate key's column.")
    surrogate_key_strategy: Literal["hash", "uuid"] = Key("hash", description="How it is made.")
    effective_from_field: Text = Key("effective_from", description="Start of a version.")
    effective_to_field: Text = Key("effective_to", description="End of a version, exclusive.")
    current_flag_field: Text = Key("is_current", description="Marks the present version.")
    version_column: Text = Key("_version", description="1, 2, 3… in time order.")
    change_reason_column: Text | None = Key(None, description="Why a version began.")
    track_columns: tuple[Text, ...] = Key((), description="A change in these opens a version.")
    timestamp_field: Text | None = Key(None, description="When a change happened.")
    last_seen_field: Text | None = Key(
        None,
        description="A column for the latest time at which rows confirmed a version. With it a late row between two "
        "confirmations holds up to the second; each confirmation writes its version again.",
    )
    effective_from_default: Text = Key("1900-01-01", description="Start of the first version.")
    effective_to_default: Text = Key("9999-12-31", description="End of the present version.")
    unknown_member: Free = Key(None, description="A row for keys that are not known.")


class SecondaryTarget(Section):
    """Another place that receives the same good rows."""

    PURPOSE: ClassVar[str] = "Another place for the same good rows."

    target_path: Place = Key(description="Path, URI or table name.")
    format: TableFormat = Key("delta", description="How rows are kept there.")
    strategy: Strategy | None = Key(None, description="By default the strategy of the first target.")


class Materialization(Section):
    """How good rows meet their table."""

    PURPOSE: ClassVar[str] = "How good rows meet their table."

    strategy: Strategy = Key("append", description="How good rows meet the table.")
    primary_key: tuple[Text, ...] = Key((), description="The key; may also stand at the root.")
    sequence_by: Text | None = Key(None, description="merge: which of two rows of one key is newer.")
    target_path: Place | None = Key(None, description="Path, URI or `catalog.schema.table`.")
    format: TableFormat = Key("delta", description="How rows are kept.")
    partition_by: tuple[Text, ...] = Key((), description="Partition columns.")
    cluster_by: tuple[Text, ...] = Key((), description="Clustering columns.")
    overwrite_scope: Literal["table", "partitions"] | None = Key(None, description="What `overwrite` replaces.")
    reprocess_policy: Literal["overwrite_partition", "append", "fail"] | None = Key(
        None, description="What processing a window again does."
    )
    reprocess_date_column: Text | None = Key(None, description="The column that places a row in a window.")
    table_properties: dict[str, Scalar] = Key({}, description="Settings handed to the table format.")
    compaction: Compaction | None = Key(None, description="Upkeep of the table's files.")
    soft_delete_column: Text | None = Key(None, description="Marks a deleted row.")
    soft_delete_value: Scalar = Key(None, description="The mark.")
    soft_delete_time_column: Text | None = Key(None, description="When it was deleted.")
    soft_delete_reason_column: Text | None = Key(None, description="Why it was deleted.")
    deletion: Deletion | None = Key(None, description="Rows that are gone from the source.")
    unknown_member: Free = Key(None, description="A row for keys that are not known.")
    secondary_targets: tuple[SecondaryTarget, ...] = Key((), description="Other places for the same rows.")
    fact: Fact | None = Key(None, description="The kind of fact table.")
    scd1: Scd1 | None = Key(None, description="A dimension that keeps only the present.")
    scd2: Scd2 | None = Key(None, description="A dimension that keeps its history.")
