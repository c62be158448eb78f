"""Dataset rules → measures over the staged good rows, and the bounds they must keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from lakelogic.contract import rules as written
from lakelogic.contract.document import Contract
from lakelogic.contract.tagged import whole
from lakelogic.plan.codes import NO_LINK
from lakelogic.plan.nodes import Landed, Link, Measure, Published, Read, Severity
from lakelogic.plan.query.questions import Asker, Question
from lakelogic.plan.state import Trouble
from lakelogic.plan.strategies.settings import Strategy
from lakelogic.sql.expressions import Column, Expression, call, convert
from lakelogic.sql.problems import BAD_TYPES, NO_COLUMN, nearest, nearest_or_all
from lakelogic.sql.types import DOUBLE, decimal

Relation = Literal["=", "<", "<=", ">", ">="]
_WORDS: dict[Relation, str] = {"=": "", "<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least "}


@dataclass(frozen=True, slots=True)
class Limit:
    """One bound of a number. Whole numbers, decimals and ratios are compared exactly, doubles as doubles."""

    relation: Relation
    bound: int | float

    def holds(self, value: int | float | Decimal | Fraction) -> bool:
        """Whether the number keeps the bound; NaN keeps none."""
        if isinstance(value, float):
            return _holds(self.relation, value, float(self.bound))
        return _holds(self.relation, Fraction(value), Fraction(str(self.bound)))


def _holds(relation: Relation, value: Any, bound: Any) -> bool:
    match relation:
        case "=":
            return bool(value == bound)
        case "<":
            return bool(value < bound)
        case "<=":
            return bool(value <= bound)
        case ">":
            return bool(value > bound)
        case ">=":
            return bool(value >= bound)


def between(low: int | float | None, high: int | float | None) -> tuple[Limit, ...]:
    """Two bounds, both ends allowed; an end that is None is open."""
    ends: tuple[tuple[Relation, int | float | None], ...] = ((">=", low), ("<=", high))
    return tuple(Limit(relation, bound) for relation, bound in ends if bound is not None)


def must_be(rule: written.DatasetRule) -> tuple[Limit, ...]:
    """What a rule's own `must_be…` keys demand of its number."""
    limits: list[Limit] = []
    if isinstance(rule.must_be, int | float) and not isinstance(rule.must_be, bool):
        limits.append(Limit("=", rule.must_be))
    if len(rule.must_be_between) == 2:
        limits += between(*rule.must_be_between)
    asked: tuple[tuple[Relation, int | float | None], ...] = (
        ("<", rule.must_be_less_than),
        (">", rule.must_be_greater_than),
        (">=", rule.must_be_at_least),
        ("<=", rule.must_be_at_most),
    )
    return (*limits, *(Limit(relation, bound) for relation, bound in asked if bound is not None))


def said(limits: Sequence[Limit]) -> str:
    """Bounds in words: `1 to 5`, `at most 0.5`, `more than 2 and less than 9`."""
    pair = [limit.bound for limit in limits if limit.relation in (">=", "<=")]
    if [limit.relation for limit in limits] == [">=", "<="]:
        return f"{pair[0]} to {pair[1]}"
    return " and ".join(f"{_WORDS[limit.relation]}{limit.bound}" for limit in limits)


@dataclass(frozen=True, slots=True)
class Check:
    """One dataset rule: the measure it reads and the limits it must keep.

    `over` is a second measure to divide by (a ratio). `unique` names columns instead: how many of their values occur
    more than once must keep the limits. Without limits the measure must be TRUE. `against` is another measure that may
    differ by at most `tolerance`.
    """

    name: str
    severity: Severity
    expected: str
    measure: str | None = None
    over: str | None = None
    limits: tuple[Limit, ...] = ()
    unique: tuple[str, ...] = ()
    against: str | None = None
    tolerance: int | float = 0


NONE = (Limit("=", 0),)


@dataclass(frozen=True, slots=True)
class Checks:
    """All dataset rules of a contract and the measures they need."""

    checks: tuple[Check, ...]
    measures: tuple[Measure, ...]
    questions: tuple[Question, ...] = ()


ROWS = Measure("rows", "count_all", None)


def checks(contract: Contract, strategy: Strategy, columns: tuple[Published, ...], asker: Asker) -> Checks:
    """The dataset rules, bound to the columns that good rows have."""
    trouble = asker.trouble
    good = {column.name.lower(): column for column in columns if column.on_good}
    found: list[Check] = []
    questions: list[Question] = []
    measures: dict[str, Measure] = {ROWS.name: ROWS}
    for index, rule in enumerate(contract.quality.dataset_rules):
        path = f"quality.dataset_rules[{index}]"
        _refuse_bounds(rule, path, trouble)
        kind = KINDS[type(rule)]
        if kind.ask is not None:
            asked = kind.ask(rule, index, path, good, asker)
            if asked is not None:
                found.append(asked[0])
                questions += asked[1]
        if kind.measure is not None:
            built = kind.measure(rule, path, good, trouble)
            if built is not None:
                found.append(built[0])
                measures |= {measure.name: measure for measure in built[1]}
    if contract.key and not strategy.is_keyed and all(key.lower() in good for key in contract.key):
        keys = tuple(good[key.lower()].name for key in contract.key)
        if not any(check.unique == keys and check.limits == NONE for check in found):
            found.append(Check("primary_key_unique", "error", "no duplicates", limits=NONE, unique=keys))
    return Checks(tuple(found), tuple(measures.values()), tuple(questions))


def _refuse_bounds(rule: written.DatasetRule, path: str, trouble: Trouble) -> None:
    """A bound that could never be compared with what the rule yields is refused, not passed over."""
    yields = KINDS[type(rule)].yields
    if yields == "difference" and (must_be(rule) or rule.must_be is not None):
        trouble.add(BAD_TYPES, "A reconciliation has no other bound than its tolerance.", path, "use `tolerance`")
    elif isinstance(rule.must_be, str) or (isinstance(rule.must_be, bool) and yields != "truth or number"):
        message = f"`{str(rule.must_be).lower()}` is no number, and the rule yields one."
        trouble.add(BAD_TYPES, message, f"{path}.must_be", "write a number")


def _asked(
    rule: written.DatasetSql | written.Reconcile, index: int, path: str, good: Good, asker: Asker
) -> tuple[Check, list[Question]] | None:
    """A rule whose number is the answer to a question."""
    landed = [Landed(column.name, column.type) for column in good.values() if not column.name.startswith("~")]
    name = rule.name or " ".join(rule.sql.split())
    here = f"{path}.sql" if isinstance(rule, written.DatasetSql) else f"{path}.reconcile.sql"
    question = asker.ask(f"sql:{index}", rule.sql, here, landed, dialect=rule.dialect)
    if question is None:
        return None
    limits = must_be(rule)
    if isinstance(rule, written.Reconcile):
        return _reconciled(rule, index, path, question, asker)
    if question.type.kind == "boolean":
        if limits or rule.must_be is False:
            hint = "leave the bounds out, or ask for a number"
            asker.trouble.add(BAD_TYPES, "The rule yields TRUE or FALSE, and a bound is for numbers.", path, hint)
            return None
        return Check(name, rule.severity, "TRUE", question.name), [question]
    if not question.type.is_number:
        message = f"The rule yields {question.type}; it must yield TRUE, FALSE or a number."
        asker.trouble.add(BAD_TYPES, message, here, "compare it with something")
        return None
    if not limits:
        hint = "add must_be, must_be_between, must_be_at_least, …, or compare it in the SQL"
        asker.trouble.add(BAD_TYPES, "The rule yields a number, and nothing says what it must be.", here, hint)
        return None
    return Check(name, rule.severity, said(limits), question.name, None, limits), [question]


def _reconciled(
    rule: written.Reconcile, index: int, path: str, question: Question, asker: Asker
) -> tuple[Check, list[Question]] | None:
    link = asker.known_links.get(rule.reference)
    if link is None:
        if rule.reference not in asker.unread_links:
            near = nearest(rule.reference, list(asker.known_links)) or "declare it under links:"
            asker.trouble.add(NO_LINK, f"There is no link `{rule.reference}`.", f"{path}.reconcile.reference", near)
        return None
    columns = [Landed(column.name, column.type) for column in link.visible]  # type: ignore[attr-defined]
    asked = rule.reference_sql or rule.sql
    where = f"{path}.reconcile.{'reference_sql' if rule.reference_sql else 'sql'}"
    start = Link(
        Read(rule.reference, link.format, link.columns, link.options),  # type: ignore[attr-defined]
        (),
        link.filter,  # type: ignore[attr-defined]
        rule.reference,
    )
    other = asker.ask(f"reference:{index}", asked, where, columns, dialect=rule.dialect, start=start)
    if other is None:
        return None
    for one in (question, other):
        if not one.type.is_number:
            message = f"reconcile compares numbers, and this is {one.type}."
            asker.trouble.add(BAD_TYPES, message, where if one is other else f"{path}.reconcile.sql")
            return None
    name = rule.name or f"reconcile_{rule.reference}"
    within = f" within {rule.tolerance}" if rule.tolerance else ""
    expected = f"the same as in {rule.reference}{within}"
    check = Check(name, rule.severity, expected, question.name, against=other.name, tolerance=rule.tolerance)
    return check, [question, other]


Good = Mapping[str, Published]
Made = tuple[Check, list[Measure]]


def _column(rule: Any, name: str, path: str, good: Good, trouble: Trouble) -> Column | None:
    found = good.get(name.lower())
    if found is None:
        hint = nearest_or_all(name, [c.name for c in good.values() if not c.name.startswith("~")])
        message, unsure = f"There is no column `{name}` in the published rows.", not trouble.landed_is_known
        trouble.add(NO_COLUMN, message, f"{path}.{rule.kind}", hint, warning=unsure)
        return None
    return Column(found.name, found.type)


def _unique(rule: written.Unique, path: str, good: Good, trouble: Trouble) -> Made | None:
    columns = [_column(rule, name, path, good, trouble) for name in rule.fields]
    if any(column is None for column in columns):
        return None
    keys = tuple(column.name for column in columns if column is not None)
    name = rule.name or f"{'_'.join(rule.fields)}_unique"
    limits = must_be(rule)
    expected = f"{said(limits)} duplicate keys" if limits else "no duplicates"
    return Check(name, rule.severity, expected, limits=limits or NONE, unique=keys), []


def _null_ratio(rule: written.NullRatio, path: str, good: Good, trouble: Trouble) -> Made | None:
    column = _column(rule, rule.field, path, good, trouble)
    if column is None:
        return None
    missing = Measure(f"null:{column.name}", "count_all", None, call("is_null", column))
    name = rule.name or f"{rule.field}_null_ratio"
    limits = (*between(None, rule.max), *must_be(rule))
    return Check(name, rule.severity, said(limits), missing.name, ROWS.name, limits), [missing, ROWS]


def _row_count(rule: written.RowCountBetween, _path: str, _good: Good, _trouble: Trouble) -> Made | None:
    limits = (*between(rule.min, rule.max), *must_be(rule))
    return Check(rule.name or "row_count_between", rule.severity, said(limits), ROWS.name, None, limits), [ROWS]


def _field_between(function: str, *, number: bool) -> Callable[[Any, str, Good, Trouble], Made | None]:
    def build(rule: Any, path: str, good: Good, trouble: Trouble) -> Made | None:
        column = _column(rule, rule.field, path, good, trouble)
        if column is None:
            return None
        value: Expression = column
        if number:
            if not column.type.is_number:
                message = f"`{rule.field}` is {column.type}, not a number."
                trouble.add(BAD_TYPES, message, f"{path}.{rule.kind}.field", "declare its type in the model")
                return None
            # Whole numbers are summed where no sum overflows.
            value = convert(column, decimal(38, 0)) if column.type.is_integer else column
        name = rule.name or f"{rule.field}_{rule.kind}"
        limits = (*between(rule.min, rule.max), *must_be(rule))
        expected = said(limits)
        if function == "avg" and column.type.kind not in ("float", "double"):
            # The mean of exact numbers is exact: their sum over their count.
            total, present = (
                Measure(f"sum:{column.name}", "sum", value),
                Measure(f"count:{column.name}", "count", column),
            )
            return Check(name, rule.severity, expected, total.name, present.name, limits), [total, present]
        measure = Measure(f"{function}:{column.name}", function, convert(value, DOUBLE) if function == "avg" else value)
        return Check(name, rule.severity, expected, measure.name, None, limits), [measure]

    return build


@dataclass(frozen=True, slots=True)
class DatasetRuleKind:
    """One kind of dataset rule: measures of good rows, or questions in SQL; and which bounds its answer takes."""

    measure: Callable[[Any, str, Good, Trouble], Made | None] | None = None
    ask: Callable[[Any, int, str, Good, Asker], tuple[Check, list[Question]] | None] | None = None
    yields: Literal["number", "truth or number", "difference"] = "number"


KINDS: dict[type, DatasetRuleKind] = {
    written.DatasetSql: DatasetRuleKind(ask=_asked, yields="truth or number"),
    written.Unique: DatasetRuleKind(_unique),
    written.NullRatio: DatasetRuleKind(_null_ratio),
    written.RowCountBetween: DatasetRuleKind(_row_count),
    written.DistinctCount: DatasetRuleKind(_field_between("count_distinct", number=False)),
    written.MeanBetween: DatasetRuleKind(_field_between("avg", number=True)),
    written.SumBetween: DatasetRuleKind(_field_between("sum", number=True)),
    written.Reconcile: DatasetRuleKind(ask=_asked, yields="difference"),
}
whole("dataset rules", written.DATASET_RULES, KINDS)
