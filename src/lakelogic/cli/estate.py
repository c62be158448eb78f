"""Commands about many contracts: `lakelogic estate tree | validate | graph | owners`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag, pack_dir_option, pack_option, selecting, set_option, words

F = TypeVar("F", bound=Callable[..., Any])

_FORMATS = ("text", "list", "mermaid", "dot", "svg", "html", "json")


@click.group()
def estate() -> None:
    """Domains, systems and data products: what there is, who owns it, and what is wrong."""


def _places(command: F) -> F:
    """The arguments that every command about an estate takes."""
    for option in (json_flag, pack_dir_option, pack_option, set_option, env_option):
        command = option(command)
    command = selecting(command)
    return click.argument("places", nargs=-1, type=click.Path())(command)


def _look(
    console: Console, places: tuple[str, ...], env: str | None, overrides: tuple[str, ...], packs: tuple[str, ...],
    pack_dir: str | None, select: tuple[str, ...], exclude: tuple[str, ...], **chosen: tuple[str, ...],
) -> tuple[Any, Any]:  # fmt: skip
    from lakelogic.actions.look.estate import EstateRequest, look_at
    from lakelogic.contract.reading.packs import PackChoice

    chosen |= {"select": words("--select", select), "exclude": words("--exclude", exclude)}
    request = EstateRequest(places or (".",), env, overrides, PackChoice(packs, pack_dir), **chosen)
    return request, look_at(console.surroundings(), request)


def _tell(console: Console, report: Any) -> None:
    """What is wrong, after what was asked for, where it does not get into a program's way."""
    for problem in report.problems:
        console.warn(f"{'warning: ' if problem.severity == 'warning' else ''}{problem}")
    console.note(report.summary)


@estate.command("tree")
@_places
@guarded
def estate_tree(as_json: bool, **asked: Any) -> int:
    """Domains, their systems and datasets, with layers and owners.

    PLACES are folders, registries or contracts; by default the working directory.
    """
    from lakelogic.actions.look.estate import tree, tree_data

    console = Console(as_json)
    _, report = _look(console, **asked)
    domains = tree(report)
    if as_json:
        console.json({**report.as_dict(), "tree": tree_data(domains)})
        return int(report.exit_code)
    for domain in domains:
        console.print(f"{domain.title}   {domain.note}".rstrip())
        lines = list(domain.lines())
        wide = max((len(title) for title, _ in lines), default=0)
        for title, note in lines:
            console.print(f"{title:<{wide}}   {note}".rstrip())
    _tell(console, report)
    return int(report.exit_code)


@estate.command("validate")
@_places
@guarded
def estate_validate(as_json: bool, **asked: Any) -> int:
    """Check every document, every contract and the graph between them; all problems at once."""
    console = Console(as_json)
    _, report = _look(console, **asked)
    if as_json:
        console.json(report.as_dict())
        return int(report.exit_code)
    for problem in report.problems:
        console.print(f"{'warning: ' if problem.severity == 'warning' else ''}{problem}")
    console.print(report.summary)
    return int(report.exit_code)


@estate.command("graph")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True, help="How to draw.")
@click.option("--output", type=click.Path(dir_okay=False), help="Write it into a file instead.")
@click.option("--layers", default="", help="Only these layers, parted by commas.")
@click.option("--entities", default="", help="Only these entities, parted by commas.")
@_places
@guarded
def estate_graph(form: str, output: str | None, layers: str, entities: str, as_json: bool, **asked: Any) -> int:
    """What each dataset is made of."""
    from lakelogic.actions.look.estate import drawn, graph, graph_data

    console = Console(as_json)
    request, report = _look(console, **asked, layers=_words(layers), entities=_words(entities))
    estate_graph_ = graph(report, request)
    if as_json or form == "json":
        data = {**graph_data(estate_graph_), "diagnostics": [problem.as_dict() for problem in report.problems]}
        console.json(data)
        return int(report.exit_code)
    text = drawn(estate_graph_, form, report.problems)
    if output:
        Path(output).write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        console.note(f"Wrote {output}")
    else:
        console.print(text)
    _tell(console, report)
    return int(report.exit_code)


@estate.command("owners")
@_places
@guarded
def estate_owners(as_json: bool, **asked: Any) -> int:
    """Who answers for which datasets, and whom to ask."""
    from lakelogic.actions.look.estate import owners

    console = Console(as_json)
    _, report = _look(console, **asked)
    rows = owners(report)
    if as_json:
        listed = [
            {"owner": r.owner, "domain": r.domain, "contacts": list(r.contacts), "datasets": list(r.datasets)}
            for r in rows
        ]
        console.json({"owners": listed, "diagnostics": [problem.as_dict() for problem in report.problems]})
        return int(report.exit_code)
    for row in rows:
        console.print(f"{row.owner or '(nobody)'}   {row.domain or ''}".rstrip())
        for contact in row.contacts:
            console.print(f"  ask {contact}")
        for dataset in row.datasets:
            console.print(f"  - {dataset}")
    _tell(console, report)
    return int(report.exit_code)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
