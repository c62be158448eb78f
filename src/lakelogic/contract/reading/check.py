"""Hold a tree against the models: every problem at once, in our words, at its line."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lakelogic.contract import codes
from lakelogic.contract.base import Section
from lakelogic.contract.describe.shape import (
    KeyShape,
    ValueShape,
    common_keys,
    keys_of,
    parameter_keys,
    places,
    short_shape,
)
from lakelogic.contract.document import Contract, ContractLayer, Environment
from lakelogic.contract.durations import duration
from lakelogic.contract.reading.relations import relations_of
from lakelogic.contract.reading.substitute import literal_secret
from lakelogic.contract.reading.tree import Branch, Entry, Items, Leaf, Node, Spot, child
from lakelogic.contract.tagged import Tagged
from lakelogic.errors import Diagnostic

# Where a misplaced key most likely belongs, for keys that stand in several sections.
_USUAL_PLACE = {
    "path": "source",
    "pattern": "source",
    "fields": "model",
    "masking": "model.fields[]",
    "required": "model.fields[]",
    "pii": "model.fields[]",
    "row_rules": "quality",
    "dataset_rules": "quality",
    "strategy": "materialization",
    "target_path": "materialization",
    "load_mode": "source",
    "unique": "quality.dataset_rules[]",
    "freshness": "service_levels",
    "title": "info",
    "severity": "quality.row_rules[]",
}
# Words that other tools use for what we call otherwise.
_OTHER_WORDS = {
    "columns": "fields",
    "schema": "model",
    "checks": "row_rules",
    "expectations": "row_rules",
    "tests": "row_rules",
    "rules": "row_rules",
    "steps": "transformations",
    "transforms": "transformations",
    "slo": "service_levels",
    "sla": "service_levels",
    "target": "materialization",
    "output": "materialization",
    "sink": "materialization",
    "input": "source",
    "nullable": "required",
    "mask": "masking",
    "mode": "strategy",
    "where": "filter",
    "key": "primary_key",
    "keys": "primary_key",
    "expression": "sql",
    "expr": "sql",
    "condition": "sql",
    "query": "sql",
    "data_type": "type",
    "dtype": "type",
    "level": "severity",
    "mapping": "mappings",
    "separator": "delimiter",
    "header": "has_header",
    "upsert": "merge",
}
_OTHER_VALUES = {
    "upsert": "merge",
    "upsrt": "merge",
    "replace": "overwrite",
    "truncate": "overwrite",
    "insert": "append",
    "sha256": "hash",
    "aes": "encrypt",
    "null": "nullify",
    "warn": "warning",
    "critical": "error",
    "fatal": "error",
    "jsonl": "ndjson",
    "xlsx": "excel",
    "ignore": "allow",
    "before": "pre",
    "after": "post",
}


def nearest(word: str, known_words: Iterable[str], cutoff: float = 0.66) -> str | None:
    """The known word that was most likely meant."""
    words = list(known_words)
    for candidate in words:
        if candidate.lower() == word.lower():
            return candidate
    folded = {candidate.lower().replace("-", "_"): candidate for candidate in words}
    close = difflib.get_close_matches(word.lower().replace("-", "_"), folded, n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def describe(node: Node) -> str:
    """What a person would call the value: `text`, `a list`."""
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Branch):
        return "a map"
    value = node.value
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    return "text" if isinstance(value, str) else "nothing"


def check(tree: Branch, root: type[Section] = Contract) -> list[Diagnostic]:
    """Everything that is wrong with a document, in the order in which it was written."""
    walker = _Walker(root)
    walker.section(tree, root, "", Entry(tree, tree.spot))
    return in_order(walker.problems)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without repetitions, by file, line and column."""
    unique = {(d.code, d.where.file, d.where.line, d.where.column, d.message): d for d in reversed(list(diagnostics))}
    return sorted(unique.values(), key=lambda d: (d.where.file or "", d.where.line or 0, d.where.column or 0))


@dataclass
class _Walker:
    root: type[Section]
    problems: list[Diagnostic] = field(default_factory=list)
    is_part: bool = False

    def say(self, code: str, message: str, spot: Spot, path: str, hint: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, spot.at(path), hint))

    # — one value —

    def value(self, node: Node, shape: ValueShape, path: str, name: str, key: Spot) -> None:
        if shape.kind == "free":
            self.free(node, path)
            return
        if isinstance(node, Leaf) and node.value is None:
            if shape.kind != "scalar":
                hint = f"Give it {shape.noun}, or remove the key."
                self.say(codes.NO_VALUE, f"`{name}` has no value.", key, path, hint)
            return
        match shape.kind:
            case "section":
                assert shape.model is not None
                self.section(node, shape.model, path, Entry(node, key))
            case "tagged":
                self.tagged(node, shape, path)
            case "list":
                self.items(node, shape, path, name, key)
            case "map":
                self.mapping(node, shape, path, name)
            case "closed":
                self.closed(node, shape.words, path, name)
            case _:
                self.leaf(node, shape, path, name)

    def wrong(self, node: Node, shape: ValueShape, path: str, name: str, hint: str | None = None) -> None:
        article = f"`{name}` must be {shape.noun}, not {describe(node)}."
        self.say(codes.WRONG_TYPE, article, node.spot, path, hint)

    def leaf(self, node: Node, shape: ValueShape, path: str, name: str) -> None:
        if not isinstance(node, Leaf):
            hint = None
            if isinstance(node, Items) and len(node.items) == 1 and isinstance(node.items[0], Leaf):
                hint = f"Write it without brackets: `{name.split('[', maxsplit=1)[0]}: {node.items[0].text}`."
            elif isinstance(node, Branch) and len(node.entries) == 1 and shape.kind == "text":
                inner = next(iter(node.entries))
                hint = f"If `{{{inner}}}` is a placeholder, put the whole value in quotes."
            self.wrong(node, shape, path, name, hint or f"Write `{name.split('[', maxsplit=1)[0]}: …` with one value.")
            return
        value = node.value
        match shape.kind:
            case "text":
                if not isinstance(value, str):
                    self.wrong(node, shape, path, name, f'Put it in quotes: "{node.text}".')
                elif shape.treatment == "duration":
                    self.duration(value, node, path, name)
                elif problem := literal_secret(value, must_be_reference=shape.treatment == "secret", key=name):
                    self.say(problem.code, problem.message, node.spot, path, problem.hint)
            case "flag":
                if not isinstance(value, bool):
                    meant = {"yes": "true", "on": "true", "1": "true", "no": "false", "off": "false", "0": "false"}
                    word = meant.get(node.text.lower()) or nearest(node.text, ("true", "false"))
                    hint = f"Write `{word}` (without quotes)." if word else "Write `true` or `false`."
                    self.wrong(node, shape, path, name, hint)
            case "whole" | "number":
                good = isinstance(value, int) or (shape.kind == "number" and isinstance(value, float))
                if not good or isinstance(value, bool):
                    self.wrong(node, shape, path, name, _number_hint(node, shape.kind))
            case "scalar":
                if isinstance(value, str) and (problem := literal_secret(value)):
                    self.say(problem.code, problem.message, node.spot, path, problem.hint)

    def duration(self, value: str, node: Leaf, path: str, name: str) -> None:
        try:
            duration(value)
        except ValueError:
            message = f"`{value}` is not a length of time."
            self.say(codes.BAD_FORMAT, message, node.spot, path, f"Write `{name}` as `24h`, `30m`, `7 days` or `P7D`.")

    def closed(self, node: Node, words: tuple[str, ...], path: str, name: str) -> None:
        if not isinstance(node, Leaf):
            self.wrong(node, ValueShape("closed", words=words), path, name, f"Write one word: {_listed(words)}.")
            return
        text = node.value if isinstance(node.value, str) else node.text
        if text not in words:
            other = _OTHER_VALUES.get(text.lower())
            meant = other if other in words else nearest(text, words)
            hint_words = f"Known values: {_listed(words)}."
            hint = f"Did you mean `{meant}`? {hint_words}" if meant else hint_words
            self.say(codes.UNKNOWN_VALUE, f"`{text}` is not a value of `{name}`.", node.spot, path, hint)

    def items(self, node: Node, shape: ValueShape, path: str, name: str, key: Spot) -> None:
        assert shape.item is not None
        if shape.one_or_many and isinstance(node, Leaf) and isinstance(node.value, str):
            return
        if not isinstance(node, Items):
            self.wrong(node, shape, path, name, _list_hint(node, name, shape.item))
            return
        if not node.items and shape.one_or_many:
            self.say(codes.NO_VALUE, f"`{name}` is an empty list.", key, path, "Name at least one field.")
        for index, item in enumerate(node.items):
            self.value(item, shape.item, child(path, index), f"{name}[{index}]", item.spot)

    def mapping(self, node: Node, shape: ValueShape, path: str, name: str) -> None:
        assert shape.item is not None
        if not isinstance(node, Branch):
            self.wrong(node, shape, path, name, f"Write `{name}:` and below it one `key: value` per line.")
            return
        for inner, entry in node.entries.items():
            self.value(entry.value, shape.item, child(path, inner), inner, entry.spot)

    def free(self, node: Node, path: str) -> None:
        """Free maps are yours; only a secret written out is refused."""
        if isinstance(node, Branch):
            for name, entry in node.entries.items():
                self.free(entry.value, child(path, name))
        elif isinstance(node, Items):
            for index, item in enumerate(node.items):
                self.free(item, child(path, index))
        elif isinstance(node.value, str):
            name = path.rsplit(".", 1)[-1]
            if problem := literal_secret(node.value, key=name):
                self.say(problem.code, problem.message, node.spot, path, problem.hint)

    # — maps with known keys —

    def section(self, node: Node, model: type[Section], path: str, entry: Entry) -> None:
        short = short_shape(model)
        name = path.rsplit(".", 1)[-1] or "the document"
        if not isinstance(node, Branch):
            if short is not None and isinstance(node, Leaf):
                self.value(node, short, path, name, entry.spot)
                return
            self.wrong(node, ValueShape("section"), path, name, _section_hint(node, model, name))
            return
        shapes: Mapping[str, KeyShape] = keys_of(model)
        if issubclass(model, ContractLayer):
            # A part may hold any key of a contract but the environments.
            whole = {key: shape for key, shape in keys_of(Contract).items() if key != "environments"}
            shapes = whole | dict(shapes)
        outer = self.is_part
        self.is_part = outer or (issubclass(model, ContractLayer) and model is not Environment)
        self.keys(node, shapes, path, entry)
        if not self.is_part:  # what keys of a part demand of one another shows when the document is whole
            for relation in relations_of(model):
                self.problems.extend(relation(node, path))
        self.is_part = outer

    def keys(self, node: Branch, shapes: Mapping[str, KeyShape], path: str, entry: Entry) -> None:
        for name, inner in node.entries.items():
            if name.startswith("x-"):
                continue
            if name in shapes:
                self.value(inner.value, shapes[name].shape, child(path, name), name, inner.spot)
            else:
                self.unknown(name, inner.spot, path, tuple(shapes), node)
        for key in shapes.values():
            if key.required and key.name not in node.entries:
                if any(nearest(name, (key.name,), 0.75) for name in node.entries if name not in shapes):
                    continue  # the misspelt key is already reported; one cause, one problem
                where = path.rsplit(".", 1)[-1] or f"the {self.root.__name__.lower()}"
                spot = node.spot if node.entries and path.endswith("]") else entry.spot
                hint = f"Add `{key.name}: …`. {key.description}"
                self.say(codes.MISSING_KEY, f"`{where}` needs `{key.name}`.", spot, path, hint.strip())

    def unknown(self, name: str, spot: Spot, path: str, keys: tuple[str, ...], node: Branch) -> None:
        here = _section_name(path, self.root)
        free = tuple(key for key in keys if key not in node.entries)
        meant = nearest(name, free, 0.8) or (_OTHER_WORDS.get(name) if _OTHER_WORDS.get(name) in free else None)
        elsewhere = None if meant else self.elsewhere(name)
        at = child(path, name)
        if elsewhere is not None:
            message = f"`{name}` does not belong {here}."
            self.say(codes.WRONG_PLACE, message, spot, at, f"`{name}` belongs {elsewhere}.")
            return
        meant = meant or nearest(name, free)
        twice = None if meant else nearest(name, keys, 0.8)
        if meant:
            hint = f"Did you mean `{meant}`?"
        elif twice:
            hint = f"Did you mean `{twice}`? It is already there, in line {node.entries[twice].spot.line}."
        elif len(keys) <= 16:
            hint = f"Known keys: {_listed(keys)}. Keys of your own go under `extensions` or begin with `x-`."
        else:
            hint = "Keys of your own go under `extensions` or begin with `x-`."
        self.say(codes.UNKNOWN_KEY, f"There is no key `{name}` {here}.", spot, at, hint)

    def elsewhere(self, name: str) -> str | None:
        """Where a misplaced key belongs, in words; None when no place knows it."""
        spots = [place for place in places(self.root).get(name, ()) if not place.startswith("environments")]
        if not spots and name in _OTHER_WORDS:
            return None
        usual = _USUAL_PLACE.get(name)
        if usual in spots:
            spots = [usual]
        if not spots or len(spots) > 6:
            return None
        return " or ".join(f"under `{place}`" if place else "at the root" for place in spots[:2])

    # — items told apart by a key —

    def tagged(self, node: Node, shape: ValueShape, path: str) -> None:
        noun = _noun(path)
        if not isinstance(node, Branch):
            hint = f'Write `- sql: "{node.text}"`.' if isinstance(node, Leaf) and isinstance(node.value, str) else None
            self.wrong(node, shape, path, noun, hint or f"Write one {noun} per `-`.")
            return
        kinds = {kind.KIND: kind for kind in shape.kinds}
        common = common_keys(shape.kinds)
        present = [name for name in node.entries if name in kinds]
        unknown = [
            name for name in node.entries if name not in kinds and name not in common and not name.startswith("x-")
        ]
        for name, entry in node.entries.items():
            if name in common:
                self.value(entry.value, common[name].shape, child(path, name), name, entry.spot)
        kind = kinds[present[0]] if present else None
        for name in unknown:
            self.stray(name, node.entries[name].spot, path, kind, shape.kinds)
        if kind is not None:
            entry = node.entries[present[0]]
            bounded = any(name.startswith("must_be") for name in node.entries)
            self.parameters(entry, kind, child(path, present[0]), bounded=bounded)
        elif not unknown:
            hint = f"Say what it does: {_listed(tuple(kinds))}."
            self.say(codes.NO_KIND, f"The {noun} says no kind.", node.spot, path, hint)
        for name in present[1:]:
            message = f"One {noun} cannot be both `{present[0]}` and `{name}`."
            hint = f"Write two {noun}s, each with its own `-`."
            self.say(codes.TWO_KINDS, message, node.entries[name].spot, child(path, name), hint)

    def stray(
        self, name: str, spot: Spot, path: str, kind: type[Tagged] | None, kinds: tuple[type[Tagged], ...]
    ) -> None:
        noun = _noun(path)
        common = tuple(common_keys(kinds))
        at = child(path, name)
        if kind is not None and name in parameter_keys(kind) and not kind.BARE:
            message = f"`{name}` does not belong beside `{kind.KIND}`."
            hint = f"It belongs under it: indent `{name}` one level deeper than `{kind.KIND}`."
            self.say(codes.WRONG_PLACE, message, spot, at, hint)
            return
        keys = common if kind else (*(each.KIND for each in kinds), *common)
        other = _OTHER_WORDS.get(name)
        meant = other if other in keys else nearest(name, keys, 0.7)
        elsewhere = None if meant else self.elsewhere(name)
        if elsewhere is not None:
            message = f"`{name}` does not belong in this {noun}."
            self.say(codes.WRONG_PLACE, message, spot, at, f"`{name}` belongs {elsewhere}.")
            return
        meant = meant or nearest(name, keys)
        hint = f"Did you mean `{meant}`?" if meant else f"Known keys: {_listed(keys)}."
        what = f"There is no {noun} called `{name}`." if kind is None else f"There is no key `{name}` in a {noun}."
        self.say(codes.UNKNOWN_KEY, what, spot, at, hint)

    def parameters(self, entry: Entry, kind: type[Tagged], path: str, *, bounded: bool = False) -> None:
        """The keys under a kind's key; with `must_be…` beside it, it needs no bounds of its own."""
        shapes = parameter_keys(kind)
        node = entry.value
        main = shapes[kind.MAIN] if kind.MAIN else None
        if isinstance(node, Leaf) and node.value is None:
            self.say(codes.NO_VALUE, f"`{kind.KIND}` has no value.", entry.spot, path, _kind_hint(kind))
        elif main is not None and (kind.BARE or not isinstance(node, Branch)):
            self.value(node, main.shape, path, kind.KIND, entry.spot)
        elif not isinstance(node, Branch):
            self.wrong(node, ValueShape("section"), path, kind.KIND, _kind_hint(kind))
        else:
            self.keys(node, shapes, path, entry)
            for relation in () if self.is_part else relations_of(kind):
                self.problems += [d for d in relation(node, path) if not (bounded and d.code == codes.ONE_NEEDED)]


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _noun(path: str) -> str:
    return "step" if "transformations[" in path else "rule"


def _section_name(path: str, root: type[Section]) -> str:
    return f"under `{path}`" if path else f"at the root of a {root.__name__.lower()}"


def _number_hint(node: Leaf, kind: str) -> str:
    text = node.text.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return "Write digits, without unit and without quotes."
    if not math.isfinite(number):
        return "Write a finite number."
    if text.endswith("%"):
        return f"Write the share as a number between 0 and 1: `{number / 100:g}`."
    if kind == "whole" and not number.is_integer():
        return f"Write a whole number: `{round(number)}`."
    return f"Write it without quotes: `{number:g}`."


def _list_hint(node: Node, name: str, item: ValueShape) -> str:
    if isinstance(node, Leaf):
        parts = [part.strip() for part in node.text.split(",")]
        if item.kind in ("section", "tagged"):
            return f"Write `{name}:` and below it one `- …` per item."
        return f"Write `{name}: [{', '.join(parts)}]`."
    if isinstance(node, Branch) and item.kind in ("section", "tagged"):
        return f"Put a `- ` before each item of `{name}`."
    return f"Write `{name}: [a, b]`."


def _section_hint(node: Node, model: type[Section], name: str) -> str:
    keys = list(keys_of(model).values())
    needed = [key.name for key in keys if key.required] or [key.name for key in keys[:2]]
    example = ", ".join(f"{key}: …" for key in needed)
    if isinstance(node, Items):
        return f"Remove the `-`: `{name}` is one map, such as {{{example}}}."
    return f"Write `{{{example}}}`."


def _kind_hint(kind: type[Tagged]) -> str:
    shapes = parameter_keys(kind)
    needed = [key.name for key in shapes.values() if key.required] or list(shapes)[:2]
    if kind.BARE:
        return f'Write `{kind.KIND}: "…"`.'
    return f"Write `{kind.KIND}: {{{', '.join(f'{name}: …' for name in needed)}}}`."
