"""The bad side of a batch: bits become reasons, rows get an identity, and files move under the quarantine table."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.engines.base import DataFile
from lakelogic.plan.nodes import Plan, Published, Reason, RowWise
from lakelogic.plan.publish import BAD_PREFIX
from lakelogic.privacy.keys import Keys
from lakelogic.privacy.masks import reveal_texts
from lakelogic.run.queue import ROWS_TOGETHER
from lakelogic.sql.arrays import flags, lists, strings, whole_numbers
from lakelogic.sql.types import to_arrow
from lakelogic.storage import parquet
from lakelogic.tables.base import StagedFile

AS_TEXT = "__text"  # a column whose type the quarantine table keeps differently
_TEXTS = pa.list_(pa.string())
_READ, _WRITTEN = json.JSONDecoder().decode, json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_INTERNAL = (names.FILE, names.NUMBER, names.BROKEN, names.RAW_ROW, names.ORIGINALS)


@dataclass(frozen=True, slots=True)
class Origin:
    """A row of the quarantine that is judged again: what stays the same about it, however often it fails."""

    row_id: str
    raw: str | None
    batch_id: str | None
    line: int | None = None


@dataclass(slots=True)
class BadSide:
    """What the quarantine table will get, and what was counted on the way."""

    schema: pa.Schema
    files: list[StagedFile] = field(default_factory=list)
    rows: int = 0
    already_there: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    by_verdict: Counter[str] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    origins: set[int] = field(default_factory=set)  # of rows that were there before: which of them failed again
    parts: set[str] = field(default_factory=set)  # ids of rows that are only parts of such a row


def quarantine_schema(plan: Plan, stored: pa.Schema | None = None) -> pa.Schema:
    """The columns of the quarantine table for this plan, in the order in which people read them.

    The quarantine never refuses a row for its schema: a column that the table spells in another case goes into that
    one, and a column that it keeps in another type goes, as text, into a column beside it.
    """
    schema = _schema(plan)
    if stored is None:
        return schema
    kept = {field.name.lower(): field for field in stored}
    fitting: list[pa.Field] = []
    for field_ in schema:
        known = kept.get(field_.name.lower(), field_)
        if known.type != field_.type:
            beside = field_.name + AS_TEXT
            known = kept.get(beside.lower(), pa.field(beside, pa.string()))
        fitting.append(pa.field(known.name, known.type))
    return pa.schema(fitting)


def _schema(plan: Plan) -> pa.Schema:
    row = [_row_field(column) for column in plan.columns if column.on_bad and not _is_internal(column, plan)]
    stamps = [found for found in row if found.name.startswith("_lakelogic_")]
    return pa.schema(
        [
            *(found for found in row if found not in stamps),
            pa.field(names.ERRORS, _TEXTS),
            pa.field(names.CATEGORIES, _TEXTS),
            pa.field(names.RULES, _TEXTS),
            pa.field(names.ORIGINAL, pa.map_(pa.string(), pa.string())),
            pa.field(names.ROW_ID, pa.string()),
            pa.field(names.LINE, pa.int64()),
            pa.field(names.RAW, pa.string()),
            pa.field(names.BATCH_ID, pa.string()),
            pa.field(names.CONTRACT_VERSION, pa.string()),
            *stamps,
            pa.field(names.STATE, pa.string()),
        ]
    )


def _row_field(column: Published) -> pa.Field:
    return pa.field(column.name.removeprefix(BAD_PREFIX), to_arrow(column.type))


def _is_internal(column: Published, plan: Plan) -> bool:
    return column.name in _INTERNAL or column.name in {reason.column for reason in plan.reasons}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one combination of bits says; many rows share one."""

    found: tuple[Reason, ...]  # in order
    hard: tuple[Reason, ...]  # those that make a row bad
    categories: tuple[str, ...]
    rules: tuple[str, ...]
    is_part: bool  # what failed is not the landed row as a whole

    def errors(self, broken: str | None) -> list[str]:
        """The reasons in words."""
        return [reason.text.replace("{}", broken or "unknown") if reason.value else reason.text for reason in self.hard]


class Decoder:
    """Turns verdict bits into reasons; equal verdicts are worked out once."""

    def __init__(self, reasons: Sequence[Reason], of_parts: frozenset[str] = frozenset()) -> None:
        self.columns = list(dict.fromkeys(reason.column for reason in reasons))
        self._reasons = reasons
        self._of_parts = of_parts
        self._known: dict[tuple[int, ...], Verdict] = {}

    def of(self, bits: tuple[int, ...]) -> Verdict:
        """The verdict that the bits mean."""
        known = self._known.get(bits)
        if known is None:
            place = {column: position for position, column in enumerate(self.columns)}
            found = tuple(r for r in self._reasons if bits[place[r.column]] >> r.bit & 1)
            hard = tuple(reason for reason in found if reason.severity == "error")
            known = self._known[bits] = Verdict(
                found,
                hard,
                tuple(dict.fromkeys(reason.category for reason in hard)),
                tuple(reason.label or reason.rule for reason in hard),
                bool(hard) and all(reason.column in self._of_parts for reason in hard),
            )
        return known


def _of_parts(plan: Plan) -> frozenset[str]:
    """The verdicts over rows that are no longer one landed row each: copies of it, pairs, groups."""
    found: set[str] = set()
    for number, account in enumerate(plan.accounts):
        whole = number == 0
        for node in account.nodes:
            if isinstance(node, RowWise):
                whole = whole and node.label != "copy"
                found |= set() if whole else {assignment.name for assignment in node.columns}
    return frozenset(found)


def build(
    plan: Plan,
    staged: Sequence[DataFile],
    place: str,
    keys: Keys,
    *,
    batch_id: str,
    contract_version: str,
    known_ids: frozenset[str] = frozenset(),
    stored: pa.Schema | None = None,
    origins: Sequence[Origin] | None = None,
) -> BadSide:
    """Write the staged bad rows again as rows of the quarantine table, under that table's own root.

    With `origins` these rows were there before: `~number` says which of them a row is, and it keeps its identity.
    """
    side = BadSide(quarantine_schema(plan, stored))
    decoder = Decoder(plan.reasons, _of_parts(plan))
    occurrences: Counter[bytes] = Counter()
    folder = Path(place)
    shutil.rmtree(folder, ignore_errors=True)
    writer: pq.ParquetWriter | None = None
    path = folder / "part-00000.parquet"
    written = 0
    for batch in _batches(staged):
        table = _decoded(batch, plan, decoder, side, occurrences, keys, batch_id, contract_version, origins)
        if known_ids:
            fresh = [row_id not in known_ids for row_id in table.column(names.ROW_ID).to_pylist()]
            side.already_there += fresh.count(False)
            table = table.filter(flags(fresh))
        if table.num_rows == 0:
            continue
        side.ids.update(table.column(names.ROW_ID).to_pylist())
        if writer is None:
            folder.mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(path, side.schema, compression="zstd")
        writer.write_table(table, ROWS_TOGETHER)
        written += table.num_rows
    if writer is not None:
        writer.close()
        side.files.append(StagedFile(str(path), written, path.stat().st_size))
    return side


def _batches(staged: Sequence[DataFile]) -> Iterator[pa.RecordBatch]:
    paths = sorted(file.path for file in staged)
    if paths:
        yield from parquet.batches(paths)


def _decoded(
    batch: pa.RecordBatch,
    plan: Plan,
    decoder: Decoder,
    side: BadSide,
    occurrences: Counter[bytes],
    keys: Keys,
    batch_id: str,
    contract_version: str,
    origins: Sequence[Origin] | None,
) -> pa.Table:
    rows = batch.num_rows
    side.rows += rows
    given = {name: batch.column(name) for name in batch.schema.names}
    bits = (
        list(zip(*([value or 0 for value in given[c].to_pylist()] for c in decoder.columns), strict=True))
        or [()] * rows
    )
    broken = given[names.BROKEN].to_pylist()
    files = [file or "" for file in given[names.FILE].to_pylist()]
    raws = given[names.RAW_ROW].to_pylist()
    batches: list[str | None] = [batch_id] * rows
    verdicts = [decoder.of(one) for one in bits]
    for one, times in Counter(bits).items():
        verdict = decoder.of(one)
        side.failures.update(dict.fromkeys((reason.rule for reason in verdict.found), times))
        side.by_verdict.update(dict.fromkeys((reason.column for reason in verdict.hard), times))
    places: list[int | None] = [None] * rows
    if origins is not None:
        ids = _same_ids(given[names.NUMBER].to_pylist(), verdicts, side, occurrences, origins, raws, batches, places)
    else:
        ids = []
        for row, (raw, file) in enumerate(zip(reveal_texts(raws, keys), files, strict=True)):
            clear = canonical(_row_text(given, row, plan) if raw is None else raw)
            ids.append(_row_id(file, clear, occurrences))
        for row, why in enumerate(broken):
            if why is not None:
                places[row] = given[names.NUMBER][row].as_py()
    for row, verdict in enumerate(verdicts):
        if verdict.is_part:
            # Its other parts may be good and published: what landed must not be judged again for this one.
            raws[row] = None
    columns: dict[str, Any] = {
        names.ERRORS: lists([verdict.errors(why) for verdict, why in zip(verdicts, broken, strict=True)]),
        names.CATEGORIES: lists([verdict.categories for verdict in verdicts]),
        names.RULES: lists([verdict.rules for verdict in verdicts]),
        names.ORIGINAL: parquet.typed(given[names.ORIGINALS], pa.map_(pa.string(), pa.string())),
        names.ROW_ID: strings(ids),
        names.LINE: whole_numbers(places),
        names.RAW: strings(raws),
        names.BATCH_ID: strings(batches),
        names.CONTRACT_VERSION: strings([contract_version] * rows),
        names.STATE: strings(["active"] * rows),
    }
    arrays = []
    # The table may spell a column in another case than the rows that come.
    here = {name.lower(): name for name in given}
    for wanted in side.schema:
        if wanted.name in columns:
            arrays.append(columns[wanted.name])
        else:
            name = wanted.name.lower()
            name = name.removesuffix(AS_TEXT) if name not in here else name
            staged = given[here[(BAD_PREFIX + name if BAD_PREFIX + name in here else name)]]
            if wanted.name.lower() != name:
                staged = strings([None if value is None else str(value) for value in staged.to_pylist()])
            arrays.append(parquet.typed(staged, wanted.type))
    return pa.Table.from_arrays(arrays, schema=side.schema)


def _same_ids(
    numbers: Sequence[int],
    verdicts: Sequence[Verdict],
    side: BadSide,
    occurrences: Counter[bytes],
    origins: Sequence[Origin],
    raws: list[str | None],
    batches: list[str | None],
    places: list[int | None],
) -> list[str]:
    """The identities of rows that were there before; what else stays the same about them is put in place."""
    ids: list[str] = []
    for row, (number, verdict) in enumerate(zip(numbers, verdicts, strict=True)):
        origin = origins[number - 1]
        raws[row], batches[row], places[row] = origin.raw, origin.batch_id, origin.line
        if verdict.is_part:
            ids.append(_row_id("", origin.row_id, occurrences))
            side.parts.add(ids[-1])
        else:
            side.origins.add(number)
            ids.append(origin.row_id)
    return ids


def canonical(text: str) -> str:
    """The same text for the same landed row, whichever engine wrote it down."""
    try:
        written = _WRITTEN(_READ(text))
        if not written.isascii():
            written.encode()
    except (ValueError, RecursionError):
        return text
    return written


def _row_text(given: Mapping[str, pa.Array], row: int, plan: Plan) -> str:
    """Without a landed row (no key to keep it with), the row is told apart by what is published of it."""
    shown = [
        str(given[c.name][row].as_py()) for c in plan.columns if c.on_bad and not c.name.startswith(("~", "_lake"))
    ]
    return "\x1f".join(shown)


def _row_id(file: str, text: str, occurrences: Counter[bytes]) -> str:
    """The identity of a row: its file, its text, and its number among equal ones. Digests are kept, texts are not."""
    known = hashlib.sha256(f"{file}\0{text}\0".encode())
    like_it = known.digest()
    occurrences[like_it] += 1
    known.update(str(occurrences[like_it]).encode())
    return known.hexdigest()[:32]
