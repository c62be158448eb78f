"""What a command or a request works in: where tables lie, the ledger, variables, and who listens. Made once, handed on.

A command makes its surroundings when it begins, a service when it starts, a `DataProcessor` when it is made; they are
closed when it ends. Whoever works gets them as a value, and makes no catalog and opens no ledger of his own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lakelogic.catalogs import registry
from lakelogic.catalogs.base import Catalog
from lakelogic.catalogs.local import LocalCatalog
from lakelogic.run.events.hub import Sink

if TYPE_CHECKING:
    from lakelogic.ledger.store import Ledger


class _Opening:
    """A ledger that is opened when it is first asked for, once for all threads. It holds no connection in between."""

    def __init__(self, url: Callable[[], str]) -> None:
        self._url = url
        self._alone = threading.Lock()
        self._ledger: Ledger | None = None

    def ledger(self) -> Ledger:
        from lakelogic.ledger.store import open_ledger

        with self._alone:
            # A file that somebody has taken away is made again, as if the work had only begun.
            if self._ledger is not None and (file := self._ledger.database.file) is not None and not file.exists():
                self._ledger = None
            if self._ledger is None:
                self._ledger = open_ledger(self._url())
            return self._ledger

    def close(self) -> None:
        with self._alone:
            ledger, self._ledger = self._ledger, None
        if ledger is not None:
            ledger.close()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The catalog, the ledger, the environment variables and the listeners of one command, request or processor.

    They may be shared by threads. What a child process works in it makes itself: it inherits directory and variables.
    """

    catalog: Catalog
    environ: Mapping[str, str]
    sinks: tuple[Sink, ...]
    _opening: _Opening = field(repr=False, compare=False)

    @classmethod
    def here(cls, sinks: tuple[Sink, ...] = ()) -> Surroundings:
        """Those of this working directory and of the variables of this process, as they are now."""
        catalog = registry.load(os.environ.get(registry.VARIABLE) or registry.LOCAL)
        return cls(catalog, os.environ, sinks, _Opening(catalog.ledger_url))

    @classmethod
    def in_folder(
        cls, warehouse: Path, base: Path, environ: Mapping[str, str], sinks: tuple[Sink, ...] = ()
    ) -> Surroundings:
        """A warehouse with a ledger in it, whatever the variables say; relative sources begin at `base`."""
        catalog = LocalCatalog(warehouse, base=base)
        return cls(catalog, environ, sinks, _Opening(catalog.own_ledger_url))

    @property
    def ledger(self) -> Ledger:
        """The ledger; the first who asks opens it."""
        return self._opening.ledger()

    def heard_by(self, *sinks: Sink) -> Surroundings:
        """The same with these listeners; the ledger is shared."""
        return replace(self, sinks=sinks)

    def close(self) -> None:
        """Give the ledger back; who asks for it again opens it again."""
        self._opening.close()

    def __enter__(self) -> Surroundings:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
