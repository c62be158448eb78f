"""Replay: rows as they landed, judged by the contract as it is now, each published once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lakelogic import DataProcessor
from lakelogic.errors import UnsupportedError
from lakelogic.quarantine.queue import Chosen
from lakelogic.run.faults import InjectedFault

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
ORDERS: dict[str, Any] = {
    "dataset": "orders",
    "source": {"path": "in.csv"},
    "model": {"fields": [{"name": "id", "type": "int", "required": True}, {"name": "amount", "type": "int", "min": 0}]},
    "materialization": {"target_path": "shop.silver.orders"},
}
STAMPS = ("_lakelogic_processed_at", "_lakelogic_run_id", "_lakelogic_created_at")


def changed(document: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The document with another value at a path."""
    made = deepcopy(dict(document))
    *above, last = path.split(".")
    inner: Any = made
    for part in above:
        inner = inner[int(part)] if part.isdigit() else inner.setdefault(part, {})
    inner[last] = value
    return made


def good() -> list[dict[str, Any]]:
    return _rows("shop/silver/orders")


def bad(state: str | None = "active") -> list[dict[str, Any]]:
    return [row for row in _rows("shop/quarantine/silver_orders") if state in (None, row["quarantine_state"])]


def _rows(place: str) -> list[dict[str, Any]]:
    return sorted(DeltaTable(f"lakelogic_warehouse/{place}").to_pyarrow_table().to_pylist(), key=repr)


def ids(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted((row["id"] for row in rows), key=repr)


Act = Callable[..., Any]


@pytest.fixture
def run(engine: Any, workspace: Path) -> Act:
    def act(document: Mapping[str, Any], text: str | None = None) -> Any:
        if text is not None:
            Path("in.csv").write_text(text)
        with DataProcessor(document, engine) as processor:
            return processor.run()

    return act


@pytest.fixture
def replay(engine: Any, workspace: Path) -> Act:
    def act(document: Mapping[str, Any], **chosen: Any) -> Any:
        with DataProcessor(document, engine) as processor:
            return processor.replay(Chosen(**chosen))

    return act


ROWS = "id,amount\n1,10\n2,-5\n2,-5\n,3\n4,abc\n"
MENDED = changed(ORDERS, "model.fields.1.min", -10)


def test_what_passes_is_published_once_and_leaves_the_queue(run: Act, replay: Act) -> None:
    run(ORDERS, ROWS)
    before = {row["_lakelogic_row_id"]: row for row in bad()}
    done = replay(MENDED)
    assert (done.status, done.chosen, done.passed, done.failed) == ("succeeded", 4, 2, 2)
    assert [(row["id"], row["amount"]) for row in good()] == [(1, 10), (2, -5), (2, -5)]
    left = bad("replayed")
    assert ids(left) == [2, 2]
    assert {row["_lakelogic_settled_by"] for row in left} == {done.result.run_id}
    assert all(row["_lakelogic_row_id"] in before for row in left)
    again = replay(MENDED)
    assert (again.passed, again.failed) == (0, 2)
    assert len(good()) == 3


def test_what_fails_again_stays_with_its_new_reasons_under_its_first_id(run: Act, replay: Act) -> None:
    run(ORDERS, ROWS)
    first = {row["_lakelogic_row_id"]: row for row in bad()}
    done = replay(changed(MENDED, "model.fields.0.required", False) | {"version": "2.0.0"})
    assert (done.passed, done.failed) == (3, 1)
    [row] = bad()
    assert row["_lakelogic_errors"] == ["Type mismatch: amount cannot be cast to int"]
    assert row["_lakelogic_contract_version"] == "2.0.0"
    assert row["_lakelogic_run_id"] == done.result.run_id
    was = first[row["_lakelogic_row_id"]]
    assert (row["_lakelogic_batch_id"], row["_lakelogic_raw"]) == (was["_lakelogic_batch_id"], was["_lakelogic_raw"])
    assert row["_lakelogic_original"] == was["_lakelogic_original"]


def test_a_published_row_still_tells_the_file_it_came_from(run: Act, replay: Act) -> None:
    run(ORDERS, ROWS)
    replay(MENDED)
    assert {row["_lakelogic_source"] for row in good()} == {str(Path("in.csv").absolute())}


def test_only_the_chosen_rows_are_judged_again(run: Act, replay: Act) -> None:
    run(ORDERS, ROWS)
    everything = changed(MENDED, "model.fields.0.required", False)
    assert replay(everything, rules=("id_required",)).passed == 1
    assert ids(good()) == [1, None]
    assert replay(everything, categories=("schema",)).chosen == 1
    one = bad()[0]["_lakelogic_row_id"]
    assert replay(everything, rows=(one,)).chosen == 1


def test_rows_whose_line_could_not_be_read_stay_and_are_told(run: Act, replay: Act) -> None:
    run(ORDERS, "id,amount\n1,-1\n2\n3,1\n")
    done = replay(MENDED)
    assert done.passed == 1
    assert dict(done.left_out) == {"its line could not be read: mend the file and run again": 1}
    assert [row["_lakelogic_rules"] for row in bad()] == [["unreadable"]]


def test_nothing_to_replay_is_no_run(run: Act, replay: Act) -> None:
    run(ORDERS, "id,amount\n1,1\n")
    assert replay(ORDERS).status == "no_new_data"


PERSONAL = changed(ORDERS, "model.fields.1.masking", "encrypt")


def test_personal_rows_are_opened_with_the_key_and_masked_again(
    run: Act, replay: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKELOGIC_PII_KEY", KEY)
    run(PERSONAL, ROWS)
    assert replay(changed(PERSONAL, "model.fields.1.min", -10)).passed == 2
    assert ids(good()) == [1, 2, 2]
    assert all(row["amount"].startswith("enc:") for row in good())
    assert all(row["_lakelogic_raw"].startswith("enc:") for row in bad(None))


def test_without_a_kept_row_nothing_can_be_replayed_and_that_is_said(run: Act, replay: Act) -> None:
    document = changed(ORDERS, "model.fields.1.pii", True)
    run(document, ROWS)
    done = replay(changed(document, "model.fields.1.min", -10))
    assert (done.status, done.passed) == ("no_new_data", 0)
    assert dict(done.left_out) == {"the row as it landed was not kept": 4}
    assert len(bad()) == 4


def test_reference_data_that_came_later_lets_rows_pass(run: Act, replay: Act) -> None:
    Path("known.csv").write_text("code\na\n")
    document = changed(ORDERS, "links", [{"name": "known", "path": "known.csv"}])
    document["quality"] = {
        "row_rules": [{"referential_integrity": {"field": "code", "reference": "known", "key": "code"}}]
    }
    run(document, "id,amount,code\n1,1,a\n2,1,b\n3,1,c\n")
    assert ids(bad()) == [2, 3]
    Path("known.csv").write_text("code\na\nb\n")
    done = replay(document)
    assert (done.passed, done.failed) == (1, 1)
    assert ids(good()) == [1, 2]
    assert ids(bad()) == [3]


@pytest.mark.parametrize("strategy", ["append", "overwrite", "merge"])
def test_rows_are_added_by_the_strategy_and_never_replace_the_table(run: Act, replay: Act, strategy: str) -> None:
    document = changed(ORDERS, "materialization.strategy", strategy) | {"primary_key": ["id"]}
    run(document, "id,amount\n1,10\n2,-5\n3,7\n")
    replay(changed(document, "model.fields.1.min", -10))
    assert [(row["id"], row["amount"]) for row in good()] == [(1, 10), (2, -5), (3, 7)]


def test_json_lands_again_with_its_nested_values_and_numbers_as_written(run: Act, replay: Act) -> None:
    lines = [
        '{"id": 1, "amount": -1, "tags": ["a", {"b": 1.50}], "Note": "x"}',
        '{"id": 2, "amount": 5, "tags": null}',
        '{"id": 3, "amount": -3.5}',
    ]
    Path("in.ndjson").write_text("\n".join(lines))
    document = changed(ORDERS, "source.path", "in.ndjson")
    run(document)
    done = replay(changed(document, "model.fields.1.min", -10))
    assert (done.passed, done.failed) == (1, 1)
    assert [(row["id"], row["tags"], row["Note"]) for row in good()] == [
        (1, '["a",{"b":1.50}]', "x"), (2, None, None),
    ]  # fmt: skip
    assert [row["_lakelogic_errors"] for row in bad()] == [["Type mismatch: amount cannot be cast to int"]]


def test_typed_sources_land_again_in_their_types(run: Act, replay: Act) -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    at = datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "amount": pa.array([3.0, -4.0], pa.float64()),
            "price": pa.array([Decimal("1.50"), Decimal("2.25")], pa.decimal128(9, 2)),
            "on": pa.array([date(2026, 1, 1), date(2026, 1, 2)]),
            "at": pa.array([at, at], pa.timestamp("us", "UTC")),
            "parts": pa.array([[{"n": 1}], [{"n": 2}, None]]),
        }
    )
    pq.write_table(table, "in.parquet")
    document = changed(ORDERS, "source.path", "in.parquet")
    run(document)
    assert replay(changed(document, "model.fields.1.min", -10)).passed == 1
    rows = {row["id"]: row for row in good()}
    assert (rows[2]["amount"], rows[2]["price"], rows[2]["on"], rows[2]["at"], rows[2]["parts"]) == (
        -4, Decimal("2.25"), date(2026, 1, 2), at, [{"n": 2}, None],
    )  # fmt: skip


def test_folders_that_are_columns_come_back(run: Act, replay: Act) -> None:
    for day, amount in (("2026-01-01", 1), ("2026-01-02", -1)):
        folder = Path(f"landing/day={day}")
        folder.mkdir(parents=True)
        (folder / "a.ndjson").write_text(json.dumps({"id": 1, "amount": amount}))
    document = changed(ORDERS, "source", {"path": "landing/**/*.ndjson"})
    document["model"]["fields"].append({"name": "day", "type": "date"})
    run(document)
    assert replay(changed(document, "model.fields.1.min", -10)).passed == 1
    assert sorted(str(row["day"]) for row in good()) == ["2026-01-01", "2026-01-02"]


def test_a_part_of_a_landed_row_is_not_replayed_because_its_other_parts_are_published(run: Act, replay: Act) -> None:
    document = changed(ORDERS, "transformations", [{"split": {"field": "codes", "delimiter": "|", "output": "code"}}])
    document["transformations"].append({"explode": {"field": "code", "output": "code"}})
    document["quality"] = {"row_rules": [{"name": "short", "sql": "length(code) = 1", "phase": "post"}]}
    run(document, "id,amount,codes\n1,1,a|bb|c\n2,-1,d|ee\n")
    assert sorted((row["id"], row["code"]) for row in good()) == [(1, "a"), (1, "c")]
    mended = changed(document, "model.fields.1.min", -10)
    done = replay(mended)
    assert dict(done.left_out) == {"the row as it landed was not kept": 1}
    assert (done.passed, done.failed) == (1, 0)
    assert sorted((row["id"], row["code"]) for row in good()) == [(1, "a"), (1, "c"), (2, "d")]
    assert sorted((row["id"], row["code"]) for row in bad()) == [(1, "bb"), (2, "ee")]
    assert replay(mended).chosen == 2
    assert len(good()) == 3


@pytest.mark.parametrize("point", ["after_quarantine_commit", "after_good_commit"])
def test_a_row_that_fails_in_part_survives_a_crash_whole(
    run: Act, replay: Act, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = changed(ORDERS, "transformations", [{"split": {"field": "codes", "delimiter": "|", "output": "code"}}])
    document["transformations"].append({"explode": {"field": "code", "output": "code"}})
    document["quality"] = {
        "row_rules": [{"name": "short", "sql": "length(code) = 1", "phase": "post"}],
        "max_quarantine_ratio": 1,
    }
    run(document, "id,amount,codes\n2,-1,d|ee|f\n")
    mended = changed(document, "model.fields.1.min", -10)
    monkeypatch.setenv("LAKELOGIC_FAULT", f"{point}:raise")
    with pytest.raises(InjectedFault):
        replay(mended)
    monkeypatch.delenv("LAKELOGIC_FAULT")
    replay(mended | {"version": "2.0.0"})
    assert [row["code"] for row in good()] == ["d", "f"]
    assert [row["code"] for row in bad()] == ["ee"]
    assert [row["id"] for row in bad("replayed")] == [2]


def test_a_row_that_stands_in_two_versions_of_a_file_is_one_row(run: Act, replay: Act) -> None:
    run(ORDERS, "id,amount\n2,-5\n")
    run(ORDERS, "id,amount\n2,-5\n3,1\n")
    assert ids(bad()) == [2]
    assert replay(MENDED).passed == 1
    assert ids(good()) == [2, 3]
    run(MENDED, "id,amount\n3,1\n")  # what was replayed came from the file too, and goes with its earlier version
    assert ids(good()) == [3]


def test_a_contract_that_gathers_rows_is_refused(run: Act, replay: Act) -> None:
    document = changed(
        ORDERS, "transformations", [{"rollup": {"group_by": ["id"], "aggregations": {"total": "sum(amount)"}}}]
    )
    run(document, ROWS)
    with pytest.raises(UnsupportedError, match="makes one row of several"):
        replay(changed(document, "model.fields.1.min", -10))


def test_a_gate_that_closes_leaves_the_rows_in_the_queue(run: Act, replay: Act) -> None:
    rule = {"name": "small", "sql": "SELECT max(amount) < 100 FROM source"}
    document = changed(ORDERS, "quality", {"dataset_rules": [rule, {"row_count_between": {"min": 2}}]})
    run(document, "id,amount\n1,1\n2,2\n3,-1\n4,-500\n")
    odd = changed(document, "quality.dataset_rules.0.sql", "SELECT min(amount) > -100 FROM source")
    odd = changed(odd, "model.fields.1.min", -1000)
    done = replay(odd)
    assert (done.status, done.result.published) == ("gated", False)
    assert ids(good()) == [1, 2]
    assert ids(bad()) == [3, 4]
    only = replay(odd, rows=tuple(row["_lakelogic_row_id"] for row in bad() if row["id"] == 3))
    assert only.status == "succeeded"
    assert ids(good()) == [1, 2, 3]
