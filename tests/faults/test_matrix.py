"""A sample of the walks over faults: every point with every kind on every engine; `make test-faults` walks all of it."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lakelogic.run import faults

SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str) -> ModuleType:
    """A script of the project as a module, under its own name: its worker processes look for it there."""
    if name not in sys.modules:
        if str(SCRIPTS) not in sys.path:
            sys.path.insert(0, str(SCRIPTS))
        spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


walk_faults, walk_two_runs, walk_states, walk_chaos = (
    script(n) for n in ("walk_faults", "walk_two_runs", "walk_states", "walk_chaos")
)
# Spark is slow to start and to run a few rows: each point once, the kinds taking turns, and one kill.
ON_SPARK = dict(
    zip(
        faults.POINTS,
        itertools.cycle(("raise", "stall", "kill", "stall", "raise", "lose", "raise", "stall", "lose")),
        strict=False,
    )
)


def chosen() -> list[Any]:
    every = list(
        walk_faults.cells(walk_faults.ENGINES, walk_faults.SCENE, walk_faults.FORMATS, faults.POINTS, faults.KINDS)
    )
    cells = [cell for engine in walk_faults.ENGINES for cell in walk_faults.sample(every, engine)]
    return [
        pytest.param(cell, id=str(cell), marks=[pytest.mark.spark] if cell.engine == "spark" else [])
        for cell in cells
        if cell.engine != "spark" or cell.kind == ON_SPARK[cell.point]
    ]


# The world is another one when the next run comes: its input is gone, or verdicts are other ones.
CHANGED = [
    walk_faults.Cell("duckdb", "append", "delta", "after_gates", "gone", 1),
    walk_faults.Cell("duckdb", "scd2", "iceberg", "after_staged_record", "gone", 0),
    walk_faults.Cell("polars", "merge", "parquet", "after_quarantine_commit", "gone", 1),
    walk_faults.Cell("polars", "cdc", "delta", "after_quarantine_commit", "gone", 1),
    walk_faults.Cell("duckdb", "snapshot", "delta", "after_quarantine_commit", "gone", 1),
    walk_faults.Cell("duckdb", "fresh", "parquet", "after_quarantine_commit", "flip", 1),
    walk_faults.Cell("polars", "fresh", "iceberg", "after_staged_record", "flip", 0),
]


@pytest.fixture(scope="module")
def walk(_started: dict[str, Any]) -> Any:
    from lakelogic.engines import registry

    def engine_of(name: str) -> Any:
        if name not in _started:
            _started[name] = registry.load(name)
        return _started[name]

    return walk_faults.Walk(engine_of)


@pytest.mark.parametrize("cell", [*chosen(), *(pytest.param(cell, id=str(cell)) for cell in CHANGED)])
def test_a_disturbed_run_and_one_more_end_as_if_nobody_had_disturbed_them(walk: Any, cell: Any) -> None:
    assert walk.play(cell) is None


ORDERS = [
    (scene, form, first, second, leads, lands)
    for number, (first, second) in enumerate(
        [
            ("after_stage", "after_stage"),
            ("after_gates", "after_good_commit"),
            ("after_quarantine_commit", "after_good_commit"),
            ("after_good_commit", "after_lease"),
        ]
    )
    for scene, form in [(("append", "delta"), ("merge", "parquet"), ("append", "iceberg"))[number % 3]]
    for leads in ("first", "second")
    for lands in (False, True)
]


@pytest.mark.parametrize(("scene", "form", "first", "second", "leads", "lands"), ORDERS)
def test_two_runs_whose_lease_is_lost_neither_lose_nor_double_a_row(
    walk: Any, scene: str, form: str, first: str, second: str, leads: str, lands: bool
) -> None:
    order = walk_two_runs.Order("duckdb", scene, form, first, second, leads, 1, lands)
    assert walk_two_runs.play(walk, order) is None


@pytest.mark.parametrize(
    ("scene", "form", "first", "second", "lands"),
    [
        ("append", "delta", "after_gates", "after_staged_record", False),
        ("append", "iceberg", "after_quarantine_commit", "after_quarantine_commit", True),
        ("merge", "parquet", "after_staged_record", "after_good_commit", True),
        ("append", "delta", "after_good_commit", "after_stage", True),
    ],
)
def test_when_the_one_who_took_the_lease_dies_the_other_neither_loses_nor_doubles_a_row(
    walk: Any, scene: str, form: str, first: str, second: str, lands: bool
) -> None:
    order = walk_two_runs.Order("duckdb", scene, form, first, second, "second", 1, lands, dies=True)
    assert walk_two_runs.play(walk, order) is None


def test_runs_that_are_killed_at_random_moments_end_as_the_model_says(tmp_path: Path) -> None:
    trouble, _ = walk_chaos.play(tmp_path / "w", "duckdb", "append", "delta", 11, acts=4)
    assert trouble is None


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_random_sequence_ends_as_the_model_says(duckdb_engine: Any, seed: int) -> None:
    strategy, form = ("append", "merge")[seed % 2], walk_faults.FORMATS[seed % 3]
    assert walk_states.play(seed, duckdb_engine, strategy, form) is None
