"""SQL steps: a list of `expr AS column`, or a SELECT over the current rows."""

from __future__ import annotations

from sqlglot import exp

from lakelogic.plan.state import State, fails
from lakelogic.sql.bind import Binder, Scope, condition
from lakelogic.sql.expressions import Expression
from lakelogic.sql.parse import clauses, is_select, parse_items, parse_select
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_COLUMN, NOT_YET, Problem, SqlProblems, nearest

_AVAILABLE = {"expressions", "from", "where", "kind", "hint"}
_NAMES = {
    "joins": "JOIN",
    "group": "GROUP BY",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "distinct": "DISTINCT",
    "with": "WITH",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "laterals": "LATERAL VIEW",
    "offset": "OFFSET",
}
_INSTEAD = {
    "joins": "use a join or lookup step with a link",
    "group": "use a rollup step",
    "having": "use a rollup step and a filter",
    "distinct": "use a deduplicate step",
    "qualify": "use a deduplicate step",
}


def derive_items(state: State, text: str, path: str, dialect: str) -> None:
    """`expr AS column, …`: each replaces a column or adds one; the rest is kept."""
    try:
        items = parse_items(text, dialect)
        values = _items(state.sql_scope(), items)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, path)
        return
    state.derive("derive", values, (" ".join(text.split()),))


def select(state: State, text: str, path: str, name: str, dialect: str) -> None:
    """`SELECT … FROM source [WHERE …]`: the projection becomes the columns, the condition loses rows by name."""
    try:
        tree = parse_select(text, dialect)
        scope = _from(state, tree)
        missing = [_NAMES.get(clause, clause.upper()) for clause in sorted(clauses(tree) - _AVAILABLE)]
        if missing:
            instead = next(
                (_INSTEAD[clause] for clause in sorted(clauses(tree) - _AVAILABLE) if clause in _INSTEAD), None
            )
            raise SqlProblems([Problem(NOT_YET, f"{', '.join(missing)} in a SELECT is not available yet.", instead)])
        where = tree.args.get("where")
        kept = condition(Binder(scope).bind(where.this), "WHERE") if where is not None else None
        values = _projection(scope, tree)
    except SqlProblems as trouble:
        state.trouble.sql(trouble.problems, path)
        return
    if kept is not None and where is not None:
        state.lose("filtered", name, fails(kept), (f"keep {where.this.sql(dialect='spark')}",))
    state.scope = {column: value for column, value in state.scope.items() if column.startswith("~")}
    state.derive("select", values, (" ".join(text.split()),))


def _from(state: State, tree: exp.Select) -> Scope:
    source = tree.args.get("from_") or tree.args.get("from")
    if source is None:
        raise SqlProblems([Problem(NO_COLUMN, "The SELECT has no FROM.", "write FROM source")])
    table = source.this
    if not isinstance(table, exp.Table):
        raise SqlProblems([Problem(NOT_YET, "A subquery in FROM is not available yet.", "write two sql steps")])
    scope = state.sql_scope()
    if table.name.lower() not in scope.tables or table.args.get("db"):
        written = ".".join(part for part in (table.text("catalog"), table.text("db"), table.name) if part)
        hint = f"the current rows are called `source` or `{state.dataset}`"
        raise SqlProblems([Problem(NO_COLUMN, f"There is no table `{written}` here.", hint)])
    aliases = frozenset({table.alias.lower()}) if table.alias else scope.tables
    return Scope(scope.columns, aliases, scope.now)


def _projection(scope: Scope, tree: exp.Select) -> dict[str, Expression]:
    values: dict[str, Expression] = {}
    problems: list[Problem] = []
    for item in tree.expressions:
        star = item.this if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else item
        if isinstance(star, exp.Star):
            try:
                values |= _star(scope, star)
            except SqlProblems as trouble:
                problems += trouble.problems
            continue
        try:
            for name, value in _items(scope, [item]).items():
                spelled = next((known for known in values if known.lower() == name.lower()), name)
                values[spelled] = value
        except SqlProblems as trouble:
            problems += trouble.problems
    if problems:
        raise SqlProblems(problems)
    return values


def _star(scope: Scope, star: exp.Star) -> dict[str, Expression]:
    left_out = {column.name.lower() for column in (star.args.get("except_") or star.args.get("except") or [])}
    known = {name.lower() for name in scope.columns}
    for name in sorted(left_out - known):
        hint = nearest(name, list(scope.columns))
        raise SqlProblems([Problem(NO_COLUMN, f"There is no column `{name}` to leave out.", hint)])
    if star.args.get("replace") or star.args.get("rename"):
        raise SqlProblems([Problem(NOT_YET, "`* REPLACE` is not available yet.", "write `*, expr AS column`")])
    return {name: value for name, value in scope.columns.items() if name.lower() not in left_out}


def _items(scope: Scope, items: list[exp.Expression]) -> dict[str, Expression]:
    values: dict[str, Expression] = {}
    problems: list[Problem] = []
    for item in items:
        if isinstance(item, exp.Alias):
            name, tree = item.alias, item.this
        elif isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
            name, tree = scope.folded.get(item.name.lower(), item.name), item
        else:
            shown = item.sql(dialect="spark")
            problems.append(Problem(BAD_ARGUMENTS, f"`{shown}` has no name.", f"write `{shown} AS column`"))
            continue
        if name.startswith("~"):
            problems.append(Problem(BAD_ARGUMENTS, f"The name `{name}` begins with `~`.", "choose another name"))
        try:
            values[name] = Binder(scope).bind(tree)
        except SqlProblems as trouble:
            problems += trouble.problems
    if problems:
        raise SqlProblems(problems)
    return values


def names_made(text: str, dialect: str) -> set[str]:
    """The names that a SQL step gives to its columns, in lower case; nothing if it cannot be read."""
    try:
        items = parse_select(text, dialect).expressions if is_select(text) else parse_items(text, dialect)
    except SqlProblems:
        return set()
    return {item.alias_or_name.lower() for item in items if item.alias_or_name and item.alias_or_name != "*"}
