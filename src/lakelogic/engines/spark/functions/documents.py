"""Canonical expressions → Spark SQL text: JSON documents."""

from __future__ import annotations

import json

from lakelogic.engines.spark.convert import conversion
from lakelogic.engines.spark.convert_nested import at_path, from_json, is_json
from lakelogic.engines.sql.operators import Builder


def _of_document(spark_name: str) -> Builder:
    """Spark's own functions look at the beginning of a text only."""
    return lambda _call, args: f"CASE WHEN {is_json(args[0])} THEN {spark_name}({args[0]}) END"


_keys = _of_document("json_object_keys")

BUILDERS: dict[str, Builder] = {
    "get_json_object": lambda call, args: at_path(args[0], json.loads(str(call.constant(1)))),
    "from_json": lambda call, args: from_json(args[0], call.type, conversion),
    "json_object_keys": lambda call, args: f"array_distinct({_keys(call, args)})",
    "json_array_length": _of_document("json_array_length"),
}
