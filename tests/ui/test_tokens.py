"""Colours of the page: readable on their grounds, and told apart by every kind of sight, recomputed from the tokens."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest

TOKENS = Path(__file__).parents[2] / "ui/src/style/tokens.css"
PAIR = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
MARKS = ("good", "bad", "warn", "held", "skip")
# Rows of the matrices of Viénot, Brettel and Mollon (1999), over linear light.
SIGHTS = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1)),
    "no green": ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1)),
    "no blue": ((1, 0.14461, -0.14461), (0, 0.85924, 0.14076), (0, 0.85924, 0.14076)),
}


def tokens(theme: str) -> dict[str, str]:
    return {name: (light if theme == "light" else dark) for name, light, dark in PAIR.findall(TOKENS.read_text())}


def linear(colour: str) -> tuple[float, float, float]:
    def one(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (one(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return red, green, blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear(c), strict=True)) for c in (one, other)), reverse=True)  # fmt: skip
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_has_the_contrast_that_the_standard_names():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_on_every_ground_they_stand_on(theme: str):
    known = tokens(theme)
    for ground in ("page", "surface", "raised", "hover"):
        for ink in ("text", "muted", "accent", *(f"{name}-ink" for name in MARKS)):
            assert contrast(known[ink], known[ground]) >= 4.5, (ink, ground)
    for name in MARKS:
        assert contrast(known[f"{name}-ink"], known[f"{name}-tint"]) >= 4.5, name
    assert contrast(known["accent"], known["accent-tint"]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_stand_out_from_the_page(theme: str):
    known = tokens(theme)
    for name in (*MARKS, "control"):
        assert contrast(known[name], known["surface"]) >= 3, name


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_two_states_look_alike(theme: str, sight: str):
    known = tokens(theme)
    seen = {name: lab(tuple(sum(w * v for w, v in zip(row, linear(known[name]), strict=True)) for row in SIGHTS[sight])) for name in MARKS}  # fmt: skip
    for one, other in itertools.combinations(MARKS, 2):
        assert distance(seen[one], seen[other]) >= 15, (one, other)


def lab(light: tuple[float, ...]) -> tuple[float, float, float]:
    red, green, blue = (max(0.0, min(1.0, value)) for value in light)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    fx, fy, fz = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """The colour difference CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    middle = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(middle**7 / (middle**7 + 25**7)))
    p1, p2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = math.hypot(p1, b1), math.hypot(p2, b2)
    h1, h2 = (math.degrees(math.atan2(b, p)) % 360 for b, p in ((b1, p1), (b2, p2)))
    turn = h2 - h1
    turn -= 360 if turn > 180 else 0
    turn += 360 if turn < -180 else 0
    turn = 0 if c1 * c2 == 0 else turn
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = h1 + h2 if c1 * c2 == 0 else (h1 + h2) / 2 + (180 if abs(h1 - h2) > 180 else 0)
    t = (1 - 0.17 * math.cos(math.radians(hm - 30)) + 0.24 * math.cos(math.radians(2 * hm))
         + 0.32 * math.cos(math.radians(3 * hm + 6)) - 0.20 * math.cos(math.radians(4 * hm - 63)))  # fmt: skip
    sl = 1 + 0.015 * (lm - 50) ** 2 / math.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    rc = 2 * math.sqrt(cm**7 / (cm**7 + 25**7))
    rt = -math.sin(math.radians(60 * math.exp(-(((hm - 275) / 25) ** 2)))) * rc
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rt * (dc / sc) * (dh / sh))


def test_the_distance_is_the_one_of_the_published_examples():
    # Sharma, Wu and Dalal (2005), pairs 1 and 25.
    assert distance((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert distance((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387)) == pytest.approx(1.2644, abs=1e-4)
