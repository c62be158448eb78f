"""Which listed file is one that was read before: decided from names, sizes, times and digests alone."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.errors import DataError
from lakelogic.ledger.records import InputFile
from lakelogic.run.input.pin import pin_files
from lakelogic.run.input.recognised import Listing, moved_place, recognise, refuse_alike
from lakelogic.run.input.tracked import news
from lakelogic.storage.local import FileInfo

ROOT = "/landing"


def listed(*files: tuple[str, int, int, str], **options: Any) -> Listing:
    """Files below the source's folder: name, size, time, what they hold."""
    held = {f"{ROOT}/{name}": content for name, _, _, content in files}
    infos = [FileInfo(f"{ROOT}/{name}", size, time) for name, size, time, _ in files]
    return Listing(infos, ROOT, held.__getitem__, **options)


def read(name: str, size: int, time: int, content: str | None = None, root: str = ROOT) -> dict[str, InputFile]:
    path = f"{root}/{name}"
    return {path: InputFile(path, size, time, content)}


@pytest.mark.parametrize(
    ("now", "before", "kind"),
    [
        (("b.csv", 3, 1, "x"), read("a.csv", 3, 1, "x"), "moved"),  # equal content and time
        (("a.csv", 3, 9, "x"), read("a.csv", 3, 1, "x", "/elsewhere"), "moved"),  # equal content, same place below
        (("b.csv", 3, 9, "x"), read("a.csv", 3, 1, "x"), "equal"),  # content alone is another delivery
        (("b.csv", 3, 9, "y"), read("a.csv", 3, 1, "x"), None),
        (("b.csv", 4, 1, "x"), read("a.csv", 3, 1, "x"), None),
        (("a.csv", 3, 1, "x"), read("a.csv", 3, 1, None, "/elsewhere"), "moved"),  # as listed, from before digests
        (("b.csv", 3, 1, "x"), read("a.csv", 3, 1, None), "alike"),
        (("b.csv", 0, 1, ""), read("a.csv", 0, 1, ""), None),  # empty files are all alike
    ],
)
def test_a_file_under_another_name(now: tuple[str, int, int, str], before: dict[str, InputFile], kind) -> None:
    found = recognise(listed(now), before)
    pairs = {"moved": found.moved, "equal": found.equal, "alike": found.alike}
    (stamp,) = before
    expected = {name: ((f"{ROOT}/{now[0]}", stamp),) if name == kind else () for name in pairs}
    assert pairs == expected


def test_equal_content_is_one_file_where_the_contract_says_so() -> None:
    found = recognise(listed(("b.csv", 3, 9, "x"), by_content=True), read("a.csv", 3, 1, "x"))
    assert found.moved == ((f"{ROOT}/b.csv", f"{ROOT}/a.csv"),)


def test_a_file_that_was_touched_is_no_news_and_its_time_is_learned() -> None:
    listing, known = listed(("a.csv", 3, 9, "x")), read("a.csv", 3, 1, "x")
    found = recognise(listing, known)
    assert [(file.path, file.mtime_ns) for file in found.learned] == [(f"{ROOT}/a.csv", 9)]
    told = news(pin_files(tuple(listing.files), "csv", "landing"), found.known)
    assert (told.files, [file.path for file in told.same]) == ((), [f"{ROOT}/a.csv"])


def test_new_changed_same_and_gone_files() -> None:
    known = {**read("same.csv", 3, 1), **read("grown.csv", 3, 1), **read("gone.csv", 3, 1)}
    files = tuple(FileInfo(f"{ROOT}/{name}", size, 1) for name, size in (("same.csv", 3), ("grown.csv", 5), ("new", 1)))
    told = news(pin_files(files, "csv", "landing"), known)
    assert [file.path for file in told.new] == [f"{ROOT}/new"]
    assert [file.path for file in told.changed] == [f"{ROOT}/grown.csv"]
    assert [file.path for file in told.same] == [f"{ROOT}/same.csv"]
    assert told.gone == (f"{ROOT}/gone.csv",)
    assert told.stamps == (f"{ROOT}/grown.csv",)
    assert [file.path for file in told.files] == [f"{ROOT}/grown.csv", f"{ROOT}/new"]


def test_a_file_moved_over_another_one_takes_the_place_of_both() -> None:
    known = {**read("a.csv", 3, 1, "x"), **read("b.csv", 7, 1, "y")}
    listing = listed(("b.csv", 3, 1, "x"))
    found = recognise(listing, known)
    assert dict(found.over) == {f"{ROOT}/b.csv": f"{ROOT}/a.csv"}
    told = news(pin_files(tuple(listing.files), "csv", "landing"), found.known, found.over)
    assert told.stamps == (f"{ROOT}/a.csv", f"{ROOT}/b.csv")


def test_all_files_gone_and_the_like_elsewhere_stops_an_append_and_nothing_else() -> None:
    known = read("a.csv", 3, 1, None)
    found = recognise(listed(("b.csv", 3, 1, "x")), known)
    with pytest.raises(DataError, match="All 1 files that were read before are gone"):
        refuse_alike(found, known, appends=True)
    refuse_alike(found, known, appends=False)


@pytest.mark.parametrize(
    ("path", "was", "now", "place"),
    [
        ("/old/shop/landing/a.csv", "/old/shop/lake/t", "/new/shop/lake/t", "/new/shop/landing/a.csv"),
        ("/old/landing/a.csv", "/old/lake/t", "/new/lake/t", "/new/landing/a.csv"),
        ("/other/landing/a.csv", "/old/shop/lake/t", "/new/shop/lake/t", None),
        ("/old/shop/landing/a.csv", "/old/shop/lake/t", "/old/shop/lake/t", None),
        ("/old/shop/landing/a.csv", None, "/new/shop/lake/t", None),
    ],
)
def test_what_came_along_with_a_table_that_was_moved(path: str, was: str | None, now: str, place: str | None) -> None:
    assert moved_place(path, was, now) == place
