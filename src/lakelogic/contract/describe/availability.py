"""Which keys and values have their effect today: every key is declared here, so nothing is silently ignored.

A key is *available* (it changes what a run does), *documentation* (it changes nothing and is meant to), or
*not yet*: modelled, checked, and refused when it is used. Lists are written `model.fields[]`; a declaration
holds for everything below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

from lakelogic.contract import codes, formats
from lakelogic.contract.describe.shape import KeyShape, ValueShape, common_keys, keys_of, parameter_keys
from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded
from lakelogic.contract.reading.tree import Branch, Leaf, Node, walk
from lakelogic.contract.rules import DATASET_RULES, ROW_RULES
from lakelogic.contract.steps import STEPS
from lakelogic.errors import Diagnostic

Status = Literal["available", "documentation", "not yet"]


def _declared(sections: dict[str, str]) -> frozenset[str]:
    """Section → its keys, as the set of whole paths."""
    return frozenset(f"{at}.{key}" if at else key for at, keys in sections.items() for key in keys.split())


_AVAILABLE: frozenset[str] = _declared(
    {
        "metadata": "policy_pack",
        "": "version dialect engine dataset primary_key environments tier layer target_layer lineage soft_deletes "
        "upstream upstream_policy upstream_grace_hours",
        "upstream_sources[]": "dataset max_age grace required",
        "info": "dataset table_name entity version title target_layer domain system",
        "source": "type path format pattern load_mode include_deleted empty_behavior identity watermark_strategy "
        "watermark_field lookback from_date to_date "
        "cdc_op_field cdc_delete_values cdc_timestamp_field",
        "source.options": "max_record_bytes max_unpacked_ratio "
        "delimiter quote_char has_header null_values encoding compression skip_rows comment_prefix "
        "multiline decimal_comma implied_decimals date_formats",
        "server": "type path format mode schema_policy cast_to_string",
        "links[]": "name path table type format columns filter include_deleted",
        "model.fields[]": "name type required pii phi sensitive masking masking_format "
        "accepted_values min max min_length max_length pattern unique foreign_key rules default generated milestone",
        "schema_policy": "evolution unknown_fields",
        "transformations[]": f"phase name engine dialect {' '.join(STEPS)}",
        "quality": "enforce_required fail_pipeline_on_dataset_error max_quarantine_ratio",
        "quality.row_rules[]": f"name category severity phase nulls label dialect {' '.join(ROW_RULES)}",
        "quality.dataset_rules[]": "name category severity label dialect must_be must_be_between must_be_less_than "
        f"must_be_greater_than must_be_at_least must_be_at_most {' '.join(DATASET_RULES)}",
        "quarantine": "enabled format target table location fail_on_quarantine max_ratio retention",
        "materialization": "strategy primary_key sequence_by scd1 scd2 fact deletion unknown_member "
        "soft_delete_column soft_delete_value soft_delete_time_column soft_delete_reason_column target_path format "
        "partition_by cluster_by overwrite_scope reprocess_policy reprocess_date_column table_properties compaction "
        "secondary_targets",
        "service_levels": "freshness_hours freshness completeness row_count on_breach",
        "exports[]": "name type target mode key columns include_deleted format connection when required",
    }
)

_DOCUMENTATION: frozenset[str] = _declared(
    {
        "info": "description owner contact status classification data_product tags",
        "": "metadata extensions compliance ownership tags downstream",
        "upstream_sources[]": "description",
        "model": "grain",
        "model.fields[]": "description classification",
        "quality.row_rules[]": "description",
        "quality.dataset_rules[]": "description",
    }
)

_NOT_YET: dict[str, str] = {
    "source.query": "Read the whole table, and filter it with a step.",
    "source.flatten_nested": "Take nested values out with a `sql` step.",
    "source.partition": "Name the folders in `source.path`, with `*` where they vary.",
    "source.partition_filters": "Name the folders in `source.path`.",
    "source.post_ingestion": "Files stay where they landed.",
    "source.options.sheet_name": "Save the sheet as CSV.",
    "source.options.header_row": "Save the sheet as CSV.",
    "source.options.skip_footer": "Save the sheet as CSV.",
    "source.options.row_tag": "Convert the file to JSON or CSV.",
    "source.options.columns": "Convert the file to CSV.",
    "source.options.url": "Land the table as files.",
    "source.options.connection": "Land the table as files.",
    "source.options.table": "Land the table as files.",
    "source.options.fetch_size": "Land the table as files.",
    "source.options.partition_column": "Land the table as files.",
    "source.options.partition_num": "Land the table as files.",
    "source.options.brokers": "Land the stream as files.",
    "source.options.topic": "Land the stream as files.",
    "source.options.group_id": "Land the stream as files.",
    "source.options.starting_offsets": "Land the stream as files.",
    "source.options.checkpoint": "Land the stream as files.",
    "source.options.trigger": "Land the stream as files.",
    "source.options.security": "Land the stream as files.",
    "links[].broadcast": "Leave it out: small links are sent to every worker anyway.",
    "links[].query": "Use `columns` and `filter`.",
    "model.fields[].security_groups": "Mask the field with `masking`.",
    "model.fields[].extraction_task": "Leave it out.",
    "quality.dataset_rules[].phase": "Dataset rules see the rows that would be published.",
    "quality.dataset_rules[].nulls": "Leave it out: absent values count as each shorthand says.",
    "quarantine.notifications": "Read the run's report or the ledger.",
    "service_levels.availability": "Leave it out.",
    "service_levels.anomaly": "Use `service_levels.row_count`.",
    "service_levels.schedule": "Use `service_levels.freshness`.",
    "external_logic": "Write it as steps.",
    "extraction": "Land the extracted fields.",
    "schedule": "Call `lakelogic run` from your scheduler.",
    "notifications": "Act on the exit code, the report or the ledger.",
    "exports[].filter": "Export a dataset that holds only those rows.",
    "cost": "Leave it out.",
}

# Of a closed set, the values that have their effect; for others, the reason why and what to do instead.
_FORMATS = formats.available()
_AVAILABLE_VALUES: dict[str, tuple[tuple[str, ...], str]] = {
    "source.type": (("landing", "table", "delta", "iceberg"), "Land the rows as files, or read a table."),
    "source.format": (_FORMATS, "Convert the files to CSV, JSON or Parquet."),
    "server.format": (_FORMATS, "Convert the files to CSV, JSON or Parquet."),
    "links[].format": (_FORMATS, "Convert the files to CSV, JSON or Parquet."),
    "links[].type": (("landing", "table", *_FORMATS), "Convert the files to CSV, JSON or Parquet."),
    "materialization.format": (("delta", "iceberg", "parquet"), "Use `delta`, `iceberg` or `parquet`."),
    "materialization.secondary_targets[].format": (
        ("delta", "iceberg", "parquet"),
        "Use `delta`, `iceberg` or `parquet`.",
    ),
    "materialization.secondary_targets[].strategy": (("append", "overwrite"), "Use `append` or `overwrite`."),
    "exports[].mode": (("merge", "overwrite"), "Use `merge` or `overwrite`: an export sends the table as it stands."),
    "quarantine.format": (("delta",), "Bad rows are kept as a Delta table, whatever the format of the target."),
}

_INDEX = re.compile(r"\[\d+\]")


def status(path: str) -> Status:
    """What becomes of a key: `model.fields[].masking` → available. Raises KeyError for a key that is not declared."""
    at = _INDEX.sub("[]", path)
    while at:
        if at in _NOT_YET:
            return "not yet"
        if at in _AVAILABLE:
            return "available"
        if at in _DOCUMENTATION:
            return "documentation"
        at = at[: max(at.rfind("."), at.rfind("["), 0)]
    raise KeyError(path)


def unavailable_keys() -> list[tuple[str, str]]:
    """Every key and value that is not available yet, with what to do instead; values as `key: value`."""
    keys = list(_NOT_YET.items())
    for path, (words, note) in _AVAILABLE_VALUES.items():
        keys += [(f"{path}: {word}", note) for word in closed_words(path) if word not in words]
    return sorted(keys)


def available_words(path: str) -> tuple[str, ...] | None:
    """The values of a closed set that have their effect; None when all have."""
    words = _AVAILABLE_VALUES.get(_INDEX.sub("[]", path))
    return words[0] if words else None


def closed_words(path: str) -> tuple[str, ...]:
    """The closed set of a key; nothing for a key that is open or a plain-word short form."""
    shape = dict(all_keys()).get(path)
    return shape.shape.words if shape else ()


def check(loaded: Loaded) -> list[Diagnostic]:
    """Every use of a key or value that has no effect yet, at its line."""
    return not_available(loaded.contract, loaded)


def not_available(contract: Contract, loaded: Loaded) -> list[Diagnostic]:
    """Every use of a key or value that has no effect yet; a key set to its default asks for nothing."""
    diagnostics: list[Diagnostic] = []
    for path, spot, node in walk(loaded.tree):
        if path.startswith("environments"):
            continue
        pattern = _INDEX.sub("[]", path)
        if pattern in _NOT_YET and not _is_default(node, _defaults().get(pattern)):
            message = f"`{path}` is not available yet."
            diagnostics.append(Diagnostic(codes.KEY_NOT_YET, message, spot.at(path), _NOT_YET[pattern]))
        elif pattern in _AVAILABLE_VALUES and isinstance(node, Leaf) and isinstance(node.value, str):
            words, hint = _AVAILABLE_VALUES[pattern]
            if node.value not in words:
                message = f"`{path}: {node.value}` is not available yet."
                diagnostics.append(Diagnostic(codes.VALUE_NOT_YET, message, node.spot.at(path), hint))
    return diagnostics + _told_by_suffix(contract, loaded)


@cache
def _defaults() -> dict[str, object]:
    return {path: key.default for path, key in all_keys()}


def _told_by_suffix(contract: Contract, loaded: Loaded) -> list[Diagnostic]:
    """Formats that nobody wrote down and a file's suffix tells."""
    hint = _AVAILABLE_VALUES["source.format"][1]
    formats: list[tuple[str, str | None]] = []
    if contract.source.path and contract.source.format is None and contract.source.type is None:
        formats.append(("source.path", contract.source.resolved_format))
    for index, link in enumerate(contract.links):
        if link.path and link.format is None and link.type is None:
            formats.append((f"links[{index}].path", link.resolved_format))
    return [
        Diagnostic(
            codes.VALUE_NOT_YET, f"The format `{form}` of `{path}` is not available yet.", loaded.where(path), hint
        )
        for path, form in formats
        if form is not None and form not in _FORMATS
    ]


def _is_default(node: Node, default: object) -> bool:
    if isinstance(node, Leaf):
        return type(node.value) is type(default) and node.value == default
    return isinstance(node, Branch) and not node.entries


def all_keys() -> Iterator[tuple[str, KeyShape]]:
    """Every key of a contract by its pattern (`model.fields[].name`), from the models."""
    yield from _keys(keys_of(Contract).values(), "")


def _keys(keys: Iterable[KeyShape], at: str) -> Iterator[tuple[str, KeyShape]]:
    for key in keys:
        path = f"{at}.{key.name}" if at else key.name
        yield path, key
        if path != "environments":
            yield from _below(key.shape, path)


def _below(shape: ValueShape, at: str) -> Iterator[tuple[str, KeyShape]]:
    if shape.kind == "section" and shape.model is not None:
        yield from _keys(keys_of(shape.model).values(), at)
    elif shape.kind == "list" and shape.item is not None:
        yield from _below(shape.item, f"{at}[]")
    elif shape.kind == "tagged":
        yield from _keys(common_keys(shape.kinds).values(), at)
        for kind in shape.kinds:
            own = KeyShape(kind.KIND, ValueShape("section", model=kind), False, None, (kind.__doc__ or "").strip())
            yield f"{at}.{kind.KIND}", own
            if not kind.BARE:
                yield from _keys(parameter_keys(kind).values(), f"{at}.{kind.KIND}")
