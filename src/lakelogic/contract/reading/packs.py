"""Policy packs: what they lay under a contract, and what they add to it and tighten over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lakelogic.contract import codes
from lakelogic.contract.describe.shape import ValueShape
from lakelogic.contract.durations import duration
from lakelogic.contract.reading.documents import Document
from lakelogic.contract.reading.inherit import CONTRACT, inner_shape, merged, name_of
from lakelogic.contract.reading.tree import Branch, Entry, Items, Leaf, Node, child, plain
from lakelogic.errors import Diagnostic


@dataclass(frozen=True, slots=True)
class PackChoice:
    """The packs that a command names, and the folder they lie in; a contract may name more in its metadata."""

    names: tuple[str, ...] = ()
    folder: str | None = None


NO_PACKS = PackChoice()


def defaults_of(packs: Sequence[Document], layer: str | None) -> list[Branch]:
    """What the packs lay under a contract, weakest first: for all layers, then for its own."""
    branches: list[Branch] = []
    for pack in packs:
        for key in ("defaults", f"{layer}_defaults"):
            if section := pack.section(key):
                branches.append(section)
    return branches


def with_packs(tree: Branch, packs: Sequence[Document], layer: str | None) -> tuple[Branch, list[Diagnostic]]:
    """The contract with what its packs demand and add: rules after its own, steps before or after them."""
    if not packs:
        return tree, []
    tightener = _Tightener()
    result = tree
    for pack in packs:
        tightener.file = pack.file
        if demanded := _allowed(pack, tightener):
            result = tightener.branch(*_in_same_words(result, demanded), CONTRACT, "")
        if quality := pack.section("quality"):
            wrapped = Branch({"quality": Entry(quality, quality.spot)}, quality.spot)
            result = tightener.branch(*_in_same_words(result, wrapped), CONTRACT, "")
        result = _with_steps(result, pack, layer)
    return result, tightener.problems


def _allowed(pack: Document, tightener: _Tightener) -> Branch | None:
    """What the pack requires, without keys that would take steps out of a contract."""
    demanded = pack.section("require")
    if demanded is None:
        return None
    entries = dict(demanded.entries)
    if "transformations" in entries:
        tightener.say(
            codes.PACK_REMOVES,
            "`require` cannot hold steps: they would take the place of a contract's own.",
            entries.pop("transformations"),
            "require.transformations",
            "Write them under the pack's `transformations`, which are added.",
        )
    return Branch(entries, demanded.spot)


def _in_same_words(own: Branch, demanded: Branch) -> tuple[Branch, Branch]:
    """Contract and demand, so that what both say under two words is compared: the ratio, the freshness."""
    ratio, other = ("quality", "max_quarantine_ratio"), ("quarantine", "max_ratio")
    for here, there in ((ratio, other), (other, ratio)):
        demand = _entry(demanded, here)
        if demand is not None and _entry(own, there) is not None:
            demanded = _placed(_placed(demanded, here, None), there, demand)
    hours, age = ("service_levels", "freshness_hours"), ("service_levels", "freshness")
    for here, there in ((hours, age), (age, hours)):
        demand, written = _entry(demanded, here), _entry(own, there)
        if demand is not None and written is not None:
            wanted, has = _hours(demand.value), _hours(written.value)
            if wanted is not None and has is not None and has <= wanted:
                demanded = _placed(demanded, here, None)
            else:
                own = _placed(own, there, None)
    return own, demanded


def _entry(tree: Branch, path: tuple[str, str]) -> Entry | None:
    section = tree.get(path[0])
    return section.entries.get(path[1]) if isinstance(section, Branch) else None


def _placed(tree: Branch, path: tuple[str, str], entry: Entry | None) -> Branch:
    """The tree with an entry put into a section of the root, or taken out of it."""
    outer = tree.entries.get(path[0])
    section = outer.value if outer is not None else None
    entries = {
        name: kept for name, kept in (section.entries.items() if isinstance(section, Branch) else ()) if name != path[1]
    }
    if entry is not None:
        entries[path[1]] = entry
    spot = outer.spot if outer is not None else entry.spot if entry is not None else tree.spot
    return Branch(dict(tree.entries) | {path[0]: Entry(Branch(entries, spot), spot)}, tree.spot)


def _hours(node: Node) -> float | None:
    """A freshness in hours, however it is written."""
    if (number := _number(node)) is not None:
        return number
    leaf = node.get("threshold") if isinstance(node, Branch) else node
    try:
        return duration(str(leaf.value)).total_seconds() / 3600 if isinstance(leaf, Leaf) else None
    except ValueError:
        return None


def _with_steps(tree: Branch, pack: Document, layer: str | None) -> Branch:
    added: list[Node] = []
    spot = None
    for key in ("transformations", f"{layer}_transformations"):
        entry = pack.tree.entries.get(key) if pack.tree else None
        if entry is not None and isinstance(entry.value, Items):
            added += entry.value.items
            spot = spot or entry.spot
    if not added or spot is None:
        return tree
    own = tree.get("transformations")
    steps = list(own.items) if isinstance(own, Items) else []
    both = [*added, *steps] if pack.text("transformations_mode") == "prepend" else [*steps, *added]
    place = tree.entries["transformations"].spot if own is not None else spot
    return Branch(dict(tree.entries) | {"transformations": Entry(Items(tuple(both), place), place)}, tree.spot)


def _number(node: Node) -> float | None:
    value = node.value if isinstance(node, Leaf) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _smaller(own: Node, demanded: Node) -> bool | None:
    left, right = _number(own), _number(demanded)
    return None if left is None or right is None else left <= right


def _larger(own: Node, demanded: Node) -> bool | None:
    left, right = _number(own), _number(demanded)
    return None if left is None or right is None else left >= right


def _word(*strictest: object) -> Callable[[Node, Node], bool | None]:
    """Stricter is the word that stands first."""

    def compare(own: Node, demanded: Node) -> bool | None:
        if not isinstance(own, Leaf) or not isinstance(demanded, Leaf):
            return None
        if own.value not in strictest or demanded.value not in strictest:
            return None
        return strictest.index(own.value) <= strictest.index(demanded.value)

    return compare


_TRUE = _word(True, False)
# Whether a contract's own value is at least as strict as the pack's; where it is, it stands.
_STRICTER: dict[str, Callable[[Node, Node], bool | None]] = {
    "quality.enforce_required": _TRUE,
    "quality.fail_pipeline_on_dataset_error": _TRUE,
    "quality.max_quarantine_ratio": _smaller,
    "quarantine.fail_on_quarantine": _TRUE,
    "quarantine.max_ratio": _smaller,
    "service_levels.freshness_hours": _smaller,
    "service_levels.completeness": _larger,
    "service_levels.availability": _larger,
    "service_levels.row_count.min_rows": _larger,
    "service_levels.row_count.max_rows": _smaller,
    "service_levels.on_breach": _word("fail", "record"),
    "schema_policy.unknown_fields": _word("fail", "quarantine", "drop", "allow"),
    "model.fields[].required": _TRUE,
    "model.fields[].pii": _TRUE,
    "model.fields[].phi": _TRUE,
    "model.fields[].sensitive": _TRUE,
    "model.fields[].unique": _TRUE,
    "model.fields[].min": _larger,
    "model.fields[].max": _smaller,
    "model.fields[].min_length": _larger,
    "model.fields[].max_length": _smaller,
}
# What holds where a contract says nothing: a pack that demands less would take it away.
_STANDS = frozenset({"quality.enforce_required", "quality.fail_pipeline_on_dataset_error"})
# Rules of fields that have no stricter of two: a pack that differs would take the contract's own away.
_OWN_RULES = frozenset({"model.fields[].pattern", "model.fields[].accepted_values", "model.fields[].foreign_key"})
_RULES = frozenset({"quality.row_rules", "quality.dataset_rules", "model.fields[].rules"})


@dataclass(slots=True)
class _Tightener:
    """Lays demands over a contract: rules are added, the stricter of two bounds stands, nothing is removed."""

    file: str = ""
    problems: list[Diagnostic] = field(default_factory=list)

    def say(self, code: str, message: str, entry: Entry, path: str, hint: str) -> None:
        self.problems.append(Diagnostic(code, message, entry.spot.at(path), hint))

    def branch(self, own: Branch, demanded: Branch, shape: ValueShape | None, path: str) -> Branch:
        entries = dict(own.entries)
        for name, entry in demanded.entries.items():
            at = child(path, name)
            if isinstance(entry.value, Leaf) and entry.value.value is None:
                hint = "Remove the key, or give it a value."
                message = f"`{at}` has no value: a pack cannot take anything out of a contract."
                self.say(codes.PACK_REMOVES, message, entry, at, hint)
                continue
            under = entries.get(name)
            if under is None and isinstance(entry.value, Branch):
                under = Entry(Branch({}, entry.spot), entry.spot)
            if under is None:
                if at not in _STANDS or plain(entry.value) is not False:
                    entries[name] = entry
                continue
            value = self.value(under.value, entry, inner_shape(shape, name), at)
            entries[name] = under if value is under.value else Entry(value, entry.spot)
        return Branch(entries, own.spot)

    def value(self, own: Node, demanded: Entry, shape: ValueShape | None, path: str) -> Node:
        wanted = demanded.value
        if isinstance(own, Branch) and isinstance(wanted, Branch):
            return self.branch(own, wanted, shape, path)
        if isinstance(own, Items) and isinstance(wanted, Items):
            if path in _RULES:
                return self.rules(own, wanted, path)
            if shape is not None and shape.by_name:
                return self.named(own, wanted, shape, path)
        if path in _OWN_RULES and plain(own) != plain(wanted):
            line = f" (line {own.spot.line})" if own.spot.line else ""
            message = f"The pack demands another `{path.rsplit('.', 1)[-1]}` than the contract has{line}."
            hint = "A pack cannot take a contract's own rule away: let them say the same, or add a rule to the pack."
            self.say(codes.PACK_CONFLICT, message, demanded, path, hint)
            return own
        stricter = _STRICTER.get(path)
        if stricter is not None and stricter(own, wanted):
            return own
        return own if plain(own) == plain(wanted) else wanted

    def rules(self, own: Items, wanted: Items, path: str) -> Items:
        """The contract's rules and then the pack's; a name that both use must mean the same rule."""
        by_name = {name.lower(): item for item in own.items if (name := name_of(item)) is not None}
        unnamed = [plain(item) for item in own.items]
        added: list[Node] = []
        for item in wanted.items:
            name = name_of(item)
            twin = by_name.get(name.lower()) if name is not None else None
            if plain(item) in unnamed:
                continue
            if twin is not None:
                line = f" in line {twin.spot.line}" if twin.spot.line else ""
                message = f"The contract has a rule `{name}` of its own{line}, which says something else."
                hint = f"Give the pack's rule another name: a pack cannot take the contract's `{name}` away."
                self.say(codes.PACK_CONFLICT, message, Entry(item, item.spot), path, hint)
                continue
            added.append(item)
        return Items((*own.items, *added), own.spot) if added else own

    def named(self, own: Items, wanted: Items, shape: ValueShape, path: str) -> Items:
        """Fields, links, contacts: those of the same name are tightened, others are added."""
        demands = {name: item for item in wanted.items if (name := name_of(item)) is not None}
        items: list[Node] = []
        for item in own.items:
            demand = demands.pop(name_of(item) or "", None)
            if isinstance(item, Branch) and isinstance(demand, Branch):
                item = self.branch(item, demand, shape.item, f"{path}[]")
            items.append(item)
        items += [item for item in wanted.items if (name := name_of(item)) is None or name in demands]
        return Items(tuple(items), own.spot)


def laid(layers: Sequence[Branch]) -> Branch:
    """Layers, weakest first, as one."""
    result = Branch()
    for layer in layers:
        over = merged(result, layer, CONTRACT)
        assert isinstance(over, Branch)
        result = over
    return result
