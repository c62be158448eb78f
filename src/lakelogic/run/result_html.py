"""A result as a notebook shows it: how it came out, what was found, and some rows of both sides."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakelogic.printable import line
from lakelogic.run.findings import lines

if TYPE_CHECKING:
    from lakelogic.run.result import Result

_ROWS: Final = 10


def as_html(result: Result) -> str:
    """HTML without scripts or styles of its own; every text out of data is escaped."""
    parts = [f"<p><b>{_text(result.dataset)}</b>: {_text(repr(result).strip('<>').partition(': ')[2])}</p>"]
    parts += [f"<p>{_text(reason)}</p>" for reason in result.reasons]
    found = lines(result.report.get("findings") or {}, result.report.get("schema_drift") or {})
    if told := "".join(f"<li>{_text(one)}</li>" for one in found):
        parts.append(f"<ul>{told}</ul>")
    if result.sides is not None:
        good, bad = result.tables(_ROWS, reveal=False)
        parts += [*_table("good", good, result.counts.good), *_table("bad", bad, result.counts.quarantined)]
    return "\n".join(parts)


def _table(side: str, table: pa.Table, total: int) -> Iterator[str]:
    from lakelogic.run.result import cell

    yield f"<p>{side}: {table.num_rows} of {total} rows</p>"
    if table.num_rows:
        heads = "".join(f"<th>{_text(name)}</th>" for name in table.column_names)
        rows = "".join(
            f"<tr>{''.join(f'<td>{_text(cell(value))}</td>' for value in row.values())}</tr>"
            for row in table.to_pylist()
        )
        yield f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _text(text: str) -> str:
    return escape(line(text))
