"""The items of a SELECT by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from lakelogic import names
from lakelogic.plan.query.tables import Tables
from lakelogic.sql.arguments import refuse
from lakelogic.sql.bind import Binder
from lakelogic.sql.expressions import Expression
from lakelogic.sql.problems import BAD_ARGUMENTS, NO_COLUMN, Problem, SqlProblems, nearest_or_all


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the result."""

    name: str
    value: Expression


def items_of(tree: exp.Select, tables: Tables, binder: Binder, *, named: bool = True) -> list[Item]:
    """The items in order. One that is written out stands in the place of one of its name that `*` brings; two that
    are written out are a mistake, unless nobody reads the names."""
    items: dict[str, Item] = {}
    written: set[str] = set()
    problems: list[Problem] = []
    scope = binder.scope
    for index, item in enumerate(tree.expressions):
        try:
            new_items = _items(item, tables, binder, index, named=named)
        except SqlProblems as trouble:
            problems += trouble.problems
            continue
        is_star = item.is_star
        for new_item in new_items:
            if new_item.name.startswith("~"):
                problems.append(
                    Problem(BAD_ARGUMENTS, f"The name `{new_item.name}` begins with `~`.", "choose another name")
                )
            place = new_item.name.lower()
            if is_star and place in written:
                continue
            if is_star and place in items:
                shared = next((value for name, value in tables.merged.items() if name.lower() == place), None)
                if shared is None:
                    hint = f"name the columns of one table, or write `* EXCEPT ({new_item.name})` after its name"
                    problems.append(Problem(NO_COLUMN, f"Two tables bring a column `{new_item.name}`.", hint))
                else:
                    items[place] = Item(items[place].name, shared)
                continue
            if place in written and named:
                hint = "give one of them another name"
                problems.append(Problem(BAD_ARGUMENTS, f"Two items are called `{new_item.name}`.", hint))
                continue
            if place in written:
                items[f"_c{index}"] = Item(f"_c{index}", new_item.value)
                continue
            if not is_star:
                written.add(place)
            spelled = items[place].name if place in items else new_item.name
            items[place] = Item(spelled, new_item.value)
            if place not in scope.folded:
                # A later item may use an earlier one by its name.
                binder.scope = replace(binder.scope, columns={**binder.scope.columns, new_item.name: new_item.value})
    problems += binder.problems
    binder.problems = []
    if problems:
        raise SqlProblems(problems)
    return list(items.values())


def _items(item: exp.Expression, tables: Tables, binder: Binder, index: int, *, named: bool) -> list[Item]:
    table = item.text("table") if isinstance(item, exp.Column) else ""
    star = item.this if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else item
    if isinstance(star, exp.Star):
        return _star(star, table, tables, binder)
    if isinstance(item, exp.Alias):
        return [Item(item.alias, binder.part(item.this))]
    if isinstance(item, exp.Column):
        value = binder.part(item)
        return [Item(tables.spelled(item.name, table), value)]
    if isinstance(item, exp.Dot):
        return [Item(item.name, binder.part(item))]
    if named:
        shown = item.sql(dialect="spark")
        raise refuse(BAD_ARGUMENTS, f"`{shown}` has no name.", f"write `{shown} AS column`")
    return [Item(f"_c{index}", binder.part(item))]


def _star(star: exp.Star, table: str, tables: Tables, binder: Binder) -> list[Item]:
    columns = tables.star(table)
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
