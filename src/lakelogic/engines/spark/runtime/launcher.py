"""Start the JVM of a session: as `spark-submit` would, without asking it each time what it would do.

Settings may hold secrets. Everybody on a machine can read a command line, so only those that a JVM must have to begin
stand there (`ON_COMMAND_LINE`), and only these are remembered. The others go through the bridge to the JVM, through
its environment, or through a file that its user alone can read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lakelogic.engines.spark.runtime import installation
from lakelogic.errors import EngineError
from lakelogic.storage.scratch import scratch

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
SEPARATOR = "\0"
# Files with which people change what `spark-submit` does; where they are, it is asked.
_SITE_FILES = ("spark-env.sh", "spark-defaults.conf", "java-opts")
_KEPT = 20
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Ours alone, and without them a JVM cannot begin.
ON_COMMAND_LINE = frozenset(
    {
        "spark.master",
        "spark.app.name",
        "spark.submit.deployMode",
        "spark.driver.memory",
        "spark.driver.extraClassPath",
        JAVA_OPTIONS,
    }
)
# What `spark-submit` itself acts on: packages that it fetches, tickets that it takes along.
_FOR_SUBMIT = (
    "spark.jars",
    "spark.files",
    "spark.archives",
    "spark.submit.",
    "spark.driver.",
    "spark.yarn.",
    "spark.kerberos.",
    "spark.kubernetes.",
)
# Those among them that a local session brings itself, and that the bridge can carry.
_LOCAL_ONLY = frozenset({"spark.driver.host", "spark.driver.bindAddress"})
_ESCAPES = {letter: f"\\{letter}" for letter in "\\=:#! "} | {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
_ENVIRONMENT_OPTIONS = "JDK_JAVA_OPTIONS"
_LOCAL = "SPARK_LOCAL_DIRS"


def local_folders(settings: Mapping[str, str]) -> list[str | None]:
    """Where somebody wants Spark's own files to lie; None is the temporary folder."""
    chosen = os.environ.get(_LOCAL) or settings.get("spark.local.dir") or ""
    return [part.strip() for part in chosen.split(",") if part.strip()] or [None]


def launch(
    settings: Mapping[str, str], log: IO[bytes], *, quick: bool, folders: Sequence[str], java_options: str | None = None
) -> Any:
    """A gateway to a new JVM with these settings, whose output goes to `log` and whose own files into `folders`."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    shown = {key: value for key, value in settings.items() if key in ON_COMMAND_LINE}
    extra = _for_environment(folders, java_options)
    hidden = [key for key in settings if key not in ON_COMMAND_LINE and key.startswith(_FOR_SUBMIT)]
    command = _command(shown) if quick and not (set(hidden) - _LOCAL_ONLY) else None
    started = _spawn(command, log, extra) if command else None
    if started is None:
        conf = SparkConf(loadDefaults=False)
        for key, value in shown.items():
            conf.set(key, value)
        file = Path(folders[0]) / "settings.properties"
        _write_properties(file, settings)
        asked = f"--properties-file {shlex.quote(str(file))} --load-spark-defaults "
        extra["PYSPARK_SUBMIT_ARGS"] = asked + os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        if quick:
            extra["SPARK_LAUNCHER_OPTS"] = QUICK
        with _environment(extra):
            return launch_gateway(conf=conf, popen_kwargs={"stdout": log, "stderr": log})
    process, port, secret = started
    with _environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
        gateway = launch_gateway()
    gateway.proc = process
    return gateway


def _for_environment(folders: Sequence[str], java_options: str | None) -> dict[str, str]:
    """Variables of the JVM: where its own files lie, and what somebody wants to say to Java beside what we say."""
    options = [f"-Djava.io.tmpdir={folders[0]}", *shlex.split(java_options or "")]
    options_text = os.environ.get(_ENVIRONMENT_OPTIONS, "")
    together = " ".join([*([options_text] if options_text else []), *(_quoted(option) for option in options)])
    return {_LOCAL: ",".join(folders), _ENVIRONMENT_OPTIONS: together}


def _quoted(option: str) -> str:
    """As Java reads it: quotes around the whole, and nothing that escapes."""
    if not any(letter.isspace() or letter in "\"'" for letter in option):
        return option
    mark = next((mark for mark in "\"'" if mark not in option), None)
    if mark is None:
        raise EngineError(
            f"An option in `{JAVA_OPTIONS}` has both kinds of quotes.", hint="Java cannot be told such an option."
        )
    return f"{mark}{option}{mark}"


def _write_properties(file: Path, settings: Mapping[str, str]) -> None:
    """A file of Java properties that only its user can read."""

    def escaped(text: str) -> str:
        return "".join(_ESCAPES.get(letter, letter) for letter in text)

    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        for key, value in settings.items():
            out.write(f"{escaped(key)}={escaped(value)}\n")


def _command(settings: Mapping[str, str]) -> list[str] | None:
    """The command line of the JVM, remembered from the last time; None where it depends on more than we know."""
    home = installation.spark_home()
    places = [home / "conf", Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")]
    if any((place / file).exists() for place in places for file in _SITE_FILES):
        return None
    if any(name.startswith(("SPARK_", "PYSPARK_SUBMIT")) for name in os.environ if name != "SPARK_HOME"):
        return None
    java = installation.require_java().home / "bin" / "java"
    words = [str(java), str(home), installation.archive().name, *(f"{key}={settings[key]}" for key in sorted(settings))]
    folder = installation.cache_folder() / "starts"
    place = folder / f"{hashlib.sha256(SEPARATOR.join(words).encode()).hexdigest()[:24]}.json"
    try:
        command_words = json.loads(place.read_text(encoding="utf-8"))
        return [str(part) for part in command_words]
    except (OSError, ValueError):
        pass
    asked = [str(java), "-Xmx128m", *QUICK.split(), "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main"]
    asked += ["org.apache.spark.deploy.SparkSubmit"]
    for key, value in settings.items():
        asked += ["--conf", f"{key}={value}"]
    answer = subprocess.run(
        [*asked, "pyspark-shell"],
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": _scala_version(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    # A line of its own for each message, a NUL, then the parts of the command, each with a NUL behind it.
    parts = [part for part in answer.stdout.partition(SEPARATOR)[2].lstrip("\n").split(SEPARATOR) if part]
    if answer.returncode or len(parts) < 4:
        return None
    _remember(place, parts)
    return parts


def _scala_version(home: Path) -> str:
    """The Scala that Spark's JARs are named after."""
    core = next((home / "jars").glob("spark-core_*.jar"), None)
    return core.name.removeprefix("spark-core_").partition("-")[0] if core else ""


def _remember(place: Path, parts: list[str]) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # Earlier versions kept whole command lines there, with whatever settings they were given.
        shutil.rmtree(place.parent.parent / "commands", ignore_errors=True)
        for old in sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)[: -_KEPT + 1]:
            old.unlink(missing_ok=True)
        unfinished = place.with_suffix(f".{os.getpid()}.part")
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps(parts), encoding="utf-8")
        unfinished.replace(place)
    except OSError:
        return  # a cache that cannot be written costs time, nothing else


def _spawn(
    command: list[str], log: IO[bytes], extra: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int, str] | None:
    """The JVM, and the port and secret that it tells once it listens; None where it ends before."""
    with scratch() as room:
        connection = Path(room) / "connection"
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # the JVM ends when this is closed, so never after us
            stdout=log,
            stderr=log,
            env={
                **os.environ,
                **extra,
                "SPARK_HOME": str(installation.spark_home()),
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
            },
            preexec_fn=_ignore_interrupts,  # noqa: PLW1509
        )
        while not connection.is_file():
            if process.poll() is not None:
                return None
            time.sleep(0.02)
        data = connection.read_bytes()
    (port,) = struct.unpack(">i", data[:4])
    (length,) = struct.unpack(">i", data[4:8])
    return process, port, data[8 : 8 + length].decode("utf-8")


def _ignore_interrupts() -> None:
    """Ctrl-C is for us: we end the JVM in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables that Spark's own start-up reads, for as long as it does."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
