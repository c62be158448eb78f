"""Who asks, and what they may do: tokens of the ledger, tokens of an identity provider, or whoever sits here."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from lakelogic.actions.operate.access import check_token, ever_had_tokens
from lakelogic.actions.operate.quarantine import person
from lakelogic.api.answers import printable
from lakelogic.api.problems import Unauthenticated
from lakelogic.api.settings import Oidc, Settings
from lakelogic.errors import MissingExtra, Refused, SourceError
from lakelogic.ledger.access import EVERYWHERE, ROLES
from lakelogic.run.surroundings import Surroundings

log = logging.getLogger("lakelogic.api")
_LONGEST_NAME = 200
_QUIET_SECONDS = 10
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, with a role in each domain; `*` stands for every domain."""

    person: str
    roles: Mapping[str, str]

    def can(self, role: str, domain: str | None) -> bool:
        """Whether they have at least this role there; what belongs to no domain needs it everywhere."""
        held = [self.roles.get(EVERYWHERE), self.roles.get(domain) if domain is not None else None]
        return any(
            role_held in ROLES and ROLES.index(role_held) >= ROLES.index(role)
            for role_held in held
            if role_held is not None
        )

    def need(self, role: str, domain: str | None) -> None:
        """Refuse what they may not do."""
        if not self.can(role, domain):
            where = f"in `{domain}`" if domain else "for what belongs to no domain"
            raise Refused(f"This needs the role {role} {where}.", hint="Ask whoever gave you the token.")

    def once(self, key: str | None) -> str | None:
        """What makes a second click the same job; the key of somebody else is another one, however both are called."""
        return None if key is None else json.dumps([self.person, key], ensure_ascii=False)

    @property
    def domains(self) -> frozenset[str | None] | None:
        """The domains they may look at; None for all."""
        if self.roles.get(EVERYWHERE) in ROLES:
            return None
        return frozenset(domain for domain, role in self.roles.items() if role in ROLES)


class Door:
    """Lets people in."""

    def __init__(self, settings: Settings, around: Surroundings) -> None:
        self._settings, self._around = settings, around
        self._provider = _Provider(settings.oidc) if settings.oidc else None

    def caller(self, authorization: str | None) -> Caller:
        """Who asks; raises where nobody knows."""
        if authorization is None:
            if self._is_open():
                return Caller(person(), {EVERYWHERE: "admin"})
            raise Unauthenticated("Who are you?", hint="Send `Authorization: Bearer <token>`.")
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise Unauthenticated("Only bearer tokens are taken.", hint="Send `Authorization: Bearer <token>`.")
        text = text.strip()
        token = check_token(self._around, text)
        if token is not None:
            return Caller(token.person, token.roles)
        if self._provider is not None and text.count(".") == 2:
            return self._provider.caller(text)
        raise Unauthenticated("The token is not known, has expired or was revoked.", hint="Ask for a new one.")

    def _is_open(self) -> bool:
        """On one's own machine, where nobody ever said that tokens are asked for; the last to expire opens nothing."""
        settings = self._settings
        return (
            settings.is_private
            and settings.oidc is None
            and not settings.tokens_only
            and not ever_had_tokens(self._around)
        )


class _Provider:
    """An identity provider: signature, issuer, audience and time of its tokens are checked, never its say-so."""

    def __init__(self, oidc: Oidc) -> None:
        try:
            import jwt
        except ImportError as error:
            raise MissingExtra("api", "OIDC") from error
        self._jwt: Any = jwt
        self._oidc = oidc
        self._keys: Any = None
        self._lock = threading.Lock()
        self._quiet_until = float("-inf")

    def caller(self, text: str) -> Caller:
        jwt, oidc = self._jwt, self._oidc
        try:
            claims = jwt.decode(
                text, self._key(text), algorithms=_ALGORITHMS, audience=oidc.audience, issuer=oidc.issuer,
                options={"require": ["exp", "iss", "aud", "sub"]}, leeway=30,
            )  # fmt: skip
            who = str(printable(_claimed(claims, oidc.person_claim) or _claimed(claims, "sub") or ""))
            if not 0 < len(who) <= _LONGEST_NAME:
                raise ValueError("says nobody's name")
        except (jwt.PyJWTError, ValueError, TypeError, OSError) as error:
            # Which check failed is for our log, not for whoever tries. A key of another kind is a TypeError.
            log.debug("a token of %s was refused: %s", oidc.issuer, type(error).__name__)
            raise Unauthenticated(
                "The token is not known, has expired or was revoked.", hint="Sign in again."
            ) from error
        roles = claims.get(oidc.roles_claim)
        if isinstance(roles, str):
            roles = {EVERYWHERE: roles}
        roles_held = (
            {str(domain): role for domain, role in roles.items() if role in ROLES} if isinstance(roles, dict) else {}
        )
        return Caller(who, roles_held)

    def _key(self, text: str) -> Any:
        jwt, place = self._jwt, self._oidc.keys
        if self._keys is None:
            if "://" in place:
                self._keys = jwt.PyJWKClient(place, timeout=5, lifespan=600)
            else:
                from pathlib import Path

                self._keys = jwt.PyJWKSet.from_dict(json.loads(Path(place).read_text("utf-8")))
        if hasattr(self._keys, "get_signing_key_from_jwt"):
            return self._fetched(text)
        wanted = jwt.get_unverified_header(text).get("kid")
        for key in self._keys.keys:
            if wanted is None or key.key_id == wanted:
                return key.key
        raise ValueError("no such key")

    def _fetched(self, text: str) -> Any:
        """A key of a provider that is asked over the network; one that does not answer is left alone for a while."""
        with self._lock:
            if time.monotonic() >= self._quiet_until:
                try:
                    return self._keys.get_signing_key_from_jwt(text).key
                except self._jwt.PyJWKClientConnectionError as error:
                    self._quiet_until = time.monotonic() + _QUIET_SECONDS
                    log.warning("The keys at %s cannot be fetched: %s", self._oidc.keys, type(error.__cause__).__name__)
        raise SourceError(
            "The identity provider does not tell its keys, so nobody can be recognised by them.",
            hint=f"Ask again in {_QUIET_SECONDS} seconds; whoever runs the service checks LAKELOGIC_OIDC_KEYS.",
        )


def _claimed(claims: Mapping[str, Any], name: str) -> str | None:
    """A claim that is text; who somebody is must not be guessed from anything else."""
    claim = claims.get(name)
    if claim is not None and not isinstance(claim, str):
        raise ValueError(f"`{name}` is no text")
    return claim


def caller(request: Request) -> Caller:
    """Who asks; found out before the route is reached."""
    user: Caller = request.app.state.service.door.caller(request.headers.get("authorization"))
    request.state.person = user.person  # from here on they have a rate of their own
    return user


Asking = Annotated[Caller, Depends(caller)]
