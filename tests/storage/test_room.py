"""A disk that is full or closed is told as that; other errors are not touched."""

from __future__ import annotations

import errno

import pytest

from lakelogic.errors import TableError
from lakelogic.storage.room import disk_told


@pytest.mark.parametrize(
    ("number", "told"),
    [(errno.ENOSPC, "no room left on the disk (part.parquet)"), (errno.EROFS, "cannot be written here (part.parquet)")],
)
def test_what_the_disk_says_is_told_with_its_place(number: int, told: str) -> None:
    with pytest.raises(TableError) as caught, disk_told():
        raise OSError(number, "as the machine calls it", "part.parquet")
    assert told in caught.value.message
    assert caught.value.exit_code == 4


def test_a_library_that_only_has_words_for_it_is_understood() -> None:
    with pytest.raises(TableError, match="no room left"), disk_told():
        raise OSError("Generic LocalFileSystem error: No space left on device (os error 28)")


def test_another_error_goes_on_as_it_came() -> None:
    with pytest.raises(FileNotFoundError), disk_told():
        raise FileNotFoundError(errno.ENOENT, "no such file", "gone.csv")
