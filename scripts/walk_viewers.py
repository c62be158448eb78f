"""Two hundred people page through runs and quarantine at once: how long they wait, and what it costs.

    python scripts/walk_viewers.py [--viewers 200] [--seconds 60] [--runs 100000] [--rows 1000000]

Builds the lab in a folder of its own, fills its ledger and its quarantine, starts the service in a process of its own,
and lets every viewer, each with a token, go from page to page with a pause for reading in between. Tells the p50 and
p95 of each kind of page, in milliseconds and as a multiple of the bare query over the same data at the same time; the
service's memory before and after; and every answer that was not 200.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lakelogic.run.surroundings import Surroundings

ROOT = Path(__file__).resolve().parents[1]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RULES = ("missing_customer", "missing_region", "non_positive_amount", "stale_duplicate")
DATASETS = ("bronze_orders", "silver_orders", "gold_region_kpis")
QUEUE = "/api/v1/quarantine/silver_orders"


def build(folder: Path, runs: int, rows: int) -> None:
    """The lab with a long history."""
    from lakelogic import DataProcessor

    shutil.copytree(ROOT / "examples/orders_lab", folder, dirs_exist_ok=True)
    os.chdir(folder)
    for contract in ("bronze/orders", "silver/orders", "gold/region_kpis"):
        DataProcessor(f"contracts/{contract}.yaml", "duckdb").run()
    fill_ledger(runs)
    fill_quarantine(rows)


def fill_ledger(count: int) -> None:
    """So many runs, ten minutes apart, some of them failed; written as the ledger writes them."""
    from lakelogic.catalogs.local import LocalCatalog
    from lakelogic.ledger.records import RUN_COLUMNS
    from lakelogic.ledger.store import open_ledger

    luck = random.Random(1)
    with open_ledger(LocalCatalog().ledger_url()) as ledger, ledger.database.write("fill") as connection:
        known = connection.rows("SELECT * FROM runs")
        by_dataset = {row["dataset"]: row for row in known}
        listed = ", ".join(RUN_COLUMNS)
        insert = f"INSERT INTO runs ({listed}) VALUES ({', '.join(f':{name}' for name in RUN_COLUMNS)})"
        batch = []
        for number in range(count):
            at = BEGIN + timedelta(minutes=4 * number)
            row = dict(by_dataset[DATASETS[number % 3]])
            row |= {
                "run_id": f"run-{at:%Y%m%dT%H%M%S}-{number:06x}", "started_at": at, "pipeline_run_id": None,
                "finished_at": at + timedelta(seconds=luck.random() * 90), "duration_seconds": luck.random() * 90,
                "status": luck.choice(("succeeded",) * 8 + ("failed", "gated")), "batch_id": f"{number:032x}",
            }  # fmt: skip
            batch.append(row)
        connection.many(insert, batch)


def fill_quarantine(count: int) -> None:
    """So many bad orders beside the four of the lab, in files of a hundred thousand."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lakelogic import names
    from lakelogic.catalogs.local import LocalCatalog
    from lakelogic.quarantine.queue import ROWS_TOGETHER
    from lakelogic.storage import parquet
    from lakelogic.tables.base import CommitInfo, StagedFile
    from lakelogic.tables.registry import load

    tables = load("delta")
    location = LocalCatalog().resolve("lab.quarantine.silver_orders")
    state = tables.state(location)
    assert state is not None
    sample = parquet.reader(state.files, state.schema).read_all()
    luck = random.Random(2)
    staged = []
    for start in range(0, count, 100_000):
        size = min(100_000, count - start)
        table = sample.take(pa.array([number % sample.num_rows for number in range(size)]))
        at = [BEGIN + timedelta(minutes=4 * luck.randrange(100_000)) for _ in range(size)]
        made: dict[str, Any] = {
            names.ROW_ID: [f"{n * 2654435761 % 2**64:016x}{n:08x}" for n in range(start, start + size)],
            names.PROCESSED_AT: at,
            names.RUN_ID: [f"run-{one:%Y%m%dT%H%M%S}-{0:06x}" for one in at],
            names.RULES: [[luck.choice(RULES)] for _ in range(size)],
        }  # fmt: skip
        for name, values in made.items():
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))
        path = Path(location) / "filled" / f"part-{start:08}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, path, compression="zstd", row_group_size=ROWS_TOGETHER)
        staged.append(StagedFile(str(path), size, path.stat().st_size))
    tables.append(location, staged, state.schema, CommitInfo("walk:viewers", 1))


def bare_queries(pipe: Any) -> None:
    """Ask the bare query behind each kind of page again and again, until somebody says so, and send what it took.

    In a process of its own, beside the viewers: what else goes on here slows the bare query and the page alike.
    """
    import duckdb

    from lakelogic.catalogs.local import LocalCatalog
    from lakelogic.ledger.ask import RUN_LIST
    from lakelogic.ledger.store import open_ledger
    from lakelogic.tables.registry import load

    state = load("delta").state(LocalCatalog().resolve("lab.quarantine.silver_orders"))
    assert state is not None
    lake = duckdb.connect()
    queue = (
        "SELECT _lakelogic_row_id, quarantine_state, _lakelogic_processed_at, _lakelogic_rules FROM read_parquet(?) "
        "WHERE quarantine_state = 'active' ORDER BY _lakelogic_processed_at DESC, _lakelogic_row_id DESC LIMIT 50"
    )
    newest = f"SELECT {', '.join(RUN_LIST)} FROM runs ORDER BY started_at DESC, run_id DESC LIMIT 51"
    taken: dict[str, list[float]] = {"runs": [], "quarantine": []}

    def runs() -> None:
        with open_ledger(LocalCatalog().ledger_url()) as ledger, ledger.database.read() as connection:
            connection.rows(newest)

    while not pipe.poll():
        for _ in range(10):
            taken["runs"].append(_seconds(runs))
            time.sleep(0.1)
        taken["quarantine"].append(_seconds(lambda: lake.execute(queue, [list(state.files)]).fetchall()))
    pipe.send(taken)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@contextmanager
def beside_bare_queries() -> Iterator[dict[str, list[float]]]:
    """While the block lasts, bare queries are asked; what they took is there when it ends."""
    found: dict[str, list[float]] = {}
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=bare_queries, args=(theirs,))
    process.start()
    try:
        yield found
    finally:
        ours.send("enough")
        found |= ours.recv()
        process.join()


class Viewer:
    """One person with a connection of their own."""

    def __init__(self, port: int, token: str, number: int, taken: dict[str, list[float]], wrong: list[str]) -> None:
        self.port, self.token, self.luck = port, token, random.Random(number)
        self.taken, self.wrong = taken, wrong
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def look(self, until: float, pause: float) -> None:
        """Page through one list after the other."""
        await asyncio.sleep(self.luck.random() * pause)
        while time.perf_counter() < until:
            if self.luck.random() < 0.5:
                dataset = self.luck.choice(("", "", f"&dataset={self.luck.choice(DATASETS)}"))
                await self.pages("runs", f"/api/v1/runs?limit=50{dataset}", until, pause)
            else:
                rule = self.luck.choice(("", "", f"&rule={self.luck.choice(RULES)}"))
                await self.ask("facets", f"{QUEUE}/facets?{rule.lstrip('&')}")
                found = await self.pages("quarantine", f"{QUEUE}/rows?limit=50{rule}", until, pause)
                if found:
                    await self.ask("row", f"{QUEUE}/rows/{found[-1]['row_id']}")
        if self.streams is not None:
            self.streams[1].close()

    async def pages(self, kind: str, path: str, until: float, pause: float) -> list[dict[str, Any]]:
        """A few pages of one list, each read before the next."""
        after, items = "", list[dict[str, Any]]()
        for _ in range(self.luck.randrange(2, 8)):
            answer = await self.ask(kind, path + after)
            items = answer.get("items") or items
            await asyncio.sleep(self.luck.random() * 2 * pause)
            if not answer.get("next") or time.perf_counter() > until:
                break
            after = f"&after={quote(answer['next'])}"
        return items

    async def ask(self, kind: str, path: str) -> dict[str, Any]:
        """One request on a connection that is kept."""
        began = time.perf_counter()
        try:
            if self.streams is None:
                self.streams = await asyncio.open_connection("127.0.0.1", self.port, limit=2**22)
            reader, writer = self.streams
            writer.write(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode()
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
            body = await reader.readexactly(int(length.partition(":")[2]))
        except (OSError, asyncio.IncompleteReadError) as error:
            self.streams = None
            # A connection that nobody used for a while is closed by the service; that is no wrong answer.
            if not isinstance(error, asyncio.IncompleteReadError | ConnectionResetError) or error.args[:1] == ():
                self.wrong.append(f"{path}: {error!r}")
            return {}
        self.taken[kind].append(time.perf_counter() - began)
        if " 200 " not in head.partition("\r\n")[0]:
            self.wrong.append(f"{path}: {head.partition(chr(13))[0]} {body[:200]!r}")
            return {}
        answer: dict[str, Any] = json.loads(body)
        return answer


def resident(pid: int) -> float:
    """The memory of a process, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def walk(port: int, tokens: list[str], seconds: float, pause: float) -> tuple[dict[str, list[float]], list[str]]:
    """All viewers at once."""
    taken: dict[str, list[float]] = defaultdict(list)
    wrong: list[str] = []
    until = time.perf_counter() + seconds
    viewers = [Viewer(port, token, number, taken, wrong) for number, token in enumerate(tokens)]
    await asyncio.gather(*(viewer.look(until, pause) for viewer in viewers))
    return taken, wrong


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise SystemExit("the service has ended before it answered")
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service does not answer")


def tell(taken: dict[str, list[float]], bare: dict[str, list[float]]) -> None:
    """Of each kind of page how long it took, beside the bare query at the same time."""
    for kind, times in sorted(taken.items()):
        base = bare["runs" if kind == "runs" else "quarantine"]
        told = []
        for name, part in (("p50", 0.5), ("p95", 0.95)):
            page, query = _part(times, part), _part(base, part)
            told.append(f"{name} {page * 1000:7.1f} ms = {page / query:5.2f} x {query * 1000:.1f} ms")
        print(f"{kind:<11} {len(times):>6,} requests  {'   '.join(told)}")


def _part(times: list[float], part: float) -> float:
    ordered = sorted(times)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=5.0, help="how long a viewer reads a page, on average")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("LAKELOGIC_") and name != "LAKELOGIC_CACHE"]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), asked.runs, asked.rows)
        from lakelogic.actions.operate.access import new_token

        tokens = [
            new_token(Surroundings.here(), f"viewer-{number}@example.com", {"*": "viewer"})[0]
            for number in range(asked.viewers)
        ]
        port = free_port()
        command = [sys.executable, "-m", "lakelogic", "serve", "contracts", "--port", str(port), "--workers", "0"]
        service = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
        try:
            wait_until_it_answers(port, service)
            asyncio.run(walk(port, tokens[:1], 1, 0.1))  # the first one waits until the quarantine is indexed
            with beside_bare_queries() as bare_alone:
                first, _ = asyncio.run(walk(port, tokens[:1], 10, 0.1))
            before = resident(service.pid)
            with beside_bare_queries() as bare:
                taken, wrong = asyncio.run(walk(port, tokens, asked.seconds, asked.pause))
            halfway = resident(service.pid)
            more, again = asyncio.run(walk(port, tokens, asked.seconds / 2, asked.pause))
            after = resident(service.pid)
        finally:
            service.terminate()
            service.wait(30)
        os.chdir(ROOT)
    print(f"{asked.runs:,} runs, {asked.rows:,} quarantined rows, {asked.viewers} viewers, pause {asked.pause} s")
    print("one viewer alone, as a multiple of the bare query:")
    tell(first, bare_alone)
    print("all viewers at once, as a multiple of the bare query at the same time:")
    tell(taken, bare)
    requests = sum(map(len, taken.values()))
    print(f"{requests / asked.seconds:.0f} requests a second")
    print(f"memory of the service: {before:.0f} MiB, then {halfway:.0f} MiB, in the end {after:.0f} MiB")
    wrong += again
    for one in wrong[:10]:
        print(one)
    print(f"{len(wrong)} wrong answers of {requests + sum(map(len, more.values())):,}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
