"""Rows to a Delta table of Unity Catalog: files into a volume, and statements through the Statement Execution API.

Through `databricks-sdk`, with named parameters. Statements run on a SQL warehouse; they are asked after until they have
ended. What arrived is remembered in the table `lakelogic_exports` beside the target, after the rows: merging or
overwriting with the same rows again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from lakelogic.errors import CredentialError, ExportError, ExportInterrupted
from lakelogic.exports import warehouse
from lakelogic.exports.base import Delivered, KeepOn, Shipment
from lakelogic.exports.settings import cleaned
from lakelogic.sql.types import from_arrow
from lakelogic.version import VERSION

VOLUME = "lakelogic_exports"
_WAIT = "10s"  # how long the first answer may take; the service allows 5 to 50 seconds
_MOST_SECONDS = 3_600.0
_PAUSES = (0.5, 1.0, 2.0, 5.0)  # between two questions; the last one is repeated
_RETRY_SECONDS = 60
# Codes of statements and answers after which the same may work.
_LATER = frozenset({
    "ABORTED", "CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL_ERROR", "IO_ERROR", "REQUEST_LIMIT_EXCEEDED",
    "RESOURCE_EXHAUSTED", "SERVICE_UNDER_MAINTENANCE", "TEMPORARILY_UNAVAILABLE", "WORKSPACE_TEMPORARILY_UNAVAILABLE",
})  # fmt: skip
_LATER_ERRORS = frozenset({
    "TemporarilyUnavailable", "TooManyRequests", "DeadlineExceeded", "InternalError", "Aborted", "RequestLimitExceeded",
    "ResourceExhausted", "OperationTimeout",
})  # fmt: skip
_CONCURRENT = "DELTA_CONCURRENT"  # somebody else wrote to the table meanwhile


def type_of(kind: pa.DataType) -> str:
    """The type of a Delta column."""
    return str(from_arrow(kind))


DIALECT = warehouse.WarehouseDialect("`", False, type_of)


def connect(given: Mapping[str, str]) -> Any:
    """A client of the real library, signed in one way and no other."""
    from databricks.sdk import WorkspaceClient
    from databricks.sdk.config import Config

    options: dict[str, Any] = {
        "host": given.get("DATABRICKS_HOST"), "product": "lakelogic", "product_version": VERSION,
        "retry_timeout_seconds": _RETRY_SECONDS,
    }  # fmt: skip
    if given.get("DATABRICKS_TOKEN"):
        options |= {"token": given["DATABRICKS_TOKEN"], "auth_type": "pat"}
    elif given.get("DATABRICKS_CLIENT_ID") and given.get("DATABRICKS_CLIENT_SECRET"):
        options |= {
            "client_id": given["DATABRICKS_CLIENT_ID"], "client_secret": given["DATABRICKS_CLIENT_SECRET"],
            "auth_type": "oauth-m2m",
        }  # fmt: skip
    else:
        options["profile"] = given["DATABRICKS_CONFIG_PROFILE"]
    return WorkspaceClient(config=Config(**options))


class DatabricksExport:
    """A client of one workspace, made when it is first needed."""

    format = "parquet"

    def __init__(
        self,
        given: Mapping[str, str],
        target: str,
        open_client: Callable[[Mapping[str, str]], Any] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        del target
        self._given, self._open, self._pause = given, open_client or connect, pause
        self._client: Any = None
        self._warehouse = ""

    def deliver(self, shipment: Shipment, keep_on: KeepOn) -> Delivered:
        """Make what is missing, bring the files into the volume, merge them, and take them out again."""
        catalog, schema, table = warehouse.parts_of(shipment.target)
        d = DIALECT
        target, control = d.path(catalog, schema, table), d.path(catalog, schema, warehouse.CONTROL)
        self._prepare(shipment, (catalog, schema, table), control)
        asked = {name: warehouse.control_values(shipment)[name] for name in warehouse.CONTROL_KEY}
        arrived = self._ask(warehouse.control_question(d, control, [f":{name}" for name in asked]), asked)
        if arrived and arrived[0][0] == shipment.batch_id and not shipment.again:
            return Delivered(shipment.rows, known_there=True)
        folder = f"/Volumes/{catalog}/{schema}/{VOLUME}/{shipment.batch_id[:16]}"
        try:
            for part in shipment.parts:
                with open(part.path, "rb") as file:  # noqa: PTH123 - the client wants a plain stream
                    self._call("files.upload", f"{folder}/{part.name}", file, overwrite=True)
                keep_on()
            names = shipment.schema.names
            source = f"(SELECT {d.listed(names)} FROM read_files(:files, format => 'parquet'))"
            if shipment.mode == "overwrite":
                statement = f"INSERT OVERWRITE {target} ({d.listed(names)}) SELECT * FROM {source}"
            else:
                statement = warehouse.merge(d, target, source, names, shipment.key)
            self._ask(statement, {"files": f"{folder}/"}, keep_on)
        finally:
            self._tidy(folder, shipment)
        values = warehouse.control_values(shipment)
        self._ask(warehouse.control_merge(d, control, [f":{name}" for name in values]), values)
        return Delivered(shipment.rows, facts={"table": shipment.target, "warehouse_id": self._warehouse})

    def close(self) -> None:
        """Nothing is held open between two calls."""
        self._client = None

    def _prepare(self, shipment: Shipment, parts: tuple[str, str, str], control: str) -> None:
        """Catalog, schema, volume, table and columns that are missing. Looked for first: making needs more rights."""
        d, (catalog, schema, table) = DIALECT, parts
        if not self._is_there("catalogs.get", catalog):
            self._ask(f"CREATE CATALOG IF NOT EXISTS {d.quoted(catalog)}")
        if not self._is_there("schemas.get", f"{catalog}.{schema}"):
            self._ask(f"CREATE SCHEMA IF NOT EXISTS {d.path(catalog, schema)}")
        if not self._is_there("volumes.read", f"{catalog}.{schema}.{VOLUME}"):
            self._ask(f"CREATE VOLUME IF NOT EXISTS {d.path(catalog, schema, VOLUME)}")
        table_info = self._is_there("tables.get", f"{catalog}.{schema}.{table}")
        if not table_info:
            columns = warehouse.columns(d, shipment.schema)
            self._ask(f"CREATE TABLE IF NOT EXISTS {d.path(*parts)} ({columns}) USING DELTA")
        else:
            there = [column.name for column in table_info.columns or []]
            new = list(warehouse.new_columns(d, shipment.schema, there)) if there else []
            if new:
                self._ask(f"ALTER TABLE {d.path(*parts)} ADD COLUMNS ({warehouse.columns(d, pa.schema(new))})")
        if not self._is_there("tables.get", f"{catalog}.{schema}.{warehouse.CONTROL}"):
            columns = warehouse.columns(d, warehouse.CONTROL_COLUMNS)
            self._ask(f"CREATE TABLE IF NOT EXISTS {control} ({columns}) USING DELTA")

    def _tidy(self, folder: str, shipment: Shipment) -> None:
        """Take the files out of the volume; what stays is overwritten by the same batch."""
        for part in shipment.parts:
            try:
                self._call("files.delete", f"{folder}/{part.name}")
            except ExportError:
                return  # the rows are there or told to be not; a file that is left does no harm

    def _ask(
        self, statement: str, values: Mapping[str, Any] | None = None, keep_on: KeepOn | None = None
    ) -> list[list[str]]:
        """Run a statement and ask after it until it has ended; its rows, as text."""
        from databricks.sdk.service import sql

        bound = [_parameter(name, value) for name, value in (values or {}).items()]
        answer = self._call(
            "statement_execution.execute_statement",
            statement=statement,
            warehouse_id=self._warehouse_id(),
            parameters=bound or None,
            wait_timeout=_WAIT,
            on_wait_timeout=sql.ExecuteStatementRequestOnWaitTimeout.CONTINUE,
        )
        waiting = (sql.StatementState.PENDING, sql.StatementState.RUNNING)
        waited, step = 0.0, 0
        while answer.status.state in waiting:
            if waited >= _MOST_SECONDS:
                self._call("statement_execution.cancel_execution", answer.statement_id)
                raise ExportInterrupted(f"Databricks took more than {_MOST_SECONDS:.0f} s; the statement was stopped.")
            pause = _PAUSES[min(step, len(_PAUSES) - 1)]
            self._pause(pause)
            waited, step = waited + pause, step + 1
            if keep_on is not None:
                keep_on()
            answer = self._call("statement_execution.get_statement", answer.statement_id)
        if answer.status.state is sql.StatementState.SUCCEEDED:
            return list(answer.result.data_array or []) if answer.result else []
        error = answer.status.error
        code = error.error_code.value if error and error.error_code else answer.status.state.value
        text = cleaned(error.message if error and error.message else code, self._given)
        if code in _LATER or _CONCURRENT in text:
            raise ExportInterrupted(f"Databricks could not do it now ({code}): {text}", hint="Send it again.")
        raise ExportError(f"Databricks refused it ({code}): {text}", hint="Read the message; the table is as it was.")

    def _warehouse_id(self) -> str:
        """The SQL warehouse: the one that is named, else one that runs, else the first."""
        if not self._warehouse:
            named = self._given.get("DATABRICKS_WAREHOUSE_ID")
            warehouses = [] if named else list(self._call("warehouses.list"))
            running = [each for each in warehouses if each.state is not None and each.state.value == "RUNNING"]
            chosen = named or next((str(each.id) for each in [*running, *warehouses]), None)
            if chosen is None:
                raise ExportError(
                    "There is no SQL warehouse to run statements on.", hint="Set DATABRICKS_WAREHOUSE_ID."
                )
            self._warehouse = chosen
        return self._warehouse

    def _is_there(self, call: str, name: str) -> Any:
        """The thing of that name; None where there is none."""
        try:
            return self._call(call, name)
        except _NotThere:
            return None

    def _call(self, path: str, *arguments: Any, **named: Any) -> Any:
        """One call of the client, its trouble told in our words."""
        try:
            if self._client is None:
                self._client = self._open(self._given)
            service, _, method = path.partition(".")
            return getattr(getattr(self._client, service), method)(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - the library's own errors, told in our words by their kind
            raise self._told(error) from None

    def _told(self, error: Exception) -> ExportError | CredentialError:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        text = cleaned(error, self._given)
        if "NotFound" in kinds:
            return _NotThere(f"Databricks does not know it: {text}")
        if "Unauthenticated" in kinds or isinstance(error, ValueError):
            return CredentialError(
                f"Databricks does not let us in: {text}", hint="Check DATABRICKS_HOST and the token, secret or profile."
            )
        if "PermissionDenied" in kinds:
            return ExportError(f"Databricks refused it: {text}", hint="Give the principal the right that is named.")
        # Every error of the library is an OSError; only those of the network are none of its own.
        is_network = isinstance(error, OSError) and "DatabricksError" not in kinds
        if kinds & _LATER_ERRORS or is_network:
            return ExportInterrupted(
                f"Databricks does not answer now: {text}", hint="Send it again: nothing is doubled."
            )
        return ExportError(f"Databricks refused it: {text}", hint="Read the message; the table is as it was.")


class _NotThere(ExportError):
    """What was asked for does not exist there."""


def _parameter(name: str, value: Any) -> Any:
    from databricks.sdk.service import sql

    if isinstance(value, int):
        return sql.StatementParameterListItem(name=name, value=str(value), type="BIGINT")
    if isinstance(value, str):
        return sql.StatementParameterListItem(name=name, value=value, type="STRING")
    return sql.StatementParameterListItem(name=name, value=value.isoformat(), type="TIMESTAMP")
