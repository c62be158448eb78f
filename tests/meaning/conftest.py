"""One suite for all engines: columns in, expected columns out, many expressions in one job."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from lakelogic.engines.base import Engine
from lakelogic.engines.registry import load
from lakelogic.plan.nodes import Account, Aggregate, Assignment, Join, Node, Opening, Order, Publish, Rank, Rollup
from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import TRUE, Column, Expression, Literal, convert, text
from lakelogic.sql.types import BIGINT, Type, to_arrow

ROW = "row"


def tidy(value: Any) -> Any:
    """A value in a form that compares as people expect: NaN equals NaN, 1 is not True, 1.0 is not 1."""
    if isinstance(value, float):
        return ("double", "NaN") if math.isnan(value) else ("double", value)
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value
    if isinstance(value, dict):
        return {name: tidy(item) for name, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        # A map, as Arrow hands it over: its entries have no order of their own.
        return ("map", sorted((repr(tidy(key)), tidy(item)) for key, item in value))
    if isinstance(value, (list, tuple)):
        return [tidy(item) for item in value]
    return (type(value).__name__, value)


class Meaning:
    """Evaluates canonical expressions on one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = engine.name

    def rows(
        self,
        columns: Mapping[str, tuple[Type, Sequence[Any]]],
        outputs: Mapping[str, Expression],
        nodes: Sequence[Node] = (),
        links: Mapping[str, Mapping[str, tuple[Type, Sequence[Any]]]] | None = None,
        rollup: Rollup | None = None,
        opening: Opening | None = None,
    ) -> list[dict[str, Any]]:
        """The outputs over the columns, one dict per row, in the order of the input (in none after an opening)."""
        size = len(next(iter(columns.values()))[1]) if columns else 1
        arrays = {name: pa.array(values, to_arrow(type_)) for name, (type_, values) in columns.items()}
        table = pa.table({**arrays, ROW: pa.array(range(size), pa.int64())})
        frame, _ = self.engine.adopt(table)
        adopted = {
            name: self.engine.adopt(pa.table({c: pa.array(v, to_arrow(t)) for c, (t, v) in link.items()}))[0]
            for name, link in (links or {}).items()
        }
        side, fate = text("good"), Literal(0, BIGINT)
        opening = rollup or opening
        if opening is None:
            wanted = {**outputs, ROW: Column(ROW, BIGINT)}
            accounts = [Account(None, tuple(nodes), _publish(wanted, fate, side))]
        else:
            nothing = {name: Literal(None, value.type) for name, value in outputs.items()}
            lost = _publish(nothing, Literal(1, BIGINT), Literal(None, text("").type))
            accounts = [Account(None, tuple(nodes), lost), Account(opening, (), _publish(outputs, fate, side))]
        found = self.engine.collect(self.engine.lower(frame, accounts, adopted)).to_pylist()
        found = [row for row in found if row["ll_side"] == "good"]
        if opening is None:
            found.sort(key=lambda row: row[ROW])
        return [{name: row[name] for name in outputs} for row in found]

    def column(self, source: Type, values: Sequence[Any], output: Expression) -> list[Any]:
        """One expression over one column, which is called `x`."""
        return [row["y"] for row in self.rows({"x": (source, values)}, {"y": output})]

    def converts(self, source: Type, to: Type, cases: Mapping[Any, Any] | Sequence[tuple[Any, Any]]) -> None:
        """Each key, converted, is its value."""
        pairs = list(cases.items()) if isinstance(cases, Mapping) else list(cases)
        self.maps(source, convert(Column("x", source), to), pairs)

    def maps(self, source: Type, output: Expression, cases: Sequence[tuple[Any, Any]]) -> None:
        """Each first item, as `x`, gives the second."""
        found = self.column(source, [given for given, _ in cases], output)
        wrong = [
            f"{given!r}: expected {expected!r}, found {value!r}"
            for (given, expected), value in zip(cases, found, strict=True)
            if tidy(value) != tidy(expected)
        ]
        assert not wrong, f"{self.name}: " + "; ".join(wrong)

    def says(self, columns: Mapping[str, tuple[Type, Sequence[Any]]], cases: Mapping[str, Sequence[Any]]) -> None:
        """Each expression, as contracts write it, has these values over the columns; all of them in one job."""
        types = {name: type_ for name, (type_, _) in columns.items()}
        found = self.rows(columns, {sql: bind(sql, types) for sql in cases})
        wrong = [
            f"{sql} in row {index}: expected {expected!r}, found {row[sql]!r}"
            for sql, values in cases.items()
            for index, (expected, row) in enumerate(zip(values, found, strict=True))
            if tidy(row[sql]) != tidy(expected)
        ]
        assert not wrong, f"{self.name}: {len(wrong)} differ: " + "; ".join(wrong[:10])

    def gives(self, expected: Mapping[str, tuple[Expression, Any]]) -> None:
        """Each expression over no columns at all has its value."""
        (row,) = self.rows({}, {name: value for name, (value, _) in expected.items()})
        wrong = [
            f"{name}: expected {value!r}, found {row[name]!r}"
            for name, (_, value) in expected.items()
            if tidy(row[name]) != tidy(value)
        ]
        assert not wrong, f"{self.name}: " + "; ".join(wrong)


def _publish(outputs: Mapping[str, Expression], fate: Expression, side: Expression) -> Publish:
    return Publish(tuple(Assignment(name, value) for name, value in outputs.items()), fate, side)


@pytest.fixture(scope="session", params=["duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark)])
def meaning_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn, started once."""
    engine = load(request.param)
    yield engine
    engine.close()


@pytest.fixture
def meaning(meaning_engine: Engine) -> Meaning:
    """The evaluator."""
    return Meaning(meaning_engine)


@pytest.fixture
def same() -> Any:
    """Equality in which NaN equals NaN and 1 is not True."""
    return lambda left, right: tidy(left) == tidy(right)


@pytest.fixture
def nodes() -> Any:
    """The nodes that tests of rows put together."""

    class Nodes:
        @staticmethod
        def rank(partition: Sequence[Expression], *order: tuple[Expression, bool]) -> Rank:
            return Rank("rank", tuple(partition), tuple(Order(value, down) for value, down in order), "rank")

        @staticmethod
        def join(on: Sequence[tuple[Expression, str]], *take: tuple[str, str]) -> Join:
            return Join("join", "link", tuple(on), tuple(take), "found")

        @staticmethod
        def rollup(
            keys: Mapping[str, Expression],
            aggregates: Mapping[str, tuple[str, Expression | None, Type]],
            where: Expression = TRUE,
        ) -> Rollup:
            return Rollup(
                "rollup",
                where,
                tuple(Assignment(name, value) for name, value in keys.items()),
                tuple(Aggregate(name, function, value, t) for name, (function, value, t) in aggregates.items()),
            )

    return Nodes


@pytest.fixture(scope="session")
def meaning_class() -> type[Meaning]:
    """For tests that compare engines with one another."""
    return Meaning
