"""Contract → plan: walks the sections in the order of a run and reports all trouble together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lakelogic import names
from lakelogic.contract import formats
from lakelogic.contract.describe.availability import check as not_available
from lakelogic.contract.document import Contract
from lakelogic.contract.reading.check import in_order
from lakelogic.contract.reading.documents import Documents
from lakelogic.contract.reading.load import Loaded, examine
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.errors import CompileError, Diagnostic, LoadError
from lakelogic.plan.codes import CLEAR, NOT_YET
from lakelogic.plan.columns import absence, numbers, publish, shape, unseen
from lakelogic.plan.columns.evolve import LandedDrift
from lakelogic.plan.columns.masked import check_masks
from lakelogic.plan.columns.spelling import as_stored
from lakelogic.plan.columns.stamps import Stamps
from lakelogic.plan.naming import step_name
from lakelogic.plan.nodes import Landed, Plan, Read, RowWise
from lakelogic.plan.query.compiler import subquery
from lakelogic.plan.query.questions import Asker
from lakelogic.plan.rules import verdicts
from lakelogic.plan.rules.datasets import Checks, checks
from lakelogic.plan.source import watermark_checks, watermarks
from lakelogic.plan.source.days import Days
from lakelogic.plan.source.deleted import Deleted, leave_out
from lakelogic.plan.source.links import known_links
from lakelogic.plan.state import State, Trouble
from lakelogic.plan.steps import kinds as steps
from lakelogic.plan.strategies import batch
from lakelogic.plan.strategies import checks as strategy_checks
from lakelogic.plan.strategies.declared import as_written, check_made, without_made
from lakelogic.plan.strategies.settings import Strategy, strategy_of
from lakelogic.sql.expressions import Expression, call, convert
from lakelogic.sql.problems import NO_COLUMN, nearest_or_all
from lakelogic.sql.types import STRING, Type
from lakelogic.sql.undeclared import named


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """What a look at a source found: its format, columns and how it is read."""

    format: str
    columns: tuple[Landed, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    lacks: absence.Lacks = field(default_factory=absence.Lacks)  # which rows lack which of the columns
    deleted: Deleted | None = None  # how rows of a table are marked as deleted
    kinds: Mapping[str, Type] = field(default_factory=dict)  # of JSON: keys that nobody declares, in lower case
    finer: tuple[str, ...] = ()  # of Parquet: columns whose instants are finer than microseconds

    def settled(self, contract: Contract, before: numbers.Memory = numbers.NOTHING) -> SourceColumns:
        """With the types of JSON keys that nobody declares; `before` are those that they had."""
        if formats.has_header(self.format) or (contract.server is not None and contract.server.cast_to_string):
            return self
        shapes = {column.name.lower(): column.shape for column in self.columns if column.shape is not None}
        declared = [declared.name for declared in contract.model.fields]
        return replace(self, kinds=numbers.kinds_of(shapes, declared, before))


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan, the dataset rules beside it, and warnings that do not stop it."""

    plan: Plan
    checks: Checks
    warnings: tuple[Diagnostic, ...]
    landed: LandedDrift = field(default_factory=LandedDrift)


def compile_contract(
    loaded: Loaded,
    source: SourceColumns | None = None,
    links: Mapping[str, SourceColumns] | None = None,
    *,
    stamps: Stamps | None = None,
    can_encrypt: bool = False,
    stored: Mapping[str, Type | None] | tuple[()] = (),
    days: tuple[str, Days] | None = None,
    bound: watermarks.Bound | None = None,
) -> Compiled:
    """Compile a contract; raises CompileError with every problem found.

    Without `source` nothing of the landed columns is known: fields of the model are taken to land as text,
    and a column that nobody declares is only a warning. `can_encrypt` says whether the process holds a key
    for the landed row that quarantine keeps of contracts with personal data. `stored` are the columns of the table
    that good rows go to: a column that differs from one of them only in case, or has a narrower type, goes into it.
    `days` are a landed column and the days of a window: other rows are left out. `bound` is where rows begin that the
    table does not have yet.
    """
    strategy = strategy_of(loaded.contract)
    contract = without_made(loaded.contract, strategy)
    if contract is not loaded.contract:
        strategy = strategy_of(contract)
    stamps = stamps or Stamps("run", None, datetime(1970, 1, 1, tzinfo=UTC), "source")
    closed = (
        contract.model.fields
        and contract.schema_policy.unknown_fields in ("drop", "fail")
        and not any(step.phase == "pre" for step in contract.transformations)
    )
    own = Trouble(loaded.where)
    check_made(loaded.contract, strategy, own)
    where = as_written(loaded.contract, strategy, loaded.where)
    trouble = Trouble(where, own.found, landed_is_known=source is not None or bool(closed))
    trouble.found += not_available(loaded)
    types = shape.declared_types(contract, trouble)
    _warn_of_clear_data(contract, trouble)
    state = State(contract.dataset_name, stamps.at, trouble, subquery, contract.dialect, strategy)
    assumed = source or SourceColumns(
        contract.source.resolved_format or "parquet", tuple(Landed(name, STRING) for name in types)
    )
    _links(state, contract, links)
    state.model = tuple(declared.name.lower() for declared in contract.model.fields)
    state.has_header = formats.has_header(assumed.format)
    mark = assumed.deleted.column if assumed.deleted is not None and contract.source.include_deleted else None
    unknown = shape.land(state, contract, assumed.columns, mark=mark)
    given = {name for step in contract.transformations for name in steps.gives(step, state)}
    state.aside = unseen.aside(contract, unknown, given)
    if formats.is_text(assumed.format) and source is not None:
        fields = {name.lower() for name in types}
        state.undeclared = {one.name for one in assumed.columns if one.type.is_text and one.name.lower() not in fields}
    absence.note_landed(state, (column.name for column in assumed.columns), assumed.lacks)
    landed_scope = dict(state.scope)
    is_text = formats.is_text(assumed.format)
    if not contract.source.include_deleted:
        leave_out(state, assumed.deleted, assumed.columns)
    if contract.source.bounded_by is not None:
        watermarks.leave_out(state, contract, types, bound, days[1] if days is not None else None)
    elif days is not None:
        _leave_out(state, *days)
    if is_text:
        verdicts.judge_lines(state)
    watermarks.judge_unplaced(state, contract, types)
    verdicts.judge_numbers(state, contract, assumed.kinds)
    _check_settings(contract, strategy, trouble)
    watermark_checks.check(contract, strategy, types, trouble)
    strategy_checks.check(contract, strategy, trouble)

    reserved = shape.reserved_names(contract, trouble)
    untouched = watermarks.Untouched.of(state, contract)
    post = [(index, step) for index, step in enumerate(contract.transformations) if step.phase == "post"]
    for index, step in enumerate(contract.transformations):
        if step.phase == "pre" and type(step) in steps.KINDS:
            absence.lend(state, contract, types, step, _made_from(contract, index, state))
            _apply(state, step, index, reserved)
    later = {
        name: step_name(step, f"transformations[{index}]") for index, step in post for name in steps.makes(step, state)
    }
    if untouched is not None:
        untouched.check(state.scope)
    verdicts.show_declared(state, contract, types, landed=True)
    before = verdicts.judge_before(state, contract, types, unknown, later)
    untouched = watermarks.Untouched.of(state, contract)
    for index, step in post:
        if type(step) in steps.KINDS:
            _apply(state, step, index, reserved)
    verdicts.show_declared(state, contract, types, landed=False)
    verdicts.judge_after(state, contract, types, before)
    batch.settle_duplicates(state, contract)

    rows = publish.Rows()
    rows.landed = [(name, value) for name, value in landed_scope.items() if name not in state.preserved]
    rows.is_text = is_text
    rows.is_table = formats.is_table(assumed.format)
    personal = any(f.pii or f.phi or f.sensitive or f.masking for f in contract.model.fields)
    rows.has_raw = not personal or can_encrypt
    rows.encrypts_raw = personal and can_encrypt
    good = _good_columns(state, contract, types, before)
    if untouched is not None:
        untouched.check(good)
    strategy_checks.check_columns(state, contract, good)
    batch.mark_deletions(state, contract, good)
    absence.mark(state, good)
    if is_text:
        verdicts.show_lines(state, landed_scope)
    made = as_stored(publish.publish(state, contract, good, stamps, rows), stored or {})
    strategy_checks.check_layout(contract, strategy, {c.name: c.type for c in made.columns if c.on_good}, trouble)
    asker = Asker(
        contract.dataset_name,
        stamps.at,
        trouble,
        contract.dialect,
        state.known_links,
        state.unread_links,
        frozenset(name for name, value in good.items() if named(value, state.undeclared) is not None),
    )
    dataset_rules = checks(contract, strategy, made.columns, asker)
    check_masks(contract, strategy, {m.column.lower(): m.strategy for m in made.masks}, dataset_rules, trouble)
    if trouble.errors:
        raise CompileError(_distinct(trouble.found))
    drift = replace(before.landed, aside=tuple(name for name in state.scope if name in state.aside))
    plan = Plan(
        dataset=contract.dataset_name,
        read=Read("source", assumed.format, assumed.columns, dict(assumed.options)),
        links=state.links,
        accounts=made.accounts,
        columns=made.columns,
        masks=made.masks,
        fates=tuple(state.fates),
        reasons=tuple(state.reasons),
    )
    return Compiled(plan, dataset_rules, tuple(_distinct(trouble.found)), drift)


def load_checked(
    written: Any,
    *,
    env: str | None = None,
    overrides: Any = None,
    packs: PackChoice | None = None,
    documents: Documents | None = None,
) -> Loaded:
    """Read a contract and compile it as far as it goes without its source; raises with every problem of both."""
    return load_compiled(written, env=env, overrides=overrides, packs=packs, documents=documents)[0]


def load_compiled(
    written: Any,
    *,
    env: str | None = None,
    overrides: Any = None,
    packs: PackChoice | None = None,
    documents: Documents | None = None,
) -> tuple[Loaded, Compiled]:
    """A contract, and what it is compiled to as far as that goes without its source."""
    loaded, problems = examine(written, env=env, overrides=overrides, packs=packs, documents=documents)
    if not problems and loaded is not None:
        return loaded, compile_contract(loaded)
    if loaded is not None:
        try:
            compile_contract(loaded)
        except CompileError as error:
            told = {(d.where.line, d.where.path) for d in problems}
            problems += [d for d in error.diagnostics if (d.where.line, d.where.path) not in told]
    raise LoadError(in_order(problems))


def _warn_of_clear_data(contract: Contract, trouble: Trouble) -> None:
    for index, declared in enumerate(contract.model.fields):
        if (declared.pii or declared.phi) and not declared.masking:
            message = f"`{declared.name}` is personal data and is published in clear."
            hint = "add masking: encrypt, hash, redact, partial or nullify"
            trouble.add(CLEAR, message, f"model.fields[{index}]", hint, warning=True)


def _distinct(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    return list(dict.fromkeys(found))


def _apply(state: State, step: Any, index: int, reserved: frozenset[str]) -> None:
    """Compile one step; in the plan it stands even where nothing is computed, or its columns cannot be seen yet."""
    before = (len(state.closed), len(state.nodes))
    scope, found = dict(state.scope), len(state.trouble.found)
    steps.apply(state, step, index, reserved)
    if before == (len(state.closed), len(state.nodes)):
        is_unsure = scope == state.scope and (len(state.trouble.found) > found or not state.trouble.landed_is_known)
        unknown = ("its columns are not known yet",) if is_unsure else ()
        state.nodes.append(RowWise(step.kind, (), (_summary(step), *unknown)))
    state.cover()


def _made_from(contract: Contract, index: int, state: State) -> set[str]:
    """The columns that a step or one after it makes anew."""
    following = [step for step in contract.transformations if step.phase == "post"]
    following += [step for step in contract.transformations[index:] if step.phase == "pre"]
    return {name for step in following for name in steps.makes(step, state)}


def _summary(step: Any) -> str:
    written = step.model_dump(mode="json", exclude_unset=True, exclude={"kind", "phase", "name", "dialect"})
    if set(written) == {"sql"}:
        return " ".join(str(written["sql"]).split())
    return ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in written.items())


def _links(state: State, contract: Contract, links: Mapping[str, SourceColumns] | None) -> None:
    looked_at = {name: (found.format, found.columns, found.options) for name, found in (links or {}).items()}
    wanted = {link.name for link in contract.links if not link.include_deleted}
    deleted = {name: found.deleted for name, found in (links or {}).items() if name in wanted}
    state.known_links = known_links(state, contract.links, looked_at, deleted)
    state.unread_links = frozenset(link.name for link in contract.links) - frozenset(looked_at)


def _check_settings(contract: Contract, strategy: Strategy, trouble: Trouble) -> None:
    source = contract.source
    over_table = bool(source.path) and source.resolved_type in ("table", "delta", "iceberg")
    kind = strategy.kind
    if source.watermark_strategy == ("manifest" if over_table else "delta_version"):
        known, read = ("files", "a table") if over_table else ("versions of a table", "files")
        message = f"`watermark_strategy: {source.watermark_strategy}` knows {known}, and this source is {read}."
        trouble.add(NOT_YET, message, "source.watermark_strategy", "leave it out: `pipeline_log` knows both")
    bounded = source.bounded_by
    follows = source.load_mode == "incremental" and (bounded or strategy.takes_new_rows)
    if over_table and source.load_mode != "full" and not follows:
        message = f"load_mode {source.load_mode} over a table is not available yet for {kind}."
        trouble.add(NOT_YET, message, "source.load_mode", "leave it out: a table that is unchanged is not read again")
    elif source.load_mode != "full" and source.watermark_field and bounded is None:
        message = f"`watermark_field` with load_mode {source.load_mode} is not available yet."
        hint = "say how it bounds rows (`watermark_strategy: max_target`, `lookback`, `date_range`), or leave it out: "
        hint += "files are read once, and windows take them by the date in their names"
        trouble.add(NOT_YET, message, "source.watermark_field", hint)


def _leave_out(state: State, field: str, days: Days) -> None:
    """Rows that do not fall on the days of the window; a line that cannot be read falls on none."""
    name = next((known for known in state.scope if known.lower() == field.lower()), None)
    if name is None:
        message = f"There is no column `{field}` that would place rows in a window."
        state.trouble.add(NO_COLUMN, message, "source.watermark_field", nearest_or_all(field, list(state.scope)))
        return
    state.lose("outside", "window", call("not", days.hold(state.scope[name])), (f"{name} on {days}",))


def _good_columns(
    state: State, contract: Contract, types: Mapping[str, Type], before: verdicts.Before
) -> dict[str, Expression]:
    """Model fields first, in their order and types; then everything else, as it stands.

    Where unknown fields make a row bad, no good row has a value in them: they are no columns of the table. Nor is what
    is kept aside.
    """
    good: dict[str, Expression] = {}
    empty = before.landed.unknown if contract.schema_policy.unknown_fields == "quarantine" else {}
    for declared in contract.model.fields:
        value = state.scope.get(declared.name)
        if value is not None:
            good[declared.name] = convert(value, types[declared.name])
    for name, value in state.scope.items():
        if name in state.aside or (name in empty and value == before.settled.get(name)):
            continue
        if name not in good and not name.startswith(names.INTERNAL):
            good[name] = value
    return good
