"""What stops a run from outside it, told as what it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lakelogic.engines.base import Engine, ExplainsErrors
from lakelogic.errors import EngineError, LakeLogicError


@contextmanager
def engine_told(engine: Engine) -> Iterator[None]:
    """Errors of an engine whose process has ended say that, instead of what a library made of it."""
    try:
        yield
    except Exception as error:
        known = isinstance(error, LakeLogicError) and not isinstance(error, EngineError)
        found = engine.explained(error) if isinstance(engine, ExplainsErrors) and not known else None
        if found is None:
            raise
        raise found from error
