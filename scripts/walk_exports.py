"""Send the orders lab elsewhere through the real client libraries, against servers that run what they are told.

    python scripts/walk_exports.py [FOLDER] [snowflake databricks s3]

Servers get environments of their own below a folder, because they do not agree about their dependencies: fakesnow (it
takes the connector below version 5), minilake and moto. The lab runs, is sent, is looked at over there, changes, is
sent again, and what is there is counted again; then the ledger forgets, and the destination must remember.

What the servers lack is put in here, and said: fakesnow knows no MERGE inside a transaction, so BEGIN and COMMIT are
left out there; minilake takes no parameters and no `read_files`, so a small go-between writes both out for it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SERVERS = {
    "snowflake": ["fakesnow[server]>=0.12", "snowflake-connector-python<5"],
    "databricks": ["minilake>=1.9,<2"],
    "s3": ["moto[server]>=5"],
}
CLIENT = ["-e", f"{ROOT}[duckdb]", "snowflake-connector-python<5"]
PATIENCE_SECONDS = 60
FIRST = [("east", "305.09", 2), ("north", "430.25", 2), ("south", "225.50", 2), ("west", "88.90", 2)]
# One order of the east is worth a cent more, and north has vanished: a merge leaves what has vanished.
CHANGED = [("east", "305.10", 2), ("north", "430.25", 2), ("south", "225.50", 2), ("west", "88.90", 2)]


def environment(folder: Path, name: str, packages: list[str]) -> Path:
    """The bin folder of an environment that has the packages, made if it is missing."""
    home = folder / name
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        install = (
            [uv, "pip", "install", "--python", home / "bin/python"]
            if uv
            else [home / "bin/python", "-m", "pip", "install"]
        )
        subprocess.run([*install, "--quiet", *packages], check=True)
        (home / "ready").touch()
    return home / "bin"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def started(command: list[Any], port: int, home: Path) -> Iterator[None]:
    """A server that answers on its port, ended afterwards."""
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(list(map(str, command)), cwd=home, stdout=log, stderr=log)
        try:
            ends = time.monotonic() + PATIENCE_SECONDS
            while time.monotonic() < ends:
                with socket.socket() as one:
                    if one.connect_ex(("127.0.0.1", port)) == 0:
                        break
                if server.poll() is not None:
                    raise SystemExit(f"{command[0]} ended:\n{(home / 'server.log').read_text()[-2000:]}")
                time.sleep(0.2)
            yield
        finally:
            server.terminate()
            server.wait(20)


class Lab:
    """The orders lab in a folder of its own, and the commands that run and send it."""

    def __init__(self, home: Path, python: Path | str, given: dict[str, str], before: str = "") -> None:
        self.home, self.python, self.before = home, python, before
        shutil.copytree(ROOT / "examples/orders_lab", home, dirs_exist_ok=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SNOWFLAKE_", "DATABRICKS_", "AWS_", "S3_", "LAKELOGIC_"))
        }
        self.environ = {**kept, **given, "LAKELOGIC_ENGINE": "duckdb", "NO_COLOR": "1"}

    def command(self, *words: str, expect: int = 0) -> Any:
        call = f"import sys\nfrom lakelogic.cli.main import main\nsys.argv = ['lakelogic', *{list(words)!r}]\nmain()"
        code = f"{self.before}\n{call}"
        done = subprocess.run(
            [self.python, "-c", code],
            cwd=self.home,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        if done.returncode != expect:
            raise SystemExit(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def run(self) -> None:
        self.command("drive", "--registry", "contracts/_registry.yaml")

    def export(self, *words: str, expect: int = 0) -> list[dict[str, Any]]:
        shown = self.command("export", "contracts/gold/region_kpis.yaml", "--json", *words, expect=expect)
        return list(json.loads(shown)["exports"])

    def change(self) -> None:
        source = self.home / "data/source_orders.csv"
        lines = [line for line in source.read_text().splitlines() if ",north," not in line]
        source.write_text("\n".join(lines).replace("205.10", "205.11") + "\n")

    def forget(self) -> None:
        with sqlite3.connect(self.home / "lakelogic_warehouse/.lakelogic/ledger.db") as ledger:
            ledger.execute("DELETE FROM exports")


def walk(lab: Lab, kind: str, look: Any) -> None:
    """The story that every destination must tell."""
    lab.run()
    assert [one["state"] for one in lab.export("--only", kind)] == ["up to date"]
    assert look() == FIRST, look()
    lab.change()
    lab.run()
    expected = CHANGED if kind != "s3" else [row for row in CHANGED if row[0] != "north"]
    assert look() == expected, look()
    lab.forget()
    told = lab.export("--only", kind)[0]
    assert (told["state"], told["known_there"]) == ("exported", True), told
    told = lab.export("--only", kind, "--again")[0]
    assert (told["state"], told["known_there"]) == ("exported", False), told
    assert look() == expected, look()


def snowflake(folder: Path, home: Path) -> str:
    server, port = environment(folder, "snowflake", SERVERS["snowflake"]), free_port()
    client = environment(folder, "client", CLIENT) / "python"
    given = {
        "SNOWFLAKE_ACCOUNT": "fakesnow", "SNOWFLAKE_USER": "loader", "SNOWFLAKE_PASSWORD": "walk-secret",
        "SNOWFLAKE_HOST": "localhost", "SNOWFLAKE_PORT": str(port), "SNOWFLAKE_PROTOCOL": "http",
    }  # fmt: skip
    lenient = """
import lakelogic.exports.snowflake as room
real = room.connect
def connect(**options):
    options["session_parameters"]["nop_regexes"] = ["^BEGIN", "^COMMIT", "^ROLLBACK"]
    return real(**options)
room.connect = connect
"""
    question = f"""
import json, snowflake.connector
c = snowflake.connector.connect(
    account="fakesnow", user="u", password="p", host="localhost", port={port}, protocol="http", database="LAKEHOUSE_LAB"
)
said = "SELECT REGION, GROSS_REVENUE_USD, ACCEPTED_ORDERS FROM GOLD.REGION_KPIS ORDER BY 1"
rows = c.cursor().execute(said).fetchall()
print(json.dumps([[a, str(b), int(c)] for a, b, c in rows]))
"""

    def look() -> list[tuple[Any, ...]]:
        shown = subprocess.run([client, "-c", question], capture_output=True, text=True, check=True, timeout=120).stdout
        return [tuple(row) for row in json.loads(shown.splitlines()[-1])]

    with started([server / "fakesnow", "-s", "-p", port], port, home):
        walk(Lab(home / "lab", client, given, lenient), "snowflake", look)
    return "connector <5 and fakesnow: PUT, COPY, MERGE, ALTER, bound values"


class GoBetween(BaseHTTPRequestHandler):
    """Hands requests to minilake, with parameters and `read_files` written out, and what it makes by other calls."""

    minilake, files = "", Path()

    def log_message(self, *_: object) -> None:
        return

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/api/2.0/sql/statements") and self.command == "POST" and "cancel" not in self.path:
            said = json.loads(body)
            words = said["statement"].split()
            if words[0] == "CREATE" and words[1] in ("CATALOG", "SCHEMA", "VOLUME"):
                return self._made(words[1].lower(), words[-1].replace("`", "").split("."))
            said["statement"] = self._written_out(said["statement"], said.pop("parameters", None) or [])
            body = json.dumps(said).encode()
        return self._forward(self.path, body)

    def _written_out(self, statement: str, parameters: list[dict[str, str]]) -> str:
        for one in parameters:
            text = "'" + one["value"].replace("'", "''") + "'"
            if one["name"] == "files":
                text = "'" + str(self.files) + one["value"] + "*.parquet'"
                statement = statement.replace("read_files(:files, format => 'parquet')", f"read_parquet({text})")
            statement = statement.replace(f":{one['name']} ", f"{text} ").replace(f":{one['name']}", text)
        return statement.replace("INSERT OVERWRITE", "INSERT INTO")

    def _made(self, kind: str, names: list[str]) -> None:
        keys = ["catalog_name", "schema_name"][: len(names) - 1]
        made = {"name": names[-1], **dict(zip(keys, names, strict=False))}
        if kind == "volume":
            made["volume_type"] = "MANAGED"
        plural = {"catalog": "catalogs", "schema": "schemas", "volume": "volumes"}[kind]
        self._ask(f"/api/2.1/unity-catalog/{plural}", json.dumps(made).encode(), "POST")
        self._answer(200, json.dumps({"statement_id": "made", "status": {"state": "SUCCEEDED"}}).encode())

    def _ask(self, path: str, body: bytes, method: str) -> tuple[int, bytes]:
        headers = {
            "Content-Type": self.headers.get("Content-Type") or "application/json",
            "Authorization": self.headers["Authorization"] or "",
        }
        request = urllib.request.Request(self.minilake + path, body or None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def _forward(self, path: str, body: bytes) -> None:
        self._answer(*self._ask(path, body, self.command))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass  # noqa: N815


def databricks(folder: Path, home: Path) -> str:
    server, port = environment(folder, "databricks", SERVERS["databricks"]), free_port()
    between = ThreadingHTTPServer(("127.0.0.1", 0), GoBetween)
    GoBetween.minilake, GoBetween.files = f"http://127.0.0.1:{port}", home / "data/dbfs"
    threading.Thread(target=between.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{between.server_address[1]}"
    given = {"DATABRICKS_HOST": url, "DATABRICKS_TOKEN": "dapi-walk"}
    question = """
from databricks.sdk import WorkspaceClient
import json, sys
w = WorkspaceClient(host=sys.argv[1], token="dapi-walk")
said = "SELECT region, gross_revenue_usd, accepted_orders FROM lakehouse_lab.gold.region_kpis ORDER BY 1"
found = w.statement_execution.execute_statement(statement=said, warehouse_id=next(iter(w.warehouses.list())).id)
print(json.dumps([[a, str(b), int(c)] for a, b, c in found.result.data_array]))
"""

    def look() -> list[tuple[Any, ...]]:
        done = subprocess.run(
            [sys.executable, "-c", question, url], capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        return [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]

    os.environ["MINILAKE_DATA_DIR"] = str(home / "data")
    with started([server / "minilake", "--host", "127.0.0.1", "--port", port], port, home):
        made = urllib.request.Request(
            f"{GoBetween.minilake}/api/2.0/sql/warehouses", b'{"name": "walk", "cluster_size": "2X-Small"}',
            {"Content-Type": "application/json", "Authorization": "Bearer dapi-walk"},
        )  # fmt: skip
        urllib.request.urlopen(made, timeout=30).read()
        walk(Lab(home / "lab", sys.executable, given), "databricks", look)
    between.shutdown()
    return "SDK and minilake: Unity Catalog, files, statements, MERGE"


def s3(folder: Path, home: Path) -> str:
    server, port = environment(folder, "s3", SERVERS["s3"]), free_port()
    url = f"http://127.0.0.1:{port}"
    given = {
        "AWS_ACCESS_KEY_ID": "walk", "AWS_SECRET_ACCESS_KEY": "walk-secret", "S3_ARTIFACT_BUCKET": "artefacts",
        "AWS_ENDPOINT_URL_S3": url, "AWS_REGION": "us-east-1",
    }  # fmt: skip

    def look() -> list[tuple[Any, ...]]:
        import io

        import pyarrow.parquet as pq

        from lakelogic.exports.s3 import connect

        client = connect(given)

        def get(name: str) -> bytes:
            return bytes(client.get_object(Bucket="artefacts", Key=f"gold/region_kpis/{name}")["Body"].read())

        latest = json.loads(get("latest.json"))
        table = pq.read_table(io.BytesIO(get(f"{latest['folder']}/{latest['files'][0]['name']}"))).to_pylist()
        return sorted((row["region"], str(row["gross_revenue_usd"]), row["accepted_orders"]) for row in table)

    with started([server / "moto_server", "-H", "127.0.0.1", "-p", port], port, home):
        urllib.request.urlopen(urllib.request.Request(f"{url}/artefacts", method="PUT"), timeout=30)
        walk(Lab(home / "lab", sys.executable, given), "s3", look)
    return "boto3 and moto: objects, checksums, manifest, pointer"


WALKS = {"snowflake": snowflake, "databricks": databricks, "s3": s3}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv/exports").absolute()
    for name in sys.argv[2:] or WALKS:
        with tempfile.TemporaryDirectory() as home:
            began = time.monotonic()
            print(f"{name}: {WALKS[name](folder, Path(home))} ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
