"""Draw docs/pictures/run.svg: what a person sees who runs the contract of the home page.

    python scripts/make_pictures.py

The command really runs, in a folder of its own, and what it prints is drawn by rich; only times and the key differ from
one drawing to the next.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "run.svg"
COMMANDS = ("lakelogic run contract.yaml", "lakelogic run contract.yaml", "lakelogic runs")
WIDTH = 132
# rich's frame fetches a font from outside; a picture of ours needs nothing but the reader's own monospace.
FRAME = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "Fira Code", "ui-monospace"
)


def shown(command: str, folder: Path) -> str:
    """What the command prints on a terminal of our width, colours included."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PATH": programs,
        "LAKELOGIC_ENGINE": "duckdb",
        "LAKELOGIC_PII_KEY": base64.b64encode(bytes(range(32))).decode(),
        "FORCE_COLOR": "1",
        "COLUMNS": str(WIDTH),
    }
    environment.pop("NO_COLOR", None)
    done = subprocess.run(
        command.split(),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "home"
        shutil.copytree(ROOT / "examples" / "home", folder)
        console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: PTH123, SIM115
        for command in COMMANDS:
            console.print(Text(f"$ {command}", style="bold"))
            console.print(Text.from_ansi(shown(command, folder)))
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        console.save_svg(str(PICTURE), title="LakeLogic", theme=MONOKAI, code_format=FRAME)
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
