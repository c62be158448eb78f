"""The parity gate: no figure counts unless good rows, bad rows and the reasons of each bad row are the right ones.

What is right is known from the generator, which planted the faults, never from one of those who are measured. Rows are
compared as multisets, by their number and two sums of hashes; where these differ, the rows that differ are shown.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bench.data import BIT, Data
from bench.reference import COLUMNS, KEY, NAMES

SHOWN = 3


class ParityError(Exception):
    """A result is not the right one; says how."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What somebody made of the orders: files of both sides, and what the job is allowed to leave out.

    `rules` is SQL over a bad row: the names of the rules it breaks. `leaves` holds what a peer cannot do: `reasons`,
    `digest`, `unique`; that part is not compared, and told beside the figure.
    """

    good: Sequence[str]
    bad: Sequence[str]
    rules: str
    unique: bool
    mask: str = "digest"
    leaves: frozenset[str] = frozenset()
    asked: tuple[str, ...] = NAMES  # the rules of the reference job that were asked
    email: str = "email"  # the column of good rows in which the digest stands

    @classmethod
    def of(cls, told: dict[str, Any], mask: str) -> Outcome:
        """From what a subject told."""
        leaves, asked = frozenset(told.get("leaves", ())), tuple(told.get("asked", NAMES))
        email = str(told.get("email", "email"))
        return cls(told["good"], told["bad"], told["rules"], bool(told["unique"]), mask, leaves, asked, email)


def _connect() -> Any:
    import duckdb

    connection = duckdb.connect()
    # DuckDB has no keyed hash of its own; the gate may take its time.
    connection.create_function("keyed", _keyed, ["VARCHAR"], "VARCHAR")
    return connection


def _keyed(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), sha256).hexdigest()


def _listed(files: Sequence[Any]) -> str:
    return f"read_parquet([{', '.join(repr(str(file)) for file in files)}], hive_partitioning = false)"


def _row(email: str) -> str:
    kinds = {name: kind.replace("string", "varchar") for name, kind in COLUMNS.items()}
    return ", ".join(f"CAST({email if name == 'email' else name} AS {kind}) AS {name}" for name, kind in kinds.items())


_EMAIL = {"digest": "sha256(email)", "none": "email", "keyed": "keyed(email)"}


def _bits(asked: Sequence[str]) -> int:
    return sum(BIT[name] for name in asked)


def _expected_good(data: Data, mask: str, asked: Sequence[str]) -> str:
    bad = f"SELECT order_id FROM {_listed([data.faults])} WHERE faults & {_bits(asked)} <> 0"
    return f"SELECT {_row(_EMAIL[mask])} FROM {_listed(data.files('parquet'))} WHERE order_id NOT IN ({bad})"


def _expected_bad(data: Data, mask: str, asked: Sequence[str], *, reasons: bool) -> str:
    rows = f"{_listed(data.files('parquet'))} AS o NATURAL JOIN {_listed([data.faults])} AS f"
    names = "[" + ", ".join(f"'{name}'" for name in NAMES) + "]"
    broken = f"list_sort(list_filter({names}, lambda name, i: ((faults & {_bits(asked)}) >> (i - 1)) & 1 = 1))"
    email = "keyed(email)" if mask == "keyed" else "email"
    kept = f"SELECT * FROM {rows} WHERE faults & {_bits(asked)} <> 0"
    return f"SELECT {_row(email)}, {broken if reasons else 'NULL'} AS rules FROM ({kept})"


def sums(connection: Any, query: str) -> list[str]:
    """The number of rows and two sums of hashes: equal for equal multisets, and for no others that we will meet."""
    found = connection.execute(
        f"SELECT count(*), sum(hash(r)::HUGEINT), sum(hash('again', r)::HUGEINT) FROM ({query}) AS r"
    ).fetchone()
    return [str(one) for one in found]


def _known(connection: Any, data: Data, name: str, query: str) -> list[str]:
    """The sums of what is expected, remembered beside the data."""
    import duckdb

    place = data.folder / f"expected-{name}-{duckdb.__version__}.json"
    if not place.exists():
        place.write_text(json.dumps(sums(connection, query)))
    return list(json.loads(place.read_text()))


def check(data: Data, outcome: Outcome) -> None:
    """Refuse an outcome that is not the right one."""
    mask = "none" if "digest" in outcome.leaves else outcome.mask
    reasons = "reasons" not in outcome.leaves
    if "unique" not in outcome.leaves and not outcome.unique:
        raise ParityError("The ids are unique, and that was not found.")
    if not outcome.good or not outcome.bad:
        raise ParityError(f"There are {len(outcome.good)} files of good rows and {len(outcome.bad)} of bad ones.")
    connection = _connect()
    try:
        expected = {
            "good": _expected_good(data, mask, outcome.asked),
            "bad": _expected_bad(data, mask, outcome.asked, reasons=reasons),
        }
        rules = f"list_sort({outcome.rules})" if reasons else "NULL"
        found = {
            "good": f"SELECT {_row(outcome.email)} FROM {_listed(outcome.good)}",
            "bad": f"SELECT {_row('email')}, {rules} AS rules FROM {_listed(outcome.bad)}",
        }
        for side, query in found.items():
            name = f"{side}-{mask}-{_bits(outcome.asked)}{'' if reasons else '-without-reasons'}"
            right = _known(connection, data, name, expected[side])
            if sums(connection, query) != right:
                raise ParityError(_difference(connection, side, expected[side], query))
    finally:
        connection.close()


def check_counts(data: Data, failed: dict[str, int], *, unique: bool) -> None:
    """Refuse counts of broken rules that are not the right ones: for those who only count."""
    connection = _connect()
    try:
        counted = ", ".join(f"count_if(faults & {BIT[name]} <> 0)" for name in NAMES)
        right = connection.execute(f"SELECT {counted} FROM {_listed([data.faults])}").fetchone()
    finally:
        connection.close()
    wrong = [
        f"{name}: {failed.get(name)} instead of {count}"
        for name, count in zip(NAMES, right, strict=True)
        if failed.get(name) != count
    ]
    if wrong or not unique:
        raise ParityError("; ".join(wrong) or "The ids are unique, and that was not found.")


def _difference(connection: Any, side: str, expected: str, found: str) -> str:
    lines = []
    for word, first, second in (("missing", expected, found), ("not expected", found, expected)):
        query = f"({first}) EXCEPT ALL ({second})"
        count = connection.execute(f"SELECT count(*) FROM ({query})").fetchone()[0]
        rows = connection.execute(f"SELECT * FROM ({query}) ORDER BY order_id LIMIT {SHOWN}").fetchall()
        lines.append(f"{count} {side} rows are {word}" + "".join(f"\n  {row}" for row in rows))
    return "\n".join(lines)
