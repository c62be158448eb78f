"""The reference job written by hand for Polars, in the form that won: one plan, both sinks and the ids at once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.reference import CODEC, COLUMNS, COUNTRIES, NAMES, PHONE, RULES, STATUSES
from bench.subjects.commits import commit, told

LIKE = r"(?s).@.+\.."  # what `%_@_%._%` says


def versions() -> dict[str, str]:
    """What ran."""
    import polars as pl

    return {"polars": pl.__version__}


def start(_: dict[str, Any]) -> Any:
    """The library."""
    import polars as pl

    return pl


def read(pl: Any, job: dict[str, Any]) -> Any:
    """The source, lazily, with the types of the model."""
    if job["format"] == "parquet":
        return pl.scan_parquet(job["files"], include_file_paths="_lakelogic_source")
    kinds = {"bigint": pl.Int64, "string": pl.String, "decimal(12,2)": pl.Decimal(12, 2), "date": pl.Date}
    schema = {name: kinds[kind] for name, kind in COLUMNS.items()}
    return pl.scan_csv(job["files"], schema=schema, include_file_paths="_lakelogic_source")


def tests(pl: Any) -> list[Any]:
    """The rules, in their order: TRUE is a pass, NULL is not."""
    c = pl.col
    return [
        c("customer_id").is_not_null(),
        c("email").is_not_null(),
        c("sku").is_not_null(),
        c("email").is_null() | c("email").str.contains(LIKE),
        c("phone").str.contains(PHONE.replace("$", r"\z")),
        c("amount").is_between(0, 10_000),
        c("country").is_in(COUNTRIES),
        c("status").is_in(STATUSES),
        c("discount") <= c("amount"),
        c("shipped_on") >= c("ordered_on"),
        c("note").str.len_chars().is_between(1, 60),
        c("customer_id").is_null() | c("is_customer").is_not_null(),
    ]


def run(pl: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job, or with `only: io` reading and writing alone."""
    written = {"compression": CODEC["polars"], "maintain_order": False}
    source = read(pl, job)
    if job["only"] == "io":
        source.select(list(COLUMNS)).sink_parquet(out / "all.parquet", **written)
        return {}
    from polars_hash import CryptographicHashingNameSpace

    known = pl.scan_parquet(job["customers"]).select("customer_id", is_customer=pl.lit(True))
    faults = pl.sum_horizontal(
        pl.when(test).then(pl.lit(0, pl.Int64)).otherwise(pl.lit(1 << at, pl.Int64))
        for at, test in enumerate(tests(pl))
    )
    lineage = [
        pl.col("_lakelogic_source"),
        pl.lit(datetime.now(UTC)).alias("_lakelogic_processed_at"),
        pl.lit("run").alias("_lakelogic_run_id"),
    ]
    judged = source.join(known, on="customer_id", how="left").with_columns(m=faults)
    good = judged.filter(pl.col("m") == 0).select(
        *(CryptographicHashingNameSpace(pl.col(n)).sha2_256() if n == "email" else pl.col(n) for n in COLUMNS), *lineage
    )

    def chosen(words: list[str]) -> Any:
        hits = [pl.when(pl.col("m") & (1 << at) != 0).then(pl.lit(word)) for at, word in enumerate(words)]
        return pl.concat_list(hits).list.drop_nulls()

    errors = chosen([f"Rule failed: {name}" for name in NAMES]).alias("_lakelogic_errors")
    kinds = chosen([rule.category for rule in RULES]).list.unique(maintain_order=True).alias("_lakelogic_categories")
    bad = judged.filter(pl.col("m") != 0).select(*COLUMNS, errors, kinds, *lineage)
    for side in ("good", "bad"):
        (out / side).mkdir()
    *_, ids = pl.collect_all(
        [
            good.sink_parquet(out / "good" / "part.parquet", lazy=True, **written),
            bad.sink_parquet(out / "bad" / "part.parquet", lazy=True, **written),
            good.select(pl.col("order_id").n_unique() == pl.len()),
        ],
        engine="streaming",
    )
    files = [commit(out / side, (out / side).glob("*.parquet")) for side in ("good", "bad")]
    return told(*files, unique=ids.item(), rules="list_transform(_lakelogic_errors, lambda x: substr(x, 14))")
