"""What keys of one section demand of one another: either-or, order of bounds, unique names, contradictions."""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from lakelogic.contract import codes, formats
from lakelogic.contract.base import Section
from lakelogic.contract.document import Contract
from lakelogic.contract.estate import RegistryEntry, System
from lakelogic.contract.fields import Field, Model
from lakelogic.contract.governance import LAYERS, Export, Quarantine
from lakelogic.contract.materialization import Deletion, Materialization
from lakelogic.contract.reading.tree import Branch, Items, Leaf, Node, Spot, child
from lakelogic.contract.rules import (
    DATASET_RULES,
    ROW_RULES,
    DistinctCount,
    Length,
    MeanBetween,
    NullRatio,
    Quality,
    Range,
    RowCountBetween,
    RowUnique,
    SumBetween,
)
from lakelogic.contract.service_levels import Completeness, RowCount, ServiceLevels
from lakelogic.contract.source import Link, Options, Source, format_of, is_table_name
from lakelogic.contract.steps import STEPS, Bin, Deduplicate, Rename
from lakelogic.errors import Diagnostic

Relation: TypeAlias = Callable[[Branch, str], Iterator[Diagnostic]]


def relations_of(model: type[Section]) -> Sequence[Relation]:
    """The relations that a section's keys must keep."""
    return _RELATIONS.get(model, ())


def _problem(code: str, message: str, spot: Spot, path: str, hint: str) -> Diagnostic:
    return Diagnostic(code, message, spot.at(path), hint)


def _number(node: Node | None) -> float | None:
    value = node.value if isinstance(node, Leaf) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(node: Node | None) -> str | None:
    return node.value if isinstance(node, Leaf) and isinstance(node.value, str) else None


def _texts(node: Node | None) -> list[str]:
    return [text for item in node.items if (text := _text(item)) is not None] if isinstance(node, Items) else []


def _at_most_one(*names: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        present = [name for name in names if name in node.entries]
        for name in present[1:]:
            message = f"`{present[0]}` and `{name}` mean the same here."
            yield _problem(codes.EXCLUSIVE, message, node.entries[name].spot, child(path, name), "Keep one of them.")

    return relation


def _one_of(names: tuple[str, ...], hint: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        if not any(name in node.entries for name in names):
            listed = " or ".join(f"`{name}`" for name in names)
            yield _problem(codes.ONE_NEEDED, f"`{_last(path)}` needs {listed}.", node.spot, path, hint)

    return relation


def _last(path: str) -> str:
    return path.rsplit(".", 1)[-1] or "the contract"


def _ordered(low: str, high: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        least, most = node.get(low), node.get(high)
        below = _number(least), _number(most)
        if below[0] is not None and below[1] is not None and below[0] > below[1]:
            message = f"`{low}` ({below[0]:g}) is larger than `{high}` ({below[1]:g})."
            yield _problem(codes.BAD_BOUNDS, message, node.entries[low].value.spot, child(path, low), "Swap them.")
        words = _text(least), _text(most)
        if words[0] is not None and words[1] is not None and len(words[0]) == len(words[1]) and words[0] > words[1]:
            message = f"`{low}` ({words[0]}) is after `{high}` ({words[1]})."
            yield _problem(codes.BAD_BOUNDS, message, node.entries[low].value.spot, child(path, low), "Swap them.")

    return relation


def _share(name: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        number = _number(node.get(name))
        if number is not None and not 0 <= number <= 1:
            hint = (
                f"Write {number:g} percent as `{number / 100:g}`." if 1 < number <= 100 else "Write 0.05 for 5 percent."
            )
            message = f"`{name}` is a share between 0 and 1, not {number:g}."
            yield _problem(codes.BAD_BOUNDS, message, node.entries[name].value.spot, child(path, name), hint)

    return relation


def _not_negative(*names: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        for name in names:
            number = _number(node.get(name))
            if number is not None and number < 0:
                message = f"`{name}` cannot be negative."
                spot = node.entries[name].value.spot
                yield _problem(codes.BAD_BOUNDS, message, spot, child(path, name), "Write 0 or more.")

    return relation


def _positive(*names: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        for name in names:
            number = _number(node.get(name))
            if number is not None and number < 1:
                spot = node.entries[name].value.spot
                yield _problem(codes.BAD_BOUNDS, f"`{name}` is at least 1.", spot, child(path, name), "Write more.")

    return relation


def _unique_names(list_name: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        listed = node.get(list_name)
        seen: dict[str, int | None] = {}
        for index, item in enumerate(listed.items if isinstance(listed, Items) else ()):
            name_node = item.get("name") if isinstance(item, Branch) else None
            name = _text(name_node)
            if name is None or name_node is None:
                continue
            if name.lower() in seen:
                line = seen[name.lower()]
                first = f"; the first is in line {line}" if line else ""
                message = f"The name `{name}` stands twice under `{list_name}`{first}."
                at = child(child(child(path, list_name), index), "name")
                yield _problem(codes.DUPLICATE_NAME, message, name_node.spot, at, "Rename or remove one of them.")
            seen.setdefault(name.lower(), name_node.spot.line)

    return relation


def _masking_format(node: Branch, path: str) -> Iterator[Diagnostic]:
    if "masking_format" in node.entries and _text(node.get("masking")) != "partial":
        entry = node.entries["masking_format"]
        message = "`masking_format` has an effect only with `masking: partial`."
        hint = "Write `masking: partial`, or remove `masking_format`."
        yield _problem(codes.NO_EFFECT, message, entry.spot, child(path, "masking_format"), hint)


def _protected(node: Branch, path: str) -> Iterator[Diagnostic]:
    name_node = node.get("name")
    name = _text(name_node)
    if name is not None and name_node is not None and (not name.strip() or name.startswith("~")):
        message = f"`{name}` cannot be the name of a field."
        yield _problem(codes.BAD_FORMAT, message, name_node.spot, child(path, "name"), "Begin it with a letter or `_`.")


def _rename(node: Branch, path: str) -> Iterator[Diagnostic]:
    if "mappings" in node.entries:
        for name in ("from", "to"):
            if name in node.entries:
                message = f"`mappings` and `{name}` exclude each other."
                hint = "Put the pair into `mappings`."
                yield _problem(codes.EXCLUSIVE, message, node.entries[name].spot, child(path, name), hint)
        return
    missing = [name for name in ("from", "to") if name not in node.entries]
    if missing and not any(key not in ("from", "to") for key in node.entries):
        message = f"`rename` needs `{'` and `'.join(missing)}`."
        hint = "Write `rename: {from: old, to: new}`, or `rename: {mappings: {old: new}}`."
        yield _problem(codes.ONE_NEEDED, message, node.spot, path, hint)


def _source(node: Branch, path: str) -> Iterator[Diagnostic]:
    if _text(node.get("load_mode")) in (None, "full") and "load_mode" not in _misspelt(node):
        for name in ("watermark_strategy", "from_date", "to_date"):
            if name in node.entries:
                message = f"`{name}` has an effect only with `load_mode: incremental`."
                hint = "Write `load_mode: incremental`, or remove it."
                yield _problem(codes.NO_EFFECT, message, node.entries[name].spot, child(path, name), hint)
    if _text(node.get("load_mode")) != "cdc":
        for name in ("cdc_op_field", "cdc_delete_values", "cdc_timestamp_field"):
            if name in node.entries:
                message = f"`{name}` has an effect only with `load_mode: cdc`."
                hint = "Write `load_mode: cdc`, or remove it."
                yield _problem(codes.NO_EFFECT, message, node.entries[name].spot, child(path, name), hint)
    yield from _options(node, path)


def _misspelt(node: Branch) -> tuple[str, ...]:
    """`load_mode`, when its value is not a word at all: that is reported already."""
    return ("load_mode",) if "load_mode" in node.entries and _text(node.get("load_mode")) is None else ()


_OPTIONS_OF: dict[str, frozenset[str]] = {
    **{row.name: frozenset(row.options) for row in formats.FORMATS.values() if row.options},
    "database": frozenset(("url", "connection", "table", "fetch_size", "partition_column", "partition_num")),
    "stream": frozenset(
        ("brokers", "topic", "group_id", "starting_offsets", "checkpoint", "trigger", "security"),
    ),
}


def _options(node: Branch, path: str) -> Iterator[Diagnostic]:
    options = node.get("options")
    if not isinstance(options, Branch):
        return
    place = _text(node.get("path")) or ""
    format_name = _text(node.get("format")) or (None if is_table_name(place) else format_of(place))
    subject = format_name or _text(node.get("type"))
    if subject is None:
        return
    for name, entry in options.entries.items():
        owners = [owner for owner, names in _OPTIONS_OF.items() if name in names]
        if owners and subject not in owners and _text(node.get("type")) not in owners:
            message = f"The option `{name}` does not apply to {subject}."
            hint = f"It is read for {' and '.join(owners)}. Remove it, or correct `format`."
            yield _problem(codes.NO_EFFECT, message, entry.spot, child(child(path, "options"), name), hint)


_PACKED = ("gzip", "gz", "zip", "bz2", "bzip2", "zstd", "zst", "lz4", "none", "uncompressed")


def _reading(node: Branch, path: str) -> Iterator[Diagnostic]:
    """What no file can be read with: an encoding that nobody knows, a quote of two characters."""
    encoding, packed, quote = (_text(node.get(name)) for name in ("encoding", "compression", "quote_char"))
    problems: list[tuple[str, str, str]] = []
    if encoding and not _is_encoding(encoding):
        near = difflib.get_close_matches(encoding.lower(), ("utf-8", "utf-16", "latin-1", "iso-8859-1", "cp1252"), n=1)
        hint = f"did you mean `{near[0]}`?" if near else "Say utf-8, latin-1, utf-16, cp1252, …"
        problems.append(("encoding", f"There is no encoding `{encoding}`.", hint))
    if packed and packed.lower() not in _PACKED:
        hint = "Say gzip, zip, bz2, zstd, lz4 or none; by default the suffix tells."
        problems.append(("compression", f"There is no compression `{packed}`.", hint))
    if quote and len(quote) > 1 and quote != "none":
        problems.append(("quote_char", f"`quote_char` is one character, not `{quote}`.", 'Write `""` for none.'))
    if quote and quote == _text(node.get("delimiter")):
        problems.append(("quote_char", "`quote_char` and `delimiter` are the same.", "Change one of them."))
    for name, message, hint in problems:
        yield _problem(codes.BAD_FORMAT, message, node.entries[name].value.spot, child(path, name), hint)


def _is_encoding(name: str) -> bool:
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return False
    return bool(codec._is_text_encoding) and codec.incrementaldecoder is not None


def _implied(node: Branch, _: str) -> Iterator[Diagnostic]:
    """`implied_decimals` belong to fields of the model: nothing else has a type to give them effect."""
    source, model = node.get("source"), node.get("model")
    options = source.get("options") if isinstance(source, Branch) else None
    implied = options.get("implied_decimals") if isinstance(options, Branch) else None
    fields = model.get("fields") if isinstance(model, Branch) else None
    if not isinstance(implied, Branch):
        return
    listed = fields.items if isinstance(fields, Items) else ()
    names = [name for item in listed if (name := _text(item.get("name") if isinstance(item, Branch) else item))]
    for name, entry in implied.entries.items():
        if name.lower() in {candidate.lower() for candidate in names}:
            continue
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "Declare the field with its type, such as decimal(10,2)."
        at = f"source.options.implied_decimals.{name}"
        yield _problem(codes.NO_EFFECT, f"The model has no field `{name}`.", entry.spot, at, hint)


def _layers(node: Branch, path: str) -> Iterator[Diagnostic]:
    info = node.get("info")
    written = [(name, node.get(name)) for name in ("tier", "layer", "target_layer")]
    if isinstance(info, Branch):
        written.append(("info.target_layer", info.get("target_layer")))
    layers = [(name, leaf, LAYERS[word]) for name, leaf in written if (word := _text(leaf)) in LAYERS and word and leaf]
    for name, leaf, layer in layers[1:]:
        if layer != layers[0][2]:
            message = f"`{name}` says {layer}, and `{layers[0][0]}` says {layers[0][2]}."
            yield _problem(codes.CONTRADICTION, message, leaf.spot, child(path, name), "Keep one of them.")


def _keys(node: Branch, _: str) -> Iterator[Diagnostic]:
    materialization = node.get("materialization")
    if not isinstance(materialization, Branch):
        return
    here, there = _texts(node.get("primary_key")), _texts(materialization.get("primary_key"))
    if here and there and here != there:
        spot = materialization.entries["primary_key"].spot
        message = f"`primary_key` is [{', '.join(here)}] at the root and [{', '.join(there)}] here."
        yield _problem(codes.CONTRADICTION, message, spot, "materialization.primary_key", "Keep one of them.")
    strategy = materialization.get("strategy")
    word = _text(strategy)
    written = "primary_key" in node.entries or "primary_key" in materialization.entries
    empty = not here and not there
    if strategy and word in ("merge", "scd2", "snapshot_reconcile") and not written and empty:
        message = f"The strategy `{word}` needs a primary key."
        hint = "Add `primary_key: [<field>]` under `materialization`."
        yield _problem(codes.NO_KEY, message, strategy.spot, "materialization.strategy", hint)


def _ratios(node: Branch, _: str) -> Iterator[Diagnostic]:
    quality, quarantine = node.get("quality"), node.get("quarantine")
    if isinstance(quality, Branch) and isinstance(quarantine, Branch):
        quality_ratio, other = _number(quality.get("max_quarantine_ratio")), _number(quarantine.get("max_ratio"))
        if quality_ratio is not None and other is not None and quality_ratio != other:
            message = f"`quality.max_quarantine_ratio` is {quality_ratio:g}, and `quarantine.max_ratio` is {other:g}."
            spot = quarantine.entries["max_ratio"].spot
            yield _problem(
                codes.CONTRADICTION, message, spot, "quarantine.max_ratio", "They are one setting: keep one."
            )


def _datasets(node: Branch, _: str) -> Iterator[Diagnostic]:
    info = node.get("info")
    if not isinstance(info, Branch):
        return
    for name, here, there in (
        ("dataset", _text(node.get("dataset")), _text(info.get("dataset"))),
        ("version", _written(node.get("version")), _written(info.get("version"))),
    ):
        if here and there and here != there:
            message = f"`{name}` is `{here}` at the root and `{there}` under `info`."
            spot = info.entries[name].spot
            yield _problem(codes.CONTRADICTION, message, spot, f"info.{name}", "Keep one of them.")


def _written(node: Node | None) -> str | None:
    return node.text if isinstance(node, Leaf) and node.value is not None else None


def _references(node: Branch, _: str) -> Iterator[Diagnostic]:
    """Every `reference` of a step or a rule names a link."""
    links = node.get("links")
    if links is not None and not isinstance(links, Items):
        return
    items = links.items if links else ()
    names = [name for item in items if isinstance(item, Branch) and (name := _text(item.get("name")))]
    quality = node.get("quality")
    lists: list[tuple[str, Node | None, tuple[str, ...]]] = [
        ("transformations", node.get("transformations"), tuple(STEPS))
    ]
    if isinstance(quality, Branch):
        lists.append(("quality.row_rules", quality.get("row_rules"), tuple(ROW_RULES)))
        lists.append(("quality.dataset_rules", quality.get("dataset_rules"), tuple(DATASET_RULES)))
    for at, listed, kinds in lists:
        for index, item in enumerate(listed.items if isinstance(listed, Items) else ()):
            for kind in kinds if isinstance(item, Branch) else ():
                parameters = item.get(kind) if isinstance(item, Branch) else None
                leaf = parameters.get("reference") if isinstance(parameters, Branch) else None
                name = _text(leaf)
                if leaf is None or name is None or name in names:
                    continue
                near = difflib.get_close_matches(name, names, n=1)
                if near:
                    hint = f"Did you mean `{near[0]}`?"
                elif names:
                    hint = f"Declared links: {', '.join(f'`{link}`' for link in names)}."
                else:
                    hint = f"Add it: `links: [{{name: {name}, path: …}}]`."
                where = child(child(child(at, index), kind), "reference")
                yield _problem(codes.UNKNOWN_LINK, f"There is no link called `{name}`.", leaf.spot, where, hint)


def _between(node: Branch, path: str) -> Iterator[Diagnostic]:
    """`must_be_between` is a pair; checked on the rules of a quality section."""
    listed = node.get("dataset_rules")
    for index, item in enumerate(listed.items if isinstance(listed, Items) else ()):
        pair = item.get("must_be_between") if isinstance(item, Branch) else None
        if isinstance(pair, Items) and len(pair.items) != 2:
            at = child(child(child(path, "dataset_rules"), index), "must_be_between")
            message = f"`must_be_between` needs two numbers, not {len(pair.items)}."
            yield _problem(codes.BAD_BOUNDS, message, pair.spot, at, "Write `must_be_between: [low, high]`.")


def _accepted(node: Branch, path: str) -> Iterator[Diagnostic]:
    values = node.get("accepted_values")
    if isinstance(values, Items) and not values.items:
        message = "`accepted_values` is empty: no value would ever be accepted."
        spot = node.entries["accepted_values"].spot
        yield _problem(
            codes.BAD_BOUNDS, message, spot, child(path, "accepted_values"), "List the values, or remove it."
        )


def _not_empty_lists(node: Branch, path: str) -> Iterator[Diagnostic]:
    for name in ("primary_key", "on", "by", "key_columns"):
        listed = node.get(name)
        if isinstance(listed, Items) and not listed.items:
            spot = node.entries[name].spot
            yield _problem(
                codes.NO_VALUE, f"`{name}` is an empty list.", spot, child(path, name), "Name at least one field."
            )


def _freshness(node: Branch, path: str) -> Iterator[Diagnostic]:
    if "freshness" in node.entries and "freshness_hours" in node.entries:
        spot = node.entries["freshness_hours"].spot
        message = "`freshness` and `freshness_hours` mean the same."
        yield _problem(codes.EXCLUSIVE, message, spot, child(path, "freshness_hours"), "Keep one of them.")


def _upstreams(node: Branch, path: str) -> Iterator[Diagnostic]:
    if "upstream_grace_hours" in node.entries and _text(node.get("upstream_policy")) == "strict":
        message = "`upstream_policy: strict` knows no grace."
        spot, hint = node.entries["upstream_grace_hours"].spot, "Write `upstream_policy: warn`, or remove it."
        yield _problem(codes.NO_EFFECT, message, spot, child(path, "upstream_grace_hours"), hint)


def _unique_order(node: Branch, path: str) -> Iterator[Diagnostic]:
    if "order_by" in node.entries and _text(node.get("keep")) != "first":
        message = "`order_by` has an effect only with `keep: first`."
        hint = "Write `keep: first`, or remove `order_by`."
        yield _problem(codes.NO_EFFECT, message, node.entries["order_by"].spot, child(path, "order_by"), hint)


def _bounded(node: Branch, path: str) -> Iterator[Diagnostic]:
    yield from _one_of(("min", "max"), "Give at least one bound: `min: …` or `max: …`.")(node, path)
    yield from _ordered("min", "max")(node, path)


def _keyed_by_layer(name: str, *others: str) -> Relation:
    def relation(node: Branch, path: str) -> Iterator[Diagnostic]:
        listed = node.get(name)
        for key, entry in listed.entries.items() if isinstance(listed, Branch) else ():
            if key not in LAYERS and key not in others and not key.startswith("x-"):
                meant = difflib.get_close_matches(key.lower(), [*LAYERS, *others], n=1)
                hint = f"Did you mean `{meant[0]}`?" if meant else "Write bronze, silver, gold or reference."
                at = child(child(path, name), key)
                yield _problem(codes.UNKNOWN_VALUE, f"`{key}` is not a layer.", entry.spot, at, hint)

    return relation


def _export_target(node: Branch, path: str) -> Iterator[Diagnostic]:
    kind, target = _text(node.get("type")), _text(node.get("target"))
    if kind is None or target is None:
        return
    spot, at = node.entries["target"].spot, child(path, "target")
    if kind in ("snowflake", "databricks"):
        if len(parts := target.split(".")) != 3 or not all(part.strip() for part in parts):
            message = f"`{target}` does not name a table of {kind.capitalize()}."
            yield _problem(codes.BAD_FORMAT, message, spot, at, "Write database (or catalog), schema and table.")
    elif kind == "s3":
        bucket, _, prefix = target.removeprefix("s3://").partition("/")
        named = not target.startswith("s3://") or bucket
        if "://" in target.removeprefix("s3://") or not named or ".." in prefix.split("/"):
            message, hint = f"`{target}` is no place in a bucket.", "Write s3://bucket/prefix, or only a prefix."
            yield _problem(codes.BAD_FORMAT, message, spot, at, hint)
    idle = {"s3": ("mode", "key"), "files": ("mode", "key", "connection")}.get(kind, ("format",))
    for name in idle:
        if name in node.entries:
            message = f"`{name}` has no effect on an export of the type `{kind}`."
            hint = "Remove it: every version is written beside the others." if name != "format" else "Remove it."
            yield _problem(codes.NO_EFFECT, message, node.entries[name].spot, child(path, name), hint)


def _exports(node: Branch, path: str) -> Iterator[Diagnostic]:
    listed = node.get("exports")
    names: set[str] = set()
    settings = node.get("materialization")
    has_key = "primary_key" in node.entries or (isinstance(settings, Branch) and "primary_key" in settings.entries)
    for index, item in enumerate(listed.items if isinstance(listed, Items) else ()):
        if not isinstance(item, Branch) or (kind := _text(item.get("type"))) is None:
            continue
        at, called = f"{child(path, 'exports')}[{index}]", _text(item.get("name")) or kind
        if called in names:
            message = f"There are two exports called `{called}`."
            yield _problem(codes.DUPLICATE_NAME, message, item.spot, at, "Give each a `name`.")
        names.add(called)
        merges = _text(item.get("mode")) in (None, "merge") and kind in ("snowflake", "databricks")
        if merges and not has_key and "key" not in item.entries:
            message = f"The export `{called}` merges and has no key."
            yield _problem(codes.NO_KEY, message, item.spot, at, "Name `key: [...]` or a primary key, or overwrite.")


_RELATIONS: dict[type[Section], tuple[Relation, ...]] = {
    Contract: (_layers, _keys, _ratios, _datasets, _references, _implied, _unique_names("links"), _not_empty_lists,
               _upstreams, _not_negative("upstream_grace_hours"), _exports),
    Export: (_export_target,),
    Model: (_unique_names("fields"),),
    Field: (_masking_format, _protected, _accepted, _ordered("min", "max"), _ordered("min_length", "max_length"),
            _not_negative("min_length", "max_length")),
    Options: (_reading, _not_negative("skip_rows"), _positive("max_record_bytes"), _positive("max_unpacked_ratio")),
    Source: (_source, _ordered("from_date", "to_date")),
    Link: (_one_of(("path", "table"), "Add `path: …` or `table: …`."), _at_most_one("path", "table"),
           _at_most_one("format", "type")),
    Quarantine: (_at_most_one("target", "table", "location"), _share("max_ratio")),
    Quality: (_share("max_quarantine_ratio"), _unique_names("row_rules"), _unique_names("dataset_rules"), _between),
    Materialization: (_not_empty_lists,),
    Deletion: (_share("max_delete_ratio"),),
    ServiceLevels: (_freshness, _not_negative("freshness_hours")),
    RowCount: (_ordered("min_rows", "max_rows"), _not_negative("min_rows", "max_rows")),
    Completeness: (_share("threshold"),),
    Rename: (_rename,),
    Deduplicate: (_one_of(("on", "by"), "Write `on: [<key>]`."), _at_most_one("on", "by"), _not_empty_lists),
    Range: (_bounded,),
    Length: (_bounded, _not_negative("min", "max")),
    RowUnique: (_unique_order,),
    Bin: (_one_of(("lt", "lte", "gt", "gte", "eq"), "Give at least one bound, such as `lt: 10`."),
          _at_most_one("lt", "lte"), _at_most_one("gt", "gte"), _ordered("gte", "lte"), _ordered("gt", "lt")),
    NullRatio: (_one_of(("max",), "Give the largest share: `max: 0.05`."), _share("max")),
    RowCountBetween: (_bounded, _not_negative("min", "max")),
    DistinctCount: (_bounded, _not_negative("min", "max")),
    MeanBetween: (_bounded,),
    SumBetween: (_bounded,),
    System: (_keyed_by_layer("materialization", "_all"),),
    RegistryEntry: (_keyed_by_layer("contracts"),),
}  # fmt: skip
