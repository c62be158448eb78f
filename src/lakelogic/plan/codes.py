"""The codes of diagnostics that compiling a contract can give, and what they mean."""

from __future__ import annotations

from lakelogic.sql.problems import CODES as SQL_CODES
from lakelogic.sql.problems import NOT_YET

BAD_TYPE = "LL-C210"
RESERVED = "LL-C211"
NO_LINK = "LL-C212"
BAD_STEP = "LL-C213"
MASKED = "LL-C215"
CLEAR = "LL-C216"
NO_ORDER = "LL-C217"
BAD_PATTERN = "LL-C218"
REDACTED = "LL-C219"
REPEATED = "LL-C220"

MEANINGS: dict[str, str] = {
    **SQL_CODES,
    BAD_TYPE: "A type is not one that fields can have.",
    RESERVED: "A column that lands, a field or a column of a step has a name that LakeLogic needs for itself.",
    NO_LINK: "A step or rule names a link that the contract does not declare.",
    BAD_STEP: "A step cannot do what it says with the columns that are there.",
    MASKED: "A masked column is used where its mask has lost what is asked of it.",
    CLEAR: "Personal data is published without a mask (a warning).",
    BAD_PATTERN: "A pattern of dates cannot be read on every engine, or its field is no date.",
    REDACTED: "A column made of a `partial` field is redacted altogether (a warning).",
    REPEATED: "An array is published beside each of its elements (a warning).",
    NO_ORDER: "An ORDER BY has no effect, because a table has no order (a warning).",
}

__all__ = [
    "BAD_PATTERN",
    "BAD_STEP",
    "BAD_TYPE",
    "CLEAR",
    "MASKED",
    "MEANINGS",
    "NOT_YET",
    "NO_LINK",
    "NO_ORDER",
    "REDACTED",
    "REPEATED",
    "RESERVED",
]
