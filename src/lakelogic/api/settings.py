"""How a service is set up: where it listens, what it shows, who gets in, and how much it takes."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from lakelogic.actions.look.estate import EstateRequest
from lakelogic.errors import UsageError

PORT = 8096  # as the lab has it
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


@dataclass(frozen=True, slots=True)
class Oidc:
    """An identity provider: who issues tokens, for whom, where its keys are, which claims count."""

    issuer: str
    audience: str
    keys: str  # URL or file of its key set (JWKS)
    person_claim: str = "email"
    roles_claim: str = "lakelogic_roles"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Oidc | None:
        """From LAKELOGIC_OIDC_*; None where nothing is said."""
        values = {name: environ.get(f"LAKELOGIC_OIDC_{name.upper()}") for name in ("issuer", "audience", "keys")}
        if not any(values.values()):
            return None
        missing = [f"LAKELOGIC_OIDC_{name.upper()}" for name, value in values.items() if not value]
        if missing:
            raise UsageError(f"{', '.join(missing)} is not set.", hint="OIDC needs an issuer, an audience and keys.")
        return cls(
            str(values["issuer"]), str(values["audience"]), str(values["keys"]),
            environ.get("LAKELOGIC_OIDC_PERSON_CLAIM") or "email",
            environ.get("LAKELOGIC_OIDC_ROLES_CLAIM") or "lakelogic_roles",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one service. What is not said is closed: loopback only, no other origin, small bodies."""

    estate: EstateRequest = field(default_factory=EstateRequest)
    host: str = "127.0.0.1"
    port: int = PORT
    allowed_hosts: tuple[str, ...] = ()  # names it may be called by, beside the local ones
    cors_origins: tuple[str, ...] = ()
    oidc: Oidc | None = None
    tokens_only: bool = False  # ask for a token even on loopback
    most_body_bytes: int = 524_288
    requests_per_second: float = 100.0
    burst: int = 400
    at_once: int = 40  # requests of one person that are being answered
    streams_at_once: int = 20
    seconds_per_request: float = 30.0
    stream_seconds: float = 300.0
    root_path: str = ""
    has_page: bool = True

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def is_private(self) -> bool:
        """Whether only this machine asks. A name of its own means a proxy in front, which asks for others."""
        return self.is_loopback and not self.allowed_hosts


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_bind(settings: Settings, *, has_tokens: bool) -> None:
    """Refuse to listen to others without knowing who they are."""
    if not settings.is_private and not has_tokens and settings.oidc is None:
        raise UsageError(
            f"Nobody would be asked who they are at {(*settings.allowed_hosts, settings.host)[0]}.",
            hint="Make a token first (`lakelogic token new --person … --role viewer`), or set LAKELOGIC_OIDC_ISSUER, "
            "LAKELOGIC_OIDC_AUDIENCE and LAKELOGIC_OIDC_KEYS. Without them only 127.0.0.1 is served.",
        )
    if "*" in settings.cors_origins:
        raise UsageError("`*` is no origin: every page of the web could ask.", hint="Name each origin.")


def host_names(settings: Settings) -> frozenset[str]:
    """The names under which it answers; another one may be a page that points its own name here."""
    own = () if settings.host in ("0.0.0.0", "::") else (settings.host.lower(),)
    return frozenset({*_LOCAL_NAMES, *own, *(name.lower() for name in settings.allowed_hosts)})


def from_environment(environ: Mapping[str, str] | None = None) -> dict[str, object]:
    """What LAKELOGIC_API_* say, for `Settings`."""
    given = os.environ if environ is None else environ
    settings: dict[str, object] = {"oidc": Oidc.from_environment(given)}
    for key, name in (("allowed_hosts", "LAKELOGIC_API_HOSTS"), ("cors_origins", "LAKELOGIC_API_ORIGINS")):
        settings[key] = tuple(part.strip() for part in given.get(name, "").split(",") if part.strip())
    return settings
