"""The reference job with spark-expectations: row and aggregate rules in a frame, rows that fail go to an error table.

The join to the reference table, lineage and the digest are by hand, before the rules; the digest is a column of its own
that takes the e-mail's place when the gate reads the table, because rules that judge the e-mail run on the same frame.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.reference import COLUMNS, RULES, predicates
from bench.subjects import spark_hand

KINDS = {
    **dict.fromkeys(("product_id", "table_name", "rule_type", "rule", "column_name", "expectation"), "string"),
    **dict.fromkeys(("action_if_failed", "tag", "description"), "string"),
    **dict.fromkeys(("enable_for_source_dq_validation", "enable_for_target_dq_validation", "is_active"), "boolean"),
    "enable_error_drop_alert": "boolean",
    "error_drop_threshold": "int",
    "query_dq_delimiter": "string",
    "enable_querydq_custom_output": "boolean",
    "priority": "string",
}


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("spark-expectations", "pyspark")}


def start(job: dict[str, Any]) -> Any:
    """A session whose tables lie beside the other outputs."""
    tables = {"spark.sql.warehouse.dir": str(Path(job["out"]) / "tables")}
    return spark_hand.session({**(job.get("settings") or {}), **tables})


def stop(spark: Any) -> None:
    """End the session."""
    spark.stop()


def rules(spark: Any, table: str) -> Any:
    """The rules as a frame."""
    # Its check of rules knows no raw literals, so a backslash stands twice.
    tests = [test.replace("\\", "\\\\") for test in predicates("phone RLIKE '{}'", "known_id IS NOT NULL", prefix="")]
    rows = [
        ("bench", table, "row_dq", rule.name, "any", test, "drop", rule.category, rule.name,
         True, True, True, False, 0, "", False, "low")
        for rule, test in zip(RULES, tests, strict=True)
    ]  # fmt: skip
    unique = "count(distinct order_id) = count(order_id)"
    rows.append(
        ("bench", table, "agg_dq", "id_unique", "order_id", unique, "fail", "uniqueness", "ids are unique",
         False, True, True, False, 0, "", False, "low")
    )  # fmt: skip
    return spark.createDataFrame(rows, ", ".join(f"{name} {kind}" for name, kind in KINDS.items()))


def run(spark: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job."""
    from pyspark.sql import functions as f
    from spark_expectations.config.user_config import Constants
    from spark_expectations.core.expectations import SparkExpectations, WrappedDataFrameWriter

    table = f"default.orders_{out.name}"
    writer = WrappedDataFrameWriter().mode("append").format("parquet")
    expectations = SparkExpectations(
        product_id="bench",
        rules_df=rules(spark, table),
        stats_table=f"default.stats_{out.name}",
        stats_table_writer=WrappedDataFrameWriter().mode("append").format("parquet"),
        target_and_error_table_writer=writer,
        stats_streaming_options={Constants.se_enable_streaming: False},
    )
    quiet = dict.fromkeys(
        (
            Constants.se_notifications_on_start, Constants.se_notifications_on_completion,
            Constants.se_notifications_on_fail, Constants.se_notifications_on_error_drop_exceeds_threshold_breach,
        ),
        False,
    )  # fmt: skip

    @expectations.with_expectations(table, write_to_table=True, user_conf=quiet, target_table_view="orders_seen")
    def orders() -> Any:
        known = spark.read.parquet(job["customers"]).selectExpr("customer_id AS known_id")
        source = spark.read.parquet(*job["files"]).selectExpr(*COLUMNS, "_metadata.file_path AS _lakelogic_source")
        joined = source.join(f.broadcast(known), f.expr("customer_id = known_id"), "left")
        return joined.selectExpr(
            "*", "sha2(email, 256) AS email_digest", "current_timestamp() AS _lakelogic_processed_at",
            "'run' AS _lakelogic_run_id",
        )  # fmt: skip

    orders()
    folder = Path(job["out"]) / "tables"
    files = {
        side: sorted(str(file) for file in (folder / f"orders_{out.name}{end}").glob("*.parquet"))
        for side, end in (("good", ""), ("bad", "_error"))
    }
    return {
        **files,
        "unique": True,  # the aggregate rule fails the run otherwise
        "email": "email_digest",
        "rules": "list_transform(meta_row_dq_results, lambda x: x['rule'])",
    }
