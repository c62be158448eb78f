from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded, load
from lakelogic.contract.reading.tree import parse, plain
from lakelogic.contract.steps import Rename, Rollup, SqlStep
from lakelogic.errors import LoadError, UsageError

SEEDS = Path(__file__).parent / "seeds"
HOME = SEEDS / "home_page.yaml"


def read(text: str, **options: object) -> Loaded:
    return load(text, environ={}, **options)  # type: ignore[arg-type]


def problems(text: object, **options: object) -> list[str]:
    with pytest.raises(LoadError) as caught:
        load(text, environ={}, **options)  # type: ignore[arg-type]
    return [d.code for d in caught.value.diagnostics]


@pytest.mark.parametrize("file", sorted(SEEDS.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_contract_of_the_published_pages_loads(file: Path) -> None:
    assert isinstance(load(file, environ={}).contract, Contract)


def test_the_home_page_contract_says_what_it_says() -> None:
    contract = load(HOME, environ={}).contract
    assert contract.source.path == "s3://landing/customers/*.json"
    assert contract.source.resolved_format == "json"
    assert contract.source.resolved_type == "landing"
    assert contract.source.resolved_watermark_strategy == "pipeline_log"
    assert [(f.name, f.type, f.required, f.masking) for f in contract.model.fields] == [
        ("cus_id", "string", True, None),
        ("email", "string", True, "encrypt"),
    ]
    step = contract.transformations[0]
    assert isinstance(step, SqlStep)
    assert (step.kind, step.phase, step.sql) == ("sql", "post", "LOWER(TRIM(email)) AS email")
    rule = contract.quality.row_rules[0]
    assert (rule.kind, rule.severity, rule.phase, rule.nulls) == ("sql", "error", None, "fail")
    assert contract.service_levels.freshness_age == timedelta(hours=24)
    assert (contract.layer, contract.entity, contract.dataset_name) == ("silver", "customers", "silver_customers")
    assert contract.key == ("cus_id",)
    assert contract.materialization.format == "delta"


def test_every_value_knows_where_it_was_written() -> None:
    loaded = load(HOME, environ={})
    lines = HOME.read_text().splitlines()
    where = loaded.where("quality.row_rules[0].sql")
    assert (where.file, where.column, where.path) == (str(HOME), 7, "quality.row_rules[0].sql")
    assert where.line is not None
    assert lines[where.line - 1].strip() == "- sql: \"email LIKE '%@%.%'\""


def test_a_path_that_was_not_written_is_placed_at_the_nearest_key_above() -> None:
    loaded = read("source:\n  path: a.csv\n")
    assert loaded.where("source.load_mode").line == 1
    assert loaded.where("source.load_mode").path == "source.load_mode"
    assert loaded.where("quality").line is None


def test_the_rollup_of_the_patterns_page_is_one_step() -> None:
    step = load(SEEDS / "gold_rollup.yaml", environ={}).contract.transformations[0]
    assert isinstance(step, Rollup)
    assert step.group_by == ("sale_date",)
    assert step.keys == ("sale_id",)
    assert dict(step.aggregations) == {"total_sales": "SUM(amount)"}


def test_only_true_and_false_are_booleans_and_dates_stay_text() -> None:
    metadata = read(
        "metadata: {on: off, y: yes, t: true, d: 2026-02-01, n: 12:30, z: 007, i: 7, f: 1.5}"
    ).contract.metadata
    assert metadata == {
        "on": "off", "y": "yes", "t": True, "d": "2026-02-01", "n": "12:30", "z": "007", "i": 7, "f": 1.5,
    }  # fmt: skip


def test_anchors_and_merge_keys_work_and_own_keys_are_left_out() -> None:
    contract = read(
        """
x-common: &common {type: int, required: true}
model:
  fields:
    - {<<: *common, name: a}
    - {<<: *common, name: b, required: false}
"""
    ).contract
    assert [(f.name, f.type, f.required) for f in contract.model.fields] == [("a", "int", True), ("b", "int", False)]


def test_short_forms_and_long_forms_mean_the_same() -> None:
    short = read(
        "schema_policy: quarantine\nservice_levels: {freshness: 24h, completeness: 0.9}\ninfo: {contact: a@b.c}"
    )
    assert short.contract.schema_policy.unknown_fields == "quarantine"
    assert short.contract.service_levels.freshness_age == timedelta(days=1)
    assert short.contract.service_levels.completeness is not None
    assert short.contract.service_levels.completeness.threshold == 0.9
    assert short.contract.info.contact is not None
    assert short.contract.info.contact.email == "a@b.c"


def test_one_field_or_several_in_not_null_and_unique() -> None:
    quality = read(
        "quality: {row_rules: [{not_null: a}, {not_null: [b, c]}], dataset_rules: [{unique: d, name: one}]}"
    ).contract.quality
    assert [rule.fields for rule in quality.row_rules] == [("a",), ("b", "c")]  # type: ignore[union-attr]
    assert (quality.dataset_rules[0].kind, quality.dataset_rules[0].name) == ("unique", "one")


def test_a_rename_keeps_the_word_from_under_another_name() -> None:
    step = read("transformations: [{rename: {from: a, to: b}, phase: pre, name: tidy}]").contract.transformations[0]
    assert isinstance(step, Rename)
    assert (step.from_, step.to, step.phase, step.name, step.pairs) == ("a", "b", "pre", "tidy", {"a": "b"})


def test_a_version_written_as_a_number_keeps_its_text() -> None:
    assert read("version: 1.10").contract.version == "1.10"
    assert read("info: {version: 2}").contract.contract_version == "2"
    assert read("dataset: a").contract.contract_version == "1.0.0"


@pytest.mark.parametrize(
    ("text", "layer", "entity", "dataset"),
    [
        ("layer: raw\ninfo: {system: crm, entity: customers}", "bronze", "customers", "bronze_crm_customers"),
        ("tier: presentation\ninfo: {table_name: gold_sales}", "gold", "sales", "gold_sales"),
        ("info: {dataset: silver_crm_customers, system: crm}", "silver", "customers", "silver_crm_customers"),
        ("materialization: {target_path: lake/out/orders}", None, "orders", "orders"),
        ("materialization: {target_path: main.curated.orders}", "gold", "orders", "gold_orders"),
        ("target_layer: seed\ndataset: countries", "reference", "countries", "countries"),
        ("info: {title: CRM End-to-End}", None, "crm_end_to_end", "crm_end_to_end"),
    ],
)
def test_layer_entity_and_dataset_follow_from_what_is_written(
    text: str, layer: str | None, entity: str, dataset: str
) -> None:
    contract = read(text).contract
    assert (contract.layer, contract.entity, contract.dataset_name) == (layer, entity, dataset)


def test_a_contract_that_says_no_name_is_called_after_its_file(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text("source: {path: a.csv}\n")
    assert load(file, environ={}).contract.dataset_name == "orders"


def test_a_dict_a_path_and_text_are_all_contracts(tmp_path: Path) -> None:
    file = tmp_path / "c.yml"
    file.write_text("source: {path: a.csv}\n")
    read_in = [load(file), load(str(file)), load("source: {path: a.csv}"), load({"source": {"path": "a.csv"}})]
    assert {loaded.contract.source.path for loaded in read_in} == {"a.csv"}
    again = load(read_in[0].contract)
    assert again.contract is read_in[0].contract
    with pytest.raises(UsageError):
        load(again.contract, env="prod")


def test_a_dict_of_another_reader_of_yaml_may_have_true_for_on() -> None:
    written = yaml.safe_load(
        """
        source: {path: x.csv}
        links: [{name: c, path: c.csv}]
        transformations:
          - deduplicate: {on: [a]}
          - lookup: {field: v, reference: c, on: a, value: b}
          - join: {reference: c, on: a}
        """
    )
    assert True in written["transformations"][0]["deduplicate"]
    steps = load(written).contract.transformations
    assert [getattr(step, "on", None) for step in steps] == [("a",), "a", ("a",)]


def test_a_dict_with_a_problem_names_the_path() -> None:
    with pytest.raises(LoadError) as caught:
        load({"source": {"pth": "a"}})
    assert caught.value.diagnostics[0].where.path == "source.pth"


def test_missing_files_folders_and_bytes_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text("source: {path: a.csv}\n")
    with pytest.raises(LoadError, match=r"Did you mean `.*orders\.yaml`"):
        load(tmp_path / "ordrs.yaml")
    with pytest.raises(LoadError, match="is a folder"):
        load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("info:\n  title: Stra\xdfe\n".encode("latin-1"))
    with pytest.raises(LoadError) as caught:
        load(tmp_path / "latin.yaml")
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].where.line) == ("LL-C103", 2)
    assert problems(tmp_path / "nowhere" / "x.yaml") == ["LL-C101"]
    assert problems("") == ["LL-C104"]
    assert problems({}) == ["LL-C104"]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbfsource: {path: a.csv}\n")
    assert load(file).contract.source.path == "a.csv"


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "a: " + "{b: " * 5_000 + "1" + "}" * 5_000, "- " * 100_000 + "1", "? " * 50_000 + "1"],
    ids=["brackets", "braces", "dashes", "question marks"],
)
def test_what_is_nested_without_end_is_refused_before_it_takes_the_stack(text: str) -> None:
    node, (problem,) = parse(text, "deep.yaml")
    assert node is None
    assert problem.message == "Values are nested more than 100 levels deep."
    assert problem.where.line == 1


def test_a_hundred_levels_are_read() -> None:
    node, problems = parse("[" * 100 + "1" + "]" * 100, None)
    assert problems == []
    expected: object = 1
    for _ in range(100):
        expected = [expected]
    assert plain(node) == expected


def test_aliases_that_unfold_without_end_are_refused() -> None:
    lines = ["x-0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    assert problems("\n".join(lines)) == ["LL-C109"]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ({"schema_policy": ["strict"]}, "schema_policy"),
        ({"model": {"fields": [{"name": "a", "max_length": float("inf")}]}}, "model.fields[0].max_length"),
        ({"info": {"contact": [1]}}, "info.contact"),
        ({"quality": {"row_rules": [None]}}, "quality.row_rules[0]"),
        ({"transformations": [{"kind": "sql"}]}, "transformations[0].kind"),
    ],
)
def test_a_value_nobody_would_expect_is_still_a_diagnostic(written: dict[str, object], path: str) -> None:
    with pytest.raises(LoadError) as caught:
        load(written, environ={})
    assert [d.where.path for d in caught.value.diagnostics] == [path]


def test_a_contract_cannot_be_changed() -> None:
    contract = read("dataset: a").contract
    with pytest.raises(ValidationError):
        contract.dataset = "b"


def test_all_problems_are_reported_in_the_order_of_their_lines() -> None:
    with pytest.raises(LoadError) as caught:
        read("materialization: {strategy: x}\nsource: {pth: a}\nquality: {row_rules: {}}\n")
    assert [d.where.line for d in caught.value.diagnostics] == [1, 2, 3]


def test_reading_a_contract_loads_no_engine_no_arrow_and_no_sql() -> None:
    code = (
        "import sys; from lakelogic.contract.reading.load import load; load('source: {path: a.csv}');"
        "heavy = {'pyarrow', 'sqlglot', 'polars', 'duckdb', 'pyspark', 'deltalake', 'sqlalchemy'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
