"""What it costs to start: the command line, four rows on each engine, a thousand contracts."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import environments, results
from bench.harness import Record, describe, say
from bench.parts import Wanted
from bench.tree import ROOT, peak, spend

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
CLI = "import sys; from lakelogic.cli.main import main; sys.argv[0] = 'lakelogic'; main()"
THOUSAND = """
import pathlib, sys
from lakelogic.contract.reading.load import load
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.fingerprint import fingerprint
for file in sorted(pathlib.Path("contracts").glob("*.yaml")):
    loaded = load(str(file))
    compile_contract(loaded)
    fingerprint(loaded)
"""


def _record(command: list[str], case: str, prepare: Callable[[Path], None] | None = None) -> Record:
    """Measure a command from its start to the end of its last child, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        if prepare:
            prepare(folder)
        env = {"PYTHONPATH": str(ROOT / "src"), "LAKELOGIC_PII_KEY": KEY, "BENCH_FOLDER": name}
        spent = spend([sys.executable, *command], folder / "log.txt", env=env, seconds=600)
        said = (folder / "log.txt").read_text(errors="replace")
    record: Record = {"case": case, "engine": "start", "load": spent.load, "versions": {}}
    if spent.code:
        return {**record, "failed": said[-1500:]}
    once = {"cpu": spent.cpu, "wall": spent.wall, "bytes_read": 0, "bytes_written": 0, "files": 0, "told": {}}
    return {**record, "times": [{**once, "peak": peak(spent.samples)}]}


def _home(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "home", folder, dirs_exist_ok=True)


def _thousand(folder: Path) -> None:
    text = (ROOT / "examples" / "home" / "contract.yaml").read_text()
    (folder / "contracts").mkdir()
    for at in range(1000):
        (folder / "contracts" / f"c{at:04d}.yaml").write_text(
            text.replace("silver.customers", f"silver.customers_{at}")
        )


def start(wanted: Wanted) -> None:
    """Measure all of it, in turn."""
    run = ["-c", CLI, "run", "contract.yaml", "--engine"]
    if "spark" in wanted.engines:
        # What `make setup` does once: without the archive of classes Spark starts in twice the time.
        subprocess.run([sys.executable, "-m", "lakelogic", "setup", "spark"], check=True, stdout=subprocess.DEVNULL)
    commands: dict[str, tuple[list[str], Callable[[Path], None] | None]] = {
        "python": (["-c", "pass"], None),
        "import": (["-c", "import lakelogic"], None),
        "help": (["-c", CLI, "--help"], None),
        **{f"four-rows-{engine}": ([*run, engine], _home) for engine in wanted.engines},
        "thousand-contracts": (["-c", THOUSAND], _thousand),
    }
    for turn in range(max(wanted.rounds, 3)):
        for case, (command, prepare) in commands.items():
            key = f"start/start/{case}/{turn}"
            if wanted.wants(case) and not wanted.store.has(key):
                record = _record(command, case, prepare)
                wanted.store.put(key, record)
                say(f"{key}: {describe(record)}")
        if environments.is_ready("lakelogic-1.84") and not wanted.store.has(f"start/start/help-of-1.84/{turn}"):
            record = _of_peer()
            wanted.store.put(f"start/start/help-of-1.84/{turn}", record)
            say(f"start/start/help-of-1.84/{turn}: {describe(record)}")
    results.save("start", results.summarise(wanted.store, "start"))


def _of_peer() -> Record:
    program = environments.python_of("lakelogic-1.84").parent / "lakelogic"
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        spent = spend([str(program), "--help"], Path(name) / "log.txt", env={"PYTHONPATH": ""})
    once = {"cpu": spent.cpu, "wall": spent.wall, "bytes_read": 0, "bytes_written": 0, "files": 0, "told": {}}
    record = {"case": "help-of-1.84", "engine": "start", "load": spent.load, "versions": {}}
    return {**record, "times": [{**once, "peak": peak(spent.samples)}]}
