"""Hide the values of masked columns, on Arrow arrays, the same for every engine.

A masked column is text when it gets here. NULL stays NULL under every mask. What each mask makes:

    nullify                  NULL
    redact                   ***
    hash                     HMAC-SHA-256 of the UTF-8 text, keyed with the salt, in lower-case hex
    partial                  see `partial.py`
    encrypt                  enc: + base64(0x01 | key id, 4 bytes | nonce, 12 bytes | AES-256-GCM ciphertext and tag)
    encrypt_deterministic    enc: + base64(0x02 | key id, 4 bytes | AES-256-SIV output)

The layout of `encrypt` is that of nonce, ciphertext and tag as other writers of GCM put them one after the
other, so an engine that encrypts natively makes values that this module can open.
"""

from __future__ import annotations

import binascii
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import pyarrow as pa

from lakelogic.errors import CredentialError, EngineError
from lakelogic.plan.nodes import Mask
from lakelogic.privacy.keys import KEY_ID_BYTES, KEY_VARIABLE, SALT_VARIABLE, Keys
from lakelogic.privacy.partial import HIDDEN, check_format, partial_text
from lakelogic.sql.arrays import strings

PREFIX = "enc:"
GCM_VERSION = 1
SIV_VERSION = 2
VERSIONS = (GCM_VERSION, SIV_VERSION)
HEADER_BYTES = 1 + KEY_ID_BYTES
NONCE_BYTES = 12
TAG_BYTES = 16

# Values are Python objects only for one slice at a time, so a column of any length costs little memory.
SLICE = 65_536

Texts: TypeAlias = "list[str | None]"
Nonces: TypeAlias = Callable[[int], bytes]


def mask_array(values: pa.Array | pa.ChunkedArray, mask: Mask, keys: Keys, *, nonces: Nonces = os.urandom) -> pa.Array:
    """The masked values, of the same text type. `nonces(n)` gives n random bytes; tests hand in their own."""
    kind = _text_type(values.type, mask.column)
    if mask.strategy == "nullify" or pa.types.is_null(values.type):
        return pa.nulls(len(values), kind)
    if mask.strategy == "redact":
        return _redact(values, kind)
    return _by_slice(values, kind, _masker(mask, keys, nonces))


def apply_masks(
    batch: pa.RecordBatch, masks: Iterable[Mask], keys: Keys, *, nonces: Nonces = os.urandom
) -> pa.RecordBatch:
    """The batch with its masked columns replaced; a mask whose column is not there is a defect, never ignored."""
    arrays, fields = list(batch.columns), list(batch.schema)
    for mask in masks:
        position = batch.schema.get_field_index(mask.column)
        if position < 0:
            raise EngineError(
                f"The column `{mask.column}` is to be masked with `{mask.strategy}` and is not in the batch.",
                hint=f"The batch has: {', '.join(batch.schema.names)}.",
            )
        arrays[position] = mask_array(batch.column(position), mask, keys, nonces=nonces)
        fields[position] = fields[position].with_type(arrays[position].type).with_nullable(True)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=batch.schema.metadata))


def reveal_array(values: pa.Array | pa.ChunkedArray, keys: Keys) -> pa.Array:
    """Encrypted values in clear; what is not encrypted, damaged or made with another key stays as it is."""
    kind = _text_type(values.type, "values")
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), kind)
    opener = _Opener(keys)
    return _by_slice(values, kind, lambda texts: [None if text is None else opener.open(text) for text in texts])


def reveal_text(text: str, keys: Keys) -> str:
    """One encrypted value in clear; anything else as it is."""
    return _Opener(keys).open(text)


def reveal_texts(texts: Iterable[str | None], keys: Keys) -> list[str | None]:
    """The same for many values, with the ciphers made once."""
    opener = _Opener(keys)
    return [None if text is None else opener.open(text) for text in texts]


def encryption_header(version: int, key_id: str) -> bytes:
    """What stands before the cipher's own bytes: the version of the layout and the key id."""
    return bytes([version]) + bytes.fromhex(key_id)


def deterministic_key(key: bytes) -> bytes:
    """The 64 bytes AES-256-SIV wants, out of the 32 bytes people keep."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=64, salt=None, info=b"lakelogic encrypt_deterministic 1").derive(key)


def _text_type(kind: pa.DataType, column: str) -> pa.DataType:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return kind
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_dictionary(kind):
        return _text_type(kind.value_type, column)
    raise EngineError(f"The masked column `{column}` reached its mask as {kind}; masks work on text.")


def _redact(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    filled = pc.if_else(pc.is_valid(values), pa.scalar(HIDDEN, pa.string()), pa.scalar(None, pa.string()))
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    return filled.cast(kind)


def _of_kind(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast only where needed: the first cast of a process loads Arrow's functions."""
    return texts if texts.type == kind else texts.cast(kind)


def _by_slice(
    values: pa.Array | pa.ChunkedArray, kind: pa.DataType, work: Callable[[Sequence[str | None]], Texts]
) -> pa.Array:
    parts = [
        _of_kind(strings(work(values.slice(start, SLICE).to_pylist())), kind) for start in range(0, len(values), SLICE)
    ]
    if not parts:
        return _of_kind(strings([]), kind)
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _masker(mask: Mask, keys: Keys, nonces: Nonces) -> Callable[[Sequence[str | None]], Texts]:
    match mask.strategy:
        case "hash":
            return _hasher(keys)
        case "partial":
            if mask.format is not None and (problem := check_format(mask.format)):
                raise EngineError(f"The mask of `{mask.column}`: {problem}")
            shorten = partial_text(mask.format)
            return lambda texts: [None if text is None else shorten(text) for text in texts]
        case "encrypt":
            return _encrypter(keys, nonces)
        case "encrypt_deterministic":
            return _deterministic_encrypter(keys)
    raise EngineError(f"`{mask.strategy}` is not a mask; nothing was written.")


def _hasher(keys: Keys) -> Callable[[Sequence[str | None]], Texts]:
    if keys.salt is None:
        raise CredentialError(f"Masking with `hash` needs {SALT_VARIABLE}.")
    # HMAC written out: the two padded keys are digested once and copied, three times as fast as one HMAC a value.
    block = hashlib.sha256(keys.salt).digest() if len(keys.salt) > 64 else keys.salt
    block = block.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def work(texts: Sequence[str | None]) -> Texts:
        hashed: Texts = []
        for text in texts:
            if text is None:
                hashed.append(None)
                continue
            first, second = inner.copy(), outer.copy()
            first.update(text.encode("utf-8"))
            second.update(first.digest())
            hashed.append(second.hexdigest())
        return hashed

    return work


def _first_key(keys: Keys, strategy: str) -> tuple[str, bytes]:
    if not keys.encryption:
        raise CredentialError(f"Masking with `{strategy}` needs {KEY_VARIABLE}.")
    return keys.encryption[0]


def _encrypter(keys: Keys, nonces: Nonces) -> Callable[[Sequence[str | None]], Texts]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    name, key = _first_key(keys, "encrypt")
    header, cipher = encryption_header(GCM_VERSION, name), AESGCM(key)

    def work(texts: Sequence[str | None]) -> Texts:
        random = nonces(NONCE_BYTES * len(texts))
        encrypted: Texts = []
        for position, text in enumerate(texts):
            if text is None:
                encrypted.append(None)
                continue
            nonce = random[position * NONCE_BYTES : (position + 1) * NONCE_BYTES]
            encrypted.append(_written(header + nonce + cipher.encrypt(nonce, text.encode("utf-8"), None)))
        return encrypted

    return work


def _deterministic_encrypter(keys: Keys) -> Callable[[Sequence[str | None]], Texts]:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    name, key = _first_key(keys, "encrypt_deterministic")
    header, cipher = encryption_header(SIV_VERSION, name), AESSIV(deterministic_key(key))

    def work(texts: Sequence[str | None]) -> Texts:
        return [
            None if text is None else _written(header + cipher.encrypt(text.encode("utf-8"), None)) for text in texts
        ]

    return work


def _written(sealed: bytes) -> str:
    return PREFIX + binascii.b2a_base64(sealed, newline=False).decode("ascii")


class _Opener:
    """Opens encrypted values; a cipher is made once per key and layout, when the first value asks for it."""

    def __init__(self, keys: Keys) -> None:
        self._keys: dict[bytes, list[bytes]] = {}
        # Four bytes of a digest may collide, so every key of that name is tried.
        for name, key in keys.encryption:
            self._keys.setdefault(bytes.fromhex(name), []).append(key)
        self._ciphers: dict[bytes, list[Callable[[bytes], bytes]]] = {}

    def open(self, text: str) -> str:
        """The clear text; the given text where this is not an encrypted value or no key opens it."""
        if not self._keys or not text.startswith(PREFIX):
            return text
        try:
            sealed = binascii.a2b_base64(text[len(PREFIX) :], strict_mode=True)
        except ValueError:
            return text
        header, body = sealed[:HEADER_BYTES], sealed[HEADER_BYTES:]
        ciphers = self._ciphers.get(header)
        if ciphers is None:
            ciphers = self._ciphers[header] = [
                _decrypter(header[0], key) for key in self._keys.get(header[1:], ()) if header[0] in VERSIONS
            ]
        for decrypt in ciphers:
            try:
                return decrypt(body).decode("utf-8")
            except ValueError:
                continue
        return text


def _decrypter(version: int, key: bytes) -> Callable[[bytes], bytes]:
    """A function that opens what stands after the header; raises ValueError for what this key did not seal."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

    gcm = AESGCM(key) if version == GCM_VERSION else None
    siv = AESSIV(deterministic_key(key)) if version == SIV_VERSION else None

    def decrypt(body: bytes) -> bytes:
        try:
            if gcm is not None and len(body) >= NONCE_BYTES + TAG_BYTES:
                return gcm.decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], None)
            if siv is not None and len(body) >= TAG_BYTES:
                return siv.decrypt(body, None)
        except InvalidTag:
            raise ValueError("damaged, or sealed with another key") from None
        raise ValueError("too short to be a sealed value")

    return decrypt
