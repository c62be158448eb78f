"""What `scripts/ensure_venv.sh` does with no Python, an old one, and one whose venv module is incomplete."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "ensure_venv.sh"

# A Python that answers the questions the script asks; `venv` works once `ready` exists.
PYTHON = """
case "$1" in
  -c) case "$2" in *print*) echo python3.11-venv ;; *) exit {too_old} ;; esac ;;
  --version) echo "Python 3.11.2" ;;
  -m) case "$2" in
        venv) mkdir -p "$3/bin"; if [ -e {ready} ]; then cp "$0" "$3/bin/python"; else echo "ensurepip is not available"; exit 1; fi ;;
        pip) echo "pip 26" ;;
      esac ;;
esac
"""


class Machine:
    """A PATH of stubs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.ready = folder / "venv-module-is-complete"
        for name in ("sh", "mkdir", "rm", "cp", "sed", "readlink"):
            (self.bin / name).symlink_to(shutil.which(name) or f"/bin/{name}")

    def stub(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def python(self, name: str, *, too_old: bool = False) -> None:
        self.stub(name, PYTHON.format(too_old=int(too_old), ready=self.ready))

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [shutil.which("sh") or "/bin/sh", str(SCRIPT), str(self.folder / "venv")],
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_without_a_new_enough_python_is_told_so_in_one_line(machine: Machine) -> None:
    machine.python("python3", too_old=True)
    done = machine.run()
    assert done.returncode == 1
    assert done.stderr.startswith("LakeLogic needs Python 3.11 or later")
    assert len(done.stderr.splitlines()) == 1
    assert not (machine.folder / "venv").exists()


def test_a_newer_python_beside_an_old_one_is_found(machine: Machine) -> None:
    machine.ready.touch()
    machine.python("python3", too_old=True)
    machine.python("python3.12")
    assert machine.run().returncode == 0
    assert (machine.folder / "venv" / "bin" / "python").exists()


def test_a_second_call_changes_nothing(machine: Machine) -> None:
    machine.ready.touch()
    machine.python("python3")
    assert machine.run().returncode == 0
    again = machine.run()
    assert (again.returncode, again.stderr) == (0, "")


def test_without_root_the_line_for_an_incomplete_venv_module_is_printed(machine: Machine) -> None:
    machine.python("python3")
    machine.stub("id", "echo 1000")
    machine.stub("apt-get", "exit 99")
    done = machine.run()
    assert done.returncode == 1
    assert "  sudo apt-get update && sudo apt-get install -y python3.11-venv" in done.stderr.splitlines()
    assert not (machine.folder / "venv").exists()


def test_root_on_debian_completes_the_venv_module(machine: Machine) -> None:
    machine.python("python3")
    machine.stub("id", "echo 0")
    machine.stub("apt-get", f'[ "$1" = install ] && /bin/touch {machine.ready} || exit 0')
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert (machine.folder / "venv" / "bin" / "python").exists()


def test_where_there_is_no_apt_the_reason_python_gives_is_shown(machine: Machine) -> None:
    machine.python("python3")
    done = machine.run()
    assert done.returncode == 1
    assert "ensurepip is not available" in done.stderr


def test_an_environment_that_is_a_link_is_refused_and_left_as_it_is(machine: Machine) -> None:
    machine.ready.touch()
    machine.python("python3")
    elsewhere = machine.folder / "elsewhere"
    (elsewhere / "bin").mkdir(parents=True)
    (elsewhere / "bin" / "keep").touch()
    (machine.folder / "venv").symlink_to(elsewhere)
    done = machine.run()
    assert done.returncode == 1
    assert f"it is a link to {elsewhere}" in done.stderr
    assert (elsewhere / "bin" / "keep").exists()
    assert (machine.folder / "venv").is_symlink()


def test_an_environment_that_was_made_for_another_checkout_is_refused(machine: Machine) -> None:
    machine.ready.touch()
    machine.python("python3")
    assert machine.run().returncode == 0
    activate = machine.folder / "venv" / "bin" / "activate"
    for quote in ('"', "'", ""):
        activate.write_text(f"VIRTUAL_ENV={quote}/somewhere/else/.venv{quote}\nexport VIRTUAL_ENV\n")
        done = machine.run()
        assert done.returncode == 1
        assert "it was made for /somewhere/else/.venv" in done.stderr
    activate.write_text(f'VIRTUAL_ENV="{machine.folder}/venv"\n')
    assert machine.run().returncode == 0
