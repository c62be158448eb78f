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
        found = action.status_of(request)
        if as_json:
            console.json({"exports": found})
        else:
            heads = ("dataset", "export", "target", "status", "version", "exported", "lacks")
            console.table(heads, [_status_row(one) for one in found])
        return 0
    report = action.export(request, console.sinks())
    console.clear()
    if as_json:
        console.json(report.as_dict())
        return report.exit_code
    heads = ("dataset", "export", "target", "state", "version", "rows", "lacks")
    console.table(heads, [_row(one) for one in report.exports])
    for one in report.exports:
        if one["error"] is not None:
            console.warn(f"{one['export']}: {one['error']['code']}  {one['error']['message']}")
            console.warn(f"Hint: {one['error']['hint']}" if one["error"]["hint"] else "")
    return report.exit_code


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    figures = tuple("" if one[name] is None else str(one[name]) for name in ("version", "rows"))
    return (one["dataset"], one["export"], one["target"], one["state"], *figures, ", ".join(one["missing"]))


def _status_row(one: dict[str, Any]) -> tuple[str, ...]:
    sent = "" if one["exported_version"] is None else str(one["exported_version"])
    at = f"{one['exported_at']:%Y-%m-%d %H:%M}" if one["exported_at"] else ""
    return (one["dataset"], one["export"], one["target"], one["status"], sent, at, ", ".join(one["missing"]))
