"""A figure is refused where good rows, bad rows or reasons are not the right ones."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

ROWS = 2_000


def digest(text: str | None) -> str | None:
    return None if text is None else sha256(text.encode()).hexdigest()


@pytest.fixture
def right(orders: Any, tmp_path: Path) -> tuple[Any, Any]:
    """The right outcome, made from what the generator planted, in plain Python."""
    from bench.parity import Outcome
    from bench.reference import NAMES

    made = orders(ROWS)
    rows = pq.read_table(made.files("parquet")[0])
    faults = dict(zip(*(column.to_pylist() for column in pq.read_table(made.faults).columns), strict=True))
    bad = pc.is_in(rows["order_id"], pa.array(faults))
    good_rows, bad_rows = rows.filter(pc.invert(bad)), rows.filter(bad)
    emails = pa.array([digest(text) for text in good_rows["email"].to_pylist()])
    broken = [
        [name for at, name in enumerate(NAMES) if faults[one] >> at & 1] for one in bad_rows["order_id"].to_pylist()
    ]
    pq.write_table(good_rows.set_column(2, "email", emails), tmp_path / "good.parquet")
    pq.write_table(bad_rows.append_column("why", pa.array(broken)), tmp_path / "bad.parquet")
    files = [[str(tmp_path / f"{side}.parquet")] for side in ("good", "bad")]
    return made, Outcome(*files, rules="why", unique=True)


def change(files: list[str], statement: str) -> None:
    """Rewrite a file by a query over its `rows`."""
    rows = pq.read_table(files[0])  # noqa: F841 - DuckDB finds it by its name
    pq.write_table(duckdb.sql(statement).to_arrow_table(), files[0])


def test_the_planted_faults_are_the_share_of_bad_rows_that_is_promised(orders):
    made = orders(100_000)
    assert made.bad / made.rows == pytest.approx(0.038, abs=0.002)


def test_the_same_size_is_the_same_data():
    from bench.data import make_part

    assert make_part(500_000, 100)[0].equals(make_part(500_000, 100)[0])
    assert not make_part(0, 100)[0].drop(["order_id"]).equals(make_part(500_000, 100)[0].drop(["order_id"]))


def test_the_right_outcome_passes(right):
    from bench.parity import check

    check(*right)


@pytest.mark.parametrize(
    ("side", "statement", "said"),
    [
        ("good", "FROM rows OFFSET 1", "1 good rows are missing"),
        ("good", "FROM rows UNION ALL (FROM rows LIMIT 1)", "1 good rows are not expected"),
        ("good", "SELECT * REPLACE (amount + 1 AS amount) FROM rows", "good rows are missing"),
        ("bad", "FROM rows OFFSET 2", "2 bad rows are missing"),
        ("bad", "SELECT * REPLACE (list_append(why, 'email_there') AS why) FROM rows", "bad rows are not expected"),
        ("bad", "SELECT * REPLACE ([] AS why) FROM rows", "bad rows are missing"),
    ],
)
def test_a_wrong_outcome_is_refused(right, side, statement, said):
    from bench.parity import ParityError, check

    data, outcome = right
    change(outcome.good if side == "good" else outcome.bad, statement)
    with pytest.raises(ParityError, match=said):
        check(data, outcome)


def test_clear_emails_and_missed_uniqueness_are_refused(right):
    from bench.parity import ParityError, check

    data, outcome = right
    with pytest.raises(ParityError, match="unique"):
        check(data, replace(outcome, unique=False))
    with pytest.raises(ParityError, match="good rows"):
        check(data, replace(outcome, mask="none"))


def test_the_order_of_reasons_does_not_matter(right):
    from bench.parity import check

    data, outcome = right
    change(outcome.bad, "SELECT * REPLACE (list_reverse(why) AS why) FROM rows")
    check(data, outcome)


def test_a_refused_case_shows_no_figure():
    from bench.results import figures

    record = {"load": 1.0, "versions": {}, "times": [{"cpu": 1.0}]}
    assert figures([record, {**record, "refused": "2 bad rows are missing", "times": []}]) == {
        "refused": "2 bad rows are missing"
    }


def test_places_on_the_machine_are_no_figures():
    from bench.results import figures

    once = {"cpu": 1.0, "wall": 1.0, "bytes_read": 0, "bytes_written": 0, "peak": {}, "files": 1}
    record = {
        "versions": {},
        "load": 1.0,
        "times": [{**once, "told": {"table": "/somewhere/orders", "rewritten_files": 2}}],
    }
    told = figures([record])["cold"]
    assert told["rewritten_files"] == 2
    assert "table" not in told
