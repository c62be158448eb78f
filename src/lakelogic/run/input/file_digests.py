"""What files hold, in short: digests of what a run reads, made beside the engine that reads it.

`recognised.py` compares them.

A digest tells a file that was only touched, moved or put back from one that changed. It is made in a thread while the
engine stages rows (neither reading nor hashing holds the interpreter), and is asked for before the batch is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event, Thread

from lakelogic.errors import SourceError
from lakelogic.ledger.records import InputFile
from lakelogic.storage.local import FileInfo, digest


def remembered(files: Sequence[FileInfo], known: Mapping[str, InputFile]) -> dict[str, str]:
    """The digests of files that are listed as they were when they were digested before."""
    return {
        file.path: before.content
        for file in files
        if (before := known.get(file.path)) is not None
        and before.content is not None
        and before.version == (file.size, file.mtime_ns)
    }


class Digests:
    """Digests of files, each made once: when somebody asks for it, or in the background."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}
        self._halted = Event()
        self._thread: Thread | None = None

    def put(self, made: Mapping[str, str]) -> None:
        """Take over what is known already."""
        self._made |= made

    def of(self, path: str) -> str:
        """What a file holds."""
        if path not in self._made:
            try:
                self._made[path] = digest(path)
            except OSError as error:
                raise SourceError(f"{path} cannot be read: {error.strerror}.", hint="Nothing was read.") from error
        return self._made[path]

    def begin(self, files: Sequence[FileInfo]) -> None:
        """Make the digests of files in the background."""
        missing = [file.path for file in files if file.path not in self._made]
        if missing:
            self._thread = Thread(target=self._make, args=(missing,), name="digests", daemon=True)
            self._thread.start()

    def wait(self, files: Sequence[FileInfo]) -> dict[str, str]:
        """The digests of files, when all of them are made; a file that cannot be read any more has none."""
        if self._thread is not None:
            self._thread.join()
        return {file.path: self._made[file.path] for file in files if file.path in self._made}

    def halt(self) -> None:
        """Nobody asks for them any more."""
        self._halted.set()

    def _make(self, paths: Sequence[str]) -> None:
        for path in paths:
            try:
                made = digest(path, self._halted.is_set)
            except OSError:
                continue  # whoever compares the files with their listing says what became of it
            if self._halted.is_set():
                return
            self._made[path] = made
