"""Refuse every connection that leaves this machine, in the test run and in each Python process that it starts.

Python imports a module of this name at its start. Cloud libraries ask for metadata, extensions and account names by
themselves; a test that needs an answer from outside must fail here, and not only on a machine without a network.
"""

import ipaddress
import socket
import sys

_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKS_UP = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
_HERE = frozenset({"", "localhost", "0.0.0.0", "::", socket.gethostname()})


def is_here(host: object) -> bool:
    """Whether a host is this machine: a loopback address, its own name, or none at all."""
    if host is None:
        return True
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    if name.lower().removesuffix(".") in _HERE:
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _guard(event: str, args: tuple[object, ...]) -> None:
    if event in _CONNECTS:
        address = args[1]
        if isinstance(address, tuple) and address and not is_here(address[0]):
            raise ConnectionRefusedError(f"tests talk to loopback only: refused to connect to {address[0]}")
    elif event in _LOOKS_UP and not is_here(args[0]):
        raise socket.gaierror(socket.EAI_NONAME, f"tests talk to loopback only: refused to look up {args[0]!r}")


sys.addaudithook(_guard)
