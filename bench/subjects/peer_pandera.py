"""The reference job with pandera on Polars: lazy validation, failure cases joined back to the rows by their number."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.reference import CODEC, COLUMNS
from bench.subjects.polars_hand import tests


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("pandera", "polars")}


def start(_: dict[str, Any]) -> Any:
    """The schema: each rule is a check of the whole frame that answers row by row."""
    import pandera.polars as pa
    import polars as pl

    from bench.reference import NAMES

    def checked(test: Any) -> Any:
        return lambda data: data.lazyframe.select(test.fill_null(value=False))

    checks = [
        pa.Check(checked(test), name=name, error=name, ignore_na=False)
        for name, test in zip(NAMES, tests(pl), strict=True)
    ]
    kinds = {"bigint": pl.Int64, "string": pl.String, "decimal(12,2)": pl.Decimal(12, 2), "date": pl.Date}
    columns = {name: pa.Column(kinds[kind], nullable=True) for name, kind in COLUMNS.items()}
    columns["order_id"] = pa.Column(pl.Int64, unique=True)
    return pl, pa.DataFrameSchema(columns, checks=checks)


def run(started: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job."""
    import pandera.errors

    pl, schema = started
    known = pl.read_parquet(job["customers"]).select("customer_id", is_customer=pl.lit(value=True))
    source = pl.read_parquet(job["files"]).join(known, on="customer_id", how="left", maintain_order="left")
    source = source.with_columns(
        _lakelogic_source=pl.lit(str(job["source"])),
        _lakelogic_processed_at=pl.lit(datetime.now(UTC)),
        _lakelogic_run_id=pl.lit("run"),
    )
    try:
        schema.validate(source, lazy=True)
        cases = pl.DataFrame({"index": [], "check": []})
    except pandera.errors.SchemaErrors as error:
        cases = error.failure_cases
    numbered = source.with_row_index("index")
    why = cases.group_by(pl.col("index").cast(numbered.schema["index"])).agg(pl.col("check").alias("why"))
    judged = numbered.join(why, on="index", how="left")
    digests = pl.Series(
        "email", [None if t is None else sha256(t.encode()).hexdigest() for t in source["email"].to_list()]
    )
    shown = [*COLUMNS, "_lakelogic_source", "_lakelogic_processed_at", "_lakelogic_run_id"]
    good = judged.with_columns(digests).filter(pl.col("why").is_null()).select(shown)
    good.write_parquet(out / "good.parquet", compression=CODEC["polars"])
    judged.filter(pl.col("why").is_not_null()).select(*shown, "why").write_parquet(
        out / "bad.parquet", compression=CODEC["polars"]
    )
    return {"good": [str(out / "good.parquet")], "bad": [str(out / "bad.parquet")], "unique": True, "rules": "why"}
