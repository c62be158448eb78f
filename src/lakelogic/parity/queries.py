"""Made-up steps that look at more than one row: queries, joins with a link, explosions, pivots."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakelogic.parity.expressions import Author, quoted
from lakelogic.parity.shapes import ExpressionShape, window_shapes
from lakelogic.sql.types import BIGINT, DATE, INT, STRING, Type, array, decimal

LINK = "ref"
Scope = dict[str, Type]
# What a step is written as, and the columns there are after it.
Made = tuple[dict[str, Any], Scope]


def link_rows() -> pa.Table:
    """The one link that made-up contracts know: its keys occur once."""
    return pa.table(
        {
            "code": pa.array(["a", "A", "b", "", "é", "O'Brien", None], pa.string()),
            "number": pa.array([0, 1, -1, 7, 100, None, 3], pa.int32()),
            "name": pa.array(["one", None, "three", "", "fünf", "sechs", "none"], pa.string()),
            "price": pa.array([Decimal(n) / 4 if n else None for n in (1, 2, 0, 4, 5, 6, 7)], pa.decimal128(10, 2)),
        }
    )


LINK_COLUMNS: Scope = {"code": STRING, "number": INT, "name": STRING, "price": decimal(10, 2)}


class Queries:
    """Writes steps over the columns of a scope; None where the scope has nothing to write about."""

    def __init__(self, author: Author, name: Callable[[], str], key: str) -> None:
        self.author = author
        self.name = name
        self.key = key

    @property
    def _chance(self) -> random.Random:
        return self.author.chance

    def _plain(self, scope: Scope) -> list[str]:
        return [name for name, type_ in scope.items() if not type_.is_nested and name != self.key]

    def grouped(self, scope: Scope) -> Made | None:
        """GROUP BY, with HAVING or subtotals."""
        keys = self._plain(scope)
        if not keys:
            return None
        chosen = self._chance.sample(keys, min(len(keys), self._chance.choice((1, 1, 2))))
        items, after = [quoted(key) for key in chosen], {key: scope[key] for key in chosen}
        for _ in range(self._chance.randint(1, 3)):
            aggregate = self.author.aggregate(scope, 1)
            if aggregate is not None:
                name = self.name()
                items.append(f"{aggregate[0]} AS {name}")
                after[name] = aggregate[1]
        listed = ", ".join(quoted(key) for key in chosen)
        by = self._chance.choice((listed, listed, f"ROLLUP ({listed})", f"CUBE ({listed})"))
        having = " HAVING count(*) > 1" if self._chance.random() < 0.3 else ""
        return {"sql": f"SELECT {', '.join(items)} FROM source GROUP BY {by}{having}"}, after

    def windowed(self, scope: Scope) -> Made | None:
        """Functions over windows, sometimes as a filter."""
        shapes = window_shapes()
        if not shapes or self.key not in scope:
            return None
        shape: ExpressionShape = self._chance.choice(shapes[self._chance.choice(list(shapes))])
        name = self.name()
        text = self.author.fill(shape, scope, 0)
        limit = f" QUALIFY row_number() OVER (ORDER BY {quoted(self.key)}) <= 5" if self._chance.random() < 0.2 else ""
        return {"sql": f"SELECT *, {text} AS {name} FROM source{limit}"}, {**scope, name: shape.returns}

    def distinct(self, scope: Scope) -> Made | None:
        """DISTINCT over some columns."""
        columns = self._plain(scope)
        if not columns:
            return None
        kept = self._chance.sample(columns, min(len(columns), 2))
        listed = ", ".join(quoted(name) for name in kept)
        return {"sql": f"SELECT DISTINCT {listed} FROM source"}, {name: scope[name] for name in kept}

    def limited(self, scope: Scope) -> Made | None:
        """ORDER BY with LIMIT: ties are broken by the whole row."""
        columns = self._plain(scope)
        if not columns:
            return None
        by = quoted(self._chance.choice(columns))
        direction = self._chance.choice(("", " DESC", " NULLS FIRST", " DESC NULLS FIRST"))
        return {"sql": f"SELECT * FROM source ORDER BY {by}{direction} LIMIT 6"}, scope

    def joined(self, scope: Scope) -> Made | None:
        """A query, a join step or a lookup over the link."""
        texts = [name for name, type_ in scope.items() if type_ == STRING]
        numbers = [name for name, type_ in scope.items() if type_.is_integer and name != self.key]
        on, key = (self._chance.choice(texts), "code") if texts else (next(iter(numbers), None), "number")
        if on is None:
            return None
        name = self.name()
        draw = self._chance.random()
        if draw < 0.3:
            options: dict[str, Any] = {"field": name, "reference": LINK, "on": on, "key": key, "value": "name"}
            if self._chance.random() < 0.5:
                options["default_value"] = "nobody"
            return {"lookup": options}, {**scope, name: STRING}
        if draw < 0.5:
            kind = self._chance.choice(("left", "inner"))
            options = {"reference": LINK, "on": on, "key": key, "fields": ["price"], "type": kind, "prefix": f"{name}_"}
            return {"join": options}, {**scope, f"{name}_price": LINK_COLUMNS["price"]}
        if draw < 0.65:
            kind = self._chance.choice(("SEMI", "ANTI"))
            return {"sql": f"SELECT s.* FROM source s LEFT {kind} JOIN {LINK} r ON r.{key} = s.{quoted(on)}"}, scope
        if draw < 0.75:
            word = self._chance.choice(("IN", "NOT IN"))
            keys_query = f"SELECT {key} FROM {LINK} WHERE {key} IS NOT NULL"
            return {"sql": f"SELECT * FROM source WHERE {quoted(on)} {word} ({keys_query})"}, scope
        kind = self._chance.choice(("JOIN", "LEFT JOIN", "LEFT JOIN", "FULL JOIN", "RIGHT JOIN"))
        text = f"SELECT s.*, r.name AS {name} FROM source s {kind} {LINK} r ON r.{key} = s.{quoted(on)}"
        return {"sql": text}, {**scope, name: STRING}

    def stacked(self, scope: Scope) -> Made | None:
        """UNION ALL, UNION, INTERSECT or EXCEPT with the link."""
        texts = [name for name, type_ in scope.items() if type_ == STRING]
        if not texts:
            return None
        word = self._chance.choice(("UNION ALL", "UNION", "INTERSECT", "EXCEPT"))
        on, name = quoted(self._chance.choice(texts)), self.name()
        return {"sql": f"SELECT {on} AS {name} FROM source {word} SELECT code AS {name} FROM {LINK}"}, {name: STRING}

    def exploded(self, scope: Scope) -> Made | None:
        """Rows out of arrays, split texts and ranges of dates."""
        arrays = [name for name, type_ in scope.items() if type_.kind == "array"]
        dates = [name for name, type_ in scope.items() if type_ == DATE]
        name = self.name()
        if arrays and self._chance.random() < 0.7:
            field = self._chance.choice(arrays)
            element = scope[field].element
            assert element is not None
            options: dict[str, Any] = {"field": field, "output": name, "keep_empty": self._chance.random() < 0.6}
            return {"explode": options}, {**scope, name: element}
        if dates:
            field = quoted(self._chance.choice(dates))
            items = f"explode(array({field}, date_add({field}, 2))) AS {name}"
            return {"sql": f"SELECT *, {items} FROM source"}, {**scope, name: DATE}
        return None

    def split(self, scope: Scope) -> Made | None:
        """Text into an array."""
        texts = [name for name, type_ in scope.items() if type_ == STRING]
        if not texts:
            return None
        name, delimiter = self.name(), self._chance.choice((",", " ", ".", "a", "ab"))
        options = {"field": self._chance.choice(texts), "delimiter": delimiter, "output": name}
        return {"split": options}, {**scope, name: array(STRING)}

    def bucket(self, scope: Scope) -> Made | None:
        """Numbers into labelled buckets."""
        numbers = [name for name, type_ in scope.items() if type_.is_number and name != self.key]
        if not numbers:
            return None
        name = self.name()
        bins = [{"label": "zero", "eq": 0}, {"label": "low", "gt": 0, "lte": 10}, {"label": "high", "gt": 10}]
        options = {"field": name, "source": self._chance.choice(numbers), "bins": bins, "default": "other"}
        return {"bucket": options}, {**scope, name: STRING}

    def date_diff(self, scope: Scope) -> Made | None:
        """Whole units between two times."""
        times = [name for name, type_ in scope.items() if type_.kind in ("date", "timestamp")]
        if not times:
            return None
        name, unit = self.name(), self._chance.choice(("days", "hours", "seconds", "weeks", "months", "years"))
        options = {
            "field": name,
            "from_col": self._chance.choice(times),
            "to_col": self._chance.choice(times),
            "unit": unit,
        }
        return {"date_diff": options}, {**scope, name: BIGINT}

    def pivot(self, scope: Scope) -> Made | None:
        """Values into columns."""
        texts = [name for name, type_ in scope.items() if type_ == STRING]
        numbers = [name for name, type_ in scope.items() if type_ in (INT, BIGINT) and name != self.key]
        keys = [name for name in self._plain(scope) if name not in texts and name not in numbers]
        if not texts or not numbers or not keys:
            return None
        agg = self._chance.choice(("sum", "min", "max", "count"))
        options = {
            "id_vars": [self._chance.choice(keys)],
            "pivot_col": self._chance.choice(texts),
            "value_col": self._chance.choice(numbers),
            "values": ["a", "A", "b"],
            "agg": agg,
            "name_template": self.name() + "_{value}_" + str(self._chance.randint(0, 9)),
        }
        key = str(options["id_vars"][0])
        return {"pivot": options}, {key: scope[key]}

    def unpivot(self, scope: Scope) -> Made | None:
        """Columns into rows."""
        texts = [name for name, type_ in scope.items() if type_ == STRING]
        if len(texts) < 2 or self.key not in scope:
            return None
        key, item = self.name(), self.name()
        options = {
            "id_vars": [self.key], "value_vars": texts[:3], "key_field": key, "value_field": item,
            "include_nulls": self._chance.random() < 0.5,
        }  # fmt: skip
        return {"unpivot": options}, {self.key: scope[self.key], key: STRING, item: STRING}


KINDS = ("grouped", "windowed", "windowed", "distinct", "limited", "joined", "joined", "stacked", "exploded", "split",
         "bucket", "date_diff", "pivot", "unpivot")  # fmt: skip
