"""Changes into a large Delta table: by LakeLogic, by delta-rs `merge` by hand, by Spark's Delta `MERGE` by hand.

`start` makes the table once for all processes, `prepare` puts it back as it was, `run` applies the changes.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from bench.reference import THREE_COLUMNS

FIELDS = {"id": "bigint", "customer": "string", "amount": "decimal(12,2)", "seen": "timestamp"}
FIRST, LAST = "1900-01-01 00:00:00", "9999-12-31 00:00:00"
# What a history has beside the contract's columns: a surrogate key (SHA-256 of the key and the beginning) and a number.
HISTORY = ("_sk", "effective_from", "effective_to", "is_current", "_version")
TABLE = "lakelogic_warehouse/bench/silver/orders"
# Everybody writes three columns of lineage, as in the reference job.
STAMPS = {"_lakelogic_source": "'changes.parquet'", "_lakelogic_processed_at": "now()", "_lakelogic_run_id": "'run'"}


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("lakelogic", "deltalake", "pyspark")}


def contract(strategy: str) -> dict[str, Any]:
    """The table as a contract; files land in the working folder."""
    settled: dict[str, Any] = {"strategy": "merge", "sequence_by": "seen"}
    if strategy == "scd2":
        settled = {"strategy": "scd2", "scd2": {"track_columns": ["customer", "amount"], "timestamp_field": "seen"}}
    return {
        "dataset": "orders",
        "source": {"path": "landing/*.parquet", "load_mode": "incremental"},
        "model": {"fields": [{"name": name, "type": kind} for name, kind in FIELDS.items()]},
        "materialization": {**settled, "primary_key": ["id"], "target_path": "bench.silver.orders"},
        "lineage": THREE_COLUMNS,
    }


def _copy(source: str, target: str) -> None:
    # Data files never change, so a second name will do; everything else might be written to.
    if source.endswith(".parquet") and "/landing/" not in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def start(job: dict[str, Any]) -> Any:
    """The engine or session, and the table before the changes, made where it is missing."""
    work, kept = Path(job["work"]), Path(job["kept"])
    work.mkdir(parents=True, exist_ok=True)
    started: Any = None
    if job["by"] == "lakelogic":
        from lakelogic.engines import registry

        started = registry.load(job["engine"], **job.get("engine_options", {}))
    elif job["by"] == "spark":
        from bench.subjects import spark_hand
        from lakelogic.engines.spark.runtime import installation

        jars = os.pathsep.join(str(jar) for jar in installation.jars())
        started = spark_hand.session(
            {
                "spark.driver.extraClassPath": jars,
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
                "spark.databricks.delta.snapshotPartitions": "1",
            }
        )
    if not (kept / "done").exists():
        shutil.rmtree(kept, ignore_errors=True)
        shutil.rmtree(work)
        _make(started, job, work)
        shutil.copytree(work, kept, copy_function=_copy)
        (kept / "done").touch()
    return started


def _make(started: Any, job: dict[str, Any], work: Path) -> None:
    (work / "landing").mkdir(parents=True)
    if job["by"] == "lakelogic":
        from lakelogic import DataProcessor

        os.chdir(work)
        for at, file in enumerate(job["base"]):
            shutil.copy2(file, work / "landing" / f"base-{at:03d}.parquet")
        DataProcessor(contract(job["strategy"]), started).run().raise_for_status()
        return
    import pyarrow.parquet as pq
    from deltalake import write_deltalake

    for file in job["base"]:
        rows = pq.read_table(file)
        if job["strategy"] == "scd2":
            import duckdb

            connection = duckdb.connect()
            connection.execute("SET timezone = 'UTC'")
            connection.register("base", rows)
            rows = connection.sql(
                f"SELECT *, sha256(id || '|{FIRST}') AS _sk, TIMESTAMPTZ '{FIRST}+00' AS effective_from, "
                f"TIMESTAMPTZ '{LAST}+00' AS effective_to, true AS is_current, 1 AS _version FROM base"
            ).to_arrow_table()
        write_deltalake(str(work / TABLE), _stamped(rows), mode="append")


def _stamped(rows: Any) -> Any:
    """Rows in Arrow with their lineage."""
    from datetime import UTC, datetime

    import pyarrow as pa

    now = pa.scalar(datetime.now(UTC), pa.timestamp("us", "UTC"))
    for name, value in zip(STAMPS, (pa.scalar("changes.parquet"), now, pa.scalar("run")), strict=True):
        rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
    return rows


def prepare(_: Any, job: dict[str, Any]) -> None:
    """The table as it was, and the changes landed."""
    work = Path(job["work"])
    os.chdir("/")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(job["kept"], work, copy_function=_copy)
    shutil.copy2(job["changes"], work / "landing" / "changes.parquet")


def run(started: Any, job: dict[str, Any], _: Path) -> dict[str, Any]:
    """Apply the changes."""
    work = Path(job["work"])
    told = {"good": [], "bad": [], "table": str(work / TABLE)}
    if job["by"] == "lakelogic":
        from lakelogic import DataProcessor

        os.chdir(work)
        result = DataProcessor(contract(job["strategy"]), started).run()
        result.raise_for_status()
        return {**told, "rewritten_files": result.report["applied"].get("rewritten_files", 0)}
    by_hand = {"delta-rs": _by_delta_rs, "spark": _by_spark}[job["by"]]
    by_hand(started, job, work)
    return told


def _by_delta_rs(_: Any, job: dict[str, Any], work: Path) -> None:
    import pyarrow.parquet as pq
    from deltalake import DeltaTable

    table, changes = DeltaTable(str(work / TABLE)), _stamped(pq.read_table(work / "landing" / "changes.parquet"))
    if job["strategy"] == "merge":
        merging = table.merge(changes, "t.id = s.id", source_alias="s", target_alias="t")
        merging.when_matched_update_all("s.seen >= t.seen").when_not_matched_insert_all().execute()
        return
    # Each change stands twice: with its key it closes the current version, without one it is inserted as the next.
    import duckdb

    connection = duckdb.connect()
    connection.register("changes", changes)
    known = (
        f"SELECT DISTINCT t.id AS known, t._version AS version FROM read_parquet({table.file_uris()!r}) t "
        "JOIN changes s ON t.id = s.id WHERE t.is_current"
    )
    began = f"CASE WHEN known IS NULL THEN TIMESTAMPTZ '{FIRST}+00' ELSE seen END AS started"
    numbered = "CAST(coalesce(version, 0) + 1 AS INTEGER) AS number, sha256(id || '|' || started) AS surrogate"
    rows = connection.sql(
        f"WITH rows AS MATERIALIZED (SELECT c.*, {began}, TIMESTAMPTZ '{LAST}+00' AS ended, {numbered} "
        f"FROM changes c LEFT JOIN ({known}) ON c.id = known) "
        "SELECT id AS key, * FROM rows UNION ALL SELECT NULL AS key, * FROM rows"
    ).to_arrow_table()
    merging = table.merge(rows, "t.id = s.key AND t.is_current", source_alias="s", target_alias="t")
    merging = merging.when_matched_update({"effective_to": "s.seen", "is_current": "false"})
    values = {**{name: f"s.{name}" for name in (*FIELDS, *STAMPS)}, "effective_from": "s.started", "is_current": "true"}
    values |= {"_sk": "s.surrogate", "_version": "s.number"}
    values["effective_to"] = "s.ended"  # as a column: a cast of text goes through nanoseconds, which end in 2262
    merging.when_not_matched_insert(values, predicate="s.key IS NULL").execute()


def _by_spark(spark: Any, job: dict[str, Any], work: Path) -> None:
    table, changes = f"delta.`{work / TABLE}`", f"parquet.`{work / 'landing' / 'changes.parquet'}`"
    stamps = ", ".join(f"{value} AS {name}" for name, value in STAMPS.items())
    if job["strategy"] == "merge":
        spark.sql(
            f"MERGE INTO {table} t USING (SELECT *, {stamps} FROM {changes}) s ON t.id = s.id "
            "WHEN MATCHED AND s.seen >= t.seen THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        return
    known = (
        f"SELECT t.id AS known, t._version AS version FROM {table} t JOIN {changes} s ON t.id = s.id WHERE t.is_current"
    )
    started = f"CASE WHEN known IS NULL THEN TIMESTAMP '{FIRST}' ELSE seen END AS started"
    numbered = "coalesce(version, 0) + 1 AS number, sha2(concat(id, '|', started), 256) AS surrogate"
    rows = f"SELECT c.*, {stamps}, {started}, {numbered} FROM {changes} c LEFT JOIN ({known}) ON c.id = known"
    both = f"SELECT id AS key, * FROM ({rows}) UNION ALL SELECT CAST(NULL AS BIGINT) AS key, * FROM ({rows})"
    names = ", ".join((*FIELDS, *STAMPS, *HISTORY))
    history = ("s.surrogate", "s.started", f"TIMESTAMP '{LAST}'", "true", "s.number")
    values = ", ".join((*(f"s.{name}" for name in (*FIELDS, *STAMPS)), *history))
    spark.sql(
        f"MERGE INTO {table} t USING ({both}) s ON t.id = s.key AND t.is_current "
        "WHEN MATCHED THEN UPDATE SET effective_to = s.seen, is_current = false "
        f"WHEN NOT MATCHED AND s.key IS NULL THEN INSERT ({names}) VALUES ({values})"
    )


def stop(started: Any) -> None:
    """Give back what was started."""
    if started is not None:
        (started.close if hasattr(started, "close") else started.stop)()
