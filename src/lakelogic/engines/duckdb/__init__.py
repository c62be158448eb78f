"""DuckDB: a plan becomes one SQL statement with a CTE per node."""

from lakelogic.engines.duckdb.engine import DuckDBEngine

__all__ = ["DuckDBEngine"]
