"""`lakelogic docs build`: the estate as a static site, for people without the service."""

from __future__ import annotations

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag, selecting, words


@click.group()
def docs() -> None:
    """The estate as a static site."""


@docs.command("build")
@click.argument("out", type=click.Path(file_okay=False))
@click.argument("places", nargs=-1, type=click.Path())
@selecting
@env_option
@json_flag
@guarded
def build(
    out: str, places: tuple[str, ...], select: tuple[str, ...], exclude: tuple[str, ...], env: str | None, as_json: bool
) -> int:
    """Write catalogue, contracts, lineage, promises and quality history of PLACES into the folder OUT.

    PLACES are registries, folders or contracts; by default the working directory. No row of a table is in the site.
    """
    from lakelogic.actions.look.estate import EstateRequest
    from lakelogic.actions.look.site import build_site

    console = Console(as_json)
    only, without = words("--select", select), words("--exclude", exclude)
    done = build_site(console.surroundings(), EstateRequest(places or (".",), env, select=only, exclude=without), out)
    if as_json:
        console.json({"folder": done.folder, "pages": done.pages, "datasets": done.datasets})
    else:
        console.print(f"Wrote {done.pages} pages about {done.datasets} datasets to {done.folder}; open index.html")
    return 0
