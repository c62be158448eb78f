"""What is peculiar to DuckDB: the statement people see, and a session that is its own."""

import subprocess
import sys

import pyarrow as pa
import pytest

from lakelogic.engines.base import Pinned
from lakelogic.engines.duckdb import DuckDBEngine
from lakelogic.engines.duckdb.literals import identifier, literal
from lakelogic.plan.nodes import Account, Assignment, Landed, Publish, Read, RowWise
from lakelogic.sql.expressions import Column, Literal, call, text
from lakelogic.sql.types import BIGINT, BINARY, DOUBLE, INT, STRING

PUBLISH = Publish((Assignment("email", Column("email~1", STRING)),), Literal(0, BIGINT), text("good"))


@pytest.fixture(scope="module")
def engine():
    return DuckDBEngine()


def test_the_statement_has_a_cte_per_node_and_reads_like_the_plan(engine, tmp_path):
    read = Read("source", "csv", (Landed("email", STRING),))
    derive = RowWise("derive", (Assignment("email~1", call("trim", Column("email", STRING), type=STRING)),))
    frame = engine.lower(engine.scan(read, Pinned((str(tmp_path / "x.csv"),))), [Account(None, (derive,), PUBLISH)], {})
    assert engine.sql(frame) == (
        'WITH "01_read_source" AS (\n'
        '  SELECT * FROM "source"\n'
        "),\n"
        '"02_derive" AS (\n'
        "  SELECT *,\n"
        '         trim("email", \' \') AS "email~1"\n'
        '  FROM "01_read_source"\n'
        "),\n"
        '"03_publish" AS (\n'
        '  SELECT "email~1" AS "email",\n'
        '         CAST(0 AS BIGINT) AS "~fate",\n'
        '         0 AS "~copy",\n'
        "         'good' AS \"ll_side\"\n"
        '  FROM "02_derive"\n'
        ")\n"
        'SELECT "email",\n'
        '       "~fate",\n'
        '       "~copy",\n'
        '       "ll_side"\n'
        'FROM "03_publish"'
    )


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        (Literal("O'Brien; DROP TABLE x --", STRING), "O'Brien; DROP TABLE x --"),
        (Literal("back\\slash\nnew\ttab", STRING), "back\\slash\nnew\ttab"),
        (Literal("nul\0inside", STRING), "nul\0inside"),
        (Literal("it's\r\n'two'\\n lines", STRING), "it's\r\n'two'\\n lines"),
        (Literal("😀", STRING), "😀"),
        (Literal(-9223372036854775808, BIGINT), -9223372036854775808),
        (Literal(-5, INT), -5),
        (Literal(float("-inf"), DOUBLE), float("-inf")),
        (Literal(5e-324, DOUBLE), 5e-324),
        (Literal(b"\x00\xff'", BINARY), b"\x00\xff'"),
    ],
    ids=repr,
)
def test_constants_survive_the_way_through_sql_text(engine, constant, value):
    frame, _ = engine.adopt(pa.table({"x": ["1"]}))
    publish = Publish((Assignment("y", constant),), Literal(0, BIGINT), text("good"))
    assert engine.collect(engine.lower(frame, [Account(None, (), publish)], {})).column("y").to_pylist() == [value]


def test_identifiers_are_always_quoted():
    assert identifier('a"b') == '"a""b"'
    assert literal(Literal(None, INT)) == "CAST(NULL AS INTEGER)"


def test_the_time_zone_of_the_machine_changes_nothing():
    code = (
        "from lakelogic.engines.duckdb import DuckDBEngine\n"
        "import pyarrow as pa\n"
        "from lakelogic.plan.nodes import *\n"
        "from lakelogic.sql.expressions import *\n"
        "from lakelogic.sql.expressions import Literal as L\n"
        "from lakelogic.sql.types import *\n"
        "e = DuckDBEngine()\n"
        "f, _ = e.adopt(pa.table({'x': ['2024-01-05 10:00']}))\n"
        "y = convert(Column('x', STRING), TIMESTAMP)\n"
        "p = Publish((Assignment('t', convert(y, STRING)), Assignment('h', call('hour', y, type=INT))), L(0, BIGINT), text('good'))\n"
        "print(e.collect(e.lower(f, [Account(None, (), p)], {})).to_pylist()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"TZ": "America/New_York"}
    )
    assert "'t': '2024-01-05T10:00:00Z', 'h': 10" in done.stdout


def test_a_small_run_loads_neither_pandas_nor_polars_nor_arrow_functions(tmp_path):
    (tmp_path / "x.csv").write_text("email\n a@b \n")
    code = (
        "import sys\n"
        "from lakelogic.engines.base import Pinned\n"
        "from lakelogic.engines.duckdb import DuckDBEngine\n"
        "from lakelogic.plan.nodes import *\n"
        "from lakelogic.privacy.keys import Keys\n"
        "from lakelogic.sql.expressions import *\n"
        "from lakelogic.sql.expressions import Literal as L\n"
        "from lakelogic.sql.types import *\n"
        "e = DuckDBEngine()\n"
        "r = Read('source', 'csv', (Landed('email', STRING),))\n"
        "p = Publish((Assignment('email', Column('email', STRING)),), L(0, BIGINT), text('good'))\n"
        f"f = e.lower(e.scan(r, Pinned(({str(tmp_path / 'x.csv')!r},))), [Account(None, (), p)], {{}})\n"
        f"s = e.stage(f, (Published('email', STRING, True, True),), (), Keys(), {str(tmp_path / 's')!r})\n"
        "assert s.good[0].rows == 1\n"
        "print([m for m in ('pandas', 'polars', 'pyspark', 'pyarrow.compute', 'pyarrow.dataset') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_keys_that_are_looked_at_in_turns_are_counted_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakelogic.engines.duckdb.stage.KEYS_AT_ONCE", 2)
    engine = DuckDBEngine()
    rows = pa.table({"a": [1, 1, 2, 2, 2, 3, None, None], "b": ["x", "x", "y", "z", "y", None, "n", None]})
    frame, _ = engine.adopt(rows)
    assert engine.duplicates(frame, ["a"]) == 2
    assert engine.duplicates(frame, ["a", "b"]) == 2  # (1, x) and (2, y)
