"""Options that several commands share, written once."""

from __future__ import annotations

import click

env_option = click.option("--env", help="Environment of the contract (or LAKELOGIC_ENV).")
pack_option = click.option(
    "--policy-pack", "packs", multiple=True, metavar="NAME", help="Add a policy pack (or LAKELOGIC_POLICY_PACK)."
)
pack_dir_option = click.option(
    "--policy-pack-dir", "pack_dir", metavar="FOLDER", help="Where packs lie; by default policy_packs."
)
set_option = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override one key.")
json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout instead of text.")
