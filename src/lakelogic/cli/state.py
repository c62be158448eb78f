"""Commands about what is remembered: `lakelogic state doctor` and `lakelogic state gaps`."""

from __future__ import annotations

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag, set_option


@click.group()
def state() -> None:
    """What the ledger remembers of datasets."""


@state.command("doctor")
@click.argument("contracts", nargs=-1, required=True, type=click.Path())
@click.option("--dry-run", is_flag=True, help="Only tell; change nothing.")
@env_option
@set_option
@json_flag
@guarded
def state_doctor(
    contracts: tuple[str, ...], dry_run: bool, env: str | None, overrides: tuple[str, ...], as_json: bool
) -> int:
    """Compare the ledger with the tables, and bring it up to them. Rows are never changed.

    Exit code 6: something is wrong in the tables; 1: something is to be looked at.
    """
    from lakelogic.actions.operate.state import DoctorRequest, examine

    console = Console(as_json)
    found = examine(DoctorRequest(contracts, env, overrides, not dry_run))
    if as_json:
        console.json({"dry_run": dry_run, "datasets": [one.as_dict() for one in found]})
        return max((one.exit_code for one in found), default=0)
    for one in found:
        console.print(one.dataset)
        console.table(("", "what", "found"), [(f.level, f.what, f.found) for f in one.findings])
        for finding in one.findings:
            if finding.do:
                console.note(f"{finding.what}: {finding.do}")
    return max((one.exit_code for one in found), default=0)


@state.command("gaps")
@click.argument("datasets", nargs=-1)
@click.option("--from", "first", metavar="DATE", help="Look from this day on; by default from the first processed.")
@click.option("--until", "last", metavar="DATE", help="Look up to this day; by default to the last processed.")
@json_flag
@guarded
def state_gaps(datasets: tuple[str, ...], first: str | None, last: str | None, as_json: bool) -> int:
    """Days that no run has processed, of these DATASETS or of all."""
    from lakelogic.actions.look.gaps import GapsRequest, gaps

    console = Console(as_json)
    found = gaps(GapsRequest(datasets, first, last))
    if as_json:
        console.json({"datasets": [one.as_dict() for one in found]})
        return 0
    rows = [
        (one.dataset, str(one.days), str(one.processed), ", ".join(str(gap) for gap in one.gaps) or "none")
        for one in found
    ]
    console.table(("dataset", "days", "processed", "gaps"), rows)
    return 0
