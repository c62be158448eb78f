"""The bytes of a text file: unpacked, as UTF-8, without a byte order mark, and line by line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO, cast

import pyarrow as pa

from lakelogic.errors import SourceError, UsageError
from lakelogic.storage.opening import for_arrow, open_raw, size_of
from lakelogic.storage.uris import is_object

# How files may be packed: by the word of `source.options.compression`, and by the end of their names.
PACKED: dict[str, str] = {
    "gzip": "gzip", "gz": "gzip", "bz2": "bz2", "bzip2": "bz2", "zip": "zip", "zstd": "zstd", "zst": "zstd",
    "lz4": "lz4", "none": "none", "uncompressed": "none",
}  # fmt: skip
ENDINGS: dict[str, str] = {".gz": "gzip", ".bz2": "bz2", ".zip": "zip", ".zst": "zstd", ".lz4": "lz4"}

_TROUBLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, pa.ArrowException)
_PIECE = 1 << 20
MOST_RECORD_BYTES = 64 << 20
MOST_RATIO = 250
_ANY_RATIO = 64 << 20  # of unpacked bytes, below which a packed file may be anything
_MARK = b"\xef\xbb\xbf"
_LONE_RETURN = re.compile(rb"(?<=\r)(?!\n)")
_HALF = re.compile("[\ud800-\udfff]")
# Bytes that mean nothing in an encoding become a byte that means nothing in UTF-8: the line that has it says so.
_UNREADABLE = "\udcff"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _UNREADABLE, error.end


_GO_ON = "lakelogic.unreadable"
codecs.register_error(_GO_ON, _replaced)


def encoding_of(options: Mapping[str, object]) -> str:
    """The encoding of a source as people write it; `UTF-8` where nothing is said."""
    written = str(options.get("encoding") or "utf-8")
    try:
        codec = codecs.lookup(written)
    except LookupError as error:
        raise UsageError(f"There is no encoding `{written}`.", hint="Say utf-8, latin-1, utf-16, cp1252, …") from error
    if not codec._is_text_encoding or codec.incrementaldecoder is None or not _goes_on(written):
        raise UsageError(f"`{written}` is not an encoding of text.", hint="Say utf-8, latin-1, utf-16, cp1252, …")
    return "UTF-8" if codec.name in ("utf-8", "utf-8-sig") else written


def _goes_on(encoding: str) -> bool:
    """Whether a decoder lets us go on behind bytes that mean nothing; those of host names do not."""
    try:
        codecs.getincrementaldecoder(encoding)(_GO_ON).decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def packing_of(path: str, options: Mapping[str, object]) -> str:
    """How a file is packed: as the contract says, or as the end of its name tells."""
    written = options.get("compression")
    if not written:
        return next((kind for ending, kind in ENDINGS.items() if path.lower().endswith(ending)), "none")
    packing = PACKED.get(str(written).lower())
    if packing is None:
        raise UsageError(
            f"There is no compression `{written}`.", hint="Say gzip, zip, bz2, zstd, lz4 or none, or leave it out."
        )
    return packing


def is_plain(path: str, options: Mapping[str, object]) -> bool:
    """Whether the bytes of the file are those of its text: neither packed nor in another encoding."""
    return packing_of(path, options) == "none" and encoding_of(options) == "UTF-8"


def most_bytes(options: Mapping[str, object]) -> int:
    """How long a record may be."""
    return int(str(options.get("max_record_bytes") or MOST_RECORD_BYTES))


def open_text(
    path: str, options: Mapping[str, object], start: int = 0, end: int | None = None, line: int = 1
) -> BinaryIO:
    """The text of a file as UTF-8 bytes. Of a plain file, `start` and `end` may choose a part, which begins at a line.

    A file that cannot be opened or unpacked is a SourceError that names it, now or while it is read.
    """
    packing, encoding = packing_of(path, options), encoding_of(options)
    try:
        opened = _unpacked(path, packing)
    except _TROUBLE as error:
        raise SourceError(f"{path} cannot be read: {_said(error)}.") from error
    bound = None if packing == "none" else int(str(options.get("max_unpacked_ratio") or MOST_RATIO))
    stream: io.BufferedReader[Any] = io.BufferedReader(_Guarded(path, opened, bound), _PIECE)
    if encoding != "UTF-8":
        stream = io.BufferedReader(_AsUtf8(stream, encoding), _PIECE)
    if start or end is not None:
        opened.seek(start)
        if end is not None:
            stream = io.BufferedReader(_Limited(stream, end - start), _PIECE)
    # Last of all: what is counted are lines of UTF-8, as they are read.
    stream = io.BufferedReader(_Lined(path, stream, most_bytes(options), line), _PIECE)
    while not start and stream.peek(len(_MARK))[: len(_MARK)] == _MARK:  # files put together may have several
        stream.read(len(_MARK))
    return stream


def open_bytes(path: str) -> BinaryIO:
    """The unpacked bytes of a file, whatever they mean; bounded as those of a text are."""
    packing = packing_of(path, {})
    try:
        opened = _unpacked(path, packing)
    except _TROUBLE as error:
        raise SourceError(f"{path} cannot be read: {_said(error)}.") from error
    return io.BufferedReader(_Guarded(path, opened, None if packing == "none" else MOST_RATIO), _PIECE)


def _unpacked(path: str, packing: str) -> BinaryIO:
    match packing:
        case "gzip":
            return cast(BinaryIO, gzip.open(_opened(path), "rb"))
        case "bz2":
            return cast(BinaryIO, bz2.open(_opened(path), "rb"))
        case "zip":
            return _only_member(path)
        case "zstd" | "lz4":
            return cast(BinaryIO, pa.CompressedInputStream(_for_arrow(path), packing))
    return open_raw(path)


def _opened(path: str) -> Any:
    """What the readers of packed files are given."""
    return io.BufferedReader(cast(Any, open_raw(path)), _PIECE) if is_object(path) else path


def _for_arrow(path: str) -> Any:
    return for_arrow(path) if is_object(path) else pa.OSFile(path, "rb")


def _only_member(path: str) -> BinaryIO:
    archive = zipfile.ZipFile(path)
    held = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
    if len(held) != 1:
        raise OSError(f"the archive holds {len(held)} files, and one is expected")
    if held[0].flag_bits & 1:
        raise OSError("the archive is encrypted")
    return cast(BinaryIO, archive.open(held[0]))


def _said(error: BaseException) -> str:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return reason.rstrip(".")


class _Raw(io.RawIOBase):
    """A stream made of pieces that somebody else gives."""

    def __init__(self, inner: BinaryIO) -> None:
        super().__init__()
        self._inner = inner

    def readable(self) -> bool:
        """It can be read, once."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Hand on the next bytes."""
        data = self.piece(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def piece(self, size: int) -> bytes:
        """The next bytes, at most so many; none at the end."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what lies below, too."""
        if not self.closed:
            self._inner.close()
        super().close()


class _Guarded(_Raw):
    """Trouble on the way names the file."""

    def __init__(self, path: str, inner: BinaryIO, ratio: int | None) -> None:
        super().__init__(inner)
        self._path, self._ratio = path, ratio
        self._most = None if ratio is None else max(_ANY_RATIO, size_of(path) * ratio)
        self._given = 0

    def piece(self, size: int) -> bytes:
        try:
            data = bytes(self._inner.read(size))
        except _TROUBLE as error:
            raise SourceError(f"{self._path} cannot be read to its end: {_said(error)}.") from error
        self._given += len(data)
        if self._most is not None and self._given > self._most:
            raise SourceError(
                f"{self._path} cannot be read to its end: unpacked it is more than {self._ratio} times as large.",
                hint="If that is right, say so: source.options.max_unpacked_ratio.",
            )
        return data


class _Lined(_Raw):
    """Lines that never end would take all memory before anybody could say what is wrong with them."""

    def __init__(self, path: str, inner: BinaryIO, most: int, line: int) -> None:
        super().__init__(inner)
        self._path, self._most, self._line = path, most, line
        self._length = 0  # of the line that is not ended yet

    def piece(self, size: int) -> bytes:
        data = self._inner.read(min(size, _PIECE))
        first = data.find(b"\n")
        if first < 0:
            self._check(self._length + len(data))
            self._length += len(data)
            return data
        self._check(self._length + first)
        if self._most < len(data):
            for at, part in enumerate(data.split(b"\n")[1:], 1):
                self._check(len(part), at)
        self._line += data.count(b"\n")
        self._length = len(data) - data.rfind(b"\n") - 1
        return data

    def _check(self, length: int, further: int = 0) -> None:
        if length > self._most:
            raise SourceError(
                f"{self._path} cannot be read to its end: line {self._line + further} has more than "
                f"{self._most:,} bytes.",
                hint="If that is right, say so: source.options.max_record_bytes.",
            )


class _Limited(_Raw):
    """Only so many bytes."""

    def __init__(self, inner: BinaryIO, size: int) -> None:
        super().__init__(inner)
        self._left = size

    def piece(self, size: int) -> bytes:
        data = self._inner.read(min(size, self._left))
        self._left -= len(data)
        return data


class _AsUtf8(_Raw):
    """Text in another encoding, as UTF-8."""

    def __init__(self, inner: BinaryIO, encoding: str) -> None:
        super().__init__(inner)
        self._decoder = codecs.getincrementaldecoder(encoding)(_GO_ON)
        self._ready = b""
        self._ended = False

    def piece(self, size: int) -> bytes:
        while not self._ready and not self._ended:
            data = self._inner.read(_PIECE)
            self._ended = not data
            text = self._decoder.decode(data, final=not data)
            try:
                self._ready = text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError:  # an encoding that knows half characters
                self._ready = _HALF.sub(_UNREADABLE, text).encode("utf-8", "surrogateescape")
        given, self._ready = self._ready[:size], self._ready[size:]
        return given


class PhysicalLines:
    """The physical lines of a stream, with their ends (LF, CR LF or CR), and the number of the next one."""

    def __init__(self, stream: BinaryIO, number: int = 1) -> None:
        self._next: Callable[[], bytes] = stream.readline
        self._waiting: deque[bytes] = deque()
        self.number = number

    def take(self) -> bytes:
        """The next line; nothing at the end."""
        if not self._waiting:
            line = self._next()
            if b"\r" not in line[:-2] and not line.endswith(b"\r"):
                self.number += bool(line)
                return line
            self._waiting.extend(part for part in _LONE_RETURN.split(line) if part)
        self.number += 1
        return self._waiting.popleft()

    def give_back(self, lines: Iterable[bytes]) -> None:
        """Lines that were taken last, to be taken again."""
        given = list(lines)
        self._waiting.extendleft(reversed(given))
        self.number -= len(given)

    @property
    def is_level(self) -> bool:
        """Whether the stream stands exactly before the next line."""
        return not self._waiting
