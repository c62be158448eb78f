"""Find the landed columns of an input without an engine: headers of text files, footers, a table's schema."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from lakelogic.errors import SourceError, UnsupportedError
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import STRING, from_arrow

_DELIMITERS = {"csv": ",", "tsv": "\t"}


def discover(
    file_format: str, files: Sequence[str], options: Mapping[str, object] | None = None, *, names: Sequence[str] = ()
) -> tuple[Landed, ...]:
    """The landed columns of csv, tsv and parquet files, over all of them.

    Columns are matched without case; the first spelling wins. `names` are the model's field names, used by
    position for text files without a header. Keys of JSON are found by an engine, which reads every line.
    """
    if file_format in _DELIMITERS:
        headers = csv_headers(files, options, file_format=file_format, names=names)
        first: dict[str, str] = {}
        for header in headers.values():
            for name in header:
                first.setdefault(name.lower(), name)
        return tuple(Landed(name, STRING) for name in first.values())
    if file_format == "parquet":
        return parquet_columns(files)
    raise UnsupportedError(f"The columns of `{file_format}` cannot be found without an engine.")


def csv_headers(
    files: Sequence[str],
    options: Mapping[str, object] | None = None,
    *,
    file_format: str = "csv",
    names: Sequence[str] = (),
) -> dict[str, list[str]]:
    """The column names of each text file, in the order of its columns, for readers that go by position.

    A name has no blanks around it; a nameless column is called after its place (`c3`). A file without content
    has no columns. Without `has_header` the columns are `names`, then c1, c2, … for what is beyond them.
    """
    return {path: _header(path, options or {}, _DELIMITERS[file_format], names) for path in files}


def parquet_columns(files: Sequence[str]) -> tuple[Landed, ...]:
    """The columns of all Parquet files; a column that has different types in two files is refused, naming both."""
    found: dict[str, tuple[Landed, str]] = {}
    for path in files:
        try:
            schema = pq.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"{path} is not a readable Parquet file: {error}") from error
        _refuse_twins(path, schema.names)
        for landed in landed_columns(schema):
            known, where = found.setdefault(landed.name.lower(), (landed, path))
            if known.type != landed.type:
                raise SourceError(
                    f"Column `{known.name}` is {known.type} in {where} and {landed.type} in {path}.",
                    hint="Read the two kinds of files by contracts of their own, or write one kind again.",
                )
    return tuple(landed for landed, _ in found.values())


def landed_columns(schema: pa.Schema) -> tuple[Landed, ...]:
    """The columns of an Arrow schema, such as a Delta table's state gives."""
    return tuple(Landed(field.name, from_arrow(field.type)) for field in schema)


def _header(path: str, options: Mapping[str, object], delimiter: str, names: Sequence[str]) -> list[str]:
    encoding = str(options.get("encoding") or "utf-8")
    record = _first_record(
        path,
        _without_mark(encoding),
        delimiter=str(options.get("delimiter") or delimiter),
        quote=options.get("quote_char", '"'),
        skip=int(cast("int", options.get("skip_rows") or 0)),
        comment=options.get("comment_prefix"),
        compression=options.get("compression"),
    )
    if options.get("has_header", True) is False:
        columns = [*names[: len(record)], *(f"c{place}" for place in range(len(names) + 1, len(record) + 1))]
    else:
        columns = [name.strip() or f"c{place}" for place, name in enumerate(record, 1)]
    _refuse_twins(path, columns)
    return columns


def _first_record(
    path: str,
    encoding: str,
    *,
    delimiter: str,
    quote: object,
    skip: int,
    comment: object,
    compression: object,
) -> list[str]:
    """The first record that is neither skipped, nor a comment, nor a blank line; [] when there is none."""
    try:
        with _text(path, encoding, compression) as lines:
            for _ in range(skip):
                lines.readline()
            reader = csv.reader(
                _content(lines, str(comment) if comment else None),
                delimiter=delimiter,
                quotechar=str(quote) if quote else None,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            )
            record = next((record for record in reader if record), [])
        "".join(record).encode("utf-8")
    except UnicodeError as error:
        raise SourceError(f"The header of {path} is not {encoding}.", hint="Say source.options.encoding.") from error
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        raise SourceError(f"The header of {path} cannot be read: {error}") from error
    return record


@contextmanager
def _text(path: str, encoding: str, compression: object) -> Iterator[TextIO]:
    zipped = compression == "gzip" or (compression is None and path.lower().endswith(".gz"))
    with ExitStack() as stack:
        raw = stack.enter_context(Path(path).open("rb"))
        plain = stack.enter_context(gzip.open(raw)) if zipped else raw
        # A bad byte in a later line is no business of the header: it is kept here, and judged where rows are read.
        yield io.TextIOWrapper(cast("BinaryIO", plain), encoding=encoding, errors="surrogateescape", newline="")


def _content(lines: Iterable[str], comment: str | None) -> Iterable[str]:
    for line in lines:
        if comment is None or not line.startswith(comment):
            yield line


def _without_mark(encoding: str) -> str:
    """The codec that takes a byte order mark away, where an encoding may have one."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError as error:
        raise SourceError(
            f"There is no encoding `{encoding}`.", hint="Say utf-8, latin-1, utf-16, cp1252, …"
        ) from error
    return "utf-8-sig" if name == "utf-8" else encoding


def _refuse_twins(path: str, names: Sequence[str]) -> None:
    """Two columns of one name, by case too, could not be told apart by the model."""
    first: dict[str, str] = {}
    for name in names:
        other = first.get(name.lower())
        if other is not None:
            what = f"column `{name}` twice" if other == name else f"columns `{other}` and `{name}`, alike but for case"
            raise SourceError(f"{path} has {what}.", hint="Give every column a name of its own.")
        first[name.lower()] = name
