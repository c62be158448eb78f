"""Iceberg through a REST catalog: the same promises when the catalog is a server.

The server speaks the catalog's protocol over a loopback port of this process, and keeps its tables in SQLite.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
from pyiceberg.catalog import rest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableRequest
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from lakelogic.errors import CommitConflict
from lakelogic.tables.base import CommitInfo, Layout
from lakelogic.tables.iceberg import tables as iceberg
from lakelogic.tables.iceberg.tables import IcebergTables

SCHEMA = pa.schema([("id", pa.int64()), ("shop", pa.string())])
APP = "lakelogic:shop:good"
TABLES = IcebergTables()
_STATUS = {
    NoSuchNamespaceError: 404,
    NoSuchTableError: 404,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
    CommitFailedException: 409,
}


class Named:
    """A table that is known by its name only."""

    def __init__(self, name: tuple[str, ...]) -> None:
        self._name = name

    def name(self) -> tuple[str, ...]:
        return self._name


def handler_for(catalog: SqlCatalog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else {}
            try:
                status, said = 200, self.find(body)
            except tuple(_STATUS) as error:
                status = _STATUS[type(error)]
                said = {"error": {"message": str(error), "type": type(error).__name__, "code": status}}
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_HEAD = answer  # noqa: N815 (names of the standard library)

        def find(self, body: dict[str, Any]) -> dict[str, Any]:
            path = self.path.split("?")[0]
            if path == "/v1/config":
                return {"defaults": {}, "overrides": {}}
            if path == "/v1/namespaces":
                catalog.create_namespace(tuple(body["namespace"]))
                return {"namespace": body["namespace"], "properties": {}}
            found = re.fullmatch(r"/v1/namespaces/([^/]+)(?:/tables(?:/([^/]+))?)?", path)
            assert found is not None, path
            namespace, table = tuple(unquote(found[1]).split("\x1f")), found[2]
            if table is None and path.endswith("/tables"):
                return self.staged(body)
            if table is None:
                return {"namespace": list(namespace), "properties": catalog.load_namespace_properties(namespace)}
            name = (*namespace, unquote(table))
            if self.command == "POST":
                asked = CommitTableRequest.model_validate(body)
                done = catalog.commit_table(Named(name), asked.requirements, asked.updates)  # type: ignore[arg-type]
                return {"metadata-location": done.metadata_location, "metadata": plain(done.metadata)}
            if self.command == "DELETE":
                catalog.drop_table(name)
                return {}
            there = catalog.load_table(name)
            return {"metadata-location": there.metadata_location, "metadata": plain(there.metadata), "config": {}}

        def staged(self, body: dict[str, Any]) -> dict[str, Any]:
            assert body["stage-create"] is True
            spec = PartitionSpec.model_validate(body["partition-spec"])
            made = new_table_metadata(
                Schema.model_validate(body["schema"]), spec, UNSORTED_SORT_ORDER, body["location"], body["properties"]
            )
            return {"metadata": plain(made), "config": {}}

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def plain(metadata: Any) -> dict[str, Any]:
    return dict(json.loads(metadata.model_dump_json()))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    catalog = SqlCatalog("server", uri=f"sqlite:///{tmp_path}/server.db", warehouse=str(tmp_path / "wh"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(catalog))
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("LAKELOGIC_ICEBERG_CATALOG", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("LAKELOGIC_WAREHOUSE", str(tmp_path / "wh"))
    yield tmp_path / "wh" / "shop" / "silver" / "orders"
    server.shutdown()
    server.server_close()


def order(number: int, shop: str | None = None) -> pa.Table:
    return pa.table({"id": [number], "shop": [shop]}, schema=SCHEMA)


def ids(root: Path) -> list[Any]:
    return sorted(TABLES.preview(str(root))["id"].to_pylist())


def test_commits_go_through_the_server_and_happen_once(root: Path, stage: Any) -> None:
    staged = stage(root, order(1))
    assert TABLES.state(str(root)) is None
    TABLES.append(str(root), [staged], SCHEMA, CommitInfo(APP, 1, {"batch_id": "b1"}))
    assert TABLES.append(str(root), [staged], SCHEMA, CommitInfo(APP, 1)).skipped
    wider = pa.schema([*SCHEMA, ("city", pa.string())])
    more = pa.table({"id": [2], "shop": ["a"], "city": ["Ghent"]}, schema=wider)
    TABLES.append(str(root), [stage(root, more)], wider, CommitInfo(APP, 2))
    assert ids(root) == [1, 2]
    assert TABLES.find_commit(str(root), APP, 1) == {"batch_id": "b1"}
    assert not (root.parents[1] / ".iceberg").exists()


def test_a_replacement_that_lost_the_race_is_a_conflict(
    root: Path, stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    TABLES.append(str(root), [stage(root, order(1))], SCHEMA, CommitInfo(APP, 1))
    once = iceberg._once

    def beaten(transaction: Any) -> Any:
        monkeypatch.setattr(iceberg, "_once", once)
        TABLES.append(str(root), [stage(root, order(2))], SCHEMA, CommitInfo("other", 1))
        return once(transaction)

    monkeypatch.setattr(iceberg, "_once", beaten)
    with pytest.raises(CommitConflict):
        TABLES.replace(str(root), list(TABLES.state(str(root)).files), [], SCHEMA, CommitInfo(APP, 2), based_on=1)  # type: ignore[union-attr]
    assert ids(root) == [1, 2]


def test_partitions_and_the_end_of_a_table(root: Path, stage: Any) -> None:
    staged = stage(root, order(1, "a"))
    parted = type(staged)(staged.path, 1, staged.size, {"shop": "a"})
    TABLES.append(str(root), [parted], SCHEMA, CommitInfo(APP, 1), layout=Layout(partition_by=("shop",)))
    state = TABLES.state(str(root))
    assert state is not None
    assert (state.partition_by, list(state.parts.values())) == (("shop",), [{"shop": "a"}])
    TABLES.drop(str(root))
    assert TABLES.state(str(root)) is None


def test_the_server_is_reached_by_the_rest_client(root: Path) -> None:
    from lakelogic.tables.iceberg.catalog import catalog_for

    catalog, name = catalog_for(str(root))
    assert isinstance(catalog, rest.RestCatalog)
    assert name == ("shop", "silver", "orders")
