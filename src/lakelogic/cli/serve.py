"""`lakelogic serve`, `lakelogic worker` and `lakelogic token`: the service, who works for it, and who may ask it."""

from __future__ import annotations

import os

import click

from lakelogic.cli.console import Console, guarded
from lakelogic.cli.options import env_option, json_flag
from lakelogic.contract.durations import duration
from lakelogic.errors import MissingExtra, UsageError


@click.command()
@click.argument("places", nargs=-1)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; others than this machine need tokens or OIDC.",
)
@click.option("--port", default=8096, show_default=True, type=click.IntRange(1, 65535), help="The port.")
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(0, 16), help="Workers beside it; 0 where others run."
)
@click.option("--tokens-only", is_flag=True, help="Ask for a token even on this machine.")
@click.option("--no-ui", is_flag=True, help="Routes only, no page.")
@click.option("--root-path", default="", help="Where a proxy in front has it: /lake.")
@env_option
@guarded
def serve(
    places: tuple[str, ...], host: str, port: int, workers: int, tokens_only: bool, no_ui: bool, root_path: str,
    env: str | None,
) -> int:  # fmt: skip
    """Serve the estate at PLACES (registries, folders, contracts) over HTTP; by default that of this folder."""
    from lakelogic.actions.look.estate import EstateRequest
    from lakelogic.run.surroundings import Surroundings

    try:
        from lakelogic.api.server import serve as listen
        from lakelogic.api.settings import Settings, from_environment
    except ImportError as error:
        raise MissingExtra("api", "The service") from error
    around = click.get_current_context().with_resource(Surroundings.here())
    from_variables: dict[str, object] = from_environment(around.environ)
    settings = Settings(
        EstateRequest(places or (".",), env), host, port, tokens_only=tokens_only, has_page=not no_ui,
        root_path=root_path.rstrip("/"), **from_variables,  # type: ignore[arg-type]
    )  # fmt: skip
    click.echo(f"LakeLogic at http://{host}:{port} (routes: /docs, document: /openapi.json)", err=True)
    listen(around, settings, workers=workers)
    return 0


@click.command()
@click.option("--until-idle", is_flag=True, help="End when nothing waits.")
@click.option("--with", "parent", type=int, help="End when this process has ended.")
@json_flag
@guarded
def worker(until_idle: bool, parent: int | None, as_json: bool) -> int:
    """Do the work that the service was asked for: runs, replays, discards and decisions, one after the other."""
    from lakelogic.actions.operate.jobs import work_loop

    console = Console(as_json)
    done = work_loop(
        console.surroundings(), until_idle=until_idle, keep_on=lambda: parent is None or os.getppid() == parent
    )
    console.json({"done": done}) if as_json else console.print(f"{done} done")
    return 0


@click.group()
def token() -> None:
    """Who may ask the service, and for what."""


@token.command("new")
@click.option("--person", required=True, help="Whom it stands for; the ledger shows it with everything they do.")
@click.option(
    "--role", "roles", multiple=True, required=True, metavar="[DOMAIN=]ROLE", help="viewer, steward, operator or admin."
)
@click.option("--lasts", metavar="AGE", help="When it expires: 24h, 30 days; by default never.")
@json_flag
@guarded
def token_new(person: str, roles: tuple[str, ...], lasts: str | None, as_json: bool) -> int:
    """Make a token; it is shown this once, and only its hash is kept."""
    from lakelogic.actions.operate.access import new_token, roles_of, token_data

    try:
        age = duration(lasts) if lasts else None
    except ValueError as error:
        raise UsageError(f"--lasts: {error}.", hint="Write 24h, 30 days or P30D.") from None
    console = Console(as_json)
    text, token_ = new_token(console.surroundings(), person, roles_of(roles), age)
    console.json({"token": text, **token_data(token_)}) if as_json else console.print(text)
    return 0


@token.command("list")
@json_flag
@guarded
def token_list(as_json: bool) -> int:
    """Tokens, without what lets in."""
    from lakelogic.actions.operate.access import list_tokens, token_data

    console = Console(as_json)
    tokens = [token_data(token) for token in list_tokens(console.surroundings())]
    if as_json:
        console.json({"tokens": tokens})
    else:
        rows = [
            (
                str(token["token_id"]), str(token["person"]), ", ".join(f"{d}={r}" for d, r in token["roles"].items()),
                "revoked" if token["revoked_at"] else str(token["expires_at"] or ""),
            )
            for token in tokens
        ]  # fmt: skip
        console.table(("token", "person", "roles", "until"), rows)
    return 0


@token.command("revoke")
@click.argument("token_id")
@click.option("--why", help="Why; kept in the ledger.")
@json_flag
@guarded
def token_revoke(token_id: str, why: str | None, as_json: bool) -> int:
    """Shut a token out for good."""
    from lakelogic.actions.operate.access import revoke_token

    console = Console(as_json)
    revoked = revoke_token(console.surroundings(), token_id, why)
    if as_json:
        console.json(revoked.as_dict())
        return 0
    console.print(f"{token_id} of {revoked.token.person} is revoked")
    if revoked.cancelled:
        console.print(f"Cancelled before they began: {', '.join(revoked.cancelled)}")
    if revoked.running:
        console.print(f"Still running, asked by the same person: {', '.join(revoked.running)}")
    return 0
