"""Keys of a table's own: the same key (at the same time) always gets the same one, on every engine."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.plan.strategies.settings import Surrogate
from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Call, Expression, convert, replace_columns, text
from lakelogic.sql.types import STRING

UNKNOWN = "-1"  # the surrogate key of the unknown member
# The name space of UUIDs: sixteen bytes that are text, so that name space and name are hashed as one text.
_SPACE = "lakelogic-sk-uid"
_UUID = (
    "concat(substr(h, 1, 8), '-', substr(h, 9, 4), '-5', substr(h, 14, 3), '-', "
    "translate(substr(h, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab'), substr(h, 18, 3), '-', substr(h, 21, 12))"
)


def made_of(surrogate: Surrogate, parts: Sequence[Expression]) -> Expression:
    """The surrogate key over these values: SHA-256 of their JSON text, or a UUID (version 5) of it."""
    pairs = [part for index, value in enumerate(parts) for part in (text(str(index)), convert(value, STRING))]
    name = Call("row_json", tuple(pairs), STRING)
    if surrogate.strategy == "hash":
        return replace_columns(bind("sha2(n, 256)", {"n": STRING}), {"n": name})
    hashed = replace_columns(bind(f"sha1(concat('{_SPACE}', n))", {"n": STRING}), {"n": name})
    return replace_columns(bind(_UUID, {"h": STRING}), {"h": hashed})
