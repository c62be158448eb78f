"""What can be wrong with a piece of contract SQL; the plan turns it into diagnostics with file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

UNREADABLE = "LL-C201"
FORBIDDEN = "LL-C202"
NO_COLUMN = "LL-C203"
NO_FUNCTION = "LL-C204"
BAD_ARGUMENTS = "LL-C205"
BAD_TYPES = "LL-C206"
NOT_YET = "LL-C207"

CODES = {
    UNREADABLE: "The SQL text cannot be parsed.",
    FORBIDDEN: "The SQL does something that a contract may not do.",
    NO_COLUMN: "A column that the SQL reads does not exist there.",
    NO_FUNCTION: "A function is not in the portable catalogue.",
    BAD_ARGUMENTS: "A function is called with arguments it does not take.",
    BAD_TYPES: "Values of these types cannot be used together.",
    NOT_YET: "This form of SQL is not available yet.",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; `line` counts within the SQL text, from 1."""

    code: str
    message: str
    hint: str | None = None
    line: int | None = None


class SqlProblems(Exception):
    """All the problems of one piece of SQL. Never leaves the plan: it becomes diagnostics."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def nearest_or_all(name: str, choices: Sequence[str], what: str = "the columns here are") -> str:
    """A did-you-mean hint, or what there is to choose from."""
    shown = [f"`{choice}`" for choice in choices[:12]]
    more = ", …" if len(choices) > len(shown) else ""
    return nearest(name, list(choices)) or f"{what} {', '.join(shown) or 'none'}{more}"


def nearest(name: str, choices: list[str]) -> str | None:
    """A did-you-mean hint, or None."""
    close = get_close_matches(name.lower(), [choice.lower() for choice in choices], n=1, cutoff=0.6)
    if not close:
        return None
    written = next(choice for choice in choices if choice.lower() == close[0])
    return f"did you mean `{written}`?"
