"""A column of a link that is tied to a masked value is masked wherever the contract reads that link."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.reading.load import load
from lakelogic.plan.compile import Compiled, SourceColumns, compile_contract
from lakelogic.plan.nodes import Landed
from lakelogic.sql.types import STRING


def masks(steps: list[dict[str, Any]], landed: str = "id email k", **document: Any) -> dict[str, str]:
    """The masks of a contract whose field `email` is hashed, with a link `c` of the columns mail, n and v."""
    base = {
        "source": {"path": "in.csv"},
        "model": {"fields": [{"name": "id", "type": "int"}, {"name": "email", "masking": "hash"}]},
        "links": [{"name": "c", "path": "c.csv"}, {"name": "same", "path": "./c.csv"}, {"name": "d", "path": "d.csv"}],
        "schema_policy": {"unknown_fields": "allow"},
        "materialization": {"target_path": "a.b.rows"},
        "transformations": steps,
    }
    book = SourceColumns("csv", tuple(Landed(name, STRING) for name in ("mail", "n", "v")))
    links = {"c": book, "same": book, "d": SourceColumns("csv", (Landed("m", STRING), Landed("n", STRING)))}
    links["self"] = SourceColumns("csv", tuple(Landed(name, STRING) for name in landed.split()))
    written = {**base, **document}
    used = {link["name"] for link in written["links"]}
    columns = tuple(Landed(name, STRING) for name in landed.split())
    compiled: Compiled = compile_contract(
        load(written), SourceColumns("csv", columns), {name: found for name, found in links.items() if name in used}
    )
    return {mask.column: mask.strategy for mask in compiled.plan.masks}


def look(field: str, on: str, key: str, value: str, reference: str = "c") -> dict[str, Any]:
    return {"lookup": {"field": field, "reference": reference, "on": on, "key": key, "value": value}}


BROUGHT_BACK = {
    "a second alias": [
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c b ON b.mail = s.email "
                "JOIN c a ON a.n = b.n"},
    ],
    "a third alias": [
        {"sql": "SELECT s.id, s.email, z.mail AS back, z.v FROM source s JOIN c b ON b.mail = s.email "
                "JOIN c a ON a.n = b.n JOIN c z ON z.v = a.v"},
    ],
    "named queries": [
        {"sql": "WITH x AS (SELECT mail, n, v FROM c), y AS (SELECT mail AS m, n, v FROM c) "
                "SELECT s.id, s.email, y.m AS back, y.v FROM source s JOIN x ON x.mail = s.email JOIN y ON y.n = x.n"},
    ],
    "a query in FROM": [
        {"sql": "SELECT s.id, s.email, y.m AS back, y.v FROM source s JOIN (SELECT mail, n FROM c) x "
                "ON x.mail = s.email JOIN (SELECT max(mail) AS m, n, max(v) AS v FROM c GROUP BY n) y ON y.n = x.n"},
    ],
    "the link joined with itself beside the rows": [
        {"sql": "SELECT s.id, s.email, p.m AS back, p.v FROM source s JOIN "
                "(SELECT b.mail AS own, a.mail AS m, a.v FROM c b JOIN c a ON a.n = b.n) p ON p.own = s.email"},
    ],
    "a query as a value": [
        {"sql": "SELECT s.id, s.email, b.n, b.v FROM source s JOIN c b ON b.mail = s.email"},
        {"sql": "SELECT id, email, n, v, (SELECT max(mail) FROM c WHERE c.n = source.n) AS back FROM source"},
    ],
    "IN, and a join by another column": [
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c a ON a.n = s.k "
                "WHERE s.email IN (SELECT mail FROM c)"},
    ],
    "EXISTS, and a join by another column": [
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c a ON a.n = s.k "
                "WHERE EXISTS (SELECT 1 FROM c AS z WHERE z.mail = s.email AND z.n = s.k)"},
    ],
    "two steps": [
        {"sql": "SELECT s.id, s.email, b.n FROM source s JOIN c b ON b.mail = s.email"},
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c a ON a.n = s.n"},
    ],
    "two lookups": [look("n", "email", "mail", "n"), look("back", "n", "n", "mail"), look("v", "n", "n", "v")],
    "two joins": [
        {"join": {"reference": "c", "on": "email", "key": "mail", "fields": ["n"]}},
        {"join": {"reference": "c", "on": "n", "key": "n", "fields": ["mail", "v"], "prefix": "x_"}},
        {"rename": {"mappings": {"x_mail": "back", "x_v": "v"}}},
    ],
    "a lookup, and a join in SQL": [
        look("n", "email", "mail", "n"),
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c a ON a.n = s.n"},
    ],
    "another link over the same file": [
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c b ON b.mail = s.email "
                "JOIN same a ON a.n = b.n"},
    ],
    "pairs": [
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c b ON b.mail >= s.email "
                "JOIN c a ON a.n >= b.n"},
    ],
    "a link in between": [
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN d ON d.m = s.email "
                "JOIN c b ON b.mail = d.m JOIN c a ON a.n = b.n"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("phase", ["pre", "post"])
@pytest.mark.parametrize("steps", BROUGHT_BACK.values(), ids=BROUGHT_BACK)
def test_a_masked_value_does_not_come_back_over_another_place_of_its_link(
    steps: list[dict[str, Any]], phase: str
) -> None:
    found = masks([{**step, "phase": phase} for step in steps])
    assert (found.get("back"), found.get("v"), found.get("n")) == ("hash", None, None)


def test_a_rule_that_finds_the_value_in_a_link_ties_that_column() -> None:
    steps = [{"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s LEFT JOIN c a ON a.n = s.k"}]
    rule = {"name": "known", "sql": "email IN (SELECT mail FROM c)"}
    found = masks(steps, quality={"row_rules": [rule]})
    assert (found.get("back"), found.get("v")) == ("hash", None)


def test_a_link_over_the_file_of_the_source_hides_what_the_source_hides() -> None:
    steps = [{"sql": "SELECT s.id, s.email, o.email AS back, o.k AS v FROM source s JOIN self o ON o.k = s.k"}]
    found = masks(steps, links=[{"name": "self", "path": "in.csv"}])
    assert (found.get("back"), found.get("v")) == ("hash", None)
    found = masks([look("back", "k", "k", "email", "self")], links=[{"name": "self", "path": "./in.csv"}])
    assert found.get("back") == "hash"
    rows = [{"sql": "SELECT s.id, s.email, o.email AS back, o.k AS v FROM source s JOIN source o ON o.k = s.k"}]
    assert (masks(rows).get("back"), masks(rows).get("v")) == ("hash", None)


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_what_flows_into_a_masked_field_ties_like_it(phase: str) -> None:
    join = "FROM source s JOIN c b ON b.mail = s.raw JOIN c a ON a.n = b.n"
    step = {"sql": f"SELECT s.id, lower(s.raw) AS email, b.mail, a.mail AS back, a.v {join}", "phase": phase}
    found = masks([step], landed="id raw k")
    assert (found.get("mail"), found.get("back"), found.get("v")) == ("hash", "hash", None)
    steps = [
        {"filter": "raw IN (SELECT mail FROM c)", "phase": phase},
        {"sql": "SELECT s.id, s.k, lower(s.raw) AS email FROM source s", "phase": phase},
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v FROM source s JOIN c a ON a.n = s.k", "phase": phase},
    ]
    found = masks(steps, landed="id raw k")
    assert (found.get("back"), found.get("v")) == ("hash", None)
    shown = {"sql": f"SELECT s.id, s.raw, lower(s.raw) AS email, b.mail, a.mail AS back {join}", "phase": phase}
    fields = [{"name": "id", "type": "int"}, {"name": "raw"}, {"name": "email", "masking": "hash"}]
    decided = masks([shown], landed="id raw k", model={"fields": fields})
    assert (decided.get("raw"), decided.get("mail"), decided.get("back")) == (None, None, None)


def test_what_is_tied_to_no_masked_value_stays_in_clear() -> None:
    steps = [
        {"sql": "SELECT s.id, s.email, a.mail AS back, a.v, d.m FROM source s JOIN c b ON b.n = s.k "
                "JOIN c a ON a.n = b.n JOIN d ON d.n = a.n"},
    ]  # fmt: skip
    assert {name for name in masks(steps) if not name.startswith("~")} == {"email"}


def test_pii_false_takes_the_mask_off() -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "email", "masking": "hash"}, {"name": "back", "pii": False}]
    found = masks(BROUGHT_BACK["a second alias"], model={"fields": fields})
    assert "back" not in found
