"""Text functions count and compare code points."""

from lakelogic.sql.expressions import Column, Literal, call, text
from lakelogic.sql.types import BOOLEAN, INT, STRING

X = Column("x", STRING)


def n(value):
    return Literal(value, INT)


def test_case_follows_unicode(meaning):
    lower = [("ÀB", "àb"), ("İ", "i̇"), ("ΑΣ", "ας"), ("ΣΑ", "σα"), ("ẞ", "ß"), ("", ""), (None, None)]
    meaning.maps(STRING, call("lower", X, type=STRING), lower)
    meaning.maps(
        STRING,
        call("upper", X, type=STRING),
        [("àb", "ÀB"), ("straße", "STRASSE"), ("ﬁ", "FI"), ("ŉ", "ʼN"), ("ı", "I")],
    )


def test_trim_takes_spaces_only(meaning):
    outputs = {name: call(name, X, type=STRING) for name in ("trim", "ltrim", "rtrim")}
    given = ["  a b ", "\t a", "\u00a0a ", "   ", None]
    found = meaning.rows({"x": (STRING, given)}, outputs)
    assert [row["trim"] for row in found] == ["a b", "\t a", "\u00a0a", "", None]
    assert [row["ltrim"] for row in found] == ["a b ", "\t a", "\u00a0a ", "", None]
    assert [row["rtrim"] for row in found] == ["  a b", "\t a", "\u00a0a", "", None]


def test_lengths_and_parts_are_in_code_points(meaning):
    outputs = {
        "length": call("length", X, type=INT),
        "from2": call("substring", X, n(2), type=STRING),
        "two": call("substring", X, n(2), n(2), type=STRING),
        "nothing": call("substring", X, n(1), n(0), type=STRING),
        "left": call("left", X, n(2), type=STRING),
        "right": call("right", X, n(2), type=STRING),
        "none": call("right", X, n(0), type=STRING),
        "reverse": call("reverse", X, type=STRING),
    }
    given = ["abcdef", "aß😀", "e\u0301a", "", None]
    found = meaning.rows({"x": (STRING, given)}, outputs)
    assert [row["length"] for row in found] == [6, 3, 3, 0, None]
    assert [row["from2"] for row in found] == ["bcdef", "ß😀", "\u0301a", "", None]
    assert [row["two"] for row in found] == ["bc", "ß😀", "\u0301a", "", None]
    assert [row["nothing"] for row in found] == ["", "", "", "", None]
    assert [row["left"] for row in found] == ["ab", "aß", "e\u0301", "", None]
    assert [row["right"] for row in found] == ["ef", "ß😀", "\u0301a", "", None]
    assert [row["none"] for row in found] == ["", "", "", "", None]
    assert [row["reverse"] for row in found] == ["fedcba", "😀ßa", "a\u0301e", "", None]


def test_concat_is_null_with_a_null_and_concat_ws_passes_over_it(meaning):
    y = Column("y", STRING)
    found = meaning.rows(
        {"x": (STRING, ["a", None, "", None]), "y": (STRING, ["b", "b", "c", None])},
        {
            "concat": call("concat", X, text("-"), y, type=STRING),
            "ws": call("concat_ws", text(", "), X, y, type=STRING),
        },
    )
    assert [row["concat"] for row in found] == ["a-b", None, "-c", None]
    assert [row["ws"] for row in found] == ["a, b", "b", ", c", ""]


def test_replace_is_literal(meaning):
    meaning.maps(
        STRING,
        call("replace", X, text("."), text("$1"), type=STRING),
        [("a.b.c", "a$1b$1c"), ("abc", "abc"), (None, None)],
    )
    meaning.maps(STRING, call("replace", X, text(""), text("x"), type=STRING), [("abc", "abc")])
    meaning.maps(STRING, call("replace", X, text("'"), text('"'), type=STRING), [("O'Brien", 'O"Brien')])


def test_starts_ends_contains(meaning):
    y = Column("y", STRING)
    outputs = {name: call(name, X, y) for name in ("starts_with", "ends_with", "contains")}
    found = meaning.rows(
        {"x": (STRING, ["abc", "abc", "a.c", "abc", None, "abc"]), "y": (STRING, ["ab", "bc", ".", "", "a", None])},
        outputs,
    )
    assert [row["starts_with"] for row in found] == [True, False, False, True, None, None]
    assert [row["ends_with"] for row in found] == [False, True, False, True, None, None]
    assert [row["contains"] for row in found] == [True, True, True, True, None, None]


def test_like(meaning):
    cases = {
        "%@%.%": [("a@b.c", True), ("a.b@c", False), ("@.", True), ("a\n@\n.", True), ("", False), (None, None)],
        "a_": [("ab", True), ("a", False), ("abc", False), ("a😀", True), ("a\n", True)],
        "a\\%": [("a%", True), ("ab", False), ("a\\%", False)],
        "a\\_b": [("a_b", True), ("axb", False)],
        "a\\\\b": [("a\\b", True), ("ab", False)],
        "a%": [("abc", True), ("a", True), ("Abc", False), ("ba", False), ("a\n", True)],
        "%c": [("abc", True), ("abc\n", False), ("c", True)],
        "%b%": [("abc", True), ("ac", False), ("\nb\n", True)],
        "a.c": [("a.c", True), ("abc", False)],
        "(a|b)*": [("(a|b)*", True), ("a", False)],
        "": [("", True), ("a", False)],
        "%": [("", True), ("a\nb", True), (None, None)],
        "_": [("", False), ("é", True), ("e\u0301", False)],
        "O'B%": [("O'Brien", True), ("OBrien", False)],
        # More texts than are looked for one by one; a text that is there once cannot be found twice.
        "%a%b%c%d%a%f": [("xaxbxcxdxaxf", True), ("abcdaf", True), ("abcdf", False), ("abcdaf\n", False), (None, None)],
        "a%b_%c%d%e%%é.": [("abxcdeé.", True), ("ab\ncdexxé.", True), ("abcdeé.", False), ("abxcdeéx", False)],
        "%aa%aa%aa%aa%aa%": [("a" * 10, True), ("a" * 9, False)],
    }
    wrong = []
    for pattern, pairs in cases.items():
        found = meaning.column(STRING, [given for given, _ in pairs], call("like", X, text(pattern)))
        wrong += [
            (pattern, given, value) for (given, want), value in zip(pairs, found, strict=True) if value is not want
        ]
    assert not wrong


def test_ilike(meaning):
    meaning.maps(
        STRING,
        call("ilike", X, text("É%_")),
        [("éa", True), ("ÉcoleX", True), ("é", False), ("eab", False), (None, None)],
    )
    meaning.maps(STRING, call("ilike", X, text("%A%b%É%")), [("xaxBxé", True), ("AÉb", False), (None, None)])


def test_a_like_with_many_texts_ends_in_time(meaning):
    """Java would try every place of each `a` with every place of all others."""
    pattern = "%a" * 30 + "%b"
    assert meaning.column(STRING, ["a" * 3000], call("like", X, text(pattern))) == [False]
    assert meaning.column(STRING, ["a" * 3000 + "b"], call("ilike", X, text(pattern))) == [True]


def test_regular_expressions_end_at_the_end_of_the_text(meaning):
    cases = {
        "b": [("abc", True), ("ac", False), (None, None)],
        "^b": [("abc", False), ("bc", True), ("a\nb", False)],
        "c$": [("abc", True), ("abc\n", False), ("c\nd", False), ("abc\r", False)],
        r"^\d+$": [("123", True), ("٣", False), ("12 ", False), ("", False)],
        r"^\w+$": [("a_1", True), ("é", False)],
        r"^\S+@\S+$": [("a@b", True), ("a @b", False)],
        r"a.c": [("abc", True), ("a\nc", False), ("a😀c", True)],
        r"^[^\d]+$": [("abc", True), ("a1", False)],
        r"^[\w.-]+$": [("a.b-c", True), ("a b", False)],
        r"(?i)^abc$": [("ABC", True), ("abd", False)],
        r"^[a-z]{2,3}$": [("ab", True), ("abcd", False)],
        r"\bcat\b": [("a cat.", True), ("concat", False)],
        r"^\p{L}+$": [("éß", True), ("a1", False)],
        r"it's": [("it's", True), ("its", False)],
        r"^(?:a|b)+$": [("abab", True), ("abc", False)],
        r"[[:digit:]]": [("a1", True), ("ab", False)],
        r"^[a&&b]+$": [("a&b", True), ("c", False)],
        r"\.": [("a.b", True), ("ab", False)],
        "": [("", True), ("a", True)],
    }
    wrong = []
    for pattern, pairs in cases.items():
        found = meaning.column(STRING, [given for given, _ in pairs], call("matches", X, text(pattern)))
        wrong += [
            (pattern, given, value) for (given, want), value in zip(pairs, found, strict=True) if value is not want
        ]
    assert not wrong


def test_regexp_replace_puts_groups_where_the_new_text_names_them(meaning):
    digits = call("regexp_replace", X, text("[0-9]+"), text("#"), type=STRING)
    meaning.maps(STRING, digits, [("a1b22", "a#b#"), ("abc", "abc"), ("", ""), (None, None)])
    swapped = call("regexp_replace", X, text("(b)(c)?"), text(r"<$2$1$10\$1\\>"), type=STRING)
    meaning.maps(STRING, swapped, [("abc", "a<cbb0$1\\>"), ("ab", "a<bb0$1\\>"), ("a", "a")])
    named = call("regexp_replace", X, text("(?P<first>[a-z])(?<second>[0-9])"), text("${second}${first}"), type=STRING)
    meaning.maps(STRING, named, [("a1b2c", "1a2bc")])
    end = call("regexp_replace", X, text("c$"), text("!"), type=STRING)
    meaning.maps(STRING, end, [("abc", "ab!"), ("abc\n", "abc\n")])


def test_padding_fills_or_cuts(meaning):
    left, right = (call(name, X, n(5), text("ab"), type=STRING) for name in ("lpad", "rpad"))
    meaning.maps(
        STRING,
        left,
        [
            ("7", "abab7"),
            ("12345", "12345"),
            ("1234567", "12345"),
            ("", "ababa"),
            ("e\u0301😀", "abe\u0301😀"),
            (None, None),
        ],
    )
    meaning.maps(STRING, right, [("7", "7abab"), ("1234567", "12345"), ("😀", "😀abab"), (None, None)])
    meaning.maps(STRING, call("lpad", X, n(0), text("x"), type=STRING), [("abc", "")])


def test_hashes_are_of_the_utf8_bytes(meaning):
    meaning.maps(
        STRING,
        call("md5", X, type=STRING),
        [("a", "0cc175b9c0f1b6a831c399e269772661"), ("é", "66ddcd97cfdeabb2f6fb8a999b4bc76f"), (None, None)],
    )
    meaning.maps(
        STRING,
        call("sha256", X, type=STRING),
        [
            ("a", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (None, None),
        ],
    )


def test_a_predicate_is_a_boolean(meaning):
    assert meaning.column(STRING, ["a"], call("like", X, text("a"), type=BOOLEAN)) == [True]
