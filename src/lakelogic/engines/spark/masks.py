"""Masks as Spark SQL: the keys travel as columns of a one-row frame, so no plan ever shows them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from lakelogic.engines.base import Frame
from lakelogic.engines.spark.convert import canonical_text
from lakelogic.engines.spark.frame import arrow_frame, ddl, typed_columns
from lakelogic.engines.spark.literals import identifier, text, type_name
from lakelogic.engines.spark.session import functions_of
from lakelogic.errors import CredentialError, EngineError
from lakelogic.plan.nodes import Mask, Published
from lakelogic.privacy.keys import KEY_VARIABLE, SALT_VARIABLE, Keys
from lakelogic.privacy.masks import GCM_VERSION, PREFIX, apply_masks, encryption_header
from lakelogic.privacy.partial import HIDDEN, check_format
from lakelogic.sql.types import STRING, Type

KEY, HEADER, INNER, OUTER = "~key", "~header", "~inner", "~outer"
# Java's `\s` is ASCII; the masks of Python know all white space.
_SPACE = r"\p{IsWhite_Space}\x1C-\x1F"
_EMAIL = rf"^([^@{_SPACE}]+)@([^@{_SPACE}]+\.[^@{_SPACE}]+)\z"
_PLACEHOLDER = re.compile(r"\{(?:(first|last)([1-9])|(domain))\}")


def masked(frame: Frame, columns: Sequence[Published], masks: Sequence[Mask], keys: Keys) -> Frame:
    """The frame with its masked columns hidden; all others are as they were, in the same order."""
    if not masks:
        return frame
    by_column = {mask.column: mask for mask in masks}
    kinds = dict(typed_columns(frame))
    missing = [column for column in by_column if column not in kinds]
    if missing:
        raise EngineError(f"The column `{missing[0]}` is to be masked and is not in the frame.")
    published = {column.name: column.type for column in columns}
    secrets = _secrets(masks, keys)
    wide = frame
    if secrets is not None:
        row = arrow_frame(frame.sparkSession, secrets)
        wide = frame.crossJoin(functions_of(frame).broadcast(row))
    chosen = []
    for column, kind in kinds.items():
        mask = by_column.get(column)
        if mask is None:
            chosen.append(identifier(column))
        else:
            chosen.append(f"{_masked(mask, kind, published.get(column, STRING))} AS {identifier(column)}")
    result = wide.selectExpr(*chosen)
    later = [mask for mask in masks if mask.strategy == "encrypt_deterministic"]
    return _in_python(result, later, keys) if later else result


def _secrets(masks: Sequence[Mask], keys: Keys) -> pa.Table | None:
    values: dict[str, bytes] = {}
    strategies = {mask.strategy for mask in masks}
    if strategies & {"encrypt", "encrypt_deterministic"} and not keys.encryption:
        raise CredentialError(f"Encryption needs {KEY_VARIABLE}.")
    if "encrypt" in strategies:
        key_name, key = keys.encryption[0]
        values |= {KEY: key, HEADER: encryption_header(GCM_VERSION, key_name)}
    if "hash" in strategies:
        if keys.salt is None:
            raise CredentialError(f"Masking with `hash` needs {SALT_VARIABLE}.")
        block = (hashlib.sha256(keys.salt).digest() if len(keys.salt) > 64 else keys.salt).ljust(64, b"\0")
        values |= {INNER: bytes(byte ^ 0x36 for byte in block), OUTER: bytes(byte ^ 0x5C for byte in block)}
    if not values:
        return None
    return pa.table({column: pa.array([value], pa.binary()) for column, value in values.items()})


def _masked(mask: Mask, kind: Type, published: Type) -> str:
    if mask.strategy == "nullify":
        return f"CAST(NULL AS {type_name(published)})"
    value = identifier(mask.column)
    plain = value if kind.is_text else canonical_text(value, kind)
    match mask.strategy:
        case "redact":
            return f"CASE WHEN {value} IS NOT NULL THEN {text(HIDDEN)} END"
        case "hash":
            inner = f"unhex(sha2(concat({identifier(INNER)}, CAST({plain} AS BINARY)), 256))"
            return f"sha2(concat({identifier(OUTER)}, {inner}), 256)"
        case "encrypt":
            sealed = f"concat({identifier(HEADER)}, aes_encrypt(CAST({plain} AS BINARY), {identifier(KEY)}, 'GCM'))"
            # Spark breaks long base64 into lines.
            return f"concat({text(PREFIX)}, translate(base64({sealed}), {text(chr(13) + chr(10))}, ''))"
        case "partial":
            return _partial(plain, mask)
        case "encrypt_deterministic":
            return plain
    raise EngineError(f"`{mask.strategy}` is not a mask; nothing was written.")


def _partial(value: str, mask: Mask) -> str:
    email = f"{value} RLIKE {text(_EMAIL)}"
    body = f"regexp_extract({value}, {text(_EMAIL)}, 1)"
    domain = f"regexp_extract({value}, {text(_EMAIL)}, 2)"
    if mask.format is None:
        return (
            f"CASE WHEN {value} IS NULL THEN NULL "
            f"WHEN {email} THEN concat(left({body}, 1), {text(HIDDEN + '@')}, {domain}) "
            f"WHEN length({value}) < 8 THEN {text(HIDDEN)} ELSE concat({text(HIDDEN)}, right({value}, 4)) END"
        )
    if problem := check_format(mask.format):
        raise EngineError(f"The mask of `{mask.column}`: {problem}")
    with_domain = "{domain}" in mask.format
    shown_of = body if with_domain else value
    pieces, at, shown = [], 0, 0
    for match in _PLACEHOLDER.finditer(mask.format):
        pieces.append(text(mask.format[at : match.start()]))
        if match[3]:
            pieces.append(domain)
        else:
            shown += int(match[2])
            pieces.append(f"{'left' if match[1] == 'first' else 'right'}({shown_of}, {match[2]})")
        at = match.end()
    pieces.append(text(mask.format[at:]))
    guard = f"length({shown_of}) > {shown}" + (f" AND {email}" if with_domain else "")
    return f"CASE WHEN {value} IS NULL THEN NULL WHEN {guard} THEN concat({', '.join(pieces)}) ELSE {text(HIDDEN)} END"


def _in_python(frame: Frame, masks: Sequence[Mask], keys: Keys) -> Frame:
    """Masks that Spark has no function for, on Arrow batches; the keys travel in the function, not in the plan."""
    chosen = tuple(masks)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield apply_masks(batch, chosen, keys)

    return frame.mapInArrow(work, ddl(typed_columns(frame)))
