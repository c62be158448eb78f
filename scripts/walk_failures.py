"""Provoke everything that a pass of the driver must survive, and tell what came of it; `--page FILE` writes the table.

Each case begins with a small estate of its own (orders through three layers, and stock, which needs none of it), runs
the driver as a process, and is followed by one more pass that must make the tables of an undisturbed one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ORDERS = "id,amount\n1,10\n2,20\n3,x\n"
ENTRY = "info: {{target_layer: {layer}, dataset: {layer}_{name}, owner: team}}\nsource: {{path: {source}}}\n"
MODEL = "model: {fields: [{name: id, type: int}, {name: amount, type: int, required: true}]}\n"
TARGET = "materialization: {{target_path: shop.{layer}.{name}, strategy: overwrite}}\n"
# Longer than any other dataset takes, the start of Spark included.
ENOUGH = 60 if "spark" in sys.argv else 5
PASS = "--registry _registry.yaml --max-workers 1"


def contract(layer: str, name: str, source: str, more: str = "") -> str:
    """One dataset of the estate."""
    return (ENTRY + TARGET).format(layer=layer, name=name, source=source) + MODEL + more


def estate(folder: Path) -> None:
    """Orders in three layers, and stock."""
    entries = {"orders": ("bronze", "silver", "gold"), "stock": ("bronze",)}
    lines = ["entries:"]
    for entity, layers in entries.items():
        named = ", ".join(f"{layer}: {layer}_{entity}.yaml" for layer in layers)
        lines.append(f"  - {{entity: {entity}, contracts: {{{named}}}}}")
        source = f"{entity}.csv"
        for layer in layers:
            (folder / f"{layer}_{entity}.yaml").write_text(contract(layer, entity, source))
            source = f"shop.{layer}.{entity}"
        (folder / f"{entity}.csv").write_text(ORDERS)
    (folder / "_registry.yaml").write_text("\n".join(lines) + "\n")


@dataclass(frozen=True, slots=True)
class Case:
    """What is provoked, how, and what must come of it: the exit code, and the status of each dataset in order."""

    feature: str
    provoked: str
    exit_code: int
    statuses: str  # of bronze, silver and gold orders, then stock, by first letter
    options: str = PASS
    before: Callable[[Path], None] | None = None
    during: Callable[[Path, subprocess.Popen[str]], None] | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    mend: Callable[[Path], None] | None = None
    heals: bool = True


LETTERS = {"s": "succeeded", "f": "failed", "g": "gated", "h": "held_back", "-": "skipped", "n": "no_new_data"}
DATASETS = ("bronze_orders", "silver_orders", "gold_orders", "bronze_stock")


def away(folder: Path) -> None:
    """The source of orders is not there."""
    (folder / "orders.csv").rename(folder / "later.csv")


def back(folder: Path) -> None:
    """It is there again."""
    if (folder / "later.csv").exists():
        (folder / "later.csv").rename(folder / "orders.csv")


def both_away(folder: Path) -> None:
    """Neither source is there."""
    away(folder)
    (folder / "stock.csv").unlink()


def both_back(folder: Path) -> None:
    """Both are again."""
    back(folder)
    (folder / "stock.csv").write_text(ORDERS)


def comes_back(folder: Path, _: subprocess.Popen[str]) -> None:
    """After the first try, the source is there again."""
    wait_until(lambda: "Attempt 2 of" in told(folder))
    back(folder)


def gate(folder: Path) -> None:
    """A third of the rows is bad, and a tenth may be."""
    more = "quality: {max_quarantine_ratio: 0.1}\n"
    (folder / "bronze_orders.yaml").write_text(contract("bronze", "orders", "orders.csv", more))


def no_gate(folder: Path) -> None:
    """The contract as it was."""
    (folder / "bronze_orders.yaml").write_text(contract("bronze", "orders", "orders.csv"))


def endless(folder: Path) -> None:
    """A join that takes longer than anybody waits."""
    (folder / "others.csv").write_text("key,n\n" + "".join(f"x,{n}\n" for n in range(2000)))
    sql = """links: [{name: others, path: others.csv, type: csv}]
transformations:
  - sql: |
      SELECT a.id, CAST(COUNT(*) AS INT) AS amount FROM source a
      JOIN others b ON a.id IS NOT NULL JOIN others c ON b.key = c.key JOIN others d ON c.key = d.key
      WHERE CAST(b.n AS INT) * CAST(c.n AS INT) + CAST(d.n AS INT) <> 3 GROUP BY a.id
"""
    (folder / "silver_orders.yaml").write_text(contract("silver", "orders", "shop.bronze.orders", sql))


def not_endless(folder: Path) -> None:
    """The contract as it was."""
    (folder / "silver_orders.yaml").write_text(contract("silver", "orders", "shop.bronze.orders"))


def asked_to_end(*marks: str) -> Callable[[Path, subprocess.Popen[str]], None]:
    """SIGTERM as soon as a file is there."""

    def during(folder: Path, process: subprocess.Popen[str]) -> None:
        wait_until(lambda: any(list(folder.glob(f"lakelogic_warehouse/shop/{mark}")) for mark in marks))
        process.send_signal(signal.SIGTERM)

    return during


def held_lease(folder: Path) -> None:
    """Another process is in the middle of a run of orders."""
    words = [*LAKELOGIC, "run", "bronze_orders.yaml"]
    held = {"LAKELOGIC_FAULT": "after_stage:stall", "LAKELOGIC_FAULT_SECONDS": "600"}
    other = subprocess.Popen(words, cwd=folder, env={**os.environ, **held}, stderr=subprocess.DEVNULL)
    OTHERS.append(other)
    wait_until(lambda: bool(list(folder.glob("lakelogic_warehouse/shop/bronze/orders/batch-*"))))


def let_go(_: Path) -> None:
    """It dies, and its lease runs out."""
    for other in OTHERS:
        other.kill()
        other.wait()
    OTHERS.clear()


def stale(folder: Path) -> None:
    """Bronze was published, and its owner wants it younger than any run can be."""
    drive(folder, PASS + " --layers bronze")
    more = "upstream_policy: strict\nupstream_sources: [{dataset: bronze_orders, max_age: 0s}]\n"
    (folder / "silver_orders.yaml").write_text(contract("silver", "orders", "shop.bronze.orders", more))


def other_columns(folder: Path) -> None:
    """The tables are there; gold shall get one more column."""
    drive(folder, PASS)
    more = "transformations: [{sql: 'SELECT id, amount, amount AS twice FROM source'}]\n"
    text = contract("gold", "orders", "shop.silver.orders", more)
    (folder / "gold_orders.yaml").write_text(
        text.replace("required: true}]", "required: true}, {name: twice, type: int}]")
    )


def same_columns(folder: Path) -> None:
    """The contract as it was."""
    (folder / "gold_orders.yaml").write_text(contract("gold", "orders", "shop.silver.orders"))


def failed_before(folder: Path) -> None:
    """A pass without the source of orders, and then the source."""
    away(folder)
    drive(folder, f"{PASS} --state-path state.json")
    back(folder)


CASES: Sequence[Case] = (
    Case("a few bad rows", "one row of three cannot be read as a number, no limit set", 0, "ssss"),
    Case("retry with backoff", "the source is away and comes back after the first try", 0, "ssss",
         f"{PASS} --retries 4 --retry-base-seconds 1", before=away, during=comes_back),
    Case("only what needs it is held back", "the source of orders is away", 3, "fhhs", before=away, mend=back),
    Case("a gate", "a third of the rows is bad, `max_quarantine_ratio: 0.1`", 3, "ghhs", before=gate, mend=no_gate),
    Case("fail fast", "the source of orders is away, `--fail-fast`", 4, "fhh-", f"{PASS} --fail-fast",
         before=away, mend=back),
    Case("circuit breaker", "both sources are away, `--max-consecutive-failures 1`", 4, "fhh-",
         f"{PASS} --max-consecutive-failures 1", before=both_away, mend=both_back),
    Case("entity timeout", "a join without end, `--entity-timeout`", 3, "sfhs", f"{PASS} --entity-timeout {ENOUGH}",
         before=endless, mend=not_endless),
    Case("SIGTERM before the commit", "the signal arrives while rows are staged", 143, "f---",
         during=asked_to_end("bronze/orders/batch-*"),
         variables={"LAKELOGIC_FAULT": "after_stage:stall", "LAKELOGIC_FAULT_SECONDS": "4"}),
    Case("SIGTERM in the commit", "the signal arrives between quarantine and good rows", 143, "s---",
         during=asked_to_end("quarantine/bronze_orders/_delta_log"),
         variables={"LAKELOGIC_FAULT": "after_quarantine_commit:stall", "LAKELOGIC_FAULT_SECONDS": "4"}),
    Case("SIGKILL", "the process dies after the good rows are committed, before the ledger knows", -9, "",
         variables={"LAKELOGIC_FAULT": "after_good_commit:kill"}),
    Case("a lost answer", "every commit of good rows lands, and its answer is lost", 4, "fhhf",
         variables={"LAKELOGIC_FAULT": "after_good_commit:lose"}),
    Case("two at once", "another process holds the lease of orders", 3, "fhhs", before=held_lease, mend=let_go),
    Case("a stale upstream", "bronze is older than silver allows, no grace", 3, "nhhn", before=stale, mend=not_endless),
    Case("approval", "gold has a new column, `--approval-required`", 3, "nngn", f"{PASS} --approval-required",
         before=other_columns, mend=same_columns),
    Case("resume", "a pass failed without the source; with the source, `--resume`", 0, "sss-",
         f"{PASS} --state-path state.json --resume", before=failed_before),
    Case("a gateway for metrics that is away", "nobody listens at `--metrics-port`", 0, "ssss",
         f"{PASS} --metrics-backend pushgateway --metrics-host 127.0.0.1 --metrics-port 9"),
)  # fmt: skip

LAKELOGIC = [sys.executable, "-m", "lakelogic"]
OTHERS: list[subprocess.Popen[bytes]] = []


def wait_until(found: Callable[[], bool], seconds: float = 180) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not found():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for did not happen")
        time.sleep(0.05)


def told(folder: Path) -> str:
    """What the driver said so far."""
    path = folder / "pass.log"
    return path.read_text() if path.exists() else ""


def drive(folder: Path, options: str, case: Case | None = None) -> tuple[int, list[dict[str, object]]]:
    """One pass as a process: its exit code, and what its summary says of each dataset."""
    summary = folder / "summary.json"
    summary.unlink(missing_ok=True)
    words = [*LAKELOGIC, "drive", *shlex.split(options), "--summary-path", str(summary)]
    variables = {**os.environ, **(case.variables if case else {})}
    with (folder / "pass.log").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, env=variables, stdout=log, stderr=log, text=True)
        if case is not None and case.during is not None:
            threading.Thread(target=case.during, args=(folder, process), daemon=True).start()
        code = process.wait(timeout=600)
    return code, json.loads(summary.read_text())["datasets"] if summary.exists() else []


def tables(folder: Path) -> dict[str, list[str]]:
    """The rows of every table."""
    from deltalake import DeltaTable

    found = {}
    for name in DATASETS:
        layer, _, entity = name.partition("_")
        rows = DeltaTable(str(folder / f"lakelogic_warehouse/shop/{layer}/{entity}")).to_pyarrow_table()
        found[name] = sorted(str((row["id"], row["amount"])) for row in rows.to_pylist())
    return found


def walk(case: Case) -> tuple[str, list[str]]:
    """Provoke it; what happened, and what is wrong with that."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        estate(folder)
        if case.before is not None:
            case.before(folder)
        code, datasets = drive(folder, case.options, case)
        found = {str(one["dataset"]): one for one in datasets}
        wrong = [f"exit {code} in place of {case.exit_code}"] if code != case.exit_code else []
        expected = dict(zip(DATASETS, (LETTERS[letter] for letter in case.statuses), strict=False))
        seen = {name: str(found[name]["status"]) for name in DATASETS if name in found}
        if seen != expected:
            wrong.append(f"{seen} in place of {expected}")
        happened = _sentence(found, place) if found else "no summary: the process is gone"
        if case.mend is not None:
            case.mend(folder)
        again, _ = drive(folder, PASS + " --retries 8 --retry-base-seconds 5")
        if again != 0 or any(rows != ["(1, 10)", "(2, 20)"] for rows in tables(folder).values()):
            wrong.append(f"the next pass ended with {again}: {told(folder)[-500:]}")
        return happened, wrong


def _sentence(found: Mapping[str, Mapping[str, object]], place: str) -> str:
    parts: dict[str, list[str]] = {}
    for name in DATASETS:
        parts.setdefault(str(found[name]["status"]), []).append(name)
    told_ = [f"{status}: {', '.join(f'`{name}`' for name in names)}" for status, names in parts.items()]
    reasons = [str(reason) for one in found.values() for reason in one["reasons"]]  # type: ignore[attr-defined]
    tries = [str(one["attempts"]) for one in found.values() if int(str(one["attempts"] or 0)) > 1]
    if tries:
        told_.append(f"{tries[0]} tries")
    if reasons:
        reason = re.sub(r"run-\S+ since .*", "another run", reasons[0].replace(f"{place}/", "").replace("|", "/"))
        told_.append(f"“{re.sub('pipeline-[^ ]+', 'the pass before', reason)}”")
    return "; ".join(told_)


HEAD = """# When a pass of the driver is disturbed

<!-- Made by scripts/walk_failures.py (`make test-page`). -->

Each line was provoked on a small estate on {engine}: orders through three layers (`bronze_orders`, `silver_orders`,
`gold_orders`), and `bronze_stock`, which needs none of them. After each, one more pass made the tables of an
undisturbed one: {count} of {total}.

| what | how it was provoked | what happened | exit |
|---|---|---|--:|
"""


def main() -> int:
    """All cases, or some."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--engine", default="duckdb")
    asked.add_argument("--page", type=Path)
    asked.add_argument("--only", default="")
    options = asked.parse_args()
    os.environ["LAKELOGIC_ENGINE"] = options.engine
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        os.environ.pop(name, None)
    lines, held = [], 0
    cases = [case for case in CASES if options.only in case.feature]
    if options.engine == "polars":  # what it has begun cannot be stopped, and the option is refused
        cases = [case for case in cases if case.feature != "entity timeout"]
    for case in cases:
        happened, wrong = walk(case)
        held += not wrong
        print(f"{case.feature}: {wrong or 'as it must'}: {happened}", flush=True)
        shown = "killed" if case.exit_code < 0 else str(case.exit_code)
        lines.append(f"| {case.feature} | {case.provoked} | {happened} | {shown} |")
    print(f"{held} of {len(cases)}")
    if options.page is not None and held == len(cases):
        shown = {"duckdb": "DuckDB", "polars": "Polars", "spark": "Spark"}[options.engine]
        head = HEAD.format(engine=shown, count=held, total=len(cases))
        options.page.write_text(head + "\n".join(lines) + "\n")
    return 0 if held == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
