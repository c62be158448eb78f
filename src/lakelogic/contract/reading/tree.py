"""YAML as a tree that remembers where every key and value was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from lakelogic.contract import codes
from lakelogic.errors import Diagnostic, Where

MOST_DEEP = 100
MOST_VALUES = 200_000  # a document that unfolds to more is refused: nested aliases can explode


@dataclass(frozen=True, slots=True)
class Spot:
    """Where something was written: file (or `--set`), and 1-based line and column."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def at(self, path: str) -> Where:
        """The spot as a place in a document."""
        return Where(self.file, self.line, self.column, path)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value; `text` is how it was written."""

    value: str | int | float | bool | None
    spot: Spot = Spot()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Node, ...] = ()
    spot: Spot = Spot()


@dataclass(frozen=True, slots=True)
class Entry:
    """A value and the spot of its key."""

    value: Node
    spot: Spot = Spot()


@dataclass(frozen=True, slots=True)
class Branch:
    """A map; keys are text, as written."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    spot: Spot = Spot()

    def get(self, key: str) -> Node | None:
        """The value of a key, or None."""
        entry = self.entries.get(key)
        return entry.value if entry else None


Node: TypeAlias = Leaf | Items | Branch


def plain(node: Node) -> Any:
    """The node as plain data, without spots."""
    if isinstance(node, Leaf):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {key: plain(entry.value) for key, entry in node.entries.items()}


# Sections that have a key `on`, which other readers of YAML take for the boolean of YAML 1.1.
_HAVE_ON = frozenset({"deduplicate", "lookup", "join", "notifications"})


def planted(data: Any, spot: Spot = Spot(), under: str = "") -> Node:  # noqa: B008 — a frozen value
    """Plain data as a tree; every node gets the same spot. `under` is the key that the data stands under."""
    if isinstance(data, Mapping):
        named = {"on" if key is True and under in _HAVE_ON else str(key): value for key, value in data.items()}
        return Branch({key: Entry(planted(value, spot, key), spot) for key, value in named.items()}, spot)
    if isinstance(data, (list, tuple)):
        return Items(tuple(planted(item, spot, under) for item in data), spot)
    if data is None or isinstance(data, (str, int, float, bool)):
        return Leaf(data, spot, "" if data is None else str(data))
    return Leaf(str(data), spot, str(data))


def child(path: str, key: str | int) -> str:
    """The path of a key or an index below a path."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def walk(node: Node, path: str = "", key: Spot | None = None) -> Iterator[tuple[str, Spot, Node]]:
    """Every node with its path and the spot of its key (a list item's own spot), from the root down."""
    yield path, key or node.spot, node
    if isinstance(node, Branch):
        for name, entry in node.entries.items():
            yield from walk(entry.value, child(path, name), entry.spot)
    elif isinstance(node, Items):
        for index, item in enumerate(node.items):
            yield from walk(item, child(path, index))


# YAML 1.2: only true and false are booleans; dates, `yes`, `no`, `on`, `off` and `12:30` stay text. A number
# with a leading zero stays text too: it is a code, and reading it as a number would lose the zero.
class _Resolver(yaml.resolver.BaseResolver):
    pass


_INT = re.compile(r"^(?:[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+)$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
for _tag, _pattern, _first in (
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("int", _INT, "-+0123456789"),
    ("float", _FLOAT, "-+0123456789."),
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("merge", re.compile(r"^<<$"), "<"),
):
    _Resolver.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _pattern, list(_first))

_TAG = "tag:yaml.org,2002:"
_MOST_DIGITS = 1_000  # Python itself refuses to write or read numbers that are a few times as long
_PLACEHOLDER_FIRST = re.compile(r":\s+\{\w+\}\S")


class _Composer(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _Resolver):
    """PyYAML up to nodes with marks; values are ours."""

    def __init__(self, stream: str) -> None:
        yaml.reader.Reader.__init__(self, stream)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _Resolver.__init__(self)


if yaml.__with_libyaml__:

    class _FastComposer(yaml.cyaml.CParser, _Resolver):  # type: ignore[misc,name-defined]
        """The same nodes and marks by libyaml, which takes a tenth of the time; its complaints say less."""

        def __init__(self, stream: str) -> None:
            yaml.cyaml.CParser.__init__(self, stream)  # type: ignore[attr-defined]
            _Resolver.__init__(self)


def _composed(text: str) -> yaml.Node | None:
    """The document's root; what libyaml refuses is read again by the reader that says why."""
    if yaml.__with_libyaml__ and "\t" not in text:  # libyaml takes tabs for spaces in places
        try:
            fast: yaml.Node | None = _FastComposer(text).get_single_node()
            return fast
        except (yaml.YAMLError, UnicodeError):
            pass
    node: yaml.Node | None = _Composer(text).get_single_node()
    return node


# Text that may be nested without end: many brackets, or much before the first word of a line.
_MAYBE_DEEP = re.compile(r"^[ \t]{128}|(?:[-?:][ \t]+){32}", re.MULTILINE)


def _too_deep(text: str, file: str | None) -> Diagnostic | None:
    """What is nested too deeply: building it would take all of the stack, so its outline is read first."""
    if text.count("[") + text.count("{") <= MOST_DEEP and not _MAYBE_DEEP.search(text):
        return None
    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEEP:
            where = Where(file, event.start_mark.line + 1, event.start_mark.column + 1)
            return Diagnostic(
                codes.SYNTAX, f"Values are nested more than {MOST_DEEP} levels deep.", where, "Write it flatter."
            )
    return None


def parse(text: str, file: str | None) -> tuple[Node | None, list[Diagnostic]]:
    """Read YAML text; None when nothing can be read at all, with every problem found."""
    try:
        if (deep := _too_deep(text, file)) is not None:
            return None, [deep]
        root = _composed(text)
    except yaml.YAMLError as error:
        return None, [_syntax(error, text, file)]
    if root is None:
        return None, [_empty(file)]
    builder = _TreeBuilder(file)
    node = builder.build(root, "")
    if isinstance(node, Leaf) and node.value is None:
        return None, [_empty(file)]
    return node, builder.problems


def _empty(file: str | None) -> Diagnostic:
    return Diagnostic(
        codes.EMPTY,
        "There is nothing in this document.",
        Where(file, 1, 1),
        "`lakelogic init` writes a first contract.",
    )


class _TreeBuilder:
    """Turns PyYAML's nodes into ours: merges, duplicate keys and cycles are settled here."""

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.problems: list[Diagnostic] = []
        self._open: set[int] = set()
        self._count = 0

    def spot(self, mark: Any) -> Spot:
        return Spot(self.file, mark.line + 1, mark.column + 1)

    def problem(self, code: str, message: str, spot: Spot, path: str, hint: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, spot.at(path), hint))

    def build(self, node: yaml.Node, path: str) -> Node:
        spot = self.spot(node.start_mark)
        self._count += 1
        if self._count > MOST_VALUES or id(node) in self._open:
            if self._count <= MOST_VALUES or self._count == MOST_VALUES + 1:
                why = "contains itself" if id(node) in self._open else f"unfolds to more than {MOST_VALUES:,} values"
                self.problem(codes.BAD_ANCHOR, f"The anchored value {why}.", spot, path, "Write the value out instead.")
            return Leaf(None, spot)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, spot, path)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return Items(tuple(self.build(item, child(path, i)) for i, item in enumerate(node.value)), spot)
            return Branch(self.entries(node.value, path), spot)
        finally:
            self._open.discard(id(node))

    def scalar(self, node: yaml.ScalarNode, spot: Spot, path: str) -> Leaf:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "null":
                return Leaf(None, spot, text)
            case "bool":
                return Leaf(text.lower() == "true", spot, text)
            case "int" if _INT.match(text) and len(text) > _MOST_DIGITS:
                self.problem(
                    codes.SYNTAX, "A number of that many digits is not read.", spot, path, "Put it in quotes."
                )  # fmt: skip
                return Leaf(text, spot, text)
            case "int" if _INT.match(text):
                return Leaf(int(text, 0), spot, text)
            case "float" if _FLOAT.match(text):
                return Leaf(float(text.replace(".inf", "inf").replace(".nan", "nan")), spot, text)
            case "str" | "merge":
                return Leaf(text, spot, text)
        self.problem(
            codes.SYNTAX,
            f"The tag `{node.tag.replace(_TAG, '!!')}` is not used in contracts.",
            spot,
            path,
            "Remove it.",
        )
        return Leaf(text, spot, text)

    def entries(self, pairs: list[tuple[yaml.Node, yaml.Node]], path: str) -> dict[str, Entry]:
        own: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, value in pairs:
            spot = self.spot(key.start_mark)
            if not isinstance(key, yaml.ScalarNode):
                hint = "Keys are text. A `{placeholder}` at the start of a value must stand in quotes."
                self.problem(codes.SYNTAX, "A key must be text, not a list or a map.", spot, path, hint)
                continue
            if key.tag == _TAG + "merge":
                merged = self.merged(value, path, spot) | merged
                continue
            name = str(key.value)
            if name in own:
                first = own[name].spot.line
                self.problem(
                    codes.DUPLICATE_KEY,
                    f"`{name}` stands here twice; the first is in line {first}.",
                    spot,
                    child(path, name),
                    "Keep one of them, or put their contents together.",
                )
                continue
            own[name] = Entry(self.build(value, child(path, name)), spot)
        return {name: entry for name, entry in merged.items() if name not in own} | own

    def merged(self, value: yaml.Node, path: str, spot: Spot) -> dict[str, Entry]:
        sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
        entries: dict[str, Entry] = {}
        for source in reversed(sources):
            built = self.build(source, path)
            if isinstance(built, Branch):
                entries |= built.entries
            else:
                self.problem(
                    codes.BAD_ANCHOR, "`<<` takes a map (or a list of maps).", spot, path, "Write `<<: *name`."
                )
        return entries


def _syntax(error: yaml.YAMLError, text: str, file: str | None) -> Diagnostic:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    context = str(getattr(error, "context", None) or "")
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    if "quoted scalar" in context or "flow" in context:
        mark = getattr(error, "context_mark", None) or mark  # where it was opened says more than where it was missed
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position] if isinstance(error.position, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        code = f"U+{error.character:04X}" if isinstance(error.character, int) else str(error.character)
        return Diagnostic(
            codes.SYNTAX, f"The character {code} is not allowed in YAML.", Where(file, line, column), "Remove it."
        )
    if "'\\t'" in problem or "\t" in problem:
        return Diagnostic(
            codes.TAB, "A tab stands where YAML needs spaces.", Where(file, line, column), "Indent with two spaces."
        )
    if _PLACEHOLDER_FIRST.search((text.splitlines() or [""])[min(line, len(text.splitlines())) - 1]):
        message = "A value begins with a `{placeholder}`, which YAML reads as a map."
        return Diagnostic(codes.SYNTAX, message, Where(file, line, column), "Put the whole value in quotes.")
    if (opened := _runaway_quote(text, line)) is not None:
        where = Where(file, opened.line + 1, opened.column + 1)
        return Diagnostic(
            codes.SYNTAX, "A quote is opened here, and the next one closes it lines later.", where,
            "Close the quote on the same line.",
        )  # fmt: skip
    message, hint = _in_our_words(context, problem)
    return Diagnostic(codes.SYNTAX, message, Where(file, line, column), hint)


def _runaway_quote(text: str, line: int) -> Any:
    """Where a quote was forgotten whose text went on to the quote of a later line, in which YAML then stumbles."""
    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            is_quoted = isinstance(token, yaml.ScalarToken) and token.style in ("'", '"')
            if is_quoted and token.start_mark.line < token.end_mark.line and token.end_mark.line + 1 == line:
                return token.start_mark
    except yaml.YAMLError:
        return None
    return None


def _in_our_words(context: str, problem: str) -> tuple[str, str]:
    """YAML's complaint as a sentence and a hint."""
    if "mapping values are not allowed" in problem:
        return (
            "A `:` stands where no key can be.",
            "Put text that holds `: ` in quotes, or check the indentation of this line and the one before.",
        )
    if "expected a single document" in context or "expected a single document" in problem:
        return "There is more than one document in this file.", "Keep one contract per file: remove the `---` line."
    if "could not find expected ':'" in problem:
        return "A key without a `:`, or a line that is indented too little.", "Write `key: value`."
    if "quoted scalar" in context:
        return "A quote is opened and never closed, or a text goes on after it.", "Close the quote on the same line."
    if "flow sequence" in context:
        return "A list in `[…]` is not closed, or a comma is missing.", "Write `[a, b]`."
    if "flow mapping" in context:
        return "A map in `{…}` is not closed, or a comma is missing.", "Write `{a: 1, b: 2}`."
    if "undefined alias" in problem:
        return (
            f"An alias without its anchor: {problem.rsplit('alias', maxsplit=1)[-1].strip()}.",
            "Define it first: `&name`.",
        )
    if "cannot start any token" in problem:
        return "A value begins with a character that YAML keeps for itself.", "Put the value in quotes."
    if "block mapping" in context or "block collection" in context or "block end" in problem:
        return "The indentation does not fit the lines around it.", "Give keys of one section the same indentation."
    return f"This is not valid YAML ({problem}).", "Check the line, and the one before it."
