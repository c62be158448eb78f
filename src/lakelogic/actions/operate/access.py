"""Tokens of a service: make, list and revoke them, and see whom one stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakelogic import clock
from lakelogic.actions.operate.quarantine import person as whoever_runs_this
from lakelogic.errors import UsageError
from lakelogic.ledger.access import EVERYWHERE, Token, Tokens
from lakelogic.ledger.records import Act
from lakelogic.ledger.work import WorkQueue
from lakelogic.run.surroundings import Surroundings


def roles_of(written: Sequence[str]) -> dict[str, str]:
    """`viewer` everywhere, `retail=steward` in one domain."""
    roles: dict[str, str] = {}
    for entry in written:
        domain, sign, role = entry.partition("=")
        if not sign:
            domain, role = EVERYWHERE, entry
        if domain in roles:
            raise UsageError(f"`{domain}` has two roles.", hint="Give each domain one.")
        roles[domain] = role
    return roles


def new_token(
    around: Surroundings, person: str, roles: Mapping[str, str], lasts: timedelta | None = None
) -> tuple[str, Token]:
    """A token and its text, which is shown this once; the ledger remembers who made it for whom."""
    text, token = Tokens(around.ledger.database).new(person, roles, clock.now() + lasts if lasts else None)
    facts = {"token": token.token_id, "person": token.person, "roles": dict(roles)}
    around.ledger.tell(Act("new token", None, whoever_runs_this(), None, facts))
    return text, token


def list_tokens(around: Surroundings) -> list[Token]:
    """Every token, newest first."""
    return Tokens(around.ledger.database).all()


@dataclass(frozen=True, slots=True)
class Revoked:
    """A token that lets nobody in any more, and what its person had asked for: cancelled, or going on."""

    token: Token
    cancelled: tuple[str, ...]
    running: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**token_data(self.token), "cancelled": list(self.cancelled), "running": list(self.running)}


def revoke_token(around: Surroundings, token_id: str, why: str | None = None) -> Revoked:
    """Shut a token out. Once its person has no other, what they asked for never begins; what runs is told."""
    tokens = Tokens(around.ledger.database)
    token = tokens.revoke(token_id)
    waiting, running = (
        ([], []) if tokens.lets_in(token.person) else WorkQueue(around.ledger.database).drop(token.person)
    )
    revoked = Revoked(token, tuple(work.work_id for work in waiting), tuple(work.work_id for work in running))
    facts = {"token": token_id, "person": token.person, "cancelled": list(revoked.cancelled)}
    around.ledger.tell(Act("revoke token", None, whoever_runs_this(), why, facts))
    return revoked


def check_token(around: Surroundings, text: str) -> Token | None:
    """Whom a token stands for; None for one that does not let in."""
    return Tokens(around.ledger.database).check(text)


def has_tokens(around: Surroundings) -> bool:
    """Whether somebody could come in with a token."""
    return Tokens(around.ledger.database).any_valid()


def ever_had_tokens(around: Surroundings) -> bool:
    """Whether somebody has said that tokens are asked for; one that has expired or was revoked says so still."""
    return Tokens(around.ledger.database).any_made()


def token_data(token: Token) -> dict[str, Any]:
    """A token as plain data, without anything that lets in."""
    return {
        "token_id": token.token_id, "person": token.person, "roles": dict(token.roles),
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        "revoked_at": token.revoked_at.isoformat() if token.revoked_at else None,
    }  # fmt: skip
