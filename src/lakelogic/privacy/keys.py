"""Secret material for masks: where keys come from, and how they are made."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lakelogic.errors import CredentialError
from lakelogic.privacy.strength import weakness_of_key, weakness_of_salt

KEY_VARIABLE = "LAKELOGIC_PII_KEY"
SALT_VARIABLE = "LAKELOGIC_PII_SALT"
KEY_BYTES = 32
KEY_ID_BYTES = 4

# Which secret a mask needs; a mask that is in neither needs none.
NEEDS_KEY = frozenset({"encrypt", "encrypt_deterministic"})
NEEDS_SALT = frozenset({"hash"})


@dataclass(frozen=True, slots=True)
class Keys:
    """Secret material for masks, held by the process and never printed or put into a plan or SQL text."""

    encryption: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)  # (key id, 32 bytes); the first encrypts
    salt: bytes | None = field(default=None, repr=False)


def new_key() -> str:
    """A fresh random key, as `LAKELOGIC_PII_KEY` takes it."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")


def new_salt() -> str:
    """A fresh random text, as `LAKELOGIC_PII_SALT` takes it."""
    return secrets.token_urlsafe(KEY_BYTES)


def key_id(key: bytes) -> str:
    """The name of a key: the first four bytes of its SHA-256, in hex. It stands in clear in every encrypted value."""
    return hashlib.sha256(key).digest()[:KEY_ID_BYTES].hex()


def identity_keys(keys: Keys) -> tuple[bytes, ...]:
    """Keys for identities of rows that hold personal data, the one to use first.

    The oldest encryption key comes first: keys rotate by putting the new one before it, and an identity stays what it
    is for as long as the key that opens the row is there.
    """
    return tuple(hmac.digest(key, b"lakelogic identity of a row 1", "sha256") for _, key in reversed(keys.encryption))


def load_keys(strategies: Iterable[str], environ: Mapping[str, str]) -> Keys:
    """The secrets that these masks need, from the environment; what is missing or malformed is an error.

    A secret that no mask needs is taken along where it is there and well formed (quarantine encrypts the landed
    row whenever there is a key), and never asked for.
    """
    needed = set(strategies)
    for_key, for_salt = sorted(needed & NEEDS_KEY), sorted(needed & NEEDS_SALT)
    salt = environ.get(SALT_VARIABLE, "")
    if for_salt and not salt:
        raise CredentialError(
            f"Masking with `{for_salt[0]}` needs a secret text in {SALT_VARIABLE}, which is not set.",
            hint=f"Set {SALT_VARIABLE} to a long random text and keep it: another text gives other hashes. "
            "`lakelogic keys new --salt` makes one.",
        )
    if for_salt and (why := weakness_of_salt(salt)):
        raise CredentialError(
            f"The text in {SALT_VARIABLE} {why}, so that hashed values can be guessed.",
            hint="`lakelogic keys new --salt` makes one. Another text gives other hashes: tables that were hashed with "
            "this one must be made again.",
        )
    written = environ.get(KEY_VARIABLE, "")
    if not written.strip():
        if for_key:
            raise CredentialError(
                f"Masking with `{for_key[0]}` needs a key in {KEY_VARIABLE}, which is not set.",
                hint=_KEY_HINT,
            )
        encryption: tuple[tuple[str, bytes], ...] = ()
    else:
        try:
            encryption = _read_keys(written)
        except ValueError as error:
            if for_key:
                raise CredentialError(str(error), hint=_KEY_HINT) from None
            encryption = ()
        if encryption and for_key and (why := weakness_of_key(encryption[0][1])):
            raise CredentialError(
                f"The key in {KEY_VARIABLE} that encrypts {why}, so that it can be guessed.",
                hint="`lakelogic keys new` makes one. Put it in front of this one, parted by a comma: the first "
                "encrypts, and all of them decrypt.",
            )
    return Keys(encryption=encryption, salt=salt.encode("utf-8") if salt else None)


_KEY_HINT = (
    f"Set {KEY_VARIABLE} to 32 bytes in base64 or hex; several keys are separated by commas, the first encrypts "
    "and all decrypt. `lakelogic keys new` makes one."
)


def _read_keys(written: str) -> tuple[tuple[str, bytes], ...]:
    """All keys of the variable, in order. No message ever holds a part of a key."""
    parts = [part.strip() for part in written.split(",")]
    keys: dict[bytes, str] = {}
    for number, part in enumerate(parts, start=1):
        which = KEY_VARIABLE if len(parts) == 1 else f"Key {number} of {len(parts)} in {KEY_VARIABLE}"
        if not part:
            raise ValueError(f"{which} is empty.")
        key = _decode(part)
        if key is None:
            raise ValueError(f"{which} is neither base64 nor hex.")
        if len(key) != KEY_BYTES:
            raise ValueError(f"{which} holds {len(key)} bytes, not {KEY_BYTES}.")
        keys.setdefault(key, key_id(key))
    return tuple((name, key) for key, name in keys.items())


def _decode(text: str) -> bytes | None:
    # 64 hex digits are valid base64 too (of 48 bytes), so hex goes first.
    try:
        return bytes.fromhex(text)
    except ValueError:
        pass
    try:
        standard = text.replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
