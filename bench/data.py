"""Make the data of the reference job: seeded, in Parquet and CSV, with faults that are known because they were planted.

A million rows take seconds. Each rule is broken by the same share of rows, independently of the others, so that 3.8 %
of the rows are bad and some are bad for several reasons. `faults.parquet` holds the faults of each bad row.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from bench.environments import home
from bench.reference import COUNTRIES, CUSTOMERS, RULES, STATUSES

VERSION = 1  # part of the folder's name: data made differently is other data
SEED = 20_260_101
BAD = 0.038
PART = 500_000
GROUP = 125_000
SCHEMA = pa.schema(
    [
        ("order_id", pa.int64()),
        ("customer_id", pa.int64()),
        ("email", pa.string()),
        ("phone", pa.string()),
        ("country", pa.string()),
        ("status", pa.string()),
        ("amount", pa.decimal128(12, 2)),
        ("discount", pa.decimal128(12, 2)),
        ("ordered_on", pa.date32()),
        ("shipped_on", pa.date32()),
        ("sku", pa.string()),
        ("note", pa.string()),
    ]
)
BIT = {rule.name: 1 << at for at, rule in enumerate(RULES)}


@dataclass(frozen=True, slots=True)
class Data:
    """Where the data of a size lies, and how much there is of it."""

    folder: Path
    rows: int
    bad: int

    @property
    def customers(self) -> Path:
        """The reference table."""
        return self.folder / "customers.parquet"

    @property
    def faults(self) -> Path:
        """The faults of each bad row."""
        return self.folder / "faults.parquet"

    def files(self, kind: str) -> list[Path]:
        """The files of the source, in order."""
        return sorted((self.folder / kind).glob(f"*.{kind}"))

    def pattern(self, kind: str) -> Path:
        """The source as a pattern of paths."""
        return self.folder / kind / f"*.{kind}"

    def size(self, kind: str) -> int:
        """Bytes of the source."""
        return sum(file.stat().st_size for file in self.files(kind))


def _texts(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _number(values: np.ndarray, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(values).cast(pa.string()), width, "0")


def _money(cents: np.ndarray) -> pa.Array:
    words = np.stack([cents, cents >> 63], axis=1).astype(np.int64)  # a decimal is two words, the lower one first
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(np.ascontiguousarray(words))])


def _masked(values: pa.Array, where: np.ndarray, other: pa.Array | pa.Scalar) -> pa.Array:
    return pc.if_else(pa.array(where), other, values)


def make_part(start: int, rows: int) -> tuple[pa.Table, pa.Table]:
    """The rows from `start` on, and the faults of the bad ones among them; always the same for the same numbers."""
    draw = np.random.default_rng([SEED, start])
    share = 1 - (1 - BAD) ** (1 / len(RULES))
    broken = {rule.name: draw.random(rows) < share for rule in RULES}
    # A value that is not there cannot be wrong in another way.
    broken["email_looks_right"] &= ~broken["email_there"]
    broken["customer_exists"] &= ~broken["customer_known"]
    ids = np.arange(start, start + rows, dtype=np.int64)
    customers = draw.integers(1, CUSTOMERS + 1, rows)
    customers = np.where(broken["customer_exists"], customers + 10 * CUSTOMERS, customers)
    people, domain = draw.integers(0, 5_000_000, rows), draw.integers(0, 50, rows)
    email = _texts(
        "person", pa.array(people).cast(pa.string()), "@mail", pa.array(domain).cast(pa.string()), ".example"
    )
    wrong = _texts("person", pa.array(people).cast(pa.string()), " at mail")
    email = _masked(
        _masked(email, broken["email_looks_right"], wrong), broken["email_there"], pa.scalar(None, pa.string())
    )
    area, digits = _number(draw.integers(0, 1000, rows), 3), _number(draw.integers(0, 10**6, rows), 6)
    phone = _masked(_texts("+49 ", area, " ", digits), broken["phone_looks_right"], _texts("0", area, "/", digits))
    cents = draw.integers(100, 1_000_000, rows)
    cents = np.where(broken["amount_in_range"], cents + 1_000_000, cents)
    off = np.where(broken["discount_below_amount"], cents + 100, cents // 10)
    day = (date(2024, 1, 1) - date(1970, 1, 1)).days + draw.integers(0, 700, rows)
    sent = np.where(broken["shipped_after_order"], day - 3, day + draw.integers(0, 10, rows)).astype(np.int32)
    known, stages = pa.array(COUNTRIES), pa.array(STATUSES)
    country = known.take(pa.array(draw.integers(0, len(COUNTRIES), rows)))
    status = stages.take(pa.array(draw.integers(0, len(STATUSES), rows)))
    sku = _texts("SKU-", _number(draw.integers(0, 200_000, rows), 6))
    door = pa.array(draw.integers(0, 100_000, rows)).cast(pa.string())
    note = _texts("Leave it at door ", door, ", please")
    long = _texts(note, ", and if nobody answers, ring at the house next to it twice")
    table = pa.table(
        [
            pa.array(ids),
            _masked(pa.array(customers), broken["customer_known"], pa.scalar(None, pa.int64())),
            email,
            phone,
            _masked(country, broken["country_known"], pa.scalar("XX")),
            _masked(status, broken["status_known"], pa.scalar("lost")),
            _money(cents),
            _money(off),
            pa.array(day.astype(np.int32)).cast(pa.date32()),
            pa.array(sent).cast(pa.date32()),
            _masked(sku, broken["sku_there"], pa.scalar(None, pa.string())),
            _masked(note, broken["note_not_too_long"], long),
        ],
        schema=SCHEMA,
    )
    faults = sum((broken[name].astype(np.int64) * bit for name, bit in BIT.items()), np.zeros(rows, np.int64))
    bad = faults != 0
    return table, pa.table({"order_id": pa.array(ids[bad]), "faults": pa.array(faults[bad])})


def parts(rows: int) -> Iterator[tuple[int, pa.Table, pa.Table]]:
    """All parts of the data, one after the other."""
    for at, start in enumerate(range(0, rows, PART)):
        yield at, *make_part(start, min(PART, rows - start))


def customers() -> pa.Table:
    """The reference table: a hundred thousand customers."""
    ids = np.arange(1, CUSTOMERS + 1)
    return pa.table({"customer_id": pa.array(ids), "name": _texts("Customer ", _number(ids, 6))})


def ensure(rows: int, kinds: tuple[str, ...] = ("parquet",)) -> Data:
    """The data of a size, made where it is missing."""
    folder = home() / f"data-v{VERSION}" / str(rows)
    told = folder / "data.json"
    missing = [kind for kind in kinds if not (folder / f"{kind}.done").exists()]
    if missing:
        for kind in missing:
            shutil.rmtree(folder / kind, ignore_errors=True)
            (folder / kind).mkdir(parents=True)
        bad = []
        for at, table, faults in parts(rows):
            bad.append(faults)
            if "parquet" in missing:
                pq.write_table(table, folder / "parquet" / f"orders-{at:03d}.parquet", row_group_size=GROUP)
            if "csv" in missing:
                options = pa_csv.WriteOptions(quoting_style="needed")
                pa_csv.write_csv(table, folder / "csv" / f"orders-{at:03d}.csv", options)
        all_bad = pa.concat_tables(bad)
        pq.write_table(all_bad, folder / "faults.parquet")
        pq.write_table(customers(), folder / "customers.parquet")
        told.write_text(json.dumps({"rows": rows, "bad": all_bad.num_rows}))
        for kind in missing:
            (folder / f"{kind}.done").touch()
    return Data(folder, rows, int(json.loads(told.read_text())["bad"]))
