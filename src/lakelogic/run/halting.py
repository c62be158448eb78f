"""How whoever runs many gives up one of them: at points where nothing of it is visible yet, and with a reason."""

from __future__ import annotations

from typing import Protocol

from lakelogic import signals
from lakelogic.errors import LakeLogicError


class Halt(Protocol):
    """Somebody who may end a run from outside; the run asks, and tells when asking is over."""

    def safe_point(self) -> None:
        """Raise if the run shall be given up; called where nothing of it is visible yet."""
        ...

    def committing(self) -> None:
        """From here on the commit is in hand: it is finished, unless it fails by itself."""
        ...

    def reason(self, error: LakeLogicError) -> LakeLogicError:
        """What a run really ended with: an engine that was stopped knows only that it was. May raise instead."""
        ...


class _Never:
    """Nobody ends the run but who ends its process."""

    def safe_point(self) -> None:
        signals.safe_point()

    def committing(self) -> None:
        return

    def reason(self, error: LakeLogicError) -> LakeLogicError:
        signals.safe_point()
        return error


NEVER: Halt = _Never()
