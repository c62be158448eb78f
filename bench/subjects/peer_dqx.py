"""The reference job with Databricks Labs DQX: checks as classes, applied and split, both sides written.

Lineage, the digest and the writing are by hand, as DQX leaves them to its users. Uniqueness is its check `is_unique`,
which judges rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.reference import CODEC, COLUMNS, COUNTRIES, EMAIL, PHONE, STATUSES
from bench.subjects import spark_hand


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("databricks-labs-dqx", "pyspark")}


def start(job: dict[str, Any]) -> Any:
    """A session, and the engine as its documentation shows it for local use: with a stand-in for the workspace."""
    from unittest.mock import MagicMock

    from databricks.labs.dqx.engine import DQEngine
    from databricks.sdk import WorkspaceClient

    spark = spark_hand.session(job.get("settings"))
    return spark, DQEngine(MagicMock(spec=WorkspaceClient), spark)


def stop(started: Any) -> None:
    """End the session."""
    started[0].stop()


def checks() -> list[Any]:
    """The rules, in their order."""
    from databricks.labs.dqx import check_funcs as c
    from databricks.labs.dqx.rule import DQDatasetRule, DQRowRule

    def row(name: str, function: Any, column: str | None = None, **arguments: Any) -> Any:
        return DQRowRule(
            name=name, criticality="error", check_func=function, column=column, check_func_kwargs=arguments
        )

    def sql(name: str, expression: str) -> Any:
        return row(name, c.sql_expression, expression=f"({expression}) IS TRUE", msg=name)

    def texts(words: tuple[str, ...]) -> list[str]:
        return [f"'{word}'" for word in words]  # a plain word would be read as the name of a column

    return [
        row("customer_known", c.is_not_null, "customer_id"),
        row("email_there", c.is_not_null, "email"),
        row("sku_there", c.is_not_null, "sku"),
        sql("email_looks_right", f"email IS NULL OR email LIKE '{EMAIL}'"),
        row("phone_looks_right", c.regex_match, "phone", regex=PHONE),
        row("amount_in_range", c.is_in_range, "amount", min_limit=0, max_limit=10_000),
        row("country_known", c.is_not_null_and_is_in_list, "country", allowed=texts(COUNTRIES)),
        row("status_known", c.is_not_null_and_is_in_list, "status", allowed=texts(STATUSES)),
        sql("discount_below_amount", "discount <= amount"),
        sql("shipped_after_order", "shipped_on >= ordered_on"),
        sql("note_not_too_long", "length(note) BETWEEN 1 AND 60"),
        DQDatasetRule(
            name="customer_exists", criticality="error", check_func=c.foreign_key, columns=["customer_id"],
            check_func_kwargs={"ref_columns": ["customer_id"], "ref_df_name": "customers"},
        ),
        DQDatasetRule(name="id_unique", criticality="error", check_func=c.is_unique, columns=["order_id"]),
    ]  # fmt: skip


def run(started: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job."""
    spark, engine = started
    source = spark.read.parquet(*job["files"]).selectExpr(*COLUMNS, "_metadata.file_path AS _lakelogic_source")
    known = spark.read.parquet(job["customers"])
    good, bad = engine.apply_checks_and_split(source, checks(), ref_dfs={"customers": known})
    lineage = ["_lakelogic_source", "current_timestamp() AS _lakelogic_processed_at", "'run' AS _lakelogic_run_id"]
    shown = ["sha2(email, 256) AS email" if name == "email" else name for name in COLUMNS]
    good.selectExpr(*shown, *lineage).write.option("compression", CODEC["spark"]).parquet(str(out / "good"))
    bad.selectExpr(*COLUMNS, "_errors", *lineage).write.option("compression", CODEC["spark"]).parquet(str(out / "bad"))
    files = {side: sorted(str(file) for file in (out / side).glob("*.parquet")) for side in ("good", "bad")}
    # A row whose id is not unique would be bad, and then the gate would find it among the bad rows.
    return {**files, "unique": True, "rules": "list_transform(_errors, lambda x: x.name)"}
