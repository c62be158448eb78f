"""Arrays, maps, structs and lambdas over columns: the same values on every engine."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from lakelogic.sql.bind import bind
from lakelogic.sql.expressions import Column, convert
from lakelogic.sql.problems import SqlProblems
from lakelogic.sql.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, array, decimal, map_of, parse_type, struct

NAN = float("nan")
PAIR = struct(("n", INT), ("t", STRING))


def over(meaning, columns, *texts):
    """The values of expressions over typed columns, one list per expression."""
    types = {name: type_ for name, (type_, _) in columns.items()}
    rows = meaning.rows(columns, {f"y{i}": bind(text, types) for i, text in enumerate(texts)})
    return [[row[f"y{i}"] for row in rows] for i in range(len(texts))]


def test_a_lambda_reads_columns_of_the_row_around_it(meaning):
    columns = {"a": (array(INT), [[1, 2, None], None, [], [5]]), "k": (INT, [10, 20, 30, None])}
    sums, kept, found, every = over(
        meaning,
        columns,
        "transform(a, x -> x + k)",
        "filter(a, x -> x * 10 > k)",
        "exists(a, x -> x * 10 > k)",
        "forall(a, x -> x * 10 >= k)",
    )
    assert sums == [[11, 12, None], None, [], [None]]
    assert kept == [[2], None, [], []]
    assert found == [True, None, False, None]
    assert every == [None, None, True, None]


def test_lambdas_stand_inside_one_another_and_hide_columns_of_their_names(meaning):
    columns = {"a": (array(INT), [[1, 2], [3]]), "x": (INT, [100, 200]), "b": (array(INT), [[10], [20, 30]])}
    nested, hidden, deep = over(
        meaning,
        columns,
        "transform(a, p -> transform(b, q -> p + q + x))",
        "transform(a, x -> x)",
        "exists(a, x -> exists(b, y -> exists(a, z -> x + y + z = 12)))",
    )
    assert nested == [[[111], [112]], [[223, 233]]]
    assert hidden == [[1, 2], [3]]
    assert deep == [True, False]


def test_an_array_that_a_lambda_made_can_be_used_by_another(meaning):
    columns = {"a": (array(INT), [[3, 1, 2], None])}
    assert over(meaning, columns, "filter(transform(a, x -> x * 2), x -> exists(transform(a, x -> x + 1), y -> y = x))") == [
        [[2, 4], None]
    ]  # fmt: skip


def test_elements_are_taken_together_in_order(meaning):
    columns = {"a": (array(STRING), [["a", "b", "c"], [], None, ["x"]]), "sep": (STRING, ["-", "-", "-", None])}
    joined, counted = over(
        meaning,
        columns,
        "aggregate(a, '', (t, x) -> concat(t, sep, x))",
        "aggregate(a, 0, (t, x) -> t + length(x), t -> t * 100)",
    )
    assert joined == ["-a-b-c", "", None, None]
    assert counted == [300, 0, None, 100]


def test_totals_take_the_type_they_need(meaning):
    columns = {"a": (array(decimal(4, 2)), [[Decimal("1.50"), Decimal("99.99")], []])}
    (total,) = over(meaning, columns, "aggregate(a, 0, (t, x) -> t + x)")
    assert total == [Decimal("101.49"), Decimal("0.00")]


def test_structs_are_read_by_name_in_any_case_and_null_structs_have_null_fields(meaning):
    columns = {"s": (PAIR, [{"n": 1, "t": "a"}, None, {"n": None, "t": "b"}])}
    n, t, missing, whole = over(meaning, columns, "s.N", "s['t']", "s IS NULL", "struct(s.n AS m, s AS inner).inner.t")
    assert n == [1, None, None]
    assert t == ["a", None, "b"]
    assert missing == [False, True, False]
    assert whole == ["a", None, "b"]


def test_a_field_of_an_array_of_structs_is_the_field_of_each(meaning):
    columns = {"a": (array(PAIR), [[{"n": 1, "t": "a"}, None], [], None])}
    fields, first, found = over(meaning, columns, "a.t", "a[0].n", "exists(a, x -> x.n = 1 AND x.t = 'a')")
    assert fields == [["a", None], [], None]
    assert first == [1, None, None]
    assert found == [True, False, None]


def test_arrays_and_structs_are_equal_by_value_and_inner_nulls_are_equal(meaning):
    columns = {
        "a": (array(DOUBLE), [[1.0, None], [NAN], [0.0], [1.0], None]),
        "b": (array(DOUBLE), [[1.0, None], [NAN], [-0.0], [1.0, 2.0], [1.0]]),
    }
    equal, same, listed = over(meaning, columns, "a = b", "a <=> b", "a IN (b, array(1e0))")
    assert equal == [True, True, True, False, None]
    assert same == [True, True, True, False, False]
    assert listed == [True, True, True, True, None]
    pairs = {"s": (PAIR, [{"n": 1, "t": None}, {"n": 1, "t": "x"}]), "r": (PAIR, [{"n": 1, "t": None}, {"n": 2, "t": "x"}])}  # fmt: skip
    assert over(meaning, pairs, "s = r", "s <> r") == [[True, False], [False, True]]


def test_elements_are_ordered_by_code_point_with_nan_and_nulls_last(meaning):
    columns = {
        "s": (array(STRING), [["b", None, "é", "a", "Z", "😀", "ﬀ"]]),
        "d": (array(DOUBLE), [[NAN, 1.0, None, -1.0, float("inf")]]),
    }
    up, down, numbers = over(meaning, columns, "array_sort(s)", "sort_array(s, FALSE)", "sort_array(d, FALSE)")
    assert up == [["Z", "a", "b", "é", "ﬀ", "😀", None]]
    assert down == [["😀", "ﬀ", "é", "b", "a", "Z", None]]
    assert str(numbers) == "[[nan, inf, 1.0, -1.0, None]]"
    assert over(meaning, columns, "array_max(s)", "array_min(d)") == [["😀"], [-1.0]]


def test_positions_come_from_columns_too(meaning):
    columns = {"a": (array(INT), [[1, 2, 3]] * 6), "i": (INT, [0, 2, 3, -1, None, -3])}
    plain, counted, part = over(meaning, columns, "a[i]", "element_at(a, i)", "slice(a, i, 2)")
    assert plain == [1, 3, None, None, None, None]
    assert counted == [None, 2, 3, 3, None, 1]
    assert part == [None, [2, 3], [3], [3], None, [1, 2]]


def test_sets_of_elements_keep_the_order_of_the_first_array(meaning):
    columns = {
        "a": (array(STRING), [["b", "a", "b", None], [], None]),
        "b": (array(STRING), [["c", None, "b"], ["x"], ["x"]]),
    }
    found = over(
        meaning, columns, "array_union(a, b)", "array_intersect(a, b)", "array_except(a, b)", "array_distinct(a)"
    )
    assert found == [
        [["b", "a", None, "c"], ["x"], None],
        [["b", None], [], None],
        [["a"], [], None],
        [["b", "a", None], [], None],
    ]


def test_different_structs_are_told_apart(meaning):
    columns = {"a": (array(PAIR), [[{"n": 1, "t": None}, {"n": 1, "t": None}, {"n": 1, "t": ""}, None]])}
    (found,) = over(meaning, columns, "array_distinct(a)")
    assert found == [[{"n": 1, "t": None}, {"n": 1, "t": ""}, None]]


def test_maps_have_no_order_of_their_own_but_are_shown_by_key(meaning, same):
    columns = {"m": (map_of(STRING, INT), [[("b", 1), ("a", None)], [], None]), "k": (STRING, ["b", "b", "b"])}
    keys, values, entries, one, kept, size = over(
        meaning, columns, "map_keys(m)", "map_values(m)", "map_entries(m)", "m[k]", "map_filter(m, (x, v) -> x = k)", "size(m)"
    )  # fmt: skip
    assert keys == [["a", "b"], [], None]
    assert values == [[None, 1], [], None]
    assert entries == [[{"key": "a", "value": None}, {"key": "b", "value": 1}], [], None]
    assert one == [1, None, None]
    assert same(kept, [[("b", 1)], [], None])
    assert size == [2, 0, None]


def test_of_equal_keys_the_last_wins_and_a_null_key_makes_no_map(meaning, same):
    columns = {"k": (array(STRING), [["a", "b", "a"], ["a", None], None]), "v": (array(INT), [[1, 2, 3], [1, 2], [1]])}
    (found,) = over(meaning, columns, "map_from_arrays(k, v)")
    assert same(found, [[("a", 3), ("b", 2)], None, None])


def test_values_that_elements_become_are_converted_one_by_one(meaning):
    meaning.converts(
        array(STRING), array(INT), [(["1", " 2 ", None], [1, 2, None]), (["1", "x"], None), ([], []), (None, None)]
    )
    meaning.converts(
        array(array(STRING)), array(array(INT)), [([["1"], None, []], [[1], None, []]), ([["1"], ["x"]], None)]
    )
    meaning.converts(array(INT), array(DOUBLE), [([1, None], [1.0, None])])


def test_structs_are_converted_by_name(meaning):
    to = parse_type("struct<T:int,extra:date,n:bigint>")
    cases = [
        ({"n": 1, "t": "5"}, {"T": 5, "extra": None, "n": 1}),
        ({"n": None, "t": None}, {"T": None, "extra": None, "n": None}),
        ({"n": 1, "t": "five"}, None),
        (None, None),
    ]
    meaning.converts(PAIR, to, cases)


def test_maps_are_converted_by_keys_and_values(meaning):
    cases = [
        ([("1", "5"), ("2", None)], [(1, 5), (2, None)]),
        ([("x", "5")], None),
        ([("1", "x")], None),
        ([], []),
        (None, None),
    ]
    meaning.converts(map_of(STRING, STRING), map_of(INT, BIGINT), cases)
    meaning.converts(map_of(STRING, STRING), map_of(INT, STRING), [([("01", "a"), ("1", "b")], [(1, "b")])])


def test_text_becomes_a_nested_value_when_all_of_it_fits(meaning):
    to = parse_type("struct<a:int,b:array<decimal(20,10)>,c:struct<d:timestamp>>")
    good = '{"a": "7", "b": [0.1234567890, 12, null], "c": {"d": "2024-01-05T10:00:00Z", "x": [1]}, "more": {}}'
    value = {
        "a": 7,
        "b": [Decimal("0.1234567890"), Decimal("12.0000000000"), None],
        "c": {"d": datetime(2024, 1, 5, 10, tzinfo=UTC)},
    }
    cases = [
        (good, value),
        ("{}", {"a": None, "b": None, "c": None}),
        (' {"a":1,"a":2} ', {"a": 2, "b": None, "c": None}),
        ('{"A":1}', {"a": 1, "b": None, "c": None}),
        ('{"a":1,"A":2,"B":["3"]}', {"a": 2, "b": [Decimal("3.0000000000")], "c": None}),
        ('{"A":1,"a":2,"A" : 3}', {"a": 3, "b": None, "c": None}),
        ('{"A":"x","a":2}', {"a": 2, "b": None, "c": None}),
        ('{"\\u0041":4,"C":{"D":"2024-01-05"}}', {"a": 4, "b": None, "c": {"d": datetime(2024, 1, 5, tzinfo=UTC)}}),
        ('{"A":1.5}', None),
        ('{"A":1,"C":[]}', None),
        ('{"A":1} x', None),
        ('{"A":null,"more":"\\"a\\": 7"}', {"a": None, "b": None, "c": None}),
        ('{"a":1,"more":"\\ud83d\\ude00"}', {"a": 1, "b": None, "c": None}),
        ('{"a":1,"more":"\\ud83d"}', None),
        ('{"a":1.5}', None),
        ('{"a":[]}', None),
        ('{"b":{}}', None),
        ('{"b":[1,"x"]}', None),
        ('{"c":"{}"}', None),
        ('{"c":[]}', None),
        ('{"a":1} x', None),
        ('{"a":NaN}', None),
        ("{'a':1}", None),
        ("[]", None),
        ("7", None),
        ("null", None),
        ("", None),
        (None, None),
    ]
    meaning.converts(STRING, to, cases)


def test_text_becomes_an_array_or_a_map(meaning):
    cases = [
        ("[]", []),
        ('["a", 1.10, true, null, {"x": [1.50, "é\\u0041"]}]', ["a", "1.10", "true", None, '{"x":[1.50,"éA"]}']),
        ('[12345678901234567890123456789012345678901234567890.10]', ["12345678901234567890123456789012345678901234567890.10"]),
        ('["1.5", "-3:4,5 6"]', ["1.5", "-3:4,5 6"]),
        ("{}", None),
        ("[1,]", None),
        ("[1", None),
    ]  # fmt: skip
    meaning.converts(STRING, array(STRING), cases)
    meaning.converts(
        STRING,
        map_of(STRING, INT),
        [('{"a": 1, "b": null, "a": 3}', [("a", 3), ("b", None)]), ('{"a": "x"}', None), ("[]", None)],
    )
    meaning.converts(
        STRING,
        map_of(INT, STRING),
        [('{"1":"x","01":"y"}', [(1, "y")]), ('{"01":"x","1":"y","01":"z"}', [(1, "z")])],
    )
    meaning.converts(STRING, map_of(DATE, INT), [('{"2024-01-05": 1}', [(date(2024, 1, 5), 1)]), ('{"x": 1}', None)])


def test_fields_of_texts_are_found_without_case_at_every_depth_and_keys_of_maps_as_they_are(meaning):
    to = parse_type("struct<A:array<struct<a:string>>,m:map<string,struct<X:int>>>")
    cases = [
        (
            '{"a":[{"A":"{\\"a\\":1.50}"},{"a":{"A":1.50}},null],"M":{"A":{"x":1},"a":{"X":2},"m":null}}',
            {"A": [{"a": '{"a":1.50}'}, {"a": '{"A":1.50}'}, None], "m": [("A", {"X": 1}), ("a", {"X": 2}), ("m", None)]},
        ),
        ('{"a":[{"A":"x"}],"m":{"A":{"x":"no"}}}', None),
        ('{"A":[1]}', None),
    ]  # fmt: skip
    meaning.converts(STRING, to, cases)
    lenient = {"y": bind("from_json(x, 'a INT, b STRUCT<c: INT>')", {"x": STRING})}
    texts = ['{"A":"no","B":{"C":7}}', '{"A":1,"B":[]}', '{"a":1,"B":{"C":"no","c":8}}']
    assert [row["y"] for row in meaning.rows({"x": (STRING, texts)}, lenient)] == [
        {"a": None, "b": {"c": 7}},
        {"a": 1, "b": None},
        {"a": 1, "b": {"c": 8}},
    ]


def test_nested_values_have_one_text(meaning):
    row = struct(("i", BIGINT), ("d", DOUBLE), ("m", decimal(10, 2)), ("t", STRING), ("w", DATE), ("z", TIMESTAMP))
    cases = [
        (
            {"i": 1, "d": 1e20, "m": Decimal("1.50"), "t": 'é/"\\\n\x01\x1f', "w": date(2024, 1, 5), "z": datetime(2024, 1, 5, tzinfo=UTC)},
            '{"i":1,"d":1e+20,"m":1.50,"t":"é/\\"\\\\\\n\\u0001\\u001F","w":"2024-01-05","z":"2024-01-05T00:00:00Z"}',
        ),
        ({"i": None, "d": NAN, "m": None, "t": "", "w": None, "z": None}, '{"i":null,"d":"NaN","m":null,"t":"","w":null,"z":null}'),
        (None, None),
    ]  # fmt: skip
    meaning.converts(row, STRING, cases)
    meaning.converts(array(array(INT)), STRING, [([[1, None], [], None], "[[1,null],[],null]"), ([], "[]")])
    meaning.converts(map_of(INT, STRING), STRING, [([(10, "x"), (9, None)], '{"9":null,"10":"x"}'), ([], "{}")])


def test_a_value_comes_back_from_its_text(meaning):
    type_ = parse_type("struct<a:array<struct<k:string,v:double>>,m:map<string,decimal(38,18)>>")
    value = {"a": [{"k": "\x00 ß", "v": 0.1}, None], "m": [('k"', Decimal("1.000000000000000001"))]}
    there = convert(Column("x", type_), STRING)
    (found,) = meaning.column(type_, [value], convert(there, type_))
    assert found == value


def refused(text, **types):
    with pytest.raises(SqlProblems) as caught:
        bind(text, {name: parse_type(written) for name, written in types.items()})
    return str(caught.value)


def test_what_cannot_be_compared_or_ordered_is_refused():
    assert "cannot be compared" in refused("m = m", m="map<string,int>")
    assert "cannot be compared" in refused("array_contains(a, m)", a="array<map<string,int>>", m="map<string,int>")
    assert "has no order" in refused("a < a", a="array<int>")
    assert "has no order" in refused("a BETWEEN a AND a", a="array<int>")
    assert "has no order" in refused("greatest(s, s)", s="struct<x:int>")
    assert "cannot be compared" in refused("m IN (m)", m="map<string,int>")
    assert "cannot be compared" in refused("nullif(a, a)", a="array<map<string,int>>")
    assert "cannot order" in refused("array_sort(a)", a="array<struct<x:int>>")
    assert "not portable" in refused("array_sort(a, (l, r) -> l - r)", a="array<int>")


def test_what_a_lambda_or_a_path_gets_wrong_is_said():
    assert "no field `q`" in refused("s.q", s="struct<a:int>")
    assert "has no field" in refused("i.a", i="int")
    assert "takes 1 or 2 parameters, not 3" in refused("transform(a, (x, y, z) -> x)", a="array<int>")
    assert "must be a condition" in refused("filter(a, x -> x + 1)", a="array<int>")
    assert "takes a small function" in refused("exists(a, TRUE)", a="array<int>")
    assert "needs an array" in refused("transform(i, x -> x)", i="int")
    assert "two fields called" in refused("named_struct('a', 1, 'A', 2)")


def test_types_are_written_as_people_write_them():
    written = "struct<`my name`:string, b: decimal(10, 2), c MAP<STRING, ARRAY<INT>>>"
    type_ = parse_type(written)
    assert str(type_) == "struct<`my name`:string,b:decimal(10,2),c:map<string,array<int>>>"
    assert parse_type(str(type_)) == type_
    for wrong in ("array<>", "struct<a>", "struct<a:int,A:int>", "map<int>", "map<array<int>,int>", "array<json>"):
        with pytest.raises(ValueError):  # noqa: PT011
            parse_type(wrong)
