"""LakeLogic: one YAML contract per data product, the same rows on Spark, Polars and DuckDB, every row accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakelogic import version as _version

if TYPE_CHECKING:
    from lakelogic.actions.operate.drive import Driver
    from lakelogic.contract.document import Contract
    from lakelogic.contract.reading.load import load as load_contract
    from lakelogic.driver.estate import load_all_contracts
    from lakelogic.driver.graph import build_dag_from_upstream, topo_sort
    from lakelogic.driver.passes import run_contract
    from lakelogic.run.processor import DataProcessor
    from lakelogic.run.result import Result

__all__ = [
    "Contract",
    "DataProcessor",
    "Driver",
    "Result",
    "__version__",
    "build_dag_from_upstream",
    "load_all_contracts",
    "load_contract",
    "run_contract",
    "topo_sort",
]

__version__ = _version.VERSION

_HOMES = {
    "DataProcessor": ("lakelogic.run.processor", "DataProcessor"),
    "Result": ("lakelogic.run.result", "Result"),
    "Contract": ("lakelogic.contract.document", "Contract"),
    "load_contract": ("lakelogic.contract.reading.load", "load"),
    "load_all_contracts": ("lakelogic.driver.estate", "load_all_contracts"),
    "build_dag_from_upstream": ("lakelogic.driver.graph", "build_dag_from_upstream"),
    "topo_sort": ("lakelogic.driver.graph", "topo_sort"),
    "run_contract": ("lakelogic.driver.passes", "run_contract"),
    "Driver": ("lakelogic.actions.operate.drive", "Driver"),
}


def __getattr__(name: str) -> Any:
    """Public names load what is behind them when they are first used."""
    if name in _HOMES:
        from importlib import import_module

        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'lakelogic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
