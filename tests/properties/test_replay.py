"""Replay after a fix equals a clean run on fixed input: the same good rows, the same quarantine."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lakelogic import DataProcessor
from lakelogic.engines import registry

STAMPS = {
    "_lakelogic_processed_at", "_lakelogic_run_id", "_lakelogic_created_at", "_lakelogic_batch_id",
    "_lakelogic_settled_by", "_lakelogic_settled_at", "_lakelogic_settled_why", "_lakelogic_claim",
    "_lakelogic_first_seen", "_lakelogic_seen_runs",
}  # fmt: skip


def contract(strategy: str, low: int, needs_code: bool, *, incremental: bool) -> dict[str, Any]:
    return {
        "dataset": "orders",
        "source": {"path": "landing/*.csv", "load_mode": "incremental" if incremental else "full"},
        **({"primary_key": ["id"]} if strategy == "merge" else {}),
        "links": [{"name": "known", "path": "known.csv"}],
        "model": {
            "fields": [
                {"name": "id", "type": "int", "required": True},
                {"name": "seq", "type": "int", "required": True},
                {"name": "amount", "type": "decimal(9,2)", "min": low},
                {"name": "code", "type": "string", "required": needs_code},
            ]
        },
        "transformations": [{"filter": {"sql": "amount <> 13"}}, {"derive": {"field": "twice", "sql": "amount * 2"}}],
        "quality": {
            "max_quarantine_ratio": 1,
            "dataset_rules": [{"row_count_between": {"min": 0}}],
            "row_rules": [
                {"referential_integrity": {"field": "code", "reference": "known", "key": "code"}, "nulls": "pass"},
                {"name": "small", "sql": "twice < 100", "phase": "post"},
            ],
        },
        "materialization": {
            "strategy": strategy,
            "target_path": "shop.silver.orders",
            **({"sequence_by": "seq"} if strategy == "merge" else {}),
        },
    }


amounts = st.sampled_from(["1", "2.50", "-1", "-20", "13", "60", "abc", "", " 7 "])
rows = st.lists(st.tuples(st.integers(1, 5), amounts, st.sampled_from(["a", "b", "zz", ""])), min_size=1, max_size=7)
fixes = st.tuples(st.sampled_from([0, -10, -100]), st.booleans(), st.sampled_from(["a", "a\nb", "a\nb\nzz"]))


def land(batches: Sequence[Sequence[tuple[int, str, str]]], at: int) -> None:
    """Write one file; `seq` numbers all rows of all files."""
    before = sum(len(batch) for batch in batches[:at])
    lines = [f"{key},{before + n},{amount},{code}" for n, (key, amount, code) in enumerate(batches[at])]
    Path("landing").mkdir(exist_ok=True)
    Path(f"landing/{at}.csv").write_text("\n".join(["id,seq,amount,code", *lines]) + "\n")


def tables() -> tuple[Counter[str], Counter[str]]:
    sides = []
    for name in ("silver/orders", "quarantine/silver_orders"):
        place = Path("lakelogic_warehouse/shop") / name
        found = DeltaTable(place).to_pyarrow_table().to_pylist() if place.exists() else []
        waiting = [row for row in found if row.get("quarantine_state", "active") == "active"]
        sides.append(Counter(repr(sorted((k, v) for k, v in row.items() if k not in STAMPS)) for row in waiting))
    return sides[0], sides[1]


def check(engine: Any, strategy: str, batches: Sequence[Any], fix: tuple[int, bool, str], chosen: int) -> None:
    low, needs_code, known = fix
    Path("known.csv").write_text("code\na\n")
    for at in range(len(batches)):
        land(batches, at)
        with DataProcessor(contract(strategy, 0, True, incremental=True), engine) as processor:
            processor.run()
    Path("known.csv").write_text(f"code\n{known}\n")
    mended = contract(strategy, low, needs_code, incremental=True)
    with DataProcessor(mended, engine) as processor:
        # In two parts: some rows first, then what is left.
        from lakelogic.quarantine.queue import Chosen

        processor.replay(Chosen(rows=tuple("0123456789abcdef"[:chosen])))
        processor.replay()
    replayed = tables()
    shutil.rmtree("lakelogic_warehouse")
    with DataProcessor(deepcopy(mended) | {"source": {"path": "landing/*.csv"}}, engine) as processor:
        processor.run()
    assert replayed == tables()


@pytest.fixture(scope="module", params=["duckdb", "polars"])
def started(request: pytest.FixtureRequest) -> Any:
    engine = registry.load(request.param)
    yield engine
    engine.close()


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_replay_after_a_fix_equals_a_clean_run(
    started: Any, strategy: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.lists(rows, min_size=1, max_size=3), fixes, st.integers(0, 16))
    def holds(batches: Any, fix: Any, chosen: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            monkeypatch.chdir(folder)
            check(started, strategy, batches, fix, chosen)

    holds()
