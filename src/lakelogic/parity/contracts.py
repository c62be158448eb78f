"""Made-up contracts: a model, steps in both phases, rules of every kind, and rows that fit them badly."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakelogic.parity.canonical import plain
from lakelogic.parity.expressions import Author, quoted
from lakelogic.parity.queries import KINDS, LINK, Queries, link_rows
from lakelogic.parity.shapes import SCALARS, nested_types
from lakelogic.parity.values import almost, column, value
from lakelogic.sql.bind import bind
from lakelogic.sql.coerce import column_type
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import BIGINT, INT, STRING, Type, parse_type, to_arrow

ROWS = 16
KEY = "k"  # never changed by a step, so that rows of two engines can be laid side by side
_NAMES = ("a", "b", "c", "order", "Source", "e f", "é", "x1", "x2", "group", "h")
_TYPE_TEXTS = ("int", "bigint", "double", "decimal(10,2)", "date", "timestamp", "boolean", "string", "smallint",
               "float", "decimal(38,18)", "timestamp_ntz", "tinyint")  # fmt: skip


@dataclass(slots=True)
class Case:
    """A contract as it would be written, and the rows it is run over."""

    seed: int
    contract: dict[str, Any]
    rows: pa.Table
    forms: list[str] = field(default_factory=list)
    links: dict[str, pa.Table] = field(default_factory=dict)


def make(seed: int) -> Case:
    """The contract and rows of a seed: the same today and tomorrow, on every machine."""
    return _Maker(random.Random(seed), seed).case()


class _Maker:
    """Keeps track of the columns while steps are written, so that later ones read what earlier ones made."""

    def __init__(self, chance: random.Random, seed: int) -> None:
        self.chance = chance
        self.seed = seed
        self.author = Author(chance)
        self.scope: dict[str, Type] = {}
        self.fields: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.rules: list[dict[str, Any]] = []
        self.made_names = 0
        self.queries = Queries(self.author, self._new_name, KEY)

    def case(self) -> Case:
        rows = self._rows()
        pre = self.chance.random() < 0.35
        if pre:
            self._steps(self.chance.randint(1, 2), "pre")
        declared = {f["name"]: f["type"] for f in self.fields}
        for name, type_ in declared.items():
            if name in self.scope:
                self.scope[name] = parse_type(type_)
        self._rules(self.chance.randint(1, 3), "pre")
        self._steps(self.chance.randint(2, 5), "post")
        if self.chance.random() < 0.4:
            self._rules(self.chance.randint(1, 2), "post")
        contract: dict[str, Any] = {
            "dataset": "made_up",
            "source": {"path": "memory.parquet"},
            "model": {"fields": self.fields},
            "transformations": self.steps,
            "quality": {"row_rules": self.rules},
            "materialization": {"target_path": "a.b.c"},
        }
        links = {}
        if LINK in str(self.steps) + str(self.rules):
            contract["links"] = [{"name": LINK, "path": f"{LINK}.parquet"}]
            links[LINK] = link_rows()
        if self.chance.random() < 0.2:
            contract["schema_policy"] = {"unknown_fields": self.chance.choice(("drop", "quarantine", "allow"))}
        return Case(self.seed, contract, rows, self.author.used, links)

    def _rows(self) -> pa.Table:
        chance = self.chance
        arrays: dict[str, pa.Array] = {KEY: pa.array(range(ROWS), pa.int64())}
        self.fields.append({"name": KEY, "type": "bigint"})
        self.scope[KEY] = BIGINT
        for name in chance.sample(_NAMES, chance.randint(3, 6)):
            landed: Type = chance.choice(nested_types() if chance.random() < 0.12 else SCALARS)
            draw = chance.random()
            if draw < 0.3:  # lands as text, declared as something else
                declared = chance.choice([t for t in SCALARS if t.kind != "binary"])
                values = [almost(declared, chance) for _ in range(ROWS)]
                landed = STRING
                self.fields.append(self._field(name, declared))
                self.scope[name] = landed
            else:
                values = column(landed, ROWS, chance)
                self.scope[name] = landed
                if draw < 0.8:
                    self.fields.append(self._field(name, landed))
            arrays[name] = pa.array(values, to_arrow(landed))
        return pa.table(arrays)

    def _field(self, name: str, type_: Type) -> dict[str, Any]:
        chance = self.chance
        field: dict[str, Any] = {"name": name, "type": str(type_)}
        if chance.random() < 0.2:
            field["required"] = True
        draw = chance.random()
        if type_.is_number and draw < 0.2:
            field[chance.choice(("min", "max"))] = chance.choice((0, 1, -5, 100, 0.5))
        elif type_.kind == "string" and draw < 0.25:
            field |= chance.choice(
                ({"max_length": 3}, {"min_length": 2}, {"pattern": "^[a-zA-Z]+$"}, {"accepted_values": ["a", "A", "b"]})
            )
        elif type_.kind == "date" and draw < 0.2:
            field["min"] = "2000-01-01"
        return field

    def _new_name(self) -> str:
        self.made_names += 1
        return f"m{self.made_names}"

    def _some(self, kinds: Callable[[Type], bool]) -> str | None:
        names = [name for name, type_ in self.scope.items() if kinds(type_) and name != KEY]
        return self.chance.choice(names) if names else None

    # steps

    def _steps(self, count: int, phase: str) -> None:
        for _ in range(count):
            kinds = _STEPS if phase == "post" else _PRE_STEPS
            name = self.chance.choice(kinds)
            step = self._query() if name == "query" else getattr(self, f"_{name}")()
            if step is None:
                step = self._derive()
            if step is None:
                continue
            if phase == "pre":
                step["phase"] = "pre"
            self.steps.append(step)
            self.author.used.append(f"step:{name}")

    def _query(self) -> dict[str, Any] | None:
        kind = self.chance.choice(KINDS)
        query = getattr(self.queries, kind)(self.scope)
        if query is None:
            return None
        step, self.scope = query[0], dict(query[1])
        self.author.used.append(f"query:{kind}")
        return dict(step)

    def _derive(self) -> dict[str, Any] | None:
        bound = self.author.bound(None, self.scope, 3)
        if bound is None:
            return None
        over = self._some(lambda _: True) if self.chance.random() < 0.15 else None
        if over is not None and any(f["name"] == over for f in self.fields):
            over = None
        name = over or self._new_name()
        self.scope[name] = bound[1]
        return {"derive": {"field": name, "sql": bound[0]}}

    def _items(self) -> dict[str, Any] | None:
        items, types = [], {}
        for _ in range(self.chance.randint(2, 5)):
            bound = self.author.bound(None, self.scope, 3)
            if bound is not None:
                name = self._new_name()
                items.append(f"{bound[0]} AS {name}")
                types[name] = bound[1]
        if not items:
            return None
        self.scope |= types
        return {"sql": ", ".join(items)}

    def _select(self) -> dict[str, Any] | None:
        items, types = ["*"], {}
        for _ in range(self.chance.randint(1, 3)):
            bound = self.author.bound(None, self.scope, 2)
            if bound is not None:
                name = self._new_name()
                items.append(f"{bound[0]} AS {name}")
                types[name] = bound[1]
        where = f" WHERE {self.author.condition(self.scope, 2)}" if self.chance.random() < 0.6 else ""
        self.scope |= types
        return {"sql": f"SELECT {', '.join(items)} FROM source{where}"}

    def _filter(self) -> dict[str, Any] | None:
        return {"filter": self.author.condition(self.scope, 2)}

    def _cast(self) -> dict[str, Any] | None:
        declared = {f["name"] for f in self.fields}
        name = self._some(lambda t: not t.is_nested and t.kind != "binary")
        if name is None or name in declared:
            return None
        to = self.chance.choice(_TYPE_TEXTS)
        try:
            bind(f"CAST({quoted(name)} AS {to})", self.scope)
        except SqlProblems:
            return None
        self.scope[name] = parse_type(to)
        return {"cast": {"columns": {name: to}}}

    def _text_step(self) -> dict[str, Any] | None:
        name = self._some(lambda t: t.kind == "string")
        if name is None:
            return None
        kind = self.chance.choice(("trim", "lower", "upper", "trim"))
        if kind == "trim" and self.chance.random() < 0.5:
            return {"trim": {"fields": [name], "side": self.chance.choice(("left", "right", "both"))}}
        return {kind: [name]}

    def _coalesce(self) -> dict[str, Any] | None:
        name = self._some(lambda t: not t.is_nested)
        if name is None:
            return None
        type_ = self.scope[name]
        others = [other for other, other_type in self.scope.items() if other_type == type_ and other not in (name, KEY)]
        options: dict[str, Any] = {"field": name, "sources": others[:2], "output": self._new_name()}
        if type_.is_number and self.chance.random() < 0.5:
            options["default"] = 0
        elif type_.kind == "string":
            options["default"] = "none"
        elif not others:
            return None
        self.scope[options["output"]] = (column_type(type_, INT) or type_) if options.get("default") == 0 else type_
        return {"coalesce": options}

    def _map_values(self) -> dict[str, Any] | None:
        name = self._some(lambda t: t.kind in ("string", "int", "smallint", "bigint"))
        if name is None:
            return None
        output = self._new_name()
        text = self.scope[name].kind == "string"
        mapping = {"a": "one", "": "empty", "O'Brien": "it's"} if text else {"0": "zero", "1": "one", "-1": "minus"}
        options: dict[str, Any] = {"field": name, "mapping": mapping, "output": output}
        if not text or self.chance.random() < 0.5:
            options["default"] = "other"
        self.scope[output] = STRING
        return {"map_values": options}

    def _rename(self) -> dict[str, Any] | None:
        declared = {f["name"] for f in self.fields}
        free = [name for name in self.scope if name not in declared]
        if not free:
            return None
        if len(free) > 1 and self.chance.random() < 0.5:
            left, two = self.chance.sample(free, 2)
            self.scope[left], self.scope[two] = self.scope[two], self.scope[left]
            return {"rename": {"mappings": {left: two, two: left}}}
        old, new = self.chance.choice(free), self._new_name()
        self.scope[new] = self.scope.pop(old)
        return {"rename": {"from": old, "to": new}}

    def _drop(self) -> dict[str, Any] | None:
        declared = {f["name"] for f in self.fields}
        free = [name for name in self.scope if name not in declared]
        if len(free) < 2:
            return None
        gone = self.chance.choice(free)
        del self.scope[gone]
        return {"drop": [gone]}

    def _deduplicate(self) -> dict[str, Any] | None:
        keys = [name for name, t in self.scope.items() if not t.is_nested and name != KEY]
        if not keys:
            return None
        options: dict[str, Any] = {"on": self.chance.sample(keys, min(len(keys), self.chance.randint(1, 2)))}
        if self.chance.random() < 0.8:
            options["sort_by"] = [self.chance.choice(keys)]
            options["order"] = self.chance.choice(("asc", "desc"))
        if self.chance.random() < 0.3:
            options |= {"losers": "quarantine", "label": "stale"}
        return {"deduplicate": options}

    def _rollup(self) -> dict[str, Any] | None:
        keys = [name for name, t in self.scope.items() if not t.is_nested and name != KEY]
        group = self.chance.sample(keys, min(len(keys), self.chance.choice((0, 1, 1, 2))))
        aggregations: dict[str, str] = {}
        types: dict[str, Type] = {name: self.scope[name] for name in group}
        for _ in range(self.chance.randint(1, 5)):
            aggregate = self.author.aggregate(self.scope, 1)
            if aggregate is not None:
                name = self._new_name()
                aggregations[name], types[name] = aggregate
        if not aggregations:
            return None
        self.scope = types
        return {"rollup": {"group_by": group, "aggregations": aggregations}}

    # rules

    def _rules(self, count: int, phase: str) -> None:
        for _ in range(count):
            rule = self._rule()
            if rule is None:
                continue
            chance = self.chance
            if phase == "post" or chance.random() < 0.3:
                rule["phase"] = phase
            if chance.random() < 0.2:
                rule["severity"] = chance.choice(("warning", "info"))
            if chance.random() < 0.2:
                rule["nulls"] = "pass"
            if chance.random() < 0.3:
                rule["name"] = f"r{len(self.rules)}"
            self.rules.append(rule)

    def _rule(self) -> dict[str, Any] | None:
        chance, draw = self.chance, self.chance.random()
        if draw < 0.5 or not self.scope:
            return {"sql": self.author.condition(self.scope, 3)} if self.scope else None
        name = chance.choice(list(self.scope))
        type_ = self.scope[name]
        if draw < 0.55:
            return {"not_null": name}
        if draw < 0.6 and not type_.is_nested:
            keep = {"keep": "first", "order_by": [KEY]} if KEY in self.scope and chance.random() < 0.5 else {}
            return {"unique": {"fields": [name], **keep}}
        if draw < 0.64 and type_ == STRING:
            return {"referential_integrity": {"field": name, "reference": LINK, "key": "code"}}
        inclusive = chance.random() < 0.65
        if type_.kind == "string":
            return chance.choice(
                (
                    {"regex_match": {"field": name, "pattern": chance.choice(("^[a-z]+$", "\\d", "^\\S*$", "(?i)^a"))}},
                    {"length": {"field": name, "min": 1, "max": chance.choice((2, 5)), "inclusive": inclusive}},
                    {"accepted_values": {"field": name, "values": ["a", "ab", "", "O'Brien"]}},
                )
            )
        if type_.is_number:
            options: dict[str, Any] = {"field": name, "min": chance.choice((0, -5, 0.5)), "inclusive": inclusive}
            if chance.random() < 0.5:
                options["max"] = chance.choice((10, 100, 1e6))
            return {"range": options}
        if type_.kind in ("date", "timestamp", "timestamp_ntz"):
            if chance.random() < 0.4:
                return {"not_future": name}
            bound = plain(value(type_, chance, nulls=0.0))
            return {"compare": {"left": name, "op": chance.choice(("<", "<=", ">", ">=", "=", "!=")), "right": bound}}
        return {"sql": self.author.condition(self.scope, 2)}


_PRE_STEPS = ("derive", "items", "filter", "text_step", "coalesce", "map_values")
_STEPS = ("derive", "derive", "items", "items", "items", "select", "filter", "cast", "text_step", "coalesce",
          "map_values", "rename", "drop", "deduplicate", "rollup", "query", "query", "query", "query")  # fmt: skip
