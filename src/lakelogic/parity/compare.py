"""Where two outcomes part: the first row, column and rule that differ, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lakelogic import names
from lakelogic.parity.outcome import EngineResult, Row


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What engines disagree about. `values` holds what each engine says, as text."""

    what: str  # types, good, bad, rows, lost, copies, refused, failed
    values: dict[str, str]
    column: str | None = None
    row: dict[str, str] | None = None

    def __str__(self) -> str:
        where = f" column `{self.column}`" if self.column else ""
        lines = [f"{_WORDS[self.what]}{where}:"]
        lines += [f"  {engine:<8} {text}" for engine, text in self.values.items()]
        if self.row:
            shown = ", ".join(f"{name}={text}" for name, text in self.row.items())
            lines.append(f"  in the row {shown}")
        return "\n".join(lines)


_WORDS = {
    "types": "Different types in",
    "good": "Different values of a good row in",
    "bad": "Different values of a bad row in",
    "rows": "Rows that only one engine has",
    "lost": "Different numbers of rows lost by steps",
    "copies": "Different numbers of rows made by steps",
    "refused": "Not refused alike",
    "failed": "An engine failed",
}


def difference(outcomes: Sequence[EngineResult], key: str | None = None) -> Disagreement | None:
    """The first thing that is not the same everywhere; None when all is. `key` helps to lay rows side by side."""
    first = outcomes[0]
    if any(outcome.failed for outcome in outcomes):
        return Disagreement("failed", {o.engine: o.failed or "runs" for o in outcomes})
    for other in outcomes[1:]:
        if other.result != first.result:
            return _between(first, other, key)
    return None


def _between(one: EngineResult, two: EngineResult, key: str | None) -> Disagreement:
    if one.refused != two.refused:
        return Disagreement("refused", {o.engine: o.refused or "not refused" for o in (one, two)})
    if one.types != two.types:
        left, right = dict(one.types), dict(two.types)
        for name in [*left, *right]:
            if left.get(name) != right.get(name):
                texts = {o.engine: t.get(name, "absent") for o, t in ((one, left), (two, right))}
                return Disagreement("types", texts, name)
    for side in ("bad", "good"):
        difference = _in_rows(side, one, two, key)
        if difference is not None:
            return difference
    what = "lost" if one.lost != two.lost else "copies"
    return Disagreement(what, {o.engine: str(dict(sorted(getattr(o, what).items()))) for o in (one, two)})


def _in_rows(side: str, one: EngineResult, two: EngineResult, key: str | None) -> Disagreement | None:
    left, right = Counter[Row](getattr(one, side)), Counter[Row](getattr(two, side))
    only_left, only_right = sorted((left - right).elements()), sorted((right - left).elements())
    if not only_left and not only_right:
        return None
    if not only_left or not only_right:
        row = (only_left or only_right)[0]
        texts = {one.engine: f"{len(only_left)} more {side}", two.engine: f"{len(only_right)} more {side}"}
        return Disagreement("rows", texts, row=_shown(row))
    mine, theirs = _side_by_side(only_left, only_right, key)
    for (name, text), (_, other) in zip(mine, theirs, strict=True):
        if text != other and not name.startswith("~bad"):
            return Disagreement(side, {one.engine: text, two.engine: other}, name, _shown(mine))
    raise AssertionError("two rows that differ have a column that differs")


def _side_by_side(left: Sequence[Row], right: Sequence[Row], key: str | None) -> tuple[Row, Row]:
    """The pair of rows that is most alike, the same key if there is one."""
    best: tuple[int, Row, Row] | None = None
    for mine in left[:20]:
        for theirs in right[:20]:
            unlike = sum(1 for a, b in zip(mine, theirs, strict=True) if a != b)
            if key is not None and dict(mine).get(key) != dict(theirs).get(key):
                unlike += 1000
            if best is None or unlike < best[0]:
                best = (unlike, mine, theirs)
    assert best is not None
    return best[1], best[2]


def _shown(row: Row) -> dict[str, str]:
    return {name: text for name, text in row if not name.startswith(("~", "_lakelogic_")) or name == names.ERRORS}
