"""`--select` and `--exclude`: names with `*`, `tag:`, `domain:`, `owner:`, `layer:`, `state:`, and a `+`.

`+gold_sales` is the dataset with everything it is made of, `gold_sales+` with everything that is made of it. Several
words mean all of theirs together. A word that means nothing is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from lakelogic.contract.governance import LAYERS
from lakelogic.contract.reading.check import nearest
from lakelogic.driver.graph import Graph
from lakelogic.driver.registry import Member
from lakelogic.errors import UsageError
from lakelogic.ledger.records import STATUSES

NEVER: Final = "never"  # the state of a dataset that has not run
States = Callable[[Sequence[str]], Mapping[str, str]]  # datasets → the status of their newest runs


@dataclass(frozen=True, slots=True)
class Word:
    """One selector: what is meant, and whether what it is made of and what is made of it come along."""

    written: str
    method: str | None
    value: str
    upstream: bool = False
    downstream: bool = False


def read(written: str) -> Word:
    """A selector as it was written; an unknown method is refused."""
    text = written.strip()
    core = text.removeprefix("+").removesuffix("+")
    method, colon, value = core.partition(":")
    is_method = bool(colon) and method.isidentifier() and len(method) > 1
    if not core or (is_method and not value):
        raise UsageError(f"`{written}` selects nothing.", hint="Write a name, gold_*, tag:daily or +gold_sales.")
    if is_method and method not in METHODS:
        near = nearest(method, METHODS)
        hint = f"Did you mean `{near}:`?" if near else f"There are {', '.join(f'{name}:' for name in METHODS)}."
        raise UsageError(f"`{written}` asks by `{method}:`, which is no way to select.", hint=hint)
    return Word(
        written, method if is_method else None, value if is_method else core, text.startswith("+"), text.endswith("+")
    )


def selected(members: Sequence[Member], graph: Graph, words: Iterable[str], states: States) -> frozenset[str]:
    """The datasets that any of the words means, with what hangs on them where a `+` says so."""
    datasets: set[str] = set()
    for written in words:
        word = read(written)
        meant = _meant(members, word, states)
        if not meant:
            raise _nothing(word, members)
        datasets |= meant
        for dataset in meant:
            datasets |= graph.ancestors(dataset) if word.upstream else frozenset()
            datasets |= graph.descendants(dataset) if word.downstream else frozenset()
    return frozenset(datasets)


def _meant(members: Sequence[Member], word: Word, states: States) -> set[str]:
    if word.method == "state":
        if word.value not in (*STATUSES, NEVER):
            raise UsageError(
                f"`{word.written}`: there is no state `{word.value}`.",
                hint=f"There are {', '.join((*STATUSES, NEVER))}.",
            )
        statuses = states([member.dataset for member in members])
        return {member.dataset for member in members if statuses.get(member.dataset, NEVER) == word.value}
    words_of = METHODS[word.method] if word.method else _names
    wanted = LAYERS.get(word.value, word.value) if word.method == "layer" else word.value
    return {
        member.dataset
        for member in members
        if any(fnmatchcase(candidate, wanted) for candidate in words_of(member) if candidate)
    }


def _names(member: Member) -> tuple[str | None, ...]:
    return (member.dataset, member.entity, str(member.path), os.path.relpath(member.path, Path.cwd()), member.file)


def _tags(member: Member) -> tuple[str | None, ...]:
    contract = member.loaded.contract
    return (*contract.tags, *(contract.info.tags or ()))


METHODS: Final[Mapping[str, Callable[[Member], tuple[str | None, ...]]]] = {
    "tag": _tags,
    "domain": lambda member: (member.domain,),
    "system": lambda member: (member.system,),
    "owner": lambda member: (member.owner,),
    "layer": lambda member: (member.layer,),
    "entity": lambda member: (member.entity,),
    "state": lambda _: (),
}


def _nothing(word: Word, members: Sequence[Member]) -> UsageError:
    words_of = METHODS[word.method] if word.method else lambda member: (member.dataset, member.entity)
    candidates = sorted({word for member in members for word in words_of(member) if word})
    near = nearest(word.value, candidates)
    listed = ", ".join(candidates[:12]) + (", …" if len(candidates) > 12 else "")
    hint = f"Did you mean `{near}`?" if near else f"Known: {listed}." if listed else "No contract here says any."
    if word.method == "state":
        hint = "Nothing to do: the newest run of no dataset has that state."
    return UsageError(f"`{word.written}` selects nothing.", hint=hint)
