"""How functions are written in contract SQL: all names, and those that a contract may not use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from lakelogic.sql.arguments import Args, Builder, Signatures
from lakelogic.sql.catalogue import core, documents, nested, numbers, strings, times
from lakelogic.sql.expressions import Expression, Literal
from lakelogic.sql.types import DATE, TIMESTAMP


class Clock:
    """`now` for one plan: the same instant in every expression of a run."""

    def __init__(self, at: datetime) -> None:
        self.timestamp = Literal(at, TIMESTAMP)
        self.date = Literal(at.date(), DATE)


SIGNATURES: Signatures = {
    **core.SIGNATURES,
    **numbers.SIGNATURES,
    **strings.SIGNATURES,
    **times.SIGNATURES,
    **nested.SIGNATURES,
    **documents.SIGNATURES,
}


def _overloaded(meaning: Callable[[Args], Expression | None], otherwise: Builder) -> Builder:
    def build(a: Args) -> Expression:
        found = meaning(a)
        return otherwise(a) if found is None else found

    return build


for _name, _meaning in nested.OVERLOADS.items():
    _least, _most, _otherwise = SIGNATURES[_name]
    SIGNATURES[_name] = (_least, _most, _overloaded(_meaning, _otherwise))

# Functions that read files, reflect or run code: refused by name, on every engine.
FORBIDDEN_FUNCTIONS = frozenset(
    {
        "read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_parquet", "read_text", "read_blob",
        "parquet_scan", "glob", "java_method", "reflect", "try_reflect", "input_file_name", "input_file_block_start",
        "input_file_block_length", "read_files", "query", "query_table", "system", "getenv", "version", "user",
        "current_user", "session_user", "shell", "load_extension",
    }
)  # fmt: skip

# Functions whose value differs from run to run: a re-run could not give the same tables.
UNSTABLE_FUNCTIONS = frozenset(
    {
        "rand", "random", "randn", "uuid", "gen_random_uuid", "shuffle",
        "monotonically_increasing_id", "spark_partition_id",
    }
)  # fmt: skip
