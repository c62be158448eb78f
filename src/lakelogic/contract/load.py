"""Read a contract: YAML to one frozen document that knows where every value was written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lakelogic.contract import codes
from lakelogic.contract.base import Section
from lakelogic.contract.check import check as check_tree
from lakelogic.contract.check import describe, in_order, nearest
from lakelogic.contract.document import Contract
from lakelogic.contract.inherit import with_environment, with_overrides, with_server
from lakelogic.contract.references import with_references
from lakelogic.contract.shape import Shape, common_keys, keys_of, parameter_keys
from lakelogic.contract.substitute import fill
from lakelogic.contract.tree import Branch, Entry, Items, Leaf, Node, Spot, child, parse, plain, planted, walk
from lakelogic.errors import Diagnostic, LoadError, UsageError, Where

Overrides = Mapping[str, object] | Sequence[str]
Written = str | os.PathLike[str] | Mapping[str, Any] | Contract

_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A contract, and where each of its values was written.

    `origins` holds the place of every key by its path (`quality.row_rules[0].sql`); `tree` is the resolved
    document before it became models; `env` is the environment that was chosen.
    """

    contract: Contract
    origins: Mapping[str, Where] = field(default_factory=dict)
    tree: Branch = field(default_factory=Branch)
    file: str | None = None
    env: str | None = None

    def where(self, path: str) -> Where:
        """The place of a path; of the nearest key above it when the path itself was not written."""
        at = path
        while at:
            if found := self.origins.get(at):
                return Where(found.file, found.line, found.column, path)
            at = at[: max(at.rfind("."), at.rfind("["), 0)]
        return Where(self.file, path=path)


def load(
    written: Written,
    *,
    env: str | None = None,
    overrides: Overrides | None = None,
    placeholders: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Read a contract from a path, YAML text, a dict or a Contract; raises LoadError with every problem.

    `env` (or `LAKELOGIC_ENV`) chooses an environment; `overrides` are `key.path=value` texts or a map of
    paths to values; `placeholders` fill `{name}` in paths; `environ` stands for the process environment
    (hand in an empty map to keep it out of contracts that strangers wrote).
    """
    loaded, problems = examine(written, env=env, overrides=overrides, placeholders=placeholders, environ=environ)
    if problems or loaded is None:
        raise LoadError(in_order(problems))
    return loaded


def examine(
    written: Written,
    *,
    env: str | None = None,
    overrides: Overrides | None = None,
    placeholders: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[Loaded | None, list[Diagnostic]]:
    """As `load`, but hands back what could be read together with what is wrong, so that later checks can go on."""
    environ = os.environ if environ is None else environ
    if isinstance(written, Contract):
        if env or overrides:
            raise UsageError(
                "An environment or overrides cannot be applied to a Contract object.",
                hint="Hand in the path, the YAML text or the dict that it was made of.",
            )
        return Loaded(written), []
    # A chosen environment is a demand; the variable is a default for contracts that have environments.
    tree, file, problems = _read(written)
    if tree is None:
        return None, problems
    if env is None and (default := environ.get("LAKELOGIC_ENV")) and "environments" in tree.entries:
        env = default
    problems += check_tree(tree)
    resolved, found = resolve(tree, file, env=env, overrides=overrides, placeholders=placeholders, environ=environ)
    problems += found
    try:
        contract = _modelled(resolved)
    except LoadError as error:
        return None, problems or list(error.diagnostics)
    contract._stem = Path(file).stem if file else None

    def beside(path: Path) -> Contract | None:
        other, name, _ = _read(path)
        if other is None:
            return None
        try:
            found = _modelled(
                resolve(other, name, env=None, overrides=None, placeholders=placeholders, environ=environ)[0]
            )
        except LoadError:
            return None
        found._stem = path.stem
        return found

    contract = with_references(contract, file, beside)
    origins = {path: spot.at(path) for path, spot, _ in walk(resolved) if path}
    return Loaded(contract, origins, resolved, file, env), problems


def resolve(
    tree: Branch,
    file: str | None,
    *,
    env: str | None,
    overrides: Overrides | None,
    placeholders: Mapping[str, str] | None,
    environ: Mapping[str, str],
) -> tuple[Branch, list[Diagnostic]]:
    """Lay environment, server and overrides into a tree, and fill placeholders; the problems that this makes."""
    result, problems = with_environment(tree, env, file)
    if overrides:
        result, found = with_overrides(result, overrides)
        problems += found
    result = with_server(result)
    if env is not None or overrides or "server" in tree.entries:
        problems += check_tree(result)
    values = {**_names(result), **({"env": env} if env else {}), **(placeholders or {})}
    filler = _Filler(values, environ)
    filled = filler.section(result, Contract, "")
    return filled, problems + filler.problems


def _names(tree: Branch) -> dict[str, str]:
    """What a contract says about itself, for placeholders: `{layer}`, `{system}`, `{entity}`, `{dataset}`, …"""
    try:
        contract = _modelled(tree)
    except LoadError:
        return {}  # the contract has problems of its own, which are reported
    known = {
        "layer": contract.layer,
        "system": contract.system,
        "domain": contract.domain,
        "entity": contract.info.entity,
        "dataset": contract.dataset or contract.info.dataset,
    }
    return {name: value for name, value in known.items() if value}


def _modelled(tree: Branch) -> Contract:
    data = plain(tree)
    try:
        return Contract.model_validate(data)
    except ValidationError as error:
        # The checker knows more than the models; what it lets through and they refuse is told in our words.
        problems = []
        for item in error.errors(include_url=False, include_context=False):
            path = ""
            for part in item["loc"]:
                path = child(path, part)
            spot = _nearest_spot(tree, item["loc"])
            message = f"`{path}` has a value that is not accepted here."
            problems.append(Diagnostic(codes.INVALID, message, spot.at(path), "See `lakelogic schema`."))
        raise LoadError(problems) from error


def _nearest_spot(tree: Node, loc: tuple[str | int, ...]) -> Spot:
    spot, node = tree.spot, tree
    for part in loc:
        if isinstance(node, Branch) and part in node.entries:
            entry = node.entries[str(part)]
            spot, node = entry.spot, entry.value
        elif isinstance(node, Items) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
            spot = node.spot
    return spot


def _with_text_versions(tree: Branch) -> Branch:
    """`version: 1.10` as text: everybody writes it as a number, and it must not become 1.1."""
    entries = dict(tree.entries)
    for name in ("version", "info"):
        entry = entries.get(name)
        if (
            entry
            and isinstance(entry.value, Leaf)
            and name == "version"
            and isinstance(entry.value.value, (int, float))
        ):
            entries[name] = Entry(Leaf(entry.value.text, entry.value.spot, entry.value.text), entry.spot)
        elif entry and isinstance(entry.value, Branch):
            entries[name] = Entry(_with_text_versions(entry.value), entry.spot)
    return Branch(entries, tree.spot)


def _read(written: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[Branch | None, str | None, list[Diagnostic]]:
    if isinstance(written, Mapping):
        node: Node | None = planted(written)
        file, problems = None, list[Diagnostic]()
        if not written:
            hint = "A contract with `source.path` and `materialization` runs."
            return None, None, [Diagnostic(codes.EMPTY, "There is nothing in this document.", Where(), hint)]
    elif isinstance(written, str) and _is_text(written):
        file = None
        node, problems = parse(written, None)
    else:
        file = os.fspath(written)
        text, problems = _text(Path(file))
        node = None
        if text is not None:
            node, problems = parse(text, file)
    if node is None:
        return None, file, problems
    if not isinstance(node, Branch):
        hint = "A contract is a map: `source:`, `model:`, `quality:`, … each with its own keys."
        if isinstance(node, Leaf) and file is None:
            hint = "Give a path to a contract, or its YAML text. " + hint
        message = f"A contract must be a map, not {describe(node)}."
        return None, file, [*problems, Diagnostic(codes.NOT_A_MAP, message, node.spot.at(""), hint)]
    return _with_text_versions(node), file, problems


def _is_text(written: str) -> bool:
    """YAML text rather than a path: it has several lines, or reads as `key: value` and no such file exists."""
    if "\n" in written or not written.strip():
        return True
    if written.lower().endswith(_SUFFIXES):
        return False
    return (": " in written or written.rstrip().endswith(":")) and not Path(written).exists()


def _text(path: Path) -> tuple[str | None, list[Diagnostic]]:
    where = Where(str(path))
    if path.is_dir():
        inside = sorted(file.name for file in path.iterdir() if file.suffix in _SUFFIXES)
        hint = f"Name a file in it, such as `{path / inside[0]}`." if inside else "Name a contract file."
        return None, [Diagnostic(codes.DIRECTORY, f"`{path}` is a folder.", where, hint)]
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        hint = "Check the path; `lakelogic init` writes a first contract."
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        if near := nearest(path.name, siblings, 0.7):
            hint = f"Did you mean `{path.parent / near}`?"
        return None, [Diagnostic(codes.MISSING_FILE, f"There is no file `{path}`.", where, hint)]
    except OSError as error:
        why = error.strerror or type(error).__name__
        hint = "Check the file's permissions."
        return None, [Diagnostic(codes.UNREADABLE, f"`{path}` cannot be read: {why}.", where, hint)]
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        message = f"`{path}` is not UTF-8 text."
        return None, [Diagnostic(codes.UNREADABLE, message, Where(str(path), line, 1), "Save it as UTF-8.")]


class _Filler:
    """Walks a checked tree along the models and fills what may be filled."""

    def __init__(self, values: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self.values = values
        self.environ = environ
        self.problems: list[Diagnostic] = []

    def section(self, node: Branch, model: type[Section], path: str) -> Branch:
        keys = keys_of(model)
        entries = {
            name: Entry(self.value(entry.value, keys[name].shape, child(path, name)), entry.spot)
            if name in keys and name != "environments"
            else entry
            for name, entry in node.entries.items()
        }
        return Branch(entries, node.spot)

    def value(self, node: Node, shape: Shape, path: str) -> Node:
        if isinstance(node, Leaf):
            return self.leaf(node, shape, path)
        if isinstance(node, Items):
            if shape.item is None:
                return node
            items = tuple(self.value(item, shape.item, child(path, i)) for i, item in enumerate(node.items))
            return Items(items, node.spot)
        if shape.kind == "section" and shape.model is not None:
            return self.section(node, shape.model, path)
        if shape.kind == "map" and shape.item is not None:
            entries = {
                k: Entry(self.value(e.value, shape.item, child(path, k)), e.spot) for k, e in node.entries.items()
            }
            return Branch(entries, node.spot)
        if shape.kind == "tagged":
            return self.tagged(node, shape, path)
        return node

    def tagged(self, node: Branch, shape: Shape, path: str) -> Branch:
        common = common_keys(shape.kinds)
        kinds = {kind.KIND: kind for kind in shape.kinds}
        entries: dict[str, Entry] = {}
        for name, entry in node.entries.items():
            filled = entry.value
            if name in common:
                filled = self.value(entry.value, common[name].shape, child(path, name))
            elif name in kinds and isinstance(entry.value, Branch):
                known = parameter_keys(kinds[name])
                filled = Branch(
                    {
                        key: Entry(self.value(inner.value, known[key].shape, child(child(path, name), key)), inner.spot)
                        if key in known
                        else inner
                        for key, inner in entry.value.entries.items()
                    },
                    entry.value.spot,
                )
            entries[name] = Entry(filled, entry.spot)
        return Branch(entries, node.spot)

    def leaf(self, node: Leaf, shape: Shape, path: str) -> Leaf:
        if shape.kind != "text" or not isinstance(node.value, str):
            return node
        filling = fill(node.value, shape.treatment, self.values, self.environ)
        for name in filling.missing_variables:
            meant = nearest(name, self.environ, 0.8)
            hint = f"Set it: `export {name}=…`" + (f", or did you mean `{meant}`?" if meant else ".")
            message = f"The environment variable `{name}` is not set."
            self.problems.append(Diagnostic(codes.UNRESOLVED_VARIABLE, message, node.spot.at(path), hint))
        for name in filling.missing_placeholders:
            meant = nearest(name, self.values)
            known = ", ".join(f"`{{{value}}}`" for value in sorted(self.values)) or "none here"
            hint = f"Did you mean `{{{meant}}}`?" if meant else f"Known placeholders: {known}."
            message = f"Nothing fills the placeholder `{{{name}}}`."
            self.problems.append(Diagnostic(codes.UNRESOLVED_PLACEHOLDER, message, node.spot.at(path), hint))
        if filling.text == node.value:
            return node
        return Leaf(filling.text, node.spot, filling.text)
