"""The staging pass: rows go to the files of their side, masked, in exact types, and are counted."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakelogic.engines.arrow import stage as arrow_stage
from lakelogic.errors import EngineError, TableError
from lakelogic.names import COPY, FATE, SIDE
from lakelogic.plan.nodes import Mask, Published
from lakelogic.privacy.keys import Keys
from lakelogic.sql.types import BIGINT, INT, STRING, TIMESTAMP, Type, array, to_arrow

MAP = Type("map", key=STRING, element=STRING)
COLUMNS = (
    Published("id", INT, True, True),
    Published("email", STRING, True, True),
    Published("at", TIMESTAMP, True, False),
    Published("errors", array(STRING), False, True),
    Published("original", MAP, False, True),
)
AT = datetime(2024, 1, 5, 10, tzinfo=UTC)


def batch(rows):
    """Rows of (id, email, fate, side), and the copy where there is one."""
    size = len(rows)
    return pa.record_batch(
        {
            "id": pa.array([row[0] for row in rows], pa.int64()),
            "email": pa.array([row[1] for row in rows], pa.large_string()),
            "at": pa.array([AT] * size, pa.timestamp("us", tz="UTC")),
            "errors": pa.array([["e"]] * size, pa.large_list(pa.large_string())),
            "original": pa.array([[("k", None)]] * size, pa.map_(pa.large_string(), pa.large_string())),
            FATE: pa.array([row[2] for row in rows], pa.int64()),
            COPY: pa.array([row[4] if len(row) > 4 else 0 for row in rows], pa.int64()),
            SIDE: pa.array([row[3] for row in rows], pa.string()),
        }
    )


def test_rows_go_to_their_side_and_lost_rows_are_counted_by_fate(tmp_path):
    rows = [
        (1, "a", 0, "good"),
        (2, "b", 0, "bad"),
        (3, "c", 7, None),
        (4, "d", 7, None),
        (5, "e", 2, None),
        (6, "f", 0, "good"),
    ]
    staged = arrow_stage.stage([batch(rows), batch(rows[:1])], COLUMNS, (), Keys(), str(tmp_path / "place"))
    (good,), (bad,) = staged.good, staged.bad
    assert staged.fates == {2: 1, 7: 2}
    assert (good.rows, bad.rows) == (3, 1)
    assert good.path == str(tmp_path / "place" / "good" / "part-00000.parquet")
    assert bad.size == Path(bad.path).stat().st_size
    assert pq.ParquetFile(good.path).read().column("id").to_pylist() == [1, 6, 1]


def test_files_have_exactly_the_columns_and_types_of_their_side(tmp_path):
    staged = arrow_stage.stage(
        [batch([(1, "a", 0, "good"), (2, "b", 0, "bad")])], COLUMNS, (), Keys(), str(tmp_path / "p")
    )
    good, bad = (pq.ParquetFile(files[0].path) for files in (staged.good, staged.bad))
    assert good.schema_arrow.names == ["id", "email", "at"]
    assert bad.schema_arrow.names == ["id", "email", "errors", "original"]
    assert [good.schema_arrow.field(n).type for n in ("id", "email", "at")] == [
        pa.int32(),
        pa.string(),
        to_arrow(TIMESTAMP),
    ]
    assert bad.read().column("original").to_pylist() == [[("k", None)]]
    column = good.metadata.row_group(0).column(0)
    assert (column.compression, column.statistics.min, column.statistics.max) == ("ZSTD", 1, 1)


def test_both_sides_are_masked_before_anything_is_written(tmp_path):
    masks = (Mask("email", "redact"),)
    staged = arrow_stage.stage(
        [batch([(1, "secret", 0, "good"), (2, "secret", 0, "bad")])], COLUMNS, masks, Keys(), str(tmp_path / "p")
    )
    for file in (*staged.good, *staged.bad):
        assert pq.ParquetFile(file.path).read().column("email").to_pylist() == ["***"]
        assert b"secret" not in Path(file.path).read_bytes()


def test_a_side_without_rows_has_no_file(tmp_path):
    staged = arrow_stage.stage([batch([(1, "a", 0, "good")])], COLUMNS, (), Keys(), str(tmp_path / "one"))
    assert staged.bad == ()
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["good"]
    nothing = arrow_stage.stage([], COLUMNS, (), Keys(), str(tmp_path / "none"))
    assert (nothing.good, nothing.bad, nothing.fates, list((tmp_path / "none").iterdir())) == ((), (), {}, [])


def test_a_folder_that_is_there_is_refused_and_stays_as_it_is(tmp_path):
    there = tmp_path / "place" / "good" / "part-00000.parquet"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"of a table by now")
    with pytest.raises(TableError, match="is there already"):
        arrow_stage.stage([batch([(1, "a", 0, "good")])], COLUMNS, (), Keys(), str(tmp_path / "place"))
    assert there.read_bytes() == b"of a table by now"


def test_large_and_small_batches_are_split_alike(tmp_path, monkeypatch):
    rows = [(n, str(n), n % 5, ("good", "bad", None)[n % 3]) for n in range(100)]
    small = arrow_stage.stage([batch(rows)], COLUMNS, (), Keys(), str(tmp_path / "small"))
    monkeypatch.setattr(arrow_stage, "FEW_ROWS", 0)
    large = arrow_stage.stage([batch(rows)], COLUMNS, (), Keys(), str(tmp_path / "large"))
    assert small.fates == large.fates
    assert sum(small.fates.values()) == 33
    for one, two in ((small.good, large.good), (small.bad, large.bad)):
        assert pq.ParquetFile(one[0].path).read() == pq.ParquetFile(two[0].path).read()


def test_a_full_file_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_stage, "MOST_ROWS", 2)
    batches = [batch([(n, "a", 0, "good")]) for n in range(5)]
    staged = arrow_stage.stage(batches, COLUMNS, (), Keys(), str(tmp_path / "p"))
    assert [(Path(file.path).name, file.rows) for file in staged.good] == [
        ("part-00000.parquet", 2),
        ("part-00001.parquet", 2),
        ("part-00002.parquet", 1),
    ]


def test_a_side_that_does_not_exist_is_a_defect(tmp_path):
    with pytest.raises(EngineError, match="`ugly`"):
        arrow_stage.stage([batch([(1, "a", 0, "ugly")])], COLUMNS, (), Keys(), str(tmp_path / "p"))


def test_a_number_that_does_not_fit_its_declared_type_stops_the_pass(tmp_path):
    wrong = batch([(2**40, "a", 0, "good")])
    with pytest.raises(pa.ArrowInvalid):
        arrow_stage.stage(
            [wrong],
            (Published("id", INT, True, True), Published("n", BIGINT, False, False)),
            (),
            Keys(),
            str(tmp_path / "p"),
        )


@pytest.mark.parametrize("times", [1, 500])
def test_copies_are_counted_whether_their_row_is_lost_or_not_and_are_not_written(tmp_path, times):
    rows = [
        (1, "a", 0, "good", 0),
        (1, "a", 0, "good", 3),
        (1, "a", 7, None, 3),
        (2, "b", 0, "bad", 4),
    ] * times
    staged = arrow_stage.stage([batch(rows)], COLUMNS, (), Keys(), str(tmp_path / "place"))
    assert staged.copies == {3: 2 * times, 4: times}
    assert staged.fates == {7: times}
    assert pq.ParquetFile(staged.good[0].path).schema_arrow.names == ["id", "email", "at"]


def test_only_values_that_repeat_get_a_dictionary(tmp_path):
    rows = [(number, "same", 0, "good") for number in range(5_000)]
    staged = arrow_stage.stage([batch(rows)], COLUMNS, (), Keys(), str(tmp_path / "place"))
    group = pq.ParquetFile(staged.good[0].path).metadata.row_group(0)
    kinds = {group.column(i).path_in_schema: group.column(i).encodings for i in range(group.num_columns)}
    assert "RLE_DICTIONARY" in kinds["email"]
    assert "RLE_DICTIONARY" not in kinds["id"]
    assert pq.read_table(staged.good[0].path).column("id").to_pylist() == list(range(5_000))
