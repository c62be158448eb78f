"""Private folders for what nobody keeps: gone with whoever holds them, with the process, and after its death.

A process has one folder under the temporary one, which only its user may open, and a lock in it that ends with the
process, however that ends. Whoever begins such a folder removes those whose lock is free: their processes are gone.
A lock is known across containers and restarts, where the number of a process is not.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import threading
import weakref
from pathlib import Path

PREFIX = "lakelogic-"
ALIVE = ".alive"

_lock = threading.RLock()
_roots: dict[str, tuple[str, int]] = {}  # by the folder they lie in: ours, and the lock that says that we live


class Scratch:
    """A folder of one's own; it is removed with this object, unless it is kept for the rest of the process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._end = weakref.finalize(self, _remove, path, os.getpid())

    def __fspath__(self) -> str:
        return self.path

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def keep(self) -> None:
        """Somebody reads it later, who cannot say when they are done: it goes when the process ends."""
        self._end.detach()

    def remove(self) -> None:
        """Remove it now."""
        self._end()


def scratch(base: str | os.PathLike[str] | None = None) -> Scratch:
    """A new private folder, in the temporary folder or in `base`."""
    return Scratch(tempfile.mkdtemp(dir=_root(os.path.realpath(base or tempfile.gettempdir()))))


def remove_all() -> None:
    """Remove every folder of this process; for its end."""
    with _lock:
        ours = list(_roots.values())
        _roots.clear()
    for path, alive in ours:
        shutil.rmtree(path, ignore_errors=True)
        os.close(alive)


def sweep(base: str | os.PathLike[str] | None = None) -> list[str]:
    """Remove what dead processes of this user have left; the folders that were removed."""
    gone = []
    for folder in sorted(Path(base or tempfile.gettempdir()).glob(f"{PREFIX}*")):
        try:
            if _is_left(folder):
                gone.append(str(folder))
        except OSError:
            continue  # somebody else's, or another process removes it right now
    return gone


def _is_left(folder: Path) -> bool:
    """Whether a folder is one of ours whose process is gone; it is removed then."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return False
    alive = os.open(folder / ALIVE, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(alive)
    return not folder.exists()


def _root(base: str) -> str:
    with _lock:
        if base not in _roots or not Path(_roots[base][0]).is_dir():
            sweep(base)
            _roots[base] = _begun(base)
        return _roots[base][0]


def _begun(base: str) -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=base)  # for its user alone (0700)
        alive = os.open(Path(path) / ALIVE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(alive)
            continue  # another process looks whether this one is dead, and removes it
        except OSError:
            return path, alive  # no locks here: nobody can tell that we are dead, so nobody removes it
        if os.fstat(alive).st_nlink:
            return path, alive
        os.close(alive)


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked from ours goes on with copies of what we hold
        shutil.rmtree(path, ignore_errors=True)


def _forget() -> None:
    """A forked process makes folders of its own, and leaves its parent's alone."""
    _roots.clear()


os.register_at_fork(after_in_child=_forget)
atexit.register(remove_all)
