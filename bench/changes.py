"""Changes into large tables: merges and histories against merges by hand, and runs for which little is new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import data, results
from bench.cases import FULL_COMPILER
from bench.environments import home
from bench.harness import Case, describe, measure, say
from bench.parity import ParityError, sums
from bench.parts import Wanted
from bench.subjects.merges import FIRST, LAST

VERSION = 3
PART = 1_000_000
DAY = 86_400_000_000
NEW = 0.1  # of the changes are keys that the table does not know


def _rows(ids: np.ndarray, day: int) -> pa.Table:
    """Rows as they are on a day: other amounts each day."""
    customers = pa.array([f"customer-{at}" for at in range(100_000)])
    cents = (ids * 31 + day * 7) % 1_000_000
    words = np.stack([cents, cents >> 63], axis=1).astype(np.int64)
    return pa.table(
        {
            "id": pa.array(ids),
            "customer": customers.take(pa.array(ids % 100_000)),
            "amount": pa.Array.from_buffers(
                pa.decimal128(12, 2), len(ids), [None, pa.py_buffer(np.ascontiguousarray(words))]
            ),
            "seen": pa.array(np.full(len(ids), (20_000 + day) * DAY)).cast(pa.timestamp("us", "UTC")),
        }
    )


def _base(rows: int) -> list[Path]:
    folder = home() / f"changes-v{VERSION}" / str(rows)
    files = [folder / f"base-{at:03d}.parquet" for at in range(max(rows // PART, 1))]
    for at, file in enumerate(files):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(_rows(np.arange(at * PART, min((at + 1) * PART, rows)), 1), file)
    return files


def _changes(rows: int, share: float) -> Path:
    """Changes to so many of the rows, anywhere in the table, and new keys."""
    file = home() / f"changes-v{VERSION}" / str(rows) / f"changes-{share}.parquet"
    if not file.exists():
        count = int(rows * share)
        old = np.linspace(0, rows - 1, int(count * (1 - NEW))).astype(np.int64)
        new = np.arange(rows, rows + int(count * NEW))
        pq.write_table(_rows(np.unique(np.concatenate([old, new])), 2), file)
    return file


def _judge(strategy: str, base: list[Path], changes: Path) -> Callable[[dict[str, Any]], None]:
    """Whether a table is what it must be after the changes."""
    before, news = f"read_parquet({[str(file) for file in base]!r})", f"read_parquet('{changes}')"
    if strategy == "merge":
        shown = "id, customer, amount, seen"
        right = (
            f"SELECT {shown} FROM {news} UNION ALL SELECT {shown} FROM {before} WHERE id NOT IN (SELECT id FROM {news})"
        )
    else:
        shown = "id, customer, amount, effective_from, effective_to, is_current"
        first, last = (f"TIMESTAMPTZ '{text}+00'" for text in (FIRST, LAST))
        right = f"""
            SELECT b.id, b.customer, b.amount, {first} AS effective_from, coalesce(c.seen, {last}) AS effective_to,
              c.id IS NULL AS is_current
            FROM {before} b LEFT JOIN {news} c ON b.id = c.id
            UNION ALL
            SELECT c.id, c.customer, c.amount, CASE WHEN b.id IS NULL THEN {first} ELSE c.seen END, {last}, true
            FROM {news} c LEFT JOIN {before} b ON b.id = c.id"""

    def judge(told: dict[str, Any]) -> None:
        import duckdb
        from deltalake import DeltaTable

        files = DeltaTable(told["table"]).file_uris()
        connection = duckdb.connect()
        connection.execute("SET timezone = 'UTC'")
        found = f"SELECT {shown} FROM read_parquet({files!r})"
        if sums(connection, found) != sums(connection, right):
            count = connection.execute(f"SELECT count(*) FROM (({right}) EXCEPT ALL ({found}))").fetchone()
            raise ParityError(f"{count} rows of the table are not what they must be after the changes.")

    return judge


def merge(wanted: Wanted) -> None:
    """1 % and 10 % changes, and a history with 5 % changes: LakeLogic, and merges by hand."""
    rows = max(wanted.rows)
    base = _base(rows)
    for strategy, share in (("merge", 0.01), ("merge", 0.1), ("scd2", 0.05)):
        changes = _changes(rows, share)
        cases = [
            *(
                Case(f"lakelogic-{engine}", engine, "merges", job={"by": "lakelogic"}, variables=FULL_COMPILER)
                for engine in wanted.engines
            ),
            Case("delta-rs-by-hand", "delta-rs", "merges", job={"by": "delta-rs"}),
            *([Case("delta-merge-by-hand", "spark", "merges", job={"by": "spark"})] if _has_delta(wanted) else []),
        ]
        for turn in range(wanted.rounds):
            for case in cases:
                key = f"merge/{rows}-{strategy}-{share:.0%}/{case.name}/{turn}"
                if not wanted.wants(case.name) or wanted.store.has(key):
                    continue
                room = home() / f"tables-v{VERSION}" / f"{rows}-{strategy}-{case.name}"
                job = {
                    "module": "merges", "engine": case.engine, "strategy": strategy, "times": 2, "alone": True,
                    "work": str(room / "work"), "kept": str(room / "kept"), "changes": str(changes),
                    "base": [str(file) for file in base], **case.job,
                }  # fmt: skip
                record = measure(case, job, _judge(strategy, base, changes))
                wanted.store.put(key, record)
                say(f"{key}: {describe(record)}")
        results.save("merge", results.summarise(wanted.store, "merge"))


def _has_delta(wanted: Wanted) -> bool:
    if "spark" not in wanted.engines:
        return False
    from lakelogic.engines.spark.runtime import installation

    return bool(installation.jars())


def incremental(wanted: Wanted) -> None:
    """A hundred thousand new rows into tables of different sizes; and a run that finds nothing new."""
    batch = 100_000
    for engine in wanted.engines:
        for turn in range(wanted.rounds):
            for size in sorted({batch, *(rows for rows in wanted.rows if rows > batch)}):
                made = data.ensure(size)
                for new in (True, False) if size == max(wanted.rows) else (True,):
                    name = f"into-{size}" if new else "nothing-new"
                    key = f"incremental/append/{engine}/{name}/{turn}"
                    if wanted.store.has(key):
                        continue
                    room = home() / f"tables-v{VERSION}" / f"incremental-{engine}-{size}"
                    extra = home() / f"changes-v{VERSION}" / "more.parquet"
                    if not extra.exists():
                        extra.parent.mkdir(parents=True, exist_ok=True)
                        pq.write_table(data.make_part(1_000_000_000, batch)[0], extra)
                    job = {
                        "module": "appends", "engine": engine, "times": 1, "alone": True, "work": str(room / "work"),
                        "kept": str(room / "kept"), "base": [str(file) for file in made.files("parquet")],
                        "customers": str(made.customers), "changes": str(extra) if new else "",
                    }  # fmt: skip
                    case = Case(name, engine, "appends", variables=FULL_COMPILER)
                    record = measure(case, job, _counted(batch if new else 0))
                    wanted.store.put(key, record)
                    say(f"{key}: {describe(record)}")
        results.save("incremental", results.summarise(wanted.store, "incremental"))


def _counted(rows: int) -> Callable[[dict[str, Any]], None]:
    def judge(told: dict[str, Any]) -> None:
        if told["source"] != rows:
            raise ParityError(f"{told['source']} rows were read; {rows} are new.")

    return judge
