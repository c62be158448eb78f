"""Functions that plans are made of: verdicts as bits, reasons as arrays, rows as JSON."""

import json

from lakelogic.sql.expressions import Column, Literal, call, text
from lakelogic.sql.types import BIGINT, BOOLEAN, INT, STRING, Type, array

F, G, X = Column("f", BOOLEAN), Column("g", BOOLEAN), Column("x", STRING)
MAP = Type("map", key=STRING, element=STRING)
FLAGS = {"f": (BOOLEAN, [True, False, True, False]), "g": (BOOLEAN, [True, True, False, False])}


def test_bits_are_set_by_position_and_read_back(meaning):
    bits = call("bits", F, G, *[Literal(False, BOOLEAN)] * 57, F, type=BIGINT)
    outputs = {
        "bits": bits,
        "first": call("bit_is_set", bits, Literal(0, INT)),
        "last": call("bit_is_set", bits, Literal(59, INT)),
    }
    found = meaning.rows(FLAGS, outputs)
    assert [row["bits"] for row in found] == [3 + 2**59, 2, 1 + 2**59, 0]
    assert [row["first"] for row in found] == [True, False, True, False]
    assert [row["last"] for row in found] == [True, False, True, False]


def test_texts_of_raised_flags_keep_their_order(meaning):
    reasons = call("texts_where", F, text("it's f"), G, X, type=array(STRING))
    found = meaning.rows({**FLAGS, "x": (STRING, ["g0", "g1", "g2", "g3"])}, {"y": reasons})
    assert [row["y"] for row in found] == [["it's f", "g0"], ["g1"], ["it's f"], None]


def test_entries_of_raised_flags_may_be_null(meaning):
    entries = call("entries_where", F, text("age"), X, G, text("city"), text("Rome"), type=MAP)
    found = meaning.rows({**FLAGS, "x": (STRING, [None, "1", "x", "y"])}, {"y": entries})
    as_dicts = [None if row["y"] is None else dict(row["y"]) for row in found]
    assert as_dicts == [{"age": None, "city": "Rome"}, {"city": "Rome"}, {"age": "x"}, None]


def test_a_row_as_json_keeps_every_name(meaning):
    raw = call("row_json", text("id"), X, text('na"me'), Column("y", STRING), type=STRING)
    found = meaning.rows(
        {"x": (STRING, ["1", 'q"\\\n\t\u0001é😀/', None]), "y": (STRING, [None, "", None])}, {"y": raw}
    )
    parsed = [json.loads(row["y"]) for row in found]
    assert parsed == [
        {"id": "1", 'na"me': None},
        {"id": 'q"\\\n\t\u0001é😀/', 'na"me': ""},
        {"id": None, 'na"me': None},
    ]
    assert [list(row) for row in parsed] == [["id", 'na"me']] * 3
    assert found[0]["y"] == '{"id":"1","na\\"me":null}'
