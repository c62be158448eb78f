"""Start the service over the orders lab as people start it, ask it what people ask first, and end it.

    python scripts/smoke_api.py [--warehouse FOLDER]

The lab must have run (`make build`). One run is asked for too, and a worker does it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

LAB = Path(__file__).resolve().parents[1] / "examples/orders_lab"
PATIENCE_SECONDS = 120
REJECTED = {"missing_customer": 1, "missing_region": 1, "non_positive_amount": 1, "stale_duplicate": 1}


def ask(base: str, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def patiently(found: Any, what: str) -> Any:
    """Ask until the answer is there."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        try:
            if answer := found():
                return answer
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.5)
    raise SystemExit(f"{what}: nothing after {PATIENCE_SECONDS} seconds")


def smoke(base: str) -> None:
    """Every route of the lab, and one run."""
    health = patiently(lambda: ask(base, "/health"), "The service")
    assert health["status"] == "ok", health
    report = ask(base, "/api/runtime/quality-report")["datasets"]
    assert {one["dataset"]: one["by_reason"] for one in report} == {"silver_orders": REJECTED}, report
    for layer, rows in (("bronze", 12), ("silver", 8), ("gold", 4)):
        table = ask(base, f"/api/runtime/table-preview/{layer}")["tables"][0]
        assert table["total"] == rows, table
    layers = ask(base, "/api/runtime/pipeline-summary")["layers"]
    assert set(layers) == {"bronze", "silver", "gold"}, layers
    exports = ask(base, "/api/runtime/export-status")["exports"]
    assert set(exports) == {"snowflake", "databricks", "s3"}, exports
    job = ask(base, "/api/v1/runs", {"dataset": "gold_region_kpis", "engine": "duckdb", "why": "smoke test"})["job_id"]
    ended = ("done", "failed", "cancelled")
    done = patiently(lambda: (found := ask(base, f"/api/v1/jobs/{job}"))["state"] in ended and found, "The job")
    assert done["state"] == "done", done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warehouse", default="lakelogic_warehouse/lab")
    warehouse = str(Path(parser.parse_args().warehouse).absolute())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "lakelogic", "serve", "contracts", "--port", str(port)]
    service = subprocess.Popen(command, cwd=LAB, env={**os.environ, "LAKELOGIC_WAREHOUSE": warehouse})
    try:
        smoke(f"http://127.0.0.1:{port}")
    finally:
        service.terminate()
        service.wait(30)
    print("The service answers: five routes, one run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
