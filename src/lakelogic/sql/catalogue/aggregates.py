"""Functions of many rows: in rollups, GROUP BY and over windows."""

from __future__ import annotations

from lakelogic.sql.catalogue.row import aggregate

FUNCTIONS = (
    # aggregates: only in rollups and GROUP BY; NULLs are passed over
    aggregate("count_all", "count(*)", "Rows."),
    aggregate("count", "count(x)", "Values that are not NULL."),
    aggregate("count_distinct", "count(DISTINCT x)", "Different values that are not NULL."),
    aggregate("sum", "sum(x)", "Whole numbers as bigint, decimals as decimal(38, s), doubles as double; NULL over nothing."),
    aggregate("avg", "avg(x); mean(x)", "Always double; NULL over nothing."),
    aggregate("min", "min(x)", "The smallest value."),
    aggregate("max", "max(x)", "The largest value."),
    aggregate("any_true", "bool_or(x); any(x)", "TRUE when any value is TRUE."),
    aggregate("every_true", "bool_and(x); every(x)", "FALSE when any value is FALSE."),
    aggregate("collect_list", "collect_list(x)", "All values that are not NULL, as an array in ascending order."),
    aggregate("collect_set", "collect_set(x)", "The different values that are not NULL, as an array in ascending order."),
)  # fmt: skip

# SQL name → catalogue aggregate
AGGREGATES = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "min": "min",
    "max": "max",
    "bool_or": "any_true",
    "any": "any_true",
    "some": "any_true",
    "bool_and": "every_true",
    "every": "every_true",
    "collect_list": "collect_list",
    "array_agg": "collect_list",
    "collect_set": "collect_set",
}
