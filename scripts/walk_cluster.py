"""A Spark cluster on this machine loses a worker in the middle of staging: same tables, same counts.

    python scripts/walk_cluster.py --rows 3000000

A master and two workers are started from the pyspark package. Once undisturbed, then with one worker and its executors
killed (SIGKILL) while it writes staged files: good rows, quarantine and counts must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import yaml

from lakelogic.catalogs.local import LocalCatalog
from lakelogic.contract.reading.load import load
from lakelogic.engines import registry
from lakelogic.ledger.store import open_ledger
from lakelogic.run.contract_run import run
from lakelogic.run.places import QUARANTINE_FORMAT, places
from lakelogic.run.request import ContractRequest
from lakelogic.tables.registry import load as load_tables

FILES = 24
_PATIENCE = 60.0
CONTRACT = {
    "dataset": "orders",
    "source": {"path": "landing/*.parquet", "load_mode": "incremental"},
    "model": {
        "fields": [
            {"name": "id", "type": "bigint", "required": True},
            {"name": "amount", "type": "int", "min": 0},
            {"name": "note", "type": "string"},
        ]
    },
    "transformations": [{"filter": {"sql": "id % 10 <> 3"}}, {"sql": "sha2(note, 256) AS digest"}],
    "materialization": {"target_path": "shop.silver.orders"},
}


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    return subprocess.Popen(
        [str(home / "bin" / "spark-class"), *arguments],
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / f"{arguments[0].rpartition('.')[2]}.log").open("ab"),
        start_new_session=True,  # a worker is killed with everything it has started
    )


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers on loopback."""
    port, processes = _port(), []
    master = "org.apache.spark.deploy.master.Master"
    worker = "org.apache.spark.deploy.worker.Worker"
    try:
        processes.append(
            _start(folder, master, "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(_port()))
        )
        _until(lambda: _answers(port))
        url = f"spark://127.0.0.1:{port}"
        for number in range(2):
            place = folder / f"worker{number}"
            place.mkdir()
            options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "2g", "--work-dir", str(place))
            processes.append(_start(folder, worker, *options, "--webui-port", str(_port()), url))
        yield url, processes[1:]
    finally:
        for process in processes:
            _kill(process)


def _answers(port: int) -> bool:
    with socket.socket() as there:
        return there.connect_ex(("127.0.0.1", port)) == 0


def _until(holds: Any, patience: float = _PATIENCE) -> None:
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the cluster did not come up in time")
        time.sleep(0.05)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def lay_out(folder: Path, rows: int) -> None:
    (folder / "landing").mkdir(parents=True)
    (folder / "contract.yaml").write_text(yaml.safe_dump(CONTRACT))
    size = rows // FILES
    for number in range(FILES):
        ids = range(number * size, (number + 1) * size)
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "amount": pa.array([one % 1000 - 20 for one in ids], pa.int32()),
                "note": pa.array([f"note {one * 7919 % 1_000_003}" for one in ids]),
            }
        )
        pq.write_table(table, folder / "landing" / f"{number:02}.parquet")


def play(folder: Path, rows: int, engine: Any, victim: subprocess.Popen[bytes] | None) -> dict[str, Any]:
    """Run once, and count what there is; a victim dies as soon as the first staged file is there."""
    lay_out(folder, rows)
    catalog = LocalCatalog(folder / "lakelogic_warehouse", folder)
    loaded = load(folder / "contract.yaml")
    where = places(loaded.contract, catalog)
    killed = threading.Event()

    def watch() -> None:
        target = Path(where.target_location)
        _until(lambda: target.is_dir() and any(target.rglob("*.parquet")), 300)
        assert victim is not None
        _kill(victim)
        killed.set()

    if victim is not None:
        threading.Thread(target=watch, daemon=True).start()
    with open_ledger(catalog.ledger_url()) as ledger:
        result = run(ContractRequest(loaded, engine, catalog, ledger))
        account = ledger.run(result.run_id).account
    if victim is not None and not killed.is_set():
        raise SystemExit("The run was over before a worker could be killed; use more --rows.")
    assert isinstance(account, dict)
    good = load_tables("delta").state(where.target_location)
    bad = load_tables(QUARANTINE_FORMAT).state(where.quarantine_location)
    assert good is not None
    assert bad is not None
    distinct = pa.concat_tables(pq.read_table(path, columns=["id"]) for path in good.files).column("id").unique()
    told = {name: account[name] for name in ("read", "good", "quarantined", "filtered")}
    return {
        "status": result.status,
        **told,
        "good digest": account["digests"]["good"],
        "rows in the table": good.rows,
        "different ids": len(distinct),
        "rows in quarantine": bad.rows,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=3_000_000)
    asked = parser.parse_args()
    found = []
    for disturbed in (False, True):
        with tempfile.TemporaryDirectory(prefix="lakelogic-cluster-") as place:
            folder = Path(place)
            with cluster(folder) as (url, workers):
                settings = {"spark.executor.memory": "1g", "spark.driver.host": "127.0.0.1"}
                engine = registry.load("spark", master=url, settings=settings)
                try:
                    found.append(play(folder / "w", asked.rows, engine, workers[0] if disturbed else None))
                finally:
                    engine.close()
        print(json.dumps({"a worker was killed": disturbed, **found[-1]}), flush=True)
    print("equal" if found[0] == found[1] else "DIFFERENT")
    return 0 if found[0] == found[1] else 1


if __name__ == "__main__":
    sys.exit(main())
