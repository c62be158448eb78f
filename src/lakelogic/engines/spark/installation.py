"""What Spark needs on this machine, and where it is: Java, the Delta JARs, the start-up archive."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lakelogic.errors import EngineError

CACHE_VARIABLE = "LAKELOGIC_CACHE"
DELTA_PACKAGE = "io.delta:delta-spark_4.1_2.13:4.4.0"
OLDEST_JAVA = 17
JAVA_HINT = "On Debian or Ubuntu: apt-get install -y openjdk-17-jre-headless; or set JAVA_HOME to a Java 17."


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was found: its home, its major version and the exact build."""

    home: Path
    major: int
    build: str


def cache_folder() -> Path:
    """Where things live that can be made again: `LAKELOGIC_CACHE`, or `lakelogic` in the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser() / "spark"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "lakelogic" / "spark"


def find_java() -> Java | None:
    """The Java that Spark would start; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home) / "bin" / "java" if home else None
    if program is None or not program.is_file():
        found = shutil.which("java")
        if found is None:
            return None
        program = Path(found)
    real = program.resolve()
    return _described(real.parent.parent, real)


@cache
def _described(home: Path, program: Path) -> Java | None:
    release = home / "release"
    if release.is_file():
        told = release.read_text(encoding="utf-8", errors="replace")
        version = re.search(r'^JAVA_VERSION="([^"]+)"', told, re.MULTILINE)
        if version:
            runtime = re.search(r'^JAVA_RUNTIME_VERSION="([^"]+)"', told, re.MULTILINE)
            return Java(home, _major(version[1]), runtime[1] if runtime else version[1])
    asked = subprocess.run([str(program), "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "([^"]+)"', asked.stderr)
    return Java(home, _major(version[1]), asked.stderr.strip()) if version else None


def _major(version: str) -> int:
    first, _, rest = version.partition(".")
    number = rest.partition(".")[0] if first == "1" else first
    digits = re.match(r"\d+", number)
    return int(digits[0]) if digits else 0


def require_java() -> Java:
    """The Java that Spark would start, or an error that says how to get one."""
    java = find_java()
    if java is None:
        raise EngineError("Spark needs Java, and none was found.", hint=JAVA_HINT)
    if java.major < OLDEST_JAVA:
        raise EngineError(f"Spark needs Java {OLDEST_JAVA} or later; {java.home} is Java {java.major}.", hint=JAVA_HINT)
    return java


def jars_folder() -> Path:
    """Where the Delta JARs of the pinned version are kept."""
    return cache_folder() / "jars" / DELTA_PACKAGE.replace(":", "_")


def jars() -> list[Path]:
    """The Delta JARs in the cache; none before `lakelogic setup spark`."""
    return sorted(jars_folder().glob("*.jar"))


def spark_home() -> Path:
    """The Spark that this Python would start."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


def archive() -> Path:
    """Where the start-up archive for exactly this Java and this class path belongs."""
    java = require_java()
    digest = hashlib.sha256(f"{java.home}\n{java.build}\n".encode())
    for jar in [*jars(), *sorted((spark_home() / "jars").glob("*.jar"))]:
        known = jar.stat()
        digest.update(f"{jar}\t{known.st_size}\t{known.st_mtime_ns}\n".encode())
    return cache_folder() / "archives" / f"{digest.hexdigest()[:24]}.jsa"
