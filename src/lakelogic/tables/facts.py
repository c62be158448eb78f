"""What a commit of ours says of itself: one frozen, versioned record, and the only place that knows how it is written.

Formats keep a few texts with every commit; the text `facts` among them is this record as JSON. Tables outlive code:

- Version 1.0 is what was written before the record told its version; it has the same keys.
- A newer minor version may have keys that are not known here. They are kept in `more` and written again as they were.
- A newer major version means something else by its keys. It is refused, before anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property
from typing import Any

from lakelogic.errors import FeatureRefused
from lakelogic.plan.source.deleted import Deleted
from lakelogic.tables.base import TableFormat
from lakelogic.tables.chain import NAMED, Said
from lakelogic.tables.chain import told as read_kept

Version = tuple[int, int]
FIRST: Version = (1, 0)  # of records that do not tell their version
CURRENT: Version = (1, 1)

MaskedColumns = Mapping[str, Iterable[str]]  # `source` or a link's name → its masked columns, in small letters


@dataclass(frozen=True, slots=True)
class BatchEnvironment:
    """The environment that a batch was made in; its name is None for the contract without an environment."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Makers:
    """The environments whose rows a table holds; None among them is the contract without an environment.

    Not `is_known`: commits from before the first that tells may have brought rows of any.
    """

    environments: frozenset[str | None] = frozenset()
    is_known: bool = True

    def to_json(self) -> dict[str, Any]:
        """As a commit says it."""
        return {"of": sorted(self.environments, key=lambda name: name or ""), "known": self.is_known}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Makers:
        """As a commit said it."""
        return cls(frozenset(kept["of"]), bool(kept["known"]))


@dataclass(frozen=True, slots=True)
class SecondaryRows:
    """The rows that other places receive too: where they are staged, and the columns of the first target."""

    staged: str
    columns: tuple[tuple[str, str], ...]  # name and type, as contracts write types

    def to_json(self) -> dict[str, Any]:
        """As a commit says it."""
        return {"staged": self.staged, "columns": [list(column) for column in self.columns]}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> SecondaryRows:
        """As a commit said it."""
        return cls(kept["staged"], tuple((name, kind) for name, kind in kept["columns"]))


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """What a commit says of itself. Every field may be missing: who commits what says which (see each field)."""

    # Of the batch; commits of good and of bad rows say these.
    run_id: str | None = None  # the run; of a commit of masking anew, `remask-…`; also of rows that leave the queue
    at: datetime | None = None  # when the run began; a replay does not tell it
    counts: Mapping[str, Any] = field(default_factory=dict)  # rows by what became of them, as `Counts.as_dict`
    digests: Mapping[str, str] = field(default_factory=dict)  # what each side adds up to; a replay does not tell it
    contract_version: str | None = None
    made_by: str | None = None  # fingerprint of what makes rows of the input; a replay does not tell it
    read_by: str | None = None  # fingerprint of how the input is read; a replay does not tell it
    target: str | None = None  # where the table lay then: one that was moved finds its neighbours by it
    input: Mapping[str, Any] = field(default_factory=dict)  # the identity of what was read
    source: str | None = None  # the name that rows of a table as source carry
    replaces: bool = False  # whether the batch takes the place of rows of its sources, or of the whole table
    engine: str | None = None
    watermark: str | None = None  # the highest point that was reached
    landed: Mapping[str, Any] | None = None  # columns as they landed, so that bad rows can be made again
    masks: Mapping[str, Any] | None = None  # column → mask, format and check of its secret; also of masking anew
    environment: BatchEnvironment | None = None  # None: not told
    read_masks: MaskedColumns | None = None  # what was masked where the batch was read
    masked: tuple[str, ...] | None = None  # columns that hold masked values, whoever masked them
    replay: bool = False  # rows of the quarantine that were judged again
    brought: int | None = None  # of a replay: the number of the batch that brought its rows first
    approved: Mapping[str, Any] | None = None  # who released the batch from behind a closed gate, when and why

    # Of the table with this batch; only commits of good rows say these, if not told otherwise.
    applied: Mapping[str, int] = field(default_factory=dict)  # what was done with the rows, by effect
    rows_before: int | None = None  # how many rows the table had, where its log tells
    in_parts: bool = False  # partitions were replaced, and rows that are not counted went
    deletes: Deleted | None = None  # the column by which the table marks rows as deleted
    environments: Makers | None = None  # whose rows the table holds; commits to secondary targets say it too
    read_masks_all: MaskedColumns | None = None  # what was masked where all rows were read; of the quarantine too
    secondary: SecondaryRows | None = None  # what other places receive

    from_ledger: bool = False  # made of what a ledger knew, for a commit that is gone: whether it replaced is not known
    version: Version = CURRENT
    more: Mapping[str, Any] = field(default_factory=dict)  # what a newer minor version says

    def to_json(self) -> dict[str, Any]:
        """The record as it is kept; what is not told has no key."""
        kept: dict[str, Any] = {} if self.version == FIRST else {"version": _written(self.version)}
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None and (value or name in _TOLD_WHEN_EMPTY):
                kept[name] = _WRITE.get(name, _as_it_is)(value)
        return {**kept, **self.more}

    def to_text(self) -> str:
        """The record as commits hold it."""
        return json.dumps(self.to_json(), default=str)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> CommitFacts:
        """A record as it was kept, of whichever version; a newer major version is refused."""
        version = _version(kept.get("version"))
        values = {name: _READ.get(name, _as_it_is)(kept[name]) for name in _NAMES if kept.get(name) is not None}
        if "environment" in kept:  # the only key whose null says something
            values["environment"] = BatchEnvironment(kept["environment"])
        more = {name: value for name, value in kept.items() if name not in _NAMES and name != "version"}
        return cls(**values, version=version, more=more)

    @classmethod
    def of(cls, texts: Said | None) -> CommitFacts:
        """What a commit says of itself, from the texts that its format keeps; one of nobody's says nothing."""
        return cls.from_json(json.loads((texts or {}).get("facts", "{}")))


@dataclass(frozen=True)
class CommitRecord:
    """A commit of ours: its texts as the format keeps them, and what they say, read when it is asked for."""

    texts: Said

    @property
    def batch_id(self) -> str | None:
        """The batch that was committed; None for commits that belong to none."""
        return self.texts.get("batch_id")

    @property
    def n(self) -> int:
        """Its number among the commits of one dataset and side; 0 where it does not tell."""
        return int(self.texts.get("n") or 0)

    @property
    def fingerprint(self) -> str | None:
        """Of the contract that made it."""
        return self.texts.get("fingerprint")

    @property
    def entry(self) -> str | None:
        """The name of the entry beside the log that belongs to it."""
        return self.texts.get(NAMED)

    @cached_property
    def facts(self) -> CommitFacts:
        """What it says of itself."""
        return CommitFacts.of(self.texts)

    def plain(self) -> dict[str, str]:
        """Its texts without the name of its entry: in an entry it would name itself."""
        return {key: value for key, value in self.texts.items() if key != NAMED}


def records(tables: TableFormat, location: str, *app_ids: str, until: str | None = None) -> list[CommitRecord]:
    """Our commits under these names that the log still holds, newest first; `until` a batch is met."""
    return [CommitRecord(texts) for texts in tables.commits(location, *app_ids, until=until)]


def record_of(tables: TableFormat, location: str, app_id: str, n: int) -> CommitRecord | None:
    """Our commit (`app_id`, `n`), from the log; None where the log does not hold it (any more)."""
    texts = tables.find_commit(location, app_id, n)
    return CommitRecord(texts) if texts is not None else None


def record_kept(tables: TableFormat, location: str, app_id: str, n: int) -> CommitRecord | None:
    """The same, from the entry beside the log where the log does not hold it any more."""
    texts = (tables.find_commit(location, app_id, n) or read_kept(location, app_id, n)) if n else None
    return CommitRecord(texts) if texts is not None else None


def _as_it_is(value: Any) -> Any:
    return value


def _written(version: Version) -> str:
    return ".".join(map(str, version))


def _version(kept: Any) -> Version:
    if kept is None:
        return FIRST
    major, _, minor = str(kept).partition(".")
    version = (int(major), int(minor or 0))
    if version[0] > CURRENT[0]:
        raise FeatureRefused(
            f"A newer version of LakeLogic has committed to this table: its record has version {kept}, and this "
            f"version knows {_written(CURRENT)}.",
            hint="Nothing was written. Use a version of LakeLogic that knows it.",
        )
    return version


def _deleted(kept: Mapping[str, Any]) -> Deleted:
    return Deleted(kept["column"], kept["value"])


def _by_place(kept: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {place: tuple(columns) for place, columns in kept.items()}


def _lists(columns: MaskedColumns) -> dict[str, list[str]]:
    return {place: list(names) for place, names in columns.items()}


_READ: Mapping[str, Callable[[Any], Any]] = {
    "at": lambda text: datetime.fromisoformat(str(text)),
    "brought": int,
    "deletes": _deleted,
    "environments": Makers.from_json,
    "from_ledger": bool,
    "in_parts": bool,
    "masked": tuple,
    "read_masks": _by_place,
    "read_masks_all": _by_place,
    "replaces": bool,
    "replay": bool,
    "secondary": SecondaryRows.from_json,
}
_WRITE: Mapping[str, Callable[[Any], Any]] = {
    "at": datetime.isoformat,
    "deletes": lambda marks: {"column": marks.column, "value": marks.value},
    "environment": lambda environment: environment.name,
    "environments": Makers.to_json,
    "masked": list,
    "read_masks": _lists,
    "read_masks_all": _lists,
    "secondary": SecondaryRows.to_json,
}
# To say that there are none is not the same as to say nothing.
_TOLD_WHEN_EMPTY = {"masks", "masked", "read_masks", "read_masks_all", "rows_before", "brought", "watermark", "landed"}
_NAMES = tuple(each.name for each in fields(CommitFacts) if each.name not in ("version", "more"))
