"""Environments of the peers: one virtual environment each, outside the repository, built when first needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# A peer stands here with the versions that were measured. Spark is pinned where a peer leaves it open, so that all
# measure one Spark; Polars and DuckDB are those that the peer itself asks for.
PACKAGES: dict[str, tuple[str, ...]] = {
    "lakelogic-1.84": ("lakelogic[polars,duckdb,spark]==1.84.0", "pyspark==4.1.4"),
    "dqx": ("databricks-labs-dqx==0.17.0", "pyspark==4.1.4", "pandas", "pyarrow"),
    "spark-expectations": ("spark-expectations==2.10.1", "pyspark==4.1.4", "setuptools<81", "jinja2"),
    "great-expectations": ("great-expectations==1.24.1", "pandas", "pyarrow"),
    "pandera": ("pandera[polars]==0.35.0", "pyarrow"),
    "soda-core": ("soda-duckdb", "soda-core==4.28.0"),
    "cuallee": ("cuallee==0.15.4", "polars", "duckdb", "pyarrow", "numpy"),
}


def home() -> Path:
    """Where data, environments and outputs lie: `LAKELOGIC_BENCH`, else a folder in the user's cache."""
    said = os.environ.get("LAKELOGIC_BENCH")
    return Path(said) if said else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lakelogic-bench"


def python_of(name: str) -> Path:
    """The interpreter of an environment, whether it is there or not."""
    return home() / "envs" / name / "bin" / "python"


def is_ready(name: str) -> bool:
    """Whether an environment was built to the end with the packages that are asked for now."""
    stamp = python_of(name).parents[1] / "bench-packages.txt"
    return stamp.is_file() and stamp.read_text() == "\n".join(PACKAGES[name])


def why_not(name: str) -> str | None:
    """Why an environment could not be built, as remembered."""
    told = home() / "envs" / f"{name}.failed"
    return told.read_text() if told.is_file() and not is_ready(name) else None


def build(name: str) -> bool:
    """Build an environment unless it is there; what uv said is kept when it cannot be."""
    if is_ready(name):
        return True
    folder, failed = python_of(name).parents[1], home() / "envs" / f"{name}.failed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    failed.unlink(missing_ok=True)
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        failed.write_text("uv is not installed; it builds the peers' environments (set UV to where it is).")
        return False
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    steps = [
        [uv, "venv", "--quiet", "--clear", "--python", version, str(folder)],
        [uv, "pip", "install", "--quiet", "--python", str(python_of(name)), *PACKAGES[name]],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            failed.write_text(done.stderr.strip()[-2000:])
            return False
    (folder / "bench-packages.txt").write_text("\n".join(PACKAGES[name]))
    return True


def versions(name: str) -> dict[str, str]:
    """What is installed in an environment, by package."""
    asked = "import importlib.metadata as m; print('\\n'.join(f'{d.name}=={d.version}' for d in m.distributions()))"
    done = subprocess.run([python_of(name), "-c", asked], capture_output=True, text=True, check=True)
    return dict(line.split("==", 1) for line in done.stdout.split())
