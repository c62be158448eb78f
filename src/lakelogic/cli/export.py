"""`lakelogic export`: send committed tables elsewhere, or tell what was sent and what is lacking."""

from __future__ import annotations

from typing import Any

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag, pack_dir_option, pack_option, set_option


@click.command()
@click.argument("contracts", nargs=-1, required=True, type=click.Path())
@click.option("--only", multiple=True, metavar="NAME", help="Only this export; may be repeated.")
@click.option("--status", "only_status", is_flag=True, help="Only tell what was sent and what is lacking.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be sent.")
@click.option("--again", is_flag=True, help="Send a version that was sent before.")
@env_option
@set_option
@pack_option
@pack_dir_option
@json_flag
@guarded
def export(
    contracts: tuple[str, ...], only: tuple[str, ...], only_status: bool, dry_run: bool, again: bool, env: str | None,
    overrides: tuple[str, ...], packs: tuple[str, ...], pack_dir: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Send the tables of CONTRACTS to where their `exports` say, each version once."""
    from lakelogic.actions.operate import export as action
    from lakelogic.contract.reading.packs import PackChoice

    console = Console(as_json)
    request = action.ExportRequest(contracts, only, env, overrides, PackChoice(packs, pack_dir), again, dry_run)
    if only_status:
        statuses = action.status_of(console.surroundings(), request)
        if as_json:
            console.json({"exports": statuses})
        else:
            heads = ("dataset", "export", "target", "status", "version", "exported", "lacks")
            console.table(heads, [_status_row(status) for status in statuses])
        return 0
    report = action.export(console.surroundings(), request)
    console.clear()
    if as_json:
        console.json(report.as_dict())
        return report.exit_code
    heads = ("dataset", "export", "target", "state", "version", "rows", "lacks")
    console.table(heads, [_row(row) for row in report.exports])
    for row in report.exports:
        if row["error"] is not None:
            console.warn(f"{row['export']}: {row['error']['code']}  {row['error']['message']}")
            console.warn(f"Hint: {row['error']['hint']}" if row["error"]["hint"] else "")
    return report.exit_code


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    figures = tuple("" if row[name] is None else str(row[name]) for name in ("version", "rows"))
    return (row["dataset"], row["export"], row["target"], row["state"], *figures, ", ".join(row["missing"]))


def _status_row(status: dict[str, Any]) -> tuple[str, ...]:
    sent = "" if status["exported_version"] is None else str(status["exported_version"])
    at = f"{status['exported_at']:%Y-%m-%d %H:%M}" if status["exported_at"] else ""
    return (
        status["dataset"],
        status["export"],
        status["target"],
        status["status"],
        sent,
        at,
        ", ".join(status["missing"]),
    )
