"""Files that cannot be written: what the machine says, in words that tell a person what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from lakelogic.errors import TableError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def disk_told() -> Iterator[None]:
    """A full or closed disk is no defect: it is told as what it is. Every other error goes on as it came."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        if error.errno in _FULL or "No space left" in str(error):
            raise TableError(
                f"There is no room left on the disk{place}.",
                hint="Nothing half-written is visible. Make room and run again; what was staged is swept by maintain.",
            ) from error
        if error.errno in _CLOSED:
            raise TableError(
                f"Files cannot be written here{place}: {error.strerror}.",
                hint="Nothing half-written is visible. Make the folder writable for this user and run again.",
            ) from error
        raise
