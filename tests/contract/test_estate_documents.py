"""Domain, system, environment, packs, contract and overrides, from the weakest to the strongest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lakelogic.contract.reading.documents import Documents
from lakelogic.contract.reading.load import Loaded, load
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.errors import LoadError

DOMAIN = """\
domain: insurance
ownership:
  domain_owner: Ada
  team: claims
  contacts: [{name: Ada, role: owner}]
service_levels:
  freshness_hours: 24
  row_count: {min_rows: 1}
metadata: {cost_center: C7}
"""
SYSTEM = """\
system: core
domain: insurance
engine: duckdb
storage:
  storage_root: "{system_folder}/../../lake"
  landing_root: "{storage_root}/in"
environments:
  prod:
    storage: {storage_root: "s3://lake/${REGION}"}
    service_levels: {freshness_hours: 6}
    quality: {max_quarantine_ratio: 0.2}
materialization:
  _all: {format: parquet, cluster_by: [id]}
  silver: {format: delta}
"""
CONTRACT = """\
info: {target_layer: silver}
source: {path: "{landing_root}/{entity}/*.csv"}
model: {fields: [{name: id, type: int}, {name: email}]}
materialization: {target_path: "{silver_root}/{dataset}"}
"""
PACK = """\
name: baseline
defaults:
  quality: {max_quarantine_ratio: 0.5}
  service_levels: {freshness_hours: 48}
silver_defaults:
  quality: {max_quarantine_ratio: 0.3}
gold_defaults:
  quality: {max_quarantine_ratio: 0.01}
require:
  quarantine: {enabled: true}
"""


@pytest.fixture
def estate(tmp_path: Path) -> Any:
    """A domain with one system and one contract; texts given by name take the place of the usual ones."""

    def build(**texts: str) -> Path:
        files = {
            "contracts/insurance/_domain.yaml": texts.get("domain", DOMAIN),
            "contracts/insurance/core/_system.yaml": texts.get("system", SYSTEM),
            "contracts/insurance/core/silver/policies_v1.0.yaml": texts.get("contract", CONTRACT),
            "contracts/policy_packs/baseline.yaml": texts.get("pack", PACK),
        }
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text:
                path.write_text(text)
        return tmp_path / "contracts/insurance/core/silver/policies_v1.0.yaml"

    return build


def read(path: Path, *packs: str, folder: str | None = None, **options: Any) -> Loaded:
    options.setdefault("environ", {})
    return load(path, packs=PackChoice(packs, folder), **options)


def origin(loaded: Loaded, path: str) -> tuple[str, int | None]:
    found = loaded.origins[path]
    return Path(str(found.file)).name, found.line


def problems(path: Path, *packs: str, **options: Any) -> list[tuple[str, str, int | None, str]]:
    with pytest.raises(LoadError) as caught:
        read(path, *packs, **options)
    return [
        (d.code, Path(str(d.where.file)).name, d.where.line, f"{d.message} {d.hint}") for d in caught.value.diagnostics
    ]


# — domain and system —


def test_a_contract_inherits_from_its_system_and_its_domain(estate: Any) -> None:
    loaded = read(estate())
    contract = loaded.contract
    assert (contract.domain, contract.system, contract.engine) == ("insurance", "core", "duckdb")
    assert contract.dataset_name == "silver_core_policies"
    assert contract.service_levels.freshness_hours == 24
    assert contract.ownership is not None
    assert contract.ownership.team == "claims"
    assert contract.metadata == {"cost_center": "C7"}


def test_every_inherited_leaf_knows_its_file_and_line(estate: Any) -> None:
    loaded = read(estate())
    assert origin(loaded, "service_levels.freshness_hours") == ("_domain.yaml", 7)
    assert origin(loaded, "ownership.contacts[0].role") == ("_domain.yaml", 5)
    assert origin(loaded, "engine") == ("_system.yaml", 3)
    assert origin(loaded, "materialization.format") == ("_system.yaml", 14)
    assert origin(loaded, "source.path") == ("policies_v1.0.yaml", 2)


def test_the_layer_s_materialization_lies_over_that_of_all_layers(estate: Any) -> None:
    silver = read(estate()).contract.materialization
    assert (silver.format, silver.cluster_by) == ("delta", ("id",))
    bronze = read(estate(contract=CONTRACT.replace("silver", "bronze"))).contract.materialization
    assert (bronze.format, bronze.cluster_by) == ("parquet", ("id",))


def test_the_contract_lies_over_what_it_inherits_and_maps_deepen(estate: Any) -> None:
    loaded = read(estate(contract=CONTRACT + "service_levels: {freshness_hours: 2}\nengine: polars\n"))
    levels = loaded.contract.service_levels
    assert (levels.freshness_hours, levels.row_count and levels.row_count.min_rows) == (2, 1)
    assert loaded.contract.engine == "polars"
    assert origin(loaded, "service_levels.freshness_hours") == ("policies_v1.0.yaml", 5)
    assert origin(loaded, "service_levels.row_count.min_rows") == ("_domain.yaml", 8)


def test_a_contract_that_says_the_same_in_another_word_takes_the_place_of_what_it_inherits(estate: Any) -> None:
    levels = read(estate(contract=CONTRACT + 'service_levels: {freshness: "90m"}\n')).contract.service_levels
    assert levels.freshness_hours is None
    assert levels.freshness is not None
    assert levels.freshness.threshold == "90m"


def test_named_lists_merge_by_name_and_the_contract_s_own_come_first(estate: Any) -> None:
    text = CONTRACT + "ownership: {contacts: [{name: Bob}, {name: Ada, email: ada@x.org}]}\n"
    ownership = read(estate(contract=text)).contract.ownership
    assert ownership is not None
    assert [(c.name, c.role, c.email) for c in ownership.contacts] == [
        ("Bob", None, None),
        ("Ada", "owner", "ada@x.org"),
    ]


def test_other_lists_are_replaced(estate: Any) -> None:
    text = CONTRACT.replace("materialization: {", "materialization: {cluster_by: [email], ")
    assert read(estate(contract=text)).contract.materialization.cluster_by == ("email",)


def test_storage_fills_placeholders_and_what_it_does_not_say_lies_below_its_root(estate: Any, tmp_path: Path) -> None:
    contract = read(estate()).contract
    lake = tmp_path / "contracts/lake"
    assert contract.source.path == f"{lake}/in/policies/*.csv"
    assert contract.materialization.target_path == f"{lake}/silver/silver_core_policies"


# — environments —


def test_the_system_s_environment_lies_over_domain_and_system_and_under_the_contract(estate: Any) -> None:
    loaded = read(estate(), env="prod", environ={"REGION": "eu"})
    assert loaded.contract.source.path == "s3://lake/eu/in/policies/*.csv"
    assert loaded.contract.service_levels.freshness_hours == 6
    assert origin(loaded, "service_levels.freshness_hours") == ("_system.yaml", 10)
    own = read(estate(contract=CONTRACT + "service_levels: {freshness_hours: 2}\n"), env="prod", environ={"REGION": ""})
    assert own.contract.service_levels.freshness_hours == 2


def test_the_contract_s_own_environment_lies_over_the_contract(estate: Any) -> None:
    text = (
        CONTRACT + "service_levels: {freshness_hours: 2}\nenvironments: {prod: {service_levels: {freshness_hours: 1}}}"
    )
    levels = read(estate(contract=text), env="prod", environ={"REGION": "eu"}).contract.service_levels
    assert levels.freshness_hours == 1


def test_an_environment_that_neither_has_is_an_error_with_what_was_meant(estate: Any) -> None:
    found = problems(estate(), env="prd")
    assert [(code, file, line) for code, file, line, _ in found] == [("LL-C130", "_system.yaml", 8)]
    assert "Did you mean `prod`?" in found[0][3]


def test_the_variable_chooses_an_environment_of_the_system(estate: Any) -> None:
    loaded = read(estate(), environ={"LAKELOGIC_ENV": "prod", "REGION": "eu"})
    assert (loaded.env, loaded.contract.quality.max_quarantine_ratio) == ("prod", 0.2)


# — packs —


def test_a_pack_s_defaults_lie_over_the_documents_and_under_the_contract(estate: Any) -> None:
    loaded = read(estate(), "baseline")
    assert loaded.contract.quality.max_quarantine_ratio == 0.3
    assert origin(loaded, "quality.max_quarantine_ratio") == ("baseline.yaml", 6)
    assert loaded.contract.service_levels.freshness_hours == 48
    own = read(estate(contract=CONTRACT + "quality: {max_quarantine_ratio: 0.9}\n"), "baseline")
    assert own.contract.quality.max_quarantine_ratio == 0.9


def test_a_pack_can_be_named_by_the_contract_or_anything_above_it(estate: Any) -> None:
    by_contract = read(estate(contract=CONTRACT + "metadata: {policy_pack: baseline}\n"))
    assert by_contract.contract.quality.max_quarantine_ratio == 0.3
    by_domain = read(estate(contract=CONTRACT, domain=DOMAIN.replace("C7", "C7, policy_pack: [baseline]")))
    assert by_domain.contract.quality.max_quarantine_ratio == 0.3
    assert [Path(pack.file).name for pack in by_domain.packs] == ["baseline.yaml"]


def test_an_override_lies_over_the_contract_and_a_demand_over_everything(estate: Any) -> None:
    text = CONTRACT + "quarantine: {enabled: true, fail_on_quarantine: false}\n"
    pack = PACK + "  lineage: {capture_run_id: true}\n"
    loaded = read(
        estate(contract=text, pack=pack),
        "baseline",
        overrides=["lineage.capture_run_id=false", "service_levels.freshness_hours=3"],
    )
    assert loaded.contract.lineage.capture_run_id is True
    assert origin(loaded, "lineage.capture_run_id") == ("baseline.yaml", 11)
    assert loaded.contract.service_levels.freshness_hours == 3


@pytest.mark.parametrize(
    ("own", "demanded", "kept"),
    [
        ("quality: {max_quarantine_ratio: 0.05}", "quality: {max_quarantine_ratio: 0.1}", 0.05),
        ("quality: {max_quarantine_ratio: 0.5}", "quality: {max_quarantine_ratio: 0.1}", 0.1),
        ("quarantine: {max_ratio: 0.05}", "quality: {max_quarantine_ratio: 0.1}", 0.05),
        ("quarantine: {max_ratio: 0.5}", "quality: {max_quarantine_ratio: 0.1}", 0.1),
    ],
)
def test_of_two_bounds_the_stricter_stands(estate: Any, own: str, demanded: str, kept: float) -> None:
    contract = read(
        estate(contract=f"{CONTRACT}{own}\n", pack=f"name: baseline\nrequire:\n  {demanded}\n"), "baseline"
    ).contract
    ratios = {contract.quality.max_quarantine_ratio, contract.quarantine.max_ratio} - {None}
    assert ratios == {kept}


@pytest.mark.parametrize(
    ("own", "hours"), [('freshness: "90m"', None), ('freshness: "2 days"', 24), ("freshness_hours: 72", 24)]
)
def test_freshness_is_compared_however_it_is_written(estate: Any, own: str, hours: float | None) -> None:
    text = f"{CONTRACT}service_levels: {{{own}}}\n"
    pack = "name: baseline\nrequire: {service_levels: {freshness_hours: 24}}\n"
    levels = read(estate(contract=text, pack=pack), "baseline").contract.service_levels
    assert levels.freshness_hours == hours
    assert (levels.freshness is None) == (hours is not None)


def test_a_pack_adds_rules_after_the_contract_s_own_and_never_takes_one_away(estate: Any) -> None:
    text = CONTRACT + "quality: {row_rules: [{name: has_id, not_null: id}], dataset_rules: [{unique: id}]}\n"
    pack = """\
name: baseline
quality:
  row_rules: [{name: has_email, sql: "email LIKE '%@%'"}, {name: has_id, not_null: id}]
require: {quality: {row_rules: [], dataset_rules: [{row_count_between: {min: 1}}]}}
"""
    quality = read(estate(contract=text, pack=pack), "baseline").contract.quality
    assert [rule.name for rule in quality.row_rules] == ["has_id", "has_email"]
    assert [rule.kind for rule in quality.dataset_rules] == ["unique", "row_count_between"]


def test_a_pack_that_would_replace_a_contract_s_rule_is_refused_at_its_line(estate: Any) -> None:
    text = CONTRACT + "quality: {row_rules: [{name: has_id, not_null: id}]}\n"
    pack = 'name: baseline\nquality:\n  row_rules:\n    - {name: has_id, sql: "true"}\n'
    found = problems(estate(contract=text, pack=pack), "baseline")
    assert [(code, file, line) for code, file, line, _ in found] == [("LL-C161", "baseline.yaml", 4)]
    assert "line 5" in found[0][3]


def test_a_pack_cannot_loosen_the_rules_of_a_field(estate: Any) -> None:
    text = CONTRACT.replace("{name: id, type: int}", "{name: id, type: int, required: true, min: 10, pattern: ^a}")
    pack = (
        "name: baseline\nrequire:\n  model: {fields: [{name: id, required: false, min: 5, max: 50, masking: hash}]}\n"
    )
    field = read(estate(contract=text, pack=pack), "baseline", overrides=["model.fields[0].max=99"]).contract
    assert (field.model.fields[0].required, field.model.fields[0].min) == (True, 10)
    assert (field.model.fields[0].max, field.model.fields[0].masking) == (50, "hash")
    other = "name: baseline\nrequire:\n  model: {fields: [{name: id, pattern: ^b}]}\n"
    assert [code for code, *_ in problems(estate(contract=text, pack=other), "baseline")] == ["LL-C161"]


def test_a_pack_cannot_switch_off_what_holds_where_a_contract_is_silent(estate: Any) -> None:
    pack = (
        "name: baseline\nrequire:\n"
        "  quality: {enforce_required: false, fail_pipeline_on_dataset_error: false, max_quarantine_ratio: 0.2}\n"
    )
    quality = read(estate(pack=pack), "baseline").contract.quality
    assert (quality.enforce_required, quality.fail_pipeline_on_dataset_error) == (True, True)
    assert quality.max_quarantine_ratio == 0.2


@pytest.mark.parametrize("demanded", ["quality:", "transformations: [{drop: {columns: [a]}}]"])
def test_a_demand_that_takes_something_out_is_refused(estate: Any, demanded: str) -> None:
    found = problems(estate(pack=f"name: baseline\nrequire:\n  {demanded}\n"), "baseline")
    assert ("LL-C162", "baseline.yaml", 3) in [(code, file, line) for code, file, line, _ in found]


@pytest.mark.parametrize(("mode", "order"), [("prepend", "PLC"), ("append", "CPL")])
def test_steps_of_a_pack_stand_before_or_after_the_contract_s_own(estate: Any, mode: str, order: str) -> None:
    text = CONTRACT + "transformations: [{lower: {fields: [email]}, name: C}]\n"
    pack = f"""\
name: baseline
transformations: [{{trim: {{fields: [email]}}, name: P}}]
silver_transformations: [{{upper: {{fields: [email]}}, name: L}}]
gold_transformations: [{{drop: {{columns: [email]}}, name: G}}]
transformations_mode: {mode}
"""
    loaded = read(estate(contract=text, pack=pack), "baseline")
    assert "".join(str(step.name) for step in loaded.contract.transformations) == order
    place = order.index("L")
    assert origin(loaded, f"transformations[{place}].upper") == ("baseline.yaml", 3)


def test_the_packs_of_contract_and_command_are_both_applied(estate: Any, tmp_path: Path) -> None:
    path = estate(contract=CONTRACT + "metadata: {policy_pack: baseline}\n")
    (tmp_path / "contracts/policy_packs/strict.yaml").write_text(
        "name: strict\nrequire: {quality: {enforce_required: true}}\n"
    )
    loaded = read(path, "strict")
    assert [pack.text("name") for pack in loaded.packs] == ["baseline", "strict"]
    assert loaded.contract.quality.max_quarantine_ratio == 0.3


def test_a_folder_of_packs_is_looked_for_in_the_working_directory_and_then_above_the_contract(
    estate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = estate()
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "policy_packs").mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    assert Path(read(path, "baseline", folder="policy_packs").packs[0].file).parent.parent == tmp_path / "contracts"
    (elsewhere / "policy_packs/baseline.yaml").write_text("name: baseline\n")
    assert read(path, "baseline", folder="policy_packs").packs[0].file == "policy_packs/baseline.yaml"


def test_packs_can_be_named_by_variables(estate: Any) -> None:
    loaded = read(estate(), environ={"LAKELOGIC_POLICY_PACK": "baseline"})
    assert loaded.contract.quality.max_quarantine_ratio == 0.3


# — what is wrong —


def test_a_misspelt_pack_is_told_with_what_was_meant(estate: Any) -> None:
    found = problems(estate(contract=CONTRACT + "metadata:\n  policy_pack: basline\n"))
    assert [(code, file, line) for code, file, line, _ in found] == [("LL-C160", "policies_v1.0.yaml", 6)]
    assert "Did you mean `baseline`?" in found[0][3]
    assert problems(estate(), "other")[0][:2] == ("LL-C160", "--policy-pack other")


def test_problems_of_all_documents_are_told_together(estate: Any) -> None:
    found = problems(
        estate(
            domain=DOMAIN.replace("team:", "teem:"),
            system=SYSTEM.replace("engine:", "engin:"),
            contract=CONTRACT + "qualty: {}\n",
            pack=PACK.replace("max_quarantine_ratio: 0.5", "max_quarantine_ratio: half"),
        ),
        "baseline",
    )
    assert sorted((file, line, code) for code, file, line, _ in found) == [
        ("_domain.yaml", 4, "LL-C110"),
        ("_system.yaml", 3, "LL-C110"),
        ("baseline.yaml", 3, "LL-C113"),
        ("policies_v1.0.yaml", 5, "LL-C110"),
    ]


def test_a_placeholder_that_storage_does_not_fill_is_an_error(estate: Any) -> None:
    found = problems(estate(contract=CONTRACT.replace("{silver_root}", "{silver_rot}")))
    assert [(code, line) for code, _, line, _ in found] == [("LL-C140", 4)]
    assert "Did you mean `{silver_root}`?" in found[0][3]
    unset = problems(estate(), env="prod")
    assert ("LL-C141", "_system.yaml", 9) in [(code, file, line) for code, file, line, _ in unset]


def test_a_contract_that_names_another_domain_or_system_is_told_so(estate: Any) -> None:
    text = CONTRACT.replace("info: {", "info: {domain: sales, system: crm, ")
    found = problems(estate(contract=text))
    assert [code for code, *_ in found] == ["LL-C163", "LL-C163"]
    system = problems(estate(system=SYSTEM.replace("domain: insurance", "domain: sales")))
    assert ("LL-C163", "_system.yaml", 2) in [(code, file, line) for code, file, line, _ in system]


def test_a_key_of_a_domain_without_an_effect_is_refused(estate: Any) -> None:
    found = problems(estate(domain=DOMAIN + "retention: {bronze: P90D}\n"))
    assert [(code, file, line) for code, file, line, _ in found] == [("LL-C150", "_domain.yaml", 10)]


def test_secrets_stay_references_through_every_layer(estate: Any) -> None:
    domain = DOMAIN + "notifications: [{type: slack, target: 'env:HOOK'}]\n"
    contract = read(estate(domain=domain), environ={"HOOK": "hunter2"}).contract
    assert str(contract.notifications[0].target) == "secret(HOOK)"
    assert "hunter2" not in repr(contract)


# — how far documents are looked for —


def test_documents_are_found_five_folders_up_and_no_farther(tmp_path: Path) -> None:
    (tmp_path / "_domain.yaml").write_text("domain: far\n")
    near, far = tmp_path / "1/2/3/4/5", tmp_path / "1/2/3/4/5/6"
    far.mkdir(parents=True)
    for folder in (near, far):
        (folder / "a.yaml").write_text("source: {path: a.csv}\n")
    assert read(near / "a.yaml").contract.domain == "far"
    assert read(far / "a.yaml").contract.domain is None


def test_the_walk_ends_at_a_repository(tmp_path: Path) -> None:
    (tmp_path / "_domain.yaml").write_text("domain: outside\n")
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/a.yaml").write_text("source: {path: a.csv}\n")
    assert read(tmp_path / "repo/a.yaml").contract.domain is None


@pytest.mark.skipif(os.name != "posix", reason="folders have no such rights there")
def test_nothing_is_inherited_from_a_folder_that_everybody_may_write_to(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    (shared / "_domain.yaml").write_text("domain: somebody\n")
    (shared / "mine/a.yaml").write_text("source: {path: a.csv}\n")
    assert read(shared / "mine/a.yaml").contract.domain == "somebody"
    shared.chmod(0o777)
    assert read(shared / "mine/a.yaml").contract.domain is None


def test_a_system_above_the_nearest_domain_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "_system.yaml").write_text("system: other\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/_domain.yaml").write_text("domain: mine\n")
    (tmp_path / "d/a.yaml").write_text("source: {path: a.csv}\n")
    contract = read(tmp_path / "d/a.yaml").contract
    assert (contract.domain, contract.system) == ("mine", None)


def test_a_document_is_read_once_for_many_contracts(estate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = estate()
    twin = path.with_name("claims_v1.0.yaml")
    twin.write_text(CONTRACT)
    read_files: list[str] = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: (read_files.append(self.name), whole(self))[1])
    documents = Documents()
    names = [read(each, documents=documents).contract.dataset_name for each in (path, twin)]
    assert names == ["silver_core_policies", "silver_core_claims"]
    assert sorted(read_files) == ["_domain.yaml", "_system.yaml", "claims_v1.0.yaml", "policies_v1.0.yaml"]
