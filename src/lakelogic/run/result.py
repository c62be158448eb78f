"""What a run gives back: its status, its counts, and both sides as frames of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakelogic import names, printable
from lakelogic.engines.base import Engine
from lakelogic.errors import DataError, GateClosed
from lakelogic.privacy.keys import Keys
from lakelogic.privacy.masks import reveal_array
from lakelogic.run.publish.reconcile import Counts, quality_score
from lakelogic.storage import parquet
from lakelogic.storage.scratch import Scratch


@dataclass(slots=True)
class Sides:
    """Where both sides of a batch lie, and how to open them; nothing is read before somebody asks."""

    engine: Engine
    good_files: Sequence[str]
    good_columns: Sequence[tuple[str, pa.DataType]]
    bad_files: Sequence[str]
    bad_schema: pa.Schema
    keys: Keys
    reveal: bool = True
    masked: frozenset[str] = frozenset()
    folder: Scratch | None = None  # of rows that are only judged: it goes with the result


@dataclass(slots=True, repr=False)
class Result:
    """One run. Unpacks to `good, bad`."""

    run_id: str
    dataset: str
    status: str
    published: bool
    counts: Counts
    report: dict[str, Any]
    reasons: tuple[str, ...] = ()
    sides: Sides | None = field(default=None, repr=False)
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def quarantine_ratio(self) -> float:
        """Quarantined rows as a share of those that reached a verdict."""
        return self.counts.quarantine_ratio

    @property
    def quality_score(self) -> float:
        """The share of judged rows that no rule of severity error or warning had anything against, 0 to 100."""
        return quality_score(self.counts.good, self.counts.quarantined, self.warned)

    @property
    def warned(self) -> int:
        """Good rows that failed at least one rule of severity warning."""
        return int((self.report.get("findings") or {}).get("warned") or 0)

    @property
    def dataset_rules_failed(self) -> tuple[str, ...]:
        """The names of dataset rules of severity error that did not hold; empty where all did."""
        found = self.report.get("dataset_rules") or ()
        return tuple(rule["name"] for rule in found if not rule["passed"] and rule["severity"] == "error")

    @property
    def good(self) -> Any:
        """The good rows of this batch, masked, as a native frame."""
        sides = self._sides()
        if sides.folder is not None and sides.good_files and sides.engine.capabilities.reads_later:
            sides.folder.keep()
        return self._good()

    def _good(self) -> Any:
        if "good" not in self._cache:
            sides = self._sides()
            if sides.good_files:
                self._cache["good"] = sides.engine.open(sides.good_files, sides.good_columns)
            else:
                self._cache["good"] = sides.engine.wrap(pa.schema(list(sides.good_columns)).empty_table())
        return self._cache["good"]

    @property
    def bad(self) -> Any:
        """The quarantined rows with their reasons, as a native frame.

        A process that holds the key sees reversibly masked values in clear, so that a person can see what
        failed; what is written anywhere stays masked.
        """
        if "bad" not in self._cache:
            sides = self._sides()
            self._cache["bad"] = sides.engine.wrap(self._bad_table(sides.reveal))
        return self._cache["bad"]

    def __repr__(self) -> str:
        counts = self.counts
        warned = f", {self.warned} with warnings" if self.warned else ""
        rows = f"{counts.total} rows, {counts.good} good, {counts.quarantined} bad{warned}"
        return f"<Result of {self.dataset}: {self.status}, {rows} ({self.run_id})>"

    def _repr_html_(self) -> str:
        """Both sides for a notebook. Notebooks are kept and shared, so masked values stay masked here."""
        from lakelogic.run.result_html import as_html

        return as_html(self)

    def __iter__(self) -> Iterator[Any]:
        yield self.good
        yield self.bad

    def raise_for_status(self) -> Result:
        """Raise GateClosed when publication was withheld; otherwise the result itself."""
        if self.status == "gated":
            raise GateClosed(
                f"`{self.dataset}` was not published: {'; '.join(self.reasons)}.",
                hint="The quarantine was written. Mend the data or the rule and run again, or release these rows: "
                f"lakelogic approve {self.run_id}",
            )
        if self.status == "failed":
            raise DataError(f"`{self.dataset}` broke a service level: {'; '.join(self.reasons)}.")
        return self

    def show(self, limit: int = 20) -> None:
        """Print both sides, as the home page shows them."""
        print(self.as_text(limit))  # noqa: T201  the one place in the library that is asked to print

    def as_text(self, limit: int = 20) -> str:
        """Both sides as text tables."""
        good, bad = self.tables(limit, reveal=self._sides().reveal)
        return "\n".join(
            [
                "result.good (passed the rules, personal data masked)",
                *_grid(good),
                "",
                "result.bad (quarantined)",
                *_grid(bad),
            ]
        )

    def tables(self, limit: int, *, reveal: bool) -> tuple[pa.Table, pa.Table]:
        """Some rows of both sides as people look at them: without stamps, the bad ones with their reasons."""
        sides = self._sides()
        good = sides.engine.collect(self._good(), limit)
        plain = [name for name in good.column_names if not name.startswith(("_lakelogic_", "~"))]
        bad = self._bad_table(reveal)
        reasons = [name for name in (names.CATEGORIES, names.ERRORS) if name in bad.column_names]
        shown = [name for name in bad.column_names if name in plain] + reasons
        return _sorted(good.select(plain)).slice(0, limit), _sorted(bad.select(shown)).slice(0, limit)

    def _bad_table(self, reveal: bool) -> pa.Table:
        sides = self._sides()
        key = f"bad_table:{reveal}"
        if key not in self._cache:
            table = parquet.reader(sides.bad_files, sides.bad_schema).read_all()
            if reveal and sides.keys.encryption:
                for position, name in enumerate(table.column_names):
                    if name in sides.masked:
                        clear = reveal_array(table.column(position), sides.keys)
                        table = table.set_column(position, table.schema.field(position), clear)
            self._cache[key] = table
        found_table: pa.Table = self._cache[key]
        return found_table

    def _sides(self) -> Sides:
        if self.sides is None:
            raise DataError(f"The run {self.run_id} ({self.status}) has no rows to show.")
        return self.sides


def _sorted(table: pa.Table) -> pa.Table:
    """Rows by their first column, so that two engines show the same picture."""
    return table.sort_by(table.column_names[0]) if table.num_columns else table


def _grid(table: pa.Table) -> list[str]:
    rows = [[cell(value) for value in row.values()] for row in table.to_pylist()]
    heads = [printable.line(name) for name in table.column_names]
    widths = [max([len(head), *(len(row[i]) for row in rows)]) for i, head in enumerate(heads)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in [heads, *rows]
    ]
    return lines if rows else [*lines, "(none)"]


def cell(value: Any) -> str:
    """A value in a table for people."""
    import json

    if value is None:
        return "null"
    if isinstance(value, list):
        return printable.line(json.dumps(value, ensure_ascii=False, default=str))
    text = printable.line(str(value))
    return text if len(text) <= 40 else text[:37] + "..."


def as_report(record: Mapping[str, Any], counts: Counts, parts: Mapping[str, Any]) -> dict[str, Any]:
    """The ledger row with its parts unfolded, as a plain dict."""
    return {**record, "counts": counts.as_dict(), **parts}
