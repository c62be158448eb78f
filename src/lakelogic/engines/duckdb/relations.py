"""Nodes that make rows, or bring in others: join, expand, pairs and stacks, as SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakelogic.engines.duckdb.expressions import expression_sql
from lakelogic.engines.duckdb.frame import Query, fresh, listed, select
from lakelogic.engines.duckdb.literals import cast, identifier
from lakelogic.plan.nodes import Expand, Join, Pairs, Stack
from lakelogic.sql.expressions import Expression

EXPLODES = '"~unnested.element"'  # stands in every statement that makes several rows of one


def join(frame: Query, node: Join, links: Mapping[str, Query]) -> Query:
    """Columns of a link by equality of keys; a NULL key matches nothing."""
    link = links[node.link]
    identifiers = fresh([*(name for _, name in node.take), node.found], frame.columns)
    taken = [
        f"{_aliased('right', link.columns[column])} AS {identifier(identifiers[name])}" for column, name in node.take
    ]
    # The mark is made inside the link, so that it is NULL exactly where no row matched.
    right = f'(SELECT TRUE AS "~mark", * FROM {identifier(link.name)})'
    # Keys are computed inside the left side, where only its own columns can be meant.
    keys = {f"~key{index}": expression_sql(value, frame.columns) for index, (value, _) in enumerate(node.on)}
    left = "(" + select(keys, identifier(frame.name)).replace("\n", " ") + ")"
    conditions = " AND ".join(
        f"{_aliased('left', key)} = {_aliased('right', link.columns[column])}"
        for key, (_, column) in zip(keys, node.on, strict=True)
    )
    own = f'"left".* EXCLUDE ({", ".join(identifier(key) for key in keys)})' if keys else '"left".*'
    items = [own, *taken, f'("right"."~mark" IS NOT NULL) AS {identifier(identifiers[node.found])}']
    sql = listed(items, f'{left} AS "left"\nLEFT JOIN {right} AS "right" ON {conditions or "TRUE"}')
    return frame.then(node.label, sql, {**frame.columns, **identifiers}, link)


def _aliased(alias: str, column: str) -> str:
    return f"{identifier(alias)}.{identifier(column)}"


def expand(frame: Query, node: Expand, _links: Mapping[str, Query]) -> Query:
    """A row per element, or per entry by key; a row without any stays once."""
    names = [node.position, node.item] if node.key is None else [node.position, node.item, node.key]
    identifiers = fresh(names, frame.columns)
    value = expression_sql(node.value, frame.columns)
    items = value if node.key is None else f"list_sort(map_entries({value}))"
    filled = (
        f"{expression_sql(node.where, frame.columns)} AND {'len' if node.key is None else 'cardinality'}({value}) > 0"
    )
    # Two lists that are unnested together go in step.
    unnested = {
        "~unnested.position": f"unnest(CASE WHEN {filled} THEN range(len({items})) ELSE [NULL] END)",
        "~unnested.element": f"unnest(CASE WHEN {filled} THEN {items} ELSE [NULL] END)",
    }
    element = EXPLODES
    added = {
        identifiers[node.position]: cast('"~unnested.position"', "INTEGER"),
        identifiers[node.item]: element if node.key is None else f'{element}."value"',
    }
    if node.key is not None:
        added[identifiers[node.key]] = f'{element}."key"'
    inside = "(" + select(unnested, identifier(frame.name)).replace("\n", " ") + ")"
    sql = select(added, inside, list(unnested))
    return frame.then(node.label, sql, {**frame.columns, **identifiers})


def pairs(frame: Query, node: Pairs, links: Mapping[str, Query]) -> Query:
    """Rows beside the rows that match them."""
    link = links[node.link]
    identifiers = fresh([*(name for _, name in node.take), node.has_left, node.has_right], frame.columns)
    own_keys = {f"~own{index}": expression_sql(value, frame.columns) for index, (value, _) in enumerate(node.on)}
    link_keys = {f"~key{index}": identifier(link.columns[column]) for index, (_, column) in enumerate(node.on)}
    where = expression_sql(node.where, frame.columns)
    left = select({**own_keys, "~left": "TRUE"}, f"{identifier(frame.name)} WHERE {where}").replace("\n", " ")
    taken = {identifiers[name]: identifier(link.columns[column]) for column, name in node.take}
    chosen = [f"{sql} AS {identifier(name)}" for name, sql in {**taken, **link_keys, "~right": "TRUE"}.items()]
    right = f"SELECT {', '.join(chosen)} FROM {identifier(link.name)}"
    conditions = [
        f"{identifier(mine)} = {identifier(theirs)}" for mine, theirs in zip(own_keys, link_keys, strict=True)
    ]
    if node.condition is not None:
        conditions.append(expression_sql(node.condition, {**frame.columns, **identifiers}))
    items = [
        *(identifier(column) for column in frame.columns.values()),
        *(identifier(column) for column in taken),
        f'("~left" IS NOT NULL) AS {identifier(identifiers[node.has_left])}',
        f'("~right" IS NOT NULL) AS {identifier(identifiers[node.has_right])}',
    ]
    matched = " AND ".join(conditions) or "TRUE"
    sql = listed(items, f"({left})\n{node.kind.upper()} JOIN ({right}) ON {matched}")
    return frame.then(node.label, sql, {**frame.columns, **identifiers}, link)


def stack(frame: Query, node: Stack, links: Mapping[str, Query]) -> Query:
    """Rows one below the other."""
    identifiers = fresh(node.columns, {})
    below = [links[name] for name, _ in node.below]
    parts = [_part(frame, node.own, identifiers) + f"\nWHERE {expression_sql(node.where, frame.columns)}"]
    parts += [_part(link, values, identifiers) for link, (_, values) in zip(below, node.below, strict=True)]
    return frame.then(node.label, "\nUNION ALL\n".join(parts), identifiers, *below)


def _part(frame: Query, values: Sequence[Expression], identifiers: Mapping[str, str]) -> str:
    items = [
        f"{expression_sql(value, frame.columns)} AS {identifier(column)}"
        for value, column in zip(values, identifiers.values(), strict=True)
    ]
    return listed(items, identifier(frame.name))
