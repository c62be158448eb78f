"""A pass by layers on Prefect. Serve it with `python prefect_flow.py`, with lakelogic_task.py beside it."""

from __future__ import annotations

from lakelogic_task import LAYERS, TryLater, run_pass
from prefect import flow, task


def may_go_better(_task: object, _run: object, state: object) -> bool:
    """Whether a retry can help; Prefect asks before each."""
    return isinstance(state.result(raise_on_failure=False), TryLater)  # type: ignore[attr-defined]


@task(retries=3, retry_delay_seconds=[60, 300, 900], retry_condition_fn=may_go_better)
def drive(layer: str) -> None:
    """One layer."""
    run_pass([layer])


@flow(name="lakelogic")
def lakelogic_flow(layers: tuple[str, ...] = LAYERS) -> None:
    """Layers one after another; the first that fails ends the flow."""
    for layer in layers:
        drive.with_options(name=layer)(layer)


if __name__ == "__main__":
    lakelogic_flow.serve(name="daily", cron="0 3 * * *", limit=1)
