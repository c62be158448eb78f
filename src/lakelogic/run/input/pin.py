"""List the source and its links, and pin what a run reads of them: files as they are now, a table at a version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lakelogic.catalogs.base import Catalog
from lakelogic.contract import formats
from lakelogic.contract.document import Contract
from lakelogic.engines.base import Engine, Pinned
from lakelogic.engines.readers.columns import Look, folder_values, landed_columns
from lakelogic.engines.readers.formats import reader_of
from lakelogic.errors import SourceError, UsageError
from lakelogic.ledger.records import InputFile
from lakelogic.plan.columns import unseen
from lakelogic.plan.columns.absence import lacks
from lakelogic.plan.compile import SourceColumns
from lakelogic.plan.nodes import Landed, Read
from lakelogic.plan.source.deleted import Deleted
from lakelogic.plan.strategies.declared import landing_fields
from lakelogic.plan.strategies.replaced import as_batch
from lakelogic.run.formats import tables_of
from lakelogic.run.input.deleted import deleted_of
from lakelogic.sql.types import STRING
from lakelogic.storage.local import FileInfo, list_files, local_path
from lakelogic.tables.kinds import kind_of
from lakelogic.tables.registry import load as load_tables

MARK = "mark"  # in what a batch says of a table that it read: which commit made the version
_NO_ENGINE: Engine = None  # type: ignore[assignment]  # only keys of JSON are found by one


@dataclass(frozen=True, slots=True)
class Slice:
    """The pinned input of a run. `described` is what people read; `identity` what makes it this input."""

    pinned: Pinned
    format: str
    files: tuple[FileInfo, ...] = ()
    described: str = ""
    schema: tuple[Landed, ...] = ()
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of a partitioned table: file → its values
    contents: Mapping[str, str] = field(default_factory=dict)  # file → a digest, where the contract compares content
    deleted: Deleted | None = None  # how rows of a table are marked as deleted
    id: str | None = None  # a table's own
    mark: int | None = None  # of a table: what tells its version from another of the same number
    since: int | None = None  # of a table: only rows that came after this version

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        """The files as the ledger remembers them."""
        return tuple(InputFile(file.path, file.size, file.mtime_ns, self.content(file)) for file in self.files)

    def content(self, file: FileInfo) -> str | None:
        """A digest of a file, where the contract compares content."""
        return self.contents.get(file.path)

    @property
    def bytes(self) -> int:
        """How much there is to read."""
        return sum(file.size for file in self.files)

    def identity(self) -> dict[str, Any]:
        """The input as plain data, for the ledger's intent and the batch id."""
        if self.pinned.table is not None:
            told = {"table": self.pinned.table, "version": self.pinned.version, "id": self.id}
            told |= {} if self.mark is None else {MARK: self.mark}
            return told if self.since is None else {**told, "since": self.since}
        listed = [[file.path, file.size, file.mtime_ns] for file in self.files]
        held = {file.path: self.contents[file.path] for file in self.files if file.path in self.contents}
        return {"files": listed, **({"contents": held} if held else {})}


def identity_of(source: Slice, links: Mapping[str, Slice]) -> dict[str, Any]:
    """The whole input of a run: a link that changed makes another batch, because rows may now find their match."""
    seen = {name: found.identity() for name, found in sorted(links.items())}
    return {**source.identity(), **({"links": seen} if seen else {})}


def without_marks(identity: Mapping[str, Any]) -> dict[str, Any]:
    """An input as batches told of it that did not know marks of versions."""
    links = identity.get("links") or {}
    plain = {name: {key: one for key, one in told.items() if key != MARK} for name, told in links.items()}
    return {name: told for name, told in identity.items() if name != MARK} | ({"links": plain} if links else {})


def batch_id(dataset: str, fingerprint: str, identity: Mapping[str, Any]) -> str:
    """The identity of a batch: the same contract over the same input is the same batch."""
    # What a file was called before, and which ones were read after it, makes no other batch of it.
    identity = {name: value for name, value in identity.items() if name not in ("former", "over", "behind")}
    if "contents" in identity:  # then a file is what it holds, whenever it was written
        identity = {name: value for name, value in identity.items() if name != "files"}
    content = json.dumps([dataset, fingerprint, as_batch(identity)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def source_path(contract: Contract) -> str:
    """Where the contract reads from, or an error that says what to add."""
    path = contract.source.path or (contract.server.path if contract.server else None)
    if not path:
        raise UsageError(
            f"The contract `{contract.dataset_name}` has no source.path.",
            hint="Add source: {path: …}, or hand the rows in: run(df), run_source(path).",
        )
    return str(path)


def source_format(contract: Contract) -> str:
    """The format as written, as the server says, or as the suffix tells."""
    found = contract.source.resolved_format or (contract.server.format if contract.server else None)
    if found is None:
        raise UsageError(
            f"The format of `{source_path(contract)}` cannot be told from its name.", hint="Add source: {format: csv}."
        )
    return str(found)


def pin_source(contract: Contract, catalog: Catalog, engine: Engine | None = None) -> Slice:
    """All that there is: a table at its newest version, or the files that lie there."""
    path = source_path(contract)
    kind = contract.source.resolved_type
    if kind == "table" or formats.is_table(kind):
        return pin_table(path, catalog, engine=engine)
    if _is_folder_of_table(path, contract.source.resolved_format, catalog):
        return pin_table(path, catalog, engine=engine)
    file_format = source_format(contract)
    if formats.is_table(file_format):
        return pin_table(path, catalog, engine=engine)
    files = list_files(path, file_format=file_format, pattern=contract.source.pattern, base=catalog.base)
    _refuse_masked_folders(contract, files)
    return pin_files(files, file_format, path)


class MaskedInFolders(UsageError):
    """A masked value stands in the names of folders."""


def _refuse_masked_folders(contract: Contract, files: Sequence[FileInfo]) -> None:
    """Paths of files are kept in clear wherever a run is remembered: no value that is masked may stand in them."""
    masked = [one.name for one in contract.model.fields if one.masking]
    held = next(iter(folder_values([file.path for file in files], masked).values()), {}) if masked else {}
    if held:
        name = next(iter(held))
        raise MaskedInFolders(
            f"`{name}` is masked, and its values stand in the names of folders (`{name}=…`), which are kept in clear.",
            hint="Nothing was read. Land the files in folders that do not name it, with the value in the files.",
        )


def pin_files(files: tuple[FileInfo, ...], file_format: str, described: str) -> Slice:
    """Files as they are now."""
    return Slice(Pinned(tuple(file.path for file in files)), file_format, files, described)


def pin_table(name: str, catalog: Catalog, version: int | None = None, engine: Engine | None = None) -> Slice:
    """A table of any format at a version; its data files are read as they are."""
    location = catalog.resolve(name)
    if kind_of(location) is None:
        location = _folder_of_table(name, catalog) or location  # a folder that is written as it lies there
    kind = kind_of(location) or "delta"
    tables = load_tables(kind) if engine is None else tables_of(kind, engine, reads=True)
    state = tables.state(location, version)
    if state is None:
        raise SourceError(
            f"There is no table `{name}` at {location}.",
            hint="Run the contract that makes it first, or check the name.",
        )
    pinned = Pinned(state.files, location, state.version, own=state.own)
    marked = deleted_of(tables, state)
    mark = tables.mark(location, state.version)
    shape = landed_columns(state.schema)
    return Slice(pinned, "delta", (), name, shape, state.parts, deleted=marked, id=state.id, mark=mark)


def _folder_of_table(path: str, catalog: Catalog) -> str | None:
    if "://" in path and not path.startswith("file:"):
        return None
    folder = str(local_path(path, catalog.base))
    return folder if kind_of(folder) is not None else None


def _is_folder_of_table(path: str, written: str | None, catalog: Catalog) -> bool:
    """Whether a path leads to a table. As Parquet it may be a table of ours, whose files alone would mislead."""
    folder = _folder_of_table(path, catalog)
    return folder is not None and (written is None or (written == "parquet" and kind_of(folder) == "parquet"))


def read_options(contract: Contract) -> dict[str, object]:
    """The options of the source's format that were written."""
    return dict(contract.source.options.model_dump(exclude_unset=True))


def look(contract: Contract, slice_: Slice, engine: Engine) -> SourceColumns:
    """The columns of the pinned input. Text lands as text; JSON keys are found by the engine.

    `name=value` folders are columns where the model declares them; they win over what the files say.
    """
    options = read_options(contract)
    names = [field.name for field in landing_fields(contract)]
    # Pre steps may read keys that the model does not know.
    shapes = any(step.phase == "pre" for step in contract.transformations)
    only = contract.schema_policy.unknown_fields == "drop" and not shapes
    folders = {} if slice_.format == "delta" else folder_values(slice_.pinned.files, names)
    held = next(iter(folders.values()), {})
    # What the files themselves may hold: by place, where they have no header.
    own = [name for name in names if name not in held]
    found = _look(slice_, engine, options, own, only=only, known=unseen.header_names(contract)).settled(contract)
    if not folders:
        return found
    columns = [column for column in found.columns if column.name.lower() not in {name.lower() for name in held}]
    added = tuple(Landed(name, STRING) for name in held)
    return replace(
        found,
        columns=(*columns, *added),
        options={**found.options, "constants": folders},
        lacks=found.lacks.but_for(held),
    )


def _look(
    slice_: Slice,
    engine: Engine,
    options: dict[str, object],
    names: Sequence[str] = (),
    *,
    only: bool = False,
    known: frozenset[str] | None = None,
) -> SourceColumns:
    """The columns that the files themselves have. `only`: keys of JSON that are not in `names` do not count."""
    if slice_.schema or slice_.format == "delta":
        constants = {**options, "constants": slice_.parts} if slice_.parts else options
        return SourceColumns("delta", slice_.schema, constants, deleted=slice_.deleted)
    reader = reader_of(slice_.format)
    if reader.columns is not None:
        seen = reader.columns(Look(slice_.format, slice_.pinned.files, options, tuple(names), known))
        own = {**options, **seen.options}
        return SourceColumns(slice_.format, seen.columns, own, lacks(seen.by_file), finer=seen.finer)
    if names and only:
        return SourceColumns(slice_.format, tuple(Landed(name, STRING) for name in names), options)
    # Fields of the model have their types: how their values are written is not asked for.
    declared = tuple(Landed(name, STRING) for name in names)
    read = Read("source", slice_.format, declared, options)
    return SourceColumns(slice_.format, engine.discover(read, slice_.pinned), options)


def pin_links(contract: Contract, catalog: Catalog, engine: Engine | None = None) -> dict[str, Slice]:
    """Reference data as it is now; a link that is not there is an error."""
    slices: dict[str, Slice] = {}
    for link in contract.links:
        place = link.table or link.path
        if not place:
            raise UsageError(f"The link `{link.name}` has neither path nor table.", hint="Add path: or table:.")
        file_format = link.resolved_format
        if link.table or formats.is_table(file_format) or _is_folder_of_table(place, file_format, catalog):
            found = pin_table(place, catalog, engine=engine)
        elif file_format is None:
            raise UsageError(f"The format of the link `{link.name}` cannot be told.", hint="Add format: csv.")
        else:
            files = list_files(place, file_format=file_format, base=catalog.base)
            if not files:
                raise SourceError(f"The link `{link.name}` has no files at `{place}`.")
            _refuse_masked_folders(contract, files)
            found = pin_files(files, file_format, place)
        slices[link.name] = found
    return slices


def glimpse(contract: Contract | None, slice_: Slice) -> SourceColumns:
    """The columns of a slice that is no JSON, for which no engine is needed; of a link without a contract."""
    if contract is None:
        return _look(slice_, _NO_ENGINE, {})
    return look(contract, slice_, _NO_ENGINE)


def look_at_links(slices: Mapping[str, Slice], engine: Engine) -> dict[str, SourceColumns]:
    """The columns of each link."""
    return {name: _look(found, engine, {}) for name, found in slices.items()}
