"""DataProcessor: run a contract from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakelogic.contract.document import Contract
from lakelogic.contract.reading.load import Loaded, load
from lakelogic.contract.reading.packs import PackChoice
from lakelogic.engines import registry
from lakelogic.engines.base import Engine
from lakelogic.errors import ContractError, Diagnostic, UsageError
from lakelogic.plan.compile import Compiled, compile_contract, load_compiled
from lakelogic.plan.strategies.settings import strategy_of
from lakelogic.run.contract_run import run
from lakelogic.run.events.hub import Sink
from lakelogic.run.phases import PreparedRun
from lakelogic.run.request import ContractRequest
from lakelogic.run.result import Result
from lakelogic.run.surroundings import Surroundings

if TYPE_CHECKING:
    from lakelogic.quarantine.queue import Chosen
    from lakelogic.run.profile import Profile
    from lakelogic.run.replay.waiting import Replayed


class DataProcessor:
    """A contract, ready to run on one engine.

    `contract` is a path, a dict, YAML text, a Contract, or one that was loaded and checked. The engine is the
    argument's, else the contract's, else `LAKELOGIC_ENGINE`, else Spark where it can start, else DuckDB, else
    Polars. A Spark session that is handed in is used as it is: its settings are never changed. An engine that runs
    already can be handed in and shared; so can the surroundings, which are else those of the moment.
    """

    def __init__(
        self,
        contract: str | os.PathLike[str] | Mapping[str, Any] | Any,
        engine: str | Engine | None = None,
        *,
        env: str | None = None,
        spark: Any = None,
        overrides: Mapping[str, object] | Sequence[str] | None = None,
        policy_pack: str | Sequence[str] | None = None,
        policy_pack_dir: str | os.PathLike[str] | None = None,
        pipeline_run_id: str | None = None,
        sinks: tuple[Sink, ...] = (),
        settings: Mapping[str, Any] | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._written, self._env, self._overrides = contract, env, overrides or {}
        names = (policy_pack,) if isinstance(policy_pack, str) else tuple(policy_pack or ())
        self._packs = PackChoice(names, os.fspath(policy_pack_dir) if policy_pack_dir is not None else None)
        self.loaded: Loaded
        self._compiled: Compiled | None = None  # as far as it goes without its source
        if isinstance(contract, Loaded):
            self.loaded = contract
        else:
            self.loaded, self._compiled = load_compiled(contract, env=env, overrides=overrides, packs=self._packs)
        self.contract = self.loaded.contract
        self._engine: Engine | None = None if engine is None or isinstance(engine, str) else engine
        self._is_ours = self._engine is None
        if isinstance(engine, str):
            self.engine_name = engine
        elif self._engine is not None:
            self.engine_name = self._engine.name
        else:
            self.engine_name = "spark" if spark is not None else self.contract.engine or registry.default_name()
        self.last_report: dict[str, Any] | None = None
        self.last_result: Result | None = None
        self._settings = {**(settings or {}), **({"spark": spark} if spark is not None else {})}
        around = surroundings or Surroundings.here()
        self._around = around.heard_by(*around.sinks, *sinks)
        self._keeps_ledger = surroundings is not None
        self._pipeline_run_id = pipeline_run_id
        self._judged: PreparedRun | None = None  # what the last run has judged

    @property
    def engine(self) -> Engine:
        """The engine, started when it is first needed."""
        if self._engine is None:
            self._engine = registry.load(self.engine_name, **self._settings)
        return self._engine

    def run(
        self,
        df: Any = None,
        *,
        materialize: bool = True,
        materialize_target: str | None = None,
        batch: str | None = None,
        again: bool = False,
        anew: bool = False,
    ) -> Result:
        """Run the contract over its source, or over rows handed in.

        `again` reads what lies there even where it was read before; a table that is appended to still takes only what
        is new, so that no row is in it twice.

        `anew` reads it too, and what is read takes the place of all rows of the table, in one commit: by this
        `lakelogic reload` gives the table that a first run would give.

        `batch` is a name of your own for rows that are handed in: a second call with the same name publishes nothing
        and says `no_new_data`, so that a call that may have come through can be repeated.
        `materialize=False` only judges: nothing is written and the ledger hears nothing. `materialize_target`
        sends the good rows elsewhere, and the quarantine beside them. Rows that are handed in to a contract
        without a target are only judged.
        """
        if batch is not None and (df is None or not batch.strip()):
            raise UsageError(
                "batch= names rows that are handed in, and there are none." if df is None else "batch= is empty.",
                hint="Hand the rows in: run(df, batch='2026-02-03'). What a source holds is known by itself.",
            )
        writes = materialize or materialize_target is not None
        return self._run(
            self.loaded,
            df,
            materialize=writes,
            target=materialize_target,
            batch=batch,
            again=again or anew,
            anew=anew,
        )

    def profile(self, rows: int | None = None) -> Profile:
        """Run the contract, and tell where the time went; what rules cost is measured on so many rows of the batch."""
        from lakelogic.run.profile import SAMPLE, Stopwatch, profile

        stopwatch = Stopwatch()
        around = self._around
        self._around = around.heard_by(*around.sinks, stopwatch)
        try:
            result = self._run(self.loaded, None, materialize=True, target=None)
        finally:
            self._around = around
        return profile(stopwatch, result, self._judged, SAMPLE if rows is None else rows)

    def run_source(self, source: str | os.PathLike[str], *, materialize: bool = False) -> Result:
        """Judge another source by this contract: a path, a URI or a table name."""
        place = os.fspath(source)
        overrides: dict[str, object] = {"source.path": place}
        from lakelogic.contract.source import format_of, is_table_name

        as_table = is_table_name(place) or (Path(place) / "_delta_log").is_dir()
        overrides["source.type"] = "table" if as_table else "landing"
        if as_table and self.contract.source.load_mode == "cdc":
            overrides |= {"source.load_mode": "incremental", "source.watermark_strategy": None}
        if not as_table and (found := format_of(place)):
            overrides["source.format"] = found
        elif as_table:
            overrides["source.format"] = "delta"
        if isinstance(self._written, Contract | Loaded):
            changed = {name.removeprefix("source."): value for name, value in overrides.items()}
            source_ = self.contract.source.model_copy(update=changed)
            loaded = load(self.contract.model_copy(update={"source": source_}))
        else:
            said = self._overrides
            both = (
                {**said, **overrides}
                if isinstance(said, Mapping)
                else [*said, *(f"{path}={json.dumps(value)}" for path, value in overrides.items())]
            )
            loaded = load(self._written, env=self._env, overrides=both, packs=self._packs)
        return self._run(loaded, None, materialize=materialize, target=None)

    def _run(
        self,
        loaded: Loaded,
        df: Any,
        *,
        materialize: bool,
        target: str | None,
        batch: str | None = None,
        again: bool = False,
        anew: bool = False,
    ) -> Result:
        if df is not None and target is None and not loaded.contract.materialization.target_path:
            materialize = False  # rows that are handed in, and nowhere to put them: they are judged
        ledger = self._around.ledger if materialize else None  # before an engine starts for nothing
        job = ContractRequest(
            loaded,
            self.engine,
            self._around.catalog,
            ledger,
            materialize=materialize,
            target=target,
            data=df,
            batch=batch,
            again=again,
            anew=anew,
            pipeline_run_id=self._pipeline_run_id,
            environ=self._around.environ,
            sinks=self._around.sinks,
            compiled=self._compiled if loaded is self.loaded else None,
        )
        try:
            self._judged = None
            result = run(job, self._watch)
        finally:
            self._rest()
        self.last_report, self.last_result = result.report, result
        return result

    def _watch(self, state: object) -> None:
        if type(state) is PreparedRun:  # and no later phase
            self._judged = state

    def replay(self, chosen: Chosen | None = None) -> Replayed:
        """Judge quarantined rows again, as they landed, by the contract as it is now: all, or those chosen."""
        from lakelogic.quarantine.queue import Chosen
        from lakelogic.run.replay.replay import replay

        around, ledger = self._around, self._around.ledger
        job = ContractRequest(
            self.loaded,
            self.engine,
            around.catalog,
            ledger,
            pipeline_run_id=self._pipeline_run_id,
            environ=around.environ,
            sinks=around.sinks,
        )
        try:
            done = replay(job, chosen or Chosen())
        finally:
            self._rest()
        if done.result is not None:
            self.last_report, self.last_result = done.result.report, done.result
        return done

    def validate(self) -> list[Diagnostic]:
        """Everything that is wrong or doubtful about the contract; nothing is read."""
        try:
            return list(compile_contract(self.loaded).warnings)
        except ContractError as error:
            return list(error.diagnostics)

    def compiled(self) -> Compiled:
        """The plan, with the columns of source and links as far as they can be seen now; no row is read."""
        from lakelogic.run.input.inspect import columns_now

        return compile_contract(self.loaded, *columns_now(self.loaded, self._around.catalog))

    def explain(self) -> str:
        """The plan as text."""
        from lakelogic.plan.explain import as_text

        compiled = self.compiled()
        settings = self.contract.materialization
        return as_text(compiled.plan, compiled.checks, settings.target_path, strategy_of(self.contract).kind)

    def dry_run(self) -> str:
        """What a run would do, without reading or writing any row."""
        return self.explain()

    def _rest(self) -> None:
        """Between two runs nothing stays open, unless whoever made the surroundings closes them."""
        if not self._keeps_ledger:
            self._around.close()

    def close(self) -> None:
        """Stop what this processor started itself."""
        if self._engine is not None and self._is_ours:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> DataProcessor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
