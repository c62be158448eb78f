"""The command `lakelogic`: arguments in, one action called, its report shown."""

from __future__ import annotations

import json as jsonlib
import sys
from typing import Any

import click

from lakelogic.cli import process
from lakelogic.cli.approve import approve
from lakelogic.cli.bootstrap import bootstrap
from lakelogic.cli.console import Console, guarded
from lakelogic.cli.docs import docs
from lakelogic.cli.drive import drive
from lakelogic.cli.estate import estate
from lakelogic.cli.export import export
from lakelogic.cli.imports import import_
from lakelogic.cli.lineage import lineage
from lakelogic.cli.next_steps import after_gate
from lakelogic.cli.options import env_option, json_flag, pack_dir_option, pack_option, selecting, set_option, words
from lakelogic.cli.quarantine import quarantine
from lakelogic.cli.serve import serve, token, worker
from lakelogic.cli.state import state
from lakelogic.cli.tables import COMMANDS
from lakelogic.version import VERSION

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
engine_option = click.option("--engine", help="spark, duckdb or polars (or LAKELOGIC_ENGINE).")


@click.group(context_settings=CONTEXT)
@click.version_option(VERSION, prog_name="lakelogic")
def cli() -> None:
    """Run data contracts: every row accounted for, on Spark, Polars or DuckDB."""


for command in (
    quarantine,
    approve,
    bootstrap,
    docs,
    drive,
    estate,
    export,
    state,
    import_,
    lineage,
    serve,
    worker,
    token,
    *COMMANDS,
):
    cli.add_command(command)


@cli.command()
@click.argument("contract", type=click.Path())
@engine_option
@env_option
@set_option
@pack_option
@pack_dir_option
@click.option("--dry-run", is_flag=True, help="Compile and show the plan; read and write nothing.")
@click.option("--master", help="Spark master, such as local[4] or spark://host:7077.")
@click.option("--remote", help="Spark Connect server, such as sc://host:15002.")
@click.option("--profile", is_flag=True, help="Tell where the time went: by phase, and what each rule costs.")
@click.option("--profile-rows", type=click.IntRange(1), help="Rows to measure rules on; 20,000 if not said.")
@json_flag
@guarded
def run(
    contract: str, engine: str | None, env: str | None, overrides: tuple[str, ...], packs: tuple[str, ...],
    pack_dir: str | None, dry_run: bool, master: str | None, remote: str | None, profile: bool,
    profile_rows: int | None, as_json: bool,
) -> int:  # fmt: skip
    """Run a contract once."""
    from lakelogic.actions.operate.run import RunRequest, run_contract

    settings = {name: value for name, value in (("master", master), ("remote", remote)) if value}
    if settings and engine is None:
        engine = "spark"
    console = Console(as_json)
    request = RunRequest(
        contract, engine, env, overrides, dry_run, settings, policy_pack=packs, policy_pack_dir=pack_dir,
        profile=profile, profile_rows=profile_rows,
    )  # fmt: skip
    report = run_contract(console.surroundings(), request)
    console.clear()
    if as_json:
        outcome = {"status": report.status, "exit_code": report.exit_code, "reasons": list(report.reasons)}
        console.json({**report.report, **outcome})
    else:
        if report.text is not None:
            console.print(report.text)
        for reason in report.reasons:
            console.warn(f"Not published: {reason}" if report.status == "gated" else reason)
        if report.status == "gated":
            counts = report.report["counts"]
            console.warn(after_gate(contract, report.report["run_id"], counts["good"], counts["quarantined"]))
    return report.exit_code


@cli.command()
@click.argument("contracts", nargs=-1, required=True, type=click.Path())
@selecting
@env_option
@set_option
@pack_option
@pack_dir_option
@json_flag
@guarded
def validate(
    contracts: tuple[str, ...], select: tuple[str, ...], exclude: tuple[str, ...], env: str | None,
    overrides: tuple[str, ...], packs: tuple[str, ...], pack_dir: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Check contracts without reading any data; all problems at once."""
    from lakelogic.actions.author.contracts import validate as check
    from lakelogic.contract.reading.packs import PackChoice

    console = Console(as_json)
    chosen = PackChoice(packs, pack_dir)
    if select or exclude:  # then places are estates: registries, folders or contracts
        from lakelogic.actions.look.estate import EstateRequest, files_of

        wanted = {"select": words("--select", select), "exclude": words("--exclude", exclude)}
        contracts = files_of(console.surroundings(), EstateRequest(contracts, env, overrides, chosen, **wanted))
    checks = [
        check(console.surroundings(), contract, env=env, overrides=overrides, packs=chosen) for contract in contracts
    ]
    if as_json:
        console.json(
            {
                "valid": all(check_.is_valid for check_ in checks),
                "contracts": [
                    {
                        "contract": check_.contract,
                        "valid": check_.is_valid,
                        "diagnostics": [diagnostic.as_dict() for diagnostic in check_.diagnostics],
                    }
                    for check_ in checks
                ],
            }
        )
    else:
        for check_ in checks:
            for diagnostic in check_.diagnostics:
                console.print(f"{'warning: ' if diagnostic.severity == 'warning' else ''}{diagnostic}")
            console.print(f"{check_.contract}: {'valid' if check_.is_valid else 'not valid'}")
    return 0 if all(check_.is_valid for check_ in checks) else 2


@cli.command()
@click.argument("contract", type=click.Path())
@click.option("--engines", help="Which engines, parted by commas; by default all that are installed.")
@click.option("--rows", default=200, show_default=True, type=click.IntRange(1, 100_000), help="How many made-up rows.")
@click.option("--seed", default=1, show_default=True, help="Another seed makes up other rows.")
@env_option
@set_option
@json_flag
@guarded
def verify(
    contract: str, engines: str | None, rows: int, seed: int, env: str | None, overrides: tuple[str, ...], as_json: bool
) -> int:
    """Show that a contract means the same on every engine, or where it does not."""
    from lakelogic.actions.author.verify import VerifyRequest, verify_contract

    console = Console(as_json)
    wanted = tuple(name.strip() for name in engines.split(",") if name.strip()) if engines else ()
    report = verify_contract(
        console.surroundings(), VerifyRequest(contract, wanted, rows, seed, env, overrides), console.note
    )
    console.json(report.as_dict()) if as_json else console.print(report.text)
    return report.exit_code


@cli.command()
@click.argument("contract", required=False, type=click.Path())
@engine_option
@env_option
@set_option
@pack_option
@pack_dir_option
@click.option("--sql", is_flag=True, help="The statement or plan that the engine runs (looks at the source).")
@click.option("--origin", "origin_path", metavar="KEY", help="Where the value of a key was written.")
@click.option("--functions", is_flag=True, help="List the functions of contract SQL.")
@click.option("--key", "keys_", multiple=True, metavar="VALUE", help="The story of the good row with this primary key.")
@json_flag
@guarded
def explain(
    contract: str | None, engine: str | None, env: str | None, overrides: tuple[str, ...], packs: tuple[str, ...],
    pack_dir: str | None, sql: bool, origin_path: str | None, functions: bool, keys_: tuple[str, ...], as_json: bool,
) -> int:  # fmt: skip
    """Show what a contract will do to rows, or what it did to one."""
    from lakelogic.actions.author import contracts

    console = Console(as_json)
    if functions:
        from lakelogic.sql.functions import CATALOGUE

        rows = [f for f in CATALOGUE.values() if f.kind != "internal"]
        if as_json:
            console.json({"functions": [{"name": f.name, "sql": list(f.sql), "meaning": f.meaning} for f in rows]})
        else:
            console.table(("written", "meaning"), [(", ".join(f.sql), f.meaning) for f in rows])
        return 0
    if contract is None:
        raise click.UsageError("Name a contract, or use --functions.")
    if keys_:
        from lakelogic.actions.look.stories import explain_key
        from lakelogic.cli.quarantine import show_story

        story = explain_key(console.surroundings(), contract, keys_, env=env, overrides=overrides, engine=engine)
        console.json(story.as_dict()) if as_json else show_story(console, story)
        return 0
    from lakelogic.contract.reading.packs import PackChoice

    chosen = PackChoice(packs, pack_dir)
    if origin_path:
        value_origin = contracts.origin(contract, origin_path, env=env, overrides=overrides, packs=chosen)
        if as_json:
            console.json(value_origin.as_dict())
        else:
            console.print(
                f"{value_origin.path} = {jsonlib.dumps(value_origin.value, default=str)}   ({value_origin.place})"
            )
            for place, value in value_origin.over:
                console.print(f"  over {jsonlib.dumps(value, default=str)}   ({place})")
        return 0
    explained = contracts.explain(
        console.surroundings(), contract, env=env, overrides=overrides, engine=engine, sql=sql, packs=chosen
    )
    console.json(explained.data) if as_json else console.print(explained.text)
    return 0


@cli.command()
@click.argument("folder", default=".")
@click.option("--force", is_flag=True, help="Write over files that are there.")
@json_flag
@guarded
def init(folder: str, force: bool, as_json: bool) -> int:
    """Write a first contract with a few rows to run it on."""
    from lakelogic.actions.author.scaffold import init as write

    console = Console(as_json)
    files_written = write(folder, force=force)
    if as_json:
        console.json({"folder": files_written.folder, "files": list(files_written.files)})
    else:
        for file in files_written.files:
            console.print(f"Wrote {file}")
        enter = "" if folder == "." else f"cd {folder} && "
        console.print(f"\nNext: {enter}lakelogic run contract.yaml")
    return 0


@cli.command()
@engine_option
@click.option("--warehouse", type=click.Path(), help="Where tables go; by default lakelogic_warehouse/demo-ENGINE.")
@json_flag
@guarded
def demo(engine: str | None, warehouse: str | None, as_json: bool) -> int:
    """Run the retail estate: three sources, bronze to gold, bad rows of every kind."""
    from lakelogic.actions.operate.demo import run_demo
    from lakelogic.cli.demo import show

    console = Console(as_json)
    report = run_demo(console.surroundings(), engine, warehouse)
    console.clear()
    console.json(report.as_dict()) if as_json else show(report, console)
    return report.exit_code


@cli.command()
@click.option("--document", default="contract", show_default=True, help="contract, domain, system, registry or pack.")
@guarded
def schema(document: str) -> int:
    """Print the JSON Schema of contracts, for editors; or of the documents around them."""
    from lakelogic.contract.base import Section
    from lakelogic.contract.describe.jsonschema import json_schema
    from lakelogic.contract.document import Contract
    from lakelogic.contract.estate import DOCUMENTS

    models: dict[str, type[Section]] = {"contract": Contract, **DOCUMENTS}
    if document not in models:
        raise click.UsageError(f"There is no document `{document}`; there are {', '.join(models)}.")
    click.echo(jsonlib.dumps(json_schema(models[document]), indent=2, ensure_ascii=False))
    return 0


@cli.group()
def keys() -> None:
    """Keys for masking personal data."""


@keys.command("new")
@click.option("--salt", is_flag=True, help="A text for LAKELOGIC_PII_SALT, which masks that hash need.")
@json_flag
@guarded
def keys_new(salt: bool, as_json: bool) -> int:
    """Make a key for LAKELOGIC_PII_KEY. Keep it safe: without it, encrypted values cannot be read again."""
    from lakelogic.privacy.keys import KEY_VARIABLE, SALT_VARIABLE, new_key, new_salt

    variable, secret = (SALT_VARIABLE, new_salt()) if salt else (KEY_VARIABLE, new_key())
    console = Console(as_json)
    if as_json:
        console.json({variable: secret})
    else:
        console.print(f"export {variable}='{secret}'")
        if sys.stdout.isatty():
            lost = (
                "another text gives other hashes." if salt else "what is encrypted with it cannot be read without it."
            )
            console.note(f"Keep it in your secret store: {lost}")
    return 0


@cli.command()
@json_flag
@guarded
def doctor(as_json: bool) -> int:
    """Look at what is installed, what is missing, and what to do."""
    from lakelogic.actions.operate.doctor import doctor as look

    console = Console(as_json)
    findings = look(console.surroundings())
    broken = any(finding.ok is False for finding in findings)
    if as_json:
        rows = [{"what": f.what, "found": f.state, "ok": f.ok, "fix": f.fix} for f in findings]
        console.json({"ok": not broken, "findings": rows})
    else:
        marks = {True: "ok", False: "WRONG", None: "-"}
        console.table(("", "what", "found", "to do"), [(marks[f.ok], f.what, f.state, f.fix or "") for f in findings])
    return 4 if broken else 0


@cli.group()
def setup() -> None:
    """Prepare what is fetched or made once."""


@setup.command("spark")
@json_flag
@guarded
def setup_spark(as_json: bool) -> int:
    """Fetch Spark's Delta jars and make the archive that lets sessions start fast."""
    from lakelogic.actions.operate.setup import setup_spark as prepare

    console = Console(as_json)
    report = prepare(console.note)
    if as_json:
        console.json(report)
    else:
        console.print("\n".join(f"{name}: {value}" for name, value in report.items()))
    return 0


@cli.group(invoke_without_command=True)
@click.option("--dataset", help="Only runs of this dataset.")
@click.option("--status", help="succeeded, failed, gated, no_new_data, …")
@click.option("--layer", help="bronze, silver, gold, …")
@click.option("--limit", default=20, show_default=True, help="How many, newest first.")
@json_flag
@click.pass_context
@guarded
def runs(
    context: click.Context, dataset: str | None, status: str | None, layer: str | None, limit: int, as_json: bool
) -> int:
    """The ledger: what ran, when, and how it came out."""
    if context.invoked_subcommand is not None:
        return 0
    from lakelogic.actions.look.ledger import list_runs

    console = Console(as_json)
    runs_listed = list_runs(console.surroundings(), dataset, status, layer, limit)
    if as_json:
        console.json({"runs": runs_listed})
    elif not runs_listed:
        console.print("No run yet. `lakelogic run contract.yaml` makes the first.")
    else:
        heads = ("run", "started (UTC)", "dataset", "engine", "status", "read", "good", "bad", "seconds")
        columns = (
            "run_id", "started_at", "dataset", "engine", "status", "counts_source", "counts_good", "counts_quarantined",
            "duration_seconds",
        )  # fmt: skip
        shown = [{**row, "started_at": str(row["started_at"])[:19].replace("T", " ")} for row in runs_listed]
        console.table(heads, [tuple(_cell(row[c]) for c in columns) for row in shown])
    return 0


@runs.command("show")
@click.argument("run_id")
@json_flag
@guarded
def runs_show(run_id: str, as_json: bool) -> int:
    """One run with its account."""
    from lakelogic.actions.look.ledger import show_run

    console = Console(as_json)
    run = show_run(console.surroundings(), run_id)
    if as_json:
        console.json(run)
    else:
        account = run.pop("account", None)
        console.table(("", ""), [(name, _cell(value)) for name, value in run.items() if value is not None])
        if account:
            from lakelogic.run.publish.account import as_lines

            console.table(("account", "rows"), as_lines(account))
    return 0


@runs.command("log")
@click.argument("run_id")
@json_flag
@guarded
def runs_log(run_id: str, as_json: bool) -> int:
    """What a run said, wherever it ran."""
    from lakelogic.actions.look.ledger import log_of, show_run

    console = Console(as_json)
    around = console.surroundings()
    lines = log_of(around, str(show_run(around, run_id)["run_id"]))
    if as_json:
        console.json({"lines": [{"at": line.at.isoformat(), "kind": line.kind, "text": line.body} for line in lines]})
    else:
        for line in lines:
            console.print(f"[{line.at:%Y-%m-%d %H:%M:%S}] {line.kind:<8} | {line.body}")
        if not lines:
            console.note("No log was kept of it.")
    return 0


@cli.group()
def ledger() -> None:
    """The ledger itself."""


@ledger.command("publish")
@click.option("--target", default="lakelogic.ledger.runs", show_default=True, help="Table name or path.")
@json_flag
@guarded
def ledger_publish(target: str, as_json: bool) -> int:
    """Write the runs as a Delta table that anything can query."""
    from lakelogic.actions.look.ledger import publish_ledger

    console = Console(as_json)
    done = publish_ledger(console.surroundings(), target)
    if as_json:
        console.json({"table": done.table, "location": done.location, "runs": done.runs})
    else:
        console.print(f"Wrote {done.runs} runs to {done.table} ({done.location})")
    return 0


@cli.command()
@click.argument("table")
@click.option("--limit", default=20, show_default=True, help="How many rows.")
@click.option("--columns", multiple=True, metavar="NAMES", help="Only these columns, parted by commas.")
@json_flag
@guarded
def preview(table: str, limit: int, columns: tuple[str, ...], as_json: bool) -> int:
    """Show rows of a table, by name or path."""
    from lakelogic.actions.look.preview import preview as look

    console = Console(as_json)
    shown = look(console.surroundings(), table, limit, words("--columns", columns))
    if as_json:
        console.json(
            {
                "table": shown.table, "location": shown.location, "version": shown.version, "total": shown.total,
                "columns": list(shown.columns), "rows": list(shown.rows),
                "deleted_column": shown.deleted_column, "deleted": shown.deleted,
            }
        )  # fmt: skip
    else:
        console.table(shown.columns, [tuple(_cell(row[c]) for c in shown.columns) for row in shown.rows])
        console.note(f"{len(shown.rows)} of {shown.total} rows, version {shown.version}")
        if shown.deleted:
            mark = shown.deleted_column
            console.note(f"{shown.deleted} of them are deleted ({mark}): sources, links and exports leave them out")
    return 0


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict | list):
        return jsonlib.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def main() -> None:
    """The entry point: exit codes are those of the documentation."""
    process.run(lambda: cli.main(prog_name="lakelogic"))
