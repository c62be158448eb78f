"""Write the generated pages of docs/ from what they describe: code, commands, decision records.

python scripts/generate_reference.py            writes them
python scripts/generate_reference.py --check    says which are stale, and exits with 1 when any is
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from lakelogic import errors
from lakelogic.sql.functions import CATALOGUE, Function

DOCS = Path(__file__).parents[1] / "docs"
NOTICE = "<!-- Made by scripts/generate_reference.py from the code; edit that, then run `make reference`. -->"

EXITS = {
    0: "All done, within tolerances.",
    1: "Data broke the contract: a dataset rule, the quarantine ratio or a service level.",
    2: "The command or the contract is wrong; nothing ran.",
    3: "Partial: some contracts are done, some failed or were skipped.",
    4: "The world failed (a disk, a network, an engine) and it is safe to try again; or LakeLogic has a defect.",
    5: "Blocked: an approval is needed, an upstream is stale, or somebody else holds the lease.",
    6: "Rows do not add up: stop, a person must look.",
    130: "Interrupted from the keyboard.",
    143: "Asked to stop.",
}


def cell(text: object) -> str:
    """Text that stands in one cell of a Markdown table."""
    return str(text).replace("\\", "\\\\").replace("|", "\\|").replace("\n", "⏎")


def code(text: object) -> str:
    """Code in one cell of a Markdown table."""
    shown = str(text).replace("|", "\\|").replace("\n", "⏎").replace("\t", "⇥")
    fence = "``" if "`" in shown else "`"
    return f"{fence}{shown}{fence}"


def value(result: object) -> str:
    if result is None:
        return "NULL"
    if isinstance(result, bool):
        return str(result).upper()
    return repr(result) if isinstance(result, str) else str(result)


def functions_page() -> str:
    """Every function of the catalogue under its group."""
    public = [function for function in CATALOGUE.values() if function.kind != "internal"]
    lines = [
        "# SQL functions",
        "",
        NOTICE,
        "",
        "These functions mean the same on every engine: each example below is run on all of them by the tests. "
        "A function that is not here is not portable; contracts that use it are refused with the nearest portable one.",
        "",
        "Conversions and arithmetic never stop a batch: what cannot be computed is NULL. "
        "A declared field whose value cannot be converted makes its row bad.",
    ]
    for group, members in groupby(public, key=lambda function: function.group):
        lines += ["", f"## {group.capitalize()}", "", "| write | means | for example |", "|---|---|---|"]
        lines += [function_row(function) for function in members]
    return "\n".join(lines) + "\n"


def function_row(function: Function) -> str:
    written = "<br>".join(code(form) for form in function.sql)
    examples = "<br>".join(f"{code(sql)} → {code(value(result))}" for sql, result in function.examples)
    return f"| {written} | {cell(function.meaning)} | {examples} |"


def errors_page() -> str:
    """The tree of exceptions and what a process returns."""
    classes = [
        found
        for _, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, errors.LakeLogicError) and found.__module__ == errors.__name__
    ]
    lines = [
        "# Errors and exit codes",
        "",
        NOTICE,
        "",
        "A bad *row* is never an error: it is a verdict, and it is counted. A bad *contract* is a list of problems, "
        "each with file, line, code and a hint. A bad *world* is an exception that says whether trying again can help.",
        "",
        "## Exit codes",
        "",
        "| exit | means |",
        "|--:|---|",
        *(f"| {number} | {meaning} |" for number, meaning in EXITS.items()),
        "",
        "## Exceptions",
        "",
        "All of them are `lakelogic.errors.LakeLogicError`, with `code`, `message`, `hint`, `where` and `retry`.",
        "",
        "| exception | code | exit | try again | means |",
        "|---|---|--:|---|---|",
    ]
    for found in sorted(classes, key=lambda found: found.code):
        means = (inspect.getdoc(found) or "").splitlines()[0]
        lines.append(f"| `{found.__name__}` | `{found.code}` | {found.exit_code} | {found.retry} | {cell(means)} |")
    from lakelogic.contract import codes
    from lakelogic.plan.codes import MEANINGS

    lines += ["", "## Problems of contracts", "", "| code | means |", "|---|---|"]
    every = {**codes.MEANINGS, **MEANINGS}
    lines += [f"| `{code}` | {cell(every[code])} |" for code in sorted(every)]
    return "\n".join(lines) + "\n"


def contract_page() -> str:
    """Every key of a contract, and which of them have no effect yet."""
    from lakelogic.contract.describe.jsonschema import reference

    title, _, rest = reference().strip().partition("\n")
    return f"{title}\n\n{NOTICE}\n{rest}\n"


def commands_page() -> str:
    """Every command with its options, and every environment variable."""
    from lakelogic.cli.reference import page

    return page(NOTICE)


def decisions_page() -> str:
    """Every decision record with its number, its title and its one sentence."""
    lines = [
        "# Decisions",
        "",
        "<!-- Made by scripts/generate_reference.py from the records; edit them, then run `make reference`. -->",
        "",
        "Why things are as they are: one record for each question that others will ask again. A record has a number, "
        "a title, one sentence that says what was decided, then *Question*, *Decision*, and where there is more to say "
        "*Why*, *Alternatives* and *Consequences*.",
        "",
        "Numbers are given out before records are written, in blocks to people who work side by side. A number that "
        "nobody needed stays unused: the gaps below are such numbers. No record was ever taken away.",
        "",
        "| number | title | decided |",
        "|--:|---|---|",
    ]
    for path in sorted((DOCS / "decisions").glob("0*.md")):
        title, _, sentence = path.read_text("utf-8").splitlines()[:3]
        number, _, name = title.removeprefix("# ").partition(" · ")
        lines.append(f"| {number} | [{name}]({path.name}) | {sentence.removeprefix('> ')} |")
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "decisions/index.md": decisions_page,
    "reference/commands.md": commands_page,
    "reference/contract.md": contract_page,
    "reference/errors.md": errors_page,
    "reference/functions.md": functions_page,
}


def stale() -> list[str]:
    """The pages that differ from what the code says now."""
    return [
        name for name, page in PAGES.items() if not (DOCS / name).exists() or (DOCS / name).read_text("utf-8") != page()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a page is stale")
    if parser.parse_args().check:
        old = stale()
        for name in old:
            print(f"docs/{name} is stale: run `make reference`", file=sys.stderr)
        return 1 if old else 0
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")
        print(f"docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
