"""Spark sessions: the ones we start, and our own beside one that somebody hands us."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from lakelogic import signals
from lakelogic.engines.spark.runtime import installation, launcher
from lakelogic.errors import EngineError
from lakelogic.storage.scratch import Scratch, scratch

MASTER_VARIABLE = "LAKELOGIC_SPARK_MASTER"
CONNECT_PORT = 15002
FAST_START_VARIABLE = "LAKELOGIC_SPARK_FAST_START"

# Settings of our own session; what we write and how we compute depends on them, so none is left to chance.
OURS: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # INT96, the default, cannot hold the years 0001 to 9999 for most readers.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # HotSpot never compiles a method above 8,000 bytes; Spark's own limit is 65,535.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # The parser remembers every turn it ever took, some 6 KB each, and forgets nothing by itself: a session that sees
    # a thousand contracts would spend gigabytes on it, and its time on collecting garbage.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "50000",
    # Both sides are open at once, so no task sorts its rows before it writes them.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # Exact sums hold a few odd values: groups with buffers of their own must not be sorted for that.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # Listing a few hundred given files is no work for a job of its own.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
}
# Good for one machine, wrong for a cluster that somebody has set up.
LOCAL: dict[str, str] = {
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "1",
}
# For inputs that are smaller than the code that would be generated for them.
SMALL: dict[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
SMALL_BYTES = 2 * 2**20
LARGE_BYTES = 64 * 2**20  # from which the full compiler has paid for itself: about two million orders in Parquet
CATALOG = "spark.sql.catalog.spark_catalog"
DELTA: dict[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

_lock = threading.RLock()
_holders: set[int] = set()  # engines that use the session this process started
_started: Any = None
_started_local = False
_rooms: list[Scratch] = []  # where its own files lie: what it shuffles, what memory cannot hold


def is_connect(thing: Any) -> bool:
    """A session or frame of Spark Connect, which has no JVM in this process."""
    return ".connect." in type(thing).__module__


def functions_of(thing: Any) -> Any:
    """The module of functions that fits a session or frame; classic and Connect may live in one process."""
    if is_connect(thing):
        from pyspark.sql.connect import functions as connect_functions

        return connect_functions
    from pyspark.sql import functions as classic_functions

    return classic_functions


def observation_for(frame: Any) -> Any:
    """A fresh counter that fits a frame."""
    if is_connect(frame):
        from pyspark.sql.connect.observation import Observation as ConnectObservation

        return ConnectObservation()
    from pyspark.sql.observation import Observation

    return Observation()


def beside(session: Any, settings: Mapping[str, str]) -> Any:
    """A session of our own that shares everything with the given one but its settings."""
    if not is_connect(session):
        ours = session.newSession()
    elif hasattr(session, "cloneSession"):
        ours = session.cloneSession()
    else:
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        ours = ConnectSession(connection=session.client._builder)
    configure(ours, {**OURS, **settings})
    return ours


def for_small_inputs(session: Any) -> Any:
    """A session beside one that we started, for inputs of a few rows: nothing is compiled, nothing re-planned."""
    small = session.newSession()
    configure(small, {**OURS, **LOCAL, **SMALL, "spark.sql.icu.caseMappings.enabled": "false"})
    # Where the session reads tables through Delta, so does the one for a few rows.
    if session.conf.get(CATALOG, "builtin") == DELTA[CATALOG]:
        configure(small, {CATALOG: DELTA[CATALOG]})
    return small


def is_started_here(session: Any) -> bool:
    """Whether this is the local session that this process started, or one beside it."""
    return is_launched_here(session) and _started_local


def is_launched_here(session: Any) -> bool:
    """Whether this process started the Spark behind a session, on this machine or on a cluster."""
    return _started is not None and not is_connect(session) and session._sc is _started._sc


def with_delta(session: Any) -> Any:
    """A session on the Spark that this process started, with Delta's rules, which go on a session as it is made."""
    from pyspark.sql import SparkSession

    jvm = session._jvm
    sessions = getattr(jvm, "org.apache.spark.sql.classic.SparkSession")
    active, default = sessions.getActiveSession(), sessions.getDefaultSession()
    # Otherwise the builder gives back one of these, as it is.
    sessions.clearActiveSession()
    sessions.clearDefaultSession()
    try:
        builder = sessions.builder().sparkContext(session._jsc.sc())
        builder = builder.withExtensions(jvm.io.delta.sql.DeltaSparkSessionExtension())
        delta_session = SparkSession(session._sc, builder.getOrCreate())
    finally:
        if default.isDefined():
            sessions.setDefaultSession(default.get())
        if active.isDefined():
            sessions.setActiveSession(active.get())
    return delta_session


def changeable(session: Any, settings: Mapping[str, str]) -> dict[str, str]:
    """Those among the settings that a session can have for itself; the others hold for the whole of Spark."""
    return {key: value for key, value in settings.items() if session.conf.isModifiable(key)}


def configure(session: Any, settings: Mapping[str, str]) -> None:
    """Put settings on a session that is ours."""
    with warnings.catch_warnings():
        # Spark warns about some settings as soon as they are touched, even to leave them as they are.
        warnings.simplefilter("ignore")
        for key, value in settings.items():
            session.conf.set(key, value)


def connect(url: str, settings: Mapping[str, str]) -> Any:
    """A session of our own on a Spark Connect server."""
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    try:
        _knock(url)
        session = ConnectSession(connection=url)
        configure(session, {**OURS, **settings})
    except Exception as error:
        raise EngineError(
            f"The Spark Connect server at {_without_secrets(url)} cannot be reached.",
            hint="Check the address (sc://host:port) and that the server runs.",
        ) from error
    return session


def _knock(url: str) -> None:
    """Fail at once where nobody listens: Spark's own client tries again for ten minutes."""
    where = urlsplit(_without_secrets(url).replace("sc://", "//", 1))
    socket.create_connection((where.hostname or "localhost", where.port or CONNECT_PORT), timeout=10).close()


def _without_secrets(url: str) -> str:
    return url.partition(";")[0]


def fast_start_wanted(asked: bool | None, *, large: bool = False) -> bool:
    """Whether a local session starts with the archive and the quick compiler: asked for, or said by the environment.

    Where nobody says, the size of the input does: what the quick compiler makes runs at half the speed.
    """
    if asked is not None:
        return asked
    setting = os.environ.get(FAST_START_VARIABLE, "").strip().lower()
    return setting not in ("0", "false", "no", "off") if setting else not large


def start(holder: object, master: str | None, fast_start: bool, settings: Mapping[str, str], delta: bool) -> Any:
    """The session of this process, started if there is none; `holder` keeps it until it lets go."""
    global _started, _started_local  # noqa: PLW0603 - one process has one Spark, whoever asks first starts it
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _lock:
        if _started is not None and _started._sc._jsc is not None:
            _holders.add(id(holder))
            return beside(_started, settings)
        if SparkContext._active_spark_context is not None:
            # Somebody else's: a notebook's, a platform's.
            return beside(SparkSession.builder.getOrCreate(), settings)
        where = master or os.environ.get(MASTER_VARIABLE) or "local[*]"
        _started = _launch(where, fast_start, settings, delta)
        signals.listen_again()  # Spark's Python takes SIGINT for itself
        _started_local = where.startswith("local")
        _holders.add(id(holder))
        return _started


def release(holder: object) -> None:
    """Let go of the started session; the last one stops it."""
    global _started  # noqa: PLW0603
    with _lock:
        if id(holder) not in _holders:
            return
        _holders.discard(id(holder))
        if not _holders and _started is not None:
            stop(_started)
            _started = None


def stop(session: Any) -> None:
    """Stop a session that we started, and its JVM; returns when the JVM is gone."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    session.stop()
    if gateway is None:
        return
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    if process is not None and process.stdin is not None:
        process.stdin.close()
        process.wait(timeout=60)
    _leave_rooms()


def _make_rooms(settings: Mapping[str, str]) -> list[str]:
    """A private folder in every folder that somebody has chosen, or in the temporary one."""
    for base in launcher.local_folders(settings):
        try:
            _rooms.append(scratch(base))
        except OSError as error:
            raise EngineError(
                f"Spark cannot put its own files under {base or tempfile.gettempdir()}: {error.strerror}.",
                hint="Set SPARK_LOCAL_DIRS or spark.local.dir to a folder that is there and can be written.",
            ) from error
    return [room.path for room in _rooms]


def _leave_rooms() -> None:
    for room in _rooms:
        room.remove()
    _rooms.clear()


def _launch(master: str, fast_start: bool, settings: Mapping[str, str], delta: bool) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    installation.require_java()
    local = master.startswith("local")
    fast = local and fast_start
    wanted = _settings(master, local=local, fast=fast, settings=settings, delta=delta)
    conf = SparkConf(loadDefaults=False)
    for key, value in wanted.items():
        conf.set(key, value)
    # A JVM writes to these for as long as it lives: warnings about modules, errors of tasks.
    log = tempfile.TemporaryFile("a+b")  # noqa: SIM115
    try:
        java_options = settings.get(launcher.JAVA_OPTIONS)
        gateway = launcher.launch(wanted, log, quick=fast, folders=_make_rooms(settings), java_options=java_options)
        context = SparkContext(conf=conf, gateway=gateway)
    except Exception as error:
        _leave_rooms()
        if isinstance(error, EngineError):
            raise
        raise EngineError(
            f"Spark could not be started on {master}.",
            hint="\n".join(_last_lines(log)) or "`lakelogic doctor` looks at what is installed.",
        ) from error
    # The setting alone reaches only applications that `spark-submit` starts.
    context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    _quiet_exit(gateway)
    if not fast or "spark.sql.extensions" in wanted:
        return SparkSession(context)
    return SparkSession(context, _session_without_providers(gateway, context))


def _session_without_providers(gateway: Any, context: Any) -> Any:
    """A JVM session for which Spark looked for no extensions by itself.

    The only one it brings registers functions of MLlib, which costs a third of a start and nobody here calls.
    """
    # What the bridge needs by name is looked up first: it uses the same class loader.
    builder = getattr(gateway.jvm, "org.apache.spark.sql.classic.SparkSession").builder()
    builder = builder.sparkContext(context._jsc.sc())
    threads = gateway.jvm.java.lang.Thread
    none = gateway.jvm.java.lang.ClassLoader.getPlatformClassLoader()
    thread = threads.currentThread()
    usual = thread.getContextClassLoader()
    thread.setContextClassLoader(none)
    try:
        return builder.getOrCreate()
    finally:
        thread.setContextClassLoader(usual)
        # Threads that were started meanwhile have inherited what was set here, and live as long as Spark.
        for other in threads.getAllStackTraces().keySet():
            if none.equals(other.getContextClassLoader()):
                other.setContextClassLoader(usual)


def _settings(master: str, *, local: bool, fast: bool, settings: Mapping[str, str], delta: bool) -> dict[str, str]:
    jars = installation.jars()
    log4j = Path(__file__).with_name("log4j2.properties")
    options = [f'"-Dlog4j2.configurationFile={log4j.as_uri()}"', "-Xlog:disable"]
    if fast:
        # Room for young objects from the beginning: a short run never collects any.
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xms512m", "-Xmn256m", "-Xshare:auto"]
        archive = installation.archive()
        if archive.is_file():
            options.append(f'"-XX:SharedArchiveFile={archive}"')
    wanted = {
        "spark.master": master,
        "spark.app.name": "lakelogic",
        "spark.submit.deployMode": "client",
        # Otherwise workers start the machine's `python3` and miss our packages.
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        # Runs side by side have a pool each, and none waits until another is done.
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **OURS,
    }
    if local:
        # Java's own case mapping, in no language: the tables of the other one take seconds to build.
        options += ["-Duser.language=en", "-Duser.country=US"]
        wanted["spark.sql.icu.caseMappings.enabled"] = "false"
        wanted |= LOCAL | {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        wanted["spark.driver.memory"] = _memory()
    if jars:
        # On the class path and not only in `spark.jars`, so that the archive holds their classes too.
        wanted["spark.driver.extraClassPath"] = os.pathsep.join(str(jar) for jar in jars)
        if not local:
            wanted["spark.jars"] = ",".join(jar.as_uri() for jar in jars)
        if delta:
            wanted |= DELTA
    wanted |= settings
    # What somebody adds goes another way: it may hold a secret.
    wanted[launcher.JAVA_OPTIONS] = " ".join(options)
    return wanted


def _memory() -> str:
    """The most heap a local session may grow to: it does all the work in one JVM."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (ValueError, OSError, AttributeError):
        return "1g"
    return f"{min(4096, max(1024, machine // 4))}m"


def _last_lines(log: IO[bytes], count: int = 12) -> list[str]:
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("NOTE: Picked up")][-count:]


def _quiet_exit(gateway: Any) -> None:
    """A process that ends without `close()` ends its JVM too, and waits until it is gone."""
    process = getattr(gateway, "proc", None)
    if process is None:
        return

    def end() -> None:
        if process.poll() is None and process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)

    atexit.register(end)
