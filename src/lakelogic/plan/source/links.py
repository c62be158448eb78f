"""Reference data in a plan: which columns of a link are read, and how rows find their match in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakelogic.plan.codes import NO_LINK
from lakelogic.plan.columns.flows import of_link
from lakelogic.plan.nodes import Assignment, Join, Landed, Link, Node, Read, Rollup, RowWise
from lakelogic.plan.predicates import holds
from lakelogic.plan.source.deleted import Deleted, living
from lakelogic.plan.state import State
from lakelogic.sql.bind import Binder, condition
from lakelogic.sql.coerce import unify
from lakelogic.sql.expressions import TRUE, Column, Expression, call, columns_of
from lakelogic.sql.parse import parse_expression
from lakelogic.sql.problems import NO_COLUMN, SqlProblems, nearest, nearest_or_all
from lakelogic.sql.scope import scope_of
from lakelogic.sql.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class KnownLink:
    """A link as the contract declares it, with the columns that its source has."""

    name: str
    format: str
    columns: tuple[Landed, ...]
    filter: Expression | None
    path: str  # key path in the contract
    options: Mapping[str, object]
    chosen: frozenset[str] = frozenset()  # the columns that the contract takes, in lower case; none for all

    @property
    def visible(self) -> tuple[Landed, ...]:
        """The columns that steps and rules may read."""
        return tuple(column for column in self.columns if not self.chosen or column.name.lower() in self.chosen)


def known_links(
    state: State,
    links: Sequence[object],
    landed: Mapping[str, tuple[str, tuple[Landed, ...], Mapping[str, object]]],
    deleted: Mapping[str, Deleted | None] | None = None,
) -> dict[str, KnownLink]:
    """The links of a contract by name, filters bound; `landed` gives format, columns and options of each.

    `deleted` tells of links whose deleted rows do not count how these are marked.
    """
    links_by_name: dict[str, KnownLink] = {}
    for index, link in enumerate(links):
        name: str = link.name  # type: ignore[attr-defined]
        if name not in landed:
            continue
        format_, columns, options = landed[name]
        kept = None
        if link.filter:  # type: ignore[attr-defined]
            try:
                tree = parse_expression(link.filter, state.dialect)  # type: ignore[attr-defined]
                bound = Binder(scope_of({column.name: column.type for column in columns})).bind(tree)
                kept = condition(bound, "A filter")
            except SqlProblems as trouble:
                state.trouble.sql(trouble.problems, f"links[{index}].filter")
        kept = living((deleted or {}).get(name), columns, kept)
        only = {column.lower() for column in link.columns}  # type: ignore[attr-defined]
        if only:
            missing = only - {column.name.lower() for column in columns}
            for column in sorted(missing):
                hint = nearest_or_all(column, [column.name for column in columns], "it has")
                state.trouble.add(
                    NO_COLUMN, f"The link `{name}` has no column `{column}`.", f"links[{index}].columns", hint
                )
        links_by_name[name] = KnownLink(name, format_, columns, kept, f"links[{index}]", options, frozenset(only))
    return links_by_name


@dataclass(frozen=True, slots=True)
class Match:
    """What a join added: the columns taken, by their name in the link, and whether a row was found."""

    columns: Mapping[str, Expression]
    found: Expression


def match(
    state: State,
    reference: str,
    on: Sequence[tuple[Expression, str]],
    take: Sequence[str],
    path: str,
    *,
    label: str,
    distinct: bool = False,
    detail: tuple[str, ...] = (),
) -> Match | None:
    """Join the rows to a link by equality; a diagnostic and None when link or column do not exist.

    `distinct` is for those who `take` nothing and ask only whether the key is there.
    """
    links_by_name: dict[str, KnownLink] = state.known_links
    link = links_by_name.get(reference)
    if link is None:
        if reference in state.unread_links:
            state.trouble.landed_is_known = False
            return None
        hint = nearest(reference, list(links_by_name)) or "declare it under links:"
        state.trouble.add(NO_LINK, f"There is no link `{reference}`.", path, hint)
        return None
    spelled: dict[str, Landed] = {column.name.lower(): column for column in link.columns}
    wanted: dict[str, Landed] = {}
    for wish in (*(key for _, key in on), *take):
        found_column = spelled.get(wish.lower())
        if found_column is None:
            near = nearest_or_all(wish, [column.name for column in link.columns], "it has")
            state.trouble.add(NO_COLUMN, f"The link `{reference}` has no column `{wish}`.", path, near)
            return None
        wanted[found_column.name] = found_column
    link_name = f"{reference}~{len(state.links)}"
    keys: list[tuple[Expression, str]] = []
    converted: list[Assignment] = []
    for position, (value, key_name) in enumerate(on):
        column = spelled[key_name.lower()]
        try:
            (left, right), _ = unify((value, Column(column.name, column.type)), f"{reference}.{column.name}:")
        except SqlProblems as trouble:
            state.trouble.sql(trouble.problems, path)
            return None
        key = f"~key{position}"
        converted.append(Assignment(key, right))
        keys.append((left, key))
        # The key that is found is the value it is found by, whether it is taken along or not.
        state.ties.append(call("eq", left, Column(of_link(link_name, key), left.type)))
    read_too = [c for c in link.columns if c.name in wanted or (link.filter and c.name in columns_of(link.filter))]
    nodes: list[Node] = [RowWise("key", tuple(converted))]
    kept = link.filter
    if distinct:
        # One row per key, so that a row never finds two; nothing else of the link is asked for.
        asked = tuple(Assignment(key.name, Column(key.name, key.value.type)) for key in converted)
        nodes.append(Rollup("distinct", TRUE if kept is None else holds(kept), asked, ()))
        kept = None
    state.links[link_name] = Link(
        Read(link_name, link.format, tuple(read_too), link.options),
        tuple(nodes),
        kept,
        reference,
        tuple(key for _, key in keys),
        is_checked=not distinct,
    )
    taken = {column: state.fresh(f"~{reference}.{column}") for column in (spelled[name.lower()].name for name in take)}
    for value, key_name in on:
        # The key that was found is the value it was found by.
        physical = taken.get(spelled[key_name.lower()].name)
        if physical is not None:
            state.inherit(physical, value, copied=False)
    is_found = state.fresh(f"~found.{reference}")
    state.nodes.append(Join(label, link_name, tuple(keys), tuple(taken.items()), is_found, detail))
    return Match(
        {column: Column(physical, spelled[column.lower()].type) for column, physical in taken.items()},
        Column(is_found, BOOLEAN),
    )


def found_in(state: State, value: Expression, reference: str, key: str, path: str) -> Expression | None:
    """Whether the value is found in a column of a link; duplicates there do not multiply rows."""
    matched = match(
        state, reference, [(value, key)], [], path, label="reference", distinct=True, detail=(f"{reference}.{key}",)
    )
    return matched.found if matched else None
