"""Rows of one environment never come into the tables of another without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from deltalake import DeltaTable

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.cli.main import cli
from lakelogic.run import faults
from lakelogic.run.publish import commit
from lakelogic.run.state import environments
from lakelogic.tables.base import CommitInfo
from lakelogic.tables.facts import BatchEnvironment, CommitFacts, Makers
from lakelogic.tables.registry import load

CONTRACT = """
dataset: orders
source: {path: prod/*.csv, load_mode: incremental}
model: {fields: [{name: id, type: int, required: true}]}
primary_key: [id]
materialization: {target_path: shop.silver.orders, strategy: STRATEGY, format: FORMAT}
environments:
  dev: {path: dev/*.csvSHARED}
  test: {path: dev/*.csv, materialization: {target_path: shop.test.orders}}
  quiet: {tags: [calm]}
"""


def write(strategy: str = "merge", form: str = "delta", shared: str = "") -> None:
    Path("orders.yaml").write_text(
        CONTRACT.replace("STRATEGY", strategy).replace("FORMAT", form).replace("SHARED", shared)
    )


@pytest.fixture
def estate(workspace: Path) -> Path:
    for name, first in (("prod", 1), ("dev", 100)):
        Path(name).mkdir()
        Path(name, "1.csv").write_text(f"id\n{first}\nbad\n")
    write()
    return workspace


def call(*words: str) -> Result:
    engine = ["--engine", "duckdb"] if words[0] in ("run", "drive", "reload") or words[1] == "replay" else []
    return CliRunner().invoke(cli, [*words, *engine])


def done(*words: str) -> Result:
    result = call(*words)
    assert result.exit_code == 0, result.output
    return result


def refused(*words: str) -> str:
    result = call(*words)
    assert result.exit_code == 2, result.output
    return result.output


def ids(target: str = "shop.silver.orders", form: str = "delta") -> list[int]:
    state = load(form).state(LocalCatalog().resolve(target))
    return sorted(row["id"] for path in state.files for row in pq.ParquetFile(path).read().to_pylist()) if state else []


@pytest.mark.parametrize("form", ["delta", "parquet", "iceberg"])
@pytest.mark.parametrize("strategy", ["append", "merge", "overwrite"])
def test_another_environment_is_refused_before_anything_is_read(estate: Path, strategy: str, form: str) -> None:
    write(strategy, form)
    done("run", "orders.yaml")
    Path("dev/1.csv").unlink()
    said = refused("run", "orders.yaml", "--env", "dev")
    for word in (
        "shop.silver.orders", "without an environment", "the environment `dev`", "Nothing was read",
        "environments.dev", "LAKELOGIC_WAREHOUSE", "shares_target: true",
    ):  # fmt: skip
        assert word in said
    assert ids(form=form) == [1]
    done("run", "orders.yaml")


def test_nor_does_production_add_to_what_an_environment_made_first(estate: Path) -> None:
    done("run", "orders.yaml", "--env", "dev")
    said = refused("run", "orders.yaml")
    assert "in the environment `dev`" in said
    assert "environments.dev a materialization.target_path" in said
    assert ids() == [100]
    done("reset", "orders.yaml", "--env", "dev", "--yes")
    done("run", "orders.yaml")
    assert ids() == [1]


def test_the_variable_is_an_environment_too(estate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done("run", "orders.yaml")
    monkeypatch.setenv("LAKELOGIC_ENV", "dev")
    assert "the environment `dev`" in refused("run", "orders.yaml")
    for words in (("reset", "orders.yaml", "--yes"), ("reset", "orders.yaml", "--env", "dev", "--yes")):
        assert "has no table of its own" in refused(*words)
    assert ids() == [1]


def test_an_environment_with_a_table_of_its_own_and_one_that_changes_no_row_go_on(estate: Path) -> None:
    done("run", "orders.yaml")
    done("run", "orders.yaml", "--env", "test")
    Path("prod/2.csv").write_text("id\n2\n")
    done("run", "orders.yaml", "--env", "quiet")
    done("run", "orders.yaml")
    assert (ids(), ids("shop.test.orders")) == ([1, 2], [100])


def test_a_warehouse_of_its_own_is_a_table_of_its_own(estate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done("run", "orders.yaml")
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", str(estate / "elsewhere"))
    done("run", "orders.yaml", "--env", "dev")
    assert ids() == [100]


def test_a_table_that_is_shared_on_purpose_takes_both(estate: Path) -> None:
    write(shared=", shares_target: true")
    done("run", "orders.yaml")
    done("run", "orders.yaml", "--env", "dev")
    Path("prod/2.csv").write_text("id\n2\n")
    done("run", "orders.yaml")
    assert ids() == [1, 2, 100]
    assert "has no table of its own" in refused("reset", "orders.yaml", "--env", "dev", "--yes")
    write()
    assert "in the environment `dev`" in refused("run", "orders.yaml")


@pytest.mark.parametrize(
    "words",
    [
        ("reload", "orders.yaml"), ("quarantine", "replay", "orders.yaml"), ("maintain", "orders.yaml"),
        ("remask", "orders.yaml"), ("reset", "orders.yaml", "--yes"),
        ("quarantine", "discard", "orders.yaml", "--all", "--reason", "test"),
    ],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_no_other_command_acts_on_the_rows_of_another_environment(estate: Path, words: tuple[str, ...]) -> None:
    done("run", "orders.yaml")
    before = load("delta").state(LocalCatalog().resolve("shop.silver.orders"))
    assert "shop.silver.orders" in refused(*words, "--env", "dev")
    assert load("delta").state(LocalCatalog().resolve("shop.silver.orders")) == before


def test_an_export_does_not_send_the_rows_of_another_environment(estate: Path) -> None:
    text = Path("orders.yaml").read_text() + "exports: [{name: out, type: files, target: out, format: csv}]\n"
    Path("orders.yaml").write_text(text)
    done("run", "orders.yaml")
    assert "Nothing was sent" in refused("export", "orders.yaml", "--env", "dev")


def test_tables_from_before_are_told_and_not_refused(estate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(commit, "makers_after", lambda *_, **__: {})
        done("run", "orders.yaml")
    told = done("run", "orders.yaml", "--env", "dev").output
    assert "whether they were made in the same one as this run (the environment `dev`) is not known" in told
    assert ids() == [1, 100]
    # What is unknown stays so: rows of production may be among them, and no reset of dev removes them.
    assert "in the environment `dev`" in refused("run", "orders.yaml")
    assert "has no table of its own" in refused("reset", "orders.yaml", "--env", "dev", "--yes")


def test_a_first_run_that_was_killed_is_finished_and_still_refuses_the_other(estate: Path) -> None:
    def strike(point: str) -> None:
        if point == "after_quarantine_commit":
            raise faults.InjectedFault(point)

    with faults.watched(strike):
        assert call("run", "orders.yaml").exit_code != 0
    assert ids() == []
    assert "without an environment" in refused("run", "orders.yaml", "--env", "dev")
    assert ids() == [1]


def test_what_the_log_holds_no_more_is_remembered_beside_it(estate: Path) -> None:
    done("run", "orders.yaml")
    place = Path(LocalCatalog().resolve("shop.silver.orders"))
    tables = load("delta")
    state = tables.state(str(place))
    assert state is not None
    tables.append(str(place), [], state.schema, CommitInfo("lakelogic:upkeep", 1, {"x": "y"}))
    DeltaTable(place).create_checkpoint()
    for path in sorted(place.glob("_delta_log/*.json"))[:-1]:
        path.unlink()
    assert "without an environment" in refused("run", "orders.yaml", "--env", "dev")


def test_a_secondary_target_is_asked_too(estate: Path) -> None:
    text = Path("orders.yaml").read_text()
    text = text.replace("merge, format: delta", "append, secondary_targets: [{target_path: shop.copy.orders}]")
    Path("orders.yaml").write_text(text)
    done("run", "orders.yaml")
    assert "shop.copy.orders" in refused("run", "orders.yaml", "--env", "test")
    assert ids("shop.copy.orders") == [1]


def test_validate_tells_of_environments_without_a_table_of_their_own(estate: Path) -> None:
    told = json.loads(done("validate", "orders.yaml", "--json").stdout)["contracts"][0]["diagnostics"]
    assert [(one["code"], one["severity"], one["line"]) for one in told] == [("LL-C134", "warning", 8)]
    assert "`dev` reads another source" in told[0]["message"]
    write(shared=", shares_target: true")
    assert not json.loads(done("validate", "orders.yaml", "--json").stdout)["contracts"][0]["diagnostics"]


def test_a_shared_quarantine_is_told(estate: Path) -> None:
    write()
    text = Path("orders.yaml").read_text() + "quarantine: {target: shop.quarantine.orders}\n"
    Path("orders.yaml").write_text(text)
    done("run", "orders.yaml")
    told = done("run", "orders.yaml", "--env", "test").output
    assert "shop.quarantine.orders also holds bad rows of `orders` towards another target" in told


def test_the_driver_keeps_environments_apart_also_below_one_that_has_tables_of_its_own(estate: Path) -> None:
    """`daily` has no environments; in `dev` its reference is another table, so its rows are others."""
    for name in ("prod", "dev"):
        Path(name, "1.csv").write_text(Path(name, "1.csv").read_text().replace("bad\n", ""))
    Path("c").mkdir()
    Path("c/orders.yaml").write_text(
        "dataset: orders\nsource: {path: prod/*.csv}\nmodel: {fields: [{name: id, type: int}]}\n"
        "materialization: {target_path: shop.bronze.orders}\n"
        "environments: {dev: {path: dev/*.csv, materialization: {target_path: shop_dev.bronze.orders}}}\n"
    )
    Path("c/daily.yaml").write_text(
        "dataset: daily\nsource: {path: prod/*.csv}\nupstream: [orders]\n"
        "model: {fields: [{name: id, type: int, foreign_key: {contract: orders, column: id}}]}\n"
        "materialization: {target_path: shop.silver.daily}\n"
    )
    Path("c/regions.yaml").write_text(
        "dataset: regions\nsource: {path: prod/*.csv}\nmodel: {fields: [{name: id, type: int}]}\n"
        "materialization: {target_path: shop.reference.regions, strategy: overwrite}\n"
    )
    layers = {"orders": "bronze", "daily": "silver", "regions": "reference"}
    contracts = [{"entity": name, "contracts": {layer: f"{name}.yaml"}} for name, layer in layers.items()]
    Path("c/_registry.yaml").write_text(json.dumps({"entries": contracts}))
    drive = ("drive", "--registry", "c/_registry.yaml")
    done(*drive)
    told = call(*drive, "--env", "dev")
    assert told.exit_code == 3, told.output
    assert "shop.silver.daily holds rows that were made without an environment" in told.output
    assert "shop.reference.regions holds" not in told.output  # the same rows in whichever environment
    assert (ids("shop.silver.daily"), ids("shop_dev.bronze.orders")) == ([1], [100])


def test_storage_roots_of_a_system_make_tables_of_their_own(estate: Path) -> None:
    Path("_system.yaml").write_text(
        "system: shop\nstorage: {storage_root: '{system_folder}/live', landing_root: '{system_folder}/prod'}\n"
        "environments:\n  dev:\n    storage:\n      storage_root: '{system_folder}/trial'\n"
        "      landing_root: '{system_folder}/dev'\n"
    )
    Path("orders.yaml").write_text(
        "dataset: orders\nsource: {path: '{landing_root}/*.csv'}\nmodel: {fields: [{name: id, type: int}]}\n"
        "materialization: {target_path: '{silver_root}/orders'}\n"
    )
    done("run", "orders.yaml")
    told = done("run", "orders.yaml", "--env", "dev").output
    assert "environment" not in told.lower()
    assert (ids(str(estate / "live/silver/orders")), ids(str(estate / "trial/silver/orders"))) == ([1], [100])
    assert not json.loads(done("validate", "orders.yaml", "--json").stdout)["contracts"][0]["diagnostics"]


def test_makers_are_joined_until_a_table_is_replaced() -> None:
    before, batch = Makers(frozenset({None}), is_known=False), CommitFacts(environment=BatchEnvironment("dev"))
    after = environments.makers_after(before, batch, replaces=False)
    assert after is not None
    assert after.to_json() == {"of": [None, "dev"], "known": False}
    after = environments.makers_after(before, batch, replaces=True)
    assert after is not None
    assert after.to_json() == {"of": ["dev"], "known": True}
    assert environments.makers_after(before, CommitFacts(), replaces=True) is None
