"""Commands about tables rather than rows: what they should be, their upkeep, and beginning again."""

from __future__ import annotations

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag, set_option
from lakelogic.contract.durations import duration
from lakelogic.errors import UsageError

why_option = click.option("--why", help="Why, for the ledger.")


@click.command()
@click.argument("contract", type=click.Path())
@click.option("--apply", "carry_out", is_flag=True, help="Carry the statements out; no row is touched.")
@env_option
@set_option
@json_flag
@guarded
def ddl(contract: str, carry_out: bool, env: str | None, overrides: tuple[str, ...], as_json: bool) -> int:
    """Show CREATE or ALTER for the contract's table."""
    from lakelogic.actions.operate.ddl import DdlRequest
    from lakelogic.actions.operate.ddl import ddl as action

    console = Console(as_json)
    report = action(console.surroundings(), DdlRequest(contract, env, overrides, carry_out))
    if as_json:
        console.json(report.as_dict())
        return 0
    for statement in report.statements:
        console.print(statement)
    for line in report.left:
        console.print(f"-- {line}")
    if not report.statements:
        console.print(f"-- {report.table} is as the contract says.")
    if report.applied:
        console.note(f"Applied to {report.table}.")
    return 0


@click.command()
@click.argument("what", nargs=-1, required=True)
@click.option("--retention", metavar="AGE", help="How long unused files are kept: 7 days, 24h. Contracts may say it.")
@click.option("--no-compact", is_flag=True, help="Leave small files as they are.")
@click.option("--no-vacuum", is_flag=True, help="Delete no files.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@env_option
@set_option
@json_flag
@guarded
def maintain(
    what: tuple[str, ...], retention: str | None, no_compact: bool, no_vacuum: bool, dry_run: bool,
    env: str | None, overrides: tuple[str, ...], as_json: bool,
) -> int:  # fmt: skip
    """Put small files together and delete unused ones (WHAT: contracts, table names, folders)."""
    from lakelogic.actions.operate.maintain import MaintainRequest
    from lakelogic.actions.operate.maintain import maintain as action

    console = Console(as_json)
    try:
        age = duration(retention) if retention else None
    except ValueError as error:
        raise UsageError(f"--retention: {error}.", hint="Write 24h, 30m, 7 days or P7D.") from None
    request = MaintainRequest(what, env, overrides, age, not no_compact, not no_vacuum, dry_run)
    done = action(console.surroundings(), request)
    if as_json:
        console.json({"dry_run": dry_run, "tables": [report.as_dict() for report in done]})
        return 0
    heads = ("table", "small files", "now", "files deleted", "bytes deleted", "bad rows deleted")
    console.table(
        heads,
        [
            [
                report.table,
                str(report.files_before),
                str(report.files_after),
                str(report.files_deleted),
                str(report.bytes_deleted),
                str(report.bad_rows_deleted),
            ]
            for report in done
        ],
    )
    for report in done:
        if report.left_behind:
            console.note(
                f"{', '.join(report.left_behind)} had not read all of {report.table}: what came since is not there as "
                "it came. The next run reads the whole table, or stops and names `lakelogic reload`."
            )
    if dry_run:
        console.note("Nothing was changed.")
    return 0


@click.command()
@click.argument("what", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("--layer", help="Only contracts of this layer.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
@env_option
@set_option
@json_flag
@guarded
def reset(
    what: tuple[str, ...], layer: str | None, yes: bool, why: str | None,
    env: str | None, overrides: tuple[str, ...], as_json: bool,
) -> int:  # fmt: skip
    """Remove tables and progress, so that the next run begins again (WHAT: contracts, or folders of them)."""
    from lakelogic.actions.operate.reset import Doomed, ResetRequest
    from lakelogic.actions.operate.reset import reset as action

    console = Console(as_json)

    def confirm(plan: list[Doomed]) -> bool:
        if not as_json:
            heads = ("dataset", "table", "rows", "quarantine", "bad rows", "files read")
            console.table(heads, [_row(each) for each in plan])
            for copy in (copy for each in plan for copy in each.secondary):
                console.note(f"and the secondary table {copy.target} with {copy.rows} rows")
        if yes:
            return True
        if as_json:
            raise UsageError("A reset must be confirmed.", hint="Add --yes.")
        return click.confirm("Remove these tables and their progress?", err=True)

    done = action(console.surroundings(), ResetRequest(what, layer, env, overrides, why), confirm)
    if as_json:
        console.json({"removed": [each.as_dict() for each in done or ()]})
    else:
        console.note("Nothing was changed." if done is None else "Removed. The next run reads everything.")
    return 0


def _row(doomed: object) -> list[str]:
    from lakelogic.actions.operate.reset import Doomed

    assert isinstance(doomed, Doomed)
    kept = f"{doomed.quarantine} (stays: shared)" if doomed.shared else doomed.quarantine
    return [
        doomed.dataset,
        doomed.target,
        "none" if doomed.rows is None else str(doomed.rows),
        kept,
        "none" if doomed.quarantined is None else str(doomed.quarantined),
        str(doomed.files_read),
    ]


@click.command()
@click.argument("contract", type=click.Path())
@click.option("--engine", help="spark, duckdb or polars.")
@click.option("--rebuild-history", is_flag=True, help="scd2: lose versions that the source has no row of any more.")
@why_option
@env_option
@set_option
@json_flag
@guarded
def reload(
    contract: str,
    engine: str | None,
    why: str | None,
    env: str | None,
    overrides: tuple[str, ...],
    as_json: bool,
    rebuild_history: bool,
) -> int:
    """Read everything again: in one commit the table becomes what a first run would give; it is never empty."""
    from lakelogic.actions.operate.reset import reload as action
    from lakelogic.actions.operate.run import RunRequest

    console = Console(as_json)
    request = RunRequest(contract, engine, env, overrides)
    report = action(console.surroundings(), request, why, rebuild_history=rebuild_history)
    console.clear()
    if as_json:
        outcome = {"status": report.status, "exit_code": report.exit_code, "reasons": list(report.reasons)}
        console.json({**report.report, **outcome})
    for reason in report.reasons:
        console.warn(reason)
    return report.exit_code


@click.command()
@click.argument("contract", type=click.Path())
@click.option("--forget-landed", is_flag=True, help="Without a key: give up the replay of rows that wait.")
@why_option
@env_option
@set_option
@json_flag
@guarded
def remask(
    contract: str, forget_landed: bool, why: str | None, env: str | None, overrides: tuple[str, ...], as_json: bool
) -> int:
    """Mask stored rows anew after a mask, a key or a salt has changed; table and quarantine, one commit each."""
    from lakelogic.actions.operate.remask import remask as action

    console = Console(as_json)
    done = action(console.surroundings(), contract, env, overrides, why, forget_landed=forget_landed)
    if as_json:
        console.json(done.as_dict())
        return 0
    if done.forgotten:
        console.warn(f"{done.forgotten} rows that wait in {done.quarantine} cannot be replayed any more.")
    for place, rows in ((done.target, done.rows), (done.quarantine, done.quarantined)):
        console.note(f"{place}: {'there is no such table' if rows is None else f'{rows} rows'}")
    console.note(
        f"Masked anew: {', '.join(done.columns) or 'nothing'}. Older versions still hold what was there before: "
        "`lakelogic maintain` removes them when their retention is over, with `--retention 0h` at once."
    )
    for dataset in done.downstream:
        held = f" holds in clear: {', '.join(f'`{name}`' for name in dataset.columns)}." if dataset.columns else "."
        console.warn(f"{dataset.dataset} ({dataset.contract}){held} {dataset.todo}")
    return 0


COMMANDS = (ddl, maintain, reset, reload, remask)
