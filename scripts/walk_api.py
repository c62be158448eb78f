"""Ask the service everything its OpenAPI document allows and much that it does not: no answer may be a defect.

    python scripts/walk_api.py [requests] [--seed N]

Runs the lab in a folder of its own, then sends made-up requests to the service in this process: values that the
document describes, values that it forbids, and bytes that nobody describes. Every answer must have a status and a shape
that the document knows, and none may be 500.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KNOWN = {
    "dataset": ("silver_orders", "gold_region_kpis", "bronze_orders"),
    "layer": ("bronze", "silver", "gold"),
    "focus": ("silver_orders",),
    "key": (["east"], ["north"]),
    "at": ("0-1", "0-3"),
    "column": ("amount", "region"),
    "file": ("data/source_orders.csv",),
}

BODIES = (b"{", b"[[[[", b"null", b'{"dataset": {"a": 1}}', b'{"text": "\\ud800"}', b'{"why": "\\u0000"}')


def build(folder: Path) -> None:
    """The lab, run on DuckDB."""
    from lakelogic import DataProcessor

    shutil.copytree(ROOT / "examples/orders_lab", folder, dirs_exist_ok=True)
    os.chdir(folder)
    for contract in ("bronze/orders", "silver/orders", "gold/region_kpis"):
        DataProcessor(f"contracts/{contract}.yaml", "duckdb").run()


def walk(app: Any, requests: int, seed: int = 1, every: int = 1) -> tuple[Counter[str], list[str]]:
    """So many requests, spread over the routes (or every so-manieth); how many had which status, and what was wrong."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, Verbosity, given
    from hypothesis import seed as seeded
    from hypothesis import settings as rules
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )
    from starlette.testclient import TestClient

    warnings.simplefilter("ignore")
    checks = (not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance)
    here = {"Host": "127.0.0.1:8096"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=here)
    client = TestClient(app, "http://127.0.0.1:8096", raise_server_exceptions=False)
    operations = [found.ok() for found in schema.get_all_operations()][::every]
    statuses: Counter[str] = Counter()
    wrong: list[str] = []
    luck = random.Random(seed)
    each = max(1, requests * 9 // 10 // len(operations))
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)

    def ask(case: Any) -> None:
        for name, values in KNOWN.items():
            for part in (case.path_parameters, case.query):
                # Half of the time something that is there, or every answer would be "not found".
                if part and name in part and luck.random() < 0.5:
                    part[name] = luck.choice(values)
        answer = case.call(headers=here)
        statuses[str(answer.status_code)] += 1
        try:
            case.validate_response(answer, checks=checks)
        except (BaseExceptionGroup, Exception) as error:  # noqa: BLE001 - every kind of failure is collected
            wrong.append(f"{case.method} {case.formatted_path}: {str(error)[:600]}")
            if requests >= 1_000:
                print(wrong[-1], flush=True)

    for number, operation in enumerate(operations):
        if requests >= 1_000:
            print(f"{sum(statuses.values()):,} requests, now {operation.method.upper()} {operation.path}", flush=True)
        for mode in modes:
            try:
                strategy = operation.as_strategy(generation_mode=mode)
                bounded = rules(
                    max_examples=max(1, each // 2), deadline=None, database=None, phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
                )  # fmt: skip
                seeded(seed + number)(bounded(given(case=strategy)(ask)))()
            except Exception as error:
                # A route without parameters has nothing that could be wrong with them.
                if "Unsatisfiable" not in type(error).__name__:
                    raise
    for _ in range(max(1, requests - sum(statuses.values()))):
        answer = noise(client, luck, [operation.path for operation in operations])
        statuses[str(answer.status_code)] += 1
        if answer.status_code >= 500 and answer.status_code != 503:
            wrong.append(f"noise {answer.request.method} {answer.request.url}: {answer.text[:300]}")
    return statuses, wrong


def noise(client: Any, luck: random.Random, paths: list[str]) -> Any:
    """One request of bytes that nobody describes: broken paths, headers and bodies."""
    letters = "abc/..%2e%00ä\U0001f600 '\"<>;{}[]\\$&=?#"
    junk = "".join(luck.choice(letters) for _ in range(luck.randrange(1, 40)))
    path = luck.choice(paths)
    path = path.replace("{dataset}", "silver_orders") if luck.random() < 0.5 else path
    if luck.random() < 0.3:
        path += "/" + junk.replace("#", "").replace("?", "")
    body = bytes(luck.randrange(256) for _ in range(luck.randrange(0, 200)))
    if luck.random() < 0.5:
        body = luck.choice(BODIES)
    headers = {
        "Content-Type": luck.choice(["application/json", "text/plain", "multipart/form-data", "application/xml"])
    }
    if luck.random() < 0.3:
        headers["Authorization"] = luck.choice(["Bearer", "Bearer ll_x_y", "Basic eA==", "Bearer a.b.c"])
    if luck.random() < 0.3:
        headers["If-None-Match"] = junk.encode("ascii", "ignore").decode()
    method = luck.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
    query = {luck.choice(["after", "limit", "since", "rule", "sort", "x"]): junk} if luck.random() < 0.5 else None
    return client.request(method, path, content=body, headers=headers, params=query)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("requests", nargs="?", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("LAKELOGIC_") and name != "LAKELOGIC_CACHE"]:
        del os.environ[name]
    os.environ["LAKELOGIC_ENGINE"] = "duckdb"
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        from lakelogic.actions.look.estate import EstateRequest
        from lakelogic.api.app import create_app
        from lakelogic.api.settings import Settings

        settings = Settings(EstateRequest(("contracts",)), stream_seconds=0.0, burst=10**9)
        began = time.monotonic()
        statuses, wrong = walk(create_app(settings), asked.requests, asked.seed)
        os.chdir(ROOT)
    total = sum(statuses.values())
    told = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    print(f"{total:,} requests in {time.monotonic() - began:.0f} s; {told}")
    for one in wrong[:20]:
        print(one)
    print(f"{len(wrong)} wrong answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
