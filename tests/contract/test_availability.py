from __future__ import annotations

import pytest

from lakelogic.contract import codes
from lakelogic.contract.describe import availability
from lakelogic.contract.describe.availability import all_keys, check, status, unavailable_keys
from lakelogic.contract.reading.load import load


def leaves() -> list[str]:
    keys = [path for path, _ in all_keys()]
    return [path for path in keys if not any(other.startswith((f"{path}.", f"{path}[]")) for other in keys)]


def test_every_key_is_declared_so_that_none_is_silently_ignored() -> None:
    undeclared = []
    for path in leaves():
        try:
            status(path)
        except KeyError:
            undeclared.append(path)
    assert undeclared == []


def test_no_declaration_is_left_over_and_none_is_made_twice() -> None:
    keys = {path for path, _ in all_keys()} | {"metadata.policy_pack"}
    declared = [*availability._AVAILABLE, *availability._DOCUMENTATION, *availability._NOT_YET]
    assert [path for path in declared if path not in keys] == []
    assert sorted(declared) == sorted(set(declared))
    assert [path for path in availability._AVAILABLE_VALUES if path not in keys] == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("model.fields[3].masking", "available"),
        ("transformations[0].rename.from", "available"),
        ("cost.rates", "not yet"),
        ("info.description", "documentation"),
        ("metadata.policy_pack", "available"),
        ("metadata.anything", "documentation"),
    ],
)
def test_the_status_of_a_key_holds_for_everything_below_it(path: str, expected: str) -> None:
    assert status(path) == expected


def test_a_key_set_to_its_default_asks_for_nothing() -> None:
    text = "source: {path: a.csv, flatten_nested: false, options: {skip_rows: 0}}\nquarantine: {format: delta}"
    assert check(load(text, environ={})) == []
    assert [d.code for d in check(load(text.replace("false", "true"), environ={}))] == ["LL-C150"]


def test_only_the_chosen_environment_is_held_against_what_is_available() -> None:
    text = "source: {path: a.csv}\nenvironments: {prod: {format: avro}}"
    assert check(load(text, environ={})) == []
    assert [(d.code, d.where.line) for d in check(load(text, env="prod", environ={}))] == [("LL-C151", 2)]


def test_every_key_that_is_not_available_says_what_to_do_instead() -> None:
    listed = dict(unavailable_keys())
    assert listed["cost"]
    assert listed["source.format: avro"]
    assert all(note.strip() for note in listed.values())


def test_every_code_is_explained() -> None:
    named = {value for name, value in vars(codes).items() if name.isupper() and isinstance(value, str)}
    assert named == set(codes.MEANINGS)
