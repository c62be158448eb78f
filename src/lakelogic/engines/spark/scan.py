"""Files as frames: the landed columns, and where each row came from.

Text is read by the reader that all engines share: in this process where there is little of it, otherwise by Spark's
Python workers, a file or a part of a large file at a time. Parquet is read by Spark itself where it reads what the
others read, and by the same workers where it would not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from lakelogic import names
from lakelogic.engines.base import Frame, Pinned
from lakelogic.engines.readers import text_reader
from lakelogic.engines.readers.formats import keys_of, reader_of
from lakelogic.engines.readers.parquet_files import sort_out
from lakelogic.engines.readers.parts import Part, constants, local_path
from lakelogic.engines.readers.parts import schema as schema_of
from lakelogic.engines.readers.text_reader import TextScan, parts_of
from lakelogic.engines.spark.counting import Notes, noted
from lakelogic.engines.spark.expressions import sql
from lakelogic.engines.spark.frame import arrow_frame, ddl, empty_frame, file_reader, located
from lakelogic.engines.spark.literals import identifier, text, type_name
from lakelogic.engines.spark.session import functions_of
from lakelogic.plan.columns.numbers import Shape
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.expressions import Literal
from lakelogic.sql.types import BIGINT, STRING, to_arrow
from lakelogic.storage.credentials import s3_login
from lakelogic.storage.opening import size_of as bytes_in
from lakelogic.storage.uris import is_object

# Below this many bytes the driver reads text itself: a job costs more than the reading.
SMALL = 2 * 2**20
WHERE_FROM = ((names.FILE, STRING), (names.NUMBER, BIGINT), (names.TEXT, STRING), (names.BROKEN, STRING))
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._=-]*")
_PATH = "~path"


def scan(session: Any, read: Read, pinned: Pinned) -> Frame:
    """The landed columns of the pinned files, with the four internal columns."""
    if not pinned.files:
        return _nothing(session, read)
    if pinned.own:
        return _own_delta(session, read, pinned)
    by_spark = reader_of(read.format).by_engine
    return (_parquet if by_spark else _read_by_us)(session, read, pinned.files)


def _nothing(session: Any, read: Read) -> Frame:
    columns = [(column.name, column.type) for column in read.columns]
    return noted(empty_frame(session, [*columns, *WHERE_FROM]), Notes(empty=True))


def size_of(files: Sequence[str]) -> int | None:
    """How many bytes there are to read; None where that cannot be told from here."""
    try:
        return sum(bytes_in(file) for file in files)
    except OSError:
        return None


def marked(frame: Frame, columns: Sequence[Landed]) -> Frame:
    """A frame that somebody handed in, with the internal columns a scan would add."""
    return frame.selectExpr(*(identifier(column.name) for column in columns), *_origin(text("memory")))


def _origin(file: str, number: str = "NULL") -> list[str]:
    return [
        f"CAST({file} AS STRING) AS {identifier(names.FILE)}",
        f"CAST({number} AS BIGINT) AS {identifier(names.NUMBER)}",
        f"CAST(NULL AS STRING) AS {identifier(names.TEXT)}",
        f"CAST(NULL AS STRING) AS {identifier(names.BROKEN)}",
    ]


# our own reader


def _read_by_us(session: Any, read: Read, files: Sequence[str]) -> Frame:
    size = size_of(files)
    if size is not None and size <= SMALL:
        table = TextScan(read, Pinned(tuple(files))).reader().read_all()
        return arrow_frame(session, table) if table.num_rows else _nothing(session, read)
    whole = schema_of(read)
    columns = [*((column.name, column.type) for column in read.columns), *WHERE_FROM]

    def rows(part: Part) -> Iterator[pa.RecordBatch]:
        return text_reader.batches_of(read, part, whole)

    return in_workers(session, read, files, rows, ddl(columns))


def in_workers(
    session: Any, read: Read, files: Sequence[str], rows: Callable[[Part], Iterator[pa.RecordBatch]], schema: str
) -> Frame:
    """What `rows` makes of each part of the files, made by Spark's Python workers."""
    tasks = _tasks(read, files)
    login = s3_login() if any(is_object(file) for file in files) else None

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if login is not None:
            from lakelogic.storage.objects import adopt_login

            adopt_login(login)
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for part in tasks[task]:
                    yield from rows(part)

    return session.range(0, len(tasks), 1, len(tasks)).mapInArrow(work, schema)


def _tasks(read: Read, files: Sequence[str]) -> list[list[Part]]:
    """The parts of all files, small ones together: thousands of files are not thousands of tasks."""
    tasks: list[list[Part]] = []
    room = 0
    for file in files:
        parts = parts_of(read, file)
        size = bytes_in(local_path(file))
        if len(parts) > 1 or size > text_reader.PART:
            tasks += [[part] for part in parts]
            room = 0
            continue
        if size > room or not tasks:
            tasks.append([])
            room = text_reader.PART
        tasks[-1] += parts
        room -= size
    return tasks


def discover(session: Callable[[], Any], read: Read, pinned: Pinned) -> tuple[Landed, ...]:
    """The top-level keys of all JSON objects, sorted; keys that differ only in case are one column."""
    size = size_of(pinned.files)
    if size is not None and size <= SMALL:
        return text_reader.discover(read, pinned)

    find = keys_of(read.format)

    def keys(part: Part) -> Iterator[pa.RecordBatch]:
        from lakelogic.sql.arrays import strings

        shapes = find(read, part)
        texts = strings([json.dumps(shape.as_list()) for shape in shapes.values()])
        yield pa.RecordBatch.from_arrays([strings(list(shapes)), texts], names=["k", "s"])

    shapes = in_workers(session(), read, pinned.files, keys, "k STRING, s STRING").distinct()
    try:
        return text_reader.columns_of(
            (key, Shape.of_list(json.loads(shape_text))) for key, shape_text in shapes.collect()
        )
    except Exception as error:
        if (failure := text_reader.source_error(error)) is None:
            raise
        raise failure from error


# parquet and delta


def _parquet(session: Any, read: Read, files: Sequence[str]) -> Frame:
    sorted_out = sort_out(read, files)
    parts = [_parquet_group(session, read, list(spelled), paths) for spelled, paths in sorted_out.plain.items()]
    if sorted_out.odd:
        parts.append(_read_by_us(session, read, sorted_out.odd))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    # Footers tell how many rows there are; a counter on the way would cut Spark's compiled pipeline in two.
    return noted(whole, Notes(scan=sorted_out.rows))


def _parquet_group(session: Any, read: Read, spelled: Sequence[str | None], files: Sequence[str]) -> Frame:
    """Files that spell the landed columns alike; a column that a file does not have is NULL."""
    wanted = [(own, column.type) for own, column in zip(spelled, read.columns, strict=True) if own is not None]
    # Where all columns are known from elsewhere, a column that no file has still gives the rows.
    read_as = ddl(wanted or [("~nothing", STRING)])
    frame = file_reader(session, files).schema(read_as).parquet(*map(located, files))
    by_file = [constants(read, file) for file in files]
    fixed = [column for column in read.columns if any(column.name in about for about in by_file)]
    at_hand = {}
    if all(about == by_file[0] for about in by_file):
        at_hand = {column.name: sql(Literal(by_file[0].get(column.name), column.type)) for column in fixed}
    elif fixed:
        frame = _with_fixed(session, frame, fixed, files, by_file)
        at_hand = {column.name: identifier(f"~fixed{at}") for at, column in enumerate(fixed)}
    values = []
    for own, column in zip(spelled, read.columns, strict=True):
        value = at_hand.get(column.name) or ("NULL" if own is None else identifier(own))
        values.append(f"CAST({value} AS {type_name(column.type)}) AS {identifier(column.name)}" if own is None else
                      f"{value} AS {identifier(column.name)}")  # fmt: skip
    path, number = (_path(files), "_metadata.row_index + 1")
    if _PATH in frame.columns:
        path, number = identifier(_PATH), identifier(names.NUMBER)
    return frame.selectExpr(*values, *_origin(path, number))


def _with_fixed(
    session: Any, frame: Frame, fixed: Sequence[Landed], files: Sequence[str], by_file: Sequence[Any]
) -> Frame:
    """The frame with the columns that its files are known by, found by their paths."""
    table = pa.table(
        {
            "~at": pa.array(files, pa.string()),
            **{
                f"~fixed{at}": pa.array([about.get(column.name) for about in by_file], to_arrow(column.type))
                for at, column in enumerate(fixed)
            },
        }
    )
    rows = frame.selectExpr(
        "*", f"{_path(files)} AS {identifier(_PATH)}", f"_metadata.row_index + 1 AS {identifier(names.NUMBER)}"
    )
    about = functions_of(frame).broadcast(arrow_frame(session, table))
    return rows.join(about, rows[identifier(_PATH)] == about[identifier("~at")], "inner")


def _own_delta(session: Any, read: Read, pinned: Pinned) -> Frame:
    """A table as Delta itself reads it: without deleted rows, and with columns under the names they have now."""
    frame = delta_frame(session, str(pinned.table), pinned.version)
    there = set(frame.columns)
    values = [
        f"CAST({identifier(column.name) if column.name in there else 'NULL'} AS {type_name(column.type)}) "
        f"AS {identifier(column.name)}"
        for column in read.columns
    ]
    path = told_path(pinned.files)
    if pinned.part:
        frame = frame.where(f"{path} IN ({', '.join(map(text, pinned.files))})")
    # Delta numbers rows only where rows can be deleted one by one.
    is_numbered = "row_index" in frame.select("_metadata").schema.fields[0].dataType.names
    return frame.selectExpr(*values, *_origin(path, "_metadata.row_index + 1" if is_numbered else "NULL"))


def delta_frame(session: Any, root: str, version: int | None = None) -> Frame:
    """A Delta table through the session's own Delta."""
    reader = session.read.format("delta")
    return (reader if version is None else reader.option("versionAsOf", version)).load(located(root))


def _path(files: Sequence[str]) -> str:
    """SQL for the path of the row's file as it was pinned."""
    return text(files[0]) if len(files) == 1 else told_path(files)


def told_path(files: Sequence[str]) -> str:
    """SQL for the path of the row's file as Spark tells it, which is an escaped URI, in the form of the given ones."""
    path = "_metadata.file_path"
    if all(_PLAIN_PATH.fullmatch(file) for file in files):
        # Spark writes `file:/x` or `file:///x`, whichever Hadoop's path gave it; every row asks.
        short = f"concat('/', trim(LEADING '/' FROM substring({path}, {len('file:') + 1})))"
        return f"CASE WHEN startswith({path}, 'file:///') THEN substring({path}, {len('file:///')}) ELSE {short} END"
    # `+` stands for itself in a path, and for a blank in what `url_decode` reads.
    decoded = f"url_decode(replace({path}, '+', '%2B'))"
    if any(file.startswith("/") for file in files):
        return f"regexp_replace({decoded}, '^file:/+', '/')"
    return decoded
