"""What a source path means: files, folders, globs; and whether they changed since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lakelogic.errors import SourceError, UnsupportedError, UsageError
from lakelogic.storage.local import changes, fingerprint, list_files, local_path, still_the_same


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    for name in [
        "customers/b.csv",
        "customers/a.csv",
        "customers/OLD.CSV",
        "customers/c.csv.gz",
        "customers/README.txt",
        "customers/readme.csv",
        "customers/d.json",
        "customers/e.ndjson",
        "customers/notes.txt",
        "customers/.hidden.csv",
        "customers/_SUCCESS",
        "customers/_draft.csv",
        "customers/2026/x.csv",
        "customers/_temporary/y.csv",
    ]:
        path = tmp_path / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("id\n1\n")
    (tmp_path / "landing/customers/empty.csv").write_text("")
    return tmp_path / "landing"


def names(files, root):
    return [str(Path(file.path).relative_to(root)) for file in files]


def test_a_folder_means_the_files_of_the_format_directly_in_it(landing):
    folder = landing / "customers"
    found = list_files(str(folder), file_format="csv")
    assert names(found, folder) == ["OLD.CSV", "a.csv", "b.csv", "c.csv.gz", "empty.csv"]
    assert [file.size for file in found][-1] == 0
    assert names(list_files(str(folder), file_format="json"), folder) == ["d.json", "e.ndjson"]
    assert list_files(str(folder), file_format="parquet") == ()


def test_a_pattern_chooses_the_files_of_a_folder(landing):
    folder = landing / "customers"
    assert names(list_files(str(folder), file_format="csv", pattern="*.txt"), folder) == ["notes.txt"]
    assert names(list_files(str(folder), file_format="csv", pattern="**/x*.csv"), folder) == ["2026/x.csv"]
    with pytest.raises(UsageError, match="leaves the folder"):
        list_files(str(folder), file_format="csv", pattern="../*.csv")


def test_a_glob_leaves_out_what_is_never_data(landing):
    found = list_files(str(landing / "**" / "*.csv"), file_format="csv")
    assert names(found, landing) == [
        "customers/2026/x.csv",
        "customers/a.csv",
        "customers/b.csv",
        "customers/empty.csv",
    ]


def test_a_star_without_a_suffix_means_files_of_the_format(landing):
    assert names(list_files(str(landing / "customers" / "*"), file_format="json"), landing) == [
        "customers/d.json",
        "customers/e.ndjson",
    ]


def test_a_glob_that_matches_nothing_gives_no_files(landing):
    assert list_files(str(landing / "customers" / "*.avro"), file_format="csv") == ()


def test_a_glob_in_a_folder_that_is_not_there_is_an_error(landing):
    with pytest.raises(SourceError, match="custmers") as error:
        list_files(str(landing / "custmers" / "*.csv"), file_format="csv")
    assert str(error.value.hint) == f"did you mean {landing / 'customers'}?"


def test_a_file_that_is_named_is_read_whatever_it_is_called(landing):
    [file] = list_files(str(landing / "customers" / "README.txt"), file_format="csv")
    assert (file.path, file.size) == (str(landing / "customers" / "README.txt"), 5)


def test_a_file_whose_name_looks_like_a_glob_is_itself(tmp_path):
    odd = tmp_path / "in[1]" / "a.csv"
    odd.parent.mkdir()
    odd.write_text("id\n")
    assert [file.path for file in list_files(str(odd), file_format="csv")] == [str(odd)]
    assert [file.path for file in list_files(str(odd.parent), file_format="csv")] == [str(odd)]


def test_relative_paths_start_at_the_working_directory(landing, monkeypatch):
    monkeypatch.chdir(landing)
    assert [file.path for file in list_files("customers/a.csv", file_format="csv")] == [
        str(landing / "customers/a.csv")
    ]
    monkeypatch.chdir(landing / "customers")
    assert [file.path for file in list_files("../customers/a.csv", file_format="csv")] == [
        str(landing / "customers/a.csv")
    ]


def test_relative_paths_start_at_the_base_when_there_is_one(landing):
    assert names(list_files("customers/a*.csv", file_format="csv", base=landing), landing) == ["customers/a.csv"]


def test_uris_of_files_are_paths_and_others_are_not_available_yet(landing):
    uri = (landing / "customers" / "a.csv").as_uri()
    assert [file.path for file in list_files(uri, file_format="csv")] == [str(landing / "customers" / "a.csv")]
    assert local_path("file:///data/a%20b") == Path("/data/a b")
    for remote in ("abfss://c@a.dfs.core.windows.net/x", "gs://b/x", "file://host/x"):
        with pytest.raises(UnsupportedError):
            list_files(remote, file_format="csv")


def test_a_missing_path_says_what_is_there(landing):
    with pytest.raises(SourceError, match=r"There is no .*custmers\.csv") as error:
        list_files(str(landing / "custmers.csv"), file_format="csv")
    assert "did you mean" in str(error.value)
    with pytest.raises(SourceError) as error:
        list_files(str(landing / "zzz" / "deeper" / "x.csv"), file_format="csv")
    assert error.value.hint == f"In {landing} there is customers."


def test_a_path_beside_the_contract_is_pointed_at(landing, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as error:
        list_files("customers/a.csv", file_format="csv", beside=landing)
    assert error.value.hint is not None
    assert "relative to the working directory" in error.value.hint
    assert str(landing / "customers/a.csv") in error.value.hint


def test_the_fingerprint_follows_path_size_and_time(landing):
    files = list_files(str(landing / "customers"), file_format="csv")
    assert fingerprint(files) == fingerprint(tuple(reversed(files)))
    assert fingerprint(files) != fingerprint(files[1:])
    path = Path(files[1].path)
    os.utime(path, ns=(1, files[1].mtime_ns + 1_000_000_000))
    assert fingerprint(list_files(str(landing / "customers"), file_format="csv")) != fingerprint(files)


def test_changes_since_the_listing_are_told(landing):
    folder = landing / "customers"
    files = list_files(str(folder), file_format="csv")
    assert still_the_same(files)
    assert still_the_same(())
    (folder / "a.csv").write_text("id\n1\n2\n")
    (folder / "b.csv").unlink()
    os.utime(folder / "empty.csv", ns=(1, 1))
    assert changes(files) == (
        f"{folder / 'a.csv'} had 5 bytes and has 7",
        f"{folder / 'b.csv'} is gone",
        f"{folder / 'empty.csv'} was written again",
    )
    assert not still_the_same(files)
