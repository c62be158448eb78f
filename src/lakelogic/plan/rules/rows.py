"""Rules → flags: when a row fails, with which reason, and which causes silence others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lakelogic.contract import rules as written
from lakelogic.contract.document import Contract
from lakelogic.contract.durations import duration
from lakelogic.contract.fields import Field
from lakelogic.contract.references import link_of
from lakelogic.contract.tagged import whole
from lakelogic.plan.binding import bind_predicate
from lakelogic.plan.codes import NO_LINK
from lakelogic.plan.predicates import both, fails, present
from lakelogic.plan.rules import lifecycle
from lakelogic.plan.rules.constants import compare, constant, refuse_impossible
from lakelogic.plan.rules.unique import judge_rule
from lakelogic.plan.source.links import found_in
from lakelogic.plan.state import Flag, State
from lakelogic.sql.arguments import one_of
from lakelogic.sql.catalogue.strings import matches
from lakelogic.sql.expressions import Call, Expression, Literal, call, columns_of, convert, text
from lakelogic.sql.nested import size_call
from lakelogic.sql.problems import NO_COLUMN, SqlProblems
from lakelogic.sql.types import BOOLEAN, DATE, INT, STRING, TIMESTAMP, Type


@dataclass(slots=True)
class Silence:
    """Causes that keep other rules quiet: one cause, one reason."""

    by_column: dict[str, list[Expression]] = field(default_factory=dict)
    always: list[Expression] = field(default_factory=list)

    def over(self, column: Expression, cause: Expression) -> None:
        """Rules that read the column say nothing where the cause holds."""
        for name in columns_of(column):
            self.by_column.setdefault(name, []).append(cause)

    def quiet(self, failed: Expression, reads: frozenset[str]) -> Expression:
        """The flag, where nothing silences it."""
        causes = [*self.always, *(cause for name in sorted(reads) for cause in self.by_column.get(name, []))]
        unique = list(dict.fromkeys(causes))
        return both(*(call("not", cause) for cause in unique), failed)


def required_flags(state: State, required: Iterable[str], silence: Silence) -> list[Flag]:
    """These columns must have a value; what is missing silences rules that read it."""
    flags, causes = [], []
    for name in required:
        value = state.scope.get(name)
        if value is None:
            continue
        absent = call("is_null", value)
        failed = silence.quiet(absent, columns_of(value))
        flags.append(Flag(failed, f"Rule failed: {name} is required", "completeness", f"{name}_required"))
        causes.append((value, absent))
    for value, absent in causes:
        silence.over(value, absent)
    return flags


def constraint_flags(state: State, fields: list[Field], silence: Silence, index: Mapping[str, int]) -> list[Flag]:
    """Constraints on a field judge present values."""
    flags = []
    for declared in fields:
        value = state.scope.get(declared.name)
        if value is None:
            continue
        for key, constraint in CONSTRAINTS.items():
            limit = getattr(declared, key)
            if limit is None or limit == ():
                continue
            try:
                predicate = constraint.predicate(value, limit)
            except SqlProblems as trouble:
                state.trouble.sql(trouble.problems, f"model.fields[{index[declared.name]}].{key}")
                continue
            name = f"{declared.name}_{key}"
            text_ = f"Rule failed: {name} ({constraint.shown(declared.name, limit)})"
            failed = silence.quiet(both(present(value), fails(predicate)), columns_of(value))
            flags.append(Flag(failed, text_, constraint.category, name))
    return flags


def foreign_key_flags(
    state: State, contract: Contract, fields: Sequence[Field], silence: Silence, index: Mapping[str, int]
) -> list[Flag]:
    """Values of a field that must be found in another contract's table; an absent value refers to nothing."""
    flags = []
    for declared in fields:
        value, promise = state.scope.get(declared.name), declared.foreign_key
        if value is None or promise is None:
            continue
        path = f"model.fields[{index[declared.name]}].foreign_key"
        link = link_of(contract.links, promise.contract)
        if link is None:
            message = f"Neither a link nor a contract beside this one is called `{promise.contract}`."
            hint = f"Add it: links: [{{name: {promise.contract}, path: …}}]"
            state.trouble.add(NO_LINK, message, f"{path}.contract", hint)
            continue
        found = found_in(state, value, link, promise.column, f"{path}.column")
        if found is None:
            continue
        name = f"{declared.name}_foreign_key"
        shown = f"{declared.name} IN {promise.contract}.{promise.column}"
        failed = silence.quiet(both(present(value), call("not", found)), columns_of(value))
        flags.append(Flag(failed, f"Rule failed: {name} ({shown})", "consistency", name, promise.severity))
    return flags


def rule_flag(state: State, rule: Any, path: str, silence: Silence) -> list[Flag] | None:
    """The flags of one row rule that judges each row by itself, or diagnostics (None)."""
    kind = KINDS[type(rule)]
    if kind.flags is not None:
        return kind.flags(state, rule, path, silence)
    assert kind.predicate is not None
    built = kind.predicate(state, rule, path)
    if built is None:
        return None
    predicate, shown, default_name = built
    name = rule.name or default_name
    reason = f"Rule failed: {name} ({shown})" if name else f"Rule failed: {shown}"
    failed = silence.quiet(fails(predicate, rule.nulls), columns_of(predicate))
    return [Flag(failed, reason, rule.category or kind.category, name or shown, rule.severity, rule.label)]


def _not_null(state: State, rule: written.NotNull, path: str, silence: Silence) -> list[Flag] | None:
    flags = []
    for name in rule.fields:
        value = state.column(name, f"{path}.not_null")
        if value is None:
            return None
        called = rule.name or f"{name}_not_null"
        flags.append(
            Flag(
                silence.quiet(call("is_null", value), columns_of(value)),
                f"Rule failed: {called} ({name} IS NOT NULL)",
                rule.category or KINDS[written.NotNull].category,
                called,
                rule.severity,
                rule.label,
            )
        )
    return flags


Built = tuple[Expression, str, str | None]


def _sql(state: State, rule: written.SqlRule, path: str) -> Built | None:
    predicate = bind_predicate(state, rule.sql, f"{path}.sql", dialect=rule.dialect)
    return (predicate, " ".join(rule.sql.split()), None) if predicate is not None else None


def _field_rule(
    build: Callable[[Any, Expression], Expression], show: Callable[[Any], str]
) -> Callable[[State, Any, str], Built | None]:
    def compiled(state: State, rule: Any, path: str) -> Built | None:
        value = state.column(rule.field, f"{path}.{rule.kind}.field")
        if value is None:
            return None
        try:
            return build(rule, value), show(rule), f"{rule.field}_{rule.kind}"
        except SqlProblems as trouble:
            state.trouble.sql(trouble.problems, f"{path}.{rule.kind}")
            return None

    return compiled


def _range(rule: written.Range, value: Expression) -> Expression:
    low, high = (">=", "<=") if rule.inclusive else (">", "<")
    parts = []
    if rule.min is not None:
        parts.append(compare(low, value, constant(rule.min)))
    if rule.max is not None:
        parts.append(compare(high, value, constant(rule.max)))
    return both(*parts)


def _show_range(rule: Any) -> str:
    low, high = (">=", "<=") if rule.inclusive else (">", "<")
    subject = f"length({rule.field})" if rule.kind == "length" else rule.field
    parts = [f"{subject} {low} {_shown([rule.min])}"] if rule.min is not None else []
    parts += [f"{subject} {high} {_shown([rule.max])}"] if rule.max is not None else []
    return " AND ".join(parts)


def _size(value: Expression) -> Expression:
    """How many elements an array or a map has; otherwise how many characters the text of a value."""
    return size_call([value]) if value.type.kind in ("array", "map") else Call("length", (convert(value, STRING),), INT)


def _length(rule: written.Length, value: Expression) -> Expression:
    length = _size(value)
    low, high = (">=", "<=") if rule.inclusive else (">", "<")
    parts = []
    if rule.min is not None:
        parts.append(compare(low, length, Literal(rule.min, INT)))
    if rule.max is not None:
        parts.append(compare(high, length, Literal(rule.max, INT)))
    return both(*parts)


def _compare(state: State, rule: written.Compare, path: str) -> Built | None:
    left = state.column(rule.left, f"{path}.compare.left")
    right: Expression | None
    if isinstance(rule.right, str) and state.spelled(rule.right):
        right = state.column(rule.right, f"{path}.compare.right")
    else:
        right = constant(rule.right)
    if left is None or right is None:
        return None
    try:
        predicate = compare(rule.op, left, right)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.compare")
        return None
    return predicate, f"{rule.left} {rule.op} {rule.right}", f"{rule.left}_compare"


def _referential(state: State, rule: written.ReferentialIntegrity, path: str) -> Built | None:
    value = state.column(rule.field, f"{path}.referential_integrity.field")
    if value is None:
        return None
    key = rule.key or rule.field
    found = found_in(state, value, rule.reference, key, f"{path}.referential_integrity")
    if found is None:
        return None
    predicate = Call("case", (call("is_null", value), Literal(None, BOOLEAN), found), BOOLEAN)
    return predicate, f"{rule.field} IN {rule.reference}.{key}", f"{rule.field}_referential_integrity"


def _not_future(state: State, rule: written.NotFuture, path: str) -> Built | None:
    value = state.column(rule.field, f"{path}.not_future")
    if value is None:
        return None
    try:
        predicate = compare("<=", value, moment(state.now, value.type))
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.not_future")
        return None
    return predicate, f"{rule.field} <= now", f"{rule.field}_not_future"


def moment(at: datetime, type_: Type) -> Literal:
    """A moment to compare values of a type with; wall clocks are read as UTC."""
    return Literal(at.replace(tzinfo=None), type_) if type_.kind == "timestamp_ntz" else Literal(at, TIMESTAMP)


def _lifecycle(state: State, rule: written.LifecycleWindow, path: str) -> Built | None:
    return lifecycle.within(state, rule, path)


def _freshness(state: State, rule: written.FreshnessRule, path: str) -> Built | None:
    """Not older than an age at the start of the run; a date stands for its whole day."""
    value = state.column(rule.field, f"{path}.freshness.field")
    if value is None:
        return None
    oldest = state.now - duration(rule.max_age)
    bound = Literal(oldest.date(), DATE) if value.type.kind == "date" else moment(oldest, value.type)
    try:
        predicate = compare(">=", value, bound)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, f"{path}.freshness")
        return None
    return predicate, f"{rule.field} >= now - {rule.max_age.strip()}", f"{rule.field}_freshness"


@dataclass(frozen=True, slots=True)
class RowRuleKind:
    """One shorthand of a row rule: its category, and how a row is judged, by one of three ways.

    `predicate` is TRUE for a row that keeps the rule; `flags` are several of them; `among` looks at rows together,
    after all others have judged.
    """

    category: str
    predicate: Callable[[State, Any, str], Built | None] | None = None
    flags: Callable[[State, Any, str, Silence], list[Flag] | None] | None = None
    among: Callable[[State, Any, str, str], None] | None = None


KINDS: dict[type, RowRuleKind] = {
    written.SqlRule: RowRuleKind("correctness", _sql),
    written.NotNull: RowRuleKind("completeness", flags=_not_null),
    written.AcceptedValues: RowRuleKind(
        "validity",
        _field_rule(
            lambda rule, value: _one_of(value, rule.values), lambda rule: f"{rule.field} IN ({_shown(rule.values)})"
        ),
    ),
    written.RegexMatch: RowRuleKind(
        "validity",
        _field_rule(
            lambda rule, value: matches(value, text(rule.pattern)), lambda rule: f"{rule.field} RLIKE '{rule.pattern}'"
        ),
    ),
    written.Range: RowRuleKind("validity", _field_rule(_range, _show_range)),
    written.Length: RowRuleKind("validity", _field_rule(_length, _show_range)),
    written.Compare: RowRuleKind("consistency", _compare),
    written.ReferentialIntegrity: RowRuleKind("consistency", _referential),
    written.LifecycleWindow: RowRuleKind("consistency", _lifecycle),
    written.NotFuture: RowRuleKind("timeliness", _not_future),
    written.FreshnessRule: RowRuleKind("timeliness", _freshness),
    written.RowUnique: RowRuleKind("uniqueness", among=judge_rule),
}
whole("row rules", written.ROW_RULES, KINDS)


def _one_of(value: Expression, choices: Any) -> Expression:
    literals = [constant(choice) for choice in choices]
    for literal in literals:
        refuse_impossible(value.type, literal)
    return one_of(value, literals, "accepted_values:")


def _shown(values: Any) -> str:
    return ", ".join(
        f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
        for value in values
    )


@dataclass(frozen=True, slots=True)
class Constraint:
    """One key of a field that is a rule: what it shows of itself, and what TRUE means for a present value."""

    category: str
    shown: Callable[[str, Any], str]
    predicate: Callable[[Expression, Any], Expression]


CONSTRAINTS: dict[str, Constraint] = {
    "accepted_values": Constraint("validity", lambda name, values: f"{name} IN ({_shown(values)})", _one_of),
    "min": Constraint(
        "validity",
        lambda name, least: f"{name} >= {_shown([least])}",
        lambda value, least: compare(">=", value, constant(least)),
    ),
    "max": Constraint(
        "validity",
        lambda name, most: f"{name} <= {_shown([most])}",
        lambda value, most: compare("<=", value, constant(most)),
    ),
    "min_length": Constraint(
        "validity",
        lambda name, least: f"length({name}) >= {least}",
        lambda value, least: call("ge", _size(value), Literal(least, INT)),
    ),
    "max_length": Constraint(
        "validity",
        lambda name, most: f"length({name}) <= {most}",
        lambda value, most: call("le", _size(value), Literal(most, INT)),
    ),
    "pattern": Constraint(
        "validity",
        lambda name, pattern: f"{name} RLIKE '{pattern}'",
        lambda value, pattern: matches(value, text(pattern)),
    ),
}


def reads_only_known(state: State, rule: Any) -> bool:
    """Whether a rule can be bound to the columns of this phase (used to find its phase)."""
    trouble = type(state.trouble)(state.trouble.where)
    probe = State(state.dataset, state.now, trouble, state.subquery, state.dialect, state.strategy)
    probe.scope, probe.used, probe.links = dict(state.scope), set(state.used), dict(state.links)
    probe.known_links, probe.unread_links = dict(state.known_links), state.unread_links
    if KINDS[type(rule)].among is not None:
        return all(state.spelled(name) is not None for name in rule.fields)
    rule_flag(probe, rule, "", Silence())
    return not any(diagnostic.code == NO_COLUMN for diagnostic in probe.trouble.found)
