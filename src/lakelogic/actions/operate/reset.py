"""Begin again: remove the tables and the progress of datasets, or read everything anew into a table that stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lakelogic import names
from lakelogic.actions.operate.quarantine import person
from lakelogic.actions.operate.run import RunReport, RunRequest, run_contract
from lakelogic.contract.reading.load import Loaded
from lakelogic.errors import UnsupportedError, UsageError
from lakelogic.run.places import Places
from lakelogic.run.state.progress import Progress
from lakelogic.run.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """Contracts, or folders of contracts; `layer` keeps only those of one layer."""

    what: tuple[str, ...]
    layer: str | None = None
    env: str | None = None
    overrides: tuple[str, ...] = ()
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """A secondary table that goes too: left behind, it would receive every row a second time."""

    target: str
    location: str
    format: str
    rows: int


@dataclass(frozen=True, slots=True)
class Doomed:
    """What a reset takes away for one dataset. None: there is no such table; `shared`: it holds rows of others too.

    Of a quarantine that is shared only the rows go that came on the way to this target.
    """

    dataset: str
    target: str
    location: str
    format: str
    rows: int | None
    quarantine: str
    quarantine_location: str
    quarantined: int | None
    shared: bool
    files_read: int
    progress: Progress
    secondary: tuple[Copy, ...] = ()  # other tables that hold only rows of this dataset

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {name: value for name, value in asdict(self).items() if name != "progress"}


def plan_reset(around: Surroundings, request: ResetRequest) -> list[Doomed]:
    """What would be removed; nothing is changed."""

    contracts = _contracts(request)
    for loaded in contracts:
        _refuse_shared(around, loaded, request)
    return [_doomed(around, loaded) for loaded in contracts]


def reset(around: Surroundings, request: ResetRequest, confirm: Callable[[list[Doomed]], bool]) -> list[Doomed] | None:
    """Remove tables and progress after a look at the plan; None when it was not confirmed.

    The ledger hears of it first. Tables go before the progress: where a table is gone, everything is read again
    anyway, so that a reset that is stopped anywhere leaves no row twice.
    """
    from lakelogic import clock
    from lakelogic.ledger.records import Act
    from lakelogic.quarantine.queue import Queue
    from lakelogic.run.places import QUARANTINE_FORMAT
    from lakelogic.run.state import leases
    from lakelogic.run.state.recover import adopt
    from lakelogic.run.state.shares import remove_share, share_of
    from lakelogic.tables.registry import load

    doomed = plan_reset(around, request)
    if not confirm(doomed):
        return None
    ledger = around.ledger
    for target in doomed:
        lease = leases.acquire(ledger, target.location, f"reset-{names.new_run_id(clock.now())}")
        try:
            ledger.tell(Act("reset", target.dataset, person(), request.why, target.as_dict()))
            queue = Queue(load(QUARANTINE_FORMAT), target.quarantine_location)
            share = share_of(queue, target.progress, load(target.format), ledger)
            if share.is_shared:
                remove_share(queue, target.progress, share)
            for copy in target.secondary:  # before the first: stopped in between, none receives rows twice
                load(copy.format).drop(copy.location)
            load(target.format).drop(target.location)
            if not share.is_shared:
                queue.tables.drop(target.quarantine_location)
            adopt(ledger, target.progress)
            ledger.forget(target.progress.key, target.location)
        finally:
            leases.release(ledger, lease)
    return doomed


def reload(
    around: Surroundings, request: RunRequest, why: str | None = None, *, rebuild_history: bool = False
) -> RunReport:
    """Read everything again in one run: in one commit the table becomes what a first run over it would give.

    A history holds versions that its source has no row of any more; it is only made anew where that is asked for.
    """
    from lakelogic.ledger.records import Act
    from lakelogic.plan.compile import load_checked
    from lakelogic.plan.strategies.settings import strategy_of

    contract = load_checked(request.contract, env=request.env, overrides=request.overrides).contract
    kind, source = strategy_of(contract).kind, contract.source
    overrides = list(request.overrides)
    only_appends = kind == "append" and contract.materialization.fact is not None
    if kind == "append" and not only_appends:
        overrides.append("materialization.strategy=overwrite")
    # The days of a `date_range` are what the dataset is made of: everything of them is read again.
    if source.load_mode == "incremental" and source.watermark_strategy != "date_range":
        overrides += [] if only_appends else ["source.load_mode=full"]
        overrides += ["source.watermark_strategy=null"] if source.watermark_strategy else []
    elif source.load_mode == "cdc":
        raise UnsupportedError(
            "A source of changes cannot be loaded again by itself.",
            hint="`lakelogic reset` the dataset and run: the changes are applied again in their order.",
        )
    if kind == "scd2" and not rebuild_history:
        raise UnsupportedError(
            "A history cannot be loaded again without losing versions: its source holds only what is there now.",
            where="materialization.strategy",
            hint="Nothing was read. `lakelogic run` puts new and changed rows in their place. "
            "`lakelogic reload --rebuild-history` makes the history anew from the source, and versions that it has "
            "no row of are lost.",
        )
    facts = {"contract": request.contract, "by": "overwrite" if kind == "append" else kind}
    around.ledger.tell(Act("reload", contract.dataset_name, person(), why, facts))
    again = RunRequest(
        request.contract, request.engine, request.env, tuple(overrides), settings=request.settings, again=True,
        anew=True,
    )  # fmt: skip
    return run_contract(around, again)


def _contracts(request: ResetRequest) -> list[Loaded]:
    from lakelogic.plan.compile import load_checked

    files: list[str] = []
    for written in request.what:
        inside = sorted(str(path) for kind in ("*.yaml", "*.yml") for path in Path(written).glob(kind))
        files += inside if Path(written).is_dir() else [written]
    loaded_contracts = [load_checked(file, env=request.env, overrides=request.overrides) for file in files]
    kept = [
        loaded_contract
        for loaded_contract in loaded_contracts
        if request.layer is None or loaded_contract.contract.layer == request.layer
    ]
    if not kept:
        of_layer = f" of the layer `{request.layer}`" if request.layer else ""
        raise UsageError(f"There is no contract{of_layer} in {', '.join(request.what)}.", hint="Check the name.")
    return kept


def _refuse_shared(around: Surroundings, loaded: Loaded, request: ResetRequest) -> None:
    """An environment removes the rows that were made in it, never those of others that stand in the same table."""
    from lakelogic.run.places import places
    from lakelogic.run.state.environments import called, makers_of
    from lakelogic.run.state.progress import applications, progress_of
    from lakelogic.tables.registry import load

    env, contract = loaded.environment, loaded.contract
    if env is None or loaded.file is None:
        return
    where = places(contract, around.catalog)
    app_ids = applications(progress_of(contract.dataset_name, where), "good")
    makers = makers_of(load(contract.materialization.format), where.target_location, *app_ids)
    if makers is not None and makers.is_known and makers.environments <= {env}:
        return
    others = sorted((makers.environments if makers else frozenset()) - {env}, key=lambda environment: environment or "")
    if others:
        why = f"{where.target} holds rows that were made {' and '.join(called(other) for other in others)}"
    elif _without_environment(around, loaded.file, request) == where.target_location:
        why = f"{where.target} is the table of the contract without it"
    else:
        return
    raise UsageError(
        f"The environment `{env}` of `{contract.dataset_name}` has no table of its own: {why}, and a reset would "
        "remove it.",
        hint=f"Nothing was removed. Give environments.{env} a materialization.target_path of its own, or "
        f"reset without --env (and LAKELOGIC_ENV) and with --set materialization.target_path={where.target} if this "
        "table is meant.",
    )


def _without_environment(around: Surroundings, file: str, request: ResetRequest) -> str | None:
    """Where the contract writes to in no environment; None where it cannot be told."""
    from lakelogic.contract.reading.load import examine
    from lakelogic.run.places import places

    environ = {name: value for name, value in around.environ.items() if name != "LAKELOGIC_ENV"}
    bare, problems = examine(file, overrides=request.overrides, environ=environ)
    if bare is None or problems or not bare.contract.materialization.target_path:
        return None
    return places(bare.contract, around.catalog).target_location


def _doomed(around: Surroundings, loaded: Loaded) -> Doomed:
    from lakelogic.quarantine.queue import Queue
    from lakelogic.run.places import QUARANTINE_FORMAT, places
    from lakelogic.run.state.progress import progress_of
    from lakelogic.run.state.recover import adopt
    from lakelogic.run.state.shares import share_of
    from lakelogic.tables.registry import load

    contract, ledger = loaded.contract, around.ledger
    where, form = places(contract, around.catalog), contract.materialization.format
    good = load(form).state(where.target_location)
    queue = Queue(load(QUARANTINE_FORMAT), where.quarantine_location)
    bad = queue.state()
    progress = progress_of(contract.dataset_name, where)
    adopt(ledger, progress, load(form) if good is not None else None)
    share = share_of(queue, progress, load(form), ledger)
    rows = None if bad is None else bad.rows
    if share.is_shared:
        rows = sum(1 for row in queue.light(wanted=(names.BATCH_ID,)) if share.holds(row))
    return Doomed(
        contract.dataset_name,
        where.target,
        where.target_location,
        form,
        None if good is None else good.rows,
        where.quarantine,
        where.quarantine_location,
        rows,
        share.is_shared,
        len(ledger.seen(progress.key)),
        progress,
        tuple(_copies(where, progress)),
    )


def _copies(where: Places, progress: Progress) -> Iterator[Copy]:
    """The secondary tables that we have written to; one that others write to as well stops the reset."""
    from lakelogic.run.publish.secondary import writers
    from lakelogic.tables.registry import load

    for other in where.others:
        state = load(other.format).state(other.location)
        if state is None:
            continue
        others = writers(state, progress, other)
        if others is None:
            continue
        if others:
            raise UsageError(
                f"The secondary table {other.name} holds rows of `{others[0]}` too: a reset cannot take ours out, and "
                "the next run would add them a second time.",
                where="materialization.secondary_targets",
                hint="Nothing was removed. Take it out of the contract, or give it a place that only this dataset "
                "writes to.",
            )
        yield Copy(other.name, other.location, other.format, state.rows or 0)
