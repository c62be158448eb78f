"""Steps: one model per kind of transformation, told apart by the key that names the kind."""

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from lakelogic.contract.base import Dialect, Flag, Key, Number, OneOrMany, Scalar, Section, Sql, Text, Verbatim
from lakelogic.contract.tagged import Tagged, one_of

Phase = Literal["pre", "post"]


class Step(Tagged):
    """What every step may say about itself."""

    phase: Phase = Key("post", description="`pre`: before the schema and the rules; `post`: on good rows.")
    name: Text | None = Key(None, description="A name for reports.")
    engine: Text | None = Key(None, description="Pins the step to one engine.")
    dialect: Dialect | None = Key(None, description="The grammar the step's SQL is written in.")


class SqlStep(Step):
    """A query over `source` and links, or a bare list of `expr AS column`."""

    KIND: ClassVar[str] = "sql"
    MAIN: ClassVar[str | None] = "sql"
    BARE: ClassVar[bool] = True
    kind: Literal["sql"] = "sql"
    sql: Sql = Key(description="`SELECT … FROM source`, or `expr AS column[, …]`.")


class Select(Step):
    """Keep these columns, in this order."""

    KIND: ClassVar[str] = "select"
    MAIN: ClassVar[str | None] = "columns"
    kind: Literal["select"] = "select"
    columns: tuple[Text, ...] = Key(description="The columns that stay.")


class Drop(Step):
    """Remove these columns."""

    KIND: ClassVar[str] = "drop"
    MAIN: ClassVar[str | None] = "columns"
    kind: Literal["drop"] = "drop"
    columns: tuple[Text, ...] = Key(description="The columns that go.")


class Rename(Step):
    """Rename one column, or several at once (a swap works)."""

    KIND: ClassVar[str] = "rename"
    kind: Literal["rename"] = "rename"
    from_: Text | None = Key(None, alias="from", description="The old name.")
    to: Text | None = Key(None, description="The new name.")
    mappings: dict[str, Text] = Key({}, description="Old name: new name.")

    @property
    def pairs(self) -> dict[str, str]:
        """Old name → new name, whichever way it was written."""
        if self.from_ is not None and self.to is not None:
            return {self.from_: self.to} | self.mappings
        return dict(self.mappings)


class Derive(Step):
    """Compute one column."""

    KIND: ClassVar[str] = "derive"
    kind: Literal["derive"] = "derive"
    field: Text = Key(description="The column made.")
    sql: Sql = Key(description="The expression.")


class Cast(Step):
    """Change types; a value that cannot be cast makes the row bad."""

    KIND: ClassVar[str] = "cast"
    kind: Literal["cast"] = "cast"
    columns: dict[str, Text] = Key(description="Column: type.")


class Filter(Step):
    """Keep the rows where the predicate is TRUE; the others are counted."""

    KIND: ClassVar[str] = "filter"
    MAIN: ClassVar[str | None] = "sql"
    kind: Literal["filter"] = "filter"
    sql: Sql = Key(description="The predicate of the rows that stay.")


class Trim(Step):
    """Remove blanks around text."""

    KIND: ClassVar[str] = "trim"
    MAIN: ClassVar[str | None] = "fields"
    kind: Literal["trim"] = "trim"
    fields: tuple[Text, ...] = Key(description="The columns trimmed.")
    side: Literal["both", "left", "right"] = Key("both", description="Which end.")


class Lower(Step):
    """Lower case."""

    KIND: ClassVar[str] = "lower"
    MAIN: ClassVar[str | None] = "fields"
    kind: Literal["lower"] = "lower"
    fields: tuple[Text, ...] = Key(description="The columns changed.")


class Upper(Step):
    """Upper case."""

    KIND: ClassVar[str] = "upper"
    MAIN: ClassVar[str | None] = "fields"
    kind: Literal["upper"] = "upper"
    fields: tuple[Text, ...] = Key(description="The columns changed.")


class Coalesce(Step):
    """The first value that is present."""

    KIND: ClassVar[str] = "coalesce"
    kind: Literal["coalesce"] = "coalesce"
    field: Text = Key(description="The column filled.")
    sources: tuple[Text, ...] = Key((), description="Columns tried after it, in order.")
    default: Scalar = Key(None, description="Used when all are absent.")
    output: Text | None = Key(None, description="The column written, instead of `field`.")


class MapValues(Step):
    """Replace values by others."""

    KIND: ClassVar[str] = "map_values"
    kind: Literal["map_values"] = "map_values"
    field: Text = Key(description="The column read.")
    mapping: dict[str, Scalar] = Key(description="Old value: new value.")
    default: Scalar = Key(None, description="For values not listed; without it they stay.")
    output: Text | None = Key(None, description="The column written, instead of `field`.")


class Bin(Section):
    """One bucket: a label and the bounds that select it."""

    PURPOSE: ClassVar[str] = "One bucket."

    label: Scalar = Key(description="The value given.")
    lt: Number | None = Key(None, description="Less than.")
    lte: Number | None = Key(None, description="At most.")
    gt: Number | None = Key(None, description="Greater than.")
    gte: Number | None = Key(None, description="At least.")
    eq: Scalar = Key(None, description="Exactly.")


class Bucket(Step):
    """Sort numbers into labelled buckets; the first that fits wins."""

    KIND: ClassVar[str] = "bucket"
    kind: Literal["bucket"] = "bucket"
    field: Text = Key(description="The column made.")
    source: Text = Key(description="The column read.")
    bins: tuple[Bin, ...] = Key(description="The buckets, in order.")
    default: Scalar = Key(None, description="For values in no bucket.")


class Split(Step):
    """Split text into an array."""

    KIND: ClassVar[str] = "split"
    kind: Literal["split"] = "split"
    field: Text = Key(description="The column read.")
    delimiter: Verbatim = Key(description="What separates the parts.")
    output: Text | None = Key(None, description="The column written, instead of `field`.")


class Explode(Step):
    """One row per element of an array."""

    KIND: ClassVar[str] = "explode"
    kind: Literal["explode"] = "explode"
    field: Text = Key(description="The array.")
    output: Text | None = Key(None, description="The column written, instead of `field`.")
    keep_empty: Flag = Key(True, description="Keep a row whose array is empty or absent.")


class JsonExtract(Step):
    """Take a value out of JSON text."""

    KIND: ClassVar[str] = "json_extract"
    kind: Literal["json_extract"] = "json_extract"
    field: Text = Key(description="The column made.")
    source: Text = Key(description="The column that holds JSON.")
    path: Verbatim = Key(description="Where the value is, such as `$.address.city`.")
    cast: Text | None = Key(None, description="The type of the new column.")


class DateDiff(Step):
    """Whole units between two dates."""

    KIND: ClassVar[str] = "date_diff"
    kind: Literal["date_diff"] = "date_diff"
    field: Text = Key(description="The column made.")
    from_col: Text = Key(description="The earlier date.")
    to_col: Text = Key(description="The later date.")
    unit: Literal["days", "hours", "minutes", "seconds", "weeks", "months", "years"] = Key(
        "days", description="The unit counted."
    )


class DateRangeExplode(Step):
    """One row per day, hour, … between two dates; the end is included."""

    KIND: ClassVar[str] = "date_range_explode"
    kind: Literal["date_range_explode"] = "date_range_explode"
    output: Text = Key(description="The column made.")
    start_col: Text = Key(description="The first date.")
    end_col: Text = Key(description="The last date.")
    interval: Text = Key("1d", description="The distance between two rows.")


class Deduplicate(Step):
    """Keep one row per key."""

    KIND: ClassVar[str] = "deduplicate"
    kind: Literal["deduplicate"] = "deduplicate"
    on: tuple[Text, ...] = Key((), description="The key.")
    by: tuple[Text, ...] = Key((), description="Another word for `on`.")
    sort_by: tuple[Text, ...] = Key((), description="Which row wins: the first by these columns.")
    order: Literal["desc", "asc"] = Key("desc", description="Whether the largest or the smallest comes first.")
    losers: Literal["drop", "quarantine"] = Key("drop", description="Where the other rows go.")
    label: Text | None = Key(None, description="The reason given to quarantined losers.")
    blank_keys: Literal["quarantine", "keep"] = Key("keep", description="What happens to rows without a key.")

    @property
    def keys(self) -> tuple[str, ...]:
        """The key, under either word."""
        return self.on or self.by


class DeduplicateByLatest(Step):
    """Keep the latest row per key."""

    KIND: ClassVar[str] = "deduplicate_by_latest"
    kind: Literal["deduplicate_by_latest"] = "deduplicate_by_latest"
    key_columns: tuple[Text, ...] = Key(description="The key.")
    timestamp_column: Text = Key(description="Which row is the latest.")


class Lookup(Step):
    """Take one value from a link."""

    KIND: ClassVar[str] = "lookup"
    kind: Literal["lookup"] = "lookup"
    field: Text = Key(description="The column made.")
    reference: Text = Key(description="The name of a link.")
    on: Text = Key(description="The column that holds the key.")
    key: Text | None = Key(None, description="The key column of the link; by default the same name as `on`.")
    value: Text = Key(description="The column of the link that is taken.")
    default_value: Scalar = Key(None, description="For keys that the link does not have.")


class Join(Step):
    """Take several columns from a link."""

    KIND: ClassVar[str] = "join"
    kind: Literal["join"] = "join"
    reference: Text = Key(description="The name of a link.")
    on: OneOrMany = Key(description="The columns that hold the key.")
    key: OneOrMany = Key((), description="The key columns of the link; by default the same names as `on`.")
    fields: tuple[Text, ...] = Key((), description="The columns taken; by default all but the key.")
    type: Literal["left", "inner", "right", "full"] = Key("left", description="Which rows stay.")
    prefix: Text | None = Key(None, description="Put before the names of the columns taken.")
    defaults: dict[str, Scalar] = Key({}, description="Column (without prefix): value where nothing matched.")


class Rollup(Step):
    """One row per group."""

    KIND: ClassVar[str] = "rollup"
    kind: Literal["rollup"] = "rollup"
    group_by: tuple[Text, ...] = Key((), description="The columns that make a group; none: one row for all.")
    aggregations: dict[str, Sql] = Key(description="Column: aggregate expression.")
    keys: OneOrMany = Key(
        (), description='Source keys collected per group, as text; keys of several columns as JSON: `["7",null]`.'
    )
    key_expr: Sql | None = Key(None, description="An expression collected instead of `keys`.")
    distinct: Flag = Key(True, description="Collect each key once.")
    rollup_keys_column: Text = Key("_lakelogic_rollup_keys", description="Where collected keys are kept.")
    rollup_keys_count_column: Text = Key("_lakelogic_rollup_keys_count", description="How many keys there were.")
    upstream_run_id_column: Text | None = Key(None, description="The column that holds upstream run ids.")
    upstream_run_ids_column: Text | None = Key(None, description="Where distinct upstream run ids are kept.")


class Pivot(Step):
    """Turn values into columns."""

    KIND: ClassVar[str] = "pivot"
    kind: Literal["pivot"] = "pivot"
    id_vars: tuple[Text, ...] = Key(description="The columns that stay.")
    pivot_col: Text = Key(description="Its values become columns.")
    value_col: Text = Key(description="Its values fill them.")
    values: tuple[Scalar, ...] = Key((), description="The values that become columns.")
    agg: Text = Key("first", description="How several values become one.")
    fill_value: Scalar = Key(None, description="Where there is no value.")
    name_template: Verbatim | None = Key(None, description="`{value}`, `{value_col}`, `{pivot_col}`.")


class Unpivot(Step):
    """Turn columns into rows."""

    KIND: ClassVar[str] = "unpivot"
    kind: Literal["unpivot"] = "unpivot"
    id_vars: tuple[Text, ...] = Key(description="The columns that stay.")
    value_vars: tuple[Text, ...] = Key(description="The columns that become rows.")
    key_field: Text = Key("key", description="Holds the old column's name.")
    value_field: Text = Key("value", description="Holds its value.")
    include_nulls: Flag = Key(False, description="Make rows of absent values too.")


STEPS: dict[str, type[Step]] = {
    step.KIND: step
    for step in (
        SqlStep, Select, Drop, Rename, Derive, Cast, Filter, Trim, Lower, Upper, Coalesce, MapValues, Bucket, Split,
        Explode, JsonExtract, DateDiff, DateRangeExplode, Deduplicate, DeduplicateByLatest, Lookup, Join, Rollup,
        Pivot, Unpivot,
    )
}  # fmt: skip


if TYPE_CHECKING:
    AnyStep: TypeAlias = Step
else:
    AnyStep = one_of(STEPS)
