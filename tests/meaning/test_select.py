"""SELECT over a handful of rows and two links: expected rows by hand, on every engine, and every row accounted for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.contract.reading.load import examine
from lakelogic.engines.base import Engine, Pinned
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import from_arrow

N = None

THINGS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5], pa.int32()),
        "k": pa.array([1, 2, 2, 3, N], pa.int32()),
        "v": pa.array([5, 6, 7, 8, 9], pa.int32()),
        "g": pa.array(["a", "a", "b", "b", N]),
        "tags": pa.array([["x", "y"], ["z"], [], N, ["w", N]], pa.list_(pa.string())),
        "prices": pa.array([[("p", 1), ("q", 2)], [], N, [("r", 3)], N], pa.map_(pa.string(), pa.int32())),
    }
)
REF = pa.table(
    {
        "k": pa.array([1, 2, 2, 4, N], pa.int32()),
        "name": pa.array(["one", "two", "deux", "four", "none"]),
        "w": pa.array([10, 20, 21, 40, 50], pa.int32()),
    }
)
SPANS = pa.table(
    {
        "g": pa.array(["a", "a", "b"]),
        "lo": pa.array([1, 6, 8], pa.int32()),
        "hi": pa.array([4, 6, 9], pa.int32()),
    }
)


def _columns(table: pa.Table) -> SourceColumns:
    return SourceColumns("parquet", tuple(Landed(field.name, from_arrow(field.type)) for field in table.schema))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pinned]:
    folder: Path = tmp_path_factory.mktemp("links")
    for name, table in (("ref", REF), ("spans", SPANS)):
        pq.write_table(table, folder / f"{name}.parquet")
    return {name: Pinned((str(folder / f"{name}.parquet"),)) for name in ("ref", "spans")}


@pytest.fixture
def selected(meaning_engine: Engine, places: dict[str, Pinned]) -> Callable[..., list[tuple[Any, ...]]]:
    """The rows that steps leave, as tuples in sorted order."""

    def run(*steps: str | dict[str, Any]) -> list[tuple[Any, ...]]:
        document = {
            "dataset": "things",
            "source": {"path": "in.parquet"},
            "links": [{"name": name, "path": f"{name}.parquet"} for name in places],
            "transformations": [{"sql": step} if isinstance(step, str) else step for step in steps],
            "lineage": {"enabled": False},
        }
        loaded, problems = examine(document)
        assert loaded is not None, problems
        links = {"ref": _columns(REF), "spans": _columns(SPANS)}
        plan = compile_contract(loaded, _columns(THINGS), links).plan
        frame, _ = meaning_engine.adopt(THINGS, plan.read)
        frames = {name: meaning_engine.link(link, places[link.reference]) for name, link in plan.links.items()}
        found = meaning_engine.collect(meaning_engine.lower(frame, plan.accounts, frames))
        _add_up(found, plan)
        good = [column.name for column in plan.columns if column.on_good]
        rows = [tuple(row[name] for name in good) for row in found.to_pylist() if row["ll_side"] == "good"]
        return sorted(rows, key=repr)

    return run


def _add_up(found: pa.Table, plan: Any) -> None:
    """The rows of the source, and what became of each of them in the first account."""
    first = list(plan.fates)
    for index, fate in enumerate(plan.fates):
        if fate.kind == "grouped":
            first = first[: index + 1]
            break
    lost = {fate.number for fate in first if fate.kind != "expanded"}
    made = {fate.number for fate in first if fate.kind == "expanded"}
    rows = found.to_pylist()
    counted = sum(row["~fate"] in lost for row in rows) - sum(row["~copy"] in made for row in rows)
    if len(plan.accounts) == 1:
        counted += sum(row["ll_side"] is not None for row in rows)
    assert counted == THINGS.num_rows


PLAIN = {
    "items and a condition": ("SELECT id, v + 1 AS w FROM source WHERE v > 6", [(3, 8), (4, 9), (5, 10)]),
    "a NULL condition loses the row": ("SELECT id FROM source WHERE k < 3", [(1,), (2,), (3,)]),
    "the dataset's own name": ("SELECT id FROM things WHERE things.k = 1", [(1,)]),
    "an alias": ("SELECT t.id FROM source AS t WHERE t.k = 1", [(1,)]),
    "star and a replacement": (
        "SELECT * EXCEPT (tags, prices, g, v), k * 10 AS K FROM source WHERE id < 3", [(1, 10), (2, 20)],
    ),
    "star with REPLACE": ("SELECT * EXCEPT (tags, prices, g) REPLACE (-v AS v) FROM source WHERE id = 1", [(1, 1, -5)]),
    "an item that uses an earlier one": ("SELECT id, v * 2 AS d, d + 1 AS e FROM source WHERE id = 1", [(1, 10, 11)]),
    "distinct": ("SELECT DISTINCT k FROM source", [(1,), (2,), (3,), (N,)]),
    "order and limit": ("SELECT id FROM source ORDER BY v DESC LIMIT 2", [(4,), (5,)]),
    "NULLs come last in both directions": ("SELECT id FROM source ORDER BY k DESC LIMIT 4", [(1,), (2,), (3,), (4,)]),
    "NULLS FIRST": ("SELECT id FROM source ORDER BY k ASC NULLS FIRST LIMIT 1", [(5,)]),
    "offset": ("SELECT id FROM source ORDER BY id LIMIT 2 OFFSET 1", [(2,), (3,)]),
    "order by position": ("SELECT v, id FROM source ORDER BY 1 LIMIT 1", [(5, 1)]),
    "a query in FROM": ("SELECT a + 1 AS b FROM (SELECT v AS a FROM source WHERE v > 7) q", [(9,), (10,)]),
    "WITH": (
        "WITH big AS (SELECT * FROM source WHERE v > 5), small AS (SELECT id FROM big WHERE v < 8) SELECT id FROM small",
        [(2,), (3,)],
    ),
}  # fmt: skip

JOINS = {
    "inner": (
        "SELECT s.id, r.name FROM source s JOIN ref r ON s.k = r.k",
        [(1, "one"), (2, "deux"), (2, "two"), (3, "deux"), (3, "two")],
    ),
    "left, with a condition on the link": (
        "SELECT s.id, r.w FROM source s LEFT JOIN ref r ON s.k = r.k AND r.w > 20",
        [(1, N), (2, 21), (3, 21), (4, N), (5, N)],
    ),
    "left, with a condition on the row": (
        "SELECT s.id, r.w FROM source s LEFT JOIN ref r ON s.k = r.k AND s.id = 2 AND r.w < 21",
        [(1, N), (2, 20), (3, N), (4, N), (5, N)],
    ),
    "right": (
        "SELECT s.id, r.w FROM source s RIGHT JOIN ref r ON s.k = r.k AND r.w <> 21",
        [(1, 10), (2, 20), (3, 20), (N, 21), (N, 40), (N, 50)],
    ),
    "full": (
        "SELECT s.id, r.w FROM source s FULL OUTER JOIN ref r USING (k)",
        [(1, 10), (2, 20), (2, 21), (3, 20), (3, 21), (4, N), (5, N), (N, 40), (N, 50)],
    ),
    "the key of a full join": (
        "SELECT k FROM source s FULL JOIN ref r USING (k) WHERE s.id IS NULL OR r.w IS NULL",
        [(3,), (4,), (N,), (N,)],
    ),
    "the rows do not come first": (
        "SELECT s.id, r.w FROM ref r RIGHT JOIN source s ON s.k = r.k WHERE s.id IN (1, 4)", [(1, 10), (4, N)],
    ),
    "by inequality": (
        "SELECT s.id, t.lo FROM source s JOIN spans t ON s.g = t.g AND s.v BETWEEN t.lo AND t.hi", [(2, 6), (4, 8)],
    ),
    "left by inequality": (
        "SELECT s.id, t.lo FROM source s LEFT JOIN spans t ON s.g = t.g AND s.v > t.hi",
        [(1, 1), (2, 1), (3, N), (4, N), (5, N)],
    ),
    "cross": ("SELECT s.id, t.lo FROM source s CROSS JOIN spans t WHERE s.id = 1", [(1, 1), (1, 6), (1, 8)]),
    "semi": ("SELECT s.id FROM source s LEFT SEMI JOIN ref r ON s.k = r.k", [(1,), (2,), (3,)]),
    "anti": ("SELECT s.id FROM source s LEFT ANTI JOIN ref r ON s.k = r.k", [(4,), (5,)]),
    "with itself": (
        "SELECT a.id, b.id AS other FROM source a JOIN source b ON a.k = b.k AND a.id < b.id", [(2, 3)],
    ),
    "two joins": (
        "SELECT s.id, r.w, t.hi FROM source s JOIN ref r ON s.k = r.k LEFT JOIN spans t ON s.g = t.g AND t.lo = 6 WHERE r.w < 21",
        [(1, 10, 6), (2, 20, 6), (3, 20, N)],
    ),
    "with a query": (
        "SELECT s.id, m.most FROM source s JOIN (SELECT k, max(w) AS most FROM ref GROUP BY k) m ON m.k = s.k",
        [(1, 10), (2, 21), (3, 21)],
    ),
    "star over a join by a key of one name": (
        "SELECT * EXCEPT (tags, prices, v, g) FROM source JOIN ref USING (k) WHERE id = 1", [(1, 1, "one", 10)],
    ),
}  # fmt: skip

GROUPS = {
    "by a key": ("SELECT g, count(*) AS n, sum(v) AS s FROM source GROUP BY g", [("a", 2, 11), ("b", 2, 15), (N, 1, 9)]),
    "all rows": ("SELECT count(*) AS n, max(v) AS m FROM source", [(5, 9)]),
    "over no rows at all": ("SELECT count(*) AS n, sum(v) AS s FROM source WHERE v > 99", [(0, N)]),
    "having": ("SELECT k, count(*) AS n FROM source GROUP BY k HAVING count(*) > 1", [(2, 2)]),
    "having an alias": ("SELECT k, count(*) AS n FROM source GROUP BY k HAVING n > 1", [(2, 2)]),
    "by an expression and an alias": (
        "SELECT v % 2 AS odd, count(*) AS n FROM source GROUP BY odd", [(0, 2), (1, 3)],
    ),
    "by position": ("SELECT g, min(v) AS m FROM source GROUP BY 1", [("a", 5), ("b", 7), (N, 9)]),
    "by all": ("SELECT g, min(v) AS m FROM source GROUP BY ALL", [("a", 5), ("b", 7), (N, 9)]),
    "filter": ("SELECT count(*) FILTER (WHERE v > 6) AS n, sum(v) FILTER (WHERE g = 'a') AS s FROM source", [(3, 11)]),
    "distinct": ("SELECT count(DISTINCT k) AS n FROM source", [(3,)]),
    "an expression over aggregates": ("SELECT max(v) - min(v) AS span FROM source", [(4,)]),
    "order by an aggregate": (
        "SELECT g, sum(v) AS s FROM source GROUP BY g ORDER BY sum(v) DESC LIMIT 1", [("b", 15)],
    ),
    "rollup": (
        "SELECT g, grouping(g) AS r, count(*) AS n FROM source GROUP BY ROLLUP (g)",
        [("a", 0, 2), ("b", 0, 2), (N, 0, 1), (N, 1, 5)],
    ),
    "cube": (
        "SELECT g, k, count(*) AS n, grouping_id() AS i FROM source WHERE id < 4 GROUP BY CUBE (g, k)",
        [
            ("a", 1, 1, 0), ("a", 2, 1, 0), ("b", 2, 1, 0), ("a", N, 2, 1), ("b", N, 1, 1), (N, 1, 1, 2), (N, 2, 2, 2),
            (N, N, 3, 3),
        ],
    ),
    "grouping sets": (
        "SELECT g, k, sum(v) AS s FROM source WHERE id < 3 GROUP BY GROUPING SETS ((g), (k), ())",
        [("a", N, 11), (N, 1, 5), (N, 2, 6), (N, N, 11)],
    ),
    "grouping sets after keys": (
        "SELECT g, sum(v) AS s FROM source WHERE id < 3 GROUP BY g GROUPING SETS (g, ())", [("a", 11), (N, 11)],
    ),
    "the total of nothing": ("SELECT g, count(*) AS n FROM source WHERE v > 99 GROUP BY ROLLUP (g)", [(N, 0)]),
    "groups of a join": (
        "SELECT r.name, sum(s.v) AS s FROM source s JOIN ref r ON s.k = r.k GROUP BY r.name",
        [("deux", 13), ("one", 5), ("two", 13)],
    ),
}  # fmt: skip

WINDOWS = {
    "numbers": (
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY v DESC) AS n FROM source",
        [(1, 2), (2, 1), (3, 2), (4, 1), (5, 1)],
    ),
    "qualify": ("SELECT id FROM source QUALIFY row_number() OVER (PARTITION BY g ORDER BY v) = 1", [(1,), (3,), (5,)]),
    "qualify by an alias": ("SELECT id, rank() OVER (ORDER BY k) AS r FROM source QUALIFY r = 2", [(2, 2), (3, 2)]),
    "running sum": (
        "SELECT id, sum(v) OVER (ORDER BY id) AS s FROM source", [(1, 5), (2, 11), (3, 18), (4, 26), (5, 35)],
    ),
    "rows lost before do not count": (
        "SELECT id, sum(v) OVER () AS s, lag(v) OVER (ORDER BY id) AS l FROM source WHERE id <> 2",
        [(1, 29, N), (3, 29, 5), (4, 29, 7), (5, 29, 8)],
    ),
    "between rows": (
        "SELECT id, sum(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM source",
        [(1, 11), (2, 18), (3, 21), (4, 24), (5, 17)],
    ),
    "over groups": (
        "SELECT g, sum(v) AS s, sum(sum(v)) OVER () AS total FROM source GROUP BY g",
        [("a", 11, 35), ("b", 15, 35), (N, 9, 35)],
    ),
    "peers": ("SELECT id, count(*) OVER (ORDER BY k) AS n FROM source WHERE k IS NOT NULL", [(1, 1), (2, 3), (3, 3), (4, 4)]),
    "in a list of items": (
        "v - avg(v) OVER (PARTITION BY g) AS d",
        [(1, -0.5), (2, 0.5), (3, -0.5), (4, 0.5), (5, 0.0)],
    ),
}  # fmt: skip

QUERIES = {
    "in": ("SELECT id FROM source WHERE k IN (SELECT k FROM ref WHERE w > 10)", [(2,), (3,)]),
    "not in, where the query holds NULL": ("SELECT id FROM source WHERE k NOT IN (SELECT k FROM ref)", []),
    "not in": ("SELECT id FROM source WHERE k NOT IN (SELECT k FROM ref WHERE k IS NOT NULL)", [(4,)]),
    "not in nothing": ("SELECT id FROM source WHERE k NOT IN (SELECT k FROM ref WHERE w > 99)", [(1,), (2,), (3,), (4,), (5,)]),
    "in, as a value": (
        "SELECT id, k IN (SELECT k FROM ref WHERE k IS NOT NULL) AS f FROM source",
        [(1, True), (2, True), (3, True), (4, False), (5, N)],
    ),
    "exists": ("SELECT id FROM source s WHERE EXISTS (SELECT 1 FROM ref r WHERE r.k = s.k AND r.w = 21)", [(2,), (3,)]),
    "not exists": ("SELECT id FROM source s WHERE NOT EXISTS (SELECT 1 FROM ref r WHERE r.k = s.k)", [(4,), (5,)]),
    "exists by inequality": (
        "SELECT id FROM source s WHERE EXISTS (SELECT * FROM spans t WHERE t.g = s.g AND s.v BETWEEN t.lo AND t.hi)",
        [(2,), (4,)],
    ),
    "one value": ("SELECT id, (SELECT max(w) FROM ref) AS m FROM source WHERE id = 1", [(1, 50)]),
    "one value per row": (
        "SELECT id, (SELECT count(*) FROM ref r WHERE r.k = s.k) AS n, (SELECT min(w) FROM ref r WHERE r.k = s.k) AS m FROM source s",
        [(1, 1, 10), (2, 2, 20), (3, 2, 20), (4, 0, N), (5, 0, N)],
    ),
    "of the rows themselves": ("SELECT id FROM source WHERE v = (SELECT max(v) FROM source)", [(5,)]),
}  # fmt: skip

SETS = {
    "union all": ("SELECT k FROM source WHERE id > 3 UNION ALL SELECT k FROM ref WHERE w < 20", [(1,), (3,), (N,)]),
    "union": ("SELECT k FROM source UNION SELECT k FROM ref", [(1,), (2,), (3,), (4,), (N,)]),
    "intersect": ("SELECT k FROM source INTERSECT SELECT k FROM ref", [(1,), (2,), (N,)]),
    "except": ("SELECT k FROM source EXCEPT SELECT k FROM ref", [(3,)]),
    "types meet": ("SELECT v AS x FROM source WHERE id = 1 UNION ALL SELECT 0.5 AS y FROM ref WHERE w = 10", None),
    "with a limit": ("SELECT k FROM source UNION SELECT k FROM ref ORDER BY k LIMIT 2", [(1,), (2,)]),
    "of one table": ("SELECT id FROM source WHERE g = 'a' UNION ALL SELECT id FROM source WHERE v > 8", [(1,), (2,), (5,)]),
}  # fmt: skip

LATERAL = {
    "explode": (
        "SELECT id, tag FROM source LATERAL VIEW explode(tags) t AS tag",
        [(1, "x"), (1, "y"), (2, "z"), (5, "w"), (5, N)],
    ),
    "outer": (
        "SELECT id, tag FROM source LATERAL VIEW OUTER explode(tags) t AS tag",
        [(1, "x"), (1, "y"), (2, "z"), (3, N), (4, N), (5, "w"), (5, N)],
    ),
    "with positions": (
        "SELECT id, t.i, t.tag FROM source LATERAL VIEW posexplode(tags) t AS i, tag WHERE id < 3",
        [(1, 0, "x"), (1, 1, "y"), (2, 0, "z")],
    ),
    "a map": (
        "SELECT id, a, b FROM source LATERAL VIEW explode(prices) t AS a, b", [(1, "p", 1), (1, "q", 2), (4, "r", 3)],
    ),
    "as an item": ("SELECT id, explode(tags) AS tag FROM source WHERE id = 1", [(1, "x"), (1, "y")]),
    "groups of exploded rows": (
        "SELECT tag, count(*) AS n FROM source LATERAL VIEW explode(tags) t AS tag GROUP BY tag",
        [("w", 1), ("x", 1), ("y", 1), ("z", 1), (N, 1)],
    ),
}  # fmt: skip


def _table(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize(("sql", "expected"), cases.values(), ids=cases)


@_table(PLAIN | JOINS)
def test_rows_are_chosen_and_joined(selected: Any, sql: str, expected: Any) -> None:
    assert selected(sql) == sorted(expected, key=repr)


@_table(GROUPS | SETS | LATERAL)
def test_rows_merge_stack_and_expand(selected: Any, sql: str, expected: Any) -> None:
    found = selected(sql)
    if expected is None:
        expected = [(pytest.approx(0.5),), (5,)]
        assert [float(value) for (value,) in found] == [0.5, 5.0]
        return
    assert found == sorted(expected, key=repr)


@_table({name: case for name, case in WINDOWS.items() if case[0].startswith("SELECT")} | QUERIES)
def test_rows_look_at_others(selected: Any, sql: str, expected: Any) -> None:
    assert selected(sql) == sorted(expected, key=repr)


def test_a_list_of_items_may_look_at_other_rows(selected: Any) -> None:
    sql, expected = WINDOWS["in a list of items"]
    assert selected(sql, "SELECT id, d FROM source") == sorted(expected, key=repr)


def test_steps_follow_one_another(selected: Any) -> None:
    found = selected(
        "SELECT id, g, explode(tags) AS tag FROM source",
        {"filter": {"sql": "tag IS NOT NULL"}},
        "SELECT g, count(*) AS n FROM source GROUP BY g",
        "SELECT g, n, rank() OVER (ORDER BY n DESC) AS r FROM source",
    )
    assert found == [("a", 3, 1), (None, 1, 2)]


REFUSED = [
    ("SELECT id, nope FROM source", "LL-C203", "There is no column `nope`"),
    ("SELECT r.nme FROM source s JOIN ref r ON s.k = r.k", "LL-C203", "`r` has no column `nme`"),
    ("SELECT k FROM source s JOIN ref r ON s.id = r.w", "LL-C203", "More than one table has a column `k`"),
    ("SELECT * FROM source s JOIN spans t ON s.v = t.lo", "LL-C203", "`*` finds a column `g`"),
    ("SELECT g, v FROM source GROUP BY g", "LL-C203", "`v` is neither grouped nor aggregated"),
    ("SELECT id FROM ref", "LL-C203", "does not begin with the current rows"),
    ("SELECT id FROM elsewhere", "LL-C212", "There is no link `elsewhere`"),
    ("SELECT id FROM source NATURAL JOIN ref", "LL-C207", "NATURAL JOIN is not portable"),
    ("SELECT DISTINCT prices FROM source", "LL-C205", "cannot compare the map"),
    ("SELECT id FROM source TABLESAMPLE (10 PERCENT)", "LL-C207", "TABLESAMPLE"),
    ("SELECT id FROM source UNION ALL SELECT k, w FROM ref", "LL-C205", "One query has 1 columns, the other 2"),
    ("SELECT k FROM source EXCEPT ALL SELECT k FROM ref", "LL-C207", "EXCEPT ALL is not portable"),
    ("SELECT sum(v) OVER (ORDER BY v RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM source", "LL-C207", "RANGE"),
    ("SELECT row_number() OVER (PARTITION BY g) AS n FROM source", "LL-C205", "needs an order"),
    ("SELECT count(*) FROM source", "LL-C205", "has no name"),
    ("SELECT id FROM source LIMIT v", "LL-C205", "LIMIT takes a whole number"),
    ("SELECT id FROM source WHERE v IN (SELECT k, w FROM ref)", "LL-C205", "takes one column, not 2"),
    ("WITH RECURSIVE a AS (SELECT 1 AS x FROM source) SELECT x FROM a", "LL-C203", "WITH RECURSIVE"),
    ("SELECT * FROM source PIVOT (sum(v) FOR g IN ('a'))", "LL-C207", "PIVOT and UNPIVOT"),
    ("SELECT id FROM source VERSION AS OF 3", "LL-C207", "VERSION AS OF"),
    ("SELECT id FROM source LIMIT 50 PERCENT", "LL-C207", "PERCENT"),
    ("WITH t(a) AS (SELECT id FROM source) SELECT a FROM t", "LL-C203", "Names of columns after a query's name"),
    ("SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) AS s FROM source", "LL-C207", "EXCLUDE"),
    ("DELETE FROM source", "LL-C202", "DELETE is not allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "code", "says"), REFUSED)
def test_what_is_outside_is_refused_by_name(sql: str, code: str, says: str) -> None:
    from lakelogic.errors import CompileError

    links = [{"name": name, "path": f"{name}.parquet"} for name in ("ref", "spans")]
    document = {"dataset": "things", "source": {"path": "x.parquet"}, "links": links, "transformations": [{"sql": sql}]}
    loaded, _ = examine(document)
    assert loaded is not None
    with pytest.raises(CompileError) as caught:
        compile_contract(loaded, _columns(THINGS), {"ref": _columns(REF), "spans": _columns(SPANS)})
    told = [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics]
    assert any(found == code and says in message for found, message in told), told


def test_not_like_all_and_any_deny_each_pattern(selected: Any) -> None:
    assert selected("SELECT id FROM source WHERE g NOT LIKE ALL ('a%', 'x%')") == [(3,), (4,)]
    assert selected("SELECT id FROM source WHERE g NOT LIKE ANY ('a%', 'b%')") == [(1,), (2,), (3,), (4,)]
