"""Options that several commands share, written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from lakelogic.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

env_option = click.option("--env", help="Environment of the contract (or LAKELOGIC_ENV).")
pack_option = click.option(
    "--policy-pack", "packs", multiple=True, metavar="NAME", help="Add a policy pack (or LAKELOGIC_POLICY_PACK)."
)
pack_dir_option = click.option(
    "--policy-pack-dir", "pack_dir", metavar="FOLDER", help="Where packs lie; by default policy_packs."
)
set_option = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override one key.")
json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout instead of text.")


SELECT = "Only these: names with *, tag:, domain:, owner:, layer:, state:; + before or after one."
EXCLUDE = "Leave these out: the same words as --select."


def selecting(command: F) -> F:
    """The options that choose among the datasets of an estate."""
    for flag, text in (("--exclude", EXCLUDE), ("--select", SELECT)):
        command = click.option(flag, multiple=True, metavar="NAMES", help=text)(command)
    return command


def words(flag: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """The names behind an option. One without any is a variable that nobody has set, and would mean everything."""
    words = tuple(word.strip() for text in given for word in text.split(",") if word.strip())
    if given and not words:
        raise UsageError(f"{flag} names nothing.", hint=f"Write names behind it, or leave {flag} out to mean all.")
    return words
