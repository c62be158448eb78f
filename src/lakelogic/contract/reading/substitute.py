"""Placeholders, environment variables and references to secrets: what is filled, and what stays a reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator

from lakelogic.contract import codes
from lakelogic.contract.base import Mark

_REFERENCE = re.compile(
    r"(?:env:(?P<env>[A-Za-z_]\w*)|\$\{ENV:(?P<braced>[A-Za-z_]\w*)\}|secret:(?P<secret>[\w.-]+/\S+))$"
)
_TEMPLATE = re.compile(r"\$\{(?:ENV:)?[A-Za-z_]\w*\}")


@dataclass(frozen=True, slots=True)
class Secret:
    """A reference to a secret: fetched at the moment of use, and never printed.

    `provider` is `env` for environment variables, `plain` for text that holds no secret (a database address
    without a password), `template` for an address with `${ENV:VAR}` in it, else the secret store's name.
    """

    provider: str
    name: str

    def __str__(self) -> str:
        return self.name if self.provider == "plain" else f"secret({self.name})"

    def __repr__(self) -> str:
        return str(self)


def reference(text: str) -> Secret | None:
    """The reference that a text is: `env:VAR`, `${ENV:VAR}` or `secret:<provider>/<name>`."""
    if match := _REFERENCE.match(text.strip()):
        if variable := match["env"] or match["braced"]:
            return Secret("env", variable)
        provider, _, name = match["secret"].partition("/")
        return Secret(provider, name)
    return None


def secret(text: str) -> Secret:
    """A reference, an address with references in it, or an address that holds no secret."""
    if secret_ref := reference(text):
        return secret_ref
    return Secret("template" if _TEMPLATE.search(text) else "plain", text)


def _as_secret(value: Any) -> Any:
    return secret(value) if isinstance(value, str) else value


SecretReference: TypeAlias = Annotated[Secret, BeforeValidator(_as_secret), Mark("secret")]


@dataclass(frozen=True, slots=True)
class PlaceholderProblem:
    """What is wrong with one text: code, sentence and hint."""

    code: str
    message: str
    hint: str


_SECRET_KEYS = re.compile(
    r"(?:^|_)(?:password|passwd|pwd|secret|token|api_?key|access_key|secret_key|private_key|client_secret|sas_token)$",
    re.IGNORECASE,
)
_SECRET_TEXTS = re.compile(
    r"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|hooks\.slack\.com/services/T\w+/|dapi[0-9a-f]{32}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
)
_PASSWORD_IN_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://[^/@\s:]+:(?P<password>[^@/\s]+)@")
_MALFORMED = re.compile(r"^(?:env|secret):|^\$\{ENV:")
_HINT = "Write a reference: `env:VAR`, `${ENV:VAR}` or `secret:<provider>/<name>`."


def literal_secret(text: str, *, must_be_reference: bool = False, key: str = "") -> PlaceholderProblem | None:
    """What is wrong with a text that may hold a secret: it is written out, or its reference cannot be read."""
    if reference(text) is not None:
        return None
    if must_be_reference and _MALFORMED.search(text):
        return PlaceholderProblem(
            codes.BAD_REFERENCE, f"`{text.split(':', maxsplit=1)[0]}:…` is not a complete reference to a secret.", _HINT
        )
    password = _PASSWORD_IN_ADDRESS.match(text)
    if password and not _TEMPLATE.fullmatch(password["password"]):
        return PlaceholderProblem(codes.LITERAL_SECRET, f"`{key or 'The text'}` holds a password.", _HINT)
    if _SECRET_TEXTS.search(text):
        return PlaceholderProblem(codes.LITERAL_SECRET, f"`{key or 'The text'}` holds what looks like a secret.", _HINT)
    if _SECRET_KEYS.search(key) and text and not _TEMPLATE.fullmatch(text):
        return PlaceholderProblem(codes.LITERAL_SECRET, f"`{key}` is a secret that is written out.", _HINT)
    if must_be_reference and key in ("connection", "password") and not _TEMPLATE.search(text) and "://" not in text:
        return PlaceholderProblem(codes.LITERAL_SECRET, f"`{key}` must be a reference to a secret.", _HINT)
    return None


_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_]\w*)\}")
_WHOLE_VARIABLE = re.compile(r"env:([A-Za-z_]\w*)$")


@dataclass(frozen=True, slots=True)
class Filling:
    """A text after filling, and the names that nothing filled."""

    text: str
    missing_variables: tuple[str, ...] = ()
    missing_placeholders: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ()  # they stay references: their values are never put into text


_SECRET_VARIABLE = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|pwd|secrets?|tokens?|salt|api_?key|access_?key|secret_?key|private_?key|"
    r"pii_?key|encryption_?key|account_?key|sas|credentials?|keys?)(?:$|_(?:id|file)?$|\d*$)",
    re.IGNORECASE,
)
_SHORTEST_SECRET = 8  # shorter values stand by chance in other variables


def is_secret(name: str, environ: Mapping[str, str]) -> bool:
    """Whether a variable holds a secret: by its name, by how its value looks, or because it holds a known secret."""
    if _SECRET_VARIABLE.search(name):
        return True
    value = environ.get(name, "")
    if _SECRET_TEXTS.search(value) or _PASSWORD_IN_ADDRESS.match(value):
        return True
    return len(value) >= _SHORTEST_SECRET and any(
        len(other) >= _SHORTEST_SECRET and other in value
        for other_name, other in environ.items()
        if other_name != name and _SECRET_VARIABLE.search(other_name)
    )


def fill(text: str, treatment: str, values: Mapping[str, str], environ: Mapping[str, str]) -> Filling:
    """Fill `${VAR}` in any text, and `{placeholder}` and `env:VAR` in places; verbatim and secret texts stay."""
    if treatment in ("verbatim", "secret", "free"):
        return Filling(text)
    variables: list[str] = []
    placeholders: list[str] = []
    secrets: list[str] = []

    def variable(match: re.Match[str]) -> str:
        if is_secret(match[1], environ):
            secrets.append(match[1])
            return match[0]
        if match[1] not in environ:
            variables.append(match[1])
        return environ.get(match[1], match[0])

    def placeholder(match: re.Match[str]) -> str:
        if match[1] not in values:
            placeholders.append(match[1])
        return values.get(match[1], match[0])

    # Placeholders first, so that braces inside a variable's value are never read as a placeholder.
    filled = _PLACEHOLDER.sub(placeholder, text) if treatment == "place" else text
    filled = _VARIABLE.sub(variable, filled)
    if treatment == "place" and (whole := _WHOLE_VARIABLE.fullmatch(text)):
        if is_secret(whole[1], environ):
            return Filling(text, (), tuple(placeholders), (whole[1],))
        filled = environ.get(whole[1], text)
        if whole[1] not in environ:
            variables.append(whole[1])
    return Filling(filled, tuple(variables), tuple(placeholders), tuple(secrets))
