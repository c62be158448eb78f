"""`lakelogic bootstrap`: contracts and a registry from a landing folder."""

from __future__ import annotations

from typing import Any

import click

from lakelogic.cli.console import Console, grid, guarded
from lakelogic.cli.options import json_flag

_PARTLY = 3  # something was drafted and something was not


@click.command()
@click.option("--landing", required=True, metavar="FOLDER", help="Where files land.")
@click.option("--output-dir", required=True, metavar="FOLDER", help="Where contracts are written.")
@click.option("--registry", metavar="FILE", help="The registry; by default _registry.yaml beside the contracts.")
@click.option("--format", metavar="FORMAT", help="csv, tsv, json, ndjson or parquet; by default told by suffixes.")
@click.option("--pattern", metavar="GLOB", help="Only files with such names.")
@click.option("--system", default="landing", show_default=True, help="How tables are called: SYSTEM.bronze.ENTITY.")
@click.option("--owner", default="unassigned", show_default=True, help="Who answers for the datasets.")
@click.option("--rows", type=click.IntRange(1), default=10_000, show_default=True, help="How many to look at, about.")
@click.option("--sync", is_flag=True, help="Add what is new; files that somebody has edited stay as they are.")
@json_flag
@guarded
def bootstrap(as_json: bool, **asked: Any) -> int:
    """Draft contracts and a registry from what has landed, with the reason of every guess."""
    from lakelogic.actions.author.bootstrap import BootstrapRequest
    from lakelogic.actions.author.bootstrap import bootstrap as action

    console = Console(as_json)
    done = action(BootstrapRequest(**asked))
    if as_json:
        console.json(done.as_dict())
        return _PARTLY if done.left_out else 0
    for draft in done.drafts:
        entity = draft.entity
        console.print(f"{entity.name}: {draft.effect} {draft.contract} ({entity.landing.why}, {_seen(entity)})")
        if draft.effect == "kept":
            missing = ", ".join(draft.missing)
            console.print(f"  edited by somebody, left as it is{f'; it lacks the landed {missing}' if missing else ''}")
            continue
        rows = [
            (
                column.name + (" (key)" if column.name in entity.key else ""),
                column.type,
                "; ".join(filter(None, [column.why, column.personal and f"personal: {column.personal}"])),
            )
            for column in entity.columns
        ]
        shown = grid(("column", "type", "why"), rows, limit=100)
        console.print("\n".join(f"  {line}" for line in shown.splitlines()))
        if entity.how.encoding.name is not None:
            console.print(f"  encoding: {entity.how.encoding.name} ({entity.how.encoding.why})")
        if entity.how.note is not None:
            console.print(f"  note: {entity.how.note}")
        console.print(f"  key: {', '.join(entity.key) or 'none'} ({entity.key_why})")
        console.print(f"  rows: {entity.strategy_why}")
        if entity.partition:
            console.print(f"  partition: {entity.partition} ({entity.partition_why})")
        for name, sql, why in entity.rules:
            console.print(f"  rule: {name}: {sql} ({why})")
        if entity.broken:
            console.print(f"  {entity.broken} lines could not be read; a run keeps them apart")
    for name, why in done.left_out.items():
        console.warn(f"{name}: left out: {why}")
    console.print(f"registry: {done.registry_effect} {done.registry}")
    if done.to_add:
        console.print(f"Add to it yourself:\n{done.to_add}")
    return _PARTLY if done.left_out else 0


def _seen(entity: Any) -> str:
    """How many rows the guesses are made of, and how many they were held against."""
    text = f"{entity.rows} rows seen"
    if entity.proof.rows > entity.rows:
        text += f" and held against {'' if entity.proof.is_whole else 'the first '}{entity.proof.rows:,}"
    return text
