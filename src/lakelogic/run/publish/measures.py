"""Numbers about the good side of a batch: all in one query, then the dataset rules judge them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine, Pinned, Staged
from lakelogic.errors import DataError, UsageError
from lakelogic.names import GOOD_SIDE, SIDE
from lakelogic.plan.columns.stamps import stamp_names
from lakelogic.plan.compile import Compiled
from lakelogic.plan.nodes import Measure, Published, Read
from lakelogic.plan.predicates import either, holds
from lakelogic.plan.query.questions import VALUE, Question
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.run.input.pin import Slice
from lakelogic.run.publish import dense_keys, digests, gates, levels
from lakelogic.sql.expressions import Column, Expression, Literal, call, convert
from lakelogic.sql.types import BIGINT, INT, TIMESTAMP, to_arrow
from lakelogic.storage import parquet

SMALL = 50_000  # rows for which a job of the engine costs more than a look at the files


def measure(
    contract: Contract,
    strategy: Strategy,
    compiled: Compiled,
    engine: Engine,
    staged: Staged,
    links: Mapping[str, Slice],
    *,
    writes: bool,
) -> tuple[dict[str, Any], list[gates.Outcome]]:
    """Measure the staged good rows and judge the dataset rules by what was measured.

    A merge that would have to choose between two rows of one key, and cannot, is refused before it `writes`.
    """
    good = {column.name: column for column in compiled.plan.columns if column.on_good}
    files = [file.path for file in staged.good]
    wanted = _wanted(contract, compiled, good)
    told, rows = _told(contract, good.values()), sum(file.rows for file in staged.good)
    if staged.totals is None and rows > digests.SMALL:
        wanted += digests.wanted(told)
    measured = engine.measure(files, list(good.values()), wanted) if wanted else {}
    if staged.totals is not None:
        added_up = digests.of_totals(rows, told, staged.totals)
    else:
        added_up = digests.measured(rows, told, measured) if rows > digests.SMALL else digests.of_rows(files, told)
    measured["digest"] = added_up.text
    measured |= {question.name: _answer(question, engine, files, links) for question in compiled.checks.questions}

    def duplicates(keys: Sequence[str]) -> int:
        return _duplicates(engine, staged, good, keys)

    outcomes = gates.judge(compiled.checks.checks, measured, duplicates)
    if writes and strategy.is_keyed and not (strategy.keeps_history and strategy.order):
        keys = [name for key in contract.key for name in good if name.lower() == key.lower()]
        if found := duplicates(keys):
            raise DataError(
                f"{found} key{'s' if found != 1 else ''} of ({', '.join(keys)}) occur with different rows in one "
                "batch, and nothing says which is newer.",
                hint=_how_to_order(contract, keys),
            )
    return measured, outcomes


def _how_to_order(contract: Contract, keys: Sequence[str]) -> str:
    """What to write so that one of several rows of a key is the newer one."""
    batches = (
        " With `source.load_mode: incremental` a run reads what landed since the last one: later rows are newer."
        if contract.source.load_mode == "full"
        else ""
    )
    return (
        "Write `materialization.sequence_by: <column>`, which tells the newer row, or a step "
        f"`deduplicate: {{on: [{', '.join(keys)}], sort_by: [<column>]}}`.{batches}"
    )


def _told(contract: Contract, columns: Iterable[Published]) -> list[Published]:
    """Columns that are the same however often a batch is tried: neither stamps nor what only the run knows."""
    stamps = stamp_names(contract)
    return [c for c in columns if c.name not in stamps and not c.name.startswith(("~", "_lakelogic_"))]


def _answer(question: Question, engine: Engine, files: Sequence[str], links: Mapping[str, Slice]) -> Any:
    """Ask the good rows, or those of a link; no row is no answer, and two are one too many."""
    frames = {name: engine.link(link, links[link.reference].pinned) for name, link in question.links.items()}
    schema = [(column.name, to_arrow(column.type)) for column in question.columns]
    read = Read("source", "parquet", question.columns)
    if question.start is not None:
        frame = engine.link(question.start, links[question.start.reference].pinned)
    elif files:
        frame = engine.scan(read, Pinned(tuple(files)))
    else:
        frame, _ = engine.adopt(pa.schema(schema).empty_table(), read)
    found = engine.collect(engine.lower(frame, question.accounts, frames))
    answers = [row[VALUE] for row in found.select([VALUE, SIDE]).to_pylist() if row[SIDE] == GOOD_SIDE]
    if len(answers) > 1:
        raise DataError(
            f"A dataset rule yields {len(answers)} rows; it must yield one value.",
            hint="Use an aggregate, such as SELECT count(*) = 0 FROM source WHERE …",
        )
    return answers[0] if answers else None


def _wanted(contract: Contract, compiled: Compiled, good: Mapping[str, Published]) -> list[Measure]:
    """What dataset rules, service levels and rules that only count need to know."""
    wanted = list(compiled.checks.measures) if compiled.checks.checks else []
    spelled = {name.lower(): column for name, column in good.items()}
    for name in levels.completeness_fields(contract):
        if (field := spelled.get(name.lower())) is not None:
            present = call("not", call("is_null", Column(field.name, field.type)))
            wanted.append(Measure(f"present:{name}", "count_all", None, present))
    freshness = contract.service_levels.freshness
    if freshness is not None and freshness.field is not None:
        dated = spelled.get(freshness.field.lower())
        if dated is None or dated.type.kind not in ("date", "timestamp", "timestamp_ntz"):
            raise UsageError(
                f"service_levels.freshness.field `{freshness.field}` is no date or timestamp of the published rows.",
                hint="Name a field of type date or timestamp.",
            )
        wanted.append(Measure("newest", "max", convert(Column(dated.name, dated.type), TIMESTAMP)))
    place = contract.source.watermark_field
    if place and contract.source.follows_target and (placed := spelled.get(place.lower())) is not None:
        wanted.append(Measure("watermark", "max", Column(placed.name, placed.type)))
    noted: dict[str, list[Expression]] = {}
    warned: list[Expression] = []
    for reason in compiled.plan.reasons:
        if reason.severity != "error":
            flag = call("bit_is_set", Column(reason.column, BIGINT), Literal(reason.bit, INT))
            # In the account of another, a row has no such bits.
            noted.setdefault(reason.rule, []).append(holds(flag))
            warned += [holds(flag)] if reason.severity == "warning" else []
    # A rule over several fields counts a row once.
    wanted += [Measure(f"note:{rule}", "count_all", None, either(flags)) for rule, flags in noted.items()]
    if warned:  # and a row that fails several rules is one row
        wanted.append(Measure("warned", "count_all", None, either(warned)))
    return wanted


def _duplicates(engine: Engine, staged: Staged, good: Mapping[str, Published], keys: Sequence[str]) -> int:
    """How many key values occur more than once; a row whose whole key is NULL does not count."""
    files = [file.path for file in staged.good]
    if not files:
        return 0
    if sum(file.rows for file in staged.good) <= SMALL:
        return _repeated(files, keys)
    if len(keys) == 1 and dense_keys.all_differ(files, keys[0]):
        return 0
    return engine.duplicates(engine.open(files, [(key, to_arrow(good[key].type)) for key in keys]), keys)


def _repeated(files: Sequence[str], keys: Sequence[str]) -> int:
    seen: Counter[tuple[Any, ...]] = Counter()
    for batch in parquet.batches(files, keys):
        for key in zip(*(batch.column(name).to_pylist() for name in keys), strict=True):
            if any(part is not None for part in key):
                seen[tuple(_comparable(part) for part in key)] += 1
    return sum(1 for count in seen.values() if count > 1)


def _comparable(value: Any) -> Any:
    """Equal exactly when the values are equal: NaN equals NaN, and lists and maps are compared by their text."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return repr(value) if isinstance(value, list | dict) else value
