"""Datasets that are called otherwise by now, and documents that are gone: what was hidden because of them stays so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakelogic.contract.reading.load import Loaded
from lakelogic.driver.registry import Member
from lakelogic.ledger.visibility import KnownColumns

_Columns = Mapping[str, Collection[str]]  # of datasets, by name


@dataclass(frozen=True, slots=True)
class Heirs:
    """Which datasets may be one that no contract makes any more, under another name and in another place.

    That is the one in the same file, and any that was never seen before.
    """

    records: Mapping[str, KnownColumns] = field(default_factory=dict)
    by_file: Mapping[str, str] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    new: frozenset[str] = frozenset()

    @classmethod
    def among(cls, members: Iterable[Member], records: Mapping[str, KnownColumns], absent: Collection[str]) -> Heirs:
        """The heirs in an estate; of contracts that are `absent` it is known what they make."""
        by_file = {str(member.path.resolve()): member.dataset for member in members}
        names = frozenset(by_file.values())
        gone = records.keys() - names - set(absent)
        return cls(records, by_file, frozenset(gone), names - records.keys())

    def of(self, dataset: str | None) -> frozenset[str]:
        """Who may be a dataset by now; nobody where a contract makes it."""
        if dataset is None or dataset not in self.gone:
            return frozenset()
        return self.new | ({self._in_its_file(dataset)} - {None})  # type: ignore[operator]

    def columns(self, dataset: str, column: str, types: _Columns) -> Iterator[tuple[str, str]]:
        """What a column of a dataset that nobody makes any more may be by now: the column of that name.

        Where the same file makes a table without that name, any column may be it that the table did not have before.
        """
        before = {name for *_, name, _ in self._facts(dataset)["edges"]}
        for heir in sorted(self.of(dataset)):
            there = types.get(heir, ())
            if column in there:
                yield heir, column
            elif heir == self._in_its_file(dataset):
                yield from ((heir, name) for name in there if name not in before)

    def _in_its_file(self, dataset: str) -> str | None:
        return self.by_file.get(self.records[dataset].file)

    def _facts(self, dataset: str) -> Any:
        return self.records[dataset].facts


def documents_of(loaded: Loaded) -> list[str]:
    """The documents that a contract inherits from, written as they are remembered."""
    around = (loaded.around.domain, loaded.around.system, *loaded.packs)
    return sorted({str(Path(document.file).resolve()) for document in around if document is not None})


def lost_masks(record: KnownColumns, masks: Collection[str], cleared: Collection[str]) -> set[str]:
    """The columns that a contract masked by a document that is gone now, and says nothing else of by itself."""
    facts: Any = record.facts
    if all(Path(document).exists() for document in facts.get("documents", ())):
        return set()
    return set(facts["masks"]) - set(masks) - set(cleared)
