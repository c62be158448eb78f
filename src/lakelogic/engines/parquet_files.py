"""What the footers of Parquet files say, read once per scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lakelogic.engines.text_reader import local_path
from lakelogic.errors import SourceError


@dataclass(frozen=True, slots=True)
class Footers:
    """Rows of all files together, and the columns any of them has: by exact name and by name without case."""

    rows: int
    names: dict[str, str] = field(default_factory=dict)
    schemas: tuple[pa.Schema, ...] = ()


def footers(files: Sequence[str]) -> Footers:
    """Read the footers; no data is touched."""
    from pyarrow import parquet

    rows, schemas = 0, []
    names: dict[str, str] = {}
    for file in files:
        try:
            with parquet.ParquetFile(local_path(file)) as opened:
                rows += opened.metadata.num_rows
                schemas.append(opened.schema_arrow)
        except (OSError, pa.ArrowInvalid) as error:
            raise SourceError(f"{file} cannot be read as Parquet: {error}.") from error
        for name in schemas[-1].names:
            names.setdefault(name.casefold(), name)
            names[name] = name
    return Footers(rows, names, tuple(schemas))
