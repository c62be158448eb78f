"""Selection as people know it: names with `*`, `tag:`, `owner:`, `state:`, `+` on either side, and `--exclude`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lakelogic.cli.drive import drive
from lakelogic.cli.main import cli

# raw_a → clean_a ─┐
# raw_b → clean_b ─┴→ gold_sales
CONTRACTS = {
    "raw_a": ("bronze", "in.csv", "tags: [daily, core]"),
    "raw_b": ("bronze", "in.csv", "tags: [weekly]"),
    "clean_a": ("silver", "w.bronze.raw_a", "tags: [daily]"),
    "clean_b": ("silver", "w.bronze.raw_b", ""),
    "gold_sales": ("gold", "w.silver.clean_a", "links: [{name: b, path: w.silver.clean_b, type: table}]"),
}


@pytest.fixture
def estate(workspace: Path) -> Path:
    Path("in.csv").write_text("id\n1\n")
    listed = ["entries:"]
    for name, (layer, source, more) in CONTRACTS.items():
        owner = "ann" if name.endswith("_a") else "bob"
        crm = ", domain: crm" if name == "clean_b" else ""
        mode = "" if source == "in.csv" else ", type: table"
        Path(f"{name}.yaml").write_text(
            f"info: {{target_layer: {layer}, dataset: {name}, owner: {owner}{crm}}}\nsource: {{path: {source}{mode}}}\n{more}\n"
            f"materialization: {{target_path: w.{layer}.{name}, strategy: overwrite}}\n"
        )
        listed.append(f"  - {{entity: {name}, contracts: {{{layer}: {name}.yaml}}}}")
    Path("_registry.yaml").write_text("\n".join(listed) + "\n")
    return workspace


def planned(*words: str) -> list[str]:
    done = CliRunner().invoke(
        drive,
        ["--registry", "_registry.yaml", "--engine", "duckdb", "--dry-run", "--json", *words],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    return sorted(one["dataset"] for one in json.loads(done.stdout)["datasets"])


ALL = sorted(CONTRACTS)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--select", "gold_*"], ["gold_sales"]),
        (["--select", "+gold_*"], ALL),
        (["--select", "raw_b+"], ["clean_b", "gold_sales", "raw_b"]),
        (["--select", "+clean_a+"], ["clean_a", "gold_sales", "raw_a"]),
        (["--select", "tag:daily"], ["clean_a", "raw_a"]),
        (["--select", "tag:dai*,layer:gold"], ["clean_a", "gold_sales", "raw_a"]),
        (["--select", "domain:crm"], ["clean_b"]),
        (["--select", "owner:ann"], ["clean_a", "raw_a"]),
        (["--select", "layer:silver", "--exclude", "owner:bob"], ["clean_a"]),
        (["--exclude", "+clean_a"], ["clean_b", "gold_sales", "raw_b"]),
        (["--exclude", "raw_a"], ["clean_a", "clean_b", "gold_sales", "raw_b"]),
        (["--select", "state:never"], ALL),
        (["--layers", "bronze", "--select", "*_a"], ["raw_a"]),
    ],
)
def test_words_mean_what_people_expect(estate: Path, words: list[str], found: list[str]) -> None:
    assert planned(*words) == found


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("silver_*", "`silver_*` selects nothing"),
        ("tag:dialy", "Did you mean `daily`?"),
        ("gold_salse", "Did you mean `gold_sales`?"),
        ("owner:eve", "`owner:eve` selects nothing"),
        ("tga:daily", "Did you mean `tag:`?"),
        ("state:broken", "there is no state `broken`"),
        ("state:failed", "the newest run of no dataset has that state"),
        ("+", "selects nothing"),
    ],
)
@pytest.mark.parametrize("flag", ["--select", "--exclude"])
def test_a_word_that_means_nothing_is_an_error(estate: Path, word: str, told: str, flag: str) -> None:
    if flag == "--exclude" and word == "gold_salse":
        pytest.skip("a plain name is told as before")
    done = CliRunner().invoke(drive, ["--registry", "_registry.yaml", "--dry-run", flag, word], catch_exceptions=False)
    assert done.exit_code == 2
    assert told in done.output


def test_the_state_is_that_of_the_newest_run(estate: Path) -> None:
    Path("in.csv").unlink()
    words = ["--registry", "_registry.yaml", "--engine", "duckdb", "--select", "raw_a"]
    assert CliRunner().invoke(drive, words, catch_exceptions=False).exit_code != 0
    assert planned("--select", "state:failed") == ["raw_a"]
    assert planned("--select", "state:failed+") == ["clean_a", "gold_sales", "raw_a"]


def call(*words: str) -> Any:
    done = CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False)
    return done.exit_code, json.loads(done.stdout)


def test_estate_and_validate_take_the_same_words(estate: Path) -> None:
    # What cannot be read at all is always told: nobody knows whether it was meant. This can be read.
    Path("raw_b.yaml").write_text(
        "info: {target_layer: bronze, dataset: raw_b}\nsource: {path: in.csv}\n"
        "quality: {row_rules: [{name: broken, sql: id >}]}\nmaterialization: {target_path: w.bronze.raw_b}\n"
    )
    code, told = call("estate", "validate", ".", "--select", "tag:daily")
    assert told["diagnostics"] == []
    assert (code, sorted(one["dataset"] for one in told["datasets"])) == (0, ["clean_a", "raw_a"])
    code, told = call("validate", ".", "--select", "+clean_a")
    assert (code, sorted(Path(one["contract"]).name for one in told["contracts"])) == (
        0,
        ["clean_a.yaml", "raw_a.yaml"],
    )
    code, told = call("estate", "validate", ".", "--select", "nothing_*")
    assert code == 2


def of_docs(*words: str) -> list[str]:
    done = CliRunner().invoke(cli, ["docs", "build", "site", ".", *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return sorted(page.stem for page in Path("site/datasets").glob("*.html"))


def of_estate(*words: str) -> list[str]:
    return sorted(one["dataset"] for one in call("estate", "validate", ".", *words)[1]["datasets"])


def of_validate(*words: str) -> list[str]:
    return sorted(Path(one["contract"]).stem for one in call("validate", ".", *words)[1]["contracts"])


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--select", "+gold_*"], ALL),
        (["--select", "tag:daily"], ["clean_a", "raw_a"]),
        (["--select", "domain:crm"], ["clean_b"]),
        (["--select", "owner:ann"], ["clean_a", "raw_a"]),
        (["--select", "state:never", "--exclude", "gold_*,layer:bronze"], ["clean_a", "clean_b"]),
    ],
)
@pytest.mark.parametrize("asked", [planned, of_estate, of_validate, of_docs])
def test_four_commands_take_the_same_words(estate: Path, asked: Any, words: list[str], found: list[str]) -> None:
    assert asked(*words) == found


def test_a_site_of_some_datasets_leads_to_no_page_that_is_not_there(estate: Path) -> None:
    assert of_docs("--select", "clean_a") == ["clean_a"]
    targets = {
        (page.parent / target).resolve()
        for page in Path("site").rglob("*.html")
        for target in re.findall(r'(?:href|src)="([^"#:]+)"', page.read_text())
    }
    assert [str(one) for one in sorted(targets) if not one.exists()] == []
    done = CliRunner().invoke(cli, ["docs", "build", "site", ".", "--select", "nothing_*"], catch_exceptions=False)
    assert (done.exit_code, "selects nothing" in done.output) == (2, True)
    assert Path("site/datasets/clean_a.html").exists()  # what was there stays
