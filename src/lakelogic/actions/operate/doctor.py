"""What is installed, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lakelogic.errors import LakeLogicError
from lakelogic.run.surroundings import Surroundings
from lakelogic.version import VERSION

_PACKAGES = (
    ("pyspark", "spark", "the Spark engine"),
    ("polars", "polars", "the Polars engine"),
    ("duckdb", "duckdb", "the DuckDB engine"),
    ("deltalake", "delta", "Delta tables"),
    ("pyiceberg", "iceberg", "Iceberg tables"),
    ("psycopg", "postgres", "a ledger in PostgreSQL"),
)


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was looked at. `ok` None: not needed, only worth knowing."""

    what: str
    state: str
    ok: bool | None
    fix: str | None = None


def doctor(around: Surroundings) -> list[HealthCheck]:
    """Look at everything a run may need."""
    findings = [
        HealthCheck("lakelogic", VERSION, True),
        HealthCheck("python", platform.python_version(), True),
    ]
    for package, extra, purpose in _PACKAGES:
        try:
            findings.append(HealthCheck(package, version(package), True))
        except PackageNotFoundError:
            findings.append(
                HealthCheck(package, f"not installed ({purpose})", None, f"pip install 'lakelogic[{extra}]'")
            )
    secrets = [_secret(around, "LAKELOGIC_PII_KEY", "encrypt"), _secret(around, "LAKELOGIC_PII_SALT", "hash")]
    return [*findings, _java(), *_spark(), _warehouse(around), _ledger(around), *secrets]


def _java() -> HealthCheck:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).exists():
        fix = "apt-get install openjdk-17-jre-headless"
        return HealthCheck("java", "not found (the Spark engine needs 17 or later)", None, fix)
    process = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=30)
    lines = (process.stderr or process.stdout).splitlines()
    return HealthCheck("java", lines[0] if lines else java, process.returncode == 0)


def _spark() -> list[HealthCheck]:
    try:
        version("pyspark")
    except PackageNotFoundError:
        return []
    from lakelogic.engines.spark.runtime.setup import status

    state = status()
    fix = "lakelogic setup spark"
    return [
        HealthCheck("spark jars", state.jars, state.has_jars, None if state.has_jars else fix),
        HealthCheck("spark start-up archive", state.archive, state.has_archive, None if state.has_archive else fix),
    ]


def _warehouse(around: Surroundings) -> HealthCheck:
    place = around.catalog.warehouse
    folder = place
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return HealthCheck("warehouse", f"{place} (can be written)", True)
    except OSError as error:
        fix = "set LAKELOGIC_WAREHOUSE to a folder you can write"
        return HealthCheck("warehouse", f"{place}: {error.strerror}", False, fix)


def _ledger(around: Surroundings) -> HealthCheck:
    url = around.catalog.ledger_url()
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return HealthCheck("ledger", f"{url} (made by the first run)", True)
    try:
        return HealthCheck("ledger", around.ledger.name, True)
    except LakeLogicError as error:
        return HealthCheck("ledger", error.message, False, error.hint)


def _secret(around: Surroundings, variable: str, mask: str) -> HealthCheck:
    if around.environ.get(variable):
        return HealthCheck(variable, "set", True)
    return HealthCheck(variable, f"not set (contracts that mask with `{mask}` need it)", None, "lakelogic keys new")
