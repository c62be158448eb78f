"""From the layers around a contract to one document: who lies over whom, and what fills the placeholders.

Weakest first: the domain, the system, the system's environment, the defaults of packs, the contract (in its own
environment), overrides, and what packs demand. What nobody writes is a default of the models.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lakelogic.contract import codes
from lakelogic.contract.base import Section
from lakelogic.contract.describe.shape import ValueShape, common_keys, keys_of, parameter_keys
from lakelogic.contract.document import Contract, told_layer
from lakelogic.contract.reading.check import check as check_tree
from lakelogic.contract.reading.check import nearest
from lakelogic.contract.reading.documents import Around, Document, Documents
from lakelogic.contract.reading.inherit import merged, over, overlay_of, with_environment, with_overrides, with_server
from lakelogic.contract.reading.packs import NO_PACKS, PackChoice, defaults_of, laid, with_packs
from lakelogic.contract.reading.substitute import fill
from lakelogic.contract.reading.tree import Branch, Entry, Items, Leaf, Node, child
from lakelogic.errors import Diagnostic, Where
from lakelogic.names import dataset_name

Overrides = Mapping[str, object] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a document is to be resolved: which environment, overrides, packs and values for placeholders."""

    env: str | None = None
    overrides: Overrides | None = None
    packs: PackChoice = NO_PACKS
    placeholders: Mapping[str, str] | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True)
class Resolved:
    """One document, the layers it was made of (weakest first, by name), its packs, and what is wrong.

    `references`: texts that hold something of this machine (a variable, a folder), and how they were written.
    """

    tree: Branch
    layers: tuple[tuple[str, Branch], ...]
    packs: tuple[Document, ...]
    problems: tuple[Diagnostic, ...]
    references: Mapping[str, str] = field(default_factory=dict)


def resolve(tree: Branch, file: str | None, asked: Resolution, around: Around, documents: Documents) -> Resolved:
    """Lay the layers into one document and fill its placeholders."""
    problems: list[Diagnostic] = []
    for document in (around.domain, around.system):
        problems += document.problems if document else ()
    environments = around.system.section("environments") if around.system else None
    own, more_problems = with_environment(tree, asked.env, file, environments)
    problems += more_problems
    merged = own
    if asked.overrides:
        merged, _ = with_overrides(own, asked.overrides)
    layer = layer_of(merged)
    under = [*_of_documents(around, layer, problems, tree), *_of_environment(environments, asked.env)]
    packs, more_problems = _packs(laid([part for _, part in under]), merged, asked.packs, around, documents)
    problems += more_problems
    under += [(f"pack {pack.text('name') or pack.file}", part) for pack in packs for part in defaults_of([pack], layer)]
    result = over(laid([part for _, part in under]), own) if under else own
    layers = [*under, ("contract", own)]
    if asked.overrides:
        result, more_problems = with_overrides(result, asked.overrides)
        problems += more_problems
    result, more_problems = with_packs(result, packs, layer)
    problems += more_problems
    result = with_server(result)
    replaced = asked.env is not None or asked.overrides or packs or "server" in tree.entries
    if replaced or not under:
        problems += check_tree(tree) if not under else _shape_only(tree)
    if replaced or under:
        problems += check_tree(result)
    values, shown, more_problems = _values(result, file, asked, around)
    filler = Filler(values, asked.environ, shown)
    filled = filler.section(result, Contract, "")
    all_problems = (*problems, *more_problems, *filler.problems)
    return Resolved(filled, tuple(layers), tuple(packs), all_problems, filler.references)


def _shape_only(tree: Branch) -> list[Diagnostic]:
    """What is wrong with a contract by itself, where a layer under it may still complete it."""
    lacking = {codes.NO_KEY, codes.ONE_NEEDED, codes.MISSING_KEY, codes.UNKNOWN_LINK}
    return [problem for problem in check_tree(tree) if problem.code not in lacking]


def layer_of(tree: Branch) -> str | None:
    """The layer that a contract's tree tells, before it is whole."""
    info, target = tree.get("info"), _text(tree.get("materialization"), "target_path")
    words = [_text(info, "target_layer"), *(_text(tree, name) for name in ("layer", "target_layer", "tier"))]
    names = [_text(tree, "dataset"), _text(info, "dataset"), _text(info, "table_name")]
    written, name = (next((word for word in candidates if word), None) for candidates in (words, names))
    return told_layer(written, target, name)


def _text(node: Node | None, name: str) -> str | None:
    leaf = node.get(name) if isinstance(node, Branch) else None
    return leaf.value if isinstance(leaf, Leaf) and isinstance(leaf.value, str) else None


_FROM_DOMAIN = ("ownership", "service_levels", "notifications", "compliance", "cost", "metadata", "extensions")
_FROM_SYSTEM = ("ownership", "service_levels", "engine", "cost", "metadata", "extensions")


def _of_documents(
    around: Around, layer: str | None, problems: list[Diagnostic], tree: Branch
) -> list[tuple[str, Branch]]:
    """What domain and system lay under a contract; a contract that names others is told so."""
    parts: list[tuple[str, Branch]] = []
    domain, system = around.domain, around.system
    if domain is not None and domain.tree is not None:
        parts.append(("domain", _part(domain.tree, _FROM_DOMAIN, {"domain": "domain"})))
    if system is not None and system.tree is not None:
        part = _part(system.tree, _FROM_SYSTEM, {"system": "system", "domain": "domain"})
        settings = system.section("materialization")
        for key in ("_all", *((layer,) if layer else ())):
            given = settings.entries.get(key) if settings else None
            if given is not None and isinstance(given.value, Branch):
                wrapped = Branch({"materialization": given}, given.spot)
                deeper = merged(part, wrapped)
                assert isinstance(deeper, Branch)
                part = deeper
        parts.append(("system", part))
        if domain is not None:
            _same(system.tree, "domain", domain, problems, "system")
    info = tree.get("info")
    if isinstance(info, Branch):
        if system is not None:
            _same(info, "system", system, problems, "contract", "info.")
        if domain is not None or system is not None:
            _same(info, "domain", domain or system, problems, "contract", "info.")
    return parts


def _part(tree: Branch, keys: Sequence[str], names: Mapping[str, str]) -> Branch:
    entries = {key: tree.entries[key] for key in keys if key in tree.entries}
    info = {to: tree.entries[key] for key, to in names.items() if key in tree.entries}
    if info:
        spot = next(iter(info.values())).spot
        entries["info"] = Entry(Branch(info, spot), spot)
    return Branch(entries, tree.spot)


def _same(
    here: Branch, key: str, document: Document | None, problems: list[Diagnostic], noun: str, prefix: str = ""
) -> None:
    text, expected = _text(here, key), document.text(key) if document else None
    if document is None or text is None or expected is None or text == expected or "{" in text:
        return
    message = f"The {noun} says that its {key} is `{text}`, and it lies in the {key} `{expected}` ({document.file})."
    hint = f"Write `{key}: {expected}` or leave it out; or move the file."
    problems.append(Diagnostic(codes.WRONG_NEIGHBOUR, message, here.entries[key].value.spot.at(prefix + key), hint))


def _of_environment(environments: Branch | None, env: str | None) -> list[tuple[str, Branch]]:
    chosen = environments.get(env) if environments is not None and env is not None else None
    if not isinstance(chosen, Branch):
        return []
    part = overlay_of(chosen)
    return [(f"environment {env}", Branch({k: e for k, e in part.entries.items() if k != "storage"}, part.spot))]


def _packs(
    under: Branch, branch: Branch, choice: PackChoice, around: Around, documents: Documents
) -> tuple[list[Document], list[Diagnostic]]:
    """The packs that the contract (or what it inherits) names, then those of the command, each once."""
    wanted: dict[str, Where] = {}
    metadata = branch.get("metadata"), under.get("metadata")
    for section in metadata:
        named = section.get("policy_pack") if isinstance(section, Branch) else None
        if named is not None:
            for item in named.items if isinstance(named, Items) else (named,):
                if isinstance(item, Leaf) and isinstance(item.value, str):
                    wanted.setdefault(item.value, item.spot.at("metadata.policy_pack"))
            break
    for name in choice.names:
        wanted.setdefault(name, Where(f"--policy-pack {name}"))
    packs = {
        document.file: document
        for document in (documents.pack(name, choice.folder, around, where) for name, where in wanted.items())
    }
    problems = [problem for pack in packs.values() for problem in pack.problems]
    return [pack for pack in packs.values() if pack.tree is not None], problems


# — what fills placeholders —

_ROOTS = {
    "landing_root": "landing",
    "bronze_root": "bronze",
    "silver_root": "silver",
    "gold_root": "gold",
    "reference_root": "reference",
    "quarantine_root": "quarantine",
    "log_root": "logs",
}
_FOLDERS = ("contract_folder", "system_folder", "domain_folder")
_STEM_VERSION = re.compile(r"_v\d+(?:\.\d+)*$", re.IGNORECASE)


def entity_of(file: str) -> str:
    """What a file's name says about its rows: `customers_v1.0.yaml` holds customers."""
    name = Path(file).name
    return _STEM_VERSION.sub("", re.sub(r"\.(?:ya?ml|json)$", "", name, flags=re.IGNORECASE))


def _values(
    tree: Branch, file: str | None, asked: Resolution, around: Around
) -> tuple[dict[str, str], dict[str, str], list[Diagnostic]]:
    """Every placeholder that is known: what the contract says of itself, folders, and the system's storage.

    Then the same without what this machine says: folders stay placeholders, and variables stay references.
    """
    info = tree.get("info")
    layer, system = layer_of(tree), _text(info, "system")
    dataset = _text(tree, "dataset") or _text(info, "dataset")
    entity = _text(info, "entity") or _text(info, "table_name") or dataset or (entity_of(file) if file else None)
    if entity and not _text(info, "entity"):
        for prefix in (layer, system):
            entity = entity.removeprefix(f"{prefix}_") if prefix else entity
    names = {
        "layer": layer,
        "system": system,
        "domain": _text(info, "domain"),
        "entity": entity,
        "dataset": dataset or (dataset_name(layer, system, entity) if entity else None),
        "env": asked.env,
        "contract_folder": str(Path(file).absolute().parent) if file else None,
        "system_folder": str(around.system.folder) if around.system else None,
        "domain_folder": str(around.domain.folder) if around.domain else None,
    }
    values = {name: value for name, value in names.items() if value} | dict(asked.placeholders or {})
    shown = values | {name: f"{{{name}}}" for name in _FOLDERS if name in values and values[name] == names.get(name)}
    storage = _storage(around.system, asked.env)
    if not storage:
        return values, shown, []
    filler = Filler(values, asked.environ, shown)
    roots: dict[str, str] = {}
    shown_roots: dict[str, str] = {}

    def settle(name: str, entry: Entry) -> None:
        if isinstance(entry.value, Leaf) and isinstance(entry.value.value, str):
            filled = filler.leaf(entry.value, ValueShape("text", treatment="place"), f"storage.{name}")
            roots[name] = _tidy(str(filled.value))
            shown_roots[name] = filler.references.get(str(filled.value), roots[name])

    if "storage_root" in storage:
        settle("storage_root", storage["storage_root"])
        for name, folder in _ROOTS.items():
            if "storage_root" in roots:
                roots[name] = f"{roots['storage_root'].rstrip('/')}/{folder}"
                shown_roots[name] = f"{shown_roots['storage_root'].rstrip('/')}/{folder}"
        filler.values = values | {"storage_root": roots.get("storage_root", "")}
        filler.shown = shown | {"storage_root": shown_roots.get("storage_root", "")}
    for name, entry in storage.items():
        if name != "storage_root":
            settle(name, entry)
    return roots | values, shown_roots | shown, filler.problems


def _storage(system: Document | None, env: str | None) -> dict[str, Entry]:
    if system is None:
        return {}
    entries = dict(section.entries) if (section := system.section("storage")) else {}
    environments = system.section("environments")
    chosen = environments.get(env) if environments is not None and env is not None else None
    elsewhere = chosen.get("storage") if isinstance(chosen, Branch) else None
    return entries | (dict(elsewhere.entries) if isinstance(elsewhere, Branch) else {})


def _tidy(place: str) -> str:
    """A local path without `..`; an address as it is."""
    return place if "://" in place or ".." not in place else os.path.normpath(place)


class Filler:
    """Walks a checked tree along the models and fills what may be filled; remembers how that was written.

    `shown` are the values without anything of this machine.
    """

    def __init__(self, values: Mapping[str, str], environ: Mapping[str, str], shown: Mapping[str, str]) -> None:
        self.values = values
        self.environ = environ
        self.shown = shown
        self.references: dict[str, str] = {}
        self.problems: list[Diagnostic] = []

    def section(self, node: Branch, model: type[Section], path: str) -> Branch:
        """A map with known keys, filled."""
        keys = keys_of(model)
        entries = {
            name: Entry(self.value(entry.value, keys[name].shape, child(path, name)), entry.spot)
            if name in keys and name != "environments"
            else entry
            for name, entry in node.entries.items()
        }
        return Branch(entries, node.spot)

    def value(self, node: Node, shape: ValueShape, path: str) -> Node:
        """Any value, filled as its shape allows."""
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

    def tagged(self, node: Branch, shape: ValueShape, path: str) -> Branch:
        """A step or a rule, filled."""
        common = common_keys(shape.kinds)
        kinds = {kind.KIND: kind for kind in shape.kinds}
        entries: dict[str, Entry] = {}
        for name, entry in node.entries.items():
            filled = entry.value
            if name in common:
                filled = self.value(entry.value, common[name].shape, child(path, name))
            elif name in kinds and isinstance(entry.value, Branch):
                shapes = parameter_keys(kinds[name])
                filled = Branch(
                    {
                        key: Entry(
                            self.value(inner.value, shapes[key].shape, child(child(path, name), key)), inner.spot
                        )
                        if key in shapes
                        else inner
                        for key, inner in entry.value.entries.items()
                    },
                    entry.value.spot,
                )
            entries[name] = Entry(filled, entry.spot)
        return Branch(entries, node.spot)

    def leaf(self, node: Leaf, shape: ValueShape, path: str) -> Leaf:
        """A single value, filled; names that nothing fills are problems at its line."""
        if shape.kind != "text" or not isinstance(node.value, str):
            return node
        filling = fill(node.value, shape.treatment, self.values, self.environ)
        for name in filling.missing_variables:
            meant = nearest(name, self.environ, 0.8)
            hint = f"Set it: `export {name}=…`" + (f", or did you mean `{meant}`?" if meant else ".")
            message = f"The environment variable `{name}` is not set."
            self.problems.append(Diagnostic(codes.UNRESOLVED_VARIABLE, message, node.spot.at(path), hint))
        for name in filling.secret_variables:
            message = f"The environment variable `{name}` holds a secret, and this text is stored and shown."
            hint = "Secrets stand only where a connection or a credential is asked for, as `env:NAME`."
            self.problems.append(Diagnostic(codes.LITERAL_SECRET, message, node.spot.at(path), hint))
        for name in filling.missing_placeholders:
            meant = nearest(name, self.values)
            listed = ", ".join(f"`{{{value}}}`" for value in sorted(self.values)) or "none here"
            hint = f"Did you mean `{{{meant}}}`?" if meant else f"Known placeholders: {listed}."
            message = f"Nothing fills the placeholder `{{{name}}}`."
            self.problems.append(Diagnostic(codes.UNRESOLVED_PLACEHOLDER, message, node.spot.at(path), hint))
        if filling.text == node.value:
            return node
        shown = fill(node.value, shape.treatment, self.shown, {}).text
        if filling.text and shown != filling.text:
            self.references[filling.text] = shown
        return Leaf(filling.text, node.spot, filling.text)
