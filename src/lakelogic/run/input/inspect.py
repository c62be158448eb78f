"""Look at a contract's source and plan without running it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from lakelogic.catalogs.base import Catalog
from lakelogic.contract.reading.load import Loaded
from lakelogic.engines import registry
from lakelogic.engines.base import Engine, Pinned
from lakelogic.engines.readers.text_reader import discover
from lakelogic.errors import LakeLogicError
from lakelogic.plan.compile import SourceColumns, compile_contract
from lakelogic.plan.nodes import Landed, Read
from lakelogic.run.input import pin as window


class _NoEngine:
    """Finds the keys of JSON files with the reader that needs no engine."""

    def discover(self, read: Read, pinned: Pinned) -> tuple[Landed, ...]:
        return discover(read, pinned)


def columns_now(loaded: Loaded, catalog: Catalog) -> tuple[SourceColumns | None, dict[str, SourceColumns]]:
    """The columns of the source, None where it cannot be seen now; and of those links that can be seen."""
    contract = loaded.contract
    looker: Any = _NoEngine()
    source: SourceColumns | None = None
    # What is not there yet, or not reachable from here, leaves the contract to be judged by what it declares.
    with suppress(LakeLogicError):
        slice_ = window.pin_source(contract, catalog)
        if slice_.pinned.files or slice_.pinned.table is not None:
            source = window.look(contract, slice_, looker)
    links: dict[str, SourceColumns] = {}
    for link in contract.links:
        with suppress(LakeLogicError):
            alone = contract.model_copy(update={"links": (link,)})
            links |= window.look_at_links(window.pin_links(alone, catalog), looker)
    return source, links


def lowered(loaded: Loaded, catalog: Catalog, engine_name: str | None) -> str:
    """The statement (DuckDB) or the plan (Spark, Polars) that an engine would run over the real source."""
    contract = loaded.contract
    engine: Engine = registry.load(engine_name or contract.engine or registry.default_name())
    try:
        slice_ = window.pin_source(contract, catalog, engine)
        source = window.look(contract, slice_, engine)
        slices = window.pin_links(contract, catalog, engine)
        plan = compile_contract(loaded, source, window.look_at_links(slices, engine)).plan
        links = {name: engine.link(link, slices[link.reference].pinned) for name, link in plan.links.items()}
        frame = engine.lower(engine.scan(plan.read, slice_.pinned), plan.accounts, links)
        return engine.sql(frame)
    finally:
        engine.close()
