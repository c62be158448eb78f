"""`lakelogic lineage`: which rows a row was made of, down to lines of files; which column came from which."""

from __future__ import annotations

from typing import Any

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag


@click.group()
def lineage() -> None:
    """What fed a number: rows back to source lines, columns back to columns."""


_places = click.option(
    "--estate", "places", multiple=True, type=click.Path(), help="Registry, folder or contract; by default `.`."
)


def _served(console: Console, places: tuple[str, ...], env: str | None) -> Any:
    from lakelogic.actions.look.estate import EstateRequest
    from lakelogic.actions.look.served import Served

    return Served(console.surroundings(), EstateRequest(places or (".",), env))


@lineage.command("rows")
@click.argument("dataset")
@click.option("--key", multiple=True, help="A value of its primary key; repeat for each column of it.")
@click.option("--at", help="The place of a row, as it was told.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1_000), help="Rows of each place.")
@_places
@env_option
@json_flag
@guarded
def rows(
    dataset: str, key: tuple[str, ...], at: str | None, limit: int, places: tuple[str, ...], env: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """The whole way from one row of DATASET down to source files and lines."""
    from lakelogic.actions.look.drilldown import Start, chain

    console = Console(as_json)
    story = chain(_served(console, places, env), Start(dataset, key, at), limit=limit)
    if as_json:
        console.json(story)
        return 0
    row = story["row"]
    console.print(f"{row['dataset']} {_key(row)} (version {row['version']}, {row['run_id']})")
    for level in story["levels"]:
        for upstream in level["upstreams"]:
            place = f" {'' if upstream['role'] == 'link' else 'where '}{upstream['where']}" if upstream["where"] else ""
            mark = "" if upstream["exact"] else " (not exact)"
            console.print(
                f"{'  ' * level['depth']}{upstream['dataset'] or upstream['name']}: {_rows(upstream['total'])}"
                f"{place}{mark}"
            )
    for source in story["sources"]:
        lines = ", ".join(map(str, source["lines"]))
        console.print(f"{source['file']}: {f'lines {lines}' if lines else _rows(source['rows'])}")
    for why in story["why"]:
        console.note(why)
    return 0


@lineage.command("columns")
@click.argument("dataset")
@click.argument("column", required=False)
@click.option("--depth", default=10, show_default=True, type=click.IntRange(1, 50), help="Steps up and down.")
@_places
@env_option
@json_flag
@guarded
def columns(
    dataset: str, column: str | None, depth: int, places: tuple[str, ...], env: str | None, as_json: bool
) -> int:
    """What the columns of DATASET (or one COLUMN) are made of, and what is made of them."""
    from lakelogic.actions.look.columns import columns_of

    console = Console(as_json)
    report = columns_of(_served(console, places, env), dataset, column, depth)
    if as_json:
        console.json(report)
        return 0
    table = [
        (
            column["column"],
            column["kind"],
            ", ".join(f"{up['dataset'] or up['name']}.{up['column']}" for up in column["upstream"]),
            ", ".join(f"{down['dataset']}.{down['column']}" for down in column["downstream"]),
        )
        for column in report["columns"]
    ]
    console.table(("column", "how", "made of", "makes"), table)
    return 0


def _key(row: dict[str, Any]) -> str:
    return f"({', '.join(row['key'])})" if row["key"] else f"at {row['at']}"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
