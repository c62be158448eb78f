"""Find an Iceberg table by its place: the catalog that knows it, and the name it has there.

`LAKELOGIC_ICEBERG_CATALOG` names the catalog: `http(s)://…` is a REST catalog, any other address a database
(`sqlite:///…`, `postgresql+psycopg://…`). Without it the catalog is a SQLite file `.iceberg/catalog.db` in the
warehouse; for a table outside every warehouse, beside the table. It does not lie beside the ledger: a ledger may be
deleted, a catalog may not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyiceberg.catalog import Catalog, MetastoreCatalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    RESTError,
    TableAlreadyExistsError,
    ValidationException,
)
from pyiceberg.schema import Schema
from pyiceberg.table import CreateTableTransaction, StaticTable, Table
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from lakelogic.errors import CommitConflict, TableError, UnsupportedError

CATALOG = "LAKELOGIC_ICEBERG_CATALOG"
WAREHOUSE = "LAKELOGIC_WAREHOUSE"
DEFAULT_WAREHOUSE = "lakelogic_warehouse"
_FILE = Path(".iceberg") / "catalog.db"
_LEDGER = Path(".lakelogic")
_OUTSIDE = "files"


def local(place: str) -> str:
    """A path or `file:` URI as an absolute path; other stores are refused."""
    if "://" in place and not place.startswith("file://"):
        raise UnsupportedError(f"Tables at `{place}` are not available yet.", hint="Use a local path.")
    path = unquote(urlsplit(place).path) if place.startswith("file:") else place
    return os.path.abspath(path)  # noqa: PTH100 (links stay as they are)


def catalog_for(root: str) -> tuple[Catalog, tuple[str, ...]]:
    """The catalog of a table, and the name that the table has or gets there: the folders under the warehouse."""
    home = _home(root)
    url = os.environ.get(CATALOG)
    if url is None:
        (home / _FILE).parent.mkdir(parents=True, exist_ok=True)
        url = f"sqlite:///{home / _FILE}?timeout=30"
    parts = Path(root).relative_to(home).parts
    with trouble(root):
        return _catalog(url, str(home)), parts if len(parts) > 1 else (_OUTSIDE, *parts)


def new_table(catalog: Catalog, name: tuple[str, ...], schema: Schema, **settings: Any) -> CreateTableTransaction:
    """A table that exists when its first rows do."""
    if len(name) == 2 or not isinstance(catalog, MetastoreCatalog):
        return catalog.create_table_transaction(name, schema, **settings)
    # pyiceberg stages only names of two parts, and commits names of any depth.
    staged = catalog.create_table_transaction(name[-2:], schema, **settings)
    staged._table._identifier = name
    return staged


def open_table(root: str) -> Table | None:
    """The table as its catalog knows it; None where the catalog knows none."""
    if os.environ.get(CATALOG) is None and not (_home(root) / _FILE).exists():
        return None
    catalog, name = catalog_for(root)
    with trouble(root):
        try:
            return catalog.load_table(name)
        except NoSuchTableError:
            return None


def open_foreign(root: str) -> Table | None:
    """A table that lies at a place without our catalog knowing it; it can be read, as its newest metadata says."""
    folder = Path(root) / "metadata"
    files = sorted(folder.glob("*.metadata.json"), key=lambda path: path.stat().st_mtime_ns)
    if not files:
        return None
    hinted = (folder / "version-hint.text").is_file()
    with trouble(root):
        return StaticTable.from_metadata(root if hinted else str(files[-1]))


@contextmanager
def trouble(root: str) -> Iterator[None]:
    """Turn errors of pyiceberg and its catalogs into ours."""
    try:
        yield
    except (CommitFailedException, TableAlreadyExistsError, NamespaceAlreadyExistsError, ValidationException) as error:
        raise CommitConflict(f"Somebody else committed first: {error}", where=root, hint="Try again.") from error
    except IntegrityError as error:
        raise CommitConflict("Somebody else made the same name first.", where=root, hint="Try again.") from error
    except OperationalError as error:
        if any(sign in str(error) for sign in ("locked", "already exists")):
            raise CommitConflict("Somebody else uses the Iceberg catalog.", where=root, hint="Try again.") from error
        raise TableError(f"The Iceberg catalog cannot be used: {_first_line(error)}", where=root) from error
    except (SQLAlchemyError, RESTError) as error:
        raise TableError(f"The Iceberg catalog cannot be used: {_first_line(error)}", where=root) from error
    except (OSError, ValueError) as error:
        raise TableError(f"The Iceberg table cannot be used: {_first_line(error)}", where=root) from error


def _home(root: str) -> Path:
    """The warehouse of a table: where a catalog or ledger lies above it, else the one that is set, else its folder."""
    above = [folder for folder in Path(root).parents if folder != folder.parent]
    for sign in (_FILE, _LEDGER):
        for folder in above:
            if (folder / sign).exists():
                return folder
    chosen = Path(os.environ.get(WAREHOUSE) or DEFAULT_WAREHOUSE).absolute()
    return chosen if chosen in above else Path(root).parent


@lru_cache(maxsize=8)
def _catalog(url: str, warehouse: str) -> Catalog:
    settings: dict[str, Any] = {"uri": url, "warehouse": warehouse}
    if url.startswith(("http://", "https://")):
        return load_catalog("lakelogic", type="rest", uri=url)
    return load_catalog("lakelogic", type="sql", **settings)


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
