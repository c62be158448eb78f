"""Where the built page lies: `make page` writes it, wheels carry it, nothing here changes it."""

from __future__ import annotations

from pathlib import Path

DIST = Path(__file__).parent / "dist"


def built(folder: Path | None = None) -> Path | None:
    """The folder of the built page; None where nobody has built it."""
    folder = DIST if folder is None else folder
    return folder if (folder / "index.html").is_file() and (folder / "assets").is_dir() else None
