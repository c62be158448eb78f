"""Run every command of the driver's page, verbatim and in order, on each engine; `--page FILE` writes the transcript.

The tests of the surfaces take the commands from here and say by hand what each must do; here all of them follow
one another on one copy of the example. After each, exit code, tables and ledger must be the same on every engine.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from deltalake import DeltaTable

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.ledger.store import open_ledger

ROOT = Path(__file__).parents[1]
ALL = """--registry examples/insurance_elt/contracts/insurance/_registry.yaml \\
--reference-registry examples/insurance_elt/contracts/shared/reference/_registry.yaml \\
--gold-registry examples/insurance_elt/contracts/insurance/warehouse/_registry.yaml \\
"""
ONE = "--registry examples/insurance_elt/contracts/insurance/_registry.yaml \\\n"
DRIVER = "lakelogic-driver \\\n"
PAGE = {
    "Basic usage": DRIVER + ALL + "--layers reference,bronze,silver,gold \\\n--window last_success",
    "Run only one entity": DRIVER + ALL + "--layers bronze,silver,gold \\\n--entities policies",
    "Run-level overrides": DRIVER
    + ONE
    + "--layers bronze \\\n--set source.path=examples/insurance_elt/data/bronze \\\n"
    '--set source.pattern="claims_cdc_2026-02-06.csv"',
    "Incremental window (range)": DRIVER + ALL + "--layers bronze,silver,gold \\\n--window range \\\n"
    "--window-start-date 2026-02-01 \\\n--window-end-date 2026-02-05",
    "Backfill planner": DRIVER + ONE + "--layers bronze,silver \\\n--backfill-start-date 2026-02-01 \\\n"
    "--backfill-end-date 2026-02-07 \\\n--backfill-granularity day",
    "Reprocess (late arriving data)": DRIVER + ALL + "--layers silver,gold \\\n--reprocess-start-date 2026-02-01 \\\n"
    "--reprocess-end-date 2026-02-05",
    "Partial resume": DRIVER + ONE + "--layers bronze,silver,gold \\\n--state-path logs/driver_state.json \\\n--resume",
    "Observability outputs": DRIVER + ALL + "--layers reference,bronze,silver,gold \\\n--window last_success \\\n"
    "--summary-table lakelogic.pipeline_runs \\\n--summary-backend duckdb \\\n"
    "--summary-database examples/insurance_elt/output/run_logs/lakelogic_pipeline_runs.duckdb \\\n"
    "--metrics-path examples/insurance_elt/output/run_logs/pipeline_metrics.json",
    "Policy packs": DRIVER
    + ONE
    + "--layers silver \\\n--policy-pack baseline_silver \\\n--policy-pack-dir policy_packs",
    "Approval gates": DRIVER + ONE + "--layers gold \\\n--approval-required \\\n"
    "--approval-file approvals/2026-02-06.ok",
    "Reference cache": DRIVER + ONE + "--layers silver \\\n--cache-references",
    "Bootstrap contracts": "lakelogic bootstrap \\\n--landing examples/insurance_elt/data/bronze \\\n"
    "--output-dir examples/insurance_elt/bootstrap_contracts \\\n"
    "--registry examples/insurance_elt/bootstrap_contracts/_registry.yaml \\\n--format csv \\\n"
    '--pattern "*.csv"',
    "Prometheus scraping": DRIVER + ALL + "--metrics-backend prometheus \\\n--metrics-host 0.0.0.0 \\\n"
    "--metrics-port 9100",
}
NAMES = {"duckdb": "DuckDB", "polars": "Polars", "spark": "Spark"}
STAMPS = re.compile(r"^_lakelogic_")


def digest(table: Path) -> tuple[int, str]:
    """Rows of a table and what they hold, whichever order they lie in and whichever run wrote them."""
    rows = DeltaTable(str(table)).to_pyarrow_table()
    kept = sorted(name for name in rows.column_names if not STAMPS.match(name))
    lines = sorted(str(tuple(row[name] for name in kept)) for row in rows.to_pylist())
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def effects(home: Path) -> dict[str, object]:
    """Every table, and how many runs of each dataset the ledger knows by status."""
    found: dict[str, object] = {}
    for log in sorted((home / "lakelogic_warehouse").rglob("_delta_log")):
        name = str(log.parent.relative_to(home / "lakelogic_warehouse"))
        # The rows of a quarantine tell when they came in; how many there are is the same everywhere.
        found[name] = digest(log.parent)[0] if "quarantine" in name else digest(log.parent)
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        runs = Counter((run.dataset, run.status) for run in ledger.runs(limit=None))
    return {**found, "ledger": sorted((*key, count) for key, count in runs.items())}


def walk(engine: str) -> list[tuple[str, int, str, dict[str, object]]]:
    """All commands on one engine: title, exit code, what was said, what is there afterwards."""
    told = []
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        shutil.copytree(ROOT / "examples/insurance_elt", home / "examples/insurance_elt")
        os.chdir(home)
        variables = {**os.environ, "LAKELOGIC_ENGINE": engine}
        variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
        for title, command in PAGE.items():
            done = subprocess.run(
                command, shell=True, cwd=home, env=variables, capture_output=True, text=True, check=False
            )
            said = (done.stdout + done.stderr).replace(place, "").strip()
            told.append((title, done.returncode, said, effects(home)))
            print(f"{engine}: {title}: exit {done.returncode}", flush=True)
            if done.returncode:
                print(said, flush=True)
        os.chdir(ROOT)
    return told


def main() -> int:
    """All engines, or some; 0 where every command succeeded and left the same behind."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--engines", default="duckdb,polars,spark")
    asked.add_argument("--page", type=Path)
    options = asked.parse_args()
    page = options.page.absolute() if options.page else None
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        os.environ.pop(name, None)
    found = {engine: walk(engine) for engine in options.engines.split(",")}
    first = next(iter(found.values()))
    wrong = [f"{engine}: {title}: exit {code}" for engine, all_ in found.items() for title, code, _, _ in all_ if code]
    for engine, all_ in found.items():
        for (title, _, _, mine), (_, _, _, theirs) in zip(all_, first, strict=True):
            wrong += [
                f"{engine}: {title}: {name}: {mine.get(name)} and not {theirs.get(name)}"
                for name in sorted({*mine, *theirs})
                if mine.get(name) != theirs.get(name)
            ]
    print(f"{len(PAGE)} commands on {', '.join(found)}: {wrong or 'all the same'}")
    if page is not None and not wrong:
        page.write_text(transcript(list(found), list(found.values())[-1]))
    return 1 if wrong else 0


def transcript(engines: list[str], told: list[tuple[str, int, str, dict[str, object]]]) -> str:
    """What the last engine said, as a page."""
    lines = [
        "# The driver's commands, one after another",
        "",
        "<!-- Made by scripts/walk_page.py (`make test-page`). -->",
        "",
        f"All of them on one copy of `examples/insurance_elt`, as {NAMES[engines[-1]]} answered. After each command "
        f"the tables and the ledger were the same on {', '.join(NAMES[engine] for engine in engines)}.",
    ]
    for title, code, said, _ in told:
        told_ = re.sub(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?", "…", said)
        told_ = re.sub(r" in [\d.]+ s$", " in … s", told_, flags=re.MULTILINE)
        told_ = re.sub(r"(pipeline|run)-\d{8}T\d{6}-[0-9a-f]+", r"\1-…", told_)
        lines += ["", f"## {title}", "", "```text", f"$ {PAGE[title]}", told_, f"exit {code}", "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
