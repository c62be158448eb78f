"""Arrays, maps and structs: what the functions mean, and how calls of them are built.

Few functions are the engines' own: many are written in terms of others (rows of the kind `composed`), so that they
mean the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lakelogic.sql.arguments import Args, Signatures, constant_text, refuse
from lakelogic.sql.catalogue import matching
from lakelogic.sql.catalogue.row import composed, scalar
from lakelogic.sql.coerce import text
from lakelogic.sql.expressions import Call, Expression, Literal
from lakelogic.sql.lambdas import lambda_of
from lakelogic.sql.nested import (
    appended,
    array_argument,
    array_compact,
    array_contains,
    array_except,
    array_insert,
    array_intersect,
    array_join,
    array_of,
    array_position,
    array_remove,
    array_repeat,
    array_sort,
    array_union,
    arrays_overlap,
    concatenated,
    distinct,
    element_at,
    extreme,
    flatten_call,
    item,
    map_call,
    map_concat,
    map_contains_key,
    map_entries,
    map_from_arrays,
    map_from_entries,
    map_keys,
    named_struct,
    only_arrays,
    part_of_entries,
    sequence_call,
    size_call,
    slice_call,
    struct_of,
)
from lakelogic.sql.problems import BAD_ARGUMENTS
from lakelogic.sql.types import INT, STRING, array

_SPECIAL = re.compile(r"[\\.^$|?*+()\[\]{}]")

FUNCTIONS = (
    # structs
    scalar("struct", "structs", "struct(a, b AS name, …)",
       "A struct; fields are called by their alias, their column, or col1, col2, …. Names that differ only in case are refused.",
       ("struct(1 AS n, NULL AS t)", {"n": 1, "t": None}), ("struct('x', 2)", {"col1": "x", "col2": 2})),
    composed("named_struct", "structs", "named_struct('name', a, …)", "A struct of constant names and values in turn.",
       ("named_struct('a', 1, 'b', 'x')", {"a": 1, "b": "x"}), ("named_struct('my name', NULL)['MY NAME']", None)),
    scalar("field", "structs", "s.name; s['name']", "A field of a struct, by its name in any case; NULL in a NULL struct. Over an array of structs, the field of each.",
       ("named_struct('a', 1, 'b', 'x').b", "x"), ("struct(1 AS n)['N']", 1), ("array(struct(1 AS n), NULL, struct(3 AS n)).n", [1, None, 3]),
       ("struct(struct('deep' AS c) AS b).b.c", "deep")),
    # arrays
    scalar("array", "arrays", "array(a, b, …); [a, b, …]", "An array of the values, in the type they share; NULLs are elements.",
       ("array(1, 2, NULL)", [1, 2, None]), ("array()", []), ("array('a', 'é')", ["a", "é"]), ("array(1, 2.5) = array(1.0, 2.5)", True),
       ("array(array(1), array())", [[1], []]), ("array(1, NULL) = array(1, NULL)", True), ("array(1) <> array(1, 2)", True), ("array(1) <=> NULL", False)),
    scalar("item", "arrays", "a[i]", "The element at a position from 0; NULL outside, also for negative positions.",
       ("array('a', 'b')[0]", "a"), ("array('a', 'b')[2]", None), ("array('a', 'b')[-1]", None), ("array(1, 2)[NULL]", None)),
    composed("get", "arrays", "get(a, i)", "The same as a[i].", ("get(array(5, 6), 1)", 6), ("get(array(5, 6), 2)", None)),
    composed("element_at", "arrays", "element_at(a, i)", "The element at a position from 1, from the end when negative; NULL outside and for 0. Over a map, the value of a key.",
       ("element_at(array(1, 2, 3), 1)", 1), ("element_at(array(1, 2, 3), -1)", 3), ("element_at(array(1), 5)", None), ("element_at(array(1), -5)", None),
       ("element_at(array(1), 0)", None), ("element_at(map('a', 1), 'a')", 1)),
    composed("try_element_at", "arrays", "try_element_at(a, i); try_element_at(m, key)", "The same as element_at, which never fails.",
       ("try_element_at(array(1, 2), 3)", None), ("try_element_at(map('a', 1), 'z')", None), ("try_element_at(array(1, 2), 2)", 2)),
    scalar("size", "arrays", "size(a); cardinality(a); array_size(a)", "How many elements or entries, as int; NULL for NULL.",
       ("size(array(1, NULL))", 2), ("size(array())", 0), ("size(CAST(NULL AS ARRAY<INT>))", None), ("cardinality(map('a', 1))", 1)),
    scalar("array_contains", "arrays", "array_contains(a, x)", "x equals an element; NULL when none does and x or an element is NULL.",
       ("array_contains(array(1, 2), 2)", True), ("array_contains(array(1, 2), 3)", False), ("array_contains(array(1, NULL), 3)", None),
       ("array_contains(array(1, NULL), 1)", True), ("array_contains(array(1), NULL)", None), ("array_contains(array(), 1)", False),
       ("array_contains(array(CAST('NaN' AS DOUBLE)), CAST('NaN' AS DOUBLE))", True), ("array_contains(array(struct(1 AS a)), struct(1 AS a))", True)),
    composed("array_position", "arrays", "array_position(a, x)", "Where x stands first, from 1, as bigint; 0 when nowhere, NULL when a or x is NULL.",
       ("array_position(array('a', 'b', 'b'), 'b')", 2), ("array_position(array('a'), 'z')", 0), ("array_position(array(NULL, 1), 1)", 2), ("array_position(array(1), NULL)", None)),
    composed("array_append", "arrays", "array_append(a, x)", "With one more element at the end.", ("array_append(array(1), 2)", [1, 2]), ("array_append(array(1), NULL)", [1, None])),
    composed("array_prepend", "arrays", "array_prepend(a, x)", "With one more element at the front.", ("array_prepend(array(2), 1)", [1, 2])),
    composed("array_insert", "arrays", "array_insert(a, i, x)", "With x at a constant position from 1, filled up with NULL; from the end when negative.",
       ("array_insert(array('a', 'c'), 2, 'b')", ["a", "b", "c"]), ("array_insert(array('a'), 4, 'd')", ["a", None, None, "d"]), ("array_insert(array('a', 'c'), -1, 'z')", ["a", "c", "z"])),
    composed("array_remove", "arrays", "array_remove(a, x)", "Without the elements that equal x; NULL when x is NULL. NULL elements stay.",
       ("array_remove(array(1, 2, 1, NULL), 1)", [2, None]), ("array_remove(array(1), NULL)", None)),
    composed("array_compact", "arrays", "array_compact(a)", "Without NULL elements.", ("array_compact(array(1, NULL, 2))", [1, 2]), ("array_compact(array(NULL))", [])),
    scalar("array_distinct", "arrays", "array_distinct(a)", "Each value once, where it stood first; NULL counts as one value.",
       ("array_distinct(array(2, 1, 2, NULL, NULL))", [2, 1, None]), ("array_distinct(array(0.0e0, -0.0e0, CAST('NaN' AS DOUBLE)))[0] = 0", True),
       ("size(array_distinct(array(0.0e0, -0.0e0)))", 1)),
    composed("array_union", "arrays", "array_union(a, b)", "The different elements of both, in order.", ("array_union(array(1, 2, 2), array(3, 1))", [1, 2, 3]), ("array_union(array(1), NULL)", None)),
    composed("array_intersect", "arrays", "array_intersect(a, b)", "The different elements of a that are in b too; NULL equals NULL here.",
       ("array_intersect(array(3, 1, 1, NULL), array(1, NULL, 2))", [1, None]), ("array_intersect(array(1), NULL)", None)),
    composed("array_except", "arrays", "array_except(a, b)", "The different elements of a that are not in b; NULL equals NULL here.",
       ("array_except(array(3, 1, 3, NULL), array(1))", [3, None]), ("array_except(array(1, NULL), array(NULL))", [1])),
    composed("arrays_overlap", "arrays", "arrays_overlap(a, b)", "Both have an element in common; NULL when none is found and both have elements and one is NULL.",
       ("arrays_overlap(array(1, 2), array(2))", True), ("arrays_overlap(array(1), array(2))", False), ("arrays_overlap(array(1, NULL), array(2))", None),
       ("arrays_overlap(array(1, NULL), array())", False)),
    scalar("array_sort", "arrays", "array_sort(a); sort_array(a)", "In order: text by code point, NaN after all numbers, NULLs last in both directions.",
       ("array_sort(array(3, NULL, 1))", [1, 3, None]), ("sort_array(array('b', 'Z', 'é', 'a'))", ["Z", "a", "b", "é"]),
       ("array_sort(array(CAST('NaN' AS DOUBLE), 1.0e0))[0]", 1.0)),
    composed("sort_array", "arrays", "sort_array(a, ascending)", "In ascending or, with FALSE, in descending order; NULLs are last either way.",
       ("sort_array(array(3, NULL, 1), FALSE)", [3, 1, None]), ("sort_array(array(3, NULL, 1), TRUE)", [1, 3, None])),
    composed("array_max", "arrays", "array_max(a)", "The greatest element that is not NULL.", ("array_max(array(1, 3, NULL, 2))", 3), ("array_max(array())", None), ("array_max(array('a', 'Z'))", "a")),
    composed("array_min", "arrays", "array_min(a)", "The smallest element that is not NULL.", ("array_min(array(NULL, 3, 1))", 1), ("array_min(array(NULL))", None)),
    scalar("array_reverse", "arrays", "reverse(a)", "Elements back to front.", ("reverse(array(1, 2, NULL))", [None, 2, 1])),
    scalar("array_concat", "arrays", "concat(a, b, …); a || b", "One array after the other; NULL when any is NULL.",
       ("concat(array(1), array(2, NULL), array())", [1, 2, None]), ("array('a') || array('b')", ["a", "b"]), ("concat(array(1), CAST(NULL AS ARRAY<INT>))", None)),
    scalar("flatten", "arrays", "flatten(a)", "An array of arrays as one; NULL when one of them is NULL.",
       ("flatten(array(array(1, 2), array(), array(NULL)))", [1, 2, None]), ("flatten(array(array(1), NULL))", None), ("flatten(array(array(array(1))))", [[1]])),
    composed("slice", "arrays", "slice(a, start, length)", "So many elements from a position from 1 (from the end when negative); NULL for position 0 or a negative length.",
       ("slice(array(1, 2, 3, 4), 2, 2)", [2, 3]), ("slice(array(1, 2, 3), -2, 5)", [2, 3]), ("slice(array(1), 5, 1)", []), ("slice(array(1), 0, 1)", None), ("slice(array(1, 2), -3, 1)", [])),
    scalar("sequence", "arrays", "sequence(start, stop); sequence(start, stop, step)",
       "Whole numbers from start to stop, both included, upward or downward; NULL when the step leads away from stop or there would be more than a million.",
       ("sequence(1, 4)", [1, 2, 3, 4]), ("sequence(3, 1)", [3, 2, 1]), ("sequence(1, 6, 2)", [1, 3, 5]), ("sequence(1, 3, -1)", None), ("sequence(5, 5, 0)", [5]), ("sequence(NULL, 2)", None)),
    composed("array_repeat", "arrays", "array_repeat(x, n)", "The value n times; no element for n below 1.", ("array_repeat('a', 3)", ["a", "a", "a"]), ("array_repeat(1, 0)", []), ("array_repeat(NULL, 2)", [None, None])),
    scalar("array_join", "arrays", "array_join(a, separator); array_join(a, separator, for_null)", "The texts of the elements joined by a constant; NULLs are passed over, or replaced by a constant.",
       ("array_join(array('a', NULL, 'b'), '-')", "a-b"), ("array_join(array('a', NULL), ',', '?')", "a,?"), ("array_join(array(1, 2), '')", "12"), ("array_join(array(), ',')", "")),
    scalar("arrays_zip", "arrays", "arrays_zip(a, b, …)", "Structs of the elements at each position, filled up with NULL; fields are called by the columns, or 0, 1, ….",
       ("arrays_zip(array(1, 2), array('a'))", [{"0": 1, "1": "a"}, {"0": 2, "1": None}]), ("arrays_zip(array(), array())", [])),
    # lambdas
    scalar("transform", "lambdas", "transform(a, x -> …); transform(a, (x, i) -> …)", "Every element through a function; i is its position from 0. The function may read columns of the row.",
       ("transform(array(1, NULL, 3), x -> x * 2)", [2, None, 6]), ("transform(array('a', 'b'), (x, i) -> concat(x, CAST(i AS STRING)))", ["a0", "b1"]),
       ("transform(array(1, 2), x -> transform(array(10, 20), y -> x + y))", [[11, 21], [12, 22]]), ("transform(CAST(NULL AS ARRAY<INT>), x -> 1)", None), ("transform(array(), x -> 1)", [])),
    scalar("filter", "lambdas", "filter(a, x -> …); filter(a, (x, i) -> …)", "The elements for which the condition is TRUE.",
       ("filter(array(1, NULL, 3), x -> x > 1)", [3]), ("filter(array('a', 'b', 'c'), (x, i) -> i <> 1)", ["a", "c"]), ("filter(array(1), x -> NULL)", [])),
    scalar("exists", "lambdas", "exists(a, x -> …); any_match(a, x -> …)", "TRUE when the condition is TRUE for one element; otherwise NULL when it is NULL for one.",
       ("exists(array(1, 2), x -> x > 1)", True), ("exists(array(1, NULL), x -> x > 1)", None), ("exists(array(), x -> TRUE)", False)),
    composed("none_match", "lambdas", "none_match(a, x -> …)", "The opposite of exists.", ("none_match(array(1), x -> x > 1)", True), ("none_match(array(1, NULL), x -> x > 1)", None)),
    scalar("forall", "lambdas", "forall(a, x -> …); all_match(a, x -> …)", "FALSE when the condition is FALSE for one element; otherwise NULL when it is NULL for one.",
       ("forall(array(1, 2), x -> x > 0)", True), ("forall(array(1, NULL), x -> x > 0)", None), ("forall(array(0, NULL), x -> x > 0)", False), ("forall(array(), x -> FALSE)", True)),
    scalar("aggregate", "lambdas", "aggregate(a, start, (total, x) -> …); aggregate(a, start, (total, x) -> …, total -> …)", "The elements taken together one by one, from the first.",
       ("aggregate(array(1, 2, 3), 0, (t, x) -> t + x)", 6), ("aggregate(array(1, 2), 0, (t, x) -> t + x, t -> t * 10)", 30),
       ("aggregate(array(), 5, (t, x) -> t + x)", 5), ("aggregate(array(1, NULL), 0, (t, x) -> t + x)", None), ("aggregate(array(1, 2), 0.5e0, (t, x) -> t + x)", 3.5)),
    composed("reduce", "lambdas", "reduce(a, start, (total, x) -> …)", "Another name of aggregate.", ("reduce(array('a', 'b'), '', (t, x) -> t || x)", "ab")),
    composed("zip_with", "lambdas", "zip_with(a, b, (x, y) -> …)", "Elements at the same positions through a function; a shorter array is filled up with NULL.",
       ("zip_with(array(1, 2), array(10, 20), (x, y) -> x + y)", [11, 22]), ("zip_with(array(1), array('a', 'b'), (x, y) -> y)", ["a", "b"])),
    # maps
    scalar("map_from_entries", "maps", "map_from_entries(a)",
       "A map of an array of structs with two fields; of entries with one key the last wins. NULL when a key is NULL.",
       ("map_from_entries(array(struct('k', 1), struct('k', 2)))", [("k", 2)]), ("map_from_entries(array(struct('b', 1), struct('a', NULL)))", [("a", None), ("b", 1)]),
       ("map_from_entries(array(struct('k', 1), NULL))", None)),
    composed("map", "maps", "map(k, v, …)", "A map of keys and values in turn; of equal keys the last wins.",
       ("map('b', 1, 'a', 2)", [("a", 2), ("b", 1)]), ("map('a', 1, 'a', 2)", [("a", 2)]), ("map(CAST(NULL AS STRING), 1)", None), ("map()", [])),
    composed("map_from_arrays", "maps", "map_from_arrays(keys, values)", "A map of two arrays; NULL when they are not equally long.",
       ("map_from_arrays(array('a', 'b'), array(1, NULL))", [("a", 1), ("b", None)]), ("map_from_arrays(array('a'), array(1, 2))", None)),
    composed("map_concat", "maps", "map_concat(m, n, …)", "The entries of all maps; of equal keys the last wins.",
       ("map_concat(map('a', 1), map('a', 2, 'b', 3))", [("a", 2), ("b", 3)])),
    scalar("map_entries", "maps", "map_entries(m)", "The entries as structs of key and value, in order of keys.",
       ("map_entries(map('b', 1, 'a', 2))", [{"key": "a", "value": 2}, {"key": "b", "value": 1}])),
    scalar("map_item", "maps", "m[key]; element_at(m, key)", "The value of a key; NULL when it is not there.", ("map('a', 1, 'b', 2)['b']", 2), ("map('a', 1)['z']", None), ("map(1, 'x')[1]", "x"), ("map('a', 1)[NULL]", None)),
    composed("str_to_map", "maps", "str_to_map(s); str_to_map(s, between_pairs, between_key_and_value)",
       "A map of the pairs in a text, parted by constant texts, `,` and `:` unless others are given. Without the second a value is NULL; of equal keys the last wins.",
       ("str_to_map('a:1,b:2:3,c')", [("a", "1"), ("b", "2:3"), ("c", None)]), ("str_to_map('a=1|a=2', '|', '=')", [("a", "2")]), ("str_to_map('')", [("", None)])),
    composed("map_keys", "maps", "map_keys(m)", "The keys, in order.", ("map_keys(map('b', 1, 'a', 2))", ["a", "b"])),
    composed("map_values", "maps", "map_values(m)", "The values, in order of their keys.", ("map_values(map('b', 1, 'a', 2))", [2, 1])),
    composed("map_contains_key", "maps", "map_contains_key(m, key)", "Whether there is such a key.", ("map_contains_key(map('a', NULL), 'a')", True), ("map_contains_key(map('a', 1), 'b')", False)),
    composed("map_filter", "maps", "map_filter(m, (k, v) -> …)", "The entries for which the condition is TRUE.", ("map_filter(map('a', 1, 'b', 2), (k, v) -> v > 1)", [("b", 2)])),
    composed("transform_values", "maps", "transform_values(m, (k, v) -> …)", "Every value through a function of key and value.", ("transform_values(map('a', 1), (k, v) -> v * 2)", [("a", 2)])),
    composed("transform_keys", "maps", "transform_keys(m, (k, v) -> …)", "Every key through a function; of equal ones the last in order of the old keys wins.",
       ("transform_keys(map('a', 1, 'b', 2), (k, v) -> upper(k))", [("A", 1), ("B", 2)]), ("transform_keys(map('a', 1, 'b', 2), (k, v) -> 'x')", [("x", 2)])),
)  # fmt: skip


def _str_to_map(a: Args) -> Expression:
    """Pairs parted by one text, key and value by another."""
    between, within = (
        constant_text(a[position], "str_to_map's separators") if len(a) > position else Literal(default, STRING)
        for position, default in ((1, ","), (2, ":"))
    )
    if not between.value or not within.value:
        raise refuse(BAD_ARGUMENTS, "The separators of `str_to_map` cannot be empty.")
    patterns = [Literal(_SPECIAL.sub(r"\\\g<0>", str(literal.value)), STRING) for literal in (between, within)]
    split = matching.SIGNATURES["split"][2]

    def entry(pair: Expression) -> Expression:
        parts = split([pair, patterns[1], Literal(2, INT)])
        return struct_of([("key", item(parts, Literal(0, INT))), ("value", item(parts, Literal(1, INT)))])

    pairs = split([text(a[0]), patterns[0]])
    to_entry = lambda_of([STRING], entry, ("p",))
    return map_from_entries(Call("transform", (pairs, to_entry), array(to_entry.type)))


# Functions of other subjects that also take arrays: SQL name → builder, None where the arguments are no arrays.
OVERLOADS: dict[str, Callable[[Args], Expression | None]] = {
    "concat": only_arrays(concatenated),
    "reverse": only_arrays(lambda a: Call("array_reverse", (a[0],), a[0].type)),
}

SIGNATURES: Signatures = {
    "array": (0, None, array_of),
    "named_struct": (2, None, named_struct),
    "get": (2, 2, lambda a: item(a[0], a[1])),
    "element_at": (2, 2, element_at),
    "try_element_at": (2, 2, element_at),
    "size": (1, 1, size_call),
    "cardinality": (1, 1, size_call),
    "array_size": (1, 1, size_call),
    "array_contains": (2, 2, array_contains),
    "array_position": (2, 2, array_position),
    "array_append": (2, 2, appended("array_append", front=False)),
    "array_prepend": (2, 2, appended("array_prepend", front=True)),
    "array_insert": (3, 3, array_insert),
    "array_remove": (2, 2, array_remove),
    "array_compact": (1, 1, array_compact),
    "array_distinct": (1, 1, lambda a: distinct(array_argument(a[0], "array_distinct")[0], "array_distinct")),
    "array_union": (2, 2, array_union),
    "array_intersect": (2, 2, array_intersect),
    "array_except": (2, 2, array_except),
    "arrays_overlap": (2, 2, arrays_overlap),
    "sort_array": (1, 2, array_sort),
    "array_max": (1, 1, extreme(greatest=True)),
    "array_min": (1, 1, extreme(greatest=False)),
    "flatten": (1, 1, flatten_call),
    "slice": (3, 3, slice_call),
    "sequence": (2, 3, sequence_call),
    "array_repeat": (2, 2, array_repeat),
    "array_join": (2, 3, array_join),
    "map": (0, None, map_call),
    "map_from_entries": (1, 1, lambda a: map_from_entries(a[0])),
    "map_from_arrays": (2, 2, map_from_arrays),
    "map_entries": (1, 1, lambda a: map_entries(a[0])),
    "map_keys": (1, 1, map_keys),
    "map_values": (1, 1, part_of_entries("value")),
    "map_contains_key": (2, 2, map_contains_key),
    "map_concat": (1, None, map_concat),
    "str_to_map": (1, 3, _str_to_map),
}
