"""How days cut a contract: files or rows, which column of the table they replace, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from lakelogic.contract.document import Contract
from lakelogic.errors import DataError, UnsupportedError, UsageError
from lakelogic.plan.nodes import Published
from lakelogic.plan.source.days import Days
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run.input.days import Asked, Cut, decide, newest_day, reaching_over, refuse_gone, takes_back
from lakelogic.run.input.pin import pin_files
from lakelogic.sql.types import INT, TIMESTAMP
from lakelogic.storage.local import FileInfo

FIRST, LAST = date(2026, 5, 2), date(2026, 5, 3)
DAYS = Days(FIRST, LAST)
COLUMNS = (Published("id", INT, True, True), Published("At", TIMESTAMP, True, True))
AT = {"watermark_field": "at"}
FULL, ONCE = {"load_mode": "full"}, {"load_mode": "incremental"}


def contract(source: dict[str, Any], **how: Any) -> Contract:
    settings = {"target_path": "shop.silver.orders", **how}
    fields = [{"name": "id", "type": "int"}, {"name": "at", "type": "timestamp"}]
    document = {"source": {"path": "landing/*.csv", **source}, "model": {"fields": fields}, "primary_key": ["id"]}
    return Contract.model_validate({**document, "materialization": settings})


def chosen(document: Contract, asked: Asked, columns: tuple[Published, ...] = COLUMNS) -> tuple[Cut | None, str]:
    return decide(document, strategy_of(document), asked, columns)


@pytest.mark.parametrize(
    ("source", "how", "again", "by", "column"),
    [
        (ONCE, {"strategy": "append"}, False, "files", None),  # files are read once: nothing stands there yet
        (ONCE | AT, {"strategy": "append"}, True, "files", "At"),
        (FULL | AT, {"strategy": "append"}, False, "rows", "At"),  # rows are read again, so they replace
        (FULL | AT, {"strategy": "append", "reprocess_policy": "append"}, False, "rows", None),
        (FULL | AT, {"strategy": "overwrite"}, False, "rows", "At"),
        (FULL | AT, {"strategy": "merge"}, False, "rows", None),  # a key finds its row
        (FULL | AT, {"strategy": "merge"}, True, "rows", "At"),
        (FULL | AT, {"scd2": {"timestamp_field": "at"}}, True, "rows", None),  # a history is told again
        (FULL | AT, {"strategy": "overwrite", "reprocess_date_column": "day"}, False, "rows", "day"),
        (ONCE, {"strategy": "overwrite", "partition_by": ["at"]}, False, "files", "At"),
    ],
)
def test_what_is_cut_and_what_is_replaced(source, how, again: bool, by: str, column: str | None) -> None:
    cut, _ = chosen(contract(source, **how), Asked(DAYS, again=again))
    assert cut is not None
    assert (cut.by, cut.column, cut.days) == (by, column, DAYS)


def test_without_a_column_that_places_rows_everything_is_read() -> None:
    cut, told = chosen(contract(FULL, strategy="overwrite"), Asked(DAYS))
    assert cut is None
    assert told == "full: the contract has no source.watermark_field that would place its rows in time"


def test_a_table_without_a_day_is_replaced_as_a_whole_or_refused() -> None:
    only_id = COLUMNS[:1]
    cut, told = chosen(contract(FULL | AT, strategy="overwrite"), Asked(DAYS), only_id)
    assert (cut, told.partition(":")[0]) == (None, "full")
    with pytest.raises(UnsupportedError, match="no column of the table"):
        chosen(contract(FULL | AT, strategy="append"), Asked(DAYS), only_id)


def test_days_are_not_processed_again_where_the_contract_forbids_it() -> None:
    document = contract(FULL | AT, strategy="append", reprocess_policy="fail")
    with pytest.raises(UsageError, match="may not be processed again"):
        chosen(document, Asked(DAYS, again=True))
    assert chosen(document, Asked(DAYS))[0] is not None


def test_a_window_reaches_back_for_rows_that_come_late() -> None:
    document = contract(FULL | AT | {"lookback": "36h"}, strategy="append")
    cut, _ = chosen(document, Asked(DAYS, late=True))
    assert cut is not None
    assert cut.days == Days(date(2026, 4, 30), LAST)
    cut, _ = chosen(document, Asked(DAYS))
    assert cut is not None
    assert cut.days == DAYS


@pytest.mark.parametrize(
    ("how", "replaces"),
    [
        ({"strategy": "append"}, True),
        ({"strategy": "merge"}, True),
        ({"strategy": "append", "reprocess_policy": "append"}, False),
        ({"scd2": {"timestamp_field": "at"}}, False),
    ],
)
def test_what_days_that_are_processed_again_replace(how: dict[str, Any], replaces: bool) -> None:
    document = contract(FULL | AT, **how)
    assert takes_back(document, strategy_of(document)) is replaces


def files(*names: str) -> Any:
    return pin_files(tuple(FileInfo(f"/landing/{name}", 1, 1) for name in names), "csv", "landing")


def test_files_of_a_month_are_read_and_replaced_as_a_whole() -> None:
    cut = reaching_over(Cut(DAYS, "files", column="at"), files("orders_2026-05.csv"))
    assert cut.days == Days(date(2026, 5, 1), date(2026, 5, 31))
    assert reaching_over(Cut(DAYS, "files"), files("orders_2026-05-03.csv")).days == DAYS


def test_days_are_not_replaced_where_one_of_their_files_is_gone() -> None:
    cut, there = Cut(DAYS, "files", column="at"), files("orders_2026-05-03.csv")
    before = ["/landing/orders_2026-05-02.csv", "/landing/orders_2026-04-01.csv", "/landing/notes.csv"]
    with pytest.raises(DataError, match=r"gone.*with them: /landing/orders_2026-05-02\.csv\."):
        refuse_gone(cut, there, before)
    refuse_gone(cut, there, before[1:])
    refuse_gone(Cut(DAYS, "files"), there, before)  # nothing is replaced
    refuse_gone(cut, files(), before)  # nothing came


def test_the_last_day_that_was_read_is_that_of_the_window_or_of_the_files() -> None:
    assert newest_day(files("a_2026-05-02.csv"), Cut(DAYS, "rows")) == "2026-05-03"
    assert newest_day(files("a_2026-05-02.csv", "a_2026-W01.csv", "notes.csv"), None) == "2026-05-02"
    assert newest_day(files("notes.csv"), None) is None
