"""Snowflake: what is said to the connector, in which order, and what its errors become.

A double of the connection here; `make test-exports` does the same through the real connector against a server.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from lakelogic.errors import CredentialError, ExportError, ExportInterrupted
from lakelogic.exports.snowflake import SnowflakeExport

GIVEN = {"SNOWFLAKE_ACCOUNT": "org-acc", "SNOWFLAKE_USER": "loader", "SNOWFLAKE_PASSWORD": "pa55-very-secret"}


class ProgrammingError(Exception):
    def __init__(self, text: str, errno: int) -> None:
        super().__init__(f"{errno:06}: {text}")
        self.errno = errno


class OperationalError(Exception):
    errno = 250003


class Account:
    """An account that remembers what it was told, and answers as it was taught."""

    def __init__(self, columns: dict[str, list[str]] | None = None, rows: int = 2) -> None:
        self.columns, self.rows, self.batch = columns or {}, rows, ""
        self.said: list[tuple[str, tuple[Any, ...]]] = []
        self.options: dict[str, Any] = {}
        self.fails: dict[str, Exception] = {}
        self.closed = 0

    def connect(self, **options: Any) -> Account:
        self.options = options
        return self

    def cursor(self) -> Cursor:
        return Cursor(self)

    def close(self) -> None:
        self.closed += 1

    @property
    def statements(self) -> list[str]:
        return [statement for statement, _ in self.said]


class Cursor:
    def __init__(self, account: Account) -> None:
        self.account, self.description, self.found = account, None, []

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> None:
        account = self.account
        account.said.append((statement, values))
        for begins, error in account.fails.items():
            if statement.startswith(begins):
                raise error
        if "SCHEMATA" in statement:
            self._answers([(int("schema" in account.columns),)])
        elif "INFORMATION_SCHEMA" in statement:
            self._answers([(name,) for name in account.columns.get(values[1], [])])
        elif "COUNT(*)" in statement:
            self._answers([(account.rows,)])
        elif statement.startswith("SELECT"):
            self._answers([(account.batch,)] if account.batch else [])

    def _answers(self, rows: list[tuple[Any, ...]]) -> None:
        self.description, self.found = ["column"], rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.found

    def close(self) -> None:
        return


def export_to(account: Account, given: dict[str, str] = GIVEN) -> SnowflakeExport:
    return SnowflakeExport(given, "LAB.GOLD.KPIS", account.connect)


def test_schema_and_tables_are_made_and_rows_go_through_a_stage_into_one_transaction(shipment, kept):
    account, sent = Account(), shipment()
    done = export_to(account).deliver(sent, kept)
    assert (done.rows, done.known_there) == (2, False)
    path = sent.parts[0].path
    stage, landed = '"LAKELOGIC_STAGE_BBBBBBBBBBBBBBBB"', '"LAKELOGIC_ROWS_BBBBBBBBBBBBBBBB"'
    columns = '"REGION" VARCHAR, "GROSS_REVENUE_USD" NUMBER(14,2), "ORDERS" NUMBER(19,0)'
    assert [
        re.sub(r"\s+", " ", statement)
        for statement in account.statements
        if "SELECT" not in statement or statement.startswith("COPY")
    ] == [
        'CREATE SCHEMA IF NOT EXISTS "LAB"."GOLD"',
        f'CREATE TABLE IF NOT EXISTS "LAB"."GOLD"."KPIS" ({columns})',
        'CREATE TABLE IF NOT EXISTS "LAB"."GOLD"."LAKELOGIC_EXPORTS" ("DATASET" VARCHAR, "EXPORT_NAME" VARCHAR, '
        '"TARGET" VARCHAR, "BATCH_ID" VARCHAR, "TABLE_VERSION" NUMBER(19,0), "EXPORTED_ROWS" NUMBER(19,0), '
        '"EXPORTED_AT" TIMESTAMP_TZ(6))',
        'USE SCHEMA "LAB"."GOLD"',
        f"CREATE OR REPLACE TEMPORARY STAGE {stage}",
        f"CREATE OR REPLACE TEMPORARY TABLE {landed} ({columns})",
        f"PUT 'file://{path}' @{stage} AUTO_COMPRESS = FALSE OVERWRITE = TRUE",
        f'COPY INTO {landed} ("REGION", "GROSS_REVENUE_USD", "ORDERS") FROM (SELECT $1:"region"::VARCHAR, '
        f'$1:"gross_revenue_usd"::NUMBER(14,2), $1:"orders"::NUMBER(19,0) FROM @{stage}) '
        "FILE_FORMAT = (TYPE = PARQUET USE_LOGICAL_TYPE = TRUE) ON_ERROR = ABORT_STATEMENT",
        "BEGIN TRANSACTION",
        f'MERGE INTO "LAB"."GOLD"."KPIS" AS t USING {landed} AS s ON t."REGION" = s."REGION" WHEN MATCHED THEN UPDATE '
        'SET "GROSS_REVENUE_USD" = s."GROSS_REVENUE_USD", "ORDERS" = s."ORDERS" WHEN NOT MATCHED THEN INSERT '
        '("REGION", "GROSS_REVENUE_USD", "ORDERS") VALUES (s."REGION", s."GROSS_REVENUE_USD", s."ORDERS")',
        "COMMIT",
    ]
    remembered = next(said for said in account.said if said[0].startswith("MERGE") and "LAKELOGIC_EXPORTS" in said[0])
    assert remembered[1] == ("gold_kpis", "kpis", "LAB.GOLD.KPIS", "b" * 64, 7, 2, "2026-11-16T09:30:00.000000+00:00")
    assert account.statements.index(remembered[0]) == account.statements.index("COMMIT") - 1
    assert kept.calls >= 2


def test_no_value_stands_in_a_statement(shipment, kept):
    account = Account()
    export_to(account).deliver(shipment(dataset="x'); DROP TABLE k; --"), kept)
    assert not [statement for statement in account.statements if "DROP TABLE k" in statement]
    assert [values[0] for _, values in account.said if values and "DROP" in str(values[0])] == [
        "x'); DROP TABLE k; --"
    ] * 2


def test_what_is_there_is_not_made_again_and_a_new_column_is_added(shipment, kept):
    account = Account({"schema": [], "KPIS": ["REGION", "GROSS_REVENUE_USD"], "LAKELOGIC_EXPORTS": ["DATASET"]})
    export_to(account).deliver(shipment(), kept)
    made = [
        statement
        for statement in account.statements
        if statement.startswith(("CREATE SCHEMA", "CREATE TABLE", "ALTER"))
    ]
    assert made == ['ALTER TABLE "LAB"."GOLD"."KPIS" ADD COLUMN "ORDERS" NUMBER(19,0)']


def test_a_batch_that_arrived_is_not_sent_twice_unless_somebody_insists(shipment, kept):
    account = Account({"schema": []})
    account.batch = "b" * 64
    assert export_to(account).deliver(shipment(), kept).known_there
    assert not [statement for statement in account.statements if statement.startswith(("PUT", "MERGE", "BEGIN"))]
    assert not export_to(account).deliver(shipment(again=True), kept).known_there


def test_overwriting_deletes_and_inserts_in_one_transaction(shipment, kept):
    account = Account({"schema": []})
    export_to(account).deliver(shipment(mode="overwrite"), kept)
    inside = account.statements[account.statements.index("BEGIN TRANSACTION") :]
    assert inside[1] == 'DELETE FROM "LAB"."GOLD"."KPIS"'
    assert inside[2].startswith('INSERT INTO "LAB"."GOLD"."KPIS" ("REGION", "GROSS_REVENUE_USD", "ORDERS") SELECT ')


def test_rows_that_did_not_all_arrive_are_not_merged(shipment, kept):
    account = Account(rows=1)
    with pytest.raises(ExportError, match="2 rows were sent to Snowflake and 1 arrived"):
        export_to(account).deliver(shipment(), kept)
    assert "BEGIN TRANSACTION" not in account.statements


def test_a_merge_that_fails_is_rolled_back_and_said_without_secrets(shipment, kept):
    account = Account()
    account.fails["MERGE"] = ProgrammingError("Duplicate row detected, pa55-very-secret", 100090)
    with pytest.raises(ExportError) as told:
        export_to(account).deliver(shipment(), kept)
    assert account.statements[-1] == "ROLLBACK"
    assert (told.value.retry, told.value.code) == ("never", "LL-E045")
    assert "Duplicate row detected, ***" in told.value.message
    assert told.value.__cause__ is None


@pytest.mark.parametrize(
    ("error", "kind", "hint"),
    [
        (OperationalError("cannot connect"), ExportInterrupted, "Send it again"),
        (ProgrammingError("lock timeout", 625), ExportInterrupted, "Send it again"),
        (ConnectionResetError("gone"), ExportInterrupted, "Send it again"),
        (ProgrammingError("Insufficient privileges", 3001), ExportError, "CREATE SCHEMA"),
    ],
)
def test_an_error_says_whether_trying_again_helps(shipment, kept, error, kind, hint):
    account = Account()
    account.fails["CREATE SCHEMA"] = error
    with pytest.raises(ExportError) as told:
        export_to(account).deliver(shipment(), kept)
    assert type(told.value) is kind
    assert hint in (told.value.hint or "")


def test_signing_in_takes_a_password_or_a_key_and_binds_on_the_server(shipment, kept):
    account = Account()
    export_to(account).deliver(shipment(), kept)
    assert {name: account.options[name] for name in ("account", "user", "password", "paramstyle", "database")} == {
        "account": "org-acc", "user": "loader", "password": "pa55-very-secret", "paramstyle": "qmark", "database": "LAB",
    }  # fmt: skip
    keyed = {
        **GIVEN,
        "SNOWFLAKE_PRIVATE_KEY_PATH": "key.p8",
        "SNOWFLAKE_PRIVATE_KEY_PASSPHRASE": "p",
        "SNOWFLAKE_ROLE": "R",
    }
    export_to(account, keyed).deliver(shipment(), kept)
    assert "password" not in account.options
    assert [account.options[n] for n in ("authenticator", "private_key_file", "private_key_file_pwd", "role")] == [
        "SNOWFLAKE_JWT", "key.p8", "p", "R",
    ]  # fmt: skip


def test_a_wrong_password_is_a_wrong_password(shipment, kept):
    def refuse(**_: Any) -> None:
        raise ProgrammingError("Incorrect username or password was specified", 250001)

    with pytest.raises(CredentialError, match="does not let us in") as told:
        SnowflakeExport(GIVEN, "LAB.GOLD.KPIS", refuse).deliver(shipment(), kept)
    assert told.value.retry == "never"
