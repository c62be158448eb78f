"""Rules: what makes a row bad (row rules) and what keeps a batch from being published (dataset rules)."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from lakelogic.contract.base import (
    Dialect,
    Duration,
    Flag,
    Key,
    NamedList,
    Number,
    OneOrMany,
    Scalar,
    Section,
    Sql,
    Text,
    Verbatim,
    Whole,
)
from lakelogic.contract.tagged import Tagged, one_of

Severity = Literal["error", "warning", "info"]
Phase = Literal["pre", "post"]
Nulls = Literal["fail", "pass"]
Operator = Literal["=", "==", "!=", "<>", "<", "<=", ">", ">="]


class Rule(Tagged):
    """What every rule may say about itself."""

    name: Text | None = Key(None, description="A name for reports; by default `<field>_<shorthand>`.")
    category: Text | None = Key(None, description="completeness, correctness, validity, uniqueness, …")
    description: Verbatim | None = Key(None, description="Why the rule exists.")
    severity: Severity = Key("error", description="`error` makes the row bad, `warning` stamps it, `info` counts.")
    phase: Phase | None = Key(None, description="Judge before or after the post steps; by default before.")
    nulls: Nulls = Key("fail", description="What a predicate that is NULL means.")
    label: Text | None = Key(None, description="A short word for the reason, kept in reports.")
    dialect: Dialect | None = Key(None, description="The grammar the rule's SQL is written in.")


class SqlRule(Rule):
    """A row is good where the predicate is TRUE."""

    KIND: ClassVar[str] = "sql"
    MAIN: ClassVar[str | None] = "sql"
    BARE: ClassVar[bool] = True
    kind: Literal["sql"] = "sql"
    sql: Sql = Key(description="A predicate over one row.")


class NotNull(Rule):
    """The fields have values."""

    KIND: ClassVar[str] = "not_null"
    MAIN: ClassVar[str | None] = "fields"
    BARE: ClassVar[bool] = True
    kind: Literal["not_null"] = "not_null"
    fields: OneOrMany = Key(description="One field or several.")


class AcceptedValues(Rule):
    """The field has one of the listed values."""

    KIND: ClassVar[str] = "accepted_values"
    kind: Literal["accepted_values"] = "accepted_values"
    field: Text = Key(description="The field judged.")
    values: tuple[Scalar, ...] = Key(description="The allowed values.")


class RegexMatch(Rule):
    """The pattern is found in the field."""

    KIND: ClassVar[str] = "regex_match"
    kind: Literal["regex_match"] = "regex_match"
    field: Text = Key(description="The field judged.")
    pattern: Verbatim = Key(description="A regular expression; `$` is the end of the text.")


class Range(Rule):
    """The field lies between two bounds."""

    KIND: ClassVar[str] = "range"
    kind: Literal["range"] = "range"
    field: Text = Key(description="The field judged.")
    min: Scalar = Key(None, description="Lower bound.")
    max: Scalar = Key(None, description="Upper bound.")
    inclusive: Flag = Key(True, description="Whether the bounds themselves are allowed.")


class ReferentialIntegrity(Rule):
    """The field's value is found in a link."""

    KIND: ClassVar[str] = "referential_integrity"
    kind: Literal["referential_integrity"] = "referential_integrity"
    field: Text = Key(description="The field judged.")
    reference: Text = Key(description="The name of a link.")
    key: Text | None = Key(None, description="The column of the link; by default the field's own name.")


class LifecycleWindow(Rule):
    """An event lies within one of its key's windows."""

    KIND: ClassVar[str] = "lifecycle_window"
    kind: Literal["lifecycle_window"] = "lifecycle_window"
    event_ts: Text = Key(description="When the event happened.")
    event_key: Text = Key(description="Whose event it is.")
    reference: Text = Key(description="The name of the link that holds the windows.")
    reference_key: Text = Key(description="The key column of the link.")
    start_field: Text = Key(description="Start of a window.")
    end_field: Text = Key(description="End of a window.")
    end_default: Scalar = Key(None, description="The end of a window that has none.")


class Length(Rule):
    """The field's text has a length between two bounds."""

    KIND: ClassVar[str] = "length"
    kind: Literal["length"] = "length"
    field: Text = Key(description="The field judged.")
    min: Whole | None = Key(None, description="Fewest characters.")
    max: Whole | None = Key(None, description="Most characters.")
    inclusive: Flag = Key(True, description="Whether the bounds themselves are allowed.")


class NotFuture(Rule):
    """The field is not later than the run."""

    KIND: ClassVar[str] = "not_future"
    MAIN: ClassVar[str | None] = "field"
    kind: Literal["not_future"] = "not_future"
    field: Text = Key(description="A date or timestamp.")


class FreshnessRule(Rule):
    """The field is not older than an age."""

    KIND: ClassVar[str] = "freshness"
    kind: Literal["freshness"] = "freshness"
    field: Text = Key(description="A date or timestamp.")
    max_age: Duration = Key(description="`24h`, `7 days`, `P7D`.")


class Compare(Rule):
    """Two fields, or a field and a value, stand in a relation."""

    KIND: ClassVar[str] = "compare"
    kind: Literal["compare"] = "compare"
    left: Text = Key(description="A field.")
    op: Operator = Key(description="The relation.")
    right: Scalar = Key(description="A field, or a number.")


class RowUnique(Rule):
    """No two good rows share the fields' values; a row whose whole key is absent is not judged."""

    KIND: ClassVar[str] = "unique"
    MAIN: ClassVar[str | None] = "fields"
    kind: Literal["unique"] = "unique"
    fields: OneOrMany = Key(description="One field, or several that are unique together.")
    keep: Literal["none", "first"] = Key("none", description="Which row of a group stays good: none, or the first.")
    order_by: OneOrMany = Key((), description="`keep: first`: which row is the first, such as `[updated_at desc, id]`.")


class DatasetRule(Rule):
    """What every dataset rule may say about itself, and the bounds for a rule that yields a number."""

    must_be: Scalar = Key(None, description="The number must be exactly this.")
    must_be_between: tuple[Number, ...] = Key((), description="`[low, high]`, both ends allowed.")
    must_be_less_than: Number | None = Key(None, description="Strict upper bound.")
    must_be_greater_than: Number | None = Key(None, description="Strict lower bound.")
    must_be_at_least: Number | None = Key(None, description="Lower bound.")
    must_be_at_most: Number | None = Key(None, description="Upper bound.")


class DatasetSql(DatasetRule):
    """A query over the good rows: TRUE, or a number for `must_be…`."""

    KIND: ClassVar[str] = "sql"
    MAIN: ClassVar[str | None] = "sql"
    BARE: ClassVar[bool] = True
    kind: Literal["sql"] = "sql"
    sql: Sql = Key(description="A query that yields one value.")


class Unique(DatasetRule):
    """No two rows share the fields' values."""

    KIND: ClassVar[str] = "unique"
    MAIN: ClassVar[str | None] = "fields"
    BARE: ClassVar[bool] = True
    kind: Literal["unique"] = "unique"
    fields: OneOrMany = Key(description="One field, or several that are unique together.")


class NullRatio(DatasetRule):
    """At most a share of the field's values is missing."""

    KIND: ClassVar[str] = "null_ratio"
    kind: Literal["null_ratio"] = "null_ratio"
    field: Text = Key(description="The field measured.")
    max: Number | None = Key(None, description="The largest allowed share, 0 to 1.")


class RowCountBetween(DatasetRule):
    """The batch has between so many and so many rows."""

    KIND: ClassVar[str] = "row_count_between"
    kind: Literal["row_count_between"] = "row_count_between"
    min: Whole | None = Key(None, description="Fewest rows.")
    max: Whole | None = Key(None, description="Most rows.")


class _FieldBetween(DatasetRule):
    field: Text = Key(description="The field measured.")
    min: Number | None = Key(None, description="Lower bound.")
    max: Number | None = Key(None, description="Upper bound.")


class DistinctCount(_FieldBetween):
    """The number of distinct values lies between two bounds."""

    KIND: ClassVar[str] = "distinct_count"
    kind: Literal["distinct_count"] = "distinct_count"


class MeanBetween(_FieldBetween):
    """The mean lies between two bounds."""

    KIND: ClassVar[str] = "mean_between"
    kind: Literal["mean_between"] = "mean_between"


class SumBetween(_FieldBetween):
    """The sum lies between two bounds."""

    KIND: ClassVar[str] = "sum_between"
    kind: Literal["sum_between"] = "sum_between"


class Reconcile(DatasetRule):
    """A number over the good rows equals a number over a link, within a tolerance."""

    KIND: ClassVar[str] = "reconcile"
    kind: Literal["reconcile"] = "reconcile"
    reference: Text = Key(description="The name of a link.")
    sql: Sql = Key(description="The number over the good rows.")
    reference_sql: Sql | None = Key(None, description="The number over the link; by default the same query.")
    tolerance: Number = Key(0, description="The largest allowed difference.")


ROW_RULES: dict[str, type[Rule]] = {
    rule.KIND: rule
    for rule in (
        SqlRule, NotNull, AcceptedValues, RegexMatch, Range, ReferentialIntegrity, LifecycleWindow, Length, NotFuture,
        FreshnessRule, Compare, RowUnique,
    )
}  # fmt: skip
DATASET_RULES: dict[str, type[DatasetRule]] = {
    rule.KIND: rule
    for rule in (
        DatasetSql, Unique, NullRatio, RowCountBetween, DistinctCount, MeanBetween, SumBetween, Reconcile,
    )
}  # fmt: skip


if TYPE_CHECKING:
    RowRule: TypeAlias = Rule
    AnyDatasetRule: TypeAlias = DatasetRule
else:
    RowRule = one_of(ROW_RULES)
    AnyDatasetRule = one_of(DATASET_RULES)


class Quality(Section):
    """The rules of a contract, and how strictly they close the gate."""

    PURPOSE: ClassVar[str] = "The rules, and how strictly they are kept."

    enforce_required: Flag = Key(True, description="A row without a required value is bad.")
    fail_pipeline_on_dataset_error: Flag = Key(True, description="A failed dataset rule keeps good rows unpublished.")
    max_quarantine_ratio: Number | None = Key(None, description="The largest share of bad rows, 0 to 1.")
    row_rules: Annotated[tuple[RowRule, ...], NamedList] = Key((), description="What makes a row bad.")
    dataset_rules: Annotated[tuple[AnyDatasetRule, ...], NamedList] = Key((), description="What the batch must keep.")
