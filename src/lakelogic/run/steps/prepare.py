"""From what is read to a lazy frame: look at its columns, compile the contract against them, lower the plan."""

from __future__ import annotations

from collections.abc import Mapping

from lakelogic.engines.base import Engine, Frame
from lakelogic.errors import DataError, UnsupportedError
from lakelogic.plan.columns.stamps import Stamps
from lakelogic.plan.compile import compile_contract
from lakelogic.plan.needs import needed_formats, needed_functions, needed_masks, needed_nodes
from lakelogic.plan.nodes import Plan
from lakelogic.quarantine.landed import landed_facts
from lakelogic.run.events.types import Caution
from lakelogic.run.input import absent, landed_kinds
from lakelogic.run.input.pin import Slice, look_at_links
from lakelogic.run.phases import CompiledRun, LookedRun, PreparedRun, grown
from lakelogic.run.publish.commit import stored_names


def compile_rows(run: LookedRun) -> CompiledRun:
    """The plan against the columns that landed, and what is to be said of them."""
    job, contract, engine = run.job, run.job.loaded.contract, run.job.engine
    known = absent.before(run, run.source)
    source = absent.with_keys(run.source, known, contract, run.strategy)
    stored = stored_names(contract, run.places, engine, replaced=run.replaced) if run.places else {}
    described = run.slice.described if run.slice else "memory"
    compiled = compile_contract(
        job.loaded,
        source,
        look_at_links(run.links, engine),
        stamps=Stamps(run.run_id, job.pipeline_run_id, run.started, described),
        can_encrypt=bool(run.keys.encryption),
        stored=stored,
        days=run.cut.rows if run.cut is not None else None,
        bound=run.bound,
    )
    for warning in compiled.warnings:
        run.events.tell(Caution(f"{warning.where}: {warning.message}"))
    absent.tell(run, compiled, known)
    absent.tell_aside(run, compiled, stored)
    landed_kinds.tell_numbers(run, source)
    landed_kinds.tell_finer(run, source)
    differing = compiled.landed.as_dict()
    return grown(
        CompiledRun,
        run,
        compiled=compiled,
        landed=landed_facts(compiled.plan, source, absent.seen(run.source, known)),
        drift={**run.drift, **({"source": differing} if differing else {})},
    )


def lower(run: CompiledRun) -> PreparedRun:
    """The frame of what is read, with all of the plan on it."""
    engine, plan = run.job.engine, run.plan
    links = link_frames(engine, run.links, plan)
    frame = engine.scan(plan.read, run.slice.pinned) if run.slice is not None else run.adopted
    return grown(PreparedRun, run, frame=engine.lower(frame, plan.accounts, links))


def refuse_unknown(run: CompiledRun) -> None:
    """Columns that nobody declared stop the run where the contract says so."""
    unknown = run.compiled.landed.unknown
    if unknown and run.job.loaded.contract.schema_policy.unknown_fields == "fail":
        raise DataError(
            f"Unknown fields landed: {', '.join(sorted(unknown))}.",
            hint="Add them to the model, or choose another schema_policy.unknown_fields.",
        )


def link_frames(engine: Engine, slices: Mapping[str, Slice], plan: Plan) -> dict[str, Frame]:
    """The links that a plan joins; a key that must be unique and is not stops the run."""
    links = {name: engine.link(link, slices[link.reference].pinned) for name, link in plan.links.items()}
    for name, link in plan.links.items():
        if link.is_checked and (repeated := engine.duplicates(links[name], link.key)):
            raise DataError(
                f"The link `{link.reference}` has {repeated} "
                f"{'keys that occur' if repeated != 1 else 'key that occurs'} more than once.",
                hint="A lookup or join must find at most one row; deduplicate the reference first.",
            )
    return links


def require(plan: Plan, engine: Engine) -> None:
    """Compare what the plan needs with what the engine can do, before anything is read."""
    can = engine.capabilities
    missing = [f"the function `{name}`" for name in sorted(needed_functions(plan) - can.functions)]
    missing += [f"rows through `{name}`" for name in sorted(needed_nodes(plan) - can.nodes)]
    missing += [f"the format `{name}`" for name in sorted(needed_formats(plan) - can.formats)]
    missing += [f"the mask `{name}`" for name in sorted(needed_masks(plan) - can.masks)]
    if missing:
        raise UnsupportedError(
            f"The engine `{engine.name}` cannot do what `{plan.dataset}` asks: {', '.join(missing)}.",
            hint="Choose another engine with --engine.",
        )
