"""The reference job: its columns, its rules, its contract, and what is known to be wrong with a row.

Every program that is measured does this job: read orders, judge them by twelve rules, write good rows with a SHA-256
of the e-mail and three columns of lineage, write bad rows with the reasons and categories of each, see that ids are
unique. A row's faults are a number, the bit of a rule for each rule that it breaks, as the generator planted them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLUMNS: dict[str, str] = {
    "order_id": "bigint",
    "customer_id": "bigint",
    "email": "string",
    "phone": "string",
    "country": "string",
    "status": "string",
    "amount": "decimal(12,2)",
    "discount": "decimal(12,2)",
    "ordered_on": "date",
    "shipped_on": "date",
    "sku": "string",
    "note": "string",
}
COUNTRIES = ("AT", "BE", "CH", "DE", "ES", "FR", "IT", "NL", "PL", "PT")
STATUSES = ("new", "paid", "packed", "shipped", "closed")
PHONE = r"^\+[0-9]{2} [0-9]{3} [0-9]{6}$"
EMAIL = "%_@_%._%"
CUSTOMERS = 100_000
KEY = "the-key-of-the-benchmark-and-of-nothing-else"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, the predicate in SQL that all engines read alike, its category, whether NULL passes."""

    name: str
    sql: str
    category: str
    nulls_pass: bool = False
    short: tuple[str, Any] | None = None  # the shorthand of the contract


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


RULES: tuple[Rule, ...] = (
    Rule("customer_known", "customer_id IS NOT NULL", "completeness"),
    Rule("email_there", "email IS NOT NULL", "completeness"),
    Rule("sku_there", "sku IS NOT NULL", "completeness"),
    Rule("email_looks_right", f"email LIKE '{EMAIL}'", "validity", nulls_pass=True),
    Rule(
        "phone_looks_right", "", "validity", short=("regex_match", {"field": "phone", "pattern": PHONE})
    ),
    Rule("amount_in_range", "amount BETWEEN 0 AND 10000", "validity"),
    Rule("country_known", f"country IN ({_listed(COUNTRIES)})", "validity"),
    Rule("status_known", f"status IN ({_listed(STATUSES)})", "validity"),
    Rule("discount_below_amount", "discount <= amount", "consistency"),
    Rule("shipped_after_order", "shipped_on >= ordered_on", "consistency"),
    Rule("note_not_too_long", "length(note) BETWEEN 1 AND 60", "validity"),
    Rule(
        "customer_exists", "", "consistency", nulls_pass=True,
        short=("referential_integrity", {"field": "customer_id", "reference": "customers", "key": "customer_id"}),
    ),
)  # fmt: skip
NAMES = tuple(rule.name for rule in RULES)
# What LakeLogic writes with on each engine; everybody else does the same, so that nobody saves by packing less.
CODEC = {"duckdb": "zstd", "polars": "zstd", "spark": "snappy"}
LINEAGE = ("_lakelogic_source", "_lakelogic_processed_at", "_lakelogic_run_id")
# Three columns of lineage, as everybody else writes them.
THREE_COLUMNS = {
    f"capture_{other}": False for other in ("contract_name", "domain", "system", "created_at", "created_by")
}


def predicates(matches: str, exists: str, prefix: str = "s.") -> list[str]:
    """The rules in SQL of an engine: TRUE is a pass. `matches` has a place for the pattern of a telephone number.

    `customer_id` is ambiguous beside the reference table, so it gets the prefix of the orders.
    """
    found = []
    for rule in RULES:
        if rule.short and rule.short[0] == "regex_match":
            sql = matches.format(PHONE)
        elif rule.short:
            sql = f"{prefix}customer_id IS NULL OR {exists}"
        else:
            sql = rule.sql.replace("customer_id", f"{prefix}customer_id")
        if rule.nulls_pass and not rule.short:
            sql = f"({sql}) IS NOT FALSE"
        found.append(f"({sql})")
    return found


def contract(source: Path, customers: Path, *, mask: str = "digest") -> dict[str, Any]:
    """The reference job as a contract.

    `mask` is `digest` (SHA-256 by SQL), `keyed` (HMAC, as `masking: hash` does it) or `none`.
    """
    fields: list[dict[str, Any]] = [{"name": name, "type": kind} for name, kind in COLUMNS.items()]
    if mask == "keyed":
        fields[2]["masking"] = "hash"
    rules: list[dict[str, Any]] = []
    for rule in RULES:
        body: dict[str, Any] = {rule.short[0]: rule.short[1]} if rule.short else {"sql": rule.sql}
        said = {"name": rule.name, "category": rule.category, **body}
        rules.append({**said, "nulls": "pass"} if rule.nulls_pass else said)
    made: dict[str, Any] = {
        "dataset": "orders",
        "source": {"path": str(source)},
        "links": [{"name": "customers", "path": str(customers)}],
        "model": {"fields": fields},
        "quality": {"row_rules": rules, "dataset_rules": [{"unique": "order_id"}]},
        "quarantine": {"target": "bench.quarantine.orders"},
        "materialization": {"strategy": "append", "target_path": "bench.silver.orders"},
        "lineage": THREE_COLUMNS,
    }
    if mask == "digest":
        made["transformations"] = [{"derive": {"field": "email", "sql": "sha2(email, 256)"}}]
    return made
