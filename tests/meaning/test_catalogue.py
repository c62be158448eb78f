"""Every worked example of the catalogue has its value on every engine."""

from lakelogic.sql.bind import bind
from lakelogic.sql.functions import CATALOGUE, LOWERED


def test_every_example_of_the_catalogue_holds(meaning, same):
    examples = [example for function in CATALOGUE.values() for example in function.examples]
    assert len(examples) > 100
    bound = {f"e{index}": bind(text, {}) for index, (text, _) in enumerate(examples)}
    (found,) = meaning.rows({}, bound)
    wrong = [
        f"{text}: expected {expected!r}, found {value!r}"
        for (text, expected), value in zip(examples, found.values(), strict=True)
        if not same(value, expected)
    ]
    assert not wrong, f"{meaning.name}: " + "; ".join(wrong)


def test_an_engine_names_only_functions_of_the_catalogue(meaning_engine):
    assert meaning_engine.capabilities.functions <= LOWERED


def test_the_local_engines_know_the_whole_catalogue(meaning_engine):
    if meaning_engine.name in ("duckdb", "polars"):
        assert meaning_engine.capabilities.functions == LOWERED
