"""The staged record: all it takes to finish a batch without looking at its input, or judging a row, again.

It is written once, after accounting and gates and before the first commit. A crash after it is finished from it; before
it nothing of the batch can be visible. A batch that waits for a decision is kept as the same record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.engines.base import DataFile, Staged
from lakelogic.errors import FeatureRefused
from lakelogic.ledger.records import RUN_COLUMNS, Held, InputFile, RunRecord
from lakelogic.plan.nodes import Plan, Published, Read
from lakelogic.quarantine.rows import BadSide
from lakelogic.run.phases import GatedRun
from lakelogic.run.places import Other, Places
from lakelogic.run.publish.commit import Commit
from lakelogic.run.state.progress import Progress, progress_of
from lakelogic.sql.types import parse_type
from lakelogic.storage import parquet
from lakelogic.storage.durable import bring_to_disk
from lakelogic.tables.base import StagedFile
from lakelogic.tables.facts import CommitFacts

# The kind of record. 1 had neither the contract nor the quarantined files; a newer one means something else and is
# refused. Keys that are not known here are of a newer version of the same kind: they are kept.
FORMAT = 2
_BLOCK = 1 << 20
# What is needed of a contract to commit: nothing that reads, judges or names a secret.
_SECTIONS = {
    "version", "info", "primary_key", "model", "schema_policy", "materialization", "lineage", "soft_deletes",
    "quarantine", "layer_", "target_layer", "tier",
}  # fmt: skip
_OF_SOURCE = {
    "load_mode", "watermark_strategy", "watermark_field", "cdc_op_field", "cdc_delete_values", "cdc_timestamp_field",
}  # fmt: skip
_OF_FIELD = {"name", "type", "required"}
# The keys of a record; `overtaken` is said of it by whoever holds it (`withhold.py`).
_KEYS = {
    "format", "run_id", "progress", "batch_id", "fingerprint", "n", "seen", "had_queue", "started", "commit", "good",
    "bad", "quarantine", "columns", "reasons", "inputs", "folder", "places", "contract", "record", "approved", "env",
    "newer", "overtaken",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class File:
    """A staged file; its digest where a person decides about exactly this file."""

    path: str
    rows: int
    size: int
    sha256: str | None = None

    def trouble(self) -> str | None:
        """Why the file is not the one that was staged."""
        place = Path(self.path)
        if not place.is_file():
            return f"The staged file {self.path} is gone."
        if place.stat().st_size != self.size:
            return f"The staged file {self.path} is not as it was."
        try:
            rows = pq.read_metadata(self.path).num_rows
        except (OSError, pa.ArrowInvalid):
            return f"The staged file {self.path} cannot be read."
        if rows != self.rows or (self.sha256 is not None and digest(self.path) != self.sha256):
            return f"The staged file {self.path} is not as it was."
        return None


def digest(path: str) -> str:
    """The SHA-256 of a file."""
    hasher = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(_BLOCK):
            hasher.update(block)
    return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class Manifest:
    """A batch whose rows are staged, counted and judged: what its commits need and say."""

    run_id: str
    progress: Progress  # whose commits these are, for ledger and tables
    batch_id: str
    fingerprint: str
    n: int
    seen: int
    had_queue: bool
    started: datetime
    facts: CommitFacts  # what both commits say of themselves
    good: tuple[File, ...]
    bad: tuple[File, ...]  # as the engine staged them
    quarantine: tuple[File, ...]  # as the quarantine table takes them
    columns: tuple[Published, ...]
    reasons: tuple[str, ...]  # why the gate is closed
    inputs: tuple[InputFile, ...]
    folder: str
    places: Places
    contract: Mapping[str, Any]
    record: RunRecord
    approved: Mapping[str, Any] | None = None  # who released it from behind a closed gate, and why
    env: str | None = None
    newer: tuple[str, ...] = field(default=())  # runs that came later and were published before it
    more: Mapping[str, Any] = field(default_factory=dict)  # what a newer version says

    @property
    def quarantined(self) -> int:
        """How many rows are bad."""
        return int(self.facts.counts["quarantined"])

    @property
    def good_rows(self) -> int:
        """How many rows wait to be published."""
        return sum(file.rows for file in self.good)

    @property
    def was_handed_in(self) -> bool:
        """Whether the rows were handed to the run: nothing of ours can read them again."""
        return is_handed_in(self.facts.input)

    def trouble(self) -> str | None:
        """Why the batch cannot be finished from its files; None where all of them are as they were."""
        found = (file.trouble() for file in (*self.good, *self.bad, *self.quarantine))
        return next((one for one in found if one is not None), None)

    def plan(self) -> Plan:
        """Of the plan, what commits need: the columns."""
        return Plan(self.progress.label, Read("source", "parquet", ()), {}, (), self.columns, (), (), ())

    def staged(self, parted: Sequence[str]) -> Staged:
        """The staged files as an engine has handed them over."""
        return Staged(_files(self.good, parted), _files(self.bad, ()), None)

    def bad_side(self) -> BadSide:
        """The rows for the quarantine table, with their identities."""
        files = [StagedFile(file.path, file.rows, file.size) for file in self.quarantine]
        side = BadSide(pq.read_schema(files[0].path) if files else pa.schema([]), files)
        for batch in parquet.batches([file.path for file in files], (names.ROW_ID,)):
            side.ids.add(batch.column(0).to_pylist())
        return side

    def to_json(self) -> dict[str, Any]:
        """The record as the ledger keeps it."""
        return {
            "format": FORMAT,
            "run_id": self.run_id,
            "progress": self.progress.label,
            "batch_id": self.batch_id,
            "fingerprint": self.fingerprint,
            "n": self.n,
            "seen": self.seen,
            "had_queue": self.had_queue,
            "started": self.started.isoformat(),
            "commit": self.facts.to_json(),
            **{side: [asdict(file) for file in getattr(self, side)] for side in ("good", "bad", "quarantine")},
            "columns": [[c.name, str(c.type), c.on_good, c.on_bad] for c in self.columns],
            "reasons": list(self.reasons),
            "inputs": [[file.path, file.size, file.mtime_ns] for file in self.inputs],
            "folder": self.folder,
            "places": asdict(self.places),
            "contract": dict(self.contract),
            "record": {
                name: value.isoformat() if isinstance(value, datetime) else value
                for name in RUN_COLUMNS
                if (value := getattr(self.record, name)) is not None
            },
            "approved": dict(self.approved) if self.approved is not None else None,
            "env": self.env,
            "newer": list(self.newer),
            **self.more,
        }


def from_json(told: Any) -> Manifest:
    """A record as the ledger kept it; one of a newer kind is refused."""
    _refuse_newer(told)
    return Manifest(
        told["run_id"],
        _progress(told["progress"], told["contract"]["dataset"], _places(told["places"])),
        told["batch_id"],
        told["fingerprint"],
        told["n"],
        told["seen"],
        told["had_queue"],
        datetime.fromisoformat(told["started"]),
        CommitFacts.from_json(told["commit"]),
        _parsed(told["good"]),
        _parsed(told["bad"]),
        _parsed(told["quarantine"]),
        tuple(Published(name, parse_type(kind), good, bad) for name, kind, good, bad in told["columns"]),
        tuple(told["reasons"]),
        tuple(InputFile(*file) for file in told["inputs"]),
        told["folder"],
        _places(told["places"]),
        told["contract"],
        _record(told["record"]),
        told["approved"],
        told["env"],
        tuple(told["newer"]),
        _unknown(told),
    )


def of_held(held: Held, contract: Contract, where: Places, record: RunRecord) -> Manifest:
    """The record of a batch that waits; one from before there was a whole record is completed by what is known now."""
    told: Any = held.facts
    if told.get("format", 1) > 1:
        return from_json(told)
    return Manifest(
        held.run_id,
        _progress(held.dataset, contract.dataset_name, where),
        held.batch_id,
        told["fingerprint"],
        told["n"],
        told["n"] - 1,
        had_queue=True,
        started=datetime.fromisoformat(told["started"]),
        facts=CommitFacts.from_json(told["commit"]),
        good=_parsed(told["good"]),
        bad=_parsed(told["bad"]),
        quarantine=(),  # they were committed before the batch was held
        columns=tuple(Published(name, parse_type(kind), True, False) for name, kind in told["columns"]),
        reasons=tuple(told["reasons"]),
        inputs=tuple(InputFile(*file) for file in told["inputs"]),
        folder=told["folder"],
        places=where,
        contract=needed(contract),
        record=record,
        env=told.get("env"),
    )


def manifest(run_: GatedRun, commit: Commit, facts: CommitFacts, record: RunRecord) -> Manifest:
    """Everything that was found out about a batch, ready to be committed."""
    return Manifest(
        run_.run_id,
        run_.progress,
        commit.batch_id,
        run_.fingerprint,
        commit.n,
        commit.seen,
        commit.had_queue,
        run_.started,
        facts,
        tuple(File(file.path, file.rows, file.size) for file in run_.staged.good),
        tuple(File(file.path, file.rows, file.size) for file in run_.staged.bad),
        tuple(File(file.path, file.rows, file.size) for file in run_.bad.files),
        run_.plan.columns,
        tuple(run_.closed),
        run_.slice.inputs if run_.slice else (),
        commit.staging,
        commit.places,
        needed(run_.job.loaded.contract),
        record,
        env=run_.job.loaded.env,
    )


def needed(contract: Contract) -> dict[str, Any]:
    """Of the resolved contract, what commits need. Rules, steps, options and exports stay out of it."""
    kept: dict[str, Any] = contract.model_dump(mode="json", by_alias=True, exclude_unset=True, include=_SECTIONS)
    kept["dataset"] = contract.dataset_name
    kept["source"] = contract.source.model_dump(mode="json", by_alias=True, exclude_unset=True, include=_OF_SOURCE)
    fields = (field.model_dump(mode="json", by_alias=True, include=_OF_FIELD) for field in contract.model.fields)
    kept["model"] = {"fields": list(fields)}
    return kept


def make_durable(files: Iterable[File]) -> None:
    """Bring staged files to the disk: the record that names them must not outlive them when the power goes."""
    paths = [file.path for file in files]
    for path in (*paths, *dict.fromkeys(str(Path(path).parent) for path in paths)):
        bring_to_disk(path)


def with_digests(batch: Manifest) -> Manifest:
    """The record with the digests of the files that a person decides about."""
    good, bad = (tuple(replace(file, sha256=digest(file.path)) for file in side) for side in (batch.good, batch.bad))
    return replace(batch, good=good, bad=bad)


def is_handed_in(identity: Mapping[str, Any]) -> bool:
    """Whether an input is rows that were handed in, which only their owner can bring again."""
    return "run" in identity or "batch" in identity


def _refuse_newer(record: Mapping[str, Any]) -> None:
    if record["format"] > FORMAT:
        raise FeatureRefused(
            f"A newer version of LakeLogic has staged the batch of run {record['run_id']}: its record has format "
            f"{record['format']}, and this version knows {FORMAT}.",
            hint="Nothing was published. Let the newer version finish it: run the contract there.",
        )


def _unknown(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _KEYS}


def _parsed(files: Iterable[Mapping[str, Any]]) -> tuple[File, ...]:
    return tuple(File(file["path"], file["rows"], file["size"], file.get("sha256")) for file in files)


def _files(files: Sequence[File], parted: Sequence[str]) -> tuple[DataFile, ...]:
    return tuple(DataFile(f.path, f.rows, f.size, _partition(f.path, parted)) for f in files)


def _partition(path: str, parted: Sequence[str]) -> dict[str, Any]:
    """The one value of each partition column in a file."""
    if not parted:
        return {}
    first = next(parquet.batches([path], parted))
    return {name: first.column(name)[0].as_py() for name in parted}


def _places(told: Mapping[str, Any]) -> Places:
    return Places(**{**told, "others": tuple(Other(**other) for other in told["others"])})


def _progress(label: str, dataset: str, where: Places) -> Progress:
    return progress_of(dataset, where, label.removeprefix(f"{dataset}@") if label != dataset else None)


def _record(told: Mapping[str, Any]) -> RunRecord:
    values: dict[str, Any] = {
        name: datetime.fromisoformat(value) if RUN_COLUMNS[name] == "instant" else value for name, value in told.items()
    }
    return RunRecord(**values)
