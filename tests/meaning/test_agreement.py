"""DuckDB and Polars agree on thousands of made-up values, hostile ones among them."""

import random
import struct
from decimal import Decimal

import pytest

from lakelogic.engines.registry import load
from lakelogic.sql.expressions import Column, Literal, call, convert, text
from lakelogic.sql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    decimal,
)

ALPHABET = "aAbB éÉßİΣσςﬁ😀\u0301\n\t\r%_\\.'\"$ŉı\u00a0K0"
LIKES = ["%a%", "a_%", "_", "%\\%%", "a%b", "é%", "%\n%", "\\\\%", "%'%"]
PATTERNS = [
    "^a", "b$", "^[^a]*$", r"\w", r"\s+$", r"\bA", "(?i)é", r"[\d\s]", r"\W\w", "^.$", r"\p{Lu}", r".\z", r"[^\w]", r"\S{3}",
]  # fmt: skip


@pytest.fixture(scope="module")
def both(request):
    """The evaluators of the two engines."""
    return load("duckdb"), load("polars")


@pytest.fixture
def agree(both, meaning_class, same):
    """Both engines give the same values."""

    def check(type_, values, outputs):
        one, two = (meaning_class(engine).rows({"x": (type_, values)}, outputs) for engine in both)
        wrong = [
            f"{name} of {value!r}: duckdb {left[name]!r}, polars {right[name]!r}"
            for value, left, right in zip(values, one, two, strict=True)
            for name in outputs
            if not same(left[name], right[name])
        ]
        assert not wrong, wrong[:10]

    return check


def number_text(generator):
    return "".join(generator.choice("0123456789" * 3 + "+-.eE \t") for _ in range(generator.randint(0, 9)))


def time_text(generator):
    year = generator.choice([0, 1, 2, 1969, 2023, 2024, 9998, 9999])
    made = f"{year:04d}-{generator.randint(0, 13):02d}-{generator.randint(0, 32):02d}"
    if generator.random() < 0.2:
        made = made.replace("-", "")
    if generator.random() < 0.7:
        made += generator.choice("T ") + f"{generator.randint(0, 25):02d}:{generator.randint(0, 61):02d}"
    if generator.random() < 0.6:
        made += f":{generator.randint(0, 61):02d}"
    if generator.random() < 0.3:
        made += "." + str(generator.randint(0, 99999999))
    if generator.random() < 0.5:
        made += generator.choice(["Z", "+02:00", "-05:30", "+0200", "+02", "+14:00", "-18:59", " Z", "+2"])
    if generator.random() < 0.1:
        place = generator.randrange(len(made))
        made = made[:place] + generator.choice("0123456789+-. eE:TZ") + made[place + 1 :]
    return made


def test_text_is_converted_alike(agree):
    generator = random.Random(11)
    values = [number_text(generator) for _ in range(3000)] + [time_text(generator) for _ in range(4000)]
    types = [
        TINYINT,
        INT,
        BIGINT,
        FLOAT,
        DOUBLE,
        decimal(5, 2),
        decimal(38, 18),
        BOOLEAN,
        DATE,
        TIMESTAMP,
        TIMESTAMP_NTZ,
    ]
    agree(STRING, values, {str(type_): convert(Column("x", STRING), type_) for type_ in types})


def test_doubles_are_converted_and_rounded_alike(agree):
    generator, x = random.Random(12), Column("x", DOUBLE)
    values = [struct.unpack("d", generator.randbytes(8))[0] for _ in range(2000)]
    values += [round(generator.uniform(-1e4, 1e4), generator.randint(0, 4)) for _ in range(3000)]
    outputs = {str(t): convert(x, t) for t in (INT, BIGINT, FLOAT, STRING, decimal(10, 2), BOOLEAN)}
    outputs |= {f"round {n}": call("round", x, Literal(n, INT), type=DOUBLE) for n in (0, 1, 2, 3, 8)}
    outputs |= {name: call(name, x, type=BIGINT) for name in ("floor", "ceil")}
    outputs["modulo"] = call("modulo", x, Literal(3.7, DOUBLE), type=DOUBLE)
    agree(DOUBLE, values, outputs)


def test_decimals_are_computed_alike(agree):
    generator, type_ = random.Random(13), decimal(38, 10)
    x = Column("x", type_)
    values = [
        Decimal(generator.randint(-(10 ** generator.randint(1, 37)), 10 ** generator.randint(1, 37))).scaleb(-10)
        for _ in range(2000)
    ]
    outputs = {str(t): convert(x, t) for t in (INT, BIGINT, DOUBLE, STRING, decimal(10, 2), decimal(38, 18))}
    outputs |= {name: call(name, x, type=type_) for name in ("negate", "abs")}
    outputs |= {name: call(name, x, type=BIGINT) for name in ("floor", "ceil")}
    outputs["add"] = call("add", x, x, type=type_)
    outputs["multiply"] = call("multiply", x, x, type=decimal(38, 20))
    outputs["round"] = call("round", x, Literal(2, INT), type=type_)
    outputs["modulo"] = call("modulo", x, Literal(Decimal("7.3"), type_), type=type_)
    agree(type_, values, outputs)


def test_text_functions_agree(agree):
    generator, x = random.Random(14), Column("x", STRING)
    values = ["".join(generator.choice(ALPHABET) for _ in range(generator.randint(0, 8))) for _ in range(4000)]
    outputs = {name: call(name, x, type=STRING) for name in ("lower", "upper", "trim", "reverse", "md5")}
    outputs["length"] = call("length", x, type=INT)
    for pattern in LIKES:
        outputs |= {f"{name} {pattern}": call(name, x, text(pattern)) for name in ("like", "ilike")}
    for pattern in PATTERNS:
        outputs[f"matches {pattern}"] = call("matches", x, text(pattern))
        outputs[f"replace {pattern}"] = call("regexp_replace", x, text(pattern), text("<$0\\0>"), type=STRING)
    four = Literal(4, INT)
    outputs |= {name: call(name, x, four, text("xy"), type=STRING) for name in ("lpad", "rpad")}
    outputs |= {name: call(name, x, four, type=STRING) for name in ("left", "right", "substring")}
    agree(STRING, values, outputs)
