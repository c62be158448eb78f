"""Identities of bad rows: the same for the same landed row however often it is read, sixteen bytes each.

Where a row holds personal data, its identity is keyed: of nine digits a plain digest lets anyone guess the row. Ids
that were given out without a key, or under another one, stay what they are (`Landed`).

They are worked out before a row is written, because an identity holds the row's number among equal ones, and equal
rows can be far apart.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from lakelogic import names
from lakelogic.plan.nodes import Plan
from lakelogic.privacy.keys import Keys, identity_keys
from lakelogic.privacy.masks import reveal_texts
from lakelogic.quarantine.canonical import Shapes
from lakelogic.quarantine.queue import ROWS_TOGETHER
from lakelogic.sql.arrays import strings
from lakelogic.storage import parquet

BYTES = 16
_IDENTITY = re.compile(r"[0-9a-f]{32}")
FEW = parquet.FEW
_TOGETHER = 8_192 * BYTES
_AS_FIRST = tuple(strings(["1", "\0"]))  # the number of a row that is the first, and what stands between


class Identities:
    """Identities that differ, packed. Looking one up puts them in order; nobody who only adds pays for that."""

    def __init__(self) -> None:
        self._packed = bytearray()
        self._sorted: tuple[Sequence[int], Sequence[int]] | None = None

    def add(self, ids: Iterable[str]) -> None:
        """More of them, which are not in yet."""
        self._packed += bytes.fromhex("".join(ids))
        self._sorted = None

    def __len__(self) -> int:
        return len(self._packed) // BYTES

    def __contains__(self, row_id: object) -> bool:
        # What somebody else wrote into the column is none of ours.
        if not isinstance(row_id, str) or _IDENTITY.fullmatch(row_id) is None:
            return False
        if self._sorted is None:
            self._sorted = _in_order(self._packed)
        first, second = array("Q", bytes.fromhex(row_id))
        firsts, seconds = self._sorted
        at = bisect_left(firsts, first)
        while at < len(firsts) and firsts[at] == first:
            if seconds[at] == second:
                return True
            at += 1
        return False

    @property
    def total(self) -> int:
        """What they add up to as numbers."""
        total = 0
        for start in range(0, len(self._packed), _TOGETHER):
            words = array("Q", bytes(self._packed[start : start + _TOGETHER]))
            if sys.byteorder == "little":
                words.byteswap()
            total += (sum(words[::2]) << 64) + sum(words[1::2])
        return total


def staged_rows(paths: Sequence[str], columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of staged files in their order, as many at a time as lie together in the quarantine table."""
    return parquet.batches(paths, columns, ROWS_TOGETHER, threads=False)


def texts(packed: bytes | bytearray) -> pa.Array:
    """Packed identities as people see them: 32 hexadecimal digits each."""
    rows, width = len(packed) // BYTES, 2 * BYTES
    offsets = array("i", range(0, rows * width + 1, width))
    data = packed.hex().encode("ascii")
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def row_id(file: str, text: str, number: int) -> bytes:
    """The identity of a row without personal data: its file, its text, and its number among equal ones."""
    return _plain(_material(file, text, number))[:BYTES]


Digest = Callable[[bytes], bytes]


def digests(plan: Plan, keys: Keys) -> tuple[Digest, ...]:
    """How identities are made for this plan: the first makes them, the others made them before."""
    is_personal = any(mask.column == names.RAW_ROW for mask in plan.masks)
    return (*(partial(_keyed, key) for key in identity_keys(keys)), _plain) if is_personal else (_plain,)


def _material(file: str, text: str, number: int) -> bytes:
    return f"{file}\0{text}\0{number}".encode()


def _plain(material: bytes) -> bytes:
    return hashlib.sha256(material).digest()


def _keyed(key: bytes, material: bytes) -> bytes:
    return hmac.digest(key, material, "sha256")


class RowIdentities:
    """The identities of all rows of staged files, in their order.

    `earlier` are identities that rows of the same sources were given before: a row that is one of these keeps its own.
    """

    def __init__(self, paths: Sequence[str], plan: Plan, keys: Keys, earlier: Container[str] = frozenset()) -> None:
        self._digest, *self._others = digests(plan, keys)
        self._earlier = earlier if self._others else None
        self._shown = [c.name for c in plan.columns if c.on_bad and not c.name.startswith(("~", "_lake"))]
        self._keys = keys
        self._shapes = Shapes()
        self.packed = bytearray()
        # Where a row was not kept as it landed (there is no key to keep it with), its columns tell it apart.
        wanted = None if parquet.may_hold_nulls(paths, names.RAW_ROW) else (names.FILE, names.RAW_ROW)
        for batch in staged_rows(paths, wanted):
            self.packed += self._as_first(batch)
        self._numbers = _numbers(self.packed)

    def of(self, batch: pa.RecordBatch, start: int) -> bytearray:
        """The identities of a batch whose first row is the row `start` of all."""
        end = start + batch.num_rows
        later = [] if self._numbers is None else [at for at in range(start, end) if self._numbers[at] > 1]
        if later:
            assert self._numbers is not None
            files, clear = _files(batch), self._clear(batch)
            for at in later:
                material = _material(files[at - start], clear[at - start], self._numbers[at])
                self.packed[at * BYTES : (at + 1) * BYTES] = self._digest(material)[:BYTES]
        if self._earlier:
            self._keep_earlier(batch, start)
        return self.packed[start * BYTES : end * BYTES]

    def _keep_earlier(self, batch: pa.RecordBatch, start: int) -> None:
        """Rows that were known before, by an identity of another key or of none, stay known by it."""
        assert self._earlier is not None
        for at, (file, text) in enumerate(zip(_files(batch), self._clear(batch), strict=True), start):
            place = slice(at * BYTES, (at + 1) * BYTES)
            if self.packed[place].hex() in self._earlier:
                continue
            number = (self._numbers[at] if self._numbers is not None else 0) or 1
            material = _material(file, text, number)
            candidates = (digest(material)[:BYTES] for digest in self._others)
            self.packed[place] = next(
                (candidate for candidate in candidates if candidate.hex() in self._earlier), self.packed[place]
            )

    def _as_first(self, batch: pa.RecordBatch) -> bytes:
        """The identities that rows have as the first of their kind: `row_id` of many."""
        digest = self._digest
        digests = array("Q", b"".join([digest(material) for material in self._made_of(batch)]))
        packed = array("Q", bytes(BYTES * batch.num_rows))
        packed[::2], packed[1::2] = digests[::4], digests[1::4]
        return packed.tobytes()

    def _made_of(self, batch: pa.RecordBatch) -> Sequence[bytes]:
        """What the identities are made of, for rows that are the first of their kind."""
        files, landed = (parquet.typed(batch.column(name), pa.string()) for name in (names.FILE, names.RAW_ROW))
        others: Sequence[int] | None = None
        if len(landed) > FEW and self._is_open(landed):
            others = self._shapes.others(landed)
            if not others and not files.null_count:
                from pyarrow import compute

                materials: list[bytes] = (
                    compute.binary_join_element_wise(files, landed, *_AS_FIRST).cast(pa.binary()).to_pylist()
                )
                return materials
        clear = self._clear(batch, others)
        return [f"{file}\0{text}\0001".encode() for file, text in zip(_files(batch), clear, strict=True)]

    def _is_open(self, landed: pa.Array) -> bool:
        """Whether rows stand there as they landed."""
        return not landed.null_count and not self._keys.encryption

    def _clear(self, batch: pa.RecordBatch, others: Sequence[int] | None = None) -> list[str]:
        """The rows as they landed, or what is published of them, in their canonical form."""
        landed = batch.column(names.RAW_ROW)
        texts: list[str] = landed.to_pylist()
        if not self._is_open(landed):
            published = self._shown if landed.null_count else ()
            shown = list(zip(*(batch.column(name).to_pylist() for name in published), strict=True))
            texts = [
                "\x1f".join(map(str, shown[row] if shown else ())) if text is None else text
                for row, text in enumerate(reveal_texts(texts, self._keys))
            ]
        return self._shapes.canonical(texts, others)


def _files(batch: pa.RecordBatch) -> list[str]:
    return [file or "" for file in batch.column(names.FILE).to_pylist()]


def _numbers(packed: bytearray) -> array[int] | None:
    """Of each row its number among equal ones, where that is not 1; None where all rows differ."""
    firsts, rest = _halves(packed)
    seconds = memoryview(rest).cast("Q")
    numbers: array[int] | None = None
    for alike in _alike(firsts):
        counts: Counter[int] = Counter()
        for at in alike:
            counts[seconds[at]] += 1
            if counts[seconds[at]] > 1:
                numbers = array("I", bytes(4 * len(seconds))) if numbers is None else numbers
                numbers[at] = counts[seconds[at]]
    return numbers


def _alike(keys: bytes) -> Iterator[list[int]]:
    """The places of 64-bit numbers that occur more than once, by number, in rising order."""
    if len(keys) <= 8 * FEW:
        places: defaultdict[int, list[int]] = defaultdict(list)
        for at, number in enumerate(memoryview(keys).cast("Q")):
            places[number].append(at)
        yield from (rows for rows in places.values() if len(rows) > 1)
        return
    from pyarrow import compute

    numbers = _unsigned(keys)
    order = compute.sort_indices(numbers)
    rising = numbers.take(order)
    again = compute.indices_nonzero(compute.equal(rising.slice(1), rising.slice(0, len(rising) - 1)))
    if not len(again):
        return
    places_in_order = memoryview(order.buffers()[1]).cast("Q")
    alike: list[int] = []
    last = -1
    for at in memoryview(again.buffers()[1]).cast("Q")[: len(again)]:  # the number there comes once more behind it
        if at != last and alike:
            yield sorted(alike)
            alike = []
        alike += [] if alike else [places_in_order[at]]
        alike.append(places_in_order[at + 1])
        last = at + 1
    if alike:
        yield sorted(alike)


def _in_order(packed: bytearray) -> tuple[Sequence[int], Sequence[int]]:
    """Both halves of identities, by the first of them in rising order."""
    firsts, seconds = _halves(packed)
    if len(packed) <= BYTES * FEW:
        pairs = sorted(zip(memoryview(firsts).cast("Q"), memoryview(seconds).cast("Q"), strict=True))
        return [first for first, _ in pairs], [second for _, second in pairs]
    from pyarrow import compute

    order = compute.sort_indices(_unsigned(firsts))
    rising, others = (memoryview(_unsigned(half).take(order).buffers()[1]).cast("Q") for half in (firsts, seconds))
    return rising[: len(order)], others[: len(order)]


def _halves(packed: bytearray) -> tuple[bytes, bytes]:
    """The first and the second eight bytes of each identity."""
    with memoryview(packed) as whole, whole.cast("Q") as words, words[::2] as firsts, words[1::2] as seconds:
        return firsts.tobytes(), seconds.tobytes()


def _unsigned(data: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.uint64(), len(data) // 8, [None, pa.py_buffer(data)])
