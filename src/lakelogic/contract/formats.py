"""The formats of a source, one row each: what files are called, which options they take, what their rows are like.

How files of a format are read stands in `engines/readers/formats.py`, one row each as well. A row here that says
`is_available` and has no partner there lets no engine start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What is known of a format without opening a file."""

    name: str
    suffixes: tuple[str, ...] = ()  # what ends a path that means this format, in lower case and without a dot
    beside: tuple[str, ...] = ()  # further endings of files that count in a folder which is read as this format
    is_packed: bool = False  # files in a folder may be compressed, and have the ending of that
    options: tuple[str, ...] = ()  # keys of `source.options` that only this format, and others that list them, take
    delimiter: str | None = None  # between the values of a line, where an option does not say
    is_text: bool = False  # values land as text, a row is a line, and a line may be broken
    has_header: bool = True  # a column that is not there says nothing of its rows; otherwise a key not there is NULL
    is_table: bool = False  # a table of ours or of others, with versions
    is_document: bool = False  # a file is one thing and not rows; no link can be one
    is_available: bool = False  # can be read

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings, without a dot, of files that count in a folder which is read as this format."""
        return (*self.suffixes, *self.beside)


_DELIMITED = ("delimiter", "quote_char", "has_header", "skip_rows", "null_values", "comment_prefix")

FORMATS: dict[str, FileFormat] = {
    row.name: row
    for row in (
        FileFormat(
            "csv", ("csv",), options=_DELIMITED, delimiter=",", is_text=True, is_packed=True, is_available=True,
        ),
        FileFormat(
            "tsv", ("tsv",), options=_DELIMITED, delimiter="\t", is_text=True, is_packed=True, is_available=True,
        ),
        FileFormat(
            "json", ("json",), beside=("jsonl", "ndjson"), options=("multiline",),
            is_text=True, has_header=False, is_packed=True, is_available=True,
        ),
        FileFormat(
            "ndjson", ("ndjson", "jsonl"), beside=("json",),
            is_text=True, has_header=False, is_packed=True, is_available=True,
        ),
        FileFormat("parquet", ("parquet",), is_available=True),
        FileFormat("avro", ("avro",)),
        FileFormat("orc", ("orc",)),
        FileFormat("xml", ("xml",), options=("row_tag",)),
        FileFormat("excel", ("xls", "xlsx"), options=("sheet_name", "header_row", "skip_footer")),
        FileFormat("fixed_width", options=("columns",)),
        FileFormat("delta", is_table=True, is_available=True),
        FileFormat("iceberg", is_table=True, is_available=True),
        FileFormat("pdf", ("pdf",), is_document=True),
        FileFormat("docx", ("docx",), is_document=True),
        FileFormat("html", ("html", "htm"), is_document=True),
        FileFormat("image", ("png", "jpg", "jpeg"), is_document=True),
        FileFormat("audio", ("wav", "mp3"), is_document=True),
    )
}  # fmt: skip


def names(rows: Iterable[FileFormat] | None = None) -> tuple[str, ...]:
    """The words of the contract for these formats; for all of them by default."""
    return tuple(row.name for row in (FORMATS.values() if rows is None else rows))


def available() -> tuple[str, ...]:
    """The formats that can be read."""
    return names(row for row in FORMATS.values() if row.is_available)


def readable() -> tuple[str, ...]:
    """The formats whose files can be read: those that need a reader."""
    return names(row for row in FORMATS.values() if row.is_available and not row.is_table)


def by_suffix(suffix: str) -> str | None:
    """The format that the end of a file's name tells, without its dot and in lower case."""
    return next((row.name for row in FORMATS.values() if suffix in row.suffixes), None)


def is_text(name: str | None) -> bool:
    """Whether values of the format land as text, line by line."""
    row = FORMATS.get(name or "")
    return row is not None and row.is_text


def has_header(name: str | None) -> bool:
    """Whether a column that is not there says nothing of its rows; also of what is no format."""
    row = FORMATS.get(name or "")
    return row is None or row.has_header


def is_table(name: str | None) -> bool:
    """Whether it is a table with versions, and not files as they lie there."""
    row = FORMATS.get(name or "")
    return row is not None and row.is_table
