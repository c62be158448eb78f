"""Prepare what Spark sessions need once: the Delta JARs in a cache, and an archive that lets the JVM start fast."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from lakelogic.engines.spark.runtime import installation
from lakelogic.engines.spark.runtime.installation import DELTA_PACKAGE, archive, jars, jars_folder, require_java
from lakelogic.errors import EngineError
from lakelogic.storage.scratch import scratch

KEPT = 4  # archives, one for each environment that was set up lately
PATIENCE = 900  # seconds for a download, and for the making of the archive


class Report(TypedDict):
    """What is there after a set-up."""

    java: str
    jars: str
    archive: str


@dataclass(frozen=True, slots=True)
class Status:
    """What is there now, for `doctor`."""

    jars: str
    has_jars: bool
    archive: str
    has_archive: bool


def setup(progress: Callable[[str], None]) -> Report:
    """Fetch and make what is missing; quick when nothing is. An interrupted set-up leaves nothing half done."""
    java = require_java()
    if strange := installation.strange_jars(jars_folder()):
        progress(f"Fetching Delta for Spark again: {'; '.join(strange)}")
        _fetch()
    elif not jars():
        progress(f"Fetching Delta for Spark ({DELTA_PACKAGE})")
        _fetch()
    place = archive()
    if not place.is_file():
        progress("Making the start-up archive of Spark's classes")
        _train(place)
    return Report(java=f"{java.major} ({java.home})", jars=_jars_text(), archive=_size(place))


def status() -> Status:
    """What a set-up has left here."""
    java = installation.find_java()
    place = archive() if java and java.major >= installation.OLDEST_JAVA else None
    ready = place is not None and place.is_file()
    return Status(
        _jars_text() if jars() else "not fetched (only needed to read Delta tables with Spark itself)",
        bool(jars()),
        _size(place) if place is not None and ready else "not made (Spark starts slower without)",
        ready,
    )


def _jars_text() -> str:
    jar_files = jars()
    return f"{len(jar_files)} in {jars_folder()}"


def _size(path: Path) -> str:
    return f"{path} ({path.stat().st_size / 2**20:.0f} MB)"


def _fetch() -> None:
    """Let Spark's own resolution find and download the JARs, then keep those that Spark does not bring along."""
    folder = jars_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as room:
        script = Path(room) / "nothing.py"
        script.write_text("", encoding="utf-8")
        command = [
            str(installation.spark_home() / "bin" / "spark-submit"),
            "--packages",
            DELTA_PACKAGE,
            "--conf",
            f"spark.jars.ivy={room}/ivy",
            "--conf",
            "spark.master=local[1]",
            str(script),
        ]
        output = _run(command, {"PYSPARK_PYTHON": sys.executable}, "The Delta JARs could not be fetched.")
        artifacts = {_artifact(jar.name) for jar in (installation.spark_home() / "jars").glob("*.jar")}
        wanted = Path(room) / "kept"
        wanted.mkdir()
        for jar in sorted((Path(room) / "ivy" / "jars").glob("*.jar")):
            # Ivy puts the group before the name: io.delta_delta-spark_4.1_2.13-4.4.0.jar
            own = jar.name.partition("_")[2]
            if _artifact(own) not in artifacts:
                shutil.move(jar, wanted / own)
        if not any(wanted.iterdir()):
            raise EngineError("The Delta JARs could not be fetched.", hint=_last(output))
        if strange := installation.strange_jars(wanted):
            raise EngineError(
                f"The Delta JARs that were fetched are not the pinned ones: {'; '.join(strange)}.",
                hint="Nothing of them is kept. Look at the registry that they come from.",
            )
        shutil.rmtree(folder, ignore_errors=True)
        wanted.rename(folder)


def _artifact(file: str) -> str:
    """The name of a JAR without its version."""
    return file.rsplit("-", 1)[0]


def _train(place: Path) -> None:
    """Run a small contract in a JVM that writes down its classes when it ends."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with scratch() as room:
        # A JVM that dies late finds its folder gone, and leaves nothing behind.
        archive_path = Path(room) / "archive.jsa"
        command = [sys.executable, "-m", "lakelogic.engines.spark.runtime.training", str(archive_path), room]
        output = _run(command, {}, "The start-up archive could not be made.")
        if not archive_path.is_file():
            raise EngineError("The start-up archive could not be made.", hint=_last(output))
        unfinished = place.with_suffix(f".{os.getpid()}.part")
        try:
            shutil.copyfile(archive_path, unfinished)
            unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)
    # Archives of environments that are gone fit nothing any more.
    for old in sorted(place.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)


def _run(command: list[str], environment: dict[str, str], trouble: str) -> str:
    """Run a program and give what it said; a failure is told with its last lines."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_REMOTE", "PYSPARK_SUBMIT"))}
    try:
        done = subprocess.run(
            command,
            env={**clean, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EngineError(trouble, hint=f"It did not end within {PATIENCE} seconds.") from error
    if done.returncode:
        raise EngineError(trouble, hint=_last(done.stdout))
    return done.stdout


def _last(text: str, count: int = 8) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])
