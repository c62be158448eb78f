"""Tell the story of one row: of a bad one by its id, of a good one by its key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lakelogic import names
from lakelogic.actions.operate.quarantine import QueuePlace, Request, find, refuse_clear
from lakelogic.actions.visibility.owners import refuse_rows_in_clear
from lakelogic.contract import formats
from lakelogic.contract.reading.load import Loaded
from lakelogic.engines import registry
from lakelogic.engines.base import Engine, Pinned
from lakelogic.engines.readers.text_reader import TextScan
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.ledger.publish import as_dict
from lakelogic.ledger.store import Ledger
from lakelogic.lineage.story import Story, tell
from lakelogic.plan.compile import SourceColumns, compile_contract, load_checked
from lakelogic.plan.nodes import Plan, Read
from lakelogic.privacy.keys import Keys, load_keys
from lakelogic.privacy.masks import reveal_text
from lakelogic.quarantine.first_seen import key_of
from lakelogic.quarantine.landed import landed_rows
from lakelogic.quarantine.queue import Queue
from lakelogic.run.input import pin as window
from lakelogic.run.input.reread import sources_of
from lakelogic.run.places import places
from lakelogic.run.surroundings import Surroundings
from lakelogic.sql.expressions import Column, Expression, call, convert, text
from lakelogic.sql.types import STRING
from lakelogic.storage import parquet
from lakelogic.storage.local import look_if_there
from lakelogic.tables.kinds import kind_of
from lakelogic.tables.registry import load as load_tables


@dataclass(frozen=True, slots=True)
class RowStory:
    """What is known of one row: what the tables and the ledger say, and what its contract makes of it now."""

    dataset: str
    table: str
    facts: Mapping[str, Any]
    values: Mapping[str, Any]
    story: Story | None = None
    notes: tuple[str, ...] = ()
    run: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "dataset": self.dataset,
            "table": self.table,
            **self.facts,
            "values": dict(self.values),
            "story": [chapter.as_dict() for chapter in self.story.chapters] if self.story else None,
            "notes": [*self.notes, *(self.story.notes if self.story else ())],
            "run": dict(self.run),
        }


def explain_row(around: Surroundings, row: str, request: Request | None = None, engine: str | None = None) -> RowStory:
    """The story of a quarantined row, by its id or the beginning of it; without a request, wherever it is."""
    place = find(around, request) if request else _somewhere(around, row)
    rows = place.queue.rows(lambda light: str(light[names.ROW_ID]).startswith(row), 2).to_pylist()
    if not rows:
        raise UsageError(f"There is no row `{row}` in {place.name}.", hint="`lakelogic quarantine list` shows ids.")
    if len(rows) > 1:
        raise UsageError(f"Several rows of {place.name} begin with `{row}`.", hint="Type more of the id.")
    kept, stamped = rows[0], place.queue.stamped
    values = {name: value for name, value in kept.items() if not name.startswith("_lakelogic_") and name != names.STATE}
    facts = {
        "row_id": kept[names.ROW_ID],
        "state": kept[names.STATE],
        "source": kept.get(stamped.source),
        "line": kept.get(names.LINE),
        "errors": kept[names.ERRORS],
        "categories": kept[names.CATEGORIES],
        "rules": kept[names.RULES],
        "original": dict(kept.get(names.ORIGINAL) or {}),
        "run_id": kept.get(stamped.run_id),
        "at": kept.get(stamped.at),
        **place.queue.seen([kept[names.ROW_ID]])[key_of(kept)],
        "contract_version": kept.get(names.CONTRACT_VERSION),
        "settled_by": kept.get(names.SETTLED_BY),
        "settled_at": kept.get(names.SETTLED_AT),
        "settled_why": kept.get(names.SETTLED_WHY),
    }
    run = _run_of(around.ledger, facts["run_id"])
    loaded = place.loaded or _contract_of(run)
    if loaded is None:
        refuse_clear(around, place)
        note = "its contract is not known here: name the contract's file to see steps and rules"
        return RowStory(place.dataset, place.name, facts, values, notes=(note,), run=run)
    refuse_clear(around, replace(place, loaded=loaded))
    return _judged_again(
        around, RowStory(place.dataset, place.name, facts, values, run=run), kept, place, loaded, engine
    )


def _judged_again(
    around: Surroundings,
    story: RowStory,
    kept: Mapping[str, Any],
    place: QueuePlace,
    loaded: Loaded,
    engine_name: str | None,
) -> RowStory:
    contract = loaded.contract
    keys = load_keys((), around.environ)
    engine = registry.load(engine_name or quick_engine(around))
    try:
        queue = Queue(place.queue.tables, place.queue.location, place.queue.stamped)
        landed = landed_rows(contract, queue, queue.of_dataset(contract.dataset_name), [kept], keys, engine)
        if not landed.origins:
            return replace(story, notes=(*landed.left_out,))
        plan, links = _plan(around, loaded, landed.source, engine)
        frame, _ = engine.adopt(landed.table, Read("source", "parquet", ()))
        stories = tell(contract, plan, engine, frame, links)
        notes = []
        if len(stories) > 1:
            notes.append(f"steps make {len(stories)} rows of it; the first is told")
        if contract.contract_version != story.facts["contract_version"]:
            notes.append(f"judged by version {contract.contract_version} now")
        line, source = story.facts["line"], story.facts["source"]
        if line is None and source and _has_changed(place, contract.dataset_name, kept, source):
            notes.append("its file has changed since or is gone, so its line is not known")
        elif line is None:
            line = _line(loaded, kept, keys, source, engine)
        return replace(
            story, story=stories[0] if stories else None, notes=tuple(notes), facts={**story.facts, "line": line}
        )
    finally:
        engine.close()


def _somewhere(around: Surroundings, row: str) -> QueuePlace:
    """The quarantine that holds a row, among those that the ledger knows."""
    runs_by_target = {
        run.quarantine_target: run for run in reversed(around.ledger.runs(limit=None)) if run.quarantine_target
    }
    for name, run in runs_by_target.items():
        location = around.catalog.resolve(str(name))
        if (kind := kind_of(location)) is None:
            continue
        place = QueuePlace(run.dataset, str(name), Queue(load_tables(kind), location))
        if any(str(light[names.ROW_ID]).startswith(row) for light in place.queue.light(None, (names.ROW_ID,))):
            return place
    raise UsageError(
        f"There is no row `{row}` in any quarantine that the ledger knows.",
        hint="`lakelogic quarantine list CONTRACT` shows ids.",
    )


def _run_of(ledger: Ledger, run_id: str | None) -> dict[str, Any]:
    if not run_id:
        return {}
    try:
        return as_dict(ledger.run(run_id))
    except UsageError:
        return {}


def _contract_of(run: Mapping[str, Any]) -> Loaded | None:
    written = run.get("contract")
    if not written or not Path(written).is_file():
        return None
    try:
        return load_checked(written, env=run.get("environment"))
    except LakeLogicError:
        return None


def quick_engine(around: Surroundings) -> str:
    """One row needs no cluster."""
    return around.environ.get("LAKELOGIC_ENGINE") or next(
        (name for name in ("duckdb", "polars") if find_spec(name)), registry.default_name()
    )


def local_engine() -> str:
    """An engine that starts at once, for what somebody waits for; engines mean the same, so any will do."""
    return next((name for name in ("duckdb", "polars") if find_spec(name)), registry.default_name())


def _plan(around: Surroundings, loaded: Loaded, source: SourceColumns, engine: Engine) -> tuple[Plan, dict[str, Any]]:
    slices = window.pin_links(loaded.contract, around.catalog)
    plan = compile_contract(loaded, source, window.look_at_links(slices, engine)).plan
    links = {name: engine.link(link, slices[link.reference].pinned) for name, link in plan.links.items()}
    return plan, links


def _has_changed(place: QueuePlace, dataset: str, kept: Mapping[str, Any], source: str) -> bool:
    """Whether a file is not the one that the batch of a row has read."""
    for commit in place.queue.commits(place.queue.of_dataset(dataset)):
        read = sources_of(commit.facts).get(source)
        if commit.batch_id == kept.get(names.BATCH_ID) and isinstance(read, list):
            info = look_if_there(source)
            return info is None or [info.size, info.mtime_ns] != read
    return False


def _line(loaded: Loaded, kept: Mapping[str, Any], keys: Keys, source: str | None, engine: Engine) -> int | None:
    """The line that a row stands on, where its file is still there and still holds it."""
    contract = loaded.contract
    if not source or not formats.is_text(window.source_format(contract)) or (info := look_if_there(source)) is None:
        return None
    pinned = window.pin_files((info,), window.source_format(contract), source)
    looked = window.look(contract, pinned, engine)
    read = Read("source", looked.format, looked.columns, dict(looked.options))
    raw = reveal_text(kept[names.RAW], keys)
    wanted = {name.lower(): value for name, value in json.loads(raw).items()} if raw.startswith("{") else {}
    for batch in TextScan(read, Pinned((source,))).batches():
        for row in batch.to_pylist():
            whole = row[names.TEXT]
            same = (
                whole == raw
                if whole is not None
                else all(row.get(column.name) == wanted.get(column.name.lower()) for column in looked.columns)
            )
            if same and row[names.BROKEN] is None:
                return int(row[names.NUMBER])
    return None


def explain_key(
    around: Surroundings,
    contract: str,
    key: Sequence[str],
    *,
    env: str | None = None,
    overrides: tuple[str, ...] = (),
    engine: str | None = None,
) -> RowStory:
    """The story of a good row, by the values of its primary key."""
    loaded = load_checked(contract, env=env, overrides=overrides)
    document = loaded.contract
    if not document.key:
        raise UsageError("The contract has no primary_key to find a row by.", hint="Add primary_key: [ … ].")
    if len(key) != len(document.key):
        raise UsageError(
            f"The primary key is ({', '.join(document.key)}), and {len(key)} values were given.",
            hint="Repeat --key for each of its columns, in their order.",
        )
    where = places(document, around.catalog)
    tables = load_tables(document.materialization.format)
    state = tables.state(where.target_location)
    if state is None:
        raise UsageError(f"There is no table {where.target} yet.", hint="Run the contract first.")
    refuse_rows_in_clear(around, where.target_location, loaded)
    columns = [name for part in document.key for name in state.schema.names if name.lower() == part.lower()]
    rows = [
        row
        for batch in parquet.reader(state.files, state.schema)
        for row in batch.to_pylist()
        if all(str(row[name]) == value for name, value in zip(columns, key, strict=True))
    ]
    if not rows:
        raise UsageError(
            f"{where.target} has no row with the key ({', '.join(key)}).",
            hint="It may be in quarantine (`lakelogic quarantine list`); masked keys are compared as they are stored.",
        )
    lineage = document.lineage
    row = rows[-1]
    run = _run_of(around.ledger, row.get(lineage.run_id_column_name))
    facts = {
        "key": dict(zip(columns, key, strict=True)),
        "versions": len(rows),
        "source": row.get(lineage.source_path_column_name),
        "run_id": row.get(lineage.run_id_column_name),
        "at": row.get(lineage.timestamp_column_name),
        "created_at": row.get(lineage.created_at_column_name),
        "table_version": state.version,
    }
    values = {name: value for name, value in row.items() if not name.startswith("_lakelogic_")}
    story = RowStory(document.dataset_name, where.target, facts, values, run=run)
    return _read_again(around, story, loaded, dict(zip(columns, key, strict=True)), engine)


def _read_again(
    around: Surroundings, story: RowStory, loaded: Loaded, key: Mapping[str, str], engine_name: str | None
) -> RowStory:
    """The story with what the contract makes of the row now, where its file is still there."""
    contract, source = loaded.contract, story.facts["source"]
    if not source or (file := look_if_there(source)) is None:
        return replace(story, notes=("its source is not there any more; this is what the table and the ledger know",))
    masked = {field_.name.lower() for field_ in contract.model.fields if field_.masking}
    if any(name.lower() in masked for name in key):
        return replace(story, notes=("its key is masked, so its landed row is not looked for",))
    pinned = window.pin_files((file,), window.source_format(contract), source)
    engine = registry.load(engine_name or quick_engine(around))
    try:
        plan, links = _plan(around, loaded, window.look(contract, pinned, engine), engine)
        frame = engine.scan(plan.read, pinned.pinned)
        stories = tell(contract, plan, engine, frame, links, _has_key(plan, key))
    finally:
        engine.close()
    if not stories:
        return replace(story, notes=("its source no longer holds a row with this key",))
    good = [story for story in stories if not story.failed] or stories
    notes = (f"{len(stories)} rows of its source have this key; the last good one is told",) if len(stories) > 1 else ()
    return replace(story, story=good[-1], notes=notes)


def _has_key(plan: Plan, key: Mapping[str, str]) -> Expression:
    """TRUE for rows that end with this key."""
    values = {value.name.lower(): value.value for value in plan.accounts[0].publish.values}
    result: Expression | None = None
    for name, wanted in key.items():
        value = values.get(name.lower(), Column(name, STRING))
        same = call("same", convert(value, STRING), text(wanted))
        result = same if result is None else call("and", result, same)
    assert result is not None
    return result
