"""Listen: check that whoever can reach the service is asked who they are, start a worker beside it, and serve."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lakelogic.actions.operate.access import has_tokens
from lakelogic.api.settings import Settings, check_bind
from lakelogic.errors import MissingExtra
from lakelogic.run.surroundings import Surroundings

_GRACE_SECONDS = 2  # for answers that are on their way
_PATIENCE_SECONDS = 2.5  # for workers; a piece that is stopped harder is taken up again


def serve(around: Surroundings, settings: Settings, *, workers: int = 1) -> None:
    """Serve until somebody ends it."""
    try:
        import uvicorn

        from lakelogic.api.app import create_app
        from lakelogic.api.listening import Hasty
    except ImportError as error:
        raise MissingExtra("api", "The service") from error
    check_bind(settings, has_tokens=has_tokens(around))
    app = create_app(settings, around)
    with _beside(workers):
        config = uvicorn.Config(
            app, host=settings.host, port=settings.port, log_level="warning", server_header=False,
            proxy_headers=False, timeout_keep_alive=10, limit_concurrency=1_000, h11_max_incomplete_event_size=65_536,
            http=Hasty,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )  # fmt: skip
        server = uvicorn.Server(config)
        # Pages that are open listen for minutes: their streams end when the service is asked to.
        app.state.is_ending = lambda: server.should_exit
        server.run()


@contextmanager
def _beside(workers: int) -> Iterator[None]:
    """Workers in processes of their own; each ends with this process, after the piece it is doing."""
    command = [sys.executable, "-m", "lakelogic", "worker", "--with", str(os.getpid())]
    started = [subprocess.Popen(command) for _ in range(workers)]
    try:
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
