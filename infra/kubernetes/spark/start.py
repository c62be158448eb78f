"""Start what a pod is for: an executor, where Spark asks for one, else the command line.

Spark starts executors with the word `executor` and tells them the rest in environment variables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
TOLD = {
    "--driver-url": "SPARK_DRIVER_URL", "--executor-id": "SPARK_EXECUTOR_ID", "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID", "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID", "--podName": "SPARK_EXECUTOR_POD_NAME",
}  # fmt: skip


def command(words: list[str], environ: Mapping[str, str], jars: str) -> list[str]:
    """What is run for these words."""
    if words[:1] != ["executor"]:
        return ["lakelogic", *words]
    numbered = sorted((int(name[15:]), value) for name, value in environ.items() if name.startswith("SPARK_JAVA_OPT_"))
    memory = environ["SPARK_EXECUTOR_MEMORY"]
    paths = [jars, *filter(None, [environ.get("SPARK_EXTRA_CLASSPATH"), environ.get("SPARK_CONF_DIR")])]
    told = [word for option, name in TOLD.items() for word in (option, environ[name])]
    return [
        "java", *(value for _, value in numbered), f"-Xms{memory}", f"-Xmx{memory}", "-cp", os.pathsep.join(paths),
        BACKEND, *told,
    ]  # fmt: skip


def main() -> None:
    """Become it."""
    jars = ""
    if sys.argv[1:2] == ["executor"]:
        import pyspark

        jars = str(Path(pyspark.__file__).parent / "jars" / "*")
    run = command(sys.argv[1:], os.environ, jars)
    os.execvp(run[0], run)


if __name__ == "__main__":
    main()
