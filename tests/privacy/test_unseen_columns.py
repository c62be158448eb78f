"""Where a contract masks, a landed column that it does not name is kept aside: not published, not shown, told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.contract.reading.load import load
from lakelogic.plan.fingerprint import earlier, fingerprint, is_of
from lakelogic.run.findings import lines

CANARY = "Quetzal.Canary@example.org"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
FIELDS = [{"name": "id", "type": "int", "required": True}, {"name": "email", "pii": True, "masking": "redact"}]
ASIDE = (
    "`nick` landed, is not in the model and is kept aside, because the contract masks fields: declare it, "
    "or say schema_policy.unknown_fields: allow."
)


def contract(**parts: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "dataset": "people",
        "source": {"path": "in/*", "format": "csv", "load_mode": "incremental"},
        "model": {"fields": FIELDS},
        "materialization": {"strategy": "append", "target_path": "shop.silver.people"},
        "lineage": {"enabled": False},
    }
    return {**base, **parts}


def land(name: str, text: str) -> None:
    Path("in").mkdir(exist_ok=True)
    Path("in", name).write_text(text)


def run(engine: Any, document: dict[str, Any]) -> Any:
    return DataProcessor(document, engine).run()


def table() -> list[dict[str, Any]]:
    found = DeltaTable("lakelogic_warehouse/shop/silver/people").to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: (row["id"], repr(row)))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.message for record in caplog.records if "kept aside" in record.message and "Drift" not in record.message
    ]


@pytest.mark.parametrize("key", [KEY, None])
def test_an_unknown_column_is_kept_aside_on_both_sides_and_told(
    engine: Any,
    workspace: Path,
    leaks: Callable[..., list[str]],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
) -> None:
    if key:
        monkeypatch.setenv("LAKELOGIC_PII_KEY", key)
    land("a.csv", f"id,email,nick\n1,a@b.c,{CANARY}\nx,a@b.c,{CANARY}\n3,a@b.c,{CANARY},{CANARY}\n")
    result = run(engine, contract())
    assert (result.counts.good, result.counts.quarantined) == (1, 2)
    assert table() == [{"id": 1, "email": "***"}]
    assert result.report["schema_drift"] == {"source": {"added": {"nick": "string"}, "aside": ["nick"]}}
    assert warnings(caplog) == [ASIDE]
    assert "Drift of the source: new nick; kept aside nick" in list(lines({}, result.report["schema_drift"]))
    assert leaks("quetzal", besides=caplog.text) == []


@pytest.mark.parametrize(
    ("name", "text", "source"),
    [
        (
            "a.json",
            f'{{"id": 1, "email": "a@b.c", "nick": {{"x": "{CANARY}"}}}}\n{{"id": "x", "nick": "{CANARY}"}}\n',
            "ndjson",
        ),
        ("a.tsv", f"id\temail\tnick\n1\ta@b.c\t{CANARY}\nx\ta@b.c\t{CANARY}\n", "tsv"),
    ],
)
def test_keys_of_json_and_columns_of_tsv_are_kept_aside_too(
    engine: Any, workspace: Path, leaks: Callable[..., list[str]], name: str, text: str, source: str
) -> None:
    land(name, text)
    run(engine, contract(source={"path": "in/*", "format": source}))
    assert table() == [{"id": 1, "email": "***"}]
    assert leaks("quetzal") == []


@pytest.mark.parametrize(
    "parts",
    [
        {"schema_policy": {"unknown_fields": "allow"}},
        {"schema_policy": "allow"},
        {"server": {"type": "local", "path": "in/*", "format": "csv", "schema_policy": "allow"}},
        {"model": {"fields": [FIELDS[0], {"name": "email", "pii": True}]}},  # nothing is masked
    ],
)
def test_what_is_allowed_in_writing_is_published(duckdb_engine: Any, workspace: Path, parts: dict[str, Any]) -> None:
    land("a.csv", "id,email,nick\n1,a@b.c,zed\n")
    result = run(duckdb_engine, contract(**parts))
    assert [row["nick"] for row in table()] == ["zed"]
    assert result.report["schema_drift"] == {"source": {"added": {"nick": "string"}}}


@pytest.mark.parametrize(
    "step",
    [
        {"sql": "SELECT * FROM source"},
        {"sql": "SELECT DISTINCT * FROM source"},
        {"sql": "SELECT s.* FROM source AS s JOIN source AS t ON s.id = t.id"},
        {"trim": {"fields": ["email"]}},
        {"deduplicate": {"on": ["id"]}},
    ],
)
@pytest.mark.parametrize("phase", ["pre", "post"])
def test_a_star_does_not_publish_what_nobody_named(engine: Any, workspace: Path, step: Any, phase: str) -> None:
    land("a.csv", "id,email,nick\n1,a@b.c,zed\n")
    result = run(engine, contract(transformations=[{**step, "phase": phase}]))
    assert table() == [{"id": 1, "email": "***"}]
    assert result.report["schema_drift"]["source"]["aside"] == ["nick"]


@pytest.mark.parametrize(
    ("step", "columns"),
    [
        ({"derive": {"field": "short", "sql": "substring(nick, 1, 1)"}}, {"short": "z"}),
        ({"sql": "upper(nick) AS nick"}, {"nick": "ZED"}),
        ({"sql": "SELECT id, email, nick FROM source"}, {"nick": "zed"}),
        ({"rename": {"from": "nick", "to": "known_as"}}, {"known_as": "zed"}),
    ],
)
@pytest.mark.parametrize("phase", ["pre", "post"])
def test_what_a_step_makes_or_names_is_published(
    duckdb_engine: Any, workspace: Path, step: Any, columns: dict[str, Any], phase: str
) -> None:
    land("a.csv", "id,email,nick\n1,a@b.c,zed\n")
    run(duckdb_engine, contract(transformations=[{**step, "phase": phase}]))
    assert table() == [{"id": 1, "email": "***", **columns}]


def test_rules_read_what_is_kept_aside(engine: Any, workspace: Path) -> None:
    land("a.csv", "id,email,nick\n1,a@b.c,zed\n2,a@b.c,\n")
    result = run(engine, contract(quality={"row_rules": [{"not_null": "nick"}, {"sql": "length(nick) = 3"}]}))
    assert (result.counts.good, result.counts.quarantined) == (1, 1)
    assert table() == [{"id": 1, "email": "***"}]


def test_a_key_and_a_partition_that_only_the_materialization_names_are_published(
    duckdb_engine: Any, workspace: Path
) -> None:
    land("a.csv", "id,email,nr,day,nick\n1,a@b.c,7,mon,zed\n")
    settings = {
        "strategy": "merge",
        "primary_key": ["nr"],
        "partition_by": ["day"],
        "target_path": "shop.silver.people",
    }
    run(duckdb_engine, contract(materialization=settings))
    assert table() == [{"id": 1, "email": "***", "nr": "7", "day": "mon"}]


def test_an_overwrite_says_that_the_column_goes(
    duckdb_engine: Any, workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"strategy": "overwrite", "target_path": "shop.silver.people"}
    source = {"path": "in/*", "format": "csv"}
    land("a.csv", "id,email,nick\n1,a@b.c,ada\n")
    run(duckdb_engine, contract(materialization=settings, source=source, schema_policy="allow"))
    run(duckdb_engine, contract(materialization=settings, source=source))
    assert [row.get("nick") for row in table()] == [None]
    assert warnings(caplog) == [
        ASIDE + " The table has a column of this name: its rows are replaced by rows without it."
    ]


@pytest.mark.parametrize("strategy", ["append", "merge"])
def test_a_column_that_the_table_has_keeps_its_values(
    engine: Any, workspace: Path, caplog: pytest.LogCaptureFixture, strategy: str
) -> None:
    settings = {"strategy": strategy, "target_path": "shop.silver.people"}
    settings |= {"primary_key": ["id"]} if strategy == "merge" else {}
    land("a.csv", "id,email,nick\n1,a@b.c,ada\n2,a@b.c,bob\n")
    run(engine, contract(materialization=settings, schema_policy="allow"))
    land("b.csv", "id,email,nick\n2,,new\n3,a@b.c,new\n")
    run(engine, contract(materialization=settings))
    found = [(row["id"], row["email"], row["nick"]) for row in table()]
    kept = [(2, None, "bob")] if strategy == "merge" else [(2, "***", "bob"), (2, None, None)]
    assert found == [(1, "***", "ada"), *kept, (3, "***", None)]
    assert warnings(caplog) == [ASIDE + " The table has a column of this name: its values stay as they are."]


def test_a_row_that_comes_back_from_quarantine_does_not_bring_it(
    duckdb_engine: Any, workspace: Path, leaks: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    land("a.csv", f"id,email,nick\n1,a@b.c,{CANARY}\n")
    strict = contract(quality={"row_rules": [{"sql": "id > 1"}], "max_quarantine_ratio": 1})
    assert run(duckdb_engine, strict).counts.quarantined == 1
    assert DataProcessor(contract(), duckdb_engine).replay().passed == 1
    assert table() == [{"id": 1, "email": "***"}]
    assert leaks("quetzal") == []


def test_to_allow_it_is_another_contract_only_where_something_is_masked() -> None:
    plain = [{"name": "id"}]
    for fields, same in ((FIELDS, False), (plain, True)):
        silent = fingerprint(load(contract(model={"fields": fields})))
        written = fingerprint(load(contract(model={"fields": fields}, schema_policy="allow")))
        assert (silent == written) is same


def test_rows_that_were_judged_under_the_old_default_are_judged_again_but_not_read_twice() -> None:
    from lakelogic.plan.fingerprint import _hash, _meaning

    silent, written = load(contract()), load(contract(schema_policy="allow"))
    old = _hash(_meaning(silent))  # what both had before
    assert old == _hash(_meaning(written))
    assert old in earlier(silent)
    assert not is_of(silent, old)
    assert is_of(written, old)
