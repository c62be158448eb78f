"""What a contract hides stands nowhere in clear: not beside the masked field, not in folders, files or logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakelogic import DataProcessor
from lakelogic.errors import UsageError

CANARY = "Quetzal.Canary@example.org"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def contract(**parts: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "dataset": "people",
        "source": {"path": "in/*.csv"},
        "model": {
            "fields": [
                {"name": "id", "type": "int", "required": True},
                {"name": "born", "type": "date"},
                {"name": "email", "pii": True, "masking": "redact"},
            ]
        },
        "transformations": [{"sql": "SELECT id, born, lower(raw_mail) AS email FROM source"}],
        "materialization": {"strategy": "append", "target_path": "shop.silver.people"},
    }
    return {**base, **parts}


def land(text: str, name: str = "in/a.csv") -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    if hasattr(frame, "collect") and hasattr(frame, "sparkSession"):
        return [row.asDict() for row in frame.collect()]
    table = frame.to_arrow() if hasattr(frame, "to_arrow") else frame.arrow() if hasattr(frame, "arrow") else frame
    return list((table.read_all() if hasattr(table, "read_all") else table).to_pylist())


def test_the_landed_column_beside_a_masked_field_is_hidden_everywhere(
    engine: Any, workspace: Path, leaks: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    land(f"id,born,raw_mail\n1,2000-01-01,{CANARY}\nx,2000-01-01,{CANARY}\n2,never,{CANARY}\n")
    result = DataProcessor(contract(), engine).run()
    assert (result.counts.good, result.counts.quarantined) == (1, 2)
    assert {row["raw_mail"] for row in rows_of(result.bad)} == {"***"}
    assert leaks("quetzal") == []


def test_a_masked_value_in_the_name_of_a_folder_is_refused_before_anything_is_written(
    duckdb_engine: Any, workspace: Path, leaks: Callable[..., list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    land("id,born\n1,2000-01-01\nx,2000-01-01\n", f"in/email={CANARY}/a.csv")
    with pytest.raises(UsageError, match="names of folders") as refused:
        DataProcessor(contract(source={"path": "in", "format": "csv"}, transformations=[]), duckdb_engine).run()
    assert leaks("quetzal", besides=f"{refused.value} {caplog.text}") == []


@pytest.mark.parametrize("masked_by", ["contract", "pack"])
@pytest.mark.parametrize("where", ["source", "pattern", "link"])
def test_no_folder_of_source_or_link_shows_a_masked_value_and_validate_says_so(
    workspace: Path, leaks: Callable[..., list[str]], where: str, masked_by: str
) -> None:
    import json

    from click.testing import CliRunner

    from lakelogic.cli.main import cli

    land(
        "id,email\n1,x\n" if where == "link" else "id\n1\n",
        "in/a.csv" if where == "link" else f"in/email={CANARY}/a.csv",
    )
    land("id,name\n1,x\n", f"in/ref/email={CANARY}/a.csv")
    source = {"source": {"path": "in/email=*/*.csv"}, "pattern": {"path": "in", "pattern": "email=*/a.csv"}}
    mask = {"name": "email", "masking": "redact"}
    document = {
        "dataset": "people",
        "source": {**source.get(where, {"path": "in/a.csv"}), "format": "csv"},
        "links": [{"name": "ref", "path": "in/ref/email=*/*.csv", "format": "csv"}] if where == "link" else [],
        "model": {"fields": [{"name": "id"}, mask if masked_by == "contract" else {"name": "email"}]},
        "materialization": {"target_path": "shop.silver.people"},
    }
    Path("people.yaml").write_text(json.dumps(document))
    Path("hide.yaml").write_text(json.dumps({"name": "hide", "require": {"model": {"fields": [mask]}}}))
    pack = ["--policy-pack", "hide", "--policy-pack-dir", "."] if masked_by == "pack" else []
    checked = CliRunner().invoke(cli, ["validate", "people.yaml", "--json", *pack])
    told = json.loads(checked.stdout)["contracts"][0]["diagnostics"]
    assert [one["code"] for one in told if one["severity"] == "error"] == ["LL-C135"]
    run = CliRunner().invoke(cli, ["-v", "run", "people.yaml", "--engine", "duckdb", *pack])
    assert run.exit_code == 2
    assert leaks("quetzal", besides=checked.output + run.output) == []
