"""Read a contract: YAML to one frozen document that knows where every value was written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lakelogic.contract import codes
from lakelogic.contract.document import Contract
from lakelogic.contract.environments import concerns_rows
from lakelogic.contract.reading.check import describe, in_order
from lakelogic.contract.reading.documents import NOTHING_AROUND, SUFFIXES, Around, Document, Documents, text_of
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.contract.reading.resolve import Overrides, Resolution, entity_of, resolve
from lakelogic.contract.reading.tree import Branch, Entry, Items, Leaf, Node, Spot, child, parse, plain, planted, walk
from lakelogic.contract.references import neighbours, with_references
from lakelogic.errors import Diagnostic, LoadError, UsageError, Where

Written = str | os.PathLike[str] | Mapping[str, Any] | Contract

PACK, PACK_DIR = "LAKELOGIC_POLICY_PACK", "LAKELOGIC_POLICY_PACK_DIR"


class Origins(Mapping[str, Where]):
    """The place of every key by its path (`quality.row_rules[0].sql`), worked out when it is first asked for."""

    __slots__ = ("_found", "_tree")

    def __init__(self, tree: Branch) -> None:
        self._tree = tree
        self._found: dict[str, Where] | None = None

    def _places(self) -> dict[str, Where]:
        if self._found is None:
            self._found = {path: spot.at(path) for path, spot, _ in walk(self._tree) if path}
        return self._found

    def __getitem__(self, path: str) -> Where:
        return self._places()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places())

    def __len__(self) -> int:
        return len(self._places())


@dataclass(frozen=True, slots=True)
class Loaded:
    """A contract, and where each of its values was written.

    `origins` holds the place of every key by its path (`quality.row_rules[0].sql`); `tree` is the resolved
    document before it became models; `env` is the environment that was chosen. `around` are the documents it
    inherits from, `packs` its policy packs, `layers` what was laid over one another, weakest first; `references`
    are texts that hold something of this machine (a variable, a folder), and how they were written. `environment` is
    the chosen one where it changes anything that concerns rows: only then are its rows other rows.
    """

    contract: Contract
    origins: Mapping[str, Where] = field(default_factory=dict)
    tree: Branch = field(default_factory=Branch)
    file: str | None = None
    env: str | None = None
    around: Around = NOTHING_AROUND
    packs: tuple[Document, ...] = ()
    layers: tuple[tuple[str, Branch], ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)
    environment: str | None = None

    def as_written(self, text: Any) -> Any:
        """Something that was said about the contract, for others: with `${VAR}` where it holds what a variable says."""
        if isinstance(text, str):
            for filled in sorted(self.references, key=len, reverse=True):
                if filled in text:
                    written = self.references[filled].replace("\\", r"\\")
                    text = re.sub(rf"(?<![\w.]){re.escape(filled)}(?!\w)", written, text)
            return text
        if isinstance(text, Mapping):
            return {key: self.as_written(value) for key, value in text.items()}
        if isinstance(text, list | tuple):
            return [self.as_written(item) for item in text]
        return text

    def where(self, path: str) -> Where:
        """The place of a path; of the nearest key above it when the path itself was not written."""
        node: Node = self.tree
        spot: Spot | None = None
        for part in _PART.findall(path):
            entered = _step(node, part)
            if entered is None:
                break
            node, spot = entered
        return spot.at(path) if spot is not None else Where(self.file, path=path)


_PART = re.compile(r"[^.\[\]]+")


def _step(node: Node, part: str) -> tuple[Node, Spot] | None:
    """The value of a key and where the key stands, or an item of a list and where it stands."""
    if isinstance(node, Branch):
        entry = node.entries.get(part)
        return (entry.value, entry.spot) if entry else None
    if isinstance(node, Items) and part.isdigit() and int(part) < len(node.items):
        item = node.items[int(part)]
        return item, item.spot
    return None


def load(
    written: Written,
    *,
    env: str | None = None,
    overrides: Overrides | None = None,
    placeholders: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    packs: PackChoice | None = None,
    documents: Documents | None = None,
) -> Loaded:
    """Read a contract from a path, YAML text, a dict or a Contract; raises LoadError with every problem.

    A file inherits from the documents around it (`_system.yaml`, `_domain.yaml`). `env` (or `LAKELOGIC_ENV`)
    chooses an environment; `overrides` are `key.path=value` texts or a map of paths to values; `placeholders`
    fill `{name}` in paths; `environ` stands for the process environment (hand in an empty map to keep it out of
    contracts that strangers wrote). `packs` (or `LAKELOGIC_POLICY_PACK`) adds policy packs; `documents` remembers
    what was read, for whoever loads many.
    """
    loaded, problems = examine(
        written,
        env=env,
        overrides=overrides,
        placeholders=placeholders,
        environ=environ,
        packs=packs,
        documents=documents,
    )
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
    packs: PackChoice | None = None,
    documents: Documents | None = None,
    env_is_needed: bool = True,
) -> tuple[Loaded | None, list[Diagnostic]]:
    """As `load`, but hands back what could be read together with what is wrong, so that later checks can go on.

    Unless `env_is_needed`, a contract without the chosen environment stands as it is written.
    """
    environ = os.environ if environ is None else environ
    given = placeholders
    documents = documents or Documents()
    packs = _with_variables(packs or PackChoice(), environ)
    if isinstance(written, Contract):
        if env or overrides or packs.names:
            raise UsageError(
                "An environment, overrides or policy packs cannot be applied to a Contract object.",
                hint="Hand in the path, the YAML text or the dict that it was made of.",
            )
        return Loaded(written), []
    tree, file, problems = _read(written)
    if tree is None:
        return None, problems
    around = documents.around(Path(file).parent) if file else NOTHING_AROUND
    if env is None and (default := environ.get("LAKELOGIC_ENV")):
        # A chosen environment is a demand; the variable is a default for contracts that have environments.
        has_some = "environments" in tree.entries or (around.system and around.system.section("environments"))
        env = default if has_some else None
    names = _keys(tree.get("environments")) | _keys(around.system.section("environments") if around.system else None)
    chosen = env if env_is_needed or env in names else None
    if env is not None and chosen is None:
        placeholders = {"env": env, **(placeholders or {})}
    asked = Resolution(chosen, overrides, packs, placeholders, environ)
    resolved = resolve(tree, file, asked, around, documents)
    problems += resolved.problems
    try:
        contract = _modelled(resolved.tree)
    except LoadError as error:
        return None, problems or list(error.diagnostics)
    contract._stem = entity_of(file) if file else None

    what = f"contract of {env} with {','.join(packs.names)}"
    if file and not overrides:
        whole = contract
        documents.noted(what, str(Path(file).resolve()), lambda: whole)

    def beside(path: Path) -> Contract | None:
        other = Resolution(env, None, packs, placeholders, environ)
        return documents.noted(what, str(path), lambda: _beside(path, other, documents))

    def listed(folder: Path) -> list[Path]:
        return documents.noted("contracts beside", str(folder), lambda: neighbours(folder))

    contract = with_references(contract, file, beside, listed)
    origins = Origins(resolved.tree)
    inputs = (resolved.packs, resolved.layers, resolved.references)
    loaded = Loaded(contract, origins, resolved.tree, file, env, around, *inputs)
    if env is not None:
        plain_environ = {name: value for name, value in environ.items() if name != "LAKELOGIC_ENV"}
        bare, _ = examine(
            written, overrides=overrides, placeholders=given, environ=plain_environ, packs=packs, documents=documents
        )
        if bare is None or concerns_rows(bare.contract) != concerns_rows(contract):
            loaded = replace(loaded, environment=env)
    return loaded, problems


def _with_variables(packs: PackChoice, environ: Mapping[str, str]) -> PackChoice:
    """The packs of the command, or those that the environment names for every command."""
    named = tuple(name.strip() for name in environ.get(PACK, "").split(",") if name.strip())
    return PackChoice(packs.names or named, packs.folder or environ.get(PACK_DIR) or None)


def _beside(path: Path, asked: Resolution, documents: Documents) -> Contract | None:
    """A contract that lies beside another one, for its names and its target; None for a file that is none."""
    other, name, _ = _read(path)
    if other is None:
        return None
    around = documents.around(path.parent)
    environments = around.system.section("environments") if around.system else None
    if asked.env not in _keys(other.get("environments")) | _keys(environments):
        asked = Resolution(None, None, asked.packs, asked.placeholders, asked.environ)
    try:
        resolved = _modelled(resolve(other, name, asked, around, documents).tree)
    except LoadError:
        return None
    resolved._stem = entity_of(path.name)
    return resolved


def _keys(node: Node | None) -> set[str | None]:
    return set(node.entries) if isinstance(node, Branch) else set()


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
        text, problems = text_of(Path(file))
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
    if written.lower().endswith(SUFFIXES):
        return False
    return (": " in written or written.rstrip().endswith(":")) and not Path(written).exists()
