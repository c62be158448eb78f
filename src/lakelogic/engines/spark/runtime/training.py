"""A small run that loads the classes a real one needs; `setup.py` keeps them in the start-up archive."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lakelogic.engines.base import Pinned
from lakelogic.engines.spark.engine import SparkEngine
from lakelogic.plan.nodes import (
    Account,
    Assignment,
    Landed,
    Mask,
    Measure,
    Order,
    Publish,
    Published,
    Rank,
    Read,
    RowWise,
)
from lakelogic.privacy.keys import Keys, key_id
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, convert, text
from lakelogic.sql.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, array, decimal, to_arrow

_ROWS = (
    {"id": "1", "email": " Jo@example.com", "n": "3", "d": "1.5", "at": "2024-01-05", "p": "2.50"},
    {"id": "2", "email": None, "n": "x", "d": "y", "at": "2024-01-05T10:00Z", "p": "z"},
)
_TYPES = {"n": INT, "d": DOUBLE, "at": TIMESTAMP, "p": decimal(10, 2)}


def plan() -> tuple[Account, tuple[Published, ...]]:
    """The usual nodes: cast, derive, deduplicate, judge, publish."""
    email = Column("email~1", STRING)
    casts = [Assignment(f"{column}~1", convert(Column(column, STRING), kind)) for column, kind in _TYPES.items()]
    lower = Assignment("email~1", Call("lower", (Call("trim", (Column("email", STRING),), STRING),), STRING))
    failed = (
        call("is_null", email),
        call("not", call("same", call("like", email, text("%@%.%")), Literal(True, BOOLEAN))),
        call("not", call("same", call("matches", email, text("^[a-z]+$")), Literal(True, BOOLEAN))),
    )
    nodes = (
        RowWise("cast", (*casts, lower, Assignment("day", convert(Column("at", STRING), DATE)))),
        Rank("deduplicate", (Column("id", STRING),), (Order(Column("at~1", TIMESTAMP), True),), "~rank"),
        RowWise("judge", (Assignment("~bad0", Call("bits", failed, BIGINT)),)),
    )
    flags = [Call("bit_is_set", (Column("~bad0", BIGINT), Literal(bit, INT)), BOOLEAN) for bit in range(3)]
    pairs = tuple(part for bit, flag in enumerate(flags) for part in (flag, text(f"reason {bit}")))
    values: dict[str, Expression] = {
        "id": Column("id", STRING),
        "email": email,
        **{column: Column(f"{column}~1", kind) for column, kind in _TYPES.items()},
        "_lakelogic_errors": Call("texts_where", pairs, array(STRING)),
        "raw": Call("row_json", (text("id"), Column("id", STRING)), STRING),
    }
    lost = call("gt", Column("~rank", BIGINT), Literal(1, BIGINT))
    bad = call("not", call("eq", Column("~bad0", BIGINT), Literal(0, BIGINT)))
    publish = Publish(
        tuple(Assignment(name, value) for name, value in values.items()),
        Call("case", (lost, Literal(1, INT), Literal(0, INT)), INT),
        Call("case", (lost, Literal(None, STRING), bad, text("bad"), text("good")), STRING),
    )
    return Account(None, nodes, publish), tuple(Published(n, v.type, True, True) for n, v in values.items())


def train(engine: SparkEngine, room: Path) -> None:
    """Read JSON, CSV and Parquet, judge, mask, stage, measure and open again."""
    account, columns = plan()
    landed = tuple(Landed(name, STRING) for name in _ROWS[0])
    keys = Keys(encryption=((key_id(bytes(32)), bytes(32)),), salt=b"salt")
    lines, table = room / "rows.json", room / "rows.csv"
    lines.write_text("".join(json.dumps(row) + "\n" for row in _ROWS), encoding="utf-8")
    table.write_text(
        "\n".join([",".join(_ROWS[0]), *(",".join(str(value or "") for value in row.values()) for row in _ROWS)]),
        encoding="utf-8",
    )
    for file, kind, strategy in ((lines, "json", "encrypt"), (table, "csv", "hash")):
        read = Read("source", kind, landed)
        frame = engine.lower(engine.scan(read, Pinned((str(file),))), [account], {})
        mask = Mask("email", strategy)  # type: ignore[arg-type]
        staged = engine.stage(frame, columns, [mask], keys, str(room / f"staged-{kind}"))
        files = [file.path for file in (*staged.good, *staged.bad)]
        engine.measure(files, columns, [Measure("rows", "count_all", None)])
        opened = engine.open(files, [(column.name, to_arrow(column.type)) for column in columns])
        engine.duplicates(opened, ["id"])
        engine.collect(opened, 10)


def main() -> None:
    """`python -m lakelogic.engines.spark.runtime.training ARCHIVE FOLDER`."""
    archive, room = sys.argv[1:3]
    options = {"spark.driver.extraJavaOptions": f'"-XX:ArchiveClassesAtExit={archive}"'}
    engine = SparkEngine(master="local[2]", fast_start=True, settings=options)
    train(engine, Path(room))
    engine.close()


if __name__ == "__main__":
    main()
