"""Patterns that make an engine try endlessly many ways: found by their tree, before any text is matched.

Java tries one way after the other. Where a repeated part can take the same text in two ways, each repetition doubles
what is to be tried: `(a+)+b` over thirty letters takes longer than anybody waits. DuckDB and Polars look at all ways at
once, but a contract means the same everywhere, so such a pattern is refused everywhere.

The characters of a pattern are the states of a machine; two different ways from a state back to itself over the same
text are two paths side by side through the machine (Weideman et al., 2016).
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from lakelogic.sql import pattern_tree
from lakelogic.sql.pattern_tree import CATEGORIES, LAST, Chars, Choice, Group, Node, Repeat

MOST_WAYS = 10**9  # in which parts with an end may be put together
MOST_OPEN = 4  # repeats without an end, one after the other, that could share one text
_MOST_STATES = 150  # in one loop; a longer one is not looked at
_LONG = 1000  # letters, where a repeat has no end
# Characters that tell sets apart, beside the ends of their ranges.
_SAMPLES = (*range(128), 0xE9, 0xDF, 0x416, 0x4E00, 0x661, 0x2003, 0x20AC, 0x1F600)


def trouble(root: Node) -> str | None:
    """Why a pattern is refused, in words for its author; None for one that ends in time."""
    if _is_ambiguous(root, counted=False) or (_is_ambiguous(root, counted=True) and _ways(root) > MOST_WAYS):
        return (
            "a repeated part can take the same text in more than one way, which can take longer than anybody waits; "
            "let each repetition begin or end with a character of its own, as in `(?:\\d+,)*\\d+`"
        )
    if (repeats := _open_in_a_row(root)) > MOST_OPEN:
        return (
            f"{repeats} repeats without an end could share the same text, which can take longer than anybody waits; "
            f"{MOST_OPEN} are the most: write `[^x]*x` in place of `.*x`"
        )
    return None


def _is_ambiguous(root: Node, *, counted: bool) -> bool:
    machine = _Machine(counted)
    machine.add(root)
    return machine.is_ambiguous()


def _ways(node: Node) -> float:
    """In how many ways the parts of a pattern could be put together, at most."""
    match node:
        case Choice(options):
            return sum(_ways(option) for option in options)
        case Group(_, inside):
            return _ways(inside)
        case Repeat(part, least, most):
            end = _LONG if most is None else most
            inner = _ways(part)
            return math.inf if inner > 1 and end * math.log10(inner) > 300 else (end - least + 1) * inner**end
        case pattern_tree.Sequence(parts):
            return math.prod(_ways(part) for part in parts)
    return 1


def _open_in_a_row(node: Node) -> int:
    """The longest row of repeats without an end that could share one text."""
    best = current = 0
    last: Chars | None = None
    between: list[Chars] = []
    for part in _flat(node):
        if isinstance(part, Repeat) and part.most is None and isinstance(part.part, Chars):
            joined = last is not None and all(
                _overlap(first, second) for first in (last, part.part) for second in (*between, last, part.part)
            )
            current = current + 1 if joined else 1
            best, last, between = max(best, current), part.part, []
        elif isinstance(part, Chars):
            between.append(part)
        elif isinstance(part, Repeat) and isinstance(part.part, Chars) and part.least:
            between.append(part.part)
        elif isinstance(part, Choice):
            best = max(best, *(_open_in_a_row(option) for option in part.options))
    return best


def _flat(node: Node) -> Iterable[Node]:
    match node:
        case pattern_tree.Sequence(parts):
            for part in parts:
                yield from _flat(part)
        case Group(_, inside):
            yield from _flat(inside)
        case _:
            yield node


@dataclass(slots=True)
class _Ends:
    """Where a part can begin and end, with how many ways lead there, and whether it can be empty."""

    first: Counter[int]
    last: Counter[int]
    is_empty: bool


@dataclass(slots=True)
class _Machine:
    """One state per character of a pattern, and how many ways lead from each to the next.

    With `counted`, what is repeated some times goes round like what has no end; without, it stands there once.
    """

    counted: bool
    chars: list[Chars] = field(default_factory=list)
    follow: list[Counter[int]] = field(default_factory=list)

    def add(self, node: Node) -> _Ends:
        """The states of a part."""
        match node:
            case Chars():
                self.chars.append(node)
                self.follow.append(Counter())
                here = len(self.chars) - 1
                return _Ends(Counter({here: 1}), Counter({here: 1}), is_empty=False)
            case pattern_tree.Sequence(parts):
                whole = _Ends(Counter(), Counter(), is_empty=True)
                for part in parts:
                    whole = self._then(whole, self.add(part))
                return whole
            case Choice(options):
                option_ends = [self.add(option) for option in options]
                first, last = Counter[int](), Counter[int]()
                for end in option_ends:
                    first, last = first + end.first, last + end.last
                return _Ends(first, last, any(end.is_empty for end in option_ends))
            case Group(_, inside):
                return self.add(inside)
            case Repeat(part, least, most):
                ends = self.add(part)
                if most is None or (self.counted and most > 1):
                    self._link(ends.last, ends.first)
                return _Ends(ends.first, ends.last, ends.is_empty or least == 0)
        return _Ends(Counter(), Counter(), is_empty=True)

    def _then(self, left: _Ends, right: _Ends) -> _Ends:
        self._link(left.last, right.first)
        first = left.first + right.first if left.is_empty else left.first
        last = right.last + left.last if right.is_empty else right.last
        return _Ends(first, last, left.is_empty and right.is_empty)

    def _link(self, ends: Mapping[int, int], starts: Mapping[int, int]) -> None:
        for end, ways in ends.items():
            for start, more in starts.items():
                self.follow[end][start] += min(ways * more, 2)

    def is_ambiguous(self) -> bool:
        """Whether some state comes back to itself in two ways over the same text."""
        for loop in _loops([list(after) for after in self.follow]):
            inside = set(loop)
            if any(ways > 1 and after in inside for state in loop for after, ways in self.follow[state].items()):
                return True
            if len(loop) <= _MOST_STATES and self._has_two_ways(loop, inside):
                return True
        return False

    def _has_two_ways(self, loop: Sequence[int], inside: set[int]) -> bool:
        """Pairs of states, reached over the same text: one of unlike states that lies on a way between like ones."""
        number = {(state, state): at for at, state in enumerate(loop)}
        pairs = list(number)
        edges: list[list[int]] = []
        for first, second in pairs:  # grows while it is read
            targets = []
            for after in self.follow[first]:
                for other in self.follow[second]:
                    if after in inside and other in inside and _overlap(self.chars[after], self.chars[other]):
                        pair = (after, other)
                        if pair not in number:
                            number[pair] = len(pairs)
                            pairs.append(pair)
                        targets.append(number[pair])
            edges.append(targets)
        for together in _loops(edges):
            kinds = {pairs[at][0] == pairs[at][1] for at in together}
            if len(kinds) == 2:
                return True
        return False


def _loops(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The states that reach one another (Tarjan), without those that do not reach themselves."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    loops: list[list[int]] = []
    for root in range(len(edges)):
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            state, at = work.pop()
            if at == 0:
                index[state] = low[state] = len(index)
                stack.append(state)
                on_stack.add(state)
            for place in range(at, len(edges[state])):
                after = edges[state][place]
                if after not in index:
                    work += [(state, place + 1), (after, 0)]
                    break
                if after in on_stack:
                    low[state] = min(low[state], index[after])
            else:
                if low[state] == index[state]:
                    together = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        together.append(member)
                        if member == state:
                            break
                    if len(together) > 1 or state in edges[state]:
                        loops.append(together)
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[state])
    return loops


@lru_cache(maxsize=4096)
def _overlap(first: Chars, second: Chars) -> bool:
    """Whether a character is in both sets; of Unicode properties a few characters are asked."""
    ends = {
        code
        for chars in (first, second)
        for low, high in chars.ranges
        for code in (low - 1, low, high, high + 1)
        if 0 <= code <= LAST
    }
    return any(_holds(first, code) and _holds(second, code) for code in (*_SAMPLES, *sorted(ends)))


def _holds(chars: Chars, code: int) -> bool:
    inside = any(low <= code <= high for low, high in chars.ranges) or any(
        _has(code, name) != negated for negated, name in chars.properties
    )
    return inside != chars.negated


def _has(code: int, name: str) -> bool:
    if name in CATEGORIES:
        return unicodedata.category(chr(code)).startswith(name)
    return chr(code).isalpha() if name == "Latin" else code > 0x7F and chr(code).isalpha()
