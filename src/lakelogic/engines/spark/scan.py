"""Files as frames: the landed columns, and where each row came from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lakelogic import names
from lakelogic.engines.base import Frame, Pinned
from lakelogic.engines.json_lines import keys_of
from lakelogic.engines.spark.conversions import STRICT_JSON
from lakelogic.engines.spark.counting import Notes, noted
from lakelogic.engines.spark.frames import ddl, empty_frame, file_reader, located
from lakelogic.engines.spark.text import name, quoted, type_name
from lakelogic.engines.text_reader import NOT_UTF8, TextScan, positions, refuse_unknown_options
from lakelogic.errors import UnsupportedError
from lakelogic.plan.nodes import Landed, Read
from lakelogic.sql.types import BIGINT, STRING

# Below this many bytes the driver looks for keys itself: a Spark job costs more than the reading.
SMALL = 8 * 2**20
_LOOKED_THROUGH = 64 * 2**20
WHERE_FROM = ((names.FILE, STRING), (names.NUMBER, BIGINT), (names.TEXT, STRING), (names.BROKEN, STRING))
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._=-]*")
_FRACTION = quoted(r"^-?[0-9]+\.[0-9]+(?:E-?[0-9]+)?\z")
_MARK = quoted(chr(0xFEFF))
_REPLACED = quoted(chr(0xFFFD))
_BLANKS = quoted(" \t\r\n\x0b\x0c")
_LINE = "ll_line"
_PATH = "ll_path"


def scan(session: Any, read: Read, pinned: Pinned) -> Frame:
    """The landed columns of the pinned files, with the four internal columns."""
    if not pinned.files:
        columns = [(column.name, column.type) for column in read.columns]
        return noted(empty_frame(session, [*columns, *WHERE_FROM]), Notes(empty=True))
    refuse_unknown_options(read)
    match read.format:
        case "csv" | "tsv":
            return _csv(session, read, pinned.files)
        case "json" | "ndjson":
            return _json(session, read, pinned.files)
        case "parquet" | "delta":
            return _parquet(session, read, pinned.files)
    raise UnsupportedError(f"The format `{read.format}` is not available on Spark yet.")


def size_of(files: Sequence[str]) -> int | None:
    """How many bytes there are to read; None where that cannot be told from here."""
    try:
        return sum(Path(file).stat().st_size for file in files)
    except OSError:
        return None


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
        # Spark writes `file:/x` or `file:///x`, whichever Hadoop's path gave it.
        return f"regexp_replace({path}, '^file:/+', '/')"
    # `+` stands for itself in a path, and for a blank in what `url_decode` reads.
    decoded = f"url_decode(replace({path}, '+', '%2B'))"
    if any(file.startswith("/") for file in files):
        return f"regexp_replace({decoded}, '^file:/+', '/')"
    return decoded


def _null(column: Landed) -> str:
    return f"CAST(NULL AS {type_name(column.type)}) AS {name(column.name)}"


# csv


def _has_open_quote(file: str, quote: str) -> bool:
    """Whether a file up to a size has an odd number of quotes: Spark would take all after the last for one value.

    Such a file is read line by line instead. Larger files are not looked through a second time.
    """
    path = Path(file.removeprefix("file://"))
    if not path.is_file() or path.suffix == ".gz" or path.stat().st_size > _LOOKED_THROUGH:
        return False
    return path.read_bytes().count(quote.encode()) % 2 == 1


def _csv(session: Any, read: Read, files: Sequence[str]) -> Frame:
    if read.options.get("skip_rows"):
        raise UnsupportedError("source.options.skip_rows is not available on Spark yet.")
    has_header = bool(read.options.get("has_header", True))
    headers = read.options.get("headers")
    fallback = tuple(column.name for column in read.columns)
    groups: dict[tuple[str, ...], list[str]] = {}
    odd = [file for file in files if _has_open_quote(file, str(read.options.get("quote_char") or '"'))]
    for file in files:
        if file in odd:
            continue
        header = tuple(headers[file]) if isinstance(headers, Mapping) and file in headers else fallback
        groups.setdefault(header, []).append(file)
    parts = [_csv_group(session, read, header, paths, has_header) for header, paths in groups.items()]
    if odd:
        parts.append(session.createDataFrame(TextScan(read, Pinned(tuple(odd))).reader().read_all()))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def _csv_group(session: Any, read: Read, header: Sequence[str], files: list[str], has_header: bool) -> Frame:
    if not header:  # files without content
        columns = [(column.name, column.type) for column in read.columns]
        return empty_frame(session, [*columns, *WHERE_FROM])
    delimiter = str(read.options.get("delimiter") or ("\t" if read.format == "tsv" else ","))
    written = read.options.get("quote_char")
    quote = "" if written == "" else str(written or '"')
    schema = ", ".join([*(f"c{i} STRING" for i in range(len(header))), f"{_LINE} STRING"])
    frame = (
        file_reader(session, files)
        .options(
            header=has_header,
            sep=delimiter,
            quote=quote,
            escape=quote or "\0",
            multiLine=True,
            encoding="UTF-8",
            # What stands for an unquoted empty value; were it '', a quoted '' would be NULL too.
            nullValue="\ue000NULL\ue000",
            emptyValue="",
            mode="PERMISSIVE",
            columnNameOfCorruptRecord=_LINE,
            # Otherwise a line is looked at only as far as the columns that are used.
            columnPruning=False,
            maxCharsPerColumn=-1,
        )
        .schema(schema)
        .csv([located(file) for file in files])
    )
    # Bytes that are not UTF-8 reach us as the replacement character: the line is kept, and not believed.
    damaged = " OR ".join(f"contains(c{i}, {_REPLACED})" for i in range(len(header)))
    rejoined = f"concat_ws({quoted(delimiter)}, {', '.join(f'c{i}' for i in range(len(header)))})"
    line = f"coalesce(rtrim({quoted(chr(13) + chr(10))}, {_LINE}), CASE WHEN {damaged} THEN {rejoined} END)"
    broken = (
        f"CASE WHEN {_LINE} IS NOT NULL THEN {_ragged(_LINE, len(header), delimiter, quote)} "
        f"WHEN {damaged} THEN {quoted(NOT_UTF8)} END"
    )
    rows = frame.selectExpr(*(f"c{i}" for i in range(len(header))), *_origin(_path(files), text=line, broken=broken))
    values = []
    for column, at in zip(read.columns, positions(read, header), strict=True):
        if at is None:
            values.append(_null(column))
            continue
        written = _without(f"c{at}", read.options.get("null_values"))
        values.append(f"CASE WHEN {name(names.BROKEN)} IS NULL THEN {written} END AS {name(column.name)}")
    return rows.selectExpr(*values, *(name(column) for column, _ in WHERE_FROM))


def _without(value: str, null_values: object) -> str:
    if isinstance(null_values, str):
        null_values = [null_values]
    if not isinstance(null_values, Iterable):
        return value
    words = ", ".join(quoted(str(word)) for word in null_values)
    return f"CASE WHEN {value} IN ({words}) THEN NULL ELSE {value} END" if words else value


def _ragged(line: str, expected: int, delimiter: str, quote: str) -> str:
    """Why a line was refused: its values are counted without what stands in quotes."""
    bare = line
    if quote:
        q = re.escape(quote)
        bare = f"regexp_replace({line}, {quoted(f'{q}[^{q}]*+{q}')}, '')"
    found = f"size(split({bare}, {quoted(re.escape(delimiter))}, -1))"
    return (
        f"CASE WHEN {found} = {expected} THEN 'the line could not be parsed' "
        f"ELSE concat('expected {expected} values, found ', {found}) END"
    )


# json


def _json(session: Any, read: Read, files: Sequence[str]) -> Frame:
    lines = _json_lines(session, read, files)
    spelled = {column.name: spellings(column.name, files) for column in read.columns}
    keys = [key for variants in spelled.values() for key in variants] or ["~none"]
    schema = quoted("ARRAY<STRUCT<" + ", ".join(f"{name(key)}: STRING" for key in keys) + ">>")
    # The end of the array is known, so nothing can hide behind the object: the parser stops where a value ends.
    parsed = f"from_json(concat('[', {_LINE}, ',{{}}]'), {schema}, {STRICT_JSON})"
    whole = lines.selectExpr(_LINE, _PATH, f"is_valid_utf8({_LINE}) AS ll_valid", f"{parsed} AS ll_parsed")
    good = f"(ll_valid AND size(ll_parsed) = 2 AND startswith({_LINE}, '{{') AND ll_parsed[0] IS NOT NULL)"
    rows = whole.selectExpr(_LINE, _PATH, "ll_valid", f"CASE WHEN {good} THEN ll_parsed[0] END AS ll_row")
    values = [
        f"{variants[0] if len(variants) == 1 else 'coalesce(' + ', '.join(variants) + ')'} AS {name(column)}"
        for column, variants in ((column, [_exact(key) for key in found]) for column, found in spelled.items())
    ]
    broken = (
        f"CASE WHEN ll_row IS NOT NULL THEN NULL WHEN NOT ll_valid THEN {quoted(NOT_UTF8)} "
        f"WHEN startswith({_LINE}, '{{') THEN 'invalid JSON' "
        f"WHEN size(from_json(concat('[', {_LINE}, ',0]'), 'ARRAY<STRING>', {STRICT_JSON})) = 2 "
        f"THEN 'not a JSON object' ELSE 'invalid JSON' END"
    )
    text = f"CASE WHEN ll_valid THEN {_LINE} ELSE make_valid_utf8({_LINE}) END"
    return rows.selectExpr(*values, *_origin(_PATH, text=text, broken=broken))


def spellings(column: str, files: Sequence[str]) -> list[str]:
    """The keys that stand for a column: its own name first, then others that differ only in case."""
    known = _few_keys(files)
    if known is None:  # too much to look: the usual ways to write a name
        known = frozenset({column.lower(), column.upper(), column.capitalize(), column[:1].lower() + column[1:]})
    return [column, *sorted(key for key in known if key != column and key.casefold() == column.casefold())]


def _json_lines(session: Any, read: Read, files: Sequence[str]) -> Frame:
    reader = file_reader(session, files)
    if read.options.get("multiline"):
        texts = reader.option("wholetext", "true").text([located(file) for file in files])
        whole = f"btrim(ltrim({_MARK}, value), {_BLANKS})"
        rows = f"CASE WHEN startswith({whole}, '[') THEN from_json({whole}, 'ARRAY<STRING>') END"
        listed = texts.selectExpr(f"explode(coalesce({rows}, array({whole}))) AS {_LINE}", f"{_path(files)} AS {_PATH}")
        return listed.where(f"{_LINE} <> ''")
    # A lone carriage return is a blank of JSON, not the end of a line.
    texts = reader.option("lineSep", "\n").text([located(file) for file in files])
    lines = texts.selectExpr(f"btrim(ltrim({_MARK}, value), {_BLANKS}) AS {_LINE}", f"{_path(files)} AS {_PATH}")
    return lines.where(f"{_LINE} <> ''")


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
    """The top-level keys of all objects, sorted; keys that differ only in case are one column."""
    keys = None if read.options.get("multiline") else _few_keys(pinned.files)
    if keys is None:
        lines = _json_lines(session(), read, pinned.files)
        found = lines.selectExpr(f"explode(json_object_keys({_LINE})) AS k").distinct()
        keys = frozenset(row[0] for row in found.collect())
    folded: dict[str, str] = {}
    for key in sorted(keys):
        folded.setdefault(key.casefold(), key)
    return tuple(Landed(key, STRING) for key in folded.values())


def _few_keys(files: Sequence[str]) -> frozenset[str] | None:
    """The keys of small local files, without a job; None where that is not possible."""
    paths = [Path(file) for file in files]
    if not all(path.is_absolute() and path.suffix not in (".bz2", ".zst") and path.is_file() for path in paths):
        return None
    known = [path.stat() for path in paths]
    if sum(stat.st_size for stat in known) > SMALL:
        return None
    return _keys(tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in zip(paths, known, strict=True)))


@lru_cache(maxsize=4)
def _keys(files: tuple[tuple[str, int, int], ...]) -> frozenset[str]:
    return frozenset().union(*(keys_of(path) for path, _, _ in files))


# parquet and delta


def _parquet(session: Any, read: Read, files: Sequence[str]) -> Frame:
    if read.format == "delta":
        return _parquet_group(session, read, [column.name for column in read.columns], files)
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for file in files:
        listed = pq.read_schema(file).names if "://" not in file else [column.name for column in read.columns]
        at = positions(read, listed)
        groups.setdefault(tuple(None if i is None else listed[i] for i in at), []).append(file)
    parts = [_parquet_group(session, read, list(spelled), paths) for spelled, paths in groups.items()]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def _parquet_group(session: Any, read: Read, spelled: Sequence[str | None], files: Sequence[str]) -> Frame:
    """Files that spell the landed columns alike; a column that a file does not have is NULL."""
    wanted = [(own, column.type) for own, column in zip(spelled, read.columns, strict=True) if own is not None]
    frame = file_reader(session, files).schema(ddl(wanted)).parquet(*map(located, files))
    values = [
        _null(column) if own is None else f"{name(own)} AS {name(column.name)}"
        for own, column in zip(spelled, read.columns, strict=True)
    ]
    return frame.selectExpr(*values, *_origin(_path(files), number="_metadata.row_index + 1"))
