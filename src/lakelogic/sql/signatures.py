"""How functions are written in contract SQL: all names, and those that a contract may not use."""

from __future__ import annotations

from collections.abc import Callable

from lakelogic.sql.arguments import Args, Builder, Signatures
from lakelogic.sql.catalogue import core, documents, nested, numbers, strings, times
from lakelogic.sql.expressions import Expression

SIGNATURES: Signatures = {
    **core.SIGNATURES,
    **numbers.SIGNATURES,
    **strings.SIGNATURES,
    **times.SIGNATURES,
    **nested.SIGNATURES,
    **documents.SIGNATURES,
}


def _overloaded(meaning: Callable[[Args], Expression | None], otherwise: Builder) -> Builder:
    def build(a: Args) -> Expression:
        result = meaning(a)
        return otherwise(a) if result is None else result

    return build


for _name, _meaning in nested.OVERLOADS.items():
    _least, _most, _otherwise = SIGNATURES[_name]
    SIGNATURES[_name] = (_least, _most, _overloaded(_meaning, _otherwise))

# Functions people know from elsewhere that do not give the same everywhere: name → what to write instead.
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        ("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"),
        "it makes rows: use an explode step, or write SELECT *, explode(x) AS item FROM source",
    ),
    "strftime": "date_format(t, '%d/%m/%Y')",
    "strptime": "to_timestamp(s, '%d/%m/%Y'), or to_date",
    "try_strptime": "to_timestamp(s, '%d/%m/%Y'), or to_date",
    "epoch": "unix_seconds(t)",
    "age": "timestampdiff(YEAR, start, end)",
    "time_bucket": "date_trunc('hour', t), or timestamp_seconds(unix_seconds(t) - unix_seconds(t) % 900)",
    "window": "group by date_trunc('hour', t)",
    "session_window": "mark where a session begins with lag(t) OVER (…)",
    "current_time": "date_format(now(), 'HH:mm:ss')",
    "to_time": "times without a day are text: date_format(t, 'HH:mm:ss')",
    "make_time": "times without a day are text: date_format(t, 'HH:mm:ss')",
    "try_to_time": "times without a day are text: date_format(t, 'HH:mm:ss')",
    "time_diff": "timestampdiff(SECOND, start, end)",
    "time_trunc": "date_trunc('hour', t)",
    "json_tuple": "get_json_object(s, '$.name') for each column",
    "schema_of_json": "declare the type: from_json(s, 'a INT, b ARRAY<STRING>')",
    "parse_json": "CAST(s AS JSON) keeps a document as text; from_json(s, 'a INT') reads it",
    "try_parse_json": "CAST(s AS JSON) keeps a document as text; from_json(s, 'a INT') reads it",
    "variant_get": "get_json_object(s, '$.name')",
    "try_variant_get": "get_json_object(s, '$.name')",
    "to_variant_object": "to_json(x)",
    "to_csv": "concat_ws(',', …)",
    "from_csv": "split(s, ',')",
    "map_zip_with": "map_concat(m, n), or join the keys by hand: transform_values(m, (k, v) -> f(v, n[k]))",
    "inline": "explode(a), then s.name",
    "shuffle": "array_sort(a)",
    "hash": "engines hash differently: use md5(x), sha2(x, 256) or crc32(x)",
    "xxhash64": "engines hash differently: use md5(x), sha2(x, 256) or crc32(x)",
    "murmur_hash": "engines hash differently: use md5(x), sha2(x, 256) or crc32(x)",
    "mask": "personal data is masked by the field: `masking: partial`, `redact` or `hash`",
    "aes_encrypt": "personal data is encrypted by the field: `masking: encrypt`",
    "aes_decrypt": "encrypted fields are shown by `quarantine show --reveal`",
    "try_aes_decrypt": "encrypted fields are shown by `quarantine show --reveal`",
    "format_string": "put it together: concat('Order ', lpad(n, 5, '0')); numbers by format_number(n, 2)",
    "printf": "put it together: concat('Order ', lpad(n, 5, '0')); numbers by format_number(n, 2)",
    "to_number": "take away what is no digit, then cast: CAST(replace(s, ',', '') AS DECIMAL(12,2))",
    "try_to_number": "take away what is no digit, then cast: CAST(replace(s, ',', '') AS DECIMAL(12,2))",
    "to_binary": "use unhex(s), unbase64(s) or encode(s, 'UTF-8')",
    "try_to_binary": "use unhex(s), unbase64(s) or encode(s, 'UTF-8')",
    "conv": "use hex(n), bin(n) and unhex(s)",
    "sentences": "use split(s, ' ')",
    "collate": "text compares by code point; use lower(s) to leave case aside",
    "collation": "text compares by code point; use lower(s) to leave case aside",
    "rint": "use bround(x)",
    "sinh": "write it out: (exp(x) - exp(-x)) / 2",
    "cosh": "write it out: (exp(x) + exp(-x)) / 2",
    "tanh": "write it out: (exp(2 * x) - 1) / (exp(2 * x) + 1)",
    "asinh": "write it out: ln(x + sqrt(x * x + 1))",
    "acosh": "write it out: ln(x + sqrt(x * x - 1))",
    "atanh": "write it out: ln((1 + x) / (1 - x)) / 2",
    "cot": "write it out: 1 / tan(x)",
    "sec": "write it out: 1 / cos(x)",
    "csc": "write it out: 1 / sin(x)",
    "typeof": "types are declared in the model",
    "try_cast": "write TRY_CAST(x AS type)",
    "jaro_winkler_similarity": "use levenshtein(a, b)",
    "jaccard": "use levenshtein(a, b)",
    "strip_accents": "use translate(s, 'áéíóú', 'aeiou')",
    "regexp_split_to_array": "use split(s, pattern)",
    "string_split": "use split(s, pattern)",
    "strpos": "use instr(s, part)",
    "list_contains": "use array_contains(a, x)",
}

# Functions that read files, reflect or run code: refused by name, on every engine.
FORBIDDEN_FUNCTIONS = frozenset(
    {
        "read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_parquet", "read_text", "read_blob",
        "parquet_scan", "glob", "java_method", "reflect", "try_reflect", "input_file_name", "input_file_block_start",
        "input_file_block_length", "read_files", "query", "query_table", "system", "getenv", "version", "user",
        "current_user", "session_user", "shell", "load_extension",
    }
)  # fmt: skip

# Functions whose value differs from run to run: a re-run could not give the same tables.
UNSTABLE_FUNCTIONS = frozenset(
    {
        "rand", "random", "randn", "uuid", "gen_random_uuid", "shuffle",
        "monotonically_increasing_id", "spark_partition_id",
    }
)  # fmt: skip
