"""Keys, salts, tokens and passwords never become part of text that is stored or shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.errors import ContractError

CANARY = "quetzal-canary-0123456789abcdef"


def write(where: str, variable: str) -> None:
    said = {
        "description": f"description: 'is ${{{variable}}}'",
        "title": f"title: '${{{variable}}}'",
        "path": "description: x",
    }[where]
    path = f"in/${{{variable}}}.csv" if where == "path" else "in/a.csv"
    Path("c.yaml").write_text(
        f"info: {{dataset: rows, {said}}}\nsource: {{path: '{path}'}}\nmodel: {{fields: [{{name: id}}]}}\n"
        "materialization: {target_path: a.b.rows}\n"
    )


@pytest.mark.parametrize("where", ["title", "path"])
@pytest.mark.parametrize(
    "variable",
    ["LAKELOGIC_PII_KEY", "LAKELOGIC_PII_SALT", "API_TOKEN", "DB_PASSWORD", "CLIENT_SECRET", "AWS_SECRET_ACCESS_KEY"],
)
def test_a_secret_by_its_name_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, variable: str, where: str
) -> None:
    monkeypatch.setenv(variable, CANARY)
    write(where, variable)
    with pytest.raises(ContractError) as refused:
        load("c.yaml")
    assert CANARY not in str(refused.value)
    assert any(found.code == "LL-C142" and variable in found.message for found in refused.value.diagnostics)


def test_a_secret_by_its_value_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_SALT", CANARY)
    write("title", "HARMLESS")
    for value in (CANARY, f"before {CANARY} behind", "ghp_abcdefghijklmnopqrstuvwx", "postgresql://me:hidden@host/db"):
        monkeypatch.setenv("HARMLESS", value)
        with pytest.raises(ContractError) as refused:
            load("c.yaml")
        assert value not in str(refused.value)


def test_a_plain_variable_is_filled_as_ever(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_SALT", CANARY)
    monkeypatch.setenv("REGION", "eu-west")
    write("path", "REGION")
    assert load("c.yaml").contract.source.path == "in/eu-west.csv"
