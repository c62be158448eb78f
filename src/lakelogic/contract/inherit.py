"""Lay the layers around a contract into one document: environment, the server's defaults, and overrides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lakelogic.contract import codes
from lakelogic.contract.base import Section
from lakelogic.contract.check import nearest
from lakelogic.contract.document import Contract
from lakelogic.contract.shape import KeyShape, Shape, common_keys, keys_of, parameter_keys
from lakelogic.contract.source import SourceType
from lakelogic.contract.tree import Branch, Entry, Items, Leaf, Node, Spot, child, parse, planted
from lakelogic.errors import Diagnostic, Where

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_PATH = re.compile(r"[^.\[\]]+(?:\[\d+\])*(?:\.[^.\[\]]+(?:\[\d+\])*)*$")
_SOURCE_TYPES: tuple[str, ...] = SourceType.__args__  # type: ignore[attr-defined]


def merged(weak: Node, strong: Node, shape: Shape | None = None) -> Node:
    """The stronger layer over the weaker: maps deepen, lists of named items merge by name, the rest is replaced."""
    if isinstance(weak, Branch) and isinstance(strong, Branch):
        entries = dict(weak.entries)
        for name, entry in strong.entries.items():
            under = entries.get(name)
            inner = _inner(shape, name)
            entries[name] = Entry(merged(under.value, entry.value, inner), entry.spot) if under else entry
        return Branch(entries, weak.spot)
    if isinstance(weak, Items) and isinstance(strong, Items) and shape is not None and shape.by_name:
        return _by_name(weak, strong, shape)
    return strong


def _inner(shape: Shape | None, name: str) -> Shape | None:
    if shape is None:
        return None
    if shape.kind == "section" and shape.model is not None:
        key = keys_of(shape.model).get(name)
        return key.shape if key else None
    return shape.item if shape.kind == "map" else None


def _by_name(weak: Items, strong: Items, shape: Shape) -> Items:
    items = list(weak.items)
    places = {name: index for index, item in enumerate(items) if (name := _name(item)) is not None}
    for item in strong.items:
        name = _name(item)
        if name is not None and name in places:
            under = items[places[name]]
            # A rule of another kind replaces the old one: two kinds in one item would be an error.
            items[places[name]] = (
                merged(under, item, shape.item) if shape.item and shape.item.kind == "section" else item
            )
        else:
            items.append(item)
    return Items(tuple(items), strong.spot)


def _name(item: Node) -> str | None:
    leaf = item.get("name") if isinstance(item, Branch) else None
    return leaf.value if isinstance(leaf, Leaf) and isinstance(leaf.value, str) else None


def with_environment(tree: Branch, env: str | None, file: str | None) -> tuple[Branch, list[Diagnostic]]:
    """The contract in one environment; its own `environments` section stays, for `explain`."""
    if env is None:
        return tree, []
    section = tree.get("environments")
    if not isinstance(section, Branch) or not section.entries:
        hint = "Leave out `--env` (and `LAKELOGIC_ENV`), or add `environments:` to the contract."
        message = f"The environment `{env}` was chosen, and the contract has no environments."
        return tree, [Diagnostic(codes.NO_ENVIRONMENTS, message, Where(file, path="environments"), hint)]
    chosen = section.get(env)
    if chosen is None:
        meant = nearest(env, section.entries)
        known = ", ".join(f"`{name}`" for name in section.entries)
        hint = f"Did you mean `{meant}`? Known: {known}." if meant else f"Known: {known}."
        spot = tree.entries["environments"].spot
        message = f"There is no environment `{env}`."
        return tree, [Diagnostic(codes.UNKNOWN_ENVIRONMENT, message, spot.at("environments"), hint)]
    if not isinstance(chosen, Branch):
        return tree, []  # the wrong kind of value is reported by the checker
    overlay = {name: entry for name, entry in chosen.entries.items() if name not in ("path", "format")}
    short = {name: entry for name, entry in chosen.entries.items() if name in ("path", "format")}
    if short:
        under = overlay.get("source")
        inside = dict(under.value.entries) if under and isinstance(under.value, Branch) else {}
        spot = next(iter(short.values())).spot
        overlay["source"] = Entry(Branch(short | inside, spot), under.spot if under else spot)
    result = merged(tree, Branch(overlay, chosen.spot), Shape("section", model=Contract))
    assert isinstance(result, Branch)
    return result, []


def with_server(tree: Branch) -> Branch:
    """The server's path, format, type and schema policy, where the contract says none of its own."""
    server = tree.get("server")
    if not isinstance(server, Branch):
        return tree
    entries = dict(tree.entries)
    source = tree.get("source")
    if source is None or isinstance(source, Branch):
        own = dict(source.entries) if source else {}
        given = {name: server.entries[name] for name in ("path", "format", "type") if name in server.entries}
        kind = server.get("type")
        if not (isinstance(kind, Leaf) and kind.value in _SOURCE_TYPES):
            given.pop("type", None)
        if given:
            spot = source.spot if source else server.spot
            key = entries["source"].spot if source else entries["server"].spot
            entries["source"] = Entry(Branch(given | own, spot), key)
    if "schema_policy" in server.entries and "schema_policy" not in entries:
        entries["schema_policy"] = server.entries["schema_policy"]
    return Branch(entries, tree.spot)


def with_overrides(tree: Branch, overrides: Mapping[str, object] | Sequence[str]) -> tuple[Branch, list[Diagnostic]]:
    """`--set key.path=value` (a list of such texts) or a map of paths to values, applied in order; null removes."""
    problems: list[Diagnostic] = []
    for path, value in _pairs(overrides, problems):
        spot = Spot(f"--set {path}")
        if isinstance(value, Node_):
            node: Node = value
        elif isinstance(value, str) and not isinstance(overrides, Mapping):
            parsed, found = parse(value, spot.file) if value.strip() else (Leaf("", spot, ""), [])
            if parsed is None or found:
                if value.strip().lower() in ("null", "~"):
                    parsed = Leaf(None, spot, value)
                elif value.lstrip().startswith("*"):  # a glob, not an alias: there is nothing it could refer to
                    parsed = Leaf(value, spot, value)
                else:
                    hint = "The value is read as YAML: put text with special characters in quotes."
                    message = f"The value of `{path}` cannot be read."
                    problems.append(Diagnostic(codes.BAD_SET_VALUE, message, Where(spot.file, path=path), hint))
                    continue
            node = _at(parsed, spot)
        else:
            node = planted(value, spot)
        for inner, part in _leaves(path, node):
            tree = _overridden(tree, inner, part, spot, problems)
    return tree, problems


def _leaves(path: str, node: Node) -> list[tuple[str, Node]]:
    """A map deepens what is there: it is laid in key by key; anything else replaces."""
    if not isinstance(node, Branch) or not node.entries:
        return [(path, node)]
    return [leaf for name, entry in node.entries.items() for leaf in _leaves(f"{path}.{name}", entry.value)]


def _overridden(tree: Branch, path: str, node: Node, spot: Spot, problems: list[Diagnostic]) -> Branch:
    parts = _parts(path)
    trouble = None if parts is None else _unknown_part(parts)
    if parts is None or trouble:
        message = f"`{path}` is not a path of a contract." if parts is None else trouble[0] if trouble else ""
        hint = "Write `key.path=value`, such as `source.path=data` or `links[0].path=data`."
        problems.append(
            Diagnostic(codes.BAD_SET_PATH, message, Where(spot.file, path=path), trouble[1] if trouble else hint)
        )
        return tree
    placed = _placed(tree, parts, node, spot)
    if isinstance(placed, str):
        problems.append(Diagnostic(codes.BAD_SET_PATH, placed, Where(spot.file, path=path), "Check the index."))
    elif isinstance(placed, Branch):
        return placed
    return tree


Node_ = (Leaf, Items, Branch)


def _pairs(overrides: Mapping[str, object] | Sequence[str], problems: list[Diagnostic]) -> list[tuple[str, object]]:
    if isinstance(overrides, Mapping):
        return list(overrides.items())
    pairs: list[tuple[str, object]] = []
    for text in overrides:
        path, equals, value = text.partition("=")
        if equals and path.strip():
            pairs.append((path.strip(), value))
        else:
            message = f"`{text}` is not an override."
            hint = "Write `key.path=value`, such as `source.path=data`."
            problems.append(Diagnostic(codes.BAD_SET_VALUE, message, Where(f"--set {text}"), hint))
    return pairs


def _at(node: Node, spot: Spot) -> Node:
    """The node with every spot replaced: a line within `--set` would mislead."""
    if isinstance(node, Leaf):
        return Leaf(node.value, spot, node.text)
    if isinstance(node, Items):
        return Items(tuple(_at(item, spot) for item in node.items), spot)
    return Branch({name: Entry(_at(entry.value, spot), spot) for name, entry in node.entries.items()}, spot)


def _parts(path: str) -> list[str | int] | None:
    if not _PATH.match(path):
        return None
    return [match[1] if match[1] is not None else int(match[2]) for match in _PART.finditer(path)]


def _unknown_part(parts: list[str | int]) -> tuple[str, str] | None:
    """What is wrong with a path, and a hint; None when every part is known to the models."""
    shape: Shape | None = Shape("section", model=Contract)
    at = ""
    for part in parts:
        if shape is None or shape.kind == "free":
            return None
        if isinstance(part, int):
            if shape.kind != "list":
                return f"`{at}` is not a list.", f"Leave out `[{part}]`."
            shape, at = shape.item, child(at, part)
            continue
        known = _known(shape)
        if known is None:
            shape = shape.item if shape.kind == "map" else None
            if shape is None:
                return f"`{at}` has no keys.", f"Set `{at}` itself."
            at = child(at, part)
            continue
        if part not in known and not part.startswith("x-"):
            if shape.kind == "list":
                return f"`{at}` is a list.", f"Name the item: `{at}[0].{part}`."
            meant = nearest(part, known)
            hint = f"Did you mean `{child(at, meant)}`?" if meant else f"Known keys: {', '.join(known)}."
            return f"There is no key `{part}` {'under `' + at + '`' if at else 'at the root'}.", hint
        shape, at = known.get(part), child(at, part)
    return None


def _known(shape: Shape) -> dict[str, Shape] | None:
    """Key → shape for shapes with known keys; None for others."""
    if shape.kind == "section" and shape.model is not None:
        return _shapes(keys_of(shape.model), shape.model)
    if shape.kind == "tagged":
        found = {key.name: key.shape for key in common_keys(shape.kinds).values()}
        for kind in shape.kinds:
            bare = parameter_keys(kind)[kind.MAIN].shape if kind.BARE and kind.MAIN else None
            found[kind.KIND] = bare or Shape("free")
        return found
    return {} if shape.kind == "list" else None


def _shapes(keys: Mapping[str, KeyShape], model: type[Section]) -> dict[str, Shape]:
    found = {key.name: key.shape for key in keys.values()}
    if model.__name__ == "Environment":
        found = {key.name: key.shape for key in keys_of(Contract).values()} | found
    return found


def _placed(node: Node, parts: list[str | int], value: Node, spot: Spot) -> Node | str:
    """The tree with a value put at a path; a sentence when the path does not fit what is there."""
    first, *rest = parts
    if isinstance(first, int):
        if not isinstance(node, Items) or first >= len(node.items):
            count = len(node.items) if isinstance(node, Items) else 0
            return f"There is no item [{first}]: the list has {count}."
        inner = _placed(node.items[first], rest, value, spot) if rest else value
        if isinstance(inner, str):
            return inner
        return Items((*node.items[:first], inner, *node.items[first + 1 :]), node.spot)
    entries = dict(node.entries) if isinstance(node, Branch) else {}
    if not rest:
        if isinstance(value, Leaf) and value.value is None:
            entries.pop(first, None)
        else:
            entries[first] = Entry(value, spot)
        return Branch(entries, node.spot)
    under = (
        entries[first].value if first in entries else Items((), spot) if isinstance(rest[0], int) else Branch({}, spot)
    )
    inner = _placed(under, rest, value, spot)
    if isinstance(inner, str):
        return inner
    entries[first] = Entry(inner, entries[first].spot if first in entries else spot)
    return Branch(entries, node.spot)
