"""The columns of quarantined rows and what is in them: reasons in words, identity, the landed row; as files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.engines.base import DataFile
from lakelogic.plan.columns import growth
from lakelogic.plan.columns.publish import BAD_PREFIX
from lakelogic.plan.nodes import Plan, Published, Reason, RowWise
from lakelogic.privacy.keys import Keys
from lakelogic.quarantine.identity import FEW, Identities, RowIdentities, row_id, staged_rows, texts
from lakelogic.quarantine.queue import ROWS_TOGETHER
from lakelogic.sql.arrays import Constant, flags, integers, lists, strings, whole_numbers
from lakelogic.sql.types import STRING, from_arrow, to_arrow
from lakelogic.storage import fresh, parquet
from lakelogic.tables.base import StagedFile

AS_TEXT = "__text"  # a column whose type the quarantine table keeps differently
_TEXTS = pa.list_(pa.string())
_INTERNAL = (names.FILE, names.NUMBER, names.BROKEN, names.RAW_ROW, names.ORIGINALS)


@dataclass(frozen=True, slots=True)
class ReplayOrigin:
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
    ids: Identities = field(default_factory=Identities)
    origins: set[int] = field(default_factory=set)  # of rows that were there before: which of them failed again
    parts: set[str] = field(default_factory=set)  # ids of rows that are only parts of such a row
    examples: dict[str, tuple[str, int | None]] = field(default_factory=dict)  # rule: where a row that failed it lies

    def reasons_of(self, plan: Plan) -> dict[str, int]:
        """How many rows failed each rule that makes rows bad."""
        hard = dict.fromkeys(reason.rule for reason in plan.reasons if reason.severity == "error")
        return {rule: self.failures[rule] for rule in hard if self.failures[rule]}


def quarantine_schema(plan: Plan, stored: pa.Schema | None = None) -> pa.Schema:
    """The columns of the quarantine table for this plan, in the order in which people read them.

    The quarantine never refuses a row for its schema: a column that the table spells in another case goes into that
    one, one whose type has grown makes the table's grow, and a column that it keeps in a type that does not go together
    with the new one goes, as text, into a column beside it.
    """
    schema = _schema(plan)
    if stored is None:
        return schema
    kept = {field.name.lower(): field for field in stored}
    fitting: list[pa.Field] = []
    for field_ in schema:
        column = kept.get(field_.name.lower(), field_)
        together = growth.union(from_arrow(column.type), from_arrow(field_.type))
        if together is None:
            beside = field_.name + AS_TEXT
            column = kept.get(beside.lower(), pa.field(beside, pa.string()))
            together = STRING
        fitting.append(pa.field(column.name, to_arrow(together)))
    return pa.schema(fitting)


def _schema(plan: Plan) -> pa.Schema:
    row = [_row_field(column) for column in plan.columns if column.on_bad and not _is_internal(column, plan)]
    stamps = [column for column in row if column.name.startswith("_lakelogic_")]
    return pa.schema(
        [
            *(column for column in row if column not in stamps),
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

    reasons: tuple[Reason, ...]  # in order
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
        verdict = self._known.get(bits)
        if verdict is None:
            place = {column: position for position, column in enumerate(self.columns)}
            reasons = tuple(r for r in self._reasons if bits[place[r.column]] >> r.bit & 1)
            hard = tuple(reason for reason in reasons if reason.severity == "error")
            verdict = self._known[bits] = Verdict(
                reasons,
                hard,
                tuple(dict.fromkeys(reason.category for reason in hard)),
                tuple(reason.label or reason.rule for reason in hard),
                bool(hard) and all(reason.column in self._of_parts for reason in hard),
            )
        return verdict


def _of_parts(plan: Plan) -> frozenset[str]:
    """The verdicts over rows that are no longer one landed row each: copies of it, pairs, groups."""
    parted: set[str] = set()
    for number, account in enumerate(plan.accounts):
        whole = number == 0
        for node in account.nodes:
            if isinstance(node, RowWise):
                whole = whole and node.label != "copy"
                parted |= set() if whole else {assignment.name for assignment in node.columns}
    return frozenset(parted)


def build(
    plan: Plan,
    staged: Sequence[DataFile],
    place: str,
    keys: Keys,
    *,
    batch_id: str,
    contract_version: str,
    known_ids: frozenset[str] = frozenset(),
    earlier: frozenset[str] = frozenset(),
    stored: pa.Schema | None = None,
    origins: Sequence[ReplayOrigin] | None = None,
) -> BadSide:
    """Write the staged bad rows again as rows of the quarantine table, under that table's own root.

    With `origins` these rows were there before: `~number` says which of them a row is, and it keeps its identity.
    """
    side = BadSide(quarantine_schema(plan, stored))
    rows = _RowWriter(plan, side, batch_id, contract_version)
    paths = sorted(file.path for file in staged)
    source = RowIdentities(paths, plan, keys, earlier) if origins is None else _Again(origins, side)
    folder = Path(place)
    writer: Any = None
    path = folder / "part-00000.parquet"
    written = 0
    seen: set[str] = set()
    for batch in staged_rows(paths):
        table = rows.of(batch, source)
        if known_ids:
            unknown = [row_id not in known_ids for row_id in table.column(names.ROW_ID).to_pylist()]
            side.already_there += unknown.count(False)
            table = table.filter(flags(unknown))
        if table.num_rows == 0:
            continue
        ids = table.column(names.ROW_ID).to_pylist()
        if origins is not None:  # rows of different batches can look alike
            ids = [row_id for row_id in dict.fromkeys(ids) if row_id not in seen]
            seen.update(ids)
        side.ids.add(ids)
        if writer is None:
            repeating = parquet.repeating(table)
            writer = fresh.parquet_writer(path, side.schema, compression="zstd", use_dictionary=repeating)
        writer.write_table(table, ROWS_TOGETHER)
        written += table.num_rows
    if writer is not None:
        writer.close()
        side.files.append(StagedFile(str(path), written, path.stat().st_size))
    return side


class _RowWriter:
    """Makes rows of the quarantine table of staged ones, many at a time."""

    def __init__(self, plan: Plan, side: BadSide, batch_id: str, contract_version: str) -> None:
        self._side = side
        self._decoder = Decoder(plan.reasons, _of_parts(plan))
        self._batch_id = Constant(batch_id)
        self._version = Constant(contract_version)
        self._active = Constant("active")

    def of(self, batch: pa.RecordBatch, source: RowIdentities | _Again) -> pa.Table:
        """The rows of a batch."""
        given = {name: batch.column(name) for name in batch.schema.names}
        rows, start = batch.num_rows, self._side.rows
        self._side.rows += rows
        verdicts, which = self._verdicts(given)
        # Its other parts may be good and published: what landed must not be judged again for this one.
        parts = [verdict.is_part for verdict, _ in verdicts]
        raws, places, batches = given[names.RAW_ROW], pa.nulls(rows, pa.int64()), self._batch_id.times(rows)
        if isinstance(source, RowIdentities):
            ids = texts(source.of(batch, start))
            self._examples(given, verdicts, which)
            if given[names.BROKEN].null_count < rows:
                numbered = zip(given[names.NUMBER].to_pylist(), given[names.BROKEN].to_pylist(), strict=True)
                places = whole_numbers([None if why is None else number for number, why in numbered])
        else:
            are_parts = [parts[at] for at in which.to_pylist()]
            ids, raws, places, batches = source.of(given[names.NUMBER].to_pylist(), are_parts)
        if any(parts):
            pairs = zip(which.to_pylist(), raws.to_pylist(), strict=True)
            raws = strings([None if parts[at] else raw for at, raw in pairs])
        columns: dict[str, Any] = {
            names.ERRORS: _spread([verdict.errors(why) for verdict, why in verdicts], which),
            names.CATEGORIES: _spread([verdict.categories for verdict, _ in verdicts], which),
            names.RULES: _spread([verdict.rules for verdict, _ in verdicts], which),
            names.ORIGINAL: parquet.typed(given[names.ORIGINALS], pa.map_(pa.string(), pa.string())),
            names.ROW_ID: ids,
            names.LINE: places,
            names.RAW: parquet.typed(raws, pa.string()),
            names.BATCH_ID: batches,
            names.CONTRACT_VERSION: self._version.times(rows),
            names.STATE: self._active.times(rows),
        }
        return pa.Table.from_arrays(self._fitting(given, columns), schema=self._side.schema)

    def _verdicts(self, given: Mapping[str, pa.Array]) -> tuple[list[tuple[Verdict, str | None]], pa.Array]:
        """The verdicts that occur, with why a line could not be read, and which of them each row has."""
        combinations, which = _combinations([given[name] for name in (*self._decoder.columns, names.BROKEN)])
        verdicts = [(self._decoder.of(tuple(value or 0 for value in bits)), why) for *bits, why in combinations]
        for at, many in Counter(which.to_pylist()).items():
            verdict, _ = verdicts[at]
            self._side.failures.update(dict.fromkeys((reason.rule for reason in verdict.reasons), many))
            self._side.by_verdict.update(dict.fromkeys((reason.column for reason in verdict.hard), many))
        return verdicts, which

    def _examples(
        self, given: Mapping[str, pa.Array], verdicts: Sequence[tuple[Verdict, str | None]], which: pa.Array
    ) -> None:
        """For every rule the first place of a row that failed it: file and line, never a value."""
        examples = self._side.examples
        for at, file, number in _firsts(which, given[names.FILE], given[names.NUMBER]):
            if file is None:
                continue
            for reason in verdicts[at][0].hard:
                before = examples.get(reason.rule)
                if before is None or (file, number or 0) < (before[0], before[1] or 0):
                    examples[reason.rule] = file, number

    def _fitting(self, given: Mapping[str, pa.Array], columns: Mapping[str, pa.Array]) -> list[pa.Array]:
        """The columns in the order and the types of the table, which may spell them in another case."""
        arrays = []
        here = {name.lower(): name for name in given}
        for wanted in self._side.schema:
            if wanted.name in columns:
                arrays.append(columns[wanted.name])
                continue
            name = wanted.name.lower()
            name = name.removesuffix(AS_TEXT) if name not in here else name
            staged = given[here[(BAD_PREFIX + name if BAD_PREFIX + name in here else name)]]
            if wanted.name.lower() != name:
                staged = strings([_as_text(value) for value in staged.to_pylist()])
            arrays.append(parquet.typed(staged, wanted.type))
        return arrays


def _as_text(value: Any) -> str | None:
    """A value in a column beside the one that it does not fit into; nested values are their JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(_as_document(value), ensure_ascii=False, separators=(",", ":"), default=str)
    return None if value is None else str(value)


def _as_document(value: Any) -> Any:
    """A nested value with maps as objects: Arrow gives them as pairs."""
    if isinstance(value, dict):
        return {name: _as_document(part) for name, part in value.items()}
    if isinstance(value, list) and value and all(isinstance(part, tuple) for part in value):
        return {str(name): _as_document(part) for name, part in value}
    return [_as_document(part) for part in value] if isinstance(value, list) else value


def _combinations(columns: Sequence[pa.Array]) -> tuple[list[tuple[Any, ...]], pa.Array]:
    """The combinations of values that occur, and which of them each row has."""
    if len(columns[0]) <= FEW:
        rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
        places = {row: at for at, row in enumerate(dict.fromkeys(rows))}
        return list(places), integers(places[row] for row in rows)
    from pyarrow import compute

    combinations: list[tuple[Any, ...]] = [()]
    which = integers([0] * len(columns[0]))
    for column in columns:
        encoded = column.dictionary_encode("encode")
        values = encoded.dictionary.to_pylist()
        codes = compute.add(compute.multiply(which, integers([len(values)])[0]), encoded.indices.cast(pa.int64()))
        both = codes.dictionary_encode()
        pairs = [divmod(code, len(values)) for code in both.dictionary.to_pylist()]
        combinations = [(*combinations[before], values[at]) for before, at in pairs]
        which = both.indices.cast(pa.int64())
    return combinations, which


def _firsts(which: pa.Array, files: pa.Array, numbers: pa.Array) -> Iterable[tuple[int, str | None, int | None]]:
    """For each verdict and file the first line that has it; staged rows come in any order."""
    if len(which) <= FEW:
        return zip(which.to_pylist(), files.to_pylist(), numbers.to_pylist(), strict=True)
    table = pa.Table.from_arrays([which, files, numbers], names=["at", "file", "number"])
    firsts = table.group_by(["at", "file"]).aggregate([("number", "min")])
    return zip(*(firsts.column(name).to_pylist() for name in ("at", "file", "number_min")), strict=True)


def _spread(values: Sequence[Sequence[str]], which: pa.Array) -> pa.Array:
    """One of the lists for each row."""
    return lists([values[at] for at in which.to_pylist()]) if len(which) <= FEW else lists(values).take(which)


class _Again:
    """Rows that were there before: what stays the same about them, however often they fail."""

    def __init__(self, origins: Sequence[ReplayOrigin], side: BadSide) -> None:
        self._origins, self._side = origins, side
        self._parts: Counter[str] = Counter()

    def of(self, numbers: Sequence[int], parts: Sequence[bool]) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
        """Their identities, and what landed, its line and its batch; `parts` are only parts of such a row."""
        origins = [self._origins[number - 1] for number in numbers]
        ids: list[str] = []
        for number, origin, is_part in zip(numbers, origins, parts, strict=True):
            if is_part:
                self._parts[origin.row_id] += 1
                ids.append(row_id("", origin.row_id, self._parts[origin.row_id]).hex())
                self._side.parts.add(ids[-1])
            else:
                self._side.origins.add(number)
                ids.append(origin.row_id)
        return (
            strings(ids),
            strings([origin.raw for origin in origins]),
            whole_numbers([origin.line for origin in origins]),
            strings([origin.batch_id for origin in origins]),
        )
