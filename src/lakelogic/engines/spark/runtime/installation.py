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
# What the package comes to beside Spark 4.1's own JARs, as the registry serves it: each file by its SHA-256.
CHECKSUMS = {
    "commons-logging-1.3.0.jar": "66d3c980470b99b0c511dad3dfc0ae7b265ec1fb144e96bc0253a8a175fd34d9",
    "delta-kernel-api-4.4.0.jar": "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "delta-kernel-defaults-4.4.0.jar": "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "delta-kernel-unitycatalog-4.4.0.jar": "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    "delta-spark_4.1_2.13-4.4.0.jar": "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10",
    "delta-storage-4.4.0.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    "jackson-datatype-jdk8-2.13.5.jar": "e58761751fea8a00dc626aae1c5f1be38c5cfd487aeb333d933a4ab5f5a73c55",
    "javax.annotation-api-1.3.2.jar": "e04ba5195bcd555dc95650f7cc614d151e4bcd52d29a10b8aa2197f3ab89ab9b",
    "shims-0.9.25.jar": "0b82ed6cb1caf0706304b42358d568eb6faf190eadea7f2b2d365cb63156b40d",
    "unitycatalog-client-0.6.0.jar": "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19",
    "unitycatalog-hadoop-0.6.0.jar": "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150",
}
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
        program_path = shutil.which("java")
        if program_path is None:
            return None
        program = Path(program_path)
    real = program.resolve()
    return _described(real.parent.parent, real)


@cache
def _described(home: Path, program: Path) -> Java | None:
    release = home / "release"
    if release.is_file():
        release_text = release.read_text(encoding="utf-8", errors="replace")
        version = re.search(r'^JAVA_VERSION="([^"]+)"', release_text, re.MULTILINE)
        if version:
            runtime = re.search(r'^JAVA_RUNTIME_VERSION="([^"]+)"', release_text, re.MULTILINE)
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


def strange_jars(folder: Path) -> list[str]:
    """What is wrong with the JARs of a folder: another content than was pinned, or a file that nobody knows."""
    problems = []
    for jar in sorted(folder.glob("*.jar")):
        expected = CHECKSUMS.get(jar.name)
        if expected is None:
            problems.append(f"{jar.name} is not known")
        elif hashlib.sha256(jar.read_bytes()).hexdigest() != expected:
            problems.append(f"{jar.name} has another content than was pinned")
    return problems


def spark_home() -> Path:
    """The Spark that this Python would start."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


def archive() -> Path:
    """Where the start-up archive for exactly this Java and this class path belongs."""
    java = require_java()
    digest = hashlib.sha256(f"{java.home}\n{java.build}\n".encode())
    for jar in [*jars(), *sorted((spark_home() / "jars").glob("*.jar"))]:
        entry = jar.stat()
        digest.update(f"{jar}\t{entry.st_size}\t{entry.st_mtime_ns}\n".encode())
    return cache_folder() / "archives" / f"{digest.hexdigest()[:24]}.jsa"
