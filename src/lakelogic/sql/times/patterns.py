"""Patterns of dates and times, Java's or strftime's: one closed, portable subset, as parts that engines put together.

With a `%` a pattern is strftime's, otherwise Java's (`yyyy-MM-dd`). What is outside the subset is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Field = Literal[
    "text", "year", "short_year", "month", "month_name", "day", "day_of_year", "weekday_name",
    "hour", "hour12", "half", "minute", "second", "fraction", "offset",
]  # fmt: skip
Use = Literal["parse", "format"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a pattern.

    `size` is the number of digits that are written (0: as many as needed); of a fraction, its digits; of a name, 3
    for the short form and 0 for the long one. `strict` digits are read as exactly that many.
    """

    field: Field
    written: str
    size: int = 0
    strict: bool = True


class PatternError(ValueError):
    """A pattern that is not portable; the message says what and where, the hint what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


_JAVA: dict[str, tuple[Field, int, bool]] = {
    "yyyy": ("year", 4, True), "uuuu": ("year", 4, True), "yy": ("short_year", 2, True),
    "MM": ("month", 2, True), "M": ("month", 0, False), "MMM": ("month_name", 3, True), "MMMM": ("month_name", 0, True),
    "dd": ("day", 2, True), "d": ("day", 0, False), "DDD": ("day_of_year", 3, True), "D": ("day_of_year", 0, False),
    "HH": ("hour", 2, True), "H": ("hour", 0, False), "hh": ("hour12", 2, True), "h": ("hour12", 0, False),
    "a": ("half", 2, True), "mm": ("minute", 2, True), "m": ("minute", 0, False),
    "ss": ("second", 2, True), "s": ("second", 0, False),
    "E": ("weekday_name", 3, True), "EE": ("weekday_name", 3, True), "EEE": ("weekday_name", 3, True),
    "EEEE": ("weekday_name", 0, True), "XXX": ("offset", 6, False), "Z": ("offset", 5, True),
    **{"S" * size: ("fraction", size, False) for size in range(1, 7)},
}  # fmt: skip
_JAVA_HINTS = {
    "Y": "`Y` is the year of the week; the calendar year is `yyyy`",
    "y": "write `yyyy` or `yy`",
    "u": "write `yyyy`",
    "L": "write `M`",
    "S": "at most 6 digits of a second are kept: `SSSSSS`",
    "n": "write `SSSSSS`",
    "k": "write `HH`",
    "K": "write `hh` and `a`",
    "z": "names of zones are not portable; write `XXX` for an offset",
    "V": "names of zones are not portable; write `XXX` for an offset",
    "x": "write `XXX`",
    "X": "write `XXX`",
    "Q": "use the function quarter",
    "q": "use the function quarter",
    "w": "use the function weekofyear",
    "G": "years are 0001 to 9999, so there is no era",
}
_STRFTIME: dict[str, tuple[Field, int, bool]] = {
    "Y": ("year", 4, True), "y": ("short_year", 2, True), "m": ("month", 2, False), "d": ("day", 2, False),
    "j": ("day_of_year", 3, False), "H": ("hour", 2, False), "I": ("hour12", 2, False), "p": ("half", 2, True),
    "M": ("minute", 2, False), "S": ("second", 2, False), "f": ("fraction", 6, False),
    "b": ("month_name", 3, True), "h": ("month_name", 3, True), "B": ("month_name", 0, True),
    "a": ("weekday_name", 3, True), "A": ("weekday_name", 0, True), "z": ("offset", 5, False),
    "-m": ("month", 0, False), "-d": ("day", 0, False), "-j": ("day_of_year", 0, False), "-H": ("hour", 0, False),
    "-I": ("hour12", 0, False), "-M": ("minute", 0, False), "-S": ("second", 0, False),
}  # fmt: skip
_STRFTIME_SHORT = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y"}
_NUMBERS = ("year", "short_year", "month", "day", "day_of_year", "hour", "hour12", "minute", "second", "fraction")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that all engines read and write alike."""

    written: str
    parts: tuple[Part, ...]
    posix: bool

    @property
    def fields(self) -> tuple[Part, ...]:
        """The parts that are not plain text, in order: group i of `regex` is field i - 1."""
        return tuple(part for part in self.parts if part.field != "text")

    def has(self, *fields: Field) -> bool:
        """Whether any of these fields is in the pattern."""
        return any(part.field in fields for part in self.parts)

    @property
    def regex(self) -> str:
        """What text must look like, without anchors: a group for every field, in the syntax that all engines share."""
        return "".join(
            _escaped(part.written) if part.field == "text" else f"({_REGEX[part.field](part, self.posix)})"
            for part in self.parts
        )

    @property
    def spans(self) -> tuple[tuple[int, int], ...] | None:
        """Where each field stands (from 0, and its length) when every part has one length only; otherwise None."""
        place, spans = 0, []
        for part in self.parts:
            if part.field == "text":
                place += len(part.written)
                continue
            size = _length(part)
            if size is None:
                return None
            spans.append((place, size))
            place += size
        return tuple(spans)

    @property
    def java(self) -> str:
        """The pattern for Java's formatter."""
        return "".join(_java(part) for part in self.parts)

    @property
    def century_from(self) -> int:
        """Two-digit years below this are of the century 2000, others of 1900; Java's are all of 2000."""
        return 69 if self.posix else 100


def read_pattern(written: str, use: Use, *, zoned: bool = True, dated: bool = True) -> Pattern:
    """A pattern that can be used so; raises PatternError.

    `zoned` values have an offset (instants); only `dated` ones (which is all but a plain clock) have a day to read.
    """
    if not written:
        raise PatternError("The pattern is empty.", "write one, such as yyyy-MM-dd")
    posix = "%" in written
    parts = _joined(_strftime(written) if posix else _java_parts(written))
    pattern = Pattern(written, tuple(_touching(parts)), posix)
    if not pattern.fields:
        raise PatternError(f"The pattern `{written}` has no part of a date or time.", "write one, such as yyyy-MM-dd")
    if pattern.has("offset") and not zoned:
        name = next(part.written for part in pattern.fields if part.field == "offset")
        raise PatternError(f"`{name}` in the pattern `{written}` is an offset, which a wall clock does not have.")
    if use == "parse" and dated:
        _check_parse(pattern)
    return pattern


def _check_parse(pattern: Pattern) -> None:
    written, seen = pattern.written, set()
    for part in pattern.fields:
        what = {"short_year": "year", "month_name": "month", "hour12": "hour"}.get(part.field, part.field)
        if what in seen:
            raise PatternError(f"The pattern `{written}` says the {what.replace('_', ' ')} twice.")
        seen.add(what)
    if "year" not in seen:
        raise PatternError(f"The pattern `{written}` has no year.", "a date cannot be read without: yyyy or %Y")
    if "day" in seen and "month" not in seen:
        raise PatternError(f"The pattern `{written}` has a day but no month.")
    if "day_of_year" in seen and ("month" in seen or "day" in seen):
        raise PatternError(f"The pattern `{written}` says the day in two ways.")
    if pattern.has("hour12") != pattern.has("half"):
        raise PatternError(
            f"The pattern `{written}` needs both an hour of 1 to 12 and AM or PM.", "hh and a, or HH alone"
        )
    for smaller, larger in (("minute", "hour"), ("second", "minute"), ("fraction", "second")):
        if smaller in seen and larger not in seen:
            raise PatternError(f"The pattern `{written}` has a {smaller} but no {larger}.")


def _java_parts(written: str) -> list[Part]:
    parts: list[Part] = []
    place = 0
    while place < len(written):
        character = written[place]
        if character == "'":
            text, place = _quoted(written, place)
            parts.append(Part("text", text))
        elif character.isascii() and character.isalpha():
            end = place
            while end < len(written) and written[end] == character:
                end += 1
            parts.append(_java_part(written[place:end], written))
            place = end
        elif character in "[]{}#":
            raise PatternError(
                f"`{character}` in the pattern `{written}` is not portable.", "optional parts cannot be written"
            )
        else:
            parts.append(Part("text", character))
            place += 1
    return parts


def _java_part(letters: str, written: str) -> Part:
    java = _JAVA.get(letters)
    if java is None:
        hint = _JAVA_HINTS.get(letters[0]) or _JAVA_HINTS.get(letters) or "put plain text in quotes: 'T'"
        raise PatternError(f"`{letters}` in the pattern `{written}` is not portable.", hint)
    return Part(java[0], letters, java[1], java[2])


def _quoted(written: str, place: int) -> tuple[str, int]:
    """The text of a quoted piece that begins at `place`, and where it ends; `''` is a quote."""
    if written[place : place + 2] == "''":
        return "'", place + 2
    text, place = "", place + 1
    while place < len(written):
        if written[place : place + 2] == "''":
            text, place = text + "'", place + 2
        elif written[place] == "'":
            return text, place + 1
        else:
            text, place = text + written[place], place + 1
    raise PatternError(f"A quote in the pattern `{written}` has no end.")


def _strftime(written: str) -> list[Part]:
    parts: list[Part] = []
    place = 0
    while place < len(written):
        if written[place] != "%":
            parts.append(Part("text", written[place]))
            place += 1
            continue
        name = written[place + 1 : place + (3 if written[place + 1 : place + 2] == "-" else 2)]
        place += 1 + len(name)
        if name == "%":
            parts.append(Part("text", "%"))
        elif name in _STRFTIME_SHORT:
            parts += _strftime(_STRFTIME_SHORT[name])
        elif name in _STRFTIME:
            field, size, strict = _STRFTIME[name]
            parts.append(Part(field, f"%{name}", size, strict))
        else:
            portable = " ".join(f"%{letter}" for letter in _STRFTIME if "-" not in letter)
            raise PatternError(f"`%{name}` in the pattern `{written}` is not portable.", f"portable are {portable}")
    return parts


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbouring plain texts as one."""
    joined: list[Part] = []
    for part in parts:
        if part.field == "text" and joined and joined[-1].field == "text":
            joined[-1] = Part("text", joined[-1].written + part.written)
        elif part.field != "text" or part.written:
            joined.append(part)
    return joined


def _touching(parts: list[Part]) -> list[Part]:
    """Numbers that touch one another have all their digits: otherwise nobody could tell where one ends."""
    result = list(parts)
    for index, part in enumerate(parts):
        digits_before = index > 0 and _meets(parts[index - 1], last=True)
        digits_after = index + 1 < len(parts) and _meets(parts[index + 1], last=False)
        if part.field not in _NUMBERS or part.strict or not (digits_before or digits_after):
            continue
        if part.field == "fraction" and not digits_after:
            continue
        if not part.size:
            raise PatternError(
                f"`{part.written}` stands next to another number, so its digits cannot be told apart.",
                "write it with all digits (MM, dd, HH) or with a separator",
            )
        result[index] = Part(part.field, part.written, part.size)
    return result


def _meets(part: Part, *, last: bool) -> bool:
    """Whether a part ends (or begins) with a digit."""
    if part.field == "text":
        return part.written[-1 if last else 0].isdigit()
    return part.field in _NUMBERS


def _digits(strict: str, loose: str) -> dict[bool, str]:
    return {True: strict, False: loose}


_RANGES: dict[str, dict[bool, str]] = {
    "year": _digits("[0-9]{4}", "[0-9]{4}"),
    "short_year": _digits("[0-9]{2}", "[0-9]{2}"),
    "month": _digits("0[1-9]|1[0-2]", "1[0-2]|0?[1-9]"),
    "day": _digits("0[1-9]|[12][0-9]|3[01]", "[12][0-9]|3[01]|0?[1-9]"),
    "day_of_year": _digits("[0-3][0-9][0-9]", "[0-9]{1,3}"),
    "hour": _digits("[01][0-9]|2[0-3]", "1[0-9]|2[0-3]|0?[0-9]"),
    "hour12": _digits("0[1-9]|1[0-2]", "1[0-2]|0?[1-9]"),
    "minute": _digits("[0-5][0-9]", "[0-5]?[0-9]"),
    "second": _digits("[0-5][0-9]", "[0-5]?[0-9]"),
}


def _number_regex(part: Part, _posix: bool) -> str:
    return _RANGES[part.field][part.strict]


def _name_regex(part: Part, _posix: bool) -> str:
    names = MONTHS if part.field == "month_name" else WEEKDAYS
    return "(?i:" + "|".join(name[: part.size or None] for name in names) + ")"


def _offset_regex(part: Part, _posix: bool) -> str:
    """`XXX` is Z or +02:00, `Z` is +0200, `%z` any of them."""
    colon = ":" if part.written == "XXX" else "" if part.written == "Z" else ":?"
    east = f"[+-](?:(?:0[0-9]|1[0-7]){colon}[0-5][0-9]|18{colon}00)"
    return east if part.written == "Z" else f"Z|{east}"


_REGEX = {
    **dict.fromkeys(_RANGES, _number_regex),
    "month_name": _name_regex,
    "weekday_name": _name_regex,
    "half": lambda _part, _posix: "(?i:AM|PM)",
    "fraction": lambda part, _posix: f"[0-9]{{{part.size}}}" if part.strict else f"[0-9]{{1,{part.size}}}",
    "offset": _offset_regex,
}


def _length(part: Part) -> int | None:
    """How many characters a field takes, when that is always the same."""
    if part.field in ("month_name", "weekday_name"):
        return part.size or None
    return part.size if part.strict else None


def _escaped(text: str) -> str:
    """Plain text inside a regular expression."""
    return "".join(f"\\{character}" if character in "\\.+*?()|[]{}^$" else character for character in text)


def _java(part: Part) -> str:
    if part.field == "text":
        quoted = part.written.replace("'", "''")
        return f"'{quoted}'"
    names = _JAVA_FORMS[part.field]
    return "S" * part.size if part.field == "fraction" else names[part.size]


_JAVA_FORMS: dict[str, dict[int, str]] = {
    "year": {4: "yyyy"}, "short_year": {2: "yy"}, "month": {2: "MM", 0: "M"}, "month_name": {3: "MMM", 0: "MMMM"},
    "day": {2: "dd", 0: "d"}, "day_of_year": {3: "DDD", 0: "D"}, "weekday_name": {3: "EEE", 0: "EEEE"},
    "hour": {2: "HH", 0: "H"}, "hour12": {2: "hh", 0: "h"}, "half": {2: "a"}, "minute": {2: "mm", 0: "m"},
    "second": {2: "ss", 0: "s"}, "fraction": {}, "offset": {6: "XXX", 5: "Z"},
}  # fmt: skip

# How a field is written by strftime, with digits and without leading zeros.
STRFTIME_FORMS: dict[str, dict[int, str]] = {
    "year": {4: "%Y"}, "short_year": {2: "%y"}, "month": {2: "%m", 0: "%-m"}, "month_name": {3: "%b", 0: "%B"},
    "day": {2: "%d", 0: "%-d"}, "day_of_year": {3: "%j", 0: "%-j"}, "weekday_name": {3: "%a", 0: "%A"},
    "hour": {2: "%H", 0: "%-H"}, "hour12": {2: "%I", 0: "%-I"}, "half": {2: "%p"}, "minute": {2: "%M", 0: "%-M"},
    "second": {2: "%S", 0: "%-S"},
}  # fmt: skip


def strftime_pieces(pattern: Pattern) -> list[str | int]:
    """The pattern as strftime writes it, cut at fractions of a second, which stand as their number of digits.

    Instants are shown in UTC, so their offset is plain text.
    """
    pieces: list[str | int] = []
    for part in pattern.parts:
        if part.field == "fraction":
            pieces.append(part.size)
            continue
        if part.field == "text":
            shown = part.written.replace("%", "%%")
        elif part.field == "offset":
            shown = "Z" if part.written == "XXX" else "+0000"
        else:
            shown = STRFTIME_FORMS[part.field][part.size]
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] += shown
        else:
            pieces.append(shown)
    return pieces
