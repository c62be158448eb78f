"""Regular expressions for Java: from the portable tree to its notation, so that the same text matches."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.engines.exact.patterns import Part, Syntax, written
from lakelogic.sql.pattern_tree import CATEGORIES
from lakelogic.sql.patterns import parse

_WORD = "[0-9A-Za-z_]"
# Java's own `\\b` knows letters beyond ASCII, and its `^` does not see an empty last line.
_JAVA = Syntax(
    {
        "start": r"\A",
        "end": r"\z",
        "line_start": r"(?:\A|(?<=\n))",
        "line_end": r"(?:\z|(?=\n))",
        "word": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    },
    lambda code: f"\\x{{{code:X}}}",
    lambda negated, name: f"\\{'P' if negated else 'p'}{{{name if name in CATEGORIES else 'Is' + name}}}",
)


def java_pattern(pattern: str) -> str:
    """A portable pattern in Java's notation."""
    tree = parse(pattern)
    body = written(tree.root, _JAVA)
    # Java looks for an empty match between the two halves of a character beyond U+FFFF, too.
    return rf"(?![\x{{DC00}}-\x{{DFFF}}])(?:{body})" if tree.can_be_empty else body


def java_like(parts: Sequence[Part]) -> str | None:
    """A LIKE pattern with several texts to be found in turn; None where Spark's own way does not go back and forth.

    Each text is looked for once, where it stands first, and never again (`(?>…)`): another place would help nobody.
    Spark's own pattern tries every place of each with every place of all others.
    """
    stretches: list[str] = [""]
    for kind, text in parts:
        if kind == "any":
            stretches.append("")
        else:
            stretches[-1] += "." if kind == "one" else "".join(f"\\x{{{ord(letter):X}}}" for letter in text)
    first, *middle, last = stretches if len(stretches) > 1 else (*stretches, "")
    middle = [stretch for stretch in middle if stretch]
    if len(middle) < 2:
        return None
    pattern = "".join(f"(?>.*?{stretch})" for stretch in middle)
    return rf"(?s)\A{first}{pattern}.*{last}\z"


def java_replacement(pieces: Sequence[str | int]) -> str:
    """A new text made of plain pieces and numbers of groups."""
    out = []
    for piece in pieces:
        if isinstance(piece, int):
            out.append(f"${piece}")
            continue
        plain = piece.replace("\\", "\\\\").replace("$", "\\$")
        # A digit after a group would be read as part of its number.
        out.append("\\" + plain if plain[:1].isdigit() else plain)
    return "".join(out)
