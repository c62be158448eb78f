"""Tests talk to this machine only, and so does every Python process that they start."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

ASK = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"


@pytest.mark.parametrize("host", ["192.0.2.1", "169.254.169.254", "2001:db8::1"])
def test_a_connection_to_elsewhere_is_refused(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as asking, pytest.raises(ConnectionRefusedError, match="loopback only"):
        asking.connect((host, 80))


def test_a_name_of_elsewhere_is_not_looked_up():
    with pytest.raises(socket.gaierror, match="loopback only"):
        socket.getaddrinfo("account.example.com", 443)


def test_this_machine_is_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
    assert socket.getaddrinfo("localhost", 80)


def test_a_process_that_a_test_starts_is_refused_too():
    ended = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "tests talk to loopback only" in ended.stderr
