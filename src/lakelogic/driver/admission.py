"""What is asked before a dataset runs: it may be kept from running, or run with something to be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from lakelogic.driver.outcome import DatasetOutcome
from lakelogic.driver.registry import Member
from lakelogic.engines.base import Engine


@dataclass(frozen=True, slots=True)
class Admitted:
    """An outcome of a dataset that shall not run; otherwise what its run shall say besides."""

    kept: DatasetOutcome | None = None
    notes: tuple[str, ...] = ()


Admission: TypeAlias = Callable[[Member, Engine], Admitted]
