"""PySpark frames out of files, Arrow tables and other people's frames, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from lakelogic.engines.arrow.input import adopt_arrow, conform
from lakelogic.engines.base import Frame
from lakelogic.engines.spark.literals import identifier, type_name
from lakelogic.engines.spark.session import is_connect
from lakelogic.errors import SourceError, UsageError
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import STRING, Type, array, decimal, from_arrow, to_arrow

_KINDS = {
    "void": "null",
    "string": "string",
    "varchar": "string",
    "char": "string",
    "boolean": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "binary": "binary",
}

# What a frame on somebody else's Connect session must be computed with; elsewhere our own session has it.
_NEEDED = {
    "spark.sql.session.timeZone": ("UTC", "Etc/UTC", "Z", "GMT"),
    "spark.sql.parquet.outputTimestampType": ("TIMESTAMP_MICROS",),
    "spark.sql.decimalOperations.allowPrecisionLoss": ("false",),
    "spark.sql.parser.escapedStringLiterals": ("false",),
}


def ddl(columns: Sequence[tuple[str, Type]]) -> str:
    """A schema as Spark reads it."""
    return ", ".join(f"{identifier(column)} {type_name(kind)}" for column, kind in columns)


def type_of(spark_type: Any) -> Type | None:
    """The contract type of a Spark type; None for one that contracts do not have."""
    kind = spark_type.typeName()
    if kind == "decimal":
        return decimal(spark_type.precision, spark_type.scale)
    if kind == "array":
        element = type_of(spark_type.elementType)
        return array(element) if element else None
    if kind == "map":
        key, element = type_of(spark_type.keyType), type_of(spark_type.valueType)
        return Type("map", key=key, element=element) if key and element else None
    if kind == "struct":
        fields = tuple((field.name, type_of(field.dataType)) for field in spark_type.fields)
        known_fields = tuple((field, inner) for field, inner in fields if inner is not None)
        return Type("struct", fields=known_fields) if len(known_fields) == len(fields) else None
    kind_name = _KINDS.get(kind.partition("(")[0])
    return Type(kind_name) if kind_name else None  # type: ignore[arg-type]


def typed_columns(frame: Frame) -> list[tuple[str, Type]]:
    """The columns of a frame with their contract types; what contracts do not have counts as text."""
    return [(field.name, type_of(field.dataType) or Type("string")) for field in frame.schema.fields]


def landed_columns(frame: Frame) -> tuple[Landed, ...]:
    """The columns of a frame that somebody handed in."""
    return tuple(Landed(column, kind) for column, kind in typed_columns(frame))


def parquet_frame(session: Any, files: Sequence[str], columns: Sequence[tuple[str, Type]]) -> Frame:
    """Parquet files with exactly these columns; a column that a file does not have is NULL."""
    read = file_reader(session, files).schema(ddl(columns)).parquet(*map(located, files))
    return read.selectExpr(*(identifier(column) for column, _ in columns))


def located(path: str) -> str:
    """A path as Spark finds it whatever the session's default file system is; Hadoop escapes nothing itself."""
    return f"file://{path}" if path.startswith("/") else path


def file_reader(session: Any, files: Sequence[str]) -> Any:
    """A reader that takes paths as they are: no wildcards, no columns out of folder names."""
    hidden = [file for file in files if file.rsplit("/", 1)[-1][:1] in ("_", ".")]
    if hidden:
        raise SourceError(
            f"Spark never reads files whose names begin with `_` or `.`: {hidden[0]}",
            hint="Rename the file, or leave it out of the source's path pattern.",
        )
    return session.read.option("__globPaths__", "false").option("recursiveFileLookup", "true")


def empty_frame(session: Any, columns: Sequence[tuple[str, Type]]) -> Frame:
    """No rows, with these columns."""
    return session.createDataFrame([], ddl(columns))


def arrow_frame(session: Any, table: pa.Table) -> Frame:
    """An Arrow table as a frame, with the types of contracts."""
    kinds = [(f.name, STRING if pa.types.is_null(f.type) else from_arrow(f.type)) for f in table.schema]
    try:
        plain = pa.table(
            [conform(column, kind) for column, (_, kind) in zip(table.columns, kinds, strict=True)],
            schema=pa.schema([(column, to_arrow(kind)) for column, kind in kinds]),
        )
    except pa.ArrowInvalid as error:
        raise UsageError(f"The table holds values that its columns cannot keep exactly: {error}") from error
    if plain.num_rows == 0:
        return empty_frame(session, kinds)
    # The schema goes along: without it a wall-clock time would become an instant.
    return session.createDataFrame(plain, ddl(kinds))


def to_table(frame: Frame) -> pa.Table:
    """The rows as an Arrow table with the types of contracts."""
    table = frame.toArrow()
    typed = typed_columns(frame)
    columns = [conform(table.column(i), kind) for i, (_, kind) in enumerate(typed)]
    return pa.Table.from_arrays(columns, schema=pa.schema([(column, to_arrow(kind)) for column, kind in typed]))


def adopted(session: Callable[[], Any], data: Any) -> tuple[Frame, Any]:
    """The data as a frame we can work on, and the session we must go over to for it (None: ours will do)."""
    module = type(data).__module__
    if module.startswith("pyspark."):
        return _spark_frame(session, data)
    return arrow_frame(session(), adopt_arrow(data, with_internal=False)), None


def _spark_frame(session: Callable[[], Any], data: Frame) -> tuple[Frame, Any]:
    theirs = data.sparkSession
    if is_connect(data):
        if theirs is session():
            return data, None
        wrong = [
            f'spark.conf.set("{key}", "{fine[0]}")'
            for key, fine in _NEEDED.items()
            if str(theirs.conf.get(key)) not in fine
        ]
        if wrong:
            raise UsageError(
                "A frame of Spark Connect is computed with the settings of its own session, and these do not fit.",
                hint="Set them before the frame is written: " + "; ".join(wrong),
            )
        return data, theirs
    ours = session()
    odd = [field.name for field in data.schema.fields if type_of(field.dataType) is None]
    if odd:
        data = data.selectExpr(
            *(
                f"CAST({identifier(c)} AS STRING) AS {identifier(c)}" if c in odd else identifier(c)
                for c in data.columns
            )
        )
    if is_connect(ours):
        raise UsageError("The frame belongs to a classic session, and the engine works on a Connect server.")
    if theirs is ours:
        return data, None
    return moved(ours, data), None


def moved(session: Any, frame: Frame) -> Frame:
    """A classic frame as one of another session of the same Spark.

    An empty frame in front makes the whole a frame of that session. Spark plans one away that a condition empties; one
    that is made of no rows would be an RDD of Python, with tasks of its own.
    """
    from pyspark.sql import functions

    nothing = [functions.lit(None).cast(field.dataType).alias(field.name) for field in frame.schema.fields]
    return session.range(0).select(*nothing).where(functions.lit(False)).union(frame)
