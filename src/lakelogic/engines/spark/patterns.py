"""Regular expressions: from the portable syntax to Java's, so that the same text matches."""

from __future__ import annotations

import re

from lakelogic.errors import UnsupportedError

_REPEAT = re.compile(r"\{\d+(,\d*)?\}")
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?(:|\))")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))")
_WORD = "[0-9A-Za-z_]"
# Java's own `\b` knows letters beyond ASCII, `\s` a vertical tab and `\v` all line ends.
_ESCAPES = {
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
    "s": r"[\t\n\f\r ]",
    "S": r"[^\t\n\f\r ]",
    "v": r"\x0B",
}
_ESCAPES_IN_CLASS = {"s": r"\t\n\f\r ", "v": r"\x0B"}
_CATEGORIES = {"C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl"}
_CATEGORIES |= {"No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"}
_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\x0B\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


def java_pattern(pattern: str) -> str:
    """The Java pattern that matches what RE2 would; `$` is the end of the text."""
    out = ["(?d)"]  # only \n ends a line for `.`, as in RE2
    position, by_line = 0, False
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            piece, position = _escape(pattern, position, in_class=False)
        elif character == "[":
            piece, position = _class(pattern, position)
        elif character == "$":
            piece, position = ("$" if by_line else r"\z"), position + 1
        elif character == "{" and not _REPEAT.match(pattern, position):
            piece, position = r"\{", position + 1
        elif pattern.startswith("(?P<", position):
            piece, position = "(?<", position + 4
        elif flags := _FLAGS.match(pattern, position):
            on, off = flags[1], flags[2] or ""
            if "U" in on + off:
                raise UnsupportedError(
                    f"The flag `U` in the pattern `{pattern}` is not available.", hint="Write lazy repeats: `a*?`."
                )
            by_line = "m" in on or (by_line and "m" not in off)
            # RE2 folds case by Unicode; Java does so only with `u`.
            piece = f"(?{on.replace('i', 'iu')}{'-' + off.replace('i', 'iu') if off else ''}{flags[3]}"
            position = flags.end()
        else:
            piece, position = character, position + 1
        out.append(piece)
    return "".join(out)


def _escape(pattern: str, position: int, *, in_class: bool) -> tuple[str, int]:
    following = pattern[position + 1 : position + 2]
    if following == "Q" and not in_class:
        end = pattern.find("\\E", position)
        end = len(pattern) if end < 0 else end
        return re.sub(r"([^0-9A-Za-z])", r"\\\1", pattern[position + 2 : end]), end + 2
    if found := _PROPERTY.match(pattern, position):
        negated = (found[1] == "P") != bool(found[2])
        name = found[3] or found[4]
        name = name if name in _CATEGORIES else f"Is{name}"
        return f"\\{'P' if negated else 'p'}{{{name}}}", found.end()
    table = _ESCAPES_IN_CLASS if in_class else _ESCAPES
    if in_class and following == "S":
        raise UnsupportedError(f"`\\S` inside brackets in the pattern `{pattern}` is not available.")
    return table.get(following, "\\" + following), position + 2


def _class(pattern: str, start: int) -> tuple[str, int]:
    """A bracket expression: Java would take `[` and `&&` inside it for set operations."""
    position = start + 1
    out = ["["]
    if pattern.startswith("^", position):
        out.append("^")
        position += 1
    first = True
    while position < len(pattern):
        character = pattern[position]
        if character == "]" and not first:
            return "".join(out) + "]", position + 1
        if posix := _POSIX.match(pattern, position):
            inside = _POSIX_CLASSES.get(posix[2])
            if inside is None or posix[1]:
                raise UnsupportedError(f"`{posix[0]}` in the pattern `{pattern}` is not available.")
            piece, position = inside, posix.end()
        elif character == "\\":
            piece, position = _escape(pattern, position, in_class=True)
        else:
            piece, position = ("\\" + character if character in "[]&" else character), position + 1
        out.append(piece)
        first = False
    raise UnsupportedError(f"The pattern `{pattern}` has a `[` without its `]`.")


def java_replacement(text: str) -> str:
    """A replacement that stands for exactly this text."""
    return text.replace("\\", "\\\\").replace("$", "\\$")
