"""Start a project: a contract that runs, a few rows to run it on, and the editor's schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lakelogic.errors import UsageError

SCHEMA_FILE = "contract.schema.json"
_CONTRACT = """\
# yaml-language-server: $schema={schema}
# A contract: what lands, what a good row is, where good rows go. `lakelogic run {name}` runs it.
version: 1.0.0
info:
  title: Customers
  target_layer: silver
  owner: you@example.com

source:
  path: landing/customers/*.json
  load_mode: incremental          # a file is read once

model:
  fields:
    - name: customer_id
      type: string
      required: true
    - name: email
      type: string
      required: true
    - name: signed_up
      type: date
    - name: orders
      type: int
      min: 0

transformations:
  - sql: "LOWER(TRIM(email)) AS email"

quality:
  row_rules:
    - name: email_looks_right
      sql: "email LIKE '%@%.%'"

materialization:
  strategy: merge
  primary_key: [customer_id]
  target_path: catalog.silver.customers
"""
_ROWS = (
    {"customer_id": "C100", "email": " Ada@Example.com ", "signed_up": "2026-01-05", "orders": "3"},
    {"customer_id": "C101", "email": "grace@example.com", "signed_up": "2026-02-30", "orders": "1"},
    {"customer_id": "C102", "email": "not_an_email", "signed_up": "2026-03-01", "orders": "0"},
    {"customer_id": "C103", "email": "alan@example.com", "signed_up": "2026-03-04", "orders": "2"},
)


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The files that were written."""

    folder: str
    files: tuple[str, ...]


def init(folder: str = ".", *, force: bool = False) -> Scaffold:
    """Write a first contract with its landing files into a folder; files that are there are never overwritten."""
    from lakelogic.contract.describe.jsonschema import json_schema

    root = Path(folder)
    contract = root / "contract.yaml"
    files = {
        contract: _CONTRACT.format(schema=SCHEMA_FILE, name=contract.name),
        root / SCHEMA_FILE: json.dumps(json_schema(), indent=2) + "\n",
        root / "landing" / "customers" / "2026-03-05.json": "".join(json.dumps(row) + "\n" for row in _ROWS),
    }
    there = [str(path) for path in files if path.exists()]
    if there and not force:
        raise UsageError(f"{there[0]} is there already.", hint="Choose another folder, or write over it with --force.")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Scaffold(str(root), tuple(str(path) for path in files))
