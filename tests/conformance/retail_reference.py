"""What the retail example must come to, worked out a second time in plain Python.

It reads the landing files with the standard library and shares no code with LakeLogic, so that a mistake has
to be made twice to go unseen. `figures()` gives for each dataset what was read, what is good, how many rows
each rule made bad, and what each step left out; `rows()` gives the good rows of the tables that hold no masks.

    python tests/conformance/retail_reference.py     prints the figures
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

LANDING = Path(__file__).parents[2] / "examples" / "retail" / "landing"

Row = dict[str, Any]

BROKEN = "unreadable"  # a line that could not be parsed
BLANKS = " \t\r\n"
NOT_BEFORE_LONG = datetime(2100, 1, 1, tzinfo=UTC)  # what the data calls the future lies beyond this


@dataclass
class Account:
    """One dataset: every row read ends in exactly one of good, quarantined, filtered, deduplicated."""

    read: int = 0
    good: list[Row] = field(default_factory=list)
    quarantined: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    filtered: Counter[str] = field(default_factory=Counter)
    deduplicated: Counter[str] = field(default_factory=Counter)

    def judge(self, row: Row, failures: Iterable[tuple[str, str]]) -> None:
        reasons = list(failures)
        self.read += 1
        if reasons:
            self.quarantined += 1
            self.rules.update(name for name, _ in reasons)
            self.categories.update({category for _, category in reasons})
        else:
            self.good.append(row)

    def keep_newest(self, step: str, key: str, by: str) -> None:
        newest: dict[Any, Row] = {}
        for row in self.good:
            held = newest.get(row[key])
            if held is None or row[by] > held[by]:
                newest[row[key]] = row
            self.deduplicated[step] += held is not None
        self.good = list(newest.values())

    def keep(self, step: str, wanted: Callable[[Row], bool]) -> None:
        kept = [row for row in self.good if wanted(row)]
        self.filtered[step] += len(self.good) - len(kept)
        self.good = kept

    def figures(self) -> dict[str, Any]:
        assert self.read == len(self.good) + self.quarantined + self.filtered.total() + self.deduplicated.total()
        return {
            "read": self.read,
            "good": len(self.good),
            "quarantined": self.quarantined,
            "filtered": dict(+self.filtered),
            "deduplicated": dict(+self.deduplicated),
            "rules": dict(sorted(self.rules.items())),
            "categories": dict(sorted(self.categories.items())),
            "warnings": dict(sorted(self.warnings.items())),
        }


# -- values ------------------------------------------------------------------------------------------------


class CannotCast(Exception):
    """The text is no value of the type."""


def whole(text: str) -> int:
    text = text.strip(BLANKS)
    if not re.fullmatch(r"[+-]?[0-9]+", text) or not -(2**31) <= int(text) < 2**31:
        raise CannotCast
    return int(text)


def money(digits: int) -> Callable[[str], Decimal]:
    def read(text: str) -> Decimal:
        text = text.strip(BLANKS)
        if not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]{0,2})?", text):
            raise CannotCast
        value = Decimal(text)
        if abs(value) >= Decimal(10) ** (digits - 2):
            raise CannotCast
        return value

    return read


def day(text: str) -> date:
    text = text.strip(BLANKS)
    for pattern, layout in ((r"\d{4}-\d\d-\d\d", "%Y-%m-%d"), (r"\d{8}", "%Y%m%d")):
        if re.fullmatch(pattern, text):
            try:
                return datetime.strptime(text, layout).replace(tzinfo=UTC).date()
            except ValueError:
                raise CannotCast from None
    raise CannotCast


def instant(text: str) -> datetime:
    text = text.strip(BLANKS)
    for layout in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M"):
        try:
            return datetime.strptime(text, layout).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise CannotCast


def yes_or_no(text: str) -> bool:
    text = text.strip(BLANKS).lower()
    if text in {"true", "t", "yes", "y", "1"}:
        return True
    if text in {"false", "f", "no", "n", "0"}:
        return False
    raise CannotCast


def cast(row: Row, types: dict[str, Callable[[str], Any]]) -> set[str]:
    """Cast in place; the fields that could not be cast."""
    failed = set()
    for name, read in types.items():
        if row[name] is not None:
            try:
                row[name] = read(row[name])
            except CannotCast:
                failed.add(name)
    return failed


def schema_failures(row: Row, failed: set[str], required: Iterable[str]) -> list[tuple[str, str]]:
    reasons = [(f"{name}_type", "schema") for name in sorted(failed)]
    return reasons + [(f"{name}_required", "completeness") for name in required if row[name] is None]


# -- landing -----------------------------------------------------------------------------------------------


def json_lines(folder: str, columns: tuple[str, ...], account: Account) -> None:
    for path in sorted((LANDING / folder).glob("*.json")):
        for line in path.read_bytes().decode("utf-8").split("\n"):
            if not line:
                continue
            try:
                landed = json.loads(line)
            except ValueError:
                account.judge({}, [(BROKEN, "schema")])
                continue
            account.judge({name: as_text(landed.get(name)) for name in columns}, [])


def as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def separated(folder: str, delimiter: str, columns: tuple[str, ...], account: Account, nothing: set[str]) -> None:
    for path in sorted((LANDING / folder).glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as lines:
            records = csv.reader(lines, delimiter=delimiter)
            header = next(records)
            assert tuple(header) == columns
            for values in records:
                ragged = len(values) != len(header)
                row = {} if ragged else {k: None if v in nothing else v for k, v in zip(header, values, strict=True)}
                account.judge(row, [(BROKEN, "schema")] if ragged else [])


# -- datasets ----------------------------------------------------------------------------------------------

CUSTOMER = (
    "customer_id",
    "full_name",
    "email",
    "phone",
    "country",
    "signup_date",
    "loyalty_points",
    "marketing_consent",
    "updated_at",
)
PRODUCT = ("sku", "name", "category", "list_price", "currency", "valid_from", "active")
ORDER = (
    "order_id",
    "customer_id",
    "sku",
    "quantity",
    "unit_price",
    "ordered_at",
    "status",
    "store",
    "note",
    "updated_at",
)


def silver_customers(bronze: Account) -> Account:
    account = Account()
    for row in (dict(row) for row in bronze.good):
        if row["email"] is not None:
            row["email"] = row["email"].strip(" ").lower()
        if row["country"] is not None:
            row["country"] = row["country"].strip(" ").upper()
            row["country"] = {"UK": "GB"}.get(row["country"], row["country"])
        failed = cast(
            row, {"signup_date": day, "loyalty_points": whole, "marketing_consent": yes_or_no, "updated_at": instant}
        )
        reasons = schema_failures(row, failed, ("customer_id", "full_name", "email", "country", "updated_at"))
        if row["customer_id"] is not None and not re.fullmatch(r"C[0-9]{4}", row["customer_id"]):
            reasons.append(("customer_id_pattern", "validity"))
        if row["full_name"] is not None and len(row["full_name"]) > 80:
            reasons.append(("full_name_max_length", "validity"))
        if row["country"] is not None and row["country"] not in {"DE", "FR", "GB", "ES", "IT", "NL", "PL", "SE"}:
            reasons.append(("country_accepted_values", "validity"))
        points = row["loyalty_points"]
        if isinstance(points, int) and points < 0:
            reasons.append(("loyalty_points_min", "validity"))
        if isinstance(points, int) and points > 1_000_000:
            reasons.append(("loyalty_points_max", "validity"))
        if row["email"] is not None and not re.search(r"@.*\.", row["email"], re.DOTALL):
            reasons.append(("email_has_an_address", "correctness"))
        if isinstance(row["signup_date"], date) and row["signup_date"] > NOT_BEFORE_LONG.date():
            reasons.append(("signup_date_not_future", "timeliness"))
        account.judge(row, reasons)
        if row["full_name"] is not None and len(row["full_name"]) < 3:
            account.warnings["name_is_more_than_initials"] += 1
        if row["phone"] is not None and not re.fullmatch(r"[+0-9][0-9 ]+", row["phone"]):
            account.warnings["phone_looks_like_one"] += 1
    account.keep_newest("newest_version", "customer_id", "updated_at")
    return account


def silver_products(bronze: Account) -> Account:
    account = Account()
    for row in (dict(row) for row in bronze.good):
        row["product_id"] = row.pop("sku")
        if row["category"] is not None:
            row["category"] = row["category"].strip(" ").lower()
        row["currency"] = row["currency"] if row["currency"] is not None else "EUR"
        failed = cast(row, {"list_price": money(8), "valid_from": day, "active": yes_or_no})
        reasons = schema_failures(row, failed, ("product_id", "name", "category", "list_price", "valid_from"))
        if row["product_id"] is not None and not re.fullmatch(r"P[0-9]{3}", row["product_id"]):
            reasons.append(("product_id_pattern", "validity"))
        if row["name"] is not None and len(row["name"]) > 60:
            reasons.append(("name_max_length", "validity"))
        if not re.fullmatch(r"[A-Z]{3}", row["currency"]):
            reasons.append(("currency_pattern", "validity"))
        price = row["list_price"]
        if isinstance(price, Decimal) and not Decimal("0.01") <= price <= 5000:
            reasons.append(("price_can_be_sold_at", "validity"))
        if row["category"] is not None and row["category"] not in {"kitchen", "garden", "office", "toys", "lighting"}:
            reasons.append(("category_is_ours", "validity"))
        account.judge(row, reasons)
    account.keep_newest("newest_price", "product_id", "valid_from")
    return account


def silver_orders(bronze: Account) -> Account:
    account = Account()
    for row in (dict(row) for row in bronze.good):
        row["product_id"] = row.pop("sku")
        if row["status"] is not None:
            row["status"] = row["status"].strip(" ").lower()
            row["status"] = {"canceled": "cancelled"}.get(row["status"], row["status"])
        failed = cast(row, {"quantity": whole, "unit_price": money(10), "ordered_at": instant, "updated_at": instant})
        required = (
            "order_id",
            "customer_id",
            "product_id",
            "quantity",
            "unit_price",
            "ordered_at",
            "status",
            "updated_at",
        )
        reasons = schema_failures(row, failed, required)
        price = row["unit_price"]
        if isinstance(price, Decimal) and price < Decimal("0.01"):
            reasons.append(("unit_price_min", "validity"))
        if isinstance(price, Decimal) and price > 10000:
            reasons.append(("unit_price_max", "validity"))
        if row["status"] is not None and row["status"] not in {"paid", "shipped", "cancelled"}:
            reasons.append(("status_accepted_values", "validity"))
        if isinstance(row["quantity"], int) and row["quantity"] <= 0:
            reasons.append(("quantity_is_positive", "consistency"))
        if isinstance(row["ordered_at"], datetime) and row["ordered_at"] > NOT_BEFORE_LONG:
            reasons.append(("ordered_in_the_past", "timeliness"))
        account.judge(row, reasons)
    account.keep_newest("newest_version", "order_id", "updated_at")
    account.keep("leave_out_cancelled", lambda row: row["status"] != "cancelled")
    return account


def gold_customers(silver: Account) -> Account:
    account = Account()
    for row in silver.good:
        points = row["loyalty_points"]
        tier = (
            "gold"
            if points is not None and points >= 6000
            else "silver"
            if points is not None and points >= 3000
            else "basic"
        )
        kept = {
            name: row[name] for name in ("customer_id", "country", "signup_date", "loyalty_points", "marketing_consent")
        }
        account.judge(kept | {"loyalty_tier": tier}, [])
    return account


def gold_products(silver: Account) -> Account:
    account = Account()
    for row in silver.good:
        price = row["list_price"]
        band = "low" if price < 20 else "middle" if price < 100 else "high"
        account.judge(
            {name: row[name] for name in ("product_id", "name", "category", "list_price")} | {"price_band": band}, []
        )
    return account


def gold_sales(orders: Account, customers: Account, products: Account) -> Account:
    country = {row["customer_id"]: row["country"] for row in customers.good}
    category = {row["product_id"]: row["category"] for row in products.good}
    account = Account()
    for row in orders.good:
        reasons = []
        if row["customer_id"] not in country:
            reasons.append(("customer_is_known", "consistency"))
        if row["product_id"] not in category:
            reasons.append(("product_is_known", "consistency"))
        sale = {
            "order_id": row["order_id"],
            "sale_date": row["ordered_at"].date(),
            "customer_id": row["customer_id"],
            "customer_country": country.get(row["customer_id"]),
            "product_id": row["product_id"],
            "category": category.get(row["product_id"]),
            "store": row["store"],
            "quantity": row["quantity"],
            "unit_price": row["unit_price"],
            "amount": row["quantity"] * row["unit_price"],
        }
        account.judge(sale, reasons)
    return account


def accounts() -> dict[str, Account]:
    """The account of every dataset, in the order they run."""
    customers, products, orders = Account(), Account(), Account()
    json_lines("crm", CUSTOMER, customers)
    separated("erp", ";", PRODUCT, products, {"", "n/a"})
    separated("pos", ",", ORDER, orders, {""})
    silver = silver_customers(customers), silver_products(products), silver_orders(orders)
    gold = gold_customers(silver[0]), gold_products(silver[1])
    return {
        "bronze_crm_customers": customers,
        "bronze_erp_products": products,
        "bronze_pos_orders": orders,
        "silver_crm_customers": silver[0],
        "silver_erp_products": silver[1],
        "silver_pos_orders": silver[2],
        "gold_dim_customers": gold[0],
        "gold_dim_products": gold[1],
        "gold_fact_sales": gold_sales(silver[2], gold[0], gold[1]),
    }


def figures() -> dict[str, dict[str, Any]]:
    """What was read and where it went, by dataset."""
    return {name: account.figures() for name, account in accounts().items()}


def rows() -> dict[str, list[Row]]:
    """The good rows of the datasets that hold no masked values."""
    masked = {"silver_crm_customers"}
    return {name: account.good for name, account in accounts().items() if name not in masked}


if __name__ == "__main__":
    print(json.dumps(figures(), indent=2))
