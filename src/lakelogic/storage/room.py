"""Trouble of the machine, and not of ours: what it says, in words that tell a person what to do."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from lakelogic.errors import EngineError, LakeLogicError, TableError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}
# What else a machine may refuse, by what it is called there.
_ELSE = {
    errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP,
    errno.ESTALE, errno.ENODEV, errno.ENXIO, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.ENOTCONN, errno.ECONNRESET,
    errno.ECONNREFUSED, errno.EBUSY, errno.ETXTBSY, errno.ENOMEM, errno.EAGAIN,
}  # fmt: skip
# Libraries of other languages tell the number or the words of the machine in a text of their own.
_NUMBER = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]")
_WORDS = {
    os.strerror(number): number
    for number in (*_FULL, *_CLOSED, errno.EIO, errno.EMFILE, errno.ESTALE, errno.ENAMETOOLONG)
}


@contextmanager
def disk_told() -> Iterator[None]:
    """What the machine refuses is no defect: it is told as what it is. Every other error goes on as it came."""
    try:
        yield
    except LakeLogicError:
        raise
    except Exception as error:
        if (trouble := world_error(error)) is not None:
            raise trouble from error
        raise


def world_error(error: BaseException) -> LakeLogicError | None:
    """The error in our words, where the machine is the trouble; None where it is not, or nobody can tell."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, MemoryError):
            return EngineError(
                "There is not enough memory.",
                hint="Nothing half-written is visible. Give it more, or read less at once.",
            )
        if (number := _number(cause)) is not None:
            return _told(number, getattr(cause, "filename", None))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return None


def _number(error: BaseException) -> int | None:
    """The machine's own number of an error, where one of those is behind it."""
    numbers = _FULL | _CLOSED | _ELSE
    if isinstance(error, OSError) and error.errno in numbers:
        return error.errno
    if type(error).__module__.startswith("lakelogic"):
        return None
    text = str(error)
    for match in _NUMBER.finditer(text):
        if (number := int(match[1] or match[2])) in numbers:
            return number
    return next((number for words, number in _WORDS.items() if words in text), None)


def _told(number: int, filename: object) -> LakeLogicError:
    place = f" ({filename})" if filename else ""
    if number in _FULL:
        return TableError(
            f"There is no room left on the disk{place}.",
            hint="Nothing half-written is visible. Make room and run again; what was staged is swept by maintain.",
        )
    if number in _CLOSED:
        return TableError(
            f"Files cannot be written here{place}: {os.strerror(number)}.",
            hint="Nothing half-written is visible. Make the folder writable for this user and run again.",
        )
    return TableError(
        f"The machine refused something{place}: {os.strerror(number)}.",
        hint="Nothing half-written is visible. See to it and run again.",
    )
