"""Build the DAGs of the templates for Airflow, Prefect and Dagster with the real libraries.

Each library gets an environment of its own below a folder, because they do not agree about their dependencies:

    python scripts/walk_orchestrators.py [FOLDER] [airflow prefect dagster]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TEMPLATES = Path(__file__).parents[1] / "examples/orchestrators"
PACKAGES = {
    "airflow": ["apache-airflow>=3.0,<4"],
    # Its server asks FastAPI for an argument that newer versions no longer take.
    "prefect": ["prefect>=3.4,<4", "fastapi<0.125"],
    "dagster": ["dagster>=1.11,<2"],
}

# What each library says after it has built the template: tasks, and which waits for which.
LOOKS = {
    "airflow": """
import airflow_dag, json
dag = airflow_dag.dag
print(json.dumps({task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks}))
""",
    "prefect": """
import json, lakelogic_task, prefect_flow
ran, later = [], []
def fake(layers, more=()):
    ran.append(layers[0])
    if layers[0] == "silver" and not later:
        later.append(True)
        raise lakelogic_task.TryLater("once")
    if layers[0] == "gold":
        raise lakelogic_task.LookAtIt("never again")
prefect_flow.run_pass = fake
prefect_flow.drive.retry_delay_seconds = [0, 0, 0]
try:
    prefect_flow.lakelogic_flow()
except lakelogic_task.LookAtIt:
    ran.append("stopped")
print(json.dumps(ran))
""",
    "dagster": """
import dagster_definitions as d, json
job = d.defs.resolve_job_def("lakelogic")
deps = job.graph.dependencies
found = {}
for call, inputs in deps.items():
    found[call.name] = sorted(one.node for one in inputs.values())
for node in job.graph.nodes:
    found.setdefault(node.name, [])
assert d.daily.cron_schedule == "0 3 * * *"
print(json.dumps(found))
""",
}
CHAIN = {"reference": [], "bronze": ["reference"], "silver": ["bronze"], "gold": ["silver"]}
EXPECTED = {
    "airflow": CHAIN,
    # Silver is tried again once; gold is for a person, so it is not.
    "prefect": ["reference", "bronze", "silver", "silver", "gold", "stopped"],
    "dagster": CHAIN,
}


def environment(folder: Path, name: str) -> str:
    """The interpreter of an environment that has the library, made if it is missing."""
    home = folder / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        if uv := shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"):
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, home], check=True)
            subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *PACKAGES[name]], check=True)
        else:
            venv.create(home, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        (home / "ready").touch()
    return str(python)


def look(folder: Path, name: str) -> object:
    """What the library makes of its template."""
    with tempfile.TemporaryDirectory() as home:
        quiet = {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "false", "PREFECT_HOME": home,
                 "PREFECT_LOGGING_LEVEL": "ERROR", "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
                 "DAGSTER_HOME": home, "DO_NOT_TRACK": "1"}  # fmt: skip
        done = subprocess.run(
            [environment(folder, name), "-c", LOOKS[name]],
            cwd=home, env={**os.environ, **quiet, "PYTHONPATH": str(TEMPLATES)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{name}: the template cannot be built\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv/orchestrators").absolute()
    for name in sys.argv[2:] or PACKAGES:
        found = look(folder, name)
        if found != EXPECTED[name]:
            raise SystemExit(f"{name}: expected {EXPECTED[name]}, found {found}")
        print(f"{name}: {found}")


if __name__ == "__main__":
    main()
