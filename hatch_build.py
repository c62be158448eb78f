"""A wheel without the page would show nothing: refuse to build one, and say what to do first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Asked by hatchling before every build of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """A checkout that is installed in place may do without; it says so at its own address."""
        del build_data
        dist = Path(self.root) / "src/lakelogic/ui/dist"
        if version != "editable" and not ((dist / "index.html").is_file() and any(dist.glob("assets/*.js"))):
            raise RuntimeError("The page is not built. Run `make page` first; the wheel carries it.")
