"""`lakelogic import`: what was written elsewhere, as parts of contracts."""

from __future__ import annotations

from pathlib import Path

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import json_flag


@click.group("import")
def import_() -> None:
    """Bring what was written elsewhere into contracts."""


@import_.command("rules")
@click.argument("file", type=click.Path())
@click.option("--newest-by", multiple=True, metavar="COLUMN", help="What `keep newest` goes by: 'updated_at desc'.")
@click.option("--output", type=click.Path(), help="Write the YAML here instead of printing it.")
@json_flag
@guarded
def rules(file: str, newest_by: tuple[str, ...], output: str | None, as_json: bool) -> int:
    """Turn a JSON FILE of rules (name, field, condition, rejected_label) into row rules of a contract."""
    from lakelogic.actions.author.import_rules import import_rules

    console = Console(as_json)
    imported = import_rules(file, newest_by)
    if output:
        Path(output).write_text(imported.text, "utf-8")
    if as_json:
        console.json({"file": imported.file, "output": output, "row_rules": list(imported.rules)})
    else:
        console.print(f"Wrote {len(imported.rules)} rules to {output}" if output else imported.text.rstrip())
    return 0
