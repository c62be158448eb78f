"""Made-up contracts over made-up rows: every engine gives the same values, types, verdicts and reasons."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.parity.campaign import Figure, run, start
from lakelogic.parity.contracts import make

SEED = 20_240_331
LOCAL = 200
WITH_SPARK = 30


def told(figure: Figure) -> str:
    return "\n".join(
        f"seed {failure.seed}: {failure.difference}\n{failure.case.contract}" for failure in figure.failures
    )


@pytest.fixture(scope="module")
def local_engines() -> Any:
    engines = start(("duckdb", "polars"))
    yield engines
    for engine in engines:
        engine.close()


def test_duckdb_and_polars_agree(local_engines: Any) -> None:
    figure = run(local_engines, range(SEED, SEED + LOCAL), shrinking=60, most_found=3)
    assert figure.differed == 0, told(figure)
    assert figure.agreed >= 0.8 * LOCAL, figure.reasons.most_common(5)


@pytest.mark.spark
def test_spark_agrees_with_them(local_engines: Any) -> None:
    [spark] = start(("spark",))
    try:
        figure = run([local_engines[0], spark], range(SEED, SEED + WITH_SPARK), shrinking=0, most_found=3)
    finally:
        spark.close()
    assert figure.differed == 0, told(figure)


def test_a_seed_makes_the_same_contract_and_rows_again() -> None:
    one, two = make(7), make(7)
    assert one.contract == two.contract
    assert one.rows.equals(two.rows) or str(one.rows) == str(two.rows)
