"""Tokens: who may ask a service, and for which domains. Only a hash of a token is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from lakelogic import clock
from lakelogic.errors import NotFound, UsageError
from lakelogic.ledger.database import Database

ROLES: Final = ("viewer", "steward", "operator", "admin")  # each may do what those before it may
EVERYWHERE: Final = "*"
_PREFIX = "ll"


@dataclass(frozen=True, slots=True)
class Token:
    """Who a token stands for, and their role in each domain; `*` is every domain."""

    token_id: str
    person: str
    roles: Mapping[str, str]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class Tokens:
    """The tokens of one ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def new(self, person: str, roles: Mapping[str, str], expires_at: datetime | None = None) -> tuple[str, Token]:
        """Make a token; its text is shown this once and never again."""
        check_roles(roles)
        if not person.strip():
            raise UsageError("A token needs a person it stands for.", hint="Add --person 'maja@example.com'.")
        secret = secrets.token_urlsafe(32)
        token = Token(secrets.token_hex(6), person.strip(), dict(roles), clock.now(), expires_at)
        with self._database.write("tokens") as connection:
            connection.run(
                "INSERT INTO tokens (token_id, person, hashed, roles, created_at, expires_at) "
                "VALUES (:token_id, :person, :hashed, :roles, :created_at, :expires_at)",
                token_id=token.token_id,
                person=token.person,
                hashed=_hashed(secret),
                roles=token.roles,
                created_at=token.created_at,
                expires_at=expires_at,
            )
        return f"{_PREFIX}_{token.token_id}_{secret}", token

    def check(self, text: str) -> Token | None:
        """Whom a token stands for; None for a wrong, an expired or a revoked one. Takes as long for all of these."""
        prefix, _, rest = text.partition("_")
        token_id, _, secret = rest.partition("_")
        rows: list[dict[str, Any]] = []
        if prefix == _PREFIX and token_id and len(text) < 200:
            with self._database.read() as connection:
                rows = connection.rows("SELECT * FROM tokens WHERE token_id = :token_id", token_id=token_id)
        row = rows[0] if rows else {"hashed": "0" * 64}
        is_right = hmac.compare_digest(_hashed(secret), str(row["hashed"]))
        if not rows or not is_right:
            return None
        token = _token(row)
        return token if _is_valid(token) else None

    def all(self) -> list[Token]:
        """Every token, newest first, without anything that would let one in."""
        with self._database.read() as connection:
            return [_token(row) for row in connection.rows("SELECT * FROM tokens ORDER BY created_at DESC, token_id")]

    def any_valid(self) -> bool:
        """Whether there is a token that would be let in."""
        return any(_is_valid(token) for token in self.all())

    def lets_in(self, person: str) -> bool:
        """Whether somebody has a token that would be let in."""
        return any(token.person == person and _is_valid(token) for token in self.all())

    def any_made(self) -> bool:
        """Whether there ever was a token, whatever became of it."""
        with self._database.read() as connection:
            return bool(connection.rows("SELECT token_id FROM tokens LIMIT 1"))

    def revoke(self, token_id: str) -> Token:
        """Shut a token out for good."""
        with self._database.write("tokens") as connection:
            rows = connection.rows("SELECT * FROM tokens WHERE token_id = :token_id", token_id=token_id)
            if not rows:
                raise NotFound(f"There is no token `{token_id}`.", hint="`lakelogic token list` shows them.")
            connection.run(
                "UPDATE tokens SET revoked_at = :revoked_at WHERE token_id = :token_id AND revoked_at IS NULL",
                revoked_at=clock.now(),
                token_id=token_id,
            )
            return _token(connection.rows("SELECT * FROM tokens WHERE token_id = :token_id", token_id=token_id)[0])


def check_roles(roles: Mapping[str, str]) -> None:
    """Refuse a role that there is not."""
    if not roles:
        raise UsageError("A token needs a role.", hint="Add --role viewer, or --role retail=steward for one domain.")
    for domain, role in roles.items():
        if role not in ROLES:
            raise UsageError(f"There is no role `{role}` (for `{domain}`).", hint=f"Choose one of {', '.join(ROLES)}.")


def _hashed(secret: str) -> str:
    # 256 random bits need no slow hash: there is nothing to guess.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _is_valid(token: Token) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > clock.now())


def _token(row: Mapping[str, Any]) -> Token:
    return Token(row["token_id"], row["person"], row["roles"], row["created_at"], row["expires_at"], row["revoked_at"])
