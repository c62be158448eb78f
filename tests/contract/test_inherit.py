from __future__ import annotations

import pytest

from lakelogic.contract.reading.load import Loaded, load
from lakelogic.contract.reading.substitute import Secret
from lakelogic.errors import LoadError

ESTATE = """
dataset: orders
source: {path: local.csv, load_mode: full}
model:
  fields:
    - {name: a, type: int}
    - {name: b}
quality:
  max_quarantine_ratio: 0.5
  row_rules: [{sql: a > 0, name: positive}, {not_null: b, name: there}]
environments:
  prod:
    path: prod.csv
    quality:
      max_quarantine_ratio: 0.1
      row_rules: [{sql: a > 10, name: positive}]
    model: {fields: [{name: b, required: true}]}
  test:
    source: {load_mode: incremental}
"""


def read(text: str, **options: object) -> Loaded:
    return load(text, **({"environ": {}} | options))  # type: ignore[arg-type]


def test_without_an_environment_the_contract_stands_as_written() -> None:
    contract = read(ESTATE).contract
    assert contract.source.path == "local.csv"
    assert contract.quality.max_quarantine_ratio == 0.5


def test_an_environment_deepens_maps_and_merges_fields_and_rules_by_name() -> None:
    loaded = read(ESTATE, env="prod")
    contract = loaded.contract
    assert contract.source.path == "prod.csv"
    assert contract.source.load_mode == "full"
    assert [(f.name, f.type, f.required) for f in contract.model.fields] == [("a", "int", False), ("b", "string", True)]
    assert [(r.name, r.kind) for r in contract.quality.row_rules] == [("positive", "sql"), ("there", "not_null")]
    assert contract.quality.row_rules[0].sql == "a > 10"  # type: ignore[union-attr]
    assert loaded.env == "prod"
    assert loaded.where("source.path").line == 13
    assert loaded.where("source.load_mode").line == 3


def test_the_variable_chooses_an_environment_only_where_there_are_some() -> None:
    environ = {"LAKELOGIC_ENV": "test"}
    assert read(ESTATE, environ=environ).contract.source.load_mode == "incremental"
    assert read("dataset: a", environ=environ).contract.dataset == "a"


def test_overrides_are_read_as_yaml_and_name_themselves_as_origin() -> None:
    loaded = read(
        ESTATE, env="prod", overrides=["source.path=other.csv", "primary_key=[a]", "model.fields[0].type=bigint"]
    )
    assert loaded.contract.source.path == "other.csv"
    assert loaded.contract.primary_key == ("a",)
    assert loaded.contract.model.fields[0].type == "bigint"
    assert loaded.where("source.path").file == "--set source.path"


def test_an_override_may_be_a_map_and_null_removes() -> None:
    loaded = read(
        ESTATE, overrides={"quality.max_quarantine_ratio": None, "materialization": {"strategy": "overwrite"}}
    )
    assert loaded.contract.quality.max_quarantine_ratio is None
    assert loaded.contract.materialization.strategy == "overwrite"


def test_an_override_reaches_steps_and_rules() -> None:
    text = "transformations: [{filter: {sql: a > 1}}]\nquality: {row_rules: [{sql: a}]}"
    contract = read(text, overrides=["transformations[0].filter.sql=a > 2", "quality.row_rules[0].sql=b"]).contract
    assert contract.transformations[0].sql == "a > 2"  # type: ignore[union-attr]
    assert contract.quality.row_rules[0].sql == "b"  # type: ignore[union-attr]


def test_the_server_fills_what_the_source_does_not_say() -> None:
    loaded = read("server: {type: s3, path: s3://b/a, format: csv, schema_policy: quarantine}\nsource: {format: json}")
    assert loaded.contract.source.path == "s3://b/a"
    assert loaded.contract.source.format == "json"
    assert loaded.contract.source.type is None
    assert loaded.contract.schema_policy.unknown_fields == "quarantine"


def test_placeholders_and_variables_are_filled_in_places_and_nowhere_else() -> None:
    loaded = read(
        """
info: {entity: orders, owner: "${TEAM}"}
source: {path: "{root}/${DAY}/{entity}.csv", pattern: '{entity}*'}
model: {fields: [{name: a, pattern: '^\\d{4}${TEAM}', masking: partial, masking_format: '{last4}'}]}
quality: {row_rules: [{sql: "a <> '{entity} ${TEAM}'"}]}
materialization: {target_path: env:TARGET}
""",
        placeholders={"root": "/data"},
        environ={"TEAM": "crm", "DAY": "2026", "TARGET": "main.silver.orders"},
    )
    contract = loaded.contract
    assert contract.source.path == "/data/2026/orders.csv"
    assert contract.source.pattern == "{entity}*"
    assert contract.info.owner == "crm"
    assert contract.model.fields[0].pattern == r"^\d{4}${TEAM}"
    assert contract.model.fields[0].masking_format == "{last4}"
    assert contract.quality.row_rules[0].sql == "a <> '{entity} ${TEAM}'"  # type: ignore[union-attr]
    assert contract.materialization.target_path == "main.silver.orders"


def test_a_variable_s_braces_are_not_read_as_a_placeholder() -> None:
    assert read("source: {path: '${P}'}", environ={"P": "a/{b}.csv"}).contract.source.path == "a/{b}.csv"


def test_secrets_stay_references_and_never_print() -> None:
    options = read(
        "source: {type: database, options: {connection: 'env:DB', url: 'secret:vault/crm/url'}}",
        environ={"DB": "hunter2"},
    ).contract.source.options
    assert options.connection == Secret("env", "DB")
    assert (str(options.connection), repr(options.connection)) == ("secret(DB)", "secret(DB)")
    assert options.url == Secret("vault", "crm/url")
    assert "hunter2" not in repr(options)


def test_an_address_without_a_password_is_no_secret() -> None:
    options = read("source: {type: database, options: {url: 'sqlite:///a.db'}}").contract.source.options
    assert str(options.url) == "sqlite:///a.db"


def test_the_message_about_a_secret_does_not_repeat_it() -> None:
    with pytest.raises(LoadError) as caught:
        read("metadata: {password: hunter2}\nsource: {path: 'ftp://u:hunter2@h/x.csv'}")
    assert [d.code for d in caught.value.diagnostics] == ["LL-C142", "LL-C142"]
    assert "hunter2" not in str(caught.value)
