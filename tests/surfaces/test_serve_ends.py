"""A service that is asked to end does so within seconds, however many pages listen to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_serve_ends_within_five_seconds_while_pages_are_open(workspace: Path) -> None:
    Path("c.yaml").write_text("source: {path: in.csv}\nmaterialization: {target_path: shop.silver.things}\n")
    port = _free_port()
    command = [sys.executable, "-m", "lakelogic", "serve", ".", "--port", str(port), "--workers", "1", "--no-ui"]
    service = subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.PIPE)
    try:
        streams = []
        for _ in range(100):
            try:
                streams = [urlopen(f"http://127.0.0.1:{port}/api/v1/events", timeout=10) for _ in range(2)]
                break
            except OSError:
                assert service.poll() is None
                time.sleep(0.1)
        assert [stream.readline() for stream in streams] == [b"retry: 2000\n"] * 2
        asked = time.monotonic()
        service.send_signal(signal.SIGTERM)
        service.wait(15)
        assert time.monotonic() - asked < 5
        assert [stream.read() for stream in streams]  # they end in order: no error of a broken connection
    finally:
        if service.poll() is None:
            service.kill()
            service.wait()
