"""A command ends at once, and nothing is lost by it."""

import subprocess
import sys

import pytest


def ran(body: str) -> subprocess.CompletedProcess[str]:
    code = f"import atexit, sys, threading, time\nfrom lakelogic.cli import process\n{body}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("ending", "expected"), [("sys.exit(4)", 4), ("sys.exit()", 0), ("sys.exit('odd')", 1), ("1 / 0", 1)]
)
def test_the_exit_code_is_that_of_the_command(ending, expected):
    assert ran(f"def command():\n    {ending}\nprocess.run(command)").returncode == expected


def test_what_was_printed_and_what_ends_with_the_process_is_not_lost():
    done = ran(
        "def later():\n    time.sleep(0.1)\n    print('a thread ended')\n"
        "def command():\n"
        "    atexit.register(print, 'a library ended')\n"
        "    threading.Thread(target=later).start()\n"
        "    print('done', end=' ')\n"
        "    print('told', file=sys.stderr, end='')\n"
        "    sys.exit(3)\n"
        "process.run(command)"
    )
    assert done.stdout == "done a thread ended\na library ended\n"
    assert (done.stderr, done.returncode) == ("told", 3)


def test_modules_are_not_taken_apart():
    done = ran("class Left:\n    def __del__(self):\n        print('apart')\nleft = Left()\nprocess.run(sys.exit)")
    assert (done.stdout, done.returncode) == ("", 0)


def test_a_program_that_was_started_without_an_output_ends_quietly():
    done = ran("sys.stdout = None\nprocess.run(lambda: sys.exit(0))")
    assert (done.stderr, done.returncode) == ("", 0)
