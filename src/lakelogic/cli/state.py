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
    examined = examine(console.surroundings(), DoctorRequest(contracts, env, overrides, not dry_run))
    if as_json:
        console.json({"dry_run": dry_run, "datasets": [dataset.as_dict() for dataset in examined]})
        return max((dataset.exit_code for dataset in examined), default=0)
    for dataset in examined:
        console.print(dataset.dataset)
        console.table(("", "what", "found"), [(f.level, f.what, f.found) for f in dataset.findings])
        for finding in dataset.findings:
            if finding.do:
                console.note(f"{finding.what}: {finding.do}")
    return max((dataset.exit_code for dataset in examined), default=0)


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
    processed = gaps(console.surroundings(), GapsRequest(datasets, first, last))
    if as_json:
        console.json({"datasets": [dataset.as_dict() for dataset in processed]})
        return 0
    rows = [
        (
            dataset.dataset,
            str(dataset.days),
            str(dataset.processed),
            ", ".join(str(gap) for gap in dataset.gaps) or "none",
        )
        for dataset in processed
    ]
    console.table(("dataset", "days", "processed", "gaps"), rows)
    return 0
