"""Rows to a table of Snowflake: files into a temporary stage, COPY, and MERGE by key in one transaction.

Through `snowflake-connector-python`, with values bound on the server. What arrived is remembered in the table
LAKELOGIC_EXPORTS beside the target, in the transaction of the rows: a batch arrives once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from lakelogic.errors import CredentialError, ExportError, ExportInterrupted
from lakelogic.exports import warehouse
from lakelogic.exports.base import Delivered, KeepOn, Shipment
from lakelogic.exports.settings import cleaned
from lakelogic.version import VERSION

_SECONDS = 60
# Errors after which the same statement may work: networks, servers that are busy, locks that were waited for.
_LATER = frozenset({
    "OperationalError", "InterfaceError", "InternalServerError", "ServiceUnavailableError", "BadGatewayError",
    "GatewayTimeoutError", "RequestTimeoutError", "TooManyRequests", "OtherHTTPRetryableError", "HttpError",
    "ConnectionError",
})  # fmt: skip
_LATER_NUMBERS = frozenset({604, 625, 630})  # cancelled, lock timeout, statement timeout
_PRIVILEGE, _NO_SUCH = 3001, 2003


def type_of(kind: pa.DataType) -> str:
    """The type of a column of Snowflake that holds all values of an Arrow type."""
    types = pa.types
    if types.is_decimal(kind):
        return f"NUMBER({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "TIMESTAMP_TZ(6)" if kind.tz else "TIMESTAMP_NTZ(6)"
    for fits, name in (
        (types.is_boolean, "BOOLEAN"), (types.is_integer, "NUMBER(19,0)"), (types.is_floating, "FLOAT"),
        (types.is_date, "DATE"), (types.is_string, "VARCHAR"), (types.is_large_string, "VARCHAR"),
        (types.is_binary, "BINARY"), (types.is_large_binary, "BINARY"),
    ):  # fmt: skip
        if fits(kind):
            return name
    return "VARIANT"


DIALECT = warehouse.WarehouseDialect('"', True, type_of)


def connect(**options: Any) -> Any:
    """A connection of the real library."""
    import snowflake.connector

    return snowflake.connector.connect(**options)


class SnowflakeExport:
    """A connection to one account, opened when it is first needed."""

    format = "parquet"

    def __init__(
        self, given: Mapping[str, str], target: str, open_connection: Callable[..., Any] | None = None
    ) -> None:
        self._given, self._target = given, target
        self._open = open_connection or connect
        self._connection: Any = None

    def deliver(self, shipment: Shipment, keep_on: KeepOn) -> Delivered:
        """Make what is missing, load the files beside the table, and merge them in."""
        database, schema, table = warehouse.parts_of(shipment.target)
        d = DIALECT
        target, control = d.path(database, schema, table), d.path(database, schema, warehouse.CONTROL)
        self._prepare(shipment, (database, schema, table), control)
        arrived = self._ask(
            warehouse.control_question(d, control, "???"), [shipment.dataset, shipment.export, shipment.target]
        )
        if arrived and arrived[0][0] == shipment.batch_id and not shipment.again:
            return Delivered(shipment.rows, known_there=True)
        # Temporary things live in the session's schema.
        self._ask(f"USE SCHEMA {d.path(database, schema)}")
        stage = d.quoted(f"LAKELOGIC_STAGE_{shipment.batch_id[:16]}")
        landed = d.quoted(f"LAKELOGIC_ROWS_{shipment.batch_id[:16]}")
        self._ask(f"CREATE OR REPLACE TEMPORARY STAGE {stage}")
        self._ask(f"CREATE OR REPLACE TEMPORARY TABLE {landed} ({warehouse.columns(d, shipment.schema)})")
        for part in shipment.parts:
            self._ask(f"PUT {_literal('file://' + part.path)} @{stage} AUTO_COMPRESS = FALSE OVERWRITE = TRUE")
            keep_on()
        read = ", ".join(f"$1:{_path(field.name)}::{type_of(field.type)}" for field in shipment.schema)
        self._ask(
            f"COPY INTO {landed} ({d.listed(shipment.schema.names)}) FROM (SELECT {read} FROM @{stage}) "
            "FILE_FORMAT = (TYPE = PARQUET USE_LOGICAL_TYPE = TRUE) ON_ERROR = ABORT_STATEMENT"
        )
        found = int(self._ask(f"SELECT COUNT(*) FROM {landed}")[0][0])
        if found != shipment.rows:
            raise ExportError(f"{shipment.rows} rows were sent to Snowflake and {found} arrived; nothing was merged.")
        keep_on()
        self._publish(shipment, target, landed, control)
        return Delivered(found, facts={"table": ".".join(map(d.name, (database, schema, table)))})

    def close(self) -> None:
        """End the session; its stage and its table go with it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _prepare(self, shipment: Shipment, parts: tuple[str, str, str], control: str) -> None:
        """Schema, table and columns that are missing. Asked for first: making needs rights that looking does not."""
        d, (database, schema, table) = DIALECT, parts
        about = d.path(database, "INFORMATION_SCHEMA")
        count = self._ask(f"SELECT COUNT(*) FROM {about}.SCHEMATA WHERE SCHEMA_NAME = ?", [d.name(schema)])
        if not int(count[0][0]):
            self._ask(f"CREATE SCHEMA IF NOT EXISTS {d.path(database, schema)}")
        question = f"SELECT COLUMN_NAME FROM {about}.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"
        there = [row[0] for row in self._ask(question, [d.name(schema), d.name(table)])]
        target = d.path(*parts)
        if not there:
            self._ask(f"CREATE TABLE IF NOT EXISTS {target} ({warehouse.columns(d, shipment.schema)})")
        elif new := list(warehouse.new_columns(d, shipment.schema, there)):
            self._ask(f"ALTER TABLE {target} ADD COLUMN {warehouse.columns(d, pa.schema(new))}")
        if not self._ask(question, [d.name(schema), d.name(warehouse.CONTROL)]):
            self._ask(f"CREATE TABLE IF NOT EXISTS {control} ({warehouse.columns(d, warehouse.CONTROL_COLUMNS)})")

    def _publish(self, shipment: Shipment, target: str, landed: str, control: str) -> None:
        """Rows and what is remembered of them, both or neither."""
        d, names = DIALECT, shipment.schema.names
        self._ask("BEGIN TRANSACTION")
        try:
            if shipment.mode == "overwrite":
                self._ask(f"DELETE FROM {target}")
                self._ask(f"INSERT INTO {target} ({d.listed(names)}) SELECT {d.listed(names)} FROM {landed}")
            else:
                self._ask(warehouse.merge(d, target, landed, names, shipment.key))
            values = warehouse.control_values(shipment)
            moment = values.pop("exported_at").isoformat(timespec="microseconds")
            self._ask(warehouse.control_merge(d, control, "???????"), [*values.values(), moment])
        except ExportError:
            with suppress(ExportError):  # of a session that is gone nothing stays
                self._ask("ROLLBACK")
            raise
        self._ask("COMMIT")

    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self._session().cursor()
        try:
            cursor.execute(statement, tuple(values)) if values else cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
        except Exception as error:  # noqa: BLE001 - the library's own errors, told in our words by their kind
            raise self._told(error) from None
        finally:
            cursor.close()

    def _session(self) -> Any:
        if self._connection is None:
            try:
                self._connection = self._open(**self._options())
            except Exception as error:  # noqa: BLE001 - as above; what is not the network's is ours: name or key
                failure = self._told(error)
                if isinstance(failure, ExportInterrupted):
                    raise failure from None
                raise CredentialError(
                    f"Snowflake does not let us in: {cleaned(error, self._given)}",
                    hint="Check SNOWFLAKE_ACCOUNT, SNOWFLAKE_USER and the password or key.",
                ) from None
        return self._connection

    def _options(self) -> dict[str, Any]:
        given = self._given
        options: dict[str, Any] = {
            "account": given["SNOWFLAKE_ACCOUNT"], "user": given["SNOWFLAKE_USER"], "paramstyle": "qmark",
            "application": "LakeLogic", "login_timeout": _SECONDS, "network_timeout": _SECONDS * 5, "autocommit": True,
            "database": DIALECT.name(warehouse.parts_of(self._target)[0]),
            "session_parameters": {"QUERY_TAG": f"lakelogic {VERSION}", "TIMEZONE": "UTC"},
        }  # fmt: skip
        if path := given.get("SNOWFLAKE_PRIVATE_KEY_PATH"):
            options["authenticator"] = "SNOWFLAKE_JWT"
            options["private_key_file"] = path
            if phrase := given.get("SNOWFLAKE_PRIVATE_KEY_PASSPHRASE"):
                options["private_key_file_pwd"] = phrase
        else:
            options["password"] = given["SNOWFLAKE_PASSWORD"]
        for name in ("role", "warehouse", "host", "protocol"):
            if value := given.get(f"SNOWFLAKE_{name.upper()}"):
                options[name] = value
        if port := given.get("SNOWFLAKE_PORT"):
            options["port"] = int(port)
        return options

    def _told(self, error: Exception) -> ExportError:
        """An error of the library as one of ours, by its kind."""
        text, number = cleaned(error, self._given), getattr(error, "errno", None)
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if kinds & _LATER or number in _LATER_NUMBERS or isinstance(error, OSError):
            return ExportInterrupted(
                f"Snowflake does not answer now: {text}", hint="Send it again: nothing is doubled."
            )
        hint = "Read the message; the table is as it was."
        if number in (_PRIVILEGE, _NO_SUCH):
            hint = "The role needs USAGE on the database, CREATE SCHEMA or USAGE, and CREATE TABLE and STAGE there."
        return ExportError(f"Snowflake refused it: {text}", hint=hint)


def _path(name: str) -> str:
    """A column of a file, as it is spelled there."""
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    """A text between quotes, for PUT, which takes no bound values; the path is one of our own."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
