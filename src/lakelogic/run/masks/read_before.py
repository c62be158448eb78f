"""Values that were read from a table before it masked them: which columns hold them, and what is refused meanwhile.

A table that is masked anew changes nothing in the tables made of it. Every commit says which columns of the tables that
it was read from were masked then; where one is masked since, what was made of it before is still in clear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from lakelogic import names
from lakelogic.catalogs.base import Catalog
from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import LakeLogicError, UsageError
from lakelogic.ledger.store import Ledger
from lakelogic.plan.columns.publish import BAD_PREFIX
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.nodes import Plan
from lakelogic.privacy import kept
from lakelogic.run.formats import tables_of
from lakelogic.run.places import QUARANTINE_FORMAT, Places, places
from lakelogic.run.state.owners import Owners
from lakelogic.run.state.progress import Progress, applications, progress_of
from lakelogic.tables.base import TableFormat
from lakelogic.tables.facts import CommitFacts, MaskedColumns, records
from lakelogic.tables.kinds import kind_of


def masks_above(contract: Contract, catalog: Catalog) -> dict[str, list[str]]:
    """The masked columns of every table that a contract reads, as they are now; asked before the input is pinned."""
    upstream = Upstream(catalog, lenient=True)
    found = {}
    for place, location in _tables_above(contract, catalog).items():
        # Where rows of a table above are in clear in spite of a mask further up, what is read there is not masked.
        masked = _masked_in(location)
        found[place] = sorted(masked - upstream.in_clear(location) if masked else masked)
    return found


def _tables_above(contract: Contract, catalog: Catalog) -> dict[str, str]:
    source = contract.source.path or (contract.server.path if contract.server else None)
    written = {Plan.SOURCE: source, **{link.name: link.table or link.path for link in contract.links}}
    found = {}
    for name, place in written.items():
        # Files and addresses are no tables of ours; a name that cannot be resolved is told by whoever reads it.
        with suppress(LakeLogicError):
            if place and "*" not in place and kind_of(location := catalog.resolve(place)) is not None:
                found[name] = location
    return found


def _looked_at(location: str) -> TableFormat:
    """How a table is looked at of which only the commits are asked: also one that only Spark's own Delta can read."""
    return tables_of(kind_of(location) or "delta", None, reads=True)


def _told(location: str) -> list[CommitFacts]:
    """What our commits to a table say, newest first: those of good rows and of masking anew, whosever they are."""
    tables = _looked_at(location)
    state = tables.state(location)
    ours = [name for name in (state.transactions if state else ()) if name.endswith((":good", ":remask"))]
    return [commit.facts for commit in records(tables, location, *ours)] if ours else []


def _masked_in(location: str) -> frozenset[str]:
    state = _looked_at(location).state(location)
    newest = CommitFacts.of(state.metadata if state is not None else None)
    # The newest commit is mostly that of a run, which says both; else the log is read.
    told = [newest] if newest.masks is not None and newest.masked is not None else _told(location)
    declared: Iterable[str] = next((facts.masks for facts in told if facts.masks is not None), ())
    inherited: Iterable[str] = next((facts.masked for facts in told if facts.masked is not None), ())
    return frozenset((*declared, *inherited))


def with_masks(facts: CommitFacts, plan: Plan, read: MaskedColumns) -> CommitFacts:
    """The facts of a batch, with what was masked where it was read, and which of its own columns are masked."""
    known = {place: set(columns) for place, columns in read.items() if columns}
    masked: set[str] = set()
    if known:  # what most runs never need is not loaded for them
        from lakelogic.plan.lineage import column_origins

        masked = {
            name.lower()
            for name, origins in column_origins(plan).items()
            if any(one.tells and one.column.lower() in known.get(one.place, ()) for one in origins)
        }
    own = _masks_of(plan, "good")
    return replace(facts, read_masks=read, masked=tuple(sorted(masked | own)))


def _masks_of(plan: Plan, side: str) -> set[str]:
    """The columns of one side that the contract masks itself, declared or by what they are made of."""
    found = [mask.column.removeprefix(BAD_PREFIX) if side == "bad" else mask.column for mask in plan.masks]
    return {name.lower() for name in found if "~" not in name}


def read_after(before: MaskedColumns | None, now: MaskedColumns | None, *, begins: bool) -> MaskedColumns | None:
    """What is true of all rows of a table with those of a batch: masked where it was read is what always was."""
    if now is None or begins:
        return now
    known = before or {}
    return {place: sorted(set(columns) & set(known.get(place, ()))) for place, columns in now.items()}


def read_before(tables: TableFormat, location: str, app_ids: tuple[str, ...]) -> MaskedColumns | None:
    """What was masked above for all rows of a table, as its newest commit that tells says; None where none does."""
    state = tables.state(location)
    if state is None:
        return None
    newest = CommitFacts.of(state.metadata).read_masks_all
    if newest is not None:
        return newest
    older = (commit.facts.read_masks_all for commit in records(tables, location, *app_ids))
    return next((read for read in older if read is not None), None)


@dataclass(frozen=True, slots=True)
class Above:
    """The tables that a contract reads as they are now, and what flows from them into its columns."""

    contract: Contract
    locations: Mapping[str, str]
    masked: Mapping[str, frozenset[str]]
    plan: Plan
    in_clear: Mapping[str, frozenset[str]]  # what these tables themselves hold in clear of tables further up

    def late(self, then: MaskedColumns | None, side: str, kept_masks: frozenset[str] | None = None) -> dict[str, str]:
        """Columns that may hold in clear what is masked above by now → the column above that it came from.

        What the contract masks itself, or says to be no personal data, is none of them; with `kept_masks` only what
        its table has been masked with counts as masked.
        """
        from lakelogic.plan.lineage import bad_origins, column_origins

        hidden = _hidden(self.contract, self.plan, side)
        if kept_masks is not None:
            hidden -= kept.declared(self.contract).keys() - kept_masks
        origins = column_origins(self.plan) if side == "good" else bad_origins(self.plan)
        found = {
            name: f"{self.called(one.place)}.{one.column}"
            for name, made_of in origins.items()
            if name.lower() not in hidden
            for one in made_of
            if one.tells and self._is_late(then, one.place, one.column.lower())
        }
        # Landed rows are kept encrypted, or not at all, where the contract masks anything.
        if side == "bad" and not self.plan.masks:
            above = self.masked.get(Plan.SOURCE, frozenset()) | self.in_clear.get(Plan.SOURCE, frozenset())
            for column in sorted(above):
                if self._is_late(then, Plan.SOURCE, column):
                    found.setdefault(names.RAW, f"{self.called(Plan.SOURCE)}.{column}")
        return found

    def _is_late(self, then: MaskedColumns | None, place: str, column: str) -> bool:
        if column in self.in_clear.get(place, ()):
            return True
        return column in self.masked.get(place, ()) and not self._was_masked(then, place, column)

    def called(self, place: str) -> str:
        """The table above as the contract names it."""
        links = {link.name: link.table or link.path for link in self.contract.links}
        return str(links.get(place) or self.contract.source.path or place)

    def _was_masked(self, then: MaskedColumns | None, place: str, column: str) -> bool:
        if then is not None:
            return column in then.get(place, ())
        # From before commits told: in clear is what the table above has ever been told to hold in clear.
        return all(column in facts.masks for facts in _told(self.locations[place]) if facts.masks is not None)


def _hidden(contract: Contract, plan: Plan, side: str) -> set[str]:
    cleared = {one.name.lower() for one in contract.model.fields if "pii" in one.model_fields_set and not one.pii}
    return cleared | _masks_of(plan, side) | kept.declared(contract).keys()


class Upstream:
    """What tables further up hold in clear in spite of a mask above them; each is asked once.

    `lenient`: nothing is known of what cannot be asked, so that a run goes on; else that is an error.
    """

    def __init__(self, catalog: Catalog, ledger: Ledger | None = None, *, lenient: bool = False) -> None:
        self.catalog, self._lenient = catalog, lenient
        self._owners = Owners(catalog, ledger)
        self._known: dict[str, frozenset[str]] = {}

    def in_clear(self, location: str) -> frozenset[str]:
        """The columns of a table, in small letters; nothing is known of one that no contract here writes."""
        if location not in self._known:
            self._known[location] = frozenset()  # a table that is made of itself adds nothing to itself
            try:
                self._known[location] = self._ask(location)
            except LakeLogicError:
                if not self._lenient:
                    raise
        return self._known[location]

    def _ask(self, location: str) -> frozenset[str]:
        loaded = self._owners.contract_of(location)
        if loaded is None or not loaded.contract.materialization.target_path:
            return frozenset()
        where = places(loaded.contract, self.catalog)
        progress = progress_of(loaded.contract.dataset_name, where)
        if location == where.quarantine_location:
            return frozenset(map(str.lower, late_columns(loaded, where, progress, "bad", self.catalog, self)))
        if location == where.target_location:
            # A mask that its contract declares and its table does not have yet hides nothing from those who read it.
            told = _told(location)
            masks = frozenset(next((facts.masks for facts in told if facts.masks is not None), ()))
            return frozenset(map(str.lower, late_columns(loaded, where, progress, "good", self.catalog, self, masks)))
        return frozenset()


def look_above(loaded: Loaded, catalog: Catalog, upstream: Upstream | None) -> Above | None:
    """What a contract reads now; None where none of it is a table that masks anything, or should."""
    contract = loaded.contract
    locations = _tables_above(contract, catalog)
    masked = {place: found for place, location in locations.items() if (found := _masked_in(location))}
    in_clear: dict[str, frozenset[str]] = {}
    if upstream is not None:
        in_clear = {place: found for place, location in locations.items() if (found := upstream.in_clear(location))}
    if not masked and not in_clear:
        return None
    from lakelogic.run.input.inspect import columns_now

    plan = compile_contract(loaded, *columns_now(loaded, catalog)).plan
    return Above(contract, locations, masked, plan, in_clear)


def refuse_late(loaded: Loaded, where: Places, progress: Progress, side: str, done: str, upstream: Upstream) -> None:
    """Refuse to show or send rows that may hold in clear what a table above masks by now."""
    found = late_columns(loaded, where, progress, side, upstream.catalog, upstream)
    if found:
        told = "; ".join(f"`{name}` was made of {above}" for name, above in sorted(found.items()))
        table = where.target if side == "good" else where.quarantine
        raise UsageError(
            f"{table} may hold in clear what is masked by now where it came from: {told}.",
            hint=f"{done} {way_out(loaded.contract, found)}",
        )


def late_columns(
    loaded: Loaded,
    where: Places,
    progress: Progress,
    side: str,
    catalog: Catalog,
    upstream: Upstream | None,
    kept_masks: frozenset[str] | None = None,
) -> dict[str, str]:
    """Columns of the table or of its quarantine that may hold in clear what a table above masks by now.

    Without `upstream` only the tables that the contract reads itself are asked.
    """
    location = where.target_location if side == "good" else where.quarantine_location
    kind = loaded.contract.materialization.format if side == "good" else QUARANTINE_FORMAT
    tables = tables_of(kind, None, reads=True)
    if tables.state(location) is None or (above := look_above(loaded, catalog, upstream)) is None:
        return {}
    return above.late(read_before(tables, location, applications(progress, side)), side, kept_masks)


def way_out(contract: Contract, columns: Iterable[str]) -> str:
    """What to do about columns that hold in clear what is masked above."""
    named = ", ".join(f"`{name}`" for name in sorted(columns) if name != names.RAW)
    mask = f"Declare a mask for {named} in the contract of `{contract.dataset_name}` and `lakelogic remask` it; or "
    return f"{mask if named else ''}`lakelogic reset` it and run: all is read again as it is masked now."
