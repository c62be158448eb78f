"""Bring what was written to the disk, so that it is still there when the power goes."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def bring_to_disk(path: str | Path) -> None:
    """A file, or the names in a folder."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that has no such thing
            raise
    finally:
        os.close(opened)
