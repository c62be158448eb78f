"""Files as frames: the landed columns, and where each row came from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lakelogic import names
from lakelogic.engines.base import Frame, Pinned
from lakelogic.engines.spark.conversions import STRICT_JSON
from lakelogic.engines.spark.counting import Notes, noted
from lakelogic.engines.spark.frames import ddl, empty_frame, file_reader
from lakelogic.engines.spark.text import name, quoted, type_name
from lakelogic.errors import UnsupportedError
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.types import BIGINT, STRING

# Below this many bytes the driver looks for keys itself: a Spark job costs more than the reading.
SMALL = 8 * 2**20
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._=-]*")
_FRACTION = quoted(r"^-?[0-9]+\.[0-9]+(?:E-?[0-9]+)?\z")
_LINE = "ll_line"
_PATH = "ll_path"


def scan(session: Any, read: Read, pinned: Pinned) -> Frame:
    """The landed columns of the pinned files, with the four internal columns."""
    if not pinned.files:
        columns = [(column.name, column.type) for column in read.columns]
        where = [(names.FILE, STRING), (names.NUMBER, BIGINT), (names.TEXT, STRING), (names.BROKEN, STRING)]
        return noted(empty_frame(session, [*columns, *where]), Notes(empty=True))
    match read.format:
        case "csv" | "tsv":
            return _csv(session, read, pinned.files)
        case "json" | "ndjson":
            return _json(session, read, pinned.files)
        case "parquet" | "delta":
            return _parquet(session, read, pinned.files)
    raise UnsupportedError(f"The format `{read.format}` is not available on Spark yet.")


def marked(frame: Frame, columns: Sequence[Landed]) -> Frame:
    """A frame that somebody handed in, with the internal columns a scan would add."""
    return frame.selectExpr(*(name(column.name) for column in columns), *_origin(quoted("memory")))


def _origin(file: str, number: str = "NULL", text: str = "NULL", broken: str = "NULL") -> list[str]:
    return [
        f"CAST({file} AS STRING) AS {name(names.FILE)}",
        f"CAST({number} AS BIGINT) AS {name(names.NUMBER)}",
        f"CAST({text} AS STRING) AS {name(names.TEXT)}",
        f"CAST({broken} AS STRING) AS {name(names.BROKEN)}",
    ]


def _path(files: Sequence[str]) -> str:
    """SQL for the path of the row's file as it was pinned; Spark tells it as an escaped URI."""
    if len(files) == 1:
        return quoted(files[0])
    path = "_metadata.file_path"
    if all(_PLAIN_PATH.fullmatch(file) for file in files):
        return f"substr({path}, 8)"  # without `file://`
    # `+` stands for itself in a path, and for a blank in what `url_decode` reads.
    decoded = f"url_decode(replace({path}, '+', '%2B'))"
    if any(file.startswith("/") for file in files):
        return f"regexp_replace({decoded}, '^file:/+', '/')"
    return decoded


def _null(column: Landed) -> str:
    return f"CAST(NULL AS {type_name(column.type)}) AS {name(column.name)}"


# csv


def _csv(session: Any, read: Read, files: Sequence[str]) -> Frame:
    has_header = bool(read.options.get("has_header", True))
    headers = read.options.get("headers")
    fallback = tuple(column.name for column in read.columns)
    groups: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        header = tuple(headers[file]) if isinstance(headers, Mapping) and file in headers else fallback
        groups.setdefault(header, []).append(file)
    parts = [_csv_group(session, read, header, paths, has_header) for header, paths in groups.items()]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def _csv_group(session: Any, read: Read, header: Sequence[str], files: list[str], has_header: bool) -> Frame:
    delimiter = str(read.options.get("delimiter") or ("\t" if read.format == "tsv" else ","))
    quote = read.options.get("quote_char", '"')
    quote = "" if quote is None else str(quote)
    schema = ", ".join([*(f"c{i} STRING" for i in range(len(header))), f"{_LINE} STRING"])
    frame = (
        file_reader(session, files)
        .options(
            header=has_header,
            sep=delimiter,
            quote=quote,
            escape=quote or "\0",
            multiLine=bool(read.options.get("multiline", True)),
            encoding=str(read.options.get("encoding") or "UTF-8"),
            mode="PERMISSIVE",
            columnNameOfCorruptRecord=_LINE,
            # Otherwise a line is looked at only as far as the columns that are used.
            columnPruning=False,
            maxCharsPerColumn=-1,
        )
        .schema(schema)
        .csv(files)
    )
    position = {found.lower(): i for i, found in reversed(list(enumerate(header)))}
    values = []
    for column in read.columns:
        at = position.get(column.name.lower())
        if at is None:
            values.append(_null(column))
            continue
        written = f"CASE WHEN {_LINE} IS NULL THEN {_without(f'c{at}', read.options.get('null_values'))} END"
        values.append(f"{written} AS {name(column.name)}")
    line = f"rtrim({quoted(chr(13) + chr(10))}, {_LINE})"
    return frame.selectExpr(
        *values, *_origin(_path(files), text=line, broken=_ragged(line, len(header), delimiter, quote))
    )


def _without(value: str, null_values: object) -> str:
    if isinstance(null_values, str):
        null_values = [null_values]
    if not isinstance(null_values, Iterable):
        return value
    words = ", ".join(quoted(str(word)) for word in null_values)
    return f"CASE WHEN {value} IN ({words}) THEN NULL ELSE {value} END" if words else value


def _ragged(line: str, expected: int, delimiter: str, quote: str) -> str:
    bare = line
    if quote:
        q = re.escape(quote)
        bare = f"regexp_replace({line}, {quoted(f'{q}[^{q}]*+{q}')}, '')"
    found = f"size(split({bare}, {quoted(re.escape(delimiter))}, -1))"
    return (
        f"CASE WHEN {_LINE} IS NULL THEN NULL WHEN {found} = {expected} THEN 'the line could not be parsed' "
        f"ELSE concat('expected {expected} value{'s' if expected != 1 else ''}, found ', {found}) END"
    )


# json


def _json(session: Any, read: Read, files: Sequence[str]) -> Frame:
    lines = _json_lines(session, read, files)
    wanted = [column.name for column in read.columns]
    schema = quoted("ARRAY<STRUCT<" + ", ".join(f"{name(column)}: STRING" for column in wanted or ["~none"]) + ">>")
    # The end of the array is known, so nothing can hide behind the object: the parser stops where a value ends.
    parsed = f"from_json(concat('[', {_LINE}, ',{{}}]'), {schema}, {STRICT_JSON})"
    whole = lines.selectExpr(_LINE, _PATH, f"{parsed} AS ll_parsed")
    good = "(size(ll_parsed) = 2 AND startswith(ltrim(ll_line), '{') AND ll_parsed[0] IS NOT NULL)"
    rows = whole.selectExpr(_LINE, _PATH, f"CASE WHEN {good} THEN ll_parsed[0] END AS ll_row")
    values = [f"{_exact(column)} AS {name(column)}" for column in wanted]
    broken = (
        f"CASE WHEN ll_row IS NOT NULL THEN NULL WHEN startswith(ltrim({_LINE}), '{{') THEN 'invalid JSON' "
        f"WHEN size(from_json(concat('[', {_LINE}, ',0]'), 'ARRAY<STRING>', {STRICT_JSON})) = 2 "
        f"THEN 'not a JSON object' ELSE 'invalid JSON' END"
    )
    return rows.selectExpr(*values, *_origin(_PATH, text=_LINE, broken=broken))


def _json_lines(session: Any, read: Read, files: Sequence[str]) -> Frame:
    reader = file_reader(session, files)
    if read.options.get("multiline"):
        texts = reader.option("wholetext", "true").text(list(files))
        whole = f"btrim(value, {quoted(' ' + chr(9) + chr(13) + chr(10) + chr(0xFEFF))})"
        rows = f"CASE WHEN startswith({whole}, '[') THEN from_json({whole}, 'ARRAY<STRING>') END"
        listed = texts.selectExpr(f"explode(coalesce({rows}, array({whole}))) AS {_LINE}", f"{_path(files)} AS {_PATH}")
        return listed.where(f"{_LINE} <> ''")
    # A lone carriage return is a blank of JSON, not the end of a line.
    texts = reader.option("lineSep", "\n").text(list(files))
    ends = quoted(chr(13) + chr(0xFEFF))
    lines = texts.selectExpr(f"btrim(value, {ends}) AS {_LINE}", f"{_path(files)} AS {_PATH}")
    return lines.where(f"btrim({_LINE}, {quoted(' ' + chr(9) + chr(13))}) <> ''")


def _exact(column: str) -> str:
    """The text of a value as it landed: a number with a fraction is read as a double, so its digits are looked up."""
    value = f"ll_row.{name(column)}"
    key = re.escape(json.dumps(column, ensure_ascii=False))
    number = quoted(key + r"\s*+:\s*+(-?[0-9][0-9.eE+-]*+)")
    written = f"regexp_extract({_LINE}, {number}, 1)"
    looks = f"{value} RLIKE {_FRACTION}"
    same = f"try_cast({written} AS DOUBLE) = try_cast({value} AS DOUBLE)"
    return f"CASE WHEN {looks} AND {same} THEN {written} ELSE {value} END"


def discover(session: Callable[[], Any], read: Read, pinned: Pinned) -> tuple[Landed, ...]:
    """The top-level keys of all objects, sorted."""
    keys = None if read.options.get("multiline") else _few_keys(pinned.files)
    if keys is None:
        lines = _json_lines(session(), read, pinned.files)
        found = lines.selectExpr(f"explode(json_object_keys({_LINE})) AS k").distinct()
        keys = {row[0] for row in found.collect()}
    return tuple(Landed(key, STRING) for key in sorted(keys))


def _few_keys(files: Sequence[str]) -> set[str] | None:
    """The keys of small local files, without a job; None where that is not possible."""
    paths = [Path(file) for file in files]
    if not all(path.is_absolute() and path.suffix not in (".gz", ".bz2", ".zst") and path.is_file() for path in paths):
        return None
    if sum(path.stat().st_size for path in paths) > SMALL:
        return None
    keys: set[str] = set()
    for path in paths:
        for line in path.read_bytes().split(b"\n"):
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except ValueError:
                continue
            if isinstance(row, dict):
                keys |= row.keys()
    return keys


# parquet and delta


def _parquet(session: Any, read: Read, files: Sequence[str]) -> Frame:
    schema = ddl([(column.name, column.type) for column in read.columns])
    frame = file_reader(session, files).schema(schema).parquet(*files)
    return frame.selectExpr(
        *(name(column.name) for column in read.columns), *_origin(_path(files), number="_metadata.row_index + 1")
    )
