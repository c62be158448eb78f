"""A case as a conformance folder: contract.yaml, input.parquet with its rows in sight, and what was found."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from lakelogic.parity.canonical import plain
from lakelogic.parity.contracts import Case
from lakelogic.sql.types import from_arrow


def write(case: Case, folder: Path, about: str) -> None:
    """Write the contract and the rows; the expected rows are for a person to work out."""
    folder.mkdir(parents=True, exist_ok=True)
    contract = {**case.contract, "source": {"path": "input.parquet"}}
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False, allow_unicode=True), "utf-8")
    types = {f.name: str(from_arrow(f.type)) for f in case.rows.schema}
    lines = [json.dumps(types, ensure_ascii=False)]
    for row in case.rows.to_pylist():
        shown = {name: plain(item, case.rows.schema.field(name).type) for name, item in row.items()}
        lines.append(json.dumps(shown, ensure_ascii=False))
    (folder / "input.typed.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "about.md").write_text(f"{about}\n", "utf-8")
