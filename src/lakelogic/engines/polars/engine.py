"""The Polars engine: the verbs of the protocol on lazy frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from lakelogic.engines.base import AS_IT_COMES, Capabilities, Frame, Order, Pinned, Staged
from lakelogic.engines.polars import nodes, scan
from lakelogic.engines.polars import stage as staging
from lakelogic.engines.polars.expressions import BUILDERS, expression
from lakelogic.engines.polars.frame import Rows
from lakelogic.engines.polars.functions import aggregates, windows
from lakelogic.engines.readers import text_reader
from lakelogic.engines.readers.formats import READERS
from lakelogic.plan.nodes import Account, Landed, Link, Mask, Measure, Published, Read
from lakelogic.privacy.keys import Keys
from lakelogic.sql.types import from_arrow


class PolarsEngine:
    """Plans on Polars: one lazy frame per pass, streamed to staged files."""

    name = "polars"
    capabilities = Capabilities(
        name="polars",
        functions=frozenset({*BUILDERS, *aggregates.NAMES, *windows.NAMES}),
        formats=frozenset(READERS),
        masks=frozenset({"nullify", "hash", "redact", "partial", "encrypt", "encrypt_deterministic"}),
        nodes=frozenset(kind.__name__ for kind in nodes.LOWER),
        reads_later=False,
    )

    @property
    def version(self) -> str:
        """Polars' version."""
        return str(pl.__version__)

    def expect(self, size: int) -> None:
        """It starts the same for any size."""

    def discover(self, read: Read, pinned: Pinned) -> tuple[Landed, ...]:
        """The top-level keys of ndjson objects."""
        return text_reader.discover(read, pinned)

    def scan(self, read: Read, pinned: Pinned) -> Frame:
        """The landed columns, with the four about where a row came from."""
        return scan.scan(read, pinned)

    def adopt(self, data: Any, read: Read | None = None) -> tuple[Frame, tuple[Landed, ...]]:
        """A frame that somebody hands in."""
        return scan.adopt(data.frame if isinstance(data, Rows) else data, read)

    def lower(self, frame: Frame, accounts: Sequence[Account], links: Mapping[str, Frame]) -> Frame:
        """The union of what the accounts publish."""
        return nodes.lower(frame, accounts, links)

    def link(self, link: Link, pinned: Pinned) -> Frame:
        """The rows of a link that count, with its columns."""
        rows = scan.scan(link.read, pinned)
        links = nodes.named_frames({})
        frame = nodes.apply(rows.frame, link.nodes, links)
        return rows.then(frame if link.keep is None else frame.filter(expression(links.pieces.bound(link.keep))))

    def sql(self, frame: Frame) -> str:
        """Polars' own optimised plan."""
        return str(self._rows(frame).frame.explain())

    def stage(
        self,
        frame: Frame,
        columns: Sequence[Published],
        masks: Sequence[Mask],
        keys: Keys,
        place: str,
        order: Order = AS_IT_COMES,
    ) -> Staged:
        """Evaluate once into staged files."""
        return staging.stage(frame, columns, masks, keys, place, order)

    def measure(
        self, files: Sequence[str], columns: Sequence[Published], measures: Sequence[Measure]
    ) -> dict[str, Any]:
        """All measures in one query."""
        return staging.measure(files, columns, measures)

    def duplicates(self, frame: Frame, keys: Sequence[str]) -> int:
        """How many different keys occur more than once."""
        return staging.duplicates(self._rows(frame), keys)

    def open(self, files: Sequence[str], columns: Sequence[tuple[str, pa.DataType]]) -> Frame:
        """Parquet files as a DataFrame."""
        return scan.parquet(files, {name: from_arrow(type_) for name, type_ in columns})[0].collect()

    def wrap(self, table: pa.Table) -> Frame:
        """A small Arrow table as a DataFrame."""
        return pl.from_arrow(table)

    def collect(self, frame: Frame, limit: int | None = None) -> pa.Table:
        """The rows as an Arrow table."""
        return staging.collect(self._rows(frame), limit)

    def close(self) -> None:
        """Nothing was started."""

    def _rows(self, frame: Frame) -> Rows:
        if isinstance(frame, Rows):
            return frame
        rows, _ = self.adopt(frame)
        assert isinstance(rows, Rows)
        return rows
