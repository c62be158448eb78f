"""Run all tests in two processes side by side, each with a Spark of its own: two cores, half the time.

    python scripts/run_tests.py [options for pytest]

The second process runs the folders in SECOND, the first one everything else. Its lines come when the first is done.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

# About half of the time; a new folder belongs to the first process until somebody names it here.
SECOND = ("faults", "ledger", "run", "sql", "storage", "surfaces", "tables")


def main() -> int:
    """1 when either of them found something wrong."""
    tests = Path(__file__).resolve().parents[1] / "tests"
    command, options = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"], sys.argv[1:]
    folders = [f"tests/{name}" for name in SECOND if (tests / name).is_dir()]
    began = time.monotonic()
    with tempfile.NamedTemporaryFile("w") as kept:
        second = subprocess.Popen([*command, *options, *folders], cwd=tests.parent, stdout=kept, stderr=kept)
        try:
            print("First half (the second runs beside it)", flush=True)
            rest = [f"--ignore={folder}" for folder in folders]
            first = subprocess.run([*command, *options, *rest], cwd=tests.parent, check=False).returncode
            print(f"\nSecond half, after {time.monotonic() - began:.0f} s", flush=True)
            code = _follow(second, Path(kept.name))
        finally:
            second.kill()
    print(f"\nTests took {time.monotonic() - began:.0f} s: first half {_said(first)}, second half {_said(code)}")
    return 1 if first or code else 0


def _follow(process: subprocess.Popen[bytes], lines: Path) -> int:
    """Print what a process has written and still writes, until it ends."""
    with lines.open() as written:
        while process.poll() is None:
            sys.stdout.write(written.read())
            sys.stdout.flush()
            time.sleep(1)
        sys.stdout.write(written.read())
    sys.stdout.flush()
    return process.returncode


def _said(code: int) -> str:
    return "passed" if code == 0 else f"FAILED (exit {code})"


if __name__ == "__main__":
    sys.exit(main())
