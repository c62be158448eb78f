"""A mask that comes later above: what was made of the clear value before is told, and neither shown nor published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lakelogic.cli.main import cli
from lakelogic.tables.registry import load

CANARY = "quetzal.canary@example.org"
SECRETS = {
    "LAKELOGIC_PII_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "LAKELOGIC_PII_SALT": "a long salt of one's own, number 1",
}


def write_bronze(*, masked: bool, strategy: str = "merge") -> None:
    mask = ", pii: true, masking: redact" if masked else ""
    Path("bronze.yaml").write_text(
        "dataset: bronze_people\nsource: {path: in/*.csv}\n"
        f"model: {{fields: [{{name: id, type: int}}, {{name: email{mask}}}, {{name: city}}]}}\n"
        f"primary_key: [id]\nmaterialization: {{strategy: {strategy}, target_path: shop.bronze.people}}\n"
    )


def write_silver(*, mask: str = "", high: int = 90, strategy: str = "merge") -> None:
    Path("silver.yaml").write_text(
        "dataset: silver_people\nsource: {type: table, path: shop.bronze.people}\n"
        f"model: {{fields: [{{name: id, type: int, max: {high}}}, {{name: mail{mask}}}, {{name: city}}]}}\n"
        "transformations: [{sql: 'SELECT id, lower(email) AS mail, city FROM source', phase: pre}]\n"
        f"primary_key: [id]\nmaterialization: {{strategy: {strategy}, target_path: shop.silver.people}}\n"
        "exports: [{name: out, type: files, target: out, format: csv}]\n"
    )


def write_gold(*, strategy: str = "merge", high: int = 1) -> None:
    Path("gold.yaml").write_text(
        "dataset: gold_people\nsource: {type: table, path: shop.silver.people}\n"
        f"model: {{fields: [{{name: id, type: int, max: {high}}}, {{name: contact}}]}}\n"
        "transformations: [{sql: 'SELECT id, mail AS contact FROM source', phase: pre}]\n"
        f"primary_key: [id]\nmaterialization: {{strategy: {strategy}, target_path: shop.gold.people}}\n"
        "exports: [{name: out, type: files, target: gold_out, format: csv}]\n"
    )


def write_cities() -> None:
    Path("cities.yaml").write_text(
        "dataset: gold_cities\nsource: {type: table, path: shop.bronze.people}\n"
        "model: {fields: [{name: city}, {name: people, type: bigint}]}\n"
        "transformations: [{sql: 'SELECT city, count(email) AS people FROM source GROUP BY city'}]\n"
        "materialization: {strategy: overwrite, target_path: shop.gold.cities}\n"
    )


def call(*words: str) -> Result:
    engine = ["--engine", "duckdb"] if words[0] == "run" or words[:2] == ("quarantine", "replay") else []
    return CliRunner().invoke(cli, [*words, *engine])


def done(*words: str) -> Result:
    result = call(*words)
    assert result.exit_code == 0, (words, result.output)
    return result


def rows(table: str) -> list[dict[str, Any]]:
    return load("delta").preview(f"lakelogic_warehouse/{table}", 99).to_pylist()


@pytest.fixture
def estate(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bronze in clear, silver, gold and a count made of it; then bronze is masked anew."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    Path("in").mkdir()
    Path("in/1.csv").write_text(f"id,email,city\n1,{CANARY},Bern\n2,bob@example.org,Rome\n99,{CANARY},Bern\n")
    write_bronze(masked=False)
    write_silver()
    write_gold()
    write_cities()
    for name in ("bronze", "silver", "gold", "cities"):
        done("run", f"{name}.yaml")
    write_bronze(masked=True)
    return workspace


SHOWN = [
    ("preview", "shop.silver.people"), ("explain", "silver.yaml", "--key", "1"), ("export", "silver.yaml"),
    ("preview", "shop.quarantine.silver_people"), ("quarantine", "show", "silver.yaml"),
    ("quarantine", "show", "silver_people"), ("quarantine", "export", "silver.yaml", "bad.json"),
    ("quarantine", "list", "silver.yaml", "--by", "mail"), ("quarantine", "list", "silver_people", "--by", "mail"),
]  # fmt: skip
# Gold reads silver, which reads bronze: nothing that gold reads itself is masked.
SHOWN_OF_GOLD = [
    ("preview", "shop.gold.people"), ("preview", "lakelogic_warehouse/shop/gold/people"),
    ("explain", "gold.yaml", "--key", "1"), ("export", "gold.yaml"), ("preview", "shop.quarantine.gold_people"),
    ("quarantine", "show", "gold.yaml"), ("quarantine", "export", "gold.yaml", "bad.json"),
    ("quarantine", "list", "gold.yaml", "--by", "contact"),
]  # fmt: skip


def test_remask_tells_what_was_made_of_the_clear_values_and_what_to_do(estate: Path) -> None:
    told = json.loads(done("remask", "bronze.yaml", "--json").stdout)["downstream"]
    assert [(one["dataset"], one["columns"]) for one in told] == [
        ("gold_people", ["contact"]), ("silver_people", ["mail"]),
    ]  # fmt: skip
    assert told[1]["tables"] == ["shop.silver.people", "shop.quarantine.silver_people"]
    said = done("remask", "bronze.yaml").output
    assert "silver_people" in said
    assert "`mail`" in said
    assert "lakelogic remask" in said
    assert "gold_cities" not in said  # a count shows nobody


def test_rows_from_before_are_neither_shown_nor_sent_nor_replayed(estate: Path) -> None:
    for words in SHOWN:
        assert call(*words).exit_code == 0, words
    Path("bad.json").unlink()
    done("remask", "bronze.yaml")
    for words in SHOWN:
        refused = call(*words)
        assert refused.exit_code == 2, (words, refused.output)
        assert CANARY not in refused.output
        assert "shop.bronze.people.email" in refused.output
    write_silver(high=100)
    replayed = done("quarantine", "replay", "silver.yaml").output
    assert "1 rows cannot be replayed and stay: they were read before the table above masked" in replayed
    assert sorted(row["id"] for row in rows("shop/silver/people")) == [1, 2]
    done("preview", "shop.gold.cities")


def refused_of_gold() -> None:
    for words in SHOWN_OF_GOLD:
        refused = call(*words)
        assert refused.exit_code == 2, (words, refused.output)
        assert "@example.org" not in refused.output
        assert "shop.silver.people.mail" in refused.output


def test_what_was_made_of_rows_from_before_over_another_table_is_refused_until_both_are_read_again(
    estate: Path,
) -> None:
    for words in SHOWN_OF_GOLD:
        done(*words)
    done("remask", "bronze.yaml")
    refused_of_gold()
    write_gold(high=100)
    replayed = done("quarantine", "replay", "gold.yaml").output
    assert "1 rows cannot be replayed and stay: they were read before the table above masked" in replayed
    write_gold()
    done("reset", "silver.yaml", "--yes")
    done("run", "silver.yaml")
    refused_of_gold()
    done("reset", "gold.yaml", "--yes")
    done("run", "gold.yaml")
    for words in SHOWN_OF_GOLD:
        assert "@example.org" not in done(*words).output
    assert [row["contact"] for row in rows("shop/gold/people")] == ["***"]


def test_what_is_read_again_from_rows_that_are_still_in_clear_is_in_clear(estate: Path) -> None:
    Path("in/1.csv").write_text("id,email,city\n3,eve@example.org,Oslo\n")
    done("reset", "bronze.yaml", "--yes")
    done("run", "bronze.yaml")
    write_silver(strategy="merge, deletion: {strategy: keep}")
    done("run", "silver.yaml")  # its newest row is masked, those that bronze has no more are not
    write_gold(strategy="overwrite", high=100)
    done("reset", "gold.yaml", "--yes")
    done("run", "gold.yaml")
    assert sorted(row["contact"] for row in rows("shop/gold/people")) == ["***", "bob@example.org", CANARY]
    assert call("preview", "shop.gold.people").exit_code == 2
    done("reset", "silver.yaml", "--yes")
    done("run", "silver.yaml")
    assert call("preview", "shop.gold.people").exit_code == 2
    done("run", "gold.yaml")
    assert [row["contact"] for row in rows("shop/gold/people")] == ["***"]
    assert "@example.org" not in done("preview", "shop.gold.people").output


def test_a_contract_above_that_cannot_be_read_stops_showing_and_no_remask(estate: Path) -> None:
    Path("silver.yaml").write_text("dataset: [")
    assert "silver.yaml, cannot be read" in " ".join(call("preview", "shop.gold.people").output.split())
    told = json.loads(done("remask", "bronze.yaml", "--json").stdout)["downstream"]
    assert [one["dataset"] for one in told] == ["silver_people"]


def test_a_mask_of_its_own_and_a_remask_deal_with_it(estate: Path) -> None:
    done("remask", "bronze.yaml")
    write_silver(mask=", pii: true, masking: hash", high=100)
    refused_of_gold()  # declared is not masked yet
    done("remask", "silver.yaml")
    for words in SHOWN[:-2]:
        assert CANARY not in done(*words).output
    done("quarantine", "replay", "silver.yaml")
    assert sorted(row["id"] for row in rows("shop/silver/people")) == [1, 2, 99]
    assert CANARY not in str(rows("shop/silver/people"))
    # And now that silver masks it, gold is the one that holds it in clear.
    assert "shop.silver.people.mail" in call("preview", "shop.gold.people").output


def test_a_reset_and_a_run_deal_with_it(estate: Path) -> None:
    done("remask", "bronze.yaml")
    done("reset", "silver.yaml", "--yes")
    done("run", "silver.yaml")
    for words in SHOWN:
        assert CANARY not in done(*words).output
    write_silver(high=100)
    done("quarantine", "replay", "silver.yaml")
    assert [row["mail"] for row in rows("shop/silver/people")] == ["***"] * 3


def test_a_run_in_between_says_so_and_makes_nobody_forget(estate: Path) -> None:
    done("remask", "bronze.yaml")
    Path("in/2.csv").write_text("id,email,city\n3,eve@example.org,Oslo\n")
    done("run", "bronze.yaml")
    assert "may hold in clear what is masked above by now: `mail`" in done("run", "silver.yaml").output
    assert call("preview", "shop.silver.people").exit_code == 2


def test_an_overwrite_above_that_is_masked_needs_no_remask_and_counts_as_well(estate: Path) -> None:
    write_bronze(masked=True, strategy="overwrite")
    done("reset", "bronze.yaml", "--yes")
    done("run", "bronze.yaml")
    assert call("preview", "shop.silver.people").exit_code == 2


def test_tables_from_before_are_refused_where_the_table_above_was_in_clear_once(
    estate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakelogic.run.masks import read_before as read_masks

    done("remask", "bronze.yaml")
    with monkeypatch.context() as earlier:
        earlier.setattr(read_masks, "read_before", lambda *_: None)
        assert call("preview", "shop.silver.people").exit_code == 2
        assert call("preview", "shop.gold.cities").exit_code == 0
