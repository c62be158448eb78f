"""A gold table of two regions, and a contract around it; what an export is given is made by hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakelogic.exports import packing
from lakelogic.exports.base import Shipment

SCHEMA = pa.schema([("region", pa.string()), ("gross_revenue_usd", pa.decimal128(14, 2)), ("orders", pa.int64())])
ROWS = [
    {"region": "east", "gross_revenue_usd": Decimal("305.09"), "orders": 2},
    {"region": "we'st\"`", "gross_revenue_usd": None, "orders": 1},
]
AT = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
VARIABLES = ("SNOWFLAKE_", "DATABRICKS_", "AWS_", "S3_")


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has set, a test begins without it."""
    for name in list(os.environ):
        if name.startswith(VARIABLES):
            monkeypatch.delenv(name)


@pytest.fixture
def shipment(tmp_path: Path) -> Callable[..., Shipment]:
    """Rows ready to be sent: `shipment(mode="overwrite", rows=[…])`."""
    count = iter(range(100))

    def make(target: str = "LAB.GOLD.KPIS", rows: list[dict[str, Any]] | None = None, **changed: Any) -> Shipment:
        folder = tmp_path / f"shipment-{next(count)}"
        folder.mkdir()
        table = pa.Table.from_pylist(ROWS if rows is None else rows, SCHEMA)
        form = changed.pop("form", "parquet")
        parts = packing.pack(table.to_batches(), SCHEMA, folder, form, changed.pop("part_bytes", packing.PART_BYTES))
        made = Shipment(
            "gold_kpis", "kpis", target, "merge", ("region",), SCHEMA, parts, "b" * 64, 7, AT
        )  # fmt: skip
        return replace(made, **changed)

    return make


@pytest.fixture
def kept() -> Iterator[Callable[[], None]]:
    """What a lease would be: counts how often it was kept."""

    def keep() -> None:
        keep.calls += 1  # type: ignore[attr-defined]

    keep.calls = 0  # type: ignore[attr-defined]
    return keep  # type: ignore[return-value]
