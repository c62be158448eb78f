"""How long a large estate takes to load, resolve, compile and plan, and how much memory that needs.

python bench/estate.py                          1,000 contracts in 20 systems, in a folder that is thrown away
python bench/estate.py --contracts 200 --keep DIR   writes the estate there and keeps it
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lakelogic.catalogs.local import LocalCatalog

LAYERS = ("bronze", "silver", "gold")
TYPES = ("string", "int", "decimal(12,2)", "date", "timestamp", "boolean")


def write_estate(root: Path, contracts: int, systems: int) -> None:
    """Domains of four systems each; a system's entities go from bronze to silver to gold."""
    per_system = [contracts // systems + (1 if number < contracts % systems else 0) for number in range(systems)]
    for number, count in enumerate(per_system):
        domain, system = f"domain{number // 4:02}", f"sys{number:02}"
        folder = root / domain / system
        for layer in LAYERS:
            (folder / layer).mkdir(parents=True, exist_ok=True)
        (root / domain / "_domain.yaml").write_text(
            f"domain: {domain}\nownership: {{domain_owner: Owner {domain}, team: team-{domain}}}\n"
            "service_levels: {freshness_hours: 24}\n"
        )
        (folder / "_system.yaml").write_text(
            f"system: {system}\ndomain: {domain}\nstorage: {{landing_root: /landing/{system}}}\n"
            "materialization:\n  _all: {format: delta, target_path: '" + domain + ".{layer}.{system}_{entity}'}\n"
        )
        entries = []
        for index in range(count):
            layer, entity = LAYERS[index % 3], f"entity{index // 3:03}"
            (folder / layer / f"{entity}_v1.0.yaml").write_text(contract(domain, system, layer, entity, index // 3))
            if layer == "bronze":
                entries.append(f"  - entity: {entity}\n    contracts:\n")
            entries[-1] += f"      {layer}: {layer}/{entity}_v1.0.yaml\n"
        (folder / "_registry.yaml").write_text("entries:\n" + "".join(entries))


def contract(domain: str, system: str, layer: str, entity: str, number: int) -> str:
    """A contract of ordinary size: a dozen fields, four steps, six rules."""
    fields = "".join(
        f"    - {{name: f{index}, type: {TYPES[index % len(TYPES)]!r}{', required: true' if index < 3 else ''}}}\n"
        for index in range(10)
    )
    head = f"info: {{title: '{layer} {entity}', target_layer: {layer}, entity: {entity}}}\n"
    if layer == "bronze":
        return (
            f'{head}source: {{path: "{{landing_root}}/{entity}", pattern: "*.csv", format: csv, '
            "load_mode: incremental}\n"
            f"model:\n  fields:\n    - {{name: id, required: true}}\n{fields.replace('int', 'string')}"
            "quality: {max_quarantine_ratio: 0.05, dataset_rules: [{row_count_between: {min: 1}}]}\n"
            "materialization: {strategy: append}\n"
        )
    below = "bronze" if layer == "silver" else "silver"
    before = max(number - 1, 0)
    link = f"links:\n  - {{name: before, table: {domain}.{below}.{system}_entity{before:03}, columns: [id, f0]}}\n"
    parent = f"    - {{name: parent, foreign_key: {{contract: {layer}_{system}_entity{before:03}, column: id}}}}\n"
    parent = parent if number else ""
    return f"""\
{head}upstream: [{below}_{system}_{entity}]
source: {{type: table, path: {domain}.{below}.{system}_{entity}}}
{link}model:
  grain: one row per id
  fields:
    - {{name: id, required: true, pattern: "^E[0-9]+$"}}
{parent}{fields}transformations:
  - sql: "LOWER(TRIM(f0)) AS f0"
    phase: pre
  - trim: {{fields: [f6]}}
    phase: pre
  - derive: {{field: doubled, sql: "CASE WHEN f1 > {number} THEN f1 * {number + 2} ELSE 0 END"}}
  - deduplicate_by_latest: {{key_columns: [id], timestamp_column: f4}}
quality:
  max_quarantine_ratio: 0.1
  row_rules:
    - {{name: positive, sql: "f1 > {number} AND f2 IS NOT NULL"}}
    - {{name: plausible, range: {{field: f2, min: 0, max: 100000}}}}
    - {{name: known, referential_integrity: {{field: id, reference: before, key: id}}}}
    - {{name: past, not_future: {{field: f3}}}}
  dataset_rules:
    - unique: id
    - null_ratio: {{field: f6, max: 0.2}}
materialization: {{strategy: merge, primary_key: [id], sequence_by: f4}}
"""


def measure(root: Path) -> dict[str, object]:
    """Load, resolve, compile and plan the estate in this process."""
    gc.set_threshold(50_000, 20, 20)  # as the command does
    started = time.perf_counter()
    from lakelogic.driver.estate import load_estate

    imported = time.perf_counter()
    estate = load_estate(LocalCatalog(), root)
    order = estate.graph.order()
    waves = estate.graph.waves()
    done = time.perf_counter()
    return {
        "contracts": len(estate),
        "systems": len({member.system for member in estate}),
        "errors": len(estate.errors),
        "edges": len(estate.graph.edges),
        "ordered": len(order),
        "waves": len(waves),
        "seconds": round(done - started, 2),
        "seconds_of_imports": round(imported - started, 2),
        "cpu_seconds": round(time.process_time(), 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """Write the estate, measure it in a fresh process, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contracts", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="keep the estate in this folder")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.measure)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        root = asked.keep or Path(scratch)
        write_estate(root, asked.contracts, asked.systems)
        subprocess.run([sys.executable, __file__, "--measure", str(root)], check=True)


if __name__ == "__main__":
    main()
