from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from lakelogic.contract.codes import MEANINGS
from lakelogic.contract.describe.availability import all_keys
from lakelogic.contract.describe.jsonschema import json_schema, reference
from lakelogic.contract.document import Contract
from lakelogic.contract.estate import DOCUMENTS
from lakelogic.contract.reading.load import load
from lakelogic.contract.reading.tree import parse, plain

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.yaml"))
BROKEN = Path(__file__).parent / "broken"


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def data(text: str) -> Any:
    node, problems = parse(text, None)
    assert node is not None
    assert not problems
    return plain(node)


@pytest.mark.parametrize("file", SEEDS, ids=lambda file: file.stem)
def test_the_schema_accepts_the_contracts_of_the_published_pages(validator: Any, file: Path) -> None:
    assert list(validator.iter_errors(data(file.read_text()))) == []


@pytest.mark.parametrize(
    "text",
    [
        "schema_policy: quarantine",
        "version: 1.0",
        "quality: {row_rules: [{not_null: a}, {not_null: [a, b]}], dataset_rules: [{unique: a}]}",
        "transformations: [{trim: [a]}, {trim: {fields: [a], side: left}}, {filter: a > 1}, {rename: {from: a, to: b}}]",
        "service_levels: {freshness: 24h}",
        "upstream_sources: [a, {dataset: b}]",
        "x-common: {a: 1}\nsource: {x-note: hi, path: a.csv}",
        "environments: {prod: {path: b.csv, materialization: {strategy: append}}}",
    ],
)
def test_schema_and_loader_accept_the_same_short_forms(validator: Any, text: str) -> None:
    load(text, environ={})
    assert list(validator.iter_errors(data(text))) == []


@pytest.mark.parametrize("kind", ["typo_", "place_", "type_", "value_"])
def test_the_schema_refuses_what_the_loader_refuses(validator: Any, kind: str) -> None:
    accepted = [f.stem for f in BROKEN.glob(f"{kind}*.yaml") if not list(validator.iter_errors(data(f.read_text())))]
    assert accepted == []


def test_every_document_has_a_schema() -> None:
    for model in DOCUMENTS.values():
        schema = json_schema(model)
        assert schema["properties"]
        assert schema["additionalProperties"] is False


def test_keys_that_are_not_available_yet_say_so_in_the_editor() -> None:
    assert "Not available yet" in json_schema()["properties"]["notifications"]["description"]
    assert "Not available yet" not in json_schema()["properties"]["source"]["description"]


def test_the_reference_names_every_key_and_every_code() -> None:
    page = reference()
    missing = [path for path, _ in all_keys() if f"`{path.rsplit('.', 1)[-1].removesuffix('[]')}`" not in page]
    assert missing == []
    assert all(code in page for code in MEANINGS)


def test_pydantic_can_still_write_a_schema_of_its_own():
    written = str(Contract.model_json_schema())
    assert all(f"'const': '{kind}'" in written for kind in ("rename", "accepted_values", "row_count_between"))


def test_a_rule_of_another_list_is_not_taken_for_one_of_this():
    (step,) = Contract(dataset="a", transformations=[{"drop": ["x"]}]).transformations
    with pytest.raises(ValidationError):
        Contract(dataset="a", quality={"row_rules": [step]})
