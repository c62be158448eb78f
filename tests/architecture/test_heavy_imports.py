"""Heavy libraries stay in their own rooms and out of everything that does not run a contract."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lakelogic"

# Library → the folders or modules (below src/lakelogic) that may import it.
HOMES = {
    "pyspark": ("engines/spark/", "tables/delta_native.py"),
    "py4j": ("engines/spark/", "tables/delta_native.py"),
    "polars": ("engines/polars/",),
    "polars_hash": ("engines/polars/",),
    "duckdb": ("engines/duckdb/",),
    "deltalake": ("tables/",),
    "pyiceberg": ("tables/",),
    "sqlalchemy": ("ledger/", "connectors/", "tables/iceberg/catalog.py"),
    "cryptography": ("privacy/",),
    "fastapi": ("api/",),
    "starlette": ("api/",),
    "uvicorn": ("api/",),
    "jwt": ("api/",),
    "snowflake": ("exports/",),
    "databricks": ("exports/",),
    "boto3": ("exports/",),
    "botocore": ("exports/", "storage/credentials.py"),
    "obstore": ("storage/objects.py",),
    "click": ("cli/",),
    "rich": ("cli/",),
}

HEAVY = (
    "pyspark",
    "polars",
    "duckdb",
    "deltalake",
    "pyiceberg",
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "pandas",
    "numpy",
    "snowflake",
    "databricks",
    "boto3",
)

# What a plain run on DuckDB does without. Modules are most of what a small run costs: whoever needs one of these
# imports it where it is needed.
SELDOM = (
    "lakelogic.exports.base",
    "lakelogic.exports.packing",
    "lakelogic.ledger.exports",
    "lakelogic.plan.explain",
    "lakelogic.plan.query.grouping",
    "lakelogic.plan.query.limit",
    "lakelogic.plan.query.projection",
    "lakelogic.plan.query.select",
    "lakelogic.plan.query.set_operations",
    "lakelogic.plan.query.subqueries",
    "lakelogic.plan.query.from_clause",
    "lakelogic.plan.query.tables",
    "lakelogic.run.replay.discard",
    "lakelogic.run.export",
    "lakelogic.run.publish.hold",
    "lakelogic.run.input.inspect",
    "lakelogic.run.profile",
    "lakelogic.run.input.links",
    "lakelogic.run.replay.replay",
    "lakelogic.tables.iceberg.tables",
    "lakelogic.watch",
    "polars_hash",
    "pytz",
    "rich",
    "sqlglot.executor",
    "sqlglot.planner",
)

CONTRACT = """
source:
  path: landing/*.csv
model:
  fields:
    - name: id
      type: int
      required: true
transformations:
  - sql: "LOWER(TRIM(id)) AS id"
quality:
  row_rules:
    - sql: "id > 0"
materialization:
  strategy: append
  target_path: catalog.silver.things
"""


def imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0], node.lineno


def test_a_library_is_imported_only_where_it_lives() -> None:
    strays = [
        f"{path.relative_to(SOURCE)}:{line} imports {library}"
        for path in sorted(SOURCE.rglob("*.py"))
        for library, line in imports(path)
        if library in HOMES and not path.relative_to(SOURCE).as_posix().startswith(HOMES[library])
    ]
    assert strays == []


def modules_after(code: str, *arguments: str) -> set[str]:
    """What a fresh interpreter holds after running some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('loaded:', *sys.modules)", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].removeprefix("loaded:").split())


def loaded_after(code: str, *arguments: str) -> set[str]:
    """The heavy libraries among them."""
    return set(HEAVY) & modules_after(code, *arguments)


def test_importing_the_package_loads_no_heavy_library() -> None:
    assert loaded_after("import lakelogic") == set()


def test_loading_a_contract_loads_no_heavy_library(tmp_path: Path) -> None:
    contract = tmp_path / "contract.yaml"
    contract.write_text(CONTRACT)
    assert (
        loaded_after("import sys\nfrom lakelogic.contract.reading.load import load\nload(sys.argv[1])", str(contract))
        == set()
    )


@pytest.mark.parametrize("room", ["contract", "sql", "plan", "engines.base", "engines.registry", "tables.base", "cli"])
def test_a_room_that_runs_nothing_loads_no_heavy_library(room: str) -> None:
    assert loaded_after(f"import lakelogic.{room}") - {"numpy"} == set()


def test_a_small_run_loads_nothing_but_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow imports pandas behind our back to make moments: a quarter of a second for four rows."""
    shutil.copytree(SOURCE.parents[1] / "examples" / "home", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAKELOGIC_PII_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    code = "from lakelogic import DataProcessor\nDataProcessor('contract.yaml', 'duckdb').run().raise_for_status()"
    held = modules_after(code)
    assert held & set(HEAVY) == {"duckdb", "deltalake", "numpy"}
    assert held & set(SELDOM) == set()
