"""The verdicts of a run, in their order: broken lines, the model and pre rules, post rules (their words: `rows.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.contract.fields import Field
from lakelogic.contract.rules import Rule
from lakelogic.contract.source import Options
from lakelogic.plan.columns import shape, written
from lakelogic.plan.columns.evolve import Changed, LandedDrift
from lakelogic.plan.columns.generated import compute, default_of, is_ready
from lakelogic.plan.predicates import both, present
from lakelogic.plan.rules import rows as judge
from lakelogic.plan.rules.unique import Uniqueness, judge_unique
from lakelogic.plan.state import Flag, Snapshot, State
from lakelogic.plan.strategies import batch
from lakelogic.sql.arguments import cast
from lakelogic.sql.expressions import Column, Expression, Literal, call, convert, text
from lakelogic.sql.problems import NO_COLUMN, SqlProblems
from lakelogic.sql.types import STRING, Type


def judge_lines(state: State) -> None:
    """A line that could not be parsed is bad before any step sees it: no step can lose it."""
    broken = present(Column(names.BROKEN, STRING))
    state.judge([Flag(broken, "Unreadable line: {}", "schema", "unreadable", value=names.BROKEN)])
    state.snapshots[-1] = Snapshot(state.snapshots[-1].verdicts, {})


def judge_numbers(state: State, contract: Contract, kinds: Mapping[str, Type]) -> None:
    """Numbers of JSON that nobody declares become numbers before any step sees them; what is none is a bad row."""
    types = {name: kind for name in state.scope if (kind := kinds.get(name.lower())) is not None and kind.is_number}
    chosen = {name: kind for name, kind in types.items() if contract.model.field(name) is None}
    if not chosen:
        return
    before = dict(state.scope)
    implied = [Field.model_construct(name=name, type=str(kind)) for name, kind in chosen.items()]
    _, flags, originals = shape.conform(state, implied, chosen, missing=frozenset(), options=Options.model_validate({}))
    state.originals += originals
    for name in chosen:
        old, made = before[name], state.scope[name]
        if isinstance(old, Column) and isinstance(made, Column):
            state.retyped[made.name] = old.name
    state.judge(batch.spare_deletions(state, flags))


def show_lines(state: State, landed: Mapping[str, Expression]) -> None:
    """A broken line has no values; where nothing else can fail, its quarantine still has the landed columns."""
    if state.closed or len(state.snapshots) > 1:
        return
    scope: dict[str, Expression] = {name: Literal(None, value.type) for name, value in landed.items()}
    state.snapshots[0] = Snapshot(state.snapshots[0].verdicts, scope)


def show_declared(state: State, contract: Contract, types: Mapping[str, Type], *, landed: bool) -> None:
    """Rows that failed in a step, before the model gave fields their types, are shown in these types all the same.

    `landed` says that values are still written as in the source. What cannot be cast is NULL in the row and stands in
    its originals.
    """
    options = contract.source.options if landed else None
    for place, account in enumerate(state.closed):
        originals = list(account.originals)
        shown = tuple(_declared(state, one, types, options, originals) for one in account.snapshots)
        state.closed[place] = replace(account, snapshots=shown, originals=tuple(originals))
    # In the open account the model's own casts keep the originals.
    state.snapshots = [_declared(state, one, types, options, []) for one in state.snapshots]


def _declared(
    state: State,
    snapshot: Snapshot,
    types: Mapping[str, Type],
    options: Options | None,
    originals: list[tuple[Expression, str, Expression]],
) -> Snapshot:
    scope = dict(snapshot.scope)
    for name, value in snapshot.scope.items():
        type_ = types.get(name)
        if type_ is None or value.type == type_:
            continue
        try:
            scope[name] = cast(value if options is None else written.value_of(value, name, type_, options), type_)
        except SqlProblems:
            continue  # it never becomes a value of this type: it is shown as it was
        shown = text("***") if state.taint(value) is not None else convert(value, STRING)
        originals.append((both(present(value), call("is_null", scope[name])), name, shown))
    return Snapshot(snapshot.verdicts, scope)


@dataclass(slots=True)
class Before:
    """What the first verdict leaves for the second: rules that wait, and the columns as they stood."""

    waiting: list[tuple[str, Rule]] = field(default_factory=list)
    settled: dict[str, Expression] = field(default_factory=dict)
    landed: LandedDrift = field(default_factory=LandedDrift)


def judge_before(
    state: State, contract: Contract, types: dict[str, Type], unknown: Sequence[str], later: Mapping[str, str]
) -> Before:
    """Schema, required fields, constraints and pre rules: the first verdict."""
    silence = judge.Silence()
    flags: list[Flag] = []
    policy = contract.schema_policy
    # What a pre step renamed, dropped or made anew is no longer what landed.
    unknown = [name for name in unknown if state.landed_name(name) == name]
    strangers = {name: state.scope[name].type for name in unknown}
    if policy.unknown_fields == "drop":
        state.scope = {name: value for name, value in state.scope.items() if name not in strangers}
    known = {name.lower() for name in state.scope}
    fields = [
        f
        for f in contract.model.fields
        if f.name in state.scope or (f.name.lower() not in later and is_ready(state, f, contract, known))
    ]
    missing = [f.name for f in fields if f.name not in state.scope]
    absent = {*missing, *state.lent}
    needed = [f.name for f in fields if f.name in absent and f.default is None and f.generated is None]
    strict = policy.unknown_fields == "quarantine" or policy.evolution == "strict"
    if unknown and policy.unknown_fields == "quarantine":
        flags.append(shape.unknown_flag(unknown, state))
    if needed and strict and state.has_header:
        lacking = shape.missing_flag(needed)
        flags.append(lacking)
        silence.always.append(lacking.failed)
    index = {f.name: position for position, f in enumerate(contract.model.fields)}
    landed = dict(state.scope)
    defaults = {
        f.name: value
        for f in fields
        if (value := default_of(state, f, types[f.name], f"model.fields[{index[f.name]}].default")) is not None
    }
    _, cast_flags, originals = shape.conform(
        state,
        fields,
        types,
        missing=frozenset(missing),
        defaults=defaults,
        options=contract.source.options,
        places=index,
    )
    for flag, (condition, name, _) in zip(cast_flags, originals, strict=True):
        silence.over(state.scope[name], condition)
        flags.append(flag)
    flags += compute(state, contract, fields, types, silence, landed=known)
    flags += _model_flags(state, contract, fields, silence)
    other = tuple(
        Changed(f.name, types[f.name], value.type)
        for f in fields
        if (value := landed.get(f.name)) is not None and not value.type.is_text and value.type != types[f.name]
    )
    state.originals += originals
    # Files without content say nothing about their columns.
    before = Before(landed=LandedDrift(strangers, tuple(needed) if landed else (), other))
    chosen: list[tuple[str, Rule]] = []
    for path, rule in all_rules(contract):
        if _phase(state, rule, later) == "pre":
            chosen.append((path, rule))
        else:
            before.waiting.append((path, rule))
    told = len(state.trouble.found)
    flags += _rule_flags(state, chosen, silence)
    if flags:
        state.judge(batch.spare_deletions(state, flags))
    _judge_groups(state, contract, fields, chosen)
    _name_the_maker(state, told, later)
    before.settled = dict(state.scope)
    return before


def judge_after(state: State, contract: Contract, types: dict[str, Type], before: Before) -> None:
    """The model over what post steps made or changed, then post rules: the second verdict."""
    silence = judge.Silence()
    flags: list[Flag] = []
    settled = before.settled
    changed = [f for f in contract.model.fields if f.name in state.scope and state.scope[f.name] != settled.get(f.name)]
    merge_keys = batch.demanded(state.strategy)
    unjudged = [key for key in merge_keys if contract.model.field(key) is None and state.spelled(key) is not None]
    for key in merge_keys:
        if state.spelled(key) is None and state.trouble.landed_is_known:
            state.column(key, "materialization.primary_key" if contract.materialization.primary_key else "primary_key")
    index = {f.name: position for position, f in enumerate(contract.model.fields)}
    # Where a value landed, or its default stands for it, a step that takes it away has its way.
    defaults = {
        f.name: value
        for f in changed
        if f.name not in settled
        and (value := default_of(state, f, types[f.name], f"model.fields[{index[f.name]}].default")) is not None
    }
    if changed:
        _, cast_flags, originals = shape.conform(
            state, changed, types, missing=frozenset(), defaults=defaults, places=index
        )
        for flag, (condition, name, _) in zip(cast_flags, originals, strict=True):
            silence.over(state.scope[name], condition)
            flags.append(flag)
        state.originals += originals
    again = [f for f in contract.model.fields if f.generated and (f.name in state.scope or f.name not in settled)]
    made = {name for name in state.scope if state.scope[name] != settled.get(name)}
    flags += compute(state, contract, again, types, silence, landed=frozenset(), only_if=made)
    changed += [f for f in again if f not in changed and state.scope.get(f.name) != settled.get(f.name)]
    flags += judge.required_flags(state, (state.spelled(key) or key for key in unjudged), silence)
    flags += _model_flags(state, contract, changed, silence)
    flags += _rule_flags(state, before.waiting, silence)
    flags += batch.flags(state, contract)
    if flags:
        state.judge(batch.spare_deletions(state, flags))
    _judge_groups(state, contract, changed, before.waiting)


def all_rules(contract: Contract) -> Iterable[tuple[str, Rule]]:
    """Every row rule with its path: those beside fields first, in the order of the model."""
    for position, declared in enumerate(contract.model.fields):
        for number, rule in enumerate(declared.rules):
            yield f"model.fields[{position}].rules[{number}]", rule
    for number, rule in enumerate(contract.quality.row_rules):
        yield f"quality.row_rules[{number}]", rule


def _rule_flags(state: State, rules: Sequence[tuple[str, Rule]], silence: judge.Silence) -> list[Flag]:
    flags: list[Flag] = []
    for path, rule in rules:
        if judge.KINDS[type(rule)].among is None:
            flags += judge.rule_flag(state, rule, path, silence) or []
    return flags


def _judge_groups(state: State, contract: Contract, fields: Sequence[Field], rules: Sequence[tuple[str, Rule]]) -> None:
    """Uniqueness, one rule after the other: each sees the rows that are still good."""
    index = {f.name: position for position, f in enumerate(contract.model.fields)}
    # A merge settles rows of one key by its own rules.
    settled = batch.settled_keys(state.strategy)
    for declared in fields:
        if declared.unique and not (len(settled) == 1 and settled[0].lower() == declared.name.lower()):
            path = f"model.fields[{index[declared.name]}].unique"
            judge_unique(state, Uniqueness((declared.name,), path, f"{declared.name}_unique"))
    for path, rule in rules:
        kind = judge.KINDS[type(rule)]
        if kind.among is not None:
            kind.among(state, rule, path, kind.category)


def _model_flags(state: State, contract: Contract, fields: Sequence[Field], silence: judge.Silence) -> list[Flag]:
    index = {f.name: position for position, f in enumerate(contract.model.fields)}
    merge_keys = {key.lower() for key in batch.demanded(state.strategy)}
    enforced = contract.quality.enforce_required
    required = [f.name for f in fields if (f.required and enforced) or f.name.lower() in merge_keys]
    flags = judge.required_flags(state, required, silence)
    flags += judge.constraint_flags(state, list(fields), silence, index)
    flags += judge.foreign_key_flags(state, contract, fields, silence, index)
    return flags


def _name_the_maker(state: State, told: int, later: Mapping[str, str]) -> None:
    """A pre rule that misses a column which a post step makes: the step is named."""
    for place, found in enumerate(state.trouble.found[told:], told):
        name = found.message.removeprefix("There is no column `").removesuffix("`.")
        if found.code == NO_COLUMN and (maker := later.get(name.lower())) is not None:
            hint = f"the post step `{maker}` makes it: leave out `phase: pre`, or give that step `phase: pre`"
            state.trouble.found[place] = replace(found, hint=hint)


def _phase(state: State, rule: Rule, later: Mapping[str, str]) -> str:
    if rule.phase is not None:
        return rule.phase
    return "pre" if not later or judge.reads_only_known(state, rule) else "post"


__all__ = ["Before", "all_rules", "judge_after", "judge_before", "judge_lines", "show_declared", "show_lines"]
