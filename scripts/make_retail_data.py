"""Write the landing files of examples/retail again: small, always the same, and full of trouble on purpose.

    python scripts/make_retail_data.py [FOLDER]

All people, shops and products are invented. The troubles are set by hand, one by one, so that each of them
is known to be there; everything around them comes from a seeded generator.
"""

from __future__ import annotations

import csv
import io
import json
import random
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

SEED = 20261101
CUSTOMERS = 200
PRODUCTS = 60
ORDERS_A_DAY = 300
DAYS = 5
FIRST_DAY = date(2026, 11, 1)

Row = dict[str, Any]

FIRST_NAMES = (
    "Ada",
    "Zoë",
    "Łukasz",
    "Noor",
    "Søren",
    "Chloé",
    "José",
    "Mei",
    "Olu",
    "Priya",
    "Jürgen",
    "Aoife",
    "Élodie",
    "Ivo",
)
LAST_NAMES = (
    "Ångström",
    "O'Hara",
    "de Vries",
    "Müller",
    "Kowalska",
    "García",
    "Nguyễn",
    "Okafor",
    "Smith",
    "Ito",
    "Fernández",
    "Lund",
)
COUNTRIES = ("DE", "FR", "GB", "ES", "IT", "NL", "PL", "SE")
CATEGORIES = ("kitchen", "garden", "office", "toys", "lighting")
ADJECTIVES = ("Brass", "Oak", "Folding", "Enamel", "Striped", "Mini", "Deluxe", "Recycled", "Magnetic", "Silent")
THINGS = (
    "Teapot",
    "Rake",
    "Stapler",
    "Puzzle",
    "Lamp",
    "Mug",
    "Planter",
    "Notebook",
    "Kite",
    "Lantern",
    "Whisk",
    "Bench",
)
STORES = ("Berlin Mitte", "Lyon Part-Dieu", "Kraków Rynek", "Online")


def email(customer_id: str, name: str) -> str:
    letters = "".join(c for c in name.lower().replace(" ", ".") if c.isascii() and (c.isalpha() or c == "."))
    return f"{letters}.{customer_id.lower()}@example.com"


def customer(number: int, chance: random.Random) -> Row:
    customer_id = f"C{number:04}"
    name = f"{chance.choice(FIRST_NAMES)} {chance.choice(LAST_NAMES)}"
    return {
        "customer_id": customer_id,
        "full_name": name,
        "email": email(customer_id, name),
        "phone": f"+49 30 {chance.randrange(1000000, 9999999)}",
        "country": chance.choice(COUNTRIES),
        "signup_date": (date(2023, 1, 1) + timedelta(days=chance.randrange(1000))).isoformat(),
        "loyalty_points": chance.randrange(0, 9000),
        "marketing_consent": chance.random() < 0.6,
        "updated_at": f"2026-10-01T06:{chance.randrange(60):02}:{chance.randrange(60):02}Z",
    }


def crm(chance: random.Random) -> dict[str, list[Row | str]]:
    """Two extracts as newline-delimited JSON: everybody in October, changes and newcomers in November."""
    october: list[Row | str] = [customer(number, chance) for number in range(1, CUSTOMERS + 1)]
    trouble: dict[int, Row] = {
        # values that only need cleaning
        0: {"email": "  Ada.C0001@Example.COM "},
        1: {"country": "uk"},
        2: {"country": " fr "},
        3: {"full_name": "李小龙"},
        4: {"full_name": "Grace 🌸 Lund"},
        5: {"full_name": "Line\nBreak"},
        6: {"loyalty_points": " 120 "},
        7: {"phone": None},
        8: {"marketing_consent": "yes"},
        9: {"signup_date": "20250214"},
        # required values that are missing
        20: {"customer_id": None},
        21: {"email": None},
        22: {"email": None, "country": None},
        23: {"full_name": None},
        # values that are wrong
        30: {"email": "not_an_email"},
        31: {"email": "ann.example.com"},
        32: {"email": ""},
        33: {"email": "bob@localhost", "loyalty_points": -5},
        40: {"signup_date": "2026-02-30"},
        41: {"signup_date": "31/12/2025"},
        42: {"signup_date": "soon"},
        43: {"signup_date": "2199-01-01"},
        50: {"country": "XX"},
        51: {"country": "Atlantis"},
        60: {"loyalty_points": "many"},
        61: {"loyalty_points": 12000000},
        62: {"loyalty_points": "3.7"},
        70: {"customer_id": "71"},
        71: {"updated_at": None},
        72: {"marketing_consent": "perhaps"},
        # only worth a warning
        80: {"full_name": "Al"},
        81: {"phone": "call me"},
    }
    for index, change in trouble.items():
        row = october[index]
        assert isinstance(row, dict)
        row.update(change)
    absent = october[24]
    assert isinstance(absent, dict)
    del absent["email"]  # the key itself is missing
    october.insert(100, '{"customer_id": "C0999", "full_name": "Cut Sho')  # a line that was cut off
    october.append(october[90])  # the same line twice

    november: list[Row | str] = []
    for number in range(101, 121):  # newer versions
        row = dict(next(r for r in october if isinstance(r, dict) and r["customer_id"] == f"C{number:04}"))
        row["loyalty_points"] = int(row["loyalty_points"]) + 100
        row["updated_at"] = f"2026-11-01T05:00:{number - 100:02}Z"
        november.append(row)
    stale = november[3]
    assert isinstance(stale, dict)
    stale["updated_at"] = "2026-09-01T00:00:00Z"  # late news: older than what October already told
    broken = november[4]
    assert isinstance(broken, dict)
    broken["email"] = "gone"  # a newer version that is bad: the older one stays
    november += [customer(number, chance) for number in range(CUSTOMERS + 1, CUSTOMERS + 11)]
    november.insert(7, "this line is no JSON at all")
    return {"customers_2026-10-01.json": october, "customers_2026-11-01.json": november}


def product(number: int, chance: random.Random) -> Row:
    return {
        "sku": f"P{number:03}",
        "name": f"{chance.choice(ADJECTIVES)} {chance.choice(THINGS)}",
        "category": chance.choice(CATEGORIES),
        "list_price": f"{chance.randrange(199, 19999) / 100:.2f}",
        "currency": "EUR",
        "valid_from": "2026-10-01",
        "active": chance.choice(("true", "true", "true", "false")),
    }


def erp(chance: random.Random) -> dict[str, list[Row | str]]:
    """Two extracts as semicolon-separated text; `n/a` stands for nothing."""
    october: list[Row | str] = [product(number, chance) for number in range(1, PRODUCTS + 1)]
    trouble: dict[int, Row] = {
        0: {"name": "Lamp; brass, with shade"},
        1: {"name": 'Tray 15" "Classic"'},
        2: {"name": "Tea set\n(12 pieces)"},
        3: {"list_price": " 12.50 "},
        4: {"category": " Kitchen"},
        5: {"category": "LIGHTING"},
        6: {"name": "Gießkanne für Balkone"},
        7: {"currency": "n/a"},
        10: {"sku": ""},
        11: {"name": "n/a"},
        12: {"list_price": "tbd"},
        13: {"list_price": "9.999"},
        14: {"list_price": "0.00"},
        15: {"list_price": "-3.00"},
        16: {"list_price": "100000.00"},
        17: {"category": "gadgetz"},
        18: {"valid_from": "2026-13-01"},
        19: {"currency": "Euros"},
        20: {"list_price": "n/a"},
    }
    for index, change in trouble.items():
        row = october[index]
        assert isinstance(row, dict)
        row.update(change)
    october.insert(30, "P900;Too short;toys")
    october.insert(45, "P901;Too long;toys;9.90;EUR;2026-10-01;true;left over;and more")

    november: list[Row | str] = []
    for index in range(30, 40):  # new prices
        row = october[index + 1]
        assert isinstance(row, dict)
        raised = dict(row)
        raised["list_price"] = f"{float(raised['list_price']) + 1:.2f}"
        raised["valid_from"] = "2026-11-01"
        november.append(raised)
    november.append(november[0])  # the same line twice
    return {"products_2026-10-01.csv": october, "products_2026-11-01.csv": november}


def pos(chance: random.Random) -> dict[str, list[Row | str]]:
    """One comma-separated file a day from the tills."""
    prices = {number: chance.randrange(199, 19999) / 100 for number in range(1, PRODUCTS + 1)}
    files: dict[str, list[Row | str]] = {}
    days: list[list[Row]] = []
    number = 0
    for offset in range(DAYS):
        day = FIRST_DAY + timedelta(days=offset)
        rows: list[Row] = []
        for _ in range(ORDERS_A_DAY):
            number += 1
            at = datetime(day.year, day.month, day.day, 8, tzinfo=UTC) + timedelta(seconds=chance.randrange(12 * 3600))
            sku = chance.randrange(22, PRODUCTS + 1)  # the products and customers before these are the troubled ones
            rows.append(
                {
                    "order_id": f"O{number:05}",
                    "customer_id": f"C{chance.randrange(83, CUSTOMERS + 1):04}",
                    "sku": f"P{sku:03}",
                    "quantity": str(chance.choice((1, 1, 1, 2, 2, 3, 4, 6))),
                    "unit_price": f"{prices[sku]:.2f}",
                    "ordered_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "status": chance.choices(("paid", "shipped", "cancelled"), (70, 25, 5))[0],
                    "store": chance.choice(STORES),
                    "note": "",
                    "updated_at": (at + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                }
            )
        days.append(rows)

    first, second, third, fourth, fifth = days
    # values that only need cleaning, and notes that try a reader
    first[0].update(quantity=" 2 ", unit_price=" 19.90 ")
    first[1].update(status=" Paid ")
    first[2].update(note="gift, please wrap")
    first[3].update(note='says "no rush"')
    first[4].update(note="first line\nsecond line")
    first[5].update(note="für Zoë 🎁")
    first[6].update(ordered_at="2026-11-01 09:15")
    second[0].update(status="canceled")
    second[1].update(quantity="+3")
    # wrong in one way each
    first[20].update(order_id="")
    first[21].update(customer_id="")
    first[22].update(quantity="-1")
    first[23].update(quantity="0")
    first[24].update(quantity="two")
    first[25].update(quantity="2.5")
    first[26].update(unit_price="free")
    first[27].update(unit_price="-4.00")
    first[28].update(unit_price="1000000.00")
    first[29].update(ordered_at="2026-11-31T10:00:00Z")
    first[30].update(ordered_at="yesterday")
    first[31].update(ordered_at="2199-01-01T00:00:00Z")
    first[32].update(status="lost")
    first[33].update(unit_price="")
    second[20].update(quantity="")
    second[21].update(quantity="1e3")
    second[22].update(unit_price="12,50")
    second[23].update(sku="")
    # wrong in several ways: every reason is told
    second[24].update(quantity="-2", status="lost", unit_price="-1.00")
    second[25].update(order_id="", quantity="none", ordered_at="")
    # bad and cancelled: judged before it is left out
    second[26].update(quantity="-1", status="cancelled")
    # pointing nowhere: found where facts meet dimensions
    third[0].update(customer_id="C7777")
    third[1].update(customer_id="C8888")
    third[2].update(sku="P777")
    third[3].update(customer_id="C7777", sku="P777")
    third[4].update(customer_id="C0031")  # exists, but its own row is in quarantine
    third[5].update(sku="P013")
    # sent again: a newer version, the same line, an older version, a later cancellation
    resent = dict(first[50], quantity="5", updated_at="2026-11-04T08:00:00Z", status="paid")
    same = dict(first[51])
    older = dict(first[52], quantity="9", updated_at="2026-10-30T00:00:00Z")
    cancelled = dict(first[53], status="cancelled", updated_at="2026-11-05T09:00:00Z")
    first[50].update(status="paid")
    fourth += [resent, same, older]
    fifth += [cancelled, dict(fifth[0])]

    for offset, rows in enumerate(days):
        files[f"orders_{FIRST_DAY + timedelta(days=offset)}.csv"] = list(rows)
    files["orders_2026-11-02.csv"].insert(100, "O90001,C0001,P001,1")
    files["orders_2026-11-04.csv"].insert(
        10, "O90002,C0002,P002,1,9.90,2026-11-04T10:00:00Z,paid,Online,,2026-11-04T10:05:00Z,surplus"
    )
    return files


def as_json_lines(rows: list[Row | str]) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)


def as_csv(rows: list[Row | str], *, delimiter: str = ",", line_end: str = "\n") -> str:
    text = io.StringIO()
    columns = next(list(row) for row in rows if isinstance(row, dict))
    writer = csv.DictWriter(text, columns, delimiter=delimiter, lineterminator=line_end)
    writer.writeheader()
    for row in rows:
        if isinstance(row, str):
            text.write(row + line_end)
        else:
            writer.writerow(row)
    return text.getvalue()


def landing_files() -> dict[str, str]:
    """Every landing file by its path under the landing folder."""
    chance = random.Random(SEED)
    files = {f"crm/{name}": as_json_lines(rows) for name, rows in crm(chance).items()}
    files |= {f"erp/{name}": as_csv(rows, delimiter=";") for name, rows in erp(chance).items()}
    for name, rows in pos(chance).items():
        # The tills of one day wrote Windows line ends.
        files[f"pos/{name}"] = as_csv(rows, line_end="\r\n" if name == "orders_2026-11-03.csv" else "\n")
    return files


def main(folder: Path) -> None:
    for name, text in landing_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        print(f"{path}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "examples" / "retail" / "landing")
