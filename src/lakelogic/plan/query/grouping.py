"""GROUP BY: its keys and the sets they are grouped in, and the functions that tell a row's set."""

from __future__ import annotations

from itertools import chain, combinations, product
from math import prod

from sqlglot import exp

from lakelogic.plan.query.projection import Item
from lakelogic.plan.query.tables import SpecialFunction, Tables
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, columns_of
from lakelogic.sql.problems import BAD_ARGUMENTS, NOT_YET
from lakelogic.sql.scope import PartBinder
from lakelogic.sql.types import BIGINT, INT

GROUPING = "~grouping"
_MOST_SETS = 64

Keys = list[tuple[str, Expression]]
Sets = tuple[tuple[int, ...], ...] | None


def grouping_sets(tree: exp.Select, tables: Tables, items: list[Item]) -> tuple[Keys, Sets]:
    """The keys of GROUP BY, each once, and the sets they are grouped in (None for one set of all)."""
    clause = tree.args.get("group")
    keys: Keys = []
    if clause is None:
        return keys, None
    if clause.args.get("all"):
        return [(item.name, item.value) for item in items if not _is_aggregated(item.value)], None
    parts: list[list[tuple[int, ...]]] = []
    plain = [part for part in clause.expressions if not isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets)]
    special = [part for part in clause.expressions if part not in plain]
    places = [_key(part, keys, tables, items) for part in plain]
    for name in ("rollup", "cube"):
        for part in clause.args.get(name) or ():
            if not part.expressions:  # GROUP BY a, b WITH ROLLUP
                _refuse_many(len(places) + 1 if name == "rollup" else 2 ** len(places))
                return keys, tuple(_prefixes(places) if name == "rollup" else _subsets(places))
            special.append(part)
    listed = clause.args.get("grouping_sets") or ()
    if listed and plain:
        # GROUP BY a, b GROUPING SETS (…): the sets alone say what is grouped.
        places = []
    special += listed
    _refuse_many(prod(_size(part) for part in special))
    for part in special:
        parts.append(_sets(part, keys, tables, items))
    if not special:
        return keys, None
    sets = [tuple(dict.fromkeys(chain(places, *chosen))) for chosen in product(*parts)]
    return keys, tuple(sets)


def _size(part: exp.Expression) -> int:
    """How many sets a part of GROUP BY makes, told before they are made: each column of a CUBE doubles them."""
    if isinstance(part, exp.Cube):
        return int(2 ** len(part.expressions))
    if isinstance(part, exp.Rollup):
        return len(part.expressions) + 1
    if isinstance(part, exp.GroupingSets):
        return sum(_size(inner) for inner in part.expressions)
    return 1


def _refuse_many(sets: int) -> None:
    if sets > _MOST_SETS:
        hint = "name the sets that somebody reads: GROUPING SETS ((a, b), (a))"
        raise refuse(BAD_ARGUMENTS, f"GROUP BY makes {sets:,} sets; {_MOST_SETS} is the most.", hint)


def _is_aggregated(value: Expression) -> bool:
    return any(name.startswith(("~aggregate", "~window")) for name in columns_of(value)) or not columns_of(value)


def _sets(part: exp.Expression, keys: Keys, tables: Tables, items: list[Item]) -> list[tuple[int, ...]]:
    if isinstance(part, exp.Rollup | exp.Cube):
        groups = [_places(inner, keys, tables, items) for inner in part.expressions]
        chosen = _prefixes(groups) if isinstance(part, exp.Rollup) else _subsets(groups)
        return [tuple(chain.from_iterable(part)) for part in chosen]
    sets: list[tuple[int, ...]] = []
    for inner in part.expressions:
        if isinstance(inner, exp.Rollup | exp.Cube | exp.GroupingSets):
            sets += _sets(inner, keys, tables, items)
        else:
            sets.append(_places(inner, keys, tables, items))
    return sets


def _places(part: exp.Expression, keys: Keys, tables: Tables, items: list[Item]) -> tuple[int, ...]:
    if isinstance(part, exp.Tuple):
        return tuple(_key(inner, keys, tables, items) for inner in part.expressions)
    if isinstance(part, exp.Paren):
        return (_key(part.this, keys, tables, items),)
    return (_key(part, keys, tables, items),)


def _prefixes(of: list) -> list[tuple]:  # type: ignore[type-arg]
    return [tuple(of[:size]) for size in range(len(of), -1, -1)]


def _subsets(of: list) -> list[tuple]:  # type: ignore[type-arg]
    return [subset for size in range(len(of), -1, -1) for subset in combinations(of, size)]


def _key(part: exp.Expression, keys: Keys, tables: Tables, items: list[Item]) -> int:
    """The place of a key, which is added when it is new; a number or an alias means an item."""
    name, value = _named_key(part, tables, items)
    for place, (_, other) in enumerate(keys):
        if other == value:
            return place
    if value.type.kind == "map":
        raise refuse(BAD_ARGUMENTS, f"A map (`{name}`) cannot be grouped by.", "group by its JSON text")
    keys.append((name, value))
    return len(keys) - 1


def _named_key(part: exp.Expression, tables: Tables, items: list[Item]) -> tuple[str, Expression]:
    if isinstance(part, exp.Literal) and not part.is_string and str(part.this).isdigit():
        place = int(str(part.this))
        if not 1 <= place <= len(items):
            raise refuse(BAD_ARGUMENTS, f"GROUP BY {place}: there are {len(items)} items.")
        return items[place - 1].name, items[place - 1].value
    scope = tables.scope()
    if isinstance(part, exp.Column) and not part.text("table") and part.name.lower() not in scope.folded:
        item = next((item for item in items if item.name.lower() == part.name.lower()), None)
        if item is not None:
            if _is_aggregated(item.value):
                raise refuse(BAD_ARGUMENTS, f"`{item.name}` is an aggregate; it cannot be grouped by.")
            return item.name, item.value
    value = Binder(scope).bind(part)
    name = part.name if isinstance(part, exp.Column) else "~key"
    return name, value


def grouping_functions(tables: Tables) -> dict[str, SpecialFunction]:
    """`grouping(key)` and `grouping_id()`, which have a meaning beside GROUP BY alone."""
    return {"grouping": _grouping(tables), "grouping_id": _grouping_id}


def _grouping(tables: Tables) -> SpecialFunction:
    def bind(args: list[exp.Expression], binder: PartBinder) -> Expression:
        select = args[0].find_ancestor(exp.Select) if args else None
        if len(args) != 1 or select is None:
            raise refuse(BAD_ARGUMENTS, f"`grouping` takes one key of GROUP BY, not {len(args)} arguments.")
        keys, sets = grouping_sets(select, tables, [])
        value = binder.part(args[0])
        place = next((index for index, (_, key) in enumerate(keys) if key == value), None)
        if place is None:
            raise refuse(BAD_ARGUMENTS, f"`{args[0].sql(dialect='spark')}` is no key of GROUP BY.")
        if sets is None:
            return Literal(0, INT)
        bit = Literal(len(keys) - 1 - place, INT)
        is_set = call("bit_is_set", Column(GROUPING, BIGINT), bit)
        return Call("case", (is_set, Literal(1, INT), Literal(0, INT)), INT)

    return bind


def _grouping_id(args: list[exp.Expression], _binder: PartBinder) -> Expression:
    if args:
        raise refuse(NOT_YET, "grouping_id with arguments is not portable.", "write grouping_id(), or grouping(key)")
    return Column(GROUPING, BIGINT)
