"""A command as a process: how it begins, and how it ends."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import sys
from collections.abc import Callable

from lakelogic import signals


def run(command: Callable[[], object]) -> None:
    """Run a command from its first to its last moment. Whoever calls this is a program of its own."""
    # Loading modules makes many objects and no garbage; looking for some takes a tenth of a small run.
    gc.set_threshold(200_000, 20, 20)
    # Pydantic would read the metadata of all packages that are installed, to find plug-ins that observe it.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Arrow and DuckDB load numpy, which starts threads for linear algebra that nobody asks for.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signals.listen()
    end = _End()
    # What is registered first is called last: when threads have ended and libraries have said goodbye.
    atexit.register(end)
    try:
        command()
    except SystemExit as ended:
        end.code = signals.exit_code() or (0 if ended.code is None else ended.code)
        raise SystemExit(end.code) from ended
    except BaseException as error:
        # Before a command begins, or after it: while modules are loaded, or from a library that panics.
        if (code := signals.exit_code()) is None:
            raise
        end.code = code
        raise SystemExit(code) from error


class _End:
    """Ends the process at once, instead of taking every module and object apart: a seventh of a small run."""

    code: int | str | None = None  # not known yet: Python ends as it does

    def __call__(self) -> None:
        if not isinstance(self.code, int):
            return
        try:
            logging.shutdown()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:  # a program that was started without one
                    stream.flush()
        except (OSError, ValueError):
            return  # Python tells what could not be written
        os._exit(self.code)
