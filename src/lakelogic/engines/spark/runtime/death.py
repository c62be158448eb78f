"""A Java process that ended while it was needed: told as that, whatever library stumbled over it first."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any, Final

from lakelogic.errors import EngineError

_SECONDS: Final = 2.0  # a process that was killed is gone a moment after its sockets
_LOST: Final = frozenset({
    "Py4JNetworkError", "Py4JError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError", "EOFError",
})  # fmt: skip


def ended(session: Any, error: Exception) -> EngineError | None:
    """What is told where the Java process of a session has ended; None where it has not, or where nobody can know."""
    context = getattr(session, "_sc", None)
    if context is None:  # Spark Connect: the process is somebody else's, and the client says itself that it is gone
        return None
    lost = any(type(cause).__name__ in _LOST for cause in _causes(error))
    process = getattr(getattr(context, "_gateway", None), "proc", None)
    code = _code(process, wait=lost) if process is not None else None
    if code is None and (process is not None or not lost):
        return None
    how = "" if code is None else f" (killed by signal {-code})" if code < 0 else f" (exit code {code})"
    return EngineError(
        f"The Java process of Spark has ended while it was needed{how}.",
        hint="Nothing half-done is visible; run again. Where a machine has too little memory, the system kills it "
        "(signal 9): give it less with spark.driver.memory, or use --engine duckdb.",
    )


def _code(process: subprocess.Popen[bytes], *, wait: bool) -> int | None:
    try:
        return process.wait(_SECONDS if wait else 0)
    except subprocess.TimeoutExpired:
        return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
