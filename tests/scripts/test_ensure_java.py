"""What `scripts/ensure_java.sh` does on machines with, without and with the wrong Java, told by stub commands."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "ensure_java.sh"

# The few real programs the script needs; everything else on its PATH is a stub.
REAL = ("sh", "sed", "head", "grep")

PACKAGES = {"openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless"}


class Machine:
    """A PATH of stubs in a folder; `log` holds what was asked of apt-get."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.asked = folder / "asked.txt"
        for name in REAL:
            (self.bin / name).symlink_to(shutil.which(name) or f"/bin/{name}")

    def stub(self, name: str, body: str, folder: Path | None = None) -> None:
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def java(self, version: str, folder: Path | None = None) -> None:
        self.stub("java", f"echo 'openjdk version \"{version}\" 2024-07-16' >&2", folder)

    def user(self, number: int) -> None:
        self.stub("id", f"echo {number}")

    def debian(self, packages: set[str], *, installs: str | None = "17.0.12", update_fails: bool = False) -> None:
        known = " | ".join(sorted(packages)) or "-"
        self.stub("apt-cache", f'case "$2" in {known}) echo "Package: $2" ;; *) exit 100 ;; esac')
        new_java = f'#!/bin/sh\\necho "openjdk version \\"{installs}\\"" >&2\\n'
        install = f"printf '{new_java}' > {self.bin}/java; /bin/chmod +x {self.bin}/java" if installs else "exit 100"
        self.stub(
            "apt-get",
            f'echo "$@" >> {self.asked}\n'
            f'case "$1" in update) exit {100 if update_fails else 0} ;; install) {install} ;; esac',
        )

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [shutil.which("sh") or "/bin/sh", str(SCRIPT)],
            env={"PATH": str(self.bin), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def asked_of_apt(self) -> list[str]:
        return self.asked.read_text().splitlines() if self.asked.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("version", ["17.0.12", "21.0.4", "17"])
def test_a_new_enough_java_is_met_with_silence(machine: Machine, version: str) -> None:
    machine.java(version)
    done = machine.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_java_newer_than_what_was_tried_passes_with_a_note(machine: Machine) -> None:
    machine.java("25.0.1")
    done = machine.run()
    assert done.returncode == 0
    assert "Java 25 is newer" in done.stderr


def test_java_home_counts_before_the_path(machine: Machine, tmp_path: Path) -> None:
    machine.java("1.8.0_202")
    machine.java("17.0.12", tmp_path / "jdk" / "bin")
    assert machine.run(JAVA_HOME=str(tmp_path / "jdk")).returncode == 0


@pytest.mark.parametrize(("version", "said"), [("11.0.2", "Java 11"), (None, "no Java at all")])
def test_a_java_home_that_does_not_do_is_named_and_nothing_is_installed(
    machine: Machine, tmp_path: Path, version: str | None, said: str
) -> None:
    machine.user(0)
    machine.debian(PACKAGES)
    if version:
        machine.java(version, tmp_path / "jdk" / "bin")
    done = machine.run(JAVA_HOME=str(tmp_path / "jdk"))
    assert done.returncode == 1
    assert said in done.stderr
    assert machine.asked_of_apt() == []


def test_root_on_debian_installs_a_headless_java_17(machine: Machine) -> None:
    machine.user(0)
    machine.debian(PACKAGES)
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert machine.asked_of_apt() == [
        "update -qq",
        "install -y -qq --no-install-recommends openjdk-17-jre-headless",
    ]


def test_where_java_17_is_not_packaged_21_is_taken(machine: Machine) -> None:
    machine.user(0)
    machine.debian(PACKAGES - {"openjdk-17-jre-headless"}, installs="21.0.4")
    assert machine.run().returncode == 0
    assert machine.asked_of_apt()[-1].endswith("openjdk-21-jre-headless")


@pytest.mark.parametrize("version", ["1.8.0_202", "11.0.2", None])
def test_without_root_one_line_to_run_is_printed_and_nothing_happens(machine: Machine, version: str | None) -> None:
    machine.user(1000)
    machine.debian(PACKAGES)
    if version:
        machine.java(version)
    done = machine.run()
    assert done.returncode == 1
    line = "  sudo apt-get update && sudo apt-get install -y --no-install-recommends openjdk-17-jre-headless"
    assert line in done.stderr.splitlines()
    assert machine.asked_of_apt() == []


def test_a_system_without_apt_is_told_what_to_do(machine: Machine) -> None:
    machine.user(0)
    machine.stub("dnf", "exit 0")
    done = machine.run()
    assert done.returncode == 1
    assert "sudo dnf install -y java-17-openjdk-headless" in done.stderr


def test_nothing_is_installed_when_the_package_lists_cannot_be_read(machine: Machine) -> None:
    machine.user(0)
    machine.debian(PACKAGES, update_fails=True)
    done = machine.run()
    assert done.returncode == 1
    assert machine.asked_of_apt() == ["update -qq"]


def test_a_failed_installation_is_not_taken_for_success(machine: Machine) -> None:
    machine.user(0)
    machine.debian(PACKAGES, installs=None)
    done = machine.run()
    assert done.returncode == 1
    assert "failed" in done.stderr


def test_an_old_java_that_stays_in_front_after_the_installation_is_told(machine: Machine) -> None:
    machine.user(0)
    machine.java("11.0.2")
    machine.debian(PACKAGES, installs="11.0.2")
    done = machine.run()
    assert done.returncode == 1
    assert "update-alternatives" in done.stderr
