"""Every worked example of the catalogue has its value on every engine."""

from dataclasses import replace

from lakelogic.plan.nodes import Aggregate, Bounds, Order, Rollup, Window, WindowFunction
from lakelogic.sql.bind import Binder, bind
from lakelogic.sql.expressions import TRUE, Column, replace_columns
from lakelogic.sql.functions import CATALOGUE, EXAMPLE_ROWS, LOWERED
from lakelogic.sql.parse import parse_expression
from lakelogic.sql.scope import scope_of
from lakelogic.sql.types import DOUBLE, INT, STRING

TYPES = {"n": INT, "g": STRING, "x": INT, "s": STRING, "d": DOUBLE}
ROWS = {name: (type_, [row[i] for row in EXAMPLE_ROWS]) for i, (name, type_) in enumerate(TYPES.items())}


def examples_of(*kinds):
    found = [example for f in CATALOGUE.values() if f.kind in kinds for example in f.examples]
    assert found
    return found


def check(meaning, same, examples, values):
    wrong = [
        f"{text}: expected {expected!r}, found {value!r}"
        for (text, expected), value in zip(examples, values, strict=True)
        if not same(value, expected)
    ]
    assert not wrong, f"{meaning.name}: " + "; ".join(wrong)


def test_every_example_of_the_catalogue_holds(meaning, same):
    examples = [e for f in CATALOGUE.values() if f.kind not in ("aggregate", "window") for e in f.examples]
    assert len(examples) > 100
    bound = {f"e{index}": bind(text, {}) for index, (text, _) in enumerate(examples)}
    (found,) = meaning.rows({}, bound)
    check(meaning, same, examples, found.values())


def test_every_example_of_an_aggregate_holds(meaning, same):
    examples = examples_of("aggregate")
    outputs, aggregates = {}, []
    for index, (text, _) in enumerate(examples):
        found = []
        value = Binder(scope_of(TYPES), found).bind(parse_expression(text))
        named = {one.name: replace(one, name=f"~{index}.{one.name}") for one in found}
        aggregates += [Aggregate(a.name, a.function, a.value, a.type, a.more, a.distinct) for a in named.values()]
        outputs[f"e{index}"] = replace_columns(value, {k: Column(a.name, a.type) for k, a in named.items()})
    (found,) = meaning.rows(ROWS, outputs, opening=Rollup("rollup", TRUE, (), tuple(aggregates)))
    check(meaning, same, examples, found.values())


def test_every_example_of_a_window_holds(meaning, same):
    examples = examples_of("window")
    outputs, nodes = {}, []
    for index, (text, _) in enumerate(examples):
        found = []
        value = Binder(scope_of(TYPES), windows=found).bind(parse_expression(text))
        for one in found:
            function = WindowFunction(
                f"~{index}.{one.name}", one.function, one.args, one.type, Bounds(*one.bounds), one.distinct
            )
            order = tuple(Order(*key) for key in one.order)
            nodes.append(Window("window", one.partition, order, (function,)))
        outputs[f"e{index}"] = replace_columns(
            value, {one.name: Column(f"~{index}.{one.name}", one.type) for one in found}
        )
    rows = meaning.rows(ROWS, outputs, nodes)
    check(meaning, same, examples, [[row[name] for row in rows] for name in outputs])


def test_an_engine_names_only_functions_of_the_catalogue(meaning_engine):
    assert meaning_engine.capabilities.functions <= LOWERED


def test_the_local_engines_know_the_whole_catalogue(meaning_engine):
    if meaning_engine.name in ("duckdb", "polars"):
        assert meaning_engine.capabilities.functions == LOWERED
