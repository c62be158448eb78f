"""The FROM clause: the tables of a SELECT, its joins and its lateral views, put in place one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from lakelogic.plan.binding import bind_tree
from lakelogic.plan.query.expand import expand
from lakelogic.plan.query.join_conditions import Conditions, conditions, conjuncts, equal_keys, meet
from lakelogic.plan.query.joins import Kind, join
from lakelogic.plan.query.statement import Queries, Statement
from lakelogic.plan.query.tables import Tables, listed
from lakelogic.plan.state import State
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder, condition
from lakelogic.sql.coerce import in_one_column
from lakelogic.sql.expressions import Call, Column, Expression
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_COLUMN, NOT_YET

_GENERATORS = ("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer")


def from_clause(statement: Statement, state: State, tree: exp.Select, queries: Queries) -> Tables:
    """Put the tables of FROM, its joins and its lateral views in place."""
    source = tree.args.get("from_")
    if source is None:
        raise refuse(NO_COLUMN, "The SELECT has no FROM.", "write FROM source")
    first, joins = source.this, list(tree.args.get("joins") or ())
    if not state.beside and not statement.leads_to_rows(first, queries):
        first, joins = _swapped(statement, state, first, joins, queries)
    tables = Tables(statement, state, queries)
    _begin(statement, state, first, queries)
    _name(tables, first, dict(state.visible))
    for written in joins:
        _join(tables, written)
    for lateral in tree.args.get("laterals") or ():
        _lateral(tables, lateral)
    state.scope = {
        **{name: value for name, value in state.scope.items() if name.startswith("~")},
        **tables.scope().columns,
    }
    return tables


def with_conditions_of_joins(tree: exp.Select) -> exp.Select:
    """`FROM source, link WHERE source.k = link.k` is a join on that condition, and is read as one."""
    joins, where = tree.args.get("joins") or (), tree.args.get("where")
    if not joins or where is None or tree.args.get("laterals"):
        return tree
    last = joins[-1]
    plain = last.kind.upper() == "CROSS" and not isinstance(last.this, exp.Lateral)
    if not plain or where.find(exp.Subquery, exp.Select, exp.Window) is not None:
        return tree
    changed = tree.copy()
    changed.args["joins"][-1].set("kind", None)
    changed.args["joins"][-1].set("on", where.this.copy())
    changed.set("where", None)
    return changed


def _begin(statement: Statement, state: State, item: exp.Expression, queries: Queries) -> None:
    if not isinstance(item, exp.Table | exp.Subquery):
        raise refuse(NOT_YET, f"`{item.sql(dialect='spark')[:60]}` cannot stand after FROM.", "write FROM source")
    if state.beside:
        statement.begin(state, item, queries)
        return
    if isinstance(item, exp.Subquery):
        statement.query(state, item.this, queries)
    elif item.name.lower() in queries:
        name = item.name.lower()
        before = dict(list(queries.items())[: list(queries).index(name)])
        statement.query(state, queries[name], before)


def _name(tables: Tables, item: exp.Expression, columns: Mapping[str, Expression]) -> None:
    renamed = item.args["alias"].args.get("columns") if item.args.get("alias") else None
    if renamed:
        if len(renamed) != len(columns):
            raise refuse(BAD_ARGUMENTS, f"The alias names {len(renamed)} columns; there are {len(columns)}.")
        columns = {new.name: value for new, value in zip(renamed, columns.values(), strict=True)}
    alias = item.alias_or_name.lower() if isinstance(item, exp.Table) else item.alias.lower()
    if alias in tables.by_alias:
        raise refuse(NO_COLUMN, f"Two tables are called `{alias}` here.", "give one an alias: … AS other")
    tables.by_alias[alias or f"~{len(tables.by_alias)}"] = columns
    # The current rows answer to both their names, unless an alias takes their place.
    if isinstance(item, exp.Table) and not item.alias and tables.statement.means_rows(alias):
        tables.also |= {other: alias for other in ("source", tables.state.dataset.lower()) if other != alias}


def _swapped(
    statement: Statement, state: State, first: exp.Expression, joins: list[exp.Join], queries: Queries
) -> tuple[exp.Expression, list[exp.Join]]:
    """`FROM link RIGHT JOIN source` is `FROM source LEFT JOIN link`: the rows come first."""
    if joins and statement.leads_to_rows(joins[0].this, queries):
        turned = joins[0].copy()
        rows = turned.this
        turned.set("this", first.copy())
        side = {"LEFT": "RIGHT", "RIGHT": "LEFT"}.get(turned.side.upper(), turned.side)
        if turned.kind.upper() in ("SEMI", "ANTI"):
            raise refuse(NOT_YET, "SEMI and ANTI JOIN keep the rows they begin with.", "begin FROM with source")
        turned.set("side", side)
        return rows, [turned, *joins[1:]]
    if isinstance(first, exp.Table):
        statement.link(first)  # a name that is no table at all is told as such
    raise refuse(
        NO_COLUMN,
        "The SELECT does not begin with the current rows.",
        f"write FROM source (or `{state.dataset}`) first, and JOIN the link",
    )


def _join(tables: Tables, written: exp.Join) -> None:
    if isinstance(written.this, exp.Lateral):
        _lateral(tables, written.this)
        return
    if written.method:
        raise refuse(NOT_YET, f"{written.method} JOIN is not portable.", "write JOIN … USING (key)")
    state, statement = tables.state, tables.statement
    alias = written.this.alias_or_name.lower() if isinstance(written.this, exp.Table) else written.this.alias.lower()
    other = statement.relation(written.this, tables.queries)
    kind = _kind(written)
    joined = meet(state, other, alias or "query")
    parts = Conditions()
    pairs: list[tuple[Expression, str]] = []
    left = dict(tables.scope().columns)
    if written.args.get("using"):
        pairs = [(_column(tables, key.name), _spelled(joined.taken, key.name)) for key in written.args["using"]]
        parts.on = equal_keys(joined, pairs)
    _name(tables, written.this, joined.taken)
    if written.args.get("on") is not None:
        if written.args["on"].find(exp.Query) is not None:
            raise refuse(NOT_YET, "A query inside ON is not portable.", "ask it in WHERE, or join a query instead")
        predicate = condition(Binder(tables.scope()).bind(written.args["on"]), "ON")
        parts = conditions(joined, conjuncts(predicate))
    elif not written.args.get("using") and written.kind.upper() != "CROSS":
        raise refuse(BAD_ARGUMENTS, "The JOIN has no condition.", "add ON … or USING (…), or write CROSS JOIN")
    detail = (f"{kind} {alias}" + (f" on {written.args['on'].sql(dialect='spark')}" if written.args.get("on") else ""),)
    join(state, joined, kind, parts, statement.step, detail)
    if kind in ("semi", "anti"):
        tables.by_alias.pop(alias, None)
        return
    for mine, theirs in parts.on:
        _merge(tables, left, joined.taken, mine, theirs, kind)
    for value, name in pairs:
        # One column, whatever the types of the two were.
        spelled, other_ = _spelled(left, name), joined.taken[name]
        both, type_ = in_one_column((value, other_), f"{name}:")
        merged: dict[str, Expression] = {"full": Call("coalesce", both, type_), "right": other_}
        tables.merged[spelled] = merged.get(kind, value)


def _merge(
    tables: Tables,
    left: Mapping[str, Expression],
    right: Mapping[str, Column],
    mine: Expression,
    theirs: Expression,
    kind: str,
) -> None:
    """A key that is called the same on both sides is one column of the result."""
    for name, value in right.items():
        spelled = next((other for other in left if other.lower() == name.lower()), None)
        if spelled is None or value != theirs or left[spelled] != mine:
            continue
        if kind == "full":
            tables.merged[spelled] = Call("coalesce", (mine, theirs), mine.type)
        else:
            tables.merged[spelled] = theirs if kind == "right" else mine


def _column(tables: Tables, name: str) -> Expression:
    return Binder(tables.scope()).bind(exp.column(exp.to_identifier(name, quoted=True)))


def _spelled(columns: Mapping[str, Expression], name: str) -> str:
    column_name = next((column for column in columns if column.lower() == name.lower()), None)
    if column_name is None:
        raise refuse(NO_COLUMN, f"The joined table has no column `{name}`.", f"it has {listed(columns)}")
    return column_name


def _kind(written: exp.Join) -> Kind:
    side, kind = written.side.upper(), written.kind.upper()
    if kind == "SEMI":
        return "semi"
    if kind == "ANTI":
        return "anti"
    return {"LEFT": "left", "RIGHT": "right", "FULL": "full"}.get(side, "inner")  # type: ignore[return-value]


def _lateral(tables: Tables, lateral: exp.Expression) -> None:
    function = lateral.this
    name = str(function.this).lower() if isinstance(function, exp.Anonymous) else ""
    if name not in _GENERATORS or len(function.expressions) != 1:
        raise refuse(
            NOT_YET, f"LATERAL `{function.sql(dialect='spark')[:40]}` is not portable.", "explode an array or map"
        )
    alias = lateral.args.get("alias")
    columns = [column.name for column in (alias.args.get("columns") or [])] if alias is not None else []
    outer = bool(lateral.args.get("outer")) or name.endswith("_outer")
    exploded = _generated(tables, name, function.expressions[0], columns, outer=outer)
    called = alias.name.lower() if alias is not None and alias.name else f"~{len(tables.by_alias)}"
    if called in tables.by_alias:
        raise refuse(NO_COLUMN, f"Two tables are called `{called}` here.", "give one an alias")
    tables.by_alias[called] = exploded


def _generated(
    tables: Tables, name: str, argument: exp.Expression, columns: list[str], *, outer: bool
) -> dict[str, Expression]:
    value = bind_tree(tables.state, argument, tables.scope())
    expanded = expand(tables.state, value, tables.statement.step, outer=outer)
    if name.startswith("inline"):
        return expanded.fields(columns)
    values = [expanded.item] if expanded.key is None else [expanded.key, expanded.item]
    defaults = ["col"] if expanded.key is None else ["key", "value"]
    if name.startswith("posexplode"):
        values, defaults = [expanded.position, *values], ["pos", *defaults]
    if columns and len(columns) != len(values):
        raise refuse(BAD_ARGUMENTS, f"`{name}` makes {len(values)} columns; {len(columns)} are named.")
    return dict(zip(columns or defaults, values, strict=True))


def exploded_items(tree: exp.Select, tables: Tables) -> Tables:
    """`SELECT id, explode(tags) AS tag`: rows are repeated before the items are taken."""
    for index, item in enumerate(list(tree.expressions)):
        inner = item.this if isinstance(item, exp.Alias) else item
        aliases = [item.alias] if isinstance(item, exp.Alias) else []
        if isinstance(item, exp.Aliases):
            inner, aliases = item.this, [alias.name for alias in item.expressions]
        if not (isinstance(inner, exp.Anonymous) and str(inner.this).lower() in _GENERATORS):
            continue
        name = str(inner.this).lower()
        if len(inner.expressions) != 1:
            raise refuse(BAD_ARGUMENTS, f"`{name}` takes one argument, not {len(inner.expressions)}.")
        generated = _generated(tables, name, inner.expressions[0], aliases, outer=name.endswith("_outer"))
        called = f"~items{index}"
        tables.by_alias[called] = {f"~{column}": value for column, value in generated.items()}
        chosen = [
            exp.alias_(exp.column(exp.to_identifier(f"~{column}", quoted=True), table=called), column, quoted=True)
            for column in generated
        ]
        position = tree.expressions.index(item)
        tree.set("expressions", [*tree.expressions[:position], *chosen, *tree.expressions[position + 1 :]])
    return tables
