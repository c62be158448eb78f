"""An estate for looking at the page: the examples beside one another, run in several passes, one gate closed."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
_KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="  # for made-up people only

# Staff that must be almost free of errors, and of three rows one is wrong: its gate closes.
STAFF = """
info: {dataset: silver_staff, domain: people, target_layer: silver, owner: people-desk, title: Staff}
source: {path: data/staff.csv}
primary_key: [id]
model:
  fields:
    - {name: id, type: int, required: true}
    - {name: email, pii: true, masking: redact}
    - {name: age, type: int, min: 0}
quality: {max_quarantine_ratio: 0.1}
service_levels: {freshness_hours: 24}
materialization: {strategy: merge, target_path: people.silver.staff}
"""
STAFF_ROWS = "id,email,age\n1,ada@example.com,36\n2,bob@example.com,-4\n3,cleo@example.com,29\n"
_AGENTS_LATER = """agent_id,full_name,region_code,commission_rate,updated_by,updated_at,extract_date
A05,Lena Moor,N,0.9500,hr,2026-02-07 09:00:00,2026-02-08
A06,Milan Novak,S,0.0800,hr,2026-02-07 09:05:00,2026-02-08
A07,Nora Olsen,W,0.0700,hr,2026-02-07 09:07:00,2026-02-08
"""


def environment(folder: Path) -> dict[str, str]:
    """The variables of the estate in a folder, and none of whoever builds it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_")}
    own = {"WAREHOUSE": str(folder / "warehouse"), "ENGINE": "duckdb", "PII_KEY": _KEY, "PII_SALT": _KEY}
    return {**kept, **{f"LAKELOGIC_{name}": value for name, value in own.items()}}


def build(folder: Path, *, whole: bool) -> tuple[str, ...]:
    """The lab with a closed gate; with `whole`, retail and insurance too, three passes each. Returns what to serve."""
    (folder / "contracts").mkdir(parents=True)
    shutil.copytree(EXAMPLES / "orders_lab/contracts", folder / "contracts/lab")
    shutil.copytree(EXAMPLES / "orders_lab/data", folder / "data")
    if not whole:
        (folder / "contracts/people").mkdir()
        (folder / "contracts/people/staff.yaml").write_text(STAFF)
        (folder / "data/staff.csv").write_text(STAFF_ROWS)
        _run(folder, "drive", "--registry", "contracts/lab/_registry.yaml")
        _run(folder, "run", "contracts/people/staff.yaml")
        return ("contracts",)
    shutil.copytree(EXAMPLES / "retail/contracts", folder / "contracts/retail")
    shutil.copytree(EXAMPLES / "retail/landing", folder / "landing")
    shutil.copytree(EXAMPLES / "insurance_elt", folder / "insurance")
    # Retail has datasets of the same names.
    shutil.rmtree(folder / "insurance/contracts/insurance/warehouse")
    later = [
        *sorted((folder / "landing/pos").iterdir())[2:],
        *sorted((folder / "insurance/data/bronze").glob("claims*"))[4:],
    ]
    for path in later:
        path.rename(path.with_suffix(".later"))
    registries = [path.relative_to(folder) for path in sorted(folder.rglob("_registry.yaml"), reverse=True)]
    for share in (0, 2, len(later)):
        for path in later[:share] + later[-share // 2 :] if share else []:
            if (waits := path.with_suffix(".later")).exists():
                waits.rename(path)
        for registry in registries:
            _run(folder, "drive", "--registry", str(registry))
    agents = folder / "insurance/contracts/insurance/silver/agents.yaml"
    agents.write_text(re.sub(r"max_quarantine_ratio: [0-9.]+", "max_quarantine_ratio: 0.1", agents.read_text()))
    (folder / "insurance/data/bronze/agents_2026-02-08.csv").write_text(_AGENTS_LATER)
    _run(folder, "drive", "--registry", "insurance/contracts/insurance/_registry.yaml")
    return ("contracts", "insurance/contracts")


@contextmanager
def served(folder: Path, places: tuple[str, ...], *options: str) -> Iterator[str]:
    """The service over that estate with one worker; its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "lakelogic", "serve", *places, "--port", str(port), *options]
    with (folder / "serve.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(150):
        if process.poll() is not None:
            raise RuntimeError("the service ended at once; see serve.log")
        try:
            urllib.request.urlopen(f"{address}/health", timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError("the service does not answer; see serve.log")


def _run(folder: Path, *arguments: str) -> None:
    # A closed gate and bad rows are what the page is for: their exit codes are no failure here.
    command = [sys.executable, "-m", "lakelogic", *arguments, "--engine", "duckdb"]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3, 5):
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr or done.stdout}")
