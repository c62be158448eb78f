"""Bounds of a source that cannot hold are told at validate, with their line and what to do; the plan shows the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.actions.author.contracts import explain, validate
from lakelogic.plan.source.watermarks import Bound, bound_told
from lakelogic.run.surroundings import Surroundings
from lakelogic.sql.types import parse_type

CONTRACT = """\
info: {dataset: orders}
source:
  path: landing/*.csv
  load_mode: incremental
%s
model:
  fields: [{name: id, type: int}, {name: at, type: %s}, {name: n, type: int}]
%s
materialization: {target_path: shop.silver.orders%s}
"""
MERGED = ", strategy: merge, primary_key: [id]"


def written(tmp_path: Path, source: str, type_: str = "timestamp", more: str = "", how: str = "") -> str:
    file = tmp_path / "orders.yaml"
    file.write_text(CONTRACT % ("\n".join(f"  {line}" for line in source.split("; ")), type_, more, how))
    return str(file)


MAX, BACK = "watermark_strategy: max_target", "watermark_strategy: lookback"
DAYS = "watermark_strategy: date_range"
STEP = "transformations: [{%s}]"


@pytest.mark.parametrize(
    ("source", "given", "line", "says", "hint"),
    [
        (MAX, {}, 5, "needs `watermark_field`", "watermark_field: updated_at"),
        (f"{MAX}; watermark_field: updated", {}, 6, "The model has no field `updated`", "`id`, `at`, `n`"),
        (f"{MAX}; watermark_field: at", {"type_": "string"}, 6, "the greatest string does not tell", "timestamp"),
        (f"{MAX}; watermark_field: at", {"type_": "double"}, 6, "the greatest double does not tell", "decimal"),
        (
            f"{MAX}; watermark_field: at",
            {"how": ", strategy: overwrite"},
            5,
            "`overwrite` replaces what it has",
            "merge",
        ),
        (f"{MAX}; watermark_field: at", {"type_": "timestamp, masking: hash"}, 6, "`at` is masked", "as it is"),
        (f"{MAX}; watermark_field: at", {"type_": "date, default: 2026-01-01"}, 6, "does not have", "default"),
        (
            f"{MAX}; watermark_field: at",
            {"more": STEP % "derive: {field: at, sql: current_timestamp()}"},
            6,
            "A step changes or removes `at`",
            "another name",
        ),
        (f"{MAX}; watermark_field: at", {"more": STEP % "drop: [at]"}, 6, "A step changes or removes `at`", "as it is"),
        (
            f"{MAX}; watermark_field: at; from_date: 2026-01-01",
            {},
            7,
            "only with `watermark_strategy: date_range`",
            "it",
        ),
        (
            f"{MAX}; watermark_field: at",
            {"how": f"{MERGED}, deletion: {{strategy: follow_source}}"},
            10,
            "`follow_source` needs all of the source",
            "strategy: keep",
        ),
        (f"{MAX}; watermark_field: at; lookback: 1 day", {}, 7, "`lookback` has no effect", "strategy: lookback"),
        (f"{BACK}; watermark_field: at", {"how": MERGED}, 5, "needs `lookback`", "lookback: 7 days"),
        (
            f"{BACK}; watermark_field: at; lookback: 7 days",
            {},
            5,
            "never takes the same input twice",
            "strategy: merge",
        ),
        (
            f"{BACK}; watermark_field: at; lookback: 7 days",
            {"how": MERGED, "type_": "bigint"},
            6,
            "goes back in time",
            "max_target",
        ),
        (f"{DAYS}; watermark_field: at; from_date: 2026-01-01", {}, 5, "needs `to_date`", "included"),
        (
            f"{DAYS}; watermark_field: at; from_date: soon; to_date: 2026-01-02",
            {},
            7,
            "`soon` is no date",
            "2026-01-31",
        ),
        (f"{DAYS}; watermark_field: n; from_date: 2026-01-01; to_date: 2026-01-02", {}, 6, "falls on no day", "date"),
        (
            f"{DAYS}; watermark_field: day; from_date: 2026-01-01; to_date: 2026-01-02",
            {},
            6,
            "cannot be told in the table",
            "reprocess_date_column",
        ),
        ("watermark_field: at", {}, 5, "with load_mode incremental is not available", "max_target"),
    ],
)
def test_what_cannot_hold_is_told_with_its_line(
    tmp_path: Path, source: str, given: dict[str, str], line: int, says: str, hint: str
) -> None:
    found = validate(Surroundings.here(), written(tmp_path, source, **given))
    [told] = [one for one in found.diagnostics if one.severity == "error"]
    assert told.where.line == line
    assert says in told.message
    assert hint in str(told.hint)


def test_changes_are_not_bounded(tmp_path: Path) -> None:
    file = written(tmp_path, f"{MAX}; cdc_op_field: op", how=MERGED)
    Path(file).write_text(Path(file).read_text().replace("load_mode: incremental", "load_mode: cdc"))
    [told] = [one for one in validate(Surroundings.here(), file).diagnostics if one.severity == "error"]
    assert "only with `load_mode: incremental`" in told.message


@pytest.mark.parametrize(
    ("source", "how", "shown"),
    [
        (f"{MAX}; watermark_field: at", "", "rows whose at is after the greatest one in the table"),
        (
            f"{BACK}; watermark_field: at; lookback: 7 days",
            MERGED,
            "rows whose at is from 7 days before the greatest one in the table",
        ),
        (
            f"{DAYS}; watermark_field: at; from_date: 2026-01-01; to_date: 2026-01-31",
            "",
            "rows whose at is on 2026-01-01 to 2026-01-31",
        ),
    ],
)
def test_the_plan_shows_the_bound(tmp_path: Path, source: str, how: str, shown: str) -> None:
    plan = explain(Surroundings.here(), written(tmp_path, source, how=how))
    assert f"Watermark\n                 {shown}\n" in plan.text
    assert [node["detail"] for node in plan.data["accounts"][0]["nodes"] if node["label"] == "watermark"] == [[shown]]


@pytest.mark.parametrize(
    ("type_", "greatest", "taken", "left"),
    [
        ("timestamp", "2026-02-01T10:00:00+00:00", "2026-02-01T12:00:00.000001+02:00", "2026-02-01T12:00:00+02:00"),
        ("timestamp_ntz", "2026-02-01T10:00:00", "2026-02-01 10:00:01", "2026-02-01 10:00:00"),
        ("date", "2026-02-01", "2026-02-02", "2026-02-01"),
        ("bigint", "10", 11, 9),
        ("decimal(10,2)", "1.10", "1.11", "1.1"),
    ],
)
def test_a_bound_is_the_same_after_it_was_written_down(type_: str, greatest: str, taken: object, left: object) -> None:
    told = {"strategy": "max_target", "field": "at", "type": type_, "after": greatest}
    bound = bound_told({"watermark": told})
    assert bound is not None
    assert bound.as_dict() == told
    assert (bound.takes(taken), bound.takes(left), bound.takes("what"), bound.takes(None)) == (
        True,
        False,
        False,
        False,
    )
    assert bound_told({"watermark": bound.as_dict()}) == bound


def test_a_bound_that_is_open_takes_everything() -> None:
    bound = Bound("max_target", "at", parse_type("date"))
    assert (bound.is_open, bound.takes("2026-01-01"), bound.start) == (True, True, None)
