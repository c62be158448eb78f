"""Lay one document over another: how maps, lists and values merge; environments, the server and overrides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lakelogic.contract import codes
from lakelogic.contract.base import Section
from lakelogic.contract.describe.shape import KeyShape, ValueShape, common_keys, keys_of, parameter_keys
from lakelogic.contract.document import Contract, ContractLayer
from lakelogic.contract.governance import Quarantine
from lakelogic.contract.reading.check import nearest
from lakelogic.contract.reading.tree import Branch, Entry, Items, Leaf, Node, Spot, child, parse, planted
from lakelogic.contract.service_levels import ServiceLevels
from lakelogic.contract.source import Link, SourceType
from lakelogic.errors import Diagnostic, Where

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_PATH = re.compile(r"[^.\[\]]+(?:\[\d+\])*(?:\.[^.\[\]]+(?:\[\d+\])*)*$")
_SOURCE_TYPES: tuple[str, ...] = SourceType.__args__  # type: ignore[attr-defined]


# Keys of one section that mean the same: a stronger layer that writes one of them takes the place of all.
_SAME: dict[type[Section], tuple[tuple[str, ...], ...]] = {
    ServiceLevels: (("freshness_hours", "freshness"),),
    Quarantine: (("target", "table", "location"),),
    Link: (("path", "table"), ("format", "type")),
}
# The same across sections of a contract, as paths of two parts at most.
_TWINS = (
    (("quality", "max_quarantine_ratio"), ("quarantine", "max_ratio")),
    (("primary_key",), ("materialization", "primary_key")),
    (("dataset",), ("info", "dataset")),
    (("version",), ("info", "version")),
    (("tier",), ("layer",), ("target_layer",), ("info", "target_layer")),
)

CONTRACT = ValueShape("section", model=Contract)


def merged(weak: Node, strong: Node, shape: ValueShape | None = None, *, added_last: bool = False) -> Node:
    """The stronger layer over the weaker: maps deepen, lists of named items merge by name, the rest is replaced.

    Named items stand in the order of the weaker layer, what the stronger adds after them; with `added_last`,
    in the order of the stronger, and what only the weaker has after them.
    """
    if isinstance(weak, Branch) and isinstance(strong, Branch):
        entries = dict(_without_rivals(weak, strong, shape).entries)
        for name, entry in strong.entries.items():
            under = entries.get(name)
            if under is None:
                entries[name] = entry
                continue
            inner = inner_shape(shape, name)
            entries[name] = Entry(merged(under.value, entry.value, inner, added_last=added_last), entry.spot)
        return Branch(entries, strong.spot if added_last else weak.spot)
    if isinstance(weak, Items) and isinstance(strong, Items) and shape is not None and shape.by_name:
        return _by_name(weak, strong, shape, added_last)
    return strong


def over(weak: Branch, strong: Branch) -> Branch:
    """A contract over what it inherits; its own fields, rules and links keep their order and come first."""
    result = merged(weak, strong, CONTRACT, added_last=True)
    assert isinstance(result, Branch)
    return result


def _without_rivals(weak: Branch, strong: Branch, shape: ValueShape | None) -> Branch:
    """The weaker layer without keys that the stronger writes under another word."""
    if shape is None or shape.model is None:
        return weak
    gone = {
        name
        for group in _SAME.get(shape.model, ())
        if any(word in strong.entries for word in group)
        for name in group
        if name in weak.entries and name not in strong.entries
    }
    if gone:
        weak = Branch({name: entry for name, entry in weak.entries.items() if name not in gone}, weak.spot)
    if shape.model is Contract:
        for twins in _TWINS:
            if any(_has(strong, path) for path in twins):
                for path in twins:
                    if not _has(strong, path):
                        weak = _without(weak, path)
    return weak


def _has(tree: Branch, path: tuple[str, ...]) -> bool:
    node: Node | None = tree
    for part in path:
        node = node.get(part) if isinstance(node, Branch) else None
    return node is not None


def _without(tree: Branch, path: tuple[str, ...]) -> Branch:
    if not _has(tree, path):
        return tree
    entries = dict(tree.entries)
    if len(path) == 1:
        del entries[path[0]]
    else:
        inner = entries[path[0]]
        assert isinstance(inner.value, Branch)
        entries[path[0]] = Entry(_without(inner.value, path[1:]), inner.spot)
    return Branch(entries, tree.spot)


def inner_shape(shape: ValueShape | None, name: str) -> ValueShape | None:
    """The shape of a key below a shape."""
    if shape is None:
        return None
    if shape.kind == "section" and shape.model is not None:
        key = keys_of(shape.model).get(name)
        return key.shape if key else None
    return shape.item if shape.kind == "map" else None


def _by_name(weak: Items, strong: Items, shape: ValueShape, added_last: bool) -> Items:
    under = {name: item for item in weak.items if (name := name_of(item)) is not None}
    over_ = {name: item for item in strong.items if (name := name_of(item)) is not None}

    def both(name: str) -> Node:
        # A rule of another kind replaces the old one: two kinds in one item would be an error.
        is_section = shape.item is not None and shape.item.kind == "section"
        return merged(under[name], over_[name], shape.item, added_last=added_last) if is_section else over_[name]

    first, second, names = (strong, weak, under) if added_last else (weak, strong, over_)
    items = [both(name) if (name := name_of(item)) is not None and name in names else item for item in first.items]
    others = over_ if added_last else under
    items += [item for item in second.items if (name := name_of(item)) is None or name not in others]
    return Items(tuple(items), strong.spot)


def name_of(item: Node) -> str | None:
    """The name of an item of a list, if it has one."""
    leaf = item.get("name") if isinstance(item, Branch) else None
    return leaf.value if isinstance(leaf, Leaf) and isinstance(leaf.value, str) else None


def with_environment(
    tree: Branch, env: str | None, file: str | None, elsewhere: Branch | None = None
) -> tuple[Branch, list[Diagnostic]]:
    """The contract in one environment; its own `environments` section stays, for `explain`.

    `elsewhere` are the environments of its system: one that only they have is nothing unknown.
    """
    if env is None:
        return tree, []
    section = tree.get("environments")
    own = dict(section.entries) if isinstance(section, Branch) else {}
    others = dict(elsewhere.entries) if elsewhere else {}
    if not own and not others:
        hint = "Leave out `--env` (and `LAKELOGIC_ENV`), or add `environments:` to the contract."
        message = f"The environment `{env}` was chosen, and the contract has no environments."
        return tree, [Diagnostic(codes.NO_ENVIRONMENTS, message, Where(file, path="environments"), hint)]
    if env not in own:
        if env in others:
            return tree, []
        every = {**own, **others}
        meant = nearest(env, every)
        listed = ", ".join(f"`{name}`" for name in every)
        hint = f"Did you mean `{meant}`? Known: {listed}." if meant else f"Known: {listed}."
        spot = tree.entries["environments"].spot if own else next(iter(others.values())).spot
        message = f"There is no environment `{env}`."
        return tree, [Diagnostic(codes.UNKNOWN_ENVIRONMENT, message, spot.at("environments"), hint)]
    chosen = own[env].value
    if not isinstance(chosen, Branch):
        return tree, []  # the wrong kind of value is reported by the checker
    result = merged(tree, overlay_of(chosen), CONTRACT)
    assert isinstance(result, Branch)
    return result, []


def overlay_of(chosen: Branch) -> Branch:
    """An environment as a part of a contract: its `path` and `format` are the source's, `shares_target` is its own."""
    own = ("path", "format", "shares_target")
    overlay = {name: entry for name, entry in chosen.entries.items() if name not in own}
    short = {name: entry for name, entry in chosen.entries.items() if name in ("path", "format")}
    if short:
        under = overlay.get("source")
        inside = dict(under.value.entries) if under and isinstance(under.value, Branch) else {}
        spot = next(iter(short.values())).spot
        overlay["source"] = Entry(Branch(short | inside, spot), under.spot if under else spot)
    return Branch(overlay, chosen.spot)


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
            parsed, errors = parse(value, spot.file) if value.strip() else (Leaf("", spot, ""), [])
            if parsed is None or errors:
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
    shape: ValueShape | None = CONTRACT
    at = ""
    for part in parts:
        if shape is None or shape.kind == "free":
            return None
        if isinstance(part, int):
            if shape.kind != "list":
                return f"`{at}` is not a list.", f"Leave out `[{part}]`."
            shape, at = shape.item, child(at, part)
            continue
        shapes = _known(shape)
        if shapes is None:
            shape = shape.item if shape.kind == "map" else None
            if shape is None:
                return f"`{at}` has no keys.", f"Set `{at}` itself."
            at = child(at, part)
            continue
        if part not in shapes and not part.startswith("x-"):
            if shape.kind == "list":
                return f"`{at}` is a list.", f"Name the item: `{at}[0].{part}`."
            meant = nearest(part, shapes)
            hint = f"Did you mean `{child(at, meant)}`?" if meant else f"Known keys: {', '.join(shapes)}."
            return f"There is no key `{part}` {'under `' + at + '`' if at else 'at the root'}.", hint
        shape, at = shapes.get(part), child(at, part)
    return None


def _known(shape: ValueShape) -> dict[str, ValueShape] | None:
    """Key → shape for shapes with known keys; None for others."""
    if shape.kind == "section" and shape.model is not None:
        return _shapes(keys_of(shape.model), shape.model)
    if shape.kind == "tagged":
        shapes = {key.name: key.shape for key in common_keys(shape.kinds).values()}
        for kind in shape.kinds:
            bare = parameter_keys(kind)[kind.MAIN].shape if kind.BARE and kind.MAIN else None
            shapes[kind.KIND] = bare or ValueShape("free")
        return shapes
    return {} if shape.kind == "list" else None


def _shapes(keys: Mapping[str, KeyShape], model: type[Section]) -> dict[str, ValueShape]:
    shapes = {key.name: key.shape for key in keys.values()}
    if issubclass(model, ContractLayer):
        shapes = {key.name: key.shape for key in keys_of(Contract).values()} | shapes
    return shapes


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
