"""Behind an explode nothing carries the array: what rows show that failed before it is kept apart, once."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.plan.codes import REPEATED
from lakelogic.plan.columns.flows import Flows
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.explain import as_text
from lakelogic.plan.lineage import bad_origins
from lakelogic.plan.needs import columns_made, columns_read
from lakelogic.plan.nodes import APART, Expand, Landed, Plan, RowWise
from lakelogic.sql.expressions import columns_of
from lakelogic.sql.types import STRING

ITEMS = [{"name": "id", "type": "int", "required": True}, {"name": "items", "type": "array<bigint>"}]
NESTED = [ITEMS[0], {"name": "items", "type": "array<struct<sku:string,taxes:array<int>>>"}]
TEXTS = [ITEMS[0], {"name": "items", "type": "string"}]
BOTH = "SELECT id, t.n AS n FROM source LATERAL VIEW explode(items) t AS n"
TAXES = "LATERAL VIEW explode(items) t AS i LATERAL VIEW explode(t.i.taxes) u AS n"

SHAPES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "a step": (ITEMS, [{"explode": {"field": "items", "output": "n"}}, {"drop": {"columns": ["items"]}}]),
    "a step in place": (ITEMS, [{"explode": {"field": "items"}}, {"rename": {"from": "items", "to": "n"}}]),
    "sql": (ITEMS, [{"sql": BOTH}]),
    "a step before the model": (ITEMS[:1], [{"explode": {"field": "items"}, "phase": "pre"}, {"sql": "SELECT id, items AS n FROM source"}]),
    "two levels": (NESTED, [{"sql": f"SELECT id, t.i.sku AS sku, u.n AS n FROM source {TAXES}"}]),
    "text": (TEXTS, [{"explode": {"field": "items"}}, {"rename": {"from": "items", "to": "n"}}]),
    "split": (
        TEXTS,
        [
            {"split": {"field": "items", "delimiter": "|", "output": "n"}},
            {"explode": {"field": "n", "output": "n"}},
            {"drop": {"columns": ["items"]}},
        ],
    ),
    "paired": (
        ITEMS,
        [{"sql": "SELECT s.id, s.items FROM source s JOIN source r ON s.id = r.id"}, {"sql": BOTH}],
    ),
}  # fmt: skip


def compiled(fields: list[dict[str, Any]], steps: list[dict[str, Any]], landed: str = "ndjson") -> Compiled:
    document = {
        "source": {"path": f"in.{landed}"},
        "model": {"fields": fields},
        "transformations": steps,
        "quality": {"row_rules": [{"name": "small", "sql": "n < 9", "phase": "post"}]},
        "materialization": {"target_path": "a.b.c"},
    }
    source = SourceColumns(landed, (Landed("id", STRING), Landed("items", STRING), Landed("shop", STRING)))
    return compile_contract(load(document), source)


def carried(plan: Plan) -> set[str]:
    """Columns that an explode is made of, or the landed line, and that something behind it reads."""
    found: set[str] = set()
    flows = Flows(plan.links)
    for at, account in enumerate(plan.accounts):
        flows.follow([*([account.opening] if account.opening else []), *account.nodes])
        for place, node in enumerate(account.nodes):
            if not isinstance(node, Expand):
                continue
            made = {name for later in account.nodes[place:] for name in columns_made(later)}
            wide = (flows.origins(columns_of(node.value)) | {"~text"}) - made
            read = {name for later in account.nodes[place + 1 :] for name in columns_read(later)}
            for other in plan.accounts[at:]:
                publish = other.publish
                values = [*(one.value for one in publish.values), publish.fate, publish.side, publish.copy]
                read |= {name for value in values for name in columns_of(value)}
            found |= read & wide
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("landed", ["ndjson", "csv"])
def test_nothing_behind_an_explode_reads_the_array(shape: str, landed: str) -> None:
    # An element of which a field is published stays beside the elements that it holds itself.
    kept = {"~item"} if shape == "two levels" else set()
    assert carried(compiled(*SHAPES[shape], landed).plan) == kept


def test_what_is_kept_apart_holds_nothing_in_rows_that_are_alive() -> None:
    plan = compiled(*SHAPES["two levels"]).plan
    nodes = plan.accounts[0].nodes
    first, second = (node for node in nodes if isinstance(node, Expand))
    apart = [node for node in nodes if isinstance(node, RowWise) and node.label == APART]
    assert len(apart) == 1  # nothing can fail between the two
    assert [str(type_) for _, type_ in first.apart] == ["array<struct<sku:string,taxes:array<int>>>"]
    assert second.apart == first.apart


def test_bad_rows_come_from_the_same_columns_as_before_and_people_see_no_more_steps() -> None:
    found = compiled(*SHAPES["sql"])
    assert {name: [origin.column for origin in origins] for name, origins in bad_origins(found.plan).items()} == {
        "id": ["id"],
        "items": ["items"],
        "n": ["items"],
        "shop": ["shop"],
    }
    assert "kept" not in as_text(found.plan, found.checks).lower()


def test_an_array_that_is_published_beside_its_elements_is_told() -> None:
    kept = compiled(ITEMS, [{"explode": {"field": "items", "output": "n"}}])
    (told,) = [warning for warning in kept.warnings if warning.code == REPEATED]
    assert told.message == "`items` is published beside each of its elements: a row of n elements becomes n rows of n."
    for shape in SHAPES.values():
        assert REPEATED not in {warning.code for warning in compiled(*shape).warnings}
