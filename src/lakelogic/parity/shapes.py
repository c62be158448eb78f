"""What can be written: every form of contract SQL as a template with typed places, found by asking the catalogue.

Functions are not listed here. Each builder in `SIGNATURES` is tried with columns of all types and with constants,
and what it accepts becomes a shape: a function that joins the catalogue is tried from the next campaign on.
Operators, aggregates, lambdas and other special grammar are templates; those that do not bind are left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lakelogic.sql.arguments import Builder
from lakelogic.sql.bind import Binder, bind
from lakelogic.sql.expressions import Column, Expression, Literal
from lakelogic.sql.parse import parse_expression
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.scope import scope_of
from lakelogic.sql.signatures import SIGNATURES
from lakelogic.sql.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    array,
    decimal,
    parse_type,
)

SCALARS: tuple[Type, ...] = (
    STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), decimal(38, 18), decimal(20, 0),
    DATE, TIMESTAMP, TIMESTAMP_NTZ, BINARY,
)  # fmt: skip
NESTED: tuple[Type, ...] = (
    array(INT),
    array(STRING),
    array(DOUBLE),
    parse_type("map<string,int>"),
    parse_type("struct<a:int,b:string>"),
)
# What a constant argument may be; a function takes those that its builder accepts.
_NUMBERS = ("0", "1", "2", "3", "5", "-1", "16", "256")
_TEXTS = (
    "", "a", "b", ",", "-", " ", "ab", "%a%", "[a-c]+", "(a)(b)?", "^.", "x", "0", "yyyy-MM-dd", "dd/MM/yyyy HH:mm:ss",
    "yyyyMMdd", "day", "MONTH", "hour", "year", "week", "quarter", "minute", "MON", "UTC", "Europe/Berlin",
    "America/New_York", "$.a", "$.b", "$.b.c[0]", "$[1]", "a", "int", "a INT, b STRING", "struct<a:int,b:string>",
    "array<int>", "map<string,string>", "utf-8", "en", "000.0", "#,##0.00",
)  # fmt: skip
_CONSTANTS: dict[str, Literal] = {number: Literal(int(number), INT) for number in _NUMBERS} | {
    "'" + text.replace("'", "''") + "'": Literal(text, STRING) for text in _TEXTS
}

# Places: {text} {int} {big} {double} {dec} {bool} {date} {ts} {ntz} {ints} {texts} {map} {struct}; {t} is any one
# scalar type, the same at each of its places; {n} any one number type.
TEMPLATES = (
    "{t} = {t}", "{t} <> {t}", "{t} < {t}", "{t} <= {t}", "{t} > {t}", "{t} >= {t}", "{t} <=> {t}",
    "NOT ({t} <=> {t})", "{bool} AND {bool}", "{bool} OR {bool}", "NOT ({bool})", "{t} IS NULL", "{t} IS NOT NULL",
    "{bool} IS TRUE", "{bool} IS NOT FALSE", "{t} IN ({t}, {t})", "{t} NOT IN ({t}, {t}, NULL)",
    "{t} BETWEEN {t} AND {t}", "{t} NOT BETWEEN {t} AND {t}", "{text} IN ('a', 'b', NULL)", "{int} IN (0, 1, -1)",
    "{n} + {n}", "{n} - {n}", "{n} * {n}", "{n} / {n}", "{n} % {n}", "-({n})", "{n} + 1", "{n} - 0.5", "{n} * 1.10",
    "{n} / 3", "{n} % 7", "{int} + {dec}", "{big} * {double}", "{text} + {int}", "{int} div {int}",
    "{text} = {int}", "{text} > {dec}", "{text} < {date}", "{text} = {ts}", "{date} < {ts}", "{int} = {double}",
    "{big} > {dec}", "{text} >= {double}", "{text} = {bool}", "{date} = {ntz}",
    "CASE WHEN {bool} THEN {t} ELSE {t} END", "CASE WHEN {bool} THEN {t} WHEN {bool} THEN {t} END",
    "CASE {t} WHEN {t} THEN {text} ELSE 'other' END", "if({bool}, {t}, {t})", "coalesce({t}, {t}, {t})",
    "CASE WHEN {bool} THEN {int} ELSE {dec} END", "coalesce({int}, {double})",
    "{text} LIKE '%a%'", "{text} LIKE '_'", "{text} LIKE 'a%b'", "{text} LIKE '%\\\\%%'", "{text} NOT LIKE 'A_%'",
    "{text} LIKE '100!%' ESCAPE '!'", "{text} ILIKE '%É%'", "{text} ILIKE 'ß%'", "{text} ILIKE '%σ'",
    "{text} LIKE ANY ('a%', '%b')", "{text} RLIKE '^[a-z]+$'", "{text} RLIKE '\\\\d'", "{text} RLIKE '.$'",
    "{text} RLIKE '(?i)É'", "{text} RLIKE '^\\\\s*$'", "{text} RLIKE '\\\\w+@\\\\w+'", "{text} RLIKE '\\\\bA'",
    "{text} RLIKE '[^a-zA-Z]'", "{text} || {text}", "{text} || {t}", "regexp_replace({text}, '[0-9]+', '#')",
    "regexp_replace({text}, '\\\\s', '')", "regexp_replace({text}, '(a)(b)', 'x$1')",
    "regexp_extract({text}, '([a-z]+)([0-9]*)', 1)", "regexp_extract({text}, '(a)|(b)', 2)",
    "regexp_extract_all({text}, '([a-z])', 1)", "regexp_count({text}, 'a')", "regexp_instr({text}, 'b')",
    "trim(BOTH ' ' FROM {text})", "trim(LEADING 'a' FROM {text})", "position('a' IN {text})",
    "overlay({text} PLACING 'xy' FROM 2 FOR 1)", "substring({text} FROM 2 FOR 3)",
    "EXTRACT(YEAR FROM {date})", "EXTRACT(MONTH FROM {ts})", "EXTRACT(DAY FROM {ntz})", "EXTRACT(HOUR FROM {ts})",
    "EXTRACT(DOW FROM {date})", "EXTRACT(WEEK FROM {date})", "EXTRACT(QUARTER FROM {date})",
    "EXTRACT(SECOND FROM {ts})", "EXTRACT(EPOCH FROM {ts})",
    "{date} + INTERVAL '1' DAY", "{date} - INTERVAL '1' MONTH", "{ts} + INTERVAL '90' MINUTE",
    "{ts} - INTERVAL '1' YEAR", "{ntz} + INTERVAL '1' HOUR", "{date} + INTERVAL 3 MONTHS", "{ts} - INTERVAL 2 DAYS",
    "{date} + 1", "{date} - {date}", "timestampdiff(DAY, {ts}, {ts})", "timestampdiff(MONTH, {date}, {date})",
    "timestampadd(DAY, {int}, {ts})", "date_diff(DAY, {date}, {date})", "dateadd(MONTH, 1, {date})",
    "{ints}[0]", "{texts}[1]", "{map}['a']", "{struct}.a", "{struct}.b", "array({t}, {t})", "map('a', {t}, 'b', {t})",
    "named_struct('a', {int}, 'b', {text})", "struct({int} AS a, {text} AS b)",
    "transform({ints}, x -> x + 1)", "transform({texts}, x -> upper(x))", "transform({ints}, (x, i) -> x * i)",
    "filter({ints}, x -> x > 0)", "filter({texts}, x -> x LIKE '%a%')", "exists({ints}, x -> x = 1)",
    "forall({ints}, x -> x >= 0)", "aggregate({ints}, 0, (t, x) -> t + coalesce(x, 0))",
    "aggregate({ints}, CAST(0 AS BIGINT), (t, x) -> t + x, t -> t * 2)", "zip_with({ints}, {ints}, (x, y) -> x + y)",
    "map_filter({map}, (k, v) -> v > 0)", "transform_values({map}, (k, v) -> v + 1)",
    "transform_keys({map}, (k, v) -> concat(k, '!'))", "array_sort({ints})", "array_sort({texts})",
    "from_json({text}, 'a INT, b STRING')", "from_json({text}, 'array<int>')", "to_json({struct})", "to_json({ints})",
    "flatten(array({ints}, {ints}))", "map_from_entries(array(struct({text} AS k, {int} AS v)))",
    "make_timestamp(2024, {int}, 29, 12, 30, 15.5)", "make_timestamp_ntz({int}, 2, 29, 0, 0, 0)",
    "make_timestamp_ltz(2024, 2, {int}, 23, 59, 59.999999)", "try_make_timestamp(2024, {int}, 29, 12, 30, 15.5)",
    "try_make_timestamp_ntz({int}, 2, 29, 0, 0, 0)", "try_make_timestamp_ltz(2024, 2, {int}, 23, 59, 59.999999)",
    "get_json_object({text}, '$.a')", "json_tuple({text}, 'a')", "split({text}, ',')", "split({text}, '[,;]', 2)",
)  # fmt: skip
AGGREGATE_TEMPLATES = (
    "count(*)", "count({t})", "count(DISTINCT {t})", "sum({n})", "sum(DISTINCT {int})", "avg({n})",
    "avg(DISTINCT {int})", "min({t})", "max({t})", "bool_or({bool})", "bool_and({bool})",
    "collect_list({t})", "collect_set({t})",
    "count(*) FILTER (WHERE {bool})", "sum({int}) FILTER (WHERE {bool})", "min({t}) FILTER (WHERE {bool})",
    "count_if({bool})", "max_by({t}, {int})", "min_by({t}, {int})", "stddev({double})", "stddev_samp({int})",
    "stddev_pop({dec})", "variance({int})", "var_pop({int})", "median({int})", "percentile({int}, 0.5)",
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY {double})", "percentile_disc(0.5) WITHIN GROUP (ORDER BY {int})",
    "corr({int}, {int})", "covar_samp({int}, {int})", "covar_pop({int}, {int})", "skewness({int})", "kurtosis({int})",
    "mode({int})", "any_value({t})", "first({t})", "last({t})", "string_agg({text}, ',')", "listagg({text}, ',')",
    "bit_and({int})", "bit_or({int})", "bit_xor({int})", "array_agg({int})", "approx_count_distinct({t})",
    "sum({int}) + count(*)", "sum({dec}) / count(*)", "coalesce(sum({n}), 0)", "max({date})", "max({ts})",
    "sum(CASE WHEN {bool} THEN 1 ELSE 0 END)", "min({text}) || max({text})",
)  # fmt: skip
WINDOW_TEMPLATES = (
    "row_number() OVER (PARTITION BY {t} ORDER BY {t})", "rank() OVER (PARTITION BY {text} ORDER BY {n})",
    "dense_rank() OVER (ORDER BY {t} DESC)", "lag({t}) OVER (PARTITION BY {bool} ORDER BY `k`)",
    "lead({t}, 2) OVER (ORDER BY `k`)", "first_value({t}) OVER (PARTITION BY {text} ORDER BY `k`)",
    "last_value({t}) OVER (ORDER BY `k` ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "sum({int}) OVER (PARTITION BY {bool} ORDER BY `k` ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "count(*) OVER (PARTITION BY {t})", "sum({int}) OVER (PARTITION BY {text})", "max({t}) OVER (ORDER BY `k`)",
    "min({t}) OVER (PARTITION BY {text} ORDER BY {n})", "avg({int}) OVER (PARTITION BY {bool})",
    "ntile(3) OVER (ORDER BY `k`)", "percent_rank() OVER (ORDER BY {n})", "cume_dist() OVER (ORDER BY {n})",
    "nth_value({t}, 2) OVER (ORDER BY `k`)", "count(DISTINCT {t}) OVER (PARTITION BY {bool})",
    "lag({int}, 1, 0) OVER (PARTITION BY {text} ORDER BY `k` DESC)",
)  # fmt: skip
_PLACES: dict[str, Type] = {
    "text": STRING, "int": INT, "big": BIGINT, "double": DOUBLE, "dec": decimal(10, 2), "bool": BOOLEAN, "date": DATE,
    "ts": TIMESTAMP, "ntz": TIMESTAMP_NTZ, "ints": array(INT), "texts": array(STRING),
    "map": parse_type("map<string,int>"), "struct": parse_type("struct<a:int,b:string>"),
}  # fmt: skip
_PLACE = re.compile(r"\{(\w+)\}")
_MOST_TRIES = 6000  # only functions that want particular constants need so many
_MOST_SHAPES = 60  # per function: enough to reach every pair of types, few enough to keep functions equally likely


@dataclass(frozen=True, slots=True)
class ExpressionShape:
    """A form: text pieces around typed places, what it is called, and what it yields."""

    name: str
    pieces: tuple[str, ...]  # one more than places
    places: tuple[Type, ...]
    returns: Type

    def filled(self, texts: Sequence[str]) -> str:
        """The form with a text in each place."""
        parts = [self.pieces[0]]
        for text, piece in zip(texts, self.pieces[1:], strict=True):
            parts += [text, piece]
        return "".join(parts)


def _column_names(places: Sequence[Type]) -> dict[str, Type]:
    return {f"c{i}": type_ for i, type_ in enumerate(places)}


def _of_template(template: str, kind: str) -> Iterator[ExpressionShape]:
    letters = _PLACE.findall(template)
    choices: Sequence[Type | None] = (None,)
    if "t" in letters:
        choices = (*SCALARS, *NESTED) if template.count("{t}") == 1 else SCALARS
    elif "n" in letters:
        choices = [type_ for type_ in SCALARS if type_.is_number]
    pieces = tuple(_PLACE.split(template)[0::2])
    for chosen in choices:
        places = tuple(_PLACES.get(place) or chosen or STRING for place in letters)
        shape = ExpressionShape(template, pieces, places, STRING)
        returns = _returned(shape, kind)
        if returns is not None:
            yield ExpressionShape(template, pieces, places, returns)


def _returned(shape: ExpressionShape, kind: str) -> Type | None:
    columns = {**_column_names(shape.places), "k": BIGINT}
    text = shape.filled([f"`c{i}`" for i in range(len(shape.places))])
    try:
        if kind == "aggregate":
            return Binder(scope_of(columns), []).bind(parse_expression(text)).type
        if kind == "window":
            return Binder(scope_of(columns), windows=[]).bind(parse_expression(text)).type
        return bind(text, columns).type
    except SqlProblems:
        return None


def _of_function(name: str, least: int, most: int | None, build: Builder) -> Iterator[ExpressionShape]:
    chance = random.Random(name)
    widest = min(most if most is not None else max(least, 1) + 2, 4)
    for count in range(least, widest + 1):
        yield from _accepted(name, count, build, chance)


def _accepted(name: str, count: int, build: Builder, chance: random.Random) -> Iterator[ExpressionShape]:
    if count == 0:
        shape = ExpressionShape(name, (f"{name}()",), (), STRING)
        if (returns := _returned(shape, "scalar")) is not None:
            yield ExpressionShape(name, shape.pieces, (), returns)
        return
    options: list[Type | str] = [*SCALARS, *NESTED, *_CONSTANTS]
    accepted: dict[tuple[Type | str, ...], Type] = {}

    def tried(chosen: tuple[Type | str, ...]) -> bool:
        if chosen in accepted:
            return True
        if all(isinstance(part, str) for part in chosen):
            return False
        returns = _built(build, chosen)
        if returns is not None:
            accepted[chosen] = returns
        return returns is not None

    seeds: list[tuple[Type | str, ...]] = []
    for attempt in range(len(options) if count == 1 else _MOST_TRIES):
        if len(accepted) > 2 * _MOST_SHAPES:
            break
        chosen = (options[attempt],) if count == 1 else tuple(chance.choice(options) for _ in range(count))
        if tried(chosen):
            seeds.append(chosen)
    for seed in seeds[:10] if count > 1 else []:
        for position in range(count):
            for option in chance.sample(options, 12):
                tried((*seed[:position], option, *seed[position + 1 :]))
    picked = list(accepted.items())
    chance.shuffle(picked)
    # Calls whose columns all have one type are what people write: they come first.
    picked.sort(key=lambda item: len({str(part) for part in item[0] if isinstance(part, Type)}) > 1)
    for kept, (chosen, returns) in enumerate(picked[:_MOST_SHAPES]):
        shape = _call_shape(name, chosen, returns)
        if kept == 0 and _returned(shape, "scalar") is None:
            return  # a name that the grammar reads differently when it is written
        yield shape


def _built(build: Builder, chosen: Sequence[Type | str]) -> Type | None:
    args: list[Expression] = [
        _CONSTANTS[part] if isinstance(part, str) else Column(f"c{i}", part) for i, part in enumerate(chosen)
    ]
    try:
        expression = build(args)
    except (SqlProblems, AssertionError, ValueError, TypeError, IndexError, KeyError):
        return None
    return expression.type if expression.type.kind != "null" else None


def _call_shape(name: str, chosen: Sequence[Type | str], returns: Type) -> ExpressionShape:
    pieces, places, text = [], [], f"{name}("
    for position, part in enumerate(chosen):
        text += ", " if position else ""
        if isinstance(part, str):
            text += part.replace("\\", "\\\\")
        else:
            pieces.append(text)
            places.append(part)
            text = ""
    return ExpressionShape(name, (*pieces, text + ")"), tuple(places), returns)


@lru_cache(maxsize=1)
def nested_types() -> tuple[Type, ...]:
    """The nested types that a field can be declared as."""
    from lakelogic.contract.reading.load import load
    from lakelogic.errors import ContractError
    from lakelogic.plan.compile import compile_contract

    types = []
    for type_ in NESTED:
        model = {"fields": [{"name": "x", "type": str(type_)}]}
        written = {"source": {"path": "x.parquet"}, "model": model, "materialization": {"target_path": "a.b.c"}}
        try:
            compile_contract(load(written))
        except ContractError:
            continue
        types.append(type_)
    return tuple(types) or SCALARS


@lru_cache(maxsize=1)
def scalar_shapes() -> Mapping[str, tuple[ExpressionShape, ...]]:
    """Every scalar form, by the type it yields."""
    shapes: dict[str, list[ExpressionShape]] = {}
    casts = [f"CAST({{t}} AS {type_})" for type_ in SCALARS]
    found = [shape for template in (*TEMPLATES, *casts) for shape in _of_template(template, "scalar")]
    for name, (least, most, build) in sorted(SIGNATURES.items()):
        found += _of_function(name, least, most, build)
    types = {*SCALARS, *nested_types()}
    for shape in found:
        if all(not place.is_nested or place in types for place in shape.places):
            shapes.setdefault(str(shape.returns), []).append(shape)
    return {kind: tuple(group) for kind, group in shapes.items()}


@lru_cache(maxsize=1)
def by_function() -> Mapping[str, Mapping[str, tuple[ExpressionShape, ...]]]:
    """Type yielded → name of the form → its shapes: so that every function is as likely as any other."""
    return {kind: _named(shapes) for kind, shapes in scalar_shapes().items()}


@lru_cache(maxsize=1)
def by_name() -> Mapping[str, tuple[ExpressionShape, ...]]:
    """Every scalar form by its name, whatever it yields."""
    return _named([shape for shapes in scalar_shapes().values() for shape in shapes])


def _named(shapes: Sequence[ExpressionShape]) -> dict[str, tuple[ExpressionShape, ...]]:
    named: dict[str, list[ExpressionShape]] = {}
    for shape in shapes:
        named.setdefault(shape.name, []).append(shape)
    return {name: tuple(group) for name, group in named.items()}


@lru_cache(maxsize=1)
def aggregate_shapes() -> Mapping[str, tuple[ExpressionShape, ...]]:
    """Aggregates, by name."""
    return _named([shape for template in AGGREGATE_TEMPLATES for shape in _of_template(template, "aggregate")])


@lru_cache(maxsize=1)
def window_shapes() -> Mapping[str, tuple[ExpressionShape, ...]]:
    """Functions over windows, by name."""
    return _named([shape for template in WINDOW_TEMPLATES for shape in _of_template(template, "window")])


def names_tried() -> frozenset[str]:
    """The SQL functions that some shape calls."""
    return frozenset(shape.name for shapes in scalar_shapes().values() for shape in shapes if shape.name in SIGNATURES)
