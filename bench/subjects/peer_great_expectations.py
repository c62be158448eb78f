"""The reference job with Great Expectations on pandas: complete results name the rows that break each expectation.

Splitting the rows by these names, the digest, lineage and the writing are by hand.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.reference import COUNTRIES, NAMES, PHONE, STATUSES

LIKE = r"(?s)^.+@.+\..+$"


def versions() -> dict[str, str]:
    """What ran."""
    from importlib.metadata import version

    return {name: version(name) for name in ("great-expectations", "pandas")}


def start(_: dict[str, Any]) -> Any:
    """A context without files and without anybody being told."""
    import os

    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("bench").add_dataframe_asset("orders")
    return gx, asset.add_batch_definition_whole_dataframe("all")


def run(started: Any, job: dict[str, Any], out: Path) -> dict[str, Any]:
    """The whole job."""
    import pandas as pd

    gx, definition = started
    rows = pd.concat([pd.read_parquet(file) for file in job["files"]], ignore_index=True)
    known = pd.read_parquet(job["customers"])["customer_id"].tolist()
    e = gx.expectations
    asked = [
        e.ExpectColumnValuesToNotBeNull(column="customer_id"),
        e.ExpectColumnValuesToNotBeNull(column="email"),
        e.ExpectColumnValuesToNotBeNull(column="sku"),
        e.ExpectColumnValuesToMatchRegex(column="email", regex=LIKE),
        e.ExpectColumnValuesToMatchRegex(column="phone", regex=PHONE),
        e.ExpectColumnValuesToBeBetween(column="amount", min_value=0, max_value=10_000),
        e.ExpectColumnValuesToBeInSet(column="country", value_set=list(COUNTRIES)),
        e.ExpectColumnValuesToBeInSet(column="status", value_set=list(STATUSES)),
        e.ExpectColumnPairValuesAToBeGreaterThanB(column_A="amount", column_B="discount", or_equal=True),
        e.ExpectColumnPairValuesAToBeGreaterThanB(column_A="shipped_on", column_B="ordered_on", or_equal=True),
        e.ExpectColumnValueLengthsToBeBetween(column="note", min_value=1, max_value=60),
        e.ExpectColumnValuesToBeInSet(column="customer_id", value_set=known),
        e.ExpectColumnValuesToBeUnique(column="order_id"),
    ]
    # Results come in an order of their own, so each expectation carries its name.
    suite = [one.copy(update={"meta": {"rule": name}}) for name, one in zip((*NAMES, "id_unique"), asked, strict=True)]
    batch = definition.get_batch({"dataframe": rows})
    result = batch.validate(
        gx.ExpectationSuite("orders", expectations=suite), result_format={"result_format": "COMPLETE"}
    )
    why: dict[int, list[str]] = {}
    unique = False
    for one in result.results:
        name = one.expectation_config.meta["rule"]
        listed = one.result.get("unexpected_index_list") or []
        if name == "id_unique":
            unique = bool(one.success)
            continue
        for row in listed:
            why.setdefault(row, []).append(name)
    bad = rows.index.isin(list(why))
    lineage: dict[str, Any] = {"_lakelogic_source": str(job["source"]), "_lakelogic_run_id": "run"}
    lineage["_lakelogic_processed_at"] = datetime.now(UTC)
    good = rows[~bad].assign(**lineage)
    good["email"] = [None if text is None else sha256(text.encode()).hexdigest() for text in good["email"]]
    failing = rows[bad].assign(**lineage)
    failing["why"] = [why[row] for row in failing.index]
    good.to_parquet(out / "good.parquet", compression="zstd", index=False)
    failing.to_parquet(out / "bad.parquet", compression="zstd", index=False)
    return {"good": [str(out / "good.parquet")], "bad": [str(out / "bad.parquet")], "unique": unique, "rules": "why"}
