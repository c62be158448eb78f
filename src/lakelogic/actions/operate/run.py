"""Run one contract: from a path to a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakelogic.run.processor import DataProcessor
    from lakelogic.run.surroundings import Surroundings

EXIT_BY_STATUS = {"succeeded": 0, "no_new_data": 0, "gated": 1, "failed": 1, "partial": 3, "held_back": 5, "skipped": 5}


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run and how. `overrides` are `key.path=value` texts; `settings` belong to the engine."""

    contract: str
    engine: str | None = None
    env: str | None = None
    overrides: tuple[str, ...] = ()
    dry_run: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    pipeline_run_id: str | None = None
    policy_pack: tuple[str, ...] = ()
    policy_pack_dir: str | None = None
    again: bool = False  # read what lies there even where it was read before
    anew: bool = False  # and put it in the place of all rows of the table
    profile: bool = False
    profile_rows: int | None = None  # how many rows of the batch rules are measured on


@dataclass(frozen=True, slots=True)
class RunReport:
    """How it went; `text` is the plan of a dry run, or where the time of a profiled run went."""

    status: str
    exit_code: int
    report: Mapping[str, Any]
    reasons: tuple[str, ...] = ()
    text: str | None = None


def run_contract(around: Surroundings, request: RunRequest) -> RunReport:
    """Run a contract once, or only plan it."""
    from lakelogic.run.processor import DataProcessor

    processor = DataProcessor(
        request.contract,
        request.engine,
        env=request.env,
        overrides=request.overrides,
        policy_pack=request.policy_pack,
        policy_pack_dir=request.policy_pack_dir,
        pipeline_run_id=request.pipeline_run_id,
        settings=request.settings,
        surroundings=around,
    )
    if request.dry_run:
        from lakelogic.plan.explain import as_data

        compiled = processor.compiled()
        return RunReport("planned", 0, {"plan": as_data(compiled.plan, compiled.checks)}, text=processor.explain())
    with processor:
        if request.profile:
            return _profiled(processor, request.profile_rows)
        result = processor.run(again=request.again, anew=request.anew)
    return RunReport(result.status, EXIT_BY_STATUS[result.status], result.report, result.reasons)


def _profiled(processor: DataProcessor, rows: int | None) -> RunReport:
    profile = processor.profile(rows)
    result = processor.last_result
    assert result is not None
    report = {**result.report, "profile": profile.as_dict()}
    return RunReport(result.status, EXIT_BY_STATUS[result.status], report, result.reasons, "\n".join(profile.lines()))
