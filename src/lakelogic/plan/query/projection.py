"""The items of a SELECT by name, and the keys and sets of its GROUP BY."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from math import prod
from typing import TYPE_CHECKING

from sqlglot import exp

from lakelogic import names
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Expression, columns_of
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_COLUMN, Problem, SqlProblems, nearest_or_all

if TYPE_CHECKING:
    from lakelogic.plan.query.from_clause import Tables

_MOST_SETS = 64


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the result."""

    name: str
    value: Expression


def items_of(tree: exp.Select, known: Tables, binder: Binder, *, named: bool = True) -> list[Item]:
    """The items in order. One that is written out stands in the place of one of its name that `*` brings; two that
    are written out are a mistake, unless nobody reads the names."""
    found: dict[str, Item] = {}
    written: set[str] = set()
    problems: list[Problem] = []
    scope = binder.scope
    for index, item in enumerate(tree.expressions):
        try:
            made = _items(item, known, binder, index, named=named)
        except SqlProblems as trouble:
            problems += trouble.problems
            continue
        is_star = item.is_star
        for one in made:
            if one.name.startswith("~"):
                problems.append(
                    Problem(BAD_ARGUMENTS, f"The name `{one.name}` begins with `~`.", "choose another name")
                )
            place = one.name.lower()
            if is_star and place in written:
                continue
            if is_star and place in found:
                shared = next((value for name, value in known.merged.items() if name.lower() == place), None)
                if shared is None:
                    hint = f"name the columns of one table, or write `* EXCEPT ({one.name})` after its name"
                    problems.append(Problem(NO_COLUMN, f"Two tables bring a column `{one.name}`.", hint))
                else:
                    found[place] = Item(found[place].name, shared)
                continue
            if place in written and named:
                hint = "give one of them another name"
                problems.append(Problem(BAD_ARGUMENTS, f"Two items are called `{one.name}`.", hint))
                continue
            if place in written:
                found[f"_c{index}"] = Item(f"_c{index}", one.value)
                continue
            if not is_star:
                written.add(place)
            spelled = found[place].name if place in found else one.name
            found[place] = Item(spelled, one.value)
            if place not in scope.folded:
                # A later item may use an earlier one by its name.
                binder.scope = replace(binder.scope, columns={**binder.scope.columns, one.name: one.value})
    problems += binder.problems
    binder.problems = []
    if problems:
        raise SqlProblems(problems)
    return list(found.values())


def _items(item: exp.Expression, known: Tables, binder: Binder, index: int, *, named: bool) -> list[Item]:
    table = item.text("table") if isinstance(item, exp.Column) else ""
    star = item.this if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else item
    if isinstance(star, exp.Star):
        return _star(star, table, known, binder)
    if isinstance(item, exp.Alias):
        return [Item(item.alias, binder.part(item.this))]
    if isinstance(item, exp.Column):
        value = binder.part(item)
        return [Item(known.spelled(item.name, table), value)]
    if isinstance(item, exp.Dot):
        return [Item(item.name, binder.part(item))]
    if named:
        shown = item.sql(dialect="spark")
        raise refuse(BAD_ARGUMENTS, f"`{shown}` has no name.", f"write `{shown} AS column`")
    return [Item(f"_c{index}", binder.part(item))]


def _star(star: exp.Star, table: str, known: Tables, binder: Binder) -> list[Item]:
    columns = known.star(table)
    left_out = {column.name.lower() for column in (star.args.get("except_") or star.args.get("except") or [])}
    folded = {name.lower() for name in columns}
    for name in sorted(left_out - folded - names.RESERVED - names.STAMPS):
        raise refuse(NO_COLUMN, f"There is no column `{name}` to leave out.", nearest_or_all(name, list(columns)))
    if star.args.get("rename"):
        raise refuse(BAD_ARGUMENTS, "`* RENAME` is not portable.", "write `* EXCEPT (a), a AS b`")
    values = {name: value for name, value in columns.items() if name.lower() not in left_out}
    for change in star.args.get("replace") or []:
        spelled = next((name for name in values if name.lower() == change.alias.lower()), None)
        if spelled is None:
            raise refuse(
                NO_COLUMN,
                f"There is no column `{change.alias}` to replace.",
                nearest_or_all(change.alias, list(values)),
            )
        values[spelled] = binder.part(change.this)
    return [Item(name, value) for name, value in values.items()]


Keys = list[tuple[str, Expression]]
Sets = tuple[tuple[int, ...], ...] | None


def grouping_sets(tree: exp.Select, known: Tables, items: list[Item]) -> tuple[Keys, Sets]:
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
    places = [_key(part, keys, known, items) for part in plain]
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
        parts.append(_sets(part, keys, known, items))
    if not special:
        return keys, None
    found = [tuple(dict.fromkeys(chain(places, *chosen))) for chosen in product(*parts)]
    return keys, tuple(found)


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


def _sets(part: exp.Expression, keys: Keys, known: Tables, items: list[Item]) -> list[tuple[int, ...]]:
    if isinstance(part, exp.Rollup | exp.Cube):
        groups = [_places(inner, keys, known, items) for inner in part.expressions]
        chosen = _prefixes(groups) if isinstance(part, exp.Rollup) else _subsets(groups)
        return [tuple(chain.from_iterable(one)) for one in chosen]
    found: list[tuple[int, ...]] = []
    for inner in part.expressions:
        if isinstance(inner, exp.Rollup | exp.Cube | exp.GroupingSets):
            found += _sets(inner, keys, known, items)
        else:
            found.append(_places(inner, keys, known, items))
    return found


def _places(part: exp.Expression, keys: Keys, known: Tables, items: list[Item]) -> tuple[int, ...]:
    if isinstance(part, exp.Tuple):
        return tuple(_key(inner, keys, known, items) for inner in part.expressions)
    if isinstance(part, exp.Paren):
        return (_key(part.this, keys, known, items),)
    return (_key(part, keys, known, items),)


def _prefixes(of: list) -> list[tuple]:  # type: ignore[type-arg]
    return [tuple(of[:size]) for size in range(len(of), -1, -1)]


def _subsets(of: list) -> list[tuple]:  # type: ignore[type-arg]
    return [subset for size in range(len(of), -1, -1) for subset in combinations(of, size)]


def _key(part: exp.Expression, keys: Keys, known: Tables, items: list[Item]) -> int:
    """The place of a key, which is added when it is new; a number or an alias means an item."""
    name, value = _named_key(part, known, items)
    for place, (_, other) in enumerate(keys):
        if other == value:
            return place
    if value.type.kind == "map":
        raise refuse(BAD_ARGUMENTS, f"A map (`{name}`) cannot be grouped by.", "group by its JSON text")
    keys.append((name, value))
    return len(keys) - 1


def _named_key(part: exp.Expression, known: Tables, items: list[Item]) -> tuple[str, Expression]:
    if isinstance(part, exp.Literal) and not part.is_string and str(part.this).isdigit():
        place = int(str(part.this))
        if not 1 <= place <= len(items):
            raise refuse(BAD_ARGUMENTS, f"GROUP BY {place}: there are {len(items)} items.")
        return items[place - 1].name, items[place - 1].value
    scope = known.scope()
    if isinstance(part, exp.Column) and not part.text("table") and part.name.lower() not in scope.folded:
        item = next((item for item in items if item.name.lower() == part.name.lower()), None)
        if item is not None:
            if _is_aggregated(item.value):
                raise refuse(BAD_ARGUMENTS, f"`{item.name}` is an aggregate; it cannot be grouped by.")
            return item.name, item.value
    value = Binder(scope).bind(part)
    name = part.name if isinstance(part, exp.Column) else "~key"
    return name, value
