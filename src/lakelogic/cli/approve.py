"""`lakelogic approve`: decide about rows that a closed gate has withheld."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.errors import UsageError


@click.command()
@click.argument("run", required=False)
@click.option("--discard", is_flag=True, help="Give the rows up instead; their input can be read again.")
@click.option("--why", help="Why; kept in the ledger and in the table's log.")
@click.option("--approval-file", metavar="FILE", help="Only write the approval there, for the next pass to publish.")
@click.option("--contract", type=click.Path(), help="The contract, where it is no longer where the run found it.")
@click.option("--engine", help="spark, duckdb or polars; by default the one of the run.")
@click.option("--env", help="Environment of the contract; by default the one of the run.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="What the run was given with --set.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout instead of text.")
@guarded
def approve(
    run: str | None, discard: bool, why: str | None, contract: str | None, engine: str | None, env: str | None,
    overrides: tuple[str, ...], approval_file: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Release the good rows of a RUN whose gate was closed, exactly as they were judged; without RUN, list them."""
    from lakelogic.actions.operate import approve as action

    console = Console(as_json)
    if run is None:
        if discard or why is not None or approval_file is not None:
            raise UsageError("A decision needs the RUN that it is about.", hint="`lakelogic approve` lists them.")
        held = action.waiting(console.surroundings())
        if as_json:
            console.json({"waiting": held})
        elif not held:
            console.print("No batch waits for a decision.")
        else:
            rows = []
            for batch in held:
                counts = batch["counts"]
                figures = (str(counts["good"]), str(counts["quarantined"]))
                rows.append((batch["run_id"], batch["dataset"], *figures, "; ".join(_reasons(batch))))
            console.table(("run", "dataset", "good", "bad", "gate"), rows)
        return 0
    if approval_file is not None:
        if discard:
            raise UsageError("--discard is done at once, and not in a file.", hint="Leave --approval-file out.")
        written = action.write(console.surroundings(), run, approval_file, why)
        if as_json:
            console.json(asdict(written))
        else:
            console.print(f"{written.figures['good']} rows of {written.run_id} are approved in {written.file}")
        return 0
    request = action.ApproveRequest(run, discard, why, contract, env, overrides, engine)
    done = action.approve(console.surroundings(), request)
    console.clear()
    if as_json:
        decision = {"run_id": done.run_id, "dataset": done.dataset, "state": done.state, "rows": done.rows}
        console.json({**decision, "target": done.target, "version": done.version, "again": done.again})
    else:
        console.print(
            f"{done.rows} rows of {done.run_id} {'had been' if done.again else 'are'} {done.state} ({done.target})"
        )
    return 0


def _reasons(batch: Mapping[str, Any]) -> list[str]:
    """Why a batch is withheld; of one that nobody can release any more, that first."""
    overtaken = batch["overtaken"]
    return [*([f"{overtaken} Give it up with --discard."] if overtaken else []), *batch["reasons"]]
