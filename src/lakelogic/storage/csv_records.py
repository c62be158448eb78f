"""What csv means: records cut out of lines, one by one, recovering at the next line after trouble.

The fast reader of the engines must agree with this one; a test compares them on generated files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lakelogic.contract.formats import FORMATS
from lakelogic.errors import SourceError, UsageError
from lakelogic.names import landed_name
from lakelogic.storage.text_files import MOST_RECORD_BYTES, PhysicalLines, encoding_of, most_bytes, open_text

# A quoted value that runs on for longer than this is a quote that somebody forgot to close.
MOST_LINES = 1_000
OPEN_QUOTE = "a quote is not closed"


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How the values of a file are written."""

    delimiter: str
    quote: str | None
    nulls: tuple[str, ...]
    skip_rows: int
    has_header: bool
    comment: str | None
    encoding: str
    most_bytes: int = MOST_RECORD_BYTES

    @property
    def unreadable(self) -> str:
        """Why a line with bytes that mean nothing could not be parsed."""
        return f"not valid {self.encoding}"


class Record(NamedTuple):
    """One record with the line it begins at: its values, or its text and why it has none."""

    line: int
    values: list[str | None] | None
    text: str | None = None
    broken: str | None = None


def dialect_of(file_format: str, options: Mapping[str, object]) -> CsvDialect:
    """The options of a source as a dialect; refuses what cannot be told apart."""
    delimiter = str(options.get("delimiter") or FORMATS[file_format].delimiter).replace("\\t", "\t")
    quote = options.get("quote_char", '"')
    quote = None if quote in (None, "", "none") else str(quote)
    nulls = options.get("null_values") or ()
    nulls = (nulls,) if isinstance(nulls, str) else nulls
    skipped = options.get("skip_rows") or 0
    assert isinstance(nulls, (list, tuple))
    assert isinstance(skipped, int)
    if quote is not None and len(quote) != 1:
        raise UsageError(f"source.options.quote_char is one character, not `{quote}`.", hint='Say `""` for none.')
    if "\n" in delimiter or "\r" in delimiter or (quote is not None and quote in delimiter):
        raise UsageError(f"source.options.delimiter cannot be {delimiter!r} here.", hint="Choose another one.")
    return CsvDialect(
        delimiter=delimiter,
        quote=quote,
        nulls=tuple(str(value) for value in nulls),
        skip_rows=skipped,
        has_header=bool(options.get("has_header", True)),
        comment=str(options.get("comment_prefix") or "") or None,
        encoding=encoding_of(options),
        most_bytes=most_bytes(options),
    )


def header(path: str, file_format: str, options: Mapping[str, object], names: Sequence[str] = ()) -> list[str]:
    """The column names of a file; none for one without content.

    A name has no blanks around it; a nameless column is called after its place (`c3`), and one that has a name of ours
    gets another. Without a header the
    columns are called by `names`, then c3, c4, … for what is beyond them.
    """
    dialect = dialect_of(file_format, options)
    with open_text(path, options) as stream:
        return header_of(path, dialect, PhysicalLines(stream), names)


def header_of(path: str, dialect: CsvDialect, lines: PhysicalLines, names: Sequence[str] = ()) -> list[str]:
    """The column names, taken from the lines before the first row; of a file without a header nothing is left."""
    for _ in range(dialect.skip_rows):
        lines.take()
    if dialect.has_header:
        first = next(records(dialect, lines, None), None)
        if first is None:
            return []
        if first.broken is not None:
            hint = "Say source.options.encoding." if first.broken == dialect.unreadable else None
            raise SourceError(f"The header of {path} cannot be read: {first.broken}.", hint=hint)
        if "\0" in (first.text or ""):
            raise SourceError(f"The header of {path} cannot be read: a name holds the character NUL.")
        # An unquoted word for NULL is still a name.
        assert first.text is not None
        plain = cut(first.text, dialect, frozenset(), lambda: None)
        assert plain is not None
        return [landed_name((name or "").strip() or f"c{place}") for place, name in enumerate(plain[0], 1)]
    width = 0
    for record in records(dialect, lines, None):
        width = width or 1
        if record.values is not None:
            width = len(record.values)
            break
    return [*names[:width], *(f"c{place}" for place in range(len(names) + 1, width + 1))]


def records(dialect: CsvDialect, lines: PhysicalLines, width: int | None) -> Iterator[Record]:
    """The records that follow, each of `width` values (any number where that is None)."""
    nulls = frozenset({"", *dialect.nulls})
    comment = dialect.comment.encode() if dialect.comment else None
    while raw := lines.take():
        here = lines.number - 1
        if raw in (b"\n", b"\r\n", b"\r") or (comment is not None and raw.startswith(comment)):
            continue
        try:
            text = _decoded(raw)
        except UnicodeDecodeError:
            yield Record(here, None, raw.rstrip(b"\r\n").decode("utf-8", "replace"), dialect.unreadable)
            continue
        taken: list[bytes] = []
        left = [dialect.most_bytes - len(raw)]

        def more(taken: list[bytes] = taken, left: list[int] = left) -> str | None:
            if len(taken) >= MOST_LINES or left[0] < 0 or not (line := lines.take()):
                return None
            taken.append(line)
            left[0] -= len(line)
            try:
                return _decoded(line)
            except UnicodeDecodeError:
                return None

        record = cut(text, dialect, nulls, more)
        if record is not None and (width is None or len(record[0]) == width):
            yield Record(here, record[0], record[1] if width is None else None)
            continue
        # The first line alone is given up; what follows it may well be sound.
        lines.give_back(taken)
        broken = OPEN_QUOTE if record is None or taken else ragged(width or 0, len(record[0]))
        yield Record(here, None, without_end(text), broken)


def ragged(expected: int, actual: int) -> str:
    """Why a line with the wrong number of values could not be parsed."""
    return f"expected {expected} values, found {actual}"


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8")


def without_end(line: str) -> str:
    """A line without its end."""
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line.removesuffix("\r")


def cut(
    line: str, dialect: CsvDialect, nulls: frozenset[str], more: Callable[[], str | None]
) -> tuple[list[str | None], str] | None:
    """The values of the record that begins with a line, and its whole text; None where a quote stays open.

    `more` gives the line that follows, or None. A quote counts only where a value begins; what stands between a
    closing quote and the delimiter belongs to the value. An unquoted value out of `nulls` is NULL.
    """
    text = without_end(line)
    end = line[len(text) :]
    quote, delimiter = dialect.quote, dialect.delimiter
    if quote is None or quote not in text:
        return [None if value in nulls else value for value in text.split(delimiter)], text
    values: list[str | None] = []
    position = 0
    while True:
        if text.startswith(quote, position):
            at = position + 1
            while True:
                at = text.find(quote, at)
                if at < 0:
                    following = more()
                    if following is None:
                        return None
                    at = len(text) + len(end)
                    body = without_end(following)
                    text, end = text + end + body, following[len(body) :]
                elif text.startswith(quote, at + 1):
                    at += 2
                else:
                    break
            stop = text.find(delimiter, at + 1)
            tail = text[at + 1 : stop if stop >= 0 else len(text)]
            values.append(text[position + 1 : at].replace(quote * 2, quote) + tail)
        else:
            stop = text.find(delimiter, position)
            value = text[position : stop if stop >= 0 else len(text)]
            values.append(None if value in nulls else value)
        if stop < 0:
            return values, text
        position = stop + len(delimiter)
