"""Names that people see: reserved columns, datasets, runs; and the internal columns of a plan."""

from __future__ import annotations

import re
import secrets
from datetime import datetime

# Columns that LakeLogic adds to good rows and to quarantined rows.
SOURCE = "_lakelogic_source"
PROCESSED_AT = "_lakelogic_processed_at"
RUN_ID = "_lakelogic_run_id"
CONTRACT_NAME = "_lakelogic_contract_name"
DOMAIN = "_lakelogic_domain"
SYSTEM = "_lakelogic_system"
CREATED_AT = "_lakelogic_created_at"
CREATED_BY = "_lakelogic_created_by"
WARNINGS = "_lakelogic_warnings"

# Columns of a quarantine table only.
ERRORS = "_lakelogic_errors"
CATEGORIES = "_lakelogic_categories"
RULES = "_lakelogic_rules"
ORIGINAL = "_lakelogic_original"
RAW = "_lakelogic_raw"
ROW_ID = "_lakelogic_row_id"
LINE = "_lakelogic_line"
BATCH_ID = "_lakelogic_batch_id"
CONTRACT_VERSION = "_lakelogic_contract_version"
STATE = "quarantine_state"
SETTLED_BY = "_lakelogic_settled_by"  # the run or the person that took the row out of the queue
SETTLED_AT = "_lakelogic_settled_at"
SETTLED_WHY = "_lakelogic_settled_why"
FIRST_SEEN = "_lakelogic_first_seen"  # when the row waited first; absent where it was seen once
SEEN_RUNS = "_lakelogic_seen_runs"  # in how many runs it was seen
CLAIM = "_lakelogic_claim"  # the batch of a replay that is about to publish the row

# Columns that live only between the scan and the staged files. `~` cannot begin a column of a contract.
INTERNAL = "~"
FILE = "~file"  # where the row came from: path or table name
NUMBER = "~number"  # 1-based line (text formats) or row in the file; NULL where the engine cannot tell
TEXT = "~text"  # the landed line of a text format; NULL where the scan did not keep it
BROKEN = "~broken"  # why the line could not be parsed; NULL for a row that could
FATE = "~fate"  # 0, or the number of the step that lost the row
COPY = "~copy"
DELETE = "~delete"  # on staged good rows of changes: the row asks for a deletion
ABSENT = "~absent."  # before a column of staged good rows: the input had no such column, what is stored stays
RAW_ROW = "~raw"  # the row as landed, encrypted where the contract has personal data
ORIGINALS = "~original"  # the text of values that could not be cast
SIDE = "ll_side"  # 'good' or 'bad' on staged rows; Spark makes folders of it, so no leading underscore, dot or tilde

GOOD_SIDE = "good"  # staged files lie in folders of these names
BAD_SIDE = "bad"

# Columns of tables that only LakeLogic makes: stamps on every row, and what quarantine says of a row.
STAMPS = frozenset({SOURCE, PROCESSED_AT, RUN_ID, CONTRACT_NAME, DOMAIN, SYSTEM, CREATED_AT, CREATED_BY})
JUDGEMENTS = frozenset({
    WARNINGS, ERRORS, CATEGORIES, RULES, ORIGINAL, RAW, ROW_ID, LINE, BATCH_ID, CONTRACT_VERSION, STATE, SETTLED_BY,
    SETTLED_AT, SETTLED_WHY, CLAIM, SIDE,
})  # fmt: skip
RESERVED_PREFIX = "_lakelogic_"

# Names that no landed column can have, because rows have columns of these names on their way.
RESERVED = frozenset({STATE, SIDE})

_UNSAFE = re.compile(r"[^a-z0-9_]+")


def dataset_name(layer: str | None, system: str | None, entity: str) -> str:
    """`{layer}_{system}_{entity}`, leaving out what is not known."""
    return "_".join(_UNSAFE.sub("_", part.lower()).strip("_") for part in (layer, system, entity) if part)


def landed_name(written: str) -> str:
    """The name under which a column of a text file lands: `~x`, what is reserved and what is blank get a `_`."""
    if written.startswith(INTERNAL) or not written.strip():
        return "_" + written.strip().lstrip(INTERNAL)
    return f"_{written}" if written.lower() in RESERVED else written


def new_run_id(at: datetime) -> str:
    """A run id that sorts by time: `run-20260328T120001-5f3a9c`."""
    return f"run-{at:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
