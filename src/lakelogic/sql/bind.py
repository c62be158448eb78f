"""Syntax tree + known columns → canonical expression: names resolved, types settled, conversions written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from lakelogic.sql import undeclared
from lakelogic.sql.arguments import case, one_of, refuse
from lakelogic.sql.casts import cast_computed
from lakelogic.sql.catalogue.aggregates import AGGREGATES, REFUSED_AGGREGATES, Settled, result_type, settle
from lakelogic.sql.catalogue.numbers import arithmetic
from lakelogic.sql.catalogue.windows import WINDOWS
from lakelogic.sql.coerce import number, unify
from lakelogic.sql.depth import balanced, chain
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, convert
from lakelogic.sql.forms import nested, strings, times
from lakelogic.sql.forms.windows import over_window
from lakelogic.sql.parse import parse_expression
from lakelogic.sql.problems import (
    BAD_ARGUMENTS,
    BAD_TYPES,
    FORBIDDEN,
    NO_COLUMN,
    NO_FUNCTION,
    NOT_YET,
    Problem,
    SqlProblems,
    nearest,
)
from lakelogic.sql.scope import BoundAggregate, BoundWindow, Clock, Scope, scope_of
from lakelogic.sql.signatures import FORBIDDEN_FUNCTIONS, REFUSED, SIGNATURES, UNSTABLE_FUNCTIONS
from lakelogic.sql.times.texts import read_date, read_instant, read_wall_clock
from lakelogic.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, Type, decimal, parse_type


def bind(text: str, columns: Mapping[str, Type] | Scope, *, dialect: str = "spark") -> Expression:
    """Parse and bind one expression; raises SqlProblems with everything that is wrong."""
    scope = columns if isinstance(columns, Scope) else scope_of(columns)
    return Binder(scope).bind(parse_expression(text, dialect))


def condition(value: Expression, what: str) -> Expression:
    """A value that must be TRUE, FALSE or NULL."""
    if value.type.kind == "boolean":
        return value
    if value.type.kind == "null":
        return Literal(None, BOOLEAN)
    raise refuse(BAD_TYPES, f"{what} must be a condition, not {value.type}.", "compare it: x = …, x IS NOT NULL")


class Binder:
    """Binds the trees of one place. Aggregates and windows are collected by name where there is a list for them."""

    def __init__(
        self,
        scope: Scope,
        aggregates: list[BoundAggregate] | None = None,
        windows: list[BoundWindow] | None = None,
    ) -> None:
        self.scope = scope
        self.aggregates = aggregates
        self.windows = windows
        self.clock = Clock(scope.now)
        self.problems: list[Problem] = []
        self._inside_aggregate = False
        self._parameters: list[Mapping[str, Column]] = []

    @contextmanager
    def parameters(self, named: Mapping[str, Column]) -> Iterator[None]:
        """While a lambda's body is bound, its parameters hide columns of the same name (in lower case)."""
        self._parameters.append(named)
        try:
            yield
        finally:
            self._parameters.pop()

    def parameter(self, name: str) -> Column | None:
        """The innermost lambda's parameter of this name, in lower case."""
        return next((named[name] for named in reversed(self._parameters) if name in named), None)

    def bind(self, tree: exp.Expression) -> Expression:
        """The canonical expression, or all problems at once."""
        bound = self._bind(tree)
        if self.problems:
            raise SqlProblems(self.problems)
        nested.check_comparisons(bound)
        undeclared.check(bound, self.scope.undeclared)
        return bound

    def part(self, tree: exp.Expression) -> Expression:
        """A part of the tree that is being bound; its problems are collected with all others."""
        return self._bind(tree)

    def _bind(self, tree: exp.Expression) -> Expression:
        while isinstance(tree, exp.Paren):
            tree = tree.this
        handler = _HANDLERS.get(type(tree))
        try:
            if handler is not None:
                return handler(self, tree)
            if type(tree) in _COMPARISONS:
                return self._compare(_COMPARISONS[type(tree)], tree)
            if type(tree) in _ARITHMETIC:
                return self._arithmetic(_ARITHMETIC[type(tree)], tree)
        except SqlProblems as trouble:
            self.problems += trouble.problems
            return Literal(None, NULL)
        self.problems.append(Problem(NOT_YET, f"`{_short(tree)}` is not available in contract SQL yet."))
        return Literal(None, NULL)

    # names and constants

    def _column(self, tree: exp.Expression) -> Expression:
        assert isinstance(tree, exp.Column)
        inside = nested.column_path(self, tree)
        if inside is not None:
            return inside
        table = tree.text("table")
        if table and (relation := self.scope.relations.get(table.lower())) is not None:
            return self._qualified(tree, table, relation)
        if table and table.lower() not in self.scope.tables:
            raise refuse(
                NO_COLUMN,
                f"There is no table `{table}` here.",
                f"the current rows are called {' or '.join(f'`{t}`' for t in sorted(self.scope.tables))}",
            )
        name = tree.name
        if not table and name.lower() in self.scope.ambiguous:
            # A table that answers to two names is told once; a query without a name has none to be told by.
            by_table: dict[int, str] = {}
            for alias, own in self.scope.relations.items():
                if _has(own, name):
                    by_table.setdefault(id(own), alias)
            owners = [alias for alias in by_table.values() if not alias.startswith("~")]
            unnamed = ", or name the query: (SELECT …) AS q" if len(owners) < len(by_table) else ""
            raise refuse(
                NO_COLUMN,
                f"More than one table has a column `{name}`.",
                f"say which: {' or '.join(f'`{owner}.{name}`' for owner in owners)}{unnamed}",
            )
        spelled = self.scope.folded.get(name.lower())
        if spelled is None:
            columns = [column for column in self.scope.columns if not column.startswith("~")]
            listed = ", ".join(f"`{column}`" for column in columns[:12])
            raise refuse(
                NO_COLUMN, f"There is no column `{name}`.", nearest(name, columns) or f"the columns here are {listed}"
            )
        return self.scope.columns[spelled]

    def _qualified(self, tree: exp.Column, table: str, relation: Mapping[str, Expression]) -> Expression:
        column_value = next((value for name, value in relation.items() if name.lower() == tree.name.lower()), None)
        if column_value is None:
            columns = list(relation)
            listed = ", ".join(f"`{column}`" for column in columns[:12])
            raise refuse(
                NO_COLUMN,
                f"`{table}` has no column `{tree.name}`.",
                nearest(tree.name, columns) or f"its columns are {listed}",
            )
        return column_value

    def _query(self, tree: exp.Expression) -> Expression:
        if self.scope.subquery is None:
            raise refuse(NOT_YET, "A query cannot stand inside an expression here.", "write it as a step of its own")
        return self.scope.subquery(tree, self)

    def _literal(self, tree: exp.Expression) -> Expression:
        assert isinstance(tree, exp.Literal)
        if tree.is_string:
            return Literal(str(tree.this), STRING)
        written = str(tree.this)
        if "e" in written.lower():
            return Literal(float(written), DOUBLE)
        if "." in written:
            exact = Decimal(written)
            digits, scale = _digits(exact)
            return Literal(exact, decimal(digits, scale))
        if len(written.lstrip("0")) > 38:
            raise refuse(BAD_TYPES, f"The number {written[:40]}… has more than 38 digits.")
        return _whole(int(written))

    def _negate(self, tree: exp.Expression) -> Expression:
        value = number(self._bind(tree.this), "-")
        if isinstance(value, Literal) and isinstance(value.value, int):
            return _whole(-value.value)
        if isinstance(value, Literal) and isinstance(value.value, float | Decimal):
            # Python's own minus would round a decimal to 28 digits.
            opposite = value.value.copy_negate() if isinstance(value.value, Decimal) else -value.value
            return Literal(opposite, value.type)
        wide = convert(value, BIGINT) if value.type.is_integer else value
        return Call("negate", (wide,), wide.type)

    # comparison and logic

    def _both(self, tree: exp.Expression, what: str) -> tuple[Expression, Expression]:
        left, right = self._bind(tree.this), self._bind(tree.expression)
        values, _ = unify((left, right), what)
        return values[0], values[1]

    def _compare(self, function: str, tree: exp.Expression) -> Expression:
        if isinstance(tree.expression, exp.All) or (
            isinstance(tree.expression, exp.Any) and tree.expression.find(exp.Query, exp.Tuple) is not None
        ):
            hint = "write x IN (SELECT …), or compare with (SELECT max(y) FROM …)"
            raise refuse(NOT_YET, "A comparison with ANY or ALL of a query is not portable.", hint)
        return call(function, *self._both(tree, "Comparison:"))

    def _arithmetic(self, function: str, tree: exp.Expression) -> Expression:
        if (moved := times.with_interval(self, function, tree)) is not None:
            return moved
        left, right = self._bind(tree.this), self._bind(tree.expression)
        if (result := times.of_times(function, left, right)) is not None:
            return result
        what = f"`{_short(tree)}`"
        return arithmetic(function, number(left, what), number(right, what))

    def _connect(self, tree: exp.Expression) -> Expression:
        function = "and" if isinstance(tree, exp.And) else "or"
        return balanced(function, [condition(self._bind(part), function.upper()) for part in chain(tree)])

    def _not(self, tree: exp.Expression) -> Expression:
        return call("not", condition(self._bind(tree.this), "NOT"))

    def _negated(self, tree: exp.Expression, value: Expression) -> Expression:
        return call("not", value) if tree.args.get("negate") else value

    def _is(self, tree: exp.Expression) -> Expression:
        value, against = self._bind(tree.this), tree.expression
        if isinstance(against, exp.Null):
            return self._negated(tree, call("is_null", value))
        return self._negated(tree, call("same", condition(value, "IS"), self._bind(against)))

    def _in(self, tree: exp.Expression) -> Expression:
        if tree.args.get("query") is not None:
            return self._negated(tree, self._query(tree))
        if tree.args.get("unnest") is not None:
            raise refuse(NOT_YET, "IN UNNEST(…) is not available.", "write array_contains(array, x)")
        items = [self._bind(item) for item in tree.expressions]
        return self._negated(tree, one_of(self._bind(tree.this), items, "IN:"))

    def _between(self, tree: exp.Expression) -> Expression:
        value, low, high = (self._bind(part) for part in (tree.this, tree.args["low"], tree.args["high"]))
        inside = _within_bounds(value, low, high)
        if tree.args.get("symmetric"):
            inside = call("or", inside, _within_bounds(value, high, low))
        return self._negated(tree, inside)

    # conditions and casts

    def _case(self, tree: exp.Expression) -> Expression:
        subject = tree.args.get("this")
        branches = []
        for branch in tree.args["ifs"]:
            when = exp.EQ(this=subject.copy(), expression=branch.this) if subject is not None else branch.this
            branches.append((condition(self._bind(when), "WHEN"), self._bind(branch.args["true"])))
        default = tree.args.get("default")
        return case(branches, self._bind(default) if default is not None else None)

    def _if(self, tree: exp.Expression) -> Expression:
        default = tree.args.get("false")
        return case(
            [(condition(self._bind(tree.this), "IF"), self._bind(tree.args["true"]))],
            self._bind(default) if default is not None else None,
        )

    def _cast(self, tree: exp.Expression) -> Expression:
        written = tree.args["to"].sql(dialect="spark")
        try:
            to = parse_type(written)
        except ValueError as error:
            raise refuse(BAD_TYPES, f"{error}.") from error
        value = self._bind(tree.this)
        if to == STRING and undeclared.named(value, self.scope.undeclared) is not None:
            return Call("concat", (value, Literal("", STRING)), STRING)  # text on purpose: another column
        constant = _literal_cast(value, to)
        # CAST is read as TRY_CAST here, so a plain one is a constant such as DATE'2024-02-29'.
        if constant is not None and constant.value is None and not isinstance(tree, exp.TryCast):
            hint = "write DATE'2024-02-29', TIMESTAMP'2024-02-29T10:30:00Z' or TIMESTAMP_NTZ'2024-02-29 10:30:00'"
            raise refuse(BAD_ARGUMENTS, f"`{tree.this.name}` is no {to}.", hint)
        return constant or cast_computed(value, to)

    # functions

    def _function(self, tree: exp.Expression) -> Expression:
        assert isinstance(tree, exp.Anonymous)
        name = str(tree.this).lower()
        if name in self.scope.special:
            return self.scope.special[name](tree.expressions, self)
        if name in AGGREGATES:
            return self._aggregate(name, tree.expressions, None)
        special = times.SPECIAL.get((name, len(tree.expressions)))
        if special is not None and (bound := special(self, name, tree.expressions)) is not None:
            return bound
        if name in FORBIDDEN_FUNCTIONS:
            raise refuse(
                FORBIDDEN, f"The function `{name}` is not allowed in a contract.", "it reaches outside the rows"
            )
        if name in UNSTABLE_FUNCTIONS:
            raise refuse(
                FORBIDDEN, f"`{name}` gives another value at every run.", "a re-run could not give the same tables"
            )
        if name in nested.CALLS:
            return nested.CALLS[name](self, tree.expressions)
        signature = SIGNATURES.get(name)
        if signature is None and name in WINDOWS and name not in REFUSED_AGGREGATES:
            hint = f"write {name}(…) OVER (PARTITION BY … ORDER BY …)"
            raise refuse(BAD_ARGUMENTS, f"`{name}` needs a window.", hint)
        if signature is None:
            raise refuse(
                NO_FUNCTION,
                f"The function `{name}` is not in the portable catalogue.",
                REFUSED.get(name)
                or REFUSED_AGGREGATES.get(name)
                or nearest(name, [*SIGNATURES, *AGGREGATES])
                or "`lakelogic explain --functions` lists what is",
            )
        least, most, build = signature
        count = len(tree.expressions)
        if count < least or (most is not None and count > most):
            takes = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
            raise refuse(BAD_ARGUMENTS, f"`{name}` takes {takes} arguments, not {count}.")
        return build([self._bind(argument) for argument in tree.expressions])

    def _filtered(self, tree: exp.Expression) -> Expression:
        inner, where = tree.this, tree.expression.this
        if isinstance(inner, exp.WithinGroup):
            return self._within(inner, where)
        if not isinstance(inner, exp.Anonymous) or str(inner.this).lower() not in AGGREGATES:
            raise refuse(BAD_ARGUMENTS, "FILTER belongs after an aggregate such as sum(x).")
        return self._aggregate(str(inner.this).lower(), inner.expressions, where)

    def _within(self, tree: exp.Expression, where: exp.Expression | None = None) -> Expression:
        inner, keys = tree.this, tree.expression.expressions
        name = str(inner.this).lower() if isinstance(inner, exp.Anonymous) else ""
        key = keys[0] if len(keys) == 1 else None
        if key is None or key.args.get("desc"):
            raise refuse(NOT_YET, "WITHIN GROUP takes one value in ascending order.", "write WITHIN GROUP (ORDER BY x)")
        if name in ("percentile_cont", "percentile_disc") and len(inner.expressions) == 1:
            return self._aggregate(name, [key.this, inner.expressions[0]], where)
        if name == "mode" and not inner.expressions:
            return self._aggregate(name, [key.this], where)
        if name in ("string_agg", "listagg", "array_agg", "collect_list"):
            first = inner.expressions[0] if inner.expressions else None
            values = first.expressions if isinstance(first, exp.Distinct) else [first]
            if values and values[0] == key.this:  # texts come in ascending order anyway
                return self._aggregate(name, inner.expressions, where)
        raise refuse(
            NOT_YET,
            f"WITHIN GROUP after `{name}` is not portable like this.",
            "percentile_cont(p), percentile_disc(p) and mode() take one; collected values are in ascending order",
        )

    def _any(self, tree: exp.Expression) -> Expression:
        inner = tree.this.this if isinstance(tree.this, exp.Paren) else tree.this
        return self._aggregate("any", [inner], None)

    def _aggregate(self, name: str, arguments: list[exp.Expression], where: exp.Expression | None) -> Expression:
        if self.aggregates is None:
            raise refuse(BAD_ARGUMENTS, f"The aggregate `{name}` cannot stand here.", "use it in a rollup step")
        if self._inside_aggregate:
            raise refuse(BAD_ARGUMENTS, f"The aggregate `{name}` stands inside another one.")
        self._inside_aggregate = True
        try:
            settled = self._aggregated(name, arguments)
            kept = condition(self._bind(where), "FILTER") if where is not None else None
        finally:
            self._inside_aggregate = False
        name = f"~aggregate{len(self.aggregates)}"
        if settled is None and kept is None:
            bound = BoundAggregate(name, "count_all", None, BIGINT)
        else:
            whole = settled or Settled("count", Literal(1, INT), BIGINT)
            value, more = whole.value, whole.more
            if kept is not None:
                value = case([(kept, value)], None)
                more = tuple(
                    argument if isinstance(argument, Literal) else case([(kept, argument)], None) for argument in more
                )
            bound = BoundAggregate(name, whole.function, value, whole.type, more, whole.distinct)
        for aggregate in self.aggregates:
            if replace(aggregate, name=bound.name) == bound:
                return Column(aggregate.name, aggregate.type)
        self.aggregates.append(bound)
        return Column(bound.name, bound.type)

    def _aggregated(self, name: str, arguments: list[exp.Expression]) -> Settled | None:
        """The aggregate with its arguments; None for count(*)."""
        if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            if AGGREGATES[name] != "count":
                raise refuse(BAD_ARGUMENTS, f"`{name}(*)` does not exist; only count(*).")
            return None
        distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        listed = [*arguments[0].expressions, *arguments[1:]] if distinct else arguments
        if any(isinstance(argument, exp.Order) for argument in listed):
            raise refuse(
                NOT_YET, f"ORDER BY inside `{name}` is not portable.", "collected values are in ascending order"
            )
        values = [self._bind(argument) for argument in listed]
        decides = undeclared.BY_ORDER.get(AGGREGATES[name])
        if decides is not None:
            undeclared.refuse(values[decides : decides + 1], self.scope.undeclared, f"`{name}`")
        return settle(name, values, distinct=distinct)

    def _concat(self, tree: exp.Expression) -> Expression:
        parts = [self._bind(part) for part in chain(tree)]
        if any(part.type.kind == "array" for part in parts):
            return SIGNATURES["concat"][2](parts)
        return Call("concat", tuple(convert(part, STRING) if not part.type.is_text else part for part in parts), STRING)


def _within_bounds(value: Expression, low: Expression, high: Expression) -> Expression:
    from_, until = unify((value, low), "BETWEEN:")[0], unify((value, high), "BETWEEN:")[0]
    return call("and", call("ge", *from_), call("le", *until))


def aggregate_type(function: str, value: Expression | None) -> Type:
    """The type an aggregate yields over a value."""
    return result_type(function, value)


def _has(columns: Mapping[str, Expression], name: str) -> bool:
    return any(column.lower() == name.lower() for column in columns)


def _whole(value: int) -> Literal:
    if -(2**31) <= value < 2**31:
        return Literal(value, INT)
    if -(2**63) <= value < 2**63:
        return Literal(value, BIGINT)
    digits, _ = _digits(Decimal(value))
    return Literal(Decimal(value), decimal(digits, 0))


def _digits(value: Decimal) -> tuple[int, int]:
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale + 1 if scale else 1, scale)
    if precision > 38:
        raise refuse(BAD_TYPES, f"The number {value} has more than 38 digits.")
    return precision, scale


def _literal_cast(value: Expression, to: Type) -> Literal | None:
    """DATE'…' and TIMESTAMP'…' as constants, so that plans and push-down can use them."""
    if not (isinstance(value, Literal) and isinstance(value.value, str)):
        return None
    read = {"date": read_date, "timestamp": read_instant, "timestamp_ntz": read_wall_clock}.get(to.kind)
    return Literal(read(value.value), to) if read is not None else None


def _short(tree: exp.Expression) -> str:
    written = tree.sql(dialect="spark")
    return written if len(written) <= 60 else written[:57] + "…"


_COMPARISONS: dict[type, str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "same",
}
_ARITHMETIC: dict[type, str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
}
_HANDLERS: dict[type, Callable[[Binder, exp.Expression], Expression]] = {
    exp.Column: Binder._column,
    exp.Literal: Binder._literal,
    exp.Null: lambda _, __: Literal(None, NULL),
    exp.Boolean: lambda _, tree: Literal(bool(tree.this), BOOLEAN),
    exp.Neg: Binder._negate,
    exp.And: Binder._connect,
    exp.Or: Binder._connect,
    exp.Not: Binder._not,
    exp.Is: Binder._is,
    exp.NullSafeNEQ: lambda binder, tree: call("not", call("same", *binder._both(tree, "Comparison:"))),
    exp.In: Binder._in,
    exp.Between: Binder._between,
    exp.Case: Binder._case,
    exp.If: Binder._if,
    exp.Cast: Binder._cast,
    exp.TryCast: Binder._cast,
    exp.Anonymous: Binder._function,
    exp.Filter: Binder._filtered,
    exp.WithinGroup: Binder._within,
    exp.Window: over_window,
    exp.Exists: Binder._query,
    exp.Subquery: Binder._query,
    exp.Any: Binder._any,
    exp.DPipe: Binder._concat,
    exp.CurrentDate: lambda binder, _: binder.clock.date,
    exp.CurrentTimestamp: lambda binder, _: binder.clock.timestamp,
}
for _subject in (strings, times, nested):
    _HANDLERS |= _subject.FORMS
