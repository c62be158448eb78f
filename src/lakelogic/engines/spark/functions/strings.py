"""Canonical expressions as Spark SQL text: functions of text."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.engines.exact.patterns import like_escaped, like_parts
from lakelogic.engines.spark.functions.patterns import java_like, java_pattern, java_replacement
from lakelogic.engines.spark.literals import text
from lakelogic.engines.sql.operators import Builder
from lakelogic.sql.expressions import Call
from lakelogic.sql.patterns import parse, plain_text, replacement


def _function(spark_name: str) -> Builder:
    return lambda _call, args: f"{spark_name}({', '.join(args)})"


def _trim(where: str) -> Builder:
    def build(call: Call, args: Sequence[str]) -> str:
        if len(args) == 1:
            return f"{call.function}({args[0]})"
        return f"trim({where} {args[1]} FROM {args[0]})"

    return build


def _lower(value: str) -> str:
    # Java ends a word at a break of its own making; by Unicode a sigma is final when no letter follows.
    ignorable = r"\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}'.:\x{B7}\x{387}\x{55F}\x{5F4}\x{2018}\x{2019}\x{2024}\x{2027}"
    ignorable += r"\x{FE13}\x{FE52}\x{FE55}\x{FF07}\x{FF0E}\x{FF1A}"
    cased = rf"[\p{{IsLowercase}}\p{{IsUppercase}}\p{{Lt}}&&[^{ignorable}]]"
    final = text(rf"(?<={cased}[{ignorable}]{{0,20}})Σ(?![{ignorable}]*{cased})")
    settled = f"replace(regexp_replace({value}, {final}, 'ς'), 'Σ', 'σ')"
    return f"CASE WHEN contains({value}, 'Σ') THEN lower({settled}) ELSE lower({value}) END"


def _ilike(call: Call, args: Sequence[str]) -> str:
    parts = like_parts(str(call.constant(1)).lower())
    if (pattern := java_like(parts)) is not None:
        return f"({_lower(args[0])} RLIKE {text(pattern)})"
    return f"({_lower(args[0])} LIKE {text(like_escaped(parts))})"


def _near(number: str) -> str:
    """A count from the end that Spark can turn around without leaving its range."""
    return f"CASE WHEN {number} < -1000000000 THEN -1000000000 ELSE {number} END"


def _substring(_call: Call, args: Sequence[str]) -> str:
    return f"substring({', '.join(args)})" if len(args) == 3 else f"substring({args[0]}, {_near(args[1])})"


def _initcap(_call: Call, args: Sequence[str]) -> str:
    words = f"split({_lower(args[0])}, ' ', -1)"
    return f"array_join(transform({words}, ll_w -> concat(upper(left(ll_w, 1)), substr(ll_w, 2))), ' ')"


def _position(_call: Call, args: Sequence[str]) -> str:
    part, value, start = args
    return (
        f"CASE WHEN {part} IS NULL OR {value} IS NULL OR {start} IS NULL THEN NULL WHEN {start} < 1 THEN 0 "
        f"WHEN {part} = '' THEN 1 ELSE locate({part}, {value}, {start}) END"
    )


def _pieces(value: str, separator: str) -> str:
    """The text between separators that are not known before."""
    begin, end, inside = text(r"\Q"), text(r"\E"), text(r"\E\\E\Q")
    return f"split({value}, concat({begin}, replace({separator}, {end}, {inside}), {end}), -1)"


def _split_part(_call: Call, args: Sequence[str]) -> str:
    value, separator, number = args
    pieces = f"CASE WHEN {separator} = '' THEN array({value}) ELSE {_pieces(value, separator)} END"
    return (
        f"CASE WHEN {value} IS NULL OR {separator} IS NULL OR {number} IS NULL OR {number} = 0 THEN NULL "
        f"ELSE coalesce(try_element_at({pieces}, {_near(number)}), '') END"
    )


def _substring_index(_call: Call, args: Sequence[str]) -> str:
    value, separator, number = args
    pieces = _pieces(value, separator)
    first = f"slice({pieces}, 1, {number})"
    last = f"slice({pieces}, -least(-({_near(number)}), size({pieces})), size({pieces}))"
    return (
        f"CASE WHEN {value} IS NULL OR {separator} IS NULL OR {number} IS NULL THEN NULL "
        f"WHEN {separator} = '' OR {number} = 0 THEN '' "
        f"WHEN {number} > 0 THEN array_join({first}, {separator}) ELSE array_join({last}, {separator}) END"
    )


def _chr(_call: Call, args: Sequence[str]) -> str:
    (code,) = args
    # Spark's own `chr` takes the lowest byte of any number.
    exists = f"{code} BETWEEN 0 AND 1114111 AND NOT {code} BETWEEN 55296 AND 57343"
    return f"CASE WHEN {exists} THEN decode(unhex(lpad(hex({code}), 8, '0')), 'UTF-32') END"


def _find_in_set(_call: Call, args: Sequence[str]) -> str:
    return f"find_in_set({args[0]}, {args[1]})"


# patterns


def _java(call: Call) -> str:
    return text(java_pattern(str(call.constant(1))))


def _regexp_replace(call: Call, args: Sequence[str]) -> str:
    pieces = replacement(str(call.constant(2)), str(call.constant(1)))
    return f"regexp_replace({args[0]}, {_java(call)}, {text(java_replacement(pieces))})"


def _regexp_instr(call: Call, args: Sequence[str]) -> str:
    before = text(rf"(?s)\A(.*?)(?:{java_pattern(str(call.constant(1)))})")
    position = f"char_length(regexp_extract({args[0]}, {before}, 1)) + 1"
    return f"CASE WHEN {args[0]} IS NULL THEN NULL WHEN {args[0]} RLIKE {_java(call)} THEN {position} ELSE 0 END"


def _regexp_substr(call: Call, args: Sequence[str]) -> str:
    return f"CASE WHEN {args[0]} RLIKE {_java(call)} THEN regexp_extract({args[0]}, {_java(call)}, 0) END"


def _extracted(call: Call, args: Sequence[str]) -> str:
    group = str(call.constant(2))
    return f"{call.function}({args[0]}, {_java(call)}, {group})"


def _split(call: Call, args: Sequence[str]) -> str:
    pattern, most = str(call.constant(1)), call.constant(2)
    assert isinstance(most, int)
    if pattern == "":
        return f"split({args[0]}, '')"
    plain = plain_text(parse(pattern))
    written = java_pattern(pattern) if plain is None else "".join(f"\\x{{{ord(c):X}}}" for c in plain)
    return f"split({args[0]}, {text(written)}, {most if most > 0 else -1})"


# bytes


def _sha2(bits: int) -> Builder:
    return lambda _call, args: f"sha2({args[0]}, {bits})"


def _unbase64(_call: Call, args: Sequence[str]) -> str:
    shape = text(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\z")
    return f"CASE WHEN {args[0]} RLIKE {shape} THEN unbase64({args[0]}) END"


def _url_decode(_call: Call, args: Sequence[str]) -> str:
    # Broken UTF-8 comes back as U+FFFD; when the text did not ask for that character, it is broken.
    decoded, lost = f"try_url_decode({args[0]})", text("\ufffd")
    asked = f"contains(upper({args[0]}), '%EF%BF%BD') OR contains({args[0]}, {lost})"
    return f"CASE WHEN contains({decoded}, {lost}) AND NOT ({asked}) THEN NULL ELSE {decoded} END"


BUILDERS: dict[str, Builder] = {
    "lower": lambda _call, args: _lower(args[0]),
    "ilike": _ilike,
    "initcap": _initcap,
    "trim": _trim("BOTH"),
    "ltrim": _trim("LEADING"),
    "rtrim": _trim("TRAILING"),
    "substring": _substring,
    "left": _function("left"),
    "right": _function("right"),
    "repeat": _function("repeat"),
    "concat_ws": _function("concat_ws"),
    "replace": _function("replace"),
    "translate": _function("translate"),
    "lpad": _function("lpad"),
    "rpad": _function("rpad"),
    "position": _position,
    "split_part": _split_part,
    "substring_index": _substring_index,
    "ascii": _function("ascii"),
    "chr": _chr,
    "levenshtein": _function("levenshtein"),
    "soundex": _function("soundex"),
    "luhn_check": _function("luhn_check"),
    "find_in_set": _find_in_set,
    "format_number": _function("format_number"),
    "matches": lambda call, args: f"({args[0]} RLIKE {_java(call)})",
    "regexp_replace": _regexp_replace,
    "regexp_extract": _extracted,
    "regexp_extract_all": _extracted,
    "regexp_count": lambda call, args: f"regexp_count({args[0]}, {_java(call)})",
    "regexp_instr": _regexp_instr,
    "regexp_substr": _regexp_substr,
    "split": _split,
    "md5": _function("md5"),
    "sha1": _function("sha1"),
    "sha224": _sha2(224),
    "sha256": _sha2(256),
    "sha384": _sha2(384),
    "sha512": _sha2(512),
    "crc32": _function("crc32"),
    "octet_length": _function("octet_length"),
    "hex": _function("hex"),
    "hex_number": _function("hex"),
    "unhex": _function("unhex"),
    "bin": _function("bin"),
    "base64": lambda _call, args: f"replace(base64({args[0]}), {text(chr(13) + chr(10))}, '')",
    "unbase64": _unbase64,
    "url_encode": _function("url_encode"),
    "url_decode": _url_decode,
}
