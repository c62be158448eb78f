"""How calls over arrays, maps and structs are built: few functions of the engines' own, the rest in terms of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakelogic.sql.arguments import Args, Builder, bounded, constant, constant_text, refuse
from lakelogic.sql.coerce import column_type, common, in_one_column, text
from lakelogic.sql.expressions import Call, Expression, Lambda, Literal, call, convert
from lakelogic.sql.expressions import text as text_literal
from lakelogic.sql.lambdas import lambda_of
from lakelogic.sql.problems import BAD_ARGUMENTS, BAD_TYPES
from lakelogic.sql.types import BIGINT, BOOLEAN, INT, NULL, STRING, Type, array, map_of, struct

# arguments


def array_argument(value: Expression, name: str) -> tuple[Expression, Type]:
    """An array and the type of its elements; a bare NULL is an array of nothing known."""
    if value.type.kind == "null":
        return convert(value, array(NULL)), NULL
    if value.type.kind != "array" or value.type.element is None:
        raise refuse(BAD_TYPES, f"`{name}` needs an array, not {value.type}.")
    return value, value.type.element


def map_argument(value: Expression, name: str) -> tuple[Expression, Type, Type]:
    """A map and the types of its keys and values."""
    if value.type.kind != "map" or value.type.key is None or value.type.element is None:
        raise refuse(BAD_TYPES, f"`{name}` needs a map, not {value.type}.")
    return value, value.type.key, value.type.element


def _whole(value: Expression, what: str) -> Expression:
    if value.type.kind == "null":
        return Literal(None, INT)
    if not value.type.is_integer:
        raise refuse(BAD_TYPES, f"{what} must be a whole number, not {value.type}.")
    return value


def _comparable(type_: Type, name: str) -> None:
    if not type_.is_comparable:
        raise refuse(BAD_TYPES, f"`{name}` compares elements, and a {type_} cannot be compared.")


def _shared(
    value: Expression, wanted: Expression, name: str, *, compared: bool = False
) -> tuple[Expression, Expression, Type]:
    """An array and a value in the type that the elements and the value share."""
    values, element = array_argument(value, name)
    type_ = common(element, wanted.type) if compared else column_type(element, wanted.type)
    if type_ is None:
        raise refuse(BAD_TYPES, f"`{name}`: {values.type} has no {wanted.type} in it.", "cast one of them")
    return convert(values, array(type_)), convert(wanted, type_), type_


def _arrays(values: Args, name: str) -> tuple[tuple[Expression, ...], Type]:
    arrays, type_ = in_one_column([array_argument(value, name)[0] for value in values], f"{name}:")
    assert type_.element is not None
    return arrays, type_.element


def _or_null(value: Expression, *inputs: Expression) -> Expression:
    """The value, NULL when one of the inputs is."""
    missing: Expression | None = None
    for input_value in inputs:
        test = call("is_null", input_value)
        missing = test if missing is None else call("or", missing, test)
    assert missing is not None
    return Call("case", (missing, Literal(None, value.type), value), value.type)


# structs and arrays


def struct_of(pairs: Sequence[tuple[str, Expression]]) -> Expression:
    """A struct of named values."""
    try:
        type_ = struct(*((name, value.type) for name, value in pairs))
    except ValueError as error:
        raise refuse(BAD_ARGUMENTS, f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    if not pairs:
        raise refuse(BAD_ARGUMENTS, "A struct needs at least one field.")
    args = [part for name, value in pairs for part in (text_literal(name), value)]
    return Call("struct", tuple(args), type_)


def named_struct(a: Args) -> Expression:
    """A struct of names and values in turn."""
    if len(a) % 2:
        raise refuse(BAD_ARGUMENTS, "`named_struct` takes names and values in turn.")
    names = [str(constant_text(name, "the name of a field").value) for name in a[::2]]
    return struct_of(list(zip(names, a[1::2], strict=True)))


def field(value: Expression, name: str) -> Expression:
    """A field of a struct, by its exact name."""
    return Call("field", (value, text_literal(name)), dict(value.type.fields)[name])


def array_of(values: Sequence[Expression]) -> Expression:
    """An array of values in the type they share."""
    if not values:
        return Call("array", (), array(NULL))
    items, type_ = in_one_column(values, "array:")
    return Call("array", tuple(items), array(type_))


def item(value: Expression, position: Expression) -> Expression:
    """The element at a position from 0."""
    array_value, element = array_argument(value, "[…]")
    return Call("item", (array_value, _whole(position, "A position")), element)


def size(value: Expression) -> Expression:
    """How many elements."""
    return Call("size", (value,), INT)


def size_call(a: Args) -> Expression:
    """How many elements or entries."""
    if a[0].type.kind != "map":
        array_argument(a[0], "size")
    return Literal(None, INT) if a[0].type.kind == "null" else size(a[0])


def _plus(left: Expression, right: int) -> Expression:
    return Call("add", (convert(left, BIGINT), Literal(right, BIGINT)), BIGINT)


def element_at(a: Args) -> Expression:
    """The element at a position from 1 or from the end, or a map's value."""
    if a[0].type.kind == "map":
        return map_item(a[0], a[1])
    value, _ = array_argument(a[0], "element_at")
    position = _whole(a[1], "A position")
    from_end = Call("add", (convert(size(value), BIGINT), convert(position, BIGINT)), BIGINT)
    if isinstance(position, Literal) and isinstance(position.value, int):
        if position.value == 0:
            return Literal(None, item(value, position).type)
        return item(value, from_end if position.value < 0 else Literal(position.value - 1, INT))
    zero = Literal(0, BIGINT)
    wide = convert(position, BIGINT)
    branches = (call("gt", wide, zero), _plus(wide, -1), call("lt", wide, zero), from_end, Literal(None, BIGINT))
    return item(value, Call("case", branches, BIGINT))


def array_contains(a: Args) -> Expression:
    """Whether an element equals a value."""
    value, wanted, type_ = _shared(a[0], a[1], "array_contains", compared=True)
    _comparable(type_, "array_contains")
    return call("array_contains", value, wanted)


def array_position(a: Args) -> Expression:
    """Where a value stands first, from 1."""
    value, wanted, type_ = _shared(a[0], a[1], "array_position", compared=True)
    _comparable(type_, "array_position")
    here = lambda_of(
        [type_, INT],
        lambda x, i: Call("case", (call("eq", x, wanted), _plus(i, 1), Literal(None, BIGINT)), BIGINT),
        ("x", "i"),
    )
    places = _compacted(Call("transform", (value, here), array(BIGINT)))
    first = Call("coalesce", (item(places, Literal(0, INT)), Literal(0, BIGINT)), BIGINT)
    return _or_null(first, value, wanted)


def _compacted(value: Expression) -> Expression:
    assert value.type.element is not None
    present = lambda_of([value.type.element], lambda x: call("not", call("is_null", x)))
    return Call("filter", (value, present), value.type)


def array_compact(a: Args) -> Expression:
    """Without NULLs."""
    return _compacted(array_argument(a[0], "array_compact")[0])


def appended(name: str, *, front: bool) -> Builder:
    """With one more element at one end."""

    def build(a: Args) -> Expression:
        value, added, _ = _shared(a[0], a[1], name)
        added_array = array_of([added])
        return concatenated([added_array, value] if front else [value, added_array])

    return build


def array_insert(a: Args) -> Expression:
    """With one more element at a constant position."""
    value, added, type_ = _shared(a[0], a[2], "array_insert")
    place = constant(a[1], "array_insert's position")
    if not isinstance(place, int) or place == 0 or abs(place) > 10_000:
        raise refuse(BAD_ARGUMENTS, "The position in `array_insert` is a whole number other than 0, up to 10000.")
    added_array = array_of([added])
    count, first = size(value), Literal(1, INT)
    nothing = Literal(None, type_)
    if place > 0:
        before = slice_of(value, first, Literal(place - 1, INT))
        filled = _repeated(nothing, Call("subtract", (Literal(place - 1, BIGINT), convert(count, BIGINT)), BIGINT))
        return concatenated([before, filled, added_array, slice_of(value, Literal(place, INT), count)])
    head = Call("add", (convert(count, BIGINT), Literal(place + 1, BIGINT)), BIGINT)
    before = Call("coalesce", (slice_of(value, first, head), Call("array", (), value.type)), value.type)
    filled = _repeated(nothing, Call("subtract", (Literal(-place - 1, BIGINT), convert(count, BIGINT)), BIGINT))
    after = filter_by_position(value, lambda i: call("ge", convert(i, BIGINT), head))
    return _or_null(concatenated([before, added_array, filled, after]), value)


def array_remove(a: Args) -> Expression:
    """Without the elements that equal a value."""
    value, wanted, type_ = _shared(a[0], a[1], "array_remove")
    _comparable(type_, "array_remove")
    kept = lambda_of([type_], lambda x: call("not", call("same", x, wanted)))
    return _or_null(Call("filter", (value, kept), value.type), wanted)


def distinct(value: Expression, name: str) -> Expression:
    """Each value once."""
    assert value.type.element is not None
    _comparable(value.type.element, name)
    return Call("array_distinct", (value,), value.type)


def array_union(a: Args) -> Expression:
    """The different elements of both."""
    values, _ = _arrays(a, "array_union")
    return distinct(concatenated(values), "array_union")


def _found_in(other: Expression, type_: Type, *, same: bool) -> Callable[[Expression], Expression]:
    equal = "same" if same else "eq"
    return lambda x: call("exists", other, lambda_of([type_], lambda y: call(equal, x, y), ("y",)))


def array_intersect(a: Args) -> Expression:
    """The different elements that both have."""
    (left, right), type_ = _arrays(a, "array_intersect")
    kept = lambda_of([type_], _found_in(right, type_, same=True))
    return _or_null(distinct(Call("filter", (left, kept), left.type), "array_intersect"), right)


def array_except(a: Args) -> Expression:
    """The different elements that only the first has."""
    (left, right), type_ = _arrays(a, "array_except")
    is_in = _found_in(right, type_, same=True)
    kept = lambda_of([type_], lambda x: call("not", is_in(x)))
    return _or_null(distinct(Call("filter", (left, kept), left.type), "array_except"), right)


def arrays_overlap(a: Args) -> Expression:
    """Whether both have an element in common."""
    (left, right), type_ = _arrays(a, "arrays_overlap")
    _comparable(type_, "arrays_overlap")
    return _or_null(call("exists", left, lambda_of([type_], _found_in(right, type_, same=False))), right)


def array_sort(a: Args) -> Expression:
    """The elements in order, or in descending order."""
    value, element = array_argument(a[0], "array_sort")
    if element.is_nested or element.kind == "json":
        raise refuse(
            BAD_TYPES, f"`array_sort` cannot order elements of {element}.", "order one of their fields: a.name"
        )
    down = False
    if len(a) > 1:
        direction = constant(a[1], "sort_array's direction")
        if not isinstance(direction, bool):
            raise refuse(BAD_ARGUMENTS, "The direction in `sort_array` is TRUE (ascending) or FALSE.")
        down = not direction
    return Call("array_sort", (value, Literal(down, BOOLEAN)), value.type)


def extreme(*, greatest: bool) -> Builder:
    """The greatest or the smallest element."""
    return lambda a: item(array_sort([a[0], Literal(not greatest, BOOLEAN)]), Literal(0, INT))


def concatenated(values: Sequence[Expression]) -> Expression:
    """Arrays one after the other."""
    arrays, _ = _arrays(values, "concat")
    return arrays[0] if len(arrays) == 1 else Call("array_concat", tuple(arrays), arrays[0].type)


def flatten_call(a: Args) -> Expression:
    """An array of arrays as one."""
    value, element = array_argument(a[0], "flatten")
    if element.kind == "null":
        return Call("flatten", (convert(value, array(array(NULL))),), array(NULL))
    if element.kind != "array":
        raise refuse(BAD_TYPES, f"`flatten` needs an array of arrays, not {value.type}.")
    return Call("flatten", (value,), element)


def filter_by_position(value: Expression, keep: Callable[[Expression], Expression]) -> Expression:
    """The elements whose position from 0 fulfils a condition."""
    assert value.type.element is not None
    kept = lambda_of([value.type.element, INT], lambda _x, i: keep(i), ("x", "i"))
    return Call("filter", (value, kept), value.type)


def slice_of(value: Expression, start: Expression, length: Expression) -> Expression:
    """A part of an array."""
    begin, many = convert(start, BIGINT), convert(length, BIGINT)
    zero = Literal(0, BIGINT)
    from_end = Call("add", (convert(size(value), BIGINT), begin), BIGINT)
    if isinstance(start, Literal) and isinstance(start.value, int) and start.value > 0:
        first: Expression = Literal(start.value - 1, BIGINT)
    else:
        branches = (call("gt", begin, zero), _plus(begin, -1), call("lt", begin, zero), from_end, Literal(None, BIGINT))
        first = Call("case", branches, BIGINT)
    end = Call("add", (first, many), BIGINT)

    def inside(i: Expression) -> Expression:
        place = convert(i, BIGINT)
        return call("and", call("ge", place, first), call("and", call("lt", place, end), call("ge", first, zero)))

    part = filter_by_position(value, inside)
    wrong = call("or", call("or", call("eq", begin, zero), call("lt", many, zero)), call("is_null", end))
    return Call("case", (wrong, Literal(None, part.type), part), part.type)


def slice_call(a: Args) -> Expression:
    """So many elements from a position."""
    value, _ = array_argument(a[0], "slice")
    return slice_of(value, _whole(a[1], "slice's start"), _whole(a[2], "slice's length"))


def sequence_call(a: Args) -> Expression:
    """Whole numbers from one to another."""
    values = [convert(_whole(value, "A bound of `sequence`"), BIGINT) for value in a]
    if len(values) == 2:
        down = call("gt", values[0], values[1])
        values.append(Call("case", (down, Literal(-1, BIGINT), Literal(1, BIGINT)), BIGINT))
    types = {value.type.kind for value in a if value.type.kind != "null"}
    element = INT if types <= {"tinyint", "smallint", "int"} else BIGINT
    return Call("sequence", tuple(values), array(element))


def _repeated(value: Expression, count: Expression) -> Expression:
    wide = convert(count, BIGINT)
    numbers = Call("sequence", (Literal(1, BIGINT), wide, Literal(1, BIGINT)), array(BIGINT))
    same = Call("transform", (numbers, lambda_of([BIGINT], lambda _x: value)), array(value.type))
    none = Call("array", (), array(value.type))
    return Call("case", (call("lt", wide, Literal(1, BIGINT)), none, same), array(value.type))


def array_repeat(a: Args) -> Expression:
    """A value so many times."""
    return _repeated(a[0], bounded(_whole(a[1], "array_repeat's count"), "array_repeat's count"))


def array_join(a: Args) -> Expression:
    """The texts of the elements, joined."""
    value, element = array_argument(a[0], "array_join")
    separator = constant_text(a[1], "array_join's separator")
    texts: Expression = value
    if not element.is_text or len(a) > 2:
        filler = constant_text(a[2], "array_join's text for NULL") if len(a) > 2 else None

        def body(x: Expression) -> Expression:
            return text(x) if filler is None else Call("coalesce", (convert(x, STRING), filler), STRING)

        texts = Call("transform", (value, lambda_of([element], body)), array(STRING))
    return Call("array_join", (texts, separator), STRING)


# maps


def map_item(value: Expression, key: Expression) -> Expression:
    """The value of a key."""
    map_value, key_type, element = map_argument(value, "[…]")
    if common(key_type, key.type) != key_type:
        raise refuse(BAD_TYPES, f"The keys of the map are {key_type}, not {key.type}.", "cast the key")
    return Call("map_item", (map_value, convert(key, key_type)), element)


def map_entries(value: Expression) -> Expression:
    """The entries of a map in order of their keys."""
    map_value, key, element = map_argument(value, "map_entries")
    return Call("map_entries", (map_value,), array(struct(("key", key), ("value", element))))


def map_from_entries(entries: Expression) -> Expression:
    """A map of structs with two fields."""
    element = entries.type.element
    if entries.type.kind != "array" or element is None or element.kind != "struct" or len(element.fields) != 2:
        raise refuse(BAD_TYPES, f"`map_from_entries` needs an array of structs with two fields, not {entries.type}.")
    (_, key), (_, value) = element.fields
    key = STRING if key.kind == "null" else key
    try:
        type_ = map_of(key, value)
    except ValueError as error:
        raise refuse(BAD_TYPES, f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    entry = struct(("key", key), ("value", value))
    if element != entry:
        names = [name for name, _ in element.fields]
        renamed = lambda_of(
            [element],
            lambda e: _or_null(
                struct_of([("key", convert(field(e, names[0]), key)), ("value", field(e, names[1]))]), e
            ),
            ("e",),
        )
        entries = Call("transform", (entries, renamed), array(entry))
    return Call("map_from_entries", (entries,), type_)


def map_call(a: Args) -> Expression:
    """A map of keys and values in turn."""
    if len(a) % 2:
        raise refuse(BAD_ARGUMENTS, "`map` takes keys and values in turn.")
    if not a:
        nothing = Call("array", (), array(struct(("key", STRING), ("value", NULL))))
        return Call("map_from_entries", (nothing,), map_of(STRING, NULL))
    keys, _ = in_one_column(a[::2], "map's keys:")
    values, _ = in_one_column(a[1::2], "map's values:")
    pairs = [struct_of([("key", key), ("value", value)]) for key, value in zip(keys, values, strict=True)]
    return map_from_entries(array_of(pairs))


def map_from_arrays(a: Args) -> Expression:
    """A map of an array of keys and one of values."""
    keys, key = array_argument(a[0], "map_from_arrays")
    values, value = array_argument(a[1], "map_from_arrays")
    pairs = Call("arrays_zip", (keys, values), array(struct(("key", key), ("value", value))))
    result = map_from_entries(pairs)
    return Call("case", (call("ne", size(keys), size(values)), Literal(None, result.type), result), result.type)


def map_concat(a: Args) -> Expression:
    """The entries of several maps."""
    values, _ = in_one_column(a, "map_concat:")
    return map_from_entries(concatenated([map_entries(value) for value in values]))


def part_of_entries(part: str) -> Builder:
    """The keys or the values of a map, in order of the keys."""

    def build(a: Args) -> Expression:
        entries = map_entries(a[0])
        assert entries.type.element is not None
        part_of_entry: Lambda = lambda_of([entries.type.element], lambda e: field(e, part), ("e",))
        return Call("transform", (entries, part_of_entry), array(part_of_entry.type))

    return build


map_keys = part_of_entries("key")


def map_contains_key(a: Args) -> Expression:
    """Whether there is such a key."""
    return array_contains([map_keys(a[:1]), a[1]])


def only_arrays(build: Callable[[Args], Expression]) -> Callable[[Args], Expression | None]:
    """A meaning for arrays of a function that has another one for text."""
    return lambda a: build(a) if any(value.type.kind == "array" for value in a) else None
