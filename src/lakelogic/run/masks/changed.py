"""A changed mask or key is a change of the table: a run is refused before it reads, until the table is masked anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakelogic import clock, names
from lakelogic.contract.document import Contract
from lakelogic.errors import CommitConflict, CredentialError, UnsupportedError, UsageError
from lakelogic.plan.nodes import Mask
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.privacy import kept
from lakelogic.privacy.already_masked import is_masked, sealed_with
from lakelogic.privacy.keys import Keys
from lakelogic.privacy.masks import PREFIX, mask_array, reveal_texts
from lakelogic.quarantine.queue import ACTIVE, Queue, Stamped
from lakelogic.run import faults
from lakelogic.run.places import QUARANTINE_FORMAT, Places
from lakelogic.run.state.progress import Progress, application, applications
from lakelogic.sql.arrays import strings
from lakelogic.storage import fresh
from lakelogic.tables import chain
from lakelogic.tables import rows as table_rows
from lakelogic.tables.base import CommitInfo, StagedFile, TableFormat, TableState
from lakelogic.tables.facts import CommitFacts, records
from lakelogic.tables.registry import load as load_tables

_LOOKED_AT = 1_000
_FINAL = ("hash", "redact", "partial", "nullify")


def refuse_clear(contract: Contract, where: Places, progress: Progress, done: str = "Nothing was sent.") -> None:
    """Refuse to send or show rows that were written before the masks that the contract declares now.

    `done` says what did not happen.
    """
    tables = load_tables(contract.materialization.format)
    if said := _in_clear(contract, tables, where.target_location, _names(progress, "good")):
        raise UsageError(
            f"The masks of `{contract.dataset_name}` have changed: {where.target}: {'; '.join(said)}.",
            hint=f"{done} `lakelogic remask` masks what is stored anew.",
        )


def refuse_clear_queue(contract: Contract, where: Places, progress: Progress) -> None:
    """Refuse to show bad rows that were put away before the masks that the contract declares now."""
    queue = load_tables(QUARANTINE_FORMAT)
    if said := _in_clear(contract, queue, where.quarantine_location, _names(progress, "bad")):
        raise UsageError(
            f"The masks of `{contract.dataset_name}` have changed: {where.quarantine}: {'; '.join(said)}.",
            hint="Nothing is shown. `lakelogic remask` masks what is stored anew.",
        )


def _in_clear(contract: Contract, tables: TableFormat, location: str, app_ids: tuple[str, ...]) -> list[str]:
    """What of a table was written before the masks of today, as far as that can be told without a key."""
    masks = kept.declared(contract)
    state = tables.state(location) if masks else None
    if state is None:
        return []
    memory, now = _memory(state, tables, app_ids), kept.remembered(contract, Keys())
    if memory is None:
        known = {name: mask for name, mask in masks.items() if mask.strategy != "encrypt_deterministic"}
        return _told(state, tables, None, known, now, Keys())
    blind = {name: {**one, "check": now.get(name, {}).get("check")} for name, one in memory.items()}
    return _told(state, tables, blind, masks, now, Keys())


def refuse_changed(contract: Contract, where: Places, progress: Progress, keys: Keys) -> None:
    """Refuse a run whose masks are not those under which its tables were written; asked before anything is read."""
    masks = kept.declared(contract)
    if not masks:
        return
    now = kept.remembered(contract, keys)
    tables = load_tables(contract.materialization.format)
    good = tables.state(where.target_location)
    strategy = strategy_of(contract)
    replaces = strategy.replaces and not strategy.in_partitions
    said: list[str] = []
    memory = None if good is None else _memory(good, tables, _names(progress, "good"))
    if good is not None and not replaces:
        told = _told(good, tables, memory, masks, now, keys)
        said += [f"{where.target}: {one}" for one in told]
    queue = load_tables(QUARANTINE_FORMAT)
    bad = queue.state(where.quarantine_location)
    if bad is not None and not said:
        known = _memory(bad, queue, _names(progress, "bad"))
        said += [f"{where.quarantine}: {one}" for one in _told(bad, queue, known, masks, now, keys)]
    if said:
        raise UsageError(
            f"The masks of `{contract.dataset_name}` have changed: {'; '.join(said)}.",
            hint="Nothing was read. `lakelogic remask` masks what is stored anew, in one commit for each table; "
            "where that cannot be done, `lakelogic reset` the dataset and run. With strategy overwrite, `lakelogic "
            "reload` replaces the table.",
        )


def _memory(state: TableState, tables: TableFormat, app_ids: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The masks that the newest commit tells of; None where none does."""
    newest = CommitFacts.of(state.metadata)
    if newest.masks is not None:
        return newest.masks
    for commit in records(tables, state.location, *app_ids):
        if commit.facts.masks is not None:
            return commit.facts.masks
    own, *_, remasked = app_ids
    if state.transactions.get(remasked, 0):
        return None  # its commit is gone, and what was told before it is not so any more
    return CommitFacts.of(chain.told(state.location, own, state.transactions.get(own, 0))).masks


def _names(progress: Progress, side: str) -> tuple[str, ...]:
    """Under which names commits tell of masks: those of runs, and, last, that of masking anew."""
    return (*applications(progress, side), application(progress, "remask"))


def _told(
    state: TableState,
    tables: TableFormat,
    memory: Mapping[str, Any] | None,
    masks: Mapping[str, Mask],
    now: Mapping[str, Any],
    keys: Keys,
) -> list[str]:
    if memory is not None:
        return kept.changed(memory, now, state.schema.names)
    # From before commits told of masks: the values themselves tell, as far as they can.
    if not any(name.lower() in masks for name in state.schema.names) or not state.rows:
        return []
    return kept.unmasked(tables.preview(state.location, _LOOKED_AT).to_pylist(), masks, keys)


@dataclass(frozen=True, slots=True)
class Remasked:
    """What was masked anew: rows of the table and of its quarantine; None where there is no such table."""

    rows: int | None
    quarantined: int | None
    columns: tuple[str, ...]
    forgotten: int = 0  # rows that waited and cannot be replayed any more


def remask(
    contract: Contract, where: Places, progress: Progress, keys: Keys, *, forget_landed: bool = False
) -> Remasked:
    """Mask a table and its quarantine anew, in one commit each; whoever holds the lease of the target may call this.

    Stopped in between, it is begun again: what is masked already stays as it is, and a run is refused until both are.
    Without a key landed rows cannot be kept: that must be asked for with `forget_landed`.
    """
    masks = kept.declared(contract)
    tables = load_tables(contract.materialization.format)
    good = tables.state(where.target_location)
    queue = Queue(load_tables(QUARANTINE_FORMAT), where.quarantine_location, Stamped.by(contract))
    bad = queue.state()
    facts = CommitFacts(run_id=f"remask-{names.new_run_id(clock.now())}", masks=kept.remembered(contract, keys))
    touched = sorted({name for state in (good, bad) if state for name in state.schema.names if name.lower() in masks})
    if good is not None:
        _refuse_unfit(contract, good, masks)
    forgotten = 0 if keys.encryption or not masks else _in_the_open(queue)
    if forgotten and not forget_landed:
        raise CredentialError(
            f"{forgotten} rows that wait in {where.quarantine} could not be replayed any more: they are kept as they "
            "landed, and there is no key in LAKELOGIC_PII_KEY to encrypt that with.",
            hint="Nothing was masked anew. Set a key (`lakelogic keys new` makes one), or give them up with "
            "--forget-landed.",
        )
    # Quarantine first, as in a run: what fails here has changed nothing in the table.
    if bad is not None:
        edit = _quarantined(masks, keys)
        info = _info(progress, bad, facts)
        if _as_text(bad.schema, masks) == bad.schema:
            queue.change(info, where.act_staging(str(facts.run_id)), lambda _: True, lambda table, _: edit(table))
        else:  # a number that becomes text is another column
            _rewrite(queue.tables, bad, masks, edit, info)
        faults.reach("after_quarantine_commit")
    if good is not None:
        _rewrite(tables, good, masks, lambda table: _masked(table, masks, keys), _info(progress, good, facts))
        faults.reach("after_good_commit")
    return Remasked(good.rows if good else None, bad.rows if bad else None, tuple(touched), forgotten)


def _in_the_open(queue: Queue) -> int:
    """How many rows wait whose landed row is kept and not encrypted."""
    rows = queue.light(wanted=(names.STATE, names.RAW))
    return sum(1 for row in rows if row[names.STATE] == ACTIVE and row[names.RAW] and not sealed_with(row[names.RAW]))


def _info(progress: Progress, state: TableState, facts: CommitFacts) -> CommitInfo:
    app_id = application(progress, "remask")
    n = state.transactions.get(app_id, 0) + 1
    return CommitInfo(app_id, n, {"batch_id": str(facts.run_id), "facts": facts.to_text()})


def _refuse_unfit(contract: Contract, state: TableState, masks: Mapping[str, Mask]) -> None:
    parts = [name for name in state.partition_by if name.lower() in masks]
    keys = [name for name in contract.key if name.lower() in masks]
    why = None
    if state.own:
        why = "the table is written by the session's own Delta"
    elif parts:
        why = f"its files lie in folders by `{parts[0]}`, which is masked"
    elif keys and strategy_of(contract).keeps_history:
        why = f"the surrogate keys of its history are made of `{keys[0]}`"
    if why is not None:
        raise UnsupportedError(
            f"The table cannot be masked anew: {why}.", hint="`lakelogic reset` the dataset and run: all is read again."
        )


def _rewrite(
    tables: TableFormat,
    state: TableState,
    masks: Mapping[str, Mask],
    edit: Callable[[pa.Table], pa.Table],
    info: CommitInfo,
) -> None:
    """Every file of the table again, with its columns masked; one commit on top of the version that was read."""
    schema = _as_text(state.schema, masks)
    folder = fresh.folder(Path(state.location) / f"remask-{fresh.name()}")
    staged: list[StagedFile] = []
    for at, path in enumerate(state.files):
        target, number = folder / f"part-{at:05d}.parquet", 0
        with fresh.parquet_writer(target, schema, compression="zstd", coerce_timestamps="us") as writer:
            for batch in table_rows.batches(replace(state, files=(path,))):
                writer.write_table(edit(pa.Table.from_batches([batch])).cast(schema))
                number += batch.num_rows
        staged.append(StagedFile(str(target), number, target.stat().st_size, state.parts.get(path, {})))
    tables.check(state.location, removes=True)
    faults.reach("after_stage")
    if schema == state.schema:
        tables.replace(state.location, state.files, staged, schema, info, based_on=state.version)
    else:
        now = tables.state(state.location)
        if now is None or now.version != state.version:
            raise CommitConflict(
                "The table has changed since it was looked at.", where=state.location, hint="Run it again."
            )
        tables.overwrite(state.location, staged, schema, info, replace_schema=True)


def _as_text(schema: pa.Schema, masks: Mapping[str, Mask]) -> pa.Schema:
    return pa.schema(
        [pa.field(one.name, pa.string()) if one.name.lower() in masks and not _is_text(one.type) else one
         for one in schema]
    )  # fmt: skip


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _masked(table: pa.Table, masks: Mapping[str, Mask], keys: Keys) -> pa.Table:
    for at, field in enumerate(table.schema):
        mask = masks.get(field.name.lower())
        if mask is not None:
            values = [_text(value) for value in table.column(at).to_pylist()]
            made = strings(_anew(values, mask, keys))
            kind = field.type if _is_text(field.type) else pa.string()
            table = table.set_column(at, pa.field(field.name, kind), made.cast(kind))
    return table


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dict | list | bytes):
        raise UnsupportedError(
            "Arrays, structs and bytes cannot be masked anew.", hint="`lakelogic reset` the dataset and run."
        )
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _anew(values: list[str | None], mask: Mask, keys: Keys) -> list[str | None]:
    """Values under the mask: what it made already stays, what another one made is opened first."""
    current = keys.encryption[0][0] if keys.encryption else None

    def stays(value: str | None) -> bool:
        if value is None or not is_masked(value, mask):
            return value is None
        return mask.strategy != "encrypt_deterministic" or sealed_with(value) == current

    clear = reveal_texts(values, keys)
    todo = [at for at, value in enumerate(values) if not stays(value)]
    for at in todo:
        shut = str(clear[at])
        if mask.strategy in ("redact", "nullify"):
            continue
        if sealed_with(shut) is not None:
            raise CredentialError(
                f"`{mask.column}` holds values that were encrypted with a key which is not here.",
                hint=f"Put the old key behind the new one in LAKELOGIC_PII_KEY; they begin with `{PREFIX}`.",
            )
        if any(is_masked(shut, Mask(mask.column, one)) for one in _FINAL if one != "nullify"):  # type: ignore[arg-type]
            raise UnsupportedError(
                f"`{mask.column}` was hidden by a mask that has no way back.",
                hint="`lakelogic reset` the dataset and run: all is read again.",
            )
    made = mask_array(strings([clear[at] for at in todo]), mask, keys).to_pylist()
    found = list(values)
    for at, value in zip(todo, made, strict=True):
        found[at] = value
    return found


def _quarantined(masks: Mapping[str, Mask], keys: Keys) -> Callable[[pa.Table], pa.Table]:
    """Rows of the quarantine: their columns, the texts that could not be cast, and the rows as they landed."""
    seal = Mask(names.RAW, "encrypt")

    def edit(table: pa.Table) -> pa.Table:
        table = _masked(table, masks, keys)
        spelled = {name: at for at, name in enumerate(table.column_names)}
        if (at := spelled.get(names.ORIGINAL)) is not None:
            kind = table.schema.field(at).type
            hidden = [
                None if row is None else [(key, "***" if key.lower() in masks else value) for key, value in row]
                for row in table.column(at).to_pylist()
            ]
            table = table.set_column(at, table.schema.field(at), pa.array(hidden, kind))
        if (at := spelled.get(names.RAW)) is not None:
            raws = table.column(at).to_pylist()
            if keys.encryption:
                opened = [None if raw is None or sealed_with(raw) else raw for raw in raws]
                shut = mask_array(strings(opened), seal, keys).to_pylist()
                raws = [made if made is not None else raw for made, raw in zip(shut, raws, strict=True)]
            else:
                raws = [raw if raw is not None and sealed_with(raw) else None for raw in raws]
            table = table.set_column(at, table.schema.field(at), strings(raws).cast(table.schema.field(at).type))
        return table

    return edit
