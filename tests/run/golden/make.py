"""Make small tables with the code at hand, and keep what their commits and staged records say: one version's fixtures.

    .venv/bin/python tests/run/golden/make.py tests/run/golden/<version>

Run once for a version, before what its commits say is changed; `test_commit_facts.py` reads all of them ever after.
Everything happens in `/tmp/lake`, so that no path of a machine is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

LAKE = Path("/tmp/lake")
SECRETS = {
    "LAKELOGIC_PII_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "LAKELOGIC_PII_SALT": "a long salt of one's own, number 1",
    "LAKELOGIC_ENGINE": "duckdb",
}
ORDERS = """
dataset: bronze_orders
source: {path: landing/*.csv, load_mode: incremental}
environments: {dev: {shares_target: true, source: {path: dev/*.csv}}}
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, min: %(least)s}
    - {name: phone, type: string%(mask)s}
quality: {max_quarantine_ratio: %(ratio)s}
materialization:
  strategy: append
  target_path: shop.bronze.orders
  format: %(format)s
  secondary_targets: [{target_path: shop.copy.orders, format: parquet, strategy: append}]
"""
CUSTOMERS = """
dataset: silver_orders
source: {path: shop.bronze.orders}
primary_key: [id]
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: amount, type: int, max: 1000}
    - {name: phone, type: string}
materialization: {strategy: merge, target_path: shop.silver.orders, format: %(format)s}
"""
CHANGES = """
dataset: changes
source: {path: changes/*.json, load_mode: cdc, cdc_op_field: op, cdc_delete_values: [D], cdc_timestamp_field: at}
primary_key: [id]
model:
  fields: [{name: id, type: int}, {name: name, type: string}, {name: at, type: timestamp}]
materialization: {strategy: merge, target_path: shop.silver.changes, format: %(format)s}
"""
DAYS = """
dataset: days
source: {path: days/*.csv, load_mode: incremental}
model: {fields: [{name: id, type: int}, {name: day, type: date}]}
materialization:
  {strategy: overwrite, overwrite_scope: partitions, partition_by: [day], target_path: shop.gold.days, format: %(format)s}
"""
PLAIN = {"least": 0, "mask": "", "ratio": 1}


def call(*words: str) -> int:
    from click.testing import CliRunner

    from lakelogic.cli.main import cli

    result = CliRunner().invoke(cli, list(words))
    print("  ", *words, "->", result.exit_code)
    if result.exit_code not in (0, 1):
        raise SystemExit(result.output)
    return result.exit_code


def write(contract: str, form: str, **values: Any) -> str:
    name = contract.split("dataset: ")[1].split("\n")[0] + ".yaml"
    Path(name).write_text(contract % {**PLAIN, "format": form, **values})
    return name


def land(path: str, text: str) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text)


def tables_of(form: str) -> None:
    """An append of files with secondary targets, a replay, an approval, a changed file, a mask, and what reads it."""
    land("landing/a.csv", "id,amount,phone\n1,10,111\n2,-5,222\n3,7,333\n")
    orders = write(ORDERS, form)
    call("run", orders)
    silver = write(CUSTOMERS, form)
    call("run", silver)
    land("dev/b.csv", "id,amount,phone\n4,2000,444\n,6,555\n5,-20,556\n")
    call("run", orders, "--env", "dev")
    call("run", silver)
    write(ORDERS, form, least=-10)
    call("quarantine", "replay", orders)
    write(ORDERS, form, least=-10, ratio=0.1)
    land("landing/c.csv", "id,amount,phone\n6,1,666\n7,-50,777\n")
    call("run", orders)
    call("approve", held(), "--why", "looked at it")
    write(ORDERS, form, least=-10)
    land("landing/a.csv", "id,amount,phone\n1,11,111\n3,8,333\n")
    write_alone(orders)
    call("run", orders)
    call("run", silver)
    call("quarantine", "discard", orders, "--all", "--reason", "nobody will mend it")
    Path(orders).write_text(
        Path(orders).read_text().replace("type: string}", "type: string, pii: true, masking: hash}")
    )
    call("remask", orders)
    call("run", silver)
    land("changes/a.json", '{"id": 1, "name": "a", "op": "I", "at": "2026-02-01T00:00:00Z"}\n')
    changes = write(CHANGES, form)
    call("run", changes)
    land("changes/b.json", '{"id": 1, "name": "a", "op": "D", "at": "2026-02-02T00:00:00Z"}\n')
    call("run", changes)
    land("days/2026-02-01.csv", "id,day\n1,2026-02-01\n")
    days = write(DAYS, form)
    call("run", days)
    land("days/2026-02-02.csv", "id,day\n2,2026-02-02\nx,2026-02-02\n")
    call("run", days)


def write_alone(contract: str) -> None:
    """Without the secondary target, which could not give rows of a changed file back."""
    lines = Path(contract).read_text().splitlines()
    Path(contract).write_text("\n".join(line for line in lines if "secondary_targets" not in line) + "\n")


def held() -> str:
    from lakelogic.catalogs.local import LocalCatalog
    from lakelogic.ledger.store import open_ledger

    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        return str(ledger.waiting()[0].run_id)


def keep(root: Path, out: Path) -> None:
    """What the commits of every table below a folder say, newest first, and the entries beside them."""
    from lakelogic.tables import chain
    from lakelogic.tables.kinds import kind_of
    from lakelogic.tables.registry import load

    found: dict[str, Any] = {}
    for place in sorted(path for path in root.glob("lakelogic_warehouse/*/*") if path.is_dir()):
        kind = kind_of(str(place))
        for table in [place] if kind else sorted(path for path in place.iterdir() if path.is_dir()):
            kind = kind_of(str(table))
            if kind is None:
                continue
            tables = load(kind)
            state = tables.state(str(table))
            assert state is not None
            found[str(table.relative_to(root / "lakelogic_warehouse"))] = {
                "format": kind,
                "newest": dict(state.metadata),
                "commits": {
                    app: list(map(dict, tables.commits(str(table), app))) for app in sorted(state.transactions)
                },
                "entries": {
                    app: [json.loads(path.read_bytes()) for path in chain.entry_files(str(table), app)]
                    for app in chain.applications(str(table))
                },
            }
    out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def crashed(out: Path) -> None:
    """A workspace whose run died between its staged record and its first commit: what a later version has to finish."""
    from lakelogic import DataProcessor
    from lakelogic.run import faults

    land("landing/a.csv", "id,amount,phone\n1,10,111\n2,-5,222\n3,7,333\n")
    contract = write(ORDERS, "delta")
    write_alone(contract)

    def strike(point: str) -> None:
        if point == "after_staged_record":
            raise faults.InjectedFault(point)

    try:
        with faults.watched(strike):
            DataProcessor(contract, engine="duckdb").run()
    except faults.InjectedFault:
        pass
    shutil.rmtree(out / "crashed", ignore_errors=True)
    for folder in LAKE.glob("lakelogic_warehouse/shop/*/*/batch-*"):
        shutil.copytree(folder, out / "crashed" / folder.relative_to(LAKE / "lakelogic_warehouse"))
    from lakelogic.catalogs.local import LocalCatalog
    from lakelogic.ledger.store import open_ledger

    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        place = LocalCatalog().resolve("shop.bronze.orders")
        [intent] = ledger.open_intents(f"bronze_orders@{place}", place)
        (out / "crashed" / "staged.json").write_text(json.dumps(intent.staged, indent=1, sort_keys=True) + "\n")


def keep_folder(folder: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(folder, out)


def main() -> None:
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for name in [name for name in os.environ if name.startswith("LAKELOGIC_")]:
        del os.environ[name]
    os.environ.update(SECRETS, USER="ada", LOGNAME="ada", USERNAME="ada")
    for form in ("delta", "iceberg", "parquet"):
        shutil.rmtree(LAKE, ignore_errors=True)
        LAKE.mkdir()
        os.chdir(LAKE)
        print(form)
        tables_of(form)
        keep(LAKE, out / f"{form}.json")
        if form == "delta":
            keep_folder(LAKE / "lakelogic_warehouse/shop/silver/orders", out / "silver_orders")
    shutil.rmtree(LAKE)
    LAKE.mkdir()
    os.chdir(LAKE)
    crashed(out)
    os.chdir(out)
    shutil.rmtree(LAKE)


if __name__ == "__main__":
    main()
