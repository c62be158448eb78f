"""`lakelogic quarantine`: the queue of rows that wait for somebody to mend a rule, a reference or a source."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from lakelogic import printable
from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag, pack_dir_option, pack_option, set_option
from lakelogic.contract.durations import duration
from lakelogic.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS = (
    click.option("--rule", "rules", multiple=True, help="Only rows that this rule made bad; may be repeated."),
    click.option("--category", "categories", multiple=True, help="Only rows of this category; may be repeated."),
    click.option("--run", help="Only rows of this run (or ids that begin so)."),
    click.option("--row", "rows", multiple=True, help="Only this row (or ids that begin so); may be repeated."),
    click.option("--older-than", metavar="AGE", help="Only rows that are older: 24h, 7 days, P7D."),
)


def choosing(command: F) -> F:
    """The options that choose rows."""
    for option in reversed((*_OPTIONS, env_option, set_option, pack_option, pack_dir_option, json_flag)):
        command = option(command)
    return command


def state_option(default: str) -> Callable[[F], F]:
    """The option that chooses states."""
    states = click.Choice(["active", "replayed", "discarded", "superseded", "all"])
    return click.option("--state", type=states, default=default, show_default=True, help="In which state rows are.")


def request_of(what: str, options: dict[str, Any], state: str) -> Any:
    """The choice that was written, as a request."""
    from lakelogic.actions.operate.quarantine import Request
    from lakelogic.contract.reading.packs import PackChoice
    from lakelogic.quarantine.queue import Chosen

    written = options["older_than"]
    try:
        age = duration(written) if written else None
    except ValueError as error:
        raise UsageError(f"--older-than: {error}.", hint="Write 24h, 30m, 7 days or P7D.") from None
    states = () if state == "all" else (state,)
    chosen = Chosen(options["rules"], options["categories"], options["run"], options["rows"], age, states)
    packs = PackChoice(options["packs"], options["pack_dir"])
    return Request(what, chosen, options["env"], options["overrides"], packs)


@click.group()
def quarantine() -> None:
    """Bad rows: what waits, why, and what becomes of it."""


@quarantine.command("list")
@click.argument("what", required=False)
@state_option("active")
@click.option("--limit", default=20, show_default=True, help="How many, newest first.")
@click.option("--by", metavar="FIELD", help="Count the rows by the values of a field, the commonest first.")
@choosing
@guarded
def list_(what: str | None, state: str, limit: int, by: str | None, as_json: bool, **options: Any) -> int:
    """What waits, by dataset; or the rows of one (WHAT: a contract, a dataset, a table)."""
    from lakelogic.actions.operate import quarantine as action

    console = Console(as_json)
    if by is not None:
        if what is None:
            raise UsageError("--by needs to know whose rows to count.", hint="Name a contract before it.")
        return _counted(console, request_of(what, options, state), by, limit)
    if what is None:
        queues = action.overview(console.surroundings())
        if as_json:
            console.json({"quarantines": [queue.as_dict() for queue in queues]})
        elif not queues:
            console.print("No quarantine yet: no run has written one.")
        else:
            states = ("active", "replayed", "discarded", "superseded")
            rows = [queue.as_dict() for queue in queues]
            shown = [(r["dataset"], r["table"], *(str(r[s]) for s in states), _at(r["oldest"])) for r in rows]
            console.table(("dataset", "table", *states, "oldest (UTC)"), shown)
        return 0
    listed = action.list_rows(console.surroundings(), request_of(what, options, state), limit)
    if as_json:
        console.json({"dataset": listed.dataset, "table": listed.table, "total": listed.total, "rows": listed.rows})
    elif not listed.rows:
        console.print(f"No such row in {listed.table}.")
    else:
        columns = ("row", "state", "first seen (UTC)", "last seen (UTC)", "runs", "run", "rules", "errors")
        console.table(
            columns,
            [
                (
                    row["row_id"][:12], row["state"], _at(row["first_seen"]), _at(row["at"]), str(row["runs"]),
                    row["run_id"] or "", ", ".join(row["rules"]), "; ".join(row["errors"]),
                )
                for row in listed.rows
            ],
        )  # fmt: skip
        console.note(f"{len(listed.rows)} of {listed.total} rows in {listed.table}")
    return 0


def _counted(console: Console, request: Any, field: str, limit: int) -> int:
    from lakelogic.actions.look.queue_counts import count_by

    counts = count_by(console.surroundings(), request, field, limit)
    if console.as_json:
        console.json(counts.as_dict())
        return 0
    shown = [("(null)" if value is None else value, str(rows)) for value, rows in counts.values]
    console.table((counts.field, "rows"), shown)
    console.note(f"{len(counts.values)} of {counts.different} values in {counts.total} rows of {counts.table}")
    return 0


@quarantine.command("show")
@click.argument("what")
@state_option("active")
@click.option("--limit", default=20, show_default=True, help="How many rows.")
@click.option("--reveal", is_flag=True, help="Show encrypted values in clear; needs the key and --why, is recorded.")
@click.option("--why", help="Why values are revealed; kept in the ledger.")
@choosing
@guarded
def show(what: str, state: str, limit: int, reveal: bool, why: str | None, as_json: bool, **options: Any) -> int:
    """Rows as they failed, masked (WHAT: a contract, a dataset, a table)."""
    from lakelogic.actions.operate.quarantine import show_rows

    console = Console(as_json)
    shown = show_rows(console.surroundings(), request_of(what, options, state), limit, reveal=reveal, why=why)
    if as_json:
        data = {"dataset": shown.dataset, "table": shown.table, "revealed": list(shown.revealed), "rows": shown.rows}
        console.json({**data, "seen": shown.seen})
    elif not shown.rows:
        console.print(f"No such row in {shown.table}.")
    else:
        for row, seen in zip(shown.rows, shown.seen, strict=True):
            show_values(console, {**row, **_seen(seen)})
            console.print()
    return 0


@quarantine.command("export")
@click.argument("what")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--raw", is_flag=True, help="CSV as it is, for programs; else no cell is a formula for a spreadsheet.")
@state_option("active")
@choosing
@guarded
def export(what: str, file: str, raw: bool, state: str, as_json: bool, **options: Any) -> int:
    """Copy rows to FILE (.csv, .json, .ndjson, .parquet), masked as they are kept."""
    from lakelogic.actions.operate.quarantine import export_rows

    console = Console(as_json)
    done = export_rows(console.surroundings(), request_of(what, options, state), file, raw=raw)
    if as_json:
        console.json({"dataset": done.dataset, "table": done.table, "file": done.file, "rows": done.rows})
    else:
        console.print(f"Wrote {done.rows} rows of {done.table} to {done.file}")
    return 0


@quarantine.command("replay")
@click.argument("contract", type=click.Path())
@click.option("--engine", help="spark, duckdb or polars (or LAKELOGIC_ENGINE).")
@click.option("--preview", is_flag=True, help="Only tell what would pass and what would fail; nothing is written.")
@choosing
@guarded
def replay(contract: str, engine: str | None, preview: bool, as_json: bool, **options: Any) -> int:
    """Judge waiting rows again, as they landed, by the CONTRACT as it is now; what passes is published."""
    from lakelogic.actions.operate.quarantine import replay_rows

    console = Console(as_json)
    if preview:
        return _preview(console, request_of(contract, options, "active"), engine)
    done = replay_rows(console.surroundings(), request_of(contract, options, "active"), engine)
    console.clear()
    if as_json:
        outcome = {"chosen": done.chosen, "passed": done.passed, "failed": done.failed, "left_out": done.left_out}
        outcome |= {"status": done.status, "exit_code": done.exit_code, "reasons": list(done.reasons)}
        console.json({**done.report, **outcome})
    else:
        for reason in done.reasons:
            console.warn(f"Not published: {reason}" if done.status == "gated" else reason)
        left = sum(done.left_out.values())
        beside = f", {left} cannot be replayed" if left else ""
        console.print(f"{done.chosen} rows: {done.passed} passed, {done.failed} failed again{beside}")
    return done.exit_code


def _preview(console: Console, request: Any, engine: str | None) -> int:
    from lakelogic.actions.operate.previews import preview

    outcome = preview(console.surroundings(), "replay", request, engine=engine)
    if console.as_json:
        console.json(outcome)
        return 0
    for reason in outcome["reasons"]:
        console.print(f"{reason['rows']:>8}  {reason['text']}")
    for why, rows in outcome["left_out"].items():
        console.print(f"{rows:>8}  cannot be replayed: {why}")
    console.print(f"{outcome['chosen']} rows: {outcome['passed']} would pass, {outcome['failed']} would fail again")
    return 0


@quarantine.command("discard")
@click.argument("contract", type=click.Path())
@click.option("--reason", required=True, help="Why; kept with every row and in the ledger.")
@click.option("--all", "everything", is_flag=True, help="Every row that waits, where nothing else chooses.")
@choosing
@guarded
def discard(contract: str, reason: str, everything: bool, as_json: bool, **options: Any) -> int:
    """Take waiting rows out of the queue for good; they stay in the table, with who, when and why."""
    from lakelogic.actions.operate.quarantine import discard_rows

    console = Console(as_json)
    done = discard_rows(console.surroundings(), request_of(contract, options, "active"), reason, everything=everything)
    if as_json:
        console.json({"dataset": done.dataset, "table": done.table, "discarded": len(done.rows), "rows": done.rows})
    else:
        console.print(f"Discarded {len(done.rows)} rows of {done.table}")
    return 0


@quarantine.command("explain")
@click.argument("row")
@click.argument("what", required=False)
@click.option("--engine", help="Which engine judges the row again; by default a quick one.")
@env_option
@set_option
@json_flag
@guarded
def explain(
    row: str, what: str | None, engine: str | None, env: str | None, overrides: tuple[str, ...], as_json: bool
) -> int:
    """The story of one row (its id, or the beginning of it): what steps made of it, how rules saw it."""
    from lakelogic.actions.look.stories import explain_row
    from lakelogic.actions.operate.quarantine import Request

    console = Console(as_json)
    story = explain_row(
        console.surroundings(), row, Request(what, env=env, overrides=overrides) if what else None, engine
    )
    console.json(story.as_dict()) if as_json else show_story(console, story)
    return 0


def show_story(console: Console, story: Any) -> None:
    """A story for people."""
    show_values(console, {**story.facts, **_seen(story.facts), **story.values})
    if story.story is not None:
        console.print()
        rows = [
            (
                chapter.outcome or "",
                chapter.kind,
                chapter.what,
                ", ".join(f"{name}={'null' if value is None else value}" for name, value in chapter.values.items()),
            )
            for chapter in story.story.chapters
        ]
        console.table(("outcome", "step", "what", "values"), rows)
    for note in (*story.notes, *(story.story.notes if story.story else ())):
        console.note(f"Note: {note}")


def show_values(console: Console, values: Mapping[str, Any]) -> None:
    """A name and its value on each line, in full; what is empty is left out."""
    shown = {printable.line(name): cell(value) for name, value in values.items() if value not in (None, [], {})}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        console.print(f"{name:<{width}}  {printable.line(value)}")


def _seen(row: Mapping[str, Any]) -> dict[str, Any]:
    """When a row was seen and in how many runs, for people; of a good row nothing."""
    if row.get("runs") is None:
        return {}
    return {"first_seen": _at(row["first_seen"]), "last_seen": _at(row["last_seen"]), "runs": row["runs"]}


def _at(value: Any) -> str:
    return str(value)[:19].replace("T", " ") if value is not None else ""


def cell(value: Any) -> str:
    """A value in a table for people."""
    if isinstance(value, dict | list):
        return jsonlib.dumps(value, ensure_ascii=False, default=str)
    return str(value)
