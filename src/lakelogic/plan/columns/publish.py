"""The last projection: what good rows and bad rows look like, which columns are masked, which stamps they carry."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from lakelogic import names
from lakelogic.contract.document import Contract
from lakelogic.contract.fields import Field
from lakelogic.contract.source import is_table_name
from lakelogic.plan.codes import REDACTED
from lakelogic.plan.columns.exploded import Source, keep_apart, warn_of_repeated
from lakelogic.plan.columns.flows import Flows, tied
from lakelogic.plan.columns.shape import legible
from lakelogic.plan.columns.stamps import Stamps, stamp_values
from lakelogic.plan.columns.taints import Taint, changed, strictest
from lakelogic.plan.nodes import Account, Assignment, Mask, Publish, Published
from lakelogic.plan.predicates import present
from lakelogic.plan.state import OpenAccount, Snapshot, State, any_set
from lakelogic.sql.expressions import Call, Column, Expression, Literal, call, columns_of, convert, text
from lakelogic.sql.types import BIGINT, BOOLEAN, INT, NULL, STRING, Type, array

BAD_PREFIX = "~bad:"  # a column whose type on the bad side differs from the good side's


@dataclass(slots=True)
class Rows:
    """What is known about landed rows when the last projection is written."""

    landed: Sequence[tuple[str, Expression]] = ()
    is_text: bool = False
    is_table: bool = False  # rows of a table come from the table: its data files are nobody's business
    encrypts_raw: bool = False
    has_raw: bool = True


@dataclass(frozen=True, slots=True)
class Columns:
    """The staged columns and what masks them."""

    columns: tuple[Published, ...]
    masks: tuple[Mask, ...]
    accounts: tuple[Account, ...]


def publish(
    state: State,
    contract: Contract,
    good: Mapping[str, Expression],
    stamps: Stamps,
    rows: Rows,
) -> Columns:
    """Write the last projection of every account; `good` are the logical columns of a good row at the end."""
    last = state.account(state.fate)
    accounts = [*state.closed, last]
    flows = _flows(state, contract, accounts, good)
    masks = _masks(state, contract, accounts, good)
    bad_masks = {**_revealing(state, contract, accounts, good, flows), **masks}
    accounts = [_without(account, state.aside - bad_masks.keys()) for account in accounts]
    warn_of_repeated(state, accounts, good)
    declared = {declared.name: declared.type for declared in contract.model.fields}
    source = Source.of(_raw(rows) if rows.has_raw else None, rows.landed, declared)
    kept = keep_apart(state, accounts, good, source)
    accounts = [account for account, _ in kept]
    state.closed, last = accounts[:-1], accounts[-1]
    good_values = {name: _shown(value, name, masks) for name, value in good.items()}
    bad_types = _bad_types(accounts, bad_masks)
    apart = frozenset(name for name in bad_masks if name not in masks)
    layout = _layout(contract, state, good_values, bad_types, accounts, stamps, apart)
    projected = [
        Account(
            account.opening,
            account.nodes,
            _projection(
                state, layout, account, good_values if account is last else {}, bad_masks, contract, stamps, rows, raw
            ),
        )
        for account, raw in kept
    ]
    staged_masks = [
        Mask(column.name, mask.strategy, mask.format)
        for column in layout
        if (mask := (masks if column.on_good else bad_masks).get(column.name.removeprefix(BAD_PREFIX))) is not None
    ]
    if rows.encrypts_raw:
        staged_masks.append(Mask(names.RAW_ROW, "encrypt"))
    return Columns(tuple(layout), tuple(staged_masks), tuple(projected))


def _without(account: OpenAccount, aside: AbstractSet[str]) -> OpenAccount:
    """Nobody has looked at what is kept aside: bad rows tell only that it was there."""
    if not aside:
        return account
    snapshots = tuple(
        Snapshot(
            snapshot.verdicts,
            {
                name: Call("case", (present(value), text("***"), Literal(None, STRING)), STRING)
                if name in aside
                else value
                for name, value in snapshot.scope.items()
            },
        )
        for snapshot in account.snapshots
    )
    return replace(account, snapshots=snapshots)


def _flows(state: State, contract: Contract, accounts: Sequence[OpenAccount], good: Mapping[str, Expression]) -> Flows:
    """How values flow, where there is something to hide; what conditions tie to masked values is masked from here."""
    places = {link.name: place for link in contract.links if (place := _place(link.path or link.table))}
    flows = Flows(state.links, places, _place(contract.source.path))
    if state.masked:
        for account in accounts:
            flows.follow([*([account.opening] if account.opening is not None else []), *account.nodes])
        for name, (frame, value) in state.met.items():
            flows.meet(name, frame, value)
        # What a masked field is made of tells as much as the field, unless good rows show it in clear anyway.
        shown = {read for value in good.values() if state.taint(value) is None for read in columns_of(value)}
        state.taints |= tied(flows, state.ties, state.taints, shown)
    return flows


def _place(written: str | None) -> str:
    """Where a file, folder or table lies, so that two ways to write it are one."""
    if not written or "://" in written:
        return written or ""
    return written.lower() if is_table_name(written) else posixpath.normpath(written)


def _revealing(
    state: State,
    contract: Contract,
    accounts: Sequence[OpenAccount],
    good: Mapping[str, Expression],
    flows: Flows,
) -> dict[str, Mask]:
    """Columns of bad rows that a masked field is made of: they show what it hides, so they are hidden like it.

    A field of the model that good rows show in clear is shown in clear here too, and so is what says `pii: false`.
    """
    scopes = [good, *(snapshot.scope for account in accounts for snapshot in account.snapshots)]
    hidden: dict[str, list[Taint]] = {}
    for scope in scopes:
        for name, value in scope.items():
            if (mask := state.masked.get(name.lower())) is not None:
                for origin in flows.origins(columns_of(value)):
                    hidden.setdefault(origin, []).append(changed(Taint(mask)))
    masks: dict[str, Mask] = {}
    for scope in scopes[1:]:
        for name, value in scope.items():
            declared = contract.model.field(name)
            if name.startswith(names.INTERNAL) or name.lower() in state.masked or _is_clear(declared):
                continue
            if declared is not None and name in good and columns_of(good[name]) == columns_of(value):
                continue
            taints = [taint for read in sorted(columns_of(value)) for taint in hidden.get(read, ())]
            if taints:
                mask = replace(strictest(taint.mask for taint in taints), column=name)
                masks[name] = strictest([mask, *([masks[name]] if name in masks else [])])
    return masks


def _is_clear(declared: Field | None) -> bool:
    """Whether the contract says of a field that it carries nothing personal."""
    return declared is not None and "pii" in declared.model_fields_set and not declared.pii


def _masks(
    state: State, contract: Contract, accounts: Sequence[OpenAccount], good: Mapping[str, Expression]
) -> dict[str, Mask]:
    """Logical column → mask: declared, or inherited from a masked column it was made of."""
    clear = {declared.name for declared in contract.model.fields if _is_clear(declared)}
    masks: dict[str, Mask] = {}
    scopes = [snapshot.scope for account in accounts for snapshot in account.snapshots]
    for scope in (good, *scopes):
        for name, value in scope.items():
            taint = state.taint(value)
            if taint is None or name in clear or name.startswith(names.INTERNAL):
                continue
            mask = replace(taint.mask, column=name)
            if mask.strategy == "partial" and scope.get(taint.mask.column, value) != value:
                # Not the value that the field itself shows: their visible parts could add up.
                mask = Mask(name, "redact")
            masks[name] = strictest([mask, *([masks[name]] if name in masks else [])])
    _warn_of_redacted(state, contract, good, masks)
    for declared in contract.model.fields:
        if declared.masking:
            masks[declared.name] = Mask(declared.name, declared.masking, declared.masking_format)
    return masks


def _warn_of_redacted(
    state: State, contract: Contract, good: Mapping[str, Expression], masks: Mapping[str, Mask]
) -> None:
    """Who masked a field partly may expect to see parts of what is made of it."""
    for name, value in good.items():
        taint = state.taint(value)
        own = state.masked.get(taint.mask.column.lower()) if taint is not None else None
        if own is None or own.strategy != "partial" or name.lower() in state.masked or name not in masks:
            continue
        if masks[name].strategy == "redact":
            index = next(i for i, field in enumerate(contract.model.fields) if field.name == own.column)
            message = f"`{name}` is made of `{own.column}`, which is masked with `partial`, and is redacted altogether."
            hint = f"declare `{name}` in the model, with a masking of its own, or pii: false if it is not personal"
            state.trouble.add(REDACTED, message, f"model.fields[{index}].masking", hint, warning=True)


def _shown(value: Expression, name: str, masks: Mapping[str, Mask]) -> Expression:
    """Masked columns are text when a mask sees them; arrays, maps and structs are their JSON text."""
    return convert(value, STRING) if name in masks else value


def _bad_types(accounts: Sequence[OpenAccount], masks: Mapping[str, Mask]) -> dict[str, Type]:
    """The type of every column of a quarantined row; a column that had two types is kept as text."""
    types: dict[str, Type] = {}
    for account in accounts:
        for snapshot in account.snapshots:
            for name, value in snapshot.scope.items():
                if name.startswith(names.INTERNAL):
                    continue
                type_ = STRING if name in masks else value.type
                existing = types.get(name, type_)
                types[name] = type_ if existing in (type_, NULL) else STRING
    return {name: STRING if type_ == NULL else type_ for name, type_ in types.items()}


def _layout(
    contract: Contract,
    state: State,
    good: Mapping[str, Expression],
    bad_types: Mapping[str, Type],
    accounts: Sequence[OpenAccount],
    stamps: Stamps,
    apart: frozenset[str],
) -> list[Published]:
    layout: list[Published] = []
    for name, value in good.items():
        type_ = STRING if value.type == NULL else value.type
        layout.append(Published(name, type_, True, bad_types.get(name) == type_ and name not in apart))
    for name, type_ in bad_types.items():
        if name not in good:
            layout.append(Published(name, type_, False, True))
        elif not any(column.name == name and column.on_bad for column in layout):
            layout.append(Published(BAD_PREFIX + name, type_, False, True))
    for name, value in stamp_values(contract, stamps, Literal(None, STRING)).items():
        layout.append(Published(name, value.type, True, True))
    if any(reason.severity == "warning" for reason in state.reasons):
        layout.append(Published(names.WARNINGS, array(STRING), True, True))
    for account in accounts:
        layout += [Published(name, BIGINT, False, True) for name in account.verdicts]
        layout += [Published(name, BIGINT, True, True) for name in account.notes]
    internal = ((names.FILE, STRING), (names.NUMBER, BIGINT), (names.BROKEN, STRING), (names.RAW_ROW, STRING))
    layout += [Published(name, type_, False, True) for name, type_ in internal]
    layout.append(Published(names.ORIGINALS, _ORIGINALS, False, True))
    return layout


_ORIGINALS = Type("map", key=STRING, element=STRING)


def _projection(
    state: State,
    layout: Sequence[Published],
    account: OpenAccount,
    good: Mapping[str, Expression],
    masks: Mapping[str, Mask],
    contract: Contract,
    stamps: Stamps,
    rows: Rows,
    raw: Expression | None,
) -> Publish:
    first = account.is_landed
    is_last = account not in state.closed
    bad = any_set(account.verdicts) if account.verdicts else None
    lost = call("ne", account.fate, Literal(0, INT)) if not isinstance(account.fate, Literal) else None
    is_bad = bad if bad is not None else Literal(False, BOOLEAN)
    file: Expression = Column(names.FILE, STRING) if first and not rows.is_table else text(stamps.source)
    stamped = stamp_values(contract, stamps, file)
    values: list[Assignment] = []
    for column in layout:
        if column.name in stamped:
            value = stamped[column.name]
        elif column.name in account.verdicts or column.name in account.notes:
            value = Column(column.name, BIGINT)
        elif column.name == names.WARNINGS:
            value = _warnings(account, state)
        elif column.name == names.FILE:
            value = file
        elif column.name == names.DELETE:
            value = good.get(names.DELETE, Literal(False, BOOLEAN))
        elif column.name.startswith(names.ABSENT):
            value = good.get(column.name, Literal(False, BOOLEAN))
        elif column.name.startswith("~") and not column.name.startswith(BAD_PREFIX):
            value = _internal(column, raw, account, is_bad, masks)
        else:
            value = _both_sides(column, good, account, masks, is_bad)
        values.append(Assignment(column.name, value))
    side_good: Expression = text(names.GOOD_SIDE) if is_last else Literal(None, STRING)
    branches: list[Expression] = []
    if bad is not None:
        branches += [bad, text(names.BAD_SIDE)]
    if lost is not None:
        branches += [lost, Literal(None, STRING)]
    side = Call("case", (*branches, side_good), STRING) if branches else side_good
    return Publish(tuple(values), account.fate, side, account.copy)


def _both_sides(
    column: Published,
    good: Mapping[str, Expression],
    account: OpenAccount,
    masks: Mapping[str, Mask],
    is_bad: Expression,
) -> Expression:
    name = column.name.removeprefix(BAD_PREFIX)
    on_good: Expression | None = None
    if column.on_good and name in good:
        on_good = convert(good[name], column.type)
    on_bad = _as_it_failed(name, column.type, account, masks) if column.on_bad else None
    if on_bad is None:
        if on_good is None:
            return Literal(None, column.type)
        return on_good
    if on_good is None or on_good == on_bad:
        return (
            on_bad if on_good is not None else Call("case", (is_bad, on_bad, Literal(None, column.type)), column.type)
        )
    return Call("case", (is_bad, on_bad, on_good), column.type)


def _as_it_failed(name: str, type_: Type, account: OpenAccount, masks: Mapping[str, Mask]) -> Expression | None:
    branches: list[Expression] = []
    last: Expression | None = None
    for snapshot in account.snapshots:
        value = snapshot.scope.get(name)
        shown = Literal(None, type_) if value is None else convert(_shown(value, name, masks), type_)
        branches += [any_set(snapshot.verdicts), shown]
        last = shown
    if last is None:
        return None
    if len({repr(branch) for branch in branches[1::2]}) == 1:
        return last
    return Call("case", (*branches, Literal(None, type_)), type_)


def _internal(
    column: Published, raw: Expression | None, account: OpenAccount, is_bad: Expression, masks: Mapping[str, Mask]
) -> Expression:
    value: Expression = Literal(None, column.type)
    if column.name == names.ORIGINALS and account.originals:
        args = [
            part
            for failed, name, shown in account.originals
            for part in (failed, text(name), text("***") if name in masks else shown)
        ]
        value = Call("entries_where", tuple(args), column.type)
    elif column.name == names.RAW_ROW and raw is not None:
        value = raw
    elif column.name in (names.NUMBER, names.BROKEN) and account.is_landed:
        return Column(column.name, column.type)
    if isinstance(value, Literal):
        return value
    # Only bad rows pay for these.
    return Call("case", (is_bad, value, Literal(None, column.type)), column.type)


def _raw(rows: Rows) -> Expression:
    """The row as it landed."""
    pairs: list[Expression] = []
    for name, value in rows.landed:
        pairs += [text(name), legible(value)]
    built: Expression = Call("row_json", tuple(pairs), STRING) if pairs else Literal(None, STRING)
    return Call("coalesce", (Column(names.TEXT, STRING), built), STRING) if rows.is_text else built


def _warnings(account: OpenAccount, state: State) -> Expression:
    args: list[Expression] = []
    for reason in state.reasons:
        if reason.severity == "warning" and reason.column in account.notes:
            flag = call("bit_is_set", Column(reason.column, BIGINT), Literal(reason.bit, INT))
            args += [flag, text(reason.text)]
    return Call("texts_where", tuple(args), array(STRING)) if args else Literal(None, array(STRING))
