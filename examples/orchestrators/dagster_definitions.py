"""A pass by layers on Dagster. Load it with `dagster dev -f dagster_definitions.py`, lakelogic_task.py beside it."""

from __future__ import annotations

import dagster as dg
from lakelogic_task import LAYERS, LookAtIt, run_pass


def op_of(layer: str) -> dg.OpDefinition:
    """The op of one layer; what no retry can mend fails at once."""

    @dg.op(
        name=layer,
        ins={"after": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        retry_policy=dg.RetryPolicy(max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL),
    )
    def drive() -> None:
        try:
            run_pass([layer])
        except LookAtIt as error:
            raise dg.Failure(str(error), allow_retries=False) from error

    return drive


@dg.graph(name="lakelogic")
def layers() -> None:
    """Layers one after another."""
    done = None
    for layer in LAYERS:
        done = op_of(layer)() if done is None else op_of(layer)(after=done)


lakelogic_job = layers.to_job(name="lakelogic")
daily = dg.ScheduleDefinition(job=lakelogic_job, cron_schedule="0 3 * * *")
defs = dg.Definitions(jobs=[lakelogic_job], schedules=[daily])
