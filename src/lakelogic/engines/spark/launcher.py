"""Start the JVM of a local session: as `spark-submit` would, without asking it each time what it would do."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lakelogic.engines.spark import installation

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
SEPARATOR = "\0"
# Files with which people change what `spark-submit` does; where they are, it is asked.
_SITE_FILES = ("spark-env.sh", "spark-defaults.conf", "java-opts")
_KEPT = 20


def launch(settings: Mapping[str, str], log: IO[bytes], *, quick: bool) -> Any:
    """A gateway to a new JVM with these settings, whose output goes to `log`."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    command = _command(settings) if quick else None
    started = _spawn(command, log) if command else None
    if started is None:
        with _environment({"SPARK_LAUNCHER_OPTS": QUICK} if quick else {}):
            return launch_gateway(conf=conf, popen_kwargs={"stdout": log, "stderr": log})
    process, port, secret = started
    with _environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
        gateway = launch_gateway(conf=conf)
    gateway.proc = process
    return gateway


def _command(settings: Mapping[str, str]) -> list[str] | None:
    """The command line of the JVM, remembered from the last time; None where it depends on more than we know."""
    home = installation.spark_home()
    places = [home / "conf", Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")]
    if any((place / file).exists() for place in places for file in _SITE_FILES):
        return None
    if any(name.startswith(("SPARK_", "PYSPARK_SUBMIT")) for name in os.environ if name != "SPARK_HOME"):
        return None
    java = installation.require_java().home / "bin" / "java"
    told = [str(java), str(home), installation.archive().name, *(f"{key}={settings[key]}" for key in sorted(settings))]
    folder = installation.cache_folder() / "commands"
    place = folder / f"{hashlib.sha256(SEPARATOR.join(told).encode()).hexdigest()[:24]}.json"
    try:
        known = json.loads(place.read_text(encoding="utf-8"))
        return [str(part) for part in known]
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
        for old in sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)[: -_KEPT + 1]:
            old.unlink(missing_ok=True)
        unfinished = place.with_suffix(f".{os.getpid()}.part")
        unfinished.write_text(json.dumps(parts), encoding="utf-8")
        unfinished.replace(place)
    except OSError:
        return  # a cache that cannot be written costs time, nothing else


def _spawn(command: list[str], log: IO[bytes]) -> tuple[subprocess.Popen[bytes], int, str] | None:
    """The JVM, and the port and secret that it tells once it listens; None where it ends before."""
    with tempfile.TemporaryDirectory(prefix="lakelogic-") as room:
        told = Path(room) / "connection"
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # the JVM ends when this is closed, so never after us
            stdout=log,
            stderr=log,
            env={
                **os.environ,
                "SPARK_HOME": str(installation.spark_home()),
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
            },
            preexec_fn=_ignore_interrupts,  # noqa: PLW1509
        )
        while not told.is_file():
            if process.poll() is not None:
                return None
            time.sleep(0.02)
        data = told.read_bytes()
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
