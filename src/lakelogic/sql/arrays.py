"""Arrow arrays from Python values, through their buffers.

`pyarrow.array` of a list looks whether pandas is installed and, if so, imports it: a quarter of a second for a
run over four rows. These need only Arrow's core.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate

import pyarrow as pa


def strings(values: Sequence[str | None]) -> pa.Array:
    """A string array; raises UnicodeEncodeError for text that cannot be written as UTF-8."""
    present = [value or "" for value in values]
    joined = "".join(present)
    if joined.isascii():
        data, sizes = joined.encode("ascii"), [len(value) for value in present]
    else:
        encoded = [value.encode("utf-8") for value in present]
        data, sizes = b"".join(encoded), [len(value) for value in encoded]
    offsets = array("i", accumulate(sizes, initial=0))
    return pa.Array.from_buffers(
        pa.string(), len(values), [_validity(values), pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def integers(values: Iterable[int]) -> pa.Array:
    """An int64 array without NULLs."""
    numbers = array("q", values)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _validity(values: Sequence[object | None]) -> pa.Buffer | None:
    """Arrow's bitmap of the values that are not None: the first value in the lowest bit."""
    if None not in values:
        return None
    bits = "".join("0" if value is None else "1" for value in reversed(values))
    return pa.py_buffer(int(bits, 2).to_bytes((len(values) + 7) // 8, "little"))


def whole_numbers(values: Sequence[int | None]) -> pa.Array:
    """An int64 array in which None is NULL."""
    numbers = array("q", (value or 0 for value in values))
    return pa.Array.from_buffers(pa.int64(), len(values), [_validity(values), pa.py_buffer(numbers)])


def lists(values: Sequence[Sequence[str]]) -> pa.Array:
    """An array of lists of strings, without NULLs."""
    items = strings([item for value in values for item in value])
    offsets = array("i", accumulate((len(value) for value in values), initial=0))
    starts = pa.Array.from_buffers(pa.int32(), len(offsets), [None, pa.py_buffer(offsets)])
    return pa.ListArray.from_arrays(starts, items)


def flags(values: Sequence[bool]) -> pa.Array:
    """A boolean array without NULLs."""
    bits = "".join("1" if value else "0" for value in reversed(values)) or "0"
    packed = int(bits, 2).to_bytes((len(values) + 7) // 8 or 1, "little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(packed)])


class Constant:
    """A text that all rows have: its array is made once and cut to length."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._made = strings([])

    def times(self, rows: int) -> pa.Array:
        """So many of it."""
        if len(self._made) < rows:
            self._made = strings([self._text] * rows)
        return self._made.slice(0, rows)
