"""A standalone Spark cluster for tests, from the pyspark package: a master and workers with one core each.

with cluster(spark_connect, workers=2) as master: ...      # spark://127.0.0.1:PORT
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def cluster(processes: ModuleType, workers: int = 2) -> Iterator[str]:
    """Start master and workers, hand out the master's address, and stop them all whatever happens.

    `processes` is the module next to this one that knows how to run a server.
    """
    port = processes.free_port()
    master = f"spark://127.0.0.1:{port}"
    program = processes.spark_program("spark-class")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lakelogic-cluster-")))
        logs = [folder / f"log{number}" for number in range(workers + 1)]
        for log in logs:
            log.touch()
        start = [program, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
        stack.enter_context(processes.running([*start, "--webui-port", "0"], logs[0], "New state: ALIVE"))
        for number in range(1, workers + 1):
            command = [program, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"]
            command += ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}"), master]
            stack.enter_context(processes.running(command, logs[number], "Successfully registered with master"))
        while logs[0].read_text(errors="replace").count("Registering worker") < workers:
            time.sleep(0.1)
        yield master
