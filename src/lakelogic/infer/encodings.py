"""In which encoding text files are written: told by their bytes, and how sure that is."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakelogic.errors import SourceError
from lakelogic.storage.text_files import open_bytes

MOST_BYTES = 64 << 20  # of a file, of which all are looked at
_PIECE = 1 << 20
_FIRST, _MANY_ZEROS = 1_000, 0.2  # of the first bytes, as a share of all of them
_MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_NOT_IN_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")
_ONLY_IN_CP1252 = frozenset(range(0x80, 0xA0)) - _NOT_IN_CP1252


@dataclass(frozen=True, slots=True)
class Encoding:
    """What a contract says of an encoding, and why; no name where it is UTF-8 and nothing has to be said."""

    name: str | None = None
    why: str = ""


def encoding_of(files: Sequence[str]) -> Encoding:
    """The encoding that all files share; SourceError where two of them differ."""
    encodings: dict[str, tuple[str, Encoding]] = {}
    for path in files:
        encoding = _of_file(path)
        if encoding is not None:
            encodings.setdefault(encoding.name or "UTF-8", (path, encoding))
    if len(encodings) > 1 and encodings.keys() <= {"latin-1", "cp1252"}:
        return encodings["cp1252"][1]  # the characters that latin-1 has are the same there
    if len(encodings) > 1:
        listed = ", ".join(f"{path} in {name}" for name, (path, _) in sorted(encodings.items()))
        raise SourceError(f"The files are written in different encodings: {listed}.", hint="Write one of them anew.")
    return next(iter(encodings.values()))[1] if encodings else Encoding()


def _of_file(path: str) -> Encoding | None:
    """The encoding of a file; None where all of it is ASCII, which is the same in most."""
    with open_bytes(path) as stream:
        head = stream.read(_PIECE)
        if marked := next((name for mark, name in _MARKS if head.startswith(mark)), None):
            return Encoding(marked, "the mark at its beginning says so")
        even, odd = head[:_FIRST:2].count(0), head[1:_FIRST:2].count(0)
        if max(even, odd) > min(len(head), _FIRST) * _MANY_ZEROS:
            name = "utf-16-le" if odd > even else "utf-16-be"
            return Encoding(name, "every other byte is 0, as in Western texts; there is no mark at its beginning")
        bytes_, is_utf8, is_ascii = set[int](), True, True
        decoder = codecs.getincrementaldecoder("utf-8")()
        size = 0
        while head and size < MOST_BYTES:
            size += len(head)
            is_ascii = is_ascii and head.isascii()
            bytes_ |= set(head)
            try:
                decoder.decode(head)
            except UnicodeDecodeError:
                is_utf8 = False
            head = stream.read(_PIECE)
    return None if is_ascii else Encoding() if is_utf8 else _of_single_bytes(bytes_)


def _of_single_bytes(codes: set[int]) -> Encoding:
    if codes & _NOT_IN_CP1252:
        return Encoding("latin-1", "it is not UTF-8; a guess that loses no byte: look whether accents are right")
    if codes & _ONLY_IN_CP1252:
        return Encoding(
            "cp1252", "it is not UTF-8, and has quotes, dashes or the euro sign of Windows; look at accents"
        )
    return Encoding(
        "latin-1", "it is not UTF-8; other encodings of one byte look alike: look whether accents are right"
    )


def options_of(encoding: Encoding) -> Mapping[str, object]:
    """As options of a source."""
    return {} if encoding.name is None else {"encoding": encoding.name}
