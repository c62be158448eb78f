"""What the machine refuses is told as that, in whichever library's words it comes; a defect stays one."""

from __future__ import annotations

import errno
import os

import pytest

from lakelogic.errors import LakeLogicError, TableError
from lakelogic.storage.room import disk_told, world_error


class DeltaError(Exception):
    """As delta-rs raises them."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EPERM, "Operation not permitted", "/wh/orders"), "cannot be written here (/wh/orders)"),
        (OSError(errno.EROFS, "Read-only file system"), "cannot be written here: Read-only"),
        (OSError(errno.ENOSPC, "No space left on device"), "no room left"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/wh/x"), "refused something (/wh/x): No such"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (DeltaError("Generic LocalFileSystem error: Unable to copy: Operation not permitted (os error 1)"), "written"),
        (DeltaError("Unable to open file: Read-only file system (os error 30)"), "Read-only"),
        (RuntimeError('IO Error: Could not write file "x": No space left on device'), "no room left"),
        (ValueError("[Errno 5] Error reading bytes"), os.strerror(errno.EIO)),
        (MemoryError(), "not enough memory"),
    ],
)
def test_trouble_of_the_machine_is_told_as_that(error: Exception, words: str) -> None:
    with pytest.raises(LakeLogicError) as told, disk_told():
        raise error
    assert words in told.value.message
    assert told.value.exit_code == 4
    assert told.value.code != "LL-E090"


@pytest.mark.parametrize(
    ("number", "told"),
    [(errno.ENOSPC, "no room left on the disk (part.parquet)"), (errno.EROFS, "cannot be written here (part.parquet)")],
)
def test_what_the_disk_says_is_told_with_its_place(number: int, told: str) -> None:
    with pytest.raises(TableError) as caught, disk_told():
        raise OSError(number, "as the machine calls it", "part.parquet")
    assert told in caught.value.message
    assert caught.value.exit_code == 4


def test_the_machine_behind_a_library_is_found() -> None:
    error = RuntimeError("the writer has failed")
    error.__cause__ = PermissionError(errno.EACCES, "Permission denied")
    told = world_error(error)
    assert told is not None
    assert "Permission denied" in told.message


@pytest.mark.parametrize("error", [KeyError("id"), RuntimeError("something odd"), OSError("no number"), TypeError()])
def test_what_nobody_can_tell_goes_on_as_it_came(error: Exception) -> None:
    assert world_error(error) is None
    with pytest.raises(type(error)), disk_told():
        raise error
