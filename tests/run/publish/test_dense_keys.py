"""Whole-number keys are shown to be unique without an engine; what cannot be shown so is left to it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakelogic import DataProcessor
from lakelogic.run.publish import dense_keys, measures


def files(tmp_path, *parts, kind=None, **options):
    paths = []
    for at, values in enumerate(parts):
        path = tmp_path / f"part-{at}.parquet"
        pq.write_table(
            pa.table({"other": [0] * len(values), "id": pa.array(values, kind or pa.int64())}), path, **options
        )
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_values_that_differ_across_files_are_shown_to_differ(tmp_path, kind):
    assert dense_keys.all_differ(files(tmp_path, [3, 1], [2, -5], kind=kind), "id")


def test_nulls_do_not_count(tmp_path):
    assert dense_keys.all_differ(files(tmp_path, [1, None, 2], [None, None]), "id")


@pytest.mark.parametrize("parts", [([1, 2], [2, 3]), ([7, 7],), ([0, None, 0],)])
def test_a_value_that_repeats_is_not_shown_to_differ(tmp_path, parts):
    assert not dense_keys.all_differ(files(tmp_path, *parts), "id")


@pytest.mark.parametrize(
    ("values", "kind", "options"),
    [
        (["a", "b"], pa.string(), {}),
        ([1.0, 2.0], pa.float64(), {}),
        ([1, 2], pa.uint32(), {}),
        ([0, 10**12], pa.int64(), {}),
        ([-(2**63), 2**63 - 1], pa.int64(), {}),
        ([1, 2], pa.int64(), {"write_statistics": False}),
        ([], pa.int64(), {}),
        ([None], pa.int64(), {}),
    ],
)
def test_what_footers_do_not_tell_or_lies_too_far_apart_is_left_to_the_engine(tmp_path, values, kind, options):
    assert not dense_keys.all_differ(files(tmp_path, values, kind=kind, **options), "id")


def test_a_column_that_a_file_lacks_is_left_to_the_engine(tmp_path):
    assert not dense_keys.all_differ(files(tmp_path, [1, 2]), "key")


def test_a_part_of_another_column_is_not_taken_for_the_key(tmp_path):
    path = tmp_path / "nested.parquet"
    people = [{"id": 100}, {"id": 200}, {"id": 300}]
    pq.write_table(pa.table({"person": people, "id": [1, 2, 3], "person.id": [1, 1, 1]}), path)
    assert dense_keys.all_differ([str(path)], "id")
    assert not dense_keys.all_differ([str(path)], "person.id")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.one_of(st.none(), st.integers(-20, 60)), max_size=30), min_size=1, max_size=3))
def test_it_never_calls_repeated_values_different(tmp_path_factory, parts):
    values = [value for part in parts for value in part if value is not None]
    shown = dense_keys.all_differ(files(tmp_path_factory.mktemp("keys"), *parts, row_group_size=7), "id")
    assert not (shown and len(set(values)) != len(values))


@pytest.mark.parametrize(("last", "passed"), [(59_999, True), (0, False)])
def test_a_rule_over_many_rows_finds_the_one_that_repeats(tmp_path, monkeypatch, last, passed):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [*range(59_999), last]}), "rows.parquet")
    assert measures.SMALL < 60_000
    contract = {
        "dataset": "orders",
        "source": {"path": "rows.parquet"},
        "model": {"fields": [{"name": "id", "type": "bigint"}]},
        "quality": {"dataset_rules": [{"unique": "id"}]},
        "materialization": {"strategy": "append", "target_path": "lake.silver.orders"},
    }
    result = DataProcessor(contract, "duckdb").run()
    (rule,) = [one for one in result.report["dataset_rules"] if "unique" in one["name"]]
    assert rule["passed"] is passed
