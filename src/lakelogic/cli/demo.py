"""How the demo's report looks on a terminal."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from lakelogic.actions.operate.demo import DemoReport
from lakelogic.cli.console import Console, grid


def program() -> str:
    """How the reader can call us again: by name where it is found, else by the path that was used."""
    if shutil.which("lakelogic"):
        return "lakelogic"
    used = Path(sys.argv[0])
    return str(used.absolute()) if used.name == "lakelogic" else "python -m lakelogic"


def show(report: DemoReport, console: Console) -> None:
    """One table of what happened, some quarantined rows with their reasons, and what to type next."""
    console.print()
    rows = [
        (
            row.dataset,
            row.status,
            f"{row.read}",
            f"{row.good}",
            f"{row.quarantined}",
            ", ".join(f"{step} {n}" for step, n in row.losses.items()),
            f"{row.seconds:.1f}",
        )
        for row in report.rows
    ]
    heads = ("dataset", "status", "read", "good", "quarantined", "other losses, by step", "seconds")
    console.print(grid(heads, rows))
    for row in report.rows:
        if row.reason:
            console.print(f"  {row.dataset}: {row.reason}")
    if report.samples:
        console.print("\nSome quarantined rows, and why:")
        samples = [(s.dataset, s.row, "; ".join(s.reasons)) for s in report.samples]
        console.print(grid(("dataset", "row", "reasons"), samples, limit=90))
    if all(row.status == "no_new_data" for row in report.rows):
        console.print("\nNothing is new: no row was read again and no table has changed.")
    console.print(f"\nDone in {report.seconds:.0f} s on {report.engine}. Tables are in {report.warehouse}")
    console.print("Next, look around:")
    command = program()
    prefix = f"LAKELOGIC_WAREHOUSE={report.warehouse} {command}"
    console.print(f"  {prefix} runs")
    console.print(f"  {prefix} preview retail.gold.fact_sales --limit 5")
    console.print(f"  {prefix} preview retail.quarantine.silver_crm_customers --limit 5")
    console.print(f"  {command} explain examples/retail/contracts/silver/crm_customers.yaml")
    console.print(f"  {command} init my_project && cd my_project && {command} run contract.yaml")
