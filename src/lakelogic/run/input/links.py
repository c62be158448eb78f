"""Reference data of a pass: a link that several contracts use is read once, and again only when it has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lakelogic import clock
from lakelogic.engines.base import Engine, Pinned
from lakelogic.names import GOOD_SIDE
from lakelogic.plan.nodes import Account, Assignment, Publish, Published, Read
from lakelogic.privacy.keys import Keys
from lakelogic.run.input.pin import Slice, look_at_links
from lakelogic.sql.expressions import Column, Literal, text
from lakelogic.sql.types import INT

_LONGEST_PASS_SECONDS: Final = 7 * 86_400


def sweep(folder: str) -> None:
    """Throw away the copies of passes that died; a pass that still goes on is younger than these."""
    for left in Path(folder).glob("references-*"):
        if clock.now().timestamp() - left.stat().st_mtime > _LONGEST_PASS_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


@dataclass(slots=True)
class References:
    """Copies of links in `folder`, shared by all runs of a pass, whatever engine each has.

    Only links at `places` are copied: those that more than one contract names. Called from the threads of a pass.
    """

    folder: str
    places: frozenset[str]
    reads: Counter[str] = field(default_factory=Counter)
    reused: Counter[str] = field(default_factory=Counter)
    _copies: dict[str, Slice] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _alone: threading.Lock = field(default_factory=threading.Lock)

    def kept(self, links: Mapping[str, Slice], engine: Engine) -> dict[str, Slice]:
        """The links of a contract, those of several as the pass has read them."""
        return {
            name: self._copy(found, engine) if found.described in self.places else found
            for name, found in links.items()
        }

    def _copy(self, link: Slice, engine: Engine) -> Slice:
        written = json.dumps([link.described, link.format, link.identity()], sort_keys=True)
        key = hashlib.sha256(written.encode()).hexdigest()[:24]
        with self._alone:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:  # whoever needs the same waits; others do not
            if (known := self._copies.get(key)) is not None:
                self.reused[link.described] += 1
                return known
            made = self._made(link, engine, f"{self.folder}/{key}")
            self._copies[key] = made
            self.reads[link.described] += 1
            return made

    def _made(self, link: Slice, engine: Engine, place: str) -> Slice:
        looked = look_at_links({"link": link}, engine)["link"]
        read = Read("link", looked.format, looked.columns, looked.options)
        values = tuple(Assignment(column.name, Column(column.name, column.type)) for column in looked.columns)
        account = Account(None, (), Publish(values, Literal(0, INT), text(GOOD_SIDE)))
        frame = engine.lower(engine.scan(read, link.pinned), (account,), {})
        columns = [Published(column.name, column.type, True, False) for column in looked.columns]
        staged = engine.stage(frame, columns, (), Keys(), place)
        pinned = Pinned(tuple(file.path for file in staged.good))
        return Slice(pinned, "delta", (), link.described, looked.columns, deleted=link.deleted)

    def as_dict(self) -> dict[str, Any]:
        """How often links were read and used again, by place."""
        by = {place: {"read": self.reads[place], "reused": self.reused[place]} for place in sorted(self.reads)}
        return {"read": self.reads.total(), "reused": self.reused.total(), "links": by}

    def close(self) -> None:
        """Throw the copies away."""
        shutil.rmtree(self.folder, ignore_errors=True)
