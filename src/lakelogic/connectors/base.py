"""What a connector must do: bring rows that lie in no file and no table of ours, as Arrow batches.

No run reads through a connector yet: a contract that asks for one is refused when it is checked. The protocol is here
so that a guest can be written and found; it may still change until the first connector of ours reads through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from lakelogic.contract.source import Source
from lakelogic.plan.nodes import Landed


@dataclass(frozen=True, slots=True)
class InputPart:
    """A part of the input that can be read by itself, in another thread or process: a range of keys, of offsets."""

    name: str  # the same for the same rows
    facts: Mapping[str, Any] = field(default_factory=dict)  # what reading it needs; never a secret


@dataclass(frozen=True, slots=True)
class PinnedInput:
    """What a run reads, fixed before it reads: every attempt over it gives the same rows, or is refused.

    `identity` tells it from every other input, and is remembered. `until` is the highest point that is in it, taken
    from the source's own view and not from the rows that came; None where the source has no order.
    """

    identity: str
    parts: tuple[InputPart, ...]
    until: str | None = None


@runtime_checkable
class Connector(Protocol):
    """One source elsewhere. It is made with the source of a contract and the environment, and closed after use."""

    def columns(self) -> tuple[Landed, ...]:
        """The columns as they land, with their types; no row is read."""
        ...

    def pin(self, after: str | None) -> PinnedInput:
        """Everything behind a point that an earlier run has reached; None: everything that there is."""
        ...

    def read(self, pinned: PinnedInput, part: InputPart, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a part, each once, with these columns. May be called in another process than `pin` was."""
        ...

    def close(self) -> None:
        """Give back connections, and what was pinned with them."""
        ...


class Connect(Protocol):
    """What is registered: makes a connector. Secrets are resolved here, and stay in the connector."""

    def __call__(self, source: Source, environ: Mapping[str, str]) -> Connector:
        """A connector to the source."""
        ...
