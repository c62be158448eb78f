"""The reference job written by hand for Spark, in the form that won: one pass, one mask, one write parted by side."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from bench.reference import CODEC, COLUMNS, NAMES, RULES, predicates
from bench.subjects.commits import commit, told

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "4g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.maxConcurrentOutputFileWriters": "8",
}


def versions() -> dict[str, str]:
    """What ran."""
    import pyspark

    return {"pyspark": pyspark.__version__}


def session(more: dict[str, str] | None = None) -> Any:
    """A local session on all cores, quiet."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[*]").appName("bench")
    for name, value in {**SETTINGS, **(more or {})}.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def start(job: dict[str, Any]) -> Any:
    """A session."""
    return session(job.get("settings"))


def stop(spark: Any) -> None:
    """End the session; the JVM ends with this process."""
    spark.stop()


def counters(spark: Any) -> tuple[int, int, int]:
    """Jobs, records read and bytes read so far, as Spark itself counts them."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark.sparkContext._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, spark.sparkContext._gateway.new_array(spark._jvm.double, 0), None)
    found = [stages.apply(at) for at in range(stages.size())]
    read = sum(one.inputRecords() for one in found), sum(one.inputBytes() for one in found)
    return store.jobsList(None).size(), *read


def read(spark: Any, job: dict[str, Any]) -> Any:
    """The source, with the types of the model."""
    if job["format"] == "parquet":
        return spark.read.parquet(*job["files"])
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    return spark.read.csv(job["files"], schema=schema, header=True)


def judged(spark: Any, job: dict[str, Any]) -> Any:
    """Each row with its mask: a bit for each rule that it breaks."""
    from pyspark.sql import functions as f

    known = spark.read.parquet(job["customers"]).selectExpr("customer_id AS known_id")
    rows = read(spark, job).selectExpr(*COLUMNS, "_metadata.file_path AS _lakelogic_source")
    joined = rows.join(f.broadcast(known), f.expr("customer_id = known_id"), "left")
    tests = predicates("phone RLIKE r'{}'", "known_id IS NOT NULL", prefix="")
    mask = " | ".join(f"CASE WHEN {test} THEN 0L ELSE {1 << at}L END" for at, test in enumerate(tests))
    return joined.selectExpr(*COLUMNS, "_lakelogic_source", f"{mask} AS m")


def run(spark: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job, or with `only: io` reading and writing alone."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    if job["only"] == "io":
        read(spark, job).write.option("compression", CODEC["spark"]).parquet(str(out / "all"))
        return {}
    before = counters(spark)
    email = {"digest": "sha2(email, 256)", "none": "email"}[job["mask"]]
    shown = [f"CASE WHEN m = 0 THEN {email} ELSE email END AS email" if n == "email" else n for n in COLUMNS]
    chosen = "filter(array({}), (x, i) -> (shiftright(m, i) & 1L) = 1L)"
    names = chosen.format(", ".join(f"'Rule failed: {name}'" for name in NAMES))
    kinds = chosen.format(", ".join(f"'{rule.category}'" for rule in RULES))
    counted = Observation()
    rows = judged(spark, job).selectExpr(
        *shown,
        f"CASE WHEN m <> 0 THEN {names} END AS _lakelogic_errors",
        f"CASE WHEN m <> 0 THEN array_distinct({kinds}) END AS _lakelogic_categories",
        "_lakelogic_source",
        "current_timestamp() AS _lakelogic_processed_at",
        "'run' AS _lakelogic_run_id",
        "CASE WHEN m = 0 THEN 'good' ELSE 'bad' END AS side",
    )
    rows = rows.observe(counted, f.count(f.lit(1)).alias("rows"), f.count_if(f.expr("side = 'bad'")).alias("bad"))
    rows.write.partitionBy("side").option("compression", CODEC["spark"]).parquet(str(out / "staged"))
    assert counted.get["rows"] == job["rows"]
    sides = {side: out / "staged" / f"side={side}" for side in ("good", "bad")}
    ids = spark.read.parquet(str(sides["good"])).selectExpr("count(DISTINCT order_id) = count(order_id)")
    unique = ids.collect()[0][0]
    files = [commit(root, root.glob("*.parquet")) for root in sides.values()]
    after = counters(spark)
    return told(
        *files, unique=unique, rules="list_transform(_lakelogic_errors, lambda x: substr(x, 14))",
        spark_jobs=after[0] - before[0], spark_records=after[1] - before[1], spark_bytes=after[2] - before[2],
    )  # fmt: skip
