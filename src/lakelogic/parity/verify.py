"""Does this contract mean the same on every engine? Its own columns with made-up values, through all of them."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakelogic.catalogs.base import Catalog
from lakelogic.contract import formats
from lakelogic.contract.document import Contract
from lakelogic.contract.fields import Field
from lakelogic.contract.reading.load import Loaded
from lakelogic.engines import registry
from lakelogic.engines.base import Engine, Pinned
from lakelogic.errors import MissingExtra, SourceError, UnsupportedError, UsageError
from lakelogic.parity.canonical import plain
from lakelogic.parity.compare import Disagreement, difference
from lakelogic.parity.outcome import STAMPS, evaluate
from lakelogic.parity.values import almost, value
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.fingerprint import fingerprint
from lakelogic.plan.needs import expressions
from lakelogic.plan.nodes import Landed, Plan
from lakelogic.run.input import pin as window
from lakelogic.sql.expressions import Literal, walk
from lakelogic.sql.types import STRING, Type, parse_type, to_arrow

_TAME = 0.5  # share of rows that look like ordinary ones, so that rules are passed and later steps are reached


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was found to be the same, and with what it can be found again."""

    dataset: str
    contract_fingerprint: str
    plan_fingerprint: str
    engines: Mapping[str, str]
    rows: int
    seed: int
    good: int
    bad: int
    lost: int
    digest: str


@dataclass(frozen=True, slots=True)
class Verified:
    """A certificate, or where the engines part."""

    certificate: Certificate | None
    difference: Disagreement | None


ENOUGH = 3  # one of so many made-up rows must be good


def verify(
    loaded: Loaded,
    catalog: Catalog,
    engines: Sequence[Engine],
    *,
    rows: int = 200,
    seed: int = 1,
    tell: Callable[[str], None] | None = None,
) -> Verified:
    """Run the contract over made-up rows on all engines; nothing is published and the ledger hears nothing."""
    if len(engines) < 2:
        raise UsageError(
            "Only one engine is here to compare with itself.", hint="pip install 'lakelogic[duckdb,polars]'"
        )
    say = tell or (lambda _: None)
    contract = loaded.contract
    say("looking at the source and the links")
    links = window.pin_links(contract, catalog)
    source = _source(contract, catalog, engines[0])
    plan = compile_contract(
        loaded, source, window.look_at_links(links, engines[0]), stamps=STAMPS, can_encrypt=False
    ).plan
    pinned = {name: link.pinned for name, link in links.items()}
    table = made_rows(contract, source, plan, _key_values(plan, pinned, engines[0]), rows, seed)
    outcomes = []
    for engine in engines:
        say(f"judging {rows} rows on {engine.name}")
        outcomes.append(evaluate(engine, plan, table, pinned))
    parted = difference(outcomes)
    if parted is not None:
        return Verified(None, parted)
    first = outcomes[0]
    if first.refused:
        raise UnsupportedError(f"Every engine refuses the contract: {first.refused}")
    judged = len(first.good) + len(first.bad) + sum(first.lost.values())
    if (judged - len(first.bad)) * ENOUGH < judged:
        raise UsageError(
            f"{len(first.bad)} of {judged} made-up rows were bad: what happens to good rows was hardly tried, and "
            "nothing is certified.",
            hint="Declare types, accepted_values, pattern, min and max of the fields, so that rows can be made up that "
            "pass the rules.",
        )
    certificate = Certificate(
        contract.dataset_name,
        fingerprint(loaded),
        hashlib.sha256(repr(plan).encode()).hexdigest()[:16],
        {engine.name: engine.version for engine in engines},
        rows,
        seed,
        len(first.good),
        len(first.bad),
        sum(first.lost.values()),
        first.digest,
    )
    return Verified(certificate, None)


def _source(contract: Contract, catalog: Catalog, engine: Engine) -> SourceColumns:
    """The source's own columns where it can be reached; otherwise the model's fields."""
    try:
        slice_ = window.pin_source(contract, catalog)
        if slice_.pinned.files or slice_.pinned.table:
            return window.look(contract, slice_, engine)
    except SourceError:
        pass  # nothing has landed yet: the model says what will
    if not contract.model.fields:
        raise UsageError(
            "The source cannot be reached and the contract has no model, so no rows can be made up.",
            hint="Declare fields under model, or verify where the source is.",
        )
    file_format = contract.source.resolved_format or "parquet"
    text = formats.is_text(file_format)
    columns = tuple(Landed(f.name, STRING if text else parse_type(f.type)) for f in contract.model.fields)
    return SourceColumns(file_format, columns)


def _key_values(plan: Plan, pinned: Mapping[str, Pinned], engine: Engine) -> list[Any]:
    """Some keys that the links have, so that made-up rows find something there."""
    values: list[Any] = []
    for link in plan.links.values():
        table = engine.collect(engine.link(link, pinned[link.reference]), 50)
        for name in link.key or table.column_names:
            if name in table.column_names:
                values += [item for item in table.column(name).to_pylist() if item is not None][:20]
    return values


def made_rows(
    contract: Contract, source: SourceColumns, plan: Plan, keys: Sequence[Any], rows: int, seed: int
) -> pa.Table:
    """Rows for the source's columns: edges of the types, constants of the contract and their neighbours."""
    chance = random.Random(seed)
    declared = {f.name.lower(): parse_type(f.type) for f in contract.model.fields}
    declared_fields = {f.name.lower(): f for f in contract.model.fields}
    constants = [*_constants(plan), *keys]
    tame = [chance.random() < _TAME for _ in range(rows)]
    arrays: dict[str, pa.Array] = {}
    for column in source.columns:
        meant = declared.get(column.name.lower(), column.type)
        field = declared_fields.get(column.name.lower())
        accepted = list(field.accepted_values) if field is not None else []
        near = _of_type([*accepted, *constants], column.type)
        ordinary = accepted or _ordinary(meant, chance)
        if column.type.is_text and meant.is_nested:
            ordinary = [json.dumps(plain(item, to_arrow(meant)), ensure_ascii=False) for item in ordinary]
        usual = _of_type(ordinary, column.type) or [None]
        usual = [item for item in usual if _within(item, field)] or usual
        values = [
            chance.choice(usual if quiet else near or usual) if quiet or (near and chance.random() < 0.4)
            else _hostile(column.type, meant, chance)
            for quiet in tame
        ]  # fmt: skip
        arrays[column.name] = pa.array(values, to_arrow(column.type))
    return pa.table(arrays)


_ORDINARY: dict[str, tuple[Any, ...]] = {
    "string": ("a", "Ada", "ada@example.org", "C100", "NL", "42"),
    "boolean": (True, False),
    "date": (date(2024, 1, 5), date(2024, 2, 29), date(2023, 12, 31)),
    "timestamp": (datetime(2024, 1, 5, 10, tzinfo=UTC), datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)),
    "timestamp_ntz": (datetime.fromisoformat("2024-01-05T10:00:00"), datetime.fromisoformat("2024-03-31T02:30:00")),
    "json": ('{"a": 1}', "[]"),
}


def _ordinary(type_: Type, chance: random.Random) -> list[Any]:
    """Values that nobody would wonder about."""
    if type_.is_integer:
        return [1, 2, *(chance.randint(0, 100) for _ in range(30))]
    if type_.kind in ("float", "double"):
        return [0.5, 1.0, 19.99, 42.0]
    if type_.kind == "decimal":
        step = Decimal(1).scaleb(-type_.scale)
        return [
            Decimal(whole).quantize(step) for whole in (1, 2, 9) if len(str(whole)) + type_.scale <= type_.precision
        ]
    return list(_ORDINARY.get(type_.kind, ())) or [value(type_, chance, nulls=0.0) for _ in range(4)]


def _within(item: Any, field: Field | None) -> bool:
    """Whether an ordinary value keeps the bounds of its field, where these are numbers."""
    if field is None:
        return True
    try:
        number = Decimal(str(item))
        low = field.min is None or number >= Decimal(str(field.min))
        return low and (field.max is None or number <= Decimal(str(field.max)))
    except ArithmeticError:
        return True


def _hostile(landed: Type, meant: Type, chance: random.Random) -> Any:
    return almost(meant, chance) if landed.is_text else value(landed, chance)


def _constants(plan: Plan) -> list[Any]:
    """Every constant of the plan's expressions, and what stands just beside it."""
    constants: dict[str, Any] = {}
    for expression in expressions(plan):
        for part in walk(expression):
            if isinstance(part, Literal) and part.value is not None and not isinstance(part.value, bool):
                for near in _neighbours(part.value):
                    constants[repr(near)] = near
    return list(constants.values())[:400]


def _neighbours(constant: Any) -> list[Any]:
    try:
        if isinstance(constant, int):
            return [constant - 1, constant, constant + 1]
        if isinstance(constant, Decimal):
            step = Decimal(1).scaleb(int(constant.as_tuple().exponent))
            return [constant - step, constant, constant + step]
        if isinstance(constant, float):
            return [constant, constant * (1 + 1e-9), constant * (1 - 1e-9)]
        if isinstance(constant, datetime):
            return [constant, constant + timedelta(microseconds=1), constant - timedelta(microseconds=1)]
        if isinstance(constant, date):
            return [constant, constant + timedelta(days=1), constant - timedelta(days=1)]
    except (OverflowError, ArithmeticError):
        return [constant]
    if isinstance(constant, str):
        return [constant, constant.upper(), constant.lower(), f" {constant}", f"{constant} ", f"{constant}\n"]
    return [constant]


def _of_type(values: Sequence[Any], type_: Type) -> list[Any]:
    """Those of the values that a column of the type can hold; everything as text where it holds text."""
    kept = []
    for item in values:
        converted = plain(item) if type_.is_text and not isinstance(item, str) else item
        if type_.is_text:
            converted = str(converted).lower() if isinstance(converted, bool) else str(converted)
        try:
            pa.scalar(converted, to_arrow(type_))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError, OverflowError):
            continue
        kept.append(converted)
    return kept


def installed(names: Sequence[str] | None = None) -> list[Engine]:
    """The engines asked for; without a wish, all that can start here, the quick ones first."""
    if names:
        return [registry.load(name) for name in names]
    engines = []
    for name in sorted(registry.names()):
        if name == "spark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
            continue
        try:
            engines.append(registry.load(name))
        except MissingExtra:
            continue  # the certificate names the engines that are
    return engines
