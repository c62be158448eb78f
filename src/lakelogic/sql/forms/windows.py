"""Functions over windows: `sum(x) OVER (PARTITION BY … ORDER BY … ROWS BETWEEN …)`."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from lakelogic.sql import undeclared
from lakelogic.sql.arguments import refuse
from lakelogic.sql.catalogue.aggregates import AGGREGATES
from lakelogic.sql.catalogue.windows import WINDOWS
from lakelogic.sql.coerce import in_one_column
from lakelogic.sql.expressions import Call, Column, Expression, Literal
from lakelogic.sql.forms.nested import check_comparison
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_FUNCTION, NOT_YET, nearest
from lakelogic.sql.scope import BoundAggregate, BoundWindow, PartBinder
from lakelogic.sql.types import DOUBLE, INT, Type

_COUNTING = ("row_number", "rank", "dense_rank", "ntile")
_SHARES = ("percent_rank", "cume_dist")
_HAS_PRESENT = ("first_value", "last_value", "nth_value", "lag", "lead")


def over_window(binder: PartBinder, tree: exp.Expression) -> Expression:
    """The column that will hold the value of a function over its window."""
    assert isinstance(tree, exp.Window)
    if binder.windows is None:
        raise refuse(
            BAD_ARGUMENTS,
            "A function OVER a window cannot stand here.",
            "compute it in a step before, and use its column",
        )
    if tree.args.get("alias") is not None:
        raise refuse(NOT_YET, "Named windows (WINDOW w AS …) are not available.", "write the window out after OVER")
    partition = tuple(binder.part(part) for part in tree.args.get("partition_by") or ())
    if any(_holds_map(part.type) for part in partition):
        raise refuse(BAD_ARGUMENTS, "Rows cannot be parted by a map.", "part them by its text: PARTITION BY to_json(…)")
    order = _order(binder, tree.args.get("order"))
    bounds = _bounds(tree.args.get("spec"), ordered=bool(order))
    bound = _function(binder, tree.this, partition, order, bounds)
    for window in binder.windows:
        if _same(window, bound):
            return Column(window.name, window.type)
    named = BoundWindow(
        f"~window{len(binder.windows)}",
        bound.function, bound.args, bound.type, bound.partition, bound.order, bound.bounds, bound.distinct,
    )  # fmt: skip
    binder.windows.append(named)
    return Column(named.name, named.type)


def _same(first: BoundWindow, second: BoundWindow) -> bool:
    return all(
        getattr(first, part) == getattr(second, part)
        for part in ("function", "args", "type", "partition", "order", "bounds", "distinct")
    )


def order_keys(binder: PartBinder, order: exp.Expression | None) -> tuple[tuple[Expression, bool, bool], ...]:
    """The sort keys of an ORDER BY: value, descending, NULLs first. NULLs are last unless they are told first."""
    return _order(binder, order)


def _order(binder: PartBinder, order: exp.Expression | None) -> tuple[tuple[Expression, bool, bool], ...]:
    if order is None:
        return ()
    keys = []
    for item in order.expressions:
        ordered = item if isinstance(item, exp.Ordered) else exp.Ordered(this=item)
        first = bool(ordered.args.get("nulls_first"))
        key = binder.part(ordered.this)
        check_comparison("lt", key.type)
        undeclared.refuse([key], binder.scope.undeclared, "`ORDER BY`")
        keys.append((key, bool(ordered.args.get("desc")), first))
    return tuple(keys)


def _bounds(spec: exp.Expression | None, *, ordered: bool) -> tuple[bool, int | None, int | None]:
    if spec is None:
        return (False, None, 0) if ordered else (False, None, None)
    by_rows = str(spec.args.get("kind") or "ROWS").upper() == "ROWS"
    start = _edge(spec.args.get("start"), spec.args.get("start_side"))
    end = _edge(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if not by_rows and (start, end) not in ((None, 0), (None, None)):
        raise refuse(
            NOT_YET,
            "RANGE with these bounds is not portable.",
            "use ROWS, or RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        )
    if start is not None and end is not None and start > end:
        raise refuse(BAD_ARGUMENTS, "The window ends before it starts.")
    if not ordered and by_rows and (start, end) != (None, None):
        raise refuse(BAD_ARGUMENTS, "A window by ROWS needs an ORDER BY.", "add ORDER BY inside OVER (…)")
    return (by_rows, start, end) if (start, end) != (None, None) else (False, None, None)


def _edge(written: object, side: object) -> int | None:
    text = written.name if isinstance(written, exp.Expression) else str(written or "")
    if text.upper() == "CURRENT ROW":
        return 0
    if text.upper() == "UNBOUNDED":
        return None
    if not text.isdigit():
        raise refuse(
            BAD_ARGUMENTS, "The bounds of a window are whole numbers.", "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
        )
    return -int(text) if str(side).upper() == "PRECEDING" else int(text)


def _function(
    binder: PartBinder,
    tree: exp.Expression,
    partition: tuple[Expression, ...],
    order: tuple[tuple[Expression, bool, bool], ...],
    bounds: tuple[bool, int | None, int | None],
) -> BoundWindow:
    ignores_nulls = isinstance(tree, exp.IgnoreNulls)
    call = tree.this if isinstance(tree, exp.IgnoreNulls | exp.RespectNulls) else tree
    where = None
    if isinstance(call, exp.Filter):
        call, where = call.this, call.expression.this
    if not isinstance(call, exp.Anonymous | exp.Any):
        raise refuse(BAD_ARGUMENTS, "Only a function can stand before OVER.")
    name = "any" if isinstance(call, exp.Any) else str(call.this).lower()
    if name in WINDOWS:
        function, least, most = WINDOWS[name]
        count = len(call.expressions)
        if not least <= count <= most:
            takes = f"{least}" if least == most else f"{least} to {most}"
            raise refuse(BAD_ARGUMENTS, f"`{name}` takes {takes} arguments, not {count}.")
        if not order:
            raise refuse(BAD_ARGUMENTS, f"`{name}` needs an order.", "add ORDER BY inside OVER (…)")
        if where is not None:
            raise refuse(BAD_ARGUMENTS, f"`{name}` takes no FILTER.")
        args = [binder.part(argument) for argument in call.expressions]
        if ignores_nulls:
            if function not in _HAS_PRESENT:
                raise refuse(BAD_ARGUMENTS, f"`{name}` takes no IGNORE NULLS.")
            function += "_present"
        return BoundWindow("", function, *_settled(function, args), partition, order, bounds)
    if name not in AGGREGATES:
        raise refuse(NO_FUNCTION, f"`{name}` cannot stand before OVER.", nearest(name, [*WINDOWS, *AGGREGATES]))
    aggregate = _aggregate(binder, call, where)
    args_ = tuple(part for part in (aggregate.value, *aggregate.more) if part is not None)
    if aggregate.function == "count_distinct" and any(_holds_map(part.type) for part in args_):
        hint = f"count the text of it: {name}(DISTINCT to_json(…))"
        raise refuse(BAD_ARGUMENTS, "Maps cannot be told apart in a window.", hint)
    return BoundWindow("", aggregate.function, args_, aggregate.type, partition, order, bounds, aggregate.distinct)


def _aggregate(binder: PartBinder, call: exp.Expression, where: exp.Expression | None) -> BoundAggregate:
    """The aggregate before OVER; in a grouped query its arguments may be aggregates of the groups themselves."""
    inner: dict[str, Expression] = {}
    written = call.copy()
    if binder.aggregates is not None:
        for part in [node for node in written.find_all(exp.Anonymous) if node is not written]:
            if str(part.this).lower() in AGGREGATES:
                column = binder.part(part.copy())
                name = f"~inner{len(inner)}"
                inner[name] = column
                part.replace(exp.column(name, table="~inner", quoted=True))
    tree: exp.Expression = written
    if where is not None:
        tree = exp.Filter(this=written, expression=exp.Where(this=where.copy()))
    outer, scope, windows = binder.aggregates, binder.scope, binder.windows
    aggregates: list[BoundAggregate] = []
    try:
        binder.aggregates, binder.windows = aggregates, None
        if inner:
            binder.scope = replace(scope, relations={**scope.relations, "~inner": inner})
        binder.part(tree)
    finally:
        binder.aggregates, binder.scope, binder.windows = outer, scope, windows
    if not aggregates:
        raise refuse(BAD_ARGUMENTS, f"`{call.sql(dialect='spark')}` cannot be read before OVER.")
    return aggregates[0]


def _settled(function: str, args: list[Expression]) -> tuple[tuple[Expression, ...], Type]:
    """The arguments with their defaults, and the type of the result."""
    if function in _COUNTING:
        if function == "ntile":
            _positive(args[0], "ntile's parts")
        return tuple(args), INT
    if function in _SHARES:
        return tuple(args), DOUBLE
    type_ = args[0].type
    plain = function.removesuffix("_present")
    if plain in ("lag", "lead"):
        far = args[1] if len(args) > 1 else Literal(1, INT)
        _positive(far, f"{plain}'s distance", least=0)
        default = args[2] if len(args) > 2 else Literal(None, type_)
        (value, default), type_ = in_one_column((args[0], default), f"{plain}:")
        return (value, far, default), type_
    if plain == "nth_value":
        _positive(args[1], "nth_value's place")
    return tuple(args), type_


def _positive(value: Expression, what: str, least: int = 1) -> None:
    inner = value.args[0] if isinstance(value, Call) and value.function == "convert" else value
    if not (isinstance(inner, Literal) and isinstance(inner.value, int) and inner.value >= least):
        raise refuse(BAD_ARGUMENTS, f"{what} must be a constant from {least} up.")


def _holds_map(type_: Type) -> bool:
    inner = [part for part in (type_.element, *(field for _, field in type_.fields)) if part is not None]
    return type_.kind == "map" or any(_holds_map(part) for part in inner)
