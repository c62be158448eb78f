"""Canonical expressions → DuckDB SQL text: functions of text."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.engines.duckdb.exact import as_text, exact
from lakelogic.engines.duckdb.literals import cast, text
from lakelogic.engines.exact.patterns import re2_regex
from lakelogic.engines.sql.operators import Builder, function
from lakelogic.sql.expressions import Call, Literal
from lakelogic.sql.patterns import parse, plain_text, replacement

# Characters whose lower or upper case is longer than one, or depends on what stands around them: DuckDB maps
# characters one by one, so texts that hold one of these go through Python.
_SPECIAL_LOWER = "[İΣ]"
_SPECIAL_UPPER = "[ßŉǰΐΰևẖ-ẚὐὒὔὖᾀ-ᾯᾲ-ᾴᾶᾷᾼῂ-ῄῆῇῌῒΐῖῗῢ-ῤῦῧῲ-ῴῶῷῼﬀ-ﬆﬓ-ﬗ]"


def _as(sql: str, call: Call) -> str:
    return cast(sql, call.type)


def _special(value: str, special: str, name: str, otherwise: str) -> str:
    return f"CASE WHEN regexp_matches({value}, {text(special)}) THEN {exact(name, value)} ELSE {otherwise} END"


def lower(_call: Call, args: Sequence[str]) -> str:
    """Lower case by Unicode."""
    return _special(args[0], _SPECIAL_LOWER, "lower", f"lower({args[0]})")


def _upper(_call: Call, args: Sequence[str]) -> str:
    return _special(args[0], _SPECIAL_UPPER, "upper", f"upper({args[0]})")


def _initcap(_call: Call, args: Sequence[str]) -> str:
    word = "upper(left(w, 1)) || substring(w, 2)"
    plain = f"array_to_string(list_transform(string_split(lower({args[0]}), ' '), lambda w: {word}), ' ')"
    ascii_only = f"strlen({args[0]}) = length({args[0]})"
    return f"CASE WHEN {ascii_only} THEN {plain} ELSE {exact('initcap', args[0])} END"


def _trim(name: str) -> Builder:
    return lambda _call, args: f"{name}({args[0]}, {args[1] if len(args) > 1 else chr(39) + ' ' + chr(39)})"


def _wide(sql: str) -> str:
    return cast(sql, "BIGINT")


def _not_below_zero(call: Call, args: Sequence[str], index: int) -> str:
    argument = call.args[index]
    if isinstance(argument, Literal) and isinstance(argument.value, int):
        return str(max(argument.value, 0))
    # `greatest` passes over NULL, which must stay one.
    return f"CASE WHEN {args[index]} < 0 THEN 0 ELSE {_wide(args[index])} END"


def _substring(call: Call, args: Sequence[str]) -> str:
    constants = [a.value for a in call.args[1:] if isinstance(a, Literal) and isinstance(a.value, int)]
    if len(constants) == len(args) - 1 and constants[0] > 0 and all(value >= 0 for value in constants):
        return f"substring({', '.join(args)})"
    start = _wide(args[1])
    begin = f"CASE WHEN {start} > 0 THEN {start} - 1 WHEN {start} < 0 THEN length({args[0]}) + {start} ELSE 0 END"
    if len(args) == 2:
        return f"substring({args[0]}, greatest({begin}, 0) + 1)" if constants else _from(args[0], begin, args[1])
    size = f"({begin}) + {_wide(args[2])} - greatest({begin}, 0)"
    cut = f"substring({args[0]}, greatest({begin}, 0) + 1, greatest({size}, 0))"
    return f"CASE WHEN {args[1]} IS NOT NULL AND {args[2]} IS NOT NULL THEN {cut} END"


def _from(value: str, begin: str, start: str) -> str:
    return f"CASE WHEN {start} IS NOT NULL THEN substring({value}, greatest({begin}, 0) + 1) END"


def _ends(name: str) -> Builder:
    return lambda call, args: f"{name}({args[0]}, {_not_below_zero(call, args, 1)})"


def _pad(name: str) -> Builder:
    def build(call: Call, args: Sequence[str]) -> str:
        # The native padding counts columns on a screen, not characters.
        value, size = args[0], _not_below_zero(call, args, 1)
        missing = f"(({size}) - length({value}))"
        missing = f"CASE WHEN {missing} < 0 THEN 0 ELSE {missing} END"
        filling = f"left(repeat({args[2]}, {missing}), {missing})"
        cut = f"left({value}, {size})"
        return f"({filling} || {cut})" if name == "lpad" else f"({cut} || {filling})"

    return build


def _joined(items: str, separator: str) -> str:
    """A list of texts with a separator between them, which the native function wants to be a constant."""
    # An empty list would stop the query.
    some = f"CASE WHEN len({items}) > 0 THEN {items} END"
    return f"coalesce(list_reduce({some}, lambda ll_a, ll_b: ll_a || {separator} || ll_b), '')"


def _concat_ws(call: Call, args: Sequence[str]) -> str:
    if all(argument.type.kind != "array" for argument in call.args[1:]):
        return f"concat_ws({', '.join(args)})"
    lists = [
        f"coalesce({sql}, [])" if argument.type.kind == "array" else f"[{sql}]"
        for argument, sql in zip(call.args[1:], args[1:], strict=True)
    ]
    items = f"list_filter(flatten([{', '.join(lists)}]), lambda x: x IS NOT NULL)"
    return f"CASE WHEN {args[0]} IS NOT NULL THEN {_joined(items, args[0])} END"


def _position(call: Call, args: Sequence[str]) -> str:
    part, value, start = args
    if isinstance(call.args[2], Literal) and call.args[2].value == 1:
        return _as(f"strpos({value}, {part})", call)
    later = f"strpos(substring({value}, {start}), {part})"
    position = f"CASE WHEN {later} = 0 THEN 0 ELSE {later} + {_wide(start)} - 1 END"
    return _as(
        f"CASE WHEN {value} IS NULL OR {part} IS NULL OR {start} IS NULL THEN NULL WHEN {start} < 1 THEN 0 "
        f"WHEN {part} = '' THEN 1 ELSE {position} END",
        call,
    )


def _split_part(_call: Call, args: Sequence[str]) -> str:
    value, separator, number = args
    pieces = f"CASE WHEN {separator} = '' THEN [{value}] ELSE string_split({value}, {separator}) END"
    return (
        f"CASE WHEN {value} IS NULL OR {separator} IS NULL OR {number} IS NULL OR {number} = 0 THEN NULL "
        f"ELSE coalesce(list_extract({pieces}, {number}), '') END"
    )


def _substring_index(_call: Call, args: Sequence[str]) -> str:
    value, separator, number = args
    pieces = f"string_split({value}, {separator})"
    kept = (
        f"CASE WHEN {number} > 0 THEN list_slice({pieces}, 1, {number}) "
        f"ELSE list_slice({pieces}, greatest(len({pieces}) + {_wide(number)} + 1, 1), len({pieces})) END"
    )
    return (
        f"CASE WHEN {value} IS NULL OR {separator} IS NULL OR {number} IS NULL THEN NULL "
        f"WHEN {separator} = '' OR {number} = 0 THEN '' ELSE {_joined(kept, separator)} END"
    )


def _chr(_call: Call, args: Sequence[str]) -> str:
    (code,) = args
    exists = f"{code} BETWEEN 0 AND 1114111 AND NOT {code} BETWEEN 55296 AND 57343"
    return f"CASE WHEN {exists} THEN chr({code}) END"


def _levenshtein(call: Call, args: Sequence[str]) -> str:
    # The native distance counts bytes.
    first, second = args
    ascii_only = f"strlen({first}) = length({first}) AND strlen({second}) = length({second})"
    slow = cast(exact("levenshtein", first, second), call.type)
    return f"CASE WHEN {ascii_only} THEN {_as(f'levenshtein({first}, {second})', call)} ELSE {slow} END"


def _find_in_set(call: Call, args: Sequence[str]) -> str:
    part, among = args
    place = f"coalesce(list_position(string_split({among}, ','), {part}), 0)"
    return _as(
        f"CASE WHEN {part} IS NULL OR {among} IS NULL THEN NULL WHEN contains({part}, ',') THEN 0 ELSE {place} END",
        call,
    )


# patterns


def _re2(call: Call) -> str:
    return text(re2_regex(str(call.constant(1))))


def _regexp_replace(call: Call, args: Sequence[str]) -> str:
    pattern, new = str(call.constant(1)), str(call.constant(2))
    if parse(pattern).can_be_empty or any(isinstance(p, int) and p > 9 for p in replacement(new, pattern)):
        return exact("regexp_replace", args[0], text(pattern), text(new))
    pieces = [
        f"\\{piece}" if isinstance(piece, int) else piece.replace("\\", "\\\\") for piece in replacement(new, pattern)
    ]
    return f"regexp_replace({args[0]}, {_re2(call)}, {text(''.join(pieces))}, 'g')"


def _regexp_extract_all(call: Call, args: Sequence[str]) -> str:
    pattern, group = str(call.constant(1)), str(call.constant(2))
    if parse(pattern).can_be_empty:
        return exact("regexp_extract_all", args[0], text(pattern), f"'{group}'")
    matches = f"regexp_extract_all({args[0]}, {_re2(call)}, {group})"
    # A group that took no part is an empty text.
    return matches if group == "0" else f"list_transform({matches}, lambda ll_x: coalesce(ll_x, ''))"


def _regexp_extract(call: Call, args: Sequence[str]) -> str:
    group = str(call.constant(2))
    return f"regexp_extract({args[0]}, {_re2(call)}, {group})"


def _regexp_count(call: Call, args: Sequence[str]) -> str:
    pattern = str(call.constant(1))
    if parse(pattern).can_be_empty:
        return _as(exact("regexp_count", args[0], text(pattern)), call)
    return _as(f"len(regexp_extract_all({args[0]}, {_re2(call)}))", call)


def _regexp_instr(call: Call, args: Sequence[str]) -> str:
    before = text(rf"(?s)\A(.*?)(?:{re2_regex(str(call.constant(1)))})")
    position = f"length(regexp_extract({args[0]}, {before}, 1)) + 1"
    matched = f"regexp_matches({args[0]}, {_re2(call)})"
    return _as(f"CASE WHEN {args[0]} IS NULL THEN NULL WHEN {matched} THEN {position} ELSE 0 END", call)


def _regexp_substr(call: Call, args: Sequence[str]) -> str:
    return f"CASE WHEN regexp_matches({args[0]}, {_re2(call)}) THEN regexp_extract({args[0]}, {_re2(call)}, 0) END"


def _split(call: Call, args: Sequence[str]) -> str:
    pattern, most = str(call.constant(1)), call.constant(2)
    assert isinstance(most, int)
    if most > 0:
        return exact("split", args[0], text(pattern), f"'{most}'")
    plain = plain_text(parse(pattern))
    if plain is not None:
        return f"string_split({args[0]}, {text(plain)})"
    return f"regexp_split_to_array({args[0]}, {_re2(call)})"


# bytes


def _digest(name: str) -> Builder:
    return lambda _call, args: exact(name, f"hex({args[0]})")


def _octets(call: Call, sql: str) -> str:
    return sql if call.args[0].type.kind == "binary" else f"encode({sql})"


BUILDERS: dict[str, Builder] = {
    "lower": lower,
    "upper": _upper,
    "initcap": _initcap,
    "trim": _trim("trim"),
    "ltrim": _trim("ltrim"),
    "rtrim": _trim("rtrim"),
    "length": lambda call, args: _as(f"length({args[0]})", call),
    "substring": _substring,
    "left": _ends("left"),
    "right": _ends("right"),
    "repeat": lambda call, args: f"repeat({args[0]}, {_not_below_zero(call, args, 1)})",
    "concat_ws": _concat_ws,
    "replace": function("replace"),
    "translate": function("translate"),
    "lpad": _pad("lpad"),
    "rpad": _pad("rpad"),
    "position": _position,
    "split_part": _split_part,
    "substring_index": _substring_index,
    "ascii": lambda call, args: _as(f"ascii({args[0]})", call),
    "chr": _chr,
    "levenshtein": _levenshtein,
    "soundex": lambda _call, args: exact("soundex", args[0]),
    "luhn_check": lambda _call, args: f"({exact('luhn_check', args[0])} = 'True')",
    "find_in_set": _find_in_set,
    "format_number": lambda _call, args: exact("format_number", as_text(args[0]), as_text(args[1])),
    "matches": lambda call, args: f"regexp_matches({args[0]}, {_re2(call)})",
    "regexp_replace": _regexp_replace,
    "regexp_extract": _regexp_extract,
    "regexp_extract_all": _regexp_extract_all,
    "regexp_count": _regexp_count,
    "regexp_instr": _regexp_instr,
    "regexp_substr": _regexp_substr,
    "split": _split,
    "md5": function("md5"),
    "sha1": function("sha1"),
    "sha256": function("sha256"),
    "sha224": _digest("sha224"),
    "sha384": _digest("sha384"),
    "sha512": _digest("sha512"),
    "crc32": lambda call, args: _as(exact("crc32", f"hex({args[0]})"), call),
    "octet_length": lambda call, args: _as(f"octet_length({_octets(call, args[0])})", call),
    "hex": function("hex"),
    "hex_number": function("hex"),
    "unhex": lambda _call, args: f"CASE WHEN regexp_full_match({args[0]}, '[0-9A-Fa-f]*') THEN unhex({args[0]}) END",
    "bin": function("bin"),
    "base64": lambda call, args: f"to_base64({_octets(call, args[0])})",
    "unbase64": lambda _call, args: f"unhex({exact('unbase64', args[0])})",
    "url_encode": lambda _call, args: exact("url_encode", args[0]),
    "url_decode": lambda _call, args: exact("url_decode", args[0]),
}
