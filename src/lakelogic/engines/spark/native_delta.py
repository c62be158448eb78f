"""Spark's own Delta: commits to tables whose features oblige the writer to more than adding files.

Only the DataFrame API and SQL, so that Spark Connect can do it too. Settings that make a commit happen once go on a
session of our own that does nothing else.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic.engines.base import Frame
from lakelogic.engines.spark import session as sessions
from lakelogic.engines.spark.frame import ddl, empty_frame, located, parquet_frame, to_table
from lakelogic.engines.spark.literals import identifier, type_name
from lakelogic.engines.spark.scan import delta_frame, told_path
from lakelogic.errors import CommitConflict, FeatureRefused, TableError
from lakelogic.sql.types import from_arrow
from lakelogic.tables.base import PLAIN, Layout, Mode, RowChange

_APP, _N = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
_SAID = "spark.databricks.delta.commitInfo.userMetadata"
_CATALOG = "spark.sql.catalog.spark_catalog"
_MOVED = "LAKELOGIC_MOVED"
_CONFLICT = re.compile(
    rf"{_MOVED}|DELTA_CONCURRENT|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED|Concurrent\w+Exception"
)
_REASON = re.compile(r"\[(DELTA_[A-Z_.]+)\] ([^\n]*)")
_PROMISE = re.compile(r"DELTA_VIOLATE_CONSTRAINT|DELTA_NOT_NULL|DELTA_EXCEED_CHAR|DELTA_GENERATED|DELTA_IDENTITY")


def has_delta(session: Any) -> bool:
    """Whether a session understands Delta. Without its rules Spark reads rows that were deleted, and says nothing."""
    if "DeltaSparkSessionExtension" in str(session.conf.get("spark.sql.extensions", "")):
        return True
    try:
        session.sql(f"DESCRIBE HISTORY delta.{identifier('/lakelogic/no/such/table')} LIMIT 1").collect()
    except Exception as error:  # noqa: BLE001 - classic and Connect raise their own kinds, and either answer is one
        return "PARSE_SYNTAX_ERROR" not in str(error)
    return True


class SparkDelta:
    """The Delta of a session; `session` itself is never changed."""

    def __init__(self, session: Any, settings: Mapping[str, str]) -> None:
        self.session = session
        catalog = session.conf.get(_CATALOG, None)
        # Statements about a table by its path are resolved by Delta's catalog, whatever the session was started with.
        wanted = sessions.DELTA[_CATALOG] if catalog in (None, "builtin") else str(catalog)
        self._settings = {**settings, _CATALOG: wanted}
        self._writes = sessions.beside(session, self._settings)
        self._small: Any = None
        # A commit of another thread must not carry what is set for this one.
        self._lock = threading.RLock()

    def counts(self, root: str, version: int) -> dict[str, int]:
        """The rows of each data file at a version."""
        rows = delta_frame(self._session_for(root), root, version).selectExpr(f"{told_path([f'{root}/+'])} AS file")
        return {row[0]: int(row[1]) for row in rows.groupBy("file").count().collect()}

    def preview(self, root: str, limit: int) -> pa.Table:
        """Some rows."""
        return to_table(delta_frame(self.session, root).limit(limit))

    def add_columns(self, root: str, fields: Sequence[pa.Field]) -> None:
        """New columns behind the others."""
        with self._lock:
            _run(self._session_for(root), root, f"ALTER TABLE {_table(root)} ADD COLUMNS ({_columns(fields)})")

    def write(
        self,
        root: str,
        files: Sequence[str],
        schema: pa.Schema,
        app_id: str,
        n: int,
        text: str,
        mode: Mode,
        layout: Layout = PLAIN,
    ) -> None:
        """The rows of staged files, in one commit; makes the table where there is none."""
        writer = (
            _staged(self._session_for(root), files, schema)
            .write.format("delta")
            .mode("append" if mode == "append" else "overwrite")
        )
        writer = writer.option("txnAppId", app_id).option("txnVersion", str(n)).option("userMetadata", text)
        writer = writer.option("partitionOverwriteMode", "dynamic" if mode == "partitions" else "static")
        writer = writer.options(**layout.properties)
        if layout.partition_by:
            writer = writer.partitionBy(*layout.partition_by)
        with self._lock, _trouble(root):
            writer.save(located(root))

    def change(
        self, root: str, files: Sequence[str], schema: pa.Schema, app_id: str, n: int, text: str, change: RowChange
    ) -> None:
        """One MERGE: rows that stood get new values or go, new ones come; a row that is not as it was stops it."""
        session = self._session_for(root)
        staged = _staged(session, files, schema)
        if change.in_groups:
            staged = _grouped(staged, schema, change)
        stood, stays = (f"s.{identifier(column)}" for column in (change.stood, change.stays))
        condition = " AND ".join(
            f"t.{identifier(column)} <=> s.{identifier(was)}" for column, was in change.was.items()
        )
        into, values = (
            ", ".join(map(identifier, change.columns)),
            [f"s.{identifier(column)}" for column in change.columns],
        )
        first = type_name(from_arrow(schema.field(change.columns[0]).type))
        moved = [f"CAST(raise_error('{_MOVED}') AS {first})", *values[1:]]
        updates = ", ".join(f"t.{identifier(column)} = s.{identifier(column)}" for column in change.columns)
        view = f"lakelogic_{uuid.uuid4().hex}"
        staged.createOrReplaceTempView(view)
        statement = (
            f"MERGE INTO {_table(root)} AS t USING {view} AS s ON {stood} AND {condition}\n"
            f"WHEN MATCHED AND {stays} THEN UPDATE SET {updates}\n"
            "WHEN MATCHED THEN DELETE\n"
            f"WHEN NOT MATCHED AND {stood} THEN INSERT ({into}) VALUES ({', '.join(moved)})\n"
            f"WHEN NOT MATCHED THEN INSERT ({into}) VALUES ({', '.join(values)})"
        )
        try:
            # A MERGE takes no options: what makes it happen once is told by settings.
            with self._lock, _with(session, {_APP: app_id, _N: str(n), _SAID: text}):
                _run(session, root, statement)
        finally:
            session.catalog.dropTempView(view)

    def optimize(self, root: str) -> tuple[int, int]:
        """Put small files together."""
        with self._lock:
            rows = _run(self._writes, root, f"OPTIMIZE {_table(root)}")
        metrics = rows[0]["metrics"]
        return int(metrics["numFilesRemoved"]), int(metrics["numFilesAdded"])

    def vacuum(self, root: str, hours: int, *, dry_run: bool) -> list[str]:
        """Delete files that no version of the last hours needs; what would go is told up to a thousand files."""
        key = "spark.databricks.delta.retentionDurationCheck.enabled"
        statement = f"VACUUM {_table(root)} RETAIN {hours} HOURS"
        with self._lock, _with(self._writes, {key: "false"}):
            planned = [str(row[0]) for row in _run(self._writes, root, f"{statement} DRY RUN")]
            if not dry_run:
                _run(self._writes, root, statement)
        return sorted(re.sub("^file:/+", "/", path) for path in planned)

    def _session_for(self, root: str) -> Any:
        """Where there is little, a session that compiles nothing: that would take longer than the work."""
        if not sessions.is_started_here(self._writes) or not _is_small(root):
            return self._writes
        if self._small is None:
            self._small = sessions.beside(self._writes, {**self._settings, **sessions.SMALL})
        return self._small


def _staged(session: Any, files: Sequence[str], schema: pa.Schema) -> Frame:
    columns = [(field.name, from_arrow(field.type)) for field in schema]
    return parquet_frame(session, files, columns) if files else empty_frame(session, columns)


def _is_small(root: str) -> bool:
    """Whether the table's folder, staged files included, holds little."""
    left = sessions.SMALL_BYTES
    for path in Path(root).rglob("*.parquet"):
        left -= path.stat().st_size
        if left < 0:
            return False
    return True


def _run(session: Any, root: str, statement: str) -> list[Any]:
    with _trouble(root):
        rows: list[Any] = session.sql(statement).collect()
    return rows


@contextmanager
def _with(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    sessions.configure(session, settings)
    try:
        yield
    finally:
        for key in settings:
            session.conf.unset(key)


def _grouped(staged: Frame, schema: pa.Schema, change: RowChange) -> Frame:
    """One row for all rows that go together, then the new ones."""
    columns = {*change.was.values(), change.stood, change.stays}
    gone = [
        identifier(field.name)
        if field.name in columns
        else f"CAST(NULL AS {type_name(from_arrow(field.type))}) AS {identifier(field.name)}"
        for field in schema
    ]
    stood = f"coalesce({identifier(change.stood)}, false)"
    return staged.where(stood).selectExpr(*gone).distinct().union(staged.where(f"NOT {stood}"))


def _table(root: str) -> str:
    return f"delta.{identifier(located(root))}"


def _columns(fields: Any) -> str:
    return ddl([(field.name, from_arrow(field.type)) for field in fields])


@contextmanager
def _trouble(root: str) -> Iterator[None]:
    """Turn errors of Delta into ours. Values of rows, which some of them tell, stay out."""
    try:
        yield
    except Exception as error:
        text = str(error)
        match = _REASON.search(text)
        reason = match[2].partition(" violated by row")[0] if match else text.strip().partition("\n")[0]
        if _CONFLICT.search(text):
            raise CommitConflict(f"Somebody else committed first: {reason}", where=root, hint="Try again.") from error
        if _PROMISE.search(text):
            raise TableError(
                f"The batch breaks a promise of the table: {reason}",
                where=root,
                hint="No good row was published. Make a rule of it, so that such rows are quarantined.",
            ) from error
        if "DELTA_UNSUPPORTED_FEATURES" in text:
            raise FeatureRefused(f"Spark's own Delta cannot write to this table: {reason}", where=root) from error
        raise TableError(f"The commit failed: {reason}", where=root) from error
