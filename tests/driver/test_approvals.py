"""Batches that wait for a person: approved in a file, refused when the approval is old or of something else."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from lakelogic.actions.operate.approve import write
from lakelogic.actions.operate.drive import DriveRequest, drive
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.driver.passes import Pass
from lakelogic.errors import UsageError
from lakelogic.ledger.store import open_ledger
from lakelogic.run.surroundings import Surroundings

BRONZE = """
info: {target_layer: bronze, dataset: bronze_orders, owner: team}
source: {path: landing, pattern: 'o_*.csv', format: csv, load_mode: incremental}
model: {fields: [{name: id, type: int}, {name: n, type: int}]}
quality: {row_rules: [{name: positive, sql: n > 0}]}
materialization: {target_path: s.bronze.orders}
"""


@pytest.fixture
def estate(lay, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = lay(
        {
            "c/_registry.yaml": "entries: [{entity: orders, contracts: {bronze: bronze.yaml}}]\n",
            "c/bronze.yaml": BRONZE,
            "landing/o_1.csv": "id,n\n1,1\n2,2\n3,-3\n",
        }
    )
    monkeypatch.chdir(folder)
    for name in ("LAKELOGIC_WAREHOUSE", "LAKELOGIC_LEDGER", "LAKELOGIC_ENV"):
        monkeypatch.delenv(name, raising=False)
    return folder


def go(**more: Any) -> Pass:
    asked = {"registries": ("c/_registry.yaml",), "engine": "duckdb", "max_workers": 1, **more}
    return drive(Surroundings.here(), DriveRequest(**asked))


def ids() -> list[int]:
    table = Path("lakelogic_warehouse/s/bronze/orders")
    return sorted(DeltaTable(table).to_pyarrow_table().column("id").to_pylist()) if table.exists() else []


def test_a_batch_above_the_threshold_waits_and_is_published_when_it_is_approved_of(estate: Path) -> None:
    gated = {"approval_required": True, "approval_file": "approvals/one.ok", "approval_quarantine_ratio": 0.3}
    first = go(**gated)
    (only,) = first.outcomes
    assert (first.exit_code, only.status) == (5, "gated")
    assert only.reasons == (
        "33.3% of the rows are quarantined, and above 30.0% approval is needed",
        f"waits for approval: lakelogic approve {only.run_id} --approval-file approvals/one.ok",
    )
    assert not (estate / "lakelogic_warehouse/s/bronze/orders/_delta_log").exists()
    written = write(Surroundings.here(), str(only.run_id), "approvals/one.ok", "the supplier knows", by="ines")
    assert written.figures == {"source": 3, "good": 2, "quarantined": 1}

    done = go(**gated)
    (released,) = done.outcomes
    assert (done.exit_code, released.status, released.run_id, ids()) == (0, "succeeded", only.run_id, [1, 2])
    with open_ledger(LocalCatalog().ledger_url()) as ledger:
        record = ledger.run(str(only.run_id))
        acts = [(act.act, act.person, act.why) for act in ledger.acts()]
    assert (record.status, record.reason.split(" at ")[0]) == ("succeeded", "approved by ines")
    assert record.reason.endswith("UTC: the supplier knows")
    assert acts == [("approve", "ines", "the supplier knows"), ("approve in a file", "ines", "the supplier knows")]

    # Another input is another batch: the approval is of an old one.
    (estate / "landing/o_2.csv").write_text("id,n\n4,4\n5,-5\n")
    assert go(**gated).outcomes[0].status == "gated"
    stale = go(**gated)
    assert (stale.exit_code, stale.outcomes[0].status, ids()) == (5, "gated", [1, 2])
    assert any("is refused: it is of the batch" in reason for reason in stale.outcomes[0].reasons)
    # One of this batch with other figures is somebody else's.
    write(Surroundings.here(), str(stale.outcomes[0].run_id), "approvals/one.ok", by="ines")
    file = estate / "approvals/one.ok"
    told = json.loads(file.read_text())
    told["approvals"][0]["figures"]["good"] = 9
    file.write_text(json.dumps(told))
    foreign = go(**gated)
    assert (foreign.exit_code, ids()) == (5, [1, 2])
    refused = "it says 2 source, 9 good, 1 quarantined, and the batch has 2 source, 1 good, 1 quarantined"
    assert any(reason.endswith(refused) for reason in foreign.outcomes[0].reasons)


def test_columns_that_differ_from_the_table_need_approval(estate: Path) -> None:
    go()
    (estate / "c/bronze.yaml").write_text(BRONZE.replace("{name: n, type: int}", "{name: n, type: int}, {name: m}"))
    (estate / "landing/o_2.csv").write_text("id,n,m\n4,4,x\n")
    done = go(approval_required=True)
    assert (done.exit_code, ids()) == (5, [1, 2])
    assert done.outcomes[0].reasons[0] == "the columns differ from the table's (added: m), and that needs approval"


def test_approvals_that_nobody_asks_for_or_can_read_are_refused(estate: Path) -> None:
    with pytest.raises(UsageError, match="only asked for with --approval-required"):
        go(approval_file="approvals/one.ok")
    for text, why in (("ok\n", "Expecting value"), ("{}", "it has no 'format'")):
        (estate / "note.ok").write_text(text)
        with pytest.raises(UsageError, match=f"is no file of approvals: {why}"):
            go(approval_required=True, approval_file="note.ok")
    assert not (estate / "lakelogic_warehouse").exists()


def test_a_link_of_several_contracts_is_read_once_and_again_when_it_has_changed(estate: Path) -> None:
    names = ("a", "b", "c")
    entries = ", ".join(f"{{entity: {name}, contracts: {{silver: {name}.yaml}}}}" for name in names)
    (estate / "c/_registry.yaml").write_text(f"entries: [{entries}]\n")
    for name in names:
        (estate / f"c/{name}.yaml").write_text(
            f"info: {{target_layer: silver, dataset: silver_{name}, owner: team}}\n"
            "source: {path: landing/o_1.csv}\nlinks: [{name: words, path: words.csv}]\n"
            "model: {fields: [{name: id, type: int}, {name: n, type: int}, {name: word}]}\n"
            "transformations: [{lookup: {field: word, reference: words, on: id, key: id, value: word}}]\n"
            f"materialization: {{target_path: s.silver.{name}, strategy: overwrite}}\n"
        )
    (estate / "words.csv").write_text("id,word\n1,one\n2,two\n")

    def words(name: str) -> list[str | None]:
        table = DeltaTable(Path("lakelogic_warehouse/s/silver") / name).to_pyarrow_table().to_pylist()
        return [row["word"] for row in sorted(table, key=lambda row: row["id"])]

    # What a pass left that died long ago is thrown away; another one may still be at work.
    kept = estate / "lakelogic_warehouse/.lakelogic"
    for name, days in (("references-dead", 8), ("references-alive", 1)):
        (kept / name / "copy").mkdir(parents=True)
        os.utime(kept / name, (time.time() - days * 86_400,) * 2)
    done = go(cache_references=True, max_workers=2)
    assert [left.name for left in kept.glob("references-*")] == ["references-alive"]
    (kept / "references-alive/copy").rmdir()
    (kept / "references-alive").rmdir()
    assert done.as_dict()["references"] == {
        "read": 1, "reused": 2, "links": {"words.csv": {"read": 1, "reused": 2}},
    }  # fmt: skip
    assert [words(name) for name in names] == [["one", "two", None]] * 3
    assert list((estate / "lakelogic_warehouse/.lakelogic").glob("references-*")) == []
    (estate / "words.csv").write_text("id,word\n1,uno\n2,due\n")
    again = go(cache_references=True, contracts=("silver_a", "silver_b"))
    assert (again.as_dict()["references"]["reused"], words("a"), words("c")[0]) == (1, ["uno", "due", None], "one")
    assert go().as_dict()["references"] is None
