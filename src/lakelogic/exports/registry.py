"""Find a destination by name: ours and guests register through the entry point group `lakelogic.exports`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from lakelogic import guests
from lakelogic.errors import MissingExtra, UnsupportedError
from lakelogic.exports.base import Destination

GROUP = "lakelogic.exports"
# Destinations of ours whose package is an extra of the same name.
_MODULES = {"snowflake": "snowflake.connector", "databricks": "databricks.sdk", "s3": "boto3"}


def load(kind: str, given: Mapping[str, str], target: str) -> Destination:
    """A destination with its settings, ready to deliver to."""
    if kind in _MODULES and not _is_there(_MODULES[kind]):
        raise MissingExtra(kind, f"An export to {kind}")
    point = guests.find(GROUP, kind)
    if point is None:
        raise UnsupportedError(
            f"There is no export of the type `{kind}`.",
            hint="Install lakelogic again: pip install --force-reinstall lakelogic",
        )
    destination: Destination = point.load()(given, target)
    return destination


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
