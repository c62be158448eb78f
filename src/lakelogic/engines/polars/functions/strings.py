"""Canonical expressions → Polars expressions: functions of text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

import polars as pl

from lakelogic.engines.exact import matching as exact_patterns
from lakelogic.engines.exact import text as exact_text
from lakelogic.engines.exact.patterns import rust_regex
from lakelogic.engines.polars.convert import by_batch
from lakelogic.engines.polars.functions.by_value import each, each_of
from lakelogic.engines.polars.literals import dtype
from lakelogic.sql.expressions import Call, Literal, columns_of
from lakelogic.sql.patterns import parse, plain_text, replacement

Args: TypeAlias = Sequence[pl.Expr]
Builder: TypeAlias = Callable[[Call, Args], pl.Expr]

_TEXTS = pl.List(pl.String)


def _by_python(function: Callable[..., object]) -> Builder:
    """One call of a Python function per row."""
    return lambda call, args: each_of(args, function, dtype(call.type))


def _trim(call: Call, args: Args) -> pl.Expr:
    characters = args[1] if len(args) > 1 else pl.lit(" ")
    value = args[0].str
    strip = {"trim": value.strip_chars, "ltrim": value.strip_chars_start, "rtrim": value.strip_chars_end}
    trimmed = strip[call.function](characters)
    # Without characters, Polars would strip white space.
    return trimmed if len(args) == 1 else pl.when(characters.is_not_null()).then(trimmed)


def _trimmed(call: Call, args: Args) -> pl.Expr:
    if len(args) == 1:
        return _trim(call, args)
    # NULL, and an empty set of characters, would be taken for all blanks.
    return pl.when(args[1] == "").then(args[0]).when(args[1].is_not_null()).then(_trim(call, args))


def _substring(_call: Call, args: Args) -> pl.Expr:
    value, start = args[0], args[1].cast(pl.Int64)
    size = value.str.len_chars().cast(pl.Int64)
    begin = pl.when(start > 0).then(start - 1).when(start < 0).then(size + start).when(start == 0).then(start)
    first = pl.when(begin < 0).then(0).otherwise(begin)
    if len(args) == 2:
        return value.str.slice(first)
    wanted = begin + args[2].cast(pl.Int64) - first
    cut = value.str.slice(first, pl.when(wanted < 0).then(0).otherwise(wanted))
    return pl.when(wanted.is_not_null()).then(cut)


def _not_below_zero(value: pl.Expr) -> pl.Expr:
    wide = value.cast(pl.Int64)
    return pl.when(wide < 0).then(0).otherwise(wide)


def _pad(call: Call, args: Args) -> pl.Expr:
    value, size, fill = args[0], _not_below_zero(args[1]), args[2]
    missing = size - value.str.len_chars().cast(pl.Int64)
    missing = pl.when(missing < 0).then(0).otherwise(missing)
    constants = [part.value if isinstance(part, Literal) else None for part in call.args[1:3]]
    if None not in constants:
        count, text = max(int(str(constants[0])), 0), str(constants[1])
        filling = pl.lit((text * count)[:count]).str.head(missing)
    else:
        filling = each_of([fill, missing], lambda text, count: (text * count)[:count], pl.String)
    cut = value.str.head(size)
    return pl.concat_str([filling, cut] if call.function == "lpad" else [cut, filling])


def _concat_ws(call: Call, args: Args) -> pl.Expr:
    separator = call.args[0]
    plain = all(argument.type.kind != "array" for argument in call.args[1:])
    if isinstance(separator, Literal) and isinstance(separator.value, str) and plain:
        return pl.concat_str(args[1:], separator=separator.value, ignore_nulls=True)
    lists = [
        value.fill_null([]) if argument.type.kind == "array" else value.cast(pl.String).reshape((-1, 1)).cast(_TEXTS)
        for argument, value in zip(call.args[1:], args[1:], strict=True)
    ]
    items = pl.concat_list(lists).list.drop_nulls()
    return each_of([args[0], items], lambda between, texts: between.join(texts), pl.String)


def _replace(call: Call, args: Args) -> pl.Expr:
    old = call.args[1]
    if isinstance(old, Literal) and isinstance(old.value, str):
        if old.value == "":
            return pl.when(args[2].is_not_null()).then(args[0])
        # Polars replaces a constant by a constant, or a column by anything.
        if columns_of(call.args[0]) or not columns_of(call.args[2]):
            new = args[2].fill_null("")
            return pl.when(args[2].is_not_null()).then(args[0].str.replace_all(old.value, new, literal=True))
    return each_of(args, lambda text, part, replacement: text.replace(part, replacement) if part else text, pl.String)


def _translate(call: Call, args: Args) -> pl.Expr:
    old, new = str(call.constant(1)), str(call.constant(2))
    table: dict[int, int | None] = {
        ord(character): ord(new[place]) if place < len(new) else None for place, character in enumerate(old)
    }
    return by_batch(args[0], each(lambda text: text.translate(table), pl.String), pl.String)


def _ascii(call: Call, args: Args) -> pl.Expr:
    return by_batch(args[0], each(lambda text: ord(text[0]) if text else 0, pl.Int32), dtype(call.type))


# patterns


def _rust(call: Call) -> str:
    return rust_regex(str(call.constant(1)))


def _of_pattern(call: Call, args: Args, function: Callable[[str], object]) -> pl.Expr:
    to = dtype(call.type)
    return by_batch(args[0], each(function, to), to)


def _regexp_replace(call: Call, args: Args) -> pl.Expr:
    pattern, new = str(call.constant(1)), str(call.constant(2))
    if parse(pattern).can_be_empty:
        return _of_pattern(call, args, exact_patterns.replaced(pattern, new))
    pieces = [
        f"${{{piece}}}" if isinstance(piece, int) else piece.replace("$", "$$") for piece in replacement(new, pattern)
    ]
    return args[0].str.replace_all(_rust(call), "".join(pieces))


def _regexp_extract(call: Call, args: Args) -> pl.Expr:
    group = call.constant(2)
    assert isinstance(group, int)
    extracted = args[0].str.extract(_rust(call), group).fill_null("")
    return pl.when(args[0].is_not_null()).then(extracted)


def _regexp_extract_all(call: Call, args: Args) -> pl.Expr:
    pattern, group = str(call.constant(1)), call.constant(2)
    assert isinstance(group, int)
    if group == 0 and not parse(pattern).can_be_empty:
        return args[0].str.extract_all(_rust(call))
    return _of_pattern(call, args, exact_patterns.extracted_all(pattern, group))


def _regexp_count(call: Call, args: Args) -> pl.Expr:
    pattern = str(call.constant(1))
    if parse(pattern).can_be_empty:
        return _of_pattern(call, args, exact_patterns.counted(pattern))
    return args[0].str.count_matches(_rust(call)).cast(dtype(call.type))


def _regexp_instr(call: Call, args: Args) -> pl.Expr:
    before = args[0].str.extract(rf"(?s)\A(.*?)(?:{_rust(call)})", 1)
    position = (before.str.len_chars().cast(pl.Int32) + 1).fill_null(0)
    return pl.when(args[0].is_not_null()).then(position).cast(dtype(call.type))


def _split(call: Call, args: Args) -> pl.Expr:
    pattern, most = str(call.constant(1)), call.constant(2)
    assert isinstance(most, int)
    if most > 0:
        return _of_pattern(call, args, exact_patterns.parted(pattern, most))
    if pattern == "":
        # An empty text would have no pieces at all.
        return pl.when(args[0] == "").then(pl.lit([""], dtype=_TEXTS)).otherwise(args[0].str.split(""))
    plain = plain_text(parse(pattern))
    if plain is not None:
        return args[0].str.split(plain)
    return args[0].str.split(_rust(call), literal=False)


# bytes


def _digest(name: str) -> Builder:
    """A digest in hex: by the plugin, at a third of the cost, or value by value where it is not installed."""

    def build(_call: Call, args: Args) -> pl.Expr:
        try:
            import polars_hash as plugin
        except ImportError:
            return args[0].map_batches(digested(name), return_dtype=pl.String, is_elementwise=True)
        weak = name in ("md5", "sha1")
        room = plugin.NonCryptographicHashingNameSpace if weak else plugin.CryptographicHashingNameSpace
        digest: pl.Expr = getattr(room(args[0].cast(pl.Binary)), name if weak else name.replace("sha", "sha2_"))()
        return digest

    return build


def digested(name: str) -> Callable[[pl.Series], pl.Series]:
    """The digests of texts or bytes, by the standard library."""
    new = getattr(hashlib, name)  # `hashlib.new` looks its name up for every value

    def apply(values: pl.Series) -> pl.Series:
        octets = values.cast(pl.Binary).to_list()
        digests = [None if value is None else new(value, usedforsecurity=False).hexdigest() for value in octets]
        return pl.Series(values.name, digests, dtype=pl.String)

    return apply


def _octet_length(call: Call, args: Args) -> pl.Expr:
    size = args[0].bin.size() if call.args[0].type.kind == "binary" else args[0].str.len_bytes()
    return size.cast(dtype(call.type))


BUILDERS: dict[str, Builder] = {
    "initcap": _by_python(exact_text.initcap),
    "trim": _trimmed,
    "ltrim": _trimmed,
    "rtrim": _trimmed,
    "substring": _substring,
    "left": lambda _call, args: args[0].str.head(_not_below_zero(args[1])),
    "right": lambda _call, args: args[0].str.tail(_not_below_zero(args[1])),
    "repeat": _by_python(lambda text, count: text * max(count, 0)),
    "concat_ws": _concat_ws,
    "replace": _replace,
    "translate": _translate,
    "lpad": _pad,
    "rpad": _pad,
    "position": _by_python(exact_text.position),
    "split_part": _by_python(exact_text.split_part),
    "substring_index": _by_python(exact_text.substring_index),
    "ascii": _ascii,
    "chr": _by_python(exact_text.chr_or_none),
    "levenshtein": _by_python(exact_text.levenshtein),
    "soundex": _by_python(exact_text.soundex),
    "luhn_check": _by_python(exact_text.luhn_check),
    "find_in_set": _by_python(exact_text.find_in_set),
    "format_number": _by_python(lambda value, digits: f"{value:,.{digits}f}"),
    "matches": lambda call, args: args[0].str.contains(_rust(call)),
    "regexp_replace": _regexp_replace,
    "regexp_extract": _regexp_extract,
    "regexp_extract_all": _regexp_extract_all,
    "regexp_count": _regexp_count,
    "regexp_instr": _regexp_instr,
    "regexp_substr": lambda call, args: args[0].str.extract(_rust(call), 0),
    "split": _split,
    "md5": _digest("md5"),
    "sha1": _digest("sha1"),
    "sha224": _digest("sha224"),
    "sha256": _digest("sha256"),
    "sha384": _digest("sha384"),
    "sha512": _digest("sha512"),
    "crc32": _by_python(exact_text.crc32),
    "octet_length": _octet_length,
    "hex": lambda _call, args: args[0].cast(pl.Binary).bin.encode("hex").str.to_uppercase(),
    "hex_number": _by_python(exact_text.hex_number),
    "unhex": _by_python(exact_text.unhex),
    "bin": _by_python(exact_text.bin_number),
    "base64": lambda _call, args: args[0].cast(pl.Binary).bin.encode("base64"),
    "unbase64": _by_python(exact_text.unbase64),
    "url_encode": _by_python(exact_text.url_encode),
    "url_decode": _by_python(exact_text.url_decode),
}
