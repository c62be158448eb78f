"""What is taken for what: groups of files, types, personal data, keys, rules, from values in sight."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lakelogic.errors import SourceError
from lakelogic.infer.columns import look, type_of
from lakelogic.infer.draft import contract
from lakelogic.infer.entities import Entity, infer
from lakelogic.infer.landings import Landing, landings


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-2", "30"], "int"),
        (["1", "3000000000"], "bigint"),
        (["99999999999999999999"], "decimal(38,0)"),
        (["007", "12"], "string"),
        (["1.50", "20"], "decimal(18,2)"),
        (["1e3", "2.5"], "double"),
        (["40.63975111111111", "-73.77892555"], "double"),
        (["true", "FALSE"], "boolean"),
        (["2026-02-28", "2026-03-01"], "date"),
        (["2026-02-28", "2026-02-30"], "string"),
        (["2026-02-28 10:00:00", "2026-02-28T10:00:00Z"], "timestamp"),
        (["N", "S"], "string"),
        ([], "string"),
    ],
)
def test_the_narrowest_type_that_all_values_have(values: list[str], expected: str) -> None:
    assert type_of("x", values)[0] == expected


def test_names_and_looks_decide_where_values_alone_mislead() -> None:
    assert type_of("phone", ["4930123", "4930124"])[0] == "string"
    days = [*["2026-02-01"] * 11, "soon"]
    assert type_of("start_date", days) == ("date", "11 of 12 values are, and its name says so; the others will be bad")
    assert type_of("note", days)[0] == "string"


@pytest.mark.parametrize(
    ("name", "values", "personal"),
    [
        ("contact", ["a@b.de", "c@d.com"], "values look like an e-mail address"),
        ("email", ["n/a"], "its name says an e-mail address"),
        ("fullName", ["Ada"], "its name says a name of a person"),
        ("product_name", ["Bolt"], None),
        ("amount", ["1.20"], None),
    ],
)
def test_personal_data_is_guessed_by_looks_and_by_name(name: str, values: list[str], personal: str | None) -> None:
    assert look(name, values).personal == personal


def test_rules_hold_for_what_was_seen_and_are_only_made_of_much() -> None:
    status = look("status", ["open", "paid", "it's"] * 4)
    assert status.rules[0][:2] == ("status_is_known", "status IN ('it''s', 'open', 'paid')")
    assert look("status", ["open", "paid"]).rules == ()
    assert look("agent_id", ["A1", "A2"] * 10).rules == ()
    assert look("unit price", ["0.50", "2.00"]).rules[0][:2] == ("unit_price_is_not_negative", "`unit price` >= 0")
    assert look("price", ["-0.50", "2.00"]).rules == ()


def lay(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("id\n1\n")


def test_files_that_differ_by_date_or_number_are_one_entity(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "claims_cdc_2026-02-01.csv", "claims_cdc_2026-02-03_late.csv", "regions.csv",
        "orders/2026-02-01.csv", "orders/2026-02-02.csv",
        "items/day=2026-02-01/part-0.csv", "items/day=2026-02-02/part-0.csv",
        "_tmp/half.csv", ".hidden.csv", "notes.txt",
    )  # fmt: skip
    found = {one.entity: (Path(one.folder).name, one.pattern, len(one.files)) for one in landings(str(tmp_path))}
    assert found == {
        "claims": (tmp_path.name, "claims_cdc_*.csv", 2),
        "regions": (tmp_path.name, "regions.csv", 1),
        "orders": ("orders", "*.csv", 2),
        "items": ("items", "**/part-*.csv", 2),
    }


def test_a_pattern_never_means_files_of_another_entity(tmp_path: Path) -> None:
    lay(tmp_path, "sales_1.csv", "sales_2.csv", "sales_returns_1.csv")
    assert {one.entity: one.pattern for one in landings(str(tmp_path))} == {
        "sales": "sales_[0-9]*.csv",
        "sales_returns": "sales_returns_*.csv",
    }


def test_nothing_to_look_at_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nothing to look at"):
        landings(str(tmp_path))
    with pytest.raises(SourceError, match="There is no folder"):
        landings(str(tmp_path / "nowhere"))


def test_keys_changes_and_partitions_of_an_entity(tmp_path: Path) -> None:
    (tmp_path / "orders_1.csv").write_text("order_id,customer_id,updated_at\n1,7,2026-01-01\n2,7,2026-01-01\n")
    (tmp_path / "orders_2.csv").write_text("order_id,customer_id,updated_at\n2,8,2026-01-02\n")
    (tmp_path / "events_1.csv").write_text("kind,load_date\nx,2026-01-01\nx,2026-01-01\n")
    (tmp_path / "events_2.csv").write_text("kind,load_date\ny,2026-01-02\n")
    (tmp_path / "moves_1.csv").write_text("op,move_id,changed_at\nI,1,2026-01-01 08:00:00\nD,1,2026-01-01 09:00:00\n")
    events, moves, orders = (infer(one, 1000) for one in landings(str(tmp_path)))
    assert (orders.key, orders.sequence, orders.merges) == (("order_id",), "updated_at", True)
    assert orders.key_why.startswith("filled in every row, different in every row of a file, and found again")
    assert (events.key, events.merges, events.partition) == ((), False, "load_date")
    assert (moves.operation, moves.deletes, moves.key) == ("op", ("D",), ("move_id",))


def test_json_and_parquet_are_looked_at_too(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "taps_1.jsonl").write_text('{"tap_id": 1, "ok": true}\n{"tap_id": 2, "note": "x"}\nbroken\n')
    pq.write_table(pa.table({"user_id": pa.array([1, 2], pa.int64()), "n": [0.5, 1.5]}), tmp_path / "users.parquet")
    taps, users = (infer(one, 1000) for one in landings(str(tmp_path)))
    assert {column.name: column.type for column in taps.columns} == {"note": "string", "ok": "boolean", "tap_id": "int"}
    assert (taps.rows, taps.broken, taps.key) == (2, 1, ("tap_id",))
    assert {column.name: column.type for column in users.columns} == {"user_id": "bigint", "n": "double"}


def test_coordinates_are_doubles_however_few_digits_they_have() -> None:
    assert type_of("Latitude", ["40.63", "41.1"])[0] == "double"
    assert type_of("amount", ["40.63", "41.10"])[0] == "decimal(18,2)"


def test_words_for_no_value_are_found_beside_numbers_and_written_into_the_contract(workspace: Path) -> None:
    Path("in").mkdir()
    Path("in/flights.csv").write_text("id,delay,word\n1,NA,NULL\n2,5,x\n3,-,y\n")
    entity = infer(landings("in")[0], 100)
    by_name = {column.name: column for column in entity.columns}
    # `NULL` stands only among words, where it may be one.
    assert (by_name["delay"].type, by_name["delay"].filled) == ("int", 1)
    assert entity.nulls == ("NA", "-")
    drafted = contract(entity, "air", "ann")
    assert yaml.safe_load(drafted)["source"]["options"] == {"null_values": ["NA", "-"]}


@pytest.mark.parametrize(
    "name", ["- a", "a: b", "x\ninfo: {owner: eve}", "a # b", "{a}", "&a", "*a", "a\u2028b: c", " a"]
)
def test_names_never_become_yaml_of_their_own(name: str) -> None:
    landing = Landing(name, "in", "*.csv", "csv", ("in/a.csv",), f"all of {name}")
    column = look(name, ["1", "2"])
    entity = Entity(landing, (column,), 2, 0, (name,), f"`{name}` is filled")
    found = yaml.safe_load(contract(entity, "s", name))
    assert found["model"]["fields"][0]["name"] == name
    assert found["info"]["owner"] == name
    assert set(found) == {"version", "info", "source", "model", "materialization"}
