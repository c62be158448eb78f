"""The main file of a Spark job definition, or a cell of a notebook: lakelogic-driver with the arguments it is given.

main(["--registry", "contracts/_registry.yaml", "--layers", "bronze"])
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | str) -> None:
    """Run a pass in this process, on the Spark session that it has; a failed pass raises.

    A notebook gets its arguments as one JSON text.
    """
    from lakelogic.cli.drive import drive

    given = json.loads(arguments) if isinstance(arguments, str) else list(arguments)
    code = drive.main(args=given, prog_name="lakelogic-driver", standalone_mode=False)
    if code:
        raise RuntimeError(f"lakelogic-driver ended with {code}")


if __name__ == "__main__":
    main(sys.argv[1:])
